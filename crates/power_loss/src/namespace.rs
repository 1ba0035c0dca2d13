//! A mount namespace: mounts made in it disappear with its last process, however that ends. The program `unshare` makes
//! it, since the system call takes `unsafe`.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Command, Stdio};

/// A command that runs `program` in a mount namespace of its own.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation=private", "--"]).arg(program);
    command
}

/// Why this machine does not permit power losses, if it does not.
pub fn obstacle() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("only root can mount a file system for the server's user".to_owned());
    }
    if let Err(error) = OpenOptions::new().read(true).write(true).open("/dev/fuse") {
        return Some(format!("/dev/fuse cannot be opened: {error}"));
    }
    match command(Path::new("true")).stderr(Stdio::null()).status() {
        Ok(status) if status.success() => None,
        Ok(_) => Some("unshare --mount is not permitted".to_owned()),
        Err(error) => Some(format!("unshare (package util-linux) does not start: {error}")),
    }
}
