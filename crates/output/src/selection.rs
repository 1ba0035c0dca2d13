//! Finds the subject of a report in the store: runs, an experiment with its file,
//! a comparison, or query sets. Called for `pgmeter report`, and at the end of an experiment.

use std::path::{Path, PathBuf};

use ::experiment::{Experiment, ExperimentError, Profile};
use results::{
    ComparisonRecord, EntryId, EntryKind, Found, Record, ResultsError, SearchRecord, StepsRecord, Store,
    StoredExperiment,
};
use thiserror::Error;

use report::experiment::{FromStore, Overview};
use report::prose::escaped_line;
use report::{Format, Subject};

/// The subject of a report cannot be found.
#[derive(Debug, Error)]
pub enum SelectionError {
    /// The selection is contradictory, or the store does not contain it.
    #[error("{0}")]
    Invalid(String),
    /// A record or the store cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The experiment file cannot be read.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
}

/// A store of which results are reported.
#[derive(Clone, Debug)]
pub struct ReportedStore {
    /// Path of the database.
    pub path: PathBuf,
    /// Whether commands find it without an option.
    pub is_default: bool,
}

/// The selection, as given by the user.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// Runs: numbers, `last`, paths of records, labels; or one experiment file; or the number or the label of one
    /// comparison or experiment.
    pub runs: &'a [String],
    /// Name, number or label of an experiment.
    pub experiment: Option<&'a str>,
    /// Version of the experiment.
    pub profile: Option<Profile>,
    /// Number or label of a comparison, or `last`.
    pub comparison: Option<&'a str>,
    /// The stores, at least one.
    pub stores: &'a [ReportedStore],
}

/// The subject of a report with its data.
#[derive(Debug)]
pub enum Selected {
    /// Runs, each with its name.
    Runs(Vec<(String, Record)>),
    /// An experiment.
    Experiment(Box<Overview>),
    /// A comparison.
    Comparison(Box<ComparisonRecord>),
    /// Query sets, each with its name.
    Queries(Vec<(String, StepsRecord)>),
    /// A search.
    Search(Box<SearchRecord>),
}

impl<'a> From<&'a Selected> for Subject<'a> {
    fn from(selected: &'a Selected) -> Self {
        match selected {
            Selected::Runs(runs) => Subject::Runs(runs),
            Selected::Experiment(overview) => Subject::Experiment(overview),
            Selected::Comparison(record) => Subject::Comparison(record),
            Selected::Queries(sets) => Subject::Queries(sets),
            Selected::Search(record) => Subject::Search(record),
        }
    }
}

/// Maximum number of runs in a report; each takes time and memory.
const RUNS_MAX: usize = 1_000;

/// Finds the subject for a report in this format.
///
/// # Errors
/// It does not exist, or cannot be read.
pub fn select(selection: &Selection<'_>, format: Format) -> Result<Selected, SelectionError> {
    let &Selection { runs, experiment, profile, comparison, stores } = selection;
    let invalid = |text: String| Err(SelectionError::Invalid(text));
    if runs.len() > RUNS_MAX {
        return invalid(format!("at most {RUNS_MAX} runs can be shown at once"));
    }
    let [ReportedStore { path: store, .. }, others @ ..] = stores else {
        return invalid("no store is given".to_owned());
    };
    if let Some(which) = comparison {
        only_store(others)?;
        let which = if which.bytes().all(|byte| byte.is_ascii_digit()) {
            format!("c{which}")
        } else {
            which.to_owned()
        };
        return select_entry(&which, &[EntryKind::Comparison], &stores[0], format);
    }
    if let Some(name) = asked_for(runs, experiment, profile, store)? {
        if let (false, Some(which)) = (Store::open(store)?.experiment_names()?.contains(&name), experiment)
            && others.is_empty()
            && let Ok(found) = select_entry(which, &[EntryKind::Experiment], &stores[0], format)
        {
            return Ok(found);
        }
        return Ok(Selected::Experiment(Box::new(overview(stores, &name, profile, format)?)));
    }
    only_store(others)?;
    if let [which] = runs {
        return select_entry(which, &EntryKind::ALL, &stores[0], format);
    }
    select_several(runs, store)
}

/// Several runs, or several query sets.
fn select_several(entries: &[String], store: &Path) -> Result<Selected, SelectionError> {
    let (mut runs, mut sets) = (Vec::new(), Vec::new());
    for which in entries {
        match results::find_entry(store, which, &EntryKind::ALL)? {
            Found::Run(number, record) => runs.push(named(which, number, *record)),
            Found::QuerySet(number) => sets.push(query_set(store, number)?),
            Found::Comparison(_) | Found::Experiment(_) | Found::Search(_) => {
                return Err(SelectionError::Invalid(format!(
                    "{which} is not a run or a query set: report a comparison, an experiment or a search alone"
                )));
            }
        }
    }
    match (runs.is_empty(), sets.is_empty()) {
        (_, true) => Ok(Selected::Runs(runs)),
        (true, false) => having_common_queries(sets).map(Selected::Queries),
        (false, false) => Err(SelectionError::Invalid(
            "runs and query sets cannot be combined: report them separately".to_owned(),
        )),
    }
}

/// Refuses query sets that have nothing to compare.
fn having_common_queries(
    sets: Vec<(String, StepsRecord)>,
) -> Result<Vec<(String, StepsRecord)>, SelectionError> {
    let Some(((first, base), others)) = sets.split_first() else { return Ok(sets) };
    let is_shared =
        |other: &StepsRecord| base.steps.iter().any(|a| other.steps.iter().any(|b| a.name == b.name));
    let workload = |record: &StepsRecord| {
        record.query_set.as_ref().map_or("unknown".to_owned(), |plan| escaped_line(&plan.workload))
    };
    let is_same = |other: &StepsRecord| workload(base) == workload(other);
    match others.iter().find(|(_, other)| !is_shared(other) || !is_same(other)) {
        None => Ok(sets),
        Some((name, other)) => Err(SelectionError::Invalid(format!(
            "{first} (workload {}) and {name} (workload {}) have no query in common: report them separately",
            workload(base),
            workload(other)
        ))),
    }
}

/// A query set with its name in the report.
fn query_set(store: &Path, number: i64) -> Result<(String, StepsRecord), SelectionError> {
    let id = EntryId { kind: EntryKind::QuerySet, number };
    Ok((format!("query set {id}"), Store::open(store)?.query_set(number)?))
}

/// Refuses further stores.
fn only_store(others: &[ReportedStore]) -> Result<(), SelectionError> {
    match others {
        [] => Ok(()),
        [second, ..] => Err(SelectionError::Invalid(format!(
            "--store {} is a second store: several stores are for an experiment, by --experiment NAME",
            second.path.display()
        ))),
    }
}

/// One entry of these kinds, by its number, its age, its path or its label.
fn select_entry(
    which: &str,
    kinds: &[EntryKind],
    store: &ReportedStore,
    format: Format,
) -> Result<Selected, SelectionError> {
    Ok(match results::find_entry(&store.path, which, kinds)? {
        Found::Run(number, record) => Selected::Runs(vec![named(which, number, *record)]),
        Found::Comparison(number) => {
            Selected::Comparison(Box::new(Store::open(&store.path)?.comparison(number)?))
        }
        Found::QuerySet(number) => Selected::Queries(vec![query_set(&store.path, number)?]),
        Found::Search(number) => Selected::Search(Box::new(Store::open(&store.path)?.search(number)?)),
        Found::Experiment(number) => {
            let stored = Store::open(&store.path)?.experiment(number)?;
            let ReportedStore { path, is_default } = store.clone();
            let from = vec![FromStore { store: path, is_default, stored }];
            Selected::Experiment(Box::new(with_file(from, std::slice::from_ref(store), format)))
        }
    })
}

/// A run with its name in the report.
fn named(which: &str, number: Option<i64>, record: Record) -> (String, Record) {
    let name = match number {
        Some(number) => format!("run {number}"),
        None => Path::new(which).file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    };
    (name, record)
}

/// The name of the selected experiment; `None` if runs are selected. By default the store's only experiment.
fn asked_for(
    runs: &[String],
    experiment: Option<&str>,
    profile: Option<Profile>,
    store: &Path,
) -> Result<Option<String>, SelectionError> {
    if let Some(name) = experiment {
        return Ok(Some(name.to_owned()));
    }
    let is_file = |which: &str| which.ends_with(".toml");
    match runs {
        [file] if is_file(file) => Ok(Some(Experiment::read(Path::new(file), Profile::Full)?.name)),
        [] => only_one(store).map(Some),
        several if several.iter().any(|which| is_file(which)) => Err(SelectionError::Invalid(
            "an experiment file cannot be combined with runs: report them separately".to_owned(),
        )),
        _ if profile.is_some() => {
            Err(SelectionError::Invalid("--profile applies to experiments only".to_owned()))
        }
        _ => Ok(None),
    }
}

fn only_one(store: &Path) -> Result<String, SelectionError> {
    let names = Store::open(store)?.experiment_names()?;
    match names.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(SelectionError::Invalid(format!(
            "the store {} has no experiment: select a run, for example `pgmeter report last`, or run an \
             experiment with `pgmeter lab run`",
            store.display()
        ))),
        several => Err(SelectionError::Invalid(format!(
            "the store {} has several experiments: choose one of {} with --experiment, or select a run, for \
             example `pgmeter report last`",
            store.display(),
            several.join(", ")
        ))),
    }
}

/// The newest experiment of this name, from one or several stores, for a report in this format.
///
/// # Errors
/// A store does not contain it, is given twice, or cannot be read.
pub fn overview(
    stores: &[ReportedStore],
    name: &str,
    profile: Option<Profile>,
    format: Format,
) -> Result<Overview, SelectionError> {
    let mut all: Vec<FromStore> = Vec::new();
    let place = |store: &Path| store.canonicalize().unwrap_or_else(|_| store.to_owned());
    for (number, ReportedStore { path, is_default }) in stores.iter().enumerate() {
        if stores[..number].iter().any(|other| place(&other.path) == place(path)) {
            return Err(SelectionError::Invalid(format!("the store {} is given twice", path.display())));
        }
        // All in the profile of the first.
        let profile = profile.map(Profile::name).or(all.first().map(|from| from.stored.profile.as_str()));
        let stored = stored_experiment(path, name, profile)?;
        let is_default = stores.len() == 1 && *is_default;
        all.push(FromStore { store: path.clone(), is_default, stored });
    }
    Ok(with_file(all, stores, format))
}

/// The overview of an experiment from these stores, by its file, with what a format with charts needs.
fn with_file(all: Vec<FromStore>, stores: &[ReportedStore], format: Format) -> Overview {
    let first = all.first().map(|first| &first.stored);
    let design = first.and_then(|stored| stored.design.clone());
    let mut overview = Overview::new(all, design.as_ref());
    if format.has_charts() {
        add_curves(&mut overview, stores);
    }
    overview
}

fn stored_experiment(
    store: &Path,
    name: &str,
    profile: Option<&str>,
) -> Result<StoredExperiment, SelectionError> {
    let opened = Store::open(store)?;
    if let Some(stored) = opened.stored_experiment(name, profile)? {
        return Ok(stored);
    }
    let names = opened.experiment_names()?;
    let size = profile.map_or(String::new(), |profile| format!(" in the version {profile}"));
    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Err(SelectionError::Invalid(format!(
        "the store {} has no experiment {name}{size}; it has {there}",
        store.display()
    )))
}

/// Reads the records of the runs whose throughput over time is drawn. A record that cannot be read is left out; the
/// chart says so.
fn add_curves(overview: &mut Overview, stores: &[ReportedStore]) {
    for curve in overview.curves() {
        let record = stores.get(curve.store).map(|store| results::find(&store.path, &curve.run.to_string()));
        if let Some(Ok(record)) = record {
            overview.add_curve(curve, &record);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_an_experiment_stands_alone() {
        let both = ["1", "experiments/clients.toml"].map(str::to_owned);
        let refusal = asked_for(&both, None, None, Path::new("nowhere")).unwrap_err().to_string();
        assert!(refusal.starts_with("an experiment file cannot be combined with runs"), "{refusal}");
    }
}
