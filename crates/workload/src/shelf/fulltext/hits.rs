//! In how many synthetic messages each query has hits, computed from the messages themselves: no server takes part. Words
//! are those of the text search configuration `simple`, which keeps them unchanged.

use std::collections::HashMap;
use std::num::NonZero;
use std::ops::Range;
use std::thread;

use super::corpus::Corpus;
use super::expressions::{Expression, Search};
use super::sample::{Sample, distinct};
use super::synthetic::Synthetic;
use super::vocabulary::WORDS;

/// What all messages together have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hits {
    /// For each query, the number of messages that it finds.
    pub(super) of_queries: Vec<u64>,
    /// The sum over all messages of their different words.
    pub(super) lexemes: u64,
}

/// The queries by a word that each message must have to be found.
struct Index<'a> {
    searches: &'a [Search],
    by_word: Vec<Vec<u32>>,
    phrases: HashMap<(u32, u32), Vec<u32>>,
}

/// Counts the hits, on all cores.
pub(super) fn count(corpus: Corpus, sample: &Sample, searches: &[Search]) -> Hits {
    let Corpus { synthetic, messages } = corpus;
    let index = &Index::new(sample, searches);
    let workers = thread::available_parallelism().map_or(1, NonZero::get) as u64;
    let part = |worker: u64| messages * worker / workers..messages * (worker + 1) / workers;
    let parts = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..workers).map(|worker| scope.spawn(move || index.count(synthetic, part(worker)))).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, Hits>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().map(join).collect::<Vec<Hits>>()
    });
    let mut all = Hits { of_queries: vec![0; searches.len()], lexemes: 0 };
    for Hits { of_queries, lexemes } in parts {
        all.of_queries.iter_mut().zip(of_queries).for_each(|(sum, hits)| *sum += hits);
        all.lexemes += lexemes;
    }
    all
}

impl Index<'_> {
    fn new<'a>(sample: &Sample, searches: &'a [Search]) -> Index<'a> {
        let mut by_word = vec![Vec::new(); WORDS as usize];
        let mut phrases: HashMap<(u32, u32), Vec<u32>> = HashMap::new();
        for (number, search) in (0..).zip(searches) {
            let words: Vec<u32> = match &search.expression {
                // The rarest word is in the fewest messages.
                Expression::All(words) => words.iter().max().copied().into_iter().collect(),
                Expression::Any(words) => words.clone(),
                Expression::Without(word, _) => vec![*word],
                Expression::Prefix(prefix) => {
                    (0..WORDS).filter(|word| sample.word(*word).starts_with(prefix.as_str())).collect()
                }
                Expression::Phrase(first, second) => {
                    phrases.entry((*first, *second)).or_default().push(number);
                    Vec::new()
                }
                Expression::Unknown(_) => Vec::new(),
            };
            words.into_iter().for_each(|word| by_word[word as usize].push(number));
        }
        Index { searches, by_word, phrases }
    }

    fn count(&self, synthetic: Synthetic, messages: Range<u64>) -> Hits {
        let mut hits = Hits { of_queries: vec![0; self.searches.len()], lexemes: 0 };
        // The message in which a query or a word was seen last.
        let mut found = vec![u64::MAX; self.searches.len()];
        let mut seen = vec![u64::MAX; WORDS as usize];
        for message in messages {
            let words = synthetic.words(message);
            let different = distinct(&words);
            hits.lexemes += different.len() as u64;
            different.iter().for_each(|word| seen[*word as usize] = message);
            let has = |word: &u32| seen[*word as usize] == message;
            let by_word = different.iter().flat_map(|word| &self.by_word[*word as usize]);
            let pairs = words.windows(2).filter_map(|pair| self.phrases.get(&(pair[0], pair[1]))).flatten();
            for number in by_word.chain(pairs) {
                let number = *number as usize;
                let is_hit = match &self.searches[number].expression {
                    Expression::All(words) => words.iter().all(has),
                    Expression::Without(_, without) => !has(without),
                    Expression::Any(_) | Expression::Prefix(_) | Expression::Phrase(..) => true,
                    Expression::Unknown(_) => false,
                };
                if is_hit && found[number] != message {
                    found[number] = message;
                    hits.of_queries[number] += 1;
                }
            }
        }
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::super::expressions::draw;
    use super::*;

    /// Each query tried on each message.
    #[test]
    fn hits_are_those_of_a_search_in_each_message() {
        let corpus = Corpus::new("0.02".parse().expect("a scale"), 5);
        let sample = corpus.sample();
        let searches = draw(&sample, 1, 1_500);
        let hits = count(corpus, &sample, &searches);
        let messages: Vec<Vec<String>> = (0..200)
            .map(|number| {
                corpus.synthetic.words(number).iter().map(|word| sample.word(*word).to_owned()).collect()
            })
            .collect();
        let mut found = 0;
        for (search, hits) in searches.iter().zip(&hits.of_queries) {
            let is_hit = |message: &&Vec<String>| {
                let has = |word: u32| message.iter().any(|own| own == sample.word(word));
                match &search.expression {
                    Expression::All(words) => words.iter().all(|word| has(*word)),
                    Expression::Any(words) => words.iter().any(|word| has(*word)),
                    Expression::Without(word, without) => has(*word) && !has(*without),
                    Expression::Prefix(prefix) => message.iter().any(|own| own.starts_with(prefix)),
                    Expression::Phrase(a, b) => message
                        .windows(2)
                        .any(|pair| pair[0] == sample.word(*a) && pair[1] == sample.word(*b)),
                    Expression::Unknown(word) => message.contains(word),
                }
            };
            assert_eq!(messages.iter().filter(is_hit).count() as u64, *hits, "{search:?}");
            found += usize::from(*hits > 0);
        }
        assert!(found > 1_300, "most queries have hits: {found}");
    }
}
