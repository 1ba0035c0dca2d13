//! Variables of SQL commands that no command of any script can assign: pgbench sends such a `:name` as it is, and the
//! server reports a syntax error. Only certain cases are found. Called before a run, except by the drop-in.

use std::collections::BTreeSet;

use crate::command::CommandKind;
use crate::copy::CopySource;
use crate::error::ParseError;
use crate::program::Program;
use crate::scan::bare_variables;
use crate::symbols::{Slot, Symbols};

/// The variables that are defined somewhere.
#[derive(Debug)]
pub struct DefinedVariables<'a> {
    symbols: &'a Symbols,
    slots: BTreeSet<Slot>,
    /// Prefixes of `\gset` and `\aset`, whose columns are known only to the server.
    prefixes: Vec<&'a [u8]>,
}

/// An undefined variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndefinedVariable {
    /// Its name, without the colon.
    pub name: String,
    /// The message, with the place and a caret.
    pub error: ParseError,
}

impl<'a> DefinedVariables<'a> {
    /// Those that commands of these programs assign, and those that the caller names.
    pub fn new<'n>(
        programs: &'a [Program],
        symbols: &'a Symbols,
        others: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        let mut slots: BTreeSet<Slot> = others.into_iter().filter_map(|name| symbols.lookup(name)).collect();
        let mut prefixes = Vec::new();
        for command in programs.iter().flat_map(Program::commands) {
            match &command.kind {
                CommandKind::Set(set) => drop(slots.insert(set.slot)),
                CommandKind::SetArray(set) => drop(slots.insert(set.slot)),
                CommandKind::SetString(set) => drop(slots.insert(set.slot)),
                CommandKind::SetShell(set) => drop(slots.insert(set.slot)),
                CommandKind::Sql(sql) => {
                    prefixes.extend(sql.capture().map(|capture| &*capture.prefix));
                    if let Some(CopySource::Rows(rows)) = sql.copy_source() {
                        slots.insert(rows.row_slot());
                    }
                }
                CommandKind::Sleep(_)
                | CommandKind::If(_)
                | CommandKind::Elif(_)
                | CommandKind::Else(_)
                | CommandKind::EndIf
                | CommandKind::Repeat(_)
                | CommandKind::EndRepeat(_)
                | CommandKind::Shell(_)
                | CommandKind::StartPipeline
                | CommandKind::SyncPipeline
                | CommandKind::EndPipeline
                | CommandKind::Batch(_) => {}
            }
        }
        Self { symbols, slots, prefixes }
    }

    /// The names.
    pub fn names(&self) -> Vec<String> {
        self.slots.iter().map(|slot| self.symbols.name(*slot).into_owned()).collect()
    }

    /// The first variable of a program that is certainly undefined: its name stands outside of strings, quoted names,
    /// comments and brackets, where a colon and a name mean nothing else in SQL. `JSON_OBJECT(key : value)` is the
    /// exception, so commands with it are not examined.
    pub fn first_undefined(&self, program: &Program) -> Option<UndefinedVariable> {
        program.commands().iter().find_map(|command| {
            let CommandKind::Sql(sql) = &command.kind else { return None };
            let text = sql.text_as_written();
            let bare = bare_variables(text)?;
            let mut variables = sql.places().iter().zip(sql.parameters());
            let (place, slot) =
                variables.find(|(place, slot)| !self.is_defined(**slot) && bare.contains(&place.start))?;
            let name = self.symbols.name(*slot).into_owned();
            let kind = format!("undefined variable \":{name}\"");
            let error = ParseError::in_statement(program.name(), command.line, text, Some(place.start), kind);
            Some(UndefinedVariable { name, error })
        })
    }

    fn is_defined(&self, slot: Slot) -> bool {
        let name = self.symbols.name(slot);
        let may_be_captured = |prefix: &&[u8]| encoding::encode(&name).starts_with(prefix);
        self.slots.contains(&slot) || self.prefixes.iter().any(may_be_captured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;
    use crate::program::parse;

    fn first_undefined(text: &str) -> Option<UndefinedVariable> {
        let mut symbols = Symbols::new();
        let program = parse("s.sql", text.as_bytes(), &mut symbols, Dialect::Extended).expect("a script");
        let programs = [program];
        let defined = DefinedVariables::new(&programs, &symbols, ["scale"]);
        defined.first_undefined(&programs[0])
    }

    #[test]
    fn an_undefined_variable_is_named_with_its_line_and_a_caret() {
        let found = first_undefined("\\set id 1\nSELECT 1;\nSELECT a\n\tFROM t WHERE id = :id AND n = :nme;");
        let found = found.expect("it is undefined");
        assert_eq!(found.name, "nme");
        assert_eq!(
            found.error.to_string(),
            "s.sql:4: undefined variable \":nme\"\n\tFROM t WHERE id = :id AND n = :nme;\n\
             \t                              ^ error found here"
        );
    }

    #[test]
    fn what_a_command_may_assign_is_defined() {
        for text in [
            "\\set a 1\nSELECT :a;",
            "SELECT :a;\n\\set a 1",
            "\\set a array(3, 1)\nSELECT :a;",
            "\\setshell a echo 1\nSELECT :a;",
            "SELECT 1 AS a \\gset\nSELECT :a;",
            "SELECT 1 AS a \\gset p_\nSELECT :p_a;",
            "SELECT 1 AS a \\aset p_\nSELECT :p_a;",
            "SELECT :scale;",
        ] {
            assert_eq!(first_undefined(text), None, "{text}");
        }
        assert!(first_undefined("SELECT 1 AS a \\gset p_\nSELECT :a;").is_some());
    }

    #[test]
    fn what_only_looks_like_a_variable_is_none() {
        for text in [
            "SELECT 1::int, x::text, a[1:2], a[lo:hi], a[b[1]:hi];",
            "SELECT '{\"a\":true}', \"a:b\", E'\\':x', $$ :x $$, $t$ :x $t$;",
            "SELECT 1 -- :x\n/* :x /* :y */ :z */;",
            "SELECT JSON_OBJECT('a' :b) FROM t;",
            "SELECT json_objectagg(k:v) FROM t;",
            "SELECT f(a := 1);",
        ] {
            assert_eq!(first_undefined(text), None, "{text}");
        }
        for text in ["SELECT a[1], :x;", "SELECT 'it''s', :x;", "SELECT (:x);", "SELECT :x::int"] {
            assert_eq!(first_undefined(text).map(|found| found.name), Some("x".to_owned()), "{text}");
        }
    }
}
