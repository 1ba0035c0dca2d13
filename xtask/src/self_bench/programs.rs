//! pgbench and pgmeter on the same load: their command lines, and their reports as figures.
//! Both run on one thread; which loads there are is the experiments' business.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::processes::{self, Ended};

const MICROS_PER_SECOND: f64 = 1e6;

/// The environment variable by which pgmeter is told how to wait for its sockets.
const EVENT_LOOP: &str = "PGMETER_EVENT_LOOP";

/// How pgmeter waits for its sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventLoop {
    /// As it chooses itself.
    Auto,
    Epoll,
}

/// Who runs a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    Pgbench,
    Pgmeter(EventLoop),
}

/// How long a load goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Until {
    Seconds(u32),
    /// Of each client.
    Transactions(u32),
}

/// What is run.
#[derive(Clone, Debug)]
pub(super) enum Script {
    /// `-S -M prepared`.
    SelectOnly,
    File(PathBuf),
}

/// A load that both programs understand; on one thread.
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub(super) conninfo: String,
    pub(super) clients: u32,
    pub(super) until: Until,
    pub(super) script: Script,
    /// Starts scheduled per second.
    pub(super) rate: Option<u32>,
}

impl Load {
    /// Select-only, prepared, for this long.
    pub(super) fn select_only(conninfo: &str, clients: u32, until: Until) -> Self {
        let script = Script::SelectOnly;
        Self { conninfo: conninfo.to_owned(), clients, until, script, rate: None }
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments: Vec<String> = ["-n", "-j", "1", "-c"].map(str::to_owned).into();
        arguments.push(self.clients.to_string());
        match self.until {
            Until::Seconds(seconds) => arguments.extend(["-T".to_owned(), seconds.to_string()]),
            Until::Transactions(count) => arguments.extend(["-t".to_owned(), count.to_string()]),
        }
        match &self.script {
            Script::SelectOnly => arguments.extend(["-S", "-M", "prepared"].map(str::to_owned)),
            Script::File(path) => arguments.extend(["-f".to_owned(), path.display().to_string()]),
        }
        if let Some(rate) = self.rate {
            arguments.extend(["-R".to_owned(), rate.to_string()]);
        }
        arguments.push(self.conninfo.clone());
        arguments
    }
}

/// What one run of one program gave.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) tps: f64,
    pub(super) transactions: f64,
    pub(super) cpu_s: f64,
    /// Until all clients were connected.
    pub(super) connecting_s: f64,
    /// How pgmeter waited for its sockets, if it says so.
    pub(super) event_loop: Option<String>,
}

/// The installed programs.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    pub(super) pgbench: Result<PathBuf, String>,
    pub(super) pgmeter: PathBuf,
    /// Where pgmeter puts its records, each removed once read.
    pub(super) records: PathBuf,
}

impl Programs {
    /// # Errors
    /// Why there is no pgbench.
    pub(super) fn pgbench(&self) -> Result<&Path, String> {
        self.pgbench.as_deref().map_err(Clone::clone)
    }

    /// Runs a load.
    ///
    /// # Errors
    /// It fails, or its report is not understood.
    pub(super) fn run(&self, program: Program, load: &Load) -> Result<Run, String> {
        match program {
            Program::Pgbench => {
                let ended = processes::run(Command::new(self.pgbench()?).args(load.arguments()))?;
                pgbench_run(&ended)
            }
            Program::Pgmeter(event_loop) => {
                let (record, ended) = self.record(event_loop, load)?;
                pgmeter_run(&record, ended.cpu_s).ok_or_else(|| "the record was not understood".to_owned())
            }
        }
    }

    /// Runs a load with pgmeter, for its record.
    pub(super) fn record(&self, event_loop: EventLoop, load: &Load) -> Result<(Value, Ended), String> {
        self.record_of(&mut self.bench(event_loop, load))
    }

    /// Runs a command made by [`Programs::bench`], for its record.
    pub(super) fn record_of(&self, bench: &mut Command) -> Result<(Value, Ended), String> {
        let ended = processes::run(bench)?;
        let path = only_file(&self.records)?;
        let complain = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let json = fs::read_to_string(&path).map_err(|error| complain(&error))?;
        fs::remove_file(&path).map_err(|error| complain(&error))?;
        let record = serde_json::from_str(&json).map_err(|error| complain(&error))?;
        Ok((record, ended))
    }

    /// pgmeter's command for a load.
    pub(super) fn bench(&self, event_loop: EventLoop, load: &Load) -> Command {
        let mut command = Command::new(&self.pgmeter);
        command.args(["bench", "--progress", "0", "--results"]).arg(&self.records).args(load.arguments());
        match event_loop {
            EventLoop::Auto => command.env_remove(EVENT_LOOP),
            EventLoop::Epoll => command.env(EVENT_LOOP, "epoll"),
        };
        command
    }

    /// CPU time in µs that a program spends on a transaction more: that of the run, without that of a run which
    /// connects as many clients for one transaction each.
    pub(super) fn cpu_us_per_transaction(&self, program: Program, load: &Load) -> Result<(f64, Run), String> {
        let first = self.run(program, &Load { until: Until::Transactions(1), ..load.clone() })?;
        let run = self.run(program, load)?;
        let more = run.transactions - first.transactions;
        Ok(((run.cpu_s - first.cpu_s) * MICROS_PER_SECOND / more.max(1.0), run))
    }
}

/// What pgbench's report says.
fn pgbench_run(ended: &Ended) -> Result<Run, String> {
    let number = |start: &str| {
        let rest = ended.stdout.lines().find_map(|line| line.strip_prefix(start))?;
        rest.trim().split([' ', '/']).next()?.parse::<f64>().ok()
    };
    let understood = || {
        Some(Run {
            tps: number("tps = ")?,
            transactions: number("number of transactions actually processed: ")?,
            cpu_s: ended.cpu_s,
            connecting_s: number("initial connection time = ")? / 1e3,
            event_loop: None,
        })
    };
    understood().ok_or_else(|| format!("pgbench's report was not understood:\n{}", ended.stdout))
}

/// What pgmeter's record says.
fn pgmeter_run(record: &Value, cpu_s: f64) -> Option<Run> {
    let summary = &record["summary"];
    Some(Run {
        tps: summary["tps"].as_f64()?,
        transactions: summary["counts"]["succeeded"].as_f64()?,
        cpu_s,
        connecting_s: record["connection_time_s"].as_f64()?,
        event_loop: summary["generator"]["event_loop"]["name"].as_str().map(str::to_owned),
    })
}

/// The record that lies there; what else lies there is the store.
fn only_file(directory: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut records = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    match (records.next(), records.next()) {
        (Some(record), None) => Ok(record),
        _ => Err(format!("{} does not hold exactly one record", directory.display())),
    }
}

/// PGBENCH, or the newest of Debian's, or the one on the PATH.
pub(super) fn find_pgbench() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("PGBENCH") {
        let path = PathBuf::from(named);
        let missing = || format!("PGBENCH names {}, which is no file", path.display());
        return if path.is_file() { Ok(path) } else { Err(missing()) };
    }
    let mut packaged: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin/pgbench")))
        })
        .filter(|(_, path)| path.is_file())
        .collect();
    packaged.sort();
    let on_path = std::env::var_os("PATH");
    let on_path = on_path.iter().flat_map(std::env::split_paths).map(|folder| folder.join("pgbench"));
    packaged
        .pop()
        .map(|(_, path)| path)
        .or_else(|| on_path.into_iter().find(|path| path.is_file()))
        .ok_or_else(|| {
            "no pgbench found: install PostgreSQL's client programs, or name it by PGBENCH=…".to_owned()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "transaction type: <builtin: select only>\nscaling factor: 1\n\
        number of transactions actually processed: 400/400\nnumber of failed transactions: 0 (0.000%)\n\
        latency average = 0.135 ms\ninitial connection time = 1.520 ms\n\
        tps = 29706.646862 (without initial connection time)\n";

    #[test]
    fn the_report_of_pgbench_is_read() {
        let ended = |stdout: &str| Ended { stdout: stdout.to_owned(), wall_s: 1.0, cpu_s: 0.5 };
        let run = pgbench_run(&ended(REPORT)).expect("a report");
        assert_eq!((run.tps, run.transactions, run.cpu_s), (29_706.646_862, 400.0, 0.5));
        assert_eq!(run.connecting_s, 0.001_52);
        let by_time = REPORT.replace("400/400", "4711");
        assert_eq!(pgbench_run(&ended(&by_time)).map(|run| run.transactions), Ok(4711.0));
        assert!(pgbench_run(&ended("pgbench: error")).is_err());
    }

    #[test]
    fn a_record_is_read_whether_or_not_it_names_an_event_loop() {
        let mut record: Value = serde_json::from_str(
            r#"{"connection_time_s": 0.25, "summary": {"tps": 2.5, "counts": {"succeeded": 5}}}"#,
        )
        .expect("JSON");
        let run = pgmeter_run(&record, 0.5).expect("a record");
        assert_eq!((run.tps, run.transactions, run.connecting_s, run.event_loop), (2.5, 5.0, 0.25, None));
        record["summary"]["generator"]["event_loop"]["name"] = "epoll".into();
        assert_eq!(pgmeter_run(&record, 0.5).and_then(|run| run.event_loop), Some("epoll".to_owned()));
        assert!(pgmeter_run(&Value::Null, 0.5).is_none());
    }

    #[test]
    fn a_load_is_the_same_words_for_both_programs() {
        let mut load = Load::select_only("host=/x", 64, Until::Seconds(2));
        assert_eq!(load.arguments().join(" "), "-n -j 1 -c 64 -T 2 -S -M prepared host=/x");
        load.rate = Some(100);
        load.until = Until::Transactions(3);
        load.script = Script::File("a.sql".into());
        assert_eq!(load.arguments().join(" "), "-n -j 1 -c 64 -t 3 -f a.sql -R 100 host=/x");
    }
}
