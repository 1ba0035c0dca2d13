//! What to know before believing an experiment's figures: servers that were built differently, hosts and conditions
//! that changed between trials, what the runs' own warnings say together, repeats that are too few.

use std::collections::BTreeMap;

use results::{BuildFingerprint, Environment, ServerFacts, StoredRun};

use super::overview::Overview;
use crate::figures::counted;
use crate::prose::{enumerate, harmless};

/// Different warnings of runs that are listed; the runs have them all.
const WARNINGS_MAX: usize = 12;

/// As sentences, the gravest first.
pub(super) fn concerns(overview: &Overview, file_is_readable: bool) -> Vec<String> {
    let mut concerns = Vec::new();
    if !file_is_readable {
        concerns.push(
            "The file of the experiment, as it is stored, cannot be read by this pgmeter: order, base and charts are \
             guessed from the trials."
                .to_owned(),
        );
    }
    let runs: Vec<&StoredRun> = overview.trials.iter().filter_map(|trial| trial.complete_run()).collect();
    concerns.extend(unreadable(&runs));
    concerns.extend(builds(&runs));
    concerns.extend(changes(&runs));
    concerns.extend(few_repeats(overview));
    concerns.extend(warnings(&runs));
    concerns
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

/// Servers of different versions always differ in their version; what else tells their builds apart is said.
fn builds(runs: &[&StoredRun]) -> Option<String> {
    let servers = || runs.iter().filter_map(|run| run.environment.as_ref()?.server.as_ref());
    type Aspect = (&'static str, fn(&ServerFacts) -> Option<String>);
    const ASPECTS: [Aspect; 4] = [
        ("compiler and platform", |it| Some(compiler(&it.build))),
        ("configure flags", |it| it.build.configure.clone()),
        ("compiler flags", |it| it.build.cflags.clone()),
        ("assertions", |it| {
            it.debug_assertions.map(|on| if on { "with assertions" } else { "without assertions" }.to_owned())
        }),
    ];
    let differs = |(name, of): &Aspect| {
        let mut kinds: BTreeMap<Option<String>, Vec<&str>> = BTreeMap::new();
        for server in servers() {
            let versions = kinds.entry(of(server)).or_default();
            if !versions.contains(&server.version.as_str()) {
                versions.push(&server.version);
            }
        }
        let told = |(what, versions): (&Option<String>, &Vec<&str>)| {
            let versions: Vec<String> = versions.iter().map(|version| harmless(version)).collect();
            let what = what.as_ref().map_or_else(|| "not known".to_owned(), |what| harmless(what));
            format!("{}: {}", enumerate(&versions), crate::prose::cut(&what, DETAIL_LEN_MAX))
        };
        (kinds.len() > 1)
            .then(|| format!("{name} ({})", kinds.iter().map(told).collect::<Vec<_>>().join("; ")))
    };
    const DETAIL_LEN_MAX: usize = 120;
    let differing: Vec<String> = ASPECTS.iter().filter_map(differs).collect();
    (!differing.is_empty()).then(|| {
        format!(
            "The servers were built differently, so that their builds are compared along with everything else: {}.",
            differing.join(", ")
        )
    })
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
            *kinds.entry(of(run).map_or_else(|| "unknown".to_owned(), |it| harmless(&it))).or_default() += 1;
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
    let repeats = |cell: &super::Cell| cell.figure(overview.main()).map_or(0, |figure| figure.values.len());
    let measured = || overview.cells.iter().map(repeats).filter(|repeats| *repeats > 0);
    let single = measured().filter(|repeats| *repeats == 1).count();
    match (single, measured().count()) {
        (0, _) => None,
        (single, all) if single == all => Some(
            "Each combination was run once, so that nothing says how far another repeat would be off: there are no \
             intervals."
                .to_owned(),
        ),
        (single, all) => Some(format!(
            "{} of {all} combinations have a single complete repeat, and so no interval.",
            single
        )),
    }
}

/// The same warning of several runs is said once; its numbers are those of the first.
fn warnings(runs: &[&StoredRun]) -> Vec<String> {
    let mut kinds: Vec<(String, String, usize)> = Vec::new();
    for run in runs {
        for warning in &run.warnings {
            let text = harmless(warning.as_str());
            let kind: String =
                text.chars().filter(|c| !c.is_ascii_digit() && *c != '.' && *c != ',').collect();
            match kinds.iter_mut().find(|(known, ..)| *known == kind) {
                Some((.., count)) => *count += 1,
                None => kinds.push((kind, text, 1)),
            }
        }
    }
    kinds.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
    let all = runs.len();
    let told = |(_, text, count): &(String, String, usize)| {
        let such = if *count > 1 && text.contains(|c: char| c.is_ascii_digit()) { ", such as" } else { "" };
        let trials = if *count == all {
            "In all complete trials".to_owned()
        } else {
            format!("In {count} of {}", counted(all as u64, "complete trial", "complete trials"))
        };
        format!("{trials}{such}: {text}.")
    };
    let mut said: Vec<String> = kinds.iter().take(WARNINGS_MAX).map(told).collect();
    if kinds.len() > WARNINGS_MAX {
        let rest = counted((kinds.len() - WARNINGS_MAX) as u64, "other warning is", "other warnings are");
        said.push(format!("{rest} in the reports of the single runs."));
    }
    said
}
