//! Reads a journal's files back: each sent commit with its outcome. A last block that is not complete is left out: pgmeter was
//! killed while it wrote it. Any other damage is an error.

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
    fn read(&mut self, from: impl Read, length: u64) -> Result<(), Fault> {
        let mut file = Blocks { from, position: 0, length };
        let mut header = [0; FILE_HEADER];
        if file.left() < FILE_HEADER as u64 {
            // Killed while it created the file.
            self.torn += 1;
            return Ok(());
        }
        file.read(&mut header)?;
        check_file_header(&header).map_err(Fault::Damaged)?;
        // A client has at most one commit whose outcome is open.
        let mut open: HashMap<u32, usize> = HashMap::new();
        let mut block = Vec::new();
        while file.left() > 0 {
            let at = file.position;
            if !file.next(&mut block)? {
                self.torn += 1;
                break;
            }
            let mut entries = &block[..];
            while !entries.is_empty() {
                let entry = Entry::read(&mut entries).ok_or_else(|| damaged("an invalid entry", at))?;
                self.add(entry, &mut open).map_err(|what| damaged(what, at))?;
            }
        }
        Ok(())
    }

    /// Adds an entry; the error is a noun.
    fn add(&mut self, entry: Entry, open: &mut HashMap<u32, usize>) -> Result<(), &'static str> {
        match entry {
            Entry::Sent { key, began, at } => {
                open.insert(key.client, self.attempts.len());
                self.attempts.push(Attempt { key, began, sent: at, ended: None });
            }
            Entry::Ended { key, at, outcome } => {
                let sent = open.remove(&key.client).map(|index| &mut self.attempts[index]);
                match sent.filter(|attempt| attempt.key == key) {
                    Some(attempt) => attempt.ended = Some((at, outcome)),
                    None => return Err("an outcome of a commit that was not sent"),
                }
            }
        }
        Ok(())
    }
}

/// A file that is read block by block.
struct Blocks<R> {
    from: R,
    /// Bytes read.
    position: u64,
    /// Of the file.
    length: u64,
}

impl<R: Read> Blocks<R> {
    fn left(&self) -> u64 {
        self.length - self.position
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.from.read_exact(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Reads the entries of the next block. False if it is not complete, which only the last one may be: its header is
    /// valid or cut off, or there are zeros to the end of the file, where the file system has lost what was written.
    fn next(&mut self, block: &mut Vec<u8>) -> Result<bool, Fault> {
        let at = self.position;
        if self.left() < BLOCK_HEADER as u64 {
            return Ok(false);
        }
        let mut header = [0; BLOCK_HEADER];
        self.read(&mut header)?;
        let Some((length, sum)) = block_header(header, at) else {
            return match header.iter().all(|byte| *byte == 0) && self.has_only_zeros()? {
                true => Ok(false),
                false => Err(damaged("an invalid header of a block", at)),
            };
        };
        if u64::from(length) > self.left() {
            return Ok(false);
        }
        if length > BLOCK_LENGTH_MAX {
            return Err(damaged("a block of an impossible length", at));
        }
        block.resize(length as usize, 0);
        self.read(block)?;
        match checksum(&[block]) == sum {
            true => Ok(true),
            false => Err(damaged("a block with a wrong checksum", at)),
        }
    }

    /// Whether the rest of the file consists of zeros.
    fn has_only_zeros(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 4096];
        while self.left() > 0 {
            let length = usize::try_from(self.left()).unwrap_or(usize::MAX).min(bytes.len());
            self.read(&mut bytes[..length])?;
            if bytes[..length].iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
        }
        Ok(true)
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

fn damaged(what: &str, at: u64) -> Fault {
    Fault::Damaged(format!("it has {what} at byte {at}"))
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
            assert!(end_block(&mut block, file.len() as u64));
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
        fn a_changed_byte_is_an_error(
            (blocks, _) in histories(), place in 0_usize..1_000_000, bit in 0_u8..8
        ) {
            let mut bytes = file(&blocks);
            prop_assume!(bytes.len() > FILE_HEADER);
            let at = FILE_HEADER + place % (bytes.len() - FILE_HEADER);
            bytes[at] ^= 1 << bit;
            let starts: Vec<usize> = (0..blocks.len()).map(|count| file(&blocks[..count]).len()).collect();
            let block = starts.iter().rev().find(|start| **start <= at).expect("the first one");
            let what = read(&bytes).expect_err("the file is damaged");
            prop_assert!(what.ends_with(&format!(" at byte {block}")), "{what}");
        }

        #[test]
        fn a_missing_or_repeated_block_is_an_error((blocks, _) in histories(), place in 0_usize..1_000) {
            prop_assume!(blocks.len() > 1);
            let at = place % (blocks.len() - 1);
            let (from, until) = (file(&blocks[..at]).len(), file(&blocks[..=at]).len());
            let bytes = file(&blocks);
            let missing = [&bytes[..from], &bytes[until..]].concat();
            prop_assert_eq!(read(&missing), Err(format!("it has an invalid header of a block at byte {from}")));
            let repeated = [&bytes[..until], &bytes[from..]].concat();
            prop_assert_eq!(read(&repeated), Err(format!("it has an invalid header of a block at byte {until}")));
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
        assert_eq!(read(&bytes), Err(format!("it has a block with a wrong checksum at byte {FILE_HEADER}")));
        let orphan = Entry::Ended { key: key(0, 1), at: at(1), outcome: CommitOutcome::Acknowledged };
        assert_eq!(
            read(&file(&[vec![orphan]])),
            Err(format!("it has an outcome of a commit that was not sent at byte {FILE_HEADER}"))
        );
        assert_eq!(
            read(b"pgmeterJ\x01\0\0\0\0\0\0\0").unwrap_err().split(',').next(),
            Some("it has version 1 of the format")
        );
    }

    /// The length of a block in the middle is one that the file does not have.
    #[test]
    fn a_wrong_length_is_no_torn_end() {
        let sent = |sequence| vec![Entry::Sent { key: key(0, sequence), began: at(1), at: at(2) }];
        for byte in 0..4 {
            let mut bytes = file(&[sent(1), sent(2), sent(3)]);
            let start = file(&[sent(1)]).len();
            bytes[start + byte] = 0x7f;
            assert_eq!(read(&bytes), Err(format!("it has an invalid header of a block at byte {start}")));
        }
    }

    #[test]
    fn a_file_of_zeros_after_its_end_is_torn() {
        let sent = vec![Entry::Sent { key: key(0, 1), began: at(1), at: at(2) }];
        for zeros in [1, BLOCK_HEADER, 10_000] {
            let mut bytes = file(std::slice::from_ref(&sent));
            let end = bytes.len();
            bytes.resize(end + zeros, 0);
            let found = read(&bytes).expect("a torn end");
            assert_eq!((found.attempts.len(), found.torn), (1, 1));
            bytes.push(1);
            let expected = format!("it has an invalid header of a block at byte {end}");
            assert!(zeros < BLOCK_HEADER || read(&bytes) == Err(expected));
        }
    }
}
