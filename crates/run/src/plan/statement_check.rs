//! Checks before a run that the server can parse the statements of its scripts, and that the role may execute them.
//! Executes none of them. Only an error that the run would certainly meet is reported. Called by the runner and by `lab`.

use std::collections::{BTreeMap, BTreeSet};

use connect::quote::literal;
use connect::{ConnectError, ServerError, Session, SqlState};
use script::{CommandKind, ParseError, Program, SentAs, Slot, Sql, Value, Variables};

use sql::TokenKind;

use crate::error::{RunError, StatementError};
use crate::spec::scripts::Scripts;
use crate::spec::secrets::without_secret_values;

/// Statements that are checked; a script may have a hundred thousand.
const STATEMENTS_MAX: usize = 200;
/// Starts a transaction that changes nothing and does not wait for locks.
const BEGIN: &str = "begin read only; select pg_catalog.set_config('lock_timeout', '100ms', true), \
                     pg_catalog.set_config('statement_timeout', '1s', true), \
                     pg_catalog.set_config('client_min_messages', 'error', true)";
/// First words of statements that EXPLAIN plans, which also checks privileges.
const PLANNED: [&str; 8] = ["select", "insert", "update", "delete", "merge", "values", "with", "table"];
/// First words of other statements after which the same names mean the same objects.
const KEEPS_NAMES: [&str; 23] = [
    "begin",
    "start",
    "commit",
    "end",
    "rollback",
    "abort",
    "savepoint",
    "release",
    "lock",
    "vacuum",
    "analyze",
    "checkpoint",
    "explain",
    "copy",
    "fetch",
    "move",
    "close",
    "declare",
    "listen",
    "notify",
    "unlisten",
    "truncate",
    "show",
];
/// Words that make SET, or a query, change the meaning of names.
const CHANGES_NAMES: [&str; 6] = ["search_path", "role", "authorization", "schema", "set_config", "create"];

/// A kind of error that the same statement meets again.
fn is_certain(error: &ServerError) -> bool {
    match error.sqlstate {
        // Without a position, several statements were sent at once.
        SqlState::SYNTAX_ERROR => error.position.is_some(),
        SqlState::UNDEFINED_TABLE
        | SqlState::UNDEFINED_COLUMN
        | SqlState::UNDEFINED_FUNCTION
        | SqlState::UNDEFINED_OBJECT
        | SqlState::INVALID_SCHEMA_NAME
        | SqlState::INSUFFICIENT_PRIVILEGE => true,
        _ => false,
    }
}

/// A statement of a script.
struct Statement<'a> {
    program: &'a Program,
    line: u32,
    sql: &'a Sql,
    first_word: String,
}

impl Statement<'_> {
    fn is_planned(&self) -> bool {
        // Behind a semicolon, another statement would be executed.
        let text = self.sql.text_as_written().trim_ascii_end();
        let text = text.strip_suffix(b";").unwrap_or(text);
        PLANNED.contains(&self.first_word.as_str()) && !text.contains(&b';')
    }
}

/// The statements of some scripts and the values of their variables in forms for the server.
struct Check<'a> {
    statements: Vec<Statement<'a>>,
    /// All scripts' words.
    words: BTreeSet<String>,
    /// A statement may create objects, or change the meaning of names.
    changes_names: bool,
    /// Variables that have numbers in each transaction.
    numbers: BTreeSet<Slot>,
    /// All variables NULL; then those without a known value 1; then 2.
    values: [Variables; 3],
}

/// Refuses scripts with a statement that certainly fails; `is_here` selects those that run on this server, `role` is that
/// of the session.
///
/// # Errors
/// The first such statement. Other errors of the server do not count.
pub(crate) fn check(
    session: &mut Session,
    scripts: &Scripts,
    defined: &BTreeMap<String, String>,
    role: &str,
    is_here: impl Fn(usize) -> bool,
) -> Result<(), RunError> {
    let check = Check::new(scripts, defined, is_here);
    let Some((statement, error)) = check.first_error(session) else { return Ok(()) };
    let sent = SentAs::Numbered;
    let at = error.position.and_then(|position| statement.sql.offset_of(position, sent));
    let (program, text) = (statement.program, statement.sql.text_as_written());
    let found = ParseError::in_statement(program.name(), statement.line, text, at, error.message.clone());
    let remedy = remedy(&error, role).map_or(String::new(), |remedy| format!("\n{remedy}"));
    let message = without_secret_values(&format!("{found}{remedy}"), defined);
    Err(RunError::Statement(StatementError { sqlstate: error.sqlstate, message }))
}

/// The next step; the place in a syntax error says enough.
fn remedy(error: &ServerError, role: &str) -> Option<String> {
    Some(match (&error.hint, error.sqlstate) {
        (Some(hint), _) => hint.clone(),
        (None, SqlState::SYNTAX_ERROR) => return None,
        (None, SqlState::INSUFFICIENT_PRIVILEGE) => {
            format!("GRANT the privilege to the role {role}, or connect as another role")
        }
        (None, SqlState::UNDEFINED_TABLE | SqlState::INVALID_SCHEMA_NAME) => {
            "create it, or connect to the database that has it".to_owned()
        }
        (None, _) => "correct the script, or create what it names".to_owned(),
    })
}

impl<'a> Check<'a> {
    fn new(
        scripts: &'a Scripts,
        defined: &BTreeMap<String, String>,
        is_here: impl Fn(usize) -> bool,
    ) -> Self {
        let mut check = Self {
            statements: Vec::new(),
            words: BTreeSet::new(),
            changes_names: false,
            numbers: BTreeSet::new(),
            values: [Value::Null, Value::Int(1), Value::Int(2)]
                .map(|value| values(scripts, if value == Value::Null { None } else { Some(defined) }, value)),
        };
        for (script, program) in scripts.programs.iter().enumerate() {
            check.add(program, is_here(script));
        }
        let commands = || scripts.programs.iter().flat_map(Program::commands);
        let texts = commands().filter_map(|command| match &command.kind {
            CommandKind::SetArray(set) => Some(set.slot),
            CommandKind::SetString(set) => Some(set.slot),
            CommandKind::SetShell(set) => Some(set.slot),
            _ => None,
        });
        let is_captured =
            commands().any(|it| matches!(&it.kind, CommandKind::Sql(sql) if sql.capture().is_some()));
        let named = defined.keys().filter_map(|name| scripts.symbols.lookup(name));
        for slot in texts.chain(named) {
            check.numbers.remove(&slot);
        }
        if is_captured {
            check.numbers.clear();
        }
        check
    }

    fn add(&mut self, program: &'a Program, is_here: bool) {
        let mut depth = 0_u32;
        let mut depths_before_repeat = Vec::new();
        for command in program.commands() {
            match &command.kind {
                CommandKind::If(_) => depth += 1,
                CommandKind::EndIf => depth = depth.saturating_sub(1),
                CommandKind::Repeat(repeat) => {
                    depths_before_repeat.push(depth);
                    depth += u32::from(!repeat.is_certain());
                }
                CommandKind::EndRepeat(_) => depth = depths_before_repeat.pop().unwrap_or(depth),
                CommandKind::Shell(_) | CommandKind::SetShell(_) => self.changes_names = true,
                CommandKind::Set(set) => {
                    self.numbers.insert(set.slot);
                }
                CommandKind::Sql(sql) => {
                    let text = encoding::decode(sql.text_as_written());
                    let mut statements = sql::statements(text.as_bytes());
                    self.changes_names |= statements.any(|range| changes_names(&text[range]));
                    self.words.extend(words(&text));
                    let first_word = words(&text).next().unwrap_or_default();
                    // A branch may never be executed on this server.
                    let is_new =
                        !self.statements.iter().any(|it| it.sql.text_as_written() == sql.text_as_written());
                    if is_here && depth == 0 && is_new && self.statements.len() < STATEMENTS_MAX {
                        self.statements.push(Statement { program, line: command.line, sql, first_word });
                    }
                }
                CommandKind::SetArray(_)
                | CommandKind::SetString(_)
                | CommandKind::Sleep(_)
                | CommandKind::Elif(_)
                | CommandKind::Else(_)
                | CommandKind::StartPipeline
                | CommandKind::SyncPipeline
                | CommandKind::EndPipeline
                | CommandKind::Batch(_) => {}
            }
        }
    }

    fn first_error(&self, session: &mut Session) -> Option<(&Statement<'a>, ServerError)> {
        let (planned, others): (Vec<_>, Vec<_>) = self.statements.iter().partition(|it| it.is_planned());
        // Nearly always all are valid, and one round trip is enough.
        let explained: Vec<String> = planned.iter().map(|statement| self.explained(statement)).collect();
        let all_planned =
            planned.is_empty() || in_transaction(session, |it| it.execute(&explained.join(" "))).is_ok();
        let planned = if all_planned { Vec::new() } else { planned };
        for statement in planned.into_iter().chain(others) {
            let error = self.error_of(session, statement);
            let is_from_a_function = |session: &mut Session, error: &ServerError| {
                error.sqlstate != SqlState::SYNTAX_ERROR && self.calls_functions(session)
            };
            if let Some(error) = error.filter(|error| !is_from_a_function(session, error)) {
                return Some((statement, error));
            }
            if session.is_lost() {
                return None;
            }
        }
        None
    }

    /// EXPLAIN of a statement with NULL for all variables, which fit anywhere.
    fn explained(&self, statement: &Statement<'_>) -> String {
        let text = self.with_values(statement.sql, 0);
        format!("explain {};", sql::without_semicolon(&text))
    }

    fn with_values(&self, sql: &Sql, which: usize) -> String {
        let mut text = Vec::new();
        sql.write_simple(&self.values[which], &mut text);
        shown(&text)
    }

    /// The error that this statement certainly meets in the run.
    fn error_of(&self, session: &mut Session, statement: &Statement<'_>) -> Option<ServerError> {
        let is_planned = PLANNED.contains(&statement.first_word.as_str());
        if self.changes_names && is_planned {
            return None;
        }
        if statement.is_planned() {
            let explained = self.explained(statement);
            match in_transaction(session, |it| it.execute(&explained)) {
                Ok(_) => return None,
                Err(error) if error.sqlstate() == Some(SqlState::INSUFFICIENT_PRIVILEGE) => {
                    return error.server_error().map(|error| ServerError { position: None, ..error.clone() });
                }
                Err(_) => {}
            }
        }
        let sql = statement.sql;
        let analyzed = |session: &mut Session, text: &str| {
            let error = in_transaction(session, |it| it.analyze(text)).err()?;
            error.server_error().cloned()
        };
        let error = analyzed(session, &shown(sql.numbered_text())).filter(is_certain)?;
        if sql.parameters().is_empty() {
            return Some(error);
        }
        // An error that depends on the value of a variable is none for other values.
        let [one, two] = [1, 2].map(|which| analyzed(session, &self.with_values(sql, which)));
        let (one, two) = (one?, two?);
        let is_same =
            |other: &ServerError| other.sqlstate == error.sqlstate && other.message == error.message;
        let has_numbers = || sql.parameters().iter().all(|slot| self.numbers.contains(slot));
        let is_sure = error.sqlstate != SqlState::SYNTAX_ERROR || has_numbers();
        (is_sure && is_same(&one) && is_same(&two)).then_some(error)
    }

    /// Whether a statement may call a function of the user's, which may create what other statements use.
    fn calls_functions(&self, session: &mut Session) -> bool {
        let names: Vec<String> = self.words.iter().map(|word| literal(word)).collect();
        let rows = session.query_catalogs(&format!(
            "SELECT count(*) FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace WHERE p.provolatile = 'v' \
             AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND p.proname = ANY (ARRAY[{}]::name[])",
            names.join(",")
        ));
        rows.ok().is_none_or(|rows| rows.first().and_then(|row| row.get(0)) != Some("0"))
    }
}

fn in_transaction<T>(
    session: &mut Session,
    work: impl FnOnce(&mut Session) -> Result<T, ConnectError>,
) -> Result<T, ConnectError> {
    let result = session.execute(BEGIN).and_then(|_| work(session));
    session.execute("rollback")?;
    result
}

/// The variables of all scripts: those in `defined` as there, others with this value.
fn values(scripts: &Scripts, defined: Option<&BTreeMap<String, String>>, value: Value) -> Variables {
    let mut variables = Variables::new(&scripts.symbols);
    for command in scripts.programs.iter().flat_map(Program::commands) {
        if let CommandKind::Sql(sql) = &command.kind {
            sql.parameters().iter().for_each(|slot| variables.set(*slot, value));
        }
    }
    for (name, value) in defined.into_iter().flatten() {
        if let Some(slot) = scripts.symbols.lookup(name) {
            variables.set_text(slot, value);
        }
    }
    variables
}

fn shown(text: &[u8]) -> String {
    encoding::shown(&encoding::decode(text)).into_owned()
}

/// Key words and names, as PostgreSQL stores them.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = sql::code(text).filter(|(kind, _)| matches!(kind, TokenKind::Word | TokenKind::QuotedName));
    words.map(|(_, word)| sql::unquoted(word))
}

/// Whether a statement may create objects, or change the meaning of names.
fn changes_names(statement: &str) -> bool {
    let all: Vec<String> = words(statement).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let Some(first) = all.first() else { return false };
    let has_word = || all.iter().any(|word| CHANGES_NAMES.contains(word));
    // SELECT … INTO creates a table.
    let selects_into =
        || all.windows(2).any(|pair| pair[1] == "into" && !["insert", "merge"].contains(&pair[0]));
    match *first {
        "set" => has_word(),
        "select" | "with" => selects_into() || all.contains(&"set_config"),
        "explain" => has_word(),
        first => !PLANNED.contains(&first) && !KEEPS_NAMES.contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_may_create_what_others_use_are_known() {
        for (statement, expected) in [
            ("select a from t where b = :c", false),
            ("insert into t values (1) on conflict do nothing", false),
            ("with x as (insert into t values (1) returning a) select * from x", false),
            ("select 1 as a into temp t", true),
            ("create temp table t (a int)", true),
            ("set local synchronous_commit = off", false),
            ("set local search_path = other", true),
            ("select set_config('search_path', 'other', true)", true),
            ("set role other", true),
            ("call prepare_tables()", true),
            ("do $$ begin end $$", true),
            ("begin", false),
            ("", false),
        ] {
            assert_eq!(changes_names(statement), expected, "{statement}");
        }
    }
}
