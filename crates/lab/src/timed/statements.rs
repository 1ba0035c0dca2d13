//! The SQL of a step as statements that can be sent: cut as psql cuts it, variables put in as pgbench puts them into
//! simple queries. Nothing is executed here.

use std::collections::BTreeMap;

use run::RunError;
use script::{CommandKind, Dialect, Symbols, Variables};

/// The statements of `text`; `name` is what messages call it.
///
/// `:name` becomes the value of the variable as it stands there, in strings, comments and dollar quotes too; where there
/// is no such variable it stays as written. `::`, `:=` and a colon in front of a digit are plain text. `\;` joins
/// statements, which are then sent together.
pub(super) fn statements(
    name: &str,
    text: &str,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<String>, RunError> {
    let mut symbols = Symbols::new();
    let program =
        script::parse(name, text.as_bytes(), &mut symbols, Dialect::Pgbench).map_err(RunError::Script)?;
    let mut values = Variables::new(&symbols);
    for (name, value) in variables {
        if let Some(slot) = symbols.lookup(name) {
            values.set_text(slot, value);
        }
    }
    let commands = program.commands().iter().map(|command| match &command.kind {
        CommandKind::Sql(sql) if sql.capture().is_none() => {
            let mut bytes = Vec::new();
            sql.write_simple(&values, &mut bytes);
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        _ => {
            let (line, display) = (command.line, &command.display);
            Err(RunError::Usage(format!(
                "{name}:{line}: a step is SQL alone, without meta commands: {display}"
            )))
        }
    });
    commands.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Result<Vec<String>, String> {
        let variables = [("rows", "10"), ("name", "x'y"), ("t", "public.t")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        statements("step s", text, &variables).map_err(|failure| failure.to_string())
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
    fn meta_commands_are_no_steps() {
        let refusal = cut("SELECT 1;\n\\set a 1\n").unwrap_err();
        assert_eq!(refusal, "step s:2: a step is SQL alone, without meta commands: \\set a 1");
        assert!(cut("SELECT 1 AS a \\gset\n").unwrap_err().starts_with("step s:1: a step is SQL alone"));
        assert!(cut("-- nothing\n").is_err());
    }
}
