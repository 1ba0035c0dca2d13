//! The settings a server is started with: ours, the user's over them, as lines of a configuration file.
//! Ours are few and each has its reason; what makes a server slow and safe (fsync, synchronous_commit) stays on.

use crate::version::Major;
use crate::{ServerError, memory};

/// One setting of a server.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Setting {
    /// As in `pg_settings`.
    pub name: String,
    /// With its unit, as it would stand in `postgresql.conf`, without quotes.
    pub value: String,
}

impl Setting {
    fn new(name: &str, value: impl Into<String>) -> Setting {
        Setting { name: name.to_owned(), value: value.into() }
    }
}

/// Settings that say where a server's files are; the server is found by them, so they are ours.
const OURS_ALONE: [&str; 6] = [
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "unix_socket_directories",
];

/// What a server of ours measures of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instrumentation {
    /// It loads pg_stat_statements, whose extension is in all its databases, and measures the time of reads and writes
    /// (`track_io_timing`), and from version 14 on that of WAL too (`track_wal_io_timing`).
    #[default]
    On,
    /// PostgreSQL's defaults.
    Off,
}

const PRELOADED: &str = "shared_preload_libraries";
/// The extension and its library.
pub(crate) const STATEMENTS: &str = "pg_stat_statements";
const LISTEN_ADDRESSES: &str = "listen_addresses";
/// Where a server listens that has TCP.
const LOOPBACK: &str = "127.0.0.1";

/// Enough for a thousand clients, what watches them, and the superuser's reserve; costs some 30 MB of shared memory.
const MAX_CONNECTIONS: u32 = 1100;
const MEGABYTE: u64 = 1024 * 1024;
/// The part of the memory that the manual advises for a machine of one's own, between PostgreSQL's default and a
/// size beyond which a benchmark on a laptop only takes memory from the file cache.
const SHARED_BUFFERS: (u64, u64, u64) = (4, 128 * MEGABYTE, 8192 * MEGABYTE);

/// Has the server measure how long flushes of WAL take, if it can and the user says nothing else.
pub(crate) fn time_flushes(settings: &mut Vec<Setting>, major: Major) {
    const NAME: &str = "track_wal_io_timing";
    const SINCE: u32 = 14;
    if !major.is_before(SINCE) && settings.iter().all(|setting| setting.name != NAME) {
        settings.push(Setting::new(NAME, "on"));
    }
}

/// Has the server allow standbys, where its version does not by default.
pub(crate) fn allow_replication(settings: &mut Vec<Setting>, major: Major) {
    const BY_DEFAULT_SINCE: u32 = 10;
    const NEEDED: [(&str, &str); 4] = [
        ("wal_level", "replica"),
        ("max_wal_senders", "10"),
        ("max_replication_slots", "10"),
        ("hot_standby", "on"),
    ];
    if major.is_before(BY_DEFAULT_SINCE) {
        for (name, value) in NEEDED {
            if settings.iter().all(|setting| setting.name != name) {
                settings.push(Setting::new(name, value));
            }
        }
    }
}

/// Our settings for a machine with this much memory, the user's over them in the order given.
pub(crate) fn merged(
    memory: Option<u64>,
    instrumentation: Instrumentation,
    user: &[(String, String)],
) -> Result<Vec<Setting>, ServerError> {
    let shared_buffers = shared_buffers(memory) / MEGABYTE;
    let mut settings = vec![
        // No TCP, unless the user asks for it: the socket's directory is closed to others.
        Setting::new(LISTEN_ADDRESSES, ""),
        Setting::new("max_connections", MAX_CONNECTIONS.to_string()),
        Setting::new("shared_buffers", format!("{shared_buffers}MB")),
        // A checkpoint in the middle of ten seconds would be measured as if it were the workload.
        Setting::new("max_wal_size", "4GB"),
        Setting::new("checkpoint_timeout", "15min"),
        Setting::new("checkpoint_completion_target", "0.9"),
    ];
    if instrumentation == Instrumentation::On {
        settings.push(Setting::new(PRELOADED, STATEMENTS));
        settings.push(Setting::new("track_io_timing", "on"));
    }
    for (name, value) in user {
        let name = checked_name(name)?;
        check_value(&name, value)?;
        match settings.iter_mut().find(|setting| setting.name == name) {
            Some(setting) => setting.value.clone_from(value),
            None => settings.push(Setting::new(&name, value.as_str())),
        }
    }
    Ok(settings)
}

/// Whether it loads pg_stat_statements.
pub(crate) fn loads_statements(settings: &[Setting]) -> bool {
    let preloaded = settings.iter().find(|setting| setting.name == PRELOADED);
    preloaded.is_some_and(|setting| setting.value.split(',').any(|library| library.trim() == STATEMENTS))
}

/// For programs that come without pg_stat_statements; true if ours was the wish to load it.
pub(crate) fn load_nothing(settings: &mut Vec<Setting>) -> bool {
    let before = settings.len();
    settings.retain(|setting| setting.name != PRELOADED || setting.value != STATEMENTS);
    settings.len() < before
}

/// Whether the user wants it to listen on TCP.
pub(crate) fn wants_tcp(settings: &[Setting]) -> bool {
    settings.iter().any(|setting| setting.name == LISTEN_ADDRESSES && !setting.value.trim().is_empty())
}

/// The port the user asked for, if any.
pub(crate) fn fixed_port(settings: &[Setting]) -> Result<Option<u16>, ServerError> {
    let Some(setting) = settings.iter().find(|setting| setting.name == "port") else { return Ok(None) };
    let port = setting.value.parse().ok().filter(|&port| port > 0);
    let reason = "a port must be a number from 1 to 65535";
    port.map(Some).ok_or(ServerError::BadSetting { name: "port".to_owned(), reason })
}

/// The shared buffers of a server whose user does not say, in bytes.
pub fn default_shared_buffers() -> u64 {
    shared_buffers(memory::memory())
}

fn shared_buffers(memory: Option<u64>) -> u64 {
    let (part, least, most) = SHARED_BUFFERS;
    (memory.unwrap_or(0) / part).clamp(least, most)
}

/// The lines of a configuration file, of a server with TCP or with nothing but its socket.
pub(crate) fn lines(settings: &[Setting], tcp: bool) -> String {
    let addresses = match (tcp, wants_tcp(settings)) {
        (true, true) => None,
        (true, false) => Some(LOOPBACK),
        (false, _) => Some(""),
    };
    let last = addresses.map(|addresses| Setting::new(LISTEN_ADDRESSES, addresses));
    let line = |Setting { name, value }: &Setting| {
        let quoted = value.replace('\\', "\\\\").replace('\'', "''");
        format!("{name} = '{quoted}'\n")
    };
    settings.iter().chain(&last).map(line).collect()
}

fn checked_name(name: &str) -> Result<String, ServerError> {
    let lower = name.trim().to_ascii_lowercase();
    let refused = |reason| Err(ServerError::BadSetting { name: name.to_owned(), reason });
    let first = lower.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !first || !lower.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.') {
        return refused("the name of a setting must consist of letters, digits, '_' and '.'");
    }
    if OURS_ALONE.contains(&lower.as_str()) {
        return refused("it sets the location of the server's files, which pgmeter determines");
    }
    Ok(lower)
}

fn check_value(name: &str, value: &str) -> Result<(), ServerError> {
    if value.contains(['\n', '\r', '\0']) {
        let reason = "a value must be a single line";
        return Err(ServerError::BadSetting { name: name.to_owned(), reason });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(memory_megabytes: u64, user: &[(&str, &str)], name: &str) -> String {
        let user: Vec<_> = user.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let settings = merged(Some(memory_megabytes * MEGABYTE), Instrumentation::On, &user).unwrap();
        settings
            .into_iter()
            .find(|setting| setting.name == name)
            .map_or_else(String::new, |found| found.value)
    }

    #[test]
    fn shared_buffers_are_a_quarter_of_the_memory_within_bounds() {
        assert_eq!(value(16 * 1024, &[], "shared_buffers"), "4096MB");
        assert_eq!(value(256, &[], "shared_buffers"), "128MB");
        assert_eq!(value(1024 * 1024, &[], "shared_buffers"), "8192MB");
        assert!(
            lines(&merged(None, Instrumentation::On, &[]).unwrap(), false)
                .contains("shared_buffers = '128MB'\n")
        );
    }

    #[test]
    fn the_users_settings_come_over_ours_and_the_last_of_a_name_counts() {
        let user = [("Shared_Buffers", "1GB"), ("fsync", "off"), ("shared_buffers", "2GB")];
        assert_eq!(value(1024, &user, "shared_buffers"), "2GB");
        assert_eq!(value(1024, &user, "fsync"), "off");
        assert_eq!(value(1024, &[], "fsync"), "");
    }

    #[test]
    fn instrumentation_is_there_unless_it_is_turned_off_or_the_user_loads_something_else() {
        let all = |instrumentation, user: &[(&str, &str)]| {
            let user: Vec<_> =
                user.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
            merged(None, instrumentation, &user).unwrap()
        };
        let has_timing =
            |settings: &[Setting]| settings.iter().any(|setting| setting.name == "track_io_timing");
        let mut on = all(Instrumentation::On, &[]);
        assert!(loads_statements(&on) && has_timing(&on));
        assert!(load_nothing(&mut on) && !loads_statements(&on) && has_timing(&on));
        let off = all(Instrumentation::Off, &[]);
        assert!(!loads_statements(&off) && !has_timing(&off));
        let mut others = all(Instrumentation::On, &[("shared_preload_libraries", "auto_explain")]);
        assert!(!loads_statements(&others) && !load_nothing(&mut others));
        assert!(loads_statements(&all(
            Instrumentation::Off,
            &[(PRELOADED, "auto_explain, pg_stat_statements")]
        )));
    }

    #[test]
    fn a_server_listens_on_tcp_only_if_it_is_told_to() {
        let last = |addresses: Option<&str>, tcp| {
            let user = addresses.map(|value| ("listen_addresses".to_owned(), value.to_owned()));
            let settings = merged(None, Instrumentation::On, user.as_slice()).unwrap();
            assert_eq!(wants_tcp(&settings), addresses.is_some_and(|value| !value.is_empty()));
            let text = lines(&settings, tcp);
            text.lines().rfind(|line| line.starts_with("listen_addresses")).unwrap().to_owned()
        };
        assert_eq!(last(None, false), "listen_addresses = ''");
        assert_eq!(last(None, true), "listen_addresses = '127.0.0.1'");
        assert_eq!(last(Some("*"), true), "listen_addresses = '*'");
        assert_eq!(last(Some("127.0.0.1"), false), "listen_addresses = ''");
        assert_eq!(last(Some(""), true), "listen_addresses = '127.0.0.1'");
    }

    #[test]
    fn values_are_quoted_so_that_the_server_reads_them_as_given() {
        let setting = Setting::new("a.b", r"it's \n here");
        assert_eq!(
            lines(&[setting, Setting::new(LISTEN_ADDRESSES, "*")], true),
            "a.b = 'it''s \\\\n here'\nlisten_addresses = '*'\n"
        );
    }

    #[test]
    fn what_is_no_setting_and_what_is_ours_alone_are_refused_by_name() {
        for (name, value) in [
            ("data_directory", "/x"),
            ("Unix_Socket_Directories", "/x"),
            ("", "1"),
            ("1a", "1"),
            ("a b", "1"),
            ("fsync", "on\nport = 1"),
        ] {
            let error = merged(None, Instrumentation::On, &[(name.to_owned(), value.to_owned())])
                .unwrap_err()
                .to_string();
            assert!(error.contains(&format!("\"{name}\"")), "{error}");
        }
    }

    #[test]
    fn a_port_is_a_number_that_can_be_listened_on() {
        let port = |value| fixed_port(&[Setting::new("port", value)]);
        assert_eq!(fixed_port(&[]).unwrap(), None);
        assert_eq!(port("5433").unwrap(), Some(5433));
        assert!(["0", "65536", "x", ""].into_iter().all(|value| port(value).is_err()));
    }
}
