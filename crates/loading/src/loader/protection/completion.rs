//! Completes the marks of a loading that has ended: its objects as they are now, the dependents of its relations, the
//! numbers of rows and the foreign keys.

use std::collections::{BTreeMap, BTreeSet};

use connect::Session;
use connect::quote::literal;

use crate::WorkloadError;
use crate::contract::load::execute;
use crate::contract::marks;
use crate::contract::object_kinds::{ObjectKey, has_dependents};
use crate::loader::protection::dependents;

/// Marks all objects of a loading that has ended. `made` are the dependents of relations that it has made; `None`: all. `rows`
/// has numbers of rows by the OIDs of tables, `foreign_keys` has keys by their names.
pub(crate) fn complete(
    session: &mut Session,
    workload: &str,
    made: Option<&BTreeSet<ObjectKey>>,
    rows: &BTreeMap<String, u64>,
    foreign_keys: &BTreeMap<String, String>,
) -> Result<(), WorkloadError> {
    completions(session, workload, made, rows, foreign_keys)?.iter().try_for_each(|sql| execute(session, sql))
}

/// The statements that do so. Statements after the rows may have added columns.
pub(crate) fn completions(
    session: &mut Session,
    workload: &str,
    made: Option<&BTreeSet<ObjectKey>>,
    rows: &BTreeMap<String, u64>,
    foreign_keys: &BTreeMap<String, String>,
) -> Result<Vec<String>, WorkloadError> {
    let mut marked = marks::find(session, workload)?;
    marked.retain(|object| object.is_same() && !object.mark.loaded.complete);
    let relations = marked.iter().filter(|object| has_dependents(&object.kind));
    let mut dependents = dependents::read(session, relations.map(|object| object.object.oid.as_str()))?;
    dependents.retain(|dependent| made.is_none_or(|made| made.contains(&dependent.key)));
    let mut statements = Vec::new();
    for object in &marked {
        let mut own = object.object.clone();
        own.dependents = has_dependents(&object.kind).then(|| dependents::word(&dependents, &own.oid));
        own.rows = rows.get(&own.oid).copied();
        own.foreign_keys = foreign_keys.get(&object.identity).cloned().unwrap_or_default();
        let mut mark = object.mark.of(own);
        mark.loaded.complete = true;
        let comment = literal(&mark.added_to(&object.comment));
        statements.push(format!("comment on {} {} is {comment}", object.kind, object.identity));
    }
    Ok(statements)
}
