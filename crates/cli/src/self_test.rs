//! `pgmeter self-test`: whether this machine can measure. `run` measures, `results` grades and `report` shows; here are
//! the options and the exit status.

use clap::Args;
use report::Subject;
use results::Grade;
use run::{CALIBRATION_CLIENTS_MAX, ExitStatus, RunSpec, self_test_spec};

use crate::calibrate::start_null_server;
use crate::failure::Failure;
use crate::options::{RunCommand, RunOptions};
use crate::output::OutputArguments;
use crate::signals::Signals;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub(crate) struct SelfTestArguments {
    #[command(flatten)]
    run: RunOptions<SelfTest>,
    #[command(flatten)]
    output: OutputArguments,
}

/// The command's base specification.
#[derive(Clone, Copy, Debug)]
struct SelfTest;

impl RunCommand for SelfTest {
    const OPTIONS: &'static [&'static str] = &["duration", "event_loop"];
    const HEADING: Option<Option<&'static str>> = Some(None);
    const HELPS: &'static [(&'static str, &'static str)] = &[("duration", "Length of each of the six steps")];

    fn base() -> RunSpec {
        self_test_spec()
    }
}

pub(crate) fn run(
    arguments: &SelfTestArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<ExitStatus, Failure> {
    let output = arguments.output.output(terminal)?;
    // With fewer descriptors the calibration cannot run at all; its error says so.
    let _ = run::provide_descriptors(CALIBRATION_CLIENTS_MAX.into());
    let spec = arguments.run.spec()?;
    let (null_server, target) = start_null_server()?;
    let bar = terminal.waiting(String::new());
    let told = &mut |step: String| bar.label(format!("testing: {step}"));
    let test = run::self_test(&target, &spec, signals, told)?;
    drop((bar, null_server));
    output.show(Subject::SelfTest(&test), terminal)?;
    Ok(if test.grade() == Grade::Bad { ExitStatus::GoalMissed } else { ExitStatus::Success })
}
