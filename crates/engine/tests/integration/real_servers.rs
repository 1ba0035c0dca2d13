//! The client state machine against PostgreSQL, an old and a new version, to verify the assumptions of the fake
//! server. Results are checked in the tables.

use std::sync::atomic::AtomicBool;

use connect::{Environment, Overrides, Session, Transport, resolve};
use pgmeter_engine::{
    AbortCause, EventLoopChoice, HostPlan, Limit, Outcome, Plan, Protocol, ResultFormat, ScriptPlan,
    TargetPlan, no_tracer, run,
};
use script::{Dialect, Symbols};
use testkit::cluster::Cluster;
use testkit::extent::{choose, is_all};

const VERSIONS: [&str; 2] = ["9.6", "18"];
const PROTOCOLS: [Protocol; 3] = [Protocol::Simple, Protocol::Extended, Protocol::Prepared];

/// A separate database with two accounts and a table for results.
struct Bank {
    conninfo: String,
}

impl Bank {
    fn new(version: &str, name: &str) -> Self {
        let bank = Self { conninfo: Cluster::shared(version).database(name) };
        bank.session()
            .execute(
                "create table account (id int primary key, balance int not null); \
                 insert into account values (0, 0), (1, 0); \
                 create table found (what text, value text)",
            )
            .expect("tables");
        bank
    }

    fn session(&self) -> Session {
        Cluster::session(&self.conninfo)
    }

    /// The single value of a query.
    fn ask(&self, sql: &str) -> String {
        let rows = self.session().query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        rows[0].get(0).unwrap_or("NULL").to_owned()
    }

    fn empty(&self) {
        self.session().execute("truncate found; update account set balance = 0").expect("tables");
    }

    /// Ten transactions of this script by each of some clients.
    fn plan(&self, script: &str, clients: usize) -> Plan {
        let target =
            resolve(Some(&self.conninfo), &Overrides::default(), &Environment::default()).expect("a target");
        let address = target.addresses().expect("an address").remove(0);
        let startup = target.startup_parameters(target.host_of(&address));
        let mut symbols = Symbols::new();
        let program = script::parse("script.sql", script.as_bytes(), &mut symbols, Dialect::Extended);
        let program = program.unwrap_or_else(|error| panic!("{error}"));
        Plan {
            clients,
            seed: 42,
            ..Plan::new(
                vec![TargetPlan {
                    name: String::new(),
                    hosts: vec![HostPlan { address, transport: Transport::default(), startup }],
                }],
                vec![ScriptPlan { program, weight: 1, target: 0 }],
                symbols,
            )
        }
    }
}

fn finish(plan: &Plan) -> Outcome {
    run(plan, &AtomicBool::new(false), &mut |_| {}, &no_tracer).unwrap_or_else(|error| panic!("{error}"))
}

fn complete(plan: &Plan) -> Outcome {
    let outcome = finish(plan);
    assert_eq!(outcome.aborted, []);
    outcome
}

/// Reads a balance, waits until the others have read it too, and writes it back increased.
const SERIALIZABLE: &str = "\
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT balance + 1 AS increased FROM account WHERE id = 0 \\gset
\\sleep 2 ms
UPDATE account SET balance = :increased::int WHERE id = 0;
END;
";

#[test]
fn transactions_that_meet_on_one_row_are_tried_again_until_each_has_counted() {
    for version in Cluster::versions(VERSIONS) {
        let bank = Bank::new(version, "one_row");
        for protocol in PROTOCOLS {
            bank.empty();
            let outcome = complete(&Plan { protocol, max_tries: None, ..bank.plan(SERIALIZABLE, 4) });
            let counts = outcome.summary.total.counts;
            assert_eq!((counts.succeeded, counts.failed), (40, 0));
            assert!(counts.retries > 0, "they did not meet");
            assert_eq!(outcome.commands.of_script(0)[3].retries, counts.retries);
            assert_eq!(bank.ask("select balance from account where id = 0"), "40");
        }
    }
}

#[test]
fn without_another_try_they_fail_and_are_not_counted_twice() {
    let bank = Bank::new("18", "one_row_once");
    let counts = complete(&bank.plan(SERIALIZABLE, 4)).summary.total.counts;
    assert_eq!(counts.succeeded + counts.failures.serialization, 40);
    assert!(counts.failures.serialization > 0 && counts.retries == 0, "{counts:?}");
    assert_eq!(bank.ask("select balance from account where id = 0"), counts.succeeded.to_string());
}

#[test]
fn deadlocks_are_resolved_by_another_try() {
    let script = "\
\\set other 1 - :client_id
SET deadlock_timeout = '10ms';
BEGIN;
UPDATE account SET balance = balance + 1 WHERE id = :client_id;
\\sleep 5 ms
UPDATE account SET balance = balance + 1 WHERE id = :other;
END;
";
    for version in Cluster::versions(VERSIONS) {
        let bank = Bank::new(version, "deadlock");
        for protocol in PROTOCOLS {
            bank.empty();
            let outcome = complete(&Plan { protocol, max_tries: None, ..bank.plan(script, 2) });
            let counts = outcome.summary.total.counts;
            assert_eq!((counts.succeeded, counts.failed), (20, 0));
            assert!(counts.retries > 0, "they did not meet");
            assert_eq!(bank.ask("select sum(balance) from account"), "40");
        }
    }
}

#[test]
fn pipelines_do_what_their_commands_say_and_blocks_in_them_are_tried_again() {
    let script = "\
\\startpipeline
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT balance FROM account WHERE id = 0;
SELECT pg_sleep(0.002);
UPDATE account SET balance = balance + 1 WHERE id = 0;
END;
\\syncpipeline
UPDATE account SET balance = balance - 1 WHERE id = 1 AND :client_id < 0;
\\endpipeline
";
    for version in Cluster::versions(VERSIONS) {
        let bank = Bank::new(version, "pipelines");
        for protocol in [Protocol::Extended, Protocol::Prepared] {
            bank.empty();
            let outcome = complete(&Plan { protocol, max_tries: None, ..bank.plan(script, 4) });
            let counts = outcome.summary.total.counts;
            assert_eq!(counts.succeeded, 40);
            assert!(counts.retries > 0, "they did not meet");
            assert_eq!(outcome.commands.of_script(0)[8].retries, counts.retries);
            assert_eq!(bank.ask("select balance from account where id = 0"), "40");
        }
    }
}

#[test]
fn values_of_all_types_are_captured_as_texts_and_come_back_as_they_were() {
    let names = ["accent", "bool", "bytes", "int", "list", "nothing", "num", "text"];
    let select = "SELECT 1 AS int, -0.5 AS num, 'it' || chr(39) || 's' AS text, NULL AS nothing, true AS bool, \
                  '\\x00ff'::bytea AS bytes, ARRAY[1,2] AS list, chr(233) AS accent \\gset got_\n";
    for version in Cluster::versions(VERSIONS) {
        let bank = Bank::new(version, "types");
        for protocol in PROTOCOLS {
            bank.empty();
            let insert = |name: &&str| match protocol {
                Protocol::Simple => {
                    format!("INSERT INTO found VALUES ('{name}', $quote$:got_{name}$quote$);\n")
                }
                _ => format!("INSERT INTO found VALUES ('{name}', :got_{name});\n"),
            };
            let inserts: String = names.iter().map(insert).collect();
            let evaluate =
                "\\set twice 2 * :got_int\nINSERT INTO found VALUES ('twice', cast(:twice as text));\n";
            let script = format!("{select}{inserts}{evaluate}");
            complete(&Plan { protocol, limit: Limit::TransactionsPerClient(1), ..bank.plan(&script, 1) });
            assert_eq!(
                bank.ask("select string_agg(what || '=' || value, ' ' order by what) from found"),
                "accent=\u{e9} bool=t bytes=\\x00ff int=1 list={1,2} nothing= num=-0.5 text=it's twice=2"
            );
        }
    }
}

#[test]
fn results_of_a_combined_query_go_into_variables_each_for_itself() {
    let script = "\
SELECT 1 AS a UNION ALL SELECT 2 ORDER BY 1\\; SELECT 3 AS b WHERE false\\; UPDATE account SET balance = 0\\; \
SELECT 4 AS c \\aset
SELECT 5 AS d, 6 AS e \\gset
INSERT INTO found VALUES ('sum', (:a + :c + :d + :e)::text);
";
    for version in Cluster::versions(VERSIONS) {
        let bank = Bank::new(version, "combined");
        complete(&bank.plan(script, 1));
        assert_eq!(bank.ask("select count(*) || ' ' || min(value) from found where value = '17'"), "10 17");
    }
}

#[test]
fn an_error_fails_the_transaction_if_that_is_wanted_and_leaves_nothing_open() {
    let script = "\
BEGIN;
INSERT INTO found VALUES ('a', 'a');
SELECT 1 / (random() * 0)::int;
END;
";
    for version in Cluster::versions(VERSIONS) {
        let bank = Bank::new(version, "continue");
        for protocol in PROTOCOLS {
            let plan = Plan { protocol, continue_on_error: true, max_tries: None, ..bank.plan(script, 2) };
            let counts = complete(&plan).summary.total.counts;
            assert_eq!((counts.failures.other, counts.succeeded, counts.retries), (20, 0, 0));
            assert_eq!(bank.ask("select count(*) from found"), "0");
        }
    }
}

#[test]
fn what_a_script_may_not_do_ends_its_client() {
    for version in Cluster::versions(VERSIONS) {
        let bank = Bank::new(version, "refused");
        for protocol in PROTOCOLS {
            for (script, cause) in [
                ("SELECT id FROM account \\gset\n", AbortCause::RowCount { rows: 2 }),
                ("SELECT id FROM account WHERE id = 9 \\gset\n", AbortCause::RowCount { rows: 0 }),
                ("UPDATE account SET balance = 0 \\gset\n", AbortCause::RowCount { rows: 0 }),
                ("BEGIN;\nSELECT 1;\n", AbortCause::UnfinishedTransaction),
            ] {
                let outcome = finish(&Plan { protocol, ..bank.plan(script, 1) });
                assert_eq!(outcome.aborted[0].cause, cause, "{script}");
            }
        }
    }
}

#[test]
fn a_session_that_the_server_ends_within_a_pipeline_ends_its_client_with_the_servers_word() {
    let script = "\
\\startpipeline
SELECT 1;
SELECT pg_terminate_backend(pg_backend_pid());
SELECT 2;
\\endpipeline
";
    for version in Cluster::versions(VERSIONS) {
        let bank = Bank::new(version, "terminated");
        for protocol in [Protocol::Extended, Protocol::Prepared] {
            let outcome = finish(&Plan { protocol, ..bank.plan(script, 1) });
            let sentence = outcome.aborted[0].to_string();
            assert!(
                sentence.starts_with("client 0 aborted in command 4 (endpipeline) of script script.sql: ")
                    && sentence.ends_with("FATAL:  terminating connection due to administrator command"),
                "{sentence}"
            );
        }
    }
}

#[test]
fn a_row_of_many_megabytes_passes_through() {
    let megabytes = choose(30, 100);
    let bank = Bank::new("18", "long_row");
    let script = format!(
        "SELECT repeat('x', {megabytes} * 1000 * 1000);\nSELECT repeat('y', 1000 * 1000) AS y \\gset\nSELECT length(':y');\n"
    );
    let outcome = complete(&Plan { limit: Limit::TransactionsPerClient(1), ..bank.plan(&script, 1) });
    assert_eq!(outcome.summary.total.counts.succeeded, 1);
}

#[test]
fn settings_notices_and_notifications_in_mid_script_change_nothing() {
    let script = "\
LISTEN channel;
SET TimeZone = 'UTC';
NOTIFY channel, 'to myself';
DO $$ BEGIN RAISE WARNING 'mind the gap'; END $$;
SELECT 1;
";
    for version in Cluster::versions(VERSIONS) {
        let bank = Bank::new(version, "asides");
        for protocol in PROTOCOLS {
            let counts = complete(&Plan { protocol, ..bank.plan(script, 2) }).summary.total.counts;
            assert_eq!(counts.succeeded, 20);
        }
    }
}

#[test]
fn a_loop_inserts_its_rows_in_all_protocols_and_in_a_pipeline() {
    let script = "\
\\set i 0
BEGIN;
\\repeat 3
\\set i :i + 1
INSERT INTO found VALUES ('row', :i);
\\endrepeat
END;
";
    let pipelined = script.replace("BEGIN;", "\\startpipeline").replace("END;", "\\endpipeline");
    for version in Cluster::versions(VERSIONS) {
        let bank = Bank::new(version, "loops");
        for (protocol, script) in PROTOCOLS
            .map(|protocol| (protocol, script))
            .into_iter()
            .chain([(Protocol::Extended, &*pipelined), (Protocol::Prepared, &*pipelined)])
        {
            bank.empty();
            complete(&Plan { protocol, ..bank.plan(script, 2) });
            let rows = bank.ask(
                "select string_agg(value || ' ' || n, ', ' order by value) from \
                 (select value, count(*) as n from found group by value) as counted",
            );
            assert_eq!(rows, "1 20, 2 20, 3 20", "{protocol:?}");
        }
    }
}

#[test]
fn strings_and_nulls_arrive_in_all_protocols() {
    let script = "\
\\set word random_string(5, 5, 'ab')
\\set colour random_element('red,blue')
SELECT NULL AS a, '' AS b, 'text' AS c \\gset_null n_
INSERT INTO found VALUES (<word>, <colour>);
INSERT INTO found VALUES ('null', :n_a), ('empty', <n_b>), ('text', <n_c>);
";
    for version in Cluster::versions(VERSIONS) {
        let bank = Bank::new(version, "strings");
        for protocol in PROTOCOLS {
            bank.empty();
            // A simple query contains the value as it is.
            let is_simple = protocol == Protocol::Simple;
            let (open, close) = if is_simple { ("':", "'") } else { (":", "") };
            let script = script.replace('<', open).replace('>', close);
            complete(&Plan { protocol, ..bank.plan(&script, 2) });
            let count = |condition: &str| bank.ask(&format!("select count(*) from found where {condition}"));
            assert_eq!(count("what ~ '^[ab]{5}$' and value in ('red', 'blue')"), "20", "{protocol:?}");
            assert_eq!(count("what = 'null' and value is null"), "20", "{protocol:?}");
            assert_eq!(count("what = 'empty' and value = ''"), "20", "{protocol:?}");
            assert_eq!(count("what = 'text' and value = 'text'"), "20", "{protocol:?}");
        }
    }
}

#[test]
fn a_later_row_replaces_a_null() {
    let script = "\
SELECT NULL::int AS x \\; SELECT 7 AS x \\aset_null
INSERT INTO found VALUES ('first', :x);
SELECT 8 AS x \\; SELECT NULL::int AS x \\aset_null
INSERT INTO found VALUES ('second', :x);
SELECT NULL::int AS x \\gset
INSERT INTO found VALUES ('third', ':x');
";
    let bank = Bank::new("18", "later_null");
    complete(&Plan { limit: Limit::TransactionsPerClient(1), ..bank.plan(script, 1) });
    let rows =
        bank.ask("select string_agg(what || coalesce('=' || value, ' null'), ', ' order by what) from found");
    assert_eq!(rows, "first=7, second null, third=");
}

#[test]
fn results_are_binary_except_those_that_are_stored() {
    // The type aclitem has no binary format, so the server's error shows which format was requested.
    let (sent, stored) = ("SELECT '=r/postgres'::aclitem;\n", "SELECT '=r/postgres'::aclitem AS x \\gset\n");
    for version in Cluster::versions(VERSIONS) {
        let bank = Bank::new(version, "binary_results");
        for protocol in [Protocol::Extended, Protocol::Prepared] {
            for (result_format, script, is_refused) in [
                (ResultFormat::Text, sent, false),
                (ResultFormat::Binary, sent, true),
                (ResultFormat::Binary, stored, false),
                (
                    ResultFormat::Binary,
                    "SELECT id, balance FROM account;\nSELECT 1 AS x \\gset\nSELECT :x::int;\n",
                    false,
                ),
            ] {
                let outcome = finish(&Plan { protocol, result_format, ..bank.plan(script, 1) });
                let refusals = outcome.aborted.iter().filter(|aborted| {
                    aborted.to_string().contains("no binary output function available for type aclitem")
                });
                assert_eq!(refusals.count(), usize::from(is_refused), "{version} {protocol:?} {script}");
                assert_eq!(outcome.aborted.len(), usize::from(is_refused), "{:?}", outcome.aborted);
            }
        }
    }
}

const COPIED: &str = "\\
\\set colour 'green\tone'
COPY found (what, value) FROM STDIN;
\\copy_rows 2000 (random_string(10, 30, 'ab\\é'), :colour)
COPY found FROM STDIN WITH (FORMAT csv);
\\copy_rows 0 (1, 2)
COPY (SELECT * FROM found LIMIT 100) TO STDOUT;
";

#[test]
fn copied_rows_arrive_in_all_protocols_with_both_event_loops() {
    for version in Cluster::versions(VERSIONS) {
        let bank = Bank::new(version, "copies");
        for (protocol, event_loop) in PROTOCOLS
            .into_iter()
            .flat_map(|protocol| [(protocol, EventLoopChoice::Epoll), (protocol, EventLoopChoice::Auto)])
        {
            bank.empty();
            let limit = Limit::TransactionsPerClient(2);
            let outcome = complete(&Plan { protocol, event_loop, limit, ..bank.plan(COPIED, 2) });
            let copied = outcome.commands.of_script(0).iter().map(|command| command.copied.rows);
            assert_eq!(copied.collect::<Vec<_>>(), [0, 8_000, 0, 400], "{protocol:?}");
            let rows = "select count(*) || ' ' || count(distinct what) || ' ' || min(value) || ' ' || \
                        bool_and(what ~ '^[abé\\\\]{10,30}$') from found";
            let rows = bank.ask(rows);
            let [count, distinct, value, fit] = rows.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{rows}")
            };
            assert_eq!((count, value, fit), ("8000", "green\tone", "true"), "{protocol:?}");
            assert!(distinct.parse::<u32>().unwrap() > 7_700, "{distinct}");
            let sizes = outcome.commands.of_script(0)[1].copied.bytes / 8_000;
            assert!((20..60).contains(&sizes), "{sizes} bytes of a row");
        }
    }
}

#[test]
fn an_error_in_the_middle_of_a_copy_fails_the_transaction_and_the_client_continues() {
    // The second is refused after the server has asked for rows and before it has read any.
    let late = "COPY account FROM STDIN;\n\\copy_rows 60000 (:copy_row * 500000, 1)\n";
    let early = "COPY shown FROM STDIN;\n\\copy_rows 60000 (:copy_row)\n";
    let missing = "COPY missing FROM STDIN;\n\\copy_rows 60000 (:copy_row)\n";
    for version in Cluster::versions(VERSIONS) {
        let bank = Bank::new(version, "failing_copies");
        bank.session().execute("create view shown as select id from account").expect("a view");
        let mut combinations = 0;
        for (script, reason) in [
            (late, "integer"),
            (early, "cannot copy to view \"shown\""),
            (missing, "relation \"missing\" does not exist"),
        ] {
            for protocol in PROTOCOLS {
                for event_loop in [EventLoopChoice::Epoll, EventLoopChoice::Auto] {
                    // Each script and each protocol is with both event loops, though not each combination.
                    combinations += 1;
                    if combinations % 4 >= 2 && !is_all() {
                        continue;
                    }
                    let script = format!("{script}UPDATE account SET balance = balance + 1 WHERE id = 1;\n");
                    let limit = Limit::TransactionsPerClient(2);
                    let plan = Plan { protocol, event_loop, limit, ..bank.plan(&script, 2) };
                    let aborted = &finish(&plan).aborted;
                    assert_eq!(aborted.len(), 2);
                    assert!(aborted[0].to_string().contains(reason), "{}", aborted[0]);
                    let counts = complete(&Plan { continue_on_error: true, ..plan }).summary.total.counts;
                    assert_eq!((counts.succeeded, counts.failed), (0, 4), "{protocol:?} {script}");
                }
            }
        }
        assert_eq!(bank.ask("select sum(balance) || ' ' || count(*) from account"), "0 2");
    }
}

#[test]
fn a_copy_in_a_transaction_that_fails_is_repeated_with_the_same_rows() {
    let script = "\\
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT balance + 1 AS increased FROM account WHERE id = 0 \\gset
COPY found FROM STDIN;
\\copy_rows 500 (:copy_row, random(1, 1000000000))
UPDATE account SET balance = :increased::int WHERE id = 0;
END;
";
    for version in Cluster::versions(VERSIONS) {
        let bank = Bank::new(version, "repeated_copies");
        for protocol in PROTOCOLS {
            bank.empty();
            let outcome = complete(&Plan { protocol, max_tries: None, ..bank.plan(script, 4) });
            assert_eq!(outcome.summary.total.counts.succeeded, 40);
            assert_eq!(bank.ask("select balance from account where id = 0"), "40");
            let counts =
                bank.ask("select count(*) || ' ' || count(distinct value) from found where what = '7'");
            assert_eq!(counts, "40 40", "each transaction has rows of its own");
            assert_eq!(bank.ask("select count(*) from found"), "20000");
        }
    }
}
