//! Messages of `pgbench -i`: its progress on stderr, and its errors.
//! `workload` does the work.

use std::fmt::Write;
use std::time::Duration;

use workload::{InitProgress, InitReport, WorkloadError};

use crate::message::{Level, Message, Stop};
use crate::session;

/// Rows between two progress lines.
const ROWS_PER_LINE: u64 = 100_000;
/// Rows between two readings of the clock with `-q`.
const ROWS_PER_LOOK: u64 = 100;
/// Time between two progress lines with `-q`.
const QUIET_TIME: Duration = Duration::from_secs(5);

/// The error of the initialization in pgbench's words.
#[must_use]
pub fn initialization_failed(error: WorkloadError) -> Stop {
    match error {
        // libpq prints the server's message about a COPY itself.
        WorkloadError::Query { sql, source } if sql.starts_with("copy ") && source.sqlstate().is_some() => {
            let words = session::words(&source, None);
            let mut stop = Stop::error("PQendcopy failed");
            stop.messages.insert(0, Message::line(words));
            stop
        }
        WorkloadError::Interrupted { cancelled: Some(statement) } => initialization_failed(*statement),
        // The COPY was already cancelled when the rows stopped.
        WorkloadError::Interrupted { cancelled: None } | WorkloadError::InterruptedTables { .. } => {
            Stop::error("PQendcopy failed")
        }
        WorkloadError::Query { sql, source } => {
            Stop::error(format_args!("query failed: {}", session::words(&source, Some(&sql))))
                .and(Level::Detail, format_args!("Query was: {sql}"))
        }
        other => Stop::error(other),
    }
}

/// The last line: total time, and time of each step.
pub fn initialization_done(report: &InitReport) -> Message {
    Message::line(format_args!("done in {:.2} s ({}).", report.total().as_secs_f64(), report.steps_text()))
}

/// The progress lines of an initialization.
#[derive(Debug)]
pub struct LoadProgress {
    quiet: bool,
    /// On a terminal the line is overwritten.
    is_terminal: bool,
    table: String,
    /// With `-q`: time of the next line, counted from the table's first row.
    due: Duration,
    /// Length of the current line on the terminal.
    width: usize,
}

impl LoadProgress {
    /// Lines for a terminal overwrite each other.
    pub fn new(quiet: bool, is_terminal: bool) -> Self {
        Self { quiet, is_terminal, table: String::new(), due: QUIET_TIME, width: 0 }
    }

    /// The messages about a step of the loading.
    pub fn messages(&mut self, progress: InitProgress<'_>) -> Vec<Message> {
        match progress {
            InitProgress::Started { doing } => vec![Message::line(format_args!("{doing}..."))],
            InitProgress::Partitions(partitions) => {
                vec![Message::line(format_args!("creating {partitions} partitions..."))]
            }
            InitProgress::Notice(notice) => vec![Message::line(notice.report_notice(None))],
            InitProgress::Rows { table, done, total, elapsed, .. } => self.rows(table, done, total, elapsed),
            InitProgress::Finished(_) => self.erasing().into_iter().collect(),
            InitProgress::Lost { doing, reason } => {
                let warning = Message::new(Level::Warning, workload::reconnecting(doing, reason));
                self.erasing().into_iter().chain([warning]).collect()
            }
            // pgbench does not say it.
            InitProgress::Dropping(_)
            | InitProgress::Forecast(_)
            | InitProgress::Found(_)
            | InitProgress::Waiting => Vec::new(),
        }
    }

    fn rows(&mut self, table: &str, done: u64, total: u64, elapsed: Duration) -> Vec<Message> {
        let mut messages = Vec::new();
        if self.table != table {
            messages.extend(self.erasing());
            (self.table, self.due) = (table.to_owned(), QUIET_TIME);
        }
        let is_due = match self.quiet {
            false => done.is_multiple_of(ROWS_PER_LINE),
            true => done.is_multiple_of(ROWS_PER_LOOK) && (done == total || elapsed >= self.due),
        };
        if !is_due {
            return messages;
        }
        while self.due < elapsed {
            self.due += QUIET_TIME;
        }
        let line = line(table, done, total, elapsed);
        let padding = self.width.saturating_sub(line.len());
        self.width = line.len();
        let end = if self.is_terminal { '\r' } else { '\n' };
        messages.push(Message::new(Level::Bare, format_args!("{line}{:padding$}{end}", "")));
        messages
    }

    /// Erases the current line of the terminal.
    fn erasing(&mut self) -> Option<Message> {
        let width = std::mem::take(&mut self.width);
        self.table.clear();
        let blank = || Message::new(Level::Bare, format_args!("{}\r", " ".repeat(width)));
        (self.is_terminal && width > 0).then(blank)
    }
}

fn line(table: &str, done: u64, total: u64, elapsed: Duration) -> String {
    let elapsed_s = elapsed.as_secs_f64();
    let remaining_s = (total - done.min(total)) as f64 * elapsed_s / done as f64;
    let percent = done.saturating_mul(100) / total.max(1);
    let mut line = String::new();
    // Writing to a String cannot fail.
    let _ = write!(
        line,
        "{done} of {total} tuples ({percent}%) of {table} done (elapsed {elapsed_s:.2} s, remaining {remaining_s:.2} s)"
    );
    line
}

#[cfg(test)]
mod tests {
    use connect::ConnectError;

    use super::*;

    #[test]
    fn a_statement_that_ctrl_c_has_cancelled_is_shown_whenever_the_request_is_seen() {
        let words = |cancelled: Option<&str>| {
            let query = |sql: &str| WorkloadError::Query {
                sql: sql.to_owned(),
                source: ConnectError::Lost("cancelled".to_owned()),
            };
            let cancelled = cancelled.map(|sql| Box::new(query(sql)));
            let stop = initialization_failed(WorkloadError::Interrupted { cancelled });
            stop.messages.into_iter().map(|message| message.text).collect::<String>()
        };
        assert!(words(Some("insert into t")).contains("Query was: insert into t"));
        assert!(words(None).contains("PQendcopy failed"));
    }

    #[test]
    fn a_line_tells_how_far_it_is_and_how_long_it_will_take() {
        assert_eq!(
            line("pgbench_accounts", 100_000, 400_000, Duration::from_secs(1)),
            "100000 of 400000 tuples (25%) of pgbench_accounts done (elapsed 1.00 s, remaining 3.00 s)"
        );
    }
}
