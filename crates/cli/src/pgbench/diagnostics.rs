//! All that the drop-in writes: its answer on stdout, and on stderr messages in the form of all programs of PostgreSQL:
//! `pgbench: error: …`, with colours if `PG_COLOR` asks for them. What it says is decided elsewhere. Bytes of scripts,
//! file names and servers go out as they came, but not to a terminal, which they could steer. When a reader has gone away the program ends, as programs in C do.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use dropin::{Level, Message, PROGRAM};

/// 128 and the number of SIGPIPE: the status by which a shell names a program that ended for a closed pipe.
const BROKEN_PIPE: i32 = 141;

/// stderr with the program's name.
#[derive(Clone, Debug)]
pub(super) struct Diagnostics {
    /// Colours as SGR parameters; `None`: none.
    colours: Option<Colours>,
}

/// Names of colours in `PG_COLORS`, with the colours that are used unless it changes them.
const COLOURS: [(&str, &str); 4] =
    [("error", "01;31"), ("warning", "01;35"), ("note", "01;36"), ("locus", "01")];

/// Colours by name.
type Colours = BTreeMap<&'static str, String>;

/// The usual colours, changed by `PG_COLORS` (`error=01;31:note=…`).
fn colours(changes: &str) -> Colours {
    let mut colours: Colours = COLOURS.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    for (name, value) in changes.split(':').filter_map(|change| change.split_once('=')) {
        if let Some(colour) = colours.get_mut(name) {
            value.clone_into(colour);
        }
    }
    colours
}

impl Diagnostics {
    pub(super) fn of_process() -> Self {
        let is_coloured = match std::env::var("PG_COLOR").as_deref() {
            Ok("always") => true,
            Ok("auto") => io::stderr().is_terminal(),
            _ => false,
        };
        let changes = || std::env::var("PG_COLORS").unwrap_or_default();
        Self { colours: is_coloured.then(|| colours(&changes())) }
    }

    /// The message as it is shown, without line end.
    fn render(&self, level: Level, text: &str) -> String {
        let (word, colour) = match level {
            Level::Error => ("error: ", "error"),
            Level::Warning => ("warning: ", "warning"),
            Level::Detail => ("detail: ", "note"),
            Level::Hint => ("hint: ", "note"),
            Level::Info => ("", ""),
            Level::Bare => return text.to_owned(),
        };
        let Some(colours) = &self.colours else { return format!("{PROGRAM}: {word}{text}") };
        let word = match word {
            "" => String::new(),
            _ => format!("\x1b[{}m{word}\x1b[0m", colours[colour]),
        };
        format!("\x1b[{}m{PROGRAM}: \x1b[0m{word}{text}", colours["locus"])
    }

    /// A line on stderr.
    pub(super) fn say(&self, level: Level, text: impl Display) {
        let text = text.to_string();
        let text = shown(text.trim_end_matches('\n'), io::stderr().is_terminal());
        put(&mut io::stderr().lock(), &format!("{}\n", self.render(level, &text)));
    }

    /// Text on stderr without anything in front or behind.
    pub(super) fn write(&self, text: &str) {
        put(&mut io::stderr().lock(), &shown(text, io::stderr().is_terminal()));
    }

    /// Text on stdout.
    pub(super) fn print(&self, text: &str) {
        put(&mut io::stdout().lock(), &shown(text, io::stdout().is_terminal()));
    }

    pub(super) fn error(&self, text: impl Display) {
        self.say(Level::Error, text);
    }

    pub(super) fn say_all(&self, messages: &[Message]) {
        for Message { level, text } in messages {
            match level {
                Level::Bare => self.write(text),
                _ => self.say(*level, text),
            }
        }
    }
}

/// The text for where it goes: on a terminal, what would steer that stands as its code. A carriage return stays, since
/// progress on one line ends with it.
fn shown(text: &str, is_terminal: bool) -> Cow<'_, str> {
    if !is_terminal {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split('\r').map(results::escaped).collect::<Vec<_>>().join("\r"))
}

/// Writes the text at once. Nobody is left to be told when the reader has gone away; a device that is full is no reason
/// to end, as in pgbench.
#[allow(clippy::exit)]
fn put(stream: &mut impl Write, text: &str) {
    let written = stream.write_all(&encoding::encode(text)).and_then(|()| stream.flush());
    if written.is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        std::process::exit(BROKEN_PIPE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_begin_with_the_program_and_their_kind() {
        let plain = Diagnostics { colours: None };
        assert_eq!(plain.render(Level::Error, "no"), "pgbench: error: no");
        assert_eq!(plain.render(Level::Info, "so"), "pgbench: so");
        assert_eq!(plain.render(Level::Bare, "it"), "it");
    }

    #[test]
    fn what_steers_a_terminal_is_shown_there_as_its_code() {
        let text = encoding::decode(b"a\x1b]0;x\x07\tb\xf6\rc\n");
        assert_eq!(shown(&text, true), "a\\x1b]0;x\\x07\tb\\xf6\rc\n");
        assert_eq!(encoding::encode(&shown(&text, false)).as_ref(), b"a\x1b]0;x\x07\tb\xf6\rc\n");
    }

    #[test]
    fn colours_are_those_of_all_programs_of_postgresql() {
        let coloured = Diagnostics { colours: Some(colours("")) };
        let expected = "\x1b[01mpgbench: \x1b[0m\x1b[01;31merror: \x1b[0mno";
        assert_eq!(coloured.render(Level::Error, "no"), expected);
        let wished = Diagnostics { colours: Some(colours("note=3:error=1:locus=2:x")) };
        assert_eq!(wished.render(Level::Hint, "h"), "\x1b[2mpgbench: \x1b[0m\x1b[3mhint: \x1b[0mh");
    }
}
