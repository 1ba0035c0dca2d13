//! The tables of a workload that `init` has made in the current database, by their marks. A search path is refused in which
//! names in the workload's SQL mean tables of others, while its own are in another schema: a run would work on the wrong rows.

use std::collections::BTreeSet;

use connect::Session;
use connect::quote::{identifier, literal};
use stats::Scale;

use crate::contract::load::query;
use crate::contract::marks::{self, Loaded, MarkedObject};
use crate::contract::sql_names;
use crate::{QueryChoice, Workload, WorkloadError};

/// Options and state of the workload's tables in the current database; `None` if `init` made none. If there are several
/// copies in different schemas, the tables in the search path count.
///
/// # Errors
/// A name in the workload's SQL means a table of others; or errors of the server.
pub fn loaded(session: &mut Session, workload: &dyn Workload) -> Result<Option<Loaded>, WorkloadError> {
    let mut tables = marks::find(session, workload.name())?;
    tables.retain(|object| object.kind == "table");
    if tables.is_empty() {
        return Ok(None);
    }
    refuse_namesakes(session, workload, &tables)?;
    let path = "select pg_catalog.quote_ident(s) from pg_catalog.unnest(pg_catalog.current_schemas(false)) s";
    let path = query(session, path)?;
    let in_path = |object: &MarkedObject| path.iter().any(|row| row.get(0) == Some(&object.schema));
    if tables.iter().any(in_path) {
        tables.retain(in_path);
    }
    let complete = tables.iter().all(|table| table.mark.loaded.complete);
    Ok(tables.into_iter().next().map(|table| Loaded { complete, ..table.mark.loaded }))
}

/// The error about tables whose loading was interrupted.
pub fn incomplete(workload: &dyn Workload) -> WorkloadError {
    WorkloadError::Incomplete { workload: workload.name().to_owned(), init: workload.init_command() }
}

/// Refuses a search path in which a name of the workload's SQL means a table that `init` did not make.
///
/// # Errors
/// It does; or errors of the server.
fn refuse_namesakes(
    session: &mut Session,
    workload: &dyn Workload,
    own: &[MarkedObject],
) -> Result<(), WorkloadError> {
    let mut used = None;
    for table in own.iter().filter(|table| table.is_own) {
        let Some(name) = sql_names::of_identity(&table.identity) else { continue };
        let name = name.name;
        let sql = format!(
            "select (pg_catalog.pg_identify_object('pg_catalog.pg_class'::pg_catalog.regclass, found, 0)).identity, found \
             from pg_catalog.to_regclass({}) as found where found is not null",
            literal(&identifier(&name))
        );
        let found = query(session, &sql)?;
        let Some(found) = found.first().and_then(|row| row.get(0)) else { continue };
        if own.iter().any(|object| object.identity == found) {
            continue;
        }
        let scale = table.mark.loaded.scale;
        if used.get_or_insert_with(|| unqualified_names(workload, scale)).contains(&name) {
            return Err(WorkloadError::Namesake {
                workload: workload.name().to_owned(),
                name,
                found: found.to_owned(),
                own: table.identity.clone(),
                schema: table.schema.clone(),
            });
        }
    }
    Ok(())
}

/// The names without a schema in the scripts, checks and queries of a workload.
fn unqualified_names(workload: &dyn Workload, scale: Scale) -> BTreeSet<String> {
    let parameters = workload.parameters().clone();
    let choice = QueryChoice { parameters, ..QueryChoice::new(scale) };
    let queries = workload.queries(&choice).unwrap_or_default();
    let scripts = workload.scripts().iter().map(|script| &*script.text);
    let checks = workload.checks().iter().map(|check| check.sql.as_str());
    let texts = scripts.chain(checks).chain(queries.iter().map(|query| query.sql.as_str()));
    texts.flat_map(sql_names::unqualified_names).collect()
}
