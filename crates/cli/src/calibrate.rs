//! `pgmeter calibrate`: what one worker can do at best on this machine, against a server that takes no time and has a
//! process of its own. The result is kept, so that later runs can be held against it; `bench` never calibrates.

use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Arg;
use connect::{Environment, Overrides, Target};
use engine::{End, Limit, Outcome, Protocol};
use results::{Calibration, EventLoopName, Host, Level, ObserveLevel, UtcTime};
use run::options::RunOption;
use run::{Circumstances, RunSpec, Runner, ScriptSource, ScriptSpec, TooFewDescriptors, Vacuum};
use server::Locations;
use stats::Distribution;

use crate::arguments::CalibrateArguments;
use crate::failure::Failure;
use crate::options::{self, RunCommand};
use crate::signals::Signals;
use crate::terminal::{Terminal, Unit};

/// From a client alone to more than a single worker should have.
const CLIENTS: [u32; 5] = [1, 16, 64, 256, 900];
/// The least that can be asked for: what a server is asked when nothing is wanted of it.
const SCRIPT: &str = "SELECT 1;";
/// The length of a step, unless another is asked for.
const STEP: Duration = Duration::from_secs(1);
/// What is run before each measurement, so that statements are prepared and caches are warm.
const WARMUP: Duration = Duration::from_millis(200);
/// The open loop, in which the worker wakes for moments it has asked for, has so many clients and this rate.
const OPEN_LOOP: (u32, f64) = (16, 2_000.0);
/// A worker that waited for a core so much had company that will not be there, or not so, another time.
const CROWDED_SHARE: f64 = 0.25;

/// The command, as it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calibrate;

impl RunCommand for Calibrate {
    const OPTIONS: &'static [&'static str] = &["duration", "event_loop"];

    fn base() -> RunSpec {
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

    fn adapted(option: &RunOption, argument: Arg) -> Arg {
        let argument = argument.help_heading(None);
        match option.name {
            "duration" => argument.help(options::help(
                option,
                "Seconds measured in each of its six steps",
                &Self::base(),
            )),
            _ => argument,
        }
    }
}

pub(crate) fn run(
    arguments: &CalibrateArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    let locations = Locations::from_environment(&server::Environment::of_process())?;
    let dir = run::calibrations_in(&locations);
    if arguments.show {
        return show(&dir, terminal);
    }
    let most = CLIENTS[CLIENTS.len() - 1];
    run::provide_descriptors(u64::from(most)).map_err(|TooFewDescriptors { needed, limit }| {
        Failure::Usage(format!(
            "calibrating needs {needed} open files, and the system allows {limit}: raise it with ulimit -n"
        ))
    })?;
    let spec = arguments.run.spec()?;
    let null_server = NullServer::start()?;
    let steps = CLIENTS.len() + 1;
    if let Limit::Duration(time) = spec.limit {
        terminal.say(format_args!("calibrating: {steps} steps of {} s each", time.as_secs_f64()));
    }
    let bench = Bench { target: null_server.target()?, spec };
    let calibration = bench.calibrate(terminal, signals)?;
    drop(null_server);
    terminal.print(&report::calibration(&calibration, terminal.style()));
    let waited = calibration.levels.iter().filter_map(|level| level.run_queue_share).fold(0.0, f64::max);
    if waited >= CROWDED_SHARE {
        terminal.warn("the worker had to wait for a core: other programs were busy, or there are too few cores; calibrate again when it is quiet");
    }
    let path = calibration.keep(&dir)?;
    terminal.say(format_args!("kept in {} for runs on this machine", path.display()));
    Ok(())
}

/// What is kept of this machine already.
fn show(dir: &Path, terminal: &Terminal) -> Result<(), Failure> {
    let host = Host::detect();
    let loops = [EventLoopName::IoUring, EventLoopName::Epoll];
    let kept: Vec<_> = loops.into_iter().filter_map(|name| Calibration::kept(dir, &host, name)).collect();
    if kept.is_empty() {
        return Err(Failure::Usage(format!(
            "no calibration of this machine with this pgmeter is in {}; pgmeter calibrate makes one",
            dir.display()
        )));
    }
    let shown: Vec<_> = kept.iter().map(|kept| report::calibration(kept, terminal.style())).collect();
    terminal.print(&shown.join("\n"));
    Ok(())
}

/// What is the same in every step.
struct Bench {
    target: Target,
    spec: RunSpec,
}

impl Bench {
    fn calibrate(&self, terminal: &Terminal, signals: &Signals) -> Result<Calibration, Failure> {
        let measured_at = UtcTime::now();
        let bar = terminal.bar(None, Unit::Nothing);
        let mut levels = Vec::new();
        for clients in CLIENTS {
            bar.label(format!("calibrating: {clients} clients"));
            levels.push(level(clients, &self.measure(clients, None, signals)?));
        }
        let (clients, rate) = OPEN_LOOP;
        bar.label(format!("calibrating: {rate} transactions per second"));
        let outcome = self.measure(clients, Some(rate), signals)?;
        let mut lateness = Distribution::new();
        outcome.health.iter().for_each(|health| lateness.merge(&health.wakeup_lateness));
        let ran = run::event_loop(&outcome.event_loop);
        Ok(Calibration::new(measured_at, Host::detect(), ran.name, levels, &lateness))
    }

    /// One step.
    fn measure(&self, clients: u32, rate_tps: Option<f64>, signals: &Signals) -> Result<Outcome, Failure> {
        let spec = RunSpec { clients, rate_tps, ..self.spec.clone() };
        let circumstances =
            Circumstances { asks_settings: false, calibrations: None, ..Circumstances::default() };
        let ran = Runner::on(self.target.clone(), spec)?.under(circumstances).run(signals);
        // Ctrl-C reaches the null server too, and then clients may be aborted as well.
        if signals.stop().load(Ordering::Relaxed) {
            return Err(Failure::Interrupted("interrupted; the machine was not calibrated"));
        }
        let outcome = ran?.outcome;
        if let End::CutOff(cut_off) = outcome.end {
            return Err(Failure::Aborted(format!("the machine was not calibrated: {cut_off}")));
        }
        match outcome.aborted.first() {
            Some(first) => Err(Failure::Aborted(format!("the machine was not calibrated: {first}"))),
            None if outcome.summary.total.counts.succeeded == 0 => Err(Failure::Usage(
                "nothing came back in the time: give each step more seconds with -T".to_owned(),
            )),
            None => Ok(outcome),
        }
    }
}

/// What the only worker did.
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

/// The null server in a process of its own; both it and its directory are gone when this is dropped.
struct NullServer {
    child: Child,
    /// How to connect to it.
    conninfo: String,
    _directory: Directory,
}

impl NullServer {
    fn start() -> Result<Self, Failure> {
        let failed = |error| Failure::System { what: "start the null server".to_owned(), error };
        let directory = Directory::new().map_err(failed)?;
        // The path ends with a slash, so that it is taken for a directory whatever it is called.
        let listen = directory.0.join("");
        let mut child = Command::new(std::env::current_exe().map_err(failed)?)
            .arg("null-server")
            .arg("--listen")
            .arg(&listen)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let stdout = child.stdout.take();
        let mut server = Self { child, conninfo: String::new(), _directory: directory };
        let said = stdout.map_or(Ok(0), |stdout| BufReader::new(stdout).read_line(&mut server.conninfo));
        if said.map_err(failed)? == 0 {
            return Err(failed(io::Error::new(io::ErrorKind::UnexpectedEof, "it ended at once")));
        }
        Ok(server)
    }

    /// Where clients go.
    fn target(&self) -> Result<Target, Failure> {
        Ok(connect::resolve(Some(self.conninfo.trim()), &Overrides::default(), &Environment::default())?)
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        // It may have ended by itself: Ctrl-C reaches it too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A directory for a socket, that nobody else may look into.
struct Directory(PathBuf);

impl Directory {
    fn new() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("pgmeter-calibrate-{}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What cannot be removed is an empty directory among temporary ones.
        let _ = fs::remove_dir_all(&self.0);
    }
}
