//! A sample of the messages of a corpus, from which queries are drawn: the words of each message, and in how many messages
//! each word occurs.

/// Most messages of a sample.
pub(super) const MESSAGES_MAX: u64 = 10_000;
/// So many of the most frequent words are never searched for, as if they were stop words.
const STOP_WORDS: usize = 50;
/// The next ones count as common.
const COMMON_WORDS: usize = 100;
/// A rare word occurs in at most so many messages of the sample.
const RARE_MAX: u32 = 3;
/// The shortest words of queries, in characters.
const LENGTH_MIN: usize = 3;

/// Messages as numbers of words.
#[derive(Debug)]
pub(super) struct Sample {
    /// The words of each message in their order.
    messages: Vec<Vec<u32>>,
    words: Vec<String>,
    /// For each word, the number of messages with it.
    frequencies: Vec<u32>,
    /// The common words, the most frequent one first.
    common: Vec<u32>,
    /// Whether queries can have a word.
    is_searched: Vec<bool>,
}

impl Sample {
    /// Of messages whose words have numbers below the number of `words`.
    pub(super) fn new(messages: Vec<Vec<u32>>, words: Vec<String>) -> Sample {
        let mut frequencies = vec![0; words.len()];
        for message in &messages {
            distinct(message).into_iter().for_each(|word| frequencies[word as usize] += 1);
        }
        let mut is_searched: Vec<bool> = words
            .iter()
            .zip(&frequencies)
            .map(|(word, frequency)| *frequency > 0 && word.len() >= LENGTH_MIN)
            .collect();
        let mut by_frequency: Vec<u32> =
            (0..).take(words.len()).filter(|word| frequencies[*word as usize] > 0).collect();
        by_frequency.sort_by_key(|word| (std::cmp::Reverse(frequencies[*word as usize]), *word));
        // A small corpus has few words.
        let stop_words = STOP_WORDS.min(by_frequency.len() / 4);
        by_frequency[..stop_words].iter().for_each(|word| is_searched[*word as usize] = false);
        let common = by_frequency[stop_words..].iter().copied();
        let common = common.filter(|word| is_searched[*word as usize]).take(COMMON_WORDS).collect();
        Sample { messages, words, frequencies, common, is_searched }
    }

    pub(super) fn len(&self) -> u64 {
        self.messages.len() as u64
    }

    /// The different words of a message that queries can have.
    pub(super) fn searched(&self, message: u64) -> Vec<u32> {
        let words = self.messages.get(usize::try_from(message).unwrap_or(usize::MAX));
        let mut words = words.map_or_else(Vec::new, |words| distinct(words));
        words.retain(|word| self.is_searched[*word as usize]);
        words
    }

    /// Neighbours in a message that queries can have.
    pub(super) fn pairs(&self, message: u64) -> Vec<(u32, u32)> {
        let words = self.messages.get(usize::try_from(message).unwrap_or(usize::MAX));
        let pairs = words.map_or(&[][..], Vec::as_slice).windows(2).map(|pair| (pair[0], pair[1]));
        pairs.filter(|(a, b)| a != b && [a, b].iter().all(|word| self.is_searched[**word as usize])).collect()
    }

    pub(super) fn common(&self) -> &[u32] {
        &self.common
    }

    pub(super) fn is_rare(&self, word: u32) -> bool {
        (1..=RARE_MAX).contains(&self.frequencies[word as usize])
    }

    pub(super) fn word(&self, word: u32) -> &str {
        &self.words[word as usize]
    }
}

/// The different words, in ascending order.
pub(super) fn distinct(words: &[u32]) -> Vec<u32> {
    let mut words = words.to_vec();
    words.sort_unstable();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_words_are_not_searched_and_the_next_are_common() {
        // Word n is in 400 - n messages.
        let messages = (0..400_u32).map(|message| (0..400 - message).collect()).collect();
        let sample = Sample::new(messages, (0..400).map(|number| format!("word{number}")).collect());
        assert_eq!(sample.common().len(), 100);
        assert_eq!((sample.common()[0], sample.searched(0)[0]), (50, 50));
        assert!(sample.is_rare(399) && !sample.is_rare(300));
        assert_eq!(sample.pairs(0)[0], (50, 51));
        assert!(sample.searched(380).is_empty());
    }
}
