//! A script, parsed: commands in order, immutable, shared by all workers. `parse` walks through the text, cutting
//! SQL with `scan` and meta commands with `meta`. Nothing is run here; the engine goes through the commands.

use crate::error::{EvaluationError, ParseError, ParseErrorKind};
use crate::expression::{Expression, Scope};
use crate::meta::MetaText;
use crate::scan::{Stop, scan};
use crate::sleep::Sleep;
use crate::sql::{PARAMETERS_MAX, Sql};
use crate::symbols::{Slot, Symbols};

/// Longest display text of an SQL command, in bytes.
const DISPLAY_MAX: usize = 127;

/// Parses the text of a script. `file` is the name that messages show. Time grows linearly with the text.
pub fn parse(file: &str, text: &str, symbols: &mut Symbols) -> Result<Program, ParseError> {
    let mut lines = Lines { text, counted: 0, line: 1 };
    if let Some(at) = text.find('\0') {
        return Err(script_error(file, lines.line_of(at), ParseErrorKind::NulByte));
    }
    let mut commands = Vec::new();
    let mut from = 0;
    loop {
        let piece = scan(text, from);
        if !piece.sql.is_empty() {
            let (line, display) = (lines.line_of(piece.start), first_line(&piece.sql).into());
            commands.push(Command { line, display, kind: CommandKind::Sql(Sql::new(piece.sql, symbols)) });
        }
        from = piece.end;
        match piece.stop {
            Stop::Semicolon => {}
            Stop::Backslash => {
                let meta = MetaText::at(text, from);
                let line = lines.line_of(from);
                if let Some(kind) = meta.read(symbols).map_err(|fault| meta.error(file, line, fault))? {
                    commands.push(Command { line, display: meta.display().into(), kind });
                }
                from += meta.length();
            }
            Stop::End => break,
        }
    }
    if commands.is_empty() {
        return Err(script_error(file, 1, ParseErrorKind::EmptyScript { file: file.into() }));
    }
    Ok(Program { name: file.into(), commands: commands.into() })
}

/// An error without a place inside a command.
fn script_error(file: &str, line: u32, kind: ParseErrorKind) -> ParseError {
    ParseError { file: file.into(), line, column: None, kind, command: None, source: Box::default() }
}

/// The first line of an SQL command, cut to the longest display text.
fn first_line(sql: &str) -> &str {
    let line = sql.split(['\n', '\r']).next().unwrap_or_default();
    &line[..line.floor_char_boundary(DISPLAY_MAX)]
}

/// Counts lines up to ever later places.
struct Lines<'a> {
    text: &'a str,
    counted: usize,
    line: u32,
}

impl Lines<'_> {
    fn line_of(&mut self, offset: usize) -> u32 {
        let newlines =
            self.text.as_bytes()[self.counted..offset].iter().filter(|&&byte| byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(newlines).unwrap_or(u32::MAX));
        self.counted = offset;
        self.line
    }
}

/// A script, parsed.
#[derive(Debug)]
pub struct Program {
    name: Box<str>,
    commands: Box<[Command]>,
}

impl Program {
    /// The file name as given to [`parse`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The commands in order; never empty.
    pub fn commands(&self) -> &[Command] {
        &self.commands
    }

    /// Whether every SQL command can be sent by the extended and prepared protocols, which carry at most
    /// [`PARAMETERS_MAX`] parameters. Simple queries need no check.
    pub fn check_parameter_counts(&self) -> Result<(), ParseError> {
        for command in &self.commands {
            if let CommandKind::Sql(sql) = &command.kind
                && sql.parameters().len() > PARAMETERS_MAX
            {
                let error = script_error(&self.name, command.line, ParseErrorKind::TooManyParameters);
                return Err(ParseError { source: command.display.clone(), ..error });
            }
        }
        Ok(())
    }
}

/// One step of a script.
#[derive(Debug)]
pub struct Command {
    /// Line of the file on which it begins, from 1.
    pub line: u32,
    /// SQL: its first line, at most 127 bytes; a meta command: its whole text from the backslash.
    pub display: Box<str>,
    /// What to do.
    pub kind: CommandKind,
}

/// What a command does.
#[derive(Debug)]
pub enum CommandKind {
    /// Send SQL.
    Sql(Sql),
    /// `\set`
    Set(Set),
    /// `\sleep`
    Sleep(Sleep),
}

/// `\set name expression`
#[derive(Debug)]
pub struct Set {
    /// The variable that receives the value.
    pub slot: Slot,
    /// What is evaluated.
    pub expression: Expression,
}

impl Set {
    /// Evaluates and assigns.
    #[inline]
    pub fn execute(&self, scope: &mut Scope<'_>) -> Result<(), EvaluationError> {
        let datum = self.expression.datum(scope).map_err(|failure| *failure)?;
        scope.variables.set_datum(self.slot, datum);
        Ok(())
    }
}
