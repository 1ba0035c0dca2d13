//! Settings that connections set for themselves, on a server: which of them it refuses, and the options of a connection
//! that set them. `experiment::session_settings` determines which settings these are.

use std::collections::{BTreeMap, BTreeSet};

use config::nearest;
use connect::{Session, Target};
use experiment::{SessionSettings, not_for_sessions};
use run::RunError;

/// Which of these settings sessions of the connected role cannot set on this server, and why.
pub(crate) fn refused_by_server<'a>(
    session: &mut Session,
    names: impl IntoIterator<Item = &'a String>,
) -> Result<Vec<String>, RunError> {
    let names: BTreeSet<&String> = names.into_iter().collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    // Since PostgreSQL 15, other roles can have the right to set a parameter (manual, GRANT).
    let may = if session.server_version_num() >= 150_000 {
        "pg_catalog.has_parameter_privilege(name, 'SET')"
    } else {
        "(SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user)"
    };
    let rows = session.query_catalogs(&format!(
        "SELECT lower(name), context, CASE WHEN context LIKE 'superuser%' THEN {may} ELSE true END, current_user \
         FROM pg_catalog.pg_settings"
    ))?;
    let text = |row: &connect::Row, at| row.get(at).unwrap_or_default().to_owned();
    let known: BTreeMap<String, (String, bool, String)> = rows
        .iter()
        .map(|row| (text(row, 0), (text(row, 1), row.get(2) == Some("t"), text(row, 3))))
        .collect();
    let refusal = |name: &&String| {
        let why = match known.get(&name.to_ascii_lowercase()) {
            // Settings of extensions are unknown until the extension is loaded.
            None if name.contains('.') => return None,
            None => {
                let all: Vec<&str> = known.keys().map(String::as_str).collect();
                let near = nearest(&name.to_ascii_lowercase(), &all);
                let near = near.map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
                format!("this server has no setting \"{name}\"{near}")
            }
            Some((context, may, role)) => match (context.as_str(), may) {
                ("user" | "superuser" | "backend" | "superuser-backend", true) => return None,
                ("superuser" | "superuser-backend", false) => format!(
                    "the role {role} may not set {name}: connect as a superuser or, since PostgreSQL 15, GRANT SET ON \
                     PARAMETER {name} TO {role}"
                ),
                _ => not_for_sessions(name),
            },
        };
        Some(why)
    };
    Ok(names.iter().filter_map(refusal).collect())
}

/// A target whose connections begin with these settings.
pub(crate) fn with_settings(target: Target, settings: &SessionSettings) -> Target {
    if settings.is_empty() {
        return target;
    }
    let mut options: Vec<String> = target.options.clone().into_iter().collect();
    options
        .extend(settings.iter().map(|(name, value)| format!("-c {}", escaped(&format!("{name}={value}")))));
    Target { options: Some(options.join(" ")), ..target }
}

/// A word for `options` in the startup packet: whitespace and backslashes are escaped with a backslash (manual,
/// message formats, StartupMessage).
fn escaped(text: &str) -> String {
    let mut word = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | ' ' | '\t'..='\r') {
            word.push('\\');
        }
        word.push(character);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_with_white_space_is_one_word_of_the_options() {
        assert_eq!(escaped("a=b c\t-c\nd\u{b}\u{c}\r\\é"), "a=b\\ c\\\t-c\\\nd\\\u{b}\\\u{c}\\\r\\\\é");
    }
}
