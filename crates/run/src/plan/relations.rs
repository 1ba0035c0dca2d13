//! The statements of a run in forms that a server can parse before the variables have values, to find their tables.
//! Called by the runner before the load.

use std::collections::BTreeMap;

use connect::Session;
use observe::StatementText;
use results::{Relations, StatementPlace};
use script::{CommandKind, Sql, Value, Variables};

use crate::spec::scripts::Scripts;

/// The tables and indexes that the statements of scripts use; `is_here` selects the scripts that run on this server.
/// `None` if they could not be determined.
pub(crate) fn relations(
    session: &mut Session,
    scripts: &Scripts,
    defined: &BTreeMap<String, String>,
    is_here: impl Fn(usize) -> bool,
) -> Option<Relations> {
    let values = values(scripts, defined);
    let mut statements: Vec<StatementText> = Vec::new();
    for (script, program) in scripts.programs.iter().enumerate().filter(|(script, _)| is_here(*script)) {
        for command in program.commands() {
            let CommandKind::Sql(sql) = &command.kind else { continue };
            let forms = forms(sql, &values);
            let is_known = |known: &StatementText| known.forms == forms;
            if !is_control(sql) && !statements.iter().any(is_known) {
                let script = u32::try_from(script).unwrap_or(u32::MAX);
                statements
                    .push(StatementText { place: StatementPlace { script, line: command.line }, forms });
            }
        }
        if statements.len() > STATEMENTS_MAX {
            break;
        }
    }
    observe::relations(session, &statements)
}

/// More are not compared with each other.
const STATEMENTS_MAX: usize = 1_000;

/// Values of `-D` where they are known; others are 1, which is valid in most places.
fn values(scripts: &Scripts, defined: &BTreeMap<String, String>) -> Variables {
    let mut variables = Variables::new(&scripts.symbols);
    let commands = scripts.programs.iter().flat_map(script::Program::commands);
    for command in commands {
        if let CommandKind::Sql(sql) = &command.kind {
            sql.parameters().iter().for_each(|slot| variables.set(*slot, Value::Int(1)));
        }
    }
    for (name, value) in defined {
        if let Some(slot) = scripts.symbols.lookup(name) {
            variables.set_text(slot, value);
        }
    }
    variables
}

fn forms(sql: &Sql, values: &Variables) -> Vec<String> {
    let mut with_values = Vec::new();
    sql.write_simple(values, &mut with_values);
    let mut forms = vec![sql.numbered_text().to_vec(), with_values];
    forms.dedup();
    forms.iter().map(|form| encoding::shown(&encoding::decode(form)).into_owned()).collect()
}

/// Words that begin commands without tables.
const CONTROL: [&str; 9] =
    ["begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "set"];

fn is_control(sql: &Sql) -> bool {
    let statements = sql::statement_words(sql.text_as_written());
    statements.first().is_some_and(|words| CONTROL.iter().any(|control| words[0].is(control)))
}
