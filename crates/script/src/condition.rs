//! `\if`, `\elif`, `\else`, `\endif`: checks their nesting and computes the jumps. Both are done once after parsing, so
//! that the engine only follows indexes. Called by `program`.

use crate::error::{EvaluationError, ParseErrorKind};
use crate::expression::{Expression, Scope};
use crate::program::{Command, CommandKind};

/// The condition of `\if` or `\elif`, with its jumps.
#[derive(Debug)]
pub struct Condition {
    /// Index of the next `\elif`, `\else` or `\endif` of the same `\if`.
    pub next: usize,
    /// Index of its `\endif`.
    pub end: usize,
    expression: Expression,
}

impl Condition {
    /// A condition without jumps; see [`join`].
    pub(crate) fn new(expression: Expression) -> Self {
        Self { next: usize::MAX, end: usize::MAX, expression }
    }

    /// Whether its branch is executed: a true boolean, or a number other than zero; NULL is false.
    pub fn holds(&self, scope: &mut Scope<'_>) -> Result<bool, EvaluationError> {
        self.expression.datum(scope).map(|datum| datum.is_true())
    }
}

/// `\else`, reached at the end of an executed branch.
#[derive(Debug)]
pub struct Else {
    /// Index of its `\endif`.
    pub end: usize,
}

/// An `\if` without `\endif` so far.
struct Open {
    first: usize,
    /// Its last `\elif`, or itself.
    last: usize,
    /// Index of its `\else`.
    otherwise: Option<usize>,
}

/// Sets the jumps of all conditions. The time is linear and the depth is not limited.
pub(crate) fn join(commands: &mut [Command]) -> Result<(), ParseErrorKind> {
    let mut open: Vec<Open> = Vec::new();
    let error = |index: usize, reason| {
        let command = u32::try_from(index).map_or(u32::MAX, |index| index.saturating_add(1));
        ParseErrorKind::Condition { command, reason }
    };
    for index in 0..commands.len() {
        match (&commands[index].kind, open.last_mut()) {
            (CommandKind::If(_), _) => open.push(Open { first: index, last: index, otherwise: None }),
            (CommandKind::Elif(_), Some(Open { otherwise: None, last, .. })) => {
                lead(commands, *last, index);
                *last = index;
            }
            (CommandKind::Elif(_), Some(_)) => return Err(error(index, "\\elif after \\else")),
            (CommandKind::Elif(_), None) => return Err(error(index, "\\elif without matching \\if")),
            (CommandKind::Else(_), Some(Open { otherwise: otherwise @ None, last, .. })) => {
                lead(commands, *last, index);
                *otherwise = Some(index);
            }
            (CommandKind::Else(_), Some(_)) => return Err(error(index, "\\else after \\else")),
            (CommandKind::Else(_), None) => return Err(error(index, "\\else without matching \\if")),
            (CommandKind::EndIf, None) => return Err(error(index, "\\endif without matching \\if")),
            (CommandKind::EndIf, Some(_)) => {
                if let Some(closed) = open.pop() {
                    close(commands, &closed, index);
                }
            }
            _ => {}
        }
    }
    if open.is_empty() { Ok(()) } else { Err(error(commands.len(), "\\if without matching \\endif")) }
}

/// Sets the jump of the condition at `from` for false.
fn lead(commands: &mut [Command], from: usize, next: usize) {
    if let CommandKind::If(condition) | CommandKind::Elif(condition) = &mut commands[from].kind {
        condition.next = next;
    }
}

/// Sets the end of all branches of an `\if`.
fn close(commands: &mut [Command], closed: &Open, end: usize) {
    if closed.otherwise.is_none() {
        lead(commands, closed.last, end);
    }
    let mut index = closed.first;
    while index != end {
        index = match &mut commands[index].kind {
            CommandKind::If(condition) | CommandKind::Elif(condition) => {
                condition.end = end;
                condition.next
            }
            CommandKind::Else(otherwise) => {
                otherwise.end = end;
                end
            }
            _ => end,
        };
    }
}
