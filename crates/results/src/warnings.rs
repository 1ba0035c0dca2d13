//! The rules for warnings: each examines a record and returns one [`Warning`] or none. Pure functions, called when a
//! record is made. Reports of several runs call [`warnings_of_comparison`].

use crate::observation::{Event, EventKind};
use crate::processor_use::{OTHERS_SHARE_MAX, backends_running, others_share, pooler_cpu_share};
use crate::times::differ;
use crate::{
    ComparedFact, Conditions, ConnectionInUse, DiskHolds, LimitedRank, Record, SafeText, Script, ServerFacts,
    StallEffect, Stalls, Status, WaitMethod, Warning,
};

/// The rules in the order of output; severe warnings first.
const RULES: [fn(&Record) -> Option<Warning>; 21] = [
    debug_build,
    assertions,
    fsync_off,
    full_page_writes_off,
    memory_disk,
    contended_rows,
    not_settled,
    stalled,
    only_succeeded,
    stolen,
    other_programs,
    power_saving,
    slow_clock,
    ranks_client_limited,
    client_uses_cpu,
    pooler_busy,
    biased_samples,
    shared_host,
    synchronous_commit_off,
    no_checkpoint,
    maintenance,
];

/// The warnings for one run, cautions first.
pub fn warnings(record: &Record) -> Vec<Warning> {
    RULES.iter().filter_map(|rule| rule(record)).collect()
}

impl Record {
    /// Adds the warnings, and completes the verdicts by the observations of the server.
    pub fn warn(&mut self) {
        self.warnings.extend(warnings(self));
        self.complete_verdicts();
    }
}

fn debug_build(record: &Record) -> Option<Warning> {
    record.pgmeter_build.warning()
}

fn server(record: &Record) -> Option<&ServerFacts> {
    record.environment.server.as_ref()
}

/// A setting for durability, checkpoints or memory.
fn setting<'a>(record: &'a Record, name: &str) -> Option<&'a str> {
    let server = server(record)?;
    server.main_settings.get(name).or_else(|| server.non_default_settings.get(name))
}

fn assertions(record: &Record) -> Option<Warning> {
    (server(record)?.debug_assertions == Some(true)).then_some(Warning::DebugAssertions)
}

/// Whether a script writes while this setting is off.
fn writes_without(record: &Record, name: &str) -> bool {
    writes(record) && setting(record, name) == Some("off")
}

fn fsync_off(record: &Record) -> Option<Warning> {
    writes_without(record, "fsync").then_some(Warning::FsyncOff)
}

fn full_page_writes_off(record: &Record) -> Option<Warning> {
    writes_without(record, "full_page_writes").then_some(Warning::FullPageWritesOff)
}

fn synchronous_commit_off(record: &Record) -> Option<Warning> {
    writes_without(record, "synchronous_commit").then_some(Warning::SynchronousCommitOff)
}

/// Settings of the server with which committed transactions can be lost in a crash, as `fsync = off`.
pub(crate) fn volatile_settings(record: &Record) -> Vec<String> {
    let names = ["fsync", "full_page_writes", "synchronous_commit"].into_iter();
    names.filter(|name| setting(record, name) == Some("off")).map(|name| format!("{name} = off")).collect()
}

fn memory_disk(record: &Record) -> Option<Warning> {
    let disk = record.environment.disk.as_ref()?;
    let file_system = disk.file_system.as_deref().filter(|kind| matches!(*kind, "tmpfs" | "ramfs"))?;
    (disk.holds != DiskHolds::Records && writes(record))
        .then(|| Warning::MemoryDisk { holds: disk.holds, file_system: file_system.to_owned() })
}

/// CPU time of a pooler ÷ measured time, from which on it may be the limit: it has one thread.
const POOLER_BUSY: f64 = 0.9;

fn pooler_busy(record: &Record) -> Option<Warning> {
    let cpu_share = pooler_cpu_share(record)?;
    (cpu_share >= POOLER_BUSY).then_some(Warning::PoolerBusy { cpu_share })
}

/// Whether a script contains one of these words, ignoring case and comments.
fn mentions(script: &Script, words: &[&str]) -> bool {
    let of_line = |line: &str| {
        let code = line.split("--").next().unwrap_or_default().to_ascii_lowercase();
        let mut found = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        found.any(|word| words.contains(&word))
    };
    script.weight > 0 && script.text.lines().any(of_line)
}

/// Whether a script appears to write; writes within functions are not detected.
fn writes(record: &Record) -> bool {
    const WORDS: [&str; 7] = ["insert", "update", "delete", "merge", "copy", "truncate", "create"];
    record.plan.scripts.iter().any(|script| mentions(script, &WORDS))
}

/// More clients than rows for which the transactions of a script compete.
fn contended_rows(record: &Record) -> Option<Warning> {
    let plan = &record.plan;
    let clients = plan.working_clients();
    let of_script = |script: &Script| {
        let contention = script.contention.clone().filter(|_| script.weight > 0)?;
        Some((contention.rows(&plan.variables)?, contention, SafeText::from(script.name.as_str())))
    };
    let (rows, contention, script) =
        plan.scripts.iter().filter_map(of_script).min_by_key(|(rows, ..)| *rows)?;
    let is_by_scale = contention.variable.as_deref() == Some("scale");
    (u64::from(clients) > rows).then(|| Warning::ContendedRows {
        clients,
        script,
        rows,
        scale_needed: is_by_scale.then(|| clients.div_ceil(contention.factor.max(1))),
    })
}

fn not_settled(record: &Record) -> Option<Warning> {
    let state = record.summary.steady_state.as_ref()?;
    let drifts = || state.evidence.significant_drifts();
    match (state.settled?, state.steady_from_s) {
        (true, _) => None,
        (false, Some(steady_from_s)) if steady_from_s > 0.0 => {
            Some(Warning::SettledLate { steady_from_s, drifts: drifts() })
        }
        (false, _) => Some(Warning::NeverSettled { drifts: drifts() }),
    }
}

/// Minimum length of a stall, or minimum share of the run for all stalls, for a warning. Lesser stalls are listed only.
const STALL_WARNED_S: f64 = 1.0;
const STALLED_SHARE_MAX: f64 = 0.01;

impl Record {
    /// Stalls that affect the latencies significantly; `None` without any.
    pub fn grave_stalls(&self) -> Option<&Stalls> {
        let stalls = self.summary.stalls.as_ref().filter(|stalls| stalls.count > 0)?;
        let is_long = stalls.longest.iter().any(|stall| stall.length_s() > STALL_WARNED_S);
        (is_long || stalls.total_s > STALLED_SHARE_MAX * self.summary.duration_s).then_some(stalls)
    }
}

fn stalled(record: &Record) -> Option<Warning> {
    let Stalls { threshold_us, count, total_s, longest } = record.grave_stalls()?;
    let worst = longest.iter().max_by(|a, b| a.length_s().total_cmp(&b.length_s()))?;
    let latencies = record.summary.response_us.zip(record.summary.response_with_stalls_us);
    let effect = match (record.plan.rate_tps, latencies) {
        (Some(_), _) => StallEffect::Included,
        (None, Some((plain, with))) => {
            StallEffect::Hidden { p99_us: plain.p99, p99_with_stalls_us: with.p99 }
        }
        (None, None) => StallEffect::Unknown,
    };
    Some(Warning::Stalled {
        longest_s: worst.length_s(),
        start_s: worst.start_s,
        stalls: *count,
        threshold_us: *threshold_us,
        total_s: *total_s,
        effect,
    })
}

fn only_succeeded(record: &Record) -> Option<Warning> {
    let summary = &record.summary;
    let (succeeded, all) = (summary.response_us?, summary.response_of_all_us()?);
    let ratio = |one: f64, other: f64| one.max(other) / one.min(other).max(1e-3);
    let pairs = succeeded.percentiles().into_iter().zip(all.percentiles().map(|(_, us)| us));
    let changed = pairs.filter(|((_, succeeded), all)| differ(*succeeded, *all));
    let worst = changed.max_by(|((_, a), of_all_a), ((_, b), of_all_b)| {
        ratio(*a, *of_all_a).total_cmp(&ratio(*b, *of_all_b))
    });
    let ((percentile, succeeded_us), all_us) = worst?;
    let counts = &summary.counts;
    Some(Warning::OnlySucceeded {
        failed: counts.failed,
        skipped: counts.skipped,
        unfinished: counts.unfinished,
        unknown: counts.unknown,
        percentile: percentile.to_owned(),
        succeeded_us,
        all_us,
    })
}

/// Share of stolen time above which a warning is given; smaller shares come from the hypervisor's timekeeping.
const STOLEN_SHARE_MAX: f64 = 0.02;

fn stolen(record: &Record) -> Option<Warning> {
    record.environment.conditions.stolen()
}

impl Conditions {
    /// Warning about CPU time stolen by the hypervisor.
    pub fn stolen(&self) -> Option<Warning> {
        let stolen_share = self.processors?.stolen;
        (stolen_share > STOLEN_SHARE_MAX).then_some(Warning::Stolen { stolen_share })
    }

    /// Warning about load on a host with this number of CPUs before the run.
    pub fn busy_before(&self, cpus: u32) -> Option<Warning> {
        let load_average_1m = self.load_average_1m?;
        (load_average_1m > LOAD_PER_PROCESSOR_MAX * f64::from(cpus))
            .then_some(Warning::BusyBefore { load_average_1m, cpus })
    }
}

/// Load average per CPU before the run above which other programs are assumed. pgmeter's own preceding work, such as
/// loading tables, stays below it.
const LOAD_PER_PROCESSOR_MAX: f64 = 0.75;

fn other_programs(record: &Record) -> Option<Warning> {
    if let Some(others_share) = others_share(record) {
        return (others_share > OTHERS_SHARE_MAX).then_some(Warning::OtherPrograms { others_share });
    }
    let cpus = record.environment.host.cpu_count.filter(|&count| count > 0)?;
    record.environment.conditions.busy_before(cpus)
}

/// Mean number of backends sampled in states that use CPU time: running, or I/O other than a flush, because reads from
/// the page cache are copied by the CPU.
fn backends_seen_running(record: &Record) -> Option<f64> {
    let waits = record.observation.as_ref()?.waits.as_ref()?;
    let runs = |event_type: &str, event: &str| {
        event_type == "CPU" || (event_type == "IO" && !event.to_ascii_lowercase().ends_with("sync"))
    };
    let running = waits.top.iter().filter(|wait| runs(&wait.event_type, &wait.event)).map(|wait| wait.seen);
    (waits.looks > 0).then(|| running.sum::<u64>() as f64 / waits.looks as f64)
}

/// Ratio of CPU time to samples above which the samples count as biased. Samples are few, and CPU time has ticks of 10
/// ms.
const RUNNING_RATIO_MAX: f64 = 1.5;
const RUNNING_DIFFERENCE_MAX: f64 = 0.2;

fn biased_samples(record: &Record) -> Option<Warning> {
    // With a connection per transaction, backends use CPU time before a sample can show them.
    let (cpu_backends, sampled_backends) = (backends_running(record)?, backends_seen_running(record)?);
    let is_biased = cpu_backends > RUNNING_RATIO_MAX * sampled_backends
        && cpu_backends - sampled_backends > RUNNING_DIFFERENCE_MAX;
    // With post-stratification, the running share comes from CPU time and not from the samples.
    let method = record.observation.as_ref()?.waits.as_ref()?.method;
    (is_biased && method == WaitMethod::Samples && !record.plan.reconnect)
        .then_some(Warning::BiasedSamples { sampled_backends, cpu_backends })
}

fn power_saving(record: &Record) -> Option<Warning> {
    let governor = record.environment.conditions.governor.as_deref()?;
    let saves = |name: &str| matches!(name, "powersave" | "conservative" | "ondemand");
    governor.split(", ").any(saves).then(|| Warning::PowerSaving { governor: governor.to_owned() })
}

/// Clock sources that require a system call or access to a device.
const SLOW_CLOCKS: [&str; 8] = [
    "hpet",
    "acpi_pm",
    "jiffies",
    "refined-jiffies",
    "pit",
    "xen",
    "hyperv_clocksource",
    "hyperv_clocksource_msr",
];

fn slow_clock(record: &Record) -> Option<Warning> {
    let clock = record.environment.conditions.clock_source.as_deref()?;
    SLOW_CLOCKS.contains(&clock).then(|| Warning::SlowClock { clock_source: clock.to_owned() })
}

/// pgmeter's share of the CPUs of a host shared with the server, above which it is a caution.
const OWN_SHARE_MAX: f64 = 0.15;

/// pgmeter's share of the CPU time of a host shared with the server.
fn share_beside_the_server(record: &Record) -> Option<f64> {
    let ConnectionInUse { same_host, .. } = record.environment.connection.as_ref()?;
    same_host.then_some(record.environment.conditions.processors.map_or(0.0, |shares| shares.own))
}

fn ranks_client_limited(record: &Record) -> Option<Warning> {
    let ranks = &record.summary.ranks;
    let limited = ranks.iter().filter(|rank| rank.is_client_limited());
    let limited: Vec<LimitedRank> = limited
        .map(|rank| LimitedRank { rank: rank.rank, host: rank.host.hostname.as_str().into() })
        .collect();
    let ranks = u32::try_from(ranks.len()).unwrap_or(u32::MAX);
    (!limited.is_empty()).then_some(Warning::RanksClientLimited { limited, ranks })
}

fn client_uses_cpu(record: &Record) -> Option<Warning> {
    let client_share = share_beside_the_server(record)?;
    (client_share > OWN_SHARE_MAX).then_some(Warning::ClientUsesCpu { client_share })
}

fn shared_host(record: &Record) -> Option<Warning> {
    (share_beside_the_server(record)? <= OWN_SHARE_MAX).then_some(Warning::SharedHost)
}

/// Minimum duration for warnings about checkpoints; shorter runs are not expected to show their effect.
const WORTH_A_CHECKPOINT_S: f64 = 60.0;

fn no_checkpoint(record: &Record) -> Option<Warning> {
    let checkpoint_timeout_s = seconds(setting(record, "checkpoint_timeout")?)?;
    let run_s = record.plan.warmup_s + record.summary.duration_s;
    let had_one = events(record, EventKind::Checkpoint).next().is_some();
    let is_long = run_s >= WORTH_A_CHECKPOINT_S;
    let applies = writes(record)
        && record.status == Status::Complete
        && is_long
        && run_s < checkpoint_timeout_s
        && !had_one;
    applies.then_some(Warning::NoCheckpoint { run_s, checkpoint_timeout_s })
}

/// Parses a time in the format of `current_setting`, in seconds: `5min`, `30s`, `1h`.
fn seconds(setting: &str) -> Option<f64> {
    let unit_at = setting.find(|c: char| !c.is_ascii_digit())?;
    let amount: f64 = setting[..unit_at].parse().ok()?;
    let unit_s = match setting[unit_at..].trim() {
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Some(amount * unit_s)
}

/// Events of a kind that overlap the measured time.
fn events(record: &Record, kind: EventKind) -> impl Iterator<Item = &Event> {
    let end_s = record.summary.whole_s();
    let inside = move |event: &&Event| {
        event.kind == kind && event.start_s < end_s && event.end_s.is_none_or(|end| end > 0.0)
    };
    record.observation.iter().flat_map(|observation| &observation.events).filter(inside)
}

fn maintenance(record: &Record) -> Option<Warning> {
    let count = |kind| events(record, kind).count() as u64;
    let (checkpoints, autovacuums) = (count(EventKind::Checkpoint), count(EventKind::Autovacuum));
    (checkpoints + autovacuums > 0).then_some(Warning::Maintenance { checkpoints, autovacuums })
}

/// A fact that should be equal in compared runs.
type Fact = (ComparedFact, fn(&Record) -> Option<String>);

/// Facts that affect the figures and usually change unintentionally; the reader judges other differences.
const FACTS: [Fact; 7] = [
    (ComparedFact::PgmeterBuild, |record| Some(format!("{:?}", record.pgmeter_build))),
    (ComparedFact::PgmeterHost, |record| Some(record.environment.host.hostname.clone())),
    (ComparedFact::Kernel, |record| Some(record.environment.host.kernel.clone())),
    (ComparedFact::Governor, |record| record.environment.conditions.governor.clone()),
    (ComparedFact::ServerBuild, |record| {
        let build = &server(record)?.build;
        Some(format!("{} {}", build.version, build.cflags.as_deref().unwrap_or_default()))
    }),
    (ComparedFact::Fsync, |record| setting(record, "fsync").map(str::to_owned)),
    (ComparedFact::Scale, |record| record.tables.scale.map(|scale| scale.to_string())),
];

/// Warnings about a set of compared runs, in addition to those of each run.
pub fn warnings_of_comparison(records: &[&Record]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let observed: Vec<&&Record> = records.iter().filter(|record| record.observation.is_some()).collect();
    for event in [EventKind::Checkpoint, EventKind::Autovacuum] {
        let had = |record: &&&&Record| events(record, event).next().is_some();
        let (runs_with, runs) = (observed.iter().filter(had).count() as u64, observed.len() as u64);
        if 0 < runs_with && runs_with < runs {
            warnings.push(Warning::MaintenanceInSome { event, runs_with, runs });
        }
    }
    for (fact, value) in FACTS {
        let mut known: Vec<String> = records.iter().filter_map(|record| value(record)).collect();
        known.sort();
        known.dedup();
        if known.len() > 1 {
            warnings.push(Warning::FactDiffers { fact });
        }
    }
    warnings
}
