//! Which queries are slower on side B of two query sets that were executed in turns: reads the executions of both records as
//! sequences and asks `stats`. The command and its reports have the same verdicts, because both are made here.

use stats::{PairedQuery, Regression, RegressionVerdict, regressions};

use crate::{RegressionPlan, RegressionSide, StepResult, StepTime, StepsRecord};

/// The verdicts on the queries of two sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Regressions {
    /// A query is slower if B ÷ A is above 1 + this share.
    pub limit: f64,
    /// In the order of the set.
    pub queries: Vec<QueryRegression>,
}

/// The verdict on a query.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryRegression {
    /// Its name.
    pub query: String,
    /// Complete sequences of four executions.
    pub sequences: usize,
    /// ln(B ÷ A) of each.
    pub ln_ratios: Vec<f64>,
    /// An execution of A, and of B, reached the time limit.
    pub is_limited: [bool; 2],
    /// The estimate and the verdict.
    pub result: Regression,
}

impl Regressions {
    /// `None` unless these are the sides A and B of one measurement.
    pub fn of(a: &StepsRecord, b: &StepsRecord) -> Option<Regressions> {
        let plan = |record: &StepsRecord| -> Option<RegressionPlan> {
            record.query_set.as_ref()?.regression.clone()
        };
        let (first, second) = (plan(a)?, plan(b)?);
        let sides = (first.side, second.side);
        if sides != (RegressionSide::A, RegressionSide::B)
            || first.limit.to_bits() != second.limit.to_bits()
            || a.started_at != b.started_at
        {
            return None;
        }
        let pair = |(place, step): (usize, &StepResult)| {
            let other = b.step(&step.name, place);
            (step.name.clone(), paired(&step.times, other.map_or(&[], |other| &other.times)))
        };
        let (names, paired): (Vec<String>, Vec<PairedQuery>) = a.steps.iter().enumerate().map(pair).unzip();
        let results = regressions(&paired, first.limit);
        let query = |((query, paired), result): ((String, PairedQuery), Regression)| QueryRegression {
            query,
            sequences: paired.ln_ratios.len(),
            is_limited: [paired.a_is_limited, paired.b_is_limited],
            ln_ratios: paired.ln_ratios,
            result,
        };
        let queries = names.into_iter().zip(paired).zip(results).map(query).collect();
        Some(Regressions { limit: first.limit, queries })
    }

    /// Names of the queries with this verdict.
    pub fn names(&self, verdict: RegressionVerdict) -> Vec<String> {
        let with = self.queries.iter().filter(|query| query.result.verdict == verdict);
        with.map(|query| query.query.clone()).collect()
    }
}

/// The sequences of a query: executions 2 and 3 of both sides, 4 and 5, and so on. Sequences with a failed or missing
/// execution are left out.
fn paired(a: &[StepTime], b: &[StepTime]) -> PairedQuery {
    let find = |times: &[StepTime], repeat: u32| {
        times.iter().find(|time| time.repeat == Some(repeat) && time.error.is_none()).cloned()
    };
    let pair = |repeat: u32| Some((find(a, repeat)?, find(b, repeat)?));
    let last = a.iter().chain(b).filter_map(|time| time.repeat).max().unwrap_or(0);
    let mut paired = PairedQuery::default();
    for first in (2..last).step_by(2) {
        let Some(pairs) = pair(first).zip(pair(first + 1)).map(|(first, second)| [first, second]) else {
            continue;
        };
        let ln_ratio = |(a, b): &(StepTime, StepTime)| (us(b) / us(a)).ln();
        paired.ln_ratios.push(pairs.iter().map(ln_ratio).sum::<f64>() / 2.0);
        paired.a_is_limited |= pairs.iter().any(|(a, _)| a.limited);
        paired.b_is_limited |= pairs.iter().any(|(_, b)| b.limited);
    }
    paired
}

/// Durations below the resolution of the clock count as one microsecond.
fn us(time: &StepTime) -> f64 {
    time.duration_us.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(repeat: u32, duration_us: u64) -> StepTime {
        StepTime { repeat: Some(repeat), duration_us, ..StepTime::default() }
    }

    #[test]
    fn sequences_are_of_two_executions_of_both_sides_and_the_first_execution_is_apart() {
        let a: Vec<StepTime> =
            [(1, 900), (2, 100), (3, 100), (4, 100), (5, 100)].map(|(n, us)| time(n, us)).into();
        let b: Vec<StepTime> =
            [(1, 10), (2, 400), (3, 100), (4, 0), (5, 100)].map(|(n, us)| time(n, us)).into();
        let found = paired(&a, &b);
        let expected = [2.0_f64.ln(), -0.5 * 100.0_f64.ln()];
        assert!(found.ln_ratios.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        assert_eq!((found.ln_ratios.len(), found.a_is_limited, found.b_is_limited), (2, false, false));
    }

    #[test]
    fn a_failed_execution_ends_its_sequence_and_a_limited_one_is_a_bound() {
        let a: Vec<StepTime> = (1..=7).map(|repeat| time(repeat, 100)).collect();
        let mut b = a.clone();
        b[2].error = Some("division by zero".into());
        b[4].limited = true;
        b.pop();
        let found = paired(&a, &b);
        assert_eq!(
            (found.ln_ratios.as_slice(), found.a_is_limited, found.b_is_limited),
            (&[0.0][..], false, true)
        );
    }
}
