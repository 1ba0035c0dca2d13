//! Actions of a run: how they are written. `kinds` is the table of their kinds; `results` defines what is recorded.
//! Called by `options`, and by `lab` for experiments; `execution::actions` executes them.

mod kinds;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use results::{Action, ActionWork, SafeText};

use kinds::KINDS;

use crate::spec::options::seconds;
use crate::spec::{ActionKind, ActionSpec};

/// Each has a thread and a connection.
pub(crate) const ACTIONS_MAX: usize = 64;

impl ActionSpec {
    /// An action of a kind with this name and detail.
    ///
    /// # Errors
    /// The kind is unknown, or its detail is invalid.
    pub fn new(at: Duration, kind: &str, detail: &str) -> Result<Self, String> {
        let known = KINDS.iter().find(|known| known.name == kind);
        let known = known.ok_or_else(|| {
            format!("unknown kind of action \"{}\"; expected {}", kind.escape_debug(), Self::kinds_in_words())
        })?;
        Ok(Self { at, kind: (known.read)(detail)? })
    }

    /// The names of all kinds.
    pub fn kinds() -> Vec<&'static str> {
        KINDS.iter().map(|kind| kind.name).collect()
    }

    /// The names of all kinds as a list in a sentence.
    pub fn kinds_in_words() -> String {
        let mut names = Self::kinds();
        let last = names.pop().unwrap_or_default();
        format!("{} or {last}", names.join(", "))
    }

    /// Key, form of the detail and description of each kind.
    pub fn described() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        KINDS.iter().map(|kind| (kind.name, kind.form, kind.help))
    }

    /// The fault, if it is one.
    pub fn fault(&self) -> Option<&results::Fault> {
        match &self.kind {
            ActionKind::Sql(_) => None,
            ActionKind::Fault(fault) => Some(fault),
        }
    }
}

/// Parses `30s:sql=VACUUM t`, as on a command line.
impl FromStr for ActionSpec {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let form = "expected TIME:KIND, such as 30s:sql='REFRESH MATERIALIZED VIEW v'";
        // The word may contain a password in SQL, so messages do not show it.
        let (time, work) = word.split_once(':').ok_or_else(|| format!("there is no \":\" in it; {form}"))?;
        let at = seconds(time).map_err(|why| format!("the time \"{}\": {why}", time.escape_debug()))?;
        let (kind, detail) = work.split_once('=').unwrap_or((work, ""));
        if kind.contains(char::is_whitespace) {
            return Err(format!("there is no kind after the time; {form}"));
        }
        // As flags have hyphens, and keys of experiments underscores.
        Self::new(Duration::from_secs_f64(at), &kind.replace('-', "_"), detail)
    }
}

/// As on a command line, with the time in seconds.
impl fmt::Display for ActionSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}s:", self.at.as_secs_f64())?;
        match &self.kind {
            ActionKind::Sql(sql) => write!(formatter, "sql={sql}"),
            ActionKind::Fault(fault) => write!(formatter, "{fault}"),
        }
    }
}

impl From<&ActionSpec> for Action {
    fn from(spec: &ActionSpec) -> Self {
        let work = match &spec.kind {
            ActionKind::Sql(sql) => ActionWork::Sql { sql: SafeText::sql(sql) },
            ActionKind::Fault(fault) => ActionWork::Fault(fault.clone()),
        };
        Self { at_s: spec.at.as_secs_f64(), work }
    }
}

impl From<&Action> for ActionSpec {
    fn from(action: &Action) -> Self {
        let kind = match &action.work {
            ActionWork::Sql { sql } => ActionKind::Sql(sql.as_str().to_owned()),
            ActionWork::Fault(fault) => ActionKind::Fault(fault.clone()),
        };
        Self { at: Duration::try_from_secs_f64(action.at_s).unwrap_or_default(), kind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(word: &str) -> String {
        word.parse::<ActionSpec>().unwrap_err()
    }

    #[test]
    fn an_action_has_a_time_a_kind_and_a_detail() {
        let action: ActionSpec = "1.5:sql=update t set a = b::text ;".parse().unwrap();
        let sql = "update t set a = b::text ;".to_owned();
        assert_eq!(action, ActionSpec { at: Duration::from_millis(1500), kind: ActionKind::Sql(sql) });
        assert_eq!(action.to_string().parse(), Ok(action));
        let action: ActionSpec = "2min:sql=checkpoint".parse().unwrap();
        assert_eq!(action.at, Duration::from_secs(120));
        assert_eq!(ActionSpec::from(&Action::from(&action)), action);
    }

    #[test]
    fn an_action_that_cannot_be_read_is_refused_in_one_sentence() {
        let form = "expected TIME:KIND, such as 30s:sql='REFRESH MATERIALIZED VIEW v'";
        assert_eq!(refused("vacuum"), format!("there is no \":\" in it; {form}"));
        assert_eq!(refused("3s:vacuum t"), format!("there is no kind after the time; {form}"));
        assert_eq!(
            refused("3s:promot"),
            "unknown kind of action \"promot\"; expected sql, stop, start, restart, kill, kill_backend, pause, promote, \
             switchover, cut, blackhole, blackhole_to_server, blackhole_to_client, slow or heal"
        );
        assert!(refused("soon:sql=select 1").starts_with("the time \"soon\": expected a number of seconds"));
        assert!(refused("-1:sql=select 1").starts_with("the time \"-1\": expected a number of seconds"));
        for empty in ["3s:sql", "3s:sql=", "3s:sql= ; "] {
            assert_eq!(refused(empty), "the SQL is empty: give one or more statements");
        }
    }
}
