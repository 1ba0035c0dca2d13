//! Keywords of connection strings: name, environment variable and treatment. The table has every keyword of libpq: it
//! is used, has no effect in libpq either, or is refused with its name. Read by `resolve` and the parsers.

/// Treatment of a keyword's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// Read by `resolve`.
    Used,
    /// Details of GSSAPI or of encrypted keys (which are refused when they are read), and obsolete keywords.
    WithoutEffect,
    /// The values that require no unsupported feature (and the empty one); others are refused with the reason.
    Only(&'static [&'static str], &'static str),
}

/// One keyword.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyword {
    pub(crate) name: &'static str,
    pub(crate) variable: Option<&'static str>,
    pub(crate) treatment: Treatment,
}

const NOT_SUPPORTED: &str = "it is not supported";
const NO_GSSAPI: &str = "GSSAPI is not supported";

const fn used(name: &'static str, variable: &'static str) -> Keyword {
    Keyword { name, variable: Some(variable), treatment: Treatment::Used }
}

const fn used_without_variable(name: &'static str) -> Keyword {
    Keyword { name, variable: None, treatment: Treatment::Used }
}

const fn without_effect(name: &'static str, variable: Option<&'static str>) -> Keyword {
    Keyword { name, variable, treatment: Treatment::WithoutEffect }
}

const fn only(
    name: &'static str,
    variable: Option<&'static str>,
    values: &'static [&'static str],
    reason: &'static str,
) -> Keyword {
    Keyword { name, variable, treatment: Treatment::Only(values, reason) }
}

/// Manual, libpq, "Parameter Key Words" and "Environment Variables" (PostgreSQL 19).
pub(crate) const KEYWORDS: &[Keyword] = &[
    used("host", "PGHOST"),
    used("hostaddr", "PGHOSTADDR"),
    used("port", "PGPORT"),
    used("dbname", "PGDATABASE"),
    used("user", "PGUSER"),
    used("password", "PGPASSWORD"),
    used("passfile", "PGPASSFILE"),
    used("connect_timeout", "PGCONNECT_TIMEOUT"),
    used("client_encoding", "PGCLIENTENCODING"),
    used("options", "PGOPTIONS"),
    used("application_name", "PGAPPNAME"),
    used("sslmode", "PGSSLMODE"),
    used("sslrootcert", "PGSSLROOTCERT"),
    used("sslcert", "PGSSLCERT"),
    used("sslkey", "PGSSLKEY"),
    used("sslcertmode", "PGSSLCERTMODE"),
    used("sslcrl", "PGSSLCRL"),
    used("sslcrldir", "PGSSLCRLDIR"),
    used("sslsni", "PGSSLSNI"),
    used("sslnegotiation", "PGSSLNEGOTIATION"),
    used("ssl_min_protocol_version", "PGSSLMINPROTOCOLVERSION"),
    used("ssl_max_protocol_version", "PGSSLMAXPROTOCOLVERSION"),
    used("channel_binding", "PGCHANNELBINDING"),
    used("require_auth", "PGREQUIREAUTH"),
    used("target_session_attrs", "PGTARGETSESSIONATTRS"),
    used("load_balance_hosts", "PGLOADBALANCEHOSTS"),
    used("service", "PGSERVICE"),
    used("servicefile", "PGSERVICEFILE"),
    used_without_variable("fallback_application_name"),
    used_without_variable("keepalives"),
    used_without_variable("keepalives_idle"),
    used_without_variable("keepalives_interval"),
    used_without_variable("keepalives_count"),
    used_without_variable("tcp_user_timeout"),
    only(
        "replication",
        None,
        &["off", "false", "no", "0"],
        "a replication connection cannot be used for a load",
    ),
    only("requirepeer", Some("PGREQUIREPEER"), &[], NOT_SUPPORTED),
    only("min_protocol_version", Some("PGMINPROTOCOLVERSION"), &["3.0"], "only protocol 3.0 is supported"),
    only("max_protocol_version", Some("PGMAXPROTOCOLVERSION"), &["3.0", "3.2", "latest"], "no such version"),
    only("sslkeylogfile", None, &[], NOT_SUPPORTED),
    only("gssencmode", Some("PGGSSENCMODE"), &["disable", "prefer"], NO_GSSAPI),
    only("scram_client_key", None, &[], NOT_SUPPORTED),
    only("scram_server_key", None, &[], NOT_SUPPORTED),
    only("oauth_issuer", None, &[], "OAuth is not supported"),
    only("oauth_client_id", None, &[], "OAuth is not supported"),
    only("oauth_client_secret", None, &[], "OAuth is not supported"),
    only("oauth_scope", None, &[], "OAuth is not supported"),
    // The variable PGOAUTHCAFILE has no effect unless the server requires OAuth.
    only("oauth_ca_file", None, &[], "OAuth is not supported"),
    without_effect("sslpassword", None),
    without_effect("sslcompression", Some("PGSSLCOMPRESSION")),
    without_effect("krbsrvname", Some("PGKRBSRVNAME")),
    without_effect("gsslib", Some("PGGSSLIB")),
    without_effect("gssdelegation", Some("PGGSSDELEGATION")),
];

/// Server settings that libpq takes only from the environment; the value `default` has no effect.
pub(crate) const SERVER_SETTINGS: &[(&str, &str)] =
    &[("PGDATESTYLE", "datestyle"), ("PGTZ", "timezone"), ("PGGEQO", "geqo")];

/// Keywords with secret values. The text after one in a string may be an unquoted part of the secret.
const SECRET: &[&str] =
    &["password", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret"];

/// The keyword of this name.
pub(crate) fn find(name: &str) -> Option<&'static Keyword> {
    KEYWORDS.iter().find(|keyword| keyword.name == name)
}

/// True for a keyword whose value must not appear in messages.
pub(crate) fn is_secret(name: &str) -> bool {
    SECRET.contains(&name)
}

/// The most similar keyword, for a typing error.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    const HABITS: &[(&str, &str)] = &[
        ("database", "dbname"),
        ("db", "dbname"),
        ("username", "user"),
        ("hostname", "host"),
        ("pass", "password"),
    ];
    let name = name.to_ascii_lowercase();
    if let Some((_, meant)) = HABITS.iter().find(|(habit, _)| *habit == name) {
        return Some(meant);
    }
    let (distance, keyword) = KEYWORDS
        .iter()
        .map(|keyword| (distance(&name, keyword.name), keyword.name))
        .min_by_key(|near| near.0)?;
    (distance <= 1 + keyword.len() / 4).then_some(keyword)
}

/// Levenshtein distance: the minimum number of inserted, deleted or replaced characters.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (above, from) in left.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], above + 1);
        for (column, to) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_keyword_leads_to_the_one_that_was_meant() {
        assert_eq!(nearest("hots"), Some("host"));
        assert_eq!(nearest("passwd"), Some("password"));
        assert_eq!(nearest("database"), Some("dbname"));
        assert_eq!(nearest("Port"), Some("port"));
        assert_eq!(nearest("ssl_mode"), Some("sslmode"));
        assert_eq!(nearest("aplication_name"), Some("application_name"));
        assert_eq!(nearest("shared_buffers"), None);
    }

    #[test]
    fn no_keyword_and_no_variable_stands_twice_in_the_table() {
        let mut names: Vec<_> = KEYWORDS.iter().map(|keyword| keyword.name).collect();
        let mut variables: Vec<_> = KEYWORDS.iter().filter_map(|keyword| keyword.variable).collect();
        for list in [&mut names, &mut variables] {
            let count = list.len();
            list.sort_unstable();
            list.dedup();
            assert_eq!(list.len(), count);
        }
    }
}
