//! What can be wrong with a script: while it is read (`ParseError`) and while it runs (`EvaluationError`).

use std::fmt;

/// Why a script could not be read. `Display` is the whole message with source line and caret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The name given to `parse`.
    pub file: Box<str>,
    /// Line of the file, from 1, on which the command begins.
    pub line: u32,
    /// Column in bytes from 1, counted from the command's first byte, if the error has one.
    pub column: Option<u32>,
    message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

/// Why a meta command failed at run time.
#[derive(Clone, Debug, PartialEq)]
pub enum EvaluationError {
    /// A variable that nothing has set.
    UndefinedVariable {
        /// Its name without the colon.
        name: Box<str>,
    },
}

impl fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UndefinedVariable { name } => write!(f, "undefined variable \"{name}\""),
        }
    }
}

impl std::error::Error for EvaluationError {}
