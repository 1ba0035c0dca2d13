//! A client's connection to one target: how far it has come, what the server owes and has said since the
//! last command, which statements it knows. It decides nothing; `client` does.

use std::collections::VecDeque;

use connect::CancelKey;
use wire::{
    Decoder, Message, ProtocolError, ServerError, Startup, StartupError, StartupParameters,
    TransactionStatus, frontend,
};

use crate::abort::AbortCause;

use super::capturing::{Capturing, ReplyContext};

/// See the module.
#[derive(Debug)]
pub(super) struct Link {
    /// Which of its target's places it goes to.
    pub(super) host: usize,
    state: State,
    decoder: Decoder,
    pub(super) reply: Reply,
    /// Statements that this connection has parsed (prepared protocol).
    prepared: Box<[bool]>,
    /// A series of messages is open: its Sync has not been written.
    series_open: bool,
    /// Results that a script wants to have in variables; made when one first does.
    capturing: Option<Box<Capturing>>,
    cancel_key: Option<CancelKey>,
}

#[derive(Debug)]
enum State {
    Disconnected,
    StartingUp(Box<Startup>),
    Open,
}

/// What the server owes, and what it has said since it last owed nothing.
#[derive(Debug)]
pub(super) struct Reply {
    /// ReadyForQuery messages that are due: one for each series that was begun.
    pub(super) owed: u32,
    /// Those that have come.
    pub(super) ready: u32,
    pub(super) status: TransactionStatus,
    pub(super) error: Option<Box<ServerError>>,
    /// An error that came when nothing was due: why the server is about to close the connection.
    farewell: Option<Box<ServerError>>,
    pub(super) copy: bool,
    /// Statements of the command or pipeline that have ended well.
    pub(super) completed: u32,
    /// Those that had when the error came.
    pub(super) completed_before_error: u32,
    /// Statements whose Parse is on its way, each with the number of its series.
    parsing: VecDeque<(u32, usize)>,
    /// Statements that the server refused to parse.
    unparsed: Vec<(usize, Box<ServerError>)>,
}

impl Link {
    /// A connection to be; `statements` are those of the run.
    pub(super) fn new(statements: usize) -> Self {
        Self {
            host: 0,
            state: State::Disconnected,
            decoder: Decoder::new(),
            reply: Reply::new(),
            prepared: vec![false; statements].into_boxed_slice(),
            series_open: false,
            capturing: None,
            cancel_key: None,
        }
    }

    /// The transport is connected: the start-up begins. Nothing is left of an earlier
    /// connection.
    pub(super) fn send_startup(
        &mut self,
        parameters: &StartupParameters,
        binding: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) {
        let mut startup = Box::new(Startup::new(parameters, out));
        if let Some(binding) = binding {
            startup.bind(binding);
        }
        let mut prepared = std::mem::take(&mut self.prepared);
        prepared.fill(false);
        *self = Self { host: self.host, state: State::StartingUp(startup), prepared, ..Self::new(0) };
    }

    /// Bytes have arrived during start-up. True when the client is in.
    pub(super) fn receive_startup(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, StartupError> {
        let State::StartingUp(startup) = &mut self.state else {
            // It is in already, while others are still coming; what is said now may be half a message.
            let Self { decoder, reply, prepared, .. } = self;
            decoder.decode(bytes, &mut |message| reply.take(&message, prepared))?;
            return Ok(false);
        };
        self.cancel_key = startup.receive(&mut self.decoder, bytes, out, &mut |_| false)?;
        if self.cancel_key.is_none() {
            return Ok(false);
        }
        self.state = State::Open;
        Ok(true)
    }

    /// Bytes have arrived.
    pub(super) fn receive(
        &mut self,
        bytes: &[u8],
        context: &mut ReplyContext<'_>,
    ) -> Result<(), ProtocolError> {
        let Self { decoder, reply, prepared, capturing, .. } = self;
        // Rows are kept while results are captured, and then everything is handed over.
        decoder.decode_outcomes(bytes, &mut |message| {
            if let Message::NoticeResponse(fields) = message {
                context.notice(&ServerError::from(fields));
            } else if let Some(capturing) = capturing.as_deref_mut() {
                capturing.take(&message, context);
            }
            reply.take(&message, prepared);
        })
    }

    /// A series of messages begins, unless one is open: the server will say when it is done with it.
    pub(super) fn begin_series(&mut self) {
        if !self.series_open {
            self.series_open = true;
            self.reply.owed += 1;
        }
    }

    /// Ends the series with a Sync; an empty one if none is open.
    pub(super) fn sync(&mut self, out: &mut Vec<u8>) {
        self.begin_series();
        self.series_open = false;
        frontend::sync(out);
    }

    /// A series of one message that needs no Sync.
    pub(super) fn query(&mut self) {
        self.reply.owed += 1;
    }

    /// Whether this connection has parsed a statement.
    pub(super) fn is_prepared(&self, statement: usize) -> bool {
        self.prepared[statement]
    }

    /// The statements that the server has refused to parse since this was last asked, and why.
    pub(super) fn take_unparsed(&mut self) -> Vec<(usize, Box<ServerError>)> {
        std::mem::take(&mut self.reply.unparsed)
    }

    /// From now on it counts as parsed.
    pub(super) fn assume_prepared(&mut self, statement: usize) {
        self.prepared[statement] = true;
    }

    /// The Parse of a statement is on its way, in the series that is open.
    pub(super) fn expect_parse(&mut self, statement: usize) {
        self.reply.parsing.push_back((self.reply.owed, statement));
    }

    /// The results of the next command are wanted.
    pub(super) fn capture(&mut self) {
        self.decoder.keep_rows(true);
        self.capturing.get_or_insert_default().begin();
    }

    /// What was captured of the command that is over, if it was wanted.
    pub(super) fn captured(&mut self) -> Option<&mut Capturing> {
        let capturing = self.capturing.as_deref_mut()?;
        self.decoder.keep_rows(false);
        capturing.end().then_some(capturing)
    }

    /// Which statement of the command is under way, from 0; of a command whose results were wanted and are not what
    /// they should be, the one that gave them.
    pub(super) fn query_index(&self, cause: &AbortCause) -> u32 {
        match (cause, &self.capturing) {
            (AbortCause::RowCount { .. } | AbortCause::VariableName { .. }, Some(capturing)) => {
                capturing.last_result()
            }
            (AbortCause::Sql { .. }, _) => self.reply.completed_before_error,
            _ => self.reply.completed,
        }
    }

    /// Everything that was due has come: the next command begins anew. Gives the error, if there was one.
    pub(super) fn settle(&mut self) -> Option<Box<ServerError>> {
        self.reply.owed = 0;
        self.reply.ready = 0;
        self.reply.error.take()
    }

    /// The server's last error, which says why it closed the connection.
    pub(super) fn take_error(&mut self) -> Option<Box<ServerError>> {
        self.reply.error.take().or_else(|| self.reply.farewell.take())
    }

    /// What is needed to cancel a running command from another connection.
    pub(super) fn cancel_key(&self) -> Option<&CancelKey> {
        self.cancel_key.as_ref()
    }

    /// Says good-bye, if there is somebody to say it to.
    pub(super) fn terminate(&mut self, out: &mut Vec<u8>) {
        if matches!(self.state, State::Open) {
            frontend::terminate(out);
        }
        self.state = State::Disconnected;
    }

    /// The connection is not to be used any more.
    pub(super) fn give_up(&mut self) {
        self.state = State::Disconnected;
    }
}

impl Reply {
    fn new() -> Self {
        Self {
            owed: 0,
            ready: 0,
            status: TransactionStatus::Idle,
            error: None,
            farewell: None,
            copy: false,
            completed: 0,
            completed_before_error: 0,
            parsing: VecDeque::new(),
            unparsed: Vec::new(),
        }
    }

    /// Keeps of a message what decides how to go on; rows mean nothing here.
    fn take(&mut self, message: &Message<'_>, prepared: &mut [bool]) {
        match message {
            Message::ReadyForQuery(status) => {
                self.ready += 1;
                self.status = *status;
                // What was not parsed in a series that is over never will be.
                while self.parsing.front().is_some_and(|(series, _)| *series <= self.ready) {
                    self.parsing.pop_front();
                }
            }
            Message::ParseComplete => {
                if let Some((_, statement)) = self.parsing.pop_front() {
                    prepared[statement] = true;
                }
            }
            Message::CommandComplete(_) | Message::EmptyQueryResponse => self.completed += 1,
            Message::ErrorResponse(fields) => {
                // The first error is the cause; what follows in an aborted pipeline may repeat it.
                let place = if self.ready < self.owed { &mut self.error } else { &mut self.farewell };
                let error = Box::new(ServerError::from(*fields));
                if let Some((_, statement)) =
                    self.parsing.pop_front_if(|(series, _)| *series <= self.ready + 1)
                {
                    self.unparsed.push((statement, error.clone()));
                }
                if place.is_none() {
                    self.completed_before_error = self.completed;
                    *place = Some(error);
                }
            }
            Message::CopyInResponse | Message::CopyOutResponse | Message::CopyBothResponse => {
                self.copy = true;
            }
            _ => {}
        }
    }
}
