//! The COPY statement of a part, and the errors of its stream. Used by `connection` and `judged`.
//! It does not send rows.

use std::io;

use connect::quote::literal;
use connect::{ConnectError, Session};

use super::plan::Part;
use crate::WorkloadError;
use crate::contract::load::query;

/// From this version on, COPY into a table truncated in the same transaction can load frozen rows and set the
/// visibility map.
const FREEZES_FROM: u32 = 140_000;

/// The session's own error inside that of a writer.
pub(super) fn server_error(error: io::Error) -> ConnectError {
    error.downcast().unwrap_or_else(|error| ConnectError::Lost(error.to_string()))
}

/// Whether the table has rows of its own: it is not partitioned.
pub(super) fn is_ordinary(session: &mut Session, relation: &str) -> Result<bool, WorkloadError> {
    // Within the transaction that loads, whose `search_path` has to stay: the operator is named with its schema.
    let kind = format!(
        "select relkind from pg_catalog.pg_class \
         where oid operator(pg_catalog.=) {}::pg_catalog.regclass",
        literal(relation)
    );
    Ok(query(session, &kind)?.first().and_then(|row| row.get(0)) == Some("r"))
}

/// `copy … from stdin`, frozen where the server can: version 14 or newer, and an ordinary table.
pub(super) fn copy_statement(session: &mut Session, part: &Part) -> Result<String, WorkloadError> {
    let Part { relation, columns, .. } = part;
    let plain = format!("copy {relation}{columns} from stdin");
    if !part.freezes || session.server_version_num() < FREEZES_FROM {
        return Ok(plain);
    }
    Ok(if is_ordinary(session, relation)? { format!("{plain} with (freeze on)") } else { plain })
}
