//! What to know before using the figures of runs: the warnings and notes of records, runs that were cut short, damaged
//! histograms, servers that were built differently.

use results::{BuildFingerprint, Event, Limit, LimitedBy, Record, Status};

use super::{Run, letter};
use crate::document::{Block, Tone};
use crate::figures::{asked_seconds, counted, measured_seconds};
use crate::prose::{escaped_line, sentence};
use crate::wording;

/// Before everything else: that a run was cut short, or that pgmeter was the limit.
pub(super) fn banners(record: &Record) -> Vec<String> {
    let figures = if record.summary.duration_s > 0.0 { " The figures are of that part only." } else { "" };
    let cut_short = ending(record).map(|ending| match ending {
        (word, when, None) => format!("{word} {when}.{figures}"),
        (word, when, Some(reason)) => format!("{word} {when}: {}{figures}", sentence(&reason)),
    });
    let verdict = record.summary.generator.as_ref().map(|generator| &generator.verdict);
    let is_client = verdict.filter(|verdict| verdict.limit == LimitedBy::Generator);
    let client_limited = is_client.map(|verdict| {
        let evidence = wording::evidence(verdict);
        format!("CLIENT-LIMITED: {evidence} The figures say more about pgmeter than about the server.")
    });
    cut_short.into_iter().chain(client_limited).collect()
}

/// How a run ended that is not complete: in capitals, when, and the reason of a failure.
fn ending(record: &Record) -> Option<(&'static str, String, Option<String>)> {
    let Record { status, plan, summary, .. } = record;
    let when = match plan.limit {
        _ if summary.duration_s <= 0.0 => "before anything was measured".to_owned(),
        Limit::Duration(asked) => {
            let asked = asked_seconds(asked.as_secs_f64());
            format!("after {} of {asked}", measured_seconds(summary.duration_s))
        }
        Limit::TransactionsPerClient(_) => format!("after {}", measured_seconds(summary.duration_s)),
    };
    match status {
        Status::Complete => None,
        Status::Interrupted => Some(("INTERRUPTED", when, None)),
        Status::Failed { reason } => Some(("FAILED", when, Some(escaped_line(reason.as_str())))),
    }
}

/// The warnings of a run and its notes.
pub(super) fn of_run(record: &Record, damaged_histograms: usize) -> Vec<Block> {
    let damaged = damaged_sentence(damaged_histograms);
    lists(damaged.into_iter().chain(cautions(record)).collect(), notes(record))
}

/// The warnings of runs side by side: those of the comparison, then those of each run with its letter.
pub(super) fn of_runs(runs: &[Run<'_>], damaged_histograms: &[usize]) -> Vec<Block> {
    let records: Vec<&Record> = runs.iter().map(|run| run.record).collect();
    let of_comparison = results::warnings_of_comparison(&records);
    let of_comparison = of_comparison.iter().map(wording::warning);
    let of_run = |(at, run): (usize, &Run<'_>)| {
        let cut_short = banners(run.record).into_iter();
        let all = cut_short.chain(damaged_sentence(damaged_histograms[at])).chain(cautions(run.record));
        let letter = letter(at);
        all.map(|warning| format!("{letter}: {warning}")).collect::<Vec<_>>()
    };
    let of_runs = runs.iter().enumerate().flat_map(of_run);
    lists(builds(runs).into_iter().chain(of_comparison).chain(of_runs).collect(), Vec::new())
}

fn lists(warnings: Vec<String>, notes: Vec<String>) -> Vec<Block> {
    let lists = [(Tone::Caution, warnings), (Tone::Quiet, notes)];
    let lists = lists.into_iter().filter(|(_, sentences)| !sentences.is_empty());
    lists.map(|(tone, sentences)| Block::List(tone, sentences)).collect()
}

fn cautions(record: &Record) -> Vec<String> {
    record.cautions().map(wording::warning).collect()
}

fn notes(record: &Record) -> Vec<String> {
    record.notes().map(wording::warning).collect()
}

fn damaged_sentence(number: usize) -> Option<String> {
    let histograms = counted(number as u64, "histogram", "histograms");
    (number > 0).then(|| format!("{histograms} in the record cannot be read; the charts leave them out."))
}

/// Which resource limited the throughput, in a sentence.
pub(super) fn limit_sentence(limit: Option<LimitedBy>) -> &'static str {
    match limit {
        Some(LimitedBy::Server) => "The server was the limit.",
        Some(LimitedBy::Generator) => {
            "pgmeter itself was the limit: the figures describe the load generator, not the server."
        }
        Some(LimitedBy::ClientCount) => "The number of clients was the limit.",
        Some(LimitedBy::Network) => "The network was the limit.",
        Some(LimitedBy::Undecided) => "The limit could not be determined.",
        None => "The limit was not determined.",
    }
}

/// Whether the run had settled, and the evidence.
pub(super) fn steady_state(record: &Record) -> Option<(Tone, String)> {
    let state = record.summary.steady_state.as_ref()?;
    let tone = if state.settled == Some(false) { Tone::Bad } else { Tone::Plain };
    Some((tone, wording::steady(state)))
}

/// What an event was about: the reason of a checkpoint, the table of a vacuum.
pub(crate) fn event_detail(event: &Event) -> String {
    escaped_line(event.detail.as_str())
}

/// That the servers were built differently, if they were.
pub(super) fn builds(runs: &[Run<'_>]) -> Option<String> {
    let mut kinds: Vec<(&BuildFingerprint, Vec<String>)> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let Some(server) = &run.record.environment.server else { continue };
        match kinds.iter_mut().find(|(build, _)| **build == server.build) {
            Some((_, letters)) => letters.push(letter(at)),
            None => kinds.push((&server.build, vec![letter(at)])),
        }
    }
    let describe = |(build, letters): &(&BuildFingerprint, Vec<String>)| {
        format!("{}: {}", letters.join(", "), escaped_line(&build.version))
    };
    (kinds.len() > 1).then(|| {
        let kinds: Vec<_> = kinds.iter().map(describe).collect();
        format!(
            "The servers were built differently, so the comparison is one of builds too. {}.",
            kinds.join("; ")
        )
    })
}
