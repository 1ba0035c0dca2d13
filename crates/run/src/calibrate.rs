//! Measures the maximum rate of one worker on this machine, with a growing number of clients against a server that
//! takes no time. The caller starts that server and saves the result.

use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::time::Duration;

use connect::Target;
use engine::{End, Limit, Outcome, Protocol};
use results::{Calibration, Host, Level, ObserveLevel, UtcTime};
use stats::Distribution;

use crate::control::Control;
use crate::error::RunError;
use crate::plan::runner::Runner;
use crate::record::generator::event_loop;
use crate::spec::circumstances::Circumstances;
use crate::spec::request::RunRequest;
use crate::spec::{RunSpec, ScriptSource, ScriptSpec, Vacuum};

/// From a single client to more than a worker should have.
const CLIENTS: [u32; 5] = [1, 16, 64, 256, CALIBRATION_CLIENTS_MAX];
/// Maximum number of clients of a step.
pub const CALIBRATION_CLIENTS_MAX: u32 = 900;
/// One step for each number of clients, and one with an open loop.
pub const CALIBRATION_STEPS: usize = CLIENTS.len() + 1;
/// The cheapest statement.
const SCRIPT: &str = "SELECT 1;";
/// Default length of a step.
const STEP: Duration = Duration::from_secs(1);
/// Warm-up of each step, so that statements are prepared and caches are warm.
const WARMUP: Duration = Duration::from_millis(200);
/// Clients and rate of the step with an open loop, in which the worker waits for timers.
const OPEN_LOOP: (u32, f64) = (16, 2_000.0);

/// Default specification of a step.
pub fn calibration_spec() -> RunSpec {
    let script = ScriptSource::Text { name: "calibrate".to_owned(), text: SCRIPT.to_owned() };
    RunSpec {
        scripts: vec![ScriptSpec::new(script)],
        protocol: Protocol::Prepared,
        limit: Limit::Duration(STEP),
        warmup: WARMUP,
        vacuum: Vacuum::Nothing,
        observe: ObserveLevel::Off,
        ..RunSpec::default()
    }
}

/// Runs all steps and announces each of them.
///
/// # Errors
/// A step fails, nothing succeeds in it, or the user asked to stop.
pub fn calibrate(
    target: &Target,
    spec: &RunSpec,
    control: &Control,
    told: &mut dyn FnMut(String),
) -> Result<Calibration, RunError> {
    Ok(calibrate_and_name_loop(target, spec, control, told)?.0)
}

/// [`calibrate`], with the event loop and why it is not io_uring.
pub(crate) fn calibrate_and_name_loop(
    target: &Target,
    spec: &RunSpec,
    control: &Control,
    told: &mut dyn FnMut(String),
) -> Result<(Calibration, results::EventLoop), RunError> {
    let measured_at = UtcTime::now();
    let measure = |clients, rate_tps| step(target, RunSpec { clients, rate_tps, ..spec.clone() }, control);
    let mut levels = Vec::new();
    for clients in CLIENTS {
        told(format!("{clients} clients"));
        levels.push(level(clients, &measure(clients, None)?));
    }
    let (clients, rate) = OPEN_LOOP;
    told(format!("{rate} transactions per second"));
    let outcome = measure(clients, Some(rate))?;
    let mut lateness = Distribution::new();
    outcome.health.iter().for_each(|health| lateness.merge(&health.wakeup_lateness));
    let used = event_loop(&outcome.event_loop);
    Ok((Calibration::new(measured_at, Host::detect(), used.name, levels, &lateness), used))
}

fn step(target: &Target, spec: RunSpec, control: &Control) -> Result<Outcome, RunError> {
    let circumstances =
        Circumstances { asks_settings: false, calibrations: None, ..Circumstances::default() };
    let finished = Runner::new(RunRequest::on(target.clone(), spec))?.under(circumstances).run(control);
    // Ctrl-C reaches the null server too, which may abort clients.
    if control.stop().load(Ordering::Relaxed) {
        return Err(RunError::Interrupted(Cow::Borrowed("interrupted; the machine was not calibrated")));
    }
    let outcome = finished?.outcome;
    let failed = |reason: String| RunError::Aborted(format!("the machine was not calibrated: {reason}"));
    match (&outcome.end, outcome.aborted.first()) {
        (End::CutOff(cut_off), _) => Err(failed(cut_off.to_string())),
        (_, Some(first)) => Err(failed(first.to_string())),
        _ if outcome.summary.total.counts.succeeded == 0 => Err(RunError::Usage(
            "no transaction finished in time: increase the length of the steps with -T".to_owned(),
        )),
        _ => Ok(outcome),
    }
}

/// Statistics of the only worker.
fn level(clients: u32, outcome: &Outcome) -> Level {
    let total = &outcome.summary.total;
    let cpu_ns: u64 = outcome.health.iter().map(|health| health.cpu_ns).sum();
    let share = |ns: u64, span_ns: u64| if span_ns == 0 { 0.0 } else { ns as f64 / span_ns as f64 };
    let waited = outcome.health.iter().filter_map(|health| Some(share(health.run_queue_ns?, health.span_ns)));
    let median_ns = total.service.quantile_ns(0.5).unwrap_or_default();
    Level {
        clients,
        round_trips_per_s: outcome.summary.tps(),
        cpu_us_per_round_trip: micros(cpu_ns) / total.counts.succeeded as f64,
        round_trip_us_p50: micros(median_ns),
        run_queue_share: waited.reduce(f64::max),
    }
}

fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}
