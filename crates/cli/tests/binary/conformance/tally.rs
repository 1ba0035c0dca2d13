//! The account of an area: how many cases, how many agree, which differ and how. Prints one line per area and the
//! sum when all are through; undocumented differences fail the area's test when the tally is asked for its verdict.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Mutex;

/// How many areas there are; the sum is printed behind the last.
const AREAS: usize = 9;
/// How many differences are shown in full.
const SHOWN: usize = 12;

static SUM: Mutex<[usize; 4]> = Mutex::new([0; 4]);

pub(crate) struct Tally {
    area: &'static str,
    cases: usize,
    agreeing: usize,
    /// Those that agree but for what `versions` documents.
    documented: usize,
    reasons: BTreeMap<&'static str, usize>,
    failures: Vec<String>,
}

impl Tally {
    pub(crate) fn new(area: &'static str) -> Self {
        Self { area, cases: 0, agreeing: 0, documented: 0, reasons: BTreeMap::new(), failures: Vec::new() }
    }

    /// Counts a case by the texts to compare, and the documented differences that were already taken out of them.
    pub(crate) fn count(&mut self, name: &str, texts: &[String; 2], differences: &[&'static str]) {
        self.cases += 1;
        let [expected, actual] = texts;
        if expected != actual {
            self.failures.push(format!("=== {name}\n{}", difference(expected, actual)));
            return;
        }
        if differences.is_empty() {
            self.agreeing += 1;
        } else {
            self.documented += 1;
        }
        for reason in differences {
            *self.reasons.entry(reason).or_default() += 1;
        }
    }

    /// Says that there was nothing to compare with.
    pub(crate) fn skipped(&self) {
        say(&format!("conformance: no pgbench found, nothing compared ({}); set PGBENCH", self.area));
    }

    /// Prints the account; fails if something differs that may not.
    #[track_caller]
    pub(crate) fn verdict(self) {
        let Self { area, cases, agreeing, documented, .. } = self;
        let line = |what: &str, [cases, agreeing, documented]: [usize; 3]| {
            say(&format!(
                "conformance{what}: {cases} cases, {agreeing} agree, {documented} documented differences"
            ));
        };
        line(&format!(" ({area})"), [cases, agreeing, documented]);
        for (reason, count) in &self.reasons {
            say(&format!("conformance ({area}): {count} × {reason}"));
        }
        let mut sum = SUM.lock().expect("nobody panics with it");
        let added = [1, cases, agreeing, documented];
        *sum = std::array::from_fn(|index| sum[index] + added[index]);
        let [areas, total @ ..] = *sum;
        drop(sum);
        if areas == AREAS {
            line("", total);
        }
        let shown = self.failures.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
        let count = self.failures.len();
        assert!(count == 0, "{count} of {cases} cases differ; the first are:\n{shown}");
    }
}

/// Past the test harness, which keeps what passing tests print to itself.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The lines from the first difference to the last, those of pgbench first.
fn difference(expected: &str, actual: &str) -> String {
    let (expected, actual): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let before = expected.iter().zip(&actual).take_while(|(one, other)| one == other).count();
    let (mut one, mut other) = (expected[before..].to_vec(), actual[before..].to_vec());
    while let (Some(last), Some(other_last)) = (one.last(), other.last())
        && last == other_last
    {
        one.pop();
        other.pop();
    }
    let show = |sign: &str, lines: &[&str]| {
        lines.iter().take(30).map(|line| format!("{sign} {line}\n")).collect::<String>()
    };
    let context = show(" ", &expected[before.saturating_sub(3)..before]);
    format!("{context}{}{}", show("pgbench |", &one), show("drop-in |", &other))
}
