//! The loss of a connection: whether the transaction has failed or is unknown, and the cause. The client forgets the
//! connection; the worker makes a new one, or the client is aborted.

use std::io::{self, ErrorKind};

use script::CommandKind;
use stats::{Ending, Failure, LossCause};
use wire::{ServerError, SqlState, TransactionStatus};

use super::commits::may_commit;
use super::{Client, Phase, Step, Turn};
use crate::abort::AbortCause;
use crate::errors;

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
    /// The system has refused to send them.
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
        if link == self.link {
            self.lose_commit(last_word.as_deref(), turn);
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
        self.leave(link, why, &error, sent, turn)
    }

    /// The server's error makes the session useless: it is read-only, or does not know whether it has committed. The
    /// client leaves it.
    pub(super) fn leave_session(&mut self, error: &ServerError, turn: &mut Turn<'_>) -> Step {
        self.leave(self.link, LossCause::SqlState(error.sqlstate.bytes()), error, Sent::Perhaps, turn)
    }

    fn leave(
        &mut self,
        link: usize,
        cause: LossCause,
        error: &ServerError,
        sent: Sent,
        turn: &mut Turn<'_>,
    ) -> Step {
        let is_own = self.in_transaction && link == self.link;
        let ending = is_own.then(|| self.ending_without_reply(error, sent, turn));
        self.links[link].give_up();
        let is_aside = self.in_transaction && !is_own;
        if !is_aside {
            self.phase = Phase::Free;
            self.pipeline = false;
        }
        Step::Lost(Box::new(Loss { link, cause, ending, is_aside }))
    }

    /// How the transaction on the lost connection has ended; counts its error.
    fn ending_without_reply(&self, error: &ServerError, sent: Sent, turn: &mut Turn<'_>) -> Ending {
        if let Phase::RollingBack(failure) = self.phase {
            turn.commands.fail(self.script, self.command);
            turn.errors.count(self.error_kind).failed += u64::from(!turn.warmup);
            return Ending::Failed(failure);
        }
        // Of a pipeline, earlier messages have been sent.
        let is_sent = sent == Sent::Perhaps || self.pipeline;
        if error.leaves_in_doubt() || (is_sent && !error.is_read_only() && self.may_be_committed(turn)) {
            return Ending::Unknown;
        }
        let (load, command) = (turn.load, (self.script, self.command));
        let kind = turn.errors.kind(command, error.sqlstate, || {
            (Box::new(error.clone()), errors::offset(load, command, error, script::SentAs::Numbered))
        });
        turn.errors.count(kind).failed += u64::from(!turn.warmup);
        turn.commands.fail(self.script, self.command);
        Ending::Failed(if error.is_read_only() { Failure::Other } else { Failure::Connection })
    }

    /// Whether the server may have committed something that the client has sent and that was not answered.
    fn may_be_committed(&self, turn: &Turn<'_>) -> bool {
        let link = &self.links[self.link];
        let commands = turn.load.plan.scripts[self.script].program.commands();
        let in_block = link.reply.status != TransactionStatus::Idle;
        if self.pipeline {
            if link.reply.owed == 0 {
                return false;
            }
            // The client does not know which commands of the pipeline the server has executed: all that were sent.
            let first = commands[..self.command.min(commands.len())]
                .iter()
                .rposition(|command| matches!(command.kind, CommandKind::StartPipeline))
                .unwrap_or(0);
            let sent = commands[first..self.command.min(commands.len())].iter();
            let statements = sent.filter_map(|command| match &command.kind {
                CommandKind::Sql(sql) => Some(sql.numbered_text()),
                _ => None,
            });
            // What follows no Sync is committed by an explicit COMMIT only.
            let is_unsynced = link.reply.owed <= link.reply.ready + 1 && link.awaits_sync();
            return may_commit(statements, in_block || is_unsynced);
        }
        // Rows of a COPY whose end was not sent are discarded by the server.
        let is_waiting = self.phase == Phase::Waiting;
        let statement = super::sql_at(self.script, self.command, turn.load).filter(|_| is_waiting);
        statement.is_some_and(|sql| may_commit(std::iter::once(sql.numbered_text()), in_block))
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
