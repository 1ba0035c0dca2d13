//! Errors of scripts: of parsing (`ParseError`, with the source line and a caret) and of execution (`EvaluationError`).
//! Messages are pgbench's where it has one, because users search for them. The command line adds its name.

use std::borrow::Cow;
use std::fmt;

use thiserror::Error;

use crate::symbols::{Slot, Symbols};

/// Maximum nesting of parentheses, calls, CASEs and prefix operators of an expression. The parser recurses once per
/// level, which takes less than 1 MB of stack even in an unoptimised build; a thread has at least two.
pub(crate) const NESTING_MAX: usize = 256;

/// Why a script is invalid. `Display` is the whole message: `file:line: reason in command "name"`, then the command's
/// text and a caret below the error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The file name passed to `parse`.
    pub file: Box<str>,
    /// Line of the file, from 1, on which the command starts.
    pub line: u32,
    /// Byte of `source`, from 1, if the error has a position.
    pub column: Option<usize>,
    /// The kind of error.
    pub kind: ParseErrorKind,
    /// The meta command's name as typed, if the message contains it.
    pub command: Option<Box<str>>,
    /// The text for the caret, without the last newline: a meta command from its backslash. Invalid UTF-8 is kept as in
    /// [`encoding`].
    pub source: Box<str>,
}

/// Kinds of errors in a script.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseErrorKind {
    /// A script without any command.
    #[error("empty command list for script \"{0}\"")]
    EmptyScript(Box<str>),
    /// Unbalanced `\if`, `\elif`, `\else` and `\endif`.
    #[error("command {command}: {reason}")]
    Condition {
        /// Number of the command, from 1; the number of commands plus one for the end of the script.
        command: u32,
        /// The reason.
        reason: &'static str,
    },
    /// An error of a whole meta command, whose text is not shown.
    #[error("{0}")]
    WithoutText(&'static str),
    /// A name that is not a function.
    #[error("unexpected function name ({0})")]
    UnknownFunction(Box<str>),
    /// The nesting of an expression exceeds the limit.
    #[error("expression is nested more than {NESTING_MAX} levels deep; split it over several \\set commands")]
    TooDeep,
    /// Another error, as a message.
    #[error("{0}")]
    Other(Cow<'static, str>),
}

impl From<&'static str> for ParseErrorKind {
    fn from(reason: &'static str) -> Self {
        Self::Other(reason.into())
    }
}

impl From<String> for ParseErrorKind {
    fn from(reason: String) -> Self {
        Self::Other(reason.into())
    }
}

impl ParseError {
    /// An error at byte `at` of an SQL command that starts on this line; without a position, of its first line.
    pub fn in_statement(
        file: &str,
        first_line: u32,
        text: &[u8],
        at: Option<usize>,
        kind: impl Into<ParseErrorKind>,
    ) -> Self {
        let place = at.unwrap_or(0).min(text.len());
        let start = text[..place].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let end = text[place..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| place + end);
        let lines = text[..start].iter().filter(|&&byte| byte == b'\n').count();
        Self {
            file: file.into(),
            line: first_line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX)),
            column: at.map(|_| shown(&text[start..place]).len() + 1),
            kind: kind.into(),
            command: None,
            source: shown(&text[start..end]),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, kind, command, source } = self;
        match kind {
            ParseErrorKind::EmptyScript { .. } => return kind.fmt(f),
            ParseErrorKind::Condition { .. } => {
                return write!(f, "condition error in script \"{file}\" {kind}");
            }
            _ => {}
        }
        write!(f, "{file}:{line}: {kind}")?;
        if let Some(command) = command {
            write!(f, " in command \"{command}\"")?;
        }
        let Some(column) = column else {
            return if source.is_empty() { Ok(()) } else { write!(f, "\n{source}") };
        };
        let mut offset = column - 1;
        let mut pending = true;
        let mut lines = source.split('\n').peekable();
        while let Some(line) = lines.next() {
            write!(f, "\n{}", line.strip_suffix('\r').unwrap_or(line))?;
            // A position at the newline, or after the last line, is the end of a line.
            if pending && (offset <= line.len() || lines.peek().is_none()) {
                write_caret(f, line, offset)?;
                pending = false;
            }
            offset = offset.saturating_sub(line.len() + 1);
        }
        Ok(())
    }
}

/// The caret below byte `offset` of `text`: one space per character, tabs kept, so that the lines align.
fn write_caret(f: &mut fmt::Formatter<'_>, text: &str, offset: usize) -> fmt::Result {
    f.write_str("\n")?;
    for (_, character) in
        text.char_indices().take_while(|(at, character)| at + character.len_utf8() <= offset)
    {
        f.write_str(if character == '\t' { "\t" } else { " " })?;
    }
    f.write_str("^ error found here")
}

impl std::error::Error for ParseError {}

/// Bytes of a script or of a server as text, without loss.
pub(crate) fn shown(bytes: &[u8]) -> Box<str> {
    encoding::decode(bytes).into()
}

/// A fault with its position in a meta command; the parser of the script completes the [`ParseError`].
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: ParseErrorKind,
    /// Byte of the caret.
    pub(crate) offset: Option<usize>,
}

/// A fault without a position.
impl<K: Into<ParseErrorKind>> From<K> for Fault {
    fn from(kind: K) -> Self {
        Self { kind: kind.into(), offset: None }
    }
}

/// Why a meta command failed at run time. Boxed, so that results of the evaluator fit into two registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluationError(Box<Evaluation>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Evaluation {
    /// The meta command, if the message starts with it.
    command: Option<Box<str>>,
    reason: Cow<'static, str>,
    is_of_assignment: bool,
}

impl EvaluationError {
    /// An error with this sentence.
    #[cold]
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::boxed(None, reason.into(), false)
    }

    /// A variable without a value.
    #[cold]
    pub(crate) fn undefined(slot: Slot, symbols: &Symbols) -> Self {
        Self::new(format!("undefined variable \"{}\"", symbols.name(slot)))
    }

    /// An error whose message starts with the meta command.
    #[cold]
    pub(crate) fn of_command(command: &str, reason: String) -> Self {
        Self::boxed(Some(command.into()), reason.into(), false)
    }

    /// An assignment to a variable with an invalid name.
    #[cold]
    pub(crate) fn of_assignment(command: &str, name: &str) -> Self {
        Self::boxed(Some(command.into()), format!("invalid variable name: \"{name}\"").into(), true)
    }

    fn boxed(command: Option<Box<str>>, reason: Cow<'static, str>, is_of_assignment: bool) -> Self {
        Self(Box::new(Evaluation { command, reason, is_of_assignment }))
    }

    /// Whether the value was computed, but the variable's name is invalid.
    pub fn is_of_assignment(&self) -> bool {
        self.0.is_of_assignment
    }

    /// The same, with the meta command's name as typed.
    pub fn named(mut self, typed: &str) -> Self {
        let is_it = |command: &str| command.eq_ignore_ascii_case(typed) && typed.len() < "setshell".len();
        if self.0.command.as_deref().is_some_and(is_it) {
            self.0.command = Some(typed.into());
        }
        self
    }
}

impl fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Evaluation { command, reason, .. } = &*self.0;
        if let Some(command) = command {
            write!(f, "{command}: ")?;
        }
        f.write_str(reason)
    }
}

impl std::error::Error for EvaluationError {}

/// A double in C's format `%f`, with PostgreSQL's words for NaN and infinity.
pub(crate) struct FixedPoint(pub(crate) f64);

impl fmt::Display for FixedPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            value if value.is_nan() => f.write_str("NaN"),
            f64::INFINITY => f.write_str("Infinity"),
            f64::NEG_INFINITY => f.write_str("-Infinity"),
            value => write!(f, "{value:.6}"),
        }
    }
}
