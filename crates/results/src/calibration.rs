//! The calibration of this machine: maximum rate of one worker, measured by `pgmeter calibrate` against the null
//! server. It is a small JSON file per machine and event loop, which can be deleted at any time; unreadable files are
//! ignored.

use std::fs;
use std::path::{Path, PathBuf};

use config::OutputFolder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{shown, write_advice};
use crate::safe_text::indented;
use crate::workers::{EventLoopName, Lateness, Work, WorkerCondition, per_million};
use crate::{Host, ResultsError, UtcTime};

/// Version of the file's format; files of other versions are ignored.
const FORM: u32 = 1;

/// Maximum length of the file, in bytes.
const FILE_LEN_MAX: u64 = 1 << 20;

/// Measurements of a worker against the null server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Version of this file's format.
    pub form: u32,
    /// Time of the measurement.
    pub measured_at: UtcTime,
    /// The version of pgmeter.
    pub pgmeter_version: String,
    /// The machine.
    pub host: Host,
    /// The event loop.
    pub event_loop: EventLoopName,
    /// By number of clients, ascending; never empty.
    pub levels: Vec<Level>,
    /// Lateness of the worker's timed wake-ups; `null` without any.
    pub wakeup_lateness_us: Option<Lateness>,
}

/// One worker with a number of clients.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Number of clients.
    pub clients: u32,
    /// Round trips per second.
    pub round_trips_per_s: f64,
    /// CPU time of the worker per round trip.
    pub cpu_us_per_round_trip: f64,
    /// Median time of a round trip.
    pub round_trip_us_p50: f64,
    /// Share of time in which the worker waited for a core; `null` if the system does not provide it.
    pub run_queue_share: Option<f64>,
}

/// The calibration, applied to a run.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationUsed {
    /// Time of the calibration.
    pub measured_at: UtcTime,
    /// Round trips per second of one worker with the same number of clients, against the null server.
    pub round_trips_per_s_max: f64,
    /// Share of this maximum that the run's workers reached, on average.
    pub reached_share: f64,
    /// Duration of one client's round trip to the null server, in microseconds.
    pub floor_us_per_round_trip: f64,
}

impl Calibration {
    /// A calibration of this machine with this version. `levels` must be in ascending order of clients.
    pub fn new(
        measured_at: UtcTime,
        host: Host,
        event_loop: EventLoopName,
        levels: Vec<Level>,
        wakeup_lateness: &stats::Distribution,
    ) -> Calibration {
        Calibration {
            form: FORM,
            measured_at,
            pgmeter_version: env!("CARGO_PKG_VERSION").to_owned(),
            host,
            event_loop,
            levels,
            wakeup_lateness_us: Lateness::of(wakeup_lateness),
        }
    }

    /// The highest rate of all levels, in round trips per second.
    pub fn best_rate(&self) -> f64 {
        self.levels.iter().map(|level| level.round_trips_per_s).fold(0.0, f64::max)
    }

    /// The stored calibration for this machine and loop in `dir`; `None` if there is none, or if it was made with
    /// another version, kernel or CPU configuration.
    pub fn kept(dir: &Path, host: &Host, event_loop: EventLoopName) -> Option<Calibration> {
        let path = file(dir, host, event_loop);
        let found = fs::metadata(&path).ok()?;
        let is_ours = found.is_file() && found.len() <= FILE_LEN_MAX;
        let json = if is_ours { fs::read(&path).ok()? } else { return None };
        let calibration: Calibration = serde_json::from_slice(&json).ok()?;
        (calibration.fits(host, event_loop) && calibration.is_sound()).then_some(calibration)
    }

    /// Stores the calibration in `dir`, creates `dir` if it is missing, and replaces an older calibration.
    ///
    /// # Errors
    /// The directory cannot be created or written.
    pub fn keep(&self, dir: &Path) -> Result<PathBuf, ResultsError> {
        let failed = |error| {
            let why = write_advice(&error);
            ResultsError::Refused(format!("cannot keep the calibration in {}: {why}", shown(dir)))
        };
        let folder = OutputFolder::create(dir).map_err(failed)?;
        let json = indented(self);
        let path = file(dir, &self.host, self.event_loop);
        folder.replace(path.file_name().unwrap_or_default(), json.as_bytes()).map_err(failed)?;
        Ok(path)
    }

    /// Round trips per second of one worker with this number of clients: linear interpolation between two levels,
    /// constant beyond the last.
    pub fn round_trips_per_s(&self, clients: f64) -> Option<f64> {
        let (first, last) = (self.levels.first()?, self.levels.last()?);
        let known = |level: &Level| f64::from(level.clients);
        if clients <= known(first) {
            return Some(first.round_trips_per_s);
        }
        let between = self.levels.windows(2).find(|pair| clients <= known(&pair[1]));
        Some(between.map_or(last.round_trips_per_s, |pair| {
            let along = (clients - known(&pair[0])) / (known(&pair[1]) - known(&pair[0]));
            pair[0].round_trips_per_s + along * (pair[1].round_trips_per_s - pair[0].round_trips_per_s)
        }))
    }

    /// Duration of a round trip with a single client, in microseconds.
    pub fn floor_us(&self) -> f64 {
        self.levels.first().map_or(0.0, |level| level.round_trip_us_p50)
    }

    /// Whether it applies to a run on this host with this loop.
    fn fits(&self, host: &Host, event_loop: EventLoopName) -> bool {
        let machine = |host: &Host| {
            let Host { hostname, kernel, cpu_model, cpu_count, cpu_available, .. } = host.clone();
            (hostname, kernel, cpu_model, cpu_count, cpu_available)
        };
        self.form == FORM
            && self.pgmeter_version == env!("CARGO_PKG_VERSION")
            && self.event_loop == event_loop
            && machine(&self.host) == machine(host)
    }

    /// Whether the values are valid for calculations.
    fn is_sound(&self) -> bool {
        let rising = self.levels.windows(2).all(|pair| pair[0].clients < pair[1].clients);
        let sensible = |level: &Level| {
            level.clients > 0 && level.round_trips_per_s > 0.0 && level.round_trip_us_p50 >= 0.0
        };
        !self.levels.is_empty() && rising && self.levels.iter().all(sensible)
    }
}

impl CalibrationUsed {
    pub(crate) fn of(
        calibration: &Calibration,
        work: &Work,
        workers: &[WorkerCondition],
        clients: u32,
    ) -> Option<CalibrationUsed> {
        let worker_seconds: f64 = workers.iter().map(|worker| worker.span_s).sum();
        let clients_per_worker = f64::from(clients) / workers.len().max(1) as f64;
        let round_trips_per_s_max = calibration.round_trips_per_s(clients_per_worker)?;
        let reached = work.round_trips as f64 / worker_seconds;
        (worker_seconds > 0.0).then(|| CalibrationUsed {
            measured_at: calibration.measured_at,
            round_trips_per_s_max,
            reached_share: per_million(reached / round_trips_per_s_max),
            floor_us_per_round_trip: calibration.floor_us(),
        })
    }
}

/// `dir/bench1-io_uring.json`: several machines may share the cache directory.
fn file(dir: &Path, host: &Host, event_loop: EventLoopName) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let hostname: String = host.hostname.chars().map(plain).collect();
    dir.join(format!("{hostname}-{}.json", event_loop.name()))
}
