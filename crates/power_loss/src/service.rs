//! The process that serves the file system. Its owner writes commands to its standard input, one a line, and reads one
//! line for each. When the owner has gone, however it ended, this process ends what still runs in the mount, unmounts it
//! and removes its directory. It never enters the mount itself: a process that waits for its own answer cannot even be
//! killed.

use std::fs;
use std::io::{self, BufRead, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::file_system::{FileSystem, Loss, NewNames, Survival};
use crate::mount::{PoweredDisk, mount};
use crate::pages::PageLoss;

/// A cluster has 40 MB, and WAL; a test that writes more than this has an error.
const CAPACITY_BYTES: u64 = 2 << 30;

/// How long a server whose owner was killed may take to end in order: a killed one leaves shared memory.
const END_LIMIT: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// Begins the first line, which goes on with the directory.
pub const MOUNTED: &str = "mounted ";

/// What the owner asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Make everything durable.
    FlushAll,
    /// Fail all operations from now on.
    PowerOff,
    /// Forget what is not durable, and go on.
    PowerOn(Survival),
}

impl Command {
    /// The line for it.
    pub fn line(self) -> String {
        match self {
            Command::FlushAll => "flush".to_owned(),
            Command::PowerOff => "off".to_owned(),
            Command::PowerOn(Survival::Nothing) => "on".to_owned(),
            Command::PowerOn(Survival::Some(seed)) => format!("on {seed}"),
        }
    }

    fn parse(line: &str) -> Option<Command> {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["flush"] => Some(Command::FlushAll),
            ["off"] => Some(Command::PowerOff),
            ["on"] => Some(Command::PowerOn(Survival::Nothing)),
            ["on", seed] => Some(Command::PowerOn(Survival::Some(seed.parse().ok()?))),
            _ => None,
        }
    }
}

/// The answer to [`Command::PowerOn`].
fn loss_line(loss: Loss) -> String {
    let Loss { pages: PageLoss { forgotten, survived }, changes_forgotten, changes_survived, files_gone } =
        loss;
    format!("{forgotten} {survived} {changes_forgotten} {changes_survived} {files_gone}")
}

/// Reads the answer to [`Command::PowerOn`].
pub fn parse_loss(line: &str) -> Option<Loss> {
    let numbers: Vec<u64> = line.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
    let [forgotten, survived, changes_forgotten, changes_survived, files_gone] = numbers[..] else {
        return None;
    };
    Some(Loss { pages: PageLoss { forgotten, survived }, changes_forgotten, changes_survived, files_gone })
}

/// Mounts a new file system at a new temporary directory and obeys until the input ends.
///
/// # Errors
/// It cannot be mounted or unmounted, or the owner does not listen.
pub fn serve(new_names: NewNames, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let directory = tempfile::Builder::new().prefix("pgmeter-power-loss-").tempdir()?;
    let disk = Arc::new(Mutex::new(PoweredDisk::new(FileSystem::new(new_names, CAPACITY_BYTES))));
    let mounted = mount(&disk, directory.path())?;
    let answered = writeln!(output, "{MOUNTED}{}", directory.path().display())
        .and_then(|()| output.flush())
        .and_then(|()| answer(&disk, input, &mut output));
    for signal in [Signal::QUIT, Signal::KILL] {
        end_processes_in(directory.path(), signal);
    }
    // Files that are still open do not prevent it; they get errors from now on.
    let unmounted = unmount(directory.path(), UnmountFlags::DETACH);
    drop(mounted);
    answered.and(unmounted.map_err(io::Error::from)).and(directory.close())
}

fn answer(disk: &Mutex<PoweredDisk>, input: impl BufRead, output: &mut impl Write) -> io::Result<()> {
    for line in input.lines() {
        let line = line?;
        let mut disk = disk.lock().unwrap_or_else(PoisonError::into_inner);
        let said = match Command::parse(&line) {
            Some(Command::FlushAll) => {
                disk.file_system().flush_all();
                "done".to_owned()
            }
            Some(Command::PowerOff) => {
                disk.set_power(false);
                "done".to_owned()
            }
            Some(Command::PowerOn(survival)) => {
                let loss = disk.file_system().lose_power(survival);
                disk.set_power(true);
                loss_line(loss)
            }
            None => format!("unknown command \"{line}\""),
        };
        writeln!(output, "{said}")?;
        output.flush()?;
    }
    Ok(())
}

/// Sends a signal to the processes that work in a directory (servers whose owner was killed), and waits until they have
/// ended, or for the limit.
fn end_processes_in(directory: &Path, signal: Signal) {
    let processes = processes_in(directory);
    for process in &processes {
        // Fails if it has ended. A stopped process does not react to other signals.
        let _ = pidfd_send_signal(process, signal);
        let _ = pidfd_send_signal(process, Signal::CONT);
    }
    for process in &processes {
        let ended = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&END_LIMIT));
        if !ended.is_ok_and(|ended| ended > 0) {
            return;
        }
    }
}

/// Looking at their directories needs no answer of the file system.
fn processes_in(directory: &Path) -> Vec<OwnedFd> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        // The handle is opened first: if the process ends meanwhile, a signal reaches no other one.
        let handle = number.and_then(Pid::from_raw).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
        if let Some(Ok(handle)) = handle
            && fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(directory))
        {
            found.push(handle);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_answers_are_read_as_they_were_written() {
        for command in [
            Command::FlushAll,
            Command::PowerOff,
            Command::PowerOn(Survival::Nothing),
            Command::PowerOn(Survival::Some(u64::MAX)),
        ] {
            assert_eq!(Command::parse(&command.line()), Some(command));
        }
        for wrong in ["", "on x", "on 1 2", "flush 1"] {
            assert_eq!(Command::parse(wrong), None, "{wrong}");
        }
        let pages = PageLoss { forgotten: 1, survived: 2 };
        let loss = Loss { pages, changes_forgotten: 3, changes_survived: 4, files_gone: 5 };
        assert_eq!(parse_loss(&loss_line(loss)), Some(loss));
        assert_eq!(parse_loss("1 2 3 4"), None);
    }
}
