//! The settings of a screening: those that come with pgmeter, with levels for this host, or those of a user's
//! file. A row of the table is a setting; docs/screening.md lists them.

use std::path::Path;

use config::{Complaint, Value};
use experiment::ExperimentError;
use experiment::{settings::scope, settings::unknown};
use stats::SCREENED_MAX;

/// A setting with its two levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Screened {
    pub(super) name: String,
    pub(super) levels: [String; 2],
}

/// A setting that comes with pgmeter.
struct Row {
    name: &'static str,
    levels: fn(&Host) -> [String; 2],
    /// First major version that has it, in the form of `server_version_num` ÷ 10,000.
    since: u32,
}

/// What the levels depend on.
pub(super) struct Host {
    pub(super) cores: usize,
    /// The shared buffers that pgmeter gives a server on this host.
    pub(super) shared_buffers_bytes: u64,
}

const MEGABYTE: u64 = 1 << 20;
/// PostgreSQL's default of shared_buffers.
const SHARED_BUFFERS_LOW_MB: u64 = 128;
/// The fewest parallel workers worth a comparison, and the most.
const PARALLEL_WORKERS: (usize, usize) = (2, 4);

const fn row(name: &'static str, since: u32, levels: fn(&Host) -> [String; 2]) -> Row {
    Row { name, levels, since }
}

/// Defaults, or levels at the lower end of the usual ones, against larger ones. Trials last seconds, so settings that
/// act over minutes have levels at which they act sooner.
const SETTINGS: [Row; 12] = [
    row("shared_buffers", 0, |host| {
        let high = (host.shared_buffers_bytes / MEGABYTE).max(2 * SHARED_BUFFERS_LOW_MB);
        [format!("{SHARED_BUFFERS_LOW_MB}MB"), format!("{high}MB")]
    }),
    row("work_mem", 0, |_| pair("4MB", "64MB")),
    row("synchronous_commit", 0, |_| pair("on", "off")),
    row("wal_compression", 0, |_| pair("off", "on")),
    row("jit", 11, |_| pair("off", "on")),
    row("random_page_cost", 0, |_| pair("4", "1.1")),
    row("effective_io_concurrency", 0, |_| pair("1", "200")),
    row("max_parallel_workers_per_gather", 0, |host| {
        pair("0", &host.cores.clamp(PARALLEL_WORKERS.0, PARALLEL_WORKERS.1).to_string())
    }),
    row("max_wal_size", 0, |_| pair("128MB", "4GB")),
    row("commit_delay", 0, |_| pair("0", "500")),
    row("plan_cache_mode", 12, |_| pair("auto", "force_generic_plan")),
    row("autovacuum", 0, |_| pair("on", "off")),
];

fn pair(low: &str, high: &str) -> [String; 2] {
    [low, high].map(str::to_owned)
}

/// The settings that come with pgmeter and that this version has; a sentence for each other one.
pub(super) fn shipped(host: &Host, major: u32) -> (Vec<Screened>, Vec<String>) {
    let (known, unknown): (Vec<&Row>, Vec<&Row>) = SETTINGS.iter().partition(|row| row.since <= major);
    let screened = |row: &Row| Screened { name: row.name.to_owned(), levels: (row.levels)(host) };
    let left_out =
        |row: &Row| format!("{} is not tried: PostgreSQL has it since version {}", row.name, row.since);
    (known.into_iter().map(screened).collect(), unknown.into_iter().map(left_out).collect())
}

/// Maximum length of a file in bytes.
const FILE_LENGTH_MAX: u64 = 1 << 16;

/// The settings of a file with lines `name = [low, high]`.
pub(super) fn read(path: &Path) -> Result<Vec<Screened>, ExperimentError> {
    let file = path.display().to_string();
    let unreadable = |source| ExperimentError::Read { file: file.clone(), source };
    let text = config::text_of(path, FILE_LENGTH_MAX).map_err(unreadable)?;
    parse(&text).map_err(|complaint| complaint.in_file(&file).into())
}

fn parse(text: &str) -> Result<Vec<Screened>, Complaint> {
    let top = config::read(text)?;
    let place = top.place;
    let mut screened = Vec::new();
    for entry in top.entries {
        // Names with a dot are those of extensions.
        if scope(&entry.key).is_none() && !entry.key.contains('.') {
            return Err(Complaint::at(entry.place, unknown(&entry.key)));
        }
        let expected = || entry.node.expected("two different levels, such as [\"4MB\", \"64MB\"]");
        let Value::List(nodes) = &entry.node.value else { return Err(expected()) };
        let levels = nodes.iter().map(level).collect::<Result<Vec<String>, _>>()?;
        let levels = <[String; 2]>::try_from(levels).map_err(|_| expected())?;
        if levels[0] == levels[1] {
            return Err(expected());
        }
        screened.push(Screened { name: entry.key, levels });
    }
    if screened.is_empty() || screened.len() > SCREENED_MAX {
        let what = format!("a screening requires 1 to {SCREENED_MAX} settings; there are {}", screened.len());
        return Err(Complaint::at(place, what));
    }
    Ok(screened)
}

/// A level as the server reads it.
fn level(node: &config::Node) -> Result<String, Complaint> {
    match node.value {
        Value::Boolean(on) => Ok(if on { "on" } else { "off" }.to_owned()),
        _ => node.scalar(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_settings_are_known_have_two_levels_and_fit_the_version() {
        let host = Host { cores: 8, shared_buffers_bytes: 4096 * MEGABYTE };
        let (all, left_out) = shipped(&host, 18);
        assert_eq!((all.len(), left_out.len()), (12, 0));
        for Screened { name, levels } in &all {
            assert!(scope(name).is_some() && levels[0] != levels[1], "{name}");
        }
        assert_eq!(all[0].levels, pair("128MB", "4096MB"));
        let (old, left_out) = shipped(&Host { cores: 1, shared_buffers_bytes: 0 }, 9);
        assert_eq!(old.len(), 10);
        assert_eq!(left_out[0], "jit is not tried: PostgreSQL has it since version 11");
        assert_eq!(old[0].levels, pair("128MB", "256MB"));
    }

    #[test]
    fn a_file_has_two_levels_for_each_setting() {
        let settings =
            parse("work_mem = [\"1MB\", \"1GB\"]\njit = [false, true]\ncommit_delay = [0, 100]").unwrap();
        assert_eq!(settings[1], Screened { name: "jit".to_owned(), levels: pair("off", "on") });
        assert_eq!(settings[2].levels, pair("0", "100"));
        for (text, expected) in [
            ("wrk_mem = [1, 2]", "did you mean \"work_mem\"?"),
            ("work_mem = 1", "two different levels"),
            ("work_mem = [1, 2, 3]", "two different levels"),
            ("work_mem = [1, 1]", "two different levels"),
            ("", "1 to 24 settings"),
        ] {
            let what = parse(text).unwrap_err().what;
            assert!(what.contains(expected), "{what}");
        }
    }
}
