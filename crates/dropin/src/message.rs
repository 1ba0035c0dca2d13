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
    /// No prefix.
    Bare,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its kind.
    pub level: Level,
    /// Without a newline.
    pub text: String,
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
    #[must_use]
    pub fn error(text: impl Display) -> Self {
        let message = Message { level: Level::Error, text: text.to_string() };
        Self { messages: vec![message], code: 1 }
    }

    /// Exit status 0 with this text.
    #[must_use]
    pub fn done(text: impl Into<String>) -> Self {
        Self { messages: vec![Message { level: Level::Bare, text: text.into() }], code: 0 }
    }

    /// Adds a message.
    #[must_use]
    pub fn and(mut self, level: Level, text: impl Display) -> Self {
        self.messages.push(Message { level, text: text.to_string() });
        self
    }

    /// Adds the hint that follows all errors in options.
    #[must_use]
    pub fn with_help_hint(self) -> Self {
        self.and(Level::Hint, format_args!("Try \"{PROGRAM} --help\" for more information."))
    }
}
