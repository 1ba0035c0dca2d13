//! The guard of a temporary server: a small process that outlives a killed owner, stops the server and removes its
//! home. It waits on a pipe whose write end only the owner holds, so it detects every end of the owner, including `kill
//! -9`. If the guard cannot run or is killed too, `sweep` cleans up later.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use crate::files::create;
use crate::patience::wait_for;
use crate::tablespaces::Tablespace;

/// Message that dismisses the guard; an end of the pipe without it means that the owner has gone.
const DISMISSAL: &[u8] = b"done\n";

/// Time limit of the guard's work: initdb is allowed to finish, and a server may stop slowly.
const WORK_LIMIT: Duration = Duration::from_secs(60);

/// Whether a process belongs to the server: it is a postgres whose working directory is the data directory, or a
/// PgBouncer in the directory of a pooler; see `process`.
const OURS: &str = r#"
ours() {
  name=
  { read -r name < "$1/comm"; } 2>/dev/null
  case $name in
    pgbouncer*)
      case $(readlink "$1/cwd") in "$home"/pooler-*) return 0 ;; *) return 1 ;; esac ;;
    postgres) ;;
    *) return 1 ;;
  esac
  case $(readlink "$1/exe") in */postgres|*'/postgres (deleted)') ;; *) return 1 ;; esac
  case $(readlink "$1/cwd") in "$data"|"$data (deleted)") ;; *) return 1 ;; esac
}
"#;

/// Continues the processes of a paused server whose owner has gone. Argument: the data directory, in which no pooler is.
const RESUME_SCRIPT: &str = r#"
read -r word && [ "$word" = done ] && exit 0
home=$1 data=$1
for process in /proc/[0-9]*; do
  if ours "$process"; then kill -CONT "${process#/proc/}"; fi
done
"#;

/// Arguments: the directories of home, socket and tablespaces. initdb is allowed to finish, because killing it leaves
/// shared memory. A pooler has nothing to finish, and older ones ignore SIGQUIT if a shell started pgmeter in the
/// background.
const SCRIPT: &str = r#"
read -r word && [ "$word" = done ] && exit 0
home=$1 data=$1/data
shift
initializing() {
  for process in /proc/[0-9]*; do
    name=
    { read -r name < "$process/comm"; } 2>/dev/null
    if [ "$name" = initdb ] && [ "$(readlink "$process/cwd")" = "$home" ]; then return 0; fi
  done
  return 1
}
tell() {
  for process in /proc/[0-9]*; do
    if ours "$process"; then
      case $name in pgbouncer*) signal=KILL ;; *) signal=$1 ;; esac
      kill "-$signal" "${process#/proc/}"; kill -CONT "${process#/proc/}"; any=yes
    fi
  done
}
round=0
while [ "$round" -lt 300 ] && initializing; do
  round=$((round + 1))
  sleep 0.1 || sleep 1
done
round=0
while [ "$round" -lt 100 ]; do
  any=no
  if [ "$round" -lt 60 ]; then tell QUIT; else tell KILL; fi
  if [ "$any" = no ]; then
    # Not every rm works on open directories: nobody else is to exchange what is below for links.
    chmod 700 "$home"
    rm -rf -- "$home" "$@" && exit 0
  fi
  round=$((round + 1))
  sleep 0.1 || sleep 1
done
"#;

/// Guards one server until it is dismissed or dropped; both end the guard.
#[derive(Debug)]
pub(crate) struct Guard {
    process: Child,
    pipe: Option<ChildStdin>,
}

impl Guard {
    /// Starts the guard of a home; `None` if the system has no `/proc` or no shell.
    pub(crate) fn over(home: &Path, sockets: &Path, tablespaces: &[Tablespace]) -> Option<Guard> {
        if !Path::new("/proc/self/cwd").exists() {
            return None;
        }
        // A process that can open this file can hold the lock.
        let lock = create(&lock_of(home), 0o600, "").ok()?;
        lock.try_lock().ok()?;
        let mut command = shell(SCRIPT);
        command
            .args([home.canonicalize().ok()?, sockets.canonicalize().ok()?])
            .args(tablespaces.iter().map(|tablespace| &tablespace.directory))
            // The guard inherits the lock with the file; it is released when the last of its processes has ended.
            .stderr(lock);
        Self::of(command)
    }

    fn of(mut command: Command) -> Option<Guard> {
        let mut process = command.spawn().ok()?;
        let pipe = process.stdin.take();
        Some(Guard { process, pipe })
    }

    /// Ends the guard: the server has stopped, or is to stay.
    pub(crate) fn dismiss(mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            // Fails if the guard was killed, in which case there is nothing to dismiss.
            let _ = pipe.write_all(DISMISSAL);
        }
        let _ = self.process.wait();
    }
}

/// Continues a paused server if this process is killed, until it is dismissed or dropped; both end the guard, and
/// dropping it continues the server.
#[derive(Debug)]
pub(crate) struct ResumeGuard(Guard);

impl ResumeGuard {
    /// `None` if the system has no `/proc` or no shell.
    pub(crate) fn over(data: &Path) -> Option<ResumeGuard> {
        if !Path::new("/proc/self/cwd").exists() {
            return None;
        }
        let mut command = shell(RESUME_SCRIPT);
        command.arg(data.canonicalize().ok()?).stderr(Stdio::null());
        Guard::of(command).map(ResumeGuard)
    }

    /// Ends the guard: the server has been continued.
    pub(crate) fn dismiss(self) {
        self.0.dismiss();
    }
}

/// A shell that executes a script in an environment that others cannot influence.
fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .arg("-c")
        .arg(format!("{OURS}{script}"))
        .arg("pgmeter-guard")
        .env_clear()
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        // Ctrl-C at the terminal must reach only the owner.
        .process_group(0);
    command
}

fn lock_of(home: &Path) -> PathBuf {
    home.join("guard.lock")
}

/// Waits until no guard works in a home whose owner has gone, because concurrent cleanups conflict.
pub(crate) fn await_end(home: &Path) {
    let Ok(lock) = File::open(lock_of(home)) else { return };
    wait_for(WORK_LIMIT, || lock.try_lock().ok());
}
