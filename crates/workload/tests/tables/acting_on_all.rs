//! Objects that act on more than the workload's own tables, such as default privileges: the user learns of them before they
//! are committed, whichever kind of folder creates them.

use std::ops::ControlFlow;

use connect::Session;
use pgmeter_workload::{InitOptions, InitProgress, Workload};
use testkit::cluster::Cluster;
use testkit::extent;

use crate::generated::{folder, open, scaled};
use crate::harmless_steps::steps;
use crate::harness::{NEWEST, OLDEST, lines, target};

/// The sentences about new objects, each with what another session sees of them then.
fn told(own: &dyn Workload, conninfo: &str, options: &InitOptions, seen: &str) -> Vec<(String, String)> {
    let mut session = Cluster::session(conninfo);
    let mut other: Session = Cluster::session(conninfo);
    let mut told = Vec::new();
    own.load(&target(&mut session), &mut session, options, &mut |progress| {
        if let InitProgress::Found(sentence) = progress {
            told.push((sentence.to_owned(), lines(&mut other, seen).join(" ")));
        }
        ControlFlow::Continue(())
    })
    .expect("it is loaded");
    told
}

/// The same of a load that may fail, without what is seen.
fn sentences(own: &dyn Workload, session: &mut Session) -> Vec<String> {
    let mut told = Vec::new();
    let _ = own.load(&target(session), session, &InitOptions::default(), &mut |progress| {
        if let InitProgress::Found(sentence) = progress {
            told.push(sentence.to_owned());
        }
        ControlFlow::Continue(())
    });
    told
}

const EVENT_TRIGGERS: &str = "select count(*) from pg_event_trigger";
const DEFAULT_PRIVILEGES: &str = "select count(*) from pg_default_acl";
const CHANGED: &str = "the loading changes the default privileges for role postgres on tables: objects that the role \
    creates later have other privileges, also those of others; a later init does not restore them";

#[test]
fn new_objects_that_act_on_all_tables_are_named_once_and_before_the_commit() {
    let sql = "create function stop() returns event_trigger language plpgsql as 'begin end'; \
               create event trigger stops on ddl_command_start execute procedure stop();";
    let own = steps(true, &[sql, "select 1"]);
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let conninfo = Cluster::shared(major).database("acting");
        let expected = "the loading creates the event trigger stops, which can act on all tables of this database; a later \
                        init does not drop it";
        let told = told(&own, &conninfo, &InitOptions::default(), EVENT_TRIGGERS);
        assert_eq!(told, [(expected.to_owned(), "0".to_owned())], "{major}");
    }
}

#[test]
fn default_privileges_of_a_step_or_a_schema_are_named_before_the_commit() {
    let change = "alter default privileges grant select on tables to public;";
    let from_schema = folder(&format!("create table t (id int primary key); {change}"), &[]);
    let after_rows = folder(
        &format!(
            "create table t (id int); alter table t add primary key (id); {change} create index on t (id);"
        ),
        &[],
    );
    let workloads: [&dyn Workload; 3] = [&steps(true, &[change]), &open(&from_schema), &open(&after_rows)];
    for major in Cluster::versions([NEWEST, OLDEST]) {
        for (number, own) in workloads.iter().enumerate() {
            for &drops in extent::choose(&[number == 1][..], &[false, true]) {
                let conninfo = Cluster::shared(major).database("default_privileges");
                let options = if number == 0 { InitOptions::default() } else { scaled(10.0) };
                let options = InitOptions { drops, ..options };
                let told = told(*own, &conninfo, &options, DEFAULT_PRIVILEGES);
                let sentences: Vec<&str> = told.iter().map(|(sentence, _)| sentence.as_str()).collect();
                assert_eq!(sentences, [CHANGED], "{major}, workload {number}");
                // The message of a parallel connection may arrive later.
                assert!(number == 2 || told[0].1 == "0", "{major}, workload {number}: {told:?}");
                let told = self::told(*own, &conninfo, &options, DEFAULT_PRIVILEGES);
                assert_eq!(told, [], "{major}, workload {number}: nothing is new");
            }
        }
    }
}

/// No rollback drops a slot or brings it back.
#[test]
fn new_and_dropped_replication_slots_are_named_also_after_an_error() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let cluster = Cluster::start_with(major, &[("wal_level", "replica"), ("max_replication_slots", "4")]);
        let mut session = Cluster::session(&cluster.database("slots"));
        let new = "since the loading began, there is the replication slot one, which keeps WAL until it is dropped; a later init \
                   does not drop it";
        let create = "select pg_create_physical_replication_slot('one'); select 1 / 0;";
        assert_eq!(sentences(&steps(true, &[create]), &mut session), [new], "{major}");
        assert_eq!(sentences(&steps(true, &["select 1"]), &mut session), [""; 0], "{major}");
        let dropped = "the replication slot one was dropped after the loading began";
        let drop = "select pg_drop_replication_slot('one');";
        assert_eq!(sentences(&steps(true, &[drop]), &mut session), [dropped], "{major}");
    }
}
