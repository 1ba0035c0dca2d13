//! Locks on the tables of a workload that other sessions hold during a loading: the loading waits for them in short tries, so that
//! the statements of others do not wait behind it. On the oldest and the newest server.

use std::ops::ControlFlow;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use connect::Session;
use pgmeter_workload::{InitOptions, InitProgress, Tpcb, Workload, WorkloadError};
use testkit::cluster::Cluster;
use testkit::condition::pause;

use crate::generated::{folder, load, open, scaled};
use crate::harmless_steps::steps;
use crate::harness::{NEWEST, OLDEST, conninfo, lines, session, target, without_rows};

/// Waits of the loading that must be seen: more than one, so that a statement that waits without a limit is noticed.
const WAITS: u32 = 3;

/// Loads while another session reads `table` in an open transaction from the moment of `is_here` on, until others have read it
/// beside some waits of the loading.
fn load_beside_a_reader(
    workload: &dyn Workload,
    session: &mut Session,
    options: &InitOptions,
    table: &str,
    is_here: impl Fn(&InitProgress<'_>) -> bool,
) -> Result<(), WorkloadError> {
    let place = conninfo(session, "postgres");
    let target = target(session);
    let mut holder = Cluster::session(&place);
    let (begin, is_begun) = mpsc::channel();
    thread::scope(|scope| {
        let mut application = Cluster::session(&place);
        let others = scope.spawn(move || {
            // A busy machine needs more than the tries of a second; without them the statement would wait for the holder.
            application.execute("set statement_timeout = '20s'").expect("a setting");
            let mut holder: Session = is_begun.recv().expect("the loading comes so far");
            let waits =
                format!("select count(*) from pg_locks where not granted and relation = '{table}'::regclass");
            let mut seen = 0;
            while seen < WAITS {
                seen += u32::from(lines(&mut application, &waits) != ["0"]);
                application.query(&format!("select 1 from {table} limit 1")).expect("in time");
                pause();
            }
            holder.execute("commit").expect("it ends");
        });
        let mut begin = Some(begin);
        let loaded = workload.load(&target, session, options, &mut |progress| {
            if let Some(begin) = begin.take_if(|_| is_here(&progress)) {
                holder.execute(&format!("begin; select 1 from {table}")).expect("a lock");
                let holder = std::mem::replace(&mut holder, Cluster::session(&place));
                begin.send(holder).expect("it waits");
            }
            ControlFlow::Continue(())
        });
        others.join().expect("nobody waited for long");
        loaded.map(drop)
    })
}

#[test]
fn others_read_new_tables_while_keys_indexes_and_frozen_rows_wait_for_a_reader() {
    let schema = "create table own (id int primary key, b int); create index own_b on own (b);";
    let folder = folder(schema, &[]);
    let own = open(&folder);
    // One chunk is frozen, so its table is emptied; the key of several chunks is the first to need the table alone.
    for (major, rows, jobs) in
        Cluster::cases([(NEWEST, 1000.0, 1), (OLDEST, 1000.0, 1), (NEWEST, 100_000.0, 2)], |case| case.0)
    {
        let mut session = session(major, "beside_reader");
        let options = InitOptions { jobs, ..scaled(rows) };
        let is_created = |progress: &InitProgress<'_>| matches!(progress, InitProgress::Finished(step) if step.name == "tables");
        load_beside_a_reader(&own, &mut session, &options, "own", is_created)
            .unwrap_or_else(|error| panic!("{major}, {jobs} jobs: {error}"));
        assert_eq!(lines(&mut session, "select count(*) from own"), [rows.to_string()]);
        let indexes = "select indexname from pg_indexes where tablename = 'own' order by 1";
        assert_eq!(lines(&mut session, indexes), ["own_b", "own_pkey"]);
    }
}

#[test]
fn others_read_the_tables_of_pgbench_while_their_rows_and_keys_wait_for_a_reader() {
    let cases = [
        (NEWEST, "generating data (client-side)", InitOptions::default(), "100000"),
        (NEWEST, "creating primary keys", without_rows(), "0"),
        (OLDEST, "creating primary keys", without_rows(), "0"),
    ];
    for (major, moment, options, rows) in Cluster::cases(cases, |case| case.0) {
        let mut session = session(major, "beside_reader");
        let is_here = |progress: &InitProgress<'_>| matches!(progress, InitProgress::Started { doing } if *doing == moment);
        load_beside_a_reader(&Tpcb, &mut session, &options, "pgbench_accounts", is_here)
            .unwrap_or_else(|error| panic!("{major}, {moment}: {error}"));
        assert_eq!(lines(&mut session, "select count(*) from pgbench_accounts"), [rows]);
        let keys = "select count(*) from pg_constraint where conname = 'pgbench_accounts_pkey'";
        assert_eq!(lines(&mut session, keys), ["1"]);
    }
}

#[test]
fn others_read_the_table_of_an_earlier_load_while_a_load_step_waits_to_drop_it() {
    // There are no other tables in the database.
    let step = "drop table if exists own; create table own (a int)";
    for (major, is_transaction) in
        Cluster::cases([(NEWEST, true), (OLDEST, true), (NEWEST, false)], |case| case.0)
    {
        let mut session = session(major, "step_beside_reader");
        let place = conninfo(&mut session, "postgres");
        load(&steps(is_transaction, &[step]), &mut session, &InitOptions::default()).expect("it is loaded");
        let mut holder = Cluster::session(&place);
        holder.execute("begin; select 1 from own").expect("a lock");
        let loading = thread::spawn(move || {
            let own = steps(is_transaction, &[step]);
            load(&own, &mut session, &InitOptions::default()).map(drop).map_err(|error| error.to_string())
        });
        let mut application = Cluster::session(&place);
        // A busy machine needs more than the tries of a second; without them the statement would wait for the holder.
        application.execute("set statement_timeout = '20s'").expect("a setting");
        let waits = "select count(*) from pg_locks where not granted and relation = 'own'::regclass";
        for _ in 0..WAITS {
            while lines(&mut application, waits) == ["0"] {
                assert!(!loading.is_finished(), "{major}: it does not wait for the lock");
                pause();
            }
            application.query("select 1 from own limit 1").expect("in time");
        }
        holder.execute("commit").expect("it ends");
        assert_eq!(loading.join().expect("it has ended"), Ok(()), "{major}");
    }
}

#[test]
fn a_lock_that_the_tables_of_pgbench_did_not_get_is_told_with_the_way_to_continue() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "not_granted");
        let mut target = target(&mut session);
        target.patience.limit = Duration::from_millis(300);
        let mut session = Session::connect(&target).expect("a session");
        let mut holder = Session::connect(&target).expect("a session");
        let error = Tpcb
            .load(&target, &mut session, &InitOptions::default(), &mut |progress| {
                if matches!(progress, InitProgress::Started { doing } if doing == "creating primary keys") {
                    holder.execute("begin; select 1 from pgbench_accounts limit 1").expect("a lock");
                }
                ControlFlow::Continue(())
            })
            .expect_err("it does not get the lock")
            .to_string();
        assert!(error.contains("the lock was not granted in "), "{major}: {error}");
        let remedy = "; continue with `pgmeter init --resume` and the same options";
        assert!(error.ends_with(remedy), "{major}: {error}");
        holder.execute("commit").expect("it ends");
        let resumed = InitOptions { resumes: true, ..InitOptions::default() };
        Tpcb.load(&target, &mut session, &resumed, &mut |_| ControlFlow::Continue(()))
            .expect("it is continued");
        let keys = "select count(*) from pg_constraint where conname like 'pgbench%_pkey'";
        assert_eq!(lines(&mut session, keys), ["3"], "{major}");
    }
}
