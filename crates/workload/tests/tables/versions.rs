//! The same tables and rows on every version of the server that counts: loaded by either side, with each kind of
//! partitions that the version has, packed or not, logged or not.

use pgmeter_workload::{InitOptions, Logging, PartitionMethod, Partitioning, Step, Tpcb, Workload};
use testkit::extent;

use crate::harness::{RELATIONS, ROWS, lines, make, session};

/// Taken from tables that `pgbench -i` of PostgreSQL 15 had made.
pub(crate) const ROWS_OF_PGBENCH: [&str; 4] = [
    "branches 1 59e4bf876f83adb08e0d24774f8a6e3a",
    "tellers 10 d6768e62a61ec5e74477a7ceaff045f9",
    "accounts 100000 15ad3279a5f53d91615796fb27772bb2",
    "history 0",
];

/// Name, kind, persistence and options of what there should be, tables in the order of creation, indexes by name. Since 11, a key of a
/// partitioned table has an index on each partition.
fn relations(options: &InitOptions) -> Vec<String> {
    let fill = format!(" fillfactor={}", options.fillfactor);
    let partitions = options.partitioning.map_or(0, |partitioning| partitioning.partitions);
    // Of partitions, of pgbench_accounts, of the others.
    let (parts, accounts, others) = match (options.logging, partitions) {
        (Logging::All, _) => ('p', 'p', 'p'),
        (Logging::None | Logging::NoneAsPgbench, 0) => ('u', 'u', 'u'),
        (Logging::None, _) => ('u', 'p', 'u'),
        (Logging::NoneAsPgbench, _) => ('u', 'p', 'p'),
    };
    let (kind, index, accounts_fill) = if partitions == 0 { ('r', 'i', &*fill) } else { ('p', 'I', "") };
    let mut expected = vec![
        format!("pgbench_history r {others}"),
        format!("pgbench_tellers r {others}{fill}"),
        format!("pgbench_accounts {kind} {accounts}{accounts_fill}"),
        format!("pgbench_branches r {others}{fill}"),
    ];
    let parted = |suffix: &'static str, kind: char, fill: &str| {
        let fill = fill.to_owned();
        (1..=partitions).map(move |number| format!("pgbench_accounts_{number}{suffix} {kind} {parts}{fill}"))
    };
    expected.extend(parted("", 'r', &fill));
    if !options.steps.contains(&Step::PrimaryKeys) {
        return expected;
    }
    expected.extend(parted("_pkey", 'i', ""));
    expected.push(format!("pgbench_accounts_pkey {index} {accounts}"));
    expected.push(format!("pgbench_branches_pkey i {others}"));
    expected.push(format!("pgbench_tellers_pkey i {others}"));
    expected
}

fn check(major: &str, methods: &[PartitionMethod], steps: &str) {
    let partitionings = methods.iter().map(|&method| Some(Partitioning { method, partitions: 3 }));
    for (kind, partitioning) in [None].into_iter().chain(partitionings).enumerate() {
        for (side, letters) in [steps.to_owned(), steps.replace('g', "G")].into_iter().enumerate() {
            let none = if (kind + side).is_multiple_of(2) { Logging::NoneAsPgbench } else { Logging::None };
            // After a change, each kind of partitions once, in the way that `beside_pgbench` does not look at.
            let few = if [(0, 1), (1, 0), (2, 0)].contains(&(kind, side)) { &[(75, none)][..] } else { &[] };
            for &(fillfactor, logging) in extent::choose(few, &[(100, Logging::All), (75, none)]) {
                let steps = Step::parse_list(&letters).expect("letters of steps");
                let options =
                    InitOptions { steps, fillfactor, logging, partitioning, ..InitOptions::default() };
                let mut session = session(major, "versions");
                make(&mut session, &options).unwrap_or_else(|error| panic!("{major}: {options:?}: {error}"));
                assert_eq!(lines(&mut session, RELATIONS), relations(&options), "{major}: {options:?}");
                assert_eq!(lines(&mut session, ROWS), ROWS_OF_PGBENCH, "{major}: {options:?}");
                let found = Tpcb.find_tables(&mut session).expect("tables");
                let partitions = partitioning.map(|Partitioning { method, partitions }| (method, partitions));
                assert_eq!(
                    (found.scale, found.partitioning),
                    (Some(1.into()), partitions),
                    "{major}: {options:?}"
                );
            }
        }
    }
}

const BOTH: [PartitionMethod; 2] = [PartitionMethod::Range, PartitionMethod::Hash];

#[test]
fn tables_on_postgresql_9_6() {
    check("9.6", &[], "dtgvp");
}

#[test]
fn tables_on_postgresql_18() {
    check("18", &BOTH, "dtgvp");
}

mod nightly {
    use super::*;

    /// Version 10 has no hash partitions, and no key on a partitioned table.
    #[test]
    fn tables_on_postgresql_10() {
        check("10", &[], "dtgvp");
        check("10", &[PartitionMethod::Range], "dtgv");
    }

    #[test]
    fn tables_on_postgresql_13() {
        check("13", &BOTH, "dtgvp");
    }

    #[test]
    fn tables_on_postgresql_15() {
        check("15", &BOTH, "dtgvp");
    }
}
