//! Tokens of transactions that write: their messages, and what the tracer is told of each commit and when.
//! Without sockets and files: the tracer is a list.

use std::num::NonZeroU32;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use pgmeter_engine::{
    CommitEvent, CommitReply, End, Limit, Outcome, Plan, Protocol, Token, TokenPlan, TokenRole, Tracer,
    run_on,
};
use testkit::extent::{choose, is_all};
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger, Received};
use wire::SqlState;

use super::disconnects::returning;
use super::support::{at_ms, fault, faulty, ms, plan, slow};

/// What the tracer was told, in order.
#[derive(Clone, Debug, PartialEq)]
enum Told {
    Sending(Token),
    Flush,
    Ended(Token, CommitReply),
}

#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<Told>>>);

/// Notes everything; after some flushes the disk is full.
struct Noting {
    notes: Notes,
    flushes_left: usize,
}

impl Notes {
    fn all(&self) -> Vec<Told> {
        self.0.lock().expect("no panic").clone()
    }

    fn add(&self, told: Told) {
        self.0.lock().expect("no panic").push(told);
    }

    fn replies(&self) -> Vec<(Token, CommitReply)> {
        let reply = |told| if let Told::Ended(token, reply) = told { Some((token, reply)) } else { None };
        self.all().into_iter().filter_map(reply).collect()
    }
}

impl Tracer for Noting {
    fn wants_transactions(&self) -> bool {
        false
    }

    fn commit(&mut self, event: &CommitEvent) {
        self.notes.add(match *event {
            CommitEvent::Sending { token, began, now } => {
                assert!(began <= now);
                Told::Sending(token)
            }
            CommitEvent::Ended { token, reply, .. } => Told::Ended(token, reply),
        });
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let left = self.flushes_left.checked_sub(1).ok_or(std::io::ErrorKind::StorageFull)?;
        self.flushes_left = left;
        self.notes.add(Told::Flush);
        Ok(())
    }
}

/// A plan with a script of one statement that writes.
fn writing(transactions: u64) -> Plan {
    let tokens =
        TokenPlan { insert: "INSERT INTO tokens VALUES ".to_owned(), roles: vec![vec![TokenRole::Write]] };
    let limit = Limit::TransactionsPerClient(transactions);
    Plan { limit, tokens: Some(tokens), ..plan("UPDATE t SET a = 1;") }
}

/// Runs the plan; returns the outcome, the notes, and the statements that the server received.
fn run(plan: &Plan, server: FakeServer, flushes: usize) -> (Outcome, Notes, Vec<String>) {
    let driver = server.driver();
    let log = driver.log();
    let notes = Notes::default();
    let tracer = |_| -> Box<dyn Tracer> { Box::new(Noting { notes: notes.clone(), flushes_left: flushes }) };
    let stop = AtomicBool::new(false);
    let outcome = run_on(plan, driver, &stop, &mut |_| {}, &tracer).expect("an outcome");
    let statements = log.statements().into_iter().map(|(_, _, text)| text).collect();
    (outcome, notes, statements)
}

fn token(sequence: u64, tries: u32) -> Token {
    Token { client: 0, sequence, part: 1, tries }
}

#[test]
fn a_token_is_in_the_message_of_its_statement_and_is_noted_before() {
    let (_, notes, statements) = run(&writing(2), slow(), usize::MAX);
    assert_eq!(
        statements,
        [
            "UPDATE t SET a = 1;\n;INSERT INTO tokens VALUES (0,1,1,1)",
            "UPDATE t SET a = 1;\n;INSERT INTO tokens VALUES (0,2,1,1)"
        ]
    );
    let acknowledged = CommitReply::Acknowledged;
    assert_eq!(
        notes.all(),
        [
            Told::Sending(token(1, 1)),
            Told::Flush,
            Told::Ended(token(1, 1), acknowledged),
            Told::Sending(token(2, 1)),
            Told::Flush,
            Told::Ended(token(2, 1), acknowledged)
        ]
    );
}

#[test]
fn prepared_tokens_are_parsed_once() {
    let plan = Plan { protocol: Protocol::Prepared, ..writing(3) };
    let driver = slow().driver();
    let log = driver.log();
    run_on(&plan, driver, &AtomicBool::new(false), &mut |_| {}, &pgmeter_engine::no_tracer)
        .expect("an outcome");
    let messages = log.messages(0);
    let parsed =
        messages.iter().filter(|it| matches!(it, Received::Parse { name, .. } if name == "pgmeter_token"));
    assert_eq!(parsed.count(), 1);
    let bound: Vec<_> = messages
        .iter()
        .filter_map(|message| match message {
            Received::Bind { statement, parameters } if statement == "pgmeter_token" => {
                Some(parameters.clone())
            }
            _ => None,
        })
        .collect();
    let values = |sequence: u64| [0, sequence, 1, 1].map(|value| Some(value.to_string())).to_vec();
    assert_eq!(bound, [values(1), values(2), values(3)]);
}

#[test]
fn a_lost_connection_leaves_its_commit_in_doubt() {
    let faults = vec![fault(0, FaultTrigger::Statement(1), FaultEffect::Close)];
    let (outcome, notes, _) = run(&writing(5), faulty(faults), usize::MAX);
    assert_eq!(outcome.aborted.len(), 1);
    let doubt = CommitReply::Unknown(None);
    assert_eq!(notes.replies(), [(token(1, 1), CommitReply::Acknowledged), (token(2, 1), doubt)]);
}

#[test]
fn a_refused_try_and_the_next_one_have_tokens_of_their_own() {
    let faults = vec![fault(0, FaultTrigger::Statement(1), FaultEffect::error("40001", "no"))];
    let plan = Plan { max_tries: NonZeroU32::new(3), ..writing(2) };
    let (_, notes, _) = run(&plan, faulty(faults), usize::MAX);
    let refused = CommitReply::Refused(SqlState::SERIALIZATION_FAILURE);
    let (one, again) = ((token(1, 1), CommitReply::Acknowledged), (token(2, 2), CommitReply::Acknowledged));
    assert_eq!(notes.replies(), [one, (token(2, 1), refused), again]);
}

#[test]
fn an_error_that_leaves_it_open_is_a_doubt() {
    let faults = vec![fault(0, FaultTrigger::Statement(0), FaultEffect::error("40003", "perhaps"))];
    let plan = Plan { continue_on_error: true, ..writing(1) };
    let (_, notes, _) = run(&plan, faulty(faults), usize::MAX);
    let state = SqlState::from_bytes(b"40003");
    assert_eq!(notes.replies(), [(token(1, 1), CommitReply::Unknown(state))]);
}

#[test]
fn commits_of_one_pass_are_noted_together_and_each_before_it_is_sent() {
    let plan = Plan { clients: 8, ..writing(20) };
    let (_, notes, statements) = run(&plan, slow(), usize::MAX);
    assert_eq!(statements.len(), 160);
    let all = notes.all();
    let flushes = all.iter().filter(|told| **told == Told::Flush).count();
    assert!(flushes < 160, "{flushes} flushes");
    // Each commit is noted, then flushed, then ended.
    for token in notes.replies().into_iter().map(|(token, _)| token) {
        let at = |wanted: &dyn Fn(&Told) -> bool| all.iter().position(wanted).expect("it was told");
        let sent = at(&|told| *told == Told::Sending(token));
        let ended = at(&|told| matches!(told, Told::Ended(other, _) if *other == token));
        assert!(all[sent..ended].contains(&Told::Flush), "{token:?}");
    }
}

#[test]
fn a_commit_that_cannot_be_noted_is_not_sent_and_the_run_ends() {
    let plan = Plan { clients: 4, ..writing(1000) };
    let (outcome, notes, statements) = run(&plan, slow(), 5);
    let all = notes.all();
    let last = all.iter().rposition(|told| *told == Told::Flush).expect("some were noted");
    let noted = all[..last].iter().filter(|told| matches!(told, Told::Sending(_))).count();
    assert_eq!(statements.len(), noted);
    assert_eq!(outcome.aborted.len(), 4);
    assert!(
        outcome.aborted[0].to_string().contains("the journal cannot be written"),
        "{}",
        outcome.aborted[0]
    );
    assert!(!matches!(outcome.end, End::Interrupted), "{:?}", outcome.end);
}

#[test]
fn a_client_that_connects_again_goes_on_with_the_next_token() {
    let faults = vec![fault(0, FaultTrigger::Statement(1), FaultEffect::Close)];
    let plan = returning("immediate", writing(4));
    let (outcome, notes, statements) = run(&plan, faulty(faults), usize::MAX);
    assert_eq!((outcome.aborted.len(), statements.len()), (0, 4));
    let acknowledged = |sequence| (token(sequence, 1), CommitReply::Acknowledged);
    let doubt = (token(2, 1), CommitReply::Unknown(None));
    assert_eq!(notes.replies(), [acknowledged(1), doubt, acknowledged(3), acknowledged(4)]);
}

/// A block with a token, and a pipeline that ends a transaction.
const BLOCK: (&str, &[TokenRole]) =
    ("BEGIN;\nUPDATE t SET a = 1;\nCOMMIT;\n", &[TokenRole::Begin, TokenRole::Write, TokenRole::Commit]);
const ALONE: (&str, &[TokenRole]) = ("UPDATE t SET a = 1;\n", &[TokenRole::Write]);
const PIPELINE: (&str, &[TokenRole]) = (
    "\\startpipeline\nBEGIN;\nUPDATE t SET a = 1;\nCOMMIT;\n\\endpipeline\n",
    &[TokenRole::Nothing, TokenRole::Begin, TokenRole::Write, TokenRole::Commit, TokenRole::Nothing],
);

/// A plan with this script, whose clients connect again and go on after errors.
fn going_on((text, roles): (&str, &[TokenRole]), protocol: Protocol, transactions: u64) -> Plan {
    let tokens = TokenPlan { insert: "INSERT INTO tokens VALUES ".to_owned(), roles: vec![roles.to_vec()] };
    let limit = Limit::TransactionsPerClient(transactions);
    let plan = Plan { limit, tokens: Some(tokens), protocol, continue_on_error: true, ..plan(text) };
    returning("immediate", plan)
}

#[test]
fn a_commit_that_was_not_sent_is_refused_in_the_journal_and_failed_in_the_sample() {
    let gone = |sqlstate: &str| FaultEffect::LastAnswer {
        sqlstate: sqlstate.to_owned(),
        message: "good-bye".to_owned(),
    };
    let faults = vec![fault(0, FaultTrigger::Statement(1), gone("57P01"))];
    let (outcome, notes, _) = run(&going_on(BLOCK, Protocol::Simple, 2), faulty(faults), usize::MAX);
    let counts = outcome.summary.total.counts;
    assert_eq!((counts.succeeded, counts.failures.connection, counts.unknown), (1, 1, 0));
    let refused = CommitReply::Refused(SqlState::ADMIN_SHUTDOWN);
    assert_eq!(notes.replies(), [(token(1, 1), refused), (token(2, 1), CommitReply::Acknowledged)]);
}

#[test]
fn a_shutdown_in_reply_to_a_commit_leaves_it_in_doubt_and_an_earlier_one_does_not() {
    for sqlstate in ["57P01", "57P02"] {
        for (statement, script, doubts) in [(1, BLOCK, 0), (2, BLOCK, 1), (0, ALONE, 1)] {
            for reconnecting in [true, false] {
                let effect = FaultEffect::error(sqlstate, "terminating connection");
                let faults = vec![fault(0, FaultTrigger::Statement(statement), effect)];
                let mut plan = going_on(script, Protocol::Simple, 2);
                plan.reconnecting = plan.reconnecting.filter(|_| reconnecting);
                let (outcome, notes, _) = run(&plan, faulty(faults), usize::MAX);
                let counts = outcome.summary.total.counts;
                assert_eq!((counts.succeeded, counts.failed, counts.unknown), (1, 1 - doubts, doubts));
                let state = SqlState::from_bytes(sqlstate.as_bytes());
                let in_doubt =
                    notes.replies().iter().filter(|(_, it)| *it == CommitReply::Unknown(state)).count();
                assert_eq!(in_doubt as u64, doubts, "{sqlstate} at {statement}");
            }
        }
    }
}

/// Counts of the journal: confirmed, unknown, refused.
fn journal_counts(notes: &Notes) -> [u64; 3] {
    let mut counts = [0; 3];
    for (_, reply) in notes.replies() {
        counts[match reply {
            CommitReply::Acknowledged | CommitReply::Reserved => 0,
            CommitReply::Unknown(_) => 1,
            CommitReply::Refused(_) => 2,
        }] += 1;
    }
    counts
}

/// Runs a plan of one commit per transaction: each commit of the journal has the ending of its transaction in the record.
/// `before_commit`: the fault is an unknown ending also of transactions that have not sent their commit.
fn check_counts(plan: &Plan, server: FakeServer, before_commit: bool, place: &str) -> [u64; 3] {
    let (outcome, notes, _) = run(plan, server, usize::MAX);
    let counts = outcome.summary.total.counts;
    let [confirmed, unknown, refused] = journal_counts(&notes);
    let sent = notes.all().iter().filter(|told| matches!(told, Told::Sending(_))).count() as u64;
    assert_eq!(confirmed + unknown + refused, sent, "{place}");
    assert_eq!(counts.succeeded + counts.unknown + counts.failed, counts.scheduled, "{place}");
    let not_sent = counts.scheduled - sent;
    let unknown_before = if before_commit { counts.unknown.saturating_sub(unknown).min(not_sent) } else { 0 };
    assert_eq!((confirmed, unknown), (counts.succeeded, counts.unknown - unknown_before), "{place}");
    assert_eq!(refused, counts.failed - (not_sent - unknown_before), "{place}");
    [confirmed, unknown, refused]
}

fn add(sums: &mut [u64; 3], counts: [u64; 3]) {
    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
}

const LOADS: [(Protocol, (&str, &[TokenRole])); 8] = [
    (Protocol::Simple, BLOCK),
    (Protocol::Extended, BLOCK),
    (Protocol::Prepared, BLOCK),
    (Protocol::Simple, ALONE),
    (Protocol::Extended, ALONE),
    (Protocol::Prepared, ALONE),
    (Protocol::Extended, PIPELINE),
    (Protocol::Prepared, PIPELINE),
];

#[test]
fn the_counts_of_the_journal_and_of_the_record_add_up_after_each_fault_of_a_statement() {
    let effects = || {
        let errors = ["40001", "40003", "08007", "57P01", "57P02", "25006", "23505"];
        let errors = errors.into_iter().map(|sqlstate| FaultEffect::error(sqlstate, "an error"));
        let ends = [
            FaultEffect::Close,
            FaultEffect::Reset,
            FaultEffect::Truncate(3),
            FaultEffect::fatal("57P01", "terminating connection"),
            FaultEffect::fatal("25006", "read-only"),
            FaultEffect::LastAnswer { sqlstate: "57P02".to_owned(), message: "good-bye".to_owned() },
        ];
        errors.chain(ends)
    };
    let mut sums = [0; 3];
    for (protocol, script) in LOADS {
        // The second transaction and the commit before it, or all three.
        let length = if script.0 == ALONE.0 { 1 } else { 3 };
        let statements = if is_all() { 0..3 * length } else { length - 1..2 * length };
        for (effect, statement) in effects().flat_map(|it| statements.clone().map(move |at| (it.clone(), at)))
        {
            let place = format!("{protocol:?}, {effect:?} at {statement} of {}", script.0);
            let is_unknown_anywhere = matches!(&effect, FaultEffect::Error { sqlstate, .. } if ["40003", "08007"].contains(&&**sqlstate));
            let faults = vec![fault(0, FaultTrigger::Statement(statement), effect)];
            let plan = going_on(script, protocol, 3);
            add(&mut sums, check_counts(&plan, faulty(faults), is_unknown_anywhere, &place));
        }
    }
    assert!(sums.iter().all(|sum| *sum > 50), "{sums:?}");
}

/// The server closes the connection at any time, so that some commits find it closed when they are sent.
#[test]
fn the_counts_of_the_journal_and_of_the_record_add_up_after_a_loss_at_any_time() {
    let mut sums = [0; 3];
    let step = choose(4, 1);
    for (number, (protocol, script)) in (0_u64..).zip(LOADS) {
        // Together the loads have every time.
        let times = 20 + number % step..60;
        for (effect, at) in
            [FaultEffect::Close, FaultEffect::Reset, FaultEffect::fatal("57P01", "going down")]
                .into_iter()
                .flat_map(|it| {
                    times
                        .clone()
                        .step_by(usize::try_from(step).expect("small"))
                        .map(move |at| (it.clone(), at))
                })
        {
            let place = format!("{protocol:?}, {effect:?} after {at} ms of {}", script.0);
            let faults = vec![fault(0, FaultTrigger::Time(at_ms(at)), effect)];
            let server = FakeServer { network_delay: ms(3), ..faulty(faults) };
            add(&mut sums, check_counts(&going_on(script, protocol, 3), server, false, &place));
        }
    }
    assert!(sums.iter().all(|sum| *sum > 20), "{sums:?}");
}
