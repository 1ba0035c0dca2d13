//! The experiments and benchmarks in the repository: each is valid in both profiles, and its quick profile takes at
//! most three minutes on two cores. Each experiment has a source and a description.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use engine::Limit;
use pgmeter_experiment::{Experiment, Plan, Profile, Step};

/// Experiments that reproduce a publication.
const PUBLISHED: [&str; 28] = [
    "A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "A9", "B1", "B2", "B3", "B4", "B5", "C1", "D1", "D2",
    "D3", "D4", "D5", "E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8",
];

/// Approximate time of the queries of a trial at a quick scale.
const OF_QUERIES: Duration = Duration::from_secs(5);

fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn is_toml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// An experiment whose plan needs no archive that is not unpacked on this machine, in both profiles.
struct Shipped {
    path: PathBuf,
    full: Experiment,
    quick: (Experiment, Plan),
}

/// All of them, or the sentences about missing archives. They are read once for all tests, because plans take seconds.
fn all() -> &'static [Result<Shipped, String>] {
    static ALL: LazyLock<Vec<Result<Shipped, String>>> = LazyLock::new(|| {
        let read = |path: PathBuf| match quick(&path) {
            Ok(quick) => Ok(Shipped { full: full(&path), quick, path }),
            Err(sentence) => Err(sentence),
        };
        files().into_iter().map(read).collect()
    });
    &ALL
}

fn shipped() -> impl Iterator<Item = &'static Shipped> {
    all().iter().filter_map(|read| read.as_ref().ok())
}

fn files() -> Vec<PathBuf> {
    let folders = in_folder(&root().join("experiments")).into_iter().filter(|path| path.is_dir());
    folders.flat_map(|folder| in_folder(&folder)).filter(|path| is_toml(path)).collect()
}

/// The experiment in its quick profile, or the sentence about a missing archive.
fn quick(path: &Path) -> Result<(Experiment, Plan), String> {
    let experiment = Experiment::read(path, Profile::Quick).unwrap_or_else(|error| panic!("{error}"));
    let folder = path.parent().expect("it lies in a folder");
    match Plan::of(&experiment, &path.display().to_string(), folder).map_err(|error| error.to_string()) {
        Ok(plan) => Ok((experiment, plan)),
        Err(error) if error.contains("is not unpacked") => Err(error),
        Err(error) => panic!("{error}"),
    }
}

/// Its plan in the full profile is made each night, as it takes longer than those of all others.
const PLANNED_EACH_NIGHT: &str = "experiments/fulltext/experiment.toml";

/// The experiment in its full profile, which can be planned.
fn full(path: &Path) -> Experiment {
    if path.ends_with(PLANNED_EACH_NIGHT) {
        return Experiment::read(path, Profile::Full).unwrap_or_else(|error| panic!("{error}"));
    }
    read(path, Profile::Full).0
}

mod nightly {
    use super::*;

    #[test]
    fn full_text_search_can_be_planned_in_its_full_size() {
        let (_, plan) = read(&root().join(PLANNED_EACH_NIGHT), Profile::Full);
        assert!(!plan.trials.is_empty());
    }
}

/// Benchmarks of pgmeter itself.
fn benchmarks() -> Vec<PathBuf> {
    let files: Vec<_> =
        in_folder(&root().join("benchmarks")).into_iter().filter(|path| is_toml(path)).collect();
    assert!(files.len() >= 3, "{files:?}");
    files
}

fn read(path: &Path, profile: Profile) -> (Experiment, Plan) {
    let experiment = Experiment::read(path, profile).unwrap_or_else(|error| panic!("{error}"));
    let folder = path.parent().expect("it lies in a folder");
    let plan =
        Plan::of(&experiment, &path.display().to_string(), folder).unwrap_or_else(|error| panic!("{error}"));
    (experiment, plan)
}

#[test]
fn every_shipped_experiment_says_whom_it_repeats_and_what_to_look_for() {
    let mut names = Vec::new();
    for Shipped { path, full, .. } in shipped() {
        assert!(full.source.as_ref().is_some_and(|source| source.contains('(')), "{}", path.display());
        let description = full.description.clone().unwrap_or_default();
        assert!(description.contains("ook "), "{}: what is to be looked for?", path.display());
        assert!(!full.charts.is_empty(), "{} has no chart", path.display());
        names.push(&full.name);
    }
    let experiments = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), experiments, "two have the same name");
}

#[test]
fn only_queries_of_tpcds_need_an_archive_and_the_error_names_the_command() {
    let sentences: Vec<&String> = all().iter().filter_map(|read| read.as_ref().err()).collect();
    for sentence in &sentences {
        assert!(sentence.contains("experiments/tpcds/experiment.toml:"), "{sentence}");
        assert!(sentence.contains("run `pgmeter workload prepare tpcds`"), "{sentence}");
    }
}

#[test]
fn all_that_was_published_is_there() {
    let sources: Vec<&String> = shipped().filter_map(|shipped| shipped.full.source.as_ref()).collect();
    let is_there = |id: &str| {
        let range = |source: &str| id.starts_with('D') && source.contains("D1–D4");
        sources.iter().any(|source| range(source) || source.contains(&format!("({id})")))
    };
    let lacking: Vec<&str> = PUBLISHED.into_iter().filter(|id| !is_there(id)).collect();
    assert_eq!(lacking, [""; 0]);
}

#[test]
fn every_benchmark_says_what_to_look_for_in_both_sizes() {
    for path in benchmarks() {
        for profile in [Profile::Full, Profile::Quick] {
            let (benchmark, plan) = read(&path, profile);
            assert!(benchmark.description.unwrap_or_default().contains("Look "), "{}", path.display());
            assert!(plan.cells.len() > 1, "{} compares nothing", path.display());
        }
    }
}

#[test]
fn the_quick_size_asks_for_less_than_three_minutes() {
    let benchmarks: Vec<_> =
        benchmarks().into_iter().map(|path| (read(&path, Profile::Quick), path)).collect();
    let benchmarks = benchmarks.iter().map(|(quick, path)| (path, quick));
    for (path, (experiment, plan)) in shipped().map(|it| (&it.path, &it.quick)).chain(benchmarks) {
        let measured: Duration = plan
            .trials
            .iter()
            .map(|trial| &plan.cells[trial.cell].configuration)
            .map(|configuration| match configuration.load.limit {
                // The duration of queries and of steps is unknown; the number of steps is an approximation.
                _ if configuration.queries.is_some() => OF_QUERIES,
                _ if !configuration.steps.is_empty() => configuration.steps.iter().map(Step::estimate).sum(),
                Limit::Duration(time) => time + configuration.load.warmup,
                Limit::TransactionsPerClient(_) => Duration::ZERO,
            })
            .sum();
        assert!(measured < Duration::from_secs(130), "{} measures for {measured:?}", path.display());
        // Each of the many queries of fulltext reads a small part of the data, which the estimate does not know.
        let is_estimated = experiment.name != "fulltext";
        if is_estimated && plan.cells.iter().any(|cell| cell.configuration.queries.is_some()) {
            let trials = plan.estimate().trials;
            assert!(trials < Duration::from_secs(130), "{}: queries take {trials:?}", path.display());
        }
        assert!(plan.trials.len() <= 50, "{}: {} trials", path.display(), plan.trials.len());
    }
}
