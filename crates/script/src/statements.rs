//! Splits an SQL file into statements like psql, and substitutes variables as pgbench does in simple queries. For SQL
//! files outside of transactions: loading, checks, timed steps.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::{CommandKind, Dialect, ParseError, Symbols, Variables, parse};

/// A statement, or several joined by `\;`, which are sent together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// First line in the file, from 1.
    pub line: u32,
    /// The SQL with the values of variables.
    pub sql: String,
}

/// Why a text is not a list of statements.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StatementsError {
    /// The text is invalid.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The text contains a meta command.
    #[error(
        "{file}:{line}: load steps, checks and timed steps must be plain SQL, without meta commands: \
             {command}"
    )]
    MetaCommand {
        /// The name passed to [`statements`].
        file: String,
        /// From 1.
        line: u32,
        /// Its text.
        command: String,
    },
}

/// The statements of `text`; `file` is the name in messages.
///
/// `:name` is replaced by the value of the variable, also in strings, comments and dollar quotes; without such a
/// variable it stays as written. `::`, `:=` and a colon before a digit are plain text. `\;` joins statements, which are
/// then sent together.
///
/// # Errors
/// If the text has no statement, or has a meta command.
pub fn statements(
    file: &str,
    text: &str,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<Statement>, StatementsError> {
    let mut symbols = Symbols::new();
    let program = parse(file, text.as_bytes(), &mut symbols, Dialect::Pgbench)?;
    let mut values = Variables::new(&symbols);
    for (name, value) in variables {
        if let Some(slot) = symbols.lookup(name) {
            values.set_text(slot, value);
        }
    }
    let statements = program.commands().iter().map(|command| match &command.kind {
        CommandKind::Sql(sql) if sql.capture().is_none() => {
            let mut bytes = Vec::new();
            sql.write_simple(&values, &mut bytes);
            Ok(Statement { line: command.line, sql: String::from_utf8_lossy(&bytes).into_owned() })
        }
        _ => Err(StatementsError::MetaCommand {
            file: file.to_owned(),
            line: command.line,
            command: command.display.to_string(),
        }),
    });
    statements.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Result<Vec<String>, String> {
        let variables = [("rows", "10"), ("name", "x'y"), ("t", "public.t")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let statements = statements("s.sql", text, &variables).map_err(|error| error.to_string())?;
        Ok(statements.into_iter().map(|statement| statement.sql).collect())
    }

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(
            cut(text).as_deref(),
            Ok(expected.iter().map(ToString::to_string).collect::<Vec<_>>().as_slice())
        );
    }

    #[test]
    fn variables_are_put_in_wherever_they_stand() {
        check("UPDATE :t SET a = :rows", &["UPDATE public.t SET a = 10"]);
        check("SELECT ':rows', \":rows\", $$:rows$$ -- :rows", &["SELECT '10', \"10\", $$10$$ -- 10"]);
        check("SELECT ':name'", &["SELECT 'x'y'"]);
    }

    #[test]
    fn casts_assignments_slices_and_unknown_names_stay_as_written() {
        for text in ["SELECT 1::rows", "x := 1", "SELECT a[1:2]", "SELECT :unknown", "SELECT '12:30'"] {
            check(text, &[text]);
        }
        check("SELECT :rows::int", &["SELECT 10::int"]);
    }

    #[test]
    fn statements_end_at_a_semicolon_of_their_own() {
        check("SELECT ';' ; VACUUM t;\n-- the end\n", &["SELECT ';' ;", "VACUUM t;"]);
        check("DO $$BEGIN; END$$; SELECT 1", &["DO $$BEGIN; END$$;", "SELECT 1"]);
        check("SELECT 1\\; SELECT 2;", &["SELECT 1; SELECT 2;"]);
    }

    #[test]
    fn a_statement_knows_its_line() {
        let found = statements("s.sql", "-- head\n\nSELECT 1;\nSELECT\n2;", &BTreeMap::new()).expect("SQL");
        assert_eq!(found.iter().map(|statement| statement.line).collect::<Vec<_>>(), [3, 4]);
    }

    #[test]
    fn meta_commands_are_refused() {
        let refusal = cut("SELECT 1;\n\\set a 1\n").unwrap_err();
        assert_eq!(
            refusal,
            "s.sql:2: load steps, checks and timed steps must be plain SQL, without meta \
                             commands: \\set a 1"
        );
        assert!(cut("SELECT 1 AS a \\gset\n").unwrap_err().starts_with(
            "s.sql:1: load steps, checks and timed \
                                                                        steps must be plain SQL"
        ));
        assert!(cut("-- nothing\n").is_err());
    }
}
