//! Populations of clients in virtual time: how many are active, sessions that end with their lifetime or in a storm, and
//! clients that read slowly. Each run also passes the checks of every run.

use std::collections::BTreeSet;

use pgmeter_engine::{End, EventLoopChoice, Limit, Plan, SessionRenewals, StormCourse};
use stats::{Population, Timestamp};
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger, Received, Rows, Service};

use super::disconnects::returning;
use super::support::{Ran, at_ms, fault, mix, ms, plan, run, seconds, slow, try_run};

fn populated(clients: usize, population: Population) -> Plan {
    Plan { clients, population, ..plan("SELECT 1;") }
}

fn active(text: &str) -> Population {
    Population { active: Some(text.parse().expect("active clients")), ..Population::default() }
}

fn lifetime(text: &str) -> Population {
    Population { session_lifetime: Some(text.parse().expect("a lifetime")), ..Population::default() }
}

fn storms(texts: &[&str]) -> Population {
    let storms = texts.iter().map(|text| text.parse().expect("a storm")).collect();
    Population { storms, ..Population::default() }
}

fn renewals(ran: &Ran) -> &SessionRenewals {
    ran.outcome.renewals.as_ref().expect("the plan has a population")
}

/// Times at which a connection got a message.
fn times(ran: &Ran, wanted: fn(&Received) -> bool) -> Vec<(usize, Timestamp)> {
    let entries = ran.log.entries();
    entries.iter().filter(|entry| wanted(&entry.message)).map(|entry| (entry.connection, entry.at)).collect()
}

fn is_start(message: &Received) -> bool {
    matches!(message, Received::StartUp(_))
}

#[test]
fn only_the_active_clients_work_and_each_gets_its_turn() {
    let plan = populated(50, active("10%, 200ms"));
    let server = || FakeServer { service: Service::Fixed(ms(2)), ..slow() };
    let ran = run(&plan, server());
    assert_eq!(ran.outcome.end, End::Complete);
    assert_eq!(ran.seen.iter().map(|seen| seen.client).collect::<BTreeSet<_>>().len(), 50);
    // As much work as five clients that are always active do.
    let all = run(&populated(5, Population::default()), server());
    let share = ran.counts().succeeded as f64 / all.counts().succeeded as f64;
    assert!((0.97..=1.03).contains(&share), "{share}");
}

#[test]
fn sessions_end_with_their_lifetime_between_two_transactions() {
    let plan = populated(20, lifetime("1s, 20%"));
    let ran = run(&plan, FakeServer { service: Service::Fixed(ms(5)), ..slow() });
    let counts = ran.counts();
    assert_eq!((ran.outcome.end.clone(), counts.failed, counts.unfinished), (End::Complete, 0, 0));
    let starts = times(&ran, is_start);
    for client in 0..20 {
        let own: Vec<_> = starts.iter().filter(|(connection, _)| *connection == client).collect();
        // Ten seconds with a session of 0.8 to 1.2 s, after one of any age.
        assert!((9..=14).contains(&own.len()), "client {client}: {} sessions", own.len());
        for pair in own[1..].windows(2) {
            let lasted = pair[1].1.since(pair[0].1).as_secs_f64();
            assert!((0.8..1.21).contains(&lasted), "{lasted}");
        }
    }
    assert_eq!(renewals(&ran).connecting.count(), starts.len() as u64 - 20);
    let ends = times(&ran, |message| matches!(message, Received::Terminate)).len();
    assert_eq!(ends, starts.len(), "each session ends with a message");
    // The first ones end at different times.
    let first: BTreeSet<_> =
        starts[20..].iter().map(|(_, at)| at.since(at_ms(0)).as_millis() / 100).collect();
    assert!(first.len() > 10, "{first:?}");
}

#[test]
fn in_a_storm_all_clients_connect_again_at_once_and_only_those() {
    for (text, clients) in [("1s", 100), ("1s, 30%", 30)] {
        let limit = Limit::Duration(ms(1_500));
        let server = FakeServer { service: Service::Fixed(ms(5)), ..slow() };
        let ran = run(&Plan { limit, ..populated(100, storms(&[text])) }, server);
        let counts = ran.counts();
        assert_eq!((ran.outcome.end.clone(), counts.failed, counts.unfinished), (End::Complete, 0, 0));
        let again = times(&ran, is_start).split_off(100);
        assert_eq!(again.len(), clients);
        // After the transaction that was running, which takes five milliseconds.
        assert!(again.iter().all(|(_, at)| (at_ms(1_000)..at_ms(1_007)).contains(at)), "{again:?}");
        let [StormCourse { clients: ended, connected, lasted }] = renewals(&ran).storms[..] else { panic!() };
        assert_eq!((ended, connected), (clients as u64, clients as u64));
        assert!(lasted < ms(8) && lasted > ms(0), "{lasted:?}");
    }
}

#[test]
fn idle_thinking_and_waiting_clients_take_part_in_a_storm() {
    let storm = storms(&["4s"]);
    let idle = Population { storms: storm.storms.clone(), ..active("1, 3s") };
    let thinking = Plan { think_time: "3s".parse().ok(), ..populated(30, storm.clone()) };
    let waiting = Plan { rate_per_s: Some(5.0), ..populated(30, storm) };
    for plan in [populated(30, idle), thinking, waiting] {
        let ran = run(&plan, slow());
        assert_eq!(ran.outcome.end, End::Complete);
        assert_eq!(ran.counts().failed + ran.counts().unfinished, 0, "{:?}", ran.counts());
        let again = times(&ran, is_start).split_off(30);
        assert_eq!(again.len(), 30);
        assert!(again.iter().all(|(_, at)| (at_ms(4_000)..at_ms(4_010)).contains(at)), "{again:?}");
        assert_eq!(renewals(&ran).storms[0].connected, 30);
    }
}

#[test]
fn arrivals_are_kept_when_their_clients_connect_again() {
    let with = |population| {
        let plan = Plan { rate_per_s: Some(300.0), ..populated(40, population) };
        run(&plan, slow()).counts()
    };
    let plain = with(Population::default());
    let stormy = with(Population { session_lifetime: "2s".parse().ok(), ..storms(&["3s", "3.5s, 50%"]) });
    assert_eq!((stormy.scheduled, stormy.succeeded), (plain.scheduled, plain.succeeded));
}

#[test]
fn all_connections_of_a_client_are_made_anew() {
    let mut plan = mix(&[("SELECT 1;", 1), ("SELECT 2;", 1)]);
    plan.targets.push(super::support::target("other"));
    plan.scripts[1].target = 1;
    let ran = run(&Plan { clients: 4, population: storms(&["2s"]), ..plan }, slow());
    assert_eq!(ran.outcome.end, End::Complete);
    assert_eq!(times(&ran, is_start).len(), 4 * 2 * 2);
    assert_eq!(renewals(&ran).storms[0].connected, 4);
}

#[test]
fn a_client_that_cannot_connect_again_is_aborted_or_goes_on_by_the_policy() {
    // After the first connections of all three clients.
    let refused = || {
        let effect = FaultEffect::fatal("53300", "sorry, too many clients already");
        FakeServer { faults: vec![fault(3, FaultTrigger::StartUp, effect)], ..slow() }
    };
    let ran = run(&populated(3, storms(&["2s"])), refused());
    let [(_, why)] = ran.aborted()[..] else { panic!("{:?}", ran.aborted()) };
    assert!(why.contains("too many clients"), "{why}");
    assert_eq!((renewals(&ran).failed, renewals(&ran).storms[0].connected), (1, 2));
    let plan = returning("backoff:100ms..1s", populated(3, storms(&["2s"])));
    let ran = run(&plan, refused());
    assert_eq!((ran.aborted().len(), renewals(&ran).failed), (0, 1));
    let storm = renewals(&ran).storms[0];
    assert_eq!((storm.clients, storm.connected), (3, 3));
    assert!(storm.lasted >= ms(50), "{storm:?}");
}

#[test]
fn a_run_that_ends_in_a_storm_ends_in_time_and_says_who_was_left() {
    let server = FakeServer { network_delay: ms(400), ..slow() };
    let plan = Plan { limit: Limit::Duration(seconds(3)), ..populated(5, storms(&["2.9s"])) };
    let ran = run(&plan, server);
    let storm = renewals(&ran).storms[0];
    assert_eq!(ran.outcome.end, End::Complete);
    assert!(storm.clients > 0 && storm.connected == 0, "{storm:?}");
    assert!(ran.outcome.elapsed < ms(4_000), "{:?}", ran.outcome.elapsed);
}

#[test]
fn slow_readers_take_as_long_as_their_speed_allows_and_others_do_not() {
    // About 100 kB for each answer.
    let (rows, service) = (Rows { count: 1_000, bytes: 100 }, Service::Fixed(ms(50)));
    let server = FakeServer { rows, service, ..slow() };
    let slow = Population { slow_readers: "50%, 64kB/s".parse().ok(), ..Population::default() };
    let plan = Plan { event_loop: EventLoopChoice::Epoll, ..populated(2, slow) };
    let ran = run(&plan, server);
    let bytes = |client: usize| {
        let own = ran.seen.iter().filter(|seen| seen.client == client);
        own.map(|seen| seen.sample.traffic.received_bytes).sum::<u64>() as f64
    };
    assert!((550_000.0..=800_000.0).contains(&bytes(1)), "{} bytes in 10 s", bytes(1));
    assert!(bytes(0) > 15e6, "{} bytes", bytes(0));
}

#[test]
fn a_population_that_does_not_fit_the_load_is_refused() {
    let refused = |plan: Plan| match try_run(&plan, slow(), seconds(99)) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("the plan was accepted"),
    };
    let open = Plan { rate_per_s: Some(5.0), ..populated(2, active("1")) };
    assert!(refused(open).contains("closed loop"));
    assert!(refused(Plan { reconnect: true, ..populated(2, lifetime("1s")) }).contains("lifetime"));
    let slow = Population { slow_readers: "1, 1kB/s".parse().ok(), ..Population::default() };
    assert!(refused(populated(2, slow)).contains("epoll"));
}
