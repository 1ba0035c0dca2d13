//! New inputs from old ones: bytes flipped, pieces dropped, doubled, moved, taken from another input, words of the
//! target's language put in, numbers pushed to their limits. Deterministic; knows nothing about what it makes.

use script::Random;

use crate::corpus::{Corpus, below};
use crate::targets::Target;

/// Longest input that is blown up: what is quadratic, or nests without limit, shows.
const BLOWN_UP_MAX: usize = 128 * 1024;
/// One input of so many is blown up.
const BLOWN_UP_EVERY: u64 = 4_000;
/// Of so many inputs that have a grammar, one is changed without regard to it.
const RESHAPED_OF: u64 = 4;
/// Most changes between an input and what is made of it.
const CHANGES_MAX: usize = 8;
/// Most words of an input that is nothing but words.
const WORDS_MAX: usize = 24;

/// Bytes at which formats turn.
const BYTES: &[u8] = b"\0\x01\x04\x7f\x80\xff\t\n\r '\"\\$:;,()[]{}@=/*-+.#%0189eEZ";
/// Numbers at which arithmetic turns.
const NUMBERS: &[&[u8]] = &[
    b"0",
    b"-1",
    b"1",
    b"255",
    b"65536",
    b"2147483647",
    b"2147483648",
    b"-2147483649",
    b"4294967296",
    b"9223372036854775807",
    b"9223372036854775808",
    b"-9223372036854775808",
    b"99999999999999999999999",
    b"1e308",
    b"1e999",
    b"1e-400",
    b"0.1",
    b".5",
];
/// The same as the protocol writes them.
const WORDS_OF_32_BITS: &[u32] =
    &[0, 1, 3, 4, 5, 8, 255, 65_535, 0x10_0004, 0x3fff_ffff, 0x7fff_ffff, 0xffff_ffff];

/// The next input for a target.
pub fn next(target: &Target, corpus: &Corpus, random: &mut Random) -> Vec<u8> {
    let mut input = match random.range(9) {
        0 => words(target.words, random),
        1..=3 if target.generate.is_some() => {
            let mut made = Vec::new();
            if let Some(generate) = target.generate {
                generate(random, &mut made);
            }
            made
        }
        _ => corpus.draw(random).to_vec(),
    };
    if let Some(reshape) = target.reshape
        && random.range(RESHAPED_OF - 1) != 0
        && let Some(shaped) = reshape(&input, corpus.draw(random), random)
        && shaped.len() <= target.length_max
    {
        return shaped;
    }
    // One in four of what was generated or drawn gets a single change, so that most of it stays whole.
    let changes = if random.range(3) == 0 { 1 } else { below(random, CHANGES_MAX + 1) };
    for _ in 0..changes {
        change(&mut input, target.words, corpus, random);
    }
    input.truncate(target.length_max);
    if random.range(BLOWN_UP_EVERY - 1) == 0 {
        blow_up(&mut input, random);
    }
    input
}

/// Words of the target's language in a row, with or without something between.
fn words(words: &[&[u8]], random: &mut Random) -> Vec<u8> {
    let mut input = Vec::new();
    let between = [&b" "[..], b"", b"\n", b"="][below(random, 4)];
    for _ in 0..below(random, WORDS_MAX) {
        input.extend_from_slice(word(words, random));
        input.extend_from_slice(between);
    }
    input
}

fn word<'a>(words: &[&'a [u8]], random: &mut Random) -> &'a [u8] {
    if words.is_empty() { b"" } else { words[below(random, words.len())] }
}

/// One change.
fn change(input: &mut Vec<u8>, words: &[&[u8]], corpus: &Corpus, random: &mut Random) {
    let at = below(random, input.len() + 1);
    let end = (at + 1 + below(random, 16)).min(input.len()).max(at);
    match random.range(11) {
        0 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << below(random, 8);
            }
        }
        1 => put(input, at, &[BYTES[below(random, BYTES.len())]], random),
        2 => drop(input.drain(at..end)),
        3 => {
            let piece = input[at..end].to_vec();
            put(input, at, &piece, random);
        }
        4 | 5 => put(input, at, word(words, random), random),
        6 => {
            let other = corpus.draw(random);
            let from = below(random, other.len() + 1);
            let to = (from + 1 + below(random, 64)).min(other.len()).max(from);
            put(input, at, &other[from..to], random);
        }
        7 => {
            let other = corpus.draw(random);
            let from = below(random, other.len() + 1);
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        8 => put_number(input, at, NUMBERS[below(random, NUMBERS.len())]),
        9 => {
            let word = WORDS_OF_32_BITS[below(random, WORDS_OF_32_BITS.len())].to_be_bytes();
            let word = &word[[0, 2][below(random, 2)]..];
            let end = (at + word.len()).min(input.len());
            input.splice(at..end, word.iter().copied());
        }
        10 => input.truncate(at),
        _ => {
            let to = below(random, input.len() + 1);
            let (low, high) = (at.min(to), at.max(to));
            input[low..high].reverse();
        }
    }
}

/// Puts a piece in, or over what stands there.
fn put(input: &mut Vec<u8>, at: usize, piece: &[u8], random: &mut Random) {
    let end = if random.range(1) == 0 { at } else { (at + piece.len()).min(input.len()) };
    input.splice(at..end, piece.iter().copied());
}

/// Puts a number in the place of the next one, or where there is none, at the end.
fn put_number(input: &mut Vec<u8>, at: usize, number: &[u8]) {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let from = input[at..].iter().position(is_digit).map_or(input.len(), |offset| at + offset);
    let length = input[from..].iter().position(|byte| !is_digit(byte)).unwrap_or(input.len() - from);
    input.splice(from..from + length, number.iter().copied());
}

/// Repeats a piece of the input in its place, very often.
fn blow_up(input: &mut Vec<u8>, random: &mut Random) {
    let from = below(random, input.len() + 1);
    let to = (from + 1 + below(random, 8)).min(input.len()).max(from);
    let piece = if from == to { vec![b'('] } else { input[from..to].to_vec() };
    let times = below(random, BLOWN_UP_MAX) / piece.len();
    input.splice(from..to, piece.repeat(times));
}
