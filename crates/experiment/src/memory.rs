//! Determines whether the servers of an experiment can run at the same time, from their estimated memory and the
//! available memory. Pure: the caller of `Plan::within` passes the available memory.

use std::collections::BTreeMap;

use crate::configuration::{Cell, DataSpec, ServerSpec};
use crate::data_size::{data_bytes, times};

/// The memory of the machine that runs the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Available bytes; `None` if unknown.
    pub available_bytes: Option<u64>,
    /// Default shared buffers of a server in bytes.
    pub shared_buffers_bytes: u64,
}

impl Memory {
    /// Memory for any number of servers.
    pub const PLENTY: Memory = Memory { available_bytes: Some(u64::MAX), shared_buffers_bytes: 0 };
}

/// The arrangement of an experiment's servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// At most one embedded server.
    Single,
    /// All run until the end, so that they can be used in turns.
    SideBySide {
        /// Estimated bytes.
        needed_bytes: u64,
        /// Available bytes.
        available_bytes: u64,
    },
    /// One after another; the previous one is removed first.
    OneAtATime {
        /// Estimated bytes of all together.
        needed_bytes: u64,
        /// Available bytes, if known.
        available_bytes: Option<u64>,
    },
}

/// Share of the available memory for servers; the rest is for pgmeter and other programs.
const USABLE_PERCENT: u64 = 80;
/// Memory of a server in addition to buffers and clients: its processes and shared tables.
const SERVER_BYTES: u64 = 64 << 20;
/// Estimate for tables that a user's own SQL creates, and for a unit of scale of a workload of unknown size. All of a
/// server's shared buffers, by default a quarter of the memory, were far too much: few of them are ever filled.
const UNKNOWN_BYTES: u64 = 256 << 20;
/// Estimate for each connection: a backend's memory, mostly catalog and plan caches, and `work_mem`.
const CONNECTION_BYTES: u64 = 10 << 20;

impl Arrangement {
    /// The arrangement of these servers, with these data, for these cells.
    pub(crate) fn of(
        servers: &[ServerSpec],
        data: &[(usize, DataSpec)],
        cells: &[Cell],
        memory: &Memory,
    ) -> Arrangement {
        let is_ours = |server: &ServerSpec| server.origin.dsn().is_none();
        if servers.iter().filter(|server| is_ours(server)).count() <= 1 {
            return Arrangement::Single;
        }
        let of_server = |(number, server): (usize, &ServerSpec)| {
            let on_it = data.iter().filter(|(server, _)| *server == number).map(|(_, data)| data);
            server_bytes(server, on_it, memory.shared_buffers_bytes)
        };
        let ours = servers.iter().enumerate().filter(|(_, server)| is_ours(server));
        let servers_bytes = ours.map(of_server).fold(0, u64::saturating_add);
        // Only one trial runs at a time, so the connections count once.
        let clients = cells.iter().map(|cell| u64::from(cell.configuration.load.clients)).max().unwrap_or(0);
        let needed_bytes = servers_bytes.saturating_add(clients.saturating_mul(CONNECTION_BYTES));
        match memory.available_bytes {
            Some(available_bytes) if needed_bytes <= available_bytes / 100 * USABLE_PERCENT => {
                Arrangement::SideBySide { needed_bytes, available_bytes }
            }
            available_bytes => Arrangement::OneAtATime { needed_bytes, available_bytes },
        }
    }
}

/// Memory of a server while another is under load: buffers, as far as its data can fill them, and its data in the
/// page cache, so that they are not evicted to disk. The largest of several data sets counts twice: as loaded, and
/// the trial's copy.
fn server_bytes<'a>(
    server: &ServerSpec,
    data: impl Iterator<Item = &'a DataSpec> + Clone,
    default_bytes: u64,
) -> u64 {
    let data_bytes = data.map(estimated_bytes).max().unwrap_or(0).saturating_mul(2);
    let shared_buffers_bytes = shared_buffers_bytes(&server.settings).unwrap_or(default_bytes);
    // Buffers that never held a page occupy no memory.
    let bytes = SERVER_BYTES.saturating_add(shared_buffers_bytes.min(data_bytes)).saturating_add(data_bytes);
    // Each standby has all data too.
    let standbys = u64::try_from(server.standbys.len()).unwrap_or(u64::MAX);
    bytes.saturating_mul(standbys.saturating_add(1))
}

/// The size of a data set, with an estimate of what is unknown.
fn estimated_bytes(data: &DataSpec) -> u64 {
    let scales = if data.workload.is_some() && data.bytes_per_scale.is_none() {
        1.0_f64.max(data.scale.units())
    } else {
        0.0
    };
    let unknown = scales + f64::from(u8::from(data.setup.is_some()));
    data_bytes(data).saturating_add(times(UNKNOWN_BYTES, unknown))
}

/// The setting `shared_buffers` in bytes, if present and valid.
fn shared_buffers_bytes(settings: &BTreeMap<String, String>) -> Option<u64> {
    let (_, value) = settings.iter().find(|(name, _)| name.eq_ignore_ascii_case("shared_buffers"))?;
    bytes(value)
}

/// Parses a value as in postgresql.conf: a number of 8 kB pages, or a number with a unit.
/// <https://www.postgresql.org/docs/current/config-setting.html>
fn bytes(value: &str) -> Option<u64> {
    const K: f64 = 1024.0;
    const UNITS: [(&str, f64); 6] =
        [("", 8.0 * K), ("B", 1.0), ("kB", K), ("MB", K * K), ("GB", K * K * K), ("TB", K * K * K * K)];
    let value = value.trim();
    let unit_at = value.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(value.len());
    let (number, unit) = value.split_at(unit_at);
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let number: f64 = number.trim().parse().ok().filter(|number| (0.0..1e15).contains(number))?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // not below 0, and `as` saturates
    Some((number * factor) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::{Configuration, Origin};

    const GB: u64 = 1 << 30;

    /// Arranges servers with these shared buffers, each with data of this scale, in this amount of memory.
    fn check(shared_buffers: &[&str], scale: u32, clients: u32, available_bytes: Option<u64>) -> Arrangement {
        let server = |(number, value): (usize, &&str)| ServerSpec {
            origin: Origin::Version(number.to_string()),
            settings: [("Shared_Buffers".to_owned(), (*value).to_owned())].into(),
            ..ServerSpec::default()
        };
        let servers: Vec<_> = shared_buffers.iter().enumerate().map(server).collect();
        let spec = DataSpec { scale: scale.into(), bytes_per_scale: Some(16 << 20), ..DataSpec::default() };
        let data: Vec<_> = (0..servers.len()).map(|server| (server, spec.clone())).collect();
        let mut configuration = Configuration::default();
        configuration.load.clients = clients;
        let cells = [Cell { levels: Vec::new(), configuration }];
        Arrangement::of(&servers, &data, &cells, &Memory { available_bytes, shared_buffers_bytes: GB })
    }

    fn is_side_by_side(arrangement: Arrangement) -> bool {
        matches!(arrangement, Arrangement::SideBySide { .. })
    }

    #[test]
    fn servers_stand_side_by_side_where_buffers_data_and_connections_fit() {
        // 2 × (64 MB + 2 GB + 3.125 GB) + 10 × 10 MB = 10.5 GB, which must be at most 80 %.
        assert!(is_side_by_side(check(&["2GB", "2GB"], 100, 10, Some(14 * GB))));
        assert!(!is_side_by_side(check(&["2GB", "2GB"], 100, 10, Some(13 * GB))));
        assert!(!is_side_by_side(check(&["2GB", "2GB"], 100, 300, Some(14 * GB))), "connections count");
        assert!(!is_side_by_side(check(&["2GB", "2GB", "2GB"], 100, 10, Some(14 * GB))), "servers count");
        assert_eq!(check(&["2GB"], 100, 10, Some(GB)), Arrangement::Single);
        let unknown = check(&["2GB", "2GB"], 1, 1, None);
        assert!(matches!(unknown, Arrangement::OneAtATime { available_bytes: None, .. }), "{unknown:?}");
    }

    #[test]
    fn buffers_count_as_far_as_data_fill_them() {
        let versions = ["8GB"; 9];
        assert!(is_side_by_side(check(&versions, 1, 8, Some(4 * GB))), "nine servers with data of 16 MB");
        assert!(!is_side_by_side(check(&versions, 1000, 8, Some(64 * GB))));
    }

    #[test]
    fn tables_of_unknown_size_do_not_count_as_all_shared_buffers() {
        const KNOWN: u64 = 16_000_000;
        let known = DataSpec { bytes_per_scale: Some(KNOWN), ..DataSpec::default() };
        let with_setup = DataSpec { setup: Some("index.sql".into()), ..known.clone() };
        let unknown = DataSpec { bytes_per_scale: None, scale: 3.into(), ..DataSpec::default() };
        let bytes = |data: &DataSpec| server_bytes(&ServerSpec::default(), std::iter::once(data), 6 * GB);
        assert_eq!(bytes(&known), SERVER_BYTES + 4 * KNOWN);
        assert_eq!(bytes(&with_setup), SERVER_BYTES + 4 * (KNOWN + UNKNOWN_BYTES));
        assert_eq!(bytes(&unknown), SERVER_BYTES + 12 * UNKNOWN_BYTES);
        let none = DataSpec { workload: None, bytes_per_scale: None, ..DataSpec::default() };
        assert_eq!(bytes(&none), SERVER_BYTES);
    }

    #[test]
    fn servers_that_run_already_take_nothing_of_ours() {
        let running =
            |dsn: &str| ServerSpec { origin: Origin::Running(dsn.to_owned()), ..ServerSpec::default() };
        let servers = [running("host=a"), running("host=b"), ServerSpec::default()];
        let memory = Memory { available_bytes: Some(1), shared_buffers_bytes: GB };
        assert_eq!(Arrangement::of(&servers, &[], &[], &memory), Arrangement::Single);
    }

    #[test]
    fn sizes_are_read_as_the_server_reads_them() {
        assert_eq!(
            (bytes("16384"), bytes("128MB"), bytes(" 1.5 GB")),
            (Some(GB / 8), Some(GB / 8), Some(GB / 2 * 3))
        );
        assert_eq!((bytes("128mb"), bytes("much"), bytes("-1"), bytes("nan")), (None, None, None, None));
    }
}
