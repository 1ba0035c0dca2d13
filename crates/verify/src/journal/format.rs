//! The bytes of a journal's file. Pure.
//!
//! File header: `pgmeterJ`, version (u32), worker (u32). Block: length of the entries (u32), CRC-32 of the entries (u32),
//! CRC-32 of the block's position in the file (u64) and of these two numbers (u32), entries. So a wrong length is found, and
//! also a missing block. All integers are little-endian. Entry: a tag byte, then the key and the times as variable-length
//! integers of seven bits per byte (LEB128), then for some tags five bytes of an SQLSTATE.

use stats::Timestamp;

/// First bytes of each file.
const MAGIC: [u8; 8] = *b"pgmeterJ";
const VERSION: u32 = 2;
/// Length of a file's header in bytes.
pub const FILE_HEADER: usize = 16;
/// Length of a block's header in bytes.
pub const BLOCK_HEADER: usize = 12;
/// Maximum length of a variable-length integer.
const INTEGER_LENGTH_MAX: usize = 10;

const SENT: u8 = 1;
const ACKNOWLEDGED: u8 = 2;
const RESERVED: u8 = 3;
const REFUSED: u8 = 4;
const UNKNOWN: u8 = 5;
const LOST_CONNECTION: u8 = 6;

/// Identifies one try of one commit; also the columns of its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenKey {
    /// Number of the client, from 0.
    pub client: u32,
    /// Number of the pass through a script within the client, from 1.
    pub sequence: u64,
    /// Number of the commit within the pass, from 1.
    pub part: u32,
    /// Number of the try, from 1.
    pub tries: u32,
}

/// How a sent commit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// The server confirmed it.
    Acknowledged,
    /// The server confirmed it, and warned that it may not have been replicated.
    Reserved,
    /// The server refused it with this SQLSTATE, or the system refused to send it.
    Refused([u8; 5]),
    /// It may have been applied or not: an error with this SQLSTATE, or `None` if the connection was lost.
    Unknown(Option<[u8; 5]>),
}

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The commit is about to be sent.
    Sent {
        /// Which.
        key: TokenKey,
        /// Start of the try's pass.
        began: Timestamp,
        /// Time of sending.
        at: Timestamp,
    },
    /// The outcome of a commit is known.
    Ended {
        /// Which.
        key: TokenKey,
        /// Time of the reply.
        at: Timestamp,
        /// The outcome.
        outcome: CommitOutcome,
    },
}

/// The header of a worker's file.
pub(super) fn file_header(worker: u32) -> [u8; FILE_HEADER] {
    let mut header = [0; FILE_HEADER];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..].copy_from_slice(&worker.to_le_bytes());
    header
}

/// Checks a file's header; `Err` is a phrase.
pub(super) fn check_file_header(header: &[u8; FILE_HEADER]) -> Result<(), String> {
    if header[..8] != MAGIC {
        return Err("it is not a file of a journal".to_owned());
    }
    let version = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
    match version {
        VERSION => Ok(()),
        other => {
            Err(format!("it has version {other} of the format, and this pgmeter reads version {VERSION}"))
        }
    }
}

/// Starts a block: reserves its header.
pub(super) fn begin_block(out: &mut Vec<u8>) {
    out.clear();
    out.resize(BLOCK_HEADER, 0);
}

/// Fills in the header of a block at this position of the file. False if the block has no entries.
pub(super) fn end_block(block: &mut [u8], position: u64) -> bool {
    let Some((header, entries)) = block.split_at_mut_checked(BLOCK_HEADER) else { return false };
    let Ok(length) = u32::try_from(entries.len()) else { return false };
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4..8].copy_from_slice(&checksum(&[entries]).to_le_bytes());
    let sum = header_checksum(&header[..8], position);
    header[8..].copy_from_slice(&sum.to_le_bytes());
    length > 0
}

/// The length and the checksum of the entries of a block at this position of the file; `None` if the header is invalid.
pub(super) fn block_header(header: [u8; BLOCK_HEADER], position: u64) -> Option<(u32, u32)> {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = header;
    let sum = u32::from_le_bytes([i, j, k, l]);
    let length = u32::from_le_bytes([a, b, c, d]);
    let is_valid = sum == header_checksum(&header[..8], position) && length > 0;
    is_valid.then_some((length, u32::from_le_bytes([e, f, g, h])))
}

fn header_checksum(numbers: &[u8], position: u64) -> u32 {
    checksum(&[&position.to_le_bytes(), numbers])
}

/// CRC-32 of these bytes, one after the other.
pub(super) fn checksum(parts: &[&[u8]]) -> u32 {
    let mut sum = u32::MAX;
    for byte in parts.iter().copied().flatten() {
        sum = (sum >> 8) ^ CRC_TABLE[((sum ^ u32::from(*byte)) & 0xff) as usize];
    }
    !sum
}

/// CRC-32 of ISO 3309 (polynomial 0x04C11DB7, reflected) for single bytes.
const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
            bit += 1;
        }
        table[byte as usize] = sum;
        byte += 1;
    }
    table
};

impl Entry {
    /// Which commit it is about.
    pub fn key(&self) -> TokenKey {
        match self {
            Self::Sent { key, .. } | Self::Ended { key, .. } => *key,
        }
    }

    /// Appends the entry.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let key = |out: &mut Vec<u8>, tag: u8, key: &TokenKey| {
            out.push(tag);
            let TokenKey { client, sequence, part, tries } = *key;
            for part in [client.into(), sequence, part.into(), tries.into()] {
                write_integer(part, out);
            }
        };
        match self {
            Self::Sent { key: which, began, at } => {
                key(out, SENT, which);
                write_integer(began.as_nanos(), out);
                write_integer(at.as_nanos().saturating_sub(began.as_nanos()), out);
            }
            Self::Ended { key: which, at, outcome } => {
                let (tag, state) = match outcome {
                    CommitOutcome::Acknowledged => (ACKNOWLEDGED, None),
                    CommitOutcome::Reserved => (RESERVED, None),
                    CommitOutcome::Refused(state) => (REFUSED, Some(state)),
                    CommitOutcome::Unknown(Some(state)) => (UNKNOWN, Some(state)),
                    CommitOutcome::Unknown(None) => (LOST_CONNECTION, None),
                };
                key(out, tag, which);
                write_integer(at.as_nanos(), out);
                out.extend_from_slice(state.map_or(&[][..], |state| state));
            }
        }
    }

    /// Reads the entry at the start of `bytes`, and shortens them; `None` if they are no entry.
    pub(super) fn read(bytes: &mut &[u8]) -> Option<Entry> {
        let tag = take(bytes, 1)?[0];
        let key = TokenKey {
            client: u32::try_from(read_integer(bytes)?).ok()?,
            sequence: read_integer(bytes)?,
            part: u32::try_from(read_integer(bytes)?).ok()?,
            tries: u32::try_from(read_integer(bytes)?).ok()?,
        };
        let first = read_integer(bytes)?;
        if tag == SENT {
            let at = Timestamp::from_nanos(first.checked_add(read_integer(bytes)?)?);
            return Some(Entry::Sent { key, began: Timestamp::from_nanos(first), at });
        }
        let outcome = match tag {
            ACKNOWLEDGED => CommitOutcome::Acknowledged,
            RESERVED => CommitOutcome::Reserved,
            REFUSED => CommitOutcome::Refused(read_state(bytes)?),
            UNKNOWN => CommitOutcome::Unknown(Some(read_state(bytes)?)),
            LOST_CONNECTION => CommitOutcome::Unknown(None),
            _ => return None,
        };
        Some(Entry::Ended { key, at: Timestamp::from_nanos(first), outcome })
    }
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn read_state(bytes: &mut &[u8]) -> Option<[u8; 5]> {
    let state: [u8; 5] = take(bytes, 5)?.try_into().ok()?;
    state.iter().all(u8::is_ascii_alphanumeric).then_some(state)
}

fn write_integer(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}

fn read_integer(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for place in 0..INTEGER_LENGTH_MAX {
        let byte = take(bytes, 1)?[0];
        let shift = u32::try_from(place * 7).ok()?;
        let part = u64::from(byte & 0x7f);
        if part.leading_zeros() < shift {
            return None;
        }
        value |= part << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(in crate::journal) fn keys() -> impl Strategy<Value = TokenKey> {
        (any::<u32>(), any::<u64>(), any::<u32>(), any::<u32>())
            .prop_map(|(client, sequence, part, tries)| TokenKey { client, sequence, part, tries })
    }

    pub(in crate::journal) fn entries() -> impl Strategy<Value = Entry> {
        let state = proptest::array::uniform5(prop_oneof![b'0'..=b'9', b'A'..=b'Z']);
        let outcome = prop_oneof![
            Just(CommitOutcome::Acknowledged),
            Just(CommitOutcome::Reserved),
            state.clone().prop_map(CommitOutcome::Refused),
            proptest::option::of(state).prop_map(CommitOutcome::Unknown),
        ];
        let times = (any::<u64>(), any::<u64>()).prop_map(|(one, two)| (one.min(two), one.max(two)));
        (keys(), times, proptest::option::of(outcome)).prop_map(|(key, (first, second), outcome)| {
            let (began, at) = (Timestamp::from_nanos(first), Timestamp::from_nanos(second));
            match outcome {
                None => Entry::Sent { key, began, at },
                Some(outcome) => Entry::Ended { key, at, outcome },
            }
        })
    }

    proptest! {
        #[test]
        fn an_entry_is_the_same_after_writing_and_reading(entry in entries(), rest in any::<[u8; 3]>()) {
            let mut bytes = Vec::new();
            entry.write(&mut bytes);
            bytes.extend_from_slice(&rest);
            let mut left = &bytes[..];
            prop_assert_eq!(Entry::read(&mut left), Some(entry));
            prop_assert_eq!(left, &rest);
        }

        #[test]
        fn any_bytes_are_an_entry_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let mut left = &bytes[..];
            while Entry::read(&mut left).is_some() {}
            prop_assert!(left.len() <= bytes.len());
        }

        #[test]
        fn a_shortened_entry_is_none(entry in entries()) {
            let mut bytes = Vec::new();
            entry.write(&mut bytes);
            for length in 0..bytes.len() {
                prop_assert_eq!(Entry::read(&mut &bytes[..length]), None);
            }
        }
    }

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        // The check value of CRC-32 is that of "123456789".
        assert_eq!(checksum(&[b"1234", b"56789"]), 0xcbf4_3926);
    }
}
