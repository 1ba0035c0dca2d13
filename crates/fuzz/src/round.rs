//! One round: a series of inputs for one target, each tried under the eyes of a panic catcher and of an allocator
//! that counts. Runs in the process that is watched; the unit tests run it in their own.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::{fs, io, panic, thread};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use script::Random;

use crate::arguments::Plan;
use crate::corpus::Corpus;
use crate::mutation;
use crate::notebook::Notebook;
use crate::targets::Target;

/// Address space of the working process: an input that asks for more ends it, and not the machine.
const ADDRESS_SPACE: u64 = 4 * 1024 * 1024 * 1024;
/// The stack that a thread of the product has at least.
const STACK: usize = 2 * 1024 * 1024;

/// What a round that found nothing has done.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Inputs tried.
    pub inputs: u64,
    /// Inputs whose outcome none had had before.
    pub outcomes: usize,
    /// The longest input, in bytes.
    pub longest: usize,
    /// The most memory that one input took, in bytes.
    pub memory: u64,
}

/// An input that shows a defect.
#[derive(Debug, PartialEq, Eq)]
pub struct Defect {
    /// Which one of the round, from 1.
    pub number: u64,
    /// What happened.
    pub what: String,
}

/// The working process: a round as the plan says, with its figures on stdout.
pub fn work(target: &'static Target, plan: &Plan, notebook: &Path) -> Result<(), String> {
    let limit = Rlimit { current: Some(ADDRESS_SPACE), ..getrlimit(Resource::As) };
    setrlimit(Resource::As, limit).map_err(|error| format!("no limit for the memory: {error}"))?;
    let mut notebook = Notebook::open(notebook).map_err(|error| format!("no notebook: {error}"))?;
    let plan = plan.clone();
    let work = move || {
        let mut note = |number, input: &[u8]| notebook.note(number, input);
        if plan.files.is_empty() {
            let corpus = Corpus::read(&target.seeds()).map_err(|error| format!("no seeds: {error}"))?;
            run(target, corpus, plan.inputs, plan.seed, &mut note)
        } else {
            let inputs = plan.files.iter().map(fs::read).collect::<io::Result<Vec<_>>>();
            let inputs = inputs.map_err(|error| format!("an input cannot be read: {error}"))?;
            run(target, Corpus::of(inputs), 0, plan.seed, &mut note)
        }
    };
    let worker = thread::Builder::new().stack_size(STACK).spawn(work).map_err(|error| error.to_string())?;
    let figures = worker.join().map_err(|_| "the fuzzer itself panicked".to_owned())??;
    match figures {
        Ok(Figures { inputs, outcomes, longest, memory }) => {
            println!(
                "{inputs} inputs, {outcomes} outcomes, longest {longest} bytes, at most {memory} bytes of memory"
            );
            Ok(())
        }
        Err(defect) => Err(defect.what),
    }
}

thread_local! {
    /// What the last panic of this thread said, and where.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Tries the corpus as it is, then so many inputs made of it. The outer error is one of noting.
pub fn run(
    target: &Target,
    mut corpus: Corpus,
    inputs: u64,
    seed: u64,
    note: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
) -> Result<Result<Figures, Defect>, String> {
    let mut random = Random::from_seed(seed);
    let mut attempt =
        (target.prepare)().map_err(|error| format!("{} cannot be tried: {error}", target.name))?;
    let mut figures = Figures::default();
    let seeds = corpus.seeds().to_vec();
    let total = inputs + seeds.len() as u64;
    let mut seeds = seeds.into_iter();
    for number in 1..=total {
        let input = seeds.next().unwrap_or_else(|| mutation::next(target, &corpus, &mut random));
        note(number, &input).map_err(|error| format!("an input could not be noted: {error}"))?;
        let mut outcome = Ok(0);
        let memory = allocation_counter::measure(|| outcome = caught(|| attempt(&input))).bytes_max;
        let outcome = outcome.and_then(|outcome| {
            let allowed = (target.memory)(&input);
            let too_much = || format!("took {memory} bytes of memory, and {allowed} are allowed");
            (memory <= allowed).then_some(outcome).ok_or_else(too_much)
        });
        match outcome {
            Ok(outcome) => corpus.consider(&input, outcome, target.length_max),
            Err(what) => return Ok(Err(Defect { number, what })),
        }
        figures.longest = figures.longest.max(input.len());
        figures.memory = figures.memory.max(memory);
    }
    Ok(Ok(Figures { inputs: total, outcomes: corpus.kept(), ..figures }))
}

/// The outcome, or what the panic said.
fn caught(attempt: impl FnOnce() -> Result<u64, String>) -> Result<u64, String> {
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        panic::set_hook(Box::new(|info| PANIC.with(|said| *said.borrow_mut() = Some(info.to_string()))));
    });
    catch_unwind(AssertUnwindSafe(attempt)).unwrap_or_else(|_| {
        let said = PANIC.with(|said| said.borrow_mut().take());
        Err(said.unwrap_or_else(|| "panicked".to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;
    use crate::targets::Attempt;

    /// A target with this planted defect: what it does to inputs that contain the word "defect".
    fn planted(prepare: fn() -> io::Result<Attempt>) -> Target {
        Target {
            name: "planted",
            words: &[b"defect", b"sound"],
            generate: None,
            reshape: None,
            length_max: 4096,
            short_round_divisor: 1,
            memory: |_| 64 * 1024,
            prepare,
        }
    }

    fn has_defect(input: &[u8]) -> bool {
        input.windows(6).any(|window| window == b"defect")
    }

    /// What a round of a thousand inputs finds, and the input noted last.
    fn check(target: &Target) -> (Result<Figures, Defect>, Vec<u8>) {
        let mut last = Vec::new();
        let mut note = |_, input: &[u8]| {
            last = input.to_vec();
            Ok(())
        };
        let found = run(target, Corpus::of(vec![b"a seed".to_vec()]), 1000, 3, &mut note);
        (found.expect("inputs are noted"), last)
    }

    #[test]
    fn a_target_without_defects_is_tried_with_every_input() {
        let (found, _) = check(&planted(|| Ok(Box::new(|input| Ok(u64::from(has_defect(input)))))));
        let figures = found.expect("nothing to find");
        assert_eq!((figures.inputs, figures.outcomes), (1002, 2));
    }

    #[test]
    fn a_planted_panic_is_found_with_its_words_and_its_input() {
        let (found, input) = check(&planted(|| {
            Ok(Box::new(|input| {
                assert!(!has_defect(input), "as planted");
                Ok(0)
            }))
        }));
        let defect = found.expect_err("a defect was planted");
        assert!(defect.what.contains("as planted") && defect.what.contains("round.rs"), "{}", defect.what);
        assert!(has_defect(&input));
    }

    #[test]
    fn a_property_that_does_not_hold_is_found() {
        let broken = planted(|| {
            Ok(Box::new(|input| if has_defect(input) { Err("does not hold".to_owned()) } else { Ok(0) }))
        });
        let (found, input) = check(&broken);
        assert_eq!(found.expect_err("a defect was planted").what, "does not hold");
        assert!(has_defect(&input));
    }

    #[test]
    fn memory_beyond_what_is_allowed_is_found_although_it_is_given_back() {
        let (found, input) = check(&planted(|| {
            Ok(Box::new(|input| {
                let length = if has_defect(input) { 64 * 1024 + 1 } else { 60 * 1024 };
                black_box(vec![0_u8; length]);
                Ok(0)
            }))
        }));
        let what = found.expect_err("a defect was planted").what;
        assert_eq!(what, "took 65537 bytes of memory, and 65536 are allowed");
        assert!(has_defect(&input));
    }

    #[test]
    fn one_seed_tries_the_same_inputs() {
        let panics = || {
            planted(|| {
                Ok(Box::new(|input| {
                    assert!(!has_defect(input));
                    Ok(0)
                }))
            })
        };
        assert_eq!(check(&panics()), check(&panics()));
    }
}
