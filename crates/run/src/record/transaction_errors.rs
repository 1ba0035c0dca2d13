//! The engine's table of errors as the record has it: messages without secrets, and places as lines and columns of the
//! scripts. Called by the runner after the run.

use engine::{ErrorCounts, ErrorKind, ErrorTable, Plan};
use results::{SafeText, TransactionError, TransactionErrors};
use script::CommandKind;

use crate::spec::secrets::without_secret_values;

/// Characters of a message that are kept.
const MESSAGE_LENGTH_MAX: usize = 1_000;
/// Characters of a line of a script that are kept.
const LINE_LENGTH_MAX: usize = 160;
/// Of these, characters before the position of the error in a longer line.
const BEFORE_ERROR_MAX: usize = 60;

/// The errors of a run.
pub(crate) fn of(plan: &Plan, table: &ErrorTable) -> TransactionErrors {
    let variables = || plan.variables.iter().map(|(name, value)| (name, value));
    let message = |text: &str| {
        let text: String = text.chars().take(MESSAGE_LENGTH_MAX).collect();
        SafeText::from(without_secret_values(&text, variables()))
    };
    let kind = |kind: &ErrorKind| {
        let ErrorKind { script, command, error, offset, counts: of_kind } = kind;
        let place = Place::of(plan, *script, *command, *offset);
        TransactionError {
            sqlstate: error.sqlstate.to_string(),
            message: message(&error.message),
            detail: error.detail.as_deref().map(message),
            hint: error.hint.as_deref().map(message),
            script: u32::try_from(*script).unwrap_or(u32::MAX),
            line: place.line,
            text: place.text,
            column: place.column,
            counts: counts(*of_kind),
        }
    };
    TransactionErrors { kinds: table.kinds().iter().map(kind).collect(), others: counts(table.others()) }
}

fn counts(ErrorCounts { failed, retried, aborted }: ErrorCounts) -> results::ErrorCounts {
    results::ErrorCounts { failed, retried, aborted }
}

/// A place in a script.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    line: u32,
    text: SafeText,
    /// A character of the text, from 1.
    column: Option<u32>,
}

impl Place {
    /// The byte `offset` of a command, or its first line.
    fn of(plan: &Plan, script: usize, command: usize, offset: Option<usize>) -> Place {
        let command = &plan.scripts[script].program.commands()[command];
        match &command.kind {
            CommandKind::Sql(sql) => Place::in_statement(command.line, sql.text_as_written(), offset),
            _ => Place { line: command.line, text: SafeText::sql(&command.display), column: None },
        }
    }

    fn in_statement(first_line: u32, statement: &[u8], offset: Option<usize>) -> Place {
        let at = offset.unwrap_or(0).min(statement.len());
        let is_end = |byte: &u8| *byte == b'\n';
        let start = statement[..at].iter().rposition(is_end).map_or(0, |end| end + 1);
        let end = statement[at..].iter().position(is_end).map_or(statement.len(), |end| at + end);
        let lines = statement[..start].iter().filter(|byte| is_end(byte)).count();
        let shown = |bytes: &[u8]| encoding::decode(bytes).replace(['\t', '\r'], " ");
        let (before, line) = (shown(&statement[start..at]), shown(&statement[start..end]));
        let column = before.chars().count();
        let skipped = if line.chars().count() <= LINE_LENGTH_MAX {
            line.chars().take_while(|character| *character == ' ').count().min(column)
        } else {
            column.saturating_sub(BEFORE_ERROR_MAX)
        };
        let text: String = line.chars().skip(skipped).take(LINE_LENGTH_MAX).collect();
        let text = text.trim_end();
        let masked = SafeText::sql(text);
        // A mask moves what stands behind it.
        let has_position = offset.is_some() && masked.as_str() == text;
        let column = has_position.then(|| u32::try_from(column - skipped + 1).ok()).flatten();
        Place {
            line: first_line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX)),
            text: masked,
            column,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(statement: &str, at: &str, line: u32, marked: &str) {
        let offset = statement.find(at).unwrap();
        let place = Place::in_statement(10, statement.as_bytes(), Some(offset));
        let caret = place.column.map(|column| " ".repeat(column as usize - 1) + "^").unwrap_or_default();
        assert_eq!((place.line, format!("{}\n{caret}", place.text.as_str())), (line, marked.to_owned()));
    }

    #[test]
    fn a_position_is_shown_in_its_line() {
        check("SELECT nme FROM t;", "nme", 10, "SELECT nme FROM t;\n       ^");
        check("SELECT 1,\n\t  nme,\r\n  2;", "nme", 11, "nme,\n^");
        check("SELECT 'é', nme", "nme", 10, "SELECT 'é', nme\n            ^");
        let long = format!("SELECT {} nme", "1, ".repeat(500));
        let place = Place::in_statement(1, long.as_bytes(), long.find("nme"));
        assert_eq!((place.text.as_str().chars().count(), place.column), (63, Some(61)));
    }

    #[test]
    fn without_a_position_the_first_line_is_shown() {
        let place = Place::in_statement(3, b"INSERT INTO t\nVALUES (1);", None);
        assert_eq!((place.line, place.text.as_str(), place.column), (3, "INSERT INTO t", None));
    }

    #[test]
    fn a_line_with_a_masked_secret_has_no_column() {
        let statement = "ALTER ROLE r PASSWORD 'very secret' nme";
        let place = Place::in_statement(1, statement.as_bytes(), statement.find("nme"));
        assert!(!place.text.as_str().contains("secret'"), "{place:?}");
        assert_eq!(place.column, None);
    }
}
