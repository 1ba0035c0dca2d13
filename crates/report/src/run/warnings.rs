//! What to know before using the figures of runs: the warnings and notes of records, runs that were cut short, damaged
//! histograms, servers that were built differently.

use std::collections::BTreeSet;

use results::{BuildFingerprint, Event, Limit, LimitedBy, Record, ServiceLevel, Status};

use super::labels::labels;
use super::{Run, goals, seconds};
use crate::document::{Banner, Block, Tone};
use crate::figures::{asked_seconds, counted, measured_seconds};
use crate::prose::{enumerate, escaped_line, sentence};
use crate::wording;

/// Before everything else: an outage or a long stall, that a run was cut short, whether it met its goals, whether it kept its rate and limit, that everything failed, that
/// pgmeter was the limit.
pub(super) fn banners(record: &Record) -> Vec<Banner> {
    let bad = |text| Banner::new(Tone::Bad, text);
    let [cut_short, everything_failed, client_limited] = alarms(record).map(|text| text.map(bad));
    let kept = wording::service_level(record).map(|(level, text)| service_level_banner(level, text));
    let for_terminal = |banner: Option<Banner>| banner.map(Banner::for_terminal);
    let interrupted = for_terminal(wording::interruption(&record.summary).map(bad));
    let [everything_failed, client_limited] = [everything_failed, client_limited].map(for_terminal);
    interrupted
        .into_iter()
        .chain(cut_short)
        .chain(goals::banner(record).map(Banner::for_terminal))
        .chain(kept)
        .chain(everything_failed)
        .chain(client_limited)
        .chain(notices(&[record]))
        .collect()
}

/// The notices of the workloads, each once.
fn notices(records: &[&Record]) -> Vec<Banner> {
    let notices: BTreeSet<&str> =
        records.iter().filter_map(|record| Some(record.plan.notice.as_ref()?.as_str())).collect();
    notices.into_iter().map(|notice| Banner::new(Tone::Plain, sentence(&escaped_line(notice)))).collect()
}

fn service_level_banner(level: ServiceLevel, text: String) -> Banner {
    Banner::new(if level.kept { Tone::Good } else { Tone::Bad }, text)
}

/// Runs whose answers are told one by one.
const ANSWERS_MAX: usize = 12;

/// Before runs side by side: which of them met their goals, and kept their rates and limits.
pub(super) fn banners_of_runs(runs: &[Run<'_>]) -> Vec<Banner> {
    let labels = labels(runs);
    let told = |(at, run): (usize, &Run<'_>)| {
        let (level, text) = wording::service_level(run.record)?;
        Some(service_level_banner(level, format!("{}: {text}", labels[at])))
    };
    let banners: Vec<Banner> = runs.iter().enumerate().filter_map(told).collect();
    let of_goals = |(at, run): (usize, &Run<'_>)| {
        let Banner { tone, text, .. } = goals::banner(run.record)?;
        Some(Banner::new(tone, format!("{}: {text}", labels[at])))
    };
    let interruption = |(at, run): (usize, &Run<'_>)| {
        let text = wording::interruption(&run.record.summary)?;
        Some(Banner::new(Tone::Bad, format!("{}: {text}", labels[at])))
    };
    let first = || runs.iter().take(ANSWERS_MAX).enumerate();
    let of_goals: Vec<Banner> =
        first().filter_map(interruption).chain(first().filter_map(of_goals)).collect();
    let records: Vec<&Record> = runs.iter().map(|run| run.record).collect();
    let after_goals = |banners| of_goals.into_iter().chain(banners).chain(notices(&records)).collect();
    if banners.len() <= ANSWERS_MAX {
        return after_goals(banners);
    }
    let kept = banners.iter().filter(|banner| banner.tone == Tone::Good).count();
    let tone = if kept == banners.len() { Tone::Good } else { Tone::Bad };
    let text = format!("KEPT by {kept} of {} runs with a rate or a latency limit.", banners.len());
    after_goals(vec![Banner::new(tone, text)])
}

/// That a run was cut short, that everything failed, that pgmeter was the limit.
fn alarms(record: &Record) -> [Option<String>; 3] {
    let figures = if record.summary.duration_s > 0.0 { " The figures are of that part only." } else { "" };
    let cut_short = ending(record).map(|ending| match ending {
        (word, when, None) => format!("{word} {when}.{figures}"),
        (word, when, Some(reason)) => format!("{word} {when}: {}{figures}", sentence(&reason)),
    });
    let verdict = record.summary.generator.as_ref().map(|generator| &generator.verdict);
    let is_client = verdict.filter(|verdict| verdict.limit == LimitedBy::Generator);
    let client_limited = is_client.map(|verdict| {
        let evidence = wording::evidence_of_run(record, verdict);
        format!("CLIENT-LIMITED: {evidence} The figures say more about pgmeter than about the server.")
    });
    let failed = record.everything_failed().then(|| wording::everything_failed(record.summary.counts.failed));
    [cut_short, failed, client_limited]
}

/// How a run ended that is not complete: in capitals, when, and the reason of a failure.
pub(super) fn ending(record: &Record) -> Option<(&'static str, String, Option<String>)> {
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

/// The warnings of runs side by side: those of the comparison, those of each run with its label, and one line for each
/// kind with the labels of its runs.
pub(super) fn of_runs(runs: &[Run<'_>], damaged_histograms: &[usize]) -> Vec<Block> {
    let labels = labels(runs);
    let records: Vec<&Record> = runs.iter().map(|run| run.record).collect();
    let of_comparison = results::warnings_of_comparison(&records);
    let of_comparison = of_comparison.iter().map(wording::warning);
    let of_run = |(at, run): (usize, &Run<'_>)| {
        let alarms = alarms(run.record).into_iter().flatten();
        let all = alarms.chain(damaged_sentence(damaged_histograms[at]));
        let label = &labels[at];
        all.map(|warning| format!("{label}: {warning}")).collect::<Vec<_>>()
    };
    let of_runs = runs.iter().enumerate().flat_map(of_run);
    let kinds = wording::warnings_by_kind(records.iter().map(|record| record.cautions()));
    let of_kinds = kinds.into_iter().map(|(at, warning)| format!("{}: {warning}", named(&at, &labels)));
    lists(builds(runs).into_iter().chain(of_comparison).chain(of_runs).chain(of_kinds).collect(), Vec::new())
}

/// Labels that one line lists; of more runs it gives the number.
const LABELS_MAX: usize = 6;

/// `A and C`, `All runs`, `38 of 100 runs`
fn named(positions: &BTreeSet<usize>, labels: &[String]) -> String {
    let all = labels.len();
    match positions.len() {
        number if number == all && all > 2 => "All runs".to_owned(),
        number if number > LABELS_MAX => format!("{number} of {all} runs"),
        _ => enumerate(&positions.iter().map(|at| labels[*at].clone()).collect::<Vec<_>>()),
    }
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

/// Whether the run had settled, and the evidence. `None` beside an outage, a long stall or a throughput that is known to
/// no better than ± 100 %: `steady` would contradict them.
pub(super) fn steady_state(record: &Record) -> Option<(Tone, String)> {
    let state = record.summary.steady_state.as_ref()?;
    let is_known = seconds::precision(record).is_none_or(|half| half < 1.0);
    let is_interrupted = wording::interruption(&record.summary).is_some();
    if state.settled == Some(true) && (is_interrupted || !is_known) {
        return None;
    }
    let tone = if state.settled == Some(false) { Tone::Bad } else { Tone::Plain };
    Some((tone, wording::steady(state, seconds::dips_in_words(record))))
}

/// What an event was about: the reason of a checkpoint, the table of a vacuum.
pub(crate) fn event_detail(event: &Event) -> String {
    escaped_line(event.detail.as_str())
}

/// That the servers were built differently, if they were.
pub(super) fn builds(runs: &[Run<'_>]) -> Option<String> {
    let mut kinds: Vec<(&BuildFingerprint, Vec<String>)> = Vec::new();
    for (run, label) in runs.iter().zip(labels(runs)) {
        let Some(server) = &run.record.environment.server else { continue };
        match kinds.iter_mut().find(|(build, _)| **build == server.build) {
            Some((_, labels)) => labels.push(label),
            None => kinds.push((&server.build, vec![label])),
        }
    }
    let describe = |(build, labels): &(&BuildFingerprint, Vec<String>)| {
        format!("{}: {}", labels.join(", "), escaped_line(&build.version))
    };
    (kinds.len() > 1).then(|| {
        let kinds: Vec<_> = kinds.iter().map(describe).collect();
        format!(
            "The servers were built differently, so the comparison is one of builds too. {}.",
            kinds.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_of_many_runs_lists_a_few_labels_or_their_number() {
        let check = |positions: &[usize], all: usize, expected: &str| {
            let labels: Vec<String> =
                ["A", "B", "C"].into_iter().cycle().take(all).map(str::to_owned).collect();
            assert_eq!(named(&positions.iter().copied().collect(), &labels), expected);
        };
        check(&[1], 2, "B");
        check(&[0, 1], 2, "A and B");
        check(&[0, 2], 3, "A and C");
        check(&[0, 1, 2], 3, "All runs");
        check(&[0, 1, 2, 3, 4, 5, 6], 100, "7 of 100 runs");
    }
}
