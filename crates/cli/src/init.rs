//! `pgmeter init`: creates and fills the tables of the built-in workloads; also the loading of `quickstart`.
//! The work is done by `workload`; here it gets options, bars and a line at the end.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use connect::{Session, Target};
use workload::{InitOptions, InitProgress, InitReport, Logging, PartitionMethod, Partitioning, Step};

use crate::arguments::{InitArguments, PartitionMethodName};
use crate::bench::target;
use crate::failure::Failure;
use crate::password::connect_asking;
use crate::signals::Signals;
use crate::terminal::{Bar, Terminal, Unit};

/// Bounds of the sessions that load side by side unless they are named. More than a few only wait for each other
/// where the log is written.
const JOBS_MIN: u32 = 2;
const JOBS_MAX: u32 = 8;

pub(crate) fn run(arguments: &InitArguments, terminal: &Terminal, signals: &Signals) -> Result<(), Failure> {
    let options = options(arguments)?;
    let mut target = target(&arguments.connection)?;
    let mut session = connect_asking(&mut target)?;
    let noise = if arguments.quiet { Noise::LastLine } else { Noise::Bars };
    load(&target, &mut session, &options, noise, terminal, signals)
}

/// Sessions that load side by side where none were asked for: as many as this machine has processors, since that is
/// all that is known of the server; two where it has one, for the server is as a rule elsewhere then.
pub(crate) fn jobs() -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    u32::try_from(processors).unwrap_or(JOBS_MAX).clamp(JOBS_MIN, JOBS_MAX)
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
        jobs: arguments.jobs.unwrap_or_else(jobs),
        resumes: arguments.resume,
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
    target: &Target,
    session: &mut Session,
    options: &InitOptions,
    noise: Noise,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    let mut bar: Option<Bar> = None;
    let mut show = |progress: InitProgress<'_>| {
        match progress {
            InitProgress::Lost { doing, reason } => {
                bar = None;
                terminal.warn(lost(doing, reason));
            }
            _ if noise == Noise::LastLine => {}
            InitProgress::Started(step) => {
                bar = None;
                let waiting = terminal.bar(None, Unit::Nothing);
                waiting.label(format!("{} …", step.facts().doing));
                bar = Some(waiting);
            }
            InitProgress::Rows { table, done, total, .. } => {
                let rows =
                    bar.take().filter(Bar::counts).unwrap_or_else(|| terminal.bar(Some(total), Unit::Rows));
                rows.label(format!("loading {table}"));
                rows.reached(done, total);
                bar = Some(rows);
            }
            InitProgress::Finished(_) => bar = None,
            InitProgress::Partitions(_) | InitProgress::Notice(_) | InitProgress::Waiting => {}
        }
        if signals.stop().load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let result = signals.guard(session, |session| workload::init(target, session, options, &mut show));
    drop(bar);
    // A statement that was cancelled because of a signal is an interruption, not an error.
    if result.is_err() && signals.stop().load(Ordering::Relaxed) {
        return Err(workload::WorkloadError::Interrupted.into());
    }
    terminal.say(summary(options, &result?));
    Ok(())
}

/// The line about a connection that is made again.
pub(crate) fn lost(doing: &str, reason: &str) -> String {
    format!("{reason} (while {doing}); connecting again, and doing that anew")
}

fn summary(options: &InitOptions, report: &InitReport) -> String {
    let steps: Vec<String> = report
        .steps
        .iter()
        .map(|time| format!("{} {:.2} s", time.step.facts().name, time.took.as_secs_f64()))
        .collect();
    let scale = options.scale;
    format!("loaded scale {scale} in {:.2} s ({})", report.total().as_secs_f64(), steps.join(", "))
}
