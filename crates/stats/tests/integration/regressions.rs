//! Simulations of query sets on two servers: how often a query is wrongly found slower, and how often a slower one is found;
//! properties of the procedure of Benjamini and Hochberg. docs/statistics.md has the table, which `cargo test -p
//! pgmeter-stats --test integration regressions -- --nocapture` prints.

#![allow(clippy::print_stdout, reason = "the table of the manual")]

use pgmeter_stats::{
    FALSE_DISCOVERY_RATE, PairedQuery, RegressionVerdict, SplitMix64, benjamini_hochberg, regressions,
    sequences_usual,
};
use proptest::prelude::*;
use testkit::extent::choose;

const QUERIES: usize = 22;
const LIMIT: f64 = 0.03;

/// Fewer without optimisation, so that the tests do not take minutes.
fn simulations() -> usize {
    if cfg!(debug_assertions) { choose(60, 400) } else { 4000 }
}

/// Disturbances of executions.
#[derive(Clone, Copy)]
struct Machine {
    name: &'static str,
    /// Of each execution, as logarithm.
    noise: f64,
    /// How often an execution takes 50 % longer.
    slow: f64,
    /// Of all queries in a sequence together: positive dependence.
    common: f64,
}

const MACHINES: [Machine; 4] = [
    Machine { name: "noise 3 %", noise: 0.03, slow: 0.0, common: 0.0 },
    Machine { name: "noise 10 %", noise: 0.1, slow: 0.0, common: 0.0 },
    Machine { name: "noise 3 %, one of 20 slow", noise: 0.03, slow: 0.05, common: 0.0 },
    Machine { name: "noise 3 %, 3 % for all queries", noise: 0.03, slow: 0.0, common: 0.03 },
];

#[derive(Debug, Default)]
struct Counted {
    /// Mean share of false verdicts among "slower", and among "not slower".
    false_slower: f64,
    false_not_slower: f64,
    /// Share of sets with at least one false "slower".
    any_false: f64,
    /// Share of the slower queries that are found, and of the others that are not slower.
    found: f64,
    cleared: f64,
}

/// `slower` of the queries are slower by `gain`; the others take `others` times as long on B.
fn simulate(machine: Machine, slower: usize, gain: f64, others: f64) -> Counted {
    let mut random = SplitMix64::new(11);
    let mut counted = Counted::default();
    let sequences = sequences_usual(QUERIES);
    for _ in 0..simulations() {
        let common: Vec<f64> = (0..sequences).map(|_| machine.common * random.normal()).collect();
        let mut execution =
            || machine.noise * random.normal() + if random.chance(machine.slow) { 0.4 } else { 0.0 };
        let mut sequence = |shift: f64| (execution() + execution() - execution() - execution()) / 2.0 + shift;
        let set: Vec<PairedQuery> = (0..QUERIES)
            .map(|query| {
                let shift = if query < slower { gain.ln_1p() } else { others.ln() };
                let ln_ratios = common.iter().map(|common| sequence(shift + common)).collect();
                PairedQuery { ln_ratios, ..PairedQuery::default() }
            })
            .collect();
        let verdicts = regressions(&set, LIMIT);
        let count = |range: std::ops::Range<usize>, verdict: RegressionVerdict| {
            verdicts[range].iter().filter(|it| it.verdict == verdict).count() as f64
        };
        let (all, right) = (0..QUERIES, slower..QUERIES);
        let false_slower = count(right.clone(), RegressionVerdict::Slower);
        let false_not = count(0..slower, RegressionVerdict::NotSlower);
        counted.false_slower += false_slower / count(all.clone(), RegressionVerdict::Slower).max(1.0);
        counted.false_not_slower += false_not / count(all, RegressionVerdict::NotSlower).max(1.0);
        counted.any_false += f64::from(u8::from(false_slower > 0.0));
        counted.found += count(0..slower, RegressionVerdict::Slower) / slower.max(1) as f64;
        counted.cleared += count(right, RegressionVerdict::NotSlower) / (QUERIES - slower) as f64;
    }
    let mean = |sum: f64| sum / simulations() as f64;
    Counted {
        false_slower: mean(counted.false_slower),
        false_not_slower: mean(counted.false_not_slower),
        any_false: mean(counted.any_false),
        found: mean(counted.found),
        cleared: mean(counted.cleared),
    }
}

/// Of a binomial share in all simulations: outside of this in fewer than one case in 1,000.
fn margin(share: f64) -> f64 {
    3.1 * (share * (1.0 - share) / simulations() as f64).sqrt()
}

#[test]
fn false_alarms_of_a_set_are_within_the_rate_and_slower_queries_are_found() {
    println!(
        "| machine | slower queries | false among slower | sets with a false alarm | found | not slower |"
    );
    println!("|---|---|---|---|---|---|");
    let most = FALSE_DISCOVERY_RATE + margin(FALSE_DISCOVERY_RATE);
    for machine in MACHINES {
        // The hardest case for false alarms: all other queries are slower by the limit exactly.
        for (slower, gain, others) in
            [(0, 0.0, 1.0 + LIMIT), (4, 0.15, 1.0 + LIMIT), (0, 0.0, 1.0), (2, 0.15, 1.0), (2, 0.3, 1.0)]
        {
            let counted = simulate(machine, slower, gain, others);
            let Counted { false_slower, any_false, found, cleared, .. } = counted;
            let found = if slower > 0 { format!("{:.0} %", 100.0 * found) } else { "—".to_owned() };
            let (slower_by, others_by) = (100.0 * gain, 100.0 * (others - 1.0));
            println!(
                "| {} | {slower} by {slower_by:.0} %, the others by {others_by:.0} % | {:.1} % | {:.1} % | {found} | \
                 {:.0} % |",
                machine.name,
                100.0 * false_slower,
                100.0 * any_false,
                100.0 * cleared
            );
            assert!(false_slower <= most, "{} {slower}: {counted:?}", machine.name);
            assert!(counted.false_not_slower <= most, "{} {slower}: {counted:?}", machine.name);
        }
    }
    let clear = simulate(MACHINES[0], 2, 0.3, 1.0);
    assert!(clear.found > 0.95 && clear.cleared > 0.5, "{clear:?}");
}

#[test]
fn without_the_procedure_a_set_would_have_false_alarms_too_often() {
    // The simulation can fail: each query alone at the same rate alarms in most sets.
    let mut random = SplitMix64::new(5);
    let mut alarms = 0;
    for _ in 0..simulations() {
        let set: Vec<PairedQuery> = (0..QUERIES)
            .map(|_| {
                let ln_ratios = (0..12).map(|_| LIMIT.ln_1p() + 0.03 * random.normal()).collect();
                PairedQuery { ln_ratios, ..PairedQuery::default() }
            })
            .collect();
        alarms += usize::from(regressions(&set, LIMIT).iter().any(|it| it.p_slower <= FALSE_DISCOVERY_RATE));
    }
    assert!(alarms * 2 > simulations(), "{alarms}");
}

proptest! {
    #[test]
    fn rejections_are_the_smallest_probabilities_and_grow_with_the_rate(
        p in prop::collection::vec(0.0..=1.0f64, 0..40), rate in 0.0..1.0f64, more in 0.0..1.0f64,
    ) {
        let rejected = benjamini_hochberg(&p, rate);
        prop_assert_eq!(rejected.len(), p.len());
        let count = rejected.iter().filter(|it| **it).count();
        for (p, is_rejected) in p.iter().zip(&rejected) {
            // By the definition: rejected if at most its share of the number of rejections.
            prop_assert!(!is_rejected || *p <= rate * count as f64 / rejected.len() as f64);
            // As a correction for all tests rejects, so does this.
            prop_assert!(*is_rejected || *p > rate / rejected.len() as f64);
        }
        let highest = p.iter().zip(&rejected).filter(|(_, it)| **it).map(|(p, _)| *p).fold(0.0, f64::max);
        prop_assert!(p.iter().zip(&rejected).all(|(p, it)| *it || *p > highest || count == 0));
        let larger = benjamini_hochberg(&p, rate.max(more));
        prop_assert!(rejected.iter().zip(&larger).all(|(less, more)| !less || *more));
    }

    #[test]
    fn the_order_of_queries_does_not_matter(p in prop::collection::vec(0.0..=0.2f64, 1..30)) {
        let mut reversed = p.clone();
        reversed.reverse();
        let mut rejected = benjamini_hochberg(&reversed, 0.05);
        rejected.reverse();
        prop_assert_eq!(benjamini_hochberg(&p, 0.05), rejected);
    }
}
