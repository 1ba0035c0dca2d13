//! What the proofs by repetition have in common: options, a directory, and a results file with a line for each repetition.
//! The next call goes on from this file.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::managed_server::make_traversable;

/// An option, and what it is if it is not given.
pub(crate) type KnownOption = (&'static str, &'static str);

/// A proof with its options.
pub(crate) struct Proof {
    pub(crate) pgmeter: PathBuf,
    results: PathBuf,
    options: Vec<(&'static str, String)>,
}

/// Runs the proof of this name; true if it came to its end.
pub(crate) fn run(
    name: &str,
    known: &[KnownOption],
    arguments: &[&str],
    work: impl FnOnce(&Proof) -> Result<(), String>,
) -> bool {
    let done = Proof::parse(name, known, arguments).and_then(|proof| work(&proof));
    if let Err(reason) = &done {
        eprintln!("{name}: {reason}");
    }
    done.is_ok()
}

/// A directory that all users can traverse.
pub(crate) fn directory() -> Result<TempDir, String> {
    let made = tempfile::Builder::new().prefix("pgmeter-proof-").tempdir();
    let made = made.map_err(|error| error.to_string())?;
    make_traversable(made.path())?;
    Ok(made)
}

/// The repetitions of a case.
pub(crate) fn of_case<'a>(lines: &'a [Value], case: &'a str) -> impl Iterator<Item = &'a Value> {
    lines.iter().filter(move |line| line["case"] == case)
}

impl Proof {
    fn parse(name: &str, known: &[KnownOption], arguments: &[&str]) -> Result<Self, String> {
        let mut proof = Self {
            pgmeter: crate::root().join("target/release/pgmeter"),
            results: crate::root().join(format!("target/{name}.jsonl")),
            options: known.iter().map(|(option, value)| (*option, (*value).to_owned())).collect(),
        };
        for argument in arguments {
            let usage = || {
                let known: Vec<String> =
                    known.iter().map(|(name, value)| format!("--{name}={value}")).collect();
                format!("\"{argument}\"? known are {} --results=FILE --pgmeter=PATH", known.join(" "))
            };
            let (option, value) =
                argument.strip_prefix("--").and_then(|rest| rest.split_once('=')).ok_or_else(usage)?;
            match (option, proof.options.iter_mut().find(|(known, _)| *known == option)) {
                (_, Some((_, old))) => {
                    if old.parse::<usize>().is_ok() && value.parse::<usize>().is_err() {
                        return Err(usage());
                    }
                    value.clone_into(old);
                }
                ("pgmeter", _) => proof.pgmeter = PathBuf::from(value),
                ("results", _) => proof.results = PathBuf::from(value),
                _ => return Err(usage()),
            }
        }
        Ok(proof)
    }

    pub(crate) fn text(&self, option: &str) -> &str {
        let found = self.options.iter().find(|(known, _)| *known == option);
        &found.expect("the proof has this option").1
    }

    /// The value of an option that is a number unless another is given.
    pub(crate) fn number(&self, option: &str) -> usize {
        self.text(option).parse().expect("parsing has checked it")
    }

    /// The repetitions that are done; none if there is no results file.
    pub(crate) fn lines(&self) -> Result<Vec<Value>, String> {
        let text = match std::fs::read_to_string(&self.results) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.told(error)),
        };
        text.lines().map(|line| serde_json::from_str(line).map_err(|error| self.told(error))).collect()
    }

    pub(crate) fn append(&self, line: &Value) -> Result<(), String> {
        let opened = OpenOptions::new().create(true).append(true).open(&self.results);
        let appended = opened.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        appended.map_err(|error| self.told(error))
    }

    fn told(&self, error: impl std::fmt::Display) -> String {
        format!("{}: {error}", self.results.display())
    }

    /// The case of which the smallest share is done, so that a drift of the machine hits all. The option of its name says
    /// how many it has.
    pub(crate) fn next<'a, C>(
        &self,
        cases: &'a [C],
        name: impl Fn(&C) -> &str,
        lines: &[Value],
    ) -> Option<&'a C> {
        let left = |case: &'a C| {
            let (done, number) = (of_case(lines, name(case)).count(), self.number(name(case)));
            (done < number).then(|| (done as f64 / number as f64, case))
        };
        cases.iter().filter_map(left).min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, case)| case)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [KnownOption; 2] = [("number", "10"), ("budget", "30s")];

    #[test]
    fn options_have_the_values_that_are_given_and_numbers_stay_numbers() {
        let proof = Proof::parse("p", &KNOWN, &["--number=3", "--budget=1min", "--results=/r"]).ok().unwrap();
        assert_eq!((proof.number("number"), proof.text("budget")), (3, "1min"));
        assert_eq!(proof.results, PathBuf::from("/r"));
        for wrong in ["--number=x", "--other=1", "number=1", "--number"] {
            let told = Proof::parse("p", &KNOWN, &[wrong]).err().unwrap();
            let known = "? known are --number=10 --budget=30s --results=FILE --pgmeter=PATH";
            assert_eq!(told, format!("\"{wrong}\"{known}"));
        }
    }

    #[test]
    fn the_case_of_which_the_smallest_share_is_done_is_next() {
        let proof = Proof::parse("p", &[("a", "4"), ("b", "2"), ("c", "0")], &[]).ok().unwrap();
        let done = |names: &[&str]| -> Vec<Value> {
            names.iter().map(|name| serde_json::json!({ "case": name })).collect()
        };
        let next = |names: &[&str]| proof.next(&["a", "b", "c"], |name| *name, &done(names)).copied();
        assert_eq!(next(&[]), Some("a"));
        assert_eq!(next(&["a"]), Some("b"));
        assert_eq!(next(&["a", "b", "a", "a"]), Some("b"));
        assert_eq!(next(&["a", "b", "a", "a", "b", "a"]), None);
    }
}
