//! The disk of the server, or of the records if that is not accessible: file system and duration of a flush.
//! The measurement uses an unnamed temporary file and takes a fraction of a second. `cli` calls it before a run.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SafeText;

/// A disk and its properties.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disk {
    /// The files on it.
    pub holds: DiskHolds,
    /// The examined directory.
    pub path: String,
    /// File system type, such as `ext4`.
    pub file_system: Option<String>,
    /// Mounted device, such as `/dev/nvme0n1p1`.
    pub device: Option<String>,
    /// Duration of writing and flushing 8 kB; `null` if not measured.
    pub flush_us: Option<FlushTime>,
    /// Why a value could not be observed or measured.
    pub because: Option<SafeText>,
}

/// Files on the examined disk.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiskHolds {
    /// The server's WAL.
    Wal,
    /// The server's data directory; the location of the WAL is unknown.
    Data,
    /// Only pgmeter's records: the server's files are not accessible.
    Records,
}

/// Duration of `fdatasync` after a write of 8 kB, in microseconds.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // the names say it all
pub struct FlushTime {
    /// Number of flushes.
    pub flushes: u32,
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
}

/// Time limit of the measurement; the last flush may exceed it.
const MEASURED_TIME: Duration = Duration::from_millis(200);

/// Sufficient for a p99.
const FLUSHES_MAX: usize = 400;

/// Bytes per flush: the minimum WAL write of a commit.
const PAGE_LEN: usize = 8192;

/// Pages of the file. All are written before the first measured flush, as PostgreSQL does with WAL segments, and then
/// overwritten in turn.
const PAGES: usize = 32;

impl Disk {
    /// Examines the disk of the server's WAL in `data_directory` if it is accessible, otherwise that of `records`.
    /// `Err`: the reason why it is not accessible.
    pub fn measure(data_directory: Result<&Path, &str>, records: &Path) -> Disk {
        let beside = existing(records);
        let (holds, path, mut because) =
            match data_directory.map_err(str::to_owned).and_then(server_directory) {
                Ok((holds, path)) => (holds, path, None),
                Err(why) => (DiskHolds::Records, beside.clone(), Some(why)),
            };
        // A role without write permission in the server's directory may use another directory on the same disk.
        let stands_in = Some(&beside).filter(|beside| **beside != path && device(beside) == device(&path));
        let mut places = std::iter::once(&path).chain(stands_in);
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mount = mount_of(&mounts, &path);
        let flush_us = places.find_map(|place| match flush_time(place) {
            Ok(time) => Some(time),
            Err(error) => {
                let sentence = format!("flushes could not be measured in {}: {error}", place.display());
                because.get_or_insert(sentence);
                None
            }
        });
        if flush_us.is_some() && holds != DiskHolds::Records {
            because = None;
        }
        Disk {
            holds,
            path: path.display().to_string(),
            file_system: mount.map(|mount| mount.kind.to_owned()),
            device: mount.map(|mount| mount.source.to_owned()),
            flush_us,
            because: because.map(SafeText::from),
        }
    }
}

/// The directory of the server's WAL, or of its data.
fn server_directory(data: &Path) -> Result<(DiskHolds, PathBuf), String> {
    if !data.is_dir() {
        return Err(format!("the server's data directory {} cannot be seen from here", data.display()));
    }
    let log = ["pg_wal", "pg_xlog"].into_iter().find_map(|name| data.join(name).canonicalize().ok());
    Ok(match log.filter(|log| log.is_dir()) {
        Some(log) => (DiskHolds::Wal, log),
        None => (DiskHolds::Data, data.to_owned()),
    })
}

/// The nearest existing parent directory of a path.
fn existing(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = absolute.ancestors().find(|directory| directory.is_dir());
    found.unwrap_or(Path::new("/")).to_owned()
}

fn device(path: &Path) -> Option<u64> {
    path.metadata().ok().map(|metadata| metadata.dev())
}

/// A mounted file system.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Mount<'a> {
    kind: &'a str,
    source: &'a str,
}

/// The mount of a path, from the lines of proc_pid_mountinfo(5): the longest mount point, and of equal ones the last.
fn mount_of<'a>(mounts: &'a str, path: &Path) -> Option<Mount<'a>> {
    let parsed = mounts.lines().filter_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let point = unescaped(place.split(' ').nth(4)?);
        let mut kind = kind.split(' ');
        let mount = Mount { kind: kind.next()?, source: kind.next()? };
        path.starts_with(&point).then(|| (point.components().count(), mount))
    });
    parsed.max_by_key(|(depth, _)| *depth).map(|(_, mount)| mount)
}

/// Decodes octal escapes, such as `\040` for a space.
fn unescaped(point: &str) -> PathBuf {
    let mut out = String::new();
    let mut rest = point;
    while let Some(at) = rest.find('\\') {
        let octal = rest.get(at + 1..at + 4).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        out.push_str(&rest[..at]);
        out.push(octal.map_or('\\', char::from));
        rest = &rest[at + octal.map_or(1, |_| 4)..];
    }
    PathBuf::from(out + rest)
}

/// Measures flushes in a directory.
fn flush_time(directory: &Path) -> io::Result<FlushTime> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR)?);
    let page = [0x5a; PAGE_LEN];
    for number in 0..PAGES {
        file.write_all_at(&page, (number * PAGE_LEN) as u64)?;
    }
    file.sync_all()?;
    let begun = Instant::now();
    let mut times_us = Vec::new();
    while times_us.len() < FLUSHES_MAX && begun.elapsed() < MEASURED_TIME {
        file.write_all_at(&page, (times_us.len() % PAGES * PAGE_LEN) as u64)?;
        let before = Instant::now();
        file.sync_data()?;
        times_us.push(before.elapsed().as_secs_f64() * 1e6);
    }
    Ok(FlushTime::of(times_us))
}

impl FlushTime {
    /// Quantiles by nearest rank; requires at least one time.
    fn of(mut times_us: Vec<f64>) -> FlushTime {
        times_us.sort_by(f64::total_cmp);
        let last = times_us.len() - 1;
        let rank = |percent: usize| times_us[(times_us.len() * percent).div_ceil(100).saturating_sub(1)];
        let rounded = |us: f64| crate::times::round_to_ns(us);
        FlushTime {
            flushes: u32::try_from(times_us.len()).unwrap_or(u32::MAX),
            p50: rounded(rank(50)),
            p99: rounded(rank(99)),
            max: rounded(times_us[last]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:21 / /proc rw - proc proc rw
30 22 259:1 / /mnt/my\\040disk rw shared:9 - xfs /dev/nvme0n1p1 rw
31 22 0:40 / /mnt rw - tmpfs none rw
";

    #[test]
    fn the_file_system_of_a_path_is_the_one_mounted_nearest_above_it() {
        let found = |path: &str| mount_of(MOUNTS, Path::new(path)).map(|mount| (mount.kind, mount.source));
        assert_eq!(found("/var/lib"), Some(("ext4", "/dev/vda")));
        assert_eq!(found("/mnt/my disk/data"), Some(("xfs", "/dev/nvme0n1p1")));
        assert_eq!(found("/mnt/my"), Some(("tmpfs", "none")));
        assert_eq!(mount_of("rubbish\n1 2 - \n", Path::new("/")), None);
        assert_eq!(unescaped("a\\134b\\9"), PathBuf::from("a\\b\\9"));
    }

    #[test]
    fn flushes_are_measured_where_the_log_is_and_leave_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("pg_wal")).unwrap();
        let disk = Disk::measure(Ok(dir.path()), Path::new("/"));
        assert_eq!((disk.holds, disk.because), (DiskHolds::Wal, None));
        assert!(disk.path.ends_with("pg_wal") && disk.file_system.is_some());
        let FlushTime { flushes, p50, p99, max } = disk.flush_us.unwrap();
        assert!(flushes > 0 && p50 <= p99 && p99 <= max);
        assert_eq!(std::fs::read_dir(dir.path().join("pg_wal")).unwrap().count(), 0);
    }

    #[test]
    fn without_the_servers_files_the_records_disk_is_looked_at_and_that_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::measure(Ok(&dir.path().join("none")), &dir.path().join("not/there/yet"));
        assert_eq!((disk.holds, Path::new(&disk.path)), (DiskHolds::Records, dir.path()));
        assert!(disk.because.unwrap().as_str().contains("cannot be seen from here"));
        let disk = Disk::measure(Err("it is on another host"), dir.path());
        assert_eq!(disk.because.unwrap().as_str(), "it is on another host");
        assert!(disk.flush_us.is_some());
    }

    #[test]
    fn a_place_that_cannot_be_written_says_so() {
        let disk = Disk::measure(Ok(Path::new("/proc")), Path::new("/proc"));
        assert_eq!(disk.flush_us, None);
        assert!(disk.because.unwrap().as_str().starts_with("flushes could not be measured in /proc: "));
    }

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let time = FlushTime::of((1..=200).rev().map(f64::from).collect());
        assert_eq!((time.flushes, time.p50, time.p99, time.max), (200, 100.0, 198.0, 200.0));
        assert_eq!(FlushTime::of(vec![3.0]).p99, 3.0);
    }
}
