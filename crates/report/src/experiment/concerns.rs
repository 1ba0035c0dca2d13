//! What to know before believing an experiment's figures: servers that were built differently, hosts and conditions
//! that changed between trials, what the runs' own warnings say together, repeats that are too few.

use std::collections::{BTreeMap, BTreeSet};

use results::{BuildFingerprint, Environment, ServerFacts, StoredRun, TrialOrder};

use super::overview::Overview;
use crate::figures::counted;
use crate::prose::{cut, enumerate, escaped_line};
use crate::wording;

/// As sentences, the gravest first; `order` is what the file says, if it can be read.
pub(super) fn concerns(overview: &Overview, order: Option<TrialOrder>) -> Vec<String> {
    let mut concerns = Vec::new();
    if order.is_none() {
        concerns.push(
            "The file of the experiment, as it is stored, cannot be read by this pgmeter: order, base and charts are \
             guessed from the trials."
                .to_owned(),
        );
    }
    concerns.extend(super::query_sets::limited(overview));
    let runs = complete_runs(overview);
    concerns.extend(unreadable(&runs));
    concerns.extend(different_builds(&runs));
    if order == Some(TrialOrder::Interleaved) && !overview.repeats_are_blocks {
        concerns.push(
            "The servers were taken one after another, all repeats of one before those of the next: what changed over \
             time is in their differences too, and ratios are not taken within each repeat."
                .to_owned(),
        );
    }
    concerns.extend(changes(&runs));
    concerns.extend(few_repeats(overview));
    concerns.extend(warnings(&runs));
    concerns
}

fn complete_runs(overview: &Overview) -> Vec<&StoredRun> {
    overview.trials.iter().filter_map(|trial| trial.complete_run()).collect()
}

fn unreadable(runs: &[&StoredRun]) -> Option<String> {
    let unreadable: Vec<String> =
        runs.iter().filter(|run| run.summary.is_none()).map(|run| run.run.to_string()).collect();
    (!unreadable.is_empty()).then(|| {
        format!(
            "The figures of run {} were stored in a form that this pgmeter does not read; they are not in the tables.",
            enumerate(&unreadable)
        )
    })
}

/// What tells builds apart, beside the version; what servers of different versions always differ in is not said.
type AspectOfBuild = (&'static str, fn(&ServerFacts) -> Option<String>);
const ASPECTS_OF_BUILDS: [AspectOfBuild; 4] = [
    ("compiler and platform", |it| Some(compiler(&it.build))),
    ("configure flags", |it| it.build.configure.clone()),
    ("compiler flags", |it| it.build.cflags.clone()),
    ("assertions", |it| {
        it.debug_assertions.map(|on| if on { "with assertions" } else { "without assertions" }.to_owned())
    }),
];

/// An aspect in which builds differ: what it is called, and each kind with the versions that are of it.
struct Difference {
    name: &'static str,
    kinds: Vec<(String, Vec<String>)>,
}

impl Difference {
    fn of(servers: &[&ServerFacts], aspect: &AspectOfBuild) -> Option<Difference> {
        let (name, of) = *aspect;
        let mut kinds: BTreeMap<Option<String>, Vec<String>> = BTreeMap::new();
        for server in servers {
            let versions = kinds.entry(of(server)).or_default();
            let version = version_of(server);
            if !versions.contains(&version) {
                versions.push(version);
            }
        }
        let kind = |(what, versions): (Option<String>, Vec<String>)| {
            (what.map_or_else(|| "not known".to_owned(), |what| escaped_line(&what)), versions)
        };
        (kinds.len() > 1).then(|| Difference { name, kinds: kinds.into_iter().map(kind).collect() })
    }

    /// `compiler and platform (16.4: …; 18.1: …)`, no kind longer than this.
    fn told(&self, kinds_max: usize, length_max: usize) -> String {
        let told = |(what, versions): &(String, Vec<String>)| {
            format!("{}: {}", enumerate(versions), cut(what, length_max))
        };
        let mut kinds: Vec<String> = self.kinds.iter().take(kinds_max).map(told).collect();
        if self.kinds.len() > kinds_max {
            kinds.push("…".to_owned());
        }
        format!("{} ({})", self.name, kinds.join("; "))
    }
}

/// `15.18 (Debian 15.18-0+deb12u1)` without the packager.
fn version_of(server: &ServerFacts) -> String {
    escaped_line(&server.version).split(' ').next().unwrap_or_default().to_owned()
}

/// Each once.
fn servers<'a>(runs: &[&'a StoredRun]) -> Vec<&'a ServerFacts> {
    let mut servers: Vec<&ServerFacts> = Vec::new();
    for server in runs.iter().filter_map(|run| run.environment.as_ref()?.server.as_ref()) {
        let build = (&server.version, fingerprint(server));
        if servers.iter().all(|known| (&known.version, fingerprint(known)) != build) {
            servers.push(server);
        }
    }
    servers.sort_by_key(|server| server.server_version_num);
    servers
}

fn fingerprint(server: &ServerFacts) -> Vec<Option<String>> {
    ASPECTS_OF_BUILDS.iter().map(|(_, of)| of(server)).collect()
}

/// In what the servers' builds differ, with all that is known of each kind.
pub(super) fn builds(overview: &Overview) -> Vec<String> {
    let servers = servers(&complete_runs(overview));
    let differing = ASPECTS_OF_BUILDS.iter().filter_map(|aspect| Difference::of(&servers, aspect));
    differing.map(|it| it.told(usize::MAX, usize::MAX)).collect()
}

/// That they differ: how many there are, and the first difference with two of its kinds. The page has the rest.
fn different_builds(runs: &[&StoredRun]) -> Option<String> {
    const KINDS_SHOWN_MAX: usize = 2;
    const KIND_LEN_MAX: usize = 60;
    const VERSIONS_SHOWN_MAX: usize = 8;
    let servers = servers(runs);
    let differing: Vec<Difference> =
        ASPECTS_OF_BUILDS.iter().filter_map(|aspect| Difference::of(&servers, aspect)).collect();
    let (first, others) = differing.split_first()?;
    let mut versions: Vec<String> = servers.iter().map(|server| version_of(server)).collect();
    versions.dedup();
    let versions = match versions.as_slice() {
        [first, .., last] if versions.len() > VERSIONS_SHOWN_MAX => {
            format!("{} versions from {first} to {last}", versions.len())
        }
        few => enumerate(few),
    };
    let mut fingerprints: Vec<Vec<Option<String>>> =
        servers.iter().map(|server| fingerprint(server)).collect();
    fingerprints.sort();
    fingerprints.dedup();
    let mut told = vec![first.told(KINDS_SHOWN_MAX, KIND_LEN_MAX)];
    told.extend(others.iter().map(|it| it.name.to_owned()));
    Some(format!(
        "The servers were built differently, so that their builds are compared along with everything else: {} of \
         {versions} differ in {}; the page has it all.",
        counted(fingerprints.len() as u64, "build", "builds"),
        enumerate(&told)
    ))
}

/// `select version()` without the number: `x86_64-pc-linux-gnu, compiled by gcc 12.2.0, 64-bit`.
fn compiler(build: &BuildFingerprint) -> String {
    build.version.split_once(" on ").map_or(build.version.as_str(), |(_, rest)| rest).to_owned()
}

/// What of the host was not the same in all trials.
fn changes(runs: &[&StoredRun]) -> Vec<String> {
    type Aspect = (&'static str, fn(&StoredRun) -> Option<String>);
    const ASPECTS: [Aspect; 8] = [
        ("host", |run| Some(environment(run)?.host.hostname.clone())),
        ("kernel", |run| Some(environment(run)?.host.kernel.clone())),
        ("processor", |run| environment(run)?.host.cpu_model.clone()),
        ("number of processors for pgmeter", |run| Some(environment(run)?.host.cpu_available?.to_string())),
        ("governor of the processors", |run| environment(run)?.conditions.governor.clone()),
        ("clock source", |run| environment(run)?.conditions.clock_source.clone()),
        ("virtual machine", |run| environment(run)?.conditions.virtualisation.clone()),
        ("pgmeter", |run| Some(run.pgmeter_version.clone())),
    ];
    let changed = |(name, of): &Aspect| {
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for run in runs {
            *kinds
                .entry(of(run).map_or_else(|| "unknown".to_owned(), |it| escaped_line(&it)))
                .or_default() += 1;
        }
        let told: Vec<String> = kinds.iter().map(|(what, trials)| format!("{what} in {trials}")).collect();
        (kinds.len() > 1).then(|| format!("The {name} was not the same in all trials: {}.", enumerate(&told)))
    };
    ASPECTS.iter().filter_map(changed).collect()
}

fn environment(run: &StoredRun) -> Option<&Environment> {
    run.environment.as_ref()
}

fn few_repeats(overview: &Overview) -> Option<String> {
    let repeats =
        |cell: &super::ExperimentCell| cell.figure(overview.main()).map_or(0, |figure| figure.values.len());
    let measured = || overview.cells.iter().map(repeats).filter(|repeats| *repeats > 0);
    let single = measured().filter(|repeats| *repeats == 1).count();
    match (single, measured().count()) {
        (0, _) => None,
        (single, all) if single == all => {
            Some("Each combination was run only once, so there are no intervals.".to_owned())
        }
        (single, all) => Some(format!(
            "{} of {all} combinations have only one complete repeat and therefore no interval.",
            single
        )),
    }
}

/// One line for each kind of warning, with the number of trials and the range of its figures.
fn warnings(runs: &[&StoredRun]) -> Vec<String> {
    let mut kinds = wording::warnings_by_kind(runs.iter().map(|run| &run.warnings));
    kinds.sort_by_key(|(trials, _)| std::cmp::Reverse(trials.len()));
    let all = runs.len();
    let line = |(trials, sentence): (BTreeSet<usize>, String)| {
        let trials = if trials.len() == all {
            "In all complete trials".to_owned()
        } else {
            format!("In {} of {}", trials.len(), counted(all as u64, "complete trial", "complete trials"))
        };
        format!("{trials}: {sentence}")
    };
    kinds.into_iter().map(line).collect()
}
