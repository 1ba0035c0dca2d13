//! A loading through PgBouncer: the client that gets the connection to the server next finds its settings as they were.
//! What another session has left there is asked by `testkit`.

use pgmeter_workload::{InitOptions, PartitionMethod, Partitioning, Tpcb, Workload};
use testkit::cluster::Cluster;
use testkit::pooler::PgBouncer;

use crate::harness::{NEWEST, lines};

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
