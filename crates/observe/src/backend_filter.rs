//! Condition on pg_stat_activity for the benchmark's backends. Exact if the run's sessions have a unique application
//! name; if the user chose the name, user, database and age are compared as well.

use connect::quote::literal;

/// Condition for the benchmark's backends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendFilter {
    /// A unique `application_name`. Holds for each connection of `-C`, and behind a pooler.
    Marked(String),
    /// The user chose the name: user and database must match too, and the backend must be younger than the observer's.
    Named {
        /// The sessions' application name.
        application_name: String,
        /// Their role.
        user: String,
        /// Their database.
        database: String,
    },
}

/// Maximum length of a name that a server does not truncate.
const NAME_LENGTH_MAX: usize = 63;

impl BackendFilter {
    /// The SQL condition. `since` is the start time of the observer's backend, in the server's format.
    pub(crate) fn condition(&self, since: &str) -> String {
        match self {
            BackendFilter::Marked(mark) => format!("application_name = {}", literal(mark)),
            BackendFilter::Named { application_name, user, database } => {
                let mut condition = format!(
                    "usename = {} and datname = {} and backend_start > {}::timestamptz and pid <> pg_backend_pid()",
                    literal(user),
                    literal(database),
                    literal(since)
                );
                // Servers replace other characters; the replacement depends on the version.
                let is_kept = application_name.bytes().all(|byte| (b' '..=b'~').contains(&byte));
                if is_kept && application_name.len() <= NAME_LENGTH_MAX {
                    condition.push_str(&format!(" and application_name = {}", literal(application_name)));
                }
                condition
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_enough() {
        assert_eq!(BackendFilter::Marked("it's".to_owned()).condition("x"), "application_name = 'it''s'");
    }

    #[test]
    fn a_name_of_the_users_is_held_against_user_database_and_age() {
        let named = |name: &str| BackendFilter::Named {
            application_name: name.to_owned(),
            user: "u".to_owned(),
            database: "d\\".to_owned(),
        };
        let condition = named("app").condition("2026-01-01 00:00:00+00");
        assert!(condition.contains("datname = E'd\\134'") && condition.ends_with("application_name = 'app'"));
        assert!(!named("é").condition("now").contains("application_name"));
    }
}
