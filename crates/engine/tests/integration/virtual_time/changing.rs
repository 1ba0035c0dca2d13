//! Loads that change, in virtual time: the scheduled beside the achieved load for each curve and law of gaps, mixes that
//! change, and clients that begin and end with stages. Integrals of rates are computed here.

use std::collections::BTreeSet;
use std::time::Duration;

use pgmeter_engine::{EngineError, Limit, LoadChanges, MixChange, Plan};
use stats::rate::{GapLaw, LoadStage, RateCurve, RateNotation};
use testkit::extent::is_all;
use testkit::fake::{FakeServer, Service};

use super::support::{Ran, mix, ms, plan, run, run_until, seconds, slow, try_run, us};

fn curve(text: &str) -> RateCurve {
    match text.parse() {
        Ok(RateNotation::Curve(curve)) => curve,
        other => panic!("{text}: {other:?}"),
    }
}

fn changing(rate: Option<RateCurve>, law: GapLaw) -> Plan {
    let changes = LoadChanges { rate, law, ..LoadChanges::default() };
    Plan { clients: 40, limit: Limit::Duration(seconds(20)), changes, ..plan("SELECT 1;") }
}

/// Transactions per second of measuring: those that were scheduled in it, and those that were achieved.
fn by_second(plan: &Plan, ran: &Ran) -> (Vec<f64>, Vec<f64>) {
    let origin = ran.testimony.intro.as_ref().expect("a tracer").start + plan.warmup;
    let mut scheduled = vec![0.0; 20];
    for seen in ran.seen.iter().filter(|seen| seen.sample.scheduled >= origin) {
        let second = seen.sample.scheduled.since(origin).as_secs();
        scheduled[usize::try_from(second).expect("small")] += 1.0;
    }
    let measured = ran.seconds.iter().filter(|second| !second.warmup);
    let mut achieved: Vec<f64> =
        measured.map(|second| second.interval.total().counts.succeeded as f64).collect();
    let tail: f64 = achieved.split_off(20).iter().sum();
    achieved[19] += tail;
    (scheduled, achieved)
}

#[test]
fn what_is_scheduled_follows_each_curve_and_law_and_is_achieved() {
    type Cumulative = fn(f64) -> f64;
    let curves: [(&str, Cumulative); 3] = [
        ("ramp(100, 1000, 20s)", |t| 100.0 * t + 22.5 * t * t),
        ("steps(200, 1000, 50, 600; 5s)", |t| {
            let step = |from: f64, rate: f64| rate * (t - from).clamp(0.0, 5.0);
            step(0.0, 200.0) + step(5.0, 1000.0) + step(10.0, 50.0) + step(15.0, 600.0)
        }),
        ("sine(500, 400, 10s)", |t| {
            let angle = std::f64::consts::TAU * t / 10.0;
            500.0 * t + 4000.0 / std::f64::consts::TAU * (1.0 - angle.cos())
        }),
    ];
    // With the index of dispersion of their counts; that of fixed gaps is nearly 0.
    let laws = [("poisson", 1.0), ("fixed", 0.0), ("gamma(0.5)", 2.0), ("gamma(4)", 0.25)];
    for (curve_number, (text, integral)) in curves.into_iter().enumerate() {
        for (law_number, (law, dispersion)) in laws.into_iter().enumerate() {
            for (at, warmup) in [ms(0), ms(2_000)].into_iter().enumerate() {
                // Each curve and each law is with and without a warm-up.
                if (curve_number + law_number + at) % 2 == 1 && !is_all() {
                    continue;
                }
                let plan = Plan { warmup, ..changing(Some(curve(text)), law.parse().expect("a law")) };
                let ran = run(&plan, FakeServer::default());
                let (scheduled, achieved) = by_second(&plan, &ran);
                let mut chi_square = 0.0;
                for (second, found) in (0_u32..).zip(&scheduled) {
                    let from = f64::from(second);
                    let expected = integral(from + 1.0) - integral(from);
                    let variance = f64::max(dispersion * expected, 0.5);
                    chi_square += (found - expected).powi(2) / variance;
                }
                // With 20 degrees of freedom, 45.3 is exceeded with a probability of 0.1 %.
                assert!(chi_square < 45.3, "{text}, {law}: chi-square {chi_square}, {scheduled:?}");
                let all = integral(20.0);
                let deviation = (ran.counts().scheduled as f64 - all).abs();
                assert!(
                    deviation < 4.0 * (dispersion * all).sqrt() + 2.0,
                    "{text}, {law}: {deviation} of {all}"
                );
                assert_eq!(ran.counts().succeeded, ran.counts().scheduled, "{text}, {law}");
                for (second, (scheduled, achieved)) in scheduled.iter().zip(achieved).enumerate() {
                    assert!((scheduled - achieved).abs() <= 12.0, "{text}, {law}: second {second}");
                }
            }
        }
    }
}

#[test]
fn phases_without_arrivals_alternate_with_bursts() {
    let law = GapLaw::OnOff { on_s: 0.2, off_s: 0.8 };
    let plan = Plan { rate_per_s: Some(300.0), ..changing(None, law) };
    let ran = run(&plan, FakeServer::default());
    let start = ran.testimony.intro.as_ref().expect("a tracer").start;
    for seen in &ran.seen {
        let within = seen.sample.scheduled.since(start).as_secs_f64().fract();
        assert!(within < 0.2, "{within} s into a second");
    }
    let deviation = (ran.counts().scheduled as f64 - 6000.0) / 6000_f64.sqrt();
    assert!(deviation.abs() < 4.0, "{:?}", ran.counts());
}

#[test]
fn a_constant_rate_has_the_arrivals_that_it_always_had() {
    let of = |changes| {
        let plan = Plan { clients: 8, rate_per_s: Some(300.0), changes, ..plan("SELECT 1;") };
        let ran = run(&plan, FakeServer::default());
        ran.seen.iter().map(|seen| seen.sample.scheduled).collect::<Vec<_>>()
    };
    let plain = of(LoadChanges::default());
    let plan = Plan { clients: 8, rate_per_s: Some(300.0), ..plan("SELECT 1;") };
    assert_eq!(plain.len() as u64, super::arrivals::count(&plan, ms(0), seconds(10)));
    // The inversion of a curve that is constant finds the same times, but for rounding.
    let inverted = of(LoadChanges { rate: Some(RateCurve::constant(300.0)), ..LoadChanges::default() });
    assert_eq!(plain.len(), inverted.len());
    for (one, other) in plain.iter().zip(&inverted) {
        assert!(one.as_nanos().abs_diff(other.as_nanos()) <= 2, "{one:?} and {other:?}");
    }
}

#[test]
fn a_server_that_is_too_slow_delays_what_is_scheduled_and_does_not_reduce_it() {
    // Each transaction takes 10 ms: 4 clients achieve 400 per second.
    let server = FakeServer { service: Service::Fixed(ms(10)), ..FakeServer::default() };
    let plan = Plan { clients: 4, ..changing(Some(curve("ramp(100, 1000, 20s)")), GapLaw::Fixed) };
    let ran = run(&plan, server);
    assert_eq!(ran.counts().scheduled, 11_000);
    let (_, achieved) = by_second(&plan, &ran);
    assert!(achieved[2] < 260.0 && (380.0..=401.0).contains(&achieved[15]), "{achieved:?}");
    assert!(ran.summary().total.response.max_ns().expect("some") > 3_000_000_000);
}

#[test]
fn a_rate_that_falls_to_nothing_ends_the_clients_and_not_the_measured_time() {
    let plan = changing(Some(curve("steps(200, 0; 5s)")), GapLaw::Poisson);
    let ran = run(&plan, FakeServer::default());
    assert!((900..1100).contains(&ran.counts().scheduled), "{:?}", ran.counts());
    assert!(ran.seen.iter().all(|seen| seen.sample.finished <= ran.seen[0].sample.scheduled + seconds(6)));
    let again = changing(Some(curve("steps(200, 0, 200; 5s)")), GapLaw::Poisson);
    let ran = run(&again, FakeServer::default());
    assert!((2700..3300).contains(&ran.counts().scheduled), "{:?}", ran.counts());
}

const SCRIPTS: [(&str, u32); 3] = [("SELECT 1;", 1), ("SELECT 2;", 1), ("SELECT 3;", 1)];

fn mixes() -> Vec<MixChange> {
    let mix = |from, weights: [u32; 3]| MixChange { from: seconds(from), weights: weights.to_vec() };
    vec![mix(0, [1, 0, 0]), mix(5, [1, 3, 0]), mix(10, [0, 0, 7])]
}

/// Scripts by the stage in which their transactions were scheduled.
fn scripts_of_stages(plan: &Plan, ran: &Ran) -> [[f64; 3]; 3] {
    let origin = ran.testimony.intro.as_ref().expect("a tracer").start + plan.warmup;
    let mut found = [[0.0; 3]; 3];
    for seen in ran.seen.iter().filter(|seen| seen.sample.scheduled >= origin) {
        let second = usize::try_from(seen.sample.scheduled.since(origin).as_secs()).expect("small");
        found[(second / 5).min(2)][seen.sample.script] += 1.0;
    }
    found
}

#[test]
fn a_mix_changes_with_the_stages_in_both_loops() {
    for rate_per_s in [None, Some(400.0)] {
        let changes = LoadChanges { mixes: mixes(), ..LoadChanges::default() };
        let limit = Limit::Duration(seconds(15));
        let plan = Plan { clients: 5, rate_per_s, warmup: ms(1500), limit, changes, ..mix(&SCRIPTS) };
        let ran = run(&plan, FakeServer { service: Service::Fixed(ms(3)), ..FakeServer::default() });
        let [first, second, third] = scripts_of_stages(&plan, &ran);
        assert!(first[0] > 1000.0 && first[1..] == [0.0, 0.0], "{first:?}");
        assert!(third[2] > 1000.0 && third[..2] == [0.0, 0.0], "{third:?}");
        let all = second[0] + second[1];
        let deviations = (second[0] - 0.25 * all) / (all * 0.25 * 0.75).sqrt();
        assert!(second[2] == 0.0 && all > 1000.0 && deviations.abs() < 4.0, "{second:?}");
    }
}

fn staged(clients: usize, stages: &str) -> Plan {
    let stages = LoadStage::list(stages).unwrap_or_else(|why| panic!("{why}"));
    let limit = Limit::Duration(LoadStage::total(&stages));
    let changes = LoadChanges { clients: stages, ..LoadChanges::default() };
    Plan { clients, limit, changes, ..plan("SELECT 1;") }
}

/// Number of clients that ran a transaction in each second of measuring.
fn working(plan: &Plan, ran: &Ran, until_s: usize) -> Vec<usize> {
    let origin = ran.testimony.intro.as_ref().expect("a tracer").start + plan.warmup;
    let mut clients = vec![BTreeSet::new(); until_s];
    for seen in ran.seen.iter().filter(|seen| seen.sample.started >= origin) {
        let second = usize::try_from(seen.sample.started.since(origin).as_secs()).expect("small");
        clients[second.min(until_s - 1)].insert(seen.client);
    }
    clients.iter().map(BTreeSet::len).collect()
}

#[test]
fn clients_work_in_the_stages_that_have_room_for_them() {
    for warmup in [ms(0), ms(700)] {
        let plan = Plan { warmup, ..staged(9, "3s@2c, 3s@8c, 4s@1c") };
        let ran = run(&plan, slow());
        assert_eq!(working(&plan, &ran, 10), [2, 2, 2, 8, 8, 8, 1, 1, 1, 1]);
        // 2 ms each.
        let expected = 500 * (3 * 2 + 3 * 8 + 4);
        assert!(ran.counts().succeeded.abs_diff(expected) <= 10, "{:?}", ran.counts());
        assert_eq!(ran.counts().scheduled, ran.counts().succeeded);
        assert_eq!(ran.summary().duration, seconds(10));
    }
}

#[test]
fn clients_of_a_ramp_begin_one_after_the_other() {
    let plan = staged(12, "10s@2..12c, 5s@12..2c");
    let ran = run(&plan, FakeServer { service: Service::Fixed(ms(3)), ..FakeServer::default() });
    // At the end of second k, k + 3 clients have begun.
    assert_eq!(working(&plan, &ran, 15), [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 12, 10, 8, 6, 4]);
}

#[test]
fn clients_that_rest_are_interrupted_with_the_others() {
    let plan = staged(8, "5s@2c, 5s@8c");
    let ran = run_until(&plan, FakeServer::default(), seconds(3));
    assert!(ran.summary().duration < seconds(4), "{:?}", ran.summary().duration);
    assert_eq!(ran.aborted(), []);
    let scripts = Plan { limit: Limit::Duration(seconds(10)), ..staged(8, "5s@2c, 5s@8c") };
    let computing = Plan { changes: scripts.changes.clone(), clients: 8, ..plan_of_meta() };
    let ran = run(&computing, FakeServer { tick: us(10), ..FakeServer::default() });
    assert!(ran.counts().succeeded > 1_000, "{:?}", ran.counts());
}

fn plan_of_meta() -> Plan {
    plan("\\set a 1\n")
}

#[test]
fn clients_think_before_each_transaction_and_that_is_no_part_of_its_latency() {
    let thinking = |text: &str, plan: Plan| Plan { think_time: Some(text.parse().expect("a law")), ..plan };
    // 99.5 ms of thinking and 0.5 ms of work: ten per second and client.
    let ran = run(&thinking("99500us", Plan { clients: 10, ..plan("SELECT 1;") }), FakeServer::default());
    assert!(ran.counts().succeeded.abs_diff(1_000) <= 10, "{:?}", ran.counts());
    assert!(ran.summary().total.response.max_ns().expect("some") < 1_000_000);
    assert!(ran.summary().duration < ms(10_100), "{:?}", ran.summary().duration);
    let ran =
        run(&thinking("exp(99500us)", Plan { clients: 50, ..plan("SELECT 1;") }), FakeServer::default());
    let deviation = (ran.counts().succeeded as f64 - 5_000.0) / 5_000_f64.sqrt();
    assert!(deviation.abs() < 4.0, "{:?}", ran.counts());
    // Nobody waits for the end of a thought after the last transaction.
    let limit = Limit::TransactionsPerClient(5);
    let ran = run(&thinking("1s", Plan { clients: 3, limit, ..plan("\\set a 1\n") }), FakeServer::default());
    assert_eq!(ran.counts().succeeded, 15);
    assert!((5_000..5_100).contains(&ran.summary().duration.as_millis()), "{:?}", ran.summary().duration);
    let open = Plan { rate_per_s: Some(5.0), ..plan("SELECT 1;") };
    assert_eq!(refused(&thinking("1s", open)), "a think time requires a closed loop, without a rate");
}

fn refused(plan: &Plan) -> String {
    match try_run(plan, FakeServer::default(), Duration::MAX) {
        Err(EngineError::Plan(why)) => why,
        other => panic!("{:?}", other.map(|ran| ran.counts())),
    }
}

#[test]
fn impossible_changes_are_refused() {
    let of = |changes| Plan { clients: 8, changes, ..mix(&SCRIPTS) };
    let steady = LoadChanges::default;
    let ramp = || Some(curve("ramp(1, 2, 1s)"));
    let endless =
        Plan { limit: Limit::TransactionsPerClient(1), ..of(LoadChanges { rate: ramp(), ..steady() }) };
    assert_eq!(refused(&endless), "a load that changes requires a run with a duration");
    let gaps = of(LoadChanges { law: GapLaw::Fixed, ..steady() });
    assert_eq!(refused(&gaps), "gaps between arrivals require a rate");
    let clients = staged(2, "10s@2c").changes.clients;
    let both = of(LoadChanges { rate: ramp(), clients, ..steady() });
    assert_eq!(refused(&both), "a number of clients that changes requires a closed loop, without a rate");
    let short = vec![MixChange { from: seconds(0), weights: vec![1, 2] }];
    let empty = vec![MixChange { from: seconds(0), weights: vec![0, 0, 0] }];
    for mixes in [short, empty] {
        let why = refused(&of(LoadChanges { mixes, ..steady() }));
        assert_eq!(why, "a mix must have a weight for each script, and be in the order of time");
    }
}
