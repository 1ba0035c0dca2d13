//! Some 20 seconds that show whether this machine can measure, for `pgmeter self-test`. Stores nothing; the thresholds
//! are in `results`.

use std::thread;
use std::time::Duration;

use connect::Target;
use engine::Limit;
use results::{ClockFigures, Conditions, PgmeterBuild, ProcessorShares, ProcessorTimes, SelfTest};

use crate::calibrate::{calibrate_and_name_loop, calibration_spec};
use crate::control::Control;
use crate::error::RunError;
use crate::plan::descriptors;
use crate::spec::RunSpec;

/// Length of a step of the calibration, so that all steps with their warm-up take 20 s.
const STEP: Duration = Duration::from_millis(3_000);
/// Time in which pgmeter does nothing, to see what others do.
const REST: Duration = Duration::from_secs(1);
/// Reads of the clock: 25 ms where a read is fast, 2 s where it is slow.
const CLOCK_READS: u32 = 1_000_000;

/// Default specification of the steps.
pub fn self_test_spec() -> RunSpec {
    RunSpec { limit: Limit::Duration(STEP), ..calibration_spec() }
}

/// Examines this machine, and calibrates it against a server that takes no time; announces each step.
///
/// # Errors
/// A step fails, nothing succeeds in it, or the user asked to stop.
pub fn self_test(
    target: &Target,
    spec: &RunSpec,
    control: &Control,
    told: &mut dyn FnMut(String),
) -> Result<SelfTest, RunError> {
    told("other programs".to_owned());
    let at_rest = shares_during(|| thread::sleep(REST)).1;
    control.check()?;
    told("clock".to_owned());
    let (read_ns, backwards) = sockets::read_cost(CLOCK_READS);
    let (calibrated, processors) = shares_during(|| calibrate_and_name_loop(target, spec, control, told));
    let (calibration, event_loop) = calibrated?;
    Ok(SelfTest {
        build: PgmeterBuild::of_this(),
        conditions: Conditions { processors, ..Conditions::detect() },
        at_rest,
        clock: ClockFigures { read_ns, backwards },
        open_files: descriptors::hard_limit(),
        event_loop,
        calibration,
    })
}

/// Does something, and returns the use of the host's CPUs meanwhile.
fn shares_during<T>(work: impl FnOnce() -> T) -> (T, Option<ProcessorShares>) {
    let before = ProcessorTimes::now();
    let done = work();
    (done, before.zip(ProcessorTimes::now()).and_then(|(before, after)| before.until(&after)))
}
