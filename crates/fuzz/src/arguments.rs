//! What was asked for on the command line: rounds to watch over, one round to work on, or a recording.
//! Only understood here; `main` hands it on to whoever does it.

use std::path::PathBuf;

use crate::targets::{TARGETS, Target};

/// Inputs for each target when no number is given.
const INPUTS: u64 = 100_000;
/// The seed when none is given: every run of the continuous integration tries the same inputs.
const SEED: u64 = 1;

/// What to do.
pub enum Task {
    /// Watch over rounds.
    Fuzz(Plan),
    /// Work on one target, as the process that is watched.
    Work {
        /// What is fed.
        target: &'static Target,
        /// How.
        plan: Plan,
        /// Where each input is noted before it is tried.
        notebook: PathBuf,
    },
    /// Write down what a real server says, for the seeds.
    Record {
        /// The server.
        conninfo: String,
        /// Where the recordings go.
        directory: PathBuf,
    },
}

/// How much of what is tried.
#[derive(Clone)]
pub struct Plan {
    /// The targets, each for itself.
    pub targets: Vec<&'static Target>,
    /// Inputs for each target.
    pub inputs: u64,
    /// Fewer inputs for targets that take long.
    pub is_short: bool,
    /// Decides about every input.
    pub seed: u64,
    /// Instead of all that: these inputs, once each.
    pub files: Vec<PathBuf>,
}

impl Plan {
    /// How many inputs a target gets.
    pub fn inputs_for(&self, target: &Target) -> u64 {
        if self.is_short { self.inputs / target.short_round_divisor } else { self.inputs }
    }
}

/// Understands the command line.
pub fn parse(arguments: &[String]) -> Result<Task, String> {
    let mut plan =
        Plan { targets: Vec::new(), inputs: INPUTS, is_short: false, seed: SEED, files: Vec::new() };
    let mut notebook = None;
    let mut left = arguments.iter();
    while let Some(argument) = left.next() {
        let mut value = || left.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--inputs" => plan.inputs = number(value()?)?,
            "--short" => plan.is_short = true,
            "--seed" => plan.seed = number(value()?)?,
            "--file" => plan.files.push(value()?.into()),
            "--notebook" => notebook = Some(PathBuf::from(value()?)),
            "--record" => {
                let (conninfo, directory) = (value()?.clone(), value()?.into());
                return Ok(Task::Record { conninfo, directory });
            }
            name => plan.targets.push(target(name)?),
        }
    }
    if plan.targets.is_empty() {
        plan.targets = TARGETS.iter().collect();
    }
    match (notebook, plan.targets.as_slice()) {
        (None, _) => Ok(Task::Fuzz(plan)),
        (Some(notebook), &[target]) => Ok(Task::Work { target, plan, notebook }),
        (Some(_), _) => Err("--notebook goes with one target".to_owned()),
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.replace('_', "").parse().map_err(|_| format!("{text} is not a number"))
}

fn target(name: &str) -> Result<&'static Target, String> {
    TARGETS.iter().find(|target| target.name == name).ok_or_else(|| format!("there is no target {name}"))
}

/// How to ask.
pub fn usage() -> String {
    let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
    format!(
        "usage: cargo xtask fuzz [--inputs N] [--short] [--seed S] [target…]\n       \
         cargo xtask fuzz --file FILE target\ntargets: {}",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Task, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn without_names_all_targets_are_meant() {
        let Ok(Task::Fuzz(plan)) = parsed("--inputs 1_000 --seed 7") else { panic!("a plan") };
        assert_eq!((plan.targets.len(), plan.inputs, plan.seed), (TARGETS.len(), 1000, 7));
    }

    #[test]
    fn a_short_round_has_fewer_inputs_where_one_takes_long() {
        let Ok(Task::Fuzz(plan)) = parsed("--inputs 1000 --short records names") else { panic!("a plan") };
        let inputs: Vec<u64> = plan.targets.iter().map(|target| plan.inputs_for(target)).collect();
        assert_eq!(inputs, [100, 1000]);
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        for (line, complaint) in [
            ("--inputs many", "many is not a number"),
            ("--seed", "--seed needs a value"),
            ("nonsense", "there is no target nonsense"),
        ] {
            assert_eq!(parsed(line).err().as_deref(), Some(complaint));
        }
    }
}
