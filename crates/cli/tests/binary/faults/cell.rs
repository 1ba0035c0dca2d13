//! Carries out one cell of the fault matrix: starts the command, lets the fault strike, and compares its end with the
//! row.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use results::{Record, Status, Store, TrialStatus};
use ring::{Options, Ring};
use rustix::process::Signal;

use super::ground::{Ground, NotTried, Struck, disk_for_servers, tables};
use super::matrix::{Ending, Fault, Kept, Row, Tried};
use crate::harness::{Bench, Finished, Running};
use crate::processes::processes_of;

/// What a crowded machine may take beyond a limit; a command that hangs exceeds it.
const SLACK: Duration = Duration::from_secs(30);
/// Exit statuses of comparisons: B is no worse, worse, or it is undecided.
const VERDICTS: [i32; 3] = [0, 5, 3];
/// A run of 3 s that is still going on so long after the fault does not end by itself.
const HANGS_AFTER: Duration = Duration::from_secs(8);
/// To see whether the machine has io_uring.
const SMALL_RING: Options = Options { slots: 1, buffers: 1, buffer_bytes: 4096 };
/// More than the kernel takes at once from a client over the loopback device.
const SLOW_BYTES: usize = 4 << 20;
/// More of an output than this says nothing new.
const OUTPUT_MAX: usize = 4000;

/// How a cell went.
pub(crate) enum Verdict {
    /// As the row has it, or else with these complaints.
    Tried {
        took: Duration,
        ended: String,
        complaints: Vec<String>,
    },
    /// Not on this machine.
    NotTried(String),
    NotApplicable(&'static str),
}

/// Runs a cell.
pub(crate) fn run(row: &Row, event_loop: &'static str) -> Verdict {
    if let Ending::NotApplicable(reason) = row.ending {
        return Verdict::NotApplicable(reason);
    }
    if event_loop == "io_uring"
        && let Err(error) = Ring::new(SMALL_RING)
    {
        return Verdict::NotTried(format!("this machine has no io_uring for us: {error}"));
    }
    match Cell::new(row, event_loop).and_then(|cell| cell.run()) {
        Ok(verdict) => verdict,
        Err(NotTried(reason)) => Verdict::NotTried(reason),
    }
}

struct Cell<'a> {
    row: &'a Row,
    event_loop: &'static str,
    /// Before the folder, which the server's disk is mounted in.
    ground: Option<Ground>,
    bench: Bench,
}

impl<'a> Cell<'a> {
    fn new(row: &'a Row, event_loop: &'static str) -> Result<Self, NotTried> {
        let bench = Bench::new();
        let is_on_own = row.tried == Tried::Quickstart;
        let ground = if is_on_own { None } else { Some(Ground::new(&bench, row.fault)?) };
        Ok(Self { row, event_loop, ground, bench })
    }

    fn run(mut self) -> Result<Verdict, NotTried> {
        let Row { fault, tried, limit_s, .. } = *self.row;
        let own_disk = match (fault, tried) {
            (Fault::DiskFull, Tried::Quickstart) => Some(disk_for_servers(&self.bench.path().join("state"))?),
            _ => None,
        };
        let mut command = self.command()?;
        let is_there_before = matches!(fault, Fault::DiskFull | Fault::SlowReader)
            || (fault, tried) == (Fault::LockHeld, Tried::Init);
        let mut complaints = Vec::new();
        let mut since = Instant::now();
        let mut held = None;
        if (fault, tried) == (Fault::LockHeld, Tried::Init) {
            held = self.ground.as_mut().map(|ground| ground.struck().lock_for_init());
        }
        let mut run = Running::start(&mut command);
        if !is_there_before {
            let struck = match &mut self.ground {
                Some(ground) => ground.struck(),
                None => Struck::of_quickstart(&self.bench, &mut run),
            };
            let load = struck.await_load(fault, tried, &mut run);
            since = Instant::now();
            match load {
                Some(load) => held = struck.strike(fault, tried, load),
                None => complaints.push("the load never began".to_owned()),
            }
        }
        if matches!(self.row.ending, Ending::Hangs) {
            if wait(&mut run, since, HANGS_AFTER) {
                complaints.push("it ended by itself".to_owned());
            } else {
                run.signal(Signal::INT);
            }
        }
        if !wait(&mut run, since, Duration::from_secs(limit_s) + SLACK) {
            run.signal(Signal::KILL);
            complaints.push(format!("it had not ended {} s after the fault", since.elapsed().as_secs()));
        }
        let took = since.elapsed();
        let out = run.finish();
        drop(held);
        complaints.extend(self.compare(&out));
        complaints.extend(self.left());
        drop(own_disk);
        if !complaints.is_empty() {
            complaints.push(output(&out));
        }
        Ok(Verdict::Tried { took, ended: ended(out.status), complaints })
    }

    /// The command of the row, ready to be started.
    fn command(&self) -> Result<Command, NotTried> {
        let Row { fault, tried, .. } = *self.row;
        // No end depends on the throughput.
        let is_slow = fault == Fault::SlowReader && tried != Tried::Compare;
        let pause = match tried {
            // The drop-in names the command in which a client is; none, if it sleeps.
            Tried::Pgbench if !is_slow => "\nSELECT pg_sleep(0.005) /* the load */;\n",
            _ if is_slow => "\n\\sleep 200 ms\n",
            _ => "\n\\sleep 5 ms\n",
        };
        self.bench.file("load.sql", &(script(fault, tried) + pause));
        self.bench.file("tables.sql", &tables(fault));
        let conninfo = self.ground.as_ref().map(Ground::conninfo).unwrap_or_default();
        let is_paused = fault == Fault::ServerPaused;
        // Where transactions come to their end, they are given the usual time.
        let is_patient = is_paused || fault == Fault::SlowReader;
        let grace: &[&str] = if is_patient { &[] } else { &["--grace", "1s"] };
        let load = ["-n", "-c", "4", "-T", "3", "-f", "load.sql", &conninfo];
        let mut command = match tried {
            Tried::Bench => self.bench.command(["bench"].iter().chain(&load).chain(grace)),
            Tried::Lab => {
                self.bench.file("faults.toml", &experiment(&conninfo, is_patient));
                self.bench.command(["lab", "run", "faults.toml"])
            }
            Tried::Compare => {
                let words = ["compare", "--factor", "settings.geqo=on,off", "--key", "workload=none"];
                let more = [
                    "--key",
                    "setup=tables.sql",
                    "-c",
                    "4",
                    "-f",
                    "load.sql",
                    "--dsn",
                    &conninfo,
                    "--budget",
                    "10s",
                ];
                self.bench.command(words.iter().chain(&more).chain(grace))
            }
            Tried::Init => {
                let scale = if fault == Fault::SlowReader { "1" } else { "30" };
                self.bench.command(["init", "-s", scale, &conninfo])
            }
            Tried::Quickstart => {
                let scale = if fault == Fault::DiskFull { "100" } else { "1" };
                let words = ["quickstart", "--scale", scale, "--duration", "3", "--warmup", "0"];
                self.bench.command(words.iter().chain(grace))
            }
            Tried::Pgbench if self.event_loop == "original" => {
                let installed = testkit::pgbench::find();
                let program = installed.ok_or_else(|| NotTried("no pgbench is installed".to_owned()))?;
                self.bench.program(&program, load)
            }
            Tried::Pgbench => self.bench.pgbench(load),
        };
        if tried != Tried::Init {
            command.env("PGMETER_EVENT_LOOP", self.event_loop);
        }
        command.env("PGMETER_CONTROL_TIMEOUT", if is_patient { "60" } else { "2" });
        Ok(command)
    }

    /// Compares an end with the row.
    fn compare(&self, out: &Finished) -> Vec<String> {
        let mut complaints = Vec::new();
        let (statuses, says, kept): (&[i32], _, _) = match &self.row.ending {
            Ending::Exits(status, says, kept) => (std::slice::from_ref(status), *says, *kept),
            Ending::Judges(says) => (&VERDICTS, *says, Kept::Comparison),
            Ending::Hangs | Ending::NotApplicable(_) => (&[], "", Kept::Nothing),
        };
        let is_right = out.status.code().map_or(statuses.is_empty(), |status| statuses.contains(&status));
        if !is_right {
            let should =
                statuses.iter().map(ToString::to_string).reduce(|all, one| format!("{all} or {one}"));
            let should = should.unwrap_or_else(|| "SIGINT".to_owned());
            complaints.push(format!("it ended with {}, not {should}", ended(out.status)));
        }
        // Lines are broken where the terminal ends.
        let said = format!("{} {}", out.stdout, out.stderr);
        let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
        if !says.split('|').any(|words| said.contains(words)) {
            complaints.push(format!("it does not say \"{says}\""));
        }
        if said.contains("panicked") {
            complaints.push("it panicked".to_owned());
        }
        complaints.extend(self.compare_kept(kept));
        complaints
    }

    fn compare_kept(&self, kept: Kept) -> Vec<String> {
        let records = self.bench.records();
        let mut complaints: Vec<String> =
            records.iter().filter_map(|record| self.complain_of_run(record)).collect();
        let is_failed = |record: &Record| matches!(record.status, Status::Failed { .. });
        let path = self.bench.path().join("pgmeter-results/results.sqlite");
        let comparison = Store::open(&path).ok().is_some_and(|store| store.comparison(1).is_ok());
        let is_right = match kept {
            Kept::Nothing => records.is_empty() && !comparison,
            Kept::Comparison => comparison,
            Kept::Complete => {
                !records.is_empty() && records.iter().all(|record| record.status == Status::Complete)
            }
            Kept::Failed => records.iter().any(is_failed),
        };
        if !is_right {
            let states: Vec<_> = records.iter().map(|record| &record.status).collect();
            complaints.push(format!("kept: {states:?}, a comparison: {comparison}; not {kept:?}"));
        }
        if self.row.tried == Tried::Lab {
            complaints.extend(self.compare_trial(&path, kept));
        }
        complaints
    }

    fn compare_trial(&self, store: &Path, kept: Kept) -> Option<String> {
        let row = Store::create(store).and_then(|mut store| store.newest_experiment("faults", "full"));
        let states: Vec<TrialStatus> = row.ok().flatten()?.trials.iter().map(|trial| trial.status).collect();
        let should = if kept == Kept::Complete { TrialStatus::Complete } else { TrialStatus::Failed };
        (states != [should]).then(|| format!("the trial is {states:?}, not {should:?}"))
    }

    /// A run on another event loop than was asked for, or whose server did not read slowly.
    fn complain_of_run(&self, record: &Record) -> Option<String> {
        let generator = record.summary.generator.as_ref()?;
        let ran = generator.event_loop.name.name();
        if ran != self.event_loop {
            return Some(format!("it ran on {ran}, not on {}", self.event_loop));
        }
        let is_slow = self.row.fault == Fault::SlowReader;
        (is_slow && generator.held_back.sends == 0).then(|| "no send was held back".to_owned())
    }

    /// What is left behind: processes, servers, and sessions of a server that still answers.
    fn left(&mut self) -> Vec<String> {
        let mut left: Vec<String> = processes_of(&self.bench);
        left.extend(self.bench.servers_left());
        let is_alive = !matches!(self.row.fault, Fault::ServerKilled);
        if let Some(ground) = self.ground.as_mut().filter(|_| is_alive) {
            if self.row.fault == Fault::ServerStopped {
                ground.resume();
            }
            left.extend(ground.left());
        }
        left.into_iter().map(|what| format!("left behind: {what}")).collect()
    }
}

/// Waits for an end until so long after something; whether it came.
fn wait(run: &mut Running, since: Instant, limit: Duration) -> bool {
    while since.elapsed() < limit {
        if run.has_ended() {
            return true;
        }
        // Not to give it time, but to leave it the processor.
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

fn script(fault: Fault, tried: Tried) -> String {
    // In a block of a comparison, which takes a second, transactions have to come to their end.
    let slow_bytes = if tried == Tried::Compare { SLOW_BYTES / 8 } else { SLOW_BYTES };
    match fault {
        Fault::DiskFull => {
            "INSERT INTO filler SELECT md5(random()::text) FROM generate_series(1, 20000) /* the load */;"
                .to_owned()
        }
        // The script itself is short, because a debug build reads text slowly.
        Fault::SlowReader => format!(
            "SELECT quote_literal(repeat('x', {slow_bytes})) AS text \\gset\nSELECT length(:text) /* the load */;"
        ),
        _ => "UPDATE load SET n = n + 1 WHERE id = :client_id /* the load */;".to_owned(),
    }
}

fn experiment(conninfo: &str, is_patient: bool) -> String {
    let grace = if is_patient { "auto" } else { "1s" };
    format!(
        "name = \"faults\"\n[server]\ndsn = \"{conninfo}\"\n[load]\nscript = \"load.sql\"\nclients = 4\n\
         duration = \"3s\"\nwarmup = \"0s\"\nsetup = \"tables.sql\"\ngrace = \"{grace}\"\n[data]\nworkload = \"none\"\n\
         [design]\nrepeats = 1\n"
    )
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    }
}

fn output(out: &Finished) -> String {
    let all = format!("stdout:\n{}\nstderr:\n{}", out.stdout, out.stderr);
    all.chars().take(OUTPUT_MAX).collect()
}
