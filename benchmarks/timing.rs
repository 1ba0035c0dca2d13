//! Times pieces of code for the benches of several crates, which include this file: the median time of an iteration, the
//! range of 80 % of the batches, and the change of its lower end since the run before. Other programs only add time, so
//! the lower end is the steadier figure. Without `--bench`, as in tests, each piece runs once.
#![allow(clippy::print_stdout, reason = "it prints for developers")]

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Number of batches of a piece, and the shortest time of one.
const BATCHES: usize = 50;
const BATCH: Duration = Duration::from_millis(20);

/// The pieces of one bench.
pub struct Timing {
    is_bench: bool,
    /// Where the lower ends are kept until the next run.
    file: PathBuf,
    earlier: BTreeMap<String, f64>,
    lowest: BTreeMap<String, f64>,
}

impl Timing {
    /// A bench of this name.
    pub fn new(name: &str) -> Timing {
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.tsv"));
        let text = fs::read_to_string(&file).unwrap_or_default();
        let pair = |line: &str| {
            let (piece, ns) = line.split_once('\t')?;
            Some((piece.to_owned(), ns.parse().ok()?))
        };
        let earlier = text.lines().filter_map(pair).collect();
        let is_bench = std::env::args().any(|argument| argument == "--bench");
        Timing { is_bench, file, earlier, lowest: BTreeMap::new() }
    }

    /// Times `work`, which handles this many elements.
    pub fn piece<T>(&mut self, name: &str, elements: u64, mut work: impl FnMut() -> T) {
        self.measure(name, elements, |iterations| {
            let begun = Instant::now();
            (0..iterations).for_each(|_| drop(black_box(work())));
            begun.elapsed()
        });
    }

    /// Times `work` without the time of `input`, which makes what each iteration consumes.
    #[allow(dead_code, reason = "not all benches need it")]
    pub fn piece_with<I, T>(&mut self, name: &str, input: impl Fn() -> I, mut work: impl FnMut(I) -> T) {
        let mut once = || {
            let input = input();
            let begun = Instant::now();
            let made = work(input);
            let took = begun.elapsed();
            drop(black_box(made));
            took
        };
        self.measure(name, 1, |iterations| (0..iterations).map(|_| once()).sum());
    }

    fn measure(&mut self, name: &str, elements: u64, mut batch: impl FnMut(u32) -> Duration) {
        let mut iterations = 1;
        if !self.is_bench {
            batch(iterations);
            return;
        }
        while batch(iterations) < BATCH {
            iterations *= 2;
        }
        let ns = |_| batch(iterations).as_secs_f64() * 1e9 / f64::from(iterations);
        let mut times: Vec<f64> = (0..BATCHES).map(ns).collect();
        times.sort_by(f64::total_cmp);
        let (low, median, high) = (times[BATCHES / 10], times[BATCHES / 2], times[BATCHES * 9 / 10]);
        let change = self.earlier.get(name).map_or_else(String::new, |earlier| {
            format!(", {:+.1} % since the last run", (low / earlier - 1.0) * 100.0)
        });
        let rate = elements as f64 / median * 1e3;
        println!("{name}: {median:.1} ns ({low:.1} to {high:.1}), {rate:.1} million/s{change}");
        self.lowest.insert(name.to_owned(), low);
    }
}

impl Drop for Timing {
    fn drop(&mut self) {
        let text: String = self.lowest.iter().map(|(name, ns)| format!("{name}\t{ns}\n")).collect();
        if self.is_bench {
            fs::write(&self.file, text).expect("the directory of the target can be written");
        }
    }
}
