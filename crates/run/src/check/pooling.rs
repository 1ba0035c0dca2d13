//! Runs through a connection pooler that pgmeter started: features of scripts that a pooler does not support, which are
//! found before the run, and the remedies of errors that only poolers cause. The clients connect to the pooler;
//! preparation, observation, actions and checks use the server itself, so they need none of its connections.

use std::collections::BTreeSet;

use results::{SafeText, SessionFeature, Warning};
use script::{CommandKind, Program};
use sql::{StatementWord, statement_words};
use stats::PoolMode;

use crate::error::RunError;
use crate::spec::scripts::Scripts;

/// Settings that PgBouncer keeps for each client and sets anew (manual, `track_extra_parameters`).
const TRACKED: [&str; 7] = [
    "application_name",
    "client_encoding",
    "datestyle",
    "names",
    "standard_conforming_strings",
    "time",
    "timezone",
];
/// Functions that take or release a lock of the session.
const SESSION_LOCKS: [&str; 4] =
    ["pg_advisory_lock", "pg_advisory_lock_shared", "pg_try_advisory_lock", "pg_try_advisory_lock_shared"];

/// The warnings about scripts that run through a pooler: each thing of a session that a script uses, at its first place.
///
/// # Errors
/// In statement pooling, a script begins a transaction, which the pooler refuses.
pub fn check_pooling(mode: PoolMode, scripts: &Scripts) -> Result<Vec<Warning>, RunError> {
    if mode == PoolMode::Session {
        return Ok(Vec::new());
    }
    let mut warnings = Vec::new();
    let used = scripts.iter().filter(|(text, program)| text.weight > 0 && program.target().is_none());
    for (text, program) in used {
        let mut known = BTreeSet::new();
        for (line, statement) in statements(program) {
            if mode == PoolMode::Statement && matches!(first(&statement), "begin" | "start") {
                return Err(RunError::Usage(format!(
                    "script {}, line {line}: statement pooling refuses transactions of several statements, and this one \
                     begins with {}; use mode = \"transaction\" or \"session\", or a script without it",
                    text.name,
                    first(&statement).to_ascii_uppercase()
                )));
            }
            let Some(feature) = feature(&statement) else { continue };
            if known.insert(feature) {
                let script = SafeText::from(text.name.as_str());
                warnings.push(Warning::PoolerBreaks { mode, feature, script, line });
            }
        }
    }
    Ok(warnings)
}

/// The words of each statement of a program, with the line of its command.
fn statements(program: &Program) -> Vec<(u32, Vec<String>)> {
    let mut statements = Vec::new();
    for command in program.commands() {
        if let CommandKind::Sql(sql) = &command.kind {
            let parts = words(sql.text_as_written());
            statements.extend(parts.into_iter().map(|part| (command.line, part)));
        }
    }
    statements
}

fn first(statement: &[String]) -> &str {
    statement.first().map_or("", String::as_str)
}

/// What a statement uses of a session; the statement is in lower case.
fn feature(statement: &[String]) -> Option<SessionFeature> {
    let word = |at: usize| statement.get(at).map_or("", String::as_str);
    let has = |wanted: &str| statement.iter().any(|word| word == wanted);
    let has_both = |one: &str, next: &str| statement.windows(2).any(|pair| pair[0] == one && pair[1] == next);
    let is_temporary = |word: &str| matches!(word, "temp" | "temporary");
    match word(0) {
        "set" => {
            let name = if word(1) == "session" { word(2) } else { word(1) };
            let is_kept =
                matches!(word(1), "local" | "transaction" | "constraints") || TRACKED.contains(&name);
            return (!is_kept).then_some(SessionFeature::Setting);
        }
        "reset" => return (!TRACKED.contains(&word(1))).then_some(SessionFeature::Setting),
        "discard" => return Some(SessionFeature::Discard),
        "prepare" if word(1) != "transaction" => return Some(SessionFeature::PreparedStatement),
        "execute" | "deallocate" => return Some(SessionFeature::PreparedStatement),
        "listen" => return Some(SessionFeature::Notification),
        "load" => return Some(SessionFeature::Library),
        "declare" if has_both("with", "hold") => return Some(SessionFeature::HeldCursor),
        "create" => {
            let kind = if matches!(word(1), "global" | "local") { word(2) } else { word(1) };
            let ends = statement.windows(3).any(|words| words == ["on", "commit", "drop"]);
            return (is_temporary(kind) && !ends).then_some(SessionFeature::TemporaryTable);
        }
        _ => {}
    }
    if statement.windows(2).any(|pair| pair[0] == "into" && is_temporary(&pair[1])) {
        return Some(SessionFeature::TemporaryTable);
    }
    if SESSION_LOCKS.into_iter().any(has) {
        return Some(SessionFeature::AdvisoryLock);
    }
    // Its third argument says whether the setting ends with the transaction.
    (has("set_config") && !has("true")).then_some(SessionFeature::Setting)
}

/// The words of each statement in lower case, outside of strings, quoted names and comments.
fn words(sql: &[u8]) -> Vec<Vec<String>> {
    let word = |word: StatementWord<'_>| encoding::decode(word.text).to_ascii_lowercase();
    statement_words(sql).into_iter().map(|words| words.into_iter().map(word).collect()).collect()
}

/// Words of errors of poolers, and what to do. All words of a row are in the error.
const REMEDIES: [(&[&str], &str); 7] = [
    (
        &["prepared statement \"", "does not exist"],
        "if the connection goes through a pooler, it gave the client another connection to the server: -M prepared needs \
         session pooling, or PgBouncer 1.21 or newer with max_prepared_statements; -M simple and -M extended need neither",
    ),
    (
        &["prepared statement \"", "already exists"],
        "if the connection goes through a pooler, another client prepared it in the same connection to the server: -M \
         prepared needs session pooling, or PgBouncer 1.21 or newer with max_prepared_statements",
    ),
    (
        &["query_wait_timeout"],
        "no connection of the pool became free in the pooler's query_wait_timeout: raise the pool size, or use fewer clients; \
         in session pooling each client keeps a connection",
    ),
    (
        &["max_client_conn"],
        "the pooler admits fewer clients: raise its max_client_conn, or use fewer clients",
    ),
    (
        &["unsupported startup parameter"],
        "a pooler does not pass this parameter on: remove it from the connection string, or add it to the pooler's \
         ignore_startup_parameters, which drops it",
    ),
    (
        &["not allowed in statement pooling mode"],
        "statement pooling refuses transactions of several statements: use transaction or session pooling, or scripts of \
         single statements",
    ),
    (&["server_login_retry"], "the pooler could not log in to the server: the pooler's log has the reason"),
];

/// The remedy of an error that only a pooler causes.
pub(crate) fn remedy(error: &str) -> Option<&'static str> {
    let is_it = |words: &[&str]| words.iter().all(|word| error.contains(word));
    REMEDIES.iter().find(|(words, _)| is_it(words)).map(|&(_, remedy)| remedy)
}

/// The error with its remedy, if only a pooler causes it.
pub fn with_pooler_remedy(error: String) -> String {
    match remedy(&error) {
        Some(remedy) => format!("{error}; {remedy}"),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sql: &str) -> Option<SessionFeature> {
        words(sql.as_bytes()).iter().find_map(|statement| feature(statement))
    }

    #[test]
    fn statements_that_need_the_same_session_later_are_found() {
        for (sql, expected) in [
            ("SET work_mem = '1MB'", SessionFeature::Setting),
            ("SET SESSION work_mem TO 1", SessionFeature::Setting),
            ("set role bob", SessionFeature::Setting),
            ("SELECT set_config('work_mem', '1MB', false)", SessionFeature::Setting),
            ("PREPARE p AS SELECT 1", SessionFeature::PreparedStatement),
            ("EXECUTE p", SessionFeature::PreparedStatement),
            ("LISTEN news", SessionFeature::Notification),
            ("DECLARE c CURSOR WITH HOLD FOR SELECT 1", SessionFeature::HeldCursor),
            ("CREATE TEMP TABLE t (id int)", SessionFeature::TemporaryTable),
            (
                "CREATE LOCAL TEMPORARY TABLE t ON COMMIT DELETE ROWS AS SELECT 1",
                SessionFeature::TemporaryTable,
            ),
            ("SELECT 1 INTO TEMP t", SessionFeature::TemporaryTable),
            ("SELECT pg_advisory_lock(1)", SessionFeature::AdvisoryLock),
            ("SELECT pg_try_advisory_lock_shared(1)", SessionFeature::AdvisoryLock),
            ("LOAD 'auto_explain'", SessionFeature::Library),
            ("DEALLOCATE ALL", SessionFeature::PreparedStatement),
            ("DISCARD ALL", SessionFeature::Discard),
            ("DISCARD PLANS", SessionFeature::Discard),
            ("RESET ALL", SessionFeature::Setting),
            ("RESET work_mem", SessionFeature::Setting),
        ] {
            assert_eq!(found(sql), Some(expected), "{sql}");
        }
    }

    #[test]
    fn statements_that_end_with_their_transaction_are_not_and_neither_are_strings_and_comments() {
        for sql in [
            "SET LOCAL work_mem = '1MB'",
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "SET application_name = 'x'",
            "SET TIME ZONE 'UTC'",
            "RESET application_name",
            "SELECT set_config('work_mem', '1MB', true)",
            "PREPARE TRANSACTION 'x'",
            "DECLARE c CURSOR FOR SELECT 1",
            "CREATE TEMP TABLE t (id int) ON COMMIT DROP",
            "CREATE TABLE temp (id int)",
            "SELECT pg_advisory_xact_lock(1)",
            "UPDATE t SET listen = 'pg_advisory_lock(1)' -- pg_advisory_lock(1)",
            "SELECT /* pg_advisory_lock */ $$pg_advisory_lock(1)$$, $a$ pg_advisory_lock $a$, \"pg_advisory_lock\"",
            "SELECT E'\\'; SET work_mem = 1; '",
            "SELECT 1 /* /* */ ; SET work_mem = 1; */",
            "SELECT $1",
            "",
        ] {
            assert_eq!(found(sql), None, "{sql}");
        }
    }

    #[test]
    fn the_remedy_of_a_poolers_error_is_told_and_other_errors_are_left_alone() {
        let error = "ERROR:  prepared statement \"P_0\" does not exist".to_owned();
        assert!(with_pooler_remedy(error).contains("needs session pooling"));
        assert!(with_pooler_remedy("FATAL:  query_wait_timeout".to_owned()).contains("raise the pool size"));
        let other = "ERROR:  relation \"x\" does not exist".to_owned();
        assert_eq!(with_pooler_remedy(other.clone()), other);
    }
}
