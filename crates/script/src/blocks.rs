//! Blocks: `\if`, `\elif`, `\else`, `\endif`, and `\repeat`, `\endrepeat`. Checks their nesting and computes the jumps.
//! Both are done once after parsing, so that the engine only follows indexes. Called by `program`.

use crate::command::{Command, CommandKind};
use crate::error::ParseErrorKind;

/// A block without its end so far.
enum Open {
    If(OpenIf),
    /// Index of its `\repeat`.
    Repeat(usize),
}

/// An `\if` without `\endif` so far.
struct OpenIf {
    first: usize,
    /// Its last `\elif`, or itself.
    last: usize,
    /// Index of its `\else`.
    otherwise: Option<usize>,
}

/// An invalid nesting: the index of the command, and the reason.
type Fault = (usize, ParseErrorKind);

/// Sets the jumps of all blocks. The time is linear and the depth is not limited.
pub(crate) fn join(commands: &mut [Command]) -> Result<(), Fault> {
    let mut open: Vec<Open> = Vec::new();
    // Number of open blocks of kind `\if`.
    let mut ifs = 0_usize;
    for index in 0..commands.len() {
        match &commands[index].kind {
            CommandKind::If(_) => {
                ifs += 1;
                open.push(Open::If(OpenIf { first: index, last: index, otherwise: None }));
            }
            CommandKind::Elif(_) | CommandKind::Else(_) => branch(commands, index, &mut open, ifs)?,
            CommandKind::EndIf => {
                branch(commands, index, &mut open, ifs)?;
                ifs -= 1;
            }
            CommandKind::Repeat(_) => open.push(Open::Repeat(index)),
            CommandKind::EndRepeat(_) => end_repeat(commands, index, &mut open, ifs)?,
            _ => {}
        }
    }
    match open.last() {
        None => Ok(()),
        Some(Open::If(_)) => Err(condition(commands.len(), "\\if without matching \\endif")),
        Some(Open::Repeat(start)) => Err((
            *start,
            "\\repeat has no \\endrepeat; write a line \"\\endrepeat\" below the commands to repeat".into(),
        )),
    }
}

/// pgbench's form of an error.
fn condition(index: usize, reason: &'static str) -> Fault {
    let command = u32::try_from(index).map_or(u32::MAX, |index| index.saturating_add(1));
    (index, ParseErrorKind::Condition { command, reason })
}

/// `\elif`, `\else` or `\endif`, which must belong to the innermost block; `ifs` blocks of kind `\if` are open.
fn branch(commands: &mut [Command], index: usize, open: &mut Vec<Open>, ifs: usize) -> Result<(), Fault> {
    match (&commands[index].kind, open.last_mut()) {
        (_, Some(Open::Repeat(start))) if ifs > 0 => {
            return Err((index, overlap(&commands[index], &commands[*start], "\\endrepeat")));
        }
        (CommandKind::Elif(_), Some(Open::If(OpenIf { otherwise: None, last, .. }))) => {
            lead(commands, *last, index);
            *last = index;
        }
        (CommandKind::Elif(_), Some(Open::If(_))) => return Err(condition(index, "\\elif after \\else")),
        (CommandKind::Elif(_), _) => return Err(condition(index, "\\elif without matching \\if")),
        (CommandKind::Else(_), Some(Open::If(OpenIf { otherwise: otherwise @ None, last, .. }))) => {
            lead(commands, *last, index);
            *otherwise = Some(index);
        }
        (CommandKind::Else(_), Some(Open::If(_))) => return Err(condition(index, "\\else after \\else")),
        (CommandKind::Else(_), _) => return Err(condition(index, "\\else without matching \\if")),
        (_, Some(Open::If(_))) => {
            if let Some(Open::If(closed)) = open.pop() {
                close(commands, &closed, index);
            }
        }
        _ => return Err(condition(index, "\\endif without matching \\if")),
    }
    Ok(())
}

/// `\endrepeat`, which must belong to the innermost block; `ifs` blocks of kind `\if` are open.
fn end_repeat(commands: &mut [Command], index: usize, open: &mut Vec<Open>, ifs: usize) -> Result<(), Fault> {
    let start = match open.pop() {
        Some(Open::Repeat(start)) => start,
        Some(Open::If(block)) if open.len() >= ifs => {
            return Err((index, overlap(&commands[index], &commands[block.first], "\\endif")));
        }
        _ => {
            let reason =
                "\\endrepeat without \\repeat; write a line \"\\repeat N\" above the commands to repeat";
            return Err((index, reason.into()));
        }
    };
    if let CommandKind::Repeat(repeat) = &mut commands[start].kind {
        repeat.end = index;
    }
    if let CommandKind::EndRepeat(end) = &mut commands[index].kind {
        end.start = start;
    }
    Ok(())
}

/// A command that ends a block around another one, which is still open.
fn overlap(command: &Command, inner: &Command, missing: &str) -> ParseErrorKind {
    let (name, opening, line) = (&command.name, &inner.name, inner.line);
    format!("\\{name} inside the \\{opening} of line {line}; write {missing} before it").into()
}

/// Sets the jump of the condition at `from` for false.
fn lead(commands: &mut [Command], from: usize, next: usize) {
    if let CommandKind::If(condition) | CommandKind::Elif(condition) = &mut commands[from].kind {
        condition.next = next;
    }
}

/// Sets the end of all branches of an `\if`.
fn close(commands: &mut [Command], closed: &OpenIf, end: usize) {
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
