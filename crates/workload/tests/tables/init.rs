//! Creates and fills the tables on real servers, the newest and the oldest that is supported, and holds
//! them against what `pgbench -i` makes: the same definitions, and the same rows by checksum.

use std::ops::ControlFlow;
use testkit::cluster::Cluster;
use testkit::extent;

use pgmeter_workload::{
    InitOptions, InitProgress, PartitionMethod, Partitioning, ROWS_PER_PROGRESS, Step, Tpcb, Workload,
    WorkloadError,
};

use crate::harness::{
    COLUMNS, KEYS, NEWEST, OLDEST, RELATIONS, ROWS, init, lines, make, session, without_rows,
};
use crate::versions::ROWS_OF_PGBENCH;

const COLUMNS_OF_PGBENCH: [&str; 17] = [
    "pgbench_accounts.aid integer not null",
    "pgbench_accounts.bid integer",
    "pgbench_accounts.abalance integer",
    "pgbench_accounts.filler character(84)",
    "pgbench_branches.bid integer not null",
    "pgbench_branches.bbalance integer",
    "pgbench_branches.filler character(88)",
    "pgbench_history.tid integer",
    "pgbench_history.bid integer",
    "pgbench_history.aid integer",
    "pgbench_history.delta integer",
    "pgbench_history.mtime timestamp without time zone",
    "pgbench_history.filler character(22)",
    "pgbench_tellers.tid integer not null",
    "pgbench_tellers.bid integer",
    "pgbench_tellers.tbalance integer",
    "pgbench_tellers.filler character(84)",
];

const PRIMARY_KEYS_OF_PGBENCH: [&str; 3] = [
    "pgbench_accounts_pkey PRIMARY KEY (aid)",
    "pgbench_branches_pkey PRIMARY KEY (bid)",
    "pgbench_tellers_pkey PRIMARY KEY (tid)",
];

/// Taken from tables that `pgbench -i -s 2` of PostgreSQL 15 had made.
const ROWS_OF_PGBENCH_AT_SCALE_2: [&str; 4] = [
    "branches 2 fc5a8e182191a1e7964c85d0782af097",
    "tellers 20 d96169ac7ddedd5e6a2079121629b3e8",
    "accounts 200000 0a41203e8a56128b30f66b0907b079a8",
    "history 0",
];

/// Makes unpartitioned tables with the given letters and checks everything about them.
fn check_tables(major: &str, name: &str, letters: &str) {
    let mut session = session(major, name);
    let steps = Step::parse_list(letters).expect("letters of steps");
    make(&mut session, &InitOptions { scale: 2.into(), steps, fillfactor: 70, ..InitOptions::default() })
        .unwrap_or_else(|error| panic!("PostgreSQL {major}: {error}"));
    assert_eq!(
        lines(&mut session, RELATIONS),
        [
            "pgbench_history r p",
            "pgbench_tellers r p fillfactor=70",
            "pgbench_accounts r p fillfactor=70",
            "pgbench_branches r p fillfactor=70",
            "pgbench_accounts_pkey i p",
            "pgbench_branches_pkey i p",
            "pgbench_tellers_pkey i p",
        ]
    );
    assert_eq!(lines(&mut session, COLUMNS), COLUMNS_OF_PGBENCH);
    assert_eq!(lines(&mut session, KEYS), PRIMARY_KEYS_OF_PGBENCH);
    assert_eq!(lines(&mut session, ROWS), ROWS_OF_PGBENCH_AT_SCALE_2);
    assert_eq!(Tpcb.find_tables(&mut session).expect("the tables are there").scale, Some(2.into()));
}

#[test]
fn tables_loaded_by_copy_equal_those_of_pgbench_on_the_newest_server() {
    check_tables(NEWEST, "by_copy", "dtgvp");
}

#[test]
fn tables_that_the_server_fills_equal_those_of_pgbench_on_the_newest_server() {
    check_tables(NEWEST, "by_server", "dtGvp");
}

#[test]
fn loading_again_leaves_the_same_rows() {
    let mut session = session(NEWEST, "again");
    let options = InitOptions::default();
    make(&mut session, &options).expect("the first time");
    session.execute("update pgbench_accounts set abalance = 1 where aid < 100").expect("an update");
    session.execute("insert into pgbench_history values (1, 1, 1, 1)").expect("an insert");
    make(&mut session, &options).expect("the second time");
    assert_eq!(lines(&mut session, ROWS), ROWS_OF_PGBENCH);
}

#[test]
fn foreign_keys_are_those_of_pgbench() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "keys");
        let mut options = without_rows();
        options.add_foreign_keys();
        make(&mut session, &options).expect("the tables and all keys");
        assert_eq!(
            lines(&mut session, KEYS),
            [
                "pgbench_accounts_bid_fkey FOREIGN KEY (bid) REFERENCES pgbench_branches(bid)",
                "pgbench_accounts_pkey PRIMARY KEY (aid)",
                "pgbench_branches_pkey PRIMARY KEY (bid)",
                "pgbench_history_aid_fkey FOREIGN KEY (aid) REFERENCES pgbench_accounts(aid)",
                "pgbench_history_bid_fkey FOREIGN KEY (bid) REFERENCES pgbench_branches(bid)",
                "pgbench_history_tid_fkey FOREIGN KEY (tid) REFERENCES pgbench_tellers(tid)",
                "pgbench_tellers_bid_fkey FOREIGN KEY (bid) REFERENCES pgbench_branches(bid)",
                "pgbench_tellers_pkey PRIMARY KEY (tid)",
            ]
        );
    }
}

#[test]
fn partitions_share_the_accounts_as_in_pgbench() {
    for (method, name, bounds) in [
        (
            PartitionMethod::Range,
            "ranges",
            [
                "FOR VALUES FROM (MINVALUE) TO (66668)",
                "FOR VALUES FROM (66668) TO (133335)",
                "FOR VALUES FROM (133335) TO (MAXVALUE)",
            ],
        ),
        (
            PartitionMethod::Hash,
            "hashes",
            [
                "FOR VALUES WITH (modulus 3, remainder 0)",
                "FOR VALUES WITH (modulus 3, remainder 1)",
                "FOR VALUES WITH (modulus 3, remainder 2)",
            ],
        ),
    ] {
        let mut session = session(NEWEST, name);
        let partitioning = Some(Partitioning { method, partitions: 3 });
        // After a change, ranges get rows; `versions` looks at those of hash partitions.
        let has_rows = extent::is_all() || method == PartitionMethod::Range;
        let options = if has_rows { InitOptions::default() } else { without_rows() };
        make(&mut session, &InitOptions { scale: 2.into(), fillfactor: 90, partitioning, ..options })
            .expect("PostgreSQL 18 has both kinds");
        let partitions = "select pg_catalog.pg_get_expr(relpartbound, oid) from pg_catalog.pg_class \
            where relispartition and relname ~ '^pgbench_accounts_[1-3]$' and relkind = 'r' \
            and reloptions = '{fillfactor=90}' order by relname";
        assert_eq!(lines(&mut session, partitions), bounds);
        if has_rows {
            assert_eq!(lines(&mut session, ROWS), ROWS_OF_PGBENCH_AT_SCALE_2);
        }
    }
}

#[test]
fn rows_are_loaded_frozen_where_the_server_keeps_them_so() {
    for (major, all_pages_are_frozen) in Cluster::cases([(NEWEST, "true"), (OLDEST, "false")], |case| case.0)
    {
        let mut session = session(major, "frozen");
        let steps = Step::parse_list("dtg").expect("letters of steps");
        make(&mut session, &InitOptions { steps, ..InitOptions::default() }).expect("a load");
        session.execute("create extension pg_visibility").expect("it comes with PostgreSQL");
        let frozen = "select (all_frozen = pg_relation_size('pgbench_accounts') / 8192)::text \
            from pg_visibility_map_summary('pgbench_accounts')";
        assert_eq!(lines(&mut session, frozen), [all_pages_are_frozen], "PostgreSQL {major}");
    }
}

#[test]
fn partitions_are_loaded_frozen_each_by_itself() {
    let mut session = session(NEWEST, "frozen_partitions");
    let partitioning = Some(Partitioning { method: PartitionMethod::Range, partitions: 3 });
    make(&mut session, &InitOptions { partitioning, ..InitOptions::default() }).expect("a load");
    session.execute("create extension pg_visibility").expect("it comes with PostgreSQL");
    for number in 1..=3 {
        let partition = format!("pgbench_accounts_{number}");
        let frozen = format!(
            "select (all_frozen = pg_relation_size('{partition}') / 8192)::text \
             from pg_visibility_map_summary('{partition}')"
        );
        assert_eq!(lines(&mut session, &frozen), ["true"], "{partition}");
    }
}

#[test]
fn partitions_on_a_server_without_them_are_refused_before_anything_is_dropped() {
    let mut session = session(OLDEST, "refused");
    session.execute("create table pgbench_history (mine int)").expect("a table");
    let partitioning = Some(Partitioning { method: PartitionMethod::Range, partitions: 2 });
    let error = make(&mut session, &InitOptions { partitioning, ..InitOptions::default() })
        .expect_err("9.6 has no partitions");
    assert!(
        error.to_string().starts_with("partitioning by range requires PostgreSQL 10 or newer"),
        "{error}"
    );
    assert_eq!(lines(&mut session, "select count(mine) from pgbench_history"), ["0"]);
}

#[test]
fn a_failing_statement_is_part_of_the_error() {
    let mut session = session(NEWEST, "failing");
    session.execute("create view pgbench_tellers as select 1 as tid").expect("a view in the way");
    let as_pgbench = InitOptions { drops: true, waits_as_pgbench: true, ..InitOptions::default() };
    let message = make(&mut session, &as_pgbench).expect_err("a view is no table").to_string();
    assert!(message.contains("pgbench_tellers"), "{message}");
    assert!(message.contains("\nQuery was: drop table if exists pgbench_accounts"), "{message}");
}

#[test]
fn progress_counts_every_row_and_may_break_off_with_nothing_kept() {
    let mut session = session(NEWEST, "progress");
    let mut seen = Vec::new();
    init(&mut session, &InitOptions::default(), &mut |progress| {
        match progress {
            InitProgress::Rows { table, done, total, .. } if done % 10_000 == 0 || done == total => {
                seen.push((table.to_owned(), done, total));
            }
            InitProgress::Rows { done, .. } => assert_eq!(done % ROWS_PER_PROGRESS, 0),
            _ => {}
        }
        ControlFlow::Continue(())
    })
    .expect("a load");
    let seen: Vec<_> = seen.iter().map(|(table, done, total)| (table.as_str(), *done, *total)).collect();
    assert_eq!(seen[..2], [("pgbench_branches", 1, 1), ("pgbench_tellers", 10, 10)]);
    assert_eq!(seen[2], ("pgbench_accounts", 10_000, 100_000));
    assert_eq!(seen.last(), Some(&("pgbench_accounts", 100_000, 100_000)));

    let steps = vec![Step::GenerateClientSide];
    let error = init(&mut session, &InitOptions { steps, ..InitOptions::default() }, &mut |progress| {
        let begun = matches!(progress, InitProgress::Rows { table: "pgbench_accounts", .. });
        if begun { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(error, Err(WorkloadError::Interrupted { .. })));
    assert_eq!(lines(&mut session, "select count(*) from pgbench_accounts"), ["100000"]);
}

#[test]
fn steps_partitions_and_notices_are_told_in_the_order_of_pgbench() {
    let mut session = session(NEWEST, "told");
    let partitioning = Some(Partitioning { method: PartitionMethod::Range, partitions: 2 });
    let steps = Step::parse_list("dt d").expect("letters of steps");
    let mut told = Vec::new();
    init(&mut session, &InitOptions { steps, partitioning, ..InitOptions::default() }, &mut |progress| {
        told.push(match progress {
            InitProgress::Started { doing } => format!("{doing}..."),
            InitProgress::Partitions(partitions) => format!("creating {partitions} partitions..."),
            InitProgress::Notice(notice) => format!("{}: {}", notice.severity, notice.message),
            InitProgress::Finished(time) => time.name.clone(),
            InitProgress::Rows { .. } | InitProgress::Lost { .. } => String::new(),
            InitProgress::Dropping(_)
            | InitProgress::Forecast(_)
            | InitProgress::Found(_)
            | InitProgress::Waiting => {
                return ControlFlow::Continue(());
            }
        });
        ControlFlow::Continue(())
    })
    .expect("tables");
    let absent = |table| format!("NOTICE: table \"pgbench_{table}\" does not exist, skipping");
    let [accounts, branches, history, tellers] = ["accounts", "branches", "history", "tellers"].map(absent);
    let expected = [
        "dropping old tables...",
        &accounts,
        &branches,
        &history,
        &tellers,
        "drop tables",
        "creating tables...",
        "creating 2 partitions...",
        "create tables",
        "dropping old tables...",
        "drop tables",
    ];
    assert_eq!(told, expected);
}

#[test]
fn no_steps_are_nothing_to_do() {
    let mut session = session(NEWEST, "idle");
    let mut options = InitOptions { steps: vec![Step::Vacuum; 2], ..InitOptions::default() };
    options.steps.retain(|step| *step != Step::Vacuum);
    make(&mut session, &options).expect("nothing");
    assert_eq!(lines(&mut session, RELATIONS), [""; 0]);
}

#[test]
fn tables_with_the_names_of_pgbench_and_other_columns_are_somebody_elses() {
    let mut session = session(NEWEST, "somebody_elses");
    session.execute("create table pgbench_tellers (name text)").expect("a table");
    let error = make(&mut session, &InitOptions::default()).expect_err("not pgbench's").to_string();
    assert_eq!(
        error,
        "public.pgbench_tellers exists already and has other columns than `init` gives it; nothing was changed. Rename it, \
         use another database, or let `pgmeter init --drop` drop it"
    );
    assert_eq!(lines(&mut session, "select count(*) from pgbench_tellers"), ["0"]);
    let drops = InitOptions { drops: true, ..without_rows() };
    make(&mut session, &drops).expect("it is dropped");
    make(&mut session, &without_rows()).expect("these are pgbench's");
}

mod nightly {
    use super::*;

    /// `beside_pgbench` compares such tables with those of an installed `pgbench`.
    #[test]
    fn tables_loaded_by_copy_equal_those_of_pgbench_on_the_oldest_server() {
        check_tables(OLDEST, "by_copy", "dtgvp");
    }

    /// So does `versions`, with one branch.
    #[test]
    fn tables_that_the_server_fills_equal_those_of_pgbench_on_the_oldest_server() {
        check_tables(OLDEST, "by_server", "dtGvp");
    }
}
