//! A disk whose power can be cut: starts the process that serves it ([`crate::service`]), and unmounts it in the end. Used
//! by `rounds` and by tests, in a mount namespace of their own.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::mount::{UnmountFlags, unmount};

use crate::file_system::{Loss, NewNames, Survival};
use crate::service;

/// The subcommand of this crate's program that serves a file system.
pub const SERVE: &str = "serve";
/// Its option for [`NewNames::WithDirectory`].
pub const STRICT_NAMES: &str = "--strict-names";

/// A mounted disk; unmounted when dropped.
#[derive(Debug)]
pub struct Disk {
    process: Child,
    /// Until the disk is unmounted.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    directory: PathBuf,
}

impl Disk {
    /// Mounts a new one at a new temporary directory. `program` is this crate's.
    ///
    /// # Errors
    /// This process or machine does not permit mounting.
    pub fn mount(program: &Path, new_names: NewNames) -> io::Result<Disk> {
        let mut command = Command::new(program);
        command.arg(SERVE);
        match new_names {
            NewNames::WithFile => {}
            NewNames::WithDirectory => drop(command.arg(STRICT_NAMES)),
        }
        // Ctrl-C at the terminal is for this process, which unmounts in its own time.
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).spawn()?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let output = BufReader::new(output.expect("a pipe was asked for"));
        let mut disk = Disk { process, input, output, directory: PathBuf::new() };
        let said = disk.hear()?;
        let directory = said.strip_prefix(service::MOUNTED);
        disk.directory = directory.map(PathBuf::from).ok_or_else(|| io::Error::other(said.clone()))?;
        Ok(disk)
    }

    /// Where it is mounted.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Process ID of its service.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Makes everything durable.
    ///
    /// # Errors
    /// The serving process has ended.
    pub fn flush_all(&mut self) -> io::Result<()> {
        self.ask(service::Command::FlushAll).and_then(done)
    }

    /// Cuts the power: all operations fail until it is back.
    ///
    /// # Errors
    /// The serving process has ended.
    pub fn power_off(&mut self) -> io::Result<()> {
        self.ask(service::Command::PowerOff).and_then(done)
    }

    /// Brings the power back: what was not durable is gone.
    ///
    /// # Errors
    /// The serving process has ended.
    pub fn power_on(&mut self, survival: Survival) -> io::Result<Loss> {
        let said = self.ask(service::Command::PowerOn(survival))?;
        service::parse_loss(&said).ok_or_else(|| io::Error::other(said))
    }

    fn ask(&mut self, command: service::Command) -> io::Result<String> {
        let input = self.input.as_mut().expect("open until it is dropped");
        writeln!(input, "{}", command.line())?;
        self.hear()
    }

    fn hear(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            let reason = "the process that serves the file system has ended";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, reason));
        }
        Ok(line.trim_end().to_owned())
    }
}

fn done(said: String) -> io::Result<()> {
    if said == "done" { Ok(()) } else { Err(io::Error::other(said)) }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // The end of its input makes it unmount and end.
        drop(self.input.take());
        let ended = self.process.wait();
        if !ended.is_ok_and(|status| status.success()) {
            // It was killed: nobody else unmounts. Fails if nothing is mounted.
            let _ = unmount(&self.directory, UnmountFlags::DETACH);
            let _ = fs::remove_dir(&self.directory);
        }
    }
}
