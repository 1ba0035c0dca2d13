//! Finds the experiment for a report, in the store and its file.
//! `report::experiment` formats it.

use std::path::{Path, PathBuf};

use ::lab::{Experiment, Folder, Plan, Profile, profile_name};
use report::Format;
use report::experiment::{FromStore, Overview};
use results::{DEFAULT_STORE, Store, StoredExperiment};

use crate::failure::Failure;

/// The name of the selected experiment; `None` if runs are selected. By default the store's only experiment.
pub(crate) fn asked_for(
    runs: &[String],
    experiment: Option<&str>,
    profile: Option<Profile>,
    store: &Path,
) -> Result<Option<String>, Failure> {
    if let Some(name) = experiment {
        return Ok(Some(name.to_owned()));
    }
    let is_file = |which: &str| which.ends_with(".toml");
    match runs {
        [file] if is_file(file) => Ok(Some(Experiment::read(Path::new(file), Profile::Full)?.name)),
        [] => only_one(store).map(Some),
        several if several.iter().any(|which| is_file(which)) => Err(Failure::Usage(
            "an experiment file cannot be combined with runs: report them separately".to_owned(),
        )),
        _ if profile.is_some() => Err(Failure::Usage("--profile applies to experiments only".to_owned())),
        _ => Ok(None),
    }
}

fn only_one(store: &Path) -> Result<String, Failure> {
    let names = Store::open(store)?.experiment_names()?;
    match names.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Failure::Usage(format!(
            "the store {} has no experiment: select a run, for example `pgmeter report last`, or run an \
             experiment with `pgmeter lab run`",
            store.display()
        ))),
        several => Err(Failure::Usage(format!(
            "the store {} has several experiments: choose one of {} with --experiment, or select a run, for \
             example `pgmeter report last`",
            store.display(),
            several.join(", ")
        ))),
    }
}

/// The newest experiment of this name, from one or several stores, for a report in this format.
pub(crate) fn overview(
    stores: &[PathBuf],
    name: &str,
    profile: Option<Profile>,
    format: Format,
) -> Result<Overview, Failure> {
    let mut all: Vec<FromStore> = Vec::new();
    let place = |store: &PathBuf| store.canonicalize().unwrap_or_else(|_| store.clone());
    for (number, store) in stores.iter().enumerate() {
        if stores[..number].iter().any(|other| place(other) == place(store)) {
            return Err(Failure::Usage(format!("the store {} is given twice", store.display())));
        }
        // All in the profile of the first.
        let profile = profile.map(profile_name).or(all.first().map(|from| from.stored.profile.as_str()));
        let stored = stored_experiment(store, name, profile)?;
        let is_default = stores.len() == 1 && store == Path::new(DEFAULT_STORE);
        all.push(FromStore { store: store.clone(), is_default, stored });
    }
    let read = all.first().and_then(|first| file_of(&first.stored));
    let mut overview = Overview::new(all, read.as_ref().map(|(experiment, plan)| (experiment, plan)));
    if format.has_charts() {
        add_curves(&mut overview, stores);
    }
    Ok(overview)
}

fn stored_experiment(store: &Path, name: &str, profile: Option<&str>) -> Result<StoredExperiment, Failure> {
    let opened = Store::open(store)?;
    if let Some(stored) = opened.stored_experiment(name, profile)? {
        return Ok(stored);
    }
    let names = opened.experiment_names()?;
    let size = profile.map_or(String::new(), |profile| format!(" in the version {profile}"));
    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Err(Failure::Usage(format!(
        "the store {} has no experiment {name}{size}; it has {there}",
        store.display()
    )))
}

/// Reads the records of the runs whose throughput over time is drawn. A record that cannot be read is left out; the
/// chart says so.
fn add_curves(overview: &mut Overview, stores: &[PathBuf]) {
    for curve in overview.curves() {
        let record = stores.get(curve.store).map(|store| results::find(store, &curve.run.to_string()));
        if let Some(Ok(record)) = record {
            overview.add_curve(curve, &record);
        }
    }
}

/// The experiment file as it was at the start; `None` if this version cannot read it.
fn file_of(stored: &StoredExperiment) -> Option<(Experiment, Plan)> {
    let profile = if stored.profile == profile_name(Profile::Quick) { Profile::Quick } else { Profile::Full };
    let folder = Folder::Stored(&stored.files);
    let read = |(name, text): (&String, &String)| {
        let experiment = Experiment::parse(text, name, folder, profile).ok()?;
        let plan = Plan::of(&experiment, name, folder).ok()?;
        (experiment.name == stored.name).then_some((experiment, plan))
    };
    stored.files.iter().filter(|(name, _)| !name.ends_with(".sql")).find_map(read)
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
