//! The words of SQL statements, without comments, strings and quoted names: enough to tell statements that write from those
//! that read. Pure. Used by `roles`.

/// A word outside of quotes, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// Number of parentheses around it.
    pub(crate) depth: u32,
}

/// The statements of a text, each as its words; empty ones are left out.
pub(crate) fn statements(sql: &str) -> Vec<Vec<Word>> {
    let mut statements = vec![Vec::new()];
    let mut depth = 0_u32;
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let next = quoted_length(rest).unwrap_or_else(|| {
            let word = rest.find(|it: char| !is_word(it)).unwrap_or(rest.len());
            if word > 0 {
                let text = rest[..word].to_ascii_lowercase();
                statements.last_mut().into_iter().for_each(|it| it.push(Word { text: text.clone(), depth }));
                return word;
            }
            match first {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                ';' if depth == 0 => statements.push(Vec::new()),
                _ => {}
            }
            first.len_utf8()
        });
        rest = &rest[next..];
    }
    statements.retain(|words| !words.is_empty());
    statements
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}

/// Length of the comment, string or quoted name at the start of a text; `None` if there is none. One without an end extends to
/// that of the text. (Manual: "SQL Syntax", "Lexical Structure".)
fn quoted_length(text: &str) -> Option<usize> {
    let until =
        |end: &str, from: usize| text[from..].find(end).map_or(text.len(), |at| from + at + end.len());
    let first = text.chars().next()?;
    match first {
        '-' if text.starts_with("--") => Some(until("\n", 2)),
        '/' if text.starts_with("/*") => Some(comment_length(text)),
        '\'' => Some(string_length(text, false)),
        '"' => Some(until("\"", 1)),
        'e' | 'E' if text[1..].starts_with('\'') => Some(1 + string_length(&text[1..], true)),
        '$' => {
            let tag = text[1..].find(|it: char| !it.is_alphanumeric() && it != '_')?;
            let is_tag =
                text[1 + tag..].starts_with('$') && !text[1..].starts_with(|it: char| it.is_numeric());
            is_tag.then(|| until(&text[..tag + 2], tag + 2))
        }
        _ => None,
    }
}

/// Length of a string with its quotes. A doubled quote begins another string, which is the same here.
fn string_length(text: &str, has_escapes: bool) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if has_escapes => is_escaped = true,
            '\'' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Length of a comment; comments can be nested.
fn comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0_u32, 0);
    while at < text.len() {
        match text.as_bytes().get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(sql: &str, expected: &[&str]) {
        let found: Vec<String> = statements(sql)
            .iter()
            .map(|words| words.iter().map(|word| &*word.text).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(found, expected, "{sql}");
    }

    #[test]
    fn comments_strings_and_quoted_names_have_no_words() {
        check("SELECT 'commit; it''s', \"END\" -- commit\n, a /* b /* c */ d */, e;", &["select a e"]);
        check("select E'it\\'s commit', $$ commit; $$, $a$ $$ commit $a$, $1, x$2", &["select $1 x$2"]);
        check("begin; update t set a = :b; ; end", &["begin", "update t set a b", "end"]);
        check("select f(1; 2)", &["select f 1 2"]);
    }

    #[test]
    fn words_know_their_parentheses() {
        let found = statements("copy (select a from t) to stdout");
        let depths: Vec<u32> = found[0].iter().map(|word| word.depth).collect();
        assert_eq!(depths, [0, 1, 1, 1, 1, 0, 0]);
    }

    proptest! {
        #[test]
        fn any_text_has_words(text in ".{0,60}", quotes in "[-'\"$E\\\\/*a;() \n]{0,60}") {
            statements(&text);
            statements(&quotes);
        }
    }
}
