//! The journal of a loading: a small table in the loaded database. Each chunk of rows and each statement leaves a note in
//! its own transaction, so `--resume` knows exactly what is there. Dropped at the end.

use std::collections::BTreeSet;
use std::sync::Arc;

use connect::quote::{identifier, literal};
use connect::{Session, SqlState};

use crate::WorkloadError;
use crate::contract::load::{execute, query, query_catalogs, text};
use crate::contract::marks::MarkedObject;
use crate::contract::object_kinds::ObjectKey;
use crate::loader::protection::dependents::{self, Dependent};

/// Longest name of a relation.
const NAME_LENGTH_MAX: usize = 63;

/// Entries of one statement.
const ENTRIES_AT_ONCE: usize = 100;

/// Beginning of the step of a table whose rows the server has judged, because it has refused one.
pub(super) const JUDGED: &str = "judged ";

/// The kinds of rows of a journal.
pub(super) mod kind {
    use crate::loader::execution::Purpose;

    /// Options of the loading; one row.
    pub(crate) const OPTIONS: &str = "options";
    /// The search path at the end of the schema; one row.
    pub(crate) const SEARCH_PATH: &str = "search path";
    /// A table: its name in the set, and its name with its schema.
    pub(crate) const TABLE: &str = "table";
    /// A key that is created after the rows: its statement and its table.
    pub(crate) const KEY: &str = "key";
    /// The same of a foreign key.
    pub(crate) const FOREIGN_KEY: &str = "foreign key";
    /// The same of an index, and of what comes last.
    pub(crate) const INDEX: &str = "index";
    pub(crate) const LAST: &str = "last";
    /// The kind of a statement after the rows.
    pub(crate) fn of_purpose(purpose: Purpose) -> &'static str {
        match purpose {
            Purpose::Key => KEY,
            Purpose::ForeignKey => FOREIGN_KEY,
            Purpose::Index => INDEX,
            Purpose::Last => LAST,
        }
    }
    /// The purpose of the statements of a kind.
    pub(crate) fn purpose(kind: &str) -> Option<Purpose> {
        let all = [Purpose::Key, Purpose::ForeignKey, Purpose::Index, Purpose::Last];
        all.into_iter().find(|purpose| of_purpose(*purpose) == kind)
    }
    /// An object that belongs to a table and was made by the loading: its catalog and its OID. One row is empty, because earlier
    /// versions have no such rows.
    pub(crate) const DEPENDENT: &str = "dependent";
    /// Something that is done.
    pub(crate) const DONE: &str = "done";
}

/// A row: kind, text and further text.
pub(super) type Entry = (String, String, String);

/// The name of a workload's journal, without its schema.
pub(super) fn table_name(workload: &str) -> String {
    let mut name = format!("pgmeter_loading_{workload}");
    // Workload names are ASCII.
    name.truncate(NAME_LENGTH_MAX);
    name
}

/// The journal of an interrupted loading, with its schema, quoted; `None` if there is none. A table of another owner is
/// no journal: its statements would be executed with the rights of the current user.
pub(super) fn find(session: &mut Session, workload: &str) -> Result<Option<String>, WorkloadError> {
    let sql = format!(
        "select quote_ident(n.nspname) || '.' || quote_ident(c.relname) from pg_class c \
         join pg_namespace n on n.oid = c.relnamespace where c.relname = {} and c.relkind = 'r' \
         and pg_get_userbyid(c.relowner) = current_user order by 1 limit 1",
        literal(&table_name(workload))
    );
    let rows = query_catalogs(session, &sql)?;
    Ok(rows.first().and_then(|row| row.get(0)).map(str::to_owned))
}

/// The statements that create a journal with these entries.
pub(super) fn create(table: &str, entries: &[Entry]) -> Vec<String> {
    let create =
        format!("create table {table} (kind pg_catalog.text, step pg_catalog.text, detail pg_catalog.text)");
    let row = |(kind, step, detail): &Entry| {
        format!("({})", [kind, step, detail].map(|text| literal(text)).join(", "))
    };
    let insert = |entries: &[Entry]| {
        let rows: Vec<String> = entries.iter().map(row).collect();
        format!("insert into {table} values {}", rows.join(", "))
    };
    [create].into_iter().chain(entries.chunks(ENTRIES_AT_ONCE).map(insert)).collect()
}

/// All rows of a journal.
pub(super) fn read(session: &mut Session, table: &str) -> Result<Vec<Entry>, WorkloadError> {
    let rows = query(session, &format!("select kind, step, detail from {table}"))?;
    Ok(rows.iter().map(|row| (text(row, 0), text(row, 1), text(row, 2))).collect())
}

/// The dependents of its tables that a loading has made; `None` if its journal does not say so.
pub(super) fn recorded(
    session: &mut Session,
    table: &str,
) -> Result<Option<BTreeSet<ObjectKey>>, WorkloadError> {
    let entries = read(session, table)?.into_iter().filter(|(kind, ..)| kind == kind::DEPENDENT);
    let recorded: BTreeSet<ObjectKey> = entries.map(|(_, catalog, oid)| (catalog, oid)).collect();
    Ok((!recorded.is_empty()).then_some(recorded))
}

/// The dependents of tables whose loading has not ended that the journal does not have; none if an earlier version made the
/// journal.
pub(super) fn unrecorded(
    session: &mut Session,
    table: &str,
    own: &[MarkedObject],
) -> Result<Vec<Dependent>, WorkloadError> {
    // Before the records: a loading that still runs commits a dependent together with its record.
    let mut dependents = dependents::of_unfinished(session, own)?;
    let Some(recorded) = recorded(session, table)? else { return Ok(Vec::new()) };
    dependents.retain(|dependent| !recorded.contains(&dependent.key));
    Ok(dependents)
}

/// The entries of these dependents at the beginning.
pub(super) fn dependent_entries(made: Vec<ObjectKey>) -> impl Iterator<Item = Entry> {
    let none = (String::new(), String::new());
    [none].into_iter().chain(made).map(|(catalog, oid)| (kind::DEPENDENT.to_owned(), catalog, oid))
}

/// The table of a schema, quoted.
pub(super) fn in_schema(schema: &str, workload: &str) -> String {
    format!("{}.{}", identifier(schema), identifier(&table_name(workload)))
}

/// A journal that was found or created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Journal {
    /// Its name with its schema, quoted.
    pub(super) table: Arc<str>,
    /// The journal of another loading has the same name, but not this OID.
    oid: Arc<str>,
}

impl Journal {
    /// The journal of this name.
    pub(super) fn named(session: &mut Session, table: &str) -> Result<Journal, WorkloadError> {
        let rows = query_catalogs(session, &format!("select {}::regclass::oid", literal(table)))?;
        let oid = rows.first().and_then(|row| row.get(0)).unwrap_or_default();
        Ok(Journal { table: table.into(), oid: oid.into() })
    }

    pub(super) fn oid(&self) -> &str {
        &self.oid
    }

    /// Notes that the loading has made these dependents of its tables.
    pub(super) fn record(&self, session: &mut Session, made: &[ObjectKey]) -> Result<(), WorkloadError> {
        if made.is_empty() {
            return Ok(());
        }
        let rows = made.iter().map(|(catalog, oid)| {
            format!("({}, {}, {})", literal(kind::DEPENDENT), literal(catalog), literal(oid))
        });
        let rows: Vec<String> = rows.collect();
        execute(session, &format!("insert into {} values {}", self.table, rows.join(", ")))
    }

    /// Locks the journal until the end of the transaction, so that no other loading drops the tables.
    ///
    /// # Errors
    /// Another loading has dropped it.
    pub(super) fn hold(&self, session: &mut Session) -> Result<(), WorkloadError> {
        let Journal { table, oid } = self;
        let sql = format!("select 1 from {table} where tableoid operator(pg_catalog.=) {oid} limit 1");
        if ask(session, &sql)? { Ok(()) } else { Err(WorkloadError::Replaced) }
    }
}

/// Whether a query of a journal has a row.
///
/// # Errors
/// Another loading has dropped the journal.
fn ask(session: &mut Session, sql: &str) -> Result<bool, WorkloadError> {
    match query(session, sql) {
        Err(WorkloadError::Query { source, .. }) if source.sqlstate() == Some(SqlState::UNDEFINED_TABLE) => {
            Err(WorkloadError::Replaced)
        }
        rows => Ok(!rows?.is_empty()),
    }
}

/// A note that steps are done, all in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub(super) journal: Journal,
    /// At least one.
    pub(super) steps: Vec<String>,
}

impl Note {
    /// The note of each step.
    pub(super) fn singly(&self) -> impl Iterator<Item = Note> {
        self.steps.iter().map(|step| Note { journal: self.journal.clone(), steps: vec![step.clone()] })
    }

    /// The statement that writes it.
    pub(super) fn insert(&self) -> String {
        let row = |step: &String| format!("({}, {}, '')", literal(kind::DONE), literal(step));
        let rows: Vec<String> = self.steps.iter().map(row).collect();
        format!("insert into {} values {}", self.journal.table, rows.join(", "))
    }

    /// Whether it was written.
    pub(super) fn is_there(&self, session: &mut Session) -> Result<bool, WorkloadError> {
        let step = self.steps.first().map(String::as_str).unwrap_or_default();
        let sql = format!(
            "select 1 from {} where kind operator(pg_catalog.=) {} and step operator(pg_catalog.=) {}",
            self.journal.table,
            literal(kind::DONE),
            literal(step)
        );
        ask(session, &sql)
    }
}
