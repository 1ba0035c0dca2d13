//! A loading through PgBouncer: the client that gets the connection to the server next finds its settings as they were.
//! What another session has left there is asked by `testkit`.

use pgmeter_workload::{InitOptions, PartitionMethod, Partitioning, Tpcb, Workload};
use testkit::cluster::Cluster;
use testkit::pooler::PgBouncer;

use crate::generated::{folder, open, scaled, sorted_schema};
use crate::harness::{LOCKS, NEWEST, lines};

#[test]
#[allow(clippy::print_stderr)] // that it was skipped
fn a_loading_leaves_no_setting_behind_in_the_connections_of_a_pooler() {
    // Too little for the keys of one branch: the loading asks for more.
    let cluster = Cluster::start_with(NEWEST, &[("maintenance_work_mem", "1MB")]);
    for partitions in [0, 2] {
        let Some(mut pooler) = PgBouncer::start(&cluster) else {
            eprintln!("SKIPPED: there is no pgbouncer, so nothing was tested through a pooler");
            return;
        };
        let mut session = pooler.session();
        let partitioning =
            (partitions > 0).then_some(Partitioning { method: PartitionMethod::Range, partitions });
        let options = InitOptions { partitioning, jobs: 2, ..InitOptions::default() };
        let target = pooler.target();
        let mut go_on = |_: pgmeter_workload::InitProgress<'_>| std::ops::ControlFlow::Continue(());
        let done = Tpcb.load(&target, &mut session, &options, &mut go_on);
        done.expect("a pooler is no obstacle");
        drop(session);
        assert_eq!(pooler.left_behind(), [""; 0], "{partitions} partitions");
        assert_eq!(lines(&mut pooler.session(), "select count(*)::text from pgbench_accounts"), ["100000"]);
    }
}

/// The lock against a second loading would stay in the connection of the pooler.
#[test]
#[allow(clippy::print_stderr)] // that it was skipped
fn generated_rows_are_loaded_through_a_pooler_without_a_lock() {
    let cluster = Cluster::start(NEWEST);
    let Some(mut pooler) = PgBouncer::start(&cluster) else {
        eprintln!("SKIPPED: there is no pgbouncer, so nothing was tested through a pooler");
        return;
    };
    let folder = folder(&sorted_schema(), &[]);
    let own = open(&folder);
    let mut session = pooler.session();
    let database = lines(&mut session, "select current_database()").remove(0);
    let direct = cluster.conninfo().replace("dbname=postgres", &format!("dbname={database}"));
    for resumes in [false, true] {
        let options = InitOptions { resumes, jobs: 2, ..scaled(20.0) };
        let mut locks = Vec::new();
        let mut count = |_: pgmeter_workload::InitProgress<'_>| {
            locks.extend(lines(&mut Cluster::session(&direct), LOCKS));
            std::ops::ControlFlow::Continue(())
        };
        own.load(&pooler.target(), &mut session, &options, &mut count).expect("a pooler is no obstacle");
        assert!(!locks.is_empty() && locks.iter().all(|locks| locks == "0"), "{locks:?}");
    }
    drop(session);
    assert_eq!(pooler.left_behind(), [""; 0]);
    assert_eq!(lines(&mut pooler.session(), "select count(*) from orders"), ["200"]);
}
