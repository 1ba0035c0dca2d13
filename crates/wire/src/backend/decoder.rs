//! Splits a stream of bytes into messages. Stores only the received part of an incomplete message, and nothing of
//! skipped rows.
//!
//! A message that is complete in the input is passed on without copying.

use super::body;
use super::message::Message;
use crate::protocol_error::ProtocolError;

/// The type byte and the length word.
const HEADER_LENGTH: usize = 5;
/// Maximum capacity kept between incomplete messages, so that usual ones need no allocation. Ten thousand idle
/// connections must not each keep the memory of their largest message.
const RETAINED_CAPACITY_MAX: usize = 4 * 1024;
/// Maximum body length of messages that are small by nature; those for 1,600 columns or 65,535 parameters are far
/// smaller.
const SHORT_BODY_MAX: u32 = 1024 * 1024;
/// Maximum body length of rows, COPY data, errors and notices: the server's limit for a message is 1 GiB.
const LONG_BODY_MAX: u32 = 1024 * 1024 * 1024;
/// Maximum stored length of an error or notice, which may quote a statement of any size.
const ERROR_KEPT_MAX: u32 = 1024 * 1024;

/// Decodes bytes into messages.
#[derive(Debug, Default)]
pub struct Decoder {
    /// Maximum length of DataRow and CopyData bodies that are kept; `None`: none are kept.
    rows_kept_max: Option<u32>,
    /// Whether messages without an outcome are omitted.
    pass_over: bool,
    /// Header of the incomplete message, possibly incomplete itself.
    header: [u8; HEADER_LENGTH],
    header_seen: usize,
    /// Plan of the incomplete message after its header, and the bytes received so far.
    plan: Plan,
    body: Vec<u8>,
    body_seen: usize,
    /// The error that ended the stream.
    failed: Option<ProtocolError>,
}

/// Handling of a message, determined by its header.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    tag: u8,
    /// Length of the body in bytes.
    length: u32,
    /// Number of leading bytes that are kept; `None` if the body is not used.
    kept: Option<u32>,
}

impl Decoder {
    /// A decoder for a new connection, which skips rows.
    pub fn new() -> Decoder {
        Decoder::default()
    }

    /// Sets whether bodies of DataRow and CopyData are kept, from the next message on.
    pub fn keep_rows(&mut self, keep: bool) {
        self.rows_kept_max = keep.then_some(LONG_BODY_MAX);
    }

    /// As [`Decoder::keep_rows`], but a body longer than this is skipped; the message has its length.
    pub fn keep_rows_up_to(&mut self, length_max: u32) {
        self.rows_kept_max = Some(length_max);
    }

    /// As [`Decoder::decode`], for outcomes only: BindComplete, RowDescription, NoData and rows are omitted, unless
    /// rows are kept.
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

    /// Passes each message that `input` completes to `sink`. Any split of the bytes gives the same messages. After an
    /// error the decoder repeats it, since the start of the next message is unknown.
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

    /// True between messages. A connection that ends inside a message was interrupted.
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

    /// Adds input to the incomplete message and passes it on when it is complete; returns the rest of the input.
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

    /// Whether a complete and valid message is omitted.
    #[inline(always)]
    fn passes_over(&self, plan: Plan) -> bool {
        self.pass_over
            && match plan.tag {
                b'T' | b'D' => true,
                b'2' | b'n' => plan.length == 0,
                _ => false,
            }
    }

    /// The plan for the header's message, or an error for an invalid header.
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
            // A server that cannot start a process for the connection sends `E` and plain text.
            _ if tag == b'E' && length.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') => {
                Err(ProtocolError::UnframedError)
            }
            _ => Err(ProtocolError::Length { tag, length: claimed }),
        }
    }
}
