//! The open loop's arrivals, calculated independently of the engine. In pgbench's compatibility the order of random
//! numbers follows the reference (section 20), and the gaps are compared with its vectors (section 21); in pgmeter's
//! both follow docs/scripts.md. The tests compare the engine's counts with these.

use std::time::Duration;

use pgmeter_engine::{Compatibility, Plan};
use script::Random;

/// Times from the start of the run at which the plan's only worker has transactions scheduled before `until`.
pub fn scheduled(plan: &Plan, until: Duration) -> Vec<Duration> {
    let rate_per_s = plan.rate_per_s.expect("an open loop has a rate");
    let mut next: Box<dyn FnMut() -> Duration> = match plan.compatibility {
        Compatibility::Pgbench => in_microseconds(plan, rate_per_s),
        Compatibility::Pgmeter => in_nanoseconds(plan.seed, rate_per_s),
    };
    std::iter::from_fn(|| Some(next()).filter(|at| *at < until)).collect()
}

fn in_microseconds(plan: &Plan, rate_per_s: f64) -> Box<dyn FnMut() -> Duration> {
    let mut base = Random::from_seed(plan.seed);
    for _ in 0..plan.clients {
        base.next_u64();
    }
    let _default_seed = base.next_u64();
    let _chooser = base.next_u64();
    let mut throttle = Random::from_seed(base.next_u64());
    let mut at = Duration::ZERO;
    Box::new(move || {
        at += Duration::from_micros(throttle.poisson_delay_us(1e6 / rate_per_s));
        at
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative, and of seconds")]
fn in_nanoseconds(seed: u64, rate_per_s: f64) -> Box<dyn FnMut() -> Duration> {
    let mut gaps = Random::from_seed(seed ^ u64::from_be_bytes(*b"\0\0\0\0gaps"));
    let mut at_ns = 0.0;
    Box::new(move || {
        at_ns -= (1.0 - gaps.next_f64()).ln() * (1e9 / rate_per_s);
        Duration::from_nanos(at_ns as u64)
    })
}

/// How many are scheduled from `from` to before `until`.
pub fn count(plan: &Plan, from: Duration, until: Duration) -> u64 {
    scheduled(plan, until).iter().filter(|at| **at >= from).count() as u64
}

#[test]
fn the_gaps_of_pgbench_are_those_of_the_reference() {
    let plan = Plan {
        rate_per_s: Some(1000.0),
        clients: 2,
        compatibility: Compatibility::Pgbench,
        ..super::support::plan("SELECT 1;")
    };
    let moments = scheduled(&plan, Duration::from_micros(5400));
    let mut last = Duration::ZERO;
    let mut gap = |at: &Duration| (*at - std::mem::replace(&mut last, *at)).as_micros();
    let gaps: Vec<_> = moments.iter().map(&mut gap).collect();
    assert_eq!(gaps, [112, 448, 318, 1242, 1398, 1832]);
}
