//! Experiment files: any text is an experiment or an error with a place in it. What is an experiment is the same one when it
//! is read again and when its file is written in another form, and its plan has every combination as often as it says.
//! Most inputs are the experiments that come with pgmeter, changed within the grammar.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, io};

use experiment::{Experiment, ExperimentError, Plan, Profile, outline};
use script::Random;

use super::digest::Digest;
use super::{Attempt, SHORT, Target, allowance};
use crate::corpus::below;
use crate::tree::{Tree, Vocabulary};

mod words;

pub const TARGET: Target = Target {
    name: "experiments",
    words: words::WORDS,
    generate: Some(|random, out| out.extend_from_slice(draw(shipped(), random))),
    reshape: Some(reshape),
    length_max: SHORT,
    short_round_divisor: 1,
    memory,
    prepare,
};

/// The 33,000 queries of the workload fulltext are made to be counted.
fn memory(input: &[u8]) -> u64 {
    let has_fulltext = input.windows(8).any(|word| word == b"fulltext");
    allowance(if has_fulltext { 64 * 1024 } else { 16 * 1024 }, 4096, input)
}

const VOCABULARY: Vocabulary = Vocabulary { bare: words::BARE, texts: words::TEXTS, keys: words::KEYS };

/// Combinations of which a plan is made; of more the product says itself how many are too many.
const CELLS_MAX: usize = 300;
/// The same for trials.
const TRIALS_MAX: usize = 3_000;

/// The experiments that come with pgmeter.
fn shipped() -> &'static [Vec<u8>] {
    static SHIPPED: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    SHIPPED.get_or_init(|| {
        let files = files_with("toml").unwrap_or_default();
        files.iter().filter_map(|path| fs::read(path).ok()).collect()
    })
}

/// The files of the shipped experiments with this extension, in the order of their paths.
fn files_with(extension: &str) -> io::Result<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            let inside = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
            files.extend(inside.into_iter().map(|entry| entry.path()));
        }
    }
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    Ok(files)
}

fn draw<'a>(documents: &'a [Vec<u8>], random: &mut Random) -> &'a [u8] {
    documents.get(below(random, documents.len())).map_or(b"", Vec::as_slice)
}

fn reshape(input: &[u8], other: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let mut tree = Tree::from_toml(str::from_utf8(input).ok()?)?;
    let other = str::from_utf8(other).ok().and_then(Tree::from_toml);
    tree.change(other.as_ref(), &VOCABULARY, random);
    Some(tree.to_toml().into_bytes())
}

fn prepare() -> io::Result<Attempt> {
    // Scripts that the experiments name are looked for beside the file.
    let folder = std::env::current_dir()?;
    for file in files_with("sql")? {
        if let Some(name) = file.file_name() {
            fs::copy(&file, folder.join(name))?;
        }
    }
    Ok(Box::new(move |input| attempt(&folder, input)))
}

fn attempt(folder: &Path, input: &[u8]) -> Result<u64, String> {
    let Ok(text) = str::from_utf8(input) else { return Ok(0) };
    let mut outcome = Digest::new();
    for profile in [Profile::Full, Profile::Quick] {
        let read = |text: &str| Experiment::parse(text, "e.toml", folder, profile);
        match read(text) {
            Ok(experiment) => {
                same_when_rewritten(text, &experiment, &read)?;
                outcome.add(&planned(&experiment, text, folder)?.to_le_bytes());
            }
            Err(error) => {
                check_error(&error, text)?;
                outcome.show(&sentence(&error));
            }
        }
    }
    Ok(outcome.value())
}

/// Written with inline tables alone, the file means the same.
fn same_when_rewritten(
    text: &str,
    experiment: &Experiment,
    read: &dyn Fn(&str) -> Result<Experiment, ExperimentError>,
) -> Result<(), String> {
    if read(text).ok().as_ref() != Some(experiment) {
        return Err("read again, it is another experiment".to_owned());
    }
    let rewritten = Tree::from_toml(text).ok_or("an experiment that is not TOML")?.to_toml();
    let again =
        read(&rewritten).map_err(|error| format!("in another form it is refused: {error}\n{rewritten}"))?;
    if without_places(experiment) != without_places(&again) {
        return Err(format!("in another form it is another experiment:\n{rewritten}"));
    }
    Ok(())
}

/// A digest of all that an experiment says, and of nothing that depends on where in the file it says it.
fn without_places(experiment: &Experiment) -> Digest {
    /// Leaves out what stands between `Place {` and the next brace.
    struct Sieve {
        digest: Digest,
        text: String,
    }
    impl std::fmt::Write for Sieve {
        fn write_str(&mut self, piece: &str) -> std::fmt::Result {
            self.text.push_str(piece);
            Ok(())
        }
    }
    let mut sieve = Sieve { digest: Digest::new(), text: String::new() };
    // Nothing here can fail.
    let _ = write!(sieve, "{experiment:?}");
    for (at, piece) in sieve.text.split("Place {").enumerate() {
        let kept = if at == 0 { piece } else { piece.split_once('}').map_or(piece, |(_, rest)| rest) };
        sieve.digest.add(kept.as_bytes());
    }
    sieve.digest
}

/// Plans it, checks the plan, and returns what kind of plan it is.
fn planned(experiment: &Experiment, text: &str, folder: &Path) -> Result<u64, String> {
    let cells =
        experiment.factors.iter().fold(1_usize, |cells, factor| cells.saturating_mul(factor.levels.len()));
    let repeats = experiment.design.repeats as usize;
    let mut kind = Digest::new();
    if cells > CELLS_MAX || cells.saturating_mul(repeats) > TRIALS_MAX {
        return Ok(kind.value());
    }
    match Plan::of(experiment, "e.toml", folder) {
        Err(error) => kind.show(&sentence(&error)),
        Ok(plan) => {
            let mut made = vec![0; plan.cells.len()];
            for trial in &plan.trials {
                *made.get_mut(trial.cell).ok_or("a trial of no cell")? += 1;
            }
            if made.iter().any(|count| *count != repeats) || plan.data_of.len() != plan.cells.len() {
                return Err(format!("{repeats} repeats, but the trials of the cells are {made:?}"));
            }
            if Plan::of(experiment, "e.toml", folder).ok().as_ref() != Some(&plan) {
                return Err("planned again, it is another plan".to_owned());
            }
            let words = outline(experiment, &plan);
            if has_no_number(&words, text) {
                return Err(format!("NaN or infinity in {words}"));
            }
            kind.debug(&(plan.cells.len().min(9), plan.servers.len().min(3), plan.data.len().min(3)));
            kind.debug(&experiment.base.steps.len().min(2));
        }
    }
    Ok(kind.value())
}

/// Whether NaN or infinity came out, where the file itself names neither.
fn has_no_number(words: &str, text: &str) -> bool {
    let is_said = ["inf", "nan", "NaN"].iter().any(|word| text.contains(word));
    !is_said && words.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| matches!(word, "NaN" | "inf"))
}

/// An error names a place in the file, in one line.
fn check_error(error: &ExperimentError, text: &str) -> Result<(), String> {
    let ExperimentError::File(at) = error else { return Err(format!("no place: {error}")) };
    let (said, lines) = (error.to_string(), text.lines().count().max(1) + 1);
    if !(1..=lines).contains(&at.line) || at.column < 1 || at.column > text.len() + 1 {
        return Err(format!("a place that is not in the file: {said}"));
    }
    if said.contains(char::is_control) {
        return Err(format!("an error with characters that steer a terminal: {said:?}"));
    }
    Ok(())
}

/// An error without its place and without what it quotes from the file.
fn sentence(error: &ExperimentError) -> String {
    let ExperimentError::File(error) = error else { return error.to_string() };
    error.what.split('"').step_by(2).collect::<String>().replace(char::is_numeric, "")
}
