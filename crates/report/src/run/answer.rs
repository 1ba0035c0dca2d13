//! The first screen of a run's page: the answer in one sentence of at most 20 words, the first figures, and what limited
//! the run, each explanation folded into one line.

use results::{Counts, LimitedBy, Outages, Record, Status, Verdict, Verification, WaitShare};

use super::impact::{self, ActionImpact, Impact};
use super::seconds::precision;
use super::{load, ranks, stages, warnings};
use crate::document::{Block, KeyFigure, Tone};
use crate::figures::{
    TIE, asked_latency, asked_seconds, count, counted, measured_seconds, percent, plus_minus, rate_known_to,
    share,
};
use crate::metrics::Metric;
use crate::prose::{capitalised, escaped_line, moment};
use crate::wording;

/// A throughput that is known better than this, as a share, stands out.
const LARGE_UNTIL: f64 = 0.2;

/// Actions that have a line; the section below has all.
const ACTIONS_MAX: usize = 5;

/// The sentence that answers what became of the run.
pub(super) fn answer(record: &Record) -> Block {
    let (tone, text) = sentence(record);
    Block::Answer(tone, text)
}

fn sentence(record: &Record) -> (Tone, String) {
    let summary = &record.summary;
    if summary.duration_s <= 0.0 {
        return (Tone::Bad, "Nothing was measured.".to_owned());
    }
    if record.everything_failed() {
        let most = summary.errors.as_ref().and_then(|errors| errors.kinds.first());
        let most = most.map(|kind| format!(", most with SQLSTATE {}", escaped_line(&kind.sqlstate)));
        let failed = count(summary.counts.failed);
        return (
            Tone::Bad,
            format!("No transaction succeeded: {failed} failed{}.", most.unwrap_or_default()),
        );
    }
    let interrupted = summary.outages.as_ref().and_then(outage);
    if let Some(found) = &record.verification {
        return verified(found, interrupted);
    }
    if let Some(outage) = interrupted {
        return (Tone::Bad, capitalised(&outage));
    }
    let verdict = summary.generator.as_ref().map(|generator| &generator.verdict);
    let is_client = verdict.is_some_and(|verdict| verdict.limit == LimitedBy::Generator);
    if let Some((_, when, _)) = warnings::ending(record) {
        let has_failed = matches!(record.status, Status::Failed { .. });
        let (tone, word) = if has_failed { (Tone::Bad, "Failed") } else { (Tone::Caution, "Interrupted") };
        return (tone, format!("{word} {when}; until then {}.", figures_in_words(record)));
    }
    if let Some((verdict, goals)) = wording::goals_answer(&record.summary.goals, &load_in_words(record)) {
        return (crate::goals::tone(verdict), goals + ".");
    }
    let rest = of_actions(&impact::impacts(record))
        .or_else(|| of_waits(record, verdict))
        .unwrap_or_else(|| wording::limit(verdict, record.plan.clients));
    let is_missed = wording::service_level(record).is_some_and(|(level, _)| !level.kept);
    let tone = if is_client || is_missed { Tone::Bad } else { Tone::Strong };
    (tone, format!("{}; {rest}.", figures_in_words(record)))
}

/// `1,477 tps with p99 18.2 ms at 64 clients`; of a rate, how much of what was due succeeded.
fn figures_in_words(record: &Record) -> String {
    let p99 = Metric::P99.shown(record);
    let counts = &record.summary.counts;
    if let Some(rate) = wording::scheduled(&record.plan) {
        let kept = match record.plan.latency_limit_us {
            Some(limit_us) => format!("within {}", asked_latency(limit_us)),
            None => "succeeded".to_owned(),
        };
        let p99 = p99.map(|p99| format!(", p99 {p99},")).unwrap_or_default();
        return format!(
            "{} of {} scheduled transactions {kept}{p99} at {rate}{TIE}tps{}",
            count(kept_of_scheduled(record)),
            count(counts.scheduled),
            if record.plan.rate_curve().is_some() { " on average" } else { "" }
        );
    }
    let clients = stages::clients_in_words(&record.plan);
    let p99 = p99.map(|p99| format!(" with p99 {p99}")).unwrap_or_default();
    match precision(record) {
        Some(half) if half >= 1.0 => {
            format!(
                "About {}{TIE}tps (±{TIE}100{TIE}% or more){p99} at {clients}",
                rate_known_to(record.summary.tps, half)
            )
        }
        half => {
            format!("{}{TIE}tps{p99} at {clients}", rate_known_to(record.summary.tps, half.unwrap_or(0.0)))
        }
    }
}

/// Transactions that succeeded, within the latency limit if there is one.
fn kept_of_scheduled(record: &Record) -> u64 {
    let Counts { succeeded, late, .. } = record.summary.counts;
    succeeded.saturating_sub(if record.plan.latency_limit_us.is_some() { late } else { 0 })
}

/// `200 tps`, `64 clients`
fn load_in_words(record: &Record) -> String {
    match wording::scheduled(&record.plan) {
        Some(rate) if record.plan.rate_curve().is_some() => format!("{rate}{TIE}tps on average"),
        Some(rate) => format!("{rate}{TIE}tps"),
        None => stages::clients_in_words(&record.plan),
    }
}

/// Waits below this share of the backends' time are not the answer.
const WAIT_SHARE_MIN: f64 = 0.3;

/// What the backends waited for most, where no resource of the server was at its limit.
fn of_waits(record: &Record, verdict: Option<&Verdict>) -> Option<String> {
    verdict.filter(|verdict| verdict.limit == LimitedBy::Server && verdict.resource.is_none())?;
    let wait = record.observation.as_ref()?.waits.as_ref()?.top.first()?;
    let is_wait = !matches!(wait.event_type.as_str(), "CPU" | "") && wait.share >= WAIT_SHARE_MIN;
    let name = wording::wait_name(&wait.event_type, &wait.event);
    is_wait.then(|| format!("backends waited for {name} {} of their active time", percent(wait.share, 1.0)))
}

/// The action that changed the load most.
fn of_actions(impacts: &[ActionImpact]) -> Option<String> {
    let changes = impacts.iter().filter_map(|it| match it.impact {
        Impact::Throughput { during_tps, normal_tps, .. } => Some((it, during_tps, normal_tps)),
        Impact::Response { .. } | Impact::NotSeen | Impact::Unknown => None,
    });
    let (it, during_tps, normal_tps) =
        changes.max_by(|one, other| (one.1 - one.2).abs().total_cmp(&(other.1 - other.2).abs()))?;
    let [during, normal] = [during_tps, normal_tps].map(impact::per_second);
    let [begin, end] = [it.begin_s, it.end_s].map(|at| asked_seconds(at.round()));
    Some(format!("an action from {begin} to {end} left {during} of {normal} tps"))
}

/// `no write succeeded for 3.52 s; recovered after 5.10 s`
fn outage(outages: &Outages) -> Option<String> {
    let longest = outages.outages.iter().filter(|outage| outage.window.is_some());
    let length_s = |outage: &results::Outage| outage.window.as_ref().map_or(0.0, |window| window.length_s());
    let longest = longest.max_by(|one, other| length_s(one).total_cmp(&length_s(other)))?;
    let what = if outages.of_writes { "write" } else { "transaction" };
    let back = match longest.recovery_s() {
        Some(recovery_s) => format!("recovered after {}", measured_seconds(recovery_s)),
        None => "it did not recover".to_owned(),
    };
    Some(format!("no {what} succeeded for {}; {back}", measured_seconds(length_s(longest))))
}

fn verified(found: &Verification, outage: Option<String>) -> (Tone, String) {
    let acknowledged = counted(found.acknowledged, "acknowledged commit", "acknowledged commits");
    let (tone, text) = match (found.lost, found.phantom) {
        (0, 0) => (Tone::Good, format!("All {acknowledged} are there")),
        (0, phantom) => (
            Tone::Caution,
            format!("All {acknowledged} are there, and {} more that should not be", count(phantom)),
        ),
        (lost, _) => (Tone::Bad, format!("{} of {acknowledged} were lost", count(lost))),
    };
    (tone, outage.map_or(format!("{text}."), |outage| format!("{text}; {outage}.")))
}

/// The first figures, the mean and the deviation beneath them; `None` if nothing was measured.
pub(super) fn figures(record: &Record) -> Option<Block> {
    if record.summary.duration_s <= 0.0 {
        return None;
    }
    let half = precision(record);
    let figure = |metric: Metric| {
        let label = metric.row().short.to_owned();
        let (value, note) = match metric {
            Metric::Tps => throughput(record, half),
            _ => (metric.shown(record)?, String::new()),
        };
        let is_large = metric == Metric::Tps && half.is_none_or(|half| half < LARGE_UNTIL);
        Some(KeyFigure { label, value, note, is_large })
    };
    let figures = [Metric::Tps].into_iter().chain(Metric::FIRST_LATENCIES).filter_map(figure).collect();
    Some(Block::Figures(figures, beneath(record)))
}

/// The figure, and its interval or what of the schedule was kept.
fn throughput(record: &Record, half: Option<f64>) -> (String, String) {
    let summary = &record.summary;
    let interval = summary.confidence.tps.and_then(|it| plus_minus(summary.tps, it.low, it.high));
    let sure = match (interval, half) {
        (Some(interval), _) => interval,
        (None, Some(_)) => format!("±{TIE}100{TIE}% or more"),
        (None, None) => String::new(),
    };
    let of_rate = wording::scheduled(&record.plan).map(|asked| format!("of {asked} scheduled"));
    let value = rate_known_to(summary.tps, half.unwrap_or(0.0));
    let parts: Vec<String> =
        [Some(sure).filter(|it| !it.is_empty()), of_rate].into_iter().flatten().collect();
    (value, parts.join(", "))
}

/// `mean 4.20 ms, deviation 1.10 ms; throughput between 1,219 and 1,249 with 95 % confidence, over 60.0 s`
fn beneath(record: &Record) -> String {
    let summary = &record.summary;
    let of = |metric: Metric, name: &str| Some(format!("{name} {}", metric.shown(record)?));
    let times = [of(Metric::Mean, "mean"), of(Metric::Stddev, "standard deviation")];
    let times: Vec<String> = times.into_iter().flatten().collect();
    let over = format!("over {}", measured_seconds(summary.duration_s));
    let sure = match (summary.confidence.tps, precision(record)) {
        (Some(interval), Some(half)) => {
            let [low, high] = [interval.low, interval.high].map(|bound| rate_known_to(bound.max(0.0), half));
            format!("throughput with 95{TIE}% confidence between {low} and {high} tps, {over}")
        }
        _ if record.plan.is_changing() => {
            format!("{over}; a load that changes has no confidence interval over all of it")
        }
        _ => {
            let least = stats::INTERVALS_MIN;
            format!("{over}; too short for a confidence interval, which takes {least}{TIE}s")
        }
    };
    let kept = record.plan.rate_tps.map(|_| {
        let (kept, scheduled) = (kept_of_scheduled(record), summary.counts.scheduled);
        let share = percent(kept as f64, scheduled as f64);
        format!("{share} of what was scheduled was kept ({} of {})", count(kept), count(scheduled))
    });
    let parts = [Some(times.join(", ")).filter(|times| !times.is_empty()), kept, Some(sure)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// A line each: what the actions did, the limit, whether the run was steady, how it was loaded.
pub(super) fn lines(record: &Record) -> Vec<Block> {
    let impacts = impact::impacts(record);
    let action =
        |it: &ActionImpact| Block::Banner(Tone::Plain, impact::named(it), impact::effect(&it.impact) + ".");
    let mut blocks: Vec<Block> = impacts.iter().take(ACTIONS_MAX).map(action).collect();
    let more = impacts.len().saturating_sub(ACTIONS_MAX);
    blocks.extend((more > 0).then(|| Block::quiet(format!("{more} more actions are below."))));
    let verdict = record.summary.generator.as_ref().map(|generator| &generator.verdict);
    let is_client = verdict.is_some_and(|verdict| verdict.limit == LimitedBy::Generator);
    let evidence = verdict.map(|verdict| wording::evidence_of_run(record, verdict)).unwrap_or_default();
    let has_load = !record.everything_failed() && record.summary.duration_s > 0.0;
    let limit = capitalised(&wording::limit(verdict, record.plan.clients));
    let limit = locked(record, &impacts).map_or(limit.clone(), |locked| format!("{limit} {locked}"));
    // Where nothing succeeded, a limit or a steady state would say nothing about the server.
    if has_load || is_client {
        blocks.push(Block::Banner(if is_client { Tone::Bad } else { Tone::Plain }, limit, evidence));
    }
    blocks.extend(left_out(record).map(|text| Block::Banner(Tone::Caution, String::new(), text)));
    if let Some((tone, text)) = warnings::steady_state(record).filter(|_| has_load) {
        blocks.push(Block::Banner(tone, String::new(), text));
    }
    let per_minute = load::per_minute(record).map(|figure| format!("Per minute: {figure}."));
    blocks.extend(per_minute.map(|text| Block::Paragraph(Tone::Plain, text)));
    blocks.push(Block::quiet(load_sentence(record)));
    blocks
}

/// Less than this share of the normal throughput is a pause.
const PAUSE_SHARE_MAX: f64 = 0.1;
const MICROSECONDS_PER_SECOND: f64 = 1e6;

/// That percentiles have next to nothing of a pause: without a rate, clients send nothing while they wait.
pub(super) fn left_out(record: &Record) -> Option<String> {
    let impacts = impact::impacts(record);
    let of_action = |it: &ActionImpact| match it.impact {
        Impact::Throughput { during_tps, normal_tps, .. } => {
            (during_tps < PAUSE_SHARE_MAX * normal_tps).then_some(it.end_s - it.begin_s)
        }
        Impact::Response { .. } | Impact::NotSeen | Impact::Unknown => None,
    };
    let pauses = impacts.iter().filter_map(of_action).chain(wording::longest_interruption_s(&record.summary));
    let pause_s = pauses.max_by(f64::total_cmp).filter(|_| wording::scheduled(&record.plan).is_none())?;
    let is_there = Metric::P999.of(record).is_some_and(|us| us > pause_s * MICROSECONDS_PER_SECOND / 2.0);
    (!is_there).then(|| {
        format!(
            "Percentiles leave out the pause of {}: without a rate, clients send next to nothing in it. With -R, the \
             transactions that were due count.",
            measured_seconds(pause_s)
        )
    })
}

/// Waits for locks below this share of the backends' time are not named.
const LOCKED_MIN: f64 = 0.1;

/// That the backends waited for a lock which an action held, as far as that is known.
fn locked(record: &Record, impacts: &[ActionImpact]) -> Option<String> {
    let is_table_lock = |wait: &&WaitShare| wait.event_type == "Lock" && wait.event == "relation";
    let wait = record.observation.as_ref()?.waits.as_ref()?.top.iter().find(is_table_lock)?;
    let stopped = |it: &&ActionImpact| match it.impact {
        Impact::Throughput { during_tps, normal_tps, .. } => during_tps < normal_tps,
        Impact::Response { .. } => true,
        Impact::NotSeen | Impact::Unknown => false,
    };
    let action = impacts.iter().find(stopped).filter(|_| wait.share >= LOCKED_MIN)?;
    let waited = share(wait.share, wait.interval);
    Some(format!("Backends waited {waited} of the time for the lock of a table, as during {}.", action.what))
}

/// `8 clients on 2 workers, prepared protocol, measured for 60.0 s after 5 s of warm-up. Started 2026-11-21 12:03 UTC.`
fn load_sentence(record: &Record) -> String {
    let plan = &record.plan;
    let warmup = (plan.warmup_s > 0.0).then(|| format!(" after {} of warm-up", asked_seconds(plan.warmup_s)));
    let started = moment(record.started_at);
    let workers = || counted(plan.workers.into(), "worker", "workers");
    format!(
        "{} on {}, {} protocol, measured for {}{}. Started {started}.",
        stages::clients_in_words(plan).replacen("up to", "Up to", 1),
        ranks::in_words(record).unwrap_or_else(workers),
        plan.protocol.name(),
        measured_seconds(record.summary.duration_s),
        warmup.unwrap_or_default(),
    )
}
