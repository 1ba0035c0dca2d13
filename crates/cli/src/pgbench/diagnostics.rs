//! Output of the drop-in: results on stdout, messages on stderr in the form of PostgreSQL's programs (`pgbench:
//! error: …`), with colours if `PG_COLOR` enables them. Bytes of scripts, file names and servers are written
//! unchanged, except that control characters are escaped on a terminal. If the reader has closed the pipe, the
//! program exits, as C programs do.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use dropin::{Level, Message, MessageStyle};

/// 128 plus the number of SIGPIPE: exit status of a program that wrote to a closed pipe, as in shells.
const BROKEN_PIPE: i32 = 141;

/// Messages on stderr with the program's name.
#[derive(Clone, Debug)]
pub(super) struct Diagnostics {
    style: MessageStyle,
}

impl Diagnostics {
    pub(super) fn of_process() -> Self {
        let is_coloured = match std::env::var("PG_COLOR").as_deref() {
            Ok("always") => true,
            Ok("auto") => io::stderr().is_terminal(),
            _ => false,
        };
        let changes = || std::env::var("PG_COLORS").unwrap_or_default();
        Self { style: if is_coloured { MessageStyle::coloured(&changes()) } else { MessageStyle::default() } }
    }

    /// Prints a line on stderr.
    pub(super) fn say(&self, level: Level, text: impl Display) {
        let text = text.to_string();
        let text = shown(text.trim_end_matches('\n'), io::stderr().is_terminal());
        put(&mut io::stderr().lock(), &format!("{}\n", self.style.render(level, &text)));
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
    fn what_steers_a_terminal_is_shown_there_as_its_code() {
        let text = encoding::decode(b"a\x1b]0;x\x07\tb\xf6\rc\n");
        assert_eq!(shown(&text, true), "a\\x1b]0;x\\x07\tb\\xf6\rc\n");
        assert_eq!(encoding::encode(&shown(&text, false)).as_ref(), b"a\x1b]0;x\x07\tb\xf6\rc\n");
    }
}
