//! Parses the body of one message. Input is untrusted: a body that is too short, too long or invalid becomes
//! `ProtocolError::Malformed`, never a panic. Called by the decoder; rows and errors are parsed on demand.

use super::error::ErrorFields;
use super::message::{Authentication, CommandTag, CopyForm, Message, Names, TransactionStatus};
use super::reader::Reader;
use super::rows::{DataRow, RowDescription};
use crate::protocol_error::ProtocolError;

/// Maximum length of the key in BackendKeyData since protocol 3.2; before, it has 4 bytes.
const SECRET_KEY_LENGTH_MAX: usize = 256;

/// Parses a message from its type byte and the kept part of a body of `length` bytes. `kept` is `None` if the body was
/// skipped.
pub(super) fn read(tag: u8, kept: Option<&[u8]>, length: u32) -> Result<Message<'_>, ProtocolError> {
    let body = kept.unwrap_or_default();
    match tag {
        b'R' => authentication(body).map(Message::Authentication),
        b'S' => {
            let mut reader = Reader::new(body, "ParameterStatus");
            let message = Message::ParameterStatus { name: reader.text()?, value: reader.text()? };
            reader.finish(message)
        }
        b'K' => {
            let mut reader = Reader::new(body, "BackendKeyData");
            let message = Message::BackendKeyData { process_id: reader.u32()?, secret_key: reader.rest() };
            let is_too_long = body.len() > 4 + SECRET_KEY_LENGTH_MAX;
            if is_too_long { Err(ProtocolError::Malformed { message: message.name() }) } else { Ok(message) }
        }
        b'Z' => match body {
            b"I" => Ok(Message::ReadyForQuery(TransactionStatus::Idle)),
            b"T" => Ok(Message::ReadyForQuery(TransactionStatus::InTransaction)),
            b"E" => Ok(Message::ReadyForQuery(TransactionStatus::Failed)),
            _ => Err(ProtocolError::Malformed { message: "ReadyForQuery" }),
        },
        b'C' => {
            let mut reader = Reader::new(body, "CommandComplete");
            let message = Message::CommandComplete(CommandTag(reader.text()?));
            reader.finish(message)
        }
        b'D' => Ok(Message::DataRow(DataRow::new(kept, length))),
        b'd' => Ok(Message::CopyData { data: kept, length }),
        b'T' => Ok(Message::RowDescription(RowDescription::new(body))),
        b'E' => Ok(Message::ErrorResponse(ErrorFields::new(body))),
        b'N' => Ok(Message::NoticeResponse(ErrorFields::new(body))),
        b't' => counted(body, 0, 4, Message::ParameterDescription),
        b'G' => copy_form(body).map(Message::CopyInResponse),
        b'H' => counted(body, 1, 2, Message::CopyOutResponse),
        b'W' => counted(body, 1, 2, Message::CopyBothResponse),
        b'A' => {
            let mut reader = Reader::new(body, "NotificationResponse");
            let process_id = reader.u32()?;
            let message = Message::NotificationResponse {
                process_id,
                channel: reader.text()?,
                payload: reader.text()?,
            };
            reader.finish(message)
        }
        b'v' => {
            let mut reader = Reader::new(body, "NegotiateProtocolVersion");
            let newest = reader.u32()?;
            let _count = reader.u32()?;
            let unknown_options = Names::new(reader.rest());
            Ok(Message::NegotiateProtocolVersion { newest, unknown_options })
        }
        b'V' => Ok(Message::FunctionCallResponse),
        b'1' => empty(body, Message::ParseComplete),
        b'2' => empty(body, Message::BindComplete),
        b'3' => empty(body, Message::CloseComplete),
        b'n' => empty(body, Message::NoData),
        b's' => empty(body, Message::PortalSuspended),
        b'I' => empty(body, Message::EmptyQueryResponse),
        b'c' => empty(body, Message::CopyDone),
        _ => {
            let length = u32::try_from(body.len()).unwrap_or(u32::MAX).saturating_add(4);
            Err(ProtocolError::UnknownMessage { tag, length })
        }
    }
}

fn authentication(body: &[u8]) -> Result<Authentication<'_>, ProtocolError> {
    let mut reader = Reader::new(body, "Authentication");
    let demand = match reader.u32()? {
        0 => Authentication::Ok,
        3 => Authentication::CleartextPassword,
        5 => Authentication::Md5Password { salt: reader.array()? },
        10 => Authentication::Sasl(Names::new(reader.rest())),
        11 => Authentication::SaslContinue(reader.rest()),
        12 => Authentication::SaslFinal(reader.rest()),
        code => {
            reader.rest();
            Authentication::Unsupported { code }
        }
    };
    reader.finish(demand)
}

/// Checks a message whose contents are not used: `head` bytes, a count, and as many items of `width` bytes.
fn counted<'a>(
    body: &[u8],
    head: usize,
    width: usize,
    message: Message<'a>,
) -> Result<Message<'a>, ProtocolError> {
    let mut reader = Reader::new(body, message.name());
    reader.take(head)?;
    let count = reader.u16()?;
    reader.take(usize::from(count) * width)?;
    reader.finish(message)
}

/// An overall format, and the number and formats of the columns, which are the same.
fn copy_form(body: &[u8]) -> Result<CopyForm, ProtocolError> {
    let mut reader = Reader::new(body, "CopyInResponse");
    let is_binary = reader.take(1)? != [0];
    let columns = reader.u16()?;
    reader.take(usize::from(columns) * 2)?;
    reader.finish(CopyForm { is_binary, columns })
}

fn empty<'a>(body: &[u8], message: Message<'a>) -> Result<Message<'a>, ProtocolError> {
    if body.is_empty() { Ok(message) } else { Err(ProtocolError::Malformed { message: message.name() }) }
}
