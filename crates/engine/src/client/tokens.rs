//! A client's tokens: decides which messages get one, writes them, and reports each commit to the tracer before it is sent and
//! when its reply is complete.

use script::Sql;
use stats::Protocol;
use wire::frontend;
use wire::frontend::MessageError;
use wire::{ServerError, SqlState, TransactionStatus};

use super::{Client, Turn};
use crate::token::{Token, TokenRole};
use crate::tracer::{CommitEvent, CommitReply};

/// Name of the prepared statement that writes a token.
const STATEMENT: &[u8] = b"pgmeter_token";

/// State of a client's tokens.
#[derive(Debug, Default)]
pub(super) struct TokenState {
    /// Number of the pass, from 1.
    sequence: u64,
    /// Number of commits of this try of the pass.
    part: u32,
    /// The open transaction block, or the pipeline, has written.
    wrote: bool,
    /// The pipeline has a BEGIN.
    begun: bool,
    /// The commit whose reply is awaited.
    sent: Option<Token>,
    /// The server warned that the commit may not have been replicated.
    pub(super) reserved: bool,
    /// The token precedes the statement in its text, so that positions in errors are those of another text.
    moved: bool,
}

/// Place of a token in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenPosition {
    BeforeStatement,
    AfterStatement,
}

impl Client {
    /// A new pass begins.
    #[inline]
    pub(super) fn begin_tokens(&mut self) {
        self.tokens.sequence += 1;
    }

    /// A try of the pass begins.
    #[inline]
    pub(super) fn restart_tokens(&mut self) {
        let TokenState { part, wrote, begun, .. } = &mut self.tokens;
        (*part, *wrote, *begun) = (0, false, false);
    }

    /// Where the current command's message gets a token; `None` if it gets none.
    #[inline]
    pub(super) fn token_position(&mut self, sql: &Sql, turn: &Turn<'_>) -> Option<TokenPosition> {
        let plan = turn.load.plan.tokens.as_ref()?;
        let role = plan.roles[self.script][self.command];
        let in_block = self.status() != TransactionStatus::Idle || self.pipeline && self.tokens.begun;
        match role {
            TokenRole::Nothing => None,
            TokenRole::Begin => {
                self.tokens.wrote = false;
                self.tokens.begun = true;
                None
            }
            // In a pipeline, the token follows the last statement.
            TokenRole::Write if in_block || self.pipeline => {
                self.tokens.wrote = true;
                None
            }
            // The last result of the message belongs to the script.
            TokenRole::Write if sql.is_attended() => Some(TokenPosition::BeforeStatement),
            TokenRole::Write => Some(TokenPosition::AfterStatement),
            TokenRole::Commit => {
                std::mem::take(&mut self.tokens.wrote).then_some(TokenPosition::BeforeStatement)
            }
        }
    }

    /// The next commit gets this token. The tracer notes it, and the worker sends the message after that.
    pub(super) fn next_token(&mut self, turn: &mut Turn<'_>) -> Token {
        self.tokens.part += 1;
        let TokenState { sequence, part, .. } = self.tokens;
        let token = Token { client: self.number, sequence, part, tries: self.tries };
        self.tokens.sent = Some(token);
        turn.tracer.commit(&CommitEvent::Sending { token, began: self.started, now: turn.now });
        *turn.holds = true;
        token
    }

    /// Writes the messages of a token in the extended or prepared protocol.
    pub(super) fn send_token(&mut self, turn: &mut Turn<'_>) -> Result<(), MessageError> {
        let token = self.next_token(turn);
        if self.pipeline && turn.load.plan.protocol == Protocol::Extended {
            self.piped.push(self.command);
        }
        let Some(plan) = &turn.load.plan.tokens else { return Ok(()) };
        let is_prepared = turn.load.plan.protocol == Protocol::Prepared;
        let (name, number) = (if is_prepared { STATEMENT } else { b"" }, turn.load.statements.len());
        let link = &mut self.links[self.link];
        link.begin_series();
        let out = &mut *turn.out;
        if !is_prepared || !link.is_prepared(number) {
            if is_prepared {
                link.expect_parse(number);
            }
            let text = format!("{}($1, $2, $3, $4)", plan.insert);
            frontend::parse(out, name, text.as_bytes())?;
        }
        let mut bind = frontend::bind(out, b"", name);
        for value in values(token) {
            bind.parameter_with(|out| {
                write_integer(value, out);
                true
            });
        }
        bind.finish()?;
        frontend::execute(out, b"");
        Ok(())
    }

    /// A pipeline begins.
    pub(super) fn begin_tokens_of_pipeline(&mut self) {
        self.tokens.begun = false;
    }

    /// A pipeline is about to end: its statements outside of a transaction block are one transaction, which gets a token.
    pub(super) fn end_tokens_of_pipeline(&mut self, turn: &mut Turn<'_>) -> Result<(), MessageError> {
        let is_alone = self.status() == TransactionStatus::Idle && !self.tokens.begun;
        if turn.load.plan.tokens.is_some() && is_alone && std::mem::take(&mut self.tokens.wrote) {
            return self.send_token(turn);
        }
        Ok(())
    }

    /// Notes that a token precedes the text of a statement.
    pub(super) fn move_text(&mut self) {
        self.tokens.moved = true;
    }

    /// The error of a reply, without a position if this is not one of the script's text.
    pub(super) fn in_place(&mut self, error: Option<Box<ServerError>>) -> Option<Box<ServerError>> {
        let is_moved = std::mem::take(&mut self.tokens.moved);
        error.map(|mut error| {
            error.position = error.position.filter(|_| !is_moved);
            error
        })
    }

    /// The reply to the sent messages is complete.
    #[inline]
    pub(super) fn end_commit(&mut self, error: Option<&ServerError>, is_reserved: bool, turn: &mut Turn<'_>) {
        let Some(token) = self.tokens.sent.take() else { return };
        let reply = match error {
            None if is_reserved => CommitReply::Reserved,
            None => CommitReply::Acknowledged,
            Some(error) if error.sqlstate.leaves_commit_in_doubt() => {
                CommitReply::Unknown(Some(error.sqlstate))
            }
            Some(error) => CommitReply::Refused(error.sqlstate),
        };
        turn.tracer.commit(&CommitEvent::Ended { token, now: turn.now, reply });
    }

    /// The connection is lost: the reply will not arrive any more. `is_possible`: the server may have committed.
    pub(super) fn lose_commit(
        &mut self,
        last_word: Option<&ServerError>,
        is_possible: bool,
        turn: &mut Turn<'_>,
    ) {
        self.tokens.reserved = false;
        if let Some(token) = self.tokens.sent.take() {
            let state = last_word.map(|error| error.sqlstate);
            let reply = match is_possible {
                true => CommitReply::Unknown(state),
                false => CommitReply::Refused(state.unwrap_or(SqlState::CONNECTION_FAILURE)),
            };
            turn.tracer.commit(&CommitEvent::Ended { token, now: turn.now, reply });
        }
    }

    /// The commit whose reply will not arrive any more.
    pub(crate) fn doubt_commit(&mut self) -> Option<Token> {
        self.tokens.sent.take()
    }
}

/// Writes a token as text of a simple query.
pub(super) fn write_token(insert: &str, token: Token, out: &mut Vec<u8>) {
    out.extend_from_slice(insert.as_bytes());
    for (index, value) in values(token).into_iter().enumerate() {
        out.push(if index == 0 { b'(' } else { b',' });
        write_integer(value, out);
    }
    out.push(b')');
}

/// The values of the row, in the order of [`TokenPlan::insert`](crate::TokenPlan::insert).
fn values(token: Token) -> [u64; 4] {
    let Token { client, sequence, part, tries } = token;
    [client as u64, sequence, part.into(), tries.into()]
}

fn write_integer(value: u64, out: &mut Vec<u8>) {
    // The longest has 20 digits.
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut left = value;
    loop {
        start -= 1;
        digits[start] = b'0' + u8::try_from(left % 10).unwrap_or(0);
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}
