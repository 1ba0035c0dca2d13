//! The sentences of warnings: what is so, what it means for the figures, and what to do. An experiment shows one text for
//! all runs that have a warning of one kind, with the range of its figures; the text of a single run is that of a range of
//! one.

use std::collections::BTreeSet;
use std::mem::discriminant;

use results::{
    ComparedFact, DiskHolds, EventKind, FailedCheck, Lateness, LimitedRank, LoadPause, SafeText,
    SessionFeature, StallEffect, Warning,
};

use super::{counted, drifts, range, share, small};
use crate::figures::{asked_seconds, count, latency};
use crate::prose::{cut, enumerate, escaped_line};

/// Of all warnings of this kind, a field.
macro_rules! each {
    ($warnings:expr, $kind:ident . $field:ident) => {
        $warnings.iter().filter_map(|warning| {
            if let Warning::$kind { $field, .. } = warning { Some($field.clone()) } else { None }
        })
    };
}

/// Load generators that one sentence names.
const RANKS_MAX: usize = 6;

/// The first pauses of a load with their reasons, a sentence each.
fn load_pauses(pauses: u64, first: &[LoadPause]) -> String {
    let each = first.iter().map(|LoadPause { from_s, until_s, reason }| {
        let reason = escaped_line(&reason.to_string());
        format!(" It paused from {} to {} because {reason}.", seconds(*from_s), seconds(*until_s))
    });
    let more = if pauses > first.len() as u64 { " The record has the later pauses." } else { "" };
    each.chain([more.to_owned()]).collect()
}

/// `rank 2 (bench3)`
fn rank_name(rank: &LimitedRank) -> String {
    format!("rank {} ({})", rank.rank, escaped_line(rank.host.as_str()))
}

/// The first of these names, and the number of the others.
fn some_of(mut names: Vec<String>) -> String {
    let others = names.len().saturating_sub(RANKS_MAX);
    names.truncate(RANKS_MAX);
    names.extend((others > 0).then(|| format!("{} more", count(others as u64))));
    enumerate(&names)
}

/// The text of one warning.
pub(crate) fn warning(warning: &Warning) -> String {
    warnings_of_kind(&[warning])
}

/// A sentence for each kind of warning, with the range of its figures, and the positions of the runs that have it.
pub(crate) fn warnings_by_kind<'a, W>(runs: impl IntoIterator<Item = W>) -> Vec<(BTreeSet<usize>, String)>
where
    W: IntoIterator<Item = &'a Warning>,
{
    let mut kinds: Vec<(BTreeSet<usize>, Vec<&Warning>)> = Vec::new();
    for (at, warnings) in runs.into_iter().enumerate() {
        for warning in warnings {
            let is_same =
                |(_, known): &&mut (_, Vec<&Warning>)| discriminant(known[0]) == discriminant(warning);
            match kinds.iter_mut().find(is_same) {
                Some((positions, known)) => {
                    positions.insert(at);
                    known.push(warning);
                }
                None => kinds.push((BTreeSet::from([at]), vec![warning])),
            }
        }
    }
    kinds.into_iter().map(|(positions, warnings)| (positions, warnings_of_kind(&warnings))).collect()
}

/// One text for warnings of the same kind from several runs; empty of none.
// Long because: one row for each kind of warning, so that the compiler leads to it.
fn warnings_of_kind(all: &[&Warning]) -> String {
    let Some(first) = all.first() else { return String::new() };
    match first {
        Warning::DebugBuild => "This pgmeter is a debug build and uses several times the CPU time of a release build. Its \
                                figures cannot be compared with others. Build it with --release."
            .to_owned(),
        Warning::DebugAssertions => "The server was built with assertions (debug_assertions = on), which make it much \
                                     slower. Measure a server that was built without them."
            .to_owned(),
        Warning::FsyncOff => "The server runs with fsync = off. Nothing waits for the disk, and a crash may destroy the \
                              database. Transactions that write are faster than on any durable server."
            .to_owned(),
        Warning::FullPageWritesOff => "The server runs with full_page_writes = off. It writes less WAL after each \
                                       checkpoint than a server that survives torn pages. Turn it on, unless the file \
                                       system prevents torn pages."
            .to_owned(),
        Warning::SynchronousCommitOff => "The server runs with synchronous_commit = off. Commits do not wait for the \
                                          disk, and a crash loses the last ones. Compare only with runs that used the \
                                          same setting."
            .to_owned(),
        Warning::MemoryDisk { holds, .. } => {
            let files = match holds {
                DiskHolds::Wal => "WAL",
                DiskHolds::Data | DiskHolds::Records => "data directory",
            };
            let file_systems = names(each!(all, MemoryDisk.file_system));
            format!(
                "The server's {files} is in memory ({file_systems}), where a flush takes no time. Transactions that write \
                 are faster than on any disk."
            )
        }
        Warning::ContendedRows { .. } => contended_rows(all),
        Warning::SettledLate { drifts: of_first, .. } => {
            let from = range(each!(all, SettledLate.steady_from_s), seconds);
            let drifts = if all.len() == 1 { drifts(of_first) } else { String::new() };
            joined([
                &format!("The run was steady only after {from}."),
                &drifts,
                "Exclude that time with --warmup, or run for longer.",
            ])
        }
        Warning::NeverSettled { drifts: of_first } => {
            let drifts = if all.len() == 1 { drifts(of_first) } else { String::new() };
            joined([
                "The run never became steady, so another run may give other figures.",
                &drifts,
                "Run for longer, with a longer --warmup.",
            ])
        }
        Warning::Stalled { .. } => stalled(all),
        Warning::OnlySucceeded { percentile, .. } => {
            let endings = [
                (each!(all, OnlySucceeded.failed).collect::<Vec<_>>(), "failed"),
                (each!(all, OnlySucceeded.skipped).collect(), "skipped"),
                (each!(all, OnlySucceeded.unfinished).collect(), "unfinished"),
                (each!(all, OnlySucceeded.unknown).collect(), "unknown"),
            ];
            let endings: Vec<String> = endings
                .into_iter()
                .filter(|(counts, _)| counts.iter().any(|count| *count > 0))
                .map(|(counts, ending)| counted(counts, ending, ending))
                .collect();
            format!(
                "The response times include transactions that did not succeed ({}). Of the succeeded ones alone, {} is {} \
                 instead of {}.",
                endings.join(", "),
                escaped_line(percentile),
                range(each!(all, OnlySucceeded.succeeded_us), latency),
                range(each!(all, OnlySucceeded.all_us), latency)
            )
        }
        Warning::Stolen { .. } => format!(
            "{} of this host's CPU time was stolen by the hypervisor during the run. Latencies contain pauses that neither \
             the server nor pgmeter caused. Repeat on a host that is not shared, or several times.",
            range(each!(all, Stolen.stolen_share), share)
        ),
        Warning::OtherPrograms { .. } => format!(
            "Other programs used {} of this host's CPU time during the run and competed with it. Stop them, or repeat when \
             the host is idle.",
            range(each!(all, OtherPrograms.others_share), share)
        ),
        Warning::BusyBefore { cpus, .. } => format!(
            "This host was busy before the run, with a load average of {} on {}. If those programs went on, they competed \
             with the run. Stop them, or repeat when the host is idle.",
            range(each!(all, BusyBefore.load_average_1m), small),
            counted([u64::from(*cpus)], "CPU", "CPUs")
        ),
        Warning::PowerSaving { .. } => format!(
            "The CPUs of this host save power (governor {}). They are slow until they have been busy for a while, so light \
             loads look slower. Set the governor to performance.",
            names(each!(all, PowerSaving.governor))
        ),
        Warning::SlowClock { .. } => format!(
            "The clock source of this host is {}, which is slow to read. pgmeter, and a server on this host, spend CPU time \
             on reading the clock. Boot with clocksource=tsc if the TSC is reliable.",
            names(each!(all, SlowClock.clock_source))
        ),
        Warning::ClientUsesCpu { .. } => format!(
            "Client and server share this host, and pgmeter used {} of its CPU time. The server could have done more \
             without it. Run pgmeter on another host.",
            range(each!(all, ClientUsesCpu.client_share), share)
        ),
        Warning::RanksClientLimited { .. } => {
            let limited: BTreeSet<String> =
                each!(all, RanksClientLimited.limited).flatten().map(|rank| rank_name(&rank)).collect();
            format!(
                "Of {}, these were the limit themselves: {}. One of them is enough to keep the whole run below what the \
                 server can do. Give each more CPUs or workers (-j), or distribute the clients over more hosts.",
                counted(
                    each!(all, RanksClientLimited.ranks).map(u64::from),
                    "load generator",
                    "load generators"
                ),
                some_of(limited.into_iter().collect())
            )
        }
        Warning::SharedHost => "Client and server share this host. The latencies contain no network, and pgmeter uses CPU \
                                time that the server lacks. To measure with a network, run pgmeter on another host."
            .to_owned(),
        Warning::BiasedSamples { .. } => format!(
            "Wait sampling saw {} running backends, CPU accounting {}. The samples are biased because client and server \
             share the host, and here they cannot be corrected. Use the CPU time per transaction, or observe a server on \
             another host.",
            range(each!(all, BiasedSamples.sampled_backends), small),
            range(each!(all, BiasedSamples.cpu_backends), small)
        ),
        Warning::NoCheckpoint { .. } => format!(
            "The run took {}, and checkpoint_timeout is {}. It may have had no checkpoint, and none of the full-page \
             writes that follow one. To include them, run several times as long.",
            range(each!(all, NoCheckpoint.run_s), seconds),
            range(each!(all, NoCheckpoint.checkpoint_timeout_s), setting)
        ),
        Warning::Maintenance { .. } => {
            let counts = [
                (each!(all, Maintenance.checkpoints).collect::<Vec<_>>(), EventKind::Checkpoint),
                (each!(all, Maintenance.autovacuums).collect(), EventKind::Autovacuum),
            ];
            let some = counts.into_iter().filter(|(counts, _)| counts.iter().any(|count| *count > 0));
            let events: Vec<String> =
                some.map(|(counts, event)| counted(counts, event_name(event), event_names(event))).collect();
            format!(
                "The measured time contains {}, and the figures include their cost. Compare only with runs that had as \
                 many.",
                enumerate(&events)
            )
        }
        Warning::MaintenanceInSome { event, runs_with, runs } => format!(
            "{} of {} had {}, and the others had none. A difference between them may come from that alone. Run for longer, \
             so that each run has some, or run them in turns.",
            count(*runs_with),
            counted([*runs], "run", "runs"),
            event_names(*event)
        ),
        Warning::FactDiffers { fact } => {
            format!("The runs differ in {}. A difference in the figures may come from that.", fact_name(*fact))
        }
        Warning::ChecksFailed { workload, checks } => {
            let shown: Vec<String> = checks.iter().map(failed_check).collect();
            format!(
                "{} of the workload {} failed: {}. A check returns no row if the data are sound.",
                counted([checks.len() as u64], "check", "checks"),
                escaped_line(workload.as_str()),
                shown.join(", ")
            )
        }
        Warning::ActionFailed { .. } => {
            let failed = all.iter().filter_map(|warning| match warning {
                Warning::ActionFailed { at_s, action, error } => Some(format!(
                    "{} at {} ({})",
                    action_in_short(action),
                    asked_seconds(*at_s),
                    escaped_line(error.as_str())
                )),
                _ => None,
            });
            format!("{} failed: {}. The run went on.", actions(all), names(failed))
        }
        Warning::ActionCutOff { .. } => format!(
            "{} still running at the end of the run, after {}, and cut off: {}. Run for longer, or begin earlier.",
            if all.len() == 1 { "1 action was".to_owned() } else { format!("{} were", actions(all)) },
            range(each!(all, ActionCutOff.ran_s), seconds),
            names(each!(all, ActionCutOff.action).map(|action| action_in_short(&action)))
        ),
        Warning::ActionNotStarted { .. } => format!(
            "{} not started, because the run ended before the set time ({}): {}. Run for longer, or begin earlier.",
            if all.len() == 1 { "1 action was".to_owned() } else { format!("{} were", actions(all)) },
            range(each!(all, ActionNotStarted.at_s), asked_seconds),
            names(each!(all, ActionNotStarted.action).map(|action| action_in_short(&action)))
        ),
        Warning::TwoPrimaries { .. } => format!(
            "The former primary went on accepting writes beside the promoted standby ({}), from {} on. The two servers have \
             different data from then on, and the figures are those of both. Stop or kill the primary before promote, or \
             use switchover.",
            names(each!(all, TwoPrimaries.standby).map(|standby| escaped_line(standby.as_str()))),
            range(each!(all, TwoPrimaries.from_s), asked_seconds)
        ),
        Warning::NotRestored { error } => format!(
            "What the actions changed could not be undone after the run: {}.",
            escaped_line(error.as_str())
        ),
        Warning::WorkLost { .. } => format!(
            "The server lost {} of {} that it had acknowledged.",
            counted(each!(all, WorkLost.lost), "commit", "commits"),
            counted(each!(all, WorkLost.acknowledged), "commit", "commits")
        ),
        Warning::NotVerified { error } => {
            format!("The run was not verified ({}).", escaped_line(error.as_str()))
        }
        Warning::SettingsUnread { error } => {
            format!("The server's settings could not be read ({}).", escaped_line(error.as_str()))
        }
        Warning::RateNotKept { clients, .. } => format!(
            "{} were scheduled and not finished, more than {}. The rate was not kept, and the latencies are those of the \
             transactions that finished.",
            counted(each!(all, RateNotKept.unfinished), "transaction", "transactions"),
            counted([u64::from(*clients)], "client", "clients")
        ),
        Warning::Uncancelled { .. } => format!(
            "{} could not be cancelled at the end of the run. They may still be running on the server.",
            counted(each!(all, Uncancelled.statements), "statement", "statements")
        ),
        Warning::Paused => "pgmeter was stopped and continued during the run (SIGCONT, as after Ctrl-Z). It made no load \
                            in between, and the figures include that pause."
            .to_owned(),
        Warning::LoadPaused { pauses, first, .. } => {
            let total = range(each!(all, LoadPaused.total_s), seconds);
            let (number, details) = match all {
                [_] => (*pauses, load_pauses(*pauses, first)),
                _ => (each!(all, LoadPaused.pauses).sum(), String::new()),
            };
            format!(
                "The load was paused {} for {total} in all.{details} The figures include the pauses, and arrivals of a rate that \
                 fell into them count as skipped.",
                if number == 1 { "once".to_owned() } else { format!("{number} times") }
            )
        }
        Warning::MessagesLost { .. } => format!(
            "{} could not be written to standard error during the run, because its reader was slow or stopped. The load \
             did not wait for it.",
            counted(each!(all, MessagesLost.messages), "message or progress line", "messages or progress lines")
        ),
        Warning::RelayCost { .. } => relay_cost(all),
        Warning::RelayLate { .. } => format!(
            "The relay did not keep its delay. It forwarded half of the data more than {} late, each way, so the network \
             was slower than requested. Use fewer threads or clients, so that it has a CPU.",
            range(each!(all, RelayLate.late_us_p50), latency)
        ),
        Warning::RelayRefused { .. } => format!(
            "The relay refused {}. The reason is in its messages on standard error.",
            counted(each!(all, RelayRefused.connections), "connection", "connections")
        ),
        Warning::NetworkFailed { error } => format!(
            "The simulated network failed before the end of the trial ({}). Figures from after that are meaningless.",
            escaped_line(error.as_str())
        ),
        Warning::ForeignPooler => "The connection goes through a connection pooler, so the response times include it and the \
                                    waits for its connections. Its CPU time is not known, and on this host it counts as that \
                                    of other programs. Unless it pools sessions, a transaction does not find what an earlier \
                                    one left in its session: settings, prepared statements, temporary tables, advisory locks."
            .to_owned(),
        Warning::IndexLeft { .. } => {
            let shown = |texts: BTreeSet<String>| texts.into_iter().collect::<Vec<_>>();
            let names = each!(all, IndexLeft.index).map(|name| escaped_line(name.as_str()).to_string());
            let undo = each!(all, IndexLeft.undo).map(|sql| format!("{};", escaped_line(sql.as_str())));
            format!(
                "A comparison that did not end left in the database: index {}. Its cost is in the figures. Undo it with pgmeter \
                 compare --undo and the same connection, or with: {}",
                enumerate(&shown(names.collect())),
                shown(undo.collect()).join(" ")
            )
        }
        Warning::PoolerBreaks { .. } => pooler_breaks(all),
        Warning::PoolerBusy { .. } => format!(
            "The pooler used {} of a CPU. PgBouncer has one thread, so it limits the throughput, or soon will. Run several \
             poolers, or connect directly.",
            range(each!(all, PoolerBusy.cpu_share), share)
        ),
    }
}

/// What scripts use of a session, each with its first place.
fn pooler_breaks(all: &[&Warning]) -> String {
    let mut modes = BTreeSet::new();
    let mut places = BTreeSet::new();
    let mut features = BTreeSet::new();
    for warning in all {
        if let Warning::PoolerBreaks { mode, feature, script, line } = warning {
            modes.insert(mode.name());
            features.insert(*feature);
            places.insert(format!(
                "{} ({}, line {line})",
                session_feature(*feature),
                escaped_line(script.as_str())
            ));
        }
    }
    let modes: Vec<String> = modes.into_iter().map(str::to_owned).collect();
    let places: Vec<String> = places.into_iter().collect();
    let remedies: Vec<String> = features.into_iter().map(session_remedy).map(str::to_owned).collect();
    format!(
        "With {} pooling, a client's next transaction may get another connection to the server. It does not find there what \
         the script leaves in its session, and other clients do: {}. Use session pooling, or {}.",
        enumerate(&modes),
        enumerate(&places),
        enumerate(&remedies)
    )
}

fn session_feature(feature: SessionFeature) -> &'static str {
    match feature {
        SessionFeature::Discard => "the effect of DISCARD",
        SessionFeature::Setting => "a setting",
        SessionFeature::PreparedStatement => "a statement prepared in SQL",
        SessionFeature::Notification => "LISTEN",
        SessionFeature::TemporaryTable => "a temporary table",
        SessionFeature::HeldCursor => "a cursor WITH HOLD",
        SessionFeature::AdvisoryLock => "an advisory lock",
        SessionFeature::Library => "a library loaded by LOAD",
    }
}

fn session_remedy(feature: SessionFeature) -> &'static str {
    match feature {
        SessionFeature::Discard => "no DISCARD",
        SessionFeature::Setting => "SET LOCAL in the transaction",
        SessionFeature::PreparedStatement => "-M prepared with PgBouncer 1.21 or newer",
        SessionFeature::Notification => "a direct connection for LISTEN",
        SessionFeature::TemporaryTable => "ON COMMIT DROP in the transaction",
        SessionFeature::HeldCursor => "a cursor that ends with the transaction",
        SessionFeature::AdvisoryLock => "pg_advisory_xact_lock",
        SessionFeature::Library => "session_preload_libraries of the server",
    }
}

/// `2 actions`
fn actions(all: &[&Warning]) -> String {
    counted([all.len() as u64], "action", "actions")
}

/// The beginning of a statement.
fn action_in_short(action: &SafeText) -> String {
    const LEN_MAX: usize = 60;
    let words: Vec<&str> = action.as_str().split_whitespace().collect();
    cut(&escaped_line(&words.join(" ")), LEN_MAX)
}

fn contended_rows(all: &[&Warning]) -> String {
    let scales: Vec<u32> = each!(all, ContendedRows.scale_needed).flatten().collect();
    let clients: Vec<u32> = each!(all, ContendedRows.clients).collect();
    let enough = match (scales.iter().max(), clients.iter().max()) {
        (Some(scale), _) => format!("Load tables of scale {} or more", count((*scale).into())),
        (None, Some(clients)) => format!("Load at least {} such rows", count((*clients).into())),
        (None, None) => return String::new(),
    };
    let rows: Vec<u64> = each!(all, ContendedRows.rows).collect();
    let rows = match rows.as_slice() {
        [1] => "the same row".to_owned(),
        several => counted(several.iter().copied(), "row", "rows"),
    };
    let scripts = names(each!(all, ContendedRows.script).map(String::from));
    format!(
        "{} of {scripts} lock {rows} and queue for these row locks. The figures show that queue more than the server. \
         {enough}, or use a script that does not lock these rows.",
        counted(clients.into_iter().map(u64::from), "client", "clients")
    )
}

fn stalled(all: &[&Warning]) -> String {
    let length = |warning: &Warning| {
        if let Warning::Stalled { longest_s, .. } = warning { *longest_s } else { 0.0 }
    };
    let worst = all.iter().max_by(|a, b| length(a).total_cmp(&length(b)));
    let Some(Warning::Stalled { start_s, effect, .. }) = worst else {
        return String::new();
    };
    let longest = range(each!(all, Stalled.longest_s), seconds);
    let is_single = all.len() == 1;
    let start = if is_single { format!(", from {} on", seconds(*start_s)) } else { String::new() };
    let stalls: u64 = each!(all, Stalled.stalls).fold(0, u64::saturating_add);
    let number = if stalls > 1 {
        let who = if is_single { "It" } else { "Together these runs" };
        let number = counted([stalls], "stall", "stalls");
        let threshold = range(each!(all, Stalled.threshold_us), latency);
        let total = seconds(each!(all, Stalled.total_s).sum());
        format!("{who} had {number} of more than {threshold}, {total} in all.")
    } else {
        String::new()
    };
    let hidden = "In a closed loop each client meets a stall with one transaction, so percentiles hide it.";
    let effect = match effect {
        StallEffect::Included => "The response times include the wait.".to_owned(),
        // Percentiles of one run say nothing about the others.
        StallEffect::Hidden { .. } if !is_single => hidden.to_owned(),
        StallEffect::Hidden { p99_us, p99_with_stalls_us } => format!(
            "{hidden} p99 is {}. With the transactions that the stall kept from starting, it is {}.",
            latency(*p99_us),
            latency(*p99_with_stalls_us)
        ),
        StallEffect::Unknown => "No latency shows how long users would have waited.".to_owned(),
    };
    joined([
        &format!("The run completed no transaction for {longest}{start}."),
        &number,
        &effect,
        "Look for the cause at that time, such as checkpoints, locks, the disk or the network.",
    ])
}

fn relay_cost(all: &[&Warning]) -> String {
    let late = |of: fn(Lateness) -> f64| range(each!(all, RelayCost.late_us).map(of), latency);
    format!(
        "A relay simulated the network with a delay of {} each way. It used {} of CPU time per transaction on this host \
         ({} in all) and waited {} for a CPU. It forwarded {} late by p50 {}, p99 {}, max {}.",
        range(each!(all, RelayCost.delay_us), latency),
        range(each!(all, RelayCost.cpu_us_per_transaction), latency),
        range(each!(all, RelayCost.cpu_s), seconds),
        range(each!(all, RelayCost.cpu_wait_s), seconds),
        counted(each!(all, RelayCost.pieces), "piece of data", "pieces of data"),
        late(|late| late.p50),
        late(|late| late.p99),
        late(|late| late.max)
    )
}

/// `stock (1 row: 3 | 7 | 0)`.
fn failed_check(check: &FailedCheck) -> String {
    let FailedCheck { name, rows, first_row } = check;
    let rows = counted([*rows], "row", "rows");
    format!("{} ({rows}: {})", escaped_line(name.as_str()), escaped_line(first_row.as_str()))
}

fn event_name(event: EventKind) -> &'static str {
    match event {
        EventKind::Checkpoint => "checkpoint",
        EventKind::Autovacuum => "autovacuum",
        EventKind::LockQueue => "lock queue",
    }
}

fn event_names(event: EventKind) -> &'static str {
    match event {
        EventKind::Checkpoint => "checkpoints",
        EventKind::Autovacuum => "autovacuums",
        EventKind::LockQueue => "lock queues",
    }
}

fn fact_name(fact: ComparedFact) -> &'static str {
    match fact {
        ComparedFact::PgmeterBuild => "pgmeter's build",
        ComparedFact::PgmeterHost => "pgmeter's host",
        ComparedFact::Kernel => "the kernel",
        ComparedFact::Governor => "the governor of the CPUs",
        ComparedFact::ServerBuild => "the server's build",
        ComparedFact::Fsync => "the setting fsync",
        ComparedFact::Scale => "the scale of the tables",
    }
}

/// Different names, each once.
fn names(names: impl Iterator<Item = String>) -> String {
    let names: BTreeSet<String> = names.map(|name| escaped_line(&name)).collect();
    enumerate(&names.into_iter().collect::<Vec<_>>())
}

/// Sentences, without those that are empty.
fn joined<const N: usize>(sentences: [&str; N]) -> String {
    sentences.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
}

fn seconds(seconds: f64) -> String {
    latency(seconds * 1e6)
}

/// A time as a setting has it: `5 min`, `30 s`.
fn setting(seconds: f64) -> String {
    let (value, unit) = if seconds % 60.0 == 0.0 { (seconds / 60.0, "min") } else { (seconds, "s") };
    format!("{}{}{unit}", crate::figures::as_asked(value), crate::figures::TIE)
}

#[cfg(test)]
mod tests;
