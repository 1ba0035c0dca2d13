//! The environment of the process for resolving targets: variables, home directory, user name. It is an argument, so
//! that resolving is a pure function; only `of_process` reads it.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::ConnectError;
use crate::target::CONTROL_TIMEOUT;

/// Limit for control sessions while the server does not answer, in seconds.
const CONTROL_TIMEOUT_VARIABLE: &str = "PGMETER_CONTROL_TIMEOUT";

/// Source of connection defaults. Debug shows names of variables, not their values.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// `PGHOST` and so on.
    pub variables: BTreeMap<String, OsString>,
    /// Directory of `.pgpass`.
    pub home: Option<PathBuf>,
    /// The operating system user, the last default for the role and the database.
    pub os_user: Option<String>,
}

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Environment {
        let variables = env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| name.starts_with("PG"))
            .collect();
        let account = Account::of_process();
        let home = env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let named = |variable| env::var(variable).ok().filter(|name| !name.is_empty());
        Environment {
            variables,
            home: home.or_else(|| account.as_ref().map(|account| account.home.clone())),
            // Accounts of a directory service are not in the file; the login sets these variables.
            os_user: account
                .map(|account| account.name)
                .or_else(|| named("LOGNAME"))
                .or_else(|| named("USER")),
        }
    }

    /// The value of a variable, possibly empty. An error if it is not UTF-8.
    pub(crate) fn get(&self, variable: &str) -> Result<Option<&str>, ConnectError> {
        let Some(value) = self.variables.get(variable) else { return Ok(None) };
        let text = value.to_str().ok_or_else(|| {
            ConnectError::Settings(format!("the environment variable {variable} is not valid UTF-8"))
        })?;
        Ok(Some(text))
    }

    /// How long control sessions wait for the server, in seconds.
    pub(crate) fn control_timeout(&self) -> Result<Duration, ConnectError> {
        let Some(text) = self.get_given(CONTROL_TIMEOUT_VARIABLE)? else { return Ok(CONTROL_TIMEOUT) };
        let seconds = text.trim().parse().ok().filter(|seconds: &f64| *seconds > 0.0);
        seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).ok_or_else(|| {
            ConnectError::Settings(format!(
                "{CONTROL_TIMEOUT_VARIABLE}={text}: expected a number of seconds above 0, such as 60"
            ))
        })
    }

    /// Keeps only this variable, for servers that no other variable applies to.
    pub fn only_control_timeout(self) -> Environment {
        let is_it = |name: &String| name == CONTROL_TIMEOUT_VARIABLE;
        let variables = self.variables.into_iter().filter(|(name, _)| is_it(name)).collect();
        Environment { variables, ..Environment::default() }
    }

    /// As [`Environment::get`], but `None` for an empty value.
    pub(crate) fn get_given(&self, variable: &str) -> Result<Option<&str>, ConnectError> {
        Ok(self.get(variable)?.filter(|value| !value.is_empty()))
    }
}

/// A line of `/etc/passwd`.
struct Account {
    name: String,
    home: PathBuf,
}

impl Account {
    /// Parsed here: the C library's function is not safe in a statically linked program.
    fn of_process() -> Option<Account> {
        let content = fs::read("/etc/passwd").ok()?;
        let user_id = rustix::process::geteuid().as_raw();
        Account::find(&String::from_utf8_lossy(&content), user_id)
    }

    fn find(content: &str, user_id: u32) -> Option<Account> {
        content.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let &[name, _, id, _, _, home, ..] = fields.as_slice() else { return None };
            let is_wanted = id.parse() == Ok(user_id) && !name.is_empty();
            is_wanted.then(|| Account { name: name.to_owned(), home: PathBuf::from(home) })
        })
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Environment")
            .field("variables", &self.variables.keys())
            .field("home", &self.home)
            .field("os_user", &self.os_user)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_is_found_by_its_number() {
        let content = "root:x:0:0:root:/root:/bin/sh\nbroken\nalice:x:1000:1000::/home/alice:/bin/sh\n";
        let account = Account::find(content, 1000).unwrap();
        assert_eq!((account.name.as_str(), account.home), ("alice", PathBuf::from("/home/alice")));
        assert!(Account::find(content, 1001).is_none());
    }

    #[test]
    fn debug_shows_no_value_of_a_variable() {
        let mut environment = Environment::default();
        environment.variables.insert("PGPASSWORD".to_owned(), "secret".into());
        let shown = format!("{environment:?}");
        assert!(shown.contains("PGPASSWORD") && !shown.contains("secret"), "{shown}");
    }

    #[test]
    fn this_process_has_surroundings() {
        assert!(Environment::of_process().variables.keys().all(|name| name.starts_with("PG")));
    }
}
