//! Memory of the benchmark's backends, from `/proc`. A few of them are read each second, in turns that go evenly over all
//! of them, so that 10,000 backends cost no more than ten, and those that were read stand for the others.
//! Private memory is counted page by page in the private mappings. `smaps_rollup` would count a page of shared buffers
//! as private as long as a single backend has used it, and would take a time in proportion to shared buffers.
//! Manual: proc_pid_maps(5), proc_pid_pagemap(5), proc_pid_status(5).

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::FileExt;
use std::time::Instant;

use results::BackendMemory;

use crate::backends::Backends;
use crate::clock;

/// Time between the starts of two readings.
const INTERVAL_S: f64 = 0.2;
/// A reading is followed by a pause of so many times its duration: readings take at most 2 % of the observer's time.
const PAUSE_FACTOR: f64 = 50.0;
/// Readings that are kept, each of another backend.
const READINGS_MAX: usize = 256;
/// Pages of private mappings in a process that is read; with pages of 4 kB these are 16 GB, which take about 0.1 s.
const PAGES_MAX: u64 = 4 << 20;
/// Pages in one read of the page map.
const PAGES_AT_ONCE: u64 = 8192;

/// An entry of the page map, in bytes.
const ENTRY_BYTES: usize = 8;
/// The page is in memory.
const IS_PRESENT: u64 = 1 << 63;
/// No other process maps the page.
const IS_EXCLUSIVE: u64 = 1 << 56;

/// Memory of a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ProcessMemory {
    private_bytes: f64,
    page_table_bytes: f64,
}

/// The latest readings of backends.
#[derive(Debug)]
pub(crate) struct MemoryReadings {
    page_bytes: u64,
    /// Number of the next turn.
    turn: usize,
    /// Seconds since measuring began.
    next_s: f64,
    /// By process ID, the oldest first.
    latest: VecDeque<(u32, ProcessMemory)>,
}

impl MemoryReadings {
    /// Tests that this process of the server can be read; `Err` is the reason why not.
    pub(crate) fn try_on(pid: u32) -> Result<MemoryReadings, String> {
        let page_bytes =
            page_bytes().ok_or("the size of a page is unknown: /proc/self/auxv cannot be read")?;
        match read(pid, page_bytes) {
            Ok(_) => Ok(MemoryReadings { page_bytes, turn: 0, next_s: 0.0, latest: VecDeque::new() }),
            Err(error) => Err(reason(&error)),
        }
    }

    /// Reads the next of these backends, if it is time to.
    pub(crate) fn look(&mut self, backends: &Backends, origin: Instant) {
        let now_s = || clock::seconds_between(origin, clock::now());
        let start_s = now_s();
        if start_s < self.next_s {
            return;
        }
        let Some(pid) = backends.known().nth(place(self.turn, backends.known().count())) else { return };
        self.turn = self.turn.wrapping_add(1);
        // A backend that has exited since it was listed has no figures.
        if let Ok(memory) = read(pid, self.page_bytes) {
            self.keep(pid, memory);
        }
        let end_s = now_s();
        self.next_s = (start_s + INTERVAL_S).max(end_s + (end_s - start_s) * PAUSE_FACTOR);
    }

    fn keep(&mut self, pid: u32, memory: ProcessMemory) {
        self.latest.retain(|(known, _)| *known != pid);
        if self.latest.len() == READINGS_MAX {
            self.latest.pop_front();
        }
        self.latest.push_back((pid, memory));
    }

    /// The figures for the record; `None` if no backend was read.
    pub(crate) fn figures(&self) -> Option<BackendMemory> {
        let number = self.latest.len();
        let sum =
            |of: fn(&ProcessMemory) -> f64| self.latest.iter().map(|(_, memory)| of(memory)).sum::<f64>();
        let largest = self.latest.iter().map(|(_, memory)| memory.private_bytes).reduce(f64::max)?;
        Some(BackendMemory {
            backends: number as u64,
            private_mean_bytes: sum(|memory| memory.private_bytes) / number as f64,
            private_max_bytes: largest,
            page_tables_mean_bytes: sum(|memory| memory.page_table_bytes) / number as f64,
        })
    }
}

fn reason(error: &Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            "the memory of backends is shown to the server's own user and to root only".to_owned()
        }
        _ => format!("the memory of a backend could not be read: {error}"),
    }
}

/// The place of a turn among `number` backends. In `number` turns each has one, and the backends of fewer turns lie evenly
/// between the others: multiples of the golden ratio (Knuth, *The Art of Computer Programming*, volume 3, section 6.4).
fn place(turn: usize, number: usize) -> usize {
    let stride = (number * 618 / 1000..).find(|stride| greatest_common_divisor(*stride, number) == 1);
    (turn % number.max(1)) * stride.unwrap_or(1) % number.max(1)
}

fn greatest_common_divisor(one: usize, other: usize) -> usize {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

/// Reads a process. The page tables come last: a process that has exited meanwhile has none.
fn read(pid: u32, page_bytes: u64) -> Result<ProcessMemory, Error> {
    let maps = fs::read(format!("/proc/{pid}/maps"))?;
    let pages = File::open(format!("/proc/{pid}/pagemap"))?;
    let mut entries = vec![0; bytes_of(PAGES_AT_ONCE)];
    let (mut private, mut left) = (0, PAGES_MAX);
    for mapping in private_mappings(&String::from_utf8_lossy(&maps)) {
        let (mut page, end) = (mapping.start / page_bytes, mapping.end / page_bytes);
        while page < end {
            let wanted = (end - page).min(PAGES_AT_ONCE);
            left = left.checked_sub(wanted).ok_or(ErrorKind::FileTooLarge)?;
            let of_file = &mut entries[..bytes_of(wanted)];
            let found = pages.read_at(of_file, page * ENTRY_BYTES as u64)?;
            private += private_pages(&of_file[..found]);
            // The page map ends before the kernel's own mappings.
            page = if found == 0 { end } else { page + (found / ENTRY_BYTES).max(1) as u64 };
        }
    }
    let status = fs::read(format!("/proc/{pid}/status"))?;
    let page_table_bytes = page_table_bytes(&String::from_utf8_lossy(&status)).ok_or(ErrorKind::NotFound)?;
    Ok(ProcessMemory { private_bytes: (private * page_bytes) as f64, page_table_bytes })
}

/// Bytes of so many entries, at most [`PAGES_AT_ONCE`].
fn bytes_of(pages: u64) -> usize {
    usize::try_from(pages.min(PAGES_AT_ONCE)).unwrap_or(0) * ENTRY_BYTES
}

/// Addresses of a mapping.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mapping {
    start: u64,
    end: u64,
}

/// Parses `/proc/PID/maps` and leaves out shared mappings, which are those of shared buffers and of parallel queries.
fn private_mappings(maps: &str) -> impl Iterator<Item = Mapping> {
    maps.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let [start, end] = [start, end].map(|address| u64::from_str_radix(address, 16).ok());
        let is_private = words.next()?.as_bytes().get(3) == Some(&b'p');
        Some(Mapping { start: start?, end: end? }).filter(|it| is_private && it.start < it.end)
    })
}

/// Pages in memory that no other process maps.
fn private_pages(entries: &[u8]) -> u64 {
    let is_private = |entry: &&[u8; ENTRY_BYTES]| {
        let entry = u64::from_ne_bytes(**entry);
        entry & IS_PRESENT != 0 && entry & IS_EXCLUSIVE != 0
    };
    entries.as_chunks().0.iter().filter(is_private).count() as u64
}

/// Page tables by `/proc/PID/status`; a process that has exited has none.
fn page_table_bytes(status: &str) -> Option<f64> {
    const BYTES_PER_KB: f64 = 1024.0;
    let value = status.lines().find_map(|line| line.strip_prefix("VmPTE:"))?;
    let kilobytes: u32 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(f64::from(kilobytes) * BYTES_PER_KB)
}

/// Size of a page, which the kernel tells each process at its start. Manual: getauxval(3).
fn page_bytes() -> Option<u64> {
    page_bytes_of(&fs::read("/proc/self/auxv").ok()?)
}

fn page_bytes_of(auxiliary_vector: &[u8]) -> Option<u64> {
    const WORD: usize = size_of::<usize>();
    const AT_PAGESZ: usize = 6;
    let words = auxiliary_vector.as_chunks::<WORD>().0;
    let pairs = words.as_chunks::<2>().0.iter().map(|pair| pair.map(usize::from_ne_bytes));
    let [_, bytes] = pairs.into_iter().find(|[kind, bytes]| *kind == AT_PAGESZ && *bytes > 0)?;
    u64::try_from(bytes).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn entries(entries: &[u64]) -> Vec<u8> {
        entries.iter().flat_map(|entry| entry.to_ne_bytes()).collect()
    }

    #[test]
    fn private_mappings_are_told_from_shared_ones() {
        let maps = "\
            5581c4a00000-5581c4a02000 r--p 00000000 fe:00 1310 /usr/lib/postgresql/18/bin/postgres\n\
            7f01a0000000-7f01a0001000 rw-p 00000000 00:00 0 \n\
            7f01b0000000-7f01f0000000 rw-s 00000000 00:01 2049 /dev/zero (deleted)\n\
            ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";
        let found: Vec<u64> = private_mappings(maps).map(|it| it.end - it.start).collect();
        assert_eq!(found, [0x2000, 0x1000, 0x1000]);
    }

    #[test]
    fn lines_that_are_no_mappings_are_left_out() {
        for rubbish in
            ["", "\n\n", "rw-p", "12-rw-p", "zz-yy rw-p", "2000-1000 rw-p", "1000-2000", "1000-2000 rw", "-"]
        {
            assert_eq!(private_mappings(rubbish).count(), 0, "{rubbish}");
        }
    }

    #[test]
    fn a_page_is_private_if_it_is_in_memory_and_nobody_else_maps_it() {
        let pages = entries(&[
            IS_PRESENT | IS_EXCLUSIVE,
            IS_PRESENT,
            IS_EXCLUSIVE,
            0,
            u64::MAX,
            IS_EXCLUSIVE | 1 << 62,
        ]);
        assert_eq!(private_pages(&pages), 2);
        assert_eq!(private_pages(&pages[..11]), 1, "half of an entry");
        assert_eq!(private_pages(&[]), 0);
    }

    #[test]
    fn page_tables_have_a_line_of_their_own() {
        assert_eq!(
            page_table_bytes("Name:\tpostgres\nVmPTE:\t     208 kB\nVmSwap:\t 0 kB\n"),
            Some(212_992.0)
        );
        for rubbish in
            ["", "Name:\tpostgres\nState:\tZ (zombie)\n", "VmPTE:", "VmPTE: kB", "VmPTE: 1", "VmPTE: x kB"]
        {
            assert_eq!(page_table_bytes(rubbish), None, "{rubbish}");
        }
    }

    #[test]
    fn the_size_of_a_page_is_found_among_what_the_kernel_tells() {
        let vector: Vec<u8> =
            [16_usize, 1, 6, 4096, 0, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(page_bytes_of(&vector), Some(4096));
        for rubbish in [&vector[..20], &vector[..31], &[0; 64], &[]] {
            assert_eq!(page_bytes_of(rubbish), None);
        }
        assert!(page_bytes().is_some_and(u64::is_power_of_two));
    }

    #[test]
    fn turns_reach_each_backend_once_and_a_part_of_them_lies_evenly() {
        for number in (1..100).chain([997, 1000, 10_000]) {
            let places: BTreeSet<usize> = (0..number).map(|turn| place(turn, number)).collect();
            assert_eq!(places.len(), number, "{number}");
        }
        let mut few: Vec<usize> = (0..100).map(|turn| place(turn, 10_000)).collect();
        few.sort_unstable();
        let gaps = few.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(gaps.max().is_some_and(|gap| gap < 300), "{few:?}");
        assert_eq!(place(3, 0), 0);
    }

    #[test]
    fn of_each_backend_the_latest_reading_counts_and_old_ones_are_dropped() {
        let mut readings = MemoryReadings { page_bytes: 4096, turn: 0, next_s: 0.0, latest: VecDeque::new() };
        assert_eq!(readings.figures(), None);
        let memory = |private_bytes| ProcessMemory { private_bytes, page_table_bytes: 8.0 };
        readings.keep(1, memory(100.0));
        readings.keep(2, memory(10.0));
        readings.keep(1, memory(20.0));
        let expected = BackendMemory {
            backends: 2,
            private_mean_bytes: 15.0,
            private_max_bytes: 20.0,
            page_tables_mean_bytes: 8.0,
        };
        assert_eq!(readings.figures(), Some(expected));
        (10..).take(READINGS_MAX).for_each(|pid| readings.keep(pid, memory(1.0)));
        assert_eq!(readings.figures().map(|it| (it.backends, it.private_max_bytes)), Some((256, 1.0)));
    }

    #[test]
    fn the_memory_of_this_process_grows_with_what_it_writes() {
        let page_bytes = page_bytes().unwrap();
        let before = read(std::process::id(), page_bytes).unwrap();
        let written = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = read(std::process::id(), page_bytes).unwrap();
        let grown = after.private_bytes - before.private_bytes;
        assert!(grown > 0.9 * written.len() as f64 && after.page_table_bytes > 0.0, "{before:?} {after:?}");
    }

    #[test]
    fn a_process_that_is_gone_has_no_memory_and_the_reason_is_told() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let why = MemoryReadings::try_on(child.id()).unwrap_err();
        assert!(why.starts_with("the memory of a backend could not be read: "), "{why}");
        let why = reason(&ErrorKind::PermissionDenied.into());
        assert!(why.ends_with("the server's own user and to root only"), "{why}");
    }
}
