//! Creates and fills the tables, and finds them before a run. `loader` does the work; here is which tables, rows
//! and indexes there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use connect::{Session, Target};
use stats::Scale;

use super::Tpch;
use super::rows::TableRows;
use super::schema::{self, FOREIGN_KEYS, FOREIGN_KEYS_SET, NO_INDEXES, PRIMARY_KEYS, REFERENCING, TpchTable};
use crate::WorkloadError;
use loading::contract::load::{InitOptions, InitReport, Progress};
use loading::contract::table_name::TableName;
use loading::contract::unsupported::{check_layout, check_made_by_code};
use loading::contract::workload::{Tables, Workload, check_indexes, counted};
use loading::loader::execution::{self, AfterRows, LoadStatement, LoadTable, Purpose, TableSet};
use loading::loader::loaded_tables::{incomplete, loaded};
use loading::loader::protection::init_lock;

/// Rejects options that have no meaning here, unknown index sets, and scales at which keys would not be unique.
pub(super) fn check(options: &InitOptions) -> Result<(), WorkloadError> {
    check_layout(Tpch::NAME, options)?;
    check_made_by_code(Tpch::NAME, options)?;
    check_indexes(&Tpch, options)?;
    let reason = match schema::is_supported(options.scale) {
        true => return Ok(()),
        false if options.scale.units() > schema::SCALE_MAX => "the largest scale is 10000",
        false => "its rows would have duplicate keys. Use scale 0.01, or a scale from 0.023 to 10000",
    };
    Err(WorkloadError::ScaleUnsupported { workload: Tpch::NAME.to_owned(), scale: options.scale, reason })
}

pub(super) fn init(
    target: &Target,
    session: &mut Session,
    options: &InitOptions,
    progress: &mut Progress<'_>,
) -> Result<InitReport, WorkloadError> {
    check(options)?;
    let options = &options.with_index_set(&Tpch);
    let set = table_set(options)?;
    init_lock::hold(session, Tpch::NAME, |session| {
        execution::load_tables(target, session, (&set, &|_| Ok(None)), options, progress)
    })
}

fn table_set(options: &InitOptions) -> Result<TableSet, WorkloadError> {
    let file: Arc<str> = "schema.sql".into();
    let statements = script::statements(&file, schema::SCHEMA, &BTreeMap::new())?;
    // The largest tables come first, so that the keys of one are built while the next one is loaded.
    let source = |table| Arc::new(TableRows { table, scale: options.scale });
    let tables = TpchTable::ALL.into_iter().rev().map(|table| LoadTable::new(table.name(), source(table)));
    Ok(TableSet {
        workload: Tpch::NAME.to_owned(),
        folder: String::new(),
        init: Tpch.init_command(),
        schema: statements
            .into_iter()
            .map(|statement| LoadStatement::of_file(statement.sql, &file, statement.line))
            .collect(),
        names: TpchTable::ALL.map(|table| TableName::new(table.name())).into(),
        tables: tables.collect(),
        after: after_rows(options.indexes.as_deref().unwrap_or(FOREIGN_KEYS_SET)),
        ..TableSet::default()
    })
}

/// The statements of an index set.
fn after_rows(index_set: &str) -> Vec<AfterRows> {
    let after = |purpose, table: TpchTable, sql: String| AfterRows {
        purpose,
        table: Some(TableName::new(table.name())),
        statement: LoadStatement::new(sql),
    };
    let alter = |table: TpchTable| format!("alter table {} add", table.name());
    let mut statements = Vec::new();
    if index_set != NO_INDEXES {
        statements.extend(PRIMARY_KEYS.map(|(table, columns)| {
            after(Purpose::Key, table, format!("{} primary key ({columns})", alter(table)))
        }));
    }
    if index_set == FOREIGN_KEYS_SET {
        statements.extend(REFERENCING.map(|(table, columns)| {
            after(Purpose::Index, table, format!("create index on {} ({columns})", table.name()))
        }));
        statements.extend(FOREIGN_KEYS.map(|(table, columns, referenced)| {
            let sql = format!("{} foreign key ({columns}) references {}", alter(table), referenced.name());
            after(Purpose::ForeignKey, table, sql)
        }));
    }
    statements
}

/// The scale by the number of suppliers.
pub(super) fn find(session: &mut Session) -> Result<Tables, WorkloadError> {
    if loaded(session, &Tpch)?.is_some_and(|loaded| !loaded.complete) {
        return Err(incomplete(&Tpch));
    }
    let (name, each) = (TpchTable::Supplier.name(), TpchTable::Supplier.rows_per_scale().unwrap_or(1));
    let rows = counted(session, &format!("select pg_catalog.count(*) from {name}"), name, &Tpch)?;
    let suppliers = rows.parse::<u32>().ok();
    let scale = suppliers.and_then(|count| Scale::new(f64::from(count) / f64::from(each)));
    let unusable = || WorkloadError::ScaleUnusable {
        table: name.to_owned(),
        rows: "too many".to_owned(),
        init: Tpch.init_command(),
    };
    Ok(Tables { scale: Some(scale.ok_or_else(unusable)?), partitioning: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(index_set: &str) -> Vec<String> {
        after_rows(index_set).into_iter().map(|after| after.statement.sql).collect()
    }

    #[test]
    fn index_sets_build_on_each_other() {
        let [all, keys, none] = ["foreign_keys", "keys", "none"].map(statements);
        assert_eq!((all.len(), keys.len(), none.len()), (22, 8, 0));
        assert_eq!(all[..8], keys);
        assert_eq!(keys[7], "alter table lineitem add primary key (l_orderkey, l_linenumber)");
        assert_eq!(all[13], "create index on lineitem (l_partkey, l_suppkey)");
        assert_eq!(
            all[21],
            "alter table lineitem add foreign key (l_partkey, l_suppkey) references partsupp"
        );
    }

    #[test]
    fn options_without_a_meaning_are_refused() {
        let refusal = |options: InitOptions| check(&options).expect_err("refused").to_string();
        assert_eq!(
            refusal(InitOptions { seed: Some(1), ..InitOptions::default() }),
            "the workload tpch does not support --random-seed: its rows depend on the scale alone"
        );
        assert_eq!(
            refusal(InitOptions { fillfactor: 90, ..InitOptions::default() }),
            "the workload tpch does not support a fillfactor: only the workload tpcb does"
        );
        let unknown = refusal(InitOptions { indexes: Some("key".to_owned()), ..InitOptions::default() });
        assert!(unknown.ends_with("did you mean keys?"), "{unknown}");
        check(&InitOptions { resumes: true, drops: true, ..InitOptions::default() }).expect("supported");
    }
}
