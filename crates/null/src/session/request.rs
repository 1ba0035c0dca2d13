//! Parses the client's messages from a stream of bytes. Strict, in order to find the sender's errors. Used by the
//! session.
//!
//! Layouts: PostgreSQL manual, "Frontend/Backend Protocol", section "Message Formats".

use wire::frontend::PROTOCOL_VERSION;

/// A message of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// The parameters.
    StartUp(StartUpParameters<'a>),
    /// A cancel request, on a separate connection.
    Cancel {
        /// PID of the backend to cancel.
        process_id: u32,
        /// The session's secret key.
        secret_key: &'a [u8],
    },
    /// SSLRequest or GSSENCRequest.
    Encryption,
    /// A PasswordMessage, or another reply to an Authentication message.
    Password(&'a [u8]),
    /// Simple query protocol.
    Query(&'a [u8]),
    /// Prepares a statement.
    Parse {
        /// The statement's name, or empty.
        name: &'a [u8],
        /// The text.
        sql: &'a [u8],
    },
    /// Creates a portal.
    Bind {
        /// The portal's name, or empty.
        portal: &'a [u8],
        /// The statement's name, or empty.
        statement: &'a [u8],
        /// The parameters in text format.
        parameters: Parameters<'a>,
    },
    /// Requests the columns of a result.
    Describe {
        /// A portal, not a statement.
        portal: bool,
        /// Its name.
        name: &'a [u8],
    },
    /// Executes a portal.
    Execute {
        /// The portal's name.
        portal: &'a [u8],
        /// The text of its statement, added by the session.
        sql: &'a [u8],
    },
    /// Closes a statement or portal.
    Close {
        /// A portal, not a statement.
        portal: bool,
        /// Its name.
        name: &'a [u8],
    },
    /// The end of a sequence.
    Sync,
    /// Requests the pending replies.
    Flush,
    /// A piece of the rows of a COPY.
    CopyData(&'a [u8]),
    /// The end of these rows.
    CopyDone,
    /// The client cannot send more rows, for this reason.
    CopyFail(&'a [u8]),
    /// Ends the session.
    Terminate,
}

/// The parameters of a start-up message: names and values, each terminated by a zero byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartUpParameters<'a>(&'a [u8]);

impl<'a> StartUpParameters<'a> {
    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut reader = Reader(self.0);
        std::iter::from_fn(move || reader.pair().flatten())
    }
}

/// The parameters of a Bind message, text or NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters<'a> {
    count: usize,
    body: &'a [u8],
}

impl<'a> Parameters<'a> {
    /// Number of parameters.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The values in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        let mut reader = Reader(self.body);
        std::iter::from_fn(move || reader.value()).take(self.count)
    }
}

/// Maximum length; a larger message is an error of the sender.
const LENGTH_MAX: usize = 1 << 30;
const CANCEL_REQUEST_CODE: u32 = (1234 << 16) | 5678;
const SSL_REQUEST_CODE: u32 = (1234 << 16) | 5679;
const GSS_REQUEST_CODE: u32 = (1234 << 16) | 5680;

/// Parses the first message and its length; `None` if it is incomplete. The first message of a connection has no type
/// byte (`is_startup`).
pub(super) fn frame(bytes: &[u8], is_startup: bool) -> Result<Option<(Request<'_>, usize)>, &'static str> {
    let header = if is_startup { 0 } else { 1 };
    let Some(length) = bytes.get(header..header + 4).and_then(|word| word.try_into().ok()) else {
        return Ok(None);
    };
    let length = header + u32::from_be_bytes(length) as usize;
    if !(header + 4..=LENGTH_MAX).contains(&length) {
        return Err("invalid message length");
    }
    let Some(body) = bytes.get(header + 4..length) else { return Ok(None) };
    let request = if is_startup { startup_packet(body) } else { request_of(bytes[0], body) };
    request.map(|request| Some((request, length))).ok_or("invalid message format")
}

/// Number of missing bytes of the first message: of its header, then of its body; 0 if it is complete or invalid.
pub(super) fn missing(bytes: &[u8], is_startup: bool) -> usize {
    let header = if is_startup { 4 } else { 5 };
    match bytes.get(header - 4..header).and_then(|word| word.try_into().ok()) {
        None => header - bytes.len(),
        Some(length) => match header - 4 + u32::from_be_bytes(length) as usize {
            length if length <= LENGTH_MAX => length.saturating_sub(bytes.len()),
            _ => 0,
        },
    }
}

fn startup_packet(body: &[u8]) -> Option<Request<'_>> {
    let mut reader = Reader(body);
    match reader.u32()? {
        PROTOCOL_VERSION => {
            let parameters = StartUpParameters(reader.0);
            while reader.pair()?.is_some() {}
            reader.0.is_empty().then_some(Request::StartUp(parameters))
        }
        CANCEL_REQUEST_CODE => Some(Request::Cancel { process_id: reader.u32()?, secret_key: reader.0 }),
        SSL_REQUEST_CODE | GSS_REQUEST_CODE => Some(Request::Encryption),
        _ => None,
    }
}

fn request_of(tag: u8, body: &[u8]) -> Option<Request<'_>> {
    let mut reader = Reader(body);
    let request = match tag {
        b'p' => return Some(Request::Password(body.strip_suffix(&[0]).unwrap_or(body))),
        b'Q' => Request::Query(reader.text()?),
        b'P' => {
            let (name, sql) = (reader.text()?, reader.text()?);
            let types = reader.u16()?;
            reader.take(4 * usize::from(types))?;
            Request::Parse { name, sql }
        }
        b'B' => {
            let (portal, statement) = (reader.text()?, reader.text()?);
            Request::Bind { portal, statement, parameters: reader.parameters()? }
        }
        b'D' | b'C' => {
            let portal = match reader.take(1)? {
                b"P" => true,
                b"S" => false,
                _ => return None,
            };
            let name = reader.text()?;
            if tag == b'D' { Request::Describe { portal, name } } else { Request::Close { portal, name } }
        }
        b'E' => {
            let portal = reader.text()?;
            reader.u32()?;
            Request::Execute { portal, sql: b"" }
        }
        b'S' => Request::Sync,
        b'H' => Request::Flush,
        b'd' => return Some(Request::CopyData(body)),
        b'c' => Request::CopyDone,
        b'f' => Request::CopyFail(reader.text()?),
        b'X' => Request::Terminate,
        _ => return None,
    };
    reader.0.is_empty().then_some(request)
}

/// The rest of a message's body.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = self.take(end)?;
        self.take(1)?;
        Some(text)
    }

    /// A name and its value; `Some(None)` at the terminating zero byte.
    fn pair(&mut self) -> Option<Option<(&'a [u8], &'a [u8])>> {
        match self.text()? {
            [] => Some(None),
            name => Some(Some((name, self.text()?))),
        }
    }

    fn value(&mut self) -> Option<Option<&'a [u8]>> {
        match self.u32()? {
            u32::MAX => Some(None),
            length => self.take(length as usize).map(Some),
        }
    }

    /// Formats (all text), values, formats of the results.
    fn parameters(&mut self) -> Option<Parameters<'a>> {
        let formats = self.u16()?;
        self.take(2 * usize::from(formats))?;
        let count = usize::from(self.u16()?);
        let body = self.0;
        for _ in 0..count {
            self.value()?;
        }
        let results = self.u16()?;
        self.take(2 * usize::from(results))?;
        Some(Parameters { count, body })
    }
}
