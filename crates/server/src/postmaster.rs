//! The postmaster of a server as all handles of the server see it: a child of this process, or one that was running
//! before and was adopted. Children are waited for here, so that none remains as a zombie, whose process ID would keep
//! the next start from working.

use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process};

use crate::process::{Postmaster, ShutdownStep, continue_stopped, end_child};

/// A postmaster.
#[derive(Debug)]
pub(crate) enum Running {
    /// Started by this process.
    Child(Child),
    /// Started by another process.
    Adopted(Postmaster),
}

impl Running {
    fn runs(&mut self) -> bool {
        match self {
            Running::Child(child) => matches!(child.try_wait(), Ok(None)),
            Running::Adopted(postmaster) => postmaster.runs(),
        }
    }

    fn pid(&self) -> Pid {
        match self {
            Running::Child(child) => Pid::from_child(child),
            Running::Adopted(postmaster) => postmaster.pid,
        }
    }
}

/// The postmaster of a server, or the last one if it has ended; shared by the server and its handles.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedPostmaster(Arc<Mutex<Option<Running>>>);

impl SharedPostmaster {
    pub(crate) fn new(running: Running) -> Self {
        Self(Arc::new(Mutex::new(Some(running))))
    }

    fn locked(&self) -> MutexGuard<'_, Option<Running>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, child: Child) {
        *self.locked() = Some(Running::Child(child));
    }

    pub(crate) fn is_running(&self) -> bool {
        self.locked().as_mut().is_some_and(Running::runs)
    }

    /// Whether it is, or was, started by another process, which may not wait for it.
    pub(crate) fn is_adopted(&self) -> bool {
        matches!(*self.locked(), Some(Running::Adopted(_)))
    }

    /// Its process ID; also after it has ended by itself.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.locked().as_ref().and_then(|running| u32::try_from(running.pid().as_raw_nonzero().get()).ok())
    }

    /// Sends a signal, if it is running. A child's process ID is not reused until it has been waited for.
    pub(crate) fn send(&self, signal: Signal) -> bool {
        let mut running = self.locked();
        let Some(running) = running.as_mut() else { return false };
        if !running.runs() {
            return false;
        }
        match running {
            Running::Child(child) => kill_process(Pid::from_child(child), signal).is_ok(),
            Running::Adopted(postmaster) => {
                postmaster.send(signal);
                true
            }
        }
    }

    /// Stops it step by step; its process ID if it does not end.
    pub(crate) fn end(&self, data: &Path, steps: &[ShutdownStep]) -> Result<(), i32> {
        let mut slot = self.locked();
        let Some(running) = slot.as_mut() else { return Ok(()) };
        let pid = running.pid().as_raw_nonzero().get();
        continue_stopped(data);
        let has_ended = match running {
            Running::Child(child) => end_child(child, steps),
            Running::Adopted(postmaster) => postmaster.end(steps),
        };
        if !has_ended {
            return Err(pid);
        }
        *slot = None;
        Ok(())
    }
}
