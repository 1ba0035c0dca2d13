//! Schema of an extension's views, if they can be read safely. A view is found by its name, and its functions run with
//! the privileges of the reading role: the owner of the schema could rename it and create other views in its place. So
//! all privileges of this role must also belong to the owners.

use connect::quote::{identifier, literal};
use connect::{Row, Session};

/// Owner of `public` since PostgreSQL 15: a role whose only member is the owner of the database.
const DATABASE_OWNER: &str = "pg_database_owner";

/// Schema of the extension's views, quoted; `None` if the extension is not in this database.
///
/// # Errors
/// Why reading the views is not safe.
pub fn extension_schema(session: &mut Session, extension: &str) -> Result<Option<String>, String> {
    let rows = session.query_catalogs(&sql(extension)).map_err(|error| error.to_string())?;
    rows.first().map(|row| schema(extension, row)).transpose()
}

/// Query for the schema, its owner, and whether its owner and the extension's are members of this role; superusers are
/// members of all roles.
pub(crate) fn sql(extension: &str) -> String {
    format!(
        "select n.nspname, o.rolname, pg_has_role(o.oid, current_user, 'member') and \
         pg_has_role(e.extowner, current_user, 'member') \
         from pg_extension e join pg_namespace n on n.oid = e.extnamespace join pg_roles s on s.oid = n.nspowner \
         join pg_database d on d.datname = current_database() join pg_roles o \
         on o.oid = case when s.rolname = '{DATABASE_OWNER}' then d.datdba else s.oid end where e.extname = {}",
        literal(extension)
    )
}

/// Parses a row of [`sql`].
pub(crate) fn schema(extension: &str, row: &Row) -> Result<String, String> {
    let schema = identifier(row.get(0).unwrap_or_default());
    if row.get(2) == Some("t") {
        return Ok(schema);
    }
    Err(format!(
        "not read: the role {owner} owns the schema {schema} of {extension} and could put a view of its own in its \
         place, which would run with this role's rights: move the extension to a schema that a superuser owns (ALTER \
         EXTENSION {extension} SET SCHEMA …), or observe as the role {owner}",
        owner = identifier(row.get(1).unwrap_or_default()),
    ))
}
