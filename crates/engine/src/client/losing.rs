//! The loss of a connection: whether the transaction has failed or is unknown, and the cause. The client forgets the
//! connection; the worker makes a new one, or the client is aborted.

use std::io::{self, ErrorKind};

use script::{Command, CommandKind, Sql};
use stats::{Ending, Failure, LossCause};
use wire::{ServerError, SqlState, TransactionStatus};

use super::{Client, Phase, Step, Turn, error_offset};
use crate::abort::AbortCause;
use crate::statement_effects::may_commit;

/// A lost connection of a client that will connect again.
#[derive(Debug)]
pub(crate) struct Loss {
    pub(crate) link: usize,
    pub(crate) cause: LossCause,
    /// How its transaction ended; `None` if there was none on this connection.
    pub(crate) ending: Option<Ending>,
    /// The client can go on, because its transaction uses another connection.
    pub(crate) is_aside: bool,
}

/// Whether the messages of the current command have reached the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Perhaps,
    /// The system has refused to send them, or they still wait.
    No,
}

impl Sent {
    /// Of messages whose sending has failed.
    pub(crate) fn of_failed(error: &io::Error) -> Sent {
        match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::NotConnected => Sent::No,
            _ => Sent::Perhaps,
        }
    }
}

impl Client {
    /// A connection is lost. `cause` is the transport's error, if any.
    pub(crate) fn lose_connection(
        &mut self,
        link: usize,
        cause: Option<&io::Error>,
        sent: Sent,
        turn: &mut Turn<'_>,
    ) -> Step {
        let last_word = self.take_error(link);
        let is_possible = self.can_be_committed(last_word.as_deref(), sent);
        if link == self.link {
            self.lose_commit(last_word.as_deref(), is_possible, turn);
        }
        if turn.load.plan.reconnecting.is_none() {
            let error = cause.map(|error| error.to_string().into());
            return self.abort(AbortCause::ConnectionLost { last_word, error }, turn.load);
        }
        let error = last_word.unwrap_or_else(|| Box::new(connection_failure(cause)));
        let why = match (cause.map(io::Error::kind), error.sqlstate) {
            (Some(ErrorKind::TimedOut), SqlState::CONNECTION_FAILURE) => LossCause::NoResponse,
            (Some(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), SqlState::CONNECTION_FAILURE) => {
                LossCause::Reset
            }
            (None, SqlState::CONNECTION_FAILURE) => LossCause::Closed,
            (Some(_), SqlState::CONNECTION_FAILURE) => LossCause::Network,
            (_, sqlstate) => LossCause::SqlState(sqlstate.bytes()),
        };
        let in_doubt = is_possible && (error.sqlstate.leaves_in_doubt() || self.may_be_committed(turn));
        self.leave(link, why, &error, in_doubt, turn)
    }

    /// Whether the server can have executed the message that it has not answered. Of a pipeline, earlier messages have
    /// been sent.
    fn can_be_committed(&self, last_word: Option<&ServerError>, sent: Sent) -> bool {
        let is_sent = sent == Sent::Perhaps || self.pipeline;
        is_sent && !last_word.is_some_and(ServerError::is_read_only)
    }

    /// Whether an error that answers the current command, or the pipeline, leaves open whether the server has committed.
    pub(super) fn is_in_doubt(&self, error: &ServerError, pipeline: bool, turn: &Turn<'_>) -> bool {
        let state = error.sqlstate;
        let in_block = self.status() != TransactionStatus::Idle;
        let may_commit = || match pipeline {
            true => may_commit(self.statements_of_pipeline(turn), in_block),
            false => self.statement(turn).is_some_and(|text| may_commit(std::iter::once(text), in_block)),
        };
        state.leaves_in_doubt() || state.leaves_commit_in_doubt() && may_commit()
    }

    /// The server's error makes the session useless: it is read-only, or does not know whether it has committed. The
    /// client leaves it.
    pub(super) fn leave_session(&mut self, error: &ServerError, in_doubt: bool, turn: &mut Turn<'_>) -> Step {
        self.leave(self.link, LossCause::SqlState(error.sqlstate.bytes()), error, in_doubt, turn)
    }

    fn leave(
        &mut self,
        link: usize,
        cause: LossCause,
        error: &ServerError,
        in_doubt: bool,
        turn: &mut Turn<'_>,
    ) -> Step {
        let is_own = self.in_transaction && link == self.link;
        let ending = is_own.then(|| self.ending_without_reply(error, in_doubt, turn));
        self.links[link].give_up();
        let is_aside = self.in_transaction && !is_own;
        if !is_aside {
            self.phase = Phase::Free;
            self.pipeline = false;
        }
        Step::Lost(Box::new(Loss { link, cause, ending, is_aside }))
    }

    /// How the transaction on the lost connection has ended; counts its error.
    fn ending_without_reply(&self, error: &ServerError, in_doubt: bool, turn: &mut Turn<'_>) -> Ending {
        if let Phase::RollingBack(failure) = self.phase {
            if failure == Failure::Other && self.in_doubt {
                turn.commands.fail(self.script, self.command);
                return Ending::Unknown;
            }
            turn.commands.fail(self.script, self.command);
            turn.errors.count(self.error_kind).failed += u64::from(!turn.warmup);
            return Ending::Failed(failure);
        }
        if in_doubt {
            return Ending::Unknown;
        }
        let (load, command) = (turn.load, (self.script, self.command));
        let kind = turn.errors.kind(command, error.sqlstate, || {
            (Box::new(error.clone()), error_offset(load, command, error, script::SentAs::Numbered))
        });
        turn.errors.count(kind).failed += u64::from(!turn.warmup);
        turn.commands.fail(self.script, self.command);
        Ending::Failed(if error.is_read_only() { Failure::Other } else { Failure::Connection })
    }

    /// Whether the server may have committed something that the client has sent and that was not answered.
    fn may_be_committed(&self, turn: &Turn<'_>) -> bool {
        let link = &self.links[self.link];
        let in_block = link.reply.status != TransactionStatus::Idle;
        if self.pipeline {
            if link.reply.owed == 0 {
                return false;
            }
            // What follows no Sync is committed by an explicit COMMIT only.
            let is_unsynced = link.reply.owed <= link.reply.ready + 1 && link.awaits_sync();
            return may_commit(self.statements_of_pipeline(turn), in_block || is_unsynced);
        }
        // Rows of a COPY whose end was not sent are discarded by the server.
        let is_waiting = self.phase == Phase::Waiting;
        let statement = self.statement(turn).filter(|_| is_waiting);
        statement.is_some_and(|text| may_commit(std::iter::once(text), in_block))
    }

    /// The text of the current command.
    fn statement<'t>(&self, turn: &Turn<'t>) -> Option<&'t [u8]> {
        super::sql_at(self.script, self.command, turn.load).map(Sql::numbered_text)
    }

    /// The statements of the pipeline that were sent: the client does not know which ones the server has executed.
    fn statements_of_pipeline<'t>(&self, turn: &Turn<'t>) -> impl Iterator<Item = &'t [u8]> + use<'t> {
        let commands = turn.load.plan.scripts[self.script].program.commands();
        let sent = &commands[..self.command.min(commands.len())];
        let is_start = |command: &Command| matches!(command.kind, CommandKind::StartPipeline);
        let first = sent.iter().rposition(is_start).unwrap_or(0);
        sent[first..].iter().filter_map(|command| match &command.kind {
            CommandKind::Sql(sql) => Some(sql.numbered_text()),
            _ => None,
        })
    }

    /// The time when the command began whose reply it waits for.
    pub(crate) fn waits_since(&self) -> Option<stats::Timestamp> {
        self.awaits_reply().then_some(self.command_begun)
    }
}

/// The error of a connection that ended without a message of the server.
fn connection_failure(cause: Option<&io::Error>) -> ServerError {
    let message = match cause {
        Some(error) => format!("the connection to the server was lost: {error}"),
        None => "the server closed the connection unexpectedly; see the server's log".to_owned(),
    };
    ServerError::of_client(SqlState::CONNECTION_FAILURE, message)
}
