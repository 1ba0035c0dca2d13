//! Examines the existing tables before an interrupted loading is resumed. Tables that were not created with the same
//! options are rejected. Reads only.

use std::collections::BTreeSet;

use connect::Session;

use super::schema::{self, ACCOUNTS, ACCOUNTS_PER_BRANCH};
use crate::WorkloadError;
use loading::contract::load::{InitOptions, Logging, Partitioning, query, query_catalogs};
use stats::PartitionMethod;

/// What exists; empty if the loading starts from the beginning.
#[derive(Debug, Default)]
pub(crate) struct ExistingTables {
    /// All four tables, and all partitions.
    pub has_tables: bool,
    /// The rows of pgbench_branches and pgbench_tellers.
    pub has_branches: bool,
    /// All rows.
    pub has_accounts: bool,
    /// The partitions that have their rows, counted from 1.
    pub partitions: BTreeSet<u32>,
    /// Tables and partitions that were vacuumed and analyzed since they were filled.
    pub vacuumed: BTreeSet<String>,
    /// Tables and partitions with a primary key.
    pub keyed: BTreeSet<String>,
    /// The names of foreign keys.
    pub foreign_keys: BTreeSet<String>,
}

/// Looks up the relations by the names under which a script finds them.
const NUMBERS: &str = "\
    select pg_catalog.to_regclass('pgbench_accounts')::pg_catalog.oid, \
    pg_catalog.to_regclass('pgbench_branches')::pg_catalog.oid, \
    pg_catalog.to_regclass('pgbench_history')::pg_catalog.oid, \
    pg_catalog.to_regclass('pgbench_tellers')::pg_catalog.oid";

/// The existing tables, as object identifiers for SQL.
struct TableIds {
    all: String,
    accounts: String,
    branches: String,
}

impl TableIds {
    fn find(session: &mut Session) -> Result<TableIds, WorkloadError> {
        let all = oids_of_names(session)?;
        let [accounts, branches, ..] = all.clone();
        Ok(TableIds { all: all.join(", "), accounts, branches })
    }
}

/// The OIDs of accounts, branches, history and tellers, as the search path of a script finds them; 0 for a missing one.
pub(super) fn oids_of_names(session: &mut Session) -> Result<[String; 4], WorkloadError> {
    let rows = query(session, NUMBERS)?;
    Ok([0, 1, 2, 3].map(|column| rows.first().and_then(|row| row.get(column)).unwrap_or("0").to_owned()))
}

/// From this version on, tables can be partitioned.
const PARTITIONS_FROM: u32 = 100_000;
/// From this version on, each partition is analyzed by itself.
const ANALYZES_ONLY_FROM: u32 = 180_000;

impl ExistingTables {
    /// Examines the tables.
    ///
    /// # Errors
    /// [`WorkloadError::NotResumable`] if they differ from those that the options create.
    pub(crate) fn find(
        session: &mut Session,
        options: &InitOptions,
    ) -> Result<ExistingTables, WorkloadError> {
        let ours = TableIds::find(session)?;
        let tables = names(session, &format!("select relname from pg_class where oid in ({})", ours.all))?;
        if tables.is_empty() {
            return Ok(ExistingTables::default());
        }
        let has_all = tables.len() == 4 && has_partitions(session, options, &ours)?;
        if !has_all {
            return match tables
                .iter()
                .try_fold(false, |any, name| has_rows(session, name).map(|has| any || has))?
            {
                true => refuse("some tables contain rows and others are missing"),
                // The creation was interrupted.
                false => Ok(ExistingTables::default()),
            };
        }
        check_storage(session, options, &ours)?;
        let mut existing = ExistingTables { has_tables: true, ..ExistingTables::default() };
        existing.find_rows(session, options)?;
        existing.find_vacuumed(session, &ours)?;
        existing.find_keys(session, &ours)?;
        Ok(existing)
    }

    fn find_rows(&mut self, session: &mut Session, options: &InitOptions) -> Result<(), WorkloadError> {
        let branches = first(session, "select pg_catalog.count(*) from pgbench_branches")?;
        let is_any_account_there = has_rows(session, ACCOUNTS.name)?;
        match branches.as_str() {
            "0" if is_any_account_there => {
                return refuse("pgbench_accounts has rows and pgbench_branches has none");
            }
            "0" => return Ok(()),
            scale if scale == options.scale.to_string() => {}
            other => {
                return refuse(&format!(
                    "the existing tables have scale {other} instead of {}",
                    options.scale
                ));
            }
        }
        self.has_branches = true;
        let Some(Partitioning { method: PartitionMethod::Range, partitions }) = options.partitioning else {
            // Loaded in one transaction.
            self.has_accounts = is_any_account_there;
            return Ok(());
        };
        let accounts = schema::branches(options) * ACCOUNTS_PER_BRANCH;
        let mut is_whole = true;
        for number in 1..=partitions {
            let is_loaded = has_rows(session, &schema::partition_name(number))?;
            is_whole &= is_loaded || schema::partition_rows(accounts, number, partitions).is_empty();
            if is_loaded {
                self.partitions.insert(number);
            }
        }
        self.has_accounts = is_whole;
        Ok(())
    }

    /// Tables vacuumed by a user since they were filled. Those that only autovacuum processed are vacuumed again.
    fn find_vacuumed(&mut self, session: &mut Session, ours: &TableIds) -> Result<(), WorkloadError> {
        let analyzed = "last_analyze is not null and n_mod_since_analyze = 0";
        let vacuumed = format!("last_vacuum is not null and {analyzed}");
        let whole = format!(
            "select relname from pg_catalog.pg_stat_all_tables where relid in ({}) and {vacuumed}",
            ours.all
        );
        self.vacuumed = names(session, &whole)?;
        if session.server_version_num() < PARTITIONS_FROM {
            return Ok(());
        }
        let is_done = if session.server_version_num() >= ANALYZES_ONLY_FROM {
            &vacuumed
        } else {
            "last_vacuum is not null"
        };
        let partitions = format!(
            "select s.relname from pg_catalog.pg_stat_all_tables s \
             join pg_catalog.pg_inherits i on i.inhrelid = s.relid where i.inhparent in ({}) and {is_done}",
            ours.all
        );
        self.vacuumed.extend(names(session, &partitions)?);
        Ok(())
    }

    fn find_keys(&mut self, session: &mut Session, ours: &TableIds) -> Result<(), WorkloadError> {
        let of_ours = format!("conrelid in ({})", ours.all);
        let keyed = format!(
            "select c.relname from pg_catalog.pg_constraint k join pg_catalog.pg_class c on c.oid = k.conrelid \
             where k.contype = 'p' and ({of_ours} or conrelid in \
             (select inhrelid from pg_catalog.pg_inherits where inhparent in ({})))",
            ours.all
        );
        self.keyed = names(session, &keyed)?;
        let foreign =
            format!("select conname from pg_catalog.pg_constraint where contype = 'f' and {of_ours}");
        self.foreign_keys = names(session, &foreign)?;
        Ok(())
    }
}

/// Whether pgbench_accounts has the requested partitions; an error if it has others.
fn has_partitions(
    session: &mut Session,
    options: &InitOptions,
    ours: &TableIds,
) -> Result<bool, WorkloadError> {
    let wanted = options.partitioning;
    let found = if session.server_version_num() < PARTITIONS_FROM {
        None
    } else {
        let sql = format!(
            "select partstrat from pg_catalog.pg_partitioned_table where partrelid = {}",
            ours.accounts
        );
        names(session, &sql)?.pop_first()
    };
    let strategy = wanted.map(|wanted| match wanted.method {
        PartitionMethod::Range => "r",
        PartitionMethod::Hash => "h",
    });
    if found.as_deref() != strategy {
        return refuse("pgbench_accounts is partitioned differently");
    }
    let Some(Partitioning { method, partitions }) = wanted else { return Ok(true) };
    let bounds = format!(
        "select c.relname || ' ' || pg_catalog.pg_get_expr(c.relpartbound, c.oid) \
         from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhrelid where i.inhparent = {}",
        ours.accounts
    );
    let plain = |text: &str| text.to_lowercase().replace(['\'', ' '], "");
    let there: BTreeSet<String> = names(session, &bounds)?.iter().map(|bound| plain(bound)).collect();
    let accounts = schema::branches(options) * ACCOUNTS_PER_BRANCH;
    let expected = (1..=partitions).map(|number| {
        let bounds = schema::partition_bounds(method, accounts, number, partitions);
        plain(&format!("{} for values {bounds}", schema::partition_name(number)))
    });
    let expected: BTreeSet<String> = expected.take(there.len() + 1).collect();
    if !there.is_subset(&expected) {
        return refuse("pgbench_accounts has other partitions or another scale");
    }
    Ok(there.len() == expected.len())
}

/// Checks that fillfactor and persistence are as requested.
fn check_storage(session: &mut Session, options: &InitOptions, ours: &TableIds) -> Result<(), WorkloadError> {
    let storage = format!(
        "select pg_catalog.array_to_string(reloptions, ',') || ' ' || relpersistence::pg_catalog.text \
         from pg_catalog.pg_class where oid = {}",
        ours.branches
    );
    let is_unlogged = match options.logging {
        Logging::All => false,
        Logging::None => true,
        Logging::NoneAsPgbench => options.partitioning.is_none(),
    };
    let expected = format!("fillfactor={} {}", options.fillfactor, if is_unlogged { "u" } else { "p" });
    let found = query_catalogs(session, &storage)?;
    if found.first().and_then(|row| row.get(0)) == Some(expected.as_str()) {
        return Ok(());
    }
    refuse("the existing tables have another fillfactor or another persistence (logged or unlogged)")
}

fn has_rows(session: &mut Session, relation: &str) -> Result<bool, WorkloadError> {
    Ok(first(session, &format!("select exists(select 1 from {relation})"))? == "t")
}

fn refuse<T>(found: &str) -> Result<T, WorkloadError> {
    Err(WorkloadError::NotResumable { found: found.to_owned() })
}

/// The first value of the first row.
fn first(session: &mut Session, sql: &str) -> Result<String, WorkloadError> {
    let rows = query(session, sql)?;
    Ok(rows.first().and_then(|row| row.get(0)).unwrap_or_default().to_owned())
}

/// The first column of a catalog query.
fn names(session: &mut Session, sql: &str) -> Result<BTreeSet<String>, WorkloadError> {
    let rows = query_catalogs(session, sql)?;
    Ok(rows.iter().filter_map(|row| row.get(0)).map(str::to_owned).collect())
}
