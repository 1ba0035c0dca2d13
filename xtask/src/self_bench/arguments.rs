//! What can be said to `cargo xtask self-bench`, read and checked before anything is built or measured.
//! A small table by hand: a chore needs no library for it.

use super::experiments::EXPERIMENTS;

const USAGE: &str = "usage: cargo xtask self-bench [--only EXPERIMENT]… [--quick] [--pg-version VERSION]";
const PG_VERSION: &str = "18";

/// See the module.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arguments {
    /// Empty: all.
    pub(super) only: Vec<String>,
    /// Shorter and fewer runs, for trying the benchmark itself.
    pub(super) quick: bool,
    /// Of the embedded servers.
    pub(super) pg_version: String,
}

impl Arguments {
    /// # Errors
    /// A sentence about what was not understood.
    pub(super) fn parse(words: &[&str]) -> Result<Self, String> {
        let mut arguments = Self { only: Vec::new(), quick: false, pg_version: PG_VERSION.to_owned() };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            match word {
                "--quick" => arguments.quick = true,
                "--only" => arguments.only.push(experiment(words.next())?),
                "--pg-version" => match words.next() {
                    Some(version) => arguments.pg_version = (*version).to_owned(),
                    None => return Err(format!("--pg-version needs a version\n{USAGE}")),
                },
                other => return Err(format!("\"{other}\" is not understood\n{USAGE}")),
            }
        }
        Ok(arguments)
    }

    /// Whether the experiment of this name is to be run.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    /// Everything, at full length.
    pub(super) fn is_whole(&self) -> bool {
        self.only.is_empty() && !self.quick
    }
}

fn experiment(word: Option<&&str>) -> Result<String, String> {
    let names = || EXPERIMENTS.iter().map(|experiment| experiment.name).collect::<Vec<_>>().join(", ");
    match word {
        Some(name) if EXPERIMENTS.iter().any(|experiment| experiment.name == *name) => Ok((*name).to_owned()),
        Some(name) => Err(format!("there is no experiment \"{name}\"; there are {}", names())),
        None => Err(format!("--only needs one of {}", names())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_words_everything_is_measured_and_kept() {
        let arguments = Arguments::parse(&[]).expect("nothing to misunderstand");
        assert!(arguments.is_whole() && arguments.wants("init"));
    }

    #[test]
    fn single_experiments_are_named() {
        let arguments = Arguments::parse(&["--only", "init", "--only", "tls"]).expect("two that exist");
        assert!(arguments.wants("init") && arguments.wants("tls") && !arguments.wants("tcp"));
        assert!(!arguments.is_whole());
    }

    #[test]
    fn what_is_not_understood_is_named_with_what_would_be() {
        assert!(Arguments::parse(&["--only", "x"]).is_err_and(|text| text.contains("init")));
        assert!(Arguments::parse(&["16"]).is_err_and(|text| text.contains("\"16\"")));
        assert!(Arguments::parse(&["--only"]).is_err());
    }
}
