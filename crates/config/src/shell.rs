//! Words of commands that messages and reports show, quoted for a shell.
//! Nothing here executes them.

/// A word as a POSIX shell takes it literally (Shell Command Language, §2.2.2).
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_if_a_shell_would_read_it() {
        for (word, shown) in [
            ("a/b-c_1.sql", "a/b-c_1.sql"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", "'it'\\''s'"),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(shell_word(word), shown);
        }
    }
}
