//! The trials of a search as loads: those at almost equal rates together, with the figures of all their transactions.
//! `record` puts the loads into the record; `search` decides on single trials.

use results::{LoadFigures, LoadWait, NearestLimit, OverCount, SearchGoal, SearchLoad};
use stats::Distribution;

use super::loads::{MeasuredLoad, verdict};

/// Trials whose rates differ by no more than this share are one load: less than the interval of an answer is wide.
const SAME_LOAD: f64 = 0.02;

/// The loads, from the lowest rate to the highest. Detailed trials have what it takes to continue the search.
pub(super) fn loads(trials: &[MeasuredLoad], goals: &[SearchGoal], are_detailed: bool) -> Vec<SearchLoad> {
    let rate = |measured: &MeasuredLoad| measured.trial.figures.rate_tps;
    let mut sorted: Vec<&MeasuredLoad> = trials.iter().collect();
    sorted.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    let mut groups: Vec<Vec<&MeasuredLoad>> = Vec::new();
    for measured in sorted {
        match groups.last_mut() {
            Some(group) if rate(measured) <= rate(group[0]) * (1.0 + SAME_LOAD) => group.push(measured),
            _ => groups.push(vec![measured]),
        }
    }
    groups.into_iter().map(|group| load(group, goals, are_detailed)).collect()
}

fn load(mut group: Vec<&MeasuredLoad>, goals: &[SearchGoal], are_detailed: bool) -> SearchLoad {
    let trial =
        |measured: &&MeasuredLoad| if are_detailed { measured.detailed() } else { measured.trial.clone() };
    group.sort_by(|a, b| a.trial.start_s.total_cmp(&b.trial.start_s));
    let number = group.len() as f64;
    let mut response = Distribution::new();
    let mut counts = vec![OverCount::default(); goals.len()];
    let (mut ln_rates, mut seconds, mut succeeded) = (0.0, 0.0, 0.0);
    for measured in &group {
        let figures = &measured.trial.figures;
        response.merge(&measured.response);
        for (sum, count) in counts.iter_mut().zip(&figures.goals) {
            *sum = OverCount { over: sum.over + count.over, of: sum.of + count.of };
        }
        ln_rates += figures.rate_tps.ln();
        seconds += measured.trial.duration_s;
        succeeded += figures.achieved_tps * measured.trial.duration_s;
    }
    let quantile_us = |q| response.quantile_ns(q).map(|ns| ns as f64 / 1e3);
    SearchLoad {
        figures: LoadFigures {
            rate_tps: (ln_rates / number).exp(),
            verdict: verdict(&counts, goals),
            goals: counts,
            achieved_tps: if seconds > 0.0 { succeeded / seconds } else { 0.0 },
            p50_us: quantile_us(0.5),
            p99_us: quantile_us(0.99),
            p999_us: quantile_us(0.999),
            nearest: nearest(&group),
        },
        waits: waits(&group),
        trials: group.iter().map(trial).collect(),
    }
}

/// The resource that was nearest to its limit in most trials, with its mean use in these.
fn nearest(group: &[&MeasuredLoad]) -> Option<NearestLimit> {
    let all = || group.iter().filter_map(|measured| measured.trial.figures.nearest);
    let of = |one: &NearestLimit| {
        let same: Vec<f64> = all().filter(|it| it.resource == one.resource).map(|it| it.share).collect();
        (same.len(), same.iter().sum::<f64>() / same.len() as f64)
    };
    let (resource, (_, share)) =
        all().map(|one| (one.resource, of(&one))).max_by_key(|(_, (times, _))| *times)?;
    Some(NearestLimit { resource, share })
}

/// The mean shares of the wait events over the trials that were observed.
fn waits(group: &[&MeasuredLoad]) -> Vec<LoadWait> {
    let observed = group.iter().filter(|measured| !measured.waits.is_empty()).count().max(1) as f64;
    let mut sums: Vec<LoadWait> = Vec::new();
    for wait in group.iter().flat_map(|measured| &measured.waits) {
        let same = |it: &&mut LoadWait| it.event == wait.event && it.event_type == wait.event_type;
        match sums.iter_mut().find(same) {
            Some(sum) => sum.share += wait.share,
            None => sums.push(wait.clone()),
        }
    }
    sums.iter_mut().for_each(|sum| sum.share /= observed);
    sums.sort_by(|a, b| b.share.total_cmp(&a.share));
    sums
}

#[cfg(test)]
mod tests {
    use results::{LimitedBy, LimitedResource, LoadVerdict, SearchTrial};

    use super::*;

    fn measured(rate_tps: f64, over: f64, ms: u64, waits: &[(&str, f64)]) -> MeasuredLoad {
        let mut response = Distribution::new();
        response.record_ns(ms * 1_000_000);
        let figures = LoadFigures {
            rate_tps,
            verdict: LoadVerdict::Kept,
            goals: vec![OverCount { over, of: 100.0 }],
            achieved_tps: rate_tps,
            p50_us: None,
            p99_us: None,
            p999_us: None,
            nearest: Some(NearestLimit { resource: LimitedResource::ServerCpu, share: rate_tps / 2000.0 }),
        };
        let trial = SearchTrial {
            figures,
            start_s: rate_tps,
            duration_s: 2.0,
            is_ended_early: false,
            clients: 8,
            limited_by: LimitedBy::Server,
            details: None,
        };
        let wait = |(event, share): &(&str, f64)| LoadWait {
            event_type: "IO".to_owned(),
            event: (*event).to_owned(),
            share: *share,
        };
        MeasuredLoad { trial, response, waits: waits.iter().map(wait).collect(), events: None, late: None }
    }

    #[test]
    fn trials_at_almost_equal_rates_are_one_load_with_the_sums_of_their_transactions() {
        let goals = [SearchGoal { goal: "p99 < 20ms".parse().unwrap(), allowed_share: 0.01 }];
        let trials = [
            measured(1010.0, 3.0, 30, &[("WalSync", 0.2), ("DataFileRead", 0.6)]),
            measured(500.0, 0.0, 1, &[]),
            measured(1000.0, 1.0, 10, &[("WalSync", 0.4)]),
        ];
        assert!(loads(&trials, &goals, true)[1].trials[0].details.is_some());
        let loads = loads(&trials, &goals, false);
        let [low, high] = loads.as_slice() else { panic!("{loads:?}") };
        assert_eq!((low.figures.verdict, low.trials.len()), (LoadVerdict::Kept, 1));
        assert_eq!(high.figures.goals, [OverCount { over: 4.0, of: 200.0 }]);
        assert_eq!((high.figures.verdict, high.trials.len()), (LoadVerdict::Broken, 2));
        assert!((1000.0..1010.0).contains(&high.figures.rate_tps) && high.figures.achieved_tps == 1005.0);
        assert!(high.figures.p999_us.unwrap() > 25_000.0 && high.figures.p50_us.unwrap() < 11_000.0);
        assert!((high.figures.nearest.unwrap().share - 0.5025).abs() < 1e-9);
        let shares: Vec<_> = high.waits.iter().map(|wait| (wait.event.as_str(), wait.share)).collect();
        assert_eq!(shares[0].0, "WalSync");
        assert!((shares[0].1 - 0.3).abs() < 1e-9 && (shares[1].1 - 0.3).abs() < 1e-9);
    }
}
