//! The messages between the ranks of a job: JSON, compressed. Rank 0 sends directives, the others send reports. A
//! process checks each message that it reads, as untrusted input. Pure; `exchange` sends and receives them.

use std::io::{Read, Write};

use engine::{EndDecisions, RankMessage};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use results::{Host, SCHEMA_VERSION};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::order::Order;

/// Limit of a message after decompression.
const LENGTH_MAX: u64 = 64 << 20;
/// Reports of at most this length together go into one message, or a single longer one.
const REPORTS_LENGTH_MAX: usize = 1 << 20;
/// Longer messages take several rounds, so that no rank waits long for the others to read and write.
const PART_LENGTH_MAX: usize = 64 << 10;

/// Rank 0's message of a round.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FromFirst {
    pub(crate) pace: Pace,
    pub(crate) directives: Vec<Directive>,
}

/// When the next round begins, on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Pace {
    /// At once: something is about to begin or to end.
    Hurry,
    /// Shortly after each second of the run.
    Seconds,
    /// At long intervals: no run is in progress.
    Idle,
}

/// An instruction of rank 0 to the other ranks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Directive {
    /// Prepare your part of this run.
    Prepare { run: u64, order: Box<Order> },
    /// All ranks are ready: they agree on the start in the next rounds.
    Start { run: u64 },
    /// The decisions of rank 0 about the end of the run.
    End { run: u64, decisions: EndDecisions },
    /// The run does not take place, or has failed.
    Cancel { run: u64 },
    /// The job is over.
    Quit,
}

/// A report of another rank to rank 0.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The first report of a rank.
    Here(Introduction),
    /// All clients of this rank are connected.
    Ready { run: u64, host: Box<Host> },
    /// The rank began this long after the common start, in nanoseconds.
    Began { run: u64, late_ns: u64 },
    /// The statistics of a second, or the outcome of the rank's part.
    Of { run: u64, message: Box<RankMessage> },
    /// The rank has nothing more to do for this run.
    Idle { run: u64 },
}

/// The properties of a process that must be equal on all ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Introduction {
    /// pgmeter's version.
    pub(crate) version: String,
    /// Version of the record's format.
    pub(crate) format: u32,
    /// SHA-256 of the command line after the program's name, which may contain a password.
    pub(crate) arguments: [u8; 32],
}

impl Introduction {
    /// That of this process.
    pub(crate) fn of_process() -> Introduction {
        let mut hash = Sha256::new();
        for argument in std::env::args_os().skip(1) {
            hash.update(argument.as_encoded_bytes());
            hash.update([0]);
        }
        Introduction {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            format: SCHEMA_VERSION,
            arguments: hash.finalize().into(),
        }
    }

    /// Why these two cannot run one load together.
    pub(crate) fn difference(&self, of_rank_0: &Introduction) -> Option<String> {
        let Introduction { version, format, arguments } = self;
        if (version, format) != (&of_rank_0.version, &of_rank_0.format) {
            return Some(format!(
                "is pgmeter {version} (records of format {format}), and rank 0 is pgmeter {} (format {}): install the \
                 same version on all machines",
                of_rank_0.version, of_rank_0.format
            ));
        }
        (*arguments != of_rank_0.arguments).then(|| {
            "was started with other arguments than rank 0: start all ranks with the same command".to_owned()
        })
    }
}

/// As compressed JSON.
pub(crate) fn encode(message: &impl Serialize) -> Vec<u8> {
    compress(&serde_json::to_vec(message).unwrap_or_default())
}

/// As many of these reports as fit into a message, which are removed.
pub(crate) fn encode_reports(reports: &mut Vec<Report>) -> Vec<u8> {
    let mut text = String::from("[");
    let mut count = 0;
    for report in reports.iter() {
        let report = serde_json::to_string(report).unwrap_or_default();
        if count > 0 && text.len() + report.len() > REPORTS_LENGTH_MAX {
            break;
        }
        text.push_str(if count == 0 { "" } else { "," });
        text.push_str(&report);
        count += 1;
    }
    reports.drain(..count);
    compress((text + "]").as_bytes())
}

/// The next part of an encoded message, which is removed from it. The first byte says whether more parts follow.
pub(crate) fn next_part(message: &mut Vec<u8>) -> Vec<u8> {
    let rest = message.split_off(message.len().min(PART_LENGTH_MAX));
    let part = std::mem::replace(message, rest);
    [&[u8::from(!message.is_empty())], part.as_slice()].concat()
}

/// The parts of a message that have arrived.
#[derive(Debug, Default)]
pub(crate) struct Assembly(Vec<u8>);

impl Assembly {
    /// Adds a part; returns the message once it is complete. The error says what is wrong with the part.
    pub(crate) fn add(&mut self, part: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let Some((more, part)) = part.split_first() else { return Err("a part of it is empty".to_owned()) };
        self.0.extend_from_slice(part);
        match more {
            _ if self.0.len() as u64 > LENGTH_MAX => Err(too_long()),
            0 => Ok(Some(std::mem::take(&mut self.0))),
            1 => Ok(None),
            other => Err(format!("a part of it begins with {other}")),
        }
    }

    /// Whether parts of a message are missing.
    pub(crate) fn is_incomplete(&self) -> bool {
        !self.0.is_empty()
    }
}

fn too_long() -> String {
    format!("it is longer than {} MiB", LENGTH_MAX >> 20)
}

fn compress(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Writing into memory cannot fail.
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default()
}

/// The message in these bytes; the error is the reason why it cannot be read.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let mut text = Vec::new();
    let read = ZlibDecoder::new(bytes).take(LENGTH_MAX + 1).read_to_end(&mut text);
    read.map_err(|error| error.to_string())?;
    if text.len() as u64 > LENGTH_MAX {
        return Err(too_long());
    }
    serde_json::from_slice(&text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle(run: u64) -> Report {
        Report::Idle { run }
    }

    #[test]
    fn reports_survive_the_way_and_long_ones_take_several_messages() {
        let long = || Report::Of {
            run: 1,
            message: Box::new(RankMessage::Done(Err("x".repeat(REPORTS_LENGTH_MAX)))),
        };
        let mut reports = vec![idle(1), long(), long(), idle(2)];
        let mut received = Vec::new();
        while !reports.is_empty() {
            let read: Vec<Report> = decode(&encode_reports(&mut reports)).unwrap();
            received.push(read.len());
        }
        assert_eq!(received, [1, 1, 1, 1]);
        assert_eq!(decode::<Vec<Report>>(&encode_reports(&mut Vec::new())).unwrap().len(), 0);
    }

    #[test]
    fn a_long_message_arrives_in_parts() {
        let lengths =
            [0, 1, PART_LENGTH_MAX - 1, PART_LENGTH_MAX, PART_LENGTH_MAX + 1, 5 * PART_LENGTH_MAX + 7];
        for length in lengths {
            let message: Vec<u8> = (0_u8..251).cycle().take(length).collect();
            let (mut rest, mut assembly) = (message.clone(), Assembly::default());
            let received = loop {
                let part = next_part(&mut rest);
                assert!(part.len() <= PART_LENGTH_MAX + 1);
                match assembly.add(&part).unwrap() {
                    Some(received) => break received,
                    None => assert!(!rest.is_empty() && assembly.is_incomplete()),
                }
            };
            assert!(received == message && rest.is_empty() && !assembly.is_incomplete(), "{length}");
        }
    }

    #[test]
    fn what_is_no_part_is_an_error() {
        assert!(Assembly::default().add(b"").is_err());
        assert!(Assembly::default().add(b"\x02a").is_err());
        let mut assembly = Assembly::default();
        let long = [&[1][..], &vec![0; 1 << 20]].concat();
        assert!((0..=64).any(|_| assembly.add(&long).is_err()), "the length is limited");
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        for bytes in [&b""[..], b"junk", &compress(b"[{\"idle\":{}}]"), &compress(b"[")] {
            assert!(decode::<Vec<Report>>(bytes).is_err());
        }
        let long = compress(&vec![b' '; (64 << 20) + 2]);
        assert_eq!(decode::<Vec<Report>>(&long).unwrap_err(), "it is longer than 64 MiB");
    }

    #[test]
    fn ranks_that_differ_are_told_in_what() {
        let own = Introduction { version: "1".to_owned(), format: 1, arguments: [1; 32] };
        assert_eq!(own.difference(&own), None);
        let newer = Introduction { version: "2".to_owned(), ..own.clone() };
        assert!(
            newer
                .difference(&own)
                .unwrap()
                .contains("is pgmeter 2 (records of format 1), and rank 0 is pgmeter 1")
        );
        let other = Introduction { arguments: [2; 32], ..own.clone() };
        assert!(other.difference(&own).unwrap().contains("other arguments"));
    }
}
