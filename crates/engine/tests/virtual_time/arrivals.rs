//! The open loop's arrivals, computed apart from the engine: the order of the draws from the reference
//! (section 20), the gaps from `script::Random`. The tests hold the engine's counts against these, and
//! these against the reference's vectors (section 21).

use std::time::Duration;

use pgmeter_engine::Plan;
use script::Random;

/// Moments, from the start of the run, at which the plan's only worker has transactions scheduled before
/// `until`.
pub fn scheduled(plan: &Plan, until: Duration) -> Vec<Duration> {
    let mut base = Random::from_seed(plan.seed);
    for _ in 0..plan.clients {
        base.next_u64();
    }
    let _default_seed = base.next_u64();
    let _chooser = base.next_u64();
    let mut throttle = Random::from_seed(base.next_u64());
    let mean_gap_us = 1e6 / plan.rate_per_s.expect("an open loop has a rate");
    let mut moments = Vec::new();
    let mut at = Duration::ZERO;
    loop {
        at += Duration::from_micros(throttle.poisson_delay_us(mean_gap_us));
        if at >= until {
            return moments;
        }
        moments.push(at);
    }
}

/// How many are scheduled from `from` to before `until`.
pub fn count(plan: &Plan, from: Duration, until: Duration) -> u64 {
    scheduled(plan, until).iter().filter(|at| **at >= from).count() as u64
}

#[test]
fn the_gaps_are_those_of_the_reference() {
    let plan = Plan { rate_per_s: Some(1000.0), clients: 2, ..super::support::plan("SELECT 1;") };
    let moments = scheduled(&plan, Duration::from_micros(5400));
    let mut last = Duration::ZERO;
    let mut gap = |at: &Duration| (*at - std::mem::replace(&mut last, *at)).as_micros();
    let gaps: Vec<_> = moments.iter().map(&mut gap).collect();
    assert_eq!(gaps, [112, 448, 318, 1242, 1398, 1832]);
}
