//! The figures of a search's answer: its rate, its interval, and the rates that it lies between.
//! Used by the record of a search and by its execution.

use results::{GoalVerdict, RateInterval, SearchAnswer};
use search::{Answer, CurveEstimate};

/// The figures of an answer.
#[derive(Debug, PartialEq)]
pub(crate) struct AnswerFigures {
    pub(super) answer: SearchAnswer,
    pub(crate) rate_tps: Option<f64>,
    pub(super) interval: Option<RateInterval>,
    pub(super) kept_tps: Option<f64>,
    pub(super) broken_tps: Option<f64>,
}

impl AnswerFigures {
    /// The interval, or the rates that the answer is between.
    pub(crate) fn bounds(&self) -> Option<RateInterval> {
        let between = || Some(RateInterval { low: self.kept_tps?, high: self.broken_tps? });
        self.interval.or_else(between)
    }

    /// Whether the rate is above one that was expected.
    pub(super) fn verdict(&self, expected_tps: f64) -> GoalVerdict {
        let is_known = match self.answer {
            SearchAnswer::Sustains | SearchAnswer::Corrected | SearchAnswer::KeptAtHighest => true,
            SearchAnswer::Unconfirmed | SearchAnswer::BrokenAtLowest => false,
            SearchAnswer::Between | SearchAnswer::GeneratorLimited | SearchAnswer::Nothing => {
                return GoalVerdict::Undecided;
            }
        };
        // The interval of a fitted answer; the rates of longer loads of others.
        match (self.kept_tps.filter(|_| is_known), self.broken_tps) {
            (Some(kept), _) if kept > expected_tps => GoalVerdict::Met,
            (_, Some(broken)) if broken < expected_tps => GoalVerdict::Missed,
            _ => GoalVerdict::Undecided,
        }
    }
}

pub(crate) fn figures(answer: Answer) -> AnswerFigures {
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
