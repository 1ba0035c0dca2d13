//! A message as published values: base64 without padding, cut into pieces that fit into one line. The first piece begins
//! with the number of pieces.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// Longest value of a piece. With the request's other words and the longest name, a line has at most 1024 bytes.
pub const PIECE_BYTES_MAX: usize = 940;
/// Longest message. The process manager keeps the messages of two rounds in memory.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Bytes of the first piece that are left for the number of pieces and its separator.
const COUNT_BYTES_MAX: usize = 8;
const CHARACTERS_PER_PIECE: usize = PIECE_BYTES_MAX - COUNT_BYTES_MAX;
/// Most pieces of a message: base64 makes four characters of three bytes.
const PIECES_MAX: usize = (MESSAGE_BYTES_MAX.div_ceil(3) * 4).div_ceil(CHARACTERS_PER_PIECE);

/// The values of a message; at least one.
pub fn split(message: &[u8]) -> Vec<String> {
    let text = STANDARD_NO_PAD.encode(message);
    let count = text.len().div_ceil(CHARACTERS_PER_PIECE).max(1);
    let mut pieces = Vec::with_capacity(count);
    let mut rest = text.as_str();
    for index in 0..count {
        // Base64 is ASCII, so each byte is a character.
        let (piece, after) = rest.split_at(rest.len().min(CHARACTERS_PER_PIECE));
        rest = after;
        pieces.push(if index == 0 { format!("{count}.{piece}") } else { piece.to_owned() });
    }
    pieces
}

/// The number of pieces of a message, and the text of its first piece.
///
/// # Errors
/// The piece is not the first of a message; the text says why.
pub fn piece_count(first: &str) -> Result<(usize, &str), String> {
    let (count, text) = first.split_once('.').ok_or("the number of its pieces is missing")?;
    match count.parse() {
        Ok(count) if (1..=PIECES_MAX).contains(&count) => Ok((count, text)),
        _ => Err(format!("the number of its pieces is not between 1 and {PIECES_MAX}")),
    }
}

/// The message of a text in pieces.
///
/// # Errors
/// It is not base64.
pub fn join(text: &str) -> Result<Vec<u8>, String> {
    STANDARD_NO_PAD.decode(text).map_err(|error| format!("it is not base64: {error}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(pieces: &[String]) -> Result<Vec<u8>, String> {
        let (count, first) = piece_count(&pieces[0])?;
        assert_eq!(count, pieces.len());
        join(&(first.to_owned() + &pieces[1..].concat()))
    }

    #[test]
    fn an_empty_message_is_one_piece() {
        assert_eq!(split(b""), ["1."]);
        assert_eq!(joined(&split(b"")), Ok(Vec::new()));
    }

    #[test]
    fn the_longest_message_has_an_acceptable_number_of_pieces() {
        let message = vec![7; MESSAGE_BYTES_MAX];
        let pieces = split(&message);
        assert_eq!(pieces.len(), PIECES_MAX);
        assert_eq!(joined(&pieces), Ok(message));
    }

    #[test]
    fn first_pieces_of_other_programs_are_refused() {
        for text in ["", "x", "0.", "-1.", "1000000.", "99999999999999999999999.", "1"] {
            assert!(piece_count(text).is_err(), "{text}");
        }
        assert!(join("a\u{e9}").is_err());
        assert!(join("QQ==").is_err());
    }

    proptest! {
        #[test]
        fn a_message_is_the_same_after_the_way_through_pieces(
            message in proptest::collection::vec(any::<u8>(), 0..6000),
        ) {
            let pieces = split(&message);
            let fits = |piece: &String| {
                piece.len() <= PIECE_BYTES_MAX && piece.bytes().all(|byte| byte.is_ascii_graphic())
            };
            prop_assert!(pieces.iter().all(fits));
            prop_assert_eq!(joined(&pieces), Ok(message));
        }

        #[test]
        fn any_text_is_pieces_or_an_error(text in "\\PC{0,40}") {
            if let Ok((count, rest)) = piece_count(&text) {
                prop_assert!((1..=PIECES_MAX).contains(&count) && text.ends_with(rest));
            }
            let _ = join(&text);
        }
    }
}
