//! What each action did to the load of a run: the throughput while it ran against the normal one, and when that was back.
//! Pure; used by the first lines of a page and by the list of actions.

use results::Record;

use super::actions::detail;
use super::seconds::{NORMAL_MIN, Normal, Second, seconds_of};
use crate::figures::{TIE, fixed, latency, measured_seconds};
use crate::prose::cut;

/// An interval belongs to the time in which an action ran from this share of it on.
const WITHIN_MIN: f64 = 0.8;
/// Seconds in a row that are normal again.
const NORMAL_AGAIN: usize = 2;
/// Characters of an action in a sentence.
const DETAIL_LEN_MAX: usize = 60;

/// The effect of an action on the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Impact {
    /// The run has too few seconds without an action.
    Unknown,
    NotSeen,
    /// Rates in transactions per second.
    Throughput {
        during_tps: f64,
        normal_tps: f64,
        back_s: Option<f64>,
    },
    /// Response times, where the throughput stayed.
    Response {
        during_us: f64,
        normal_us: f64,
        back_s: Option<f64>,
    },
}

/// An action that ran, and its effect.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ActionImpact {
    pub(super) what: String,
    pub(super) begin_s: f64,
    pub(super) end_s: f64,
    pub(super) impact: Impact,
}

/// Of each action that began, in the order of time.
pub(super) fn impacts(record: &Record) -> Vec<ActionImpact> {
    let mut actions: Vec<ActionImpact> = record
        .summary
        .actions
        .iter()
        .filter_map(|result| {
            let (begin_s, end_s) = result.begin_s.zip(result.end_s)?;
            let what = cut(&detail(&result.action.work), DETAIL_LEN_MAX);
            Some(ActionImpact { what, begin_s, end_s, impact: Impact::Unknown })
        })
        .collect();
    actions.sort_by(|one, other| one.begin_s.total_cmp(&other.begin_s));
    let times: Vec<(f64, f64)> = actions.iter().map(|it| (it.begin_s, it.end_s)).collect();
    let seconds = seconds_of(record);
    for (at, action) in actions.iter_mut().enumerate() {
        let next_s = times.get(at + 1).map_or(f64::INFINITY, |next| next.0);
        action.impact = impact(&seconds, &times, times[at], next_s);
    }
    actions
}

/// The effect of the action at `time`, among all actions; the next one begins at `next_s`.
fn impact(seconds: &[Second], actions: &[(f64, f64)], time: (f64, f64), next_s: f64) -> Impact {
    // Before the first action, or else away from all: what follows an action may still be recovering.
    let first_s = actions.iter().map(|action| action.0).fold(f64::INFINITY, f64::min);
    let before: Vec<&Second> = seconds.iter().filter(|it| it.end_s <= first_s).collect();
    let is_away = |it: &&Second| actions.iter().all(|action| !it.touches(*action));
    let away = || -> Vec<&Second> { seconds.iter().filter(is_away).collect() };
    let undisturbed = if before.len() >= NORMAL_MIN { before } else { away() };
    let Some(normal) = Normal::of(undisturbed.iter().map(|it| it.tps).collect()) else {
        return Impact::Unknown;
    };
    let within = |it: &&Second| it.overlap_s(time) >= WITHIN_MIN * (it.end_s - it.start_s);
    let mut during: Vec<&Second> = seconds.iter().filter(within).collect();
    if during.is_empty() {
        during = seconds.iter().filter(|it| it.touches(time)).collect();
    }
    if during.is_empty() {
        return Impact::Unknown;
    }
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    // Normal from the begin of seconds in a row that all are.
    let back_s = |is_normal: &dyn Fn(&Second) -> bool| {
        let later: Vec<&Second> =
            seconds.iter().filter(|it| it.end_s > time.1 && it.start_s < next_s).collect();
        let rows = later.windows(NORMAL_AGAIN).find(|row| row.iter().all(|it| is_normal(it)));
        rows.map(|row| (row[0].start_s - time.1).max(0.0))
    };
    let during_tps = mean(during.iter().map(|it| it.tps).collect());
    if !normal.has(during_tps) {
        let back_s = back_s(&|it| normal.has(it.tps));
        return Impact::Throughput { during_tps, normal_tps: normal.median, back_s };
    }
    let responses: Vec<f64> = during.iter().filter_map(|it| it.response_us).collect();
    let usual = Normal::of(undisturbed.iter().filter_map(|it| it.response_us).collect());
    match usual.filter(|_| !responses.is_empty()) {
        Some(usual) if !usual.has(mean(responses.clone())) => {
            let back_s = back_s(&|it| it.response_us.is_some_and(|us| usual.has(us)));
            Impact::Response { during_us: mean(responses), normal_us: usual.median, back_s }
        }
        Some(_) | None => Impact::NotSeen,
    }
}

/// `LOCK TABLE a (10.0 to 15.0 s): 0 of 300 per second, normal 1.5 s after its end; VACUUM (20.0 to 20.2 s): no effect
/// seen.`
pub(super) fn in_words(impacts: &[ActionImpact]) -> String {
    let told: Vec<String> = impacts.iter().map(one_in_words).collect();
    if told.is_empty() { String::new() } else { told.join("; ") + "." }
}

/// The same where an effect of any is known to be there, or not.
pub(super) fn of_known(impacts: &[ActionImpact]) -> Option<String> {
    impacts.iter().any(|it| it.impact != Impact::Unknown).then(|| in_words(impacts))
}

fn one_in_words(it: &ActionImpact) -> String {
    format!("{} {}", named(it), effect(&it.impact))
}

/// `LOCK TABLE a (10.0 to 15.0 s):`
pub(super) fn named(it: &ActionImpact) -> String {
    format!("{} ({:.1} to {:.1}{TIE}s):", it.what, it.begin_s, it.end_s)
}

/// `0 of 300 per second, normal 1.5 s after its end`
pub(super) fn effect(impact: &Impact) -> String {
    match *impact {
        Impact::Unknown => "effect unknown, because too few seconds are without an action".to_owned(),
        Impact::NotSeen => "no effect seen".to_owned(),
        Impact::Throughput { during_tps, normal_tps, back_s } => {
            let [during, normal] = [during_tps, normal_tps].map(per_second);
            format!("{during} of {normal} per second, {}", back(back_s))
        }
        Impact::Response { during_us, normal_us, back_s } => format!(
            "mean response {} instead of {}, {}",
            latency(during_us),
            latency(normal_us),
            back(back_s)
        ),
    }
}

/// Whole transactions; of few, tenths.
pub(super) fn per_second(tps: f64) -> String {
    fixed(tps, usize::from(tps > 0.0 && tps < 9.95))
}

fn back(back_s: Option<f64>) -> String {
    match back_s {
        None => "not normal again before the next action or the end".to_owned(),
        Some(back_s) if back_s < 0.1 => "normal right after its end".to_owned(),
        Some(back_s) => format!("normal {} after its end", measured_seconds(back_s)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::with_ordinary_spaces;

    /// Seconds at these rates, all of 2 ms.
    fn seconds(tps: &[f64]) -> Vec<Second> {
        let second = |(at, tps): (usize, &f64)| {
            let start_s = at as f64;
            Second { start_s, end_s: start_s + 1.0, tps: *tps, response_us: (*tps > 0.0).then_some(2_000.0) }
        };
        tps.iter().enumerate().map(second).collect()
    }

    fn rates(changes: &[(std::ops::Range<usize>, f64)]) -> Vec<f64> {
        let mut tps: Vec<f64> = (0..30).map(|at| 300.0 + f64::from(at % 3)).collect();
        for (range, rate) in changes {
            tps[range.clone()].fill(*rate);
        }
        tps
    }

    #[test]
    fn a_lock_stops_the_load_and_a_vacuum_is_not_seen() {
        let seconds = seconds(&rates(&[(10..15, 0.0), (15..16, 800.0)]));
        let actions = [(10.0, 15.0), (20.0, 20.2)];
        let lock = impact(&seconds, &actions, actions[0], 20.0);
        assert_eq!(lock, Impact::Throughput { during_tps: 0.0, normal_tps: 301.0, back_s: Some(1.0) });
        assert_eq!(impact(&seconds, &actions, actions[1], f64::INFINITY), Impact::NotSeen);
        let told = |what: &str, (begin_s, end_s), impact| ActionImpact {
            what: what.to_owned(),
            begin_s,
            end_s,
            impact,
        };
        let both = [told("LOCK TABLE a", actions[0], lock), told("VACUUM", actions[1], Impact::NotSeen)];
        assert_eq!(
            with_ordinary_spaces(&in_words(&both)),
            "LOCK TABLE a (10.0 to 15.0 s): 0 of 301 per second, normal 1.0 s after its end; VACUUM (20.0 to 20.2 s): \
             no effect seen."
        );
    }

    #[test]
    fn a_load_that_does_not_recover_is_said_not_to() {
        let seconds = seconds(&rates(&[(10..30, 100.0)]));
        let impact = impact(&seconds, &[(10.0, 12.0)], (10.0, 12.0), f64::INFINITY);
        assert_eq!(impact, Impact::Throughput { during_tps: 100.0, normal_tps: 301.0, back_s: None });
    }

    #[test]
    fn longer_response_times_at_the_same_rate_are_an_effect() {
        let mut seconds = seconds(&rates(&[]));
        seconds[10..12].iter_mut().for_each(|second| second.response_us = Some(9_000.0));
        let impact = impact(&seconds, &[(10.0, 12.0)], (10.0, 12.0), f64::INFINITY);
        assert_eq!(impact, Impact::Response { during_us: 9_000.0, normal_us: 2_000.0, back_s: Some(0.0) });
        let expected = "mean response 9.00 ms instead of 2.00 ms, normal right after its end";
        assert_eq!(with_ordinary_spaces(&effect(&impact)), expected);
    }

    #[test]
    fn of_a_short_run_nothing_is_said() {
        let seconds = seconds(&[300.0, 0.0, 300.0]);
        assert_eq!(impact(&seconds, &[(1.0, 2.0)], (1.0, 2.0), f64::INFINITY), Impact::Unknown);
    }
}
