//! A worker's statistics about its own loop: late wake-ups of a driver with known lateness, and resource use in the
//! measured window only.

use pgmeter_engine::{Limit, Plan};
use stats::WorkerHealth;
use testkit::fake::FakeServer;

use super::support::{Ran, assert_close, ms, plan, run, run_until, seconds, us};

fn paced(rate_per_s: f64) -> Plan {
    Plan { clients: 20, rate_per_s: Some(rate_per_s), ..plan("SELECT 1;") }
}

fn health(ran: &Ran) -> &WorkerHealth {
    let [health] = &ran.outcome.health[..] else { panic!("one worker, not {:?}", ran.outcome.health) };
    health
}

#[test]
fn a_driver_that_wakes_late_shows_exactly_that_lateness() {
    let server = || FakeServer { wakes_late_by: us(70), ..FakeServer::default() };
    let ran = run(&paced(100.0), server());
    let lateness = &health(&ran).wakeup_lateness;
    assert_eq!((lateness.min_ns(), lateness.max_ns()), (Some(70_000), Some(70_000)));
    // The loop waits for nearly every arrival; some are due while it sleeps past another.
    assert_close("wake-ups that were late", lateness.count() as f64, ran.counts().scheduled as f64, 0.05);
    let total = &ran.summary().total;
    assert!(total.lag_quantile_ns(0.5).is_some_and(|ns| (69_900..=70_100).contains(&ns)));
    assert!(total.service.max_ns() <= Some(570_000), "what is late is the wake-up, not the server");
    // The same for a script's timer.
    let ran = run(&plan("\\sleep 1 ms\n"), server());
    let lateness = &health(&ran).wakeup_lateness;
    assert_eq!((lateness.min_ns(), lateness.max_ns()), (Some(70_000), Some(70_000)));
}

#[test]
fn a_driver_that_wakes_in_time_is_not_late() {
    let ran = run(&paced(1000.0), FakeServer::default());
    let lateness = &health(&ran).wakeup_lateness;
    assert_eq!(lateness.max_ns(), Some(0));
    assert_eq!(lateness.count(), ran.counts().scheduled);
}

#[test]
fn without_anything_to_wait_for_but_answers_nothing_is_late() {
    let ran = run(&plan("SELECT 1;"), FakeServer { wakes_late_by: us(70), ..FakeServer::default() });
    let health = health(&ran);
    assert!(health.wakeup_lateness.is_empty());
    assert_close("wake-ups", health.wakeups as f64, ran.counts().scheduled as f64, 0.01);
}

#[test]
fn the_window_begins_after_the_warm_up_and_ends_with_the_last_transaction() {
    let plan = Plan { warmup: seconds(3), limit: Limit::Duration(seconds(4)), ..paced(800.0) };
    let ran = run(&plan, FakeServer::default());
    let health = health(&ran);
    let share = |ns: u64| ns as f64 / health.span_ns as f64;
    assert_close("span", health.span_ns as f64, 4e9, 0.01);
    // The fake driver's thread runs for a quarter of the time and waits for a core for an eighth.
    assert_close("CPU", share(health.cpu_ns), 0.25, 1e-6);
    assert_close("run queue", share(health.run_queue_ns.expect("it tells")), 0.125, 1e-6);
    assert_close("busy", health.busy_share(), 0.375, 1e-6);
    assert_close("held back", share(health.held_back_ns), 0.0625, 1e-6);
    assert_eq!(health.sends_held_back, ran.counts().scheduled, "each send, of the window");
    assert_eq!(health.shortest_connect_ns, Some(50_000));
    assert_eq!((health.worker, health.clients), (0, 20));
    assert!(health.wakeup_lateness.count() <= ran.counts().scheduled);
}

#[test]
fn a_run_stopped_in_its_warm_up_has_no_window() {
    let plan = Plan { warmup: seconds(5), ..paced(100.0) };
    let ran = run_until(&plan, FakeServer { wakes_late_by: ms(1), ..FakeServer::default() }, seconds(2));
    let health = health(&ran);
    assert_eq!((health.span_ns, health.cpu_ns, health.wakeups), (0, 0, 0));
    assert!(health.wakeup_lateness.is_empty());
}
