//! Formats of text: wrapped to the terminal's width, coloured on request, and escaped, because text from servers and
//! files must not control the terminal.

use results::escaped;

/// Colours and width of the output.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TextStyle {
    /// Whether ANSI colours may be used; no information depends on colour.
    pub colour: bool,
    /// Columns of the terminal; longer lines of prose are wrapped.
    pub width: usize,
}

/// Emphasis of a piece of text; it repeats information that the words have.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Emphasis {
    /// What is looked for first.
    Strong,
    /// What is known already.
    Quiet,
    /// A warning.
    Caution,
    /// An error.
    Alarm,
}

impl Emphasis {
    /// "Select Graphic Rendition" of ECMA-48, §8.3.117: bold, faint, yellow, bold red.
    fn rendition(self) -> &'static str {
        match self {
            Emphasis::Strong => "1",
            Emphasis::Quiet => "2",
            Emphasis::Caution => "33",
            Emphasis::Alarm => "1;31",
        }
    }
}

/// The text with its emphasis, if colours are enabled.
pub fn emphasise(text: &str, emphasis: Emphasis, style: &TextStyle) -> String {
    if style.colour && !text.is_empty() {
        format!("\x1b[{}m{text}\x1b[0m", emphasis.rendition())
    } else {
        text.to_owned()
    }
}

/// Text from outside on one line. Control characters and bidirectional formatting characters are replaced by their
/// codes.
pub fn escaped_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    escaped(&line).into_owned()
}

/// Text that is neither markup nor the end of an attribute, in XML and HTML. `other` says what a further character becomes.
pub(crate) fn markup_escaped(text: &str, other: impl Fn(char) -> Option<&'static str>) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        let escaped = match character {
            '&' => Some("&amp;"),
            '<' => Some("&lt;"),
            '>' => Some("&gt;"),
            '"' => Some("&quot;"),
            character => other(character),
        };
        match escaped {
            Some(escaped) => out += escaped,
            None => out.push(character),
        }
    }
    out
}

/// Markup of a text whose long names may be broken behind an underscore or a slash, and nowhere else. `escape` makes text safe.
pub(crate) fn names_escaped(text: &str, escape: impl Fn(&str) -> String) -> String {
    const LONG: usize = 14;
    let word = |word: &str| match word.chars().count() > LONG {
        true => word.split_inclusive(['_', '/']).map(&escape).collect::<Vec<_>>().join("<wbr>"),
        false => escape(word),
    };
    text.split_inclusive(' ').map(word).collect()
}

/// `throughput` to `Throughput`; abbreviations stay.
pub(crate) fn titled(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The text, cut to `characters_max` characters; an ellipsis marks the cut.
pub fn cut(text: &str, characters_max: usize) -> String {
    if text.chars().count() <= characters_max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(characters_max.saturating_sub(1)).collect();
    kept.trim_end().to_owned() + "…"
}

/// `2026-11-21 12:03 UTC`
pub(crate) fn moment(time: results::UtcTime) -> String {
    let text = time.to_string();
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => text,
    }
}

/// The first sentence, and those after it.
pub(crate) fn first_sentence(text: &str) -> (&str, &str) {
    let starts_sentence = |rest: &str| rest.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
    let ends = text.match_indices(". ").map(|(at, _)| at + 1);
    let end = ends.into_iter().find(|end| starts_sentence(&text[end + 1..]));
    end.map_or((text, ""), |end| (&text[..end], &text[end + 1..]))
}

/// Wraps at spaces to lines of at most `width` characters. The first line follows `first_indent` characters, the others
/// start with `indent` spaces. A longer word gets its own line.
pub(crate) fn wrap(text: &str, first_indent: usize, indent: usize, width: usize) -> String {
    let mut out = String::new();
    let mut column = first_indent;
    let mut at_line_begin = true;
    for word in text.split(' ') {
        let length = shown_len(word);
        if !at_line_begin && column + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if !at_line_begin {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
        at_line_begin = false;
    }
    out
}

/// Visible characters: excludes the escape sequences of [`emphasise`].
fn shown_len(word: &str) -> usize {
    let mut pieces = word.split('\x1b');
    let plain = pieces.next().map_or(0, |piece| piece.chars().count());
    let after_rendition = |piece: &str| piece.split_once('m').map_or(0, |(_, shown)| shown.chars().count());
    plain + pieces.map(after_rendition).sum::<usize>()
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn enumerate(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// Appends a full stop if there is none.
pub(crate) fn sentence(text: &str) -> String {
    let ended = text.ends_with(['.', '!', '?', '…']);
    format!("{text}{}", if ended { "" } else { "." })
}

/// The sentence with a capital first letter and a full stop.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let Some(first) = letters.next() else { return String::new() };
    sentence(&first.to_uppercase().chain(letters).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_blanks_before_the_edge() {
        assert_eq!(wrap("one two three", 0, 2, 8), "one two\n  three");
        assert_eq!(wrap("one two three", 4, 4, 8), "one\n    two\n    three");
        assert_eq!(wrap("unbreakable", 2, 2, 4), "unbreakable");
        assert_eq!(wrap("", 0, 0, 0), "");
    }

    #[test]
    fn colours_take_no_room_on_a_line() {
        let style = TextStyle { colour: true, width: 80 };
        let red = emphasise("one two", Emphasis::Alarm, &style);
        assert_eq!(wrap(&format!("{red} three"), 0, 0, 13).matches('\n').count(), 0);
        assert_eq!(wrap(&format!("{red} three"), 0, 0, 12).matches('\n').count(), 1);
    }

    #[test]
    fn text_from_outside_cannot_steer_the_terminal() {
        assert_eq!(escaped_line("a\x1b[2Jb\r\nc\tü"), "a\\x1b[2Jb c ü");
        assert_eq!(escaped_line("a\u{202e}lqs.\u{2066}b"), "a\\u{202e}lqs.\\u{2066}b");
    }

    #[test]
    fn long_names_are_cut_with_a_mark() {
        assert_eq!(cut("tpcb-like", 9), "tpcb-like");
        assert_eq!(cut("tpcb-like", 6), "tpcb-…");
        assert_eq!(cut("ünïcödé", 3), "ün…");
    }
}
