//! What the tests of real servers share: a place of one's own, the programs, processes that own a server, and looks
//! at what is left.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use connect::{Overrides, Session, resolve};
use rustix::process::{Pid, Signal, kill_process};

use pgmeter_server::{
    Environment, Installation, Locations, Server, ServerOptions, find_pooler, named, obtain,
};

/// How long anything that happens in another process may take.
const LIMIT: Duration = Duration::from_secs(60);
/// Tells a copy of this test program that it is to own a server; its value is the version.
const OWNER: &str = "PGMETER_TEST_OWNER";
/// Follows the version if the owner is to have a pooler too.
pub const WITH_POOLER: &str = "+pooler";
/// An account that exists everywhere and may do nothing.
const NOBODY: u32 = 65534;

/// A state directory of one's own, with the cache of the process.
pub struct Place {
    pub base: tempfile::TempDir,
    pub locations: Locations,
}

impl Place {
    pub fn new() -> Place {
        let base = tempfile::tempdir().unwrap();
        // The user that runs the server must pass through, as through /var/lib.
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let of_process = Locations::from_environment(&Environment::of_process()).unwrap();
        let locations = Locations { state_dir: base.path().join("state"), ..of_process };
        Place { base, locations }
    }

    /// The programs, fetched if the cache does not have them.
    pub fn programs(&self, wanted: &str) -> Installation {
        // Not those that this machine happens to have: all machines test the same.
        let locations = Locations { search_path: Vec::new(), ..self.locations.clone() };
        obtain(wanted, None, &locations, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A small server.
    pub fn start(&self, wanted: &str) -> Server {
        self.try_start(wanted, &small(&[])).unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn try_start(&self, wanted: &str, options: &ServerOptions) -> Result<Server, String> {
        Server::start(&self.programs(wanted), options, &self.locations).map_err(|error| error.to_string())
    }

    /// The names of the homes that are there.
    pub fn homes(&self) -> Vec<String> {
        let entries = fs::read_dir(self.locations.state_dir.join("servers")).into_iter().flatten();
        let names = entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned());
        names.filter(|name| name != ".lock").collect()
    }
}

/// A test that fails may leave a server that was to stay.
impl Drop for Place {
    fn drop(&mut self) {
        for name in self.homes() {
            let _ = named::remove(&name, &self.locations);
        }
        // The guard of a killed owner may be removing the same files.
        let until = Instant::now() + LIMIT;
        while fs::remove_dir_all(self.base.path()).is_err()
            && self.base.path().exists()
            && Instant::now() < until
        {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Options for a server that takes little memory, with further settings.
pub fn small(settings: &[(&str, &str)]) -> ServerOptions {
    let ours = [("shared_buffers", "16MB"), ("max_connections", "20"), ("fsync", "off")];
    let settings = ours.iter().chain(settings).map(|&(name, value)| (name.to_owned(), value.to_owned()));
    ServerOptions { settings: settings.collect(), ..ServerOptions::default() }
}

/// Another process that owns a server, until it is killed.
pub struct Owner {
    process: Child,
    /// Held open: a test program that cannot print fails.
    _output: Box<dyn BufRead>,
    /// The server's postmaster.
    pub postmaster: u32,
    pub port: u16,
}

impl Owner {
    pub fn start(place: &Place, wanted: &str) -> Owner {
        place.programs(wanted.trim_end_matches(WITH_POOLER));
        Owner::run(Command::new(std::env::current_exe().unwrap()), place, wanted)
    }

    /// One that is not root, where this process is root; it has no home but a directory of its own.
    pub fn start_unprivileged(place: &Place, wanted: &str) -> Owner {
        place.programs(wanted);
        let program = place.base.path().join("owner");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        let mut command = Command::new(program);
        if rustix::process::geteuid().is_root() {
            let state = &place.locations.state_dir;
            fs::create_dir_all(state).unwrap();
            std::os::unix::fs::chown(state, Some(NOBODY), Some(NOBODY)).unwrap();
            command.uid(NOBODY).gid(NOBODY);
        }
        Owner::run(command, place, wanted)
    }

    fn run(mut command: Command, place: &Place, wanted: &str) -> Owner {
        let mut process = command
            .args(["--exact", "harness::a_process_that_owns_a_server", "--nocapture"])
            .env(OWNER, wanted)
            .env("PGMETER_STATE_DIR", &place.locations.state_dir)
            .env("PGPASSWORD", "not for the server")
            .env("PGMETER_CACHE_DIR", &place.locations.cache_dir)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("owner: ") {
            line.clear();
            assert_ne!(output.read_line(&mut line).unwrap(), 0, "the owner says what it owns");
        }
        let answer = line.trim_end().trim_start_matches("owner: ");
        let (postmaster, port) = answer.split_once(' ').unwrap();
        Owner {
            process,
            _output: Box::new(output),
            postmaster: postmaster.parse().unwrap(),
            port: port.parse().unwrap(),
        }
    }

    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Kills its guard first, so that nobody is left to clean up.
    pub fn kill_with_guard(&mut self) {
        let pooler = self.pooler();
        let is_guard = |child: &u32| *child != self.postmaster && Some(*child) != pooler;
        for child in children(self.process.id()).into_iter().filter(is_guard) {
            kill(child);
        }
        self.kill();
    }

    /// The process of its pooler.
    pub fn pooler(&self) -> Option<u32> {
        let name = |pid: u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        children(self.process.id()).into_iter().find(|&child| name(child).starts_with("pgbouncer"))
    }

    /// Lets it end in its own way.
    pub fn end(&mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Not a test of its own: the other end of [`Owner`], which runs this program again with a variable set.
#[test]
#[allow(clippy::print_stdout)]
fn a_process_that_owns_a_server() {
    let Ok(wanted) = std::env::var(OWNER) else { return };
    let locations = Locations::from_environment(&Environment::of_process()).unwrap();
    let locations = Locations { search_path: Vec::new(), ..locations };
    let version = wanted.trim_end_matches(WITH_POOLER);
    let installation = obtain(version, None, &locations, &mut |_| {}).unwrap();
    let mut server = Server::start(&installation, &small(&[]), &locations).unwrap();
    let has_pooler = version != wanted;
    let _pooler = has_pooler.then(|| {
        let program = find_pooler(None, &locations).unwrap();
        server.start_pooler(&program, &crate::poolers::options(stats::PoolMode::Transaction)).unwrap()
    });
    println!("\nowner: {} {}", server.pid().unwrap(), server.port());
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
    server.stop_and_remove().unwrap();
}

/// The processes whose parent this is.
fn children(parent: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|&pid| status_line(pid, "PPid:").is_some_and(|value| value == parent.to_string())).collect()
}

fn status_line(pid: u32, name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
}

/// Whether a process is there and has not ended.
pub fn runs(pid: u32) -> bool {
    status_line(pid, "State:").is_some_and(|state| !state.starts_with('Z'))
}

/// A process that a test has started, or the server has for it.
pub fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

/// The System V segment of a running server, from the seventh line of its postmaster.pid.
pub fn shared_memory(server: &Server) -> String {
    let text = fs::read_to_string(server.directory().join("data/postmaster.pid")).unwrap();
    text.lines().nth(6).unwrap().split_whitespace().nth(1).unwrap().to_owned()
}

/// The System V segments that there are on this machine.
pub fn segments() -> Vec<String> {
    let text = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    text.lines().skip(1).map(|line| line.split_whitespace().nth(1).unwrap().to_owned()).collect()
}

/// The user a process runs as.
pub fn user_of(pid: u32) -> u32 {
    let all = status_line(pid, "Uid:").unwrap();
    all.split_whitespace().next().unwrap().parse().unwrap()
}

pub fn listens(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// Waits for something that another process does.
pub fn eventually(what: &str, mut happened: impl FnMut() -> bool) {
    let since = Instant::now();
    while !happened() {
        assert!(since.elapsed() < LIMIT, "{what}: not within {} s", LIMIT.as_secs());
        // Not to give it time, but to leave it the processor.
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn socket(server: &Server) -> PathBuf {
    server.socket_directory().join(format!(".s.PGSQL.{}", server.port()))
}

/// Sockets and other directories of ours in /tmp that belong to this socket directory's server.
pub fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// A session that only the connection string decides about.
pub fn session(conninfo: &str) -> Session {
    let target = resolve(Some(conninfo), &Overrides::default(), &connect::Environment::default()).unwrap();
    Session::connect(&target).unwrap_or_else(|error| panic!("{error}"))
}

/// The first value of the first row.
pub fn ask(session: &mut Session, sql: &str) -> String {
    session.query(sql).unwrap()[0].get(0).unwrap().to_owned()
}
