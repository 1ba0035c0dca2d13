//! Messages of the drop-in as data, in the kinds that all programs of PostgreSQL have, and why it ends before it has done
//! its work. What they look like on stderr is the affair of the program.

use std::fmt::Display;

/// The name in front of each message.
pub const PROGRAM: &str = "pgbench";

/// What kind of message it is.
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
    /// Nothing but the program's name stands in front.
    Info,
    /// Not even that.
    Bare,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its kind.
    pub level: Level,
    /// Without line end.
    pub text: String,
}

/// Why the program ends before it has done its work: what is still to be said, and the exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// What is still to be said.
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

    /// The same, with more to say.
    #[must_use]
    pub fn and(mut self, level: Level, text: impl Display) -> Self {
        self.messages.push(Message { level, text: text.to_string() });
        self
    }

    /// The same, with the sentence that follows all mistakes in options.
    #[must_use]
    pub fn with_help_hint(self) -> Self {
        self.and(Level::Hint, format_args!("Try \"{PROGRAM} --help\" for more information."))
    }
}
