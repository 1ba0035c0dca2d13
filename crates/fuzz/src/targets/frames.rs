//! Messages whose lengths are right and whose bodies are made of plausible parts in no particular order: what mutation
//! alone hardly ever gets past the decoder. For the targets that read what a server says.

use script::Random;

use crate::corpus::below;

/// Most messages in a row.
const FRAMES_MAX: usize = 10;
/// Most parts of a body.
const PARTS_MAX: usize = 8;

/// Parts that are numbers: counts, lengths, identifiers.
const NUMBERS: [&[u8]; 10] = [
    b"\0",
    b"\0\0",
    b"\0\x01",
    b"\0\x02",
    b"\xff\xff",
    b"\0\0\0\0",
    b"\0\0\0\x01",
    b"\0\0\0\x04",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
];

/// Writes some messages; a tag that stands twice in `tags` comes twice as often.
pub fn write(random: &mut Random, out: &mut Vec<u8>, tags: &[u8], parts: &[&[u8]]) {
    for _ in 0..=below(random, FRAMES_MAX) {
        let start = out.len();
        out.push(tags[below(random, tags.len())]);
        out.extend_from_slice(&[0; 4]);
        for _ in 0..below(random, PARTS_MAX) {
            let from = if random.range(1) == 0 { &NUMBERS[..] } else { parts };
            out.extend_from_slice(from[below(random, from.len())]);
        }
        end(out, start);
    }
}

/// Puts in the length of the message that begins at `start` and ends here.
pub fn end(out: &mut [u8], start: usize) {
    let length = u32::try_from(out.len() - start - 1).unwrap_or(u32::MAX);
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
}
