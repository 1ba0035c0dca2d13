//! The words of synthetic messages by their rank, and how often each rank occurs. A word consists of lower-case letters
//! of ASCII, so that PostgreSQL's text search configuration `simple` keeps it unchanged.

use std::sync::OnceLock;

use script::Random;

/// Number of words.
pub(super) const WORDS: u32 = 100_000;

/// A syllable is a consonant and one of these endings, which begin with different vowels: no syllable is the beginning of
/// another one, so different sequences of syllables are different words.
const CONSONANTS: [u8; 16] = *b"bcdfghjklmnprstv";
const ENDINGS: [&str; 4] = ["a", "er", "in", "os"];
const SYLLABLES: u32 = 64;
/// Words of at most two syllables.
const SHORT_WORDS: u32 = SYLLABLES + SYLLABLES * SYLLABLES;

/// Mandelbrot's shift of ranks.
const SHIFT: f64 = 0.5;
/// Exponents of the frequency by rank with the rank from which each applies: the slopes that were measured in 39,310 texts
/// of software documentation.
const SLOPES: [(f64, f64); 3] = [(1.0, 0.83), (1_000.0, 1.0), (10_000.0, 1.25)];

/// The word of a rank, counted from 0: frequent words are short.
pub(super) fn word(rank: u32) -> String {
    let (mut rest, syllables) = match rank {
        ..SYLLABLES => (rank, 1),
        SYLLABLES..SHORT_WORDS => (rank - SYLLABLES, 2),
        _ => (rank - SHORT_WORDS, 3),
    };
    let mut numbers = Vec::with_capacity(syllables);
    for _ in 0..syllables {
        numbers.push(rest % SYLLABLES);
        rest /= SYLLABLES;
    }
    let mut word = String::with_capacity(3 * syllables);
    for number in numbers.into_iter().rev() {
        word.push(char::from(CONSONANTS[(number / 4) as usize]));
        word.push_str(ENDINGS[(number % 4) as usize]);
    }
    word
}

/// A random rank: small ones are frequent.
pub(super) fn draw(random: &mut Random) -> u32 {
    frequencies().rank(random.next_f64())
}

/// How often each rank occurs.
struct Frequencies {
    /// Sums of the weights of all ranks up to each.
    sums: Vec<f64>,
    /// The first rank of each of [`INTERVALS`] equal parts of the sum, so that a few ranks are searched instead of all.
    first_ranks: Vec<usize>,
}

/// Equal parts of the sum of all weights.
const INTERVALS: usize = 1 << 16;

impl Frequencies {
    fn new() -> Frequencies {
        let mut sum = 0.0;
        let next = |rank| {
            sum += weight(f64::from(rank) + 1.0 + SHIFT);
            sum
        };
        let sums: Vec<f64> = (0..WORDS).map(next).collect();
        let mut first_ranks = Vec::with_capacity(INTERVALS);
        let mut rank = 0;
        for interval in 0..INTERVALS {
            let limit = sum * (interval as f64 / INTERVALS as f64);
            rank += sums[rank..].iter().take_while(|sum| **sum <= limit).count();
            first_ranks.push(rank);
        }
        Frequencies { sums, first_ranks }
    }

    /// The rank at a share of the sum, from 0 to 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the share is from 0 to 1")]
    fn rank(&self, share: f64) -> u32 {
        let total = self.sums.last().copied().unwrap_or_default();
        let drawn = share * total;
        let interval = (share * INTERVALS as f64) as usize;
        // Rounding may move a number into the interval beside its own.
        let first = self.first_ranks.get(interval.saturating_sub(1)).copied().unwrap_or_default();
        let end = self.first_ranks.get(interval + 2).map_or(self.sums.len(), |rank| rank + 1);
        let rank = first + self.sums[first..end].partition_point(|sum| *sum <= drawn);
        u32::try_from(rank).unwrap_or(WORDS).min(WORDS - 1)
    }
}

fn frequencies() -> &'static Frequencies {
    static FREQUENCIES: OnceLock<Frequencies> = OnceLock::new();
    FREQUENCIES.get_or_init(Frequencies::new)
}

/// Continuous at the ranks where the slope changes.
fn weight(rank: f64) -> f64 {
    let mut weight = 1.0;
    for (number, (from, exponent)) in SLOPES.iter().enumerate() {
        let to = SLOPES.get(number + 1).map_or(rank, |(next, _)| next.min(rank));
        if to > *from {
            weight *= (to / from).powf(-exponent);
        }
    }
    weight
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn words_are_different_and_of_lower_case_letters() {
        let words: BTreeSet<String> = (0..WORDS).map(word).collect();
        assert_eq!(words.len(), WORDS as usize);
        assert!(words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())));
    }

    #[test]
    fn an_interval_gives_the_rank_that_all_sums_give() {
        let Frequencies { sums, .. } = frequencies();
        let total = sums[sums.len() - 1];
        let mut random = Random::from_seed(2);
        let edges =
            [0.0, 1.0 - f64::EPSILON, 0.5].into_iter().chain((0..999).map(|k| f64::from(k) / 65_536.0));
        for share in edges.chain((0..100_000).map(|_| random.next_f64())) {
            let expected = sums.partition_point(|sum| *sum <= share * total).min(sums.len() - 1);
            assert_eq!(frequencies().rank(share) as usize, expected, "{share}");
        }
    }

    #[test]
    fn frequencies_have_the_measured_slopes() {
        let slope = |rank: f64| -(weight(rank * 1.01) / weight(rank / 1.01)).ln() / (1.01_f64 * 1.01).ln();
        for (rank, expected) in [(10.0, 0.83), (900.0, 0.83), (5_000.0, 1.0), (50_000.0, 1.25)] {
            assert!((slope(rank) - expected).abs() < 0.01, "{rank}");
        }
        let mut random = Random::from_seed(1);
        let drawn: Vec<u32> = (0..100_000).map(|_| draw(&mut random)).collect();
        let most = drawn.iter().filter(|rank| **rank == 0).count();
        assert!((1_500..5_000).contains(&most), "the most frequent word has a few per cent: {most}");
        assert!(drawn.iter().any(|rank| *rank > 90_000));
    }
}
