//! The record of a search, from what was measured and what the crate `search` concludes from it.
//! Pure; the caller stores it.

use results::{
    Annotation, ExpectedRate, NearestLimit, SEARCH_SCHEMA, SearchAnswer, SearchConfirmation, SearchLoad,
    SearchMethod, SearchRecord, SearchResult, Status,
};

use super::answer_figures::{AnswerFigures, figures};
use super::curve;
use super::execution::SearchRun;
use super::loads::MeasuredLoad;
use super::on_server::{About, WARMUP};

/// Builds the record.
pub(crate) fn record(
    run: &SearchRun,
    about: About,
    annotation: Annotation,
    status: Status,
    elapsed_s: f64,
) -> SearchRecord {
    let figures = figures(run.answer());
    let SearchRun { options, goals, bursts, clients, trials, confirmations, repeated, .. } = run;
    let expected =
        options.expected_tps.map(|rate_tps| ExpectedRate { rate_tps, verdict: figures.verdict(rate_tps) });
    let AnswerFigures { answer, rate_tps, interval, kept_tps, broken_tps } = figures;
    let is_finished = status == Status::Complete
        && interval.is_none_or(|interval| interval.half_width() <= options.width)
        && answer != SearchAnswer::Between;
    let loads = curve::loads(trials, goals, !is_finished);
    let confirmations: Vec<_> = confirmations.iter().map(confirmation).collect();
    let at = rate_tps.or(broken_tps);
    SearchRecord {
        schema_version: SEARCH_SCHEMA,
        pgmeter_version: env!("CARGO_PKG_VERSION").to_owned(),
        annotation,
        status,
        started_at: about.started_at,
        plan: about.plan,
        environment: about.environment,
        search: SearchResult {
            answer,
            rate_tps,
            interval,
            kept_tps,
            broken_tps,
            nearest: at.and_then(|rate_tps| nearest(&loads, rate_tps)),
            method: SearchMethod {
                budget_s: options.budget_s,
                width: options.width,
                max_rate_tps: options.max_rate_tps,
                are_clients_given: options.clients.is_some(),
                confirmation_s: options.confirmation_s(),
                warmup_s: WARMUP.as_secs_f64(),
                seed: options.seed,
            },
            goals: goals.clone(),
            elapsed_s,
            clients: *clients,
            bursts: bursts.clone(),
            loads,
            confirmations,
            repeated: *repeated,
            expected,
        },
        comparison: None,
    }
}

fn confirmation(measured: &MeasuredLoad) -> SearchConfirmation {
    let MeasuredLoad { trial, events, .. } = measured;
    SearchConfirmation {
        trial: trial.clone(),
        checkpoints: events.map(|[checkpoints, _]| checkpoints),
        autovacuums: events.map(|[_, autovacuums]| autovacuums),
    }
}

/// What was nearest to its limit in the load whose rate is nearest.
fn nearest(loads: &[SearchLoad], rate_tps: f64) -> Option<NearestLimit> {
    let distance = |load: &&SearchLoad| (load.figures.rate_tps / rate_tps).ln().abs();
    let nearest = loads.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    nearest.figures.nearest
}

#[cfg(test)]
mod tests {
    use results::{GoalVerdict, RateInterval};
    use search::{Answer, CurveEstimate};

    use super::*;

    #[test]
    fn only_a_fitted_answer_has_an_interval_and_unknown_rates_are_null() {
        let estimate = CurveEstimate { rate_tps: 100.0, low_tps: 96.0, high_tps: 103.0 };
        let sustains = figures(Answer::Sustains(estimate));
        assert_eq!(sustains.interval, Some(RateInterval { low: 96.0, high: 103.0 }));
        let open = figures(Answer::Between(50.0, f64::INFINITY));
        assert_eq!((open.rate_tps, open.broken_tps, open.interval), (Some(50.0), None, None));
        assert_eq!(figures(Answer::Between(0.0, 50.0)).rate_tps, None);
        assert_eq!(figures(Answer::ClientLimited(0.0)).rate_tps, None);
        let met = |answer: Answer, expected| figures(answer).verdict(expected);
        let verdicts = [95.0, 100.0, 104.0].map(|expected| met(Answer::Sustains(estimate), expected));
        assert_eq!(verdicts, [GoalVerdict::Met, GoalVerdict::Undecided, GoalVerdict::Missed]);
        assert_eq!(met(Answer::Unconfirmed(90.0), 95.0), GoalVerdict::Missed);
        assert_eq!(met(Answer::Between(90.0, 200.0), 50.0), GoalVerdict::Undecided, "trials are short");
        assert_eq!(met(Answer::KeptAtHighest(90.0), 80.0), GoalVerdict::Met);
        assert_eq!(met(Answer::ClientLimited(90.0), 80.0), GoalVerdict::Undecided);
        let corrected = figures(Answer::Corrected(90.0, 96.0));
        assert_eq!((corrected.rate_tps, corrected.broken_tps), (Some(90.0), Some(96.0)));
    }
}
