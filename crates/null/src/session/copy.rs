//! COPY without tables: `COPY t (a, b) FROM STDIN` reads rows, counts and discards them; `COPY … TO STDOUT` sends the
//! rows of the configuration. Used by the session. (PostgreSQL manual, "Frontend/Backend Protocol", "COPY Operations".)

use std::ops::ControlFlow::{self, Break, Continue};

use super::config::SessionConfig;
use super::fault::FaultTrigger;
use super::request::Request;
use super::statement::Prepared;
use super::{Session, Step, Transaction, reply};

/// A `COPY … FROM STDIN` in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct CopyIn {
    /// It was sent with Query, so that its end is the end of the answer.
    is_simple: bool,
    /// Newlines so far.
    rows: u64,
}

impl Session {
    /// Requests the rows.
    pub(super) fn begin_copy(&mut self, prepared: &Prepared, is_simple: bool) -> ControlFlow<Step> {
        if self.transaction == Transaction::Failed {
            self.refuse_in_failed_transaction();
            self.skipping = !is_simple;
            return if is_simple { self.ready() } else { Continue(()) };
        }
        reply::copy_in_response(&mut self.answer, columns(&prepared.text));
        self.copying = Some(CopyIn { is_simple, rows: 0 });
        Break(Step::Told)
    }

    /// A message during a COPY. Flush and Sync are ignored, as by PostgreSQL.
    pub(super) fn message_of_copy(&mut self, request: Request<'_>) -> ControlFlow<Step> {
        let Some(CopyIn { is_simple, rows }) = &mut self.copying else { return Continue(()) };
        match request {
            Request::CopyData(data) => {
                *rows += data.iter().filter(|byte| **byte == b'\n').count() as u64;
                let number = self.copy_messages;
                self.copy_messages += 1;
                if let Some(effect) = self.take_fault(&FaultTrigger::CopyData(number)) {
                    self.apply(&effect)?;
                    return self.fail_copy();
                }
                Continue(())
            }
            Request::Flush | Request::Sync => Continue(()),
            Request::CopyDone => {
                let (is_simple, tag) = (*is_simple, format!("COPY {rows}"));
                self.copying = None;
                reply::command_complete(&mut self.answer, tag.as_bytes());
                if is_simple { self.ready() } else { Continue(()) }
            }
            Request::CopyFail(reason) => {
                let message = format!("COPY from stdin failed: {}", String::from_utf8_lossy(reason));
                let _ = self.error("57014", &message);
                self.fail_copy()
            }
            Request::Terminate | Request::Cancel { .. } => Break(Step::Closed),
            _ => {
                let _ = self.error("08P01", "unexpected message type during COPY from stdin");
                self.fail_copy()
            }
        }
    }

    /// The answer has an error: the COPY has ended.
    fn fail_copy(&mut self) -> ControlFlow<Step> {
        match self.copying.take() {
            Some(CopyIn { is_simple: true, .. }) => {
                self.skipping = false;
                self.ready()
            }
            // A server sends an error at once.
            _ => Break(Step::Told),
        }
    }

    /// The complete answer to `COPY … TO STDOUT`, without ReadyForQuery.
    pub(super) fn copy_out(&mut self, config: &SessionConfig) {
        reply::copy_out_response(&mut self.answer);
        let row = format!("{}\n", "1".repeat(config.rows.bytes as usize));
        for _ in 0..config.rows.count {
            reply::message(&mut self.answer, b'd', |out| out.extend_from_slice(row.as_bytes()));
        }
        self.answer.extend_from_slice(reply::COPY_DONE);
        reply::command_complete(&mut self.answer, format!("COPY {}", config.rows.count).as_bytes());
    }
}

/// Number of names in the first parentheses; 1 without any.
fn columns(sql: &[u8]) -> u16 {
    let list =
        sql.split(|byte| *byte == b'(').nth(1).and_then(|rest| rest.split(|byte| *byte == b')').next());
    let commas = list.unwrap_or_default().iter().filter(|byte| **byte == b',').count();
    u16::try_from(commas + 1).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_the_list() {
        for (sql, expected) in [
            ("COPY t FROM STDIN", 1),
            ("COPY t (a) FROM STDIN", 1),
            ("COPY t (a, b, c) FROM STDIN (FORMAT csv)", 3),
        ] {
            assert_eq!(columns(sql.as_bytes()), expected, "{sql}");
        }
    }
}
