//! The four TPC-B-like tables as data, and the SQL that makes, empties, vacuums and keys them.
//! Each statement does what `pgbench -i` does; nothing here talks to a server.

use std::ops::Range;

use connect::quote::identifier;
use stats::PartitionMethod;

use loading::contract::load::{InitOptions, Logging, Partitioning};

/// One of the four tables, its columns, and how many rows it has for each unit of scale.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The name; an existing table of this name is dropped by the step that drops.
    pub name: &'static str,
    /// Column definitions; `{aid}` stands for the type of an account's number.
    columns: &'static str,
    /// The primary key's column.
    pub(crate) key: Option<&'static str>,
    /// Whether the table gets a fill factor.
    fills: bool,
    /// Rows for each unit of scale.
    pub rows_per_scale: u64,
}

/// From this scale on, account numbers are `bigint`, as in `pgbench`.
const BIGINT_ACCOUNTS_FROM_SCALE: u32 = 20_000;

/// Number of branches: the scale, which is whole (checked before anything is created).
pub(crate) fn branches(options: &InitOptions) -> u64 {
    options.scale.whole().map_or(0, u64::from)
}

/// Accounts for each branch; rows for each unit of scale.
pub(crate) const ACCOUNTS_PER_BRANCH: u64 = 100_000;
/// Tellers for each branch.
pub(crate) const TELLERS_PER_BRANCH: u64 = 10;

pub(crate) const HISTORY: Table = Table {
    name: "pgbench_history",
    columns: "tid int, bid int, aid {aid}, delta int, mtime timestamp, filler char(22)",
    key: None,
    fills: false,
    rows_per_scale: 0,
};
pub(crate) const TELLERS: Table = Table {
    name: "pgbench_tellers",
    columns: "tid int not null, bid int, tbalance int, filler char(84)",
    key: Some("tid"),
    fills: true,
    rows_per_scale: TELLERS_PER_BRANCH,
};
pub(crate) const ACCOUNTS: Table = Table {
    name: "pgbench_accounts",
    columns: "aid {aid} not null, bid int, abalance int, filler char(84)",
    key: Some("aid"),
    fills: true,
    rows_per_scale: ACCOUNTS_PER_BRANCH,
};
pub(crate) const BRANCHES: Table = Table {
    name: "pgbench_branches",
    columns: "bid int not null, bbalance int, filler char(88)",
    key: Some("bid"),
    fills: true,
    rows_per_scale: 1,
};

/// The order in which the tables are created.
const CREATED: [Table; 4] = [HISTORY, TELLERS, ACCOUNTS, BRANCHES];
/// The order in which the tables are vacuumed, and get their primary keys.
pub(crate) const VACUUMED: [Table; 4] = [BRANCHES, TELLERS, ACCOUNTS, HISTORY];
/// The order in which all four are named in one statement.
const ALL: &str = "pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";
/// The foreign keys in order: a table, its column, the table it refers to.
const FOREIGN_KEYS: [(Table, &str, Table); 5] = [
    (TELLERS, "bid", BRANCHES),
    (ACCOUNTS, "bid", BRANCHES),
    (HISTORY, "bid", BRANCHES),
    (HISTORY, "tid", TELLERS),
    (HISTORY, "aid", ACCOUNTS),
];

/// The first major version of PostgreSQL that has the method.
pub(crate) fn needs_major(method: PartitionMethod) -> u32 {
    match method {
        PartitionMethod::Range => 10,
        PartitionMethod::Hash => 11,
    }
}

/// Drops all four tables, and nothing else.
pub(crate) fn drop_tables() -> String {
    format!("drop table if exists {ALL}")
}

/// Empties all four tables.
pub(crate) fn truncate_tables() -> String {
    format!("truncate table {ALL}")
}

/// Empties one partition.
pub(crate) fn truncate(relation: &str) -> String {
    format!("truncate table {relation}")
}

/// The name of a partition of pgbench_accounts, counted from 1.
pub(crate) fn partition_name(number: u32) -> String {
    format!("{}_{number}", ACCOUNTS.name)
}

/// The rows of pgbench_accounts, counted from 0, that belong into a range partition, counted from 1.
pub(crate) fn partition_rows(accounts: u64, number: u32, partitions: u32) -> Range<u64> {
    let size = accounts.div_ceil(u64::from(partitions));
    let end_of = |number: u32| (u64::from(number) * size).min(accounts);
    end_of(number - 1)..end_of(number)
}

/// Creates the four tables; pgbench_accounts without its partitions.
pub(crate) fn create_tables(options: &InitOptions) -> [String; 4] {
    let aid = if branches(options) >= u64::from(BIGINT_ACCOUNTS_FROM_SCALE) { "bigint" } else { "int" };
    let is_partitioned = options.partitioning.is_some();
    let is_unlogged = |table: Table| match options.logging {
        Logging::All => false,
        // The word is for the partitions: a partitioned table has nothing to log.
        Logging::None => !(is_partitioned && table == ACCOUNTS),
        Logging::NoneAsPgbench => !is_partitioned,
    };
    let tablespace = options.tablespace.as_deref().map(identifier);
    let tablespace = tablespace.map_or(String::new(), |name| format!(" tablespace {name}"));
    CREATED.map(|table| {
        let columns = table.columns.replace("{aid}", aid);
        let storage = match options.partitioning {
            Some(Partitioning { method, .. }) if table == ACCOUNTS => format!(" partition by {method} (aid)"),
            _ if table.fills => format!(" with (fillfactor={})", options.fillfactor),
            _ => String::new(),
        };
        let unlogged = unlogged_word(is_unlogged(table));
        format!("create {unlogged}table {}({columns}){storage}{tablespace}", table.name)
    })
}

fn unlogged_word(is_unlogged: bool) -> &'static str {
    if is_unlogged { "unlogged " } else { "" }
}

/// Creates a partition of pgbench_accounts, counted from 1. It lies where the partitioned table lies.
pub(crate) fn create_partition(
    options: &InitOptions,
    Partitioning { method, partitions }: Partitioning,
) -> impl Fn(u32) -> String + use<> {
    let rows = branches(options) * ACCOUNTS_PER_BRANCH;
    let unlogged = unlogged_word(options.logging != Logging::All);
    let (accounts, fillfactor) = (ACCOUNTS.name, options.fillfactor);
    move |partition| {
        let bounds = partition_bounds(method, rows, partition, partitions);
        format!(
            "create {unlogged}table {accounts}_{partition} partition of {accounts} for values {bounds} \
             with (fillfactor={fillfactor})"
        )
    }
}

/// What partition number `partition` (from 1) of `partitions` holds; the outermost ranges are open.
pub(crate) fn partition_bounds(
    method: PartitionMethod,
    accounts: u64,
    partition: u32,
    partitions: u32,
) -> String {
    match method {
        PartitionMethod::Hash => format!("with (modulus {partitions}, remainder {})", partition - 1),
        PartitionMethod::Range => {
            let size = accounts.div_ceil(u64::from(partitions));
            let bound = |after: u32| (u64::from(after) * size + 1).to_string();
            let from = if partition == 1 { "minvalue".to_owned() } else { bound(partition - 1) };
            let to = if partition == partitions { "maxvalue".to_owned() } else { bound(partition) };
            format!("from ({from}) to ({to})")
        }
    }
}

/// Has the server itself make the rows that [`super::rows`] would send.
pub(crate) fn generate_rows(scale: u64) -> [String; 3] {
    [
        format!(
            "insert into pgbench_branches(bid, bbalance) select bid, 0 from generate_series(1, {scale}) as bid"
        ),
        format!(
            "insert into pgbench_tellers(tid, bid, tbalance) select tid, (tid - 1) / {TELLERS_PER_BRANCH} + 1, 0 \
             from generate_series(1, {}) as tid",
            scale * TELLERS_PER_BRANCH
        ),
        format!(
            "insert into pgbench_accounts(aid, bid, abalance, filler) \
             select aid, (aid - 1) / {ACCOUNTS_PER_BRANCH} + 1, 0, '' from generate_series(1, {}) as aid",
            scale * ACCOUNTS_PER_BRANCH
        ),
    ]
}

/// Vacuums and analyzes one table, in a statement of its own: vacuum allows no transaction.
pub(crate) fn vacuum(relation: &str) -> String {
    format!("vacuum analyze {relation}")
}

/// Adds a primary key to a table or a partition.
pub(crate) fn primary_key(relation: &str, key: &str, index_tablespace: Option<&str>) -> String {
    let place = index_tablespace.map(identifier);
    let place = place.map_or(String::new(), |name| format!(" using index tablespace {name}"));
    format!("alter table {relation} add primary key ({key}){place}")
}

/// The five foreign keys: their names, and what adds them.
pub(crate) fn foreign_keys() -> [(String, String); 5] {
    let add = |(table, column, to): (Table, &str, Table)| {
        let (name, to) = (table.name, to.name);
        let key = format!("{name}_{column}_fkey");
        let sql = format!("alter table {name} add constraint {key} foreign key ({column}) references {to}");
        (key, sql)
    };
    FOREIGN_KEYS.map(add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partitioned(method: PartitionMethod, partitions: u32) -> Option<Partitioning> {
        Some(Partitioning { method, partitions })
    }

    /// The statements that make the partitions.
    fn partitions(options: &InitOptions) -> Vec<String> {
        let partitioning = options.partitioning.expect("partitions");
        (1..=partitioning.partitions).map(create_partition(options, partitioning)).collect()
    }

    #[test]
    fn plain_tables_get_a_fill_factor_except_history() {
        assert_eq!(
            create_tables(&InitOptions { fillfactor: 90, ..InitOptions::default() }),
            [
                "create table pgbench_history(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22))",
                "create table pgbench_tellers(tid int not null, bid int, tbalance int, filler char(84)) with (fillfactor=90)",
                "create table pgbench_accounts(aid int not null, bid int, abalance int, filler char(84)) with (fillfactor=90)",
                "create table pgbench_branches(bid int not null, bbalance int, filler char(88)) with (fillfactor=90)",
            ]
        );
    }

    #[test]
    fn account_numbers_become_bigint_at_scale_20000() {
        let tables =
            |scale: u32| create_tables(&InitOptions { scale: scale.into(), ..InitOptions::default() });
        assert!(!tables(19_999)[2].contains("bigint"));
        assert!(tables(20_000)[2].contains("aid bigint not null"));
        assert!(tables(20_000)[0].contains("aid bigint,"));
    }

    #[test]
    fn ranges_cover_every_account_and_are_open_outwards() {
        let partitioning = partitioned(PartitionMethod::Range, 3);
        let options = InitOptions { fillfactor: 80, partitioning, ..InitOptions::default() };
        assert!(create_tables(&options)[2].ends_with(" partition by range (aid)"));
        assert_eq!(
            partitions(&options),
            [
                "create table pgbench_accounts_1 partition of pgbench_accounts for values from (minvalue) to (33335) with (fillfactor=80)",
                "create table pgbench_accounts_2 partition of pgbench_accounts for values from (33335) to (66669) with (fillfactor=80)",
                "create table pgbench_accounts_3 partition of pgbench_accounts for values from (66669) to (maxvalue) with (fillfactor=80)",
            ]
        );
        let one = InitOptions { partitioning: partitioned(PartitionMethod::Range, 1), ..options };
        assert!(partitions(&one)[0].contains("from (minvalue) to (maxvalue)"));
    }

    #[test]
    fn the_rows_of_the_partitions_follow_upon_each_other_and_are_all() {
        for (accounts, partitions) in [(100_000, 3), (100_000, 1), (100_000, 99_999), (5, 4)] {
            let mut next = 0;
            for number in 1..=partitions {
                let rows = partition_rows(accounts, number, partitions);
                assert_eq!(rows.start, next);
                next = rows.end;
            }
            assert_eq!(next, accounts);
        }
        assert_eq!(partition_rows(100_000, 2, 3), 33_334..66_668, "aid 33335 is row 33334");
    }

    #[test]
    fn hash_partitions_count_remainders_from_zero() {
        let partitioning = partitioned(PartitionMethod::Hash, 2);
        let options = InitOptions { partitioning, ..InitOptions::default() };
        assert!(create_tables(&options)[2].ends_with(" partition by hash (aid)"));
        let statements = partitions(&options);
        assert!(statements[0].contains("for values with (modulus 2, remainder 0) with (fillfactor=100)"));
        assert!(statements[1].contains("for values with (modulus 2, remainder 1) with (fillfactor=100)"));
    }

    #[test]
    fn unlogged_is_a_word_of_all_tables_or_of_the_partitions_alone() {
        let unlogged = |statements: &[String]| {
            statements.iter().filter(|sql| sql.starts_with("create unlogged table ")).count()
        };
        for (logging, of_partitioned) in [(Logging::None, 3), (Logging::NoneAsPgbench, 0)] {
            let options = InitOptions { logging, ..InitOptions::default() };
            assert_eq!(unlogged(&create_tables(&options)), 4);
            let options = InitOptions { partitioning: partitioned(PartitionMethod::Hash, 2), ..options };
            assert_eq!(unlogged(&create_tables(&options)), of_partitioned);
            assert_eq!(unlogged(&partitions(&options)), 2);
        }
    }

    #[test]
    fn tablespaces_come_last_and_are_quoted() {
        let tablespace = Some("a \"fast\" disk".to_owned());
        let options = InitOptions { tablespace, ..InitOptions::default() };
        for sql in create_tables(&options) {
            assert!(sql.ends_with(") tablespace \"a \"\"fast\"\" disk\""), "{sql}");
        }
        let partitioning = partitioned(PartitionMethod::Range, 2);
        let options = InitOptions { partitioning, ..options };
        assert!(create_tables(&options)[2].contains(" partition by range (aid) tablespace "));
        assert!(partitions(&options).iter().all(|sql| !sql.contains("tablespace")));
        assert_eq!(
            primary_key("pgbench_accounts", "aid", Some("Fast")),
            "alter table pgbench_accounts add primary key (aid) using index tablespace \"Fast\""
        );
    }

    #[test]
    fn keys_and_vacuums_come_in_the_order_of_pgbench() {
        assert_eq!(
            VACUUMED.iter().filter_map(|it| Some(primary_key(it.name, it.key?, None))).collect::<Vec<_>>(),
            [
                "alter table pgbench_branches add primary key (bid)",
                "alter table pgbench_tellers add primary key (tid)",
                "alter table pgbench_accounts add primary key (aid)",
            ]
        );
        assert_eq!(vacuum(VACUUMED[0].name), "vacuum analyze pgbench_branches");
        assert_eq!(foreign_keys()[4].0, "pgbench_history_aid_fkey");
        assert_eq!(
            foreign_keys()[4].1,
            "alter table pgbench_history add constraint pgbench_history_aid_fkey \
             foreign key (aid) references pgbench_accounts"
        );
    }
}
