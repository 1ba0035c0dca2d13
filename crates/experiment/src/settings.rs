//! Names of PostgreSQL's settings, and how each can be set. Experiments use it to find the setting that a name means,
//! and to set it per connection if that is possible, so that such cells share a server.

use config::nearest;

/// How a setting can be set, by its `context` in `pg_settings` (manual, System Views).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingScope {
    /// By each session.
    Session,
    /// By each session, but it determines how tables are stored or analyzed when they are loaded.
    Tables,
    /// In the server's configuration.
    Server,
    /// In the server's configuration, which takes it only at its start.
    Restart,
    /// By nobody: the server reports it.
    Preset,
}

/// Settings of PostgreSQL 9.6 to 18 with their scopes. A setting whose scope depends on the version has the narrower one.
const SETTINGS: &str = include_str!("settings.txt");

fn all() -> impl Iterator<Item = (&'static str, SettingScope)> {
    SETTINGS.lines().filter_map(|line| {
        let (name, scope) = line.split_once(' ')?;
        let scope = match scope {
            "session" => SettingScope::Session,
            "tables" => SettingScope::Tables,
            "preset" => SettingScope::Preset,
            "restart" => SettingScope::Restart,
            _ => SettingScope::Server,
        };
        Some((name, scope))
    })
}

/// The scope of a setting; `None` if no version of PostgreSQL has it. Extensions define more, with a dot in the name.
pub fn scope(name: &str) -> Option<SettingScope> {
    all().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, scope)| scope)
}

/// Whether a server takes a setting only at its start.
pub fn needs_restart(name: &str) -> bool {
    scope(name) == Some(SettingScope::Restart)
}

/// All names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    all().map(|(name, _)| name)
}

/// Refuses a setting that no version of PostgreSQL has.
///
/// # Errors
/// A sentence with the nearest name. Names with a dot are those of extensions.
pub fn check_name(name: &str) -> Result<(), String> {
    if scope(name).is_some() || name.contains('.') { Ok(()) } else { Err(unknown(name)) }
}

/// `unknown setting "wrk_mem"; did you mean "work_mem"?`
pub fn unknown(name: &str) -> String {
    let known: Vec<&str> = names().collect();
    let near = nearest(&name.to_ascii_lowercase(), &known);
    let near = near.map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
    format!("unknown setting \"{name}\"{near}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_the_scope_of_their_context() {
        let of = |name| scope(name);
        assert_eq!(
            (of("work_mem"), of("Work_Mem")),
            (Some(SettingScope::Session), Some(SettingScope::Session))
        );
        assert_eq!(
            (of("wal_compression"), of("shared_buffers")),
            (Some(SettingScope::Session), Some(SettingScope::Restart))
        );
        assert_eq!(
            (of("autovacuum"), of("block_size")),
            (Some(SettingScope::Server), Some(SettingScope::Preset))
        );
        assert_eq!((of("default_toast_compression"), of("clients")), (Some(SettingScope::Tables), None));
    }

    #[test]
    fn an_unknown_setting_is_told_with_the_nearest_name() {
        assert_eq!(unknown("wrk_mem"), "unknown setting \"wrk_mem\"; did you mean \"work_mem\"?");
        assert_eq!(unknown("zzzzzzzzzz"), "unknown setting \"zzzzzzzzzz\"");
    }

    #[test]
    fn each_line_is_a_name_with_its_scope() {
        for line in SETTINGS.lines() {
            let scope = line.split_once(' ').map(|(_, scope)| scope);
            assert!(matches!(scope, Some("session" | "tables" | "server" | "restart" | "preset")), "{line}");
        }
        let mut sorted: Vec<String> = names().map(str::to_ascii_lowercase).collect();
        sorted.dedup();
        assert_eq!(sorted.len(), SETTINGS.lines().count());
    }
}
