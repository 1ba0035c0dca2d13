//! `pgbench -i`: its steps, and its progress on stderr in pgbench's words.
//! `workload` does the work.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dropin::{Level, Message, Options, Stop};
use workload::{InitProgress, InitReport, Tpcb, Workload, WorkloadError};

use super::diagnostics::Diagnostics;
use super::sessions;
use crate::signals::Signals;

/// Rows between two progress lines.
const ROWS_PER_LINE: u64 = 100_000;
/// Rows between two readings of the clock with `-q`.
const ROWS_PER_LOOK: u64 = 100;
/// Time between two progress lines with `-q`.
const QUIET_TIME: Duration = Duration::from_secs(5);

pub(super) fn run(options: Options, diagnostics: &Diagnostics) -> Result<(), Stop> {
    let mut target = sessions::target(&options)?;
    let signals = Signals::catch_to_cancel().map_err(Stop::error)?;
    let mut session = sessions::open(&mut target, diagnostics, &signals)?;
    let mut lines = Lines::new(diagnostics, &options);
    let result = signals.guard(&mut session, |session| {
        Tpcb.load(&target, session, &options.init, &mut |progress| {
            lines.show(progress);
            match signals.stop().load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })
    });
    let report = result.map_err(failed)?;
    diagnostics.write(&done(&report));
    Ok(())
}

/// The error in pgbench's words.
fn failed(error: WorkloadError) -> Stop {
    match error {
        // libpq prints the server's message about a COPY itself.
        WorkloadError::Query { sql, source } if sql.starts_with("copy ") && source.sqlstate().is_some() => {
            let words = format!("{}\n", sessions::words(&source, None));
            let mut stop = Stop::error("PQendcopy failed");
            stop.messages.insert(0, Message { level: Level::Bare, text: words });
            stop
        }
        // The COPY was already cancelled when the rows stopped.
        WorkloadError::Interrupted => Stop::error("PQendcopy failed"),
        WorkloadError::Query { sql, source } => {
            Stop::error(format_args!("query failed: {}", sessions::words(&source, Some(&sql))))
                .and(Level::Detail, format_args!("Query was: {sql}"))
        }
        other => Stop::error(other),
    }
}

/// The last line: total time, and time of each step.
fn done(report: &InitReport) -> String {
    let steps: Vec<String> =
        report.steps.iter().map(|time| format!("{} {:.2} s", time.name, time.took.as_secs_f64())).collect();
    format!("done in {:.2} s ({}).\n", report.total().as_secs_f64(), steps.join(", "))
}

/// Progress lines.
struct Lines<'a> {
    diagnostics: &'a Diagnostics,
    quiet: bool,
    /// On a terminal the line is overwritten.
    is_terminal: bool,
    table: &'static str,
    /// With `-q`: time of the next line, counted from the table's first row.
    due: Duration,
    /// Length of the current line on the terminal.
    width: usize,
}

impl<'a> Lines<'a> {
    fn new(diagnostics: &'a Diagnostics, options: &Options) -> Self {
        Self {
            diagnostics,
            quiet: options.quiet,
            is_terminal: io::stderr().is_terminal(),
            table: "",
            due: QUIET_TIME,
            width: 0,
        }
    }

    fn show(&mut self, progress: InitProgress<'_>) {
        match progress {
            InitProgress::Started { doing } => self.diagnostics.write(&format!("{doing}...\n")),
            InitProgress::Partitions(partitions) => {
                self.diagnostics.write(&format!("creating {partitions} partitions...\n"));
            }
            InitProgress::Notice(notice) => {
                self.diagnostics.write(&format!("{}\n", notice.report_notice(None)));
            }
            InitProgress::Rows { table, done, total, elapsed } => self.rows(table, done, total, elapsed),
            InitProgress::Finished(_) => self.erase(),
            InitProgress::Lost { doing, reason } => {
                self.erase();
                self.diagnostics.say(Level::Warning, crate::init::lost(doing, reason));
            }
            InitProgress::Waiting => {}
        }
    }

    fn rows(&mut self, table: &'static str, done: u64, total: u64, elapsed: Duration) {
        if self.table != table {
            self.erase();
            (self.table, self.due) = (table, QUIET_TIME);
        }
        let is_due = match self.quiet {
            false => done.is_multiple_of(ROWS_PER_LINE),
            true => done.is_multiple_of(ROWS_PER_LOOK) && (done == total || elapsed >= self.due),
        };
        if !is_due {
            return;
        }
        while self.due < elapsed {
            self.due += QUIET_TIME;
        }
        let line = line(table, done, total, elapsed);
        let padding = self.width.saturating_sub(line.len());
        self.width = line.len();
        let end = if self.is_terminal { '\r' } else { '\n' };
        self.diagnostics.write(&format!("{line}{:padding$}{end}", ""));
    }

    /// Erases the current line of the terminal.
    fn erase(&mut self) {
        if self.is_terminal && self.width > 0 {
            let mut blank = " ".repeat(self.width);
            blank.push('\r');
            self.diagnostics.write(&blank);
        }
        self.width = 0;
        self.table = "";
    }
}

#[expect(clippy::cast_precision_loss, reason = "2⁵³ rows are more than any table has")]
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
    use super::*;

    #[test]
    fn a_line_tells_how_far_it_is_and_how_long_it_will_take() {
        assert_eq!(
            line("pgbench_accounts", 100_000, 400_000, Duration::from_secs(1)),
            "100000 of 400000 tuples (25%) of pgbench_accounts done (elapsed 1.00 s, remaining 3.00 s)"
        );
    }
}
