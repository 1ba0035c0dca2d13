//! COPY in scripts. The rows of `COPY … FROM STDIN` are sent in pieces while the server reads them: the worker continues
//! when the connection has accepted a piece and the other clients have acted. The rows of `COPY … TO STDOUT` are counted
//! and discarded. (PostgreSQL manual, "Frontend/Backend Protocol", "COPY Operations".)

use script::{CopySource, RowPosition, Sql};
use stats::{Copied, Protocol};
use wire::backend::{CommandTag, CopyForm};
use wire::{Message, frontend};

use super::{Client, Phase, Step, Turn, sql_at};
use crate::abort::AbortCause;
use crate::plan::Compatibility;

/// Bytes of a piece of generated rows or of a file. The other clients of the worker wait for at most one piece; a larger
/// one hardly saves system calls.
const PIECE_BYTES: usize = 32 * 1024;

/// Reason in the server's message if a run ends during a COPY.
const CUT_OFF: &[u8] = b"pgmeter's run has ended";

/// The COPY of a command: its state between the sending of the command and the end of the reply.
#[derive(Debug, Default)]
pub(super) struct Copying {
    /// The server's last response that was not processed yet.
    response: Option<Response>,
    /// Rows and bytes so far; rows are those of completed statements.
    copied: Copied,
    sent: Sent,
}

/// The server's response to COPY.
#[derive(Clone, Copy, Debug)]
enum Response {
    In(CopyForm),
    Out,
    Both,
}

/// What was sent of the rows.
#[derive(Debug, Default)]
enum Sent {
    /// The server has not asked for rows.
    #[default]
    Nothing,
    Rows(RowPosition),
    /// Bytes of the file.
    File(usize),
    All,
}

impl Copying {
    /// Takes the parts of a message that concern COPY. A response creates the state, since any command may be a COPY.
    pub(super) fn take(copying: &mut Option<Box<Self>>, message: &Message<'_>) {
        let response = match message {
            Message::CopyInResponse(form) => Response::In(*form),
            Message::CopyOutResponse => Response::Out,
            Message::CopyBothResponse => Response::Both,
            Message::CopyData { length, .. } => {
                if let Some(copying) = copying {
                    copying.copied.add(Copied { rows: 0, bytes: u64::from(*length) });
                }
                return;
            }
            _ => return,
        };
        copying.get_or_insert_default().response = Some(response);
    }

    /// A statement of the command has succeeded.
    pub(super) fn complete(&mut self, tag: CommandTag<'_>) {
        if tag.as_bytes().starts_with(b"COPY ") {
            self.copied.add(Copied { rows: tag.rows().unwrap_or(0), bytes: 0 });
        }
    }
}

impl Client {
    /// Whether it is sending rows on this connection.
    pub(crate) fn is_copying(&self, link: usize) -> bool {
        self.phase == Phase::Copying && link == self.link
    }

    /// Processes received parts of a COPY. `None`: the reply is handled like that of any command.
    #[cold]
    pub(super) fn attend_copy(&mut self, link: usize, turn: &mut Turn<'_>) -> Option<Step> {
        let reply = &mut self.links[link].reply;
        let has_failed = reply.error.is_some();
        let response = reply.copying.as_deref_mut()?.response.take();
        if let Some(response) = response {
            match self.respond(link, response, has_failed, turn) {
                Ok(true) => return Some(self.send_piece(turn)),
                Ok(false) => {}
                Err(cause) => return Some(self.abort(cause, turn.load)),
            }
        }
        if has_failed && self.phase == Phase::Copying {
            // The server ignores the rest of the rows.
            self.phase = Phase::Waiting;
        }
        let own = &mut self.links[link];
        if !self.pipeline && own.awaits_sync() && (has_failed || own.reply.completed > 0) {
            own.sync(turn.out);
            return Some(Step::Reply);
        }
        if own.reply.ready == own.reply.owed
            && let Some(copying) = own.reply.copying.take()
            && !has_failed
        {
            turn.commands.copy(self.script, self.command, copying.copied);
        }
        None
    }

    /// Processes the server's response to COPY. True if rows must be sent.
    fn respond(
        &mut self,
        link: usize,
        response: Response,
        has_failed: bool,
        turn: &mut Turn<'_>,
    ) -> Result<bool, AbortCause> {
        let is_expected = link == self.link && self.phase == Phase::Waiting;
        if turn.load.plan.compatibility == Compatibility::Pgbench || !is_expected {
            return Err(AbortCause::Copy);
        }
        if self.pipeline {
            return Err(AbortCause::CopyInPipeline);
        }
        match response {
            Response::In(form) if !has_failed => self.begin_copy(form, turn).map(|()| true),
            Response::In(_) | Response::Out => Ok(false),
            Response::Both => Err(AbortCause::Copy),
        }
    }

    /// The server waits for the rows of the current command.
    fn begin_copy(&mut self, form: CopyForm, turn: &mut Turn<'_>) -> Result<(), AbortCause> {
        let source = sql_at(self.script, self.command, turn.load).and_then(Sql::copy_source);
        let source = source.ok_or(AbortCause::CopyWithoutRows)?;
        let begun = match source {
            CopySource::Rows(_) if form.is_binary => return Err(AbortCause::CopyIsBinary),
            CopySource::Rows(rows) if usize::from(form.columns) != rows.columns() => {
                return Err(AbortCause::CopyColumns { columns: form.columns, values: rows.columns() });
            }
            CopySource::Rows(rows) => Sent::Rows(self.evaluate(turn, |scope| rows.begin(scope))?),
            CopySource::File(_) => Sent::File(0),
        };
        match self.links[self.link].reply.copying.as_deref_mut() {
            Some(Copying { sent: sent @ Sent::Nothing, .. }) => *sent = begun,
            // A second COPY of the same command.
            _ => return Err(AbortCause::CopyWithoutRows),
        }
        self.phase = Phase::Copying;
        Ok(())
    }

    /// Sends the next piece of the rows, or their end.
    pub(super) fn send_piece(&mut self, turn: &mut Turn<'_>) -> Step {
        let source = sql_at(self.script, self.command, turn.load).and_then(Sql::copy_source);
        let Self { links, variables, .. } = self;
        let own = &mut links[self.link];
        let Some((source, copying)) = source.zip(own.reply.copying.as_deref_mut()) else {
            return self.abort(AbortCause::Unasked, turn.load);
        };
        let symbols = &turn.load.symbols;
        let mut length = 0;
        let goes_on = frontend::copy_data_with(turn.out, turn.load.plan.message_length_max, |out| {
            let start = out.len();
            let goes_on: Result<bool, AbortCause> = match (source, &mut copying.sent) {
                (CopySource::Rows(rows), Sent::Rows(position)) => {
                    let written = rows.write_piece(position, PIECE_BYTES, variables, symbols, out);
                    written.map_err(AbortCause::Evaluation)
                }
                (CopySource::File(file), Sent::File(sent)) => {
                    let rest = file.content.get(*sent..).unwrap_or_default();
                    let piece = &rest[..rest.len().min(PIECE_BYTES)];
                    out.extend_from_slice(piece);
                    *sent += piece.len();
                    Ok(piece.len() < rest.len())
                }
                _ => Ok(false),
            };
            length = out.len() - start;
            goes_on
        });
        copying.copied.add(Copied { rows: 0, bytes: length as u64 });
        match goes_on {
            Ok(true) => Step::Yield,
            Ok(false) => {
                copying.sent = Sent::All;
                frontend::copy_done(turn.out);
                if turn.load.plan.protocol != Protocol::Simple {
                    own.sync(turn.out);
                }
                self.await_reply(Phase::Waiting, turn)
            }
            Err(cause) => self.abort(cause, turn.load),
        }
    }

    /// Ends a COPY that the run does not wait for.
    pub(super) fn cut_copy_off(&self, link: usize, out: &mut Vec<u8>) {
        if self.is_copying(link) {
            frontend::copy_fail(out, CUT_OFF);
        }
    }
}
