//! A client's connection to one target: how far it has come, what the server has said since the last
//! command, which statements it knows. It decides nothing; `client` does.

use connect::CancelKey;
use wire::{
    Decoder, Message, Progress, ProtocolError, ServerError, SessionFacts, Startup, StartupError,
    StartupParameters, TransactionStatus, frontend,
};

/// See the module.
#[derive(Debug)]
pub(super) struct Link {
    state: State,
    decoder: Decoder,
    pub(super) reply: Reply,
    /// Statements that this connection has parsed (prepared protocol).
    pub(super) prepared: Box<[bool]>,
    /// The statement whose Parse is on its way.
    pub(super) parsing: Option<usize>,
    cancel_key: Option<CancelKey>,
}

#[derive(Debug)]
enum State {
    Disconnected,
    StartingUp(Box<Startup>),
    Open,
}

/// What the server has said since the last command was sent.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) ready: u32,
    pub(super) status: TransactionStatus,
    pub(super) error: Option<Box<ServerError>>,
    /// An error that came after the answer was complete: why the server is about to close the connection.
    farewell: Option<Box<ServerError>>,
    pub(super) parsed: bool,
    pub(super) copy: bool,
    /// Statements of the command that have ended well.
    pub(super) completed: u32,
}

impl Link {
    /// A connection to be; `statements` are those of the run.
    pub(super) fn new(statements: usize) -> Self {
        Self {
            state: State::Disconnected,
            decoder: Decoder::new(),
            reply: Reply::new(),
            prepared: vec![false; statements].into_boxed_slice(),
            parsing: None,
            cancel_key: None,
        }
    }

    /// The transport is connected: introduces the client to the server. Nothing is left of an earlier
    /// connection.
    pub(super) fn greet(&mut self, parameters: &StartupParameters, out: &mut Vec<u8>) {
        let Self { state, decoder, reply, prepared, parsing, cancel_key } = self;
        *state = State::StartingUp(Box::new(Startup::new(parameters, out)));
        *decoder = Decoder::new();
        *reply = Reply::new();
        prepared.fill(false);
        *parsing = None;
        *cancel_key = None;
    }

    /// Bytes have arrived during start-up. True when the client is in.
    pub(super) fn start_up(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, StartupError> {
        let State::StartingUp(startup) = &mut self.state else {
            // It is in already, while others are still coming; what is said now may be half a message.
            self.receive(bytes)?;
            return Ok(false);
        };
        let Some(facts) = start_up(startup, &mut self.decoder, bytes, out)? else { return Ok(false) };
        let SessionFacts { process_id, secret_key, parameters: _ } = facts;
        self.cancel_key = Some(CancelKey { process_id, secret_key });
        self.state = State::Open;
        Ok(true)
    }

    /// Bytes have arrived.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        let reply = &mut self.reply;
        self.decoder.decode(bytes, &mut |message| reply.take(&message))
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
            ready: 0,
            status: TransactionStatus::Idle,
            error: None,
            farewell: None,
            parsed: false,
            copy: false,
            completed: 0,
        }
    }

    /// Keeps of a message what decides how to go on; rows and notices mean nothing here.
    fn take(&mut self, message: &Message<'_>) {
        match message {
            Message::ReadyForQuery(status) => {
                self.ready += 1;
                self.status = *status;
            }
            Message::ParseComplete => self.parsed = true,
            Message::CommandComplete(_) | Message::EmptyQueryResponse => self.completed += 1,
            Message::ErrorResponse(fields) => {
                // The first error is the cause; an aborted pipeline may repeat itself.
                let place = if self.ready == 0 { &mut self.error } else { &mut self.farewell };
                place.get_or_insert_with(|| Box::new(ServerError::from(*fields)));
            }
            Message::CopyInResponse(_) | Message::CopyOutResponse(_) | Message::CopyBothResponse(_) => {
                self.copy = true;
            }
            _ => {}
        }
    }
}

/// Feeds start-up with what has arrived; the facts once the server is ready.
fn start_up(
    startup: &mut Startup,
    decoder: &mut Decoder,
    bytes: &[u8],
    out: &mut Vec<u8>,
) -> Result<Option<SessionFacts>, StartupError> {
    let mut result = Ok(None);
    let decoded = decoder.decode(bytes, &mut |message| {
        if !matches!(result, Ok(None)) {
            return;
        }
        result = match startup.message(&message, out) {
            Ok(Progress::NeedMore) => Ok(None),
            Ok(Progress::Ready(facts)) => Ok(Some(facts)),
            Err(error) => Err(error),
        };
    });
    decoded.map_err(StartupError::Protocol)?;
    result
}
