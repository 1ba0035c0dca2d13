//! Output of a run for `pgmeter bench` and `quickstart`: progress, report, and saving the record. The drop-in has its
//! own in `pgbench::output`.

use std::collections::BTreeMap;

use output::{Conclusion, LogFault, LogOptions, MetricsServer, ProgressStyle, tracers};
use results::{Annotation, Record};
use run::{Circumstances, Event, Finished, Keeper, Kept, PreparationMessage, RunError, Runner, StorePlaces};

use crate::failure::Failure;
use crate::password;
use crate::progress::ProgressDisplay;
use crate::signals::Signals;
use crate::terminal::{self, Terminal};
use crate::tracer::{RunMessages, no_log};

/// Output options of a run.
pub(crate) struct OutputOptions {
    pub(crate) progress: ProgressStyle,
    pub(crate) metrics: Option<MetricsServer>,
    pub(crate) logs: Option<LogOptions>,
    pub(crate) verbose_errors: bool,
    /// Whether the report contains a table of commands.
    pub(crate) commands: bool,
    /// Whether the summary goes to standard output; otherwise that is left to another format.
    pub(crate) prints_summary: bool,
    pub(crate) places: StorePlaces,
    /// Options given relative to the server's host, by name.
    pub(crate) relative: BTreeMap<String, String>,
    pub(crate) annotation: Annotation,
}

/// Circumstances of runs that are shown on the terminal.
pub(crate) fn circumstances() -> Circumstances {
    Circumstances {
        ask_password: Some(password::ask),
        output: Some(|| {
            let measuring = terminal::measure();
            Box::new(move || measuring.end())
        }),
        ..Circumstances::default()
    }
}

/// Runs, reports, and saves the record. A measured run is added to `measured` with its name in the store, also if it
/// was interrupted.
pub(crate) fn run(
    runner: Runner,
    options: OutputOptions,
    measured: &mut Vec<(String, Record)>,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    if options.logs.is_some() {
        runner.refuse_several_machines("--log", signals)?;
    }
    let store = options.places.line();
    let mut keeper = Keeper::new(options.places);
    let circumstances = Circumstances {
        command_line: Some(run::command_line(runner.drawn_seed())),
        records: Some(keeper.records()),
        relative: options.relative,
        annotation: options.annotation,
        ..circumstances()
    };
    let prepared = runner.under(circumstances).prepare(signals, &mut |event| warn(&event, terminal))?;
    let plan = prepared.plan();
    let mut progress = ProgressDisplay::new(terminal, options.progress, options.metrics, Vec::new(), plan);
    let log_fault = LogFault::default();
    let messages = RunMessages { verbose_errors: options.verbose_errors };
    let tracers = tracers(options.logs, plan, log_fault.clone(), messages).map_err(no_log)?;
    keeper.begin(&prepared)?;
    let finished = prepared.run(signals, &*tracers, &mut |event| match event {
        Event::Second { progress: second, waits } => progress.show(second, waits),
        Event::Verifying(message) | Event::Checking(message) | Event::Checked(message) => {
            progress.end();
            terminal.say(message);
        }
        _ => {}
    });
    let finished = finished.inspect_err(|error| keeper.break_off(error))?;
    progress.end();
    // Saved before anything is shown, because a stopped terminal must not prevent it.
    let kept = keeper.finish(&finished.record);
    if options.prints_summary {
        report(&finished, options.commands, terminal);
    }
    let Kept { run, record: path } = kept.map_err(|error| RunError::Aborted(error.to_string()))?;
    let place = format!("\n  run {run:<11} {}\n", path.display());
    match options.prints_summary {
        true => terminal.print(&place),
        false => terminal.say(place.trim_matches('\n')),
    }
    terminal.say(store);
    measured.push((format!("run {run}"), finished.record.clone()));
    conclude(finished, &log_fault, terminal)
}

fn report(Finished { record, .. }: &Finished, commands: bool, terminal: &Terminal) {
    terminal.say("");
    terminal.print(&report::text(&report::summary(record, commands), terminal.style()));
}

/// An aborted or interrupted run is also reported and recorded, and then returned as an error.
fn conclude(finished: Finished, log_fault: &LogFault, terminal: &Terminal) -> Result<(), Failure> {
    let Conclusion { warning, aborted, result } = Conclusion::new(finished, log_fault);
    warning.iter().for_each(|warning| terminal.warn(warning));
    aborted.iter().for_each(|reason| terminal.complain(reason));
    Ok(result?)
}

/// Prints the warnings before a run.
pub(crate) fn warn(event: &Event<'_>, terminal: &Terminal) {
    match run::preparation_message(event) {
        Some(PreparationMessage::Warning(text)) => terminal.warn(text),
        Some(PreparationMessage::Note(text)) => terminal.say(text),
        None => {}
    }
}
