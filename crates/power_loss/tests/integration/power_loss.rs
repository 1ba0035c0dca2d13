//! Power losses through the kernel: of single files, and of a real server under load (a selection of the controls that
//! `cargo xtask prove power-loss` runs). They need root and FUSE; where these are missing, the tests say so, and fail if
//! `PGMETER_TEST_FUSE` is set.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test that cannot run says so")]

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pgmeter_power_loss::disk::Disk;
use pgmeter_power_loss::file_system::{NewNames, Survival};
use pgmeter_power_loss::namespace;
use rustix::fs::OFlags;

const PROGRAM: &str = env!("CARGO_BIN_EXE_pgmeter-power-loss");
/// Makes a copy of this test program run one of the parts below.
const PART: &str = "PGMETER_TEST_POWER_LOSS_PART";
const LIMIT: Duration = Duration::from_secs(60);

/// Whether the test can run.
fn is_possible() -> bool {
    let Some(obstacle) = namespace::obstacle() else { return true };
    assert!(std::env::var_os("PGMETER_TEST_FUSE").is_none(), "FUSE is required here: {obstacle}");
    eprintln!("NOT TRIED: power loss: {obstacle}");
    false
}

/// A command that runs one of the parts below in a mount namespace.
fn part(name: &str) -> Command {
    let mut command = namespace::command(&std::env::current_exe().unwrap());
    command.args(["--exact", &format!("power_loss::{name}"), "--nocapture"]).env(PART, name);
    command
}

/// The disk of a part, if this process is to run one.
fn mounted() -> Option<Disk> {
    std::env::var_os(PART)?;
    Some(Disk::mount(Path::new(PROGRAM), NewNames::WithDirectory).unwrap())
}

#[test]
fn files_keep_what_was_flushed_and_nothing_else() {
    if !is_possible() {
        return;
    }
    for name in
        ["contents_and_names", "everything_fails_without_power", "files_behave_as_on_other_file_systems"]
    {
        let output = part(name).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{name}: {said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("1 passed"), "{name} is a test: {said}");
    }
}

#[test]
fn contents_and_names() {
    let Some(mut disk) = mounted() else { return };
    let directory = disk.directory().to_owned();
    let at = |name: &str| directory.join(name);
    let folder = File::open(&directory).unwrap();
    for name in ["flushed", "data-flushed", "written", "short"] {
        fs::write(at(name), "before").unwrap();
    }
    disk.flush_all().unwrap();

    let write = |name: &str| {
        let file = OpenOptions::new().write(true).open(at(name)).unwrap();
        file.write_all_at(b"after!!", 0).unwrap();
        file
    };
    write("flushed").sync_all().unwrap();
    write("data-flushed").sync_data().unwrap();
    write("written");
    OpenOptions::new().write(true).truncate(true).open(at("short")).unwrap();
    let mut direct = OpenOptions::new();
    direct.write(true).custom_flags(OFlags::DSYNC.bits().cast_signed());
    direct.open(at("written")).unwrap().write_all_at(b"synchronous", 0).unwrap();
    write("written");
    // Names: only those that were there when the directory was flushed.
    fs::rename(at("flushed"), at("renamed")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    folder.sync_all().unwrap();
    fs::write(at("new"), "text").unwrap();
    File::open(at("new")).unwrap().sync_all().unwrap();
    fs::rename(at("renamed"), at("renamed-again")).unwrap();
    fs::remove_file(at("data-flushed")).unwrap();
    fs::remove_dir(at("folder")).unwrap();

    let loss = disk.power_on(Survival::Nothing).unwrap();
    assert_eq!((loss.pages.forgotten, loss.changes_forgotten, loss.files_gone), (1, 4, 1), "{loss:?}");
    let read = |name: &str| fs::read_to_string(at(name)).ok();
    assert_eq!(read("renamed").as_deref(), Some("after!!"));
    assert_eq!(read("data-flushed").as_deref(), Some("after!!"));
    assert_eq!(read("written").as_deref(), Some("synchronous"));
    assert_eq!(read("short").as_deref(), Some("before"));
    let mut names: Vec<_> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["data-flushed", "folder", "renamed", "short", "written"]);
}

#[test]
fn everything_fails_without_power() {
    let Some(mut disk) = mounted() else { return };
    let path = disk.directory().join("file");
    let mut file = OpenOptions::new().create_new(true).read(true).append(true).open(&path).unwrap();
    file.write_all(b"one ").unwrap();
    disk.flush_all().unwrap();
    disk.power_off().unwrap();
    assert!(file.write_all(b"two ").is_err());
    assert!(file.sync_all().is_err());
    assert!(file.read(&mut [0; 1]).is_err());
    assert!(fs::metadata(&path).is_err() && fs::write(path.with_file_name("new"), "").is_err());
    disk.power_on(Survival::Nothing).unwrap();
    // Opened again: after a power loss nobody has open files.
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"three").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "one three");
}

#[test]
fn files_behave_as_on_other_file_systems() {
    let Some(disk) = mounted() else { return };
    let directory = disk.directory().to_owned();
    let at = |name: &str| directory.join(name);
    fs::write(at("file"), vec![7; 300_000]).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(at("file")).unwrap();
    assert_eq!(fs::read(at("file")).unwrap(), vec![7; 300_000]);
    // Owner and permissions are checked by the kernel.
    fs::set_permissions(at("file"), fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::chown(at("file"), Some(1234), Some(5678)).unwrap();
    let about = file.metadata().unwrap();
    assert_eq!((about.mode() & 0o7777, about.uid(), about.gid(), about.nlink()), (0o640, 1234, 5678, 1));
    // Sizes, also with holes and beyond the end.
    file.set_len(10).unwrap();
    file.write_all_at(b"end", 5000).unwrap();
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 8192).unwrap();
    let expected = [vec![7; 10], vec![0; 4990], b"end".to_vec(), vec![0; 8192 - 5003]].concat();
    assert_eq!(fs::read(at("file")).unwrap(), expected);
    // Links, and a file that is open without a name.
    fs::hard_link(at("file"), at("link")).unwrap();
    assert_eq!(file.metadata().unwrap().nlink(), 2);
    fs::remove_file(at("file")).unwrap();
    fs::remove_file(at("link")).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 5000).unwrap();
    assert_eq!(byte, *b"e");
    assert_eq!(fs::metadata(at("file")).unwrap_err().kind(), ErrorKind::NotFound);
    // Many entries, which are removed while they are listed.
    fs::create_dir(at("many")).unwrap();
    for number in 0..500 {
        fs::write(at("many").join(format!("file-with-a-longer-name-{number}")), "").unwrap();
    }
    assert_eq!(fs::remove_dir(at("many")).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
    fs::remove_dir_all(at("many")).unwrap();
    // Locks and sockets are the kernel's.
    let locked = File::create(at("lock")).unwrap();
    locked.try_lock().unwrap();
    assert!(File::open(at("lock")).unwrap().try_lock().is_err());
    let listener = UnixListener::bind(at("socket")).unwrap();
    UnixStream::connect(at("socket")).unwrap().write_all(b"hello").unwrap();
    let mut heard = String::new();
    listener.accept().unwrap().0.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "hello");
}

#[test]
fn a_killed_owner_leaves_no_process_no_mount_and_no_file() {
    if !is_possible() {
        return;
    }
    let mut owner = part("a_disk_until_it_is_killed").stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(owner.stdout.take().unwrap());
    let mut lines = output.lines().map(Result::unwrap);
    let directory =
        lines.find_map(|line| line.strip_prefix("mounted: ").map(str::to_owned)).expect("it says so");
    // Only the owner's namespace has the mount.
    let mounts = |process: &str| fs::read_to_string(format!("/proc/{process}/mounts")).unwrap();
    assert!(mounts(&owner.id().to_string()).contains(&directory));
    assert!(!mounts("self").contains(&directory));
    owner.kill().unwrap();
    owner.wait().unwrap();
    // The process that works in the mount has this process's pipe too, which ends with it.
    assert_eq!(lines.collect::<Vec<_>>(), [""; 0]);
    let since = Instant::now();
    while Path::new(&directory).exists() {
        assert!(since.elapsed() < LIMIT, "{directory} is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_disk_until_it_is_killed() {
    let Some(disk) = mounted() else { return };
    let mut worker = Command::new("sleep").arg("600").current_dir(disk.directory()).spawn().unwrap();
    println!("\nmounted: {}", disk.directory().display());
    worker.wait().unwrap();
    panic!("nobody killed this process");
}

#[test]
fn a_killed_service_leaves_no_mount_and_no_file() {
    if !is_possible() {
        return;
    }
    let output = part("a_disk_whose_service_is_killed").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_disk_whose_service_is_killed() {
    let Some(mut disk) = mounted() else { return };
    let directory = disk.directory().to_owned();
    let service = disk.process_id().to_string();
    assert!(Command::new("kill").args(["-KILL", &service]).status().unwrap().success());
    assert!(disk.flush_all().is_err());
    drop(disk);
    assert!(!directory.exists());
    assert!(!fs::read_to_string("/proc/self/mounts").unwrap().contains(directory.to_str().unwrap()));
}

#[test]
fn a_server_with_defaults_loses_nothing_and_one_without_fsync_is_found_out() {
    let mut command = Command::new(PROGRAM);
    command.args(["prove", "--rounds=2", "defaults-torn", "fsync-off"]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    if !is_possible() {
        assert!(complaint.contains("NOT TRIED: power loss: "), "{complaint}");
        assert_eq!(output.status.code(), Some(3));
        return;
    }
    assert!(output.status.success(), "{said}{complaint}");
    let line = |name: &str| said.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(line("defaults-torn ").contains("found: no damage; 2 power losses"), "{said}");
    let without = line("fsync-off ");
    assert!(without.contains("are lost") || without.contains("cannot be read"), "{said}");
    assert!(said.contains("2 of 2 controls as expected"), "{said}");
}

#[test]
fn unknown_controls_and_options_are_refused_with_a_list() {
    for wrong in ["defaults-", "--rounds=0", "--seed=x", "--what"] {
        let output = Command::new(PROGRAM).args(["prove", wrong]).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(complaint.contains("usage: ") && complaint.contains("fsync-off"), "{complaint}");
        assert_eq!(output.status.code(), Some(1));
    }
}
