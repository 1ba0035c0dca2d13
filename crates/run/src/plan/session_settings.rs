//! Checks that the settings in a connection string are in force before anything is measured: if a pooler ignores them,
//! the result is that of other settings. Called by the runner, and for the sides of comparisons and experiments.

use connect::{Session, SessionSetting, Target};

use crate::error::RunError;

/// Settings that PgBouncer keeps for each client (manual, `track_extra_parameters`).
const KEPT_BY_POOLERS: [&str; 6] = [
    "application_name",
    "client_encoding",
    "datestyle",
    "intervalstyle",
    "standard_conforming_strings",
    "timezone",
];

/// The settings of the target's connections, with their values as the server writes them. Each client compares them.
///
/// # Errors
/// The session does not have one of them, or it goes through a pooler, whose connections serve several clients.
pub fn settings_in_force(session: &mut Session, target: &Target) -> Result<Vec<(String, String)>, RunError> {
    let wanted = target.session_settings();
    // A null server has no settings.
    if wanted.is_empty() || is_null(session) {
        return Ok(Vec::new());
    }
    let is_kept = |name: &str| KEPT_BY_POOLERS.iter().any(|kept| name.eq_ignore_ascii_case(kept));
    if let Some((name, value)) = wanted.iter().find(|(name, _)| !is_kept(name))
        && session.is_pooled()
    {
        return Err(RunError::Usage(format!(
            "the connection to {} goes through a connection pooler, so {name} = {value} cannot be set for its sessions: the \
             pooler gives them connections to the server that have other settings. Connect to the server itself, or leave \
             the setting out; it would stay in force with ALTER ROLE … SET {name} or ALTER DATABASE … SET {name}",
            session.address()
        )));
    }
    let compared = session.compare_settings(&wanted)?;
    if let Some(other) = compared.iter().find(|setting| !setting.is_in_force()) {
        return Err(RunError::Usage(not_in_force(other, session)));
    }
    Ok(compared.into_iter().map(|setting| (setting.name, setting.wanted)).collect())
}

pub(crate) fn is_null(session: &Session) -> bool {
    session.parameter("server_version").is_some_and(|version| version.contains("null server"))
}

fn not_in_force(SessionSetting { name, wanted, found }: &SessionSetting, session: &Session) -> String {
    format!(
        "the setting {name} is not in force: the connection to {} asks for {wanted}, and its session has {found}. Probably \
         a connection pooler ignores the options of connections: connect to the server itself",
        session.address()
    )
}
