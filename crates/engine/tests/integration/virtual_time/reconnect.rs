//! A connection for each transaction: when it is made and closed, which part is in the latency, and a client that
//! cannot connect.

use std::io::ErrorKind;

use pgmeter_engine::{End, Limit, Plan, Protocol};
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger, Reach, Received, Service, Stall};

use super::arrivals;
use super::support::{assert_close, at_ms, fault, faulty, ms, plan, run, run_until, seconds, us};

fn reconnecting(clients: usize) -> Plan {
    Plan { clients, reconnect: true, limit: Limit::Duration(seconds(1)), ..plan("SELECT 1;") }
}

#[test]
fn nobody_is_connected_before_the_run() {
    let ran = run(&reconnecting(4), FakeServer::default());
    assert!(ran.outcome.connect_time < us(10), "{:?}", ran.outcome.connect_time);
    assert_eq!(ran.outcome.aborted, []);
}

#[test]
fn each_transaction_has_a_connection_of_its_own() {
    let limit = Limit::TransactionsPerClient(3);
    let ran = run(&Plan { limit, ..reconnecting(1) }, FakeServer::default());
    let kinds: Vec<_> = ran
        .log
        .messages(0)
        .iter()
        .map(|message| match message {
            Received::StartUp(_) => "start-up",
            Received::Terminate => "terminate",
            _ => "query",
        })
        .collect();
    assert_eq!(kinds, ["start-up", "query", "terminate"].repeat(3));
    assert_eq!(ran.outcome.reconnects.count, 3);
}

#[test]
fn without_a_rate_connecting_is_outside_the_latency_and_inside_the_time() {
    let ran = run(&reconnecting(5), FakeServer::default());
    let total = &ran.summary().total;
    // 50 µs each way and 400 µs of work.
    assert_eq!((total.response.max_ns(), total.lag_max_ns), (Some(500_000), 0));
    let connecting = ran.outcome.reconnects.time.as_secs_f64() / ran.outcome.reconnects.count as f64;
    // The transport, then the start-up and its answer.
    assert_close("connecting", connecting, 150e-6, 0.01);
    let each = connecting + 500e-6;
    assert_close("succeeded", ran.counts().succeeded as f64, 5.0 / each, 0.01);
}

#[test]
fn connection_figures_do_not_contain_the_warm_up() {
    for rate_per_s in [None, Some(400.0)] {
        let plan = Plan { warmup: seconds(5), rate_per_s, ..reconnecting(2) };
        let ran = run(&plan, FakeServer::default());
        assert!(ran.outcome.warmup_transactions > 4 * ran.counts().scheduled, "{rate_per_s:?}");
        let reconnects = ran.outcome.reconnects;
        // Without a rate, a client that connects after the end has connected in vain.
        let unused = if rate_per_s.is_none() { 2 } else { 0 };
        let succeeded = ran.counts().succeeded;
        assert!(
            (succeeded..=succeeded + unused).contains(&reconnects.count),
            "{} connections of {succeeded} transactions at {rate_per_s:?}",
            reconnects.count
        );
        let each = reconnects.time.as_secs_f64() / reconnects.count as f64;
        assert_close("connecting", each, 150e-6, 0.01);
    }
}

#[test]
fn under_a_rate_connecting_is_inside_the_latency() {
    let plan = Plan { rate_per_s: Some(100.0), limit: Limit::Duration(seconds(5)), ..reconnecting(5) };
    let ran = run(&plan, FakeServer::default());
    assert_eq!(ran.counts().scheduled, arrivals::count(&plan, ms(0), seconds(5)));
    assert_eq!(ran.counts().succeeded, ran.counts().scheduled);
    let total = &ran.summary().total;
    assert_eq!(total.service.max_ns(), Some(500_000));
    assert_eq!((total.response.min_ns(), total.lag_max_ns), (Some(650_000), 150_000));
}

#[test]
fn a_client_on_its_way_in_keeps_no_other_waiting() {
    // The third connection gets no reply; its client gives up after a second, the others continue.
    let plan = Plan { connect_timeout: seconds(1), limit: Limit::Duration(seconds(3)), ..reconnecting(3) };
    let ran = run(&plan, faulty(vec![fault(2, FaultTrigger::StartUp, FaultEffect::Silence)]));
    let [(2, sentence)] = &ran.aborted()[..] else { panic!("{:?}", ran.aborted()) };
    assert_eq!(
        *sentence,
        "client 2 aborted: it could not connect to socket \"/nowhere/.s.PGSQL.5432\": no answer within 1 s"
    );
    assert_eq!(ran.outcome.end, End::Complete);
    assert_eq!(ran.counts().unfinished, 0, "a transaction without a connection was never begun");
    assert_eq!(ran.summary().total.response.max_ns(), Some(500_000));
    let each = |client| ran.seen.iter().filter(|seen| seen.client == client).count();
    assert!(each(0) > 3000 && each(1) > 3000, "{} and {}", each(0), each(1));
}

#[test]
fn under_a_rate_a_client_on_its_way_in_delays_the_arrival_that_it_has_taken_and_no_other() {
    let plan = Plan {
        rate_per_s: Some(200.0),
        connect_timeout: seconds(1),
        limit: Limit::Duration(seconds(3)),
        ..reconnecting(8)
    };
    let ran = run(&plan, faulty(vec![fault(5, FaultTrigger::StartUp, FaultEffect::Silence)]));
    assert_eq!(ran.aborted().len(), 1);
    assert_eq!(ran.counts().scheduled, arrivals::count(&plan, ms(0), seconds(3)));
    assert_eq!(ran.counts().succeeded, ran.counts().scheduled);
    let lags = ran.seen.iter().map(|seen| seen.sample.started.since(seen.sample.scheduled));
    assert_eq!(lags.filter(|lag| *lag > us(151)).count(), 1, "another client has run it a second later");
}

#[test]
fn a_refusal_in_the_middle_of_the_run_ends_its_client_and_no_other() {
    let effect = FaultEffect::fatal("53300", "sorry, too many clients already");
    let ran = run(&reconnecting(3), faulty(vec![fault(100, FaultTrigger::StartUp, effect)]));
    assert_eq!(ran.aborted().len(), 1);
    assert!(ran.aborted()[0].1.ends_with("FATAL:  sorry, too many clients already"), "{:?}", ran.aborted());
    assert_eq!(ran.outcome.end, End::Complete);
}

#[test]
fn a_server_that_cannot_be_reached_ends_all_clients() {
    for reach in [Reach::RefusedAtOnce(ErrorKind::NotFound), Reach::RefusedLater(ErrorKind::NotFound)] {
        let ran = run(&reconnecting(4), FakeServer { reach, ..FakeServer::default() });
        assert_eq!((ran.outcome.end.clone(), ran.aborted().len()), (End::AllClientsAborted, 4));
        assert_eq!(ran.counts().scheduled, 0);
    }
}

#[test]
fn a_server_whose_queue_is_full_is_asked_again() {
    let ran = run(&reconnecting(4), FakeServer { reach: Reach::Busy(50), ..FakeServer::default() });
    assert_eq!(ran.outcome.aborted, []);
    assert!(ran.counts().succeeded > 1000);
}

#[test]
fn an_arrival_whose_client_did_not_get_in_is_run_by_another() {
    let plan = Plan { rate_per_s: Some(50.0), limit: Limit::Duration(seconds(5)), ..reconnecting(3) };
    let effect = FaultEffect::fatal("53300", "sorry, too many clients already");
    let ran = run(&plan, faulty(vec![fault(20, FaultTrigger::StartUp, effect)]));
    assert_eq!(ran.aborted().len(), 1);
    assert_eq!(ran.counts().scheduled, arrivals::count(&plan, ms(0), seconds(5)));
    assert_eq!(ran.counts().succeeded, ran.counts().scheduled);
}

#[test]
fn statements_are_prepared_on_each_connection() {
    let limit = Limit::TransactionsPerClient(4);
    let ran = run(&Plan { limit, protocol: Protocol::Prepared, ..reconnecting(2) }, FakeServer::default());
    for client in 0..2 {
        let parses =
            ran.log.messages(client).into_iter().filter(|m| matches!(m, Received::Parse { .. })).count();
        assert_eq!(parses, 4);
    }
    assert_eq!(ran.counts().succeeded, 8);
}

#[test]
fn who_gets_in_after_the_end_begins_nothing() {
    let stalls = vec![Stall { from: at_ms(900), until: at_ms(1500) }];
    let ran = run(&reconnecting(10), FakeServer { stalls, ..FakeServer::default() });
    assert_eq!(ran.outcome.end, End::Complete);
    for seen in &ran.seen {
        assert!(seen.sample.started < at_ms(1000), "{seen:?}");
    }
}

#[test]
fn stopped_by_the_user_a_client_on_its_way_in_is_forgotten() {
    let server = FakeServer {
        stalls: vec![Stall { from: at_ms(1500), until: at_ms(100_000) }],
        service: Service::Fixed(ms(1)),
        ..FakeServer::default()
    };
    let plan =
        Plan { limit: Limit::Duration(seconds(100)), connect_timeout: seconds(1000), ..reconnecting(8) };
    let ran = run_until(&plan, server, seconds(3));
    assert_eq!(ran.outcome.end, End::Interrupted);
    assert!(ran.counts().unfinished <= 8);
}

#[test]
fn no_more_than_thirty_two_connect_at_a_time_and_the_others_wait_for_that_without_losing_patience() {
    let limit = Limit::TransactionsPerClient(1);
    // The last of three times 32 waits for longer than a connect may take.
    let plan = Plan { limit, connect_timeout: us(200), ..reconnecting(96) };
    let ran = run(&plan, FakeServer::default());
    assert_eq!(ran.outcome.aborted, []);
    assert_eq!(ran.counts().succeeded, 96);
    // 150 µs each; the second 32 wait for the first, the third for both.
    let expected = 32.0 * 150e-6 * (1.0 + 2.0 + 3.0);
    assert_close("connecting", ran.outcome.reconnects.time.as_secs_f64(), expected, 0.01);
}
