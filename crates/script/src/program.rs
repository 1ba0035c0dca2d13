//! A parsed script: commands in order, immutable, shared by all workers.

use std::time::Duration;

use crate::error::{EvaluationError, ParseError};
use crate::expression::Expression;
use crate::sql::Sql;
use crate::symbols::{Slot, Symbols};
use crate::variables::Variables;

/// Parses the text of a script. `file` is the name that messages show.
pub fn parse(_file: &str, _text: &str, _symbols: &mut Symbols) -> Result<Program, ParseError> {
    todo!()
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
    /// The extended and the prepared protocol allow [`crate::PARAMETERS_MAX`] parameters per command.
    pub fn check_parameter_counts(&self) -> Result<(), ParseError> {
        todo!()
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

/// `\sleep number|:variable [us|ms|s]`
#[derive(Debug)]
pub struct Sleep {}

impl Sleep {
    /// How long, with this client's variables; negative numbers are zero.
    pub fn duration(&self, _variables: &Variables, _symbols: &Symbols) -> Result<Duration, EvaluationError> {
        todo!()
    }
}
