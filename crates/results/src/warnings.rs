//! What a reader should know before believing a run's figures, in plain words: each rule looks at a record and has
//! nothing or one sentence to say, which tells what it means for the figures and what to do. Pure; `cli` calls it when a
//! record is made, whoever compares runs calls [`warnings_of_comparison`].

use crate::observation::{Event, EventKind};
use crate::stalls::differ;
use crate::wording::{number, percent, time};
use crate::{
    ConnectionInUse, DiskHolds, Generator, LimitedBy, PgmeterBuild, ProcessorShares, Record, SafeText,
    Script, ServerFacts, Stalls, Status, WaitMethod,
};

/// How much a warning matters.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The figures say something else than they seem to.
    Caution,
    /// The figures are what they seem, within bounds that should be known.
    Note,
}

/// What a rule says, if it applies.
type Rule = (Severity, fn(&Record) -> Option<String>);

/// In the order in which they are said.
const RULES: [Rule; 19] = [
    (Severity::Caution, debug_build),
    (Severity::Caution, assertions),
    (Severity::Caution, fsync_off),
    (Severity::Caution, full_page_writes_off),
    (Severity::Caution, memory_disk),
    (Severity::Caution, contended_rows),
    (Severity::Caution, not_settled),
    (Severity::Caution, stalled),
    (Severity::Caution, left_out),
    (Severity::Caution, stolen_time),
    (Severity::Caution, other_load),
    (Severity::Caution, saving_governor),
    (Severity::Caution, slow_clock),
    (Severity::Caution, client_takes_much),
    (Severity::Caution, biased_samples),
    (Severity::Note, client_on_the_same_host),
    (Severity::Note, synchronous_commit_off),
    (Severity::Note, too_short_for_a_checkpoint),
    (Severity::Note, maintenance_inside),
];

/// What is to be said of one run, cautions first.
pub fn warnings(record: &Record) -> Vec<(Severity, SafeText)> {
    RULES.iter().filter_map(|(severity, rule)| Some((*severity, rule(record)?.into()))).collect()
}

impl Record {
    /// Adds what the rules have to say to `warnings` and `notes`.
    pub fn warn(&mut self) {
        for (severity, text) in warnings(self) {
            match severity {
                Severity::Caution => self.warnings.push(text),
                Severity::Note => self.notes.push(text),
            }
        }
        self.doubt_the_server();
        self.complete_verdict();
    }

    /// That pgmeter waited for the server does not make the server the limit if others had its processors.
    fn doubt_the_server(&mut self) {
        let busy = self.environment.conditions.processors.map_or(0.0, |shares| shares.busy);
        let is_full = self.environment.has_full_processors();
        let Some(others) = others_share(self).filter(|&share| share > OTHERS_SHARE_MAX) else { return };
        let Some(Generator { verdict, .. }) = &mut self.summary.generator else { return };
        if is_full && verdict.limit == LimitedBy::Server {
            verdict.limit = LimitedBy::Undecided;
            verdict.evidence += &format!(
                "; but the processors were {} busy, and others than pgmeter and this load's backends took {} of them",
                percent(busy),
                percent(others)
            );
        }
    }
}

fn debug_build(record: &Record) -> Option<String> {
    (record.pgmeter_build == PgmeterBuild::Debug).then(|| {
        "this pgmeter is a debug build, which takes several times the processor time: do not compare its figures with \
         others; build it with --release"
            .to_owned()
    })
}

fn server(record: &Record) -> Option<&ServerFacts> {
    record.environment.server.as_ref()
}

/// A setting that decides on durability, checkpoints or memory.
fn setting<'a>(record: &'a Record, name: &str) -> Option<&'a str> {
    let server = server(record)?;
    server.main_settings.get(name).or_else(|| server.non_default_settings.get(name))
}

fn assertions(record: &Record) -> Option<String> {
    (server(record)?.debug_assertions == Some(true)).then(|| {
        "the server was built with assertions (debug_assertions is on), which make it much slower: measure one that was \
         built without"
            .to_owned()
    })
}

fn fsync_off(record: &Record) -> Option<String> {
    (writes(record) && setting(record, "fsync") == Some("off")).then(|| {
        "fsync is off: nothing waits for the disk, and a crash may lose the whole database; what writes is faster here \
         than on any server that keeps its data"
            .to_owned()
    })
}

fn full_page_writes_off(record: &Record) -> Option<String> {
    (writes(record) && setting(record, "full_page_writes") == Some("off")).then(|| {
        "full_page_writes is off: less log is written after each checkpoint than on a server that survives a torn page; \
         turn it on unless the file system rules torn pages out"
            .to_owned()
    })
}

fn synchronous_commit_off(record: &Record) -> Option<String> {
    (writes(record) && setting(record, "synchronous_commit") == Some("off")).then(|| {
        "synchronous_commit is off: transactions do not wait for the disk, and the last ones before a crash are lost; \
         compare only with runs that had it off too"
            .to_owned()
    })
}

fn memory_disk(record: &Record) -> Option<String> {
    let disk = record.environment.disk.as_ref()?;
    let in_memory = matches!(disk.file_system.as_deref(), Some("tmpfs" | "ramfs"));
    (in_memory && disk.holds != DiskHolds::Records && writes(record)).then(|| {
        format!(
            "the server's {} is in memory ({}), where a flush takes no time: what writes is faster here than on any disk",
            if disk.holds == DiskHolds::Wal { "log" } else { "data directory" },
            disk.file_system.as_deref().unwrap_or_default(),
        )
    })
}

/// Whether a script has one of these words, case and comments aside.
fn mentions(script: &Script, words: &[&str]) -> bool {
    let of_line = |line: &str| {
        let code = line.split("--").next().unwrap_or_default().to_ascii_lowercase();
        let mut found = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        found.any(|word| words.contains(&word))
    };
    script.weight > 0 && script.text.lines().any(of_line)
}

/// Whether a script seems to change something; functions that do are not seen.
fn writes(record: &Record) -> bool {
    const WORDS: [&str; 7] = ["insert", "update", "delete", "merge", "copy", "truncate", "create"];
    record.plan.scripts.iter().any(|script| mentions(script, &WORDS))
}

/// More clients than rows that each transaction of a script locks one of.
fn contended_rows(record: &Record) -> Option<String> {
    let plan = &record.plan;
    let clients = plan.clients;
    let of_script = |script: &'_ Script| {
        let contention = script.contention.clone().filter(|_| script.weight > 0)?;
        Some((contention.rows(&plan.variables)?, contention, script.name.clone()))
    };
    let (rows, contention, script) =
        plan.scripts.iter().filter_map(of_script).min_by_key(|(rows, ..)| *rows)?;
    let enough = || match contention.variable.as_deref() {
        Some("scale") => {
            format!("have tables of scale {} or more", number(u64::from(clients.div_ceil(contention.factor))))
        }
        _ => format!("have at least {} such rows", number(u64::from(clients))),
    };
    (u64::from(clients) > rows).then(|| {
        format!(
            "{} clients of {script} lock {}, so they queue for the locks of those rows, and the figures show the queue more \
             than the server: {}, or run a script that leaves those rows alone",
            number(u64::from(clients)),
            if rows == 1 { "the same row".to_owned() } else { format!("{} rows", number(rows)) },
            enough()
        )
    })
}

fn not_settled(record: &Record) -> Option<String> {
    let state = record.summary.steady_state.as_ref()?;
    let evidence = state.evidence.trim_end_matches('.');
    let what = match (state.settled?, state.steady_from_s) {
        (true, _) => return None,
        (false, Some(from)) if from > 0.0 => {
            format!(
                "the run settled only after {}: leave that out with --warmup, or run for longer",
                time(from * 1e6)
            )
        }
        (false, _) => {
            "the run never settled, so that another one may give other figures: run for longer, with a \
                       longer --warmup"
                .to_owned()
        }
    };
    Some(format!("{what} ({evidence})"))
}

/// Stalls that are shorter than this, and take less than this share of the run, are listed and not warned of.
const STALL_WARNED_S: f64 = 1.0;
const STALLED_SHARE_MAX: f64 = 0.01;

impl Record {
    /// The stalls that a reader must know of before believing the latencies; `None` if there were none, or short ones only.
    pub fn grave_stalls(&self) -> Option<&Stalls> {
        let stalls = self.summary.stalls.as_ref().filter(|stalls| stalls.count > 0)?;
        let is_long = stalls.longest.iter().any(|stall| stall.length_s() > STALL_WARNED_S);
        (is_long || stalls.total_s > STALLED_SHARE_MAX * self.summary.duration_s).then_some(stalls)
    }
}

fn stalled(record: &Record) -> Option<String> {
    let Stalls { threshold_us, count, total_s, longest } = record.grave_stalls()?;
    let worst = longest.iter().max_by(|a, b| a.length_s().total_cmp(&b.length_s()))?;
    let consequence = match (
        record.plan.rate_tps,
        record.summary.response_us,
        record.summary.response_with_stalls_us,
    ) {
        (None, Some(plain), Some(with)) => format!(
            "in a closed loop each client meets a stall with one transaction, so the percentiles hide it: p99 is {}, and \
             {} if the transactions that the stall kept from starting are counted",
            time(plain.p99),
            time(with.p99)
        ),
        (None, ..) => "no latency shows how long users would have waited".to_owned(),
        (Some(_), ..) => "the response times include the waiting".to_owned(),
    };
    let several = format!(
        " ({} stalls of more than {}, {} in all)",
        number(*count),
        time(*threshold_us),
        time(total_s * 1e6)
    );
    Some(format!(
        "no transaction was completed for {} from {} on{}: {consequence}; find what stopped the server then (checkpoints, \
         locks, the disk, the network)",
        time(worst.length_s() * 1e6),
        time(worst.start_s * 1e6),
        if *count > 1 { several } else { String::new() },
    ))
}

fn left_out(record: &Record) -> Option<String> {
    let summary = &record.summary;
    let (shown, all) = (summary.response_us?, summary.other_endings.all_us?);
    let ratio = |one: f64, other: f64| one.max(other) / one.min(other).max(1e-3);
    let pairs = shown.percentiles().into_iter().zip(all.values());
    let changed = pairs.filter(|((_, shown), all)| differ(*shown, *all));
    let worst = changed.max_by(|((_, a), of_all_a), ((_, b), of_all_b)| {
        ratio(*a, *of_all_a).total_cmp(&ratio(*b, *of_all_b))
    });
    let ((name, shown_us), all_us) = worst?;
    let counts = &summary.counts;
    let endings = [(counts.failed, "failed"), (counts.skipped, "skipped"), (counts.unfinished, "unfinished")];
    let endings: Vec<String> = endings
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, ending)| format!("{} {ending}", number(*count)))
        .collect();
    Some(format!(
        "the latencies are of the succeeded transactions only, and leaving out the others ({}) changes them: {name} is {} \
         without them and {} with them",
        endings.join(", "),
        time(shown_us),
        time(all_us)
    ))
}

/// Stolen time above this is worth a word; below it is how hypervisors keep time.
const STOLEN_SHARE_MAX: f64 = 0.02;

fn stolen_time(record: &Record) -> Option<String> {
    let shares = record.environment.conditions.processors?;
    (shares.stolen > STOLEN_SHARE_MAX).then(|| {
        format!(
            "the hypervisor took away {} of this host's processor time during the run: latencies have gaps in them that \
             are neither the server's nor pgmeter's; repeat on a host that is not shared, or several times",
            percent(shares.stolen)
        )
    })
}

/// What others may take of the processors before it is said.
const OTHERS_SHARE_MAX: f64 = 0.15;

/// Load before the run, per processor, above which others are taken to be at work. What pgmeter itself did just before,
/// such as loading tables, is below it.
const LOAD_PER_PROCESSOR_MAX: f64 = 0.75;

fn other_load(record: &Record) -> Option<String> {
    let conditions = &record.environment.conditions;
    let advice = "they competed with the run: end what else runs there, or repeat when it is quiet";
    if let Some(others) = others_share(record) {
        return (others > OTHERS_SHARE_MAX).then(|| {
            format!(
                "others took {} of all processor time of this host during the run, and {advice}",
                percent(others)
            )
        });
    }
    let processors = f64::from(record.environment.host.cpu_count.filter(|&count| count > 0)?);
    let load = conditions.load_average_1m?;
    (load > LOAD_PER_PROCESSOR_MAX * processors).then(|| {
        format!(
            "this host was loaded before the run began (a load average of {load:.2} on {processors} processors): if the \
             others went on, {advice}"
        )
    })
}

/// The processors' time that went neither to pgmeter nor to the server; `None` where that cannot be told apart.
fn others_share(record: &Record) -> Option<f64> {
    let ProcessorShares { busy, own, .. } = record.environment.conditions.processors?;
    if !record.environment.connection.as_ref()?.same_host {
        return Some((busy - own).max(0.0));
    }
    let processors = f64::from(record.environment.host.cpu_count.filter(|&count| count > 0)?);
    Some((busy - own - backends_running(record)? / processors).max(0.0))
}

/// How many of the benchmark's backends were running on average, by their CPU time.
fn backends_running(record: &Record) -> Option<f64> {
    let cost = record.observation.as_ref()?.per_transaction;
    let per_transaction_us = cost.backend_user_cpu_us? + cost.backend_system_cpu_us?;
    let ran = record.summary.counts.succeeded + record.summary.counts.failed;
    let duration_us = record.summary.duration_s * 1e6;
    (duration_us > 0.0).then(|| per_transaction_us * ran as f64 / duration_us)
}

/// How many of them were seen doing what takes processor time: running, or at I/O other than waiting for a flush, since
/// what the page cache has is copied by the processor.
fn backends_seen_running(record: &Record) -> Option<f64> {
    let waits = record.observation.as_ref()?.waits.as_ref()?;
    let runs = |event_type: &str, event: &str| {
        event_type == "CPU" || (event_type == "IO" && !event.to_ascii_lowercase().ends_with("sync"))
    };
    let running = waits.top.iter().filter(|wait| runs(&wait.event_type, &wait.event)).map(|wait| wait.seen);
    (waits.looks > 0).then(|| running.sum::<u64>() as f64 / waits.looks as f64)
}

/// By so much CPU time has to be above what was seen before the samples are said to be wrong: looks are few, and CPU
/// time of a backend has ticks of 10 ms.
const RUNNING_RATIO_MAX: f64 = 1.5;
const RUNNING_DIFFERENCE_MAX: f64 = 0.2;

fn biased_samples(record: &Record) -> Option<String> {
    // Backends that live for a transaction take CPU time before they can be seen.
    let (cpu, seen) = (backends_running(record)?, backends_seen_running(record)?);
    let is_biased = cpu > RUNNING_RATIO_MAX * seen && cpu - seen > RUNNING_DIFFERENCE_MAX;
    // Where the running share is known by CPU time, the samples do not decide on it.
    let method = record.observation.as_ref()?.waits.as_ref()?.method;
    (is_biased && method == WaitMethod::Samples && !record.plan.reconnect).then(|| {
        format!(
            "wait sampling saw {seen:.2} running backends, CPU accounting {cpu:.2}: the samples are biased because client \
             and server share the host, and here they cannot be corrected; use the CPU time per transaction, or observe a \
             server on another host"
        )
    })
}

fn saving_governor(record: &Record) -> Option<String> {
    let governor = record.environment.conditions.governor.as_deref()?;
    let saves = |name: &str| matches!(name, "powersave" | "conservative" | "ondemand");
    governor.split(", ").any(saves).then(|| {
        format!(
            "this host's processors save power (governor {governor}): they are slow until they have been busy for a \
             while, which makes light loads look slower; set the governor to performance"
        )
    })
}

/// Clocks that take a system call, or a read of a device, to ask.
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

fn slow_clock(record: &Record) -> Option<String> {
    let clock = record.environment.conditions.clock_source.as_deref()?;
    SLOW_CLOCKS.contains(&clock).then(|| {
        format!(
            "this host's clock source is {clock}, which takes long to ask: pgmeter, and a server on this host, spend time \
             on reading the time; boot with clocksource=tsc if the processor's counter is sound"
        )
    })
}

/// Of all processors of a host that a client shares with its server, what it may take without a caution.
const OWN_SHARE_MAX: f64 = 0.15;

/// The same host, and pgmeter's share of its processors.
fn beside_the_server(record: &Record) -> Option<f64> {
    let ConnectionInUse { same_host, .. } = record.environment.connection.as_ref()?;
    same_host.then_some(record.environment.conditions.processors.map_or(0.0, |shares| shares.own))
}

fn client_takes_much(record: &Record) -> Option<String> {
    let own = beside_the_server(record)?;
    (own > OWN_SHARE_MAX).then(|| {
        format!(
            "client and server share this host, and pgmeter took {} of its processors: the server could have done more \
             without it; run pgmeter on another host",
            percent(own)
        )
    })
}

fn client_on_the_same_host(record: &Record) -> Option<String> {
    let own = beside_the_server(record)?;
    (own <= OWN_SHARE_MAX).then(|| {
        "client and server share this host: no network is in the latencies, and pgmeter takes processor time from the \
         server; for figures of a network, run pgmeter on another host"
            .to_owned()
    })
}

/// A shorter run is not meant to show what checkpoints do.
const WORTH_A_CHECKPOINT_S: f64 = 60.0;

fn too_short_for_a_checkpoint(record: &Record) -> Option<String> {
    let timeout = setting(record, "checkpoint_timeout")?;
    let every_s = seconds(timeout)?;
    let took_s = record.plan.warmup_s + record.summary.duration_s;
    let had_one = events(record, EventKind::Checkpoint).next().is_some();
    let is_long = took_s >= WORTH_A_CHECKPOINT_S;
    let applies =
        writes(record) && record.status == Status::Complete && is_long && took_s < every_s && !had_one;
    applies.then(|| {
        format!(
            "the run took {}, and checkpoint_timeout is {timeout}: it may have had no checkpoint, and none of the \
             full-page writes that follow one; run for several times as long to have them in the figures",
            time(took_s * 1e6)
        )
    })
}

/// A time as `current_setting` writes it, in seconds: `5min`, `30s`, `1h`.
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

/// Events of a kind that lie within the measured time, at least in part.
fn events(record: &Record, kind: EventKind) -> impl Iterator<Item = &Event> {
    let end_s = record.summary.duration_s;
    let inside = move |event: &&Event| {
        event.kind == kind && event.start_s < end_s && event.end_s.is_none_or(|end| end > 0.0)
    };
    record.observation.iter().flat_map(|observation| &observation.events).filter(inside)
}

/// Maintenance that shows in the figures, and what it is called, once and several times.
const MAINTENANCE: [(EventKind, &str, &str); 2] = [
    (EventKind::Checkpoint, "a checkpoint", "checkpoints"),
    (EventKind::Autovacuum, "an autovacuum", "autovacuums"),
];

fn maintenance_inside(record: &Record) -> Option<String> {
    let found: Vec<String> = MAINTENANCE
        .iter()
        .filter_map(|(kind, one, many)| match events(record, *kind).count() {
            0 => None,
            1 => Some((*one).to_owned()),
            count => Some(format!("{count} {many}")),
        })
        .collect();
    (!found.is_empty()).then(|| {
        format!(
            "{} fell into the measured time: the figures are with that; compare only with runs that had as much",
            found.join(" and ")
        )
    })
}

/// A fact of a record in which runs that are compared should agree: what it is called, and what it is.
type Fact = (&'static str, fn(&Record) -> Option<String>);

/// What makes figures differ though nothing was changed on purpose; other differences are for readers to judge.
const FACTS: [Fact; 7] = [
    ("pgmeter's build", |record| Some(format!("{:?}", record.pgmeter_build).to_lowercase())),
    ("pgmeter's host", |record| Some(record.environment.host.hostname.clone())),
    ("the kernel", |record| Some(record.environment.host.kernel.clone())),
    ("the governor", |record| record.environment.conditions.governor.clone()),
    ("the server's build", |record| {
        let build = &server(record)?.build;
        Some(format!("{} {}", build.version, build.cflags.as_deref().unwrap_or_default()))
    }),
    ("fsync", |record| setting(record, "fsync").map(str::to_owned)),
    ("the scale of the tables", |record| record.tables.scale.map(|scale| scale.to_string())),
];

/// What is to be said of runs that are compared with each other, beyond what is said of each.
pub fn warnings_of_comparison(records: &[&Record]) -> Vec<SafeText> {
    let mut warnings: Vec<SafeText> = Vec::new();
    for (kind, one, _) in MAINTENANCE {
        let had = |record: &&&Record| events(record, kind).next().is_some();
        let seen: Vec<&&Record> = records.iter().filter(|record| record.observation.is_some()).collect();
        let with = seen.iter().copied().filter(had).count();
        if 0 < with && with < seen.len() {
            warnings.push(format!(
                "{one} fell into {with} of {} runs and not into the others: a difference between them may be nothing \
                 else; run for longer, so that each has some, or repeat them in turns",
                seen.len()
            ).into());
        }
    }
    for (what, fact) in FACTS {
        let mut known: Vec<String> = records.iter().filter_map(|record| fact(record)).collect();
        known.sort();
        known.dedup();
        if known.len() > 1 {
            warnings.push(
                format!("{what} was not the same in all of these runs: a difference may come from that")
                    .into(),
            );
        }
    }
    warnings
}
