//! The settings that a connection string asks for (`options=-c name=value`), and whether a session has them: a pooler may
//! ignore them. The server compares, because it normalizes values: 1MB is 1024kB.

use super::{ENCODING, Session};
use crate::error::ConnectError;
use crate::quote::literal;
use crate::target::Target;

/// A setting of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSetting {
    /// Its name as in the connection string.
    pub name: String,
    /// The value that the connection string asks for, as the server writes it.
    pub wanted: String,
    /// The value of the session, as the server writes it.
    pub found: String,
}

impl SessionSetting {
    /// Whether the session has the wanted value.
    pub fn is_in_force(&self) -> bool {
        self.wanted == self.found
    }
}

impl Target {
    /// Names and values of the settings in `options`, the last value of each name.
    pub fn session_settings(&self) -> Vec<(String, String)> {
        let mut settings: Vec<(String, String)> = Vec::new();
        let mut words = words(self.options.as_deref().unwrap_or_default()).into_iter();
        while let Some(word) = words.next() {
            let assignment = match (word.strip_prefix("--"), word.strip_prefix("-c")) {
                (Some(assignment), _) => Some(assignment.to_owned()),
                (None, Some("")) => words.next(),
                (None, Some(assignment)) => Some(assignment.to_owned()),
                (None, None) => None,
            };
            let Some((name, value)) = assignment.as_deref().and_then(|it| it.split_once('=')) else {
                continue;
            };
            // The server replaces dashes of names (ParseLongOption).
            let name = name.replace('-', "_");
            settings.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
            settings.push((name, value.to_owned()));
        }
        settings
    }
}

/// The words of `options`: separated by white space, which a backslash escapes (manual, message formats, StartupMessage).
fn words(options: &str) -> Vec<String> {
    let (mut words, mut word, mut is_open) = (Vec::new(), String::new(), false);
    let mut characters = options.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t'..='\r' => {
                if std::mem::take(&mut is_open) {
                    words.push(std::mem::take(&mut word));
                }
            }
            '\\' => {
                word.extend(characters.next());
                is_open = true;
            }
            other => {
                word.push(other);
                is_open = true;
            }
        }
    }
    words.extend(is_open.then_some(word));
    words
}

impl Session {
    /// Compares these settings with those of the session, but for the encoding, which pgmeter sets. Changes nothing.
    pub fn compare_settings(
        &mut self,
        settings: &[(String, String)],
    ) -> Result<Vec<SessionSetting>, ConnectError> {
        let given = settings.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(ENCODING.0));
        given.map(|(name, value)| self.compare_setting(name, value)).collect()
    }

    fn compare_setting(&mut self, name: &str, value: &str) -> Result<SessionSetting, ConnectError> {
        let current = format!("SELECT pg_catalog.current_setting({}, true)", literal(name));
        // One message is one transaction, with which the setting ends.
        let set = format!("SELECT pg_catalog.set_config({}, {}, true)", literal(name), literal(value));
        let setting = |wanted: String, found: String| SessionSetting { name: name.to_owned(), wanted, found };
        match self.query_sets(&format!("{current}; {set}")) {
            Ok(sets) => {
                let mut values = sets
                    .iter()
                    .map(|set| set.rows.first().and_then(|row| row.get(0)).unwrap_or_default().to_owned());
                let (found, wanted) = (values.next().unwrap_or_default(), values.next().unwrap_or_default());
                Ok(setting(wanted, found))
            }
            Err(ConnectError::Server(_)) => {
                // The server sets some parameters only at the start of a session, and says where a value is from.
                let rows = self.query_catalogs(&format!(
                    "SELECT current_setting(name), source FROM pg_settings WHERE lower(name) = lower({})",
                    literal(name)
                ))?;
                let column = |at| rows.first().and_then(|row| row.get(at)).unwrap_or_default().to_owned();
                let found = column(0);
                let is_of_start = matches!(column(1).as_str(), "client" | "override");
                Ok(setting(if is_of_start { found.clone() } else { value.to_owned() }, found))
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::environment::Environment;
    use crate::resolve::{Overrides, resolve};

    fn check(options: &str, expected: &[(&str, &str)]) {
        let options = options.replace('\\', "\\\\").replace('\'', "\\'");
        let conninfo = format!("host=h user=u options='{options}'");
        let target =
            resolve(Some(&conninfo), &Overrides::default(), &Environment::default()).expect("a target");
        let expected: Vec<_> =
            expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(target.session_settings(), expected, "{options}");
    }

    #[test]
    fn settings_are_read_from_options_as_the_server_reads_them() {
        check("", &[]);
        check("-c work_mem=1MB", &[("work_mem", "1MB")]);
        check("-cwork_mem=1MB  -c jit=off", &[("work_mem", "1MB"), ("jit", "off")]);
        check("--work-mem=1MB", &[("work_mem", "1MB")]);
        check(r"-c search_path=a,\ b\\c", &[("search_path", r"a, b\c")]);
        check("-c jit=off -c JIT=on", &[("JIT", "on")]);
        check("-F -c", &[]);
    }
}
