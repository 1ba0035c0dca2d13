//! The guard of a temporary server: a small process that outlives a killed owner just long enough to stop the server
//! and remove its home. It waits on a pipe whose other end only the owner holds, so it learns of the owner's end
//! however that came, `kill -9` included. Where it cannot run, or is killed too, `sweep` does its work later.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// What dismisses the guard; the end of the pipe without it means that the owner is gone.
const DISMISSAL: &[u8] = b"done\n";

/// Arguments: the home, the socket's directory. A process is the server's if it is a
/// postgres whose working directory is the data directory; see `process`.
const SCRIPT: &str = r#"
read -r word && [ "$word" = done ] && exit 0
home=$1 data=$1/data sockets=$2
ours() {
  name=
  { read -r name < "$1/comm"; } 2>/dev/null
  [ "$name" = postgres ] || return 1
  case $(readlink "$1/exe") in */postgres|*'/postgres (deleted)') ;; *) return 1 ;; esac
  case $(readlink "$1/cwd") in "$data"|"$data (deleted)") ;; *) return 1 ;; esac
}
tell() {
  for process in /proc/[0-9]*; do
    if ours "$process"; then kill "-$1" "${process#/proc/}"; any=yes; fi
  done
}
round=0
while [ "$round" -lt 100 ]; do
  any=no
  if [ "$round" -eq 0 ]; then tell QUIT; elif [ "$round" -gt 40 ]; then tell KILL; else tell 0; fi
  if [ "$any" = no ]; then
    rm -rf -- "$home" "$sockets"
    [ -e "$home" ] || [ -e "$sockets" ] || exit 0
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
    pub(crate) fn over(home: &Path, sockets: &Path) -> Option<Guard> {
        if !Path::new("/proc/self/cwd").exists() {
            return None;
        }
        let mut process = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "pgmeter-guard"])
            .args([home.canonicalize().ok()?, sockets.canonicalize().ok()?])
            .env_clear()
            .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
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
