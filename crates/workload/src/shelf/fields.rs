//! Fields of rows in the text format of COPY, many of them random: letters and digits as TPC's specifications define
//! them; and dates.

use script::Random;

const LETTERS_AND_DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Characters that one random number gives: 62^10 is below 2^64.
const CHARACTERS_PER_DRAW: usize = 10;

/// The fields of rows. Each ends with a tab, the last one of a row with a newline.
pub(super) struct Fields<'a> {
    out: &'a mut Vec<u8>,
    random: Random,
}

impl<'a> Fields<'a> {
    /// Appends to `out`; the random texts and numbers are those of `random`.
    pub(super) fn new(out: &'a mut Vec<u8>, random: Random) -> Fields<'a> {
        Fields { out, random }
    }

    /// A random integer, both bounds included.
    pub(super) fn draw(&mut self, low: i64, high: i64) -> i64 {
        self.random.integer(low, high)
    }

    pub(super) fn number(&mut self, number: impl Into<i64>) -> &mut Self {
        self.out.extend_from_slice(itoa::Buffer::new().format(number.into()).as_bytes());
        self.end_field()
    }

    pub(super) fn null(&mut self) -> &mut Self {
        self.text("\\N")
    }

    /// A text without characters that COPY would need escaped.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.out.extend_from_slice(text.as_bytes());
        self.end_field()
    }

    /// A number with so many decimals.
    pub(super) fn decimal(&mut self, units: i64, decimals: usize) -> &mut Self {
        let digits = format!("{:0width$}", units.unsigned_abs(), width = decimals + 1);
        let (whole, rest) = digits.split_at(digits.len() - decimals);
        let sign = if units < 0 { "-" } else { "" };
        self.text(&format!("{sign}{whole}.{rest}"))
    }

    /// Random letters and digits, of a random length.
    pub(super) fn letters(&mut self, shortest: usize, longest: usize) -> &mut Self {
        let text = self.random_text(shortest, longest);
        self.out.extend_from_slice(&text);
        self.end_field()
    }

    /// The same; a tenth of the texts contains `word` at a random place.
    pub(super) fn letters_or_word(&mut self, shortest: usize, longest: usize, word: &str) -> &mut Self {
        let mut text = self.random_text(shortest, longest);
        if self.draw(1, 10) == 1 {
            let at = self.below(text.len() - word.len() + 1);
            text[at..at + word.len()].copy_from_slice(word.as_bytes());
        }
        self.out.extend_from_slice(&text);
        self.end_field()
    }

    /// Random digits.
    pub(super) fn digits(&mut self, length: usize) -> &mut Self {
        for _ in 0..length {
            let digit = LETTERS_AND_DIGITS[self.below(10)];
            self.out.push(digit);
        }
        self.end_field()
    }

    /// Appends to the field before.
    pub(super) fn then(&mut self, text: &str) -> &mut Self {
        self.out.pop();
        self.text(text)
    }

    /// Ends the row.
    pub(super) fn end_row(&mut self) {
        if let Some(last) = self.out.last_mut() {
            *last = b'\n';
        }
    }

    fn random_text(&mut self, shortest: usize, longest: usize) -> Vec<u8> {
        let length = shortest + self.below(longest - shortest + 1);
        let mut text = Vec::with_capacity(length + CHARACTERS_PER_DRAW);
        while text.len() < length {
            let mut draw = self.random.next_u64();
            for _ in 0..CHARACTERS_PER_DRAW {
                let index = usize::try_from(draw % LETTERS_AND_DIGITS.len() as u64).unwrap_or_default();
                text.push(LETTERS_AND_DIGITS[index]);
                draw /= LETTERS_AND_DIGITS.len() as u64;
            }
        }
        text.truncate(length);
        text
    }

    /// A random index below `count`.
    fn below(&mut self, count: usize) -> usize {
        let last = (count.max(1) - 1) as u64;
        usize::try_from(self.random.range(last)).unwrap_or_default()
    }

    fn end_field(&mut self) -> &mut Self {
        self.out.push(b'\t');
        self
    }
}

/// The date of a day since 1970 (Howard Hinnant, "chrono-compatible low-level date algorithms", from the year 1970 on).
pub(super) fn date(day: u64) -> String {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let dates = [0, 363, 9_312, 10_591, 10_651].map(date);
        assert_eq!(dates, ["1970-01-01", "1970-12-30", "1995-07-01", "1998-12-31", "1999-03-01"]);
    }

    fn fields(write: fn(&mut Fields<'_>)) -> String {
        let mut out = Vec::new();
        write(&mut Fields::new(&mut out, Random::from_seed(1)));
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn fields_are_those_of_copy() {
        let row = fields(|fields| {
            fields.number(-7).null().decimal(-5, 2).decimal(123_456, 4).text("a").then("b").end_row();
        });
        assert_eq!(row, "-7\t\\N\t-0.05\t12.3456\tab\n");
    }

    #[test]
    fn random_texts_keep_their_lengths_and_a_tenth_has_the_word() {
        let texts = fields(|fields| {
            (0..10_000).for_each(|_| fields.letters_or_word(8, 12, "ORIGINAL").end_row());
        });
        let lengths: std::collections::BTreeSet<usize> = texts.lines().map(str::len).collect();
        assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [8, 9, 10, 11, 12]);
        let with_word = texts.lines().filter(|text| text.contains("ORIGINAL")).count();
        assert!((900..=1100).contains(&with_word), "{with_word}");
        let used: std::collections::BTreeSet<u8> = texts.bytes().filter(|byte| *byte != b'\n').collect();
        assert_eq!(used.len(), LETTERS_AND_DIGITS.len());
    }
}
