//! Distributed runs in virtual time: the ranks run one after another, each on a server of its own, and their messages
//! are text. The transactions are those of a process alone, and the merged statistics those of all seconds.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pgmeter_engine::{
    AbortCause, ClientEvent, Compatibility, End, EndDecisions, EndedTransaction, EngineError, Inbox, Limit,
    LoadChanges, MixChange, Outcome, Part, Peers, Plan, Progress, RankMessage, SharedEnd, StopRequest,
    Tracer, WorkerIntro, no_tracer, run_on, run_rank_on, run_with_peers_on,
};
use stats::rate::{GapLaw, RateCurve};
use stats::{EncodedInterval, Gaps, Interval, Summary, Timestamp};
use testkit::fake::{Down, FakeServer, FaultEffect, FaultTrigger, Refusal, Service, Stall};

use super::disconnects::returning;
use super::support::{at_ms, fault, faulty, mix, ms, plan, seconds, slow};

const RANKS: usize = 4;

/// A transaction: its schedule since the start, script and random numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ran {
    scheduled_ns: u64,
    script: usize,
    draws: Vec<String>,
}

type AllRan = Arc<Mutex<Vec<(usize, Ran)>>>;

/// Records the transactions of all clients, with the number of the client.
struct Scribe {
    start: Timestamp,
    draws: BTreeMap<usize, Vec<String>>,
    all: AllRan,
}

impl Tracer for Scribe {
    fn transaction(&mut self, ended: &EndedTransaction<'_>) {
        let EndedTransaction { client, sample, .. } = *ended;
        let scheduled_ns = sample.scheduled.as_nanos() - self.start.as_nanos();
        let draws = self.draws.remove(&client).unwrap_or_default();
        let ran = Ran { scheduled_ns, script: sample.script, draws };
        self.all.lock().expect("nobody panicked").push((client, ran));
    }

    fn on_event(&mut self, event: &ClientEvent<'_>) {
        if let ClientEvent::Debugged { client, value, .. } = *event {
            self.draws.entry(client).or_default().push(value.to_owned());
        }
    }
}

/// Delivers messages that were sent earlier.
struct Earlier(Vec<(usize, String)>);

impl Peers for Earlier {
    fn start(&mut self, inbox: Inbox) -> Result<Instant, EngineError> {
        for (rank, text) in self.0.drain(..) {
            inbox.deliver(rank, serde_json::from_str(&text).expect("a message"));
        }
        Ok(Instant::now())
    }
}

fn text(message: &RankMessage) -> String {
    serde_json::to_string(message).expect("it is text")
}

/// Messages with the rank that sent them.
type Sent = Vec<(usize, String)>;

/// A completed part of a run.
#[derive(Default)]
struct Done {
    /// Messages to rank 0.
    sent: Sent,
    seconds: Vec<(Interval, bool)>,
    ran: Vec<(usize, Ran)>,
}

fn tracers(all: &AllRan) -> impl Fn(WorkerIntro) -> Box<dyn Tracer> {
    let all = Arc::clone(all);
    move |intro| Box::new(Scribe { start: intro.start, draws: BTreeMap::new(), all: Arc::clone(&all) })
}

fn take(all: &AllRan) -> Vec<(usize, Ran)> {
    std::mem::take(&mut *all.lock().expect("nobody panicked"))
}

/// Runs one rank from 1 on.
fn rank(make: &dyn Fn() -> Plan, rank: usize, server: &FakeServer, decisions: EndDecisions) -> Done {
    let plan = Plan { part: Part { rank, ranks: RANKS }, ..make() };
    let (stop, shared, all) = (AtomicBool::new(false), SharedEnd::default(), AllRan::default());
    shared.apply(&decisions);
    let request = StopRequest { stop: &stop, time_is_up: None, shared: Some(&shared), gate: None };
    let mut part = Done::default();
    let mut observer = |progress: &Progress<'_>| {
        part.sent.push((rank, text(&RankMessage::interval(progress))));
        part.seconds.push((progress.interval.clone(), progress.warmup));
    };
    let mut peers = Earlier(Vec::new());
    let outcome =
        run_rank_on(&plan, server.clone().driver(), request, &mut observer, &tracers(&all), &mut peers);
    let outcome = outcome.map(Box::new).map_err(|error| error.to_string());
    part.sent.push((rank, text(&RankMessage::Done(outcome))));
    part.ran = take(&all);
    part
}

/// Runs rank 0 with the messages of the others.
fn rank_0(
    make: &dyn Fn() -> Plan,
    server: &FakeServer,
    sent: Vec<(usize, String)>,
    shared: &SharedEnd,
    enough_at: Option<u64>,
) -> (Result<Outcome, EngineError>, Done) {
    let plan = Plan { part: Part { rank: 0, ranks: RANKS }, ..make() };
    let (stop, all) = (AtomicBool::new(false), AllRan::default());
    let request = StopRequest { stop: &stop, time_is_up: None, shared: Some(shared), gate: None };
    let mut part = Done::default();
    let mut observer = |progress: &Progress<'_>| {
        part.seconds.push((progress.interval.clone(), progress.warmup));
        progress.enough.set(enough_at.is_some_and(|second| progress.elapsed >= seconds(second)));
    };
    let mut peers = Earlier(sent);
    let outcome =
        run_with_peers_on(&plan, server.clone().driver(), request, &mut observer, &tracers(&all), &mut peers);
    part.ran = take(&all);
    (outcome, part)
}

/// All ranks: the outcome, the seconds of rank 0 (merged over all), and each rank's part.
fn distributed(make: &dyn Fn() -> Plan, server: &FakeServer) -> (Outcome, Vec<Done>) {
    let mut parts: Vec<_> =
        (1..RANKS).map(|number| rank(make, number, server, EndDecisions::default())).collect();
    let sent = parts.iter().flat_map(|part| part.sent.clone()).collect();
    let (outcome, own) = rank_0(make, server, sent, &SharedEnd::default(), None);
    parts.insert(0, own);
    (outcome.unwrap_or_else(|error| panic!("{error}")), parts)
}

fn alone(plan: &Plan, server: &FakeServer) -> (Outcome, Vec<(usize, Ran)>) {
    let (stop, all) = (AtomicBool::new(false), AllRan::default());
    let outcome = run_on(plan, server.clone().driver(), &stop, &mut |_| {}, &tracers(&all));
    (outcome.unwrap_or_else(|error| panic!("{error}")), take(&all))
}

const DRAWING: [(&str, u32); 4] = [
    ("\\set x debug(random(1, 1000000000))\nSELECT :x;\n", 3),
    ("\\set x debug(random_zipfian(1, 1000000, 1.5) + random(0, 1000000000))\nSELECT :x;\n", 1),
    ("SELECT 1;\n\\set x debug(random(0, 1000000000))\nSELECT :x;\n", 2),
    ("\\set x debug(random_hot(1, 1000000000, 0.9, 0.001, 0.1))\nSELECT :x;\n", 1),
];

#[test]
fn arrival_k_runs_on_rank_k_mod_n_as_on_a_process_alone() {
    let limit = Limit::Duration(seconds(2));
    let make = || Plan { clients: 9, rate_per_s: Some(500.0), warmup: ms(500), limit, ..mix(&DRAWING) };
    let server = FakeServer::default();
    let (one, mut ran) = alone(&make(), &server);
    let (all, parts) = distributed(&make, &server);
    assert_eq!(all.summary.total.counts, one.summary.total.counts);
    assert_eq!(all.warmup_transactions, one.warmup_transactions);
    ran.sort_by(|(_, one), (_, other)| one.cmp(other));
    assert!(ran.len() > 1000, "{}", ran.len());
    for (number, part) in parts.iter().enumerate() {
        let mut of_rank: Vec<_> = part.ran.iter().map(|(_, ran)| ran.clone()).collect();
        of_rank.sort();
        let expected = ran.iter().skip(number).step_by(RANKS).map(|(_, ran)| ran.clone());
        assert_eq!(of_rank, expected.collect::<Vec<_>>(), "rank {number}");
        assert!(part.ran.iter().all(|(client, _)| client % RANKS == number));
    }
}

#[test]
fn a_load_that_changes_is_the_same_on_four_ranks_as_on_a_process_alone() {
    let laws = [GapLaw::Poisson, GapLaw::Gamma(0.5), GapLaw::Fixed, GapLaw::OnOff { on_s: 0.1, off_s: 0.2 }];
    for law in laws {
        let rate = Some(RateCurve::Ramp { from_tps: 100.0, to_tps: 900.0, over_s: 3.0 });
        let mix = |from, weights: [u32; 4]| MixChange { from: seconds(from), weights: weights.to_vec() };
        let mixes = || vec![mix(0, [3, 1, 0, 1]), mix(1, [0, 1, 2, 1])];
        let make = || {
            let changes = LoadChanges { rate: rate.clone(), law, mixes: mixes(), ..LoadChanges::default() };
            let limit = Limit::Duration(seconds(3));
            Plan { clients: 9, warmup: ms(500), limit, changes, ..self::mix(&DRAWING) }
        };
        let server = FakeServer::default();
        let (one, mut ran) = alone(&make(), &server);
        let (all, parts) = distributed(&make, &server);
        assert_eq!(all.summary.total.counts, one.summary.total.counts);
        ran.sort_by(|(_, one), (_, other)| one.cmp(other));
        assert!(ran.len() > 1000, "{law}: {}", ran.len());
        for (number, part) in parts.iter().enumerate() {
            let mut of_rank: Vec<_> = part.ran.iter().map(|(_, ran)| ran.clone()).collect();
            of_rank.sort();
            let expected = ran.iter().skip(number).step_by(RANKS).map(|(_, ran)| ran.clone());
            assert_eq!(of_rank, expected.collect::<Vec<_>>(), "{law}, rank {number}");
        }
    }
}

#[test]
fn in_a_closed_loop_client_i_runs_on_rank_i_mod_n_with_its_random_numbers() {
    let script = "\\set x debug(random(1, 1000000000) + 1000 * :client_id)\nSELECT :x;\n";
    let make = || Plan { clients: 10, limit: Limit::TransactionsPerClient(50), ..plan(script) };
    let server = FakeServer::default();
    let draws = |ran: &[(usize, Ran)]| {
        let mut clients: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (client, ran) in ran {
            clients.entry(*client).or_default().extend(ran.draws.clone());
        }
        clients
    };
    let (one, ran) = alone(&make(), &server);
    let (all, parts) = distributed(&make, &server);
    assert_eq!((all.summary.total.counts.succeeded, all.default_seed), (500, one.default_seed));
    assert_eq!(all.summary.total.counts, one.summary.total.counts);
    let mut together = BTreeMap::new();
    for (number, part) in parts.iter().enumerate() {
        let clients = draws(&part.ran);
        assert!(clients.keys().all(|client| client % RANKS == number), "{clients:?}");
        together.extend(clients);
    }
    assert_eq!(together, draws(&ran));
    let figures: Vec<_> = all.ranks.iter().map(|rank| (rank.rank, rank.clients, rank.workers)).collect();
    assert_eq!(figures, [(0, 3, 1), (1, 3, 1), (2, 2, 1), (3, 2, 1)]);
    let succeeded: Vec<_> = all.ranks.iter().map(|rank| rank.total.counts.succeeded).collect();
    assert_eq!(succeeded, [150, 150, 100, 100]);
    assert!(all.ranks.iter().all(|rank| rank.total.response.count() == rank.total.counts.succeeded));
    assert_eq!((all.workers, all.health.len()), (4, 4));
    assert_eq!(all.health.iter().map(|health| health.worker).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let commands = |outcome: &Outcome| {
        outcome.commands.of_script(0).iter().map(|command| command.completed.count).collect::<Vec<_>>()
    };
    assert_eq!(commands(&all), commands(&one));
}

#[test]
fn the_merged_statistics_are_those_of_the_seconds_of_all_ranks() {
    // Stalls on all ranks at the same time, and one of a single rank, which does not count as a stall of the run.
    let stall = Stall { from: at_ms(2_000), until: at_ms(2_700) };
    let service = Service::Fixed(ms(2));
    let server = FakeServer { service, stalls: vec![stall], ..FakeServer::default() };
    let single = Stall { from: at_ms(4_000), until: at_ms(4_500) };
    let slow = FakeServer { stalls: vec![stall, single], ..server.clone() };
    for rate_per_s in [None, Some(2_000.0)] {
        let limit = Limit::Duration(seconds(5));
        let make = || Plan { clients: 8, rate_per_s, warmup: ms(1_500), limit, ..mix(&DRAWING) };
        let mut parts: Vec<_> = (1..RANKS)
            .map(|number| {
                let server = if number == 2 { &slow } else { &server };
                rank(&make, number, server, EndDecisions::default())
            })
            .collect();
        let sent = parts.iter().flat_map(|part| part.sent.clone()).collect();
        let (outcome, merged) = rank_0(&make, &server, sent, &SharedEnd::default(), None);
        let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
        parts.push(own_seconds(&make, &server, &merged.seconds));
        let mut together: BTreeMap<Timestamp, (Interval, bool)> = BTreeMap::new();
        for (interval, warmup) in parts.iter().flat_map(|part| &part.seconds) {
            let entry = together.entry(interval.start);
            entry.or_insert_with(|| (Interval::new(DRAWING.len()), *warmup)).0.merge(interval);
        }
        assert_eq!(merged.seconds, together.into_values().collect::<Vec<_>>());
        let measured = || merged.seconds.iter().filter(|(_, warmup)| !warmup).map(|(interval, _)| interval);
        let tail = outcome.summary.tail;
        let summary = Summary { tail, ..Summary::of(measured(), outcome.summary.duration) };
        assert_eq!(outcome.summary, summary);
        let of_ranks: u64 = outcome.ranks.iter().map(|rank| rank.total.counts.scheduled).sum();
        assert_eq!(of_ranks, summary.total.counts.scheduled);
        let begin = measured().next().expect("a second").start;
        let mut gaps = Gaps::new(begin, rate_per_s.is_some());
        measured().for_each(|interval| gaps.take(interval));
        let start = merged.seconds[0].0.start;
        gaps.close(start + outcome.elapsed, outcome.gaps.last_start().map(|last| begin + last));
        assert_eq!(outcome.gaps, gaps);
        let long = outcome.gaps.longer_than(ms(300));
        assert_eq!(long.count, 1, "{:?}", long.longest);
        assert!((650..=750).contains(&long.longest[0].length().as_millis()), "{:?}", long.longest);
    }
}

/// The seconds of rank 0's own clients: of a run whose other ranks send these seconds without transactions, and no
/// outcome.
fn own_seconds(make: &dyn Fn() -> Plan, server: &FakeServer, seconds: &[(Interval, bool)]) -> Done {
    let origin = seconds[0].0.start;
    let empty = |(interval, _): &(Interval, bool)| {
        let Interval { start, end, .. } = *interval;
        let empty = Interval { start, end, ..Interval::new(make().scripts.len()) };
        text(&RankMessage::Interval(EncodedInterval::new(&empty, origin)))
    };
    let of_rank = |number| seconds.iter().map(move |second| (number, empty(second)));
    let (outcome, own) =
        rank_0(make, server, (1..RANKS).flat_map(of_rank).collect(), &SharedEnd::default(), None);
    let error = outcome.expect_err("no rank sent an outcome").to_string();
    assert_eq!(error, "rank 1 failed: its messages ended before its outcome");
    own
}

#[test]
fn errors_aborted_clients_and_outages_of_all_ranks_are_those_of_the_run() {
    let down = Down {
        from: at_ms(1_000),
        until: at_ms(2_000),
        effect: FaultEffect::Reset,
        refusal: Refusal::Refused,
    };
    let server = FakeServer { downs: vec![down], ..slow() };
    let limit = Limit::Duration(seconds(4));
    let make = || returning("backoff:100ms..1s", Plan { clients: 8, limit, ..plan("UPDATE t SET a = 1;") });
    let (one, _) = alone(&make(), &server);
    let (all, _) = distributed(&make, &server);
    let [one, all] = [one, all].map(|outcome| outcome.outages.expect("the plan reconnects"));
    assert_eq!((all.losses(), all.causes.clone(), all.outages.len()), (8, one.causes.clone(), 1));
    let clients = |outages: &stats::Outages| {
        let mut clients: Vec<_> = outages.outages[0].clients.iter().map(|client| client.client).collect();
        clients.sort_unstable();
        clients
    };
    assert_eq!((clients(&all), clients(&one)), ((0..8).collect(), (0..8).collect()));
    let window = |outages: &stats::Outages| {
        let (from, until) = outages.outages[0].window.expect("nothing was written");
        until.since(from).as_millis()
    };
    assert!(window(&all).abs_diff(window(&one)) < 200, "{} and {}", window(&all), window(&one));
    assert_eq!(all.attempts.total(), all.outages[0].attempts.total());

    // The first connection of each rank's driver gets an error, which aborts its client.
    let error = FaultEffect::Error { sqlstate: "42P01".to_owned(), message: "no such table".to_owned() };
    let server = faulty(vec![fault(1, FaultTrigger::Statement(2), error.clone())]);
    let make = || Plan { clients: 8, limit: Limit::TransactionsPerClient(5), ..plan("SELECT 1;") };
    let (all, _) = distributed(&make, &server);
    assert_eq!(all.aborted.iter().map(|aborted| aborted.client).collect::<Vec<_>>(), [4, 5, 6, 7]);
    let sentences: Vec<_> = all.aborted.iter().map(ToString::to_string).collect();
    assert!(
        sentences.iter().all(|sentence| sentence[8..] == sentences[0][8..]),
        "place and text are kept: {sentences:?}"
    );
    assert!(matches!(&all.aborted[1].cause, AbortCause::OnOtherRank(text) if text.contains("no such table")));
    let [kind] = all.errors.kinds() else { panic!("{:?}", all.errors) };
    assert_eq!((kind.counts.aborted, kind.error.message.as_str()), (4, "no such table"));
    assert_eq!(all.end, End::Complete);
    let server = faulty(vec![fault(0, FaultTrigger::Statement(2), error)]);
    let (all, _) = distributed(&|| Plan { clients: 4, ..make() }, &server);
    assert_eq!((all.end, all.aborted.len()), (End::AllClientsAborted, 4));
}

#[test]
fn rank_0_decides_about_an_early_end_and_the_others_obey() {
    let limit = Limit::Duration(seconds(60));
    let make = || Plan { clients: 4, limit, ..plan("SELECT 1;\n\\sleep 20 ms\n") };
    let server = FakeServer::default();
    let short = || Plan { limit: Limit::Duration(seconds(12)), ..make() };
    // Without knowing of an end, they go on; rank 0 decides after the second second of all.
    let sent = (1..RANKS).flat_map(|number| rank(&short, number, &server, EndDecisions::default()).sent);
    let sent: Vec<_> = sent.collect();
    let shared = SharedEnd::default();
    let (outcome, _) = rank_0(&make, &server, sent, &shared, Some(2));
    assert_eq!(outcome.expect("an outcome").end, End::Complete);
    let decisions = shared.decisions();
    assert_eq!(decisions.end_ns, Some(5_000_000_000), "3 s later");
    assert_eq!(decisions.grace_ns, Some(10_000_000_000));
    let read: EndDecisions = serde_json::from_str(&serde_json::to_string(&decisions).unwrap()).unwrap();
    let sent = (1..RANKS).flat_map(|number| rank(&make, number, &server, read).sent).collect();
    let (outcome, own) = rank_0(&make, &server, sent, &SharedEnd::default(), Some(2));
    let outcome = outcome.expect("an outcome");
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(outcome.summary.duration.as_secs(), 5);
    assert_eq!(own.seconds.len(), 6, "five seconds, and the last transactions");
    assert!(outcome.ranks.iter().all(|rank| (240..250).contains(&rank.total.counts.succeeded)));
}

#[test]
fn a_rank_that_fails_ends_the_run_with_its_reason() {
    let make =
        || Plan { clients: 4, limit: Limit::Duration(seconds(60)), ..plan("SELECT 1;\n\\sleep 20 ms\n") };
    let server = FakeServer::default();
    let failed = text(&RankMessage::Done(Err("its server was struck by lightning".to_owned())));
    let shared = SharedEnd::default();
    let (outcome, own) = rank_0(&make, &server, vec![(2, failed)], &shared, None);
    let error = outcome.expect_err("rank 2 failed").to_string();
    assert_eq!(error, "rank 2 failed: its server was struck by lightning");
    assert!(shared.decisions().stop, "the others must be stopped");
    assert!(own.ran.len() < 100, "the own clients were stopped: {}", own.ran.len());
}

#[test]
fn connections_of_transactions_are_counted_for_each_rank() {
    let make =
        || Plan { clients: 6, reconnect: true, limit: Limit::TransactionsPerClient(3), ..plan("SELECT 1;") };
    let (outcome, _) = distributed(&make, &FakeServer::default());
    let of_ranks: Vec<_> = outcome.ranks.iter().map(|rank| rank.reconnects.count).collect();
    assert_eq!(of_ranks, [6, 6, 3, 3]);
    assert_eq!(outcome.reconnects.count, 18);
    assert_eq!(
        outcome.ranks.iter().map(|rank| rank.reconnects.time).sum::<Duration>(),
        outcome.reconnects.time
    );
}

#[test]
fn messages_that_are_damaged_or_do_not_fit_together_are_errors() {
    let make =
        || Plan { clients: 4, limit: Limit::Duration(seconds(2)), ..plan("SELECT 1;\n\\sleep 20 ms\n") };
    let server = FakeServer::default();
    let parts: Vec<_> =
        (1..RANKS).map(|number| rank(&make, number, &server, EndDecisions::default())).collect();
    let sent: Vec<_> = parts.iter().flat_map(|part| part.sent.clone()).collect();
    let refused = |change: &dyn Fn(&mut Sent)| {
        let mut sent = sent.clone();
        change(&mut sent);
        let (outcome, _) = rank_0(&make, &server, sent, &SharedEnd::default(), None);
        let error = outcome.expect_err("a wrong message").to_string();
        let reason = error.split_once(" failed: ").map(|(_, reason)| reason.to_owned());
        reason.unwrap_or_else(|| panic!("{error}"))
    };
    let replace = |sent: &mut Sent, at: usize, from: &str, to: &str| {
        assert!(sent[at].1.contains(from), "{from} in {}", sent[at].1);
        sent[at].1 = sent[at].1.replacen(from, to, 1);
    };
    let done = parts[0].sent.len() - 1;
    let order = "its intervals do not follow each other";
    assert_eq!(refused(&|sent| drop(sent.remove(0))), order);
    assert_eq!(refused(&|sent| sent.insert(0, sent[0].clone())), order);
    assert_eq!(
        refused(&|sent| sent[0].0 = 9),
        "a message came from it, but this process has 4 ranks to serve"
    );
    let other = rank(
        &|| Plan { clients: 4, ..mix(&[("SELECT 1;", 1), ("SELECT 2;", 1)]) },
        1,
        &server,
        EndDecisions { end_ns: Some(500_000_000), ..EndDecisions::default() },
    );
    assert_eq!(
        refused(&|sent| sent[0] = other.sent[0].clone()),
        "one of its intervals cannot be used: the statistics are of 2 scripts, but the run has 1"
    );
    let sums = "one of its intervals cannot be used: the numbers of transactions do not add up";
    assert_eq!(refused(&|sent| replace(sent, 0, "\"succeeded\":", "\"succeeded\":1")), sums);
    let of_others = "its outcome is inconsistent: its transactions are not those of its intervals";
    let shorter = EndDecisions { end_ns: Some(500_000_000), ..EndDecisions::default() };
    let shorter = rank(&make, 1, &server, shorter).sent.pop().expect("an outcome");
    assert_eq!(refused(&|sent| sent[done] = shorter.clone()), of_others);
    let of_rank = "its outcome is inconsistent: it is of another rank, or of other clients";
    assert_eq!(refused(&|sent| replace(sent, done, "\"rank\":1", "\"rank\":2")), of_rank);
    let connections = "its outcome is inconsistent: it has more connections than are possible";
    let many = format!("\"reconnects\":{{\"count\":{}", u64::MAX);
    assert_eq!(refused(&|sent| replace(sent, done, "\"reconnects\":{\"count\":0", &many)), connections);
    let repeated = "it sent a message after its outcome";
    assert_eq!(refused(&|sent| sent.insert(done, sent[done].clone())), repeated);
}

#[test]
fn a_run_needs_a_client_for_each_rank_and_is_not_pgbench_s() {
    let refused = |plan: Plan| {
        let mut peers = Earlier(Vec::new());
        let driver = FakeServer::default().driver();
        let stop = AtomicBool::new(false);
        run_with_peers_on(&plan, driver, &stop, &mut |_| {}, &no_tracer, &mut peers).unwrap_err().to_string()
    };
    let part = Part { rank: 0, ranks: 4 };
    assert_eq!(
        refused(Plan { part, clients: 3, ..plan("SELECT 1;") }),
        "4 ranks need at least one client each, but -c is 3; raise -c or start fewer ranks"
    );
    let compatibility = Compatibility::Pgbench;
    let sentence = refused(Plan { part, clients: 4, compatibility, ..plan("SELECT 1;") });
    assert!(sentence.starts_with("pgbench's compatibility has one process only"), "{sentence}");
    let part = Part { rank: 4, ranks: 4 };
    assert!(
        refused(Plan { part, clients: 4, ..plan("SELECT 1;") }).starts_with("rank 4 of 4 does not exist")
    );
}
