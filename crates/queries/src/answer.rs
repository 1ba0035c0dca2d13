//! The answer of a query: its rows are counted and hashed as they arrive. Not for timed queries, whose rows are hashed
//! afterwards; used to make and to test expected answers.

use connect::{Column, ConnectError, RowSink, Session};

use crate::checksum::{Checksum, ValueKind};

/// Runs a query and returns the checksum of its last result set.
///
/// # Errors
/// The query fails.
pub fn answer(session: &mut Session, sql: &str) -> Result<Checksum, ConnectError> {
    let mut hashed = Hashed(Checksum::default());
    session.stream_rows(sql, &mut hashed)?;
    Ok(hashed.0)
}

struct Hashed(Checksum);

impl RowSink for Hashed {
    fn columns(&mut self, columns: Vec<Column>) {
        self.0 = Checksum::new(columns.iter().map(|column| ValueKind::new(column.type_oid)).collect());
    }

    fn row(&mut self, values: &[Option<&[u8]>]) {
        self.0.add(values.iter().copied());
    }
}
