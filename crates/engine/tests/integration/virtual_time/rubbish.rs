//! A server that sends random bytes: the run ends without panic, no transaction is lost, and clients on other
//! connections are unaffected.

use pgmeter_engine::{End, Limit, Plan, Protocol};
use proptest::prelude::*;
use testkit::extent::choose;
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger, Pieces};

use super::support::{at_ms, fault, faulty, ms, plan, run_until, seconds, try_run, us};

/// A block, a captured row, and a pipeline, which only works where there is a Sync.
const SCRIPTS: [&str; 3] = [
    "BEGIN;\nSELECT :client_id;\nEND;\n",
    "BEGIN;\nSELECT 1 AS a \\gset\n\\set b :a + 1\nEND;\n",
    "\\startpipeline\nBEGIN;\nSELECT 1;\n\\syncpipeline\nEND;\n\\endpipeline\nSELECT 2;\n",
];

fn scripts() -> impl Strategy<Value = (Protocol, &'static str)> {
    let fits = |(protocol, script): &(Protocol, usize)| *protocol != Protocol::Simple || *script != 2;
    let numbered = (protocols(), 0..SCRIPTS.len()).prop_filter("a pipeline needs a Sync", fits);
    numbered.prop_map(|(protocol, script)| (protocol, SCRIPTS[script]))
}

fn protocols() -> impl Strategy<Value = Protocol> {
    prop_oneof![Just(Protocol::Simple), Just(Protocol::Extended), Just(Protocol::Prepared)]
}

fn moments() -> impl Strategy<Value = FaultTrigger> {
    prop_oneof![
        1 => Just(FaultTrigger::StartUp),
        4 => (0_u64..50).prop_map(FaultTrigger::Statement),
        2 => (0_u64..3).prop_map(FaultTrigger::Parse),
        4 => (0_u64..120).prop_map(|ms| FaultTrigger::Time(at_ms(ms))),
    ]
}

/// Bytes that are random, or begin like a message with a valid or invalid length.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let types = prop::sample::select(b"RSKZCEINTDt123nsGHWAVvcd".to_vec());
    let message =
        (types, 0_u32..64, prop::collection::vec(any::<u8>(), 0..64)).prop_map(|(tag, length, body)| {
            let mut bytes = vec![tag];
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend(body);
            bytes
        });
    let messages = prop::collection::vec(message, 1..4).prop_map(|messages| messages.concat());
    prop_oneof![prop::collection::vec(any::<u8>(), 1..200), messages]
}

fn faults() -> impl Strategy<Value = FaultEffect> {
    prop_oneof![
        bytes().prop_map(FaultEffect::Rubbish),
        bytes().prop_map(FaultEffect::Say),
        (0_usize..120).prop_map(FaultEffect::Truncate),
        Just(FaultEffect::LastAnswer { sqlstate: "57P01".to_owned(), message: "good-bye".to_owned() }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: choose(64, 256), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_server_sends_the_run_ends_and_the_others_go_on(
        (protocol, script) in scripts(),
        forgiving in any::<bool>(),
        trigger in moments(),
        effect in faults(),
        longest in 1_u64..100,
        seed in any::<u64>(),
    ) {
        let limit = Limit::Duration(ms(100));
        let plan = Plan { clients: 2, protocol, limit, connect_timeout: seconds(1), ..plan(script) };
        let max_tries = if forgiving { None } else { plan.max_tries };
        let plan = Plan { max_tries, continue_on_error: forgiving, ..plan };
        let pieces = Pieces::Random { longest, gap: us(2) };
        let faults = vec![fault(1, trigger.clone(), effect)];
        let server = FakeServer { seed, pieces, faults, ..FakeServer::default() };
        match try_run(&plan, server, seconds(2)) {
            Ok(ran) => {
                prop_assert!(ran.outcome.aborted.iter().all(|aborted| aborted.client == 1));
                prop_assert_ne!(ran.outcome.end, End::AllClientsAborted);
                prop_assert!(ran.log.statements_of(0).len() > 40, "client 0 was held up");
            }
            Err(error) => {
                let sentence = error.to_string();
                prop_assert!(sentence.contains("connection for client 1"), "{}", sentence);
            }
        }
    }
}

#[test]
fn rubbish_ends_its_client_with_a_sentence() {
    let rubbish = FaultEffect::Rubbish(b"\x00\xff\x00\xff\x00\xff\x00\xff".to_vec());
    let plan = Plan { limit: Limit::Duration(seconds(1)), clients: 2, ..plan("SELECT 1;") };
    let ran = run_until(&plan, faulty(vec![fault(1, FaultTrigger::Statement(3), rubbish)]), seconds(3));
    assert_eq!(
        ran.aborted(),
        [(
            1,
            "client 1 aborted in command 0 (SQL) of script script-0.sql: the server violated PostgreSQL's protocol: unknown message type byte 0x00"
        )]
    );
    assert_eq!((ran.outcome.end.clone(), ran.counts().unfinished), (End::Complete, 1));
}
