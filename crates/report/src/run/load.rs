//! What was asked, what became of it, how pgmeter itself fared, and the command that asks for it again.
//! Used by `document` and, for the terminal, by `brief`.

use results::{Copied, Counts, Generator, Limit, LoadWatch, PerMinute, Plan, Record, Stalls, Summary};

use super::{population, stages};
use crate::document::Fact;
use crate::figures::{
    TIE, as_asked, asked_latency, asked_seconds, bytes, count, counted, latency, percent, rate,
};
use crate::prose::escaped_line;

const SECONDS_PER_MINUTE: f64 = 60.0;
const MICROSECONDS_PER_SECOND: f64 = 1e6;

/// What was asked.
pub(crate) fn plan(record: &Record) -> Vec<Fact> {
    let plan = &record.plan;
    let connection = &plan.connection;
    let script = |script: &results::Script| {
        let target = script.target.as_ref().map(|target| format!(" at {}", escaped_line(target)));
        format!("{} (weight {}){}", escaped_line(&script.name), script.weight, target.unwrap_or_default())
    };
    let scripts: Vec<String> = match &plan.scripts[..] {
        [only] => vec![escaped_line(&only.name)],
        several => several.iter().map(script).collect(),
    };
    let limit = match plan.limit {
        Limit::Duration(time) => asked_seconds(time.as_secs_f64()),
        Limit::TransactionsPerClient(number) => {
            format!("{} per client", counted(number, "transaction", "transactions"))
        }
    };
    let mut facts = vec![
        Fact::new("scripts", scripts.join(", ")),
        Fact::new("clients", count(plan.clients.into())),
        Fact::new("workers", count(plan.workers.into())),
        Fact::new("protocol", plan.protocol.name()),
        Fact::new("length", limit),
        Fact::new("warm-up", asked_seconds(plan.warmup_s)),
    ];
    let optional = [
        (
            "load generators",
            (plan.machines > 1).then(|| format!("{}, with as many workers each", plan.machines)),
        ),
        ("precision", precision(record)),
        ("results", results(plan)),
        ("rate", stages::rate_in_words(plan)),
        ("gaps", stages::arrivals(plan)),
        ("think time", plan.think.map(|think| think.to_string())),
        ("stages", stages::as_written(plan)),
        ("latency limit", plan.latency_limit_us.map(asked_latency)),
        ("tries", (plan.max_tries != Some(1)).then(|| tries(plan))),
        ("connections", plan.reconnect.then(|| "a new one for each transaction".to_owned())),
        (
            "lost connections",
            plan.reconnect_policy.map(|policy| format!("the client connects again: {policy}")),
        ),
        ("response timeout", plan.response_timeout_s.map(asked_seconds)),
        ("errors", plan.continue_on_error.then(|| "fail a transaction, and the client goes on".to_owned())),
    ];
    facts.extend(Fact::known(optional));
    facts.extend(Fact::known(population::asked(plan)));
    facts.push(Fact::new("seed", plan.seed.to_string()));
    let (user, database) =
        (escaped_line(connection.user.as_str()), escaped_line(connection.database.as_str()));
    let host = escaped_line(connection.host.as_str());
    facts.push(Fact::new("connection", format!("{host}:{}, {user}@{database}", connection.port)));
    facts
}

fn tries(plan: &Plan) -> String {
    plan.max_tries.map_or_else(|| "as many as it takes".to_owned(), |tries| count(tries.into()))
}

/// `1 % was asked for and reached, which ended the run`, if a precision was asked for.
pub(crate) fn precision(record: &Record) -> Option<String> {
    let asked = format!("{}{TIE}%", as_asked(record.plan.until? * 100.0));
    Some(match record.summary.until_reached {
        Some(true) => format!("{asked} was asked for and reached, which ended the run"),
        _ => format!("{asked} was asked for and not reached in time: run longer, or ask for less"),
    })
}

/// `9,147 of new_order (tpmC-like, not a TPC result)`: the script that the workload counts by the minute.
pub(super) fn per_minute(record: &Record) -> Option<String> {
    let PerMinute { script, label } = record.plan.per_minute.as_ref()?;
    let at = record.plan.scripts.iter().position(|planned| planned.name == *script)?;
    let per_minute = rate(record.summary.scripts.get(at)?.tps * SECONDS_PER_MINUTE);
    let name = escaped_line(script);
    Some(format!("{per_minute} of {name} ({})", escaped_line(label.as_str())))
}

/// `2.4 % of all that were due: 341 took longer than 10 ms, 12 were skipped`, if there was a limit.
pub(crate) fn late_or_skipped(record: &Record) -> Option<String> {
    let share = late_or_skipped_share(record)?;
    let limit = asked_latency(record.plan.latency_limit_us?);
    let Counts { late, skipped, unfinished, unknown, .. } = record.summary.counts;
    let were = if skipped == 1 { "was" } else { "were" };
    let mut sentence = format!(
        "{share} of all that were due: {} took longer than {limit}, {} {were} skipped",
        count(late),
        count(skipped)
    );
    if unfinished > 0 {
        // How long they would have taken is unknown.
        sentence += &format!("; {} more had not finished", count(unfinished));
    }
    if unknown > 0 {
        sentence += &format!("; {} more have an unknown ending", count(unknown));
    }
    Some(sentence)
}

/// `2.4 %`, if there was a limit.
pub(crate) fn late_or_skipped_share(record: &Record) -> Option<String> {
    Some(percent(record.summary.late_or_skipped_share?, 1.0))
}

/// `2 of more than 40.0 ms without a completed transaction, 12.1 s in all; the longest 12.0 s from 4.25 s on`, if there
/// were any.
pub(crate) fn stalls(record: &Record) -> Option<String> {
    let Stalls { threshold_us, count: number, total_s, longest } = record.summary.stalls.as_ref()?;
    let worst = longest.iter().max_by(|a, b| a.length_s().total_cmp(&b.length_s()))?;
    let total = if *number > 1 { format!(", {} in all", latency(total_s * 1e6)) } else { String::new() };
    Some(format!(
        "{} of more than {} without a completed transaction{total}; the longest {} from {} on",
        count(*number),
        latency(*threshold_us),
        latency(worst.length_s() * 1e6),
        latency(worst.start_s * 1e6)
    ))
}

/// `2,000,000 rows, 145 MB: 41,234 rows/s`: the completed COPYs, if there were any.
pub(crate) fn copied(summary: &Summary) -> Option<String> {
    let Copied { rows, bytes: size } = summary.copied();
    let text = format!("{}, {}", counted(rows, "row", "rows"), bytes(size as f64));
    let per_second = rows as f64 / summary.whole_s();
    (rows > 0 || size > 0).then(|| match per_second.is_finite() {
        true => format!("{text}: {} rows/s", rate(per_second)),
        false => text,
    })
}

/// `4 transactions ended in the 40.2 ms after the measured time`, if there were any.
pub(crate) fn tail(summary: &Summary) -> Option<String> {
    let transactions = counted(summary.counts.tail, "transaction", "transactions");
    let length = latency(summary.tail_s * MICROSECONDS_PER_SECOND);
    (summary.counts.tail > 0).then(|| format!("{transactions} ended in the {length} after the measured time"))
}

/// Transactions by ending; what there were none of is left out.
pub(crate) fn transactions(record: &Record) -> Vec<Fact> {
    let Counts {
        scheduled,
        succeeded,
        failed,
        skipped,
        unfinished,
        unknown,
        reserved,
        late: _,
        retried,
        retries,
        business,
        head_billionths: _,
        tail: _,
        tail_billionths: _,
        failures,
    } = record.summary.counts;
    let of_scheduled = |part: u64| format!("{} ({})", count(part), percent(part as f64, scheduled as f64));
    let mut facts = vec![
        Fact::new("succeeded", count(succeeded)),
        Fact::new("failed", if failed == 0 { "0".to_owned() } else { of_scheduled(failed) }),
    ];
    let rows = [
        ("— serialization failures", failures.serialization, count(failures.serialization)),
        ("— deadlocks", failures.deadlock, count(failures.deadlock)),
        ("— lost connections", failures.connection, count(failures.connection)),
        ("— other errors", failures.other, count(failures.other)),
        ("skipped as too late to start", skipped, of_scheduled(skipped)),
        ("unfinished at the end", unfinished, count(unfinished)),
        ("unknown: connection lost after COMMIT was sent", unknown, of_scheduled(unknown)),
        ("succeeded, perhaps not replicated", reserved, count(reserved)),
        ("tried again", retried, format!("{}, {} times in all", of_scheduled(retried), count(retries))),
        ("business transactions", if business > succeeded { business } else { 0 }, count(business)),
    ];
    facts.extend(
        rows.into_iter().filter(|(_, number, _)| *number > 0).map(|(name, _, text)| Fact::new(name, text)),
    );
    let more = [
        ("tail", tail(&record.summary)),
        ("copied", copied(&record.summary)),
        ("late or skipped", late_or_skipped(record)),
        ("stalls", stalls(record)),
        ("sessions", population::sessions(record)),
        ("reconnect storms", population::storms(record)),
        ("idle in transaction", population::idle(record)),
    ];
    facts.extend(Fact::known(more));
    facts.extend(start_delay(record).map(|delay| Fact::new("start delay", delay)));
    facts
}

/// `1.00 ms on average, 12.3 ms at most`: from when a transaction was due to its start, under a rate.
pub(crate) fn start_delay(record: &Record) -> Option<String> {
    let lag = record.summary.lag_us.filter(|_| record.plan.rate_tps.is_some())?;
    Some(format!("{} on average, {} at most", latency(lag.mean), latency(lag.max)))
}

/// How pgmeter fared, which is what its verdict rests on.
pub(crate) fn generator(record: &Record) -> Vec<Fact> {
    let Some(generator) = &record.summary.generator else { return Vec::new() };
    let Generator { event_loop, workers, busy_share, run_queue_share, held_back, commands, .. } = generator;
    let because =
        event_loop.because.as_ref().map(|because| format!(", because {}", escaped_line(because.as_str())));
    let lateness = generator
        .wakeup_lateness_us
        .map(|lateness| format!("{} median, {} at p99", latency(lateness.p50), latency(lateness.p99)));
    let calibration = generator.calibration.map(|used| {
        let reached = percent(used.reached_share, 1.0);
        format!("{reached} of this machine's best rate of round trips")
    });
    let mut facts =
        vec![Fact::new("event loop", format!("{}{}", event_loop.name.name(), because.unwrap_or_default()))];
    let rows = [
        ("workers", Some(count(workers.len() as u64))),
        ("busiest worker", Some(format!("busy {} of the time", percent(*busy_share, 1.0)))),
        ("waiting for a core", run_queue_share.map(|share| format!("{} of the time", percent(share, 1.0)))),
        ("late wake-ups", lateness),
        ("round trip", commands.round_trip_us.map(latency)),
        ("of which pgmeter's own", generator.own_us_per_round_trip.map(latency)),
        ("CPU per transaction", generator.cpu_us_per_transaction.map(latency)),
        ("sockets that did not take all", (held_back.sends > 0).then(|| count(held_back.sends))),
        ("calibration", calibration),
    ];
    facts.extend(Fact::known(rows));
    facts
}

/// The command that asks for the same again: as it was typed, with the seed; of records that do not hold it, one that
/// comes to the same. Scripts are named as they were; a file's text is in the record.
// Long because: a list of options.
pub(crate) fn repeat_command(record: &Record) -> String {
    let plan = &record.plan;
    if let Some(command_line) = &plan.command_line {
        return escaped_line(command_line.as_str());
    }
    let connection = &plan.connection;
    let mut words = vec!["pgmeter".to_owned(), "bench".to_owned()];
    let mut option = |flag: &str, value: String| words.extend([flag.to_owned(), quoted(&value)]);
    // Scripts of a folder are described as `<shop: order>`.
    let workload = plan.workload.as_deref().unwrap_or_default();
    let of_folder = |script: &results::Script| script.description == format!("<{workload}: {}>", script.name);
    if plan.scripts.iter().any(of_folder) {
        option("--workload", workload.to_owned());
    }
    for script in &plan.scripts {
        let is_named = script.builtin || of_folder(script);
        let name = if is_named { &script.name } else { &script.description };
        let weight = if script.weight == 1 { String::new() } else { format!("@{}", script.weight) };
        option(if is_named { "-b" } else { "-f" }, format!("{name}{weight}"));
    }
    option("-c", plan.clients.to_string());
    option("-j", plan.workers.to_string());
    if plan.machines > 1 {
        option("--machines", plan.machines.to_string());
    }
    match plan.limit {
        Limit::Duration(_) if !plan.stages.is_empty() => {}
        Limit::Duration(time) => option("-T", time.as_secs_f64().to_string()),
        Limit::TransactionsPerClient(number) => option("-t", number.to_string()),
    }
    if plan.warmup_s > 0.0 {
        option("--warmup", plan.warmup_s.to_string());
    }
    option("-M", plan.protocol.name().to_owned());
    if !plan.result_format.is_text() {
        option("--result-format", "binary".to_owned());
    }
    match (&plan.curve, plan.rate_tps) {
        (Some(curve), _) => option("-R", curve.to_string()),
        (None, Some(rate)) if plan.rate_curve().is_none() => option("-R", rate.to_string()),
        (None, _) => {}
    }
    if !plan.arrivals.is_poisson() {
        option("--arrivals", plan.arrivals.to_string());
    }
    if let Some(think) = plan.think {
        option("--think", think.to_string());
    }
    population::flags(plan).for_each(|(flag, text)| option(flag, text));
    if let Some(stages) = stages::as_written(plan) {
        option("--stages", stages);
    }
    if let Some(limit_us) = plan.latency_limit_us {
        option("-L", (limit_us / MICROSECONDS_PER_MILLISECOND).to_string());
    }
    if plan.max_tries != Some(1) {
        option("--max-tries", plan.max_tries.unwrap_or(0).to_string());
    }
    let has_files = plan.scripts.iter().any(|script| !script.builtin);
    for (name, value) in plan.variables.iter().filter(|(name, _)| *name != "scale" || has_files) {
        match name.as_str() {
            "scale" => option("-s", value.clone()),
            _ => option("-D", format!("{name}={value}")),
        }
    }
    if let Some(policy) = plan.reconnect_policy {
        option("--on-disconnect", "reconnect".to_owned());
        option("--reconnect-policy", policy.to_string());
    }
    if let Some(limit_s) = plan.response_timeout_s {
        option("--response-timeout", format!("{limit_s}s"));
    }
    option("--random-seed", plan.seed.to_string());
    option("-h", connection.host.as_str().to_owned());
    option("-p", connection.port.to_string());
    option("-U", connection.user.as_str().to_owned());
    for target in &plan.targets {
        let results::Connection { host, port, user, database } = &target.connection;
        let (host, user, database) = (host.as_str(), user.as_str(), database.as_str());
        option("--target", format!("{}=host={host} port={port} user={user} dbname={database}", target.name));
    }
    for action in &plan.actions {
        option("--action", format!("{}s:{}", action.at_s, action.work.text()));
    }
    if let Some(LoadWatch { max_lag_s, max_waiting_locks, pause_when, stop_when, max_pause_s }) = &plan.watch
    {
        let given = [
            ("--max-lag", max_lag_s.map(|lag_s| format!("{lag_s}s"))),
            ("--max-waiting-locks", max_waiting_locks.map(|locks| locks.to_string())),
            ("--pause-when", pause_when.as_ref().map(ToString::to_string)),
            ("--stop-when", stop_when.as_ref().map(ToString::to_string)),
            ("--max-pause", Some(format!("{max_pause_s}s"))),
        ];
        given.into_iter().for_each(|(name, value)| value.into_iter().for_each(|value| option(name, value)));
    }
    let flags = [
        (plan.reconnect, "-C"),
        (plan.continue_on_error, "--continue-on-error"),
        (plan.parse_results, "--parse-results"),
    ];
    words.extend(flags.iter().filter(|(given, _)| *given).map(|(_, flag)| (*flag).to_owned()));
    words.extend(["-d".to_owned(), quoted(connection.database.as_str())]);
    words.join(" ")
}

/// Format and use of results, if they are not the usual ones.
fn results(plan: &Plan) -> Option<String> {
    let (is_binary, parsed) = (!plan.result_format.is_text(), plan.parse_results);
    let format = if is_binary { "binary" } else { "text" };
    let used = if parsed { ", parsed by the client" } else { "" };
    (is_binary || parsed).then(|| format!("{format}{used}"))
}

const MICROSECONDS_PER_MILLISECOND: f64 = 1e3;

/// A word of a command line, in one line.
fn quoted(word: &str) -> String {
    config::shell_word(&escaped_line(word))
}
