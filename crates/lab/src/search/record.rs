//! The record of a search, from what was measured and what the crate `search` concludes from it.
//! Pure; the caller stores it.

use results::{
    Annotation, NearestLimit, RateInterval, SEARCH_SCHEMA, SearchAnswer, SearchConfirmation, SearchLoad,
    SearchMethod, SearchRecord, SearchResult, Status,
};
use search::{Answer, CurveEstimate};

use super::curve;
use super::execution::SearchRun;
use super::loads::MeasuredLoad;
use super::on_server::{About, WARMUP};

/// Builds the record.
pub(super) fn record(
    run: SearchRun,
    about: About,
    annotation: Annotation,
    status: Status,
    elapsed_s: f64,
) -> SearchRecord {
    let answer = run.search.as_ref().map_or(Answer::Nothing, search::Search::answer);
    let SearchRun { options, goals, bursts, clients, trials, confirmations, .. } = run;
    let loads = curve::loads(&trials, &goals);
    let AnswerFigures { answer, rate_tps, interval, kept_tps, broken_tps } = figures(answer);
    let confirmations: Vec<_> = confirmations.into_iter().map(confirmation).collect();
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
            goals,
            elapsed_s,
            clients,
            bursts,
            loads,
            confirmations,
        },
    }
}

fn confirmation(measured: MeasuredLoad) -> SearchConfirmation {
    let MeasuredLoad { trial, events, .. } = measured;
    SearchConfirmation {
        trial,
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

/// The figures of an answer.
#[derive(Debug, PartialEq)]
struct AnswerFigures {
    answer: SearchAnswer,
    rate_tps: Option<f64>,
    interval: Option<RateInterval>,
    kept_tps: Option<f64>,
    broken_tps: Option<f64>,
}

fn figures(answer: Answer) -> AnswerFigures {
    let known = |rate: f64| Some(rate).filter(|rate| *rate > 0.0 && rate.is_finite());
    let of = |answer, kept: f64, broken: f64| AnswerFigures {
        answer,
        rate_tps: known(kept),
        interval: None,
        kept_tps: known(kept),
        broken_tps: known(broken),
    };
    const UNKNOWN: f64 = f64::INFINITY;
    match answer {
        Answer::Nothing => of(SearchAnswer::Nothing, UNKNOWN, UNKNOWN),
        Answer::Between(kept, broken) => of(SearchAnswer::Between, kept, broken),
        Answer::Sustains(CurveEstimate { rate_tps, low_tps, high_tps }) => AnswerFigures {
            answer: SearchAnswer::Sustains,
            rate_tps: Some(rate_tps),
            interval: Some(RateInterval { low: low_tps, high: high_tps }),
            kept_tps: Some(low_tps),
            broken_tps: Some(high_tps),
        },
        Answer::Corrected(kept, broken) => of(SearchAnswer::Corrected, kept, broken),
        Answer::Unconfirmed(broken) => of(SearchAnswer::Unconfirmed, UNKNOWN, broken),
        Answer::BrokenAtLowest(rate) => of(SearchAnswer::BrokenAtLowest, UNKNOWN, rate),
        Answer::KeptAtHighest(rate) => of(SearchAnswer::KeptAtHighest, rate, UNKNOWN),
        Answer::ClientLimited(rate) => of(SearchAnswer::GeneratorLimited, rate, UNKNOWN),
    }
}

#[cfg(test)]
mod tests {
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
        let corrected = figures(Answer::Corrected(90.0, 96.0));
        assert_eq!((corrected.rate_tps, corrected.broken_tps), (Some(90.0), Some(96.0)));
    }
}
