//! A scratch directory for the tests, and a search for files and running processes that they left in it.
//! The tests get it as their temporary and state directory, so that everything they forget is found there.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::initdb::StandIns;
use crate::memory;

/// The names of pgmeter's own temporary folders begin with this, and so does that of the scratch directory.
const PREFIX: &str = "pgm-";
const CI_PREFIX: &str = "pgm-ci-";
/// The folders inside it that the tests use: for temporary files, for servers, and for the user's data, where a command
/// stores its results that a test gives no other place.
const SUBFOLDERS: [&str; 3] = ["tmp", "state", "data"];
/// All users may create files in the first; pgmeter keeps no server in a directory that another user could change.
const SUBFOLDER_MODES: [u32; 3] = [0o1777, 0o755, 0o755];
/// The folder inside it for servers whose tests read from a disk, also if the others are in memory.
const DISK_SUBFOLDER: &str = "disk";
/// The files of a state folder without servers.
const EMPTY_STATE: [&str; 4] = ["state/servers", "state/servers/.lock", "disk/servers", "disk/servers/.lock"];
/// How long to wait for a server to stop whose owner was killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The scratch directory. [`Scratch::remove`] deletes it; the next start deletes one that was left behind.
pub struct Scratch {
    folder: PathBuf,
    /// Whether the subfolders are file systems in memory.
    is_in_memory: bool,
    /// Other folders of pgmeter that existed before the tests began.
    before: Vec<PathBuf>,
    /// How many commands were started.
    commands: AtomicU32,
}

impl Scratch {
    /// Creates the directory. All users may traverse it: as root, servers run as another user.
    pub fn new() -> io::Result<Scratch> {
        let parent = std::env::temp_dir();
        sweep(&parent)?;
        let folder = parent.join(format!("{CI_PREFIX}{}", std::process::id()));
        std::fs::create_dir_all(folder.join(DISK_SUBFOLDER))?;
        let is_in_memory = memory::may_mount();
        for (inner, mode) in SUBFOLDERS.into_iter().zip(SUBFOLDER_MODES) {
            let path = folder.join(inner);
            std::fs::create_dir_all(&path)?;
            if is_in_memory {
                memory::mount(&path)?;
            }
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))?;
        }
        let before = folders_of_ours(&parent)?;
        Ok(Scratch { folder, is_in_memory, before, commands: AtomicU32::new(0) })
    }

    /// Makes a command and its children use the directory.
    pub fn set_environment(&self, command: &mut Command) {
        let [temporary, state, data] = SUBFOLDERS.map(|inner| self.folder.join(inner));
        command.env("TMPDIR", temporary).env("PGMETER_STATE_DIR", state).env("XDG_DATA_HOME", data);
        command.env("PGMETER_TEST_DISK_DIR", self.folder.join(DISK_SUBFOLDER));
    }

    /// Puts this program in place of initdb, until the returned value is dropped. Without the right to mount, nothing is
    /// replaced.
    pub fn replace_initdb(&self) -> io::Result<StandIns> {
        StandIns::mount(&self.folder, &crate::own_program()?)
    }

    /// Whether the files of the tests are in memory.
    pub fn is_in_memory(&self) -> bool {
        self.is_in_memory
    }

    /// Runs a command; returns its exit status, stdout and stderr. After `limit` it is killed, and all processes that it
    /// started with this directory; then there is no exit status. The output goes through files: a process that a test
    /// forgot would keep a pipe open. Several commands may run at the same time.
    pub fn run(
        &self,
        command: &mut Command,
        limit: Duration,
    ) -> io::Result<(Option<ExitStatus>, String, String)> {
        let number = self.commands.fetch_add(1, Ordering::Relaxed);
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| self.folder.join(format!("{name}-{number}")));
        let mut child = command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?).spawn()?;
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if start.elapsed() > limit {
                child.kill()?;
                child.wait()?;
                self.kill_processes();
                break None;
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        let read = |path: &Path| Ok(String::from_utf8_lossy(&std::fs::read(path)?).into_owned());
        read(&stdout).and_then(|stdout| Ok((status, stdout, read(&stderr)?)))
    }

    fn kill_processes(&self) {
        let processes = processes_of(Path::new("/proc"), &self.folder);
        let ours = std::process::id().to_string();
        let ids = processes.into_iter().map(|(id, _)| id).filter(|id| *id != ours);
        // One that has ended meanwhile is no reason to stop.
        let _ = Command::new("kill").arg("-KILL").args(ids).stderr(Stdio::null()).status();
    }

    /// Files and processes that remain, one line each; waits for those that are about to end.
    pub fn leftovers(&self) -> io::Result<Vec<String>> {
        let start = Instant::now();
        loop {
            let processes = processes_of(Path::new("/proc"), &self.folder);
            let still_runs = |(id, command)| format!("process {id} still runs: {command}");
            let mut found: Vec<String> = processes.into_iter().map(still_runs).collect();
            found.extend(files_below(&self.folder)?);
            let parent = self.folder.parent().unwrap_or(&self.folder);
            let beside = folders_of_ours(parent)?.into_iter().filter(|path| !self.before.contains(path));
            found.extend(beside.map(|path| path.display().to_string()));
            if found.is_empty() || start.elapsed() > STOP_TIMEOUT {
                return Ok(found);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Deletes the directory and everything in it.
    pub fn remove(self) -> io::Result<()> {
        if self.is_in_memory {
            SUBFOLDERS.iter().for_each(|inner| memory::unmount(&self.folder.join(inner)));
        }
        std::fs::remove_dir_all(&self.folder)
    }
}

/// Deletes the scratch directories of runs that were killed.
fn sweep(parent: &Path) -> io::Result<()> {
    for path in folders_of_ours(parent)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(process) = name.strip_prefix(CI_PREFIX) else { continue };
        if !Path::new("/proc").join(process).exists() {
            // A directory of another user stays.
            let _ = std::fs::remove_dir_all(&path);
        }
    }
    Ok(())
}

fn folders_of_ours(parent: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(parent)?.collect::<io::Result<Vec<_>>>()?;
    let is_ours =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    Ok(entries.into_iter().map(|entry| entry.path()).filter(is_ours).collect())
}

/// Files at the first level of the subfolders, and those in a state folder that an empty one does not have.
fn files_below(folder: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> =
        SUBFOLDERS.iter().chain(&[DISK_SUBFOLDER]).map(|inner| folder.join(inner)).collect();
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next)? {
            let path = entry?.path();
            if !EMPTY_STATE.iter().any(|kept| path == folder.join(kept)) {
                let inner =
                    std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.file_name());
                let inner: Vec<String> = inner.map(|name| name.to_string_lossy().into_owned()).collect();
                let contents =
                    if inner.is_empty() { String::new() } else { format!(" with {}", inner.join(", ")) };
                found.push(format!("{}{contents}", path.display()));
            } else if path.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(found)
}

/// The ids and commands of processes that work in `folder`, or were started with its path in their command line or environment.
/// Processes of other users show neither, and cannot be ours unless we are root.
fn processes_of(proc: &Path, folder: &Path) -> Vec<(String, String)> {
    let needle = folder.display().to_string();
    let Ok(entries) = std::fs::read_dir(proc) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let process = entry.file_name().to_string_lossy().into_owned();
        if process.parse::<u32>().is_err() {
            continue;
        }
        let text = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
        let command = String::from_utf8_lossy(&text("cmdline")).replace('\0', " ");
        let works_there =
            std::fs::read_link(entry.path().join("cwd")).is_ok_and(|path| path.starts_with(folder));
        let environment = String::from_utf8_lossy(&text("environ")).into_owned();
        if works_there || command.contains(&needle) || environment.contains(&needle) {
            found.push((process, command.trim().to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST_LIMIT: Duration = Duration::from_secs(60);

    /// A folder of its own for each test, gone with it.
    struct Temporary(PathBuf);

    impl Temporary {
        fn new(name: &str) -> Temporary {
            let path = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).expect("a temporary folder");
            Temporary(path)
        }
    }

    impl Scratch {
        fn at(folder: &Path) -> Scratch {
            let commands = AtomicU32::new(0);
            Scratch { folder: folder.to_owned(), is_in_memory: false, before: Vec::new(), commands }
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).expect("the folder is ours");
        }
    }

    #[test]
    fn a_forgotten_file_is_found() {
        let place = Temporary::new("files");
        let folders = SUBFOLDERS.iter().chain(&[DISK_SUBFOLDER]);
        folders.for_each(|inner| std::fs::create_dir_all(place.0.join(inner)).expect("a folder"));
        assert_eq!(files_below(&place.0).expect("readable"), [""; 0]);
        std::fs::write(place.0.join("tmp/forgotten"), "").expect("writable");
        assert!(files_below(&place.0).expect("readable")[0].ends_with("/tmp/forgotten"));
    }

    #[test]
    fn a_forgotten_server_is_found_and_an_empty_state_folder_is_not_one() {
        let place = Temporary::new("state");
        for inner in ["tmp", "state/servers", "data", "disk"] {
            std::fs::create_dir_all(place.0.join(inner)).expect("a folder");
        }
        std::fs::write(place.0.join("state/servers/.lock"), "").expect("writable");
        assert_eq!(files_below(&place.0).expect("readable"), [""; 0]);
        std::fs::create_dir(place.0.join("state/servers/x")).expect("a folder");
        assert!(files_below(&place.0).expect("readable")[0].ends_with("/state/servers/x"));
    }

    #[test]
    fn a_forgotten_process_is_found_by_what_it_was_started_with() {
        let proc = Temporary::new("proc");
        for (process, file, text) in [
            ("10", "cmdline", "postgres\0-D\0/place/state/x"),
            ("11", "environ", "A=b\0TMPDIR=/place/tmp\0"),
            ("12", "cmdline", "postgres\0-D\0/elsewhere"),
            ("self", "cmdline", "/place"),
        ] {
            std::fs::create_dir_all(proc.0.join(process)).expect("a folder");
            std::fs::write(proc.0.join(process).join(file), text).expect("writable");
        }
        std::os::unix::fs::symlink("/place/state/y", proc.0.join("12/cwd")).expect("a link");
        let mut found = processes_of(&proc.0, Path::new("/place"));
        found.sort();
        assert_eq!(
            found,
            [("10", "postgres -D /place/state/x"), ("11", ""), ("12", "postgres -D /elsewhere")]
                .map(|(id, command)| (id.to_owned(), command.to_owned()))
        );
        assert_eq!(processes_of(&proc.0, Path::new("/another")), []);
    }

    #[test]
    fn a_forgotten_process_that_still_has_our_output_is_not_waited_for() {
        let place = Temporary::new("run");
        let scratch = Scratch::at(&place.0);
        let mut command = Command::new("sh");
        command.args(["-c", "echo said >&2; sleep 600 & echo $!"]);
        let (status, stdout, stderr) = scratch.run(&mut command, TEST_LIMIT).expect("a shell");
        assert!(status.is_some_and(|status| status.success()));
        assert_eq!(stderr, "said\n");
        let process = stdout.trim();
        assert!(Path::new("/proc").join(process).exists(), "it sleeps on");
        assert!(Command::new("kill").arg(process).status().expect("kill").success());
    }

    #[test]
    fn what_does_not_end_is_killed_with_all_that_it_started() {
        let place = Temporary::new("limit");
        let scratch = Scratch::at(&place.0);
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & echo $!; wait"]).env("TMPDIR", &place.0);
        let (status, stdout, _) = scratch.run(&mut command, Duration::from_millis(500)).expect("a shell");
        assert_eq!(status, None);
        let sleeper = Path::new("/proc").join(stdout.trim()).join("cmdline");
        let deadline = Instant::now() + TEST_LIMIT;
        // A zombie has no command line.
        while std::fs::read(&sleeper).is_ok_and(|command| !command.is_empty()) {
            assert!(Instant::now() < deadline, "{stdout} still runs");
        }
    }

    #[test]
    fn the_directory_of_a_killed_run_is_deleted_and_that_of_a_live_one_is_not() {
        let parent = Temporary::new("sweep");
        let live = parent.0.join(format!("{CI_PREFIX}{}", std::process::id()));
        let dead = parent.0.join(format!("{CI_PREFIX}4194399"));
        for path in [&live, &dead] {
            std::fs::create_dir_all(path).expect("a folder");
        }
        sweep(&parent.0).expect("readable");
        assert!(live.exists() && !dead.exists());
    }
}
