//! What surrounds a load: busy programs, a relay, a slow PgBouncer, a slow disk, and files that are not in the kernel's memory. All ends
//! when its value is dropped.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::list::DISK_IOPS;

/// Programs that only compute.
pub(super) struct OtherPrograms {
    _programs: Vec<Running>,
}

/// A process that is killed if it did not end by itself.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // One that serves ends with its standard input.
        let _ = self.0.stdin.take().is_none().then(|| self.0.kill());
        let _ = self.0.wait();
    }
}

impl OtherPrograms {
    /// `per_cpu` programs for each CPU.
    pub(super) fn start(per_cpu: usize) -> Result<Self, String> {
        let cpus = std::thread::available_parallelism().map_err(|error| error.to_string())?.get();
        let start = |_| {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
            command.spawn().map(Running).map_err(|error| format!("sh: {error}"))
        };
        (0..cpus * per_cpu).map(start).collect::<Result<_, _>>().map(|programs| Self { _programs: programs })
    }
}

/// pgmeter's relay.
pub(super) struct Relay {
    pub(super) dsn: String,
    _process: Running,
}

impl Relay {
    pub(super) fn start(mut pgmeter: Command, directory: &Path, dsn: &str) -> Result<Self, String> {
        let listen = format!("{}/", make_directory(directory, "relay")?);
        let to = format!("{}/.s.PGSQL.{}", word(dsn, "host="), word(dsn, "port="));
        pgmeter.args(["relay", "--listen", &listen, "--to", &to, "--delay", "5ms"]);
        let started = pgmeter.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = started.map(Running).map_err(|error| format!("relay: {error}"))?;
        let mut line = String::new();
        if let Some(stdout) = process.0.stdout.take() {
            // It prints how to connect once it listens.
            BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        Ok(Self { dsn: format!("{} user=postgres dbname=postgres", line.trim()), _process: process })
    }
}

/// A PgBouncer that is slower than the server: the kernel gives it a fifth of a CPU and no more (`SCHED_DEADLINE`).
pub(super) struct Pooler {
    pub(super) dsn: String,
    _process: Running,
}

/// Its time of a CPU in each period, in nanoseconds.
const RUNTIME_NS: &str = "2000000";
const PERIOD_NS: &str = "10000000";
/// Waits for its socket, and each of them.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(50);
const PORT: &str = "6432";

impl Pooler {
    /// The inner error is the reason why this machine cannot have one.
    pub(super) fn start(directory: &Path, dsn: &str) -> Result<Result<Self, String>, String> {
        // PgBouncer starts a thread, which the kernel allows only without this policy.
        let deadline =
            ["--reset-on-fork", "--deadline", "--sched-runtime", RUNTIME_NS, "--sched-deadline", PERIOD_NS];
        let chrt = |words: &[&str]| {
            let mut command = Command::new("chrt");
            command.args(deadline).args(["--sched-period", PERIOD_NS, "0"]).args(words);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command
        };
        if !chrt(&["pgbouncer", "--version"]).status().is_ok_and(|status| status.success()) {
            return Ok(Err("it needs root, chrt and pgbouncer".to_owned()));
        }
        let host = make_directory(directory, "pooler")?;
        let (server_host, server_port) = (word(dsn, "host="), word(dsn, "port="));
        let configuration = format!(
            "[databases]\npostgres = host={server_host} port={server_port} user=postgres\n[pgbouncer]\nlisten_addr =\n\
             listen_port = {PORT}\nunix_socket_dir = {host}\nauth_type = any\npool_mode = session\n\
             default_pool_size = 50\nignore_startup_parameters = options,extra_float_digits\nuser = postgres\n"
        );
        let file = directory.join("pgbouncer.ini");
        std::fs::write(&file, configuration).map_err(|error| error.to_string())?;
        let started = chrt(&["pgbouncer", "--quiet", &file.display().to_string()]).spawn();
        let process = started.map(Running).map_err(|error| format!("chrt: {error}"))?;
        let socket = format!("{host}/.s.PGSQL.{PORT}");
        for _ in 0..TRIES {
            if UnixStream::connect(&socket).is_ok() {
                let dsn = format!("host={host} port={PORT} user=postgres dbname=postgres");
                return Ok(Ok(Self { dsn, _process: process }));
            }
            std::thread::sleep(PAUSE);
        }
        Err(format!("PgBouncer does not listen on {socket}"))
    }
}

/// A directory that the user of a server can write.
fn make_directory(parent: &Path, name: &str) -> Result<String, String> {
    use std::os::unix::fs::PermissionsExt;
    let path = parent.join(name);
    std::fs::create_dir_all(&path)
        .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path.display().to_string())
}

/// The value of a keyword in a connection string without quoted blanks.
fn word<'a>(dsn: &'a str, name: &str) -> &'a str {
    dsn.split(' ').find_map(|word| word.strip_prefix(name)).unwrap_or_default().trim_matches('\'')
}

/// A limit of the operations of a server on its disk, by a control group of its processes.
pub(super) struct SlowDisk {
    group: PathBuf,
}

const GROUPS: &str = "/sys/fs/cgroup/blkio";

impl SlowDisk {
    pub(super) fn start(data: &Path) -> std::io::Result<Self> {
        let group = Path::new(GROUPS).join(format!("pgmeter-causes-{}", std::process::id()));
        std::fs::create_dir(&group)?;
        let disk = Self { group };
        let device = Command::new("stat").args(["-c", "%Hd:%Ld"]).arg(data).output()?;
        let device = String::from_utf8_lossy(&device.stdout).trim().to_owned();
        for limit in ["blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device"] {
            std::fs::write(disk.group.join(limit), format!("{device} {DISK_IOPS}"))?;
        }
        let lines = std::fs::read_to_string(data.join("postmaster.pid"))?;
        let postmaster = lines.lines().next().unwrap_or_default().to_owned();
        let children = std::fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children"))?;
        std::fs::write(disk.group.join("cgroup.procs"), &postmaster)?;
        for process in children.split_whitespace() {
            // One that has ended meanwhile needs no limit.
            let _ = std::fs::write(disk.group.join("cgroup.procs"), process);
        }
        Ok(disk)
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        let processes = std::fs::read_to_string(self.group.join("cgroup.procs")).unwrap_or_default();
        for process in processes.split_whitespace() {
            let _ = std::fs::write(Path::new(GROUPS).join("cgroup.procs"), process);
        }
        let _ = std::fs::remove_dir(&self.group);
    }
}

/// Writes the files below a directory to disk, and removes them from the page cache.
pub(super) fn drop_cached_files(directory: &Path) -> Result<(), String> {
    let mut found = Command::new("find");
    found.arg(directory).args(["-type", "f", "-size", "+1M", "-exec", "sync", "{}", ";"]);
    found.args(["-exec", "dd", "if={}", "iflag=nocache", "count=0", "status=none", ";"]);
    super::succeed(&mut found).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_connection_string_are_read() {
        let dsn = "host='/tmp/a' port=5433 user=postgres";
        assert_eq!((word(dsn, "host="), word(dsn, "port=")), ("/tmp/a", "5433"));
        assert_eq!(word(dsn, "dbname="), "");
    }
}
