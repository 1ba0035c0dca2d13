//! A handle on a running server, for faults: shuts it down, kills, pauses and starts it, while its owner uses it
//! otherwise. It never reaches processes of others: a process belongs to the server only if it is a `postgres` whose
//! working directory is the data directory.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use connect::{Environment, Overrides, Session, StatementLimit, resolve};
use rustix::process::Signal;

use crate::account::Account;
use crate::guard::ResumeGuard;
use crate::home::{Description, Home, LockedHome, homes, remove_file};
use crate::launch::{self, PortChoice};
use crate::patience::{Deadline, StopFlag, wait_for};
use crate::postmaster::{Running, SharedPostmaster};
use crate::process::{self, Postmaster};
use crate::{Locations, ServerError, recovery, trust};

/// Time limits of the ways to shut down that do not wait for the sessions' own ends.
const FAST_LIMIT: Duration = Duration::from_secs(60);
const IMMEDIATE_LIMIT: Duration = Duration::from_secs(15);
/// Time for a killed postmaster to end.
const KILL_LIMIT: Duration = Duration::from_secs(10);
/// Time for the children of a killed postmaster to notice its end, before they are ended.
const ORPHANS_LIMIT: Duration = Duration::from_secs(5);
/// Interval of checks whether a server has ended.
const LOOK: Duration = Duration::from_millis(5);

/// PostgreSQL's ways to shut down a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// SIGTERM: waits until all sessions have ended.
    Smart,
    /// SIGINT: ends all sessions, and writes a checkpoint.
    Fast,
    /// SIGQUIT: ends all processes at once; the next start recovers.
    Immediate,
}

/// A handle on a server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ServerHandle {
    pub(crate) home: Home,
    pub(crate) about: Description,
    pub(crate) account: Account,
    pub(crate) stop: StopFlag,
    pub(crate) postmaster: SharedPostmaster,
    /// Whether its processes are continued and ended if this process is killed.
    pub(crate) is_guarded: bool,
    /// Continues the processes of a paused server, if nothing else does when this process is killed.
    pub(crate) resume_guard: Arc<Mutex<Option<ResumeGuard>>>,
    /// For an adopted server, which has no other owner in this process.
    pub(crate) _claim: Option<Arc<LockedHome>>,
}

impl ServerHandle {
    /// The running permanent server whose Unix socket is in this directory with this port, if pgmeter manages it; from
    /// then on, no other process of pgmeter can stop or start it.
    ///
    /// # Errors
    /// Another user can change the directory of the servers; another process has claimed the server.
    pub fn adopt(
        socket_directory: &std::path::Path,
        port: u16,
        locations: &Locations,
    ) -> Result<Option<Self>, ServerError> {
        let Ok(wanted) = socket_directory.canonicalize() else { return Ok(None) };
        trust::check_directory(&homes(locations), "PGMETER_STATE_DIR")?;
        for home in Home::all(locations)? {
            let Ok(Some(about)) = home.read() else { continue };
            let is_it = about.kept
                && about.port == port
                && about.socket_directory.canonicalize().is_ok_and(|directory| directory == wanted);
            if !is_it {
                continue;
            }
            let claim = home.claim()?;
            let Some(postmaster) = Postmaster::of(&home.data()) else { return Ok(None) };
            let root = rustix::process::geteuid().is_root();
            let account = Account::choose(root.then_some(about.server_user.as_str()))?;
            return Ok(Some(Self {
                home,
                about,
                account,
                stop: StopFlag::default(),
                postmaster: SharedPostmaster::new(Running::Adopted(postmaster)),
                is_guarded: false,
                resume_guard: Arc::default(),
                _claim: Some(Arc::new(claim)),
            }));
        }
        Ok(None)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.home.name
    }

    /// See [`crate::Server::conninfo`].
    pub fn conninfo(&self) -> String {
        launch::conninfo(&self.about)
    }

    /// Whether its postmaster is running, paused or not.
    pub fn is_running(&self) -> bool {
        self.postmaster.is_running()
    }

    fn check_running(&self) -> Result<(), ServerError> {
        if self.is_running() { Ok(()) } else { Err(ServerError::NotRunning { name: self.home.name.clone() }) }
    }

    /// Shuts it down and waits until its postmaster has ended. A smart shutdown, which may take for ever, is waited for
    /// until `is_over`.
    ///
    /// # Errors
    /// It is not running; it does not end in time; [`ServerError::Interrupted`] if the wait is over first.
    pub fn shut_down(&self, how: Shutdown, is_over: &dyn Fn() -> bool) -> Result<(), ServerError> {
        let (signal, limit) = match how {
            Shutdown::Smart => (Signal::TERM, None),
            Shutdown::Fast => (Signal::INT, Some(FAST_LIMIT)),
            Shutdown::Immediate => (Signal::QUIT, Some(IMMEDIATE_LIMIT)),
        };
        self.check_running()?;
        self.postmaster.send(signal);
        let deadline = limit.map(Deadline::after);
        while self.is_running() {
            if (limit.is_none() && is_over()) || self.stop.is_set() {
                return Err(ServerError::Interrupted);
            }
            if deadline.is_some_and(Deadline::has_passed) {
                let seconds = limit.unwrap_or_default().as_secs();
                return Err(ServerError::ShutdownTooSlow { name: self.home.name.clone(), seconds });
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Kills its postmaster. Its children notice that and end.
    ///
    /// # Errors
    /// It is not running, or does not end.
    pub fn kill(&self) -> Result<(), ServerError> {
        self.check_running()?;
        self.postmaster.send(Signal::KILL);
        wait_for(KILL_LIMIT, || (!self.is_running()).then_some(())).ok_or_else(|| ServerError::WillNotEnd {
            name: self.home.name.clone(),
            pid: self.postmaster.pid().and_then(|pid| i32::try_from(pid).ok()).unwrap_or_default(),
            directory: self.home.directory.clone(),
        })
    }

    /// Kills one of its processes; false if there is no such process.
    pub fn kill_process(&self, pid: i32) -> bool {
        process::kill_one(&self.home.data(), pid)
    }

    /// Stops all its processes (SIGSTOP), the postmaster first, so that it starts no others.
    ///
    /// # Errors
    /// It is not running; nothing would continue it if this process were killed.
    pub fn pause(&self) -> Result<(), ServerError> {
        self.check_running()?;
        if !self.is_guarded {
            let mut guard = self.resume_guard.lock().unwrap_or_else(PoisonError::into_inner);
            // Dropping the guard of an earlier pause would continue the server.
            if guard.is_none() {
                *guard = Some(ResumeGuard::over(&self.home.data()).ok_or(ServerError::NoGuard)?);
            }
        }
        self.postmaster.send(Signal::STOP);
        process::stop_all(&self.home.data());
        Ok(())
    }

    /// Continues all its processes. Not an error if they are running.
    pub fn resume(&self) {
        process::continue_stopped(&self.home.data());
        let guard = self.resume_guard.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(guard) = guard {
            guard.dismiss();
        }
    }

    /// Starts it again with the same data directory and the same port, and waits until it accepts connections. Not an
    /// error if it is running.
    ///
    /// # Errors
    /// The start fails, with the end of its log.
    pub fn start(&self) -> Result<(), ServerError> {
        if self.is_running() {
            return Ok(());
        }
        let data = self.home.data();
        if wait_for(ORPHANS_LIMIT, || process::has_ended(&data).then_some(())).is_none() {
            process::end_remaining_processes(&data);
        }
        if self.postmaster.is_adopted() {
            self.remove_locks()?;
        }
        let mut about = self.about.clone();
        let child = launch::launch(&self.home, &mut about, &self.account, &self.stop, PortChoice::Same)?;
        self.postmaster.set(child);
        Ok(())
    }

    /// Removes the lock files of an adopted server that has ended. Its parent may not have waited for it, and then its
    /// process ID seems to be in use. The server's user removes them, because it can replace them by links.
    fn remove_locks(&self) -> Result<(), ServerError> {
        let program = std::path::Path::new("/bin/rm");
        let lock = format!(".s.PGSQL.{}.lock", self.about.port);
        let mut command = self.account.command(program, &self.home.directory);
        command
            .args(["-f", "--"])
            .args([self.home.data().join("postmaster.pid"), self.about.socket_directory.join(lock)])
            .stdin(Stdio::null());
        // If they are still there, the start fails and says so.
        launch::run(&mut command, KILL_LIMIT).map(drop).map_err(ServerError::io("run", program))
    }

    /// A session of a server that may not answer.
    pub(crate) fn session_within(&self, limit: Duration) -> Result<Session, connect::ConnectError> {
        let conninfo = format!("{} connect_timeout={}", self.conninfo(), limit.as_secs());
        let target = resolve(Some(&conninfo), &Overrides::default(), &Environment::default())?;
        let mut session = Session::connect(&target)?;
        session.set_statement_limit(StatementLimit::Within(limit));
        Ok(session)
    }

    fn log_tail(&self) -> String {
        launch::tail(&self.home.file(crate::home::LOG))
    }

    /// See [`crate::Server::promote`].
    ///
    /// # Errors
    /// See there.
    pub fn promote(&self, limit: Duration) -> Result<(), ServerError> {
        let name = self.about.upstream.as_ref().map(|upstream| upstream.name.clone()).unwrap_or_default();
        if !self.is_running() || !recovery::is_standby(&self.home) {
            return Err(ServerError::NotAStandby { server: self.name().to_owned() });
        }
        let file = recovery::request_promotion(&self.home, &self.account)?;
        // Without effect if it has ended, which is found below.
        self.postmaster.send(Signal::USR1);
        let mut session = None;
        let promoted = wait_for(limit, || {
            if self.stop.is_set() {
                return Some(Err(ServerError::Interrupted));
            }
            if !self.is_running() {
                return Some(Err(ServerError::PromotionFailed { name: name.clone(), log: self.log_tail() }));
            }
            let open = session.take().map_or_else(|| self.session_within(launch::CONNECT_LIMIT), Ok);
            let mut open = open.ok()?;
            let rows = open.query("SELECT pg_is_in_recovery()").ok()?;
            session = Some(open);
            (rows.first()?.get(0) == Some("f")).then_some(Ok(()))
        });
        promoted.unwrap_or_else(|| {
            remove_file(&file)?;
            let seconds = limit.as_secs();
            Err(ServerError::PromotionTooSlow { name: name.clone(), seconds, log: self.log_tail() })
        })
    }
}
