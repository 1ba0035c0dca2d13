//! The queries: expressions of words in classes with fixed shares, drawn from messages so that most of them have hits. A
//! query depends on the seed and its number alone, so a smaller set is the beginning of a larger one.

use connect::quote::literal;
use script::Random;

use super::super::computed::stream;
use super::sample::Sample;
use super::synthetic::CONFIGURATION;
use crate::Query;

/// Rows of an answer, at most.
pub(super) const LIMIT: u64 = 100;
/// What a stream of random numbers is for.
const QUERY: u64 = 31;
/// Draws of a message until one has enough words.
const ATTEMPTS: u32 = 50;

/// Classes with their shares in thousandths. Queries of 1 to 12 words that all must occur are four fifths.
const CLASSES: [(Class, u64); 14] = [
    (Class::All(1), 160),
    (Class::All(2), 240),
    (Class::All(3), 176),
    (Class::All(4), 96),
    (Class::All(5), 64),
    (Class::All(8), 40),
    (Class::All(12), 24),
    (Class::CommonAndRare, 50),
    (Class::Common, 20),
    (Class::Any, 30),
    (Class::Without, 20),
    (Class::Prefix, 20),
    (Class::Phrase, 30),
    (Class::Unknown, 30),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// So many words of a message.
    All(usize),
    /// A common word and a rare one, which may not occur together.
    CommonAndRare,
    Common,
    /// One of several words.
    Any,
    /// A word of a message without a common one.
    Without,
    Prefix,
    /// Neighbours in a message.
    Phrase,
    /// A misspelt word.
    Unknown,
}

/// A condition on the words of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    All(Vec<u32>),
    Any(Vec<u32>),
    Without(u32, u32),
    Prefix(String),
    Phrase(u32, u32),
    Unknown(String),
}

/// A query of the set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Search {
    pub(super) name: String,
    pub(super) expression: Expression,
}

impl Class {
    /// The beginning of the names of its queries.
    fn name(self) -> String {
        match self {
            Class::All(words) => format!("and{words:02}"),
            Class::CommonAndRare => "common_rare".to_owned(),
            Class::Common => "common".to_owned(),
            Class::Any => "or".to_owned(),
            Class::Without => "not".to_owned(),
            Class::Prefix => "prefix".to_owned(),
            Class::Phrase => "phrase".to_owned(),
            Class::Unknown => "unknown".to_owned(),
        }
    }

    fn draw(random: &mut Random) -> Class {
        let total: u64 = CLASSES.iter().map(|(_, share)| share).sum();
        let mut draw = random.range(total - 1);
        for (class, share) in CLASSES {
            if draw < share {
                return class;
            }
            draw -= share;
        }
        CLASSES[0].0
    }
}

/// So many queries of a seed. The sample has words.
pub(super) fn draw(sample: &Sample, seed: u64, queries: u32) -> Vec<Search> {
    let search = |number| {
        let mut random = stream(seed, QUERY, number);
        let class = Class::draw(&mut random);
        let expression = (0..ATTEMPTS).find_map(|_| expression(class, sample, &mut random));
        // A corpus of a few words may have none for a class.
        let expression = expression.unwrap_or_else(|| Expression::Unknown("unknown".to_owned()));
        Search { name: format!("{}_{:05}", class.name(), number + 1), expression }
    };
    (0..u64::from(queries)).map(search).collect()
}

/// `None` if the drawn message does not have enough words.
fn expression(class: Class, sample: &Sample, random: &mut Random) -> Option<Expression> {
    let message = random.range(sample.len().checked_sub(1)?);
    let mut words = sample.searched(message);
    Some(match class {
        Class::All(count) => Expression::All(taken(&mut words, count, random)?),
        Class::CommonAndRare => {
            words.retain(|word| sample.is_rare(*word));
            let rare = taken(&mut words, 1, random)?[0];
            Expression::All(vec![one(sample.common(), random)?, rare])
        }
        Class::Common => Expression::All(vec![one(sample.common(), random)?]),
        Class::Any => {
            let count = 2 + random.range(1);
            let words: Option<Vec<u32>> =
                (0..count).map(|_| one(&sample.searched(random.range(sample.len() - 1)), random)).collect();
            let words = super::sample::distinct(&words?);
            if words.len() < 2 {
                return None;
            }
            Expression::Any(words)
        }
        Class::Without => {
            let (word, without) = (one(&words, random)?, one(sample.common(), random)?);
            if word == without {
                return None;
            }
            Expression::Without(word, without)
        }
        Class::Prefix => {
            let word = sample.word(one(&words, random)?);
            Expression::Prefix(word.get(..(word.len() * 2).div_ceil(3).max(3))?.to_owned())
        }
        Class::Phrase => {
            let pairs = sample.pairs(message);
            let (a, b) = *pairs.get(place(random, pairs.len())?)?;
            Expression::Phrase(a, b)
        }
        Class::Unknown => {
            let word = sample.word(one(&words, random)?);
            let at = place(random, word.len())?;
            // A letter that no synthetic word has.
            Expression::Unknown(format!("{}x{}", &word[..at], &word[at..]))
        }
    })
}

fn place(random: &mut Random, count: usize) -> Option<usize> {
    let last = count.checked_sub(1)?;
    usize::try_from(random.range(last as u64)).ok()
}

fn one(words: &[u32], random: &mut Random) -> Option<u32> {
    Some(words[place(random, words.len())?])
}

/// So many different words.
fn taken(words: &mut Vec<u32>, count: usize, random: &mut Random) -> Option<Vec<u32>> {
    if words.len() < count {
        return None;
    }
    Some((0..count).filter_map(|_| Some(words.swap_remove(place(random, words.len())?))).collect())
}

impl Expression {
    /// In the syntax of tsquery. Words are ASCII letters.
    pub(super) fn text(&self, sample: &Sample) -> String {
        let joined = |words: &[u32], operator: &str| {
            words.iter().map(|word| sample.word(*word)).collect::<Vec<_>>().join(operator)
        };
        match self {
            Expression::All(words) => joined(words, " & "),
            Expression::Any(words) => joined(words, " | "),
            Expression::Without(word, without) => joined(&[*word, *without], " & !"),
            Expression::Prefix(prefix) => format!("{prefix}:*"),
            Expression::Phrase(first, second) => joined(&[*first, *second], " <-> "),
            Expression::Unknown(word) => word.clone(),
        }
    }
}

impl Search {
    /// The query. Many messages have the same rank, so the server chooses among them at the limit.
    pub(super) fn query(&self, sample: &Sample) -> Query {
        let tsquery = format!("to_tsquery('{CONFIGURATION}', {})", literal(&self.expression.text(sample)));
        let sql = format!(
            "SELECT id FROM messages WHERE body_tsv @@ {tsquery} ORDER BY ts_rank(body_tsv, {tsquery}) DESC LIMIT {LIMIT}"
        );
        Query { has_ties: true, ..Query::new(self.name.clone(), sql) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::shelf::fulltext::corpus::Corpus;

    fn sample() -> Sample {
        Corpus::new("0.2".parse().expect("a scale"), 1).sample()
    }

    #[test]
    fn classes_have_their_shares_and_names_are_unique() {
        let searches = draw(&sample(), 1, 10_000);
        let mut shares: BTreeMap<&str, u64> = BTreeMap::new();
        searches.iter().for_each(|search| {
            *shares.entry(search.name.rsplit_once('_').expect("a number").0).or_default() += 1
        });
        assert_eq!(CLASSES.iter().map(|(_, share)| share).sum::<u64>(), 1_000);
        let phrases = shares["phrase"];
        assert!((250..350).contains(&phrases), "{phrases}");
        let two_words = searches.iter().filter(|search| search.name.starts_with("and02_")).count();
        assert!((2_250..2_550).contains(&two_words), "{two_words}");
        let names: BTreeSet<&str> = searches.iter().map(|search| search.name.as_str()).collect();
        assert_eq!(names.len(), searches.len());
    }

    #[test]
    fn a_smaller_set_is_the_beginning_of_a_larger_one_and_a_seed_has_its_own() {
        let sample = sample();
        let all = draw(&sample, 1, 500);
        assert_eq!(draw(&sample, 1, 100), all[..100]);
        assert_ne!(draw(&sample, 2, 100), all[..100]);
    }

    #[test]
    fn expressions_are_those_of_tsquery() {
        let words = ["one", "two"].map(str::to_owned).to_vec();
        let sample = Sample::new(vec![vec![0, 1]], words);
        for (expression, text) in [
            (Expression::All(vec![0, 1]), "one & two"),
            (Expression::Any(vec![1, 0]), "two | one"),
            (Expression::Without(0, 1), "one & !two"),
            (Expression::Prefix("on".to_owned()), "on:*"),
            (Expression::Phrase(0, 1), "one <-> two"),
            (Expression::Unknown("onx".to_owned()), "onx"),
        ] {
            assert_eq!(expression.text(&sample), text);
        }
    }

    #[test]
    fn a_corpus_of_two_words_has_queries_too() {
        let sample = Sample::new(vec![vec![0, 1]], vec!["one".to_owned(), "two".to_owned()]);
        assert_eq!(draw(&sample, 1, 200).len(), 200);
    }
}
