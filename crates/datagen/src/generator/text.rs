//! Generators of words and digits: `string`, `chars`, `count`'s formats, check digits. `compile` makes them, `node` calls
//! them.

use super::draw::{Cell, Draw, Lengths};
use super::literal::{integer, padded};
use super::random_bits::{bits, mix, random};

/// The generator `string`: `prefix_N_N_N`, cut to a length that depends on N.
#[derive(Clone, Debug)]
pub(crate) struct Prefixed {
    pub draw: Draw,
    pub prefix: Vec<u8>,
    pub lengths: Lengths,
    /// Too short for a prefix and all numbers: so many digits of base 62.
    pub coded: bool,
    /// The texts sort like their numbers: so many digits of base 36, with letters behind them.
    pub digits: Option<u32>,
}

const DIGITS: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

impl Prefixed {
    /// The prefix is shortened, or left out, so that every number has its own text within the lengths.
    pub fn new(draw: Draw, prefix: &str, lengths: Lengths) -> Self {
        let largest = draw.offset.saturating_add_unsigned(draw.size - 1).max(0);
        let digits = largest.checked_ilog10().unwrap_or(0) as usize + 1;
        let room = lengths.max as usize;
        let coded = draw.offset < 0 || room < digits + 2;
        let kept = room.saturating_sub(digits + 1);
        let prefix: String = prefix.chars().take(kept).collect();
        Self { draw, prefix: prefix.into_bytes(), lengths, coded, digits: None }
    }

    /// Texts in the order of their numbers, in all collations. `None` if the longest text is too short for them.
    pub fn ordered(draw: Draw, prefix: &str, lengths: Lengths) -> Option<Self> {
        let digits = digits_of(draw.size, 36);
        let room = lengths.min.saturating_sub(digits) as usize;
        let prefix: String = prefix.chars().take(room).collect();
        let lengths = Lengths { min: lengths.min.max(digits), max: lengths.max };
        let fits = digits <= lengths.max;
        fits.then_some(Self {
            draw,
            prefix: prefix.into_bytes(),
            lengths,
            coded: false,
            digits: Some(digits),
        })
    }

    /// How many different texts there are.
    pub fn count(&self) -> u64 {
        if self.coded { self.draw.size.min(power(62, self.lengths.max)) } else { self.draw.size }
    }

    pub fn write(&self, cell: Cell, out: &mut Vec<u8>) {
        if let Some(digits) = self.digits {
            return self.write_ordered(digits, cell, out);
        }
        if self.coded {
            let mut number = self.draw.base(cell);
            let start = out.len();
            for _ in 0..self.lengths.max {
                out.push(DIGITS[usize::try_from(number % 62).unwrap_or(0)]);
                number /= 62;
            }
            out[start..].reverse();
            return;
        }
        let number = self.draw.number(cell);
        let start = out.len();
        out.extend_from_slice(&self.prefix);
        out.push(b'_');
        let first = out.len();
        integer(out, number);
        let least = out.len();
        let end = start + self.lengths.pick(bits(self.draw.key, number.cast_unsigned())) as usize;
        // The prefix counts in characters, so a cut never falls into one.
        while out.len() < end {
            let step = (end - out.len()).min(least - first + 1);
            out.extend_from_within(first - 1..first - 1 + step);
        }
    }
}

impl Prefixed {
    fn write_ordered(&self, digits: u32, cell: Cell, out: &mut Vec<u8>) {
        let number = self.draw.base(cell);
        let mut stream = random(self.draw.key, mix(number));
        let length = self.lengths.pick(stream.next_u64()) as usize;
        let start = out.len();
        out.extend_from_slice(&self.prefix);
        let first = out.len();
        let mut left = number;
        for _ in 0..digits {
            out.push(DIGITS[usize::try_from(left % 36).unwrap_or(0)]);
            left /= 36;
        }
        out[first..].reverse();
        while out.len() < start + length {
            let letter = stream.range(25);
            out.push(DIGITS[10 + usize::try_from(letter).unwrap_or(0)]);
        }
    }
}

/// Digits of the numbers below `size`.
pub(crate) fn digits_of(size: u64, base: u64) -> u32 {
    let largest = size.saturating_sub(1);
    largest.checked_ilog(base).unwrap_or(0) + 1
}

/// Saturating power.
pub(crate) fn power(base: u64, exponent: u32) -> u64 {
    base.checked_pow(exponent).unwrap_or(u64::MAX)
}

/// The generator `chars`: a text of characters from a set, a function of the drawn number.
#[derive(Clone, Debug)]
pub(crate) struct Chars {
    pub draw: Draw,
    pub set: Vec<char>,
    /// Draws characters; uniform without it.
    pub picker: Option<Draw>,
    pub lengths: Lengths,
}

impl Chars {
    /// Texts that differ in their first characters, which all texts have.
    pub fn count(&self) -> u64 {
        if self.picker.is_some() { 1 } else { power(self.set.len() as u64, self.lengths.min) }
    }

    pub fn write(&self, cell: Cell, out: &mut Vec<u8>) {
        let (seed, mut digits) = match cell.rank {
            Some(rank) => (rank, Some(rank)),
            None => (self.draw.base(cell), None),
        };
        let mut stream = random(self.draw.key, mix(seed));
        let length = self.lengths.pick(stream.next_u64());
        let count = self.set.len() as u64;
        for position in 0..length {
            let index = match (&self.picker, &mut digits) {
                (_, Some(rank)) if position < self.lengths.min => {
                    let digit = *rank % count;
                    *rank /= count;
                    digit
                }
                (Some(picker), _) => {
                    picker.base(cell.with_rank(None).nested(position.into(), self.lengths.max.into())) % count
                }
                (None, _) => stream.range(count - 1),
            };
            let character = self.set[usize::try_from(index).unwrap_or(0)];
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// Format of `count`: Python's format specification for integers, without the parts for other types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberFormat {
    fill: char,
    align: char,
    plus: bool,
    width: usize,
    base: char,
}

impl NumberFormat {
    /// `[[fill]align][+][0][width][d|x|X|o|b]`.
    pub fn read(text: &str) -> Option<Self> {
        let mut format = Self { fill: ' ', align: '>', plus: false, width: 0, base: 'd' };
        let mut rest: Vec<char> = text.chars().collect();
        let is_align = |c: Option<&char>| matches!(c, Some('<' | '>' | '^' | '='));
        if is_align(rest.get(1)) {
            (format.fill, format.align) = (rest[0], rest[1]);
            rest.drain(..2);
        } else if is_align(rest.first()) {
            format.align = rest.remove(0);
        }
        if rest.first() == Some(&'+') {
            format.plus = true;
            rest.remove(0);
        }
        if rest.first() == Some(&'0') {
            (format.fill, format.align) = ('0', '=');
        }
        if rest.last().is_some_and(|last| "dxXob".contains(*last)) {
            format.base = rest.pop()?;
        }
        let width: String = rest.into_iter().collect();
        if !width.is_empty() {
            format.width = width.parse().ok().filter(|width| *width <= 1000)?;
        }
        Some(format)
    }

    /// Decimal digits alone.
    pub fn is_plain(self) -> bool {
        !self.plus && self.width == 0 && self.base == 'd'
    }

    pub fn write(self, number: i64, out: &mut Vec<u8>) {
        let start = out.len();
        if number < 0 {
            out.push(b'-');
        } else if self.plus {
            out.push(b'+');
        }
        let sign = out.len() - start;
        let mut left = number.unsigned_abs();
        let radix = match self.base {
            'x' | 'X' => 16,
            'o' => 8,
            'b' => 2,
            _ => 10,
        };
        let digits = out.len();
        loop {
            let digit = DIGITS[usize::try_from(left % radix).unwrap_or(0)];
            out.push(if self.base == 'X' { digit.to_ascii_uppercase() } else { digit });
            left /= radix;
            if left == 0 {
                break;
            }
        }
        out[digits..].reverse();
        let missing = self.width.saturating_sub(out.len() - start);
        let before = match self.align {
            '<' => 0,
            '^' => missing / 2,
            _ => missing,
        };
        let at = if self.align == '=' { start + sign } else { start };
        let mut buffer = [0; 4];
        let fill = self.fill.encode_utf8(&mut buffer).as_bytes();
        for _ in 0..before {
            out.splice(at..at, fill.iter().copied());
        }
        for _ in before..missing {
            out.extend_from_slice(fill);
        }
    }
}

/// Check digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckDigit {
    /// Credit cards (ISO/IEC 7812-1, annex B).
    Luhn,
    /// GS1: weights 3 and 1 from the right.
    Ean,
    /// ISBN-10 and ISSN: weights 2, 3, 4 … from the right, modulo 11, X for 10.
    Modulo11,
}

impl CheckDigit {
    /// The digit that follows these.
    fn of(self, digits: &[u8]) -> u8 {
        let digits = digits.iter().rev().map(|byte| u32::from(byte.wrapping_sub(b'0')));
        match self {
            Self::Luhn => {
                let doubled = |digit: u32| digit * 2 / 10 + digit * 2 % 10;
                let sum: u32 = digits
                    .enumerate()
                    .map(|(at, digit)| if at % 2 == 0 { doubled(digit) } else { digit })
                    .sum();
                b"0987654321"[(sum % 10) as usize]
            }
            Self::Ean => {
                let sum: u32 =
                    digits.enumerate().map(|(at, digit)| if at % 2 == 0 { digit * 3 } else { digit }).sum();
                b"0987654321"[(sum % 10) as usize]
            }
            Self::Modulo11 => {
                let sum: u32 = digits.zip(2..).map(|(digit, weight)| digit * weight).sum();
                b"0X987654321"[(sum % 11) as usize]
            }
        }
    }
}

/// Numbers with a check digit: `luhn` and `ean`.
#[derive(Clone, Debug)]
pub(crate) struct CheckedNumber {
    pub draw: Draw,
    pub prefix: String,
    /// Digits with prefix and check digit.
    pub length: u32,
    pub check: CheckDigit,
}

impl CheckedNumber {
    /// Digits between prefix and check digit.
    pub fn free(&self) -> u32 {
        self.length - 1 - u32::try_from(self.prefix.len()).unwrap_or(0)
    }

    pub fn write(&self, cell: Cell, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(self.prefix.as_bytes());
        let space = power(10, self.free());
        // A multiplication by a number coprime to 10 spreads the numbers over all digits, one to one.
        let scattered =
            u128::from(self.draw.base(cell)) * 6_364_136_223_846_793_007 + u128::from(self.draw.key);
        let number = u64::try_from(scattered % u128::from(space)).unwrap_or(0);
        padded(out, number, self.free() as usize);
        let check = self.check.of(&out[start..]);
        out.push(check);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_formatted_as_python_does() {
        let check = |format: &str, number: i64, expected: &str| {
            let mut out = Vec::new();
            NumberFormat::read(format).expect(format).write(number, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected, "{format}");
        };
        check("d", 42, "42");
        check("08X", 48879, "0000BEEF");
        check("5d", 42, "   42");
        check("<5", 42, "42   ");
        check("^6d", 42, "  42  ");
        check("*>+5d", 42, "**+42");
        check("05d", -42, "-0042");
        check("b", 5, "101");
        check("o", 8, "10");
        assert!(NumberFormat::read("5.2f").is_none() && NumberFormat::read("s").is_none());
    }

    #[test]
    fn check_digits_are_those_of_published_numbers() {
        let check = |kind: CheckDigit, number: &str| {
            let (digits, last) = number.as_bytes().split_at(number.len() - 1);
            assert_eq!(kind.of(digits), last[0], "{number}");
        };
        check(CheckDigit::Luhn, "4111111111111111");
        check(CheckDigit::Luhn, "79927398713");
        check(CheckDigit::Ean, "9780306406157");
        check(CheckDigit::Ean, "036000291452");
        check(CheckDigit::Modulo11, "0306406152");
        check(CheckDigit::Modulo11, "080442957X");
        check(CheckDigit::Modulo11, "03785955");
    }
}
