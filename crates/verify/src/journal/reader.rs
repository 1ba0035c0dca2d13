//! Reads a journal's files back: each sent commit with its outcome. A torn last block is left out; damage before it is an
//! error.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use stats::Timestamp;

use super::format::{
    BLOCK_HEADER, CommitOutcome, Entry, FILE_HEADER, TokenKey, block_header, check_file_header, checksum,
};
use crate::error::VerifyError;

/// Maximum length of a block: one pass has at most one commit and one outcome for each client of a worker.
const BLOCK_LENGTH_MAX: u32 = 256 * 1024 * 1024;

/// A commit that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Which.
    pub key: TokenKey,
    /// Start of its pass.
    pub began: Timestamp,
    /// Time of sending.
    pub sent: Timestamp,
    /// Time and outcome; `None` if the journal has none.
    pub ended: Option<(Timestamp, CommitOutcome)>,
}

/// The sent commits of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    /// In no particular order.
    pub attempts: Vec<Attempt>,
    /// Number of files whose last block was torn.
    pub torn: u32,
}

impl Attempts {
    /// Adds those of a worker's file.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged before its last block.
    pub(super) fn read_file(&mut self, path: &Path) -> Result<(), VerifyError> {
        let failed = |error| VerifyError::Read { path: path.to_owned(), error };
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        self.read(BufReader::new(file), length).map_err(|fault| match fault {
            Fault::System(error) => failed(error),
            Fault::Damaged(what) => VerifyError::Damaged { path: path.to_owned(), what },
        })
    }

    /// Adds those of a file of this length.
    fn read(&mut self, mut from: impl Read, length: u64) -> Result<(), Fault> {
        let mut left = length;
        let mut header = [0; FILE_HEADER];
        if left < FILE_HEADER as u64 {
            // Killed while it created the file.
            self.torn += 1;
            return Ok(());
        }
        from.read_exact(&mut header)?;
        left -= FILE_HEADER as u64;
        check_file_header(&header).map_err(Fault::Damaged)?;
        // A client has at most one commit whose outcome is open.
        let mut open: HashMap<u32, usize> = HashMap::new();
        let mut block = Vec::new();
        while left > 0 {
            if !next_block(&mut from, &mut left, &mut block)? {
                self.torn += 1;
                break;
            }
            let mut entries = &block[..];
            while !entries.is_empty() {
                let entry = Entry::read(&mut entries).ok_or_else(|| damaged("an invalid entry"))?;
                self.add(entry, &mut open)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, entry: Entry, open: &mut HashMap<u32, usize>) -> Result<(), Fault> {
        match entry {
            Entry::Sent { key, began, at } => {
                open.insert(key.client, self.attempts.len());
                self.attempts.push(Attempt { key, began, sent: at, ended: None });
            }
            Entry::Ended { key, at, outcome } => {
                let sent = open.remove(&key.client).map(|index| &mut self.attempts[index]);
                match sent.filter(|attempt| attempt.key == key) {
                    Some(attempt) => attempt.ended = Some((at, outcome)),
                    None => return Err(damaged("an outcome of a commit that was not sent")),
                }
            }
        }
        Ok(())
    }
}

/// Reads the entries of the next block. False if it is torn, which only the last one may be.
fn next_block(from: &mut impl Read, left: &mut u64, block: &mut Vec<u8>) -> Result<bool, Fault> {
    if *left < BLOCK_HEADER as u64 {
        return Ok(false);
    }
    let mut header = [0; BLOCK_HEADER];
    from.read_exact(&mut header)?;
    *left -= BLOCK_HEADER as u64;
    let (length, sum) = block_header(header);
    if u64::from(length) > *left {
        return Ok(false);
    }
    if length > BLOCK_LENGTH_MAX {
        return Err(damaged("a block of an impossible length"));
    }
    block.resize(length as usize, 0);
    from.read_exact(block)?;
    *left -= u64::from(length);
    match (length > 0 && checksum(length, block) == sum, *left) {
        (true, _) => Ok(true),
        (false, 0) => Ok(false),
        (false, _) => Err(damaged("a block with a wrong checksum")),
    }
}

enum Fault {
    System(io::Error),
    Damaged(String),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

fn damaged(what: &str) -> Fault {
    Fault::Damaged(format!("it has {what}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::format::{begin_block, end_block, file_header};
    use super::*;

    fn key(client: u32, sequence: u64) -> TokenKey {
        TokenKey { client, sequence, part: 1, tries: 1 }
    }

    fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    /// A file with these blocks.
    fn file(blocks: &[Vec<Entry>]) -> Vec<u8> {
        let mut file = file_header(0).to_vec();
        let mut block = Vec::new();
        for entries in blocks {
            begin_block(&mut block);
            entries.iter().for_each(|entry| entry.write(&mut block));
            assert!(end_block(&mut block));
            file.extend_from_slice(&block);
        }
        file
    }

    fn read(bytes: &[u8]) -> Result<Attempts, String> {
        let mut attempts = Attempts::default();
        match attempts.read(bytes, bytes.len() as u64) {
            Ok(()) => Ok(attempts),
            Err(Fault::Damaged(what)) => Err(what),
            Err(Fault::System(error)) => Err(error.to_string()),
        }
    }

    /// Blocks of several clients that send commits and get outcomes, and what a reader must find.
    fn histories() -> impl Strategy<Value = (Vec<Vec<Entry>>, Vec<Attempt>)> {
        let step = (0_u32..4, proptest::bool::ANY, proptest::bool::ANY);
        proptest::collection::vec(step, 0..60).prop_map(|steps| {
            let mut blocks: Vec<Vec<Entry>> = vec![Vec::new()];
            let mut attempts: Vec<Attempt> = Vec::new();
            let mut open: [Option<usize>; 4] = [None; 4];
            for (number, (client, ends_block, is_known)) in steps.into_iter().enumerate() {
                let now = at(number as u64 * 10);
                let block = blocks.last_mut().expect("there is one");
                match open[client as usize].take() {
                    Some(index) if is_known => {
                        let key = attempts[index].key;
                        attempts[index].ended = Some((now, CommitOutcome::Acknowledged));
                        block.push(Entry::Ended { key, at: now, outcome: CommitOutcome::Acknowledged });
                    }
                    _ => {
                        let key = key(client, number as u64);
                        open[client as usize] = Some(attempts.len());
                        attempts.push(Attempt { key, began: now, sent: now, ended: None });
                        block.push(Entry::Sent { key, began: now, at: now });
                    }
                }
                if ends_block {
                    blocks.push(Vec::new());
                }
            }
            blocks.retain(|block| !block.is_empty());
            (blocks, attempts)
        })
    }

    proptest! {
        #[test]
        fn a_whole_file_gives_each_commit_with_its_outcome((blocks, attempts) in histories()) {
            prop_assert_eq!(read(&file(&blocks)), Ok(Attempts { attempts, torn: 0 }));
        }

        #[test]
        fn a_file_that_ends_anywhere_gives_its_whole_blocks((blocks, _) in histories(), cut in 0_usize..1_000_000) {
            let bytes = file(&blocks);
            let length = cut % bytes.len();
            let whole = (0..=blocks.len()).rev().find(|&count| file(&blocks[..count]).len() <= length);
            let expected = whole.map_or_else(Attempts::default, |count| {
                read(&file(&blocks[..count])).expect("whole blocks")
            });
            let found = read(&bytes[..length]).expect("a torn end is no damage");
            prop_assert_eq!(&found.attempts, &expected.attempts);
            let is_whole = whole.is_some_and(|count| file(&blocks[..count]).len() == length);
            prop_assert_eq!(found.torn, u32::from(!is_whole));
        }

        #[test]
        fn a_changed_byte_is_never_a_wrong_history(
            (blocks, attempts) in histories(), place in 0_usize..1_000_000, bit in 0_u8..8
        ) {
            let mut bytes = file(&blocks);
            prop_assume!(bytes.len() > FILE_HEADER);
            let at = FILE_HEADER + place % (bytes.len() - FILE_HEADER);
            bytes[at] ^= 1 << bit;
            if let Ok(found) = read(&bytes) {
                // A prefix of the blocks: what it has is as it was written.
                let known = |attempt: &Attempt| {
                    attempts.iter().any(|it| it.key == attempt.key && it.sent == attempt.sent
                        && (attempt.ended.is_none() || attempt.ended == it.ended))
                };
                prop_assert!(found.torn == 1 && found.attempts.iter().all(known));
            }
        }

        #[test]
        fn any_bytes_are_a_journal_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
            let mut with_header = file_header(3).to_vec();
            with_header.extend_from_slice(&bytes);
            let _ = read(&with_header);
        }
    }

    #[test]
    fn damage_in_the_middle_is_an_error() {
        let sent = |sequence| vec![Entry::Sent { key: key(0, sequence), began: at(1), at: at(2) }];
        let mut bytes = file(&[sent(1), sent(2)]);
        bytes[FILE_HEADER + BLOCK_HEADER + 1] ^= 1;
        assert_eq!(read(&bytes), Err("it has a block with a wrong checksum".to_owned()));
        let orphan = Entry::Ended { key: key(0, 1), at: at(1), outcome: CommitOutcome::Acknowledged };
        assert_eq!(
            read(&file(&[vec![orphan]])),
            Err("it has an outcome of a commit that was not sent".to_owned())
        );
        assert_eq!(
            read(b"pgmeterJ\x02\0\0\0\0\0\0\0").unwrap_err().split(',').next(),
            Some("it has version 2 of the format")
        );
    }

    #[test]
    fn a_file_of_zeros_after_its_end_is_torn() {
        let sent = vec![Entry::Sent { key: key(0, 1), began: at(1), at: at(2) }];
        let mut bytes = file(&[sent]);
        bytes.extend_from_slice(&[0; BLOCK_HEADER]);
        let found = read(&bytes).expect("a torn end");
        assert_eq!((found.attempts.len(), found.torn), (1, 1));
    }
}
