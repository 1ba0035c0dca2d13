//! What can be wrong with a script: while it is read (`ParseError`, with the source line and a caret) and while it
//! runs (`EvaluationError`). The sentences are pgbench's wherever pgbench has one, because people search for them.
//! Nothing is printed here; the command line puts its own name in front.

use std::fmt;

use thiserror::Error;

use crate::expression::NESTING_MAX;
use crate::sql::PARAMETERS_MAX;

/// Why a script could not be read. `Display` is the whole message: `file:line: what in command "name"`, then the
/// command's text and a caret under the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The name given to `parse`.
    pub file: Box<str>,
    /// Line of the file, from 1, on which the command begins.
    pub line: u32,
    /// Byte of `source`, from 1, if the error has a place.
    pub column: Option<usize>,
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// The meta command's name as typed, where the message mentions it.
    pub command: Option<Box<str>>,
    /// The text that the caret points into, without the last newline: a meta command from its backslash.
    /// Bytes that are not UTF-8 are kept as [`encoding`] does.
    pub source: Box<str>,
}

/// What is wrong with a script's text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseErrorKind {
    /// A backslash and a word that is no meta command.
    #[error("invalid command")]
    InvalidCommand,
    /// `\\set` without a variable; its text is not shown.
    #[error("missing argument")]
    MissingVariable,
    /// Fewer words than the meta command needs.
    #[error("missing argument")]
    MissingArgument,
    /// `\shell` without a command.
    #[error("missing command")]
    MissingCommand,
    /// More words than the meta command takes.
    #[error("too many arguments")]
    TooManyArguments,
    /// More words than any meta command takes; they are not shown.
    #[error("too many arguments")]
    TooManyWords,
    /// A word behind a meta command that takes none.
    #[error("unexpected argument")]
    UnexpectedArgument,
    /// `\gset` or `\aset` elsewhere than directly behind an SQL command that has neither.
    #[error("\\gset must follow an SQL command{}", Behind(previous))]
    CaptureWithoutSql {
        /// The command that it follows, if that is no SQL.
        previous: Option<Box<str>>,
    },
    /// `\if`, `\elif`, `\else` and `\endif` that do not belong together.
    #[error("command {command}: {mistake}")]
    Condition {
        /// Number of the command, from 1; one more than there are commands if the end of the script is wrong.
        command: u32,
        /// What is wrong.
        mistake: ConditionMistake,
    },
    /// A comment that begins like a directive and is none.
    #[error(
        "\"{comment}\" is not a directive; the one there is reads \"-- pgmeter: contended rows = 10\", \"= :scale\" or \
         \"= 10 * :scale\""
    )]
    UnknownDirective {
        /// The whole comment.
        comment: Box<str>,
    },
    /// Two comments about contended rows.
    #[error("a script names its contended rows once, above the command that locks them first")]
    SecondContention,
    /// `\target` elsewhere than before the first command, or twice.
    #[error("a script has at most one \\target, and that before its first command")]
    TargetPlace,
    /// A `\target` whose name is not UTF-8.
    #[error("the name of a target must be UTF-8 text")]
    TargetName,
    /// `array(…)` inside an expression.
    #[error("array(number, expression) cannot be part of a larger expression")]
    ArrayNotAlone,
    /// A variable that nothing could refer to. (pgbench finds out when it assigns.)
    #[error("invalid variable name: \"{name}\"")]
    InvalidVariableName {
        /// As typed.
        name: Box<str>,
    },
    /// `\sleep` of something else than an integer or a variable.
    #[error("invalid sleep time, must be an integer ({text})")]
    InvalidSleepTime {
        /// As typed.
        text: Box<str>,
    },
    /// `\sleep` in unknown units.
    #[error("unrecognized time unit, must be us, ms or s ({text})")]
    UnknownTimeUnit {
        /// As typed.
        text: Box<str>,
    },
    /// A character that no token begins with.
    #[error("unexpected character ({character})")]
    UnexpectedCharacter {
        /// The character.
        character: char,
    },
    /// A token where another is needed.
    #[error("syntax error")]
    Syntax,
    /// An integer above 2^63 − 1.
    #[error("bigint constant overflow ({text})")]
    IntegerOverflow {
        /// As typed.
        text: Box<str>,
    },
    /// A number that binary64 cannot hold.
    #[error("double constant overflow ({text})")]
    DoubleOverflow {
        /// As typed.
        text: Box<str>,
    },
    /// A word that is no function.
    #[error("unexpected function name ({name})")]
    UnknownFunction {
        /// As typed.
        name: Box<str>,
    },
    /// A call with more or fewer arguments than the function takes.
    #[error("unexpected number of arguments ({name})")]
    ArgumentCount {
        /// The function.
        name: &'static str,
    },
    /// A call of `least` or `greatest` without any.
    #[error("at least one argument expected ({name})")]
    ArgumentMissing {
        /// The function.
        name: &'static str,
    },
    /// An expression too deep to evaluate in bounded memory.
    #[error("expression is nested more than {NESTING_MAX} levels deep; split it over several \\set commands")]
    TooDeep,
    /// A NUL, which no message to the server can carry.
    #[error("the script contains a NUL byte, which cannot be sent; is it really a text file?")]
    NulByte,
    /// A script without any command.
    #[error("empty command list for script \"{file}\"")]
    EmptyScript {
        /// The script.
        file: Box<str>,
    },
    /// More parameters than the extended and prepared protocols may carry.
    #[error("statement has too many arguments (maximum is {PARAMETERS_MAX})")]
    TooManyParameters,
}

/// How `\if`, `\elif`, `\else` and `\endif` do not belong together.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum ConditionMistake {
    /// See the sentence.
    #[error("\\if without matching \\endif")]
    IfWithoutEndIf,
    /// See the sentence.
    #[error("\\elif without matching \\if")]
    ElifWithoutIf,
    /// See the sentence.
    #[error("\\elif after \\else")]
    ElifAfterElse,
    /// See the sentence.
    #[error("\\else without matching \\if")]
    ElseWithoutIf,
    /// See the sentence.
    #[error("\\else after \\else")]
    ElseAfterElse,
    /// See the sentence.
    #[error("\\endif without matching \\if")]
    EndIfWithoutIf,
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
            // The newline's own place, and all beyond the last line, is the end of a line.
            if pending && (offset <= line.len() || lines.peek().is_none()) {
                write_caret(f, line, offset)?;
                pending = false;
            }
            offset = offset.saturating_sub(line.len() + 1);
        }
        Ok(())
    }
}

/// The caret below byte `offset` of `text`: one blank per character, tabs kept, so that the two lines align.
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

impl EvaluationError {
    /// The same, with the meta command's name as typed.
    pub fn named(mut self, typed: &str) -> Self {
        match &mut self {
            Self::SleepUndefined { command, .. }
            | Self::SleepTime { command, .. }
            | Self::VariableName { command, .. }
                if command.eq_ignore_ascii_case(typed) && typed.len() < "setshell".len() =>
            {
                *command = typed.into();
            }
            _ => {}
        }
        self
    }
}

/// What a command follows, in parentheses.
struct Behind<'a>(&'a Option<Box<str>>);

impl fmt::Display for Behind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |previous| write!(f, " ({previous})"))
    }
}

/// What is wrong and where, counted from the start of a meta command; its reader adds the rest of a [`ParseError`].
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: ParseErrorKind,
    /// The byte to point at, if there is one.
    pub(crate) offset: Option<usize>,
}

/// A fault without a place.
impl From<ParseErrorKind> for Fault {
    fn from(kind: ParseErrorKind) -> Self {
        Self { kind, offset: None }
    }
}

/// Why a meta command failed at run time.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum EvaluationError {
    /// A variable that nothing has set.
    #[error("undefined variable \"{name}\"")]
    UndefinedVariable {
        /// Without the colon.
        name: Box<str>,
    },
    /// A variable set to an empty text (pgbench fails here without a word).
    #[error("variable \"{name}\" is empty, and an empty text has no value")]
    EmptyVariable {
        /// Without the colon.
        name: Box<str>,
    },
    /// A variable whose text is no value of any type.
    #[error("malformed variable \"{name}\" value: \"{value}\"")]
    MalformedVariable {
        /// Without the colon.
        name: Box<str>,
        /// Its text.
        value: Box<str>,
    },
    /// A text that looks like an integer but has no digits.
    #[error("invalid input syntax for type bigint: \"{text}\"")]
    NotAnInteger {
        /// The variable's text.
        text: Box<str>,
    },
    /// A text that looks like an integer but does not fit.
    #[error("value \"{text}\" is out of range for type bigint")]
    IntegerOutOfRange {
        /// The variable's text.
        text: Box<str>,
    },
    /// A value of the wrong type.
    #[error("cannot coerce {from} to {to}")]
    CannotCoerce {
        /// The type it has.
        from: &'static str,
        /// The type that is needed.
        to: &'static str,
    },
    /// A double that no integer is near to.
    #[error("double to int overflow for {}", FixedPoint(*value))]
    DoubleToIntOverflow {
        /// The double.
        value: f64,
    },
    /// An integer operation whose result does not fit.
    #[error("bigint {operation} out of range")]
    IntegerOverflow {
        /// add, sub, mul or div.
        operation: &'static str,
    },
    /// `/` or `%` by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A call with more arguments than a function can take.
    #[error("too many function arguments, maximum is {maximum}")]
    TooManyFunctionArguments {
        /// The most it can take.
        maximum: usize,
    },
    /// A random number from a range whose end lies before its start.
    #[error("empty range given to random")]
    EmptyRange,
    /// A random number from a range of 2^63 − 1 values or more.
    #[error("random range is too large")]
    RangeTooLarge,
    /// See the sentence.
    #[error("gaussian parameter must be at least {} (not {})", FixedPoint(*minimum), FixedPoint(*parameter))]
    GaussianParameter {
        /// Least allowed.
        minimum: f64,
        /// The one given.
        parameter: f64,
    },
    /// See the sentence.
    #[error("exponential parameter must be greater than zero (not {})", FixedPoint(*parameter))]
    ExponentialParameter {
        /// The one given.
        parameter: f64,
    },
    /// See the sentence.
    #[error("zipfian parameter must be in range [{minimum}, {maximum}] (not {})", FixedPoint(*parameter))]
    ZipfianParameter {
        /// Least allowed.
        minimum: f64,
        /// Greatest allowed.
        maximum: f64,
        /// The one given.
        parameter: f64,
    },
    /// `permute` over nothing.
    #[error("permute size parameter must be greater than zero")]
    PermuteSize,
    /// `\sleep` for a variable that nothing has set.
    #[error("{command}: undefined variable \"{name}\"")]
    SleepUndefined {
        /// The meta command as typed.
        command: Box<str>,
        /// Without the colon.
        name: Box<str>,
    },
    /// `\sleep` for a variable that is no number.
    #[error("{command}: invalid sleep time \"{value}\" for variable \"{name}\"")]
    SleepTime {
        /// The meta command as typed.
        command: Box<str>,
        /// Without the colon.
        name: Box<str>,
        /// Its text.
        value: Box<str>,
    },
    /// `\shell` with a variable that nothing has set.
    #[error("{command}: undefined variable \"{name}\"")]
    ShellUndefined {
        /// The first word of the shell command.
        command: Box<str>,
        /// With the colon.
        name: Box<str>,
    },
    /// A command line longer than the language allows.
    #[error("{command}: shell command is too long")]
    ShellTooLong {
        /// The first word of the shell command.
        command: Box<str>,
    },
    /// `\shell` of a command that ends with another status than 0.
    #[error("{command}: could not launch shell command")]
    ShellFailed {
        /// The first word of the shell command.
        command: Box<str>,
    },
    /// `\setshell` of a command that writes nothing.
    #[error("{command}: could not read result of shell command")]
    ShellSilent {
        /// The first word of the shell command.
        command: Box<str>,
    },
    /// `\setshell` of a command that writes something else than an integer.
    #[error("{command}: shell command must return an integer (not \"{output}\")")]
    ShellNoInteger {
        /// The first word of the shell command.
        command: Box<str>,
        /// What it has written.
        output: Box<str>,
    },
    /// An assignment to a variable that nothing could refer to.
    #[error("{command}: invalid variable name: \"{name}\"")]
    VariableName {
        /// The meta command: `set` as typed, or `setshell`.
        command: Box<str>,
        /// As typed.
        name: Box<str>,
    },
    /// `\set name array(number, …)` with something that is not a number, or too large.
    #[error("the length of an array must be in range [0, {maximum}] (not {length})")]
    ArrayLength {
        /// Greatest allowed.
        maximum: i64,
        /// The one given.
        length: i64,
    },
    /// `\batch` of nothing.
    #[error("a batch must stand for at least one transaction (not {size})")]
    BatchSize {
        /// The number given.
        size: i64,
    },
}

/// A double in C's `%f`, with PostgreSQL's words for what is not a number.
struct FixedPoint(f64);

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
