//! Rows of a query as a stream: each row is handed over when it arrives, and none is stored. So the result may have any
//! size.

use wire::Message;

use super::results::to_text;
use super::{ROW_LENGTH_MAX, Session};
use crate::error::ConnectError;

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// OID of its type in `pg_type`.
    pub type_oid: u32,
}

/// Receives the rows of a query.
pub trait RowSink {
    /// The columns of the following rows. Called for each result set.
    fn columns(&mut self, columns: Vec<Column>);

    /// A row: the values as text in the client encoding, `None` for NULL.
    fn row(&mut self, values: &[Option<&[u8]>]);
}

impl Session {
    /// Runs one or more statements and hands each row to `sink` as it arrives; returns the number of rows.
    ///
    /// # Errors
    /// The statement fails, the connection is lost, or a single row exceeds 64 MiB.
    pub fn stream_rows(&mut self, sql: &str, sink: &mut dyn RowSink) -> Result<u64, ConnectError> {
        let mut answer = self.ask(sql, false)?;
        // The answer stores no rows, but the decoder has to show them.
        self.decoder.keep_rows_up_to(ROW_LENGTH_MAX);
        let mut rows = 0;
        let mut broken = None;
        while !answer.is_complete && !answer.wants_copy_data {
            self.listen_beside(&mut answer, &mut |message| {
                if broken.is_some() {
                    return;
                }
                match message {
                    Message::RowDescription(described) => {
                        let columns: Result<Vec<Column>, _> = described
                            .columns()
                            .map(|column| {
                                column.map(|(name, type_oid)| Column { name: to_text(name), type_oid })
                            })
                            .collect();
                        match columns {
                            Ok(columns) => sink.columns(columns),
                            Err(error) => broken = Some(error),
                        }
                    }
                    Message::DataRow(row) => match row.columns().collect::<Result<Vec<_>, _>>() {
                        Ok(values) => {
                            rows += 1;
                            sink.row(&values);
                        }
                        Err(error) => broken = Some(error),
                    },
                    _ => {}
                }
            })?;
        }
        self.complete(answer)?;
        match broken {
            None => Ok(rows),
            Some(wire::ProtocolError::RowNotKept) => {
                Err(ConnectError::WrongStatement("a row of the result exceeds the limit of 64 MiB"))
            }
            Some(error) => Err(self.end(crate::error::Cause::Protocol(error))),
        }
    }
}
