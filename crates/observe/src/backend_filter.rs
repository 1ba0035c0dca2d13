//! Which backends are the benchmark's, as a condition on pg_stat_activity. Exact where the run's sessions carry a name
//! that nobody else has; where the user named them, user, database and age say the rest.

use connect::quote::literal;

/// How to know the benchmark's backends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendFilter {
    /// Their `application_name` is this and nobody else's. Holds for each connection of `-C`, and behind a pooler.
    Marked(String),
    /// The user gave the name: user and database must fit too, and the backend be younger than the observer's.
    Named {
        /// What the sessions call themselves.
        application_name: String,
        /// Their role.
        user: String,
        /// Their database.
        database: String,
    },
}

/// The longest name that a server does not cut.
const NAME_LENGTH_MAX: usize = 63;

impl BackendFilter {
    /// The condition. `since` is when the observer's backend began, as the server wrote it.
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
                // Servers replace other characters, each version in its way.
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
