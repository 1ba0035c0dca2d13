//! How `pgmeter bench` and `quickstart` show a run: lines while it goes on, the report, and the record as a file.
//! The drop-in for pgbench has its own way, in `pgbench::benchmark`.

use std::path::PathBuf;

use connect::{Session, Target};
use engine::{End, Outcome, Progress, no_witness};
use results::Record;

use crate::failure::Failure;
use crate::job::{Showing, Vacuuming, Witnesses};
use crate::live::Live;
use crate::password::connect_asking;
use crate::terminal::Terminal;

/// Reasons of aborted clients that are shown one by one.
const REASONS_SHOWN_MAX: usize = 3;

/// pgmeter's own way of showing a run.
pub(crate) struct OwnShowing<'a> {
    terminal: &'a Terminal,
    live: Live<'a>,
    clients: u32,
    /// Directory of the records.
    results: PathBuf,
}

impl<'a> OwnShowing<'a> {
    pub(crate) fn new(terminal: &'a Terminal, live: Live<'a>, clients: u32, results: PathBuf) -> Self {
        Self { terminal, live, clients, results }
    }
}

impl Showing for OwnShowing<'_> {
    fn connect(&mut self, target: &mut Target) -> Result<Session, Failure> {
        Ok(connect_asking(target)?)
    }

    fn scale_ignored(&mut self, asked: u32, scale: u32) {
        if asked != scale {
            self.terminal.warn(format_args!(
                "scale option ignored, using count from pgbench_branches table ({scale})"
            ));
        }
    }

    fn vacuuming(&mut self, what: Vacuuming<'_>) {
        if let Vacuuming::Failed(failure) = what {
            self.terminal.warn(format_args!("{failure} (the run goes on)"));
        }
    }

    fn witnesses(&mut self, _plan: &results::Plan) -> Result<Witnesses, Failure> {
        Ok(Box::new(no_witness))
    }

    fn second(&mut self, progress: &Progress<'_>) {
        self.live.show(progress);
    }

    fn take_intervals(&mut self) -> Vec<results::Interval> {
        self.live.take_intervals()
    }

    /// An aborted or interrupted run is reported and recorded too, and then is a failure.
    fn conclude(&mut self, record: &Record, outcome: &Outcome) -> Result<(), Failure> {
        let terminal = self.terminal;
        terminal.say("");
        terminal.print(&report::text(record, terminal.style()));
        let path = record.write_into(&self.results)?;
        terminal.print(&format!("\n  record          {}\n", path.display()));
        if record.summary.counts.scheduled == 0 {
            terminal
                .warn("no transaction was scheduled in the measured time; run longer, or at a higher rate");
        }
        for aborted in outcome.aborted.iter().take(REASONS_SHOWN_MAX) {
            terminal.complain(aborted);
        }
        match outcome.end {
            End::Interrupted => {
                Err(Failure::Interrupted("interrupted; the results above are of the time until then"))
            }
            _ if outcome.aborted.is_empty() => Ok(()),
            _ => Err(Failure::Aborted(format!(
                "{} of {} clients were aborted; the above results are incomplete",
                outcome.aborted.len(),
                self.clients
            ))),
        }
    }
}
