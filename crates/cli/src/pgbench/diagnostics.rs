//! Output of the drop-in: results on stdout, messages on stderr in the form of PostgreSQL's programs (`pgbench:
//! error: …`), with colours if `PG_COLOR` enables them. Bytes of scripts, file names and servers are written
//! unchanged, except that control characters are escaped on a terminal. If the reader has closed the pipe, the
//! program exits, as C programs do.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use dropin::{Level, Message, PROGRAM};

/// 128 plus the number of SIGPIPE: exit status of a program that wrote to a closed pipe, as in shells.
const BROKEN_PIPE: i32 = 141;

/// Messages on stderr with the program's name.
#[derive(Clone, Debug)]
pub(super) struct Diagnostics {
    /// Colours as SGR parameters; `None`: none.
    colours: Option<Colours>,
}

/// Names of colours in `PG_COLORS` with their defaults.
const COLOURS: [(&str, &str); 4] =
    [("error", "01;31"), ("warning", "01;35"), ("note", "01;36"), ("locus", "01")];

/// Colours by name.
type Colours = BTreeMap<&'static str, String>;

/// The default colours, with the changes in `PG_COLORS` (`error=01;31:note=…`).
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

    /// The formatted message, without line end.
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

    /// Prints a line on stderr.
    pub(super) fn say(&self, level: Level, text: impl Display) {
        let text = text.to_string();
        let text = shown(text.trim_end_matches('\n'), io::stderr().is_terminal());
        put(&mut io::stderr().lock(), &format!("{}\n", self.render(level, &text)));
    }

    /// Prints text on stderr without prefix.
    pub(super) fn write(&self, text: &str) {
        put(&mut io::stderr().lock(), &shown(text, io::stderr().is_terminal()));
    }

    /// Prints text on stdout.
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

/// Escapes control characters on a terminal. A carriage return stays, because overwritten progress lines end with it.
fn shown(text: &str, is_terminal: bool) -> Cow<'_, str> {
    if !is_terminal {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split('\r').map(results::escaped).collect::<Vec<_>>().join("\r"))
}

/// Writes the text immediately. Exits if the reader is gone; a full device is ignored, as in pgbench.
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
