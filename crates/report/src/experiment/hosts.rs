//! The same experiment from several stores: what each store is called, and the factor that tells them apart. `Overview`
//! merges their trials.

use std::path::PathBuf;

use results::{Environment, StoredExperiment, StoredTrial};

use crate::prose::escaped_line;

/// An experiment, and the store that it is from.
#[derive(Clone, Debug)]
pub struct FromStore {
    /// The database.
    pub store: PathBuf,
    /// Whether commands need not name the store.
    pub is_default: bool,
    /// The contents of the store.
    pub stored: StoredExperiment,
}

impl FromStore {
    /// Whether each repeat ran before the next one began. Where servers ran one at a time, all repeats of one server ran
    /// before those of the next, whatever order the file has.
    pub(super) fn ran_by_repeats(&self) -> bool {
        self.stored.trials.windows(2).all(|pair| pair[0].repeat <= pair[1].repeat)
    }
}

/// A store of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// The level of the factor; empty if there is only one store.
    pub(crate) name: String,
    /// For commands: ` --store X`, or nothing.
    pub(crate) option: String,
}

/// The name of the factor, unless the experiment has one of that name.
const FACTOR: &str = "host";

pub(super) fn factor_name(all: &[FromStore]) -> &'static str {
    let has_it = |from: &FromStore| from.stored.trials.iter().any(|trial| trial.factors.contains_key(FACTOR));
    if all.iter().any(has_it) { "store" } else { FACTOR }
}

/// The names of the hosts; of hosts with equal names the directories of the stores, and the databases if these are equal
/// too.
pub(super) fn hosts(all: &[FromStore]) -> Vec<Host> {
    let path = |from: &FromStore| from.store.display().to_string();
    let directory = |from: &FromStore| {
        let directory = from.store.parent().and_then(|parent| parent.file_name());
        directory.map_or_else(|| path(from), |name| name.to_string_lossy().into_owned())
    };
    let hostname = |from: &FromStore| {
        let environment = from.stored.trials.iter().find_map(environment);
        environment.map_or_else(|| directory(from), |it| it.host.hostname.clone())
    };
    let of_all = |name: &dyn Fn(&FromStore) -> String| all.iter().map(name).collect::<Vec<String>>();
    let are_different =
        |names: &Vec<String>| names.iter().enumerate().all(|(number, name)| !names[..number].contains(name));
    let names = match all {
        [_] => vec![String::new()],
        _ => [of_all(&hostname), of_all(&directory)]
            .into_iter()
            .find(are_different)
            .unwrap_or_else(|| of_all(&path)),
    };
    let host = |(from, name): (&FromStore, String)| Host { name: escaped_line(&name), option: option(from) };
    all.iter().zip(names).map(host).collect()
}

/// The experiment of the first store, without trials, and the trials of all stores, each with the number of its store
/// and with its host as a level, if there are several.
pub(super) fn merged(
    all: Vec<FromStore>,
    hosts: &[Host],
    factor: &str,
) -> (StoredExperiment, Vec<(usize, StoredTrial)>) {
    let mut first: Option<StoredExperiment> = None;
    let mut trials = Vec::new();
    for (number, from) in all.into_iter().enumerate() {
        let mut stored = from.stored;
        for mut trial in std::mem::take(&mut stored.trials) {
            if hosts.len() > 1 {
                trial.factors.insert(factor.to_owned(), hosts[number].name.clone());
            }
            trials.push((number, trial));
        }
        first.get_or_insert(stored);
    }
    (first.expect("an experiment is from a store"), trials)
}

fn environment(trial: &StoredTrial) -> Option<&Environment> {
    let of_run = trial.run.as_ref().and_then(|run| run.environment.as_ref());
    of_run.or_else(|| trial.steps.as_ref().map(|steps| &steps.environment))
}

/// ` --store X`, quoted for a shell if need be.
fn option(from: &FromStore) -> String {
    if from.is_default {
        return String::new();
    }
    let store = from.store.display().to_string();
    format!(" --store {}", config::shell_word(&escaped_line(&store)))
}
