//! Synthetic messages: threads with words of their own, texts of log-normal lengths, and quotations of the message that is
//! answered. A message depends on the seed and its number alone.

use std::io::Write as _;

use script::Random;

use super::super::computed::stream;
use super::super::fields::date;
use super::vocabulary::{self, word};

/// Messages whose threads are among themselves.
pub(super) const BLOCK: u64 = 25;
/// The probability that a message begins a thread.
const THREAD_SHARE: f64 = 0.2;
/// Logarithm of the median, and standard deviation, of the number of own words.
const LENGTH_MU: f64 = 4.4;
const LENGTH_SIGMA: f64 = 0.9;
/// Lengths are limited so that no word can occur more than 255 times in a message: a tsvector keeps no more positions.
const LENGTH_MIN: f64 = 5.0;
const LENGTH_MAX: f64 = 900.0;
/// The words of a thread: how many, from which rank on, and the share of a message that they are.
const TOPIC_WORDS: u64 = 30;
const TOPIC_RANK_MIN: u32 = 100;
const TOPIC_SHARE: f64 = 0.25;
/// Answers with a quotation.
const QUOTING_SHARE: f64 = 0.7;
/// People who write.
const AUTHORS: f64 = 4_000.0;
/// The text search configuration of the messages.
pub(super) const CONFIGURATION: &str = "pg_catalog.simple";
/// Characters of a line.
const LINE_LENGTH: usize = 72;
/// 1997-01-01, in days since 1970, and the mean time between two messages.
const FIRST_DAY: u64 = 9_862;
const SECONDS_BETWEEN: u64 = 600;
const SECONDS_PER_DAY: u64 = 86_400;

/// What a stream of random numbers is for.
#[derive(Clone, Copy)]
enum Subject {
    Block = 21,
    Thread,
    Message,
    Words,
    Author,
}

/// The messages of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Synthetic {
    pub(super) seed: u64,
}

/// The place of a message in its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// The first message of its thread, counted from 0.
    thread: u64,
    /// The message that it answers.
    parent: Option<u64>,
}

impl Synthetic {
    fn stream(self, subject: Subject, number: u64) -> Random {
        stream(self.seed, subject as u64, number)
    }

    /// The words of a body by their ranks: a quotation, and its own.
    pub(super) fn words(self, number: u64) -> Vec<u32> {
        let place = self.places(number / BLOCK)[index(number % BLOCK)];
        let (mut quoted, own) = self.parts(number, place);
        quoted.extend(own);
        quoted
    }

    /// The places of the messages of a block.
    fn places(self, block: u64) -> Vec<Place> {
        let mut random = self.stream(Subject::Block, block);
        let mut places: Vec<Place> = Vec::new();
        let first = block * BLOCK;
        for number in first..first + BLOCK {
            let is_new = places.is_empty() || random.next_f64() < THREAD_SHARE;
            // The answer to any earlier message belongs to its thread.
            let parent = (!is_new).then(|| random.range(places.len() as u64 - 1));
            let thread = parent.map_or(number, |parent| places[index(parent)].thread);
            places.push(Place { thread, parent: parent.map(|parent| first + parent) });
        }
        places
    }

    /// The quoted words and the own ones.
    fn parts(self, number: u64, place: Place) -> (Vec<u32>, Vec<u32>) {
        let own = self.own_words(number, place.thread);
        let Some(parent) = place.parent else { return (Vec::new(), own) };
        let mut random = self.stream(Subject::Message, number);
        if random.next_f64() >= QUOTING_SHARE {
            return (Vec::new(), own);
        }
        let mut quoted = self.own_words(parent, place.thread);
        let length = (quoted.len() as u64).div_ceil(2);
        let length = 1 + random.range(length - 1);
        let start = random.range(quoted.len() as u64 - length);
        quoted.drain(..index(start));
        quoted.truncate(index(length));
        (quoted, own)
    }

    fn own_words(self, number: u64, thread: u64) -> Vec<u32> {
        let topic = self.topic(thread);
        let mut random = self.stream(Subject::Words, number);
        let length = (LENGTH_MU + LENGTH_SIGMA * random.normal()).exp().clamp(LENGTH_MIN, LENGTH_MAX);
        let next = |_| match random.next_f64() {
            draw if draw < TOPIC_SHARE => {
                // The first words of a topic are frequent.
                let place = random.range(TOPIC_WORDS - 1).min(random.range(TOPIC_WORDS - 1));
                topic[index(place)]
            }
            _ => vocabulary::draw(&mut random),
        };
        (0..floor(length)).map(next).collect()
    }

    fn topic(self, thread: u64) -> Vec<u32> {
        let mut random = self.stream(Subject::Thread, thread);
        let mut topic = Vec::new();
        while (topic.len() as u64) < TOPIC_WORDS {
            let rank = vocabulary::draw(&mut random);
            if rank >= TOPIC_RANK_MIN && !topic.contains(&rank) {
                topic.push(rank);
            }
        }
        topic
    }

    /// Appends the messages of a block as lines of COPY, and returns their number.
    pub(super) fn write_block(self, block: u64, out: &mut Vec<u8>) -> u64 {
        let places = self.places(block);
        for (number, place) in (block * BLOCK..).zip(&places) {
            self.write(number, *place, out);
        }
        places.len() as u64
    }

    fn write(self, number: u64, place: Place, out: &mut Vec<u8>) {
        let mut random = self.stream(Subject::Author, number);
        let (author, delay) = (floor(AUTHORS * random.next_f64().powi(3)), random.range(SECONDS_BETWEEN - 1));
        let seconds = number * SECONDS_BETWEEN + delay;
        let (day, second) = (FIRST_DAY + seconds / SECONDS_PER_DAY, seconds % SECONDS_PER_DAY);
        // Writing to memory does not fail.
        let _ = write!(out, "{}\t{}\t", number + 1, place.thread + 1);
        let _ = match place.parent {
            Some(parent) => write!(out, "{}", parent + 1),
            None => write!(out, "\\N"),
        };
        let _ = write!(
            out,
            "\t{} {:02}:{:02}:{:02}\t{}@example.org\t",
            date(day),
            second / 3_600,
            second / 60 % 60,
            second % 60,
            word(vocabulary::WORDS - 1 - u32::try_from(author).unwrap_or(0))
        );
        let subject: Vec<String> = self.topic(place.thread).iter().take(5).map(|rank| word(*rank)).collect();
        let _ = write!(out, "{}{}\t", if place.parent.is_some() { "Re: " } else { "" }, subject.join(" "));
        let (quoted, own) = self.parts(number, place);
        if !quoted.is_empty() {
            lines(&quoted, "> ", out);
            out.extend_from_slice(b"\\n");
        }
        lines(&own, "", out);
        let _ = writeln!(out, "\t{CONFIGURATION}\t\\N");
    }
}

/// Appends words in lines with this beginning. The end of a line is an escape of COPY.
fn lines(words: &[u32], beginning: &str, out: &mut Vec<u8>) {
    let mut length = 0;
    for rank in words {
        let word = word(*rank);
        if length > 0 && length + 1 + word.len() > LINE_LENGTH {
            out.extend_from_slice(b"\\n");
            length = 0;
        }
        let before = if length == 0 { beginning } else { " " };
        out.extend_from_slice(before.as_bytes());
        out.extend_from_slice(word.as_bytes());
        length += before.len() + word.len();
    }
    out.extend_from_slice(b".\\n");
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative; saturates")]
fn floor(number: f64) -> u64 {
    number as u64
}

#[expect(clippy::cast_possible_truncation, reason = "below the length of a list")]
fn index(number: u64) -> usize {
    number as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const MESSAGES: Synthetic = Synthetic { seed: 1 };

    /// The rows of the first blocks, by their fields.
    fn rows(blocks: u64) -> Vec<Vec<String>> {
        let mut out = Vec::new();
        for block in 0..blocks {
            assert_eq!(MESSAGES.write_block(block, &mut out), BLOCK);
        }
        let text = String::from_utf8(out).expect("ASCII");
        text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }

    #[test]
    fn bodies_have_the_words_of_the_message() {
        for (number, row) in rows(8).iter().enumerate() {
            let body = row[6].replace("\\n", "\n");
            let words = body.split(|character: char| !character.is_ascii_alphabetic());
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            let expected: Vec<String> =
                MESSAGES.words(number as u64).iter().map(|rank| word(*rank)).collect();
            assert_eq!(words, expected);
            assert!(body.lines().all(|line| line.len() <= LINE_LENGTH + 1), "{body}");
            assert_eq!(
                (row[0].as_str(), row[7].as_str(), row.len()),
                ((number + 1).to_string().as_str(), "pg_catalog.simple", 9)
            );
        }
    }

    #[test]
    fn answers_quote_an_earlier_message_of_their_thread() {
        let rows = rows(20);
        let mut quoting = 0;
        for row in &rows {
            let Ok(parent) = row[2].parse::<usize>() else {
                assert_eq!(row[0], row[1], "a thread has the number of its first message");
                continue;
            };
            let parent = &rows[parent - 1];
            assert_eq!(parent[1], row[1]);
            let quoted = row[6].split("\\n").find_map(|line| line.strip_prefix("> "));
            let Some(quoted) = quoted else { continue };
            quoting += 1;
            let own: Vec<&str> = parent[6].split("\\n").filter(|line| !line.starts_with('>')).collect();
            let first: Vec<&str> = quoted.trim_end_matches('.').split(' ').take(3).collect();
            assert!(own.join(" ").contains(&first.join(" ")), "{quoted}");
        }
        assert!((200..400).contains(&quoting), "{quoting} of 500");
    }

    #[test]
    fn lengths_are_log_normal_and_no_word_exceeds_the_positions_of_a_tsvector() {
        let lengths: Vec<usize> = (0..4_000).map(|number| MESSAGES.words(number).len()).collect();
        let mean = lengths.iter().sum::<usize>() / lengths.len();
        assert!((110..190).contains(&mean), "{mean}");
        for number in 0..4_000 {
            let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
            MESSAGES.words(number).into_iter().for_each(|rank| *counts.entry(rank).or_default() += 1);
            assert!(counts.values().all(|count| *count < 255));
        }
    }

    #[test]
    fn messages_of_a_thread_share_words_that_others_do_not_have() {
        let places = MESSAGES.places(0);
        let threads: std::collections::BTreeSet<u64> = places.iter().map(|place| place.thread).collect();
        assert!((2..15).contains(&threads.len()), "{threads:?}");
        let in_common = |a: u64, b: u64| {
            let of_a = MESSAGES.topic(a);
            MESSAGES.topic(b).iter().filter(|rank| of_a.contains(rank)).count()
        };
        assert_eq!(in_common(0, 0), 30);
        assert!(in_common(0, BLOCK) < 5);
    }

    #[test]
    fn another_seed_has_other_messages() {
        assert_ne!(MESSAGES.words(3), Synthetic { seed: 2 }.words(3));
        assert_eq!(MESSAGES.words(3), MESSAGES.words(3));
    }
}
