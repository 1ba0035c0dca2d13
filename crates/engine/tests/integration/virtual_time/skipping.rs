//! A latency limit: with a rate, transactions that are already later than the limit are skipped; without a rate
//! nothing is skipped, and late ones are only counted.

use std::collections::BTreeMap;

use pgmeter_engine::{Compatibility, End, Limit, Plan};
use stats::{Ending, Timestamp};
use testkit::fake::{FakeServer, Service, Stall};

use super::arrivals;
use super::onlooker::Seen;
use super::support::{Ran, at_ms, mix, ms, plan, run, run_until, seconds, us};

fn paced(clients: usize, rate_per_s: f64) -> Plan {
    Plan { clients, rate_per_s: Some(rate_per_s), latency_limit: Some(ms(100)), ..plan("SELECT 1;") }
}

fn stalling() -> FakeServer {
    FakeServer { stalls: vec![Stall { from: at_ms(3000), until: at_ms(5000) }], ..FakeServer::default() }
}

#[test]
fn what_would_be_too_late_is_skipped_and_the_next_is_taken_at_once() {
    let plan = paced(20, 500.0);
    let ran = run(&plan, stalling());
    let counts = ran.counts();
    assert_eq!(counts.scheduled, arrivals::count(&plan, ms(0), seconds(10)), "none is lost");
    assert_eq!(counts.unfinished, 0);
    // From shortly after the start of the stall, when the last client began to wait, to 100 ms before its end.
    let too_late = arrivals::count(&plan, ms(3000), ms(4900));
    assert!(counts.skipped.abs_diff(too_late - 20) <= 5, "{} skipped of {too_late}", counts.skipped);
    // The twenty running transactions.
    assert_eq!(counts.late, 20);
    for seen in ran.seen.iter().filter(|seen| seen.sample.ending != Ending::Skipped) {
        let lag = seen.sample.started.since(seen.sample.scheduled);
        assert!(lag <= ms(100), "started {lag:?} after its time");
    }
}

#[test]
fn a_skipped_transaction_is_shown_with_its_time_and_without_a_try() {
    let ran = run(&paced(20, 500.0), stalling());
    let skipped: Vec<_> = ran.seen.iter().filter(|seen| seen.sample.ending == Ending::Skipped).collect();
    assert_eq!(skipped.len() as u64, ran.counts().skipped);
    for seen in skipped {
        assert_eq!((seen.sample.tries, seen.sample.started), (0, seen.sample.finished));
        assert!(seen.sample.started.since(seen.sample.scheduled) > ms(100));
    }
}

#[test]
fn a_skipped_transaction_is_noted_for_the_second_in_which_it_was_due() {
    let ran = run(&paced(20, 500.0), stalling());
    let origin = ran.seconds[0].interval.start;
    let second_of = |due: Timestamp| due.since(origin).as_secs();
    let (mut found, mut expected) = (BTreeMap::new(), BTreeMap::new());
    for seen in ran.seen.iter().filter(|seen| seen.sample.ending == Ending::Skipped) {
        let (count, delay) = expected.entry(second_of(seen.sample.scheduled)).or_insert((0, 0));
        *count += 1;
        *delay += u128::from(seen.sample.finished.as_nanos() - seen.sample.scheduled.as_nanos());
    }
    for skips in ran.seconds.iter().flat_map(|second| &second.interval.due_skips) {
        let (count, delay) = found.entry(second_of(skips.due)).or_insert((0, 0));
        *count += skips.delays.count();
        *delay += skips.delays.moments().sum_ns;
    }
    assert_eq!(found, expected);
    // All were skipped when the stall ended, and half of them were due a second before.
    let noticed: Vec<_> = ran.seconds.iter().map(|second| second.interval.counts().skipped).collect();
    assert_eq!((noticed[3], noticed[4]), (0, ran.counts().skipped));
    assert!(found[&3].0 > 400 && found[&4].0 > 300, "{found:?}");
}

#[test]
fn skipped_transactions_count_towards_the_number_asked_for() {
    // One client at three times its maximum rate: it is always behind and skips.
    let limit = Limit::TransactionsPerClient(300);
    let server = FakeServer { service: Service::Fixed(ms(30)), ..FakeServer::default() };
    let ran = run(&Plan { limit, ..paced(1, 100.0) }, server);
    let counts = ran.counts();
    assert_eq!(counts.scheduled, 300);
    assert!(counts.skipped > 100, "{counts:?}");
    assert_eq!(counts.succeeded + counts.skipped, 300);
}

#[test]
fn a_client_that_skips_its_last_transactions_stops_at_the_number_asked_for() {
    let limit = Limit::TransactionsPerClient(50);
    let server = FakeServer { service: Service::Fixed(seconds(2)), ..FakeServer::default() };
    let ran = run(&Plan { limit, ..paced(1, 1000.0) }, server);
    // The first takes two seconds, in which all the others become too late.
    assert_eq!((ran.counts().succeeded, ran.counts().skipped), (1, 49));
}

#[test]
fn none_starts_later_than_the_limit_however_long_the_worker_takes() {
    // Each look at the clock takes half a millisecond, so clients are served late and timers fire late.
    let server = FakeServer { tick: us(500), ..stalling() };
    let plan = Plan { latency_limit: Some(ms(3)), ..paced(20, 500.0) };
    let ran = run(&plan, server);
    let delay = |seen: &Seen| seen.sample.started.since(seen.sample.scheduled);
    let (skipped, started): (Vec<_>, Vec<_>) =
        ran.seen.iter().partition(|seen| seen.sample.ending == Ending::Skipped);
    // The control: each that was due is either shown with a delay within the limit, or skipped with a longer one.
    let beyond = |seen: &&&Seen| delay(seen) > ms(3);
    assert_eq!(started.iter().filter(beyond).count(), 0, "started later than the limit");
    assert_eq!(skipped.iter().filter(beyond).count(), skipped.len());
    assert_eq!((started.len() as u64, skipped.len() as u64), (ran.counts().succeeded, ran.counts().skipped));
    assert!(started.len() > 1_000 && skipped.len() > 900, "{:?}", ran.counts());
}

#[test]
fn what_was_too_late_before_the_end_is_skipped_and_nothing_after_it() {
    let server = FakeServer {
        stalls: vec![Stall { from: at_ms(8000), until: at_ms(12_000) }],
        ..FakeServer::default()
    };
    let plan = paced(20, 500.0);
    let ran = run(&plan, server);
    assert_eq!(ran.counts().scheduled, arrivals::count(&plan, ms(0), seconds(10)));
    let too_late = arrivals::count(&plan, ms(8000), ms(9900));
    let skipped = ran.counts().skipped;
    assert!(skipped.abs_diff(too_late - 20) <= 5, "{skipped} skipped of {too_late}");
    let left = arrivals::count(&plan, ms(9900), seconds(10));
    assert!(ran.counts().unfinished.abs_diff(left) <= 5, "{:?}: {left} were not too late", ran.counts());
}

#[test]
fn without_a_rate_late_ones_are_counted_and_none_is_skipped() {
    let plan = Plan { clients: 20, latency_limit: Some(ms(100)), ..plan("SELECT 1;") };
    let ran = run(&plan, FakeServer { service: Service::Fixed(ms(5)), ..stalling() });
    assert_eq!((ran.counts().skipped, ran.counts().late), (0, 20));
}

/// The scripts in the order of selection: each client's first, then another for each client as it becomes free; a
/// skipped transaction selects no new script.
fn chosen(ran: &Ran, clients: usize) -> Vec<usize> {
    let of_client = |client| ran.seen.iter().filter(move |seen| seen.client == client);
    let started = |client| of_client(client).filter(|seen| seen.sample.ending != Ending::Skipped);
    let mut queues: Vec<_> =
        (0..clients).map(|client| started(client).map(|seen| seen.sample.script)).collect();
    let mut picks: Vec<usize> = queues.iter_mut().filter_map(Iterator::next).collect();
    for seen in ran.seen.iter().filter(|seen| seen.sample.ending != Ending::Skipped) {
        picks.extend(queues[seen.client].next());
    }
    picks
}

#[test]
fn a_long_backlog_is_skipped_in_rounds_and_the_run_can_be_stopped_meanwhile() {
    // After a hundred seconds of silence two million arrivals are too late. Each look at the clock takes a millisecond,
    // and the stop comes a second later.
    let server = FakeServer {
        tick: ms(1),
        stalls: vec![Stall { from: at_ms(1000), until: at_ms(101_000) }],
        ..FakeServer::default()
    };
    let plan = Plan { limit: Limit::Duration(seconds(1000)), ..paced(1, 20_000.0) };
    let ran = run_until(&plan, server, seconds(102));
    assert_eq!(ran.outcome.end, End::Interrupted);
    assert!(ran.summary().duration < seconds(103), "{:?}", ran.summary().duration);
    let stopped = ran.seen.last().expect("many are skipped").sample.finished;
    let before = ran.seen.iter().filter(|seen| seen.sample.ending == Ending::Skipped);
    let before = before.filter(|seen| seen.sample.finished < stopped).count();
    assert!((100_000..400_000).contains(&before), "{before} until the stop, {:?}", ran.counts());
    assert_eq!(ran.counts().scheduled, arrivals::count(&plan, ms(0), ran.summary().duration));
}

#[test]
fn the_scripts_are_those_of_the_reference_also_when_transactions_are_skipped() {
    // Reference, section 21: seed 42, two clients, one thread, weights 5, 3, 2.
    let expected = [1, 1, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0];
    let scripts = [("SELECT 0;", 5), ("SELECT 1;", 3), ("SELECT 2;", 2)];
    let mix = || Plan { clients: 2, limit: Limit::Duration(seconds(1)), ..mix(&scripts) };
    let slow = || FakeServer { service: Service::Fixed(ms(10)), ..FakeServer::default() };
    let closed = run(&mix(), slow());
    assert_eq!(chosen(&closed, 2)[..12], expected);
    let compatibility = Compatibility::Pgbench;
    let rated = Plan { rate_per_s: Some(2000.0), latency_limit: Some(ms(1)), compatibility, ..mix() };
    let skipping = run(&rated, slow());
    assert!(skipping.counts().skipped > 1000, "{:?}", skipping.counts());
    assert_eq!(chosen(&skipping, 2)[..12], expected);
    for pair in skipping.seen.iter().filter(|seen| seen.client == 0).collect::<Vec<_>>().windows(2) {
        let skipped = pair[0].sample.ending == Ending::Skipped;
        assert!(!skipped || pair[0].sample.script == pair[1].sample.script, "one script for all skips");
    }
}
