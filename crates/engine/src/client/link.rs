//! A client's connection to one target: its state, expected and received replies since the last command, and prepared
//! statements. `client` makes the decisions.

use std::collections::VecDeque;

use connect::{CancelKey, SessionAttributes};
use wire::backend::RowParser;
use wire::{
    Decoder, Message, ProtocolError, ServerError, Startup, StartupError, StartupParameters,
    TransactionStatus, frontend,
};

use crate::abort::AbortCause;
use crate::error::ConnectReason;

use super::capturing::{Capturing, ReplyContext};
use super::copying::Copying;

/// A connection to one target.
#[derive(Debug)]
pub(super) struct Link {
    /// Index of the target's host.
    pub(super) host: usize,
    /// The required state of the server of the next connection.
    pub(super) wanted: SessionAttributes,
    reported: Reported,
    /// The first session had the settings of the plan.
    has_settings: bool,
    state: State,
    decoder: Decoder,
    pub(super) reply: Reply,
    /// Statements prepared on this connection.
    prepared: Box<[bool]>,
    /// A series of messages is open: its Sync has not been written.
    series_open: bool,
    /// Results to store in variables; created on first use.
    capturing: Option<Box<Capturing>>,
    /// Parses the values of all rows, if the plan requests it.
    parser: Option<Box<RowParser>>,
    cancel_key: Option<CancelKey>,
}

#[derive(Debug)]
enum State {
    Disconnected,
    StartingUp(Box<Startup>),
    /// The server was asked for its state; with the answer.
    Checking(Option<bool>),
    /// The server was asked for the values of settings; with the first that is not in force.
    CheckingSettings(Option<Box<str>>),
    Open,
}

/// What the server reports of its state at the start of a session, since 14.
#[derive(Clone, Copy, Debug, Default)]
struct Reported {
    read_only: Option<bool>,
    standby: Option<bool>,
}

impl Reported {
    /// Always false: the message is not only for this.
    fn take(&mut self, message: &Message<'_>) -> bool {
        if let Message::ParameterStatus { name, value } = message {
            match &name[..] {
                b"default_transaction_read_only" => self.read_only = Some(&value[..] == b"on"),
                b"in_hot_standby" => self.standby = Some(&value[..] == b"on"),
                _ => {}
            }
        }
        false
    }
}

const READ_ONLY_QUESTION: &[u8] = b"SHOW transaction_read_only";
const STANDBY_QUESTION: &[u8] = b"SELECT pg_catalog.pg_is_in_recovery()";
/// The objection of `target_session_attrs=read-write`.
pub(crate) const READ_ONLY: &str = "it does not accept writing transactions";
const NO_ANSWER: &str = "it does not say whether it is read-only or a standby";

/// Expected and received replies since nothing was last outstanding.
#[derive(Debug)]
pub(super) struct Reply {
    /// Expected ReadyForQuery messages: one for each series.
    pub(super) owed: u32,
    /// Received ReadyForQuery messages.
    pub(super) ready: u32,
    pub(super) status: TransactionStatus,
    pub(super) error: Option<Box<ServerError>>,
    /// An error without an outstanding command: why the server is about to close the connection.
    farewell: Option<Box<ServerError>>,
    /// The COPY of the current command; remains until its reply is complete.
    pub(super) copying: Option<Box<Copying>>,
    /// Number of statements of the command or pipeline that succeeded.
    pub(super) completed: u32,
    /// Number of statements that had succeeded at the time of the error.
    pub(super) completed_before_error: u32,
    /// Statements with a sent Parse, each with the number of its series.
    parsing: VecDeque<(u32, usize)>,
    /// Statements that the server refused to parse.
    unparsed: Vec<(usize, Box<ServerError>)>,
}

impl Link {
    /// A new link; `statements` are those of the run and that of tokens. `parses_results`: the values of all rows are parsed.
    pub(super) fn new(statements: usize, parses_results: bool) -> Self {
        let mut decoder = Decoder::new();
        decoder.keep_rows(parses_results);
        Self {
            host: 0,
            wanted: SessionAttributes::Any,
            reported: Reported::default(),
            has_settings: false,
            state: State::Disconnected,
            decoder,
            reply: Reply::new(),
            prepared: vec![false; statements].into_boxed_slice(),
            series_open: false,
            capturing: None,
            parser: parses_results.then(Box::default),
            cancel_key: None,
        }
    }

    /// The transport is connected: starts the protocol. Everything of an earlier connection is forgotten.
    pub(super) fn send_startup(
        &mut self,
        parameters: &StartupParameters,
        binding: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), ConnectReason> {
        let mut startup = Box::new(Startup::new(parameters, out)?);
        if let Some(binding) = binding {
            startup.bind(binding);
        }
        let mut prepared = std::mem::take(&mut self.prepared);
        prepared.fill(false);
        let parses_results = self.parser.is_some();
        let state = State::StartingUp(startup);
        let Self { host, wanted, has_settings, .. } = *self;
        *self = Self { host, wanted, has_settings, state, prepared, ..Self::new(0, parses_results) };
        Ok(())
    }

    /// Processes bytes during start-up. True when the client is connected. `settings` are those that the first session must
    /// have.
    pub(super) fn receive_startup(
        &mut self,
        bytes: &[u8],
        settings: &[(String, String)],
        out: &mut Vec<u8>,
    ) -> Result<bool, ConnectReason> {
        let Self { state, decoder, reported, .. } = self;
        match state {
            State::StartingUp(startup) => {
                let mut aside = |message: &Message<'_>| reported.take(message);
                self.cancel_key = startup.receive(decoder, bytes, out, &mut aside)?;
                if self.cancel_key.is_none() {
                    return Ok(false);
                }
                Ok(self.check_session(out)? && self.open(settings, out)?)
            }
            State::Checking(_) => Ok(self.receive_check(bytes)? && self.open(settings, out)?),
            State::CheckingSettings(_) => self.receive_settings(bytes, settings),
            State::Disconnected | State::Open => {
                // It is connected already, while others still connect; the received bytes may end within a message.
                let Self { decoder, reply, prepared, .. } = self;
                decoder
                    .decode(bytes, &mut |message| reply.take(&message, prepared))
                    .map_err(StartupError::Protocol)?;
                Ok(false)
            }
        }
    }

    /// The session is ready for queries: whether its server is in the required state. Servers since 14 have reported it,
    /// others and poolers are asked (libpq does the same).
    fn check_session(&mut self, out: &mut Vec<u8>) -> Result<bool, ConnectReason> {
        let (reported, question) = match self.wanted {
            SessionAttributes::Any | SessionAttributes::PreferStandby => {
                return Ok(true);
            }
            SessionAttributes::ReadWrite | SessionAttributes::ReadOnly => {
                let Reported { read_only, standby } = self.reported;
                (read_only.zip(standby).map(|(read_only, standby)| read_only || standby), READ_ONLY_QUESTION)
            }
            SessionAttributes::Primary | SessionAttributes::Standby => {
                (self.reported.standby, STANDBY_QUESTION)
            }
        };
        if let Some(answer) = reported {
            return self.accept(answer);
        }
        self.state = State::Checking(None);
        self.decoder.keep_rows(true);
        frontend::query(out, question).map_err(|_| ConnectReason::Unsuitable(NO_ANSWER))?;
        Ok(false)
    }

    /// Receives the answer to the question for the server's state.
    fn receive_check(&mut self, bytes: &[u8]) -> Result<bool, ConnectReason> {
        let State::Checking(mut answer) = self.state else { return Ok(false) };
        let (mut is_over, mut refusal) = (false, None);
        let decoded = self.decoder.decode(bytes, &mut |message| match message {
            Message::DataRow(row) => {
                let value = row.columns().next().and_then(Result::ok).flatten();
                answer = value.map(|value| matches!(value, b"on" | b"t"));
            }
            Message::ErrorResponse(fields) => refusal = Some(Box::new(ServerError::from(fields))),
            Message::ReadyForQuery(_) => is_over = true,
            _ => {}
        });
        decoded.map_err(StartupError::Protocol)?;
        self.state = State::Checking(answer);
        if let Some(error) = refusal {
            return Err(StartupError::Server(error).into());
        }
        if !is_over {
            return Ok(false);
        }
        self.decoder.keep_rows(self.parser.is_some());
        answer.ok_or(ConnectReason::Unsuitable(NO_ANSWER)).and_then(|answer| self.accept(answer))
    }

    /// Opens the session, or asks for the values of the settings before the first transaction.
    fn open(&mut self, settings: &[(String, String)], out: &mut Vec<u8>) -> Result<bool, ConnectReason> {
        if settings.is_empty() || self.has_settings {
            self.state = State::Open;
            return Ok(true);
        }
        let values: Vec<_> = settings
            .iter()
            .map(|(name, _)| format!("pg_catalog.current_setting({}, true)", connect::quote::literal(name)))
            .collect();
        let question = format!("SELECT {}", values.join(", "));
        self.state = State::CheckingSettings(None);
        self.decoder.keep_rows(true);
        frontend::query(out, question.as_bytes()).map_err(|_| ConnectReason::Unsuitable(NO_ANSWER))?;
        Ok(false)
    }

    /// Receives the values of the settings.
    fn receive_settings(
        &mut self,
        bytes: &[u8],
        settings: &[(String, String)],
    ) -> Result<bool, ConnectReason> {
        let State::CheckingSettings(difference) = &mut self.state else { return Ok(false) };
        let (mut is_over, mut refusal) = (false, None);
        let decoded = self.decoder.decode(bytes, &mut |message| match message {
            Message::DataRow(row) => {
                let differs = |((name, wanted), found): (&(String, String), Option<&[u8]>)| {
                    let found = String::from_utf8_lossy(found.unwrap_or_default());
                    (*wanted != found).then(|| {
                        format!("{name} is not in force: {wanted} is wanted, and the session has {found}")
                    })
                };
                let values = row.columns().map(|column| column.ok().flatten());
                *difference = settings.iter().zip(values).find_map(differs).map(String::into_boxed_str);
            }
            Message::ErrorResponse(fields) => refusal = Some(Box::new(ServerError::from(fields))),
            Message::ReadyForQuery(_) => is_over = true,
            _ => {}
        });
        decoded.map_err(StartupError::Protocol)?;
        if let Some(error) = refusal {
            return Err(StartupError::Server(error).into());
        }
        if !is_over {
            return Ok(false);
        }
        if let Some(difference) = difference.take() {
            return Err(ConnectReason::Setting(difference));
        }
        self.decoder.keep_rows(self.parser.is_some());
        self.has_settings = true;
        self.state = State::Open;
        Ok(true)
    }

    /// Whether the server is in the required state: read-only or a standby, or not; otherwise an error.
    fn accept(&mut self, answer: bool) -> Result<bool, ConnectReason> {
        let objection = match (self.wanted, answer) {
            (SessionAttributes::ReadWrite, true) => Some(READ_ONLY),
            (SessionAttributes::ReadOnly, false) => Some("it accepts writing transactions"),
            (SessionAttributes::Primary, true) => Some("it is a standby"),
            (SessionAttributes::Standby, false) => Some("it is not a standby"),
            _ => None,
        };
        if let Some(objection) = objection {
            return Err(ConnectReason::Unsuitable(objection));
        }
        Ok(true)
    }

    /// Processes received bytes.
    pub(super) fn receive(
        &mut self,
        bytes: &[u8],
        context: &mut ReplyContext<'_>,
    ) -> Result<(), ProtocolError> {
        let Self { decoder, reply, prepared, capturing, parser, .. } = self;
        let mut parsed = Ok(());
        // While results are captured or parsed, rows are kept and all messages are passed on.
        decoder.decode_outcomes(bytes, &mut |message| {
            if let Some(parser) = parser.as_deref_mut().filter(|_| parsed.is_ok()) {
                parsed = parser.take(&message);
            }
            if let Message::NoticeResponse(fields) = message {
                let notice = ServerError::from(fields);
                context.notice(&notice);
                *context.reserved |= fields.is_reservation();
                if fields.is_farewell() && reply.farewell.is_none() {
                    reply.farewell = Some(Box::new(notice));
                }
            } else if let Some(capturing) = capturing.as_deref_mut() {
                capturing.take(&message, context);
            }
            reply.take(&message, prepared);
        })?;
        parsed
    }

    /// Starts a series of messages unless one is open; the server will answer it with ReadyForQuery.
    pub(super) fn begin_series(&mut self) {
        if !self.series_open {
            self.series_open = true;
            self.reply.owed += 1;
        }
    }

    /// Ends the series with a Sync; starts an empty one if none is open.
    pub(super) fn sync(&mut self, out: &mut Vec<u8>) {
        self.begin_series();
        self.series_open = false;
        frontend::sync(out);
    }

    /// A series is open whose Sync follows when the server has read the rows of a COPY, or does not want them.
    pub(super) fn awaits_sync(&self) -> bool {
        self.series_open
    }

    /// The next command is a COPY with rows of the client.
    pub(super) fn expect_copy(&mut self) {
        self.reply.copying = Some(Box::default());
    }

    /// A series of one message that needs no Sync.
    pub(super) fn query(&mut self) {
        self.reply.owed += 1;
    }

    /// Whether a statement is prepared on this connection.
    pub(super) fn is_prepared(&self, statement: usize) -> bool {
        self.prepared[statement]
    }

    /// The statements that the server refused to parse since the last call, with the errors.
    pub(super) fn take_unparsed(&mut self) -> Vec<(usize, Box<ServerError>)> {
        std::mem::take(&mut self.reply.unparsed)
    }

    /// Marks the statement as prepared.
    pub(super) fn assume_prepared(&mut self, statement: usize) {
        self.prepared[statement] = true;
    }

    /// A Parse of the statement was sent in the open series.
    pub(super) fn expect_parse(&mut self, statement: usize) {
        self.reply.parsing.push_back((self.reply.owed, statement));
    }

    /// Requests capturing for the next command.
    pub(super) fn capture(&mut self) {
        self.decoder.keep_rows(true);
        self.capturing.get_or_insert_default().begin();
    }

    /// The captured results of the ended command, if requested.
    pub(super) fn captured(&mut self) -> Option<&mut Capturing> {
        let capturing = self.capturing.as_deref_mut()?;
        self.decoder.keep_rows(self.parser.is_some());
        capturing.end().then_some(capturing)
    }

    /// Index of the command's current statement, from 0; if captured results are invalid, the one that returned them.
    pub(super) fn query_index(&self, cause: &AbortCause) -> u32 {
        match (cause, &self.capturing) {
            (AbortCause::RowCount { .. } | AbortCause::VariableName { .. }, Some(capturing)) => {
                capturing.last_result()
            }
            (AbortCause::Sql { .. }, _) => self.reply.completed_before_error,
            _ => self.reply.completed,
        }
    }

    /// All replies have arrived: resets the state for the next command. Returns the error, if any.
    pub(super) fn settle(&mut self) -> Option<Box<ServerError>> {
        self.reply.owed = 0;
        self.reply.ready = 0;
        self.reply.error.take()
    }

    /// The server's last error, which explains why it closed the connection.
    pub(super) fn take_error(&mut self) -> Option<Box<ServerError>> {
        self.reply.error.take().or_else(|| self.reply.farewell.take())
    }

    /// The key to cancel a running command from another connection.
    pub(super) fn cancel_key(&self) -> Option<&CancelKey> {
        self.cancel_key.as_ref()
    }

    /// Sends Terminate, if connected.
    pub(super) fn terminate(&mut self, out: &mut Vec<u8>) {
        if matches!(self.state, State::Open) {
            frontend::terminate(out);
        }
        self.state = State::Disconnected;
    }

    /// The connection must not be used any more.
    pub(super) fn give_up(&mut self) {
        self.state = State::Disconnected;
        self.reply = Reply::new();
        self.series_open = false;
        self.cancel_key = None;
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
            copying: None,
            completed: 0,
            completed_before_error: 0,
            parsing: VecDeque::new(),
            unparsed: Vec::new(),
        }
    }

    /// Keeps the parts of a message that decide how to continue; rows are ignored.
    fn take(&mut self, message: &Message<'_>, prepared: &mut [bool]) {
        match message {
            Message::ReadyForQuery(status) => {
                self.ready += 1;
                self.status = *status;
                // A Parse without a reply in a completed series has failed.
                while self.parsing.front().is_some_and(|(series, _)| *series <= self.ready) {
                    self.parsing.pop_front();
                }
            }
            Message::ParseComplete => {
                if let Some((_, statement)) = self.parsing.pop_front() {
                    prepared[statement] = true;
                }
            }
            Message::CommandComplete(tag) => {
                self.completed += 1;
                if let Some(copying) = &mut self.copying {
                    copying.complete(*tag);
                }
            }
            Message::EmptyQueryResponse => self.completed += 1,
            Message::ErrorResponse(fields) => {
                // The first error is the cause; later ones in an aborted pipeline may repeat it.
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
            other => Copying::take(&mut self.copying, other),
        }
    }
}
