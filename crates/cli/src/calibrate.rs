//! `pgmeter calibrate`: measures the maximum rate of one worker on this machine, against a null server in a separate
//! process. The result is stored as a reference for later runs; `bench` never calibrates.

use std::path::Path;

use clap::Args;
use connect::{Environment, Overrides, Target};
use engine::Limit;
use null::NullProcess;
use report::Subject;
use results::{Calibration, EventLoopName, Host};
use run::{CALIBRATION_CLIENTS_MAX, CALIBRATION_STEPS, RunSpec, calibration_spec};
use server::Locations;

use crate::failure::Failure;
use crate::options::{RunCommand, RunOptions};
use crate::output::{Output, OutputArguments};
use crate::signals::Signals;
use crate::terminal::Terminal;

/// Share of time waiting for a core from which other programs affected the calibration.
const CROWDED_SHARE: f64 = 0.25;

#[derive(Debug, Args)]
pub(crate) struct CalibrateArguments {
    #[command(flatten)]
    run: RunOptions<Calibrate>,
    /// Show the stored calibration without measuring
    #[arg(long, conflicts_with = "duration")]
    show: bool,
    #[command(flatten)]
    output: OutputArguments,
}

/// The command's base specification.
#[derive(Clone, Copy, Debug)]
struct Calibrate;

impl RunCommand for Calibrate {
    const OPTIONS: &'static [&'static str] = &["duration", "event_loop"];
    const HEADING: Option<Option<&'static str>> = Some(None);
    const HELPS: &'static [(&'static str, &'static str)] =
        &[("duration", "Length of each of the six steps in seconds")];

    fn base() -> RunSpec {
        calibration_spec()
    }
}

pub(crate) fn run(
    arguments: &CalibrateArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    let locations = Locations::from_environment(&server::Environment::of_process())?;
    let dir = run::calibrations_in(&locations);
    let output = arguments.output.output(terminal)?;
    if arguments.show {
        return show(&dir, &output, terminal);
    }
    run::provide_descriptors(CALIBRATION_CLIENTS_MAX.into())
        .map_err(|too_few| too_few.for_what("calibrating"))?;
    let spec = arguments.run.spec()?;
    let (null_server, target) = start_null_server()?;
    if let Limit::Duration(time) = spec.limit {
        let seconds = time.as_secs_f64();
        terminal.say(format_args!("calibrating: {CALIBRATION_STEPS} steps of {seconds} s each"));
    }
    let bar = terminal.waiting(String::new());
    let told = &mut |step: String| bar.label(format!("calibrating: {step}"));
    let calibration = run::calibrate(&target, &spec, signals, told)?;
    drop((bar, null_server));
    // Stored before anything is shown: a report that cannot be written must not lose it.
    let kept = calibration.keep(&dir);
    output.show(Subject::Calibrations(std::slice::from_ref(&calibration)), terminal)?;
    let waited = calibration.levels.iter().filter_map(|level| level.run_queue_share).fold(0.0, f64::max);
    if waited >= CROWDED_SHARE {
        terminal.warn("the worker had to wait for a core: other programs were busy, or there are too few cores; calibrate again when the machine is idle");
    }
    terminal.say(format_args!("stored in {} for runs on this machine", kept?.display()));
    Ok(())
}

/// Shows the stored calibrations of this machine.
fn show(dir: &Path, output: &Output, terminal: &Terminal) -> Result<(), Failure> {
    let host = Host::detect();
    let loops = [EventLoopName::IoUring, EventLoopName::Epoll];
    let kept: Vec<_> = loops.into_iter().filter_map(|name| Calibration::kept(dir, &host, name)).collect();
    if kept.is_empty() {
        return Err(Failure::Usage(format!(
            "{} has no calibration of this machine with this version of pgmeter; create one with pgmeter calibrate",
            dir.display()
        )));
    }
    output.show(Subject::Calibrations(&kept), terminal)
}

/// A null server in a process of its own, and the way to it.
pub(crate) fn start_null_server() -> Result<(NullProcess, Target), Failure> {
    let failed = |error| Failure::System { what: "start the null server".to_owned(), error };
    let program = std::env::current_exe().map_err(failed)?;
    let server = NullProcess::start(&program, "null-server").map_err(failed)?;
    let target = connect::resolve(Some(server.conninfo()), &Overrides::default(), &Environment::default())?;
    Ok((server, target))
}
