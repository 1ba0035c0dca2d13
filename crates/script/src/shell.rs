//! `\shell` and `\setshell`: the command line with values of variables, and the interpretation of its output. The
//! engine starts the process. Created by `meta`, which splits the words.

use std::fmt;

use crate::dialect::Dialect;
use crate::error::{EvaluationError, shown};
use crate::number::{is_c_space, leading_integer, trim_start};
use crate::symbols::{Slot, Symbols};
use crate::value::Value;
use crate::variables::Variables;

/// Exclusive maximum length of a command line in bytes (pgbench's limit).
const COMMAND_LINE_LIMIT: usize = 255;
/// Maximum number of bytes read from the output (pgbench's limit).
const OUTPUT_MAX: usize = 63;

/// `\shell command argument …`
#[derive(Debug)]
pub struct Shell {
    /// At least one.
    words: Box<[Word]>,
}

#[derive(Debug)]
enum Word {
    Literal(Box<[u8]>),
    Variable {
        slot: Slot,
        /// Includes the colon.
        written: Box<[u8]>,
    },
}

impl Shell {
    /// Words with `:name` for a variable, and `::x` for the word `:x`.
    pub(crate) fn new<'a>(words: impl Iterator<Item = &'a [u8]>, symbols: &mut Symbols) -> Self {
        let word = |text: &'a [u8]| match text {
            [b':', b':', ..] => Word::Literal(text[1..].into()),
            [b':', name @ ..] => Word::Variable { slot: symbols.intern(name), written: text.into() },
            _ => Word::Literal(text.into()),
        };
        Self { words: words.map(word).collect() }
    }

    /// The command line with this client's variables: the words, separated by single spaces.
    pub fn command_line(&self, variables: &Variables, symbols: &Symbols) -> Result<Vec<u8>, EvaluationError> {
        let mut line = Vec::new();
        for (index, word) in self.words.iter().enumerate() {
            if index > 0 {
                line.push(b' ');
            }
            match word {
                Word::Literal(text) => line.extend_from_slice(text),
                Word::Variable { slot, .. } if variables.write_text(*slot, &mut line) => {}
                Word::Variable { slot, .. } => {
                    let name = symbols.name(*slot);
                    return Err(self.error(format_args!("undefined variable \":{name}\"")));
                }
            }
            if line.len() >= COMMAND_LINE_LIMIT {
                return Err(self.error(format_args!("shell command is too long")));
            }
        }
        Ok(line)
    }

    /// The error of a command that could not be started or exited with another status than 0. (`\setshell` ignores the
    /// status.)
    pub fn failed(&self) -> EvaluationError {
        self.error(format_args!("could not launch shell command"))
    }

    fn error(&self, reason: fmt::Arguments<'_>) -> EvaluationError {
        EvaluationError::new(format!("{}: {reason}", self.command()))
    }

    /// The first word as written, the start of messages.
    pub fn command(&self) -> Box<str> {
        match self.words.first() {
            Some(Word::Literal(text) | Word::Variable { written: text, .. }) => shown(text),
            None => Box::default(),
        }
    }
}

/// `\setshell name command argument …`
#[derive(Debug)]
pub struct SetShell {
    /// The variable that is assigned.
    pub slot: Slot,
    /// The command.
    pub shell: Shell,
    /// The variable's name, if it is invalid.
    invalid_name: Option<Box<str>>,
    dialect: Dialect,
}

impl SetShell {
    pub(crate) fn new(name: &[u8], shell: Shell, symbols: &mut Symbols, dialect: Dialect) -> Self {
        let invalid_name = (!Symbols::is_valid_name(name)).then(|| shown(name));
        Self { slot: symbols.intern(name), shell, invalid_name, dialect }
    }

    /// The value of a command's output: its first line must be an integer. Like pgbench, [`Dialect::Pgbench`] keeps
    /// only its 32 low bits.
    pub fn read_output(&self, output: &[u8]) -> Result<Value, EvaluationError> {
        let line = output.split_inclusive(|&byte| byte == b'\n').next().unwrap_or_default();
        if line.is_empty() {
            return Err(self.shell.error(format_args!("could not read result of shell command")));
        }
        let line = &line[..line.len().min(OUTPUT_MAX)];
        let line = line.split(|&byte| byte == 0).next().unwrap_or_default();
        let value = integer(line).ok_or_else(|| {
            let output = shown(line);
            self.shell.error(format_args!("shell command must return an integer (not \"{output}\")"))
        })?;
        if let Some(name) = &self.invalid_name {
            return Err(EvaluationError::of_assignment("setshell", name));
        }
        Ok(Value::Int(match self.dialect {
            Dialect::Pgbench => i64::from(low_32_bits(value)),
            Dialect::Extended => value,
        }))
    }
}

/// Parses a text with surrounding spaces like C's `strtol`, saturated at 64 bits; as there, a line of spaces is 0.
fn integer(line: &[u8]) -> Option<i64> {
    let text = trim_start(line);
    if text.is_empty() && !line.is_empty() {
        return Some(0);
    }
    let (value, rest) = leading_integer(text)?;
    rest.iter().all(|&byte| is_c_space(byte)).then_some(value)
}

#[expect(clippy::cast_possible_truncation, reason = "the point")]
fn low_32_bits(value: i64) -> i32 {
    value as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The command line for words in which `:x` is 5 and `:long` is very long.
    fn line(text: &str) -> Result<String, String> {
        let mut symbols = Symbols::new();
        let shell = Shell::new(text.split(' ').map(str::as_bytes), &mut symbols);
        let mut variables = Variables::new(&symbols);
        variables.set(symbols.intern("x"), Value::Int(5));
        variables.set_text(symbols.intern("long"), "y".repeat(1 << 20));
        let line = shell.command_line(&variables, &symbols).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(line).unwrap())
    }

    fn output(dialect: Dialect, name: &str, bytes: &[u8]) -> Result<Value, String> {
        let mut symbols = Symbols::new();
        let shell = Shell::new([&b"echo"[..]].into_iter(), &mut symbols);
        let set = SetShell::new(name.as_bytes(), shell, &mut symbols, dialect);
        set.read_output(bytes).map_err(|error| error.to_string())
    }

    fn read(bytes: &[u8]) -> Result<Value, String> {
        output(Dialect::Extended, "x", bytes)
    }

    #[test]
    fn words_are_joined_and_variables_replaced_where_they_are_the_whole_word() {
        assert_eq!(line("echo :x ::y a:x").unwrap(), "echo 5 :y a:x");
        assert_eq!(line(":x :x").unwrap(), "5 5");
        assert_eq!(line("echo :nope").unwrap_err(), "echo: undefined variable \":nope\"");
        assert_eq!(line("echo :").unwrap_err(), "echo: undefined variable \":\"");
    }

    #[test]
    fn a_command_line_has_a_limit() {
        let echo = |length: usize| line(&format!("echo {}", "a".repeat(length)));
        assert_eq!(echo(249).unwrap().len(), 254);
        assert_eq!(echo(250).unwrap_err(), "echo: shell command is too long");
        assert_eq!(line(":x :long").unwrap_err(), ":x: shell command is too long");
    }

    #[test]
    fn the_first_line_of_the_output_is_an_integer() {
        for (bytes, value) in [
            (&b"5"[..], 5),
            (b"-5\n", -5),
            (b" +7 \t\r\nnoise\n", 7),
            (b"\n", 0),
            (b"007\0junk", 7),
            (b"4294967300", 4_294_967_300),
            (b"99999999999999999999", i64::MAX),
            (b"-99999999999999999999", i64::MIN),
        ] {
            assert_eq!(read(bytes), Ok(Value::Int(value)), "{bytes:?}");
        }
        for text in ["x5", "5x", "1 2", "-", "5.0", "- 5"] {
            let message = format!("echo: shell command must return an integer (not \"{text}\n\")");
            assert_eq!(read(format!("{text}\n").as_bytes()).unwrap_err(), message);
        }
        assert_eq!(
            read(b"\xff").unwrap_err(),
            "echo: shell command must return an integer (not \"\u{10ffff}\")"
        );
        assert_eq!(read(b"").unwrap_err(), "echo: could not read result of shell command");
    }

    /// pgbench keeps 32 bits; the extended dialect keeps the number.
    #[test]
    fn the_dialect_of_pgbench_keeps_32_bits() {
        assert_eq!(output(Dialect::Pgbench, "x", b"4294967300"), Ok(Value::Int(4)));
        assert_eq!(output(Dialect::Pgbench, "x", b"2147483648"), Ok(Value::Int(-2_147_483_648)));
        assert_eq!(output(Dialect::Extended, "x", b"2147483648"), Ok(Value::Int(2_147_483_648)));
    }

    #[test]
    fn an_impossible_name_is_found_out_when_it_is_assigned() {
        let message = output(Dialect::Pgbench, "1x", b"5").unwrap_err();
        assert_eq!(message, "setshell: invalid variable name: \"1x\"");
    }

    proptest! {
        #[test]
        fn any_output_is_an_integer_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = read(&bytes);
        }
    }
}
