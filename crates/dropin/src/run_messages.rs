//! Messages of a run in pgbench's words: before it starts, and its error.
//! The program prints them.

use std::fmt::Display;

use connect::{Session, Target};
use engine::{EngineError, Limit};
use run::{RunError, VacuumEvent};
use workload::{WorkloadError, tpcb};

use crate::help::version;
use crate::message::{Level, Message, Stop};
use crate::options::Options;
use crate::session::{self, SETUP};
use crate::system_words::without_number;

/// The first line on stdout.
pub fn banner(session: &Session) -> String {
    let server = session.parameter("server_version").unwrap_or_default();
    format!("pgbench ({}, server {server})\n", version())
}

/// The line with the parameters of the run; only with `--debug`.
pub fn parameters_message(options: &Options, session: &Session, target: &Target) -> Option<Message> {
    let host = run::host(session.address());
    let port = target.host_of(session.address()).port;
    let (clients, database) = (options.spec.clients, &target.database);
    let limit = match options.spec.limit {
        Limit::Duration(time) => format!("duration: {}", time.as_secs()),
        Limit::TransactionsPerClient(each) => format!("nxacts: {each}"),
    };
    options.debug.then(|| {
        let text =
            format_args!("pghost: {host} pgport: {port} nclients: {clients} {limit} dbName: {database}");
        Message::new(Level::Info, text)
    })
}

/// The message about a scale that is ignored.
pub fn scale_ignored(table: &str, scale: impl Display) -> Message {
    let text = format_args!("scale option ignored, using count from {table} table ({scale})");
    Message::new(Level::Warning, text)
}

/// The messages about a step of the vacuum before a run.
pub fn vacuum_messages(event: VacuumEvent<'_>) -> Vec<Message> {
    match event {
        VacuumEvent::SmallTables => vec![Message::new(Level::Bare, "starting vacuum...")],
        VacuumEvent::LargeTables => {
            vec![Message::new(Level::Bare, format_args!("starting vacuum {}...", tpcb::ACCOUNTS_NAME))]
        }
        // pgbench does not say it.
        VacuumEvent::Truncated(_) => Vec::new(),
        VacuumEvent::Done => vec![Message::line("end.")],
        VacuumEvent::Failed(failure) => {
            let words = match failure {
                WorkloadError::Query { sql, source } => session::words(source, Some(sql)),
                other => other.to_string(),
            };
            let continues = Message::new(Level::Detail, "(ignoring this error and continuing anyway)");
            vec![Message::new(Level::Error, words), continues]
        }
    }
}

/// The error of a failed or incomplete run.
#[must_use]
pub fn run_failed(error: RunError, database: &str) -> Stop {
    let tables_missing = |sentence: String| {
        Stop::error(sentence).and(
            Level::Hint,
            format_args!(
                "Perhaps you need to do initialization (\"pgbench -i\") in database \"{database}\"."
            ),
        )
    };
    match error {
        RunError::Connect(error) => session::could_not_connect(&error, SETUP),
        RunError::Engine(EngineError::Connect { client, address, reason }) => {
            let reason = reason.to_string();
            let reason = without_number(&reason);
            Stop::error(format_args!("connection to {} failed: {reason}", address.as_libpq()))
                .and(Level::Error, format_args!("could not create connection for client {client}"))
        }
        RunError::Workload(WorkloadError::TablesMissing { source: Some(error), .. }) => {
            let words = session::words(&error, Some(tpcb::COUNT_BRANCHES));
            tables_missing(format!("could not count number of branches: {words}"))
        }
        RunError::Workload(WorkloadError::TablesMissing { source: None, table, .. }) => {
            tables_missing(format!("no {table} table found in \"search_path\""))
        }
        RunError::Workload(WorkloadError::UnknownPartitionMethod { strategy, .. }) => {
            Stop::error(format_args!("unexpected partition method: \"{strategy}\""))
        }
        other => Stop::error(other),
    }
}
