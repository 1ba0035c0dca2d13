//! Messages of Rust's number parsers in plain words, for values that users write. The command line shows them in place of
//! the parsers' own.

/// Messages of Rust's number parsers and their replacements.
const PLAIN_WORDS: [(&str, &str); 6] = [
    ("invalid float literal", "expected a number, such as 10 or 0.5"),
    ("cannot parse float from empty string", "expected a number, such as 10 or 0.5"),
    ("invalid digit found in string", "expected a whole number"),
    ("cannot parse integer from empty string", "expected a whole number"),
    ("number too large to fit in target type", "the number is too large"),
    ("number too small to fit in target type", "the number is too small"),
];

/// A message about options with plain words for those of number parsers.
pub fn in_plain_words(text: &str) -> String {
    PLAIN_WORDS.iter().fold(text.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_of_a_number_parser_has_plain_words() {
        let errors = [
            "x".parse::<f64>().expect_err("no number").to_string(),
            "".parse::<f64>().expect_err("no number").to_string(),
            "x".parse::<u8>().expect_err("no number").to_string(),
            "".parse::<u8>().expect_err("no number").to_string(),
            "256".parse::<u8>().expect_err("too large").to_string(),
            "-129".parse::<i8>().expect_err("too small").to_string(),
        ];
        for error in errors {
            let text = in_plain_words(&error);
            assert!(PLAIN_WORDS.iter().any(|(_, ours)| text == *ours), "{error}: {text}");
        }
    }
}
