//! A stand-in for PostgreSQL's initdb, for tests: a run of them creates some hundred servers, each for 0.6 s of CPU time.
//! The first call with some arguments runs initdb and keeps a copy of the data directory. Later calls with the same
//! arguments copy that, with a system identifier and a password of their own. `test_programs` mounts it over the programs
//! of pgmeter's cache, in the mount namespace of `ci` alone.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Error, Write};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use crate::memory;

/// The folder of the stand-ins in the scratch directory, and the name of the program in it. The guards of servers know
/// initdb by this name.
const NAME: &str = "initdb";
/// The variable with pgmeter's cache directory, and that of root.
const CACHE: (&str, &str) = ("PGMETER_CACHE_DIR", "/var/cache/pgmeter");
/// Where the folders of WAL are, by version, and the position of the system identifier in the first page of a file.
const WAL: ([&str; 2], u64) = (["pg_wal", "pg_xlog"], 24);
/// The bytes of a file name of WAL.
const WAL_NAME_BYTES: usize = 24;

/// The stand-ins of a run; dropping it brings the programs back.
pub struct StandIns {
    folder: PathBuf,
    replaced: Vec<PathBuf>,
}

impl StandIns {
    /// Mounts a stand-in over each initdb of the cache, if this process may mount. The real ones are copied before.
    pub fn mount(scratch: &Path, program: &Path) -> io::Result<StandIns> {
        let mut stand_ins = StandIns { folder: scratch.join(NAME), replaced: Vec::new() };
        if !memory::may_mount() {
            return Ok(stand_ins);
        }
        fs::create_dir_all(&stand_ins.folder)?;
        memory::mount(&stand_ins.folder)?;
        // The servers' user keeps its copies here.
        fs::set_permissions(&stand_ins.folder, fs::Permissions::from_mode(0o1777))?;
        fs::copy(program, stand_ins.folder.join(NAME))?;
        let cache = std::env::var_os(CACHE.0).map_or_else(|| PathBuf::from(CACHE.1), PathBuf::from);
        for version in fs::read_dir(cache.join("postgresql")).into_iter().flatten().flatten() {
            if version.path().join("bin/initdb").is_file() {
                stand_ins.replace(&version.path(), &version.file_name())?;
            }
        }
        Ok(stand_ins)
    }

    fn replace(&mut self, tree: &Path, name: &OsStr) -> io::Result<()> {
        let real = self.folder.join(name);
        fs::create_dir_all(real.join("bin"))?;
        fs::copy(tree.join("bin/initdb"), real.join("bin/initdb"))?;
        for inner in ["bin/postgres", "lib", "share"] {
            symlink(tree.join(inner), real.join(inner))?;
        }
        let script = real.join("stand-in");
        let folder = self.folder.display();
        let text =
            format!("#!/bin/sh\nexec '{folder}/{NAME}' initdb '{folder}' '{}/bin' \"$@\"\n", real.display());
        fs::write(&script, text)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        let place = tree.join("bin/initdb");
        let mounted = Command::new("mount").arg("--bind").arg(&script).arg(&place).status()?;
        if !mounted.success() {
            return Err(Error::other(format!("mount over {} failed: {mounted}", place.display())));
        }
        self.replaced.push(place);
        Ok(())
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        self.replaced.iter().for_each(|place| memory::unmount(place));
        if memory::may_mount() {
            memory::unmount(&self.folder);
            // The scratch directory is removed with it.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// The call of a stand-in.
#[derive(Debug, PartialEq, Eq)]
struct Call<'a> {
    data: &'a str,
    password_file: &'a str,
    user: &'a str,
    /// Those that are the same in all calls of its kind.
    others: Vec<&'a str>,
}

impl<'a> Call<'a> {
    /// `None` if pgmeter did not make the call.
    fn parse(arguments: &[&'a str]) -> Option<Call<'a>> {
        let mut call = Call { data: "", password_file: "", user: "", others: Vec::new() };
        let mut rest = arguments.iter();
        while let Some(&argument) = rest.next() {
            match argument {
                "-D" => call.data = rest.next()?,
                "--pwfile" => call.password_file = rest.next()?,
                "-U" => call.user = rest.next()?,
                other => call.others.push(other),
            }
        }
        let is_whole = ![call.data, call.password_file, call.user].contains(&"");
        is_whole.then_some(call)
    }

    /// The folder with the copy of its kind.
    fn kept(&self, folder: &Path, bin_dir: &Path) -> PathBuf {
        let kind = format!("{} {} {:?}", bin_dir.display(), self.user, self.others);
        let sum = Sha256::digest(kind.as_bytes());
        folder.join(sum.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<String>())
    }
}

/// Does what initdb does: the folder of the stand-ins, the folder of the real program, and its arguments. True if it
/// succeeded.
pub fn run(folder: &str, bin_dir: &str, arguments: &[&str]) -> bool {
    let (folder, bin_dir) = (Path::new(folder), Path::new(bin_dir));
    let call = Call::parse(arguments);
    let kept = call.as_ref().map(|call| call.kept(folder, bin_dir));
    let mut real = Command::new(bin_dir.join("initdb"));
    real.args(arguments);
    let (Some(call), Some(kept)) = (call, kept) else {
        eprintln!("initdb did not start: {}", real.exec());
        return false;
    };
    let done = if kept.join("PG_VERSION").is_file() {
        copy(&call, &kept, bin_dir)
    } else {
        real.status().and_then(|status| {
            let failed = || Error::other(format!("initdb ended with {status}"));
            if status.success() { keep(Path::new(call.data), &kept) } else { Err(failed()) }
        })
    };
    if let Err(error) = &done {
        eprintln!("{error}");
    }
    done.is_ok()
}

/// Keeps a data directory for later calls. Of two at the same time, the first one stays.
fn keep(data: &Path, kept: &Path) -> io::Result<()> {
    let unfinished = kept.with_extension(std::process::id().to_string());
    copy_tree(data, &unfinished)?;
    if fs::rename(&unfinished, kept).is_err() {
        fs::remove_dir_all(&unfinished)?;
    }
    Ok(())
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let status = Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status()?;
    status.success().then_some(()).ok_or_else(|| Error::other(format!("cp ended with {status}")))
}

fn copy(call: &Call<'_>, kept: &Path, bin_dir: &Path) -> io::Result<()> {
    let data = Path::new(call.data);
    let password = fs::read_to_string(call.password_file)?;
    copy_tree(kept, data)?;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_err(Error::other)?;
    // As PostgreSQL makes it: of the time and of the process.
    let process = u64::from(std::process::id() & 0xfff);
    let identifier = since.as_secs() << 32 | u64::from(since.subsec_micros()) << 12 | process;
    identify(data, identifier)?;
    set_password(call, password.trim_end_matches('\n'), bin_dir)
}

/// Gives a data directory another system identifier: in `pg_control`, and in its only file of WAL.
fn identify(data: &Path, identifier: u64) -> io::Result<()> {
    let path = data.join("global/pg_control");
    let control = with_identifier(fs::read(&path)?, identifier);
    fs::write(&path, control.ok_or_else(|| Error::other("pg_control has no checksum"))?)?;
    for folder in WAL.0 {
        for file in fs::read_dir(data.join(folder)).into_iter().flatten() {
            let path = file?.path();
            if path.file_name().is_some_and(|name| name.len() == WAL_NAME_BYTES) {
                File::options().write(true).open(path)?.write_all_at(&identifier.to_ne_bytes(), WAL.1)?;
            }
        }
    }
    Ok(())
}

/// The bytes of `pg_control` with another identifier, which comes first. Its CRC-32C stands after its fields, whose
/// number depends on the version; `None` if there is none.
fn with_identifier(mut control: Vec<u8>, identifier: u64) -> Option<Vec<u8>> {
    let crc_at = |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let starts = (8..control.len()).step_by(4);
    let mut crc = crc32c(u32::MAX, &control[..control.len().min(8)]);
    let at = starts.into_iter().find(|&at| {
        let is_there = crc_at(&control, at) == Some(!crc);
        crc = crc32c(crc, &control[at..control.len().min(at + 4)]);
        is_there
    })?;
    control[..8].copy_from_slice(&identifier.to_ne_bytes());
    let crc = !crc32c(u32::MAX, &control[..at]);
    control[at..at + 4].copy_from_slice(&crc.to_ne_bytes());
    Some(control)
}

/// One step of CRC-32C (Castagnoli), as in PostgreSQL's `pg_crc32c_sb8.c`.
fn crc32c(crc: u32, bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    bytes.iter().fold(crc, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (POLYNOMIAL & (crc & 1).wrapping_neg()))
    })
}

fn set_password(call: &Call<'_>, password: &str, bin_dir: &Path) -> io::Result<()> {
    let mut command = Command::new(bin_dir.join("postgres"));
    command.args(["--single", "-F", "-c", "log_checkpoints=off", "-D", call.data, "postgres"]);
    let mut single = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    let (user, password) = (call.user.replace('"', "\"\""), password.replace('\'', "''"));
    let mut input = single.stdin.take().ok_or_else(|| Error::other("stdin is a pipe"))?;
    input.write_all(format!("ALTER ROLE \"{user}\" PASSWORD '{password}'\n").as_bytes())?;
    drop(input);
    let status = single.wait()?;
    status.success().then_some(()).ok_or_else(|| Error::other(format!("postgres ended with {status}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_a_kind_differ_in_directory_and_password_file() {
        let call = |data, version, more| {
            let arguments = ["-N", "-U", "postgres", "--pwfile", "/p", "-D", data, more];
            Call::parse(&arguments).map(|call| call.kept(Path::new("/s"), Path::new(version)))
        };
        assert_eq!(call("/a", "/18", "-k"), call("/b", "/18", "-k"));
        assert_ne!(call("/a", "/18", "-k"), call("/a", "/17", "-k"));
        assert_ne!(call("/a", "/18", "-k"), call("/a", "/18", "-g"));
        assert_eq!(Call::parse(&["--version"]), None);
        assert_eq!(Call::parse(&["-U", "postgres", "--pwfile", "/p", "-D"]), None);
    }

    #[test]
    fn the_checksum_is_that_of_rfc_3720() {
        assert_eq!(!crc32c(u32::MAX, &[0; 32]), 0x8a91_36aa);
        assert_eq!(!crc32c(u32::MAX, b"123456789"), 0xe306_9283);
    }

    #[test]
    fn a_control_file_gets_another_identifier_with_the_checksum_of_its_fields() {
        let file = |identifier: u64| {
            let mut bytes = [&identifier.to_ne_bytes()[..], b"fields of 20 bytes.."].concat();
            let crc = !crc32c(u32::MAX, &bytes);
            bytes.extend(crc.to_ne_bytes());
            bytes.resize(512, 0);
            bytes
        };
        assert_eq!(with_identifier(file(7), 9), Some(file(9)));
        let mut damaged = file(7);
        damaged[10] ^= 1;
        assert_eq!(with_identifier(damaged, 9), None);
    }

    #[test]
    fn without_the_right_to_mount_nothing_is_replaced() {
        if !memory::may_mount() {
            let stand_ins = StandIns::mount(Path::new("/nonexistent"), Path::new("/nonexistent"));
            assert!(stand_ins.is_ok_and(|stand_ins| stand_ins.replaced.is_empty()));
        }
    }
}
