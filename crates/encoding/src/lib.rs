//! Text of unknown encoding in a `String`, without loss: bytes that are not UTF-8 become private-use characters, and
//! bytes again in the drop-in's output. Scripts, file names and servers may use any encoding; pgbench passes their
//! bytes on unchanged. Any other output must replace these characters ([`undecoded_byte`] detects them).

use std::borrow::Cow;

/// The character for the byte 0x80; those for 0x81 to 0xff follow. They are the last characters of the second
/// private-use plane, which real text does not use.
const FIRST: u32 = 0x10_ff80;
/// The lowest byte that may be invalid UTF-8.
const LEAST: u8 = 0x80;

/// The bytes as text. Valid UTF-8 is unchanged, except for the private-use characters above.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = str::from_utf8(bytes)
        && !text.chars().any(is_marker)
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if is_marker(character) {
                let mut buffer = [0; 4];
                text.extend(character.encode_utf8(&mut buffer).bytes().map(marker));
            } else {
                text.push(character);
            }
        }
        text.extend(chunk.invalid().iter().copied().map(marker));
    }
    Cow::Owned(text)
}

/// The bytes passed to [`decode`].
pub fn encode(text: &str) -> Cow<'_, [u8]> {
    if !text.chars().any(is_marker) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match undecoded_byte(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

/// The text for output that must be UTF-8: U+FFFD for each invalid byte.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_marker) {
        return Cow::Borrowed(text);
    }
    let shown = |character| if is_marker(character) { char::REPLACEMENT_CHARACTER } else { character };
    text.chars().map(shown).collect()
}

/// The byte for a private-use character; `None` for other characters.
pub fn undecoded_byte(character: char) -> Option<u8> {
    let offset = u8::try_from(u32::from(character).checked_sub(FIRST)?).ok()?;
    (offset < LEAST).then(|| LEAST + offset)
}

fn is_marker(character: char) -> bool {
    undecoded_byte(character).is_some()
}

/// The character for a byte from 0x80 on.
fn marker(byte: u8) -> char {
    let offset = u32::from(byte.saturating_sub(LEAST));
    char::from_u32(FIRST + offset).expect("128 characters from U+10FF80 on exist")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn utf_8_stays_as_it_is() {
        assert!(matches!(decode("größer ✓".as_bytes()), Cow::Borrowed("größer ✓")));
        assert!(matches!(encode("größer ✓"), Cow::Borrowed(_)));
    }

    #[test]
    fn bytes_that_are_not_utf_8_come_back() {
        let latin_1 = b"gr\xf6\xdfer";
        let text = decode(latin_1);
        let undecoded: Vec<u8> = text.chars().filter_map(undecoded_byte).collect();
        assert_eq!(undecoded, [0xf6, 0xdf]);
        assert_eq!(encode(&text).as_ref(), latin_1);
        assert_eq!(shown(&text), "gr\u{fffd}\u{fffd}er");
    }

    #[test]
    fn characters_that_stand_for_bytes_are_no_exception() {
        let all: String = (FIRST..FIRST + 128).filter_map(char::from_u32).collect();
        assert_eq!(encode(&decode(all.as_bytes())).as_ref(), all.as_bytes());
        assert_eq!(undecoded_byte('\u{10ff7f}'), None);
        assert_eq!(undecoded_byte('\u{10ffff}'), Some(0xff));
        assert_eq!(undecoded_byte('a'), None);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let text = decode(&bytes);
            let encoded = encode(&text);
            prop_assert_eq!(encoded.as_ref(), &bytes[..]);
        }
    }
}
