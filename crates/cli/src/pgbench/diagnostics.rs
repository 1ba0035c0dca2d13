//! All that the drop-in writes: its answer on stdout, and on stderr messages in the form of all programs of PostgreSQL:
//! `pgbench: error: …`, with colours if `PG_COLOR` asks for them. What it says is decided elsewhere. Bytes of scripts,
//! file names and servers go out as they came, but not to a terminal, which they could steer. When a reader has gone away the program ends, as programs in C do.

use std::borrow::Cow;
use std::ffi::OsStr;
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

#[derive(Clone, Debug, PartialEq, Eq)]
struct Colours {
    error: String,
    warning: String,
    note: String,
    locus: String,
}

impl Colours {
    /// The usual colours, changed by `PG_COLORS` (`error=01;31:note=…`).
    fn of(wishes: &str) -> Self {
        let mut colours = Self {
            error: "01;31".to_owned(),
            warning: "01;35".to_owned(),
            note: "01;36".to_owned(),
            locus: "01".to_owned(),
        };
        for wish in wishes.split(':') {
            let Some((name, value)) = wish.split_once('=') else { continue };
            match name {
                "error" => colours.error = value.to_owned(),
                "warning" => colours.warning = value.to_owned(),
                "note" => colours.note = value.to_owned(),
                "locus" => colours.locus = value.to_owned(),
                _ => {}
            }
        }
        colours
    }
}

impl Diagnostics {
    pub(super) fn of_process() -> Self {
        let wish = std::env::var_os("PG_COLOR");
        let coloured = match wish.as_deref().and_then(OsStr::to_str) {
            Some("always") => true,
            Some("auto") => io::stderr().is_terminal(),
            _ => false,
        };
        let wishes = || std::env::var("PG_COLORS").unwrap_or_default();
        Self { colours: coloured.then(|| Colours::of(&wishes())) }
    }

    /// The message as it is shown, without line end.
    fn render(&self, level: Level, text: &str) -> String {
        let (word, colour): (_, fn(&Colours) -> &str) = match level {
            Level::Error => ("error: ", |colours| &colours.error),
            Level::Warning => ("warning: ", |colours| &colours.warning),
            Level::Detail => ("detail: ", |colours| &colours.note),
            Level::Hint => ("hint: ", |colours| &colours.note),
            Level::Info => ("", |_| ""),
            Level::Bare => return text.to_owned(),
        };
        let Some(colours) = &self.colours else { return format!("{PROGRAM}: {word}{text}") };
        let word = match word {
            "" => String::new(),
            _ => format!("\x1b[{}m{word}\x1b[0m", colour(colours)),
        };
        format!("\x1b[{}m{PROGRAM}: \x1b[0m{word}{text}", colours.locus)
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
        let coloured = Diagnostics { colours: Some(Colours::of("")) };
        let expected = "\x1b[01mpgbench: \x1b[0m\x1b[01;31merror: \x1b[0mno";
        assert_eq!(coloured.render(Level::Error, "no"), expected);
        let wished = Diagnostics { colours: Some(Colours::of("note=3:error=1:locus=2:x")) };
        assert_eq!(wished.render(Level::Hint, "h"), "\x1b[2mpgbench: \x1b[0m\x1b[3mhint: \x1b[0mh");
    }
}
