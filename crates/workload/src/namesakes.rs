//! Tables of others that the names in a workload's SQL mean in this search path, while the workload's own tables are in
//! another schema: a run would work on the wrong rows.

use std::collections::BTreeSet;

use connect::Session;
use connect::quote::{identifier, literal};
use stats::Scale;

use crate::load::query;
use crate::marks::MarkedObject;
use crate::{QueryChoice, Workload, WorkloadError, sql_names};

/// Refuses a search path in which a name of the workload's SQL means a table that `init` did not make.
///
/// # Errors
/// It does; or errors of the server.
pub(crate) fn refuse(
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
    let choice = QueryChoice { scale, text: None, seed: None, data_seed: None, stream: 0, parameters };
    let queries = workload.queries(&choice).unwrap_or_default();
    let scripts = workload.scripts().iter().map(|script| &*script.text);
    let checks = workload.checks().iter().map(|check| check.sql.as_str());
    let texts = scripts.chain(checks).chain(queries.iter().map(|query| query.sql.as_str()));
    texts.flat_map(sql_names::unqualified_names).collect()
}
