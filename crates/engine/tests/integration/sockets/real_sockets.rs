//! The engine over real sockets, against the null server: threads, partial reads and writes, and connections that end
//! unexpectedly, which virtual time does not cover. Nothing depends on timing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use connect::{Address, Transport};
use pgmeter_engine::{
    Compatibility, End, EndedTransaction, EngineError, HostPlan, Limit, Outcome, Plan, Protocol, ScriptPlan,
    TargetPlan, Tracer, WorkerIntro, no_tracer, run,
};
use script::{Dialect, Symbols};
use stats::{Sample, Timestamp};
use testkit::null::{NullOptions, NullServer};
use testkit::request_log::{Received, RequestLog};
use testkit::session::{Fault, FaultEffect, FaultTrigger, Rows};
use wire::StartupParameters;

/// Both kinds of socket.
const LISTEN: [fn(NullOptions) -> std::io::Result<NullServer>; 2] =
    [NullServer::on_unix_socket, NullServer::on_tcp];

/// A null server of each kind.
pub(crate) fn servers(options: &NullOptions) -> impl Iterator<Item = NullServer> {
    LISTEN.into_iter().map(|listen| listen(options.clone()).expect("a null server"))
}

/// The same, recording the requests of each.
fn logged_servers(options: &NullOptions) -> impl Iterator<Item = (NullServer, RequestLog)> {
    LISTEN.into_iter().map(|listen| {
        let log = RequestLog::default();
        let options = NullOptions { on_request: log.recorder(), ..options.clone() };
        (listen(options).expect("a null server"), log)
    })
}

/// One client runs the scripts ten times, with equal weights.
pub(crate) fn plan(server: &NullServer, scripts: &[&str]) -> Plan {
    let mut symbols = Symbols::new();
    let mut parsed = Vec::new();
    for (number, text) in scripts.iter().enumerate() {
        let program =
            script::parse(&format!("script-{number}.sql"), text.as_bytes(), &mut symbols, Dialect::Extended);
        let program = program.unwrap_or_else(|error| panic!("{error}"));
        parsed.push(ScriptPlan { program, weight: 1, target: 0 });
    }
    Plan { seed: 42, event_loop: super::EVENT_LOOP, ..Plan::new(vec![target("", server)], parsed, symbols) }
}

/// A null server with a name.
fn target(name: &str, server: &NullServer) -> TargetPlan {
    let startup = StartupParameters { user: "tester".to_owned(), ..StartupParameters::default() };
    TargetPlan {
        name: name.to_owned(),
        hosts: vec![HostPlan { address: server.address().clone(), transport: Transport::default(), startup }],
    }
}

/// Runs to the end and expects no aborted client.
pub(crate) fn complete(plan: &Plan) -> Outcome {
    let outcome = finish(plan);
    assert_eq!(outcome.aborted, []);
    assert_eq!(outcome.end, End::Complete);
    outcome
}

/// Runs to the end, with any result; the seconds must sum to the summary.
fn finish(plan: &Plan) -> Outcome {
    let mut counted = 0;
    let mut observer =
        |progress: &pgmeter_engine::Progress<'_>| counted += progress.interval.total().counts.scheduled;
    let outcome = run(plan, &AtomicBool::new(false), &mut observer, &no_tracer)
        .unwrap_or_else(|error| panic!("{error}"));
    outcome.summary.total.counts.check();
    if plan.warmup.is_zero() {
        assert_eq!(counted, outcome.summary.total.counts.scheduled);
    }
    outcome
}

const TRANSFER: &str = "\
\\set aid random(1, 1000)
BEGIN;
UPDATE accounts SET balance = balance + 1 WHERE aid = :aid;
SELECT balance FROM accounts WHERE aid = :aid;
END;
";

#[test]
fn two_hundred_clients_run_exactly_what_was_asked_for_in_every_protocol_on_one_worker_and_on_two() {
    for server in servers(&NullOptions::default()) {
        for (workers, protocol) in
            [(1, Protocol::Simple), (2, Protocol::Simple), (1, Protocol::Extended), (2, Protocol::Prepared)]
        {
            let limit = Limit::TransactionsPerClient(4);
            let plan = Plan { clients: 200, workers, protocol, limit, ..plan(&server, &[TRANSFER]) };
            let outcome = complete(&plan);
            assert_eq!(outcome.workers, workers);
            assert_eq!(outcome.summary.total.counts.succeeded, 800);
        }
    }
}

#[test]
fn an_open_loop_runs_exactly_what_was_asked_for() {
    for server in servers(&NullOptions::default()) {
        for workers in [1, 2] {
            let rate_per_s = Some(50_000.0);
            let plan = Plan { clients: 50, workers, rate_per_s, ..plan(&server, &["SELECT 1;"]) };
            let outcome = complete(&plan);
            assert_eq!(outcome.summary.total.counts.succeeded, 500);
            let total = &outcome.summary.total;
            assert!(total.response.max_ns() >= total.service.max_ns());
        }
    }
}

#[test]
fn a_run_of_a_second_keeps_its_window_and_shows_its_warm_up() {
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    let limit = Limit::Duration(Duration::from_secs(1));
    for rate_per_s in [None, Some(500.0)] {
        let warmup = Duration::from_millis(500);
        let plan =
            Plan { clients: 20, workers: 2, limit, warmup, rate_per_s, ..plan(&server, &["SELECT 1;"]) };
        let mut warmups = Vec::new();
        let outcome =
            run(&plan, &AtomicBool::new(false), &mut |progress| warmups.push(progress.warmup), &no_tracer);
        let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(outcome.end, End::Complete);
        assert!(outcome.summary.duration >= Duration::from_secs(1));
        assert!(outcome.warmup_transactions > 0 && outcome.summary.total.counts.succeeded > 0);
        assert!(outcome.client_cpu > Duration::ZERO);
        assert!(warmups.is_sorted_by(|earlier, later| earlier >= later), "{warmups:?}");
        assert_eq!(warmups.first(), Some(&true));
    }
}

#[test]
fn statements_arrive_as_they_were_written() {
    for (server, log) in logged_servers(&NullOptions::default()) {
        let script = "SELECT :client_id;\nSELECT 'two';\n";
        complete(&Plan { clients: 3, limit: Limit::TransactionsPerClient(2), ..plan(&server, &[script]) });
        let heard = log.requests();
        for client in 0..3 {
            let of_client = heard.iter().filter(|(connection, _)| *connection == client);
            let statements: Vec<_> = of_client.filter_map(|(_, message)| message.statement()).collect();
            let first = format!("SELECT {client};");
            assert_eq!(statements, [&first, "SELECT 'two';", &first, "SELECT 'two';"]);
        }
    }
}

#[test]
fn two_workers_draw_as_pgbench_does() {
    // Reference, section 21: seed 42, four clients on two threads, scale 10.
    let script = "\
\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
SELECT :client_id, :aid, :bid, :tid, :delta;
";
    let log = RequestLog::default();
    let options = NullOptions { on_request: log.recorder(), ..NullOptions::default() };
    let server = NullServer::on_unix_socket(options).expect("a null server");
    let limit = Limit::TransactionsPerClient(2);
    let outcome = complete(&Plan { clients: 4, workers: 2, scale: 10, limit, ..plan(&server, &[script]) });
    assert_eq!(outcome.default_seed, 273_771_184_284_289_554);
    let heard = log.requests();
    let statements: Vec<_> = heard.iter().filter_map(|(_, message)| message.statement()).collect();
    for expected in [
        "SELECT 0, 668251, 1, 38, -416;",
        "SELECT 0, 303850, 1, 91, -3381;",
        "SELECT 1, 844242, 10, 72, -348;",
        "SELECT 2, 802035, 3, 85, 4335;",
        "SELECT 3, 814673, 8, 54, -3156;",
    ] {
        assert!(statements.contains(&expected), "{expected} is not among {statements:?}");
    }
}

#[test]
fn two_workers_choose_scripts_as_pgbench_does() {
    // Reference, section 21: seed 42, four clients on two threads, weights 5, 3, 2; twelve picks each.
    let log = RequestLog::default();
    let options = NullOptions { on_request: log.recorder(), ..NullOptions::default() };
    let server = NullServer::on_unix_socket(options).expect("a null server");
    let scripts = [0, 1, 2].map(|script| format!("SELECT :client_id / 2, {script};"));
    let mut plan = plan(&server, &scripts.each_ref().map(String::as_str));
    for (script, weight) in plan.scripts.iter_mut().zip([5, 3, 2]) {
        script.weight = weight;
    }
    complete(&Plan { clients: 4, workers: 2, limit: Limit::TransactionsPerClient(6), ..plan });
    // Which client gets which script depends on the order of replies; the counts do not.
    let heard = log.requests();
    let picks = |clients: [usize; 2], script: usize| {
        let wanted = clients.map(|client| format!("SELECT {client} / 2, {script};"));
        heard
            .iter()
            .filter_map(|(_, message)| message.statement())
            .filter(|sql| wanted.iter().any(|it| it == sql))
            .count()
    };
    // Thread 0: 0 1 1 2 2 2 1 0 0 2 1 1; thread 1: 0 0 0 0 0 1 0 1 2 0 0 0.
    assert_eq!([0, 1, 2].map(|script| picks([0, 1], script)), [3, 5, 4]);
    assert_eq!([0, 1, 2].map(|script| picks([2, 3], script)), [9, 2, 1]);
}

#[test]
fn answers_larger_than_any_buffer_are_read_to_their_end() {
    let rows = Rows { count: 5000, bytes: 1000 };
    for server in servers(&NullOptions { rows, ..NullOptions::default() }) {
        for protocol in [Protocol::Simple, Protocol::Prepared] {
            let limit = Limit::TransactionsPerClient(3);
            let plan = Plan { clients: 8, workers: 2, protocol, limit, ..plan(&server, &["SELECT 1;"]) };
            assert_eq!(complete(&plan).summary.total.counts.succeeded, 24);
        }
    }
}

#[test]
fn answers_that_fill_the_read_buffer_exactly_leave_nothing_behind() {
    // A row of n bytes makes a reply of n + 72: sizes around the 64 KiB of a read.
    for bytes in (65_536 - 80)..(65_536 - 60) {
        let rows = Rows { count: 1, bytes };
        let server = NullServer::on_unix_socket(NullOptions { rows, ..NullOptions::default() });
        let server = server.expect("a null server");
        assert_eq!(complete(&plan(&server, &["SELECT 1;"])).summary.total.counts.succeeded, 10);
    }
}

#[test]
fn statements_of_several_megabytes_arrive_whole_at_a_server_that_reads_slowly() {
    let long = "x".repeat(3 << 20);
    let options = NullOptions { read_max: 16 << 10, ..NullOptions::default() };
    for (server, log) in logged_servers(&options) {
        for protocol in [Protocol::Simple, Protocol::Extended] {
            let variables = vec![("long".to_owned(), long.clone())];
            let limit = Limit::TransactionsPerClient(1);
            let script = match protocol {
                Protocol::Simple => "SELECT ':long';\nSELECT 1;\n",
                Protocol::Extended | Protocol::Prepared => "SELECT :long;\nSELECT 1;\n",
            };
            let plan =
                Plan { clients: 2, workers: 2, protocol, limit, variables, ..plan(&server, &[script]) };
            assert_eq!(complete(&plan).summary.total.counts.succeeded, 2);
        }
        let whole = |message: &Received| match message {
            Received::Query(sql) => sql.len() == long.len() + 10 && sql[8..].starts_with(&long),
            Received::Bind { parameters, .. } => parameters.first() == Some(&Some(long.clone())),
            _ => false,
        };
        assert_eq!(log.requests().iter().filter(|(_, message)| whole(message)).count(), 4);
    }
}

/// The server's last message must always be received, whatever the order of events in the kernel.
const ROUNDS: u64 = 50;

fn shutdown() -> FaultEffect {
    FaultEffect::fatal("57P01", "terminating connection due to administrator command")
}

#[test]
fn the_servers_last_word_is_heard_although_it_closes_at_once() {
    let last_answer = FaultEffect::LastAnswer {
        sqlstate: "57P01".to_owned(),
        message: "terminating connection due to administrator command".to_owned(),
    };
    let faults = (0..ROUNDS).map(|n| Fault {
        connection: usize::try_from(n).ok(),
        trigger: FaultTrigger::Statement(n % 3),
        effect: if n % 2 == 0 { shutdown() } else { last_answer.clone() },
    });
    let options = NullOptions { faults: faults.collect(), ..NullOptions::default() };
    for server in servers(&options) {
        let clients = usize::try_from(ROUNDS).expect("a small number");
        let outcome = finish(&Plan { clients, workers: 2, ..plan(&server, &["SELECT 1;"]) });
        assert_eq!(outcome.end, End::AllClientsAborted);
        for aborted in &outcome.aborted {
            let reason = aborted.to_string();
            assert!(
                reason.ends_with("FATAL:  terminating connection due to administrator command"),
                "{reason}"
            );
        }
    }
}

#[test]
fn the_servers_last_word_is_heard_although_it_does_not_read_the_statement_to_its_end() {
    // The session ends when it has read the first of two messages; the second is megabytes long.
    let long = "x".repeat(8 << 20);
    let options = NullOptions {
        read_max: 1 << 10,
        faults: vec![Fault { connection: None, trigger: FaultTrigger::Parse(0), effect: shutdown() }],
        ..NullOptions::default()
    };
    for server in servers(&options) {
        let variables = vec![("long".to_owned(), long.clone())];
        let plan = Plan { variables, protocol: Protocol::Extended, ..plan(&server, &["SELECT :long;"]) };
        let outcome = finish(&plan);
        let reason = outcome.aborted[0].to_string();
        assert!(reason.ends_with("FATAL:  terminating connection due to administrator command"), "{reason}");
    }
}

#[test]
fn a_connection_that_is_closed_ends_its_client_and_no_other() {
    let faults =
        vec![Fault { connection: Some(3), trigger: FaultTrigger::Statement(4), effect: FaultEffect::Close }];
    let options = NullOptions { faults, ..NullOptions::default() };
    for server in servers(&options) {
        let outcome = finish(&Plan { clients: 10, ..plan(&server, &["SELECT 1;"]) });
        assert_eq!(outcome.end, End::Complete);
        assert_eq!(outcome.aborted.len(), 1);
        assert_eq!(outcome.aborted[0].client, 3);
        let counts = outcome.summary.total.counts;
        assert_eq!((counts.succeeded, counts.unfinished), (94, 1));
    }
}

#[test]
fn a_run_stopped_by_the_user_ends_with_what_it_has() {
    for server in servers(&NullOptions::default()) {
        let stop = AtomicBool::new(false);
        let limit = Limit::TransactionsPerClient(u64::MAX);
        let plan = Plan { clients: 20, workers: 2, limit, ..plan(&server, &["SELECT 1;"]) };
        let outcome = run(&plan, &stop, &mut |_| stop.store(true, Ordering::Relaxed), &no_tracer);
        let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(outcome.end, End::Interrupted);
        assert!(outcome.summary.total.counts.succeeded > 0);
    }
}

/// Panics when its worker's first client is at its fourth transaction.
struct Panics(usize);

impl Tracer for Panics {
    fn transaction(&mut self, ended: &EndedTransaction<'_>) {
        assert!(ended.client != self.0 || ended.number < 4, "on purpose");
    }
}

#[test]
fn a_worker_that_panics_is_lost_with_its_clients_and_the_others_go_on() {
    for server in servers(&NullOptions::default()) {
        for (workers, lost_clients) in [(2, 5), (1, 10)] {
            let plan = Plan { clients: 10, workers, ..plan(&server, &["SELECT 1;"]) };
            let tracers = |intro: WorkerIntro| -> Box<dyn Tracer> {
                if intro.number == 0 { Box::new(Panics(intro.clients.first())) } else { Box::new(()) }
            };
            let outcome = run(&plan, &AtomicBool::new(false), &mut |_| {}, &tracers);
            let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
            let lost: Vec<_> = outcome.aborted.iter().map(|aborted| aborted.client).collect();
            assert_eq!(lost, (0..lost_clients).collect::<Vec<_>>());
            let sentence = outcome.aborted[0].to_string();
            assert!(sentence.contains("worker 0") && sentence.contains("on purpose"), "{sentence}");
            let succeeded = outcome.summary.total.counts.succeeded;
            assert!(succeeded >= 10 * (10 - lost_clients) as u64, "{succeeded}");
            assert_eq!(outcome.end == End::AllClientsAborted, workers == 1);
        }
    }
}

#[test]
fn a_command_that_runs_when_the_user_stops_is_cancelled() {
    let faults =
        vec![Fault { connection: None, trigger: FaultTrigger::Statement(5), effect: FaultEffect::Silence }];
    let options = NullOptions { faults, ..NullOptions::default() };
    for (server, log) in logged_servers(&options) {
        let stop = AtomicBool::new(false);
        let plan = Plan { clients: 3, ..plan(&server, &["SELECT 1;"]) };
        let outcome = run(&plan, &stop, &mut |_| stop.store(true, Ordering::Relaxed), &no_tracer);
        let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((outcome.end, outcome.summary.total.counts.unfinished), (End::Interrupted, 3));
        let is_cancel = |message: &Received| matches!(message, Received::Cancel(_));
        let cancelled = log.requests().iter().filter(|(_, message)| is_cancel(message)).count();
        assert_eq!(cancelled, 3);
    }
}

#[test]
fn connecting_to_nothing_says_where_and_why() {
    for (server, why) in
        servers(&NullOptions::default()).zip(["No such file or directory", "Connection refused"])
    {
        let plan = Plan { clients: 5, workers: 2, ..plan(&server, &["SELECT 1;"]) };
        let place = match &plan.targets[0].hosts[0].address {
            Address::Unix(path) => path.display().to_string(),
            Address::Tcp { address, .. } => format!("port {}", address.port()),
        };
        drop(server);
        let error =
            run(&plan, &AtomicBool::new(false), &mut |_| {}, &no_tracer).expect_err("nobody listens there");
        assert!(matches!(error, EngineError::Connect { .. }));
        let sentence = error.to_string();
        assert!(sentence.contains(&place) && sentence.contains(why), "{sentence}");
    }
}

#[test]
fn a_server_that_refuses_is_quoted_and_the_others_are_not_kept() {
    let effect = FaultEffect::fatal("53300", "sorry, too many clients already");
    let faults = vec![Fault { connection: Some(40), trigger: FaultTrigger::StartUp, effect }];
    for server in servers(&NullOptions { faults, ..NullOptions::default() }) {
        let plan = Plan { clients: 60, workers: 2, ..plan(&server, &["SELECT 1;"]) };
        let error = run(&plan, &AtomicBool::new(false), &mut |_| {}, &no_tracer).expect_err("one is refused");
        assert!(error.to_string().ends_with("FATAL:  sorry, too many clients already"), "{error}");
    }
}

#[test]
fn a_connection_for_each_transaction_is_made_and_closed() {
    for (server, log) in logged_servers(&NullOptions::default()) {
        let plan = Plan { clients: 20, workers: 2, reconnect: true, ..plan(&server, &["SELECT 1;"]) };
        let outcome = complete(&plan);
        assert_eq!((outcome.summary.total.counts.succeeded, outcome.reconnects.count), (200, 200));
        assert!(outcome.reconnects.time > Duration::ZERO);
        // The last Terminate messages were sent, but may not have been received yet.
        while log.requests().len() < 3 * 200 {
            testkit::condition::pause();
        }
        let heard = log.requests();
        for connection in 0..200 {
            let mine = heard.iter().filter(|(number, _)| *number == connection).map(|(_, message)| message);
            let kinds: Vec<_> = mine.map(std::mem::discriminant).collect();
            let session =
                [Received::StartUp(Vec::new()), Received::Query(String::new()), Received::Terminate];
            assert_eq!(kinds, session.iter().map(std::mem::discriminant).collect::<Vec<_>>());
        }
    }
}

#[test]
fn who_is_refused_in_the_middle_of_the_run_ends_alone() {
    let effect = FaultEffect::fatal("53300", "sorry, too many clients already");
    let faults = vec![Fault { connection: Some(40), trigger: FaultTrigger::StartUp, effect }];
    for server in servers(&NullOptions { faults, ..NullOptions::default() }) {
        let plan = Plan { clients: 10, workers: 2, reconnect: true, ..plan(&server, &["SELECT 1;"]) };
        let outcome = finish(&plan);
        assert_eq!((outcome.end, outcome.aborted.len()), (End::Complete, 1));
        let reason = outcome.aborted[0].to_string();
        assert!(reason.ends_with("FATAL:  sorry, too many clients already"), "{reason}");
    }
}

#[test]
fn a_server_that_is_gone_ends_all_who_connect_for_each_transaction() {
    for server in servers(&NullOptions::default()) {
        let plan = Plan { clients: 10, workers: 2, reconnect: true, ..plan(&server, &["SELECT 1;"]) };
        drop(server);
        let outcome = finish(&plan);
        assert_eq!((outcome.end, outcome.aborted.len()), (End::AllClientsAborted, 10));
        assert_eq!(outcome.summary.total.counts.scheduled, 0);
    }
}

#[test]
fn two_targets_are_used_side_by_side() {
    let (both, logs): (Vec<_>, Vec<_>) = logged_servers(&NullOptions::default()).unzip();
    let mut plan = plan(&both[0], &["SELECT 'primary';", "SELECT 'replica';"]);
    plan.targets.push(target("replica", &both[1]));
    plan.scripts[1].target = 1;
    plan = Plan { clients: 8, workers: 2, ..plan };
    for reconnect in [false, true] {
        plan.reconnect = reconnect;
        let outcome = complete(&plan);
        assert_eq!(outcome.summary.total.counts.succeeded, 80);
        assert!(outcome.summary.scripts.iter().all(|script| script.counts.succeeded > 10));
    }
    for (log, text) in logs.iter().zip(["SELECT 'primary';", "SELECT 'replica';"]) {
        let heard = log.requests();
        let queries = heard.iter().filter_map(|(_, message)| message.statement());
        assert!(queries.clone().count() > 20);
        assert!(queries.clone().all(|query| query == text));
    }
}

#[test]
fn a_worker_that_cannot_connect_keeps_no_other_trying() {
    // All replies but the first are delayed by an hour.
    let refused = FaultEffect::fatal("53300", "sorry, too many clients already");
    let silent = (1..8).map(|connection| (connection, FaultEffect::Silence));
    let faults = [(0, refused)].into_iter().chain(silent);
    let fault =
        |(connection, effect)| Fault { connection: Some(connection), trigger: FaultTrigger::StartUp, effect };
    let options = NullOptions { faults: faults.map(fault).collect(), ..NullOptions::default() };
    for server in servers(&options) {
        let connect_timeout = Duration::from_secs(3600);
        let plan = Plan { clients: 8, workers: 4, connect_timeout, ..plan(&server, &["SELECT 1;"]) };
        let error = run(&plan, &AtomicBool::new(false), &mut |_| {}, &no_tracer).expect_err("one is refused");
        assert!(error.to_string().ends_with("FATAL:  sorry, too many clients already"), "{error}");
    }
}

#[test]
fn the_first_aborted_client_ends_all_workers() {
    let effect = FaultEffect::error("42601", "syntax error");
    let faults = vec![Fault { connection: Some(5), trigger: FaultTrigger::Statement(100), effect }];
    for server in servers(&NullOptions { faults, ..NullOptions::default() }) {
        let limit = Limit::TransactionsPerClient(u64::MAX);
        let plan =
            Plan { clients: 6, workers: 3, exit_on_abort: true, limit, ..plan(&server, &["SELECT 1;"]) };
        let outcome = finish(&plan);
        assert_eq!(outcome.aborted.len(), 1);
        let worker = outcome.aborted[0].client / 2;
        assert_eq!(outcome.end, End::AbortedOnError { worker });
    }
}

/// Samples that each worker's tracer received: (client, sample), in the order of their ends, after the start.
type Seen = Arc<Mutex<Vec<(Timestamp, Vec<(usize, Sample)>)>>>;

/// Records the events under the number of its worker.
struct Onlooker(usize, Seen);

impl Tracer for Onlooker {
    fn transaction(&mut self, ended: &EndedTransaction<'_>) {
        self.1.lock().expect("nobody panicked")[self.0].1.push((ended.client, *ended.sample));
    }
}

/// Runs to the end with a tracer for each worker.
fn watch(plan: &Plan) -> Vec<(Timestamp, Vec<(usize, Sample)>)> {
    let seen = Seen::default();
    let tracers = |intro: WorkerIntro| -> Box<dyn Tracer> {
        seen.lock().expect("nobody panicked").push((intro.start, Vec::new()));
        Box::new(Onlooker(intro.number, Arc::clone(&seen)))
    };
    let outcome = run(plan, &AtomicBool::new(false), &mut |_| {}, &tracers);
    assert_eq!(outcome.unwrap_or_else(|error| panic!("{error}")).aborted, []);
    let mut seen = seen.lock().expect("nobody panicked");
    std::mem::take(&mut *seen)
}

#[test]
fn each_worker_chooses_scripts_and_compatible_with_pgbench_draws_arrivals_from_its_own_streams() {
    // Reference, section 21: seed 42, four clients, two threads; weights 5, 3, 2; 1000 transactions per second.
    let picks = [[0, 1, 1, 2, 2, 2, 1, 0, 0, 2, 1, 1], [0, 0, 0, 0, 0, 1, 0, 1, 2, 0, 0, 0]];
    let gaps_us = [[924, 1736, 754, 7861, 1194, 3835], [2344, 1490, 3630, 295, 290, 1376]];
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    let mut plan = Plan { clients: 4, workers: 2, ..plan(&server, &["SELECT 0;", "SELECT 1;", "SELECT 2;"]) };
    for (script, weight) in plan.scripts.iter_mut().zip([5, 3, 2]) {
        script.weight = weight;
    }
    for ((_, seen), picks) in watch(&plan).iter().zip(picks) {
        // Each client's first, then another for each client as it becomes free.
        let first = seen[0].0.min(seen[1].0) / 2 * 2;
        let mut queues = [first, first + 1].map(|client| {
            let of_client = seen.iter().filter(|(number, _)| *number == client);
            of_client.map(|(_, sample)| sample.script).collect::<Vec<_>>().into_iter()
        });
        let mut chosen: Vec<_> = queues.iter_mut().filter_map(Iterator::next).collect();
        chosen.extend(seen.iter().filter_map(|(client, _)| queues[client - first].next()));
        assert_eq!(chosen[..picks.len()], picks);
    }
    plan.rate_per_s = Some(1000.0);
    // In pgmeter's compatibility all workers share one stream.
    plan.compatibility = Compatibility::Pgbench;
    for ((start, seen), gaps_us) in watch(&plan).iter().zip(gaps_us) {
        let mut scheduled: Vec<_> = seen.iter().map(|(_, sample)| sample.scheduled).collect();
        scheduled.sort();
        let ends = scheduled.iter();
        let gaps: Vec<_> =
            [*start].iter().chain(ends.clone()).zip(ends).map(|(from, to)| to.since(*from)).collect();
        assert_eq!(gaps[..gaps_us.len()], gaps_us.map(Duration::from_micros));
    }
}

/// A plan whose target is at both of these servers.
fn balanced(servers: [&NullServer; 2]) -> Plan {
    let mut plan = plan(servers[0], &["SELECT 1;"]);
    let mut second = target("", servers[1]);
    plan.targets[0].hosts.append(&mut second.hosts);
    plan
}

/// How many connections a server has had.
fn connections(log: &RequestLog) -> usize {
    log.requests().iter().filter(|(_, received)| matches!(received, Received::StartUp(_))).count()
}

#[test]
fn the_clients_of_a_target_with_two_places_are_spread_over_them_alike_for_the_same_seed() {
    let spread = |seed, reconnect| {
        let (pair, logs): (Vec<_>, Vec<_>) = logged_servers(&NullOptions::default()).unzip();
        let plan = Plan { clients: 40, workers: 2, seed, reconnect, ..balanced([&pair[0], &pair[1]]) };
        assert_eq!(complete(&plan).summary.total.counts.succeeded, 400);
        (connections(&logs[0]), connections(&logs[1]))
    };
    let (first, second) = spread(42, false);
    assert_eq!(first + second, 40);
    assert!(first >= 8 && second >= 8, "{first} and {second}");
    assert_eq!(spread(42, false), (first, second));
    let (first, second) = spread(42, true);
    assert_eq!(first + second, 400);
    assert!(first >= 120 && second >= 120, "{first} and {second}");
}
