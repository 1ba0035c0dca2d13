//! A number for whatever can be written as text, without keeping the text: two equal ones stand for equal texts, as far
//! as tests need it. Used by targets to compare results and to tell kinds of outcome apart.

use std::fmt::{self, Write};

/// FNV-1a (Fowler, Noll, Vo), 64 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// Of nothing.
    pub fn new() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Adds a value as its `Debug` writes it.
    pub fn debug(&mut self, value: &impl fmt::Debug) {
        // Nothing here can fail.
        let _ = write!(self, "{value:?}");
    }

    /// Adds a value as its `Display` writes it.
    pub fn show(&mut self, value: &impl fmt::Display) {
        let _ = write!(self, "{value}");
    }

    /// The number.
    pub fn value(&self) -> u64 {
        self.0
    }
}

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}

/// The kind of an enum's value: what its `Debug` says up to the first value inside.
pub fn kind(value: &impl fmt::Debug) -> u64 {
    /// Stops writing where the values begin.
    struct Head(Digest);
    impl Write for Head {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let end = text.find(|character: char| !character.is_ascii_alphanumeric());
            self.0.add(&text.as_bytes()[..end.unwrap_or(text.len())]);
            end.map_or(Ok(()), |_| Err(fmt::Error))
        }
    }
    let mut head = Head(Digest::new());
    // The error is how it stops.
    let _ = write!(head, "{value:?}");
    head.0.value()
}

/// The sentence of an error, up to what it quotes.
pub fn sentence(error: &impl fmt::Display) -> String {
    let sentence = error.to_string();
    sentence.split(['"', '(']).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_knows_no_values() {
        assert_eq!(kind(&Some(1)), kind(&Some(2)));
        assert_ne!(kind(&Some(1)), kind(&None::<i32>));
    }

    #[test]
    fn text_in_pieces_has_the_same_digest() {
        let (mut whole, mut pieces) = (Digest::new(), Digest::new());
        whole.show(&"abc");
        pieces.add(b"a");
        pieces.debug(&12);
        assert_ne!(whole, pieces);
        let mut pieces = Digest::new();
        pieces.add(b"a");
        pieces.show(&"bc");
        assert_eq!(whole, pieces);
    }
}
