//! Finds the messages in a stream of bytes that arrives in any pieces. Keeps only the part of a message that
//! has not wholly arrived, and of skipped rows not even that. Fed by whoever reads the socket.
//!
//! A message that lies whole in the input is handed over where it lies; only one that is cut is copied.

use super::body;
use super::message::Message;
use crate::protocol_error::ProtocolError;

/// The type byte and the length word.
const HEADER_LENGTH: usize = 5;
/// Room that a decoder keeps between cut messages, so that the usual ones cost no allocation. Ten thousand idle
/// connections must not each hold the largest message they ever saw.
const RETAINED_CAPACITY_MAX: usize = 4 * 1024;
/// Longest body of the messages that are small by nature; 1,600 columns or 65,535 parameters stay far below.
const SHORT_BODY_MAX: u32 = 1024 * 1024;
/// Longest body of rows, COPY data, errors and notices: the server's own limit for a message is 1 GiB.
const LONG_BODY_MAX: u32 = 1024 * 1024 * 1024;
/// What is kept of an error or notice. A statement quoted in one can have any size; nobody reads so much.
const ERROR_KEPT_MAX: u32 = 1024 * 1024;

/// Turns bytes into messages.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The longest DataRow and CopyData that are wanted with their bodies; `None`: none is.
    rows_kept_max: Option<u32>,
    /// Whether messages that say nothing of an outcome are left out.
    pass_over: bool,
    /// Of the message under way: its first bytes, complete or not.
    header: [u8; HEADER_LENGTH],
    header_seen: usize,
    /// Of the message under way: what its complete header asks for, and what came so far.
    plan: Plan,
    body: Vec<u8>,
    body_seen: usize,
    /// The error that ended the stream.
    failed: Option<ProtocolError>,
}

/// What to do with a message, known from its header.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    tag: u8,
    /// The bytes of the body.
    length: u32,
    /// How many of them are kept, from the first; `None` where the body is of no interest.
    kept: Option<u32>,
}

impl Decoder {
    /// A decoder at the beginning of a connection, which skips rows.
    pub fn new() -> Decoder {
        Decoder::default()
    }

    /// Whether the bodies of DataRow and CopyData are wanted, from the next message on.
    pub fn keep_rows(&mut self, keep: bool) {
        self.rows_kept_max = keep.then_some(LONG_BODY_MAX);
    }

    /// As [`Decoder::keep_rows`], but a body longer than this is skipped; the message tells its length.
    pub fn keep_rows_up_to(&mut self, length_max: u32) {
        self.rows_kept_max = Some(length_max);
    }

    /// As [`Decoder::decode`], for somebody to whom only how things end matters: what says no more than that the
    /// server is at work (BindComplete, RowDescription, NoData and rows) is not handed over, unless rows are kept.
    pub fn decode_outcomes(
        &mut self,
        input: &[u8],
        sink: &mut impl FnMut(Message<'_>),
    ) -> Result<(), ProtocolError> {
        self.pass_over = self.rows_kept_max.is_none();
        let result = self.decode(input, sink);
        self.pass_over = false;
        result
    }

    /// Hands each message that is complete with `input` to `sink`. Any split of the bytes gives the same
    /// messages. After an error the decoder repeats it: the place of the next message is not known.
    pub fn decode(&mut self, input: &[u8], sink: &mut impl FnMut(Message<'_>)) -> Result<(), ProtocolError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let result = self.decode_all(input, sink);
        if let Err(error) = result {
            self.failed = Some(error);
            self.body = Vec::new();
        }
        result
    }

    /// True between messages: nothing of a next one has come. A connection that ends elsewhere was cut.
    pub fn is_between_messages(&self) -> bool {
        self.header_seen == 0
    }

    fn decode_all(
        &mut self,
        mut input: &[u8],
        sink: &mut impl FnMut(Message<'_>),
    ) -> Result<(), ProtocolError> {
        if self.header_seen > 0 {
            input = self.resume(input, sink)?;
        }
        while let Some((header, rest)) = input.split_first_chunk() {
            let plan = self.plan(*header)?;
            let Some((whole, after)) = rest.split_at_checked(plan.length as usize) else {
                break;
            };
            input = after;
            if self.passes_over(plan) {
                continue;
            }
            sink(body::read(plan.tag, plan.kept.map(|kept| &whole[..kept as usize]), plan.length)?);
        }
        if !input.is_empty() {
            self.resume(input, sink)?;
        }
        Ok(())
    }

    /// Adds to the message under way and hands it over once it is whole; returns what lies behind it.
    fn resume<'i>(
        &mut self,
        input: &'i [u8],
        sink: &mut impl FnMut(Message<'_>),
    ) -> Result<&'i [u8], ProtocolError> {
        let mut rest = input;
        if self.header_seen < HEADER_LENGTH {
            let (more, after) = rest.split_at(rest.len().min(HEADER_LENGTH - self.header_seen));
            self.header[self.header_seen..self.header_seen + more.len()].copy_from_slice(more);
            self.header_seen += more.len();
            rest = after;
            if self.header_seen < HEADER_LENGTH {
                return Ok(rest);
            }
            self.plan = self.plan(self.header)?;
        }
        let length = self.plan.length as usize;
        let (more, after) = rest.split_at(rest.len().min(length - self.body_seen));
        let wanted = self.plan.kept.unwrap_or(0) as usize - self.body.len();
        self.body.extend_from_slice(&more[..more.len().min(wanted)]);
        self.body_seen += more.len();
        if self.body_seen < length {
            return Ok(after);
        }
        if !self.passes_over(self.plan) {
            sink(body::read(self.plan.tag, self.plan.kept.map(|_| self.body.as_slice()), self.plan.length)?);
        }
        self.header_seen = 0;
        self.body_seen = 0;
        if self.body.capacity() > RETAINED_CAPACITY_MAX {
            self.body = Vec::new();
        }
        self.body.clear();
        Ok(after)
    }

    /// Whether a message that is whole, and right, is not handed over.
    #[inline(always)]
    fn passes_over(&self, plan: Plan) -> bool {
        self.pass_over
            && match plan.tag {
                b'T' | b'D' => true,
                b'2' | b'n' => plan.length == 0,
                _ => false,
            }
    }

    /// What the header says of the message, or that it cannot be one.
    #[inline(always)]
    fn plan(&self, [tag, length @ ..]: [u8; HEADER_LENGTH]) -> Result<Plan, ProtocolError> {
        let claimed = u32::from_be_bytes(length);
        let (length_max, kept_max) = match tag {
            b'D' | b'd' => {
                let wanted = |max: &u32| u32::from_be_bytes(length).saturating_sub(4) <= *max;
                (LONG_BODY_MAX, self.rows_kept_max.filter(wanted))
            }
            b'E' | b'N' => (LONG_BODY_MAX, Some(ERROR_KEPT_MAX)),
            b'V' => (LONG_BODY_MAX, None),
            b'R' | b'S' | b'K' | b'Z' | b'C' | b'T' | b't' | b'G' | b'H' | b'W' | b'A' | b'v' | b'1'
            | b'2' | b'3' | b'n' | b's' | b'I' | b'c' => (SHORT_BODY_MAX, Some(SHORT_BODY_MAX)),
            _ => return Err(ProtocolError::UnknownMessage { tag, length: claimed }),
        };
        match claimed.checked_sub(4) {
            Some(length) if length <= length_max => {
                Ok(Plan { tag, length, kept: kept_max.map(|kept_max| length.min(kept_max)) })
            }
            // Servers answer with `E` and bare text when they cannot start a process for the connection.
            _ if tag == b'E' && length.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') => {
                Err(ProtocolError::UnframedError)
            }
            _ => Err(ProtocolError::Length { tag, length: claimed }),
        }
    }
}
