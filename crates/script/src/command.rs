//! One command of a script, and its action: SQL or a meta command. Created by `meta` and `program`; the engine executes
//! it.

use crate::array::SetArray;
use crate::batch::Batch;
use crate::condition::{Condition, Else};
use crate::error::EvaluationError;
use crate::expression::{Expression, Scope};
use crate::repeat::{EndRepeat, Repeat};
use crate::shell::{SetShell, Shell};
use crate::sleep::Sleep;
use crate::sql::Sql;
use crate::string::SetString;
use crate::symbols::Slot;

/// One command of a script.
#[derive(Debug)]
pub struct Command {
    /// First line in the file, from 1.
    pub line: u32,
    /// SQL: its first line, at most 127 bytes; a meta command: its whole text from the backslash.
    pub display: Box<str>,
    /// `SQL`, or the meta command's name as typed, such as `SET`.
    pub name: Box<str>,
    /// Its action.
    pub kind: CommandKind,
}

/// Action of a command.
#[derive(Debug)]
pub enum CommandKind {
    /// Send SQL.
    Sql(Sql),
    /// `\set`
    Set(Set),
    /// `\set name array(number, expression)`, extended dialect only
    SetArray(SetArray),
    /// `\set name 'text'`, `\set name random_string(…)`, `\set name random_element(…)`, extended dialect only
    SetString(SetString),
    /// `\sleep`
    Sleep(Sleep),
    /// `\if`: continues after it if the condition is true, otherwise at `next`.
    If(Condition),
    /// `\elif`: as `\if` after a false condition; at the end of an executed branch, continues at `end`.
    Elif(Condition),
    /// `\else`: continues after it after a false condition; at the end of an executed branch, continues at `end`.
    Else(Else),
    /// `\endif`
    EndIf,
    /// `\repeat`, extended dialect only: evaluates the number and executes the commands up to `end` that often.
    Repeat(Repeat),
    /// `\endrepeat`: continues after `start` while repetitions remain.
    EndRepeat(EndRepeat),
    /// `\setshell`
    SetShell(SetShell),
    /// `\shell`
    Shell(Shell),
    /// `\startpipeline`
    StartPipeline,
    /// `\syncpipeline`
    SyncPipeline,
    /// `\endpipeline`
    EndPipeline,
    /// `\batch`, extended dialect only
    Batch(Batch),
}

/// `\set name expression`
#[derive(Debug)]
pub struct Set {
    /// The variable that is assigned.
    pub slot: Slot,
    /// The assigned expression.
    pub expression: Expression,
}

impl Set {
    /// Evaluates and assigns.
    #[inline]
    pub fn execute(&self, scope: &mut Scope<'_>) -> Result<(), EvaluationError> {
        let datum = self.expression.datum(scope)?;
        scope.variables.set_datum(self.slot, datum);
        Ok(())
    }
}
