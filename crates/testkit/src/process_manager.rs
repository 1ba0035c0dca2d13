//! A process manager that speaks PMI-1 over socket pairs, for ranks that are threads or processes of a test. It can be
//! slow, fall silent, hide a rank, and end.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

/// The process manager of one job; ends its connections when dropped.
#[derive(Debug)]
pub struct ProcessManager {
    state: Arc<Mutex<State>>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    /// The manager's ends, by rank.
    streams: Vec<UnixStream>,
    names: BTreeMap<String, String>,
    names_most: usize,
    in_barrier: BTreeSet<usize>,
    finalized: BTreeSet<usize>,
    ended: BTreeSet<usize>,
    abort: Option<String>,
    delay: Duration,
    silent: bool,
}

impl ProcessManager {
    /// Starts one for this number of ranks; returns the ranks' ends of the connections.
    ///
    /// # Panics
    /// The system has no more descriptors.
    pub fn start(ranks: usize) -> (ProcessManager, Vec<UnixStream>) {
        let (ours, theirs): (Vec<UnixStream>, Vec<UnixStream>) =
            (0..ranks).map(|_| UnixStream::pair().expect("a socket pair")).unzip();
        let readers: Vec<UnixStream> =
            ours.iter().map(|stream| stream.try_clone().expect("a descriptor")).collect();
        let state = Arc::new(Mutex::new(State { streams: ours, ..State::default() }));
        let serve = |(rank, stream)| {
            let state = Arc::clone(&state);
            std::thread::spawn(move || serve(rank, stream, &state))
        };
        let threads = readers.into_iter().enumerate().map(serve).collect();
        (ProcessManager { state, threads }, theirs)
    }

    /// Runs a program as these ranks, as mpiexec would; `describe` makes the command of a rank.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn spawn(ranks: usize, describe: impl Fn(usize) -> Command) -> (ProcessManager, Vec<Child>) {
        /// A descriptor above the standard streams that a shell can name.
        const DESCRIPTOR: &str = "9";
        let (manager, streams) = ProcessManager::start(ranks);
        let start = |(rank, stream)| {
            let inner = describe(rank);
            // A descriptor is handed over as standard input: the standard library can do no other without `unsafe`.
            let mut command = Command::new("sh");
            command.args(["-c", "exec 9<&0 0</dev/null; exec \"$@\"", "sh"]).arg(inner.get_program());
            command.args(inner.get_args()).stdin(Stdio::from(OwnedFd::from(stream)));
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            for (name, value) in inner.get_envs() {
                match value {
                    Some(value) => command.env(name, value),
                    None => command.env_remove(name),
                };
            }
            if let Some(directory) = inner.get_current_dir() {
                command.current_dir(directory);
            }
            command
                .env("PMI_FD", DESCRIPTOR)
                .env("PMI_RANK", rank.to_string())
                .env("PMI_SIZE", ranks.to_string());
            command.spawn().expect("a process")
        };
        let children = streams.into_iter().enumerate().map(start).collect();
        (manager, children)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panicked")
    }

    /// Waits this long before each reply.
    pub fn set_delay(&self, delay: Duration) {
        self.state().delay = delay;
    }

    /// Answers nothing any more, as a process that is stopped or behind a dead link.
    pub fn fall_silent(&self) {
        self.state().silent = true;
    }

    /// Says from now on that these ranks ended, as Hydra does with -disable-auto-cleanup.
    pub fn report_ended(&self, ranks: &[usize]) {
        self.state().ended = ranks.iter().copied().collect();
    }

    /// Closes all connections.
    pub fn end(&self) {
        for stream in &self.state().streams {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Writes bytes to a rank that are no reply of this manager.
    ///
    /// # Panics
    /// The rank is gone.
    pub fn inject(&self, rank: usize, bytes: &[u8]) {
        (&self.state().streams[rank]).write_all(bytes).expect("the rank reads");
    }

    /// The largest number of values that were published at one time.
    pub fn names_most(&self) -> usize {
        self.state().names_most
    }

    /// The line of a request to abort, if one came.
    pub fn abort_line(&self) -> Option<String> {
        self.state().abort.clone()
    }

    /// The ranks that finalized.
    pub fn finalized(&self) -> BTreeSet<usize> {
        self.state().finalized.clone()
    }
}

impl Drop for ProcessManager {
    fn drop(&mut self) {
        self.end();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Answers one rank until it or the manager ends the connection.
fn serve(rank: usize, stream: UnixStream, state: &Mutex<State>) {
    let Ok(mut writer) = stream.try_clone() else { return };
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { return };
        assert!(line.len() < 1024, "Slurm could not read a line of {} bytes", line.len());
        let delay = state.lock().expect("no thread panicked").delay;
        std::thread::sleep(delay);
        let mut state = state.lock().expect("no thread panicked");
        let reply = state.reply(rank, &line);
        let closes = line == "cmd=finalize";
        if !state.silent && !reply.is_empty() && writer.write_all(format!("{reply}\n").as_bytes()).is_err() {
            return;
        }
        if closes {
            return;
        }
    }
}

impl State {
    /// The reply to a line, in the words of MPICH 4.0.2's Hydra; empty if the reply is not known yet.
    fn reply(&mut self, rank: usize, line: &str) -> String {
        let field = |name: &str| line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let service = || field("service").unwrap_or_default().to_owned();
        match field("cmd").unwrap_or_default() {
            "init" => "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0".to_owned(),
            "get_my_kvsname" => "cmd=my_kvsname kvsname=kvs_1_0_2_test".to_owned(),
            "publish_name" => {
                let value = field("port").unwrap_or_default().to_owned();
                if self.names.insert(service(), value).is_some() {
                    return "cmd=publish_result info=ok rc=1 msg=key_already_present".to_owned();
                }
                self.names_most = self.names_most.max(self.names.len());
                "cmd=publish_result info=ok rc=0 msg=success".to_owned()
            }
            "unpublish_name" => match self.names.remove(&service()) {
                Some(_) => "cmd=unpublish_result info=ok rc=0 msg=success".to_owned(),
                None => "cmd=unpublish_result info=ok rc=1 msg=service_not_found".to_owned(),
            },
            "lookup_name" => match self.names.get(&service()) {
                Some(value) => format!("cmd=lookup_result port={value} info=ok rc=0 msg=success"),
                None => "cmd=lookup_result rc=1 msg=service_not_found".to_owned(),
            },
            "get" => {
                let ended: Vec<String> = self.ended.iter().map(usize::to_string).collect();
                format!("cmd=get_result rc=0 msg=success value={}", ended.join(","))
            }
            "barrier_in" => {
                self.in_barrier.insert(rank);
                if self.in_barrier.len() == self.streams.len() {
                    self.in_barrier.clear();
                    for stream in self.streams.iter().filter(|_| !self.silent) {
                        let _ = (&*stream).write_all(b"cmd=barrier_out\n");
                    }
                }
                String::new()
            }
            "finalize" => {
                self.finalized.insert(rank);
                "cmd=finalize_ack".to_owned()
            }
            "abort" => {
                self.abort = Some(line.to_owned());
                self.streams.iter().for_each(|stream| drop(stream.shutdown(std::net::Shutdown::Both)));
                String::new()
            }
            other => format!("cmd={other} rc=-1 msg=unknown"),
        }
    }
}
