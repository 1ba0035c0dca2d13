//! `cargo xtask causes`: loads whose limit is known because of how they were made, on servers of two versions, on an idle
//! machine and beside programs that take all its CPUs. Compares the verdict and the nearest limit of each run with its
//! true cause. The table goes to standard output, in Markdown.

mod answer;
mod list;
mod surroundings;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use self::answer::Answer;
use self::list::{CAUSES, Cause, Files, SETUP, Way};
use self::surroundings::{OtherPrograms, Pooler, Relay, SlowDisk};
use crate::managed_server::{ManagedServer, make_traversable, program};

const USAGE: &str = "usage: cargo xtask causes [--versions=15,18] [--seconds=6] [--load=idle,busy] [--pgmeter=PATH] \
     [CAUSE …]\nWithout a CAUSE, all are tried: ";

/// Buffers of the servers: less than the large table, more than all others.
const SHARED_BUFFERS: &str = "shared_buffers=32MB";
/// Seconds of load before measuring.
const WARMUP: &str = "1";

/// The options of the command line.
#[derive(Debug, PartialEq, Eq)]
struct Options<'a> {
    pgmeter: PathBuf,
    versions: Vec<&'a str>,
    seconds: &'a str,
    loads: Vec<MachineLoad>,
    /// Names of causes; all if empty.
    names: Vec<&'a str>,
}

/// What else runs on the machine.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum MachineLoad {
    Idle,
    /// As many busy programs as CPUs.
    Busy,
}

impl MachineLoad {
    fn name(self) -> &'static str {
        match self {
            MachineLoad::Idle => "idle",
            MachineLoad::Busy => "busy",
        }
    }
}

/// Tries the causes; false if an answer was wrong, or a run failed.
pub(crate) fn run(arguments: &[&str]) -> bool {
    let Some(options) = Options::parse(arguments) else {
        eprintln!("{USAGE}{}", CAUSES.map(|cause| cause.name).join(", "));
        return false;
    };
    match options.run() {
        Ok(rows) => {
            print!("{}", answer::table(&rows));
            rows.iter().all(|row| !row.answer.is_wrong())
        }
        Err(reason) => {
            eprintln!("causes: {reason}");
            false
        }
    }
}

/// A row of the table.
struct Row {
    cause: &'static str,
    version: String,
    load: MachineLoad,
    answer: Answer,
}

impl<'a> Options<'a> {
    fn parse(arguments: &[&'a str]) -> Option<Self> {
        let mut options = Self {
            pgmeter: crate::root().join("target/release/pgmeter"),
            versions: vec!["15", "18"],
            seconds: "6",
            loads: vec![MachineLoad::Idle, MachineLoad::Busy],
            names: Vec::new(),
        };
        for argument in arguments {
            match argument.split_once('=') {
                // It is started in another directory.
                Some(("--pgmeter", path)) => options.pgmeter = std::path::absolute(path).ok()?,
                Some(("--versions", versions)) => options.versions = versions.split(',').collect(),
                Some(("--seconds", seconds)) => {
                    seconds.parse::<u16>().ok().filter(|seconds| *seconds > 0)?;
                    options.seconds = seconds;
                }
                Some(("--load", "idle")) => options.loads = vec![MachineLoad::Idle],
                Some(("--load", "busy")) => options.loads = vec![MachineLoad::Busy],
                Some(("--load", "idle,busy")) => {}
                None if CAUSES.iter().any(|cause| cause.name == *argument) => options.names.push(argument),
                _ => return None,
            }
        }
        Some(options)
    }

    fn run(&self) -> Result<Vec<Row>, String> {
        let mut rows = Vec::new();
        for version in &self.versions {
            let directory =
                tempfile::Builder::new().prefix("pgmeter-causes-").tempdir().map_err(|e| e.to_string())?;
            make_traversable(directory.path())?;
            let bench = Bench::start(self, directory.path(), version)?;
            let is_wanted = |cause: &&Cause| self.names.is_empty() || self.names.contains(&cause.name);
            for cause in CAUSES.iter().filter(is_wanted) {
                for load in &self.loads {
                    let answer = bench.answer(cause, *load)?;
                    eprintln!("{}, {version}, {}: {}", cause.name, load.name(), answer.summary());
                    rows.push(Row { cause: cause.what, version: (*version).to_owned(), load: *load, answer });
                }
            }
        }
        Ok(rows)
    }
}

/// A server with the tables of all causes.
struct Bench<'a> {
    options: &'a Options<'a>,
    directory: &'a Path,
    server: ManagedServer<'a>,
}

impl<'a> Bench<'a> {
    fn start(options: &'a Options<'a>, directory: &'a Path, version: &str) -> Result<Self, String> {
        // Debian's programs, where they are installed, need no download.
        let installed = format!("/usr/lib/postgresql/{version}/bin");
        let programs = if Path::new(&installed).is_dir() {
            ["--bin-dir", &installed]
        } else {
            ["--pg-version", version]
        };
        let install = [programs.as_slice(), &["--set", SHARED_BUFFERS]].concat();
        let server = ManagedServer::start(&options.pgmeter, directory, "causes", &install)?;
        let bench = Self { options, directory, server };
        bench.execute(SETUP)?;
        Ok(bench)
    }

    /// Executes SQL once.
    fn execute(&self, sql: &str) -> Result<(), String> {
        let file = self.directory.join("setup.sql");
        std::fs::write(&file, sql).map_err(|error| error.to_string())?;
        let mut command = self.pgmeter();
        command.args(["bench", "--no-vacuum", "-t", "1", "--observe", "off", "-P", "none", "-f"]);
        succeed(command.arg(file).arg(&self.server.dsn)).map(|_| ())
    }

    fn pgmeter(&self) -> Command {
        program(&self.options.pgmeter, self.directory)
    }

    fn answer(&self, cause: &Cause, load: MachineLoad) -> Result<Answer, String> {
        let programs = cause.other_programs + usize::from(load == MachineLoad::Busy);
        for setting in cause.settings {
            self.execute(&format!("ALTER SYSTEM SET {setting};\nSELECT pg_reload_conf();\n"))?;
        }
        if cause.files == Files::NotCached {
            self.execute("CHECKPOINT;\n")?;
            surroundings::drop_cached_files(&self.data().join("base"))?;
        }
        let answer = {
            let _others = OtherPrograms::start(programs)?;
            self.measured(cause)
        };
        for setting in cause.settings {
            let name = setting.split(' ').next().unwrap_or_default();
            self.execute(&format!("ALTER SYSTEM RESET {name};\nSELECT pg_reload_conf();\n"))?;
        }
        answer
    }

    /// The server's data directory.
    fn data(&self) -> PathBuf {
        self.directory.join("state/servers/causes/data")
    }

    fn measured(&self, cause: &Cause) -> Result<Answer, String> {
        let _disk = match cause.is_disk_slow.then(|| SlowDisk::start(&self.data())) {
            Some(Err(error)) => {
                let reason = "it needs root, and control groups (version 1) that limit the disk";
                return Ok(Answer::NotTried(format!("{reason}: {error}")));
            }
            Some(Ok(disk)) => Some(disk),
            None => None,
        };
        let dsn = &self.server.dsn;
        let (mut relay, mut pooler) = (None, None);
        let target = match cause.way {
            Way::Direct => dsn.clone(),
            Way::Relay => {
                let relay = relay.insert(Relay::start(self.pgmeter(), self.directory, dsn)?);
                relay.dsn.clone()
            }
            Way::Pooler => match Pooler::start(self.directory, dsn)? {
                Ok(started) => pooler.insert(started).dsn.clone(),
                Err(reason) => return Ok(Answer::NotTried(reason)),
            },
        };
        let [script, record] = ["cause.sql", "cause.json"].map(|name| self.directory.join(name));
        std::fs::write(&script, cause.script()).map_err(|error| error.to_string())?;
        let mut command = self.pgmeter();
        command.args(["bench", "--no-vacuum", "-P", "none", "--warmup", WARMUP, "-T", self.options.seconds]);
        command.args(cause.load).arg("-f").arg(&script).arg("-o").arg(&record);
        succeed(command.arg(format!("{target} options='{}'", cause.session_options)))?;
        let report = succeed(self.pgmeter().arg("report").arg(&record))?;
        let text = std::fs::read_to_string(&record).map_err(|error| error.to_string())?;
        let record = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        drop((relay, pooler));
        Ok(Answer::new(&record, &report, cause))
    }
}

/// Runs a program; returns its standard output.
fn succeed(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_versions_and_loads_are_chosen() {
        let all = Options::parse(&[]).expect("all causes");
        assert_eq!((all.versions.len(), all.loads.len(), all.names.len()), (2, 2, 0));
        let words = ["--versions=18", "--seconds=5", "--load=busy", "row-locks", "network"];
        let some = Options::parse(&words).expect("two causes");
        assert_eq!((some.versions, some.seconds), (vec!["18"], "5"));
        assert_eq!((some.loads, some.names), (vec![MachineLoad::Busy], vec!["row-locks", "network"]));
        for wrong in ["--seconds=0", "--load=some", "luck", "--versions"] {
            assert_eq!(Options::parse(&[wrong]), None, "{wrong}");
        }
    }
}
