//! The guard of a temporary server: a small process that outlives a killed owner just long enough to stop the server
//! and remove its home. It waits on a pipe whose other end only the owner holds, so it learns of the owner's end
//! however that came, `kill -9` included. Where it cannot run, or is killed too, `sweep` does its work later.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use crate::files::create;
use crate::patience::wait_for;
use crate::tablespaces::Tablespace;

/// What dismisses the guard; the end of the pipe without it means that the owner is gone.
const DISMISSAL: &[u8] = b"done\n";

/// How long a guard may be at work: an initdb is let finish, and a server may be slow to end.
const WORK_LIMIT: Duration = Duration::from_secs(60);

/// Arguments: the home, the socket's directory, those of tablespaces. A process is the server's if it is a postgres whose working directory is
/// the data directory; see `process`. An initdb is let finish, because killed in the middle it leaves shared memory.
const SCRIPT: &str = r#"
read -r word && [ "$word" = done ] && exit 0
home=$1 data=$1/data
shift
ours() {
  name=
  { read -r name < "$1/comm"; } 2>/dev/null
  [ "$name" = postgres ] || return 1
  case $(readlink "$1/exe") in */postgres|*'/postgres (deleted)') ;; *) return 1 ;; esac
  case $(readlink "$1/cwd") in "$data"|"$data (deleted)") ;; *) return 1 ;; esac
}
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
    if ours "$process"; then kill "-$1" "${process#/proc/}"; kill -CONT "${process#/proc/}"; any=yes; fi
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

/// Watches over one server until it is dismissed or dropped, which both end it.
#[derive(Debug)]
pub(crate) struct Guard {
    process: Child,
    pipe: Option<ChildStdin>,
}

impl Guard {
    /// Starts the guard of a home; `None` where none can be had (no `/proc`, no shell).
    pub(crate) fn over(home: &Path, sockets: &Path, tablespaces: &[Tablespace]) -> Option<Guard> {
        if !Path::new("/proc/self/cwd").exists() {
            return None;
        }
        // Whoever can open it can hold the lock.
        let lock = create(&lock_of(home), 0o600, "").ok()?;
        lock.try_lock().ok()?;
        let mut process = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "pgmeter-guard"])
            .args([home.canonicalize().ok()?, sockets.canonicalize().ok()?])
            .args(tablespaces.iter().map(|tablespace| &tablespace.directory))
            .env_clear()
            .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // The lock goes over to the guard with the file, and is free when the last of its processes has ended.
            .stderr(lock)
            // Ctrl-C at the terminal is for the owner.
            .process_group(0)
            .spawn()
            .ok()?;
        let pipe = process.stdin.take();
        Some(Guard { process, pipe })
    }

    /// The server needs no guard any more: it is gone, or is to stay.
    pub(crate) fn dismiss(mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            // Fails if somebody killed the guard, which is just as well.
            let _ = pipe.write_all(DISMISSAL);
        }
        let _ = self.process.wait();
    }
}

fn lock_of(home: &Path) -> PathBuf {
    home.join("guard.lock")
}

/// Waits until no guard is at work in a home whose owner is gone: two that clean up at once are in each other's way.
pub(crate) fn await_end(home: &Path) {
    let Ok(lock) = File::open(lock_of(home)) else { return };
    wait_for(WORK_LIMIT, || lock.try_lock().ok());
}
