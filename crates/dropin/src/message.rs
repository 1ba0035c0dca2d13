//! Messages of the drop-in as data, in the levels of PostgreSQL's programs, and early exits of the program. The program
//! formats them for stderr.

use std::fmt::Display;

/// Prefix of each message.
pub const PROGRAM: &str = "pgbench";

/// Level of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// `error: `
    Error,
    /// `warning: `
    Warning,
    /// `detail: `
    Detail,
    /// `hint: `
    Hint,
    /// Only the program's name as prefix.
    Info,
    /// No prefix; the text contains its line ends.
    Bare,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its kind.
    pub level: Level,
    /// Without a newline at its end, unless the level is [`Level::Bare`].
    pub text: String,
}

impl Message {
    /// A message of this level.
    pub fn new(level: Level, text: impl Display) -> Self {
        Self { level, text: text.to_string() }
    }

    /// A line without prefix.
    pub fn line(text: impl Display) -> Self {
        Self::new(Level::Bare, format_args!("{text}\n"))
    }
}

/// An early exit: the remaining messages, and the exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The remaining messages.
    pub messages: Vec<Message>,
    /// The exit status.
    pub code: u8,
}

impl Stop {
    /// Exit status 1 with this error.
    pub fn error(text: impl Display) -> Self {
        Self { messages: vec![Message::new(Level::Error, text)], code: 1 }
    }

    /// Exit status 0 with this text.
    pub fn done(text: impl Into<String>) -> Self {
        Self { messages: vec![Message::new(Level::Bare, text.into())], code: 0 }
    }

    /// Adds a message.
    #[must_use]
    pub fn and(mut self, level: Level, text: impl Display) -> Self {
        self.messages.push(Message::new(level, text));
        self
    }

    /// Adds the hint that follows all errors in options.
    #[must_use]
    pub fn with_help_hint(self) -> Self {
        self.and(Level::Hint, format_args!("Try \"{PROGRAM} --help\" for more information."))
    }
}
