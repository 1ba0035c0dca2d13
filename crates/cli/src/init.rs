//! `pgmeter init`: creates and fills the tables of a workload; also the loading of `quickstart`.
//! The work is done by `workload`; here it gets options, bars and a line at the end.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use connect::{Session, Target};
use workload::{
    InitOptions, InitProgress, InitReport, Logging, PartitionMethod, Partitioning, Step, Workload,
    WorkloadName,
};

use crate::arguments::{InitArguments, PartitionMethodName};
use crate::bench::target;
use crate::failure::Failure;
use crate::password::connect_asking;
use crate::signals::Signals;
use crate::terminal::{Bar, Terminal, Unit};

/// Between two lines about the rows where nobody watches: for logs, in which a short loading says nothing.
const LINES_APART: Duration = Duration::from_secs(30);
pub(crate) fn run(arguments: &InitArguments, terminal: &Terminal, signals: &Signals) -> Result<(), Failure> {
    let options = options(arguments)?;
    let named = arguments.workload.as_deref().map(|text| WorkloadName::find(text, Path::new("")));
    let workload = named.transpose()?.unwrap_or_default().open()?;
    workload.check_options(&options)?;
    let mut target = target(&arguments.connection)?;
    let mut session = connect_asking(&mut target, signals)?;
    let noise = if arguments.quiet { Noise::LastLine } else { Noise::Bars };
    load(&*workload, &target, &mut session, &options, noise, terminal, signals)
}

/// `NAME=VALUE` each.
fn parameters(words: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    words.iter().map(|word| run::options::definition(word).map_err(Failure::Usage)).collect()
}

fn options(arguments: &InitArguments) -> Result<InitOptions, Failure> {
    let method = match arguments.partition_method {
        Some(PartitionMethodName::Hash) => PartitionMethod::Hash,
        Some(PartitionMethodName::Range) | None => PartitionMethod::Range,
    };
    let partitions = arguments.partitions;
    if partitions == 0 && arguments.partition_method.is_some() {
        return Err(Failure::Usage("--partition-method needs --partitions above 0".to_owned()));
    }
    let mut options = InitOptions {
        scale: arguments.scale,
        steps: Step::parse_list(&arguments.init_steps)?,
        fillfactor: arguments.fillfactor,
        partitioning: (partitions > 0).then_some(Partitioning { method, partitions }),
        logging: if arguments.unlogged_tables { Logging::None } else { Logging::All },
        tablespace: arguments.tablespace.clone(),
        index_tablespace: arguments.index_tablespace.clone(),
        jobs: arguments.jobs.unwrap_or_else(run::loading_sessions),
        resumes: arguments.resume,
        parameters: parameters(&arguments.parameters)?,
    };
    if arguments.no_vacuum {
        options.steps.retain(|step| *step != Step::Vacuum);
    }
    if arguments.foreign_keys {
        options.add_foreign_keys();
    }
    Ok(options)
}

/// How much is shown while tables are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noise {
    Bars,
    LastLine,
}

/// Takes the steps, with a bar for the rows and a line at the end.
pub(crate) fn load(
    workload: &dyn Workload,
    target: &Target,
    session: &mut Session,
    options: &InitOptions,
    noise: Noise,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    let mut view = LoadView { terminal, noise, bar: None, due: LINES_APART };
    let report = run::load(workload, target, session, options, signals, &mut |progress| view.show(progress));
    drop(view);
    terminal.say(summary(options, &report?));
    Ok(())
}

/// What is shown meanwhile: bars where somebody watches, else a line now and then.
pub(crate) struct LoadView<'a> {
    terminal: &'a Terminal,
    noise: Noise,
    bar: Option<Bar>,
    /// When the next line is due where nobody watches, counted from the table's first row.
    due: Duration,
}

impl<'a> LoadView<'a> {
    pub(crate) fn with_bars(terminal: &'a Terminal) -> Self {
        Self { terminal, noise: Noise::Bars, bar: None, due: LINES_APART }
    }

    pub(crate) fn show(&mut self, progress: InitProgress<'_>) {
        if let InitProgress::Lost { doing, reason } = progress {
            self.bar = None;
            return self.terminal.warn(lost(doing, reason));
        }
        if self.noise == Noise::LastLine {
            return;
        }
        match progress {
            InitProgress::Started { doing } => {
                self.bar = None;
                // Who has waited that long for the rows wants to know what else takes time.
                if self.due > LINES_APART && !self.terminal.is_watched() {
                    self.terminal.say(format_args!("{doing} …"));
                }
                let waiting = self.terminal.bar(None, Unit::Nothing);
                waiting.label(format!("{doing} …"));
                self.bar = Some(waiting);
            }
            InitProgress::Rows { table, done, total, elapsed } => self.rows(table, done, total, elapsed),
            InitProgress::Finished(_) => self.bar = None,
            _ => {}
        }
    }

    fn rows(&mut self, table: &str, done: u64, total: u64, elapsed: Duration) {
        let left = left(done, total, elapsed);
        if self.terminal.is_watched() {
            let counting = self.bar.take().filter(Bar::counts);
            let rows = counting.unwrap_or_else(|| self.terminal.bar(Some(total), Unit::Rows));
            rows.label(format!("loading {table}"));
            rows.reached_with(done, total, left);
            self.bar = Some(rows);
        } else if elapsed >= self.due {
            let percent = done.saturating_mul(100) / total.max(1);
            self.terminal
                .say(format_args!("loading {table}: {done} of {total} rows ({percent} %), {left} left"));
            while self.due <= elapsed {
                self.due += LINES_APART;
            }
        }
    }
}

/// How long the rest will take if it goes on as on the average so far. Partitions get their keys in between, so
/// what the last seconds brought says little.
fn left(done: u64, total: u64, elapsed: Duration) -> String {
    let rest = u128::from(total.saturating_sub(done));
    let seconds = elapsed.as_millis().saturating_mul(rest) / u128::from(done.max(1)) / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// The line about a connection that is made again.
pub(crate) fn lost(doing: &str, reason: &str) -> String {
    format!("{reason} (while {doing}); connecting again, and doing that anew")
}

pub(crate) fn summary(options: &InitOptions, report: &InitReport) -> String {
    let steps: Vec<String> =
        report.steps.iter().map(|time| format!("{} {:.2} s", time.name, time.took.as_secs_f64())).collect();
    let scale = options.scale;
    format!("loaded scale {scale} in {:.2} s ({})", report.total().as_secs_f64(), steps.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_in_the_units_of_a_clock() {
        let left = |done, total, seconds| left(done, total, Duration::from_secs(seconds));
        assert_eq!(left(50, 100, 12), "12 s");
        assert_eq!(left(10, 100, 30), "4 min 30 s");
        assert_eq!(left(1_000_000, 2_000_000_000, 4), "2 h 13 min");
        assert_eq!(left(0, 100, 0), "0 s");
        assert_eq!(left(7, 7, 9), "0 s");
    }
}
