//! The outages of a run: lost connections, the attempts to replace them, how long nothing was written, and what became of
//! the transactions that were due. Used by `document`, `brief` and the charts.

use results::{
    AttemptCount, AttemptOutcome, ClientOutage, ConnectAttempt, LossCause, LossCount, Outage, OutageWindow,
    Outages, Record,
};

use crate::document::{Block, Cell, Column, Fact, Table};
use crate::figures::{TIE, count, counted, latency, measured_seconds, percent, rate};
use crate::prose::escaped_line;

/// Single connections that are shown of an outage.
const CONNECTIONS_MAX: usize = 20;
/// Outages that the terminal shows.
const OUTAGES_MAX: usize = 5;

/// All outages, and single connections.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let Some(outages) = &record.summary.outages else { return Vec::new() };
    let mut blocks = vec![Block::Facts(totals(outages))];
    for (number, outage) in outages.outages.iter().enumerate() {
        blocks.push(Block::Heading(format!("Outage {}", number + 1)));
        blocks.push(Block::Facts(facts(outage, outages)));
        blocks.push(Block::Table(connections(outage)));
        if outage.clients > outage.connections.len().min(CONNECTIONS_MAX) as u64 {
            let text = "The table shows the connections that were without success for the longest time.";
            blocks.push(Block::quiet(text));
        }
    }
    blocks
}

/// The same for the terminal, without single connections.
pub(super) fn brief(record: &Record) -> Vec<Block> {
    let Some(outages) = &record.summary.outages else { return Vec::new() };
    let mut blocks = vec![Block::Facts(totals(outages))];
    for outage in outages.outages.iter().take(OUTAGES_MAX) {
        blocks.push(Block::Facts(facts(outage, outages)));
    }
    blocks
}

fn totals(outages: &Outages) -> Vec<Fact> {
    let causes = outages
        .causes
        .iter()
        .map(|LossCount { cause, count: number }| format!("{} {}", count(*number), cause_name(cause)));
    let causes: Vec<String> = causes.collect();
    let mut facts = vec![
        Fact::new("lost connections", format!("{}: {}", count(outages.losses), causes.join(", "))),
        Fact::new("attempts", attempts(&outages.attempts)),
    ];
    if outages.count > 1 {
        facts.push(Fact::new("outages", count(outages.count)));
    }
    if outages.more_arrivals > 0 {
        let text = format!("{} more that were due in outages", count(outages.more_arrivals));
        facts.push(Fact::new("not shown", text));
    }
    facts
}

/// One outage. The attempts of a single one are those of all.
fn facts(outage: &Outage, outages: &Outages) -> Vec<Fact> {
    let at = |seconds: Option<f64>| seconds.map(at);
    let has_own_attempts = outages.count > 1 && !outage.attempts.is_empty();
    let what = if outages.of_writes { "no write" } else { "no success" };
    let window = match &outage.window {
        Some(window) => window_in_words(window),
        None => "other clients went on".to_owned(),
    };
    let of_clients =
        |number: u64| format!("{} of {}", count(number), counted(outage.clients, "client", "clients"));
    let former = outage.former_tps.map(|tps| format!("{}{TIE}tps before", rate(tps)));
    let recovered = match (outage.recovery_s(), former) {
        (Some(seconds), Some(former)) => Some(format!("after {}, {former}", measured_seconds(seconds))),
        (None, Some(former)) => Some(format!("not in the run, {former}")),
        _ => None,
    };
    let facts = [
        (what, Some(window)),
        ("first error", at(Some(outage.first_error_s))),
        ("first connect", at(outage.first_connect_s).or(Some("none".to_owned()))),
        ("all connected", at(outage.last_connect_s).or(Some("not in the run".to_owned()))),
        ("first read", at(outage.first_read_s)),
        ("first write", at(outage.first_write_s)),
        ("back at 90 %", recovered),
        ("due meanwhile", outage.window.as_ref().filter(|window| window.arrivals > 0).map(arrivals)),
        (
            "clients out",
            outage.without_success_us.map(|us| {
                format!(
                    "{}, median {}, longest {}",
                    counted(outage.clients, "client", "clients"),
                    latency(us.p50),
                    latency(us.max)
                )
            }),
        ),
        ("hung", (outage.hung > 0).then(|| format!("{}, until their time limit", of_clients(outage.hung)))),
        ("never back", (outage.never > 0).then(|| of_clients(outage.never))),
        ("attempts", Some(attempts(&outage.attempts)).filter(|_| has_own_attempts)),
    ];
    Fact::known(facts).collect()
}

/// `3.21 s, from 12.0 s on`
fn window_in_words(window: &OutageWindow) -> String {
    let open = if window.is_over { "" } else { ", until the end of the run" };
    format!("{} from {} on{open}", measured_seconds(window.length_s()), at(window.start_s))
}

/// `312 (98 % succeeded, 6 failed), p50 1.6 s, longest 3.2 s`
fn arrivals(window: &OutageWindow) -> String {
    let OutageWindow { arrivals, succeeded, failed, skipped, unfinished, unknown, .. } = *window;
    let others = [(failed, "failed"), (skipped, "skipped"), (unfinished, "unfinished"), (unknown, "unknown")];
    let mut parts = vec![format!("{} succeeded", percent(succeeded as f64, arrivals as f64))];
    parts.extend(
        others
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{} {what}", count(*number))),
    );
    let times = window.response_us.map_or(String::new(), |us| {
        format!(
            "; response time p50 {}, p99 {}, longest {}",
            latency(us.p50),
            latency(us.p99),
            latency(us.max)
        )
    });
    format!("{} ({}){times}", counted(arrivals, "transaction", "transactions"), parts.join(", "))
}

/// `12 refused, 3 starting up, 8 connected`
fn attempts(attempts: &[AttemptCount]) -> String {
    let shown =
        |attempts: &AttemptCount| format!("{} {}", count(attempts.count), outcome_name(attempts.outcome));
    let shown: Vec<String> = attempts.iter().map(shown).collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

fn connections(outage: &Outage) -> Table {
    let time = |seconds: Option<f64>| Cell::text(seconds.map_or_else(|| "—".to_owned(), at));
    let first_attempt = |client: &ClientOutage| {
        let ConnectAttempt { at_s, outcome } = client.first_attempt?;
        Some(format!("{} at {}", outcome_name(outcome), at(at_s)))
    };
    Table::of(
        outage.connections.iter().take(CONNECTIONS_MAX),
        &[
            (Column::figures("client"), &|client| Cell::text(count(client.client))),
            (Column::figures("last success"), &|client| time(client.last_success_s)),
            (Column::figures("lost"), &|client| time(Some(client.lost_s))),
            (Column::text("cause"), &|client| Cell::text(cause_name(&client.cause))),
            (Column::text("attempts"), &|client| Cell::text(attempts(&client.attempts))),
            (Column::text("first attempt"), &|client| {
                Cell::text(first_attempt(client).unwrap_or_else(|| "—".to_owned()))
            }),
            (Column::figures("connected"), &|client| time(client.connected_s)),
            (Column::figures("first read"), &|client| time(client.first_read_s)),
            (Column::figures("first write"), &|client| time(client.first_write_s)),
        ],
    )
}

/// A time of the run, to the millisecond.
fn at(seconds: f64) -> String {
    format!("{seconds:.3}{TIE}s")
}

pub(crate) fn cause_name(cause: &LossCause) -> String {
    match cause {
        LossCause::Sqlstate(code) => escaped_line(code),
        LossCause::Closed => "closed by the server".to_owned(),
        LossCause::Reset => "reset".to_owned(),
        LossCause::NoResponse => "no response in time".to_owned(),
        LossCause::Network => "network error".to_owned(),
    }
}

pub(crate) fn outcome_name(outcome: AttemptOutcome) -> &'static str {
    match outcome {
        AttemptOutcome::Connected => "connected",
        AttemptOutcome::Refused => "refused",
        AttemptOutcome::TimedOut => "timed out",
        AttemptOutcome::Unreachable => "unreachable",
        AttemptOutcome::Closed => "closed during start-up",
        AttemptOutcome::StartingUp => "starting up or in recovery (57P03)",
        AttemptOutcome::ShuttingDown => "shutting down (57P01, 57P02)",
        AttemptOutcome::TooManyConnections => "too many connections (53300)",
        AttemptOutcome::ReadOnly => "read-only",
        AttemptOutcome::WrongHost => "wrong host",
        AttemptOutcome::Rejected => "rejected",
        AttemptOutcome::Other => "other error",
    }
}

/// The phases of the outages, for the charts: their name, a detail, begin and end.
pub(crate) fn phases(outages: &Outages) -> Vec<(&'static str, String, f64, Option<f64>)> {
    let mut phases = Vec::new();
    for outage in &outages.outages {
        let clients = counted(outage.clients, "client", "clients");
        phases.push((
            "no connection",
            format!("{clients} without connection; {}", attempts(&outage.attempts)),
            outage.first_error_s,
            outage.first_connect_s,
        ));
        if let Some(first_s) = outage.first_connect_s {
            phases.push(("connecting", format!("{clients} connect again"), first_s, outage.last_connect_s));
        }
        if let Some((window, recovered_s)) = outage.window.as_ref().zip(outage.recovered_s) {
            phases.push((
                "below 90 %",
                "below 90 % of the former rate".to_owned(),
                window.end_s,
                Some(recovered_s),
            ));
        }
    }
    phases
}
