//! Relations with the names of pgbench's tables before a loading: whether they may be dropped, the sentence about it, and
//! their replacement in one transaction. The drop-in uses none of this: pgbench drops what has the names.

use std::time::Duration;

use connect::{Row, Session, Stopwatch};

use super::Tpcb;
use super::existing::oids_of_names;
use super::schema;
use crate::WorkloadError;
use loading::contract::init_steps::Step;
use loading::contract::load::{
    InitOptions, InitProgress, Progress, failed, query_catalogs, tell, with_locks,
};
use loading::contract::sql_names;
use loading::contract::workload::Workload;
use loading::loader::protection::dependents::{self, Dependent};
use loading::loader::protection::existing_tables::{self, Child};

/// The columns of pgbench's tables. `{aid}` stands for the type of an account's number.
const COLUMNS: [(&str, &str); 4] = [
    ("pgbench_accounts", "aid {aid}, bid integer, abalance integer, filler character(84)"),
    ("pgbench_branches", "bid integer, bbalance integer, filler character(88)"),
    (
        "pgbench_history",
        "tid integer, bid integer, aid {aid}, delta integer, mtime timestamp without time zone, filler character(22)",
    ),
    ("pgbench_tellers", "tid integer, bid integer, tbalance integer, filler character(84)"),
];
/// The type depends on the scale.
const ACCOUNT_NUMBERS: [&str; 2] = ["integer", "bigint"];

/// The kind of a relation that is a table, partitioned or not.
const TABLE: &str = "table";

/// The constraints that `pgbench -i` and the server make, without the name of the table at their beginning. Since version 18, NOT
/// NULL is a constraint.
const CONSTRAINTS: [&str; 7] =
    ["pkey", "bid_fkey", "tid_fkey", "aid_fkey", "aid_not_null", "bid_not_null", "tid_not_null"];
/// So many objects are named; the others are counted.
const NAMED_MAX: usize = 10;

/// Relations that have the names of pgbench's tables.
#[derive(Debug)]
pub(super) struct PgbenchObstacles {
    relations: Vec<Obstacle>,
    /// Objects of users that are dropped with them, described.
    dependents: Vec<String>,
}

#[derive(Debug)]
struct Obstacle {
    oid: String,
    /// As DROP names it.
    kind: String,
    /// With its schema, quoted.
    identity: String,
    schema: String,
    name: String,
    /// As the server estimates them; `None`: not known.
    rows: Option<u64>,
    /// `name type, name type, …`
    columns: String,
}

impl PgbenchObstacles {
    /// Those that the session's search path finds.
    pub(super) fn find(session: &mut Session) -> Result<PgbenchObstacles, WorkloadError> {
        let oids = oids_of_names(session)?.join(", ");
        let sql = format!(
            "select c.oid, replace(o.type, 'composite type', 'type'), o.identity, quote_ident(n.nspname), c.relname, \
             case when c.reltuples > 0 then c.reltuples::bigint end, \
             (select string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum) \
             from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped) \
             from pg_class c join pg_namespace n on n.oid = c.relnamespace \
             cross join lateral pg_identify_object('pg_class'::regclass, c.oid, 0) o \
             where c.oid in ({oids}) order by c.relname"
        );
        let relations: Vec<Obstacle> = query_catalogs(session, &sql)?.iter().map(Obstacle::new).collect();
        let dependents = dependents_of_users(session, &relations)?;
        Ok(PgbenchObstacles { relations, dependents })
    }

    /// Refuses relations that pgbench did not make: others than tables, tables with other columns or with partitions of
    /// others, and before a drop also tables of which one schema does not have all four.
    pub(super) fn check(&self, session: &mut Session, steps: &[Step]) -> Result<(), WorkloadError> {
        let init = || Tpcb.init_command();
        for obstacle in &self.relations {
            if let Some(reason) = obstacle.difference() {
                let table = obstacle.identity.clone();
                return Err(WorkloadError::OtherTable { table, reason, init: init() });
            }
            check_partitions(session, obstacle)?;
        }
        let in_schema =
            |own: &&Obstacle| self.relations.iter().filter(|other| other.schema == own.schema).count();
        // That of a schema with few of them: the others may be a whole set that it hides in part.
        let Some(fewest) = self.relations.iter().min_by_key(in_schema) else { return Ok(()) };
        if in_schema(&fewest) == COLUMNS.len() || !steps.contains(&Step::DropTables) {
            return Ok(());
        }
        Err(WorkloadError::IncompleteTables { table: fewest.with_rows(), init: init() })
    }

    /// Says what is dropped.
    pub(super) fn announce(&self, progress: &mut Progress<'_>) -> Result<(), WorkloadError> {
        if self.relations.is_empty() {
            return Ok(());
        }
        let tables = self
            .relations
            .iter()
            .filter(|own| own.kind == TABLE)
            .map(Obstacle::with_rows)
            .collect::<Vec<_>>();
        let tables = (!tables.is_empty()).then(|| format!("drop table {}", tables.join(", ")));
        let dependents = (!self.dependents.is_empty())
            .then(|| format!("with them, PostgreSQL drops {}", listed(&self.dependents)));
        let drops: Vec<String> = self.drops_of_others().chain(tables).chain(dependents).collect();
        tell(progress, InitProgress::Dropping(&format!("before loading: {}", drops.join("; "))))
    }

    /// Drops the relations, and creates the tables in the same transaction if that is the next step, so that statements of
    /// other sessions find a table at any time. A session that reads them does not make others wait behind the drop.
    pub(super) fn replace(
        &self,
        session: &mut Session,
        options: &InitOptions,
        progress: &mut Progress<'_>,
    ) -> Result<Replaced, WorkloadError> {
        if self.relations.is_empty() {
            return Ok(Replaced::default());
        }
        let stopwatch = Stopwatch::start();
        let drop = schema::drop_tables();
        // One by one: DROP TABLE of several tables holds the first lock for as long as it waits for the others.
        let tables = self.relations.iter().filter(|own| own.kind == TABLE);
        let locks = tables.map(|own| format!("lock table {} in access exclusive mode", own.identity));
        let mut statements: Vec<String> = locks.chain(self.drops_of_others()).chain([drop.clone()]).collect();
        let creates = options.steps.get(1) == Some(&Step::CreateTables);
        if creates {
            statements.extend(schema::create_tables(options));
        }
        with_locks(session, progress, |session, locking, _| {
            let done = locking.execute_in_transaction(session, &statements);
            done.map_err(|failure| failed(&drop)(*failure.error))
        })?;
        Ok(Replaced { steps: 1 + usize::from(creates), took: stopwatch.passed() })
    }

    /// The statements that drop views and other relations that are not tables.
    fn drops_of_others(&self) -> impl Iterator<Item = String> {
        let others = self.relations.iter().filter(|own| own.kind != TABLE);
        others.map(|own| format!("drop {} {}", own.kind, own.identity))
    }
}

/// Work that was done before the first step.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Replaced {
    /// So many steps at the beginning, as far as they drop and create the four tables.
    pub(super) steps: usize,
    pub(super) took: Duration,
}

impl Obstacle {
    fn new(row: &Row) -> Obstacle {
        let text = |column| row.get(column).unwrap_or_default().to_owned();
        let rows = row.get(5).and_then(|rows| rows.parse().ok());
        let [oid, kind, identity, schema, name, columns] = [0, 1, 2, 3, 4, 6].map(text);
        Obstacle { oid, kind, identity, schema, name, rows, columns }
    }

    /// What pgbench would not make, after `exists already`.
    fn difference(&self) -> Option<String> {
        if self.kind != TABLE {
            return Some(format!("and is not a table ({})", self.kind));
        }
        let expected = COLUMNS.iter().find(|(name, _)| *name == self.name)?.1;
        let is_like = |number: &str| expected.replace("{aid}", number) == self.columns;
        match ACCOUNT_NUMBERS.iter().any(|number| is_like(number)) {
            true => None,
            false => Some("and has other columns than `init` gives it".to_owned()),
        }
    }

    fn with_rows(&self) -> String {
        let rows =
            self.rows.map(|rows| format!(" (about {rows} {})", if rows == 1 { "row" } else { "rows" }));
        format!("{}{}", self.identity, rows.unwrap_or_default())
    }
}

/// What users have added to the tables and to their partitions. The keys of pgbench are its own.
fn dependents_of_users(session: &mut Session, relations: &[Obstacle]) -> Result<Vec<String>, WorkloadError> {
    let mut tables = Vec::new();
    for table in relations.iter().filter(|own| own.kind == TABLE) {
        let children = existing_tables::children(session, &table.oid)?;
        let children = children.into_iter().map(|child| (child.relation.oid, table.name.clone()));
        tables.extend([(table.oid.clone(), table.name.clone())].into_iter().chain(children));
    }
    let dependents = dependents::read(session, tables.iter().map(|(oid, _)| oid.as_str()))?;
    let is_pgbenchs = |dependent: &Dependent| {
        let is_of = |name: &str| {
            let rest = tables.iter().find_map(|(_, table)| name.strip_prefix(table.as_str()))?;
            // Of a partition.
            let rest = rest.trim_start_matches(|c: char| c == '_' || c.is_ascii_digit());
            CONSTRAINTS.contains(&rest).then_some(())
        };
        dependent.constraint().is_some_and(|name| is_of(&name).is_some())
    };
    let of_users = dependents.into_iter().filter(|dependent| !is_pgbenchs(dependent));
    Ok(of_users.map(|dependent| dependent.described).collect())
}

/// The first of these, and the number of the others.
fn listed(described: &[String]) -> String {
    let named = described.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match described.len().saturating_sub(NAMED_MAX) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Rejects partitions and inheriting tables that have other names than those of pgbench, are in another schema, or belong to a
/// partition: DROP TABLE would drop them too.
fn check_partitions(session: &mut Session, table: &Obstacle) -> Result<(), WorkloadError> {
    let schema_of = |identity: &str| sql_names::of_identity(identity).and_then(|name| name.schema);
    let is_pgbenchs = |child: &Child| {
        let Some(name) = sql_names::of_identity(&child.relation.identity) else { return false };
        let number = name.name.strip_prefix("pgbench_accounts_").unwrap_or_default();
        let is_named = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        child.is_direct && is_named && name.schema == schema_of(&table.identity)
    };
    let mut children = existing_tables::children(session, &table.oid)?.into_iter();
    let Some(child) = children.find(|child| !is_pgbenchs(child)) else { return Ok(()) };
    let (table, workload) = (child.relation.identity, Tpcb::NAME.to_owned());
    Err(WorkloadError::ForeignTable { table, workload, init: Tpcb.init_command() })
}
