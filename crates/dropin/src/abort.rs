//! Messages about aborted clients, in pgbench's words.
//! The engine reports the causes; the program prints the messages.

use connect::{ProtocolError, ServerError};
use engine::{AbortCause, AbortedClient, CommandPosition};
use script::CaptureKind;

use crate::system_words::without_number;

/// Why a client was aborted, in pgbench's words: one message, or two if a called function prints its own.
pub fn abort_messages(aborted: &AbortedClient) -> Vec<String> {
    let AbortedClient { client, place, cause } = aborted;
    if let AbortCause::Connecting { address, reason } = cause {
        return vec![
            format!("connection to {} failed: {}", address.as_libpq(), without_number(reason)),
            format!("client {client} aborted while establishing connection"),
        ];
    }
    if cause.is_unknown_status() {
        let what = format!("client {client} aborted while receiving the transaction status");
        // PQTRANS_UNKNOWN, libpq's number of an unknown status.
        return vec!["unexpected transaction status 4".to_owned(), what];
    }
    match place {
        None => vec![without_place(*client, cause)],
        Some(CommandPosition { rolling_back: true, .. }) => vec![rollback_failed(*client, cause)],
        Some(place) => at_a_command(*client, place, cause),
    }
}

/// The same for an error in a command.
// Long because: a list of causes with pgbench's words.
fn at_a_command(client: usize, place: &CommandPosition, cause: &AbortCause) -> Vec<String> {
    let CommandPosition { script, command, name: typed, query, .. } = place;
    // pgbench uses its own names of meta commands, except in errors of evaluation.
    let name = if &**typed == "SQL" { "SQL".to_owned() } else { typed.to_ascii_lowercase() };
    let of_command = |name: &str, reason: &str| {
        format!("client {client} aborted in command {command} ({name}) of script {script}; {reason}")
    };
    let of_meta = |reason: &str| of_command(&name, reason);
    let of_result = |words: &str| {
        vec![format!("client {client} script {script} aborted in command {command} query {query}: {words}")]
    };
    let of_sql = |error: &ServerError, statement: Option<&[u8]>| of_result(&error.report(statement));
    let of_query =
        |what: &str| format!("client {client} script {script} command {command} query {query}: {what}");
    match cause {
        AbortCause::Sql { error, statement } => of_sql(error, statement.as_deref()),
        AbortCause::Rollback(_) => vec![rollback_failed(client, cause)],
        AbortCause::ConnectionLost { last_word: Some(error), .. } => of_sql(error, None),
        AbortCause::Protocol(ProtocolError::Length { tag, length }) => of_result(&lost_sync(*tag, *length)),
        AbortCause::Protocol(ProtocolError::UnknownMessage { tag, length }) => {
            of_result(&unknown_message(*tag, *length))
        }
        AbortCause::ConnectionLost { .. } | AbortCause::Protocol(_) | AbortCause::Unasked => {
            // The same for any expected answer, including those of a pipeline.
            vec![format!(
                "client {client} aborted in command {command} (SQL) of script {script}; {BACKEND_DIED}"
            )]
        }
        AbortCause::StatementTooLong(_) => vec![of_meta("SQL command send failed")],
        AbortCause::Copy
        | AbortCause::CopyWithoutRows
        | AbortCause::CopyInPipeline
        | AbortCause::CopyColumns { .. }
        | AbortCause::CopyIsBinary => vec!["COPY is not supported in pgbench, aborting".to_owned()],
        AbortCause::Evaluation(error) => {
            let last = match name.as_str() {
                "set" if error.is_of_assignment() => of_meta("assignment of meta-command failed"),
                "set" | "if" | "elif" => of_command(typed, "evaluation of meta-command failed"),
                _ => of_meta("execution of meta-command failed"),
            };
            vec![error.to_string(), last]
        }
        AbortCause::Shell { command, .. } => {
            vec![
                format!("{command}: could not launch shell command"),
                of_meta("execution of meta-command failed"),
            ]
        }
        AbortCause::RowCount { rows } => vec![of_query(&format!("expected one row, got {rows}"))],
        AbortCause::VariableName { kind, name } => vec![
            format!("{}: invalid variable name: \"{name}\"", capture(*kind)),
            of_query(&format!("error storing into variable {name}")),
        ],
        AbortCause::PipelineInSimpleProtocol => {
            vec![of_meta("cannot use pipeline mode with the simple query protocol")]
        }
        AbortCause::PipelineInPipeline => vec![of_meta("already in pipeline mode")],
        AbortCause::NoPipeline => vec![of_meta("not in pipeline mode")],
        AbortCause::CaptureInPipeline(kind) => {
            let name = capture(*kind);
            vec![of_command(name, &format!("\\{name} is not allowed in pipeline mode"))]
        }
        AbortCause::Connecting { .. }
        | AbortCause::System(_)
        | AbortCause::Journal(_)
        | AbortCause::WorkerLost { .. }
        | AbortCause::OnOtherRank(_)
        | AbortCause::PipelineTooLong => {
            vec![of_meta(&cause.to_string())]
        }
        AbortCause::UnfinishedPipeline | AbortCause::UnfinishedTransaction => {
            vec![without_place(client, cause)]
        }
    }
}

/// libpq accepts a longer length only for certain messages (pqParseInput3).
const LIBPQ_SHORT_MAX: i32 = 30_000;

/// libpq's message for an invalid length, which it treats as a signed number.
fn lost_sync(tag: u8, length: u32) -> String {
    let tag = encoding::decode(&[tag]).into_owned();
    format!("lost synchronization with server: got message type \"{tag}\", length {}", length.cast_signed())
}

/// libpq's message for an unknown message type.
fn unknown_message(tag: u8, length: u32) -> String {
    if !(4..=LIBPQ_SHORT_MAX).contains(&length.cast_signed()) {
        return lost_sync(tag, length);
    }
    let tag = encoding::decode(&[tag]).into_owned();
    format!("unexpected response from server; first received character was \"{tag}\"")
}

const BACKEND_DIED: &str = "perhaps the backend died while processing";

/// The transaction of a failed command could not be rolled back; with the server's error, if any.
fn rollback_failed(client: usize, cause: &AbortCause) -> String {
    let reason = match cause {
        AbortCause::Rollback(error) => error.report(Some(b"ROLLBACK")),
        AbortCause::ConnectionLost { last_word: Some(error), .. } => error.report(None),
        _ => BACKEND_DIED.to_owned(),
    };
    format!("client {client} aborted while rolling back the transaction after an error; {reason}")
}

fn without_place(client: usize, cause: &AbortCause) -> String {
    match cause {
        AbortCause::UnfinishedPipeline => {
            format!("client {client} aborted: end of script reached with pipeline open")
        }
        AbortCause::UnfinishedTransaction => {
            format!("client {client} aborted: end of script reached without completing the last transaction")
        }
        other => format!("client {client} aborted: {other}"),
    }
}

fn capture(kind: CaptureKind) -> &'static str {
    match kind {
        CaptureKind::Gset => "gset",
        CaptureKind::Aset => "aset",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, cause: AbortCause, expected: &[&str]) {
        let (script_name, name) = ("a.sql".into(), name.into());
        let place =
            Some(CommandPosition { script: 1, script_name, command: 2, name, query: 0, rolling_back: false });
        assert_eq!(abort_messages(&AbortedClient { client: 3, place, cause }), expected);
    }

    #[test]
    fn a_connection_that_is_lost_at_a_rollback_is_told_as_that() {
        let script_name = "a.sql".into();
        let place = Some(CommandPosition {
            script: 1,
            script_name,
            command: 2,
            name: "SQL".into(),
            query: 0,
            rolling_back: true,
        });
        let cause = AbortCause::ConnectionLost { last_word: None, error: None };
        let said = abort_messages(&AbortedClient { client: 3, place, cause });
        assert_eq!(
            said,
            ["client 3 aborted while rolling back the transaction after an error; \
              perhaps the backend died while processing"]
        );
    }

    #[test]
    fn aborted_clients_are_told_in_the_words_of_pgbench() {
        check(
            "set",
            AbortCause::Evaluation(script::EvaluationError::new("division by zero")),
            &[
                "division by zero",
                "client 3 aborted in command 2 (set) of script 1; evaluation of meta-command failed",
            ],
        );
        check(
            "SQL",
            AbortCause::RowCount { rows: 0 },
            &["client 3 script 1 command 2 query 0: expected one row, got 0"],
        );
        check(
            "SQL",
            AbortCause::ConnectionLost { last_word: None, error: None },
            &["client 3 aborted in command 2 (SQL) of script 1; perhaps the backend died while processing"],
        );
        check(
            "endpipeline",
            AbortCause::ConnectionLost { last_word: None, error: None },
            &["client 3 aborted in command 2 (SQL) of script 1; perhaps the backend died while processing"],
        );
        let address = connect::Address::Unix("/run/.s.PGSQL.1".into());
        let reason = std::io::Error::from_raw_os_error(111).to_string().into();
        check(
            "SQL",
            AbortCause::Connecting { address, reason },
            &[
                "connection to server on socket \"/run/.s.PGSQL.1\" failed: Connection refused",
                "client 3 aborted while establishing connection",
            ],
        );
        let aborted = AbortedClient { client: 3, place: None, cause: AbortCause::UnfinishedPipeline };
        let expected = ["client 3 aborted: end of script reached with pipeline open"];
        assert_eq!(abort_messages(&aborted), expected);
    }
}
