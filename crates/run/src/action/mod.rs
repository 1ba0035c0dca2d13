//! Actions of a run: how they are written and checked. `thread` executes them; `results` defines what is recorded.
//! Called by `options`, the runner, and `lab` for experiments.

mod thread;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use engine::Limit;
use results::{Action, ActionWork, SafeText};

pub(crate) use thread::Actions;

use crate::options::seconds;
use crate::spec::{ActionKind, ActionSpec, RunSpec};

/// Each has a thread and a connection.
pub(crate) const ACTIONS_MAX: usize = 64;

/// A kind: its name in options and experiments, and what reads the detail that follows.
type Kind = (&'static str, fn(&str) -> Result<ActionKind, String>);
const KINDS: [Kind; 1] = [("sql", sql)];

fn sql(text: &str) -> Result<ActionKind, String> {
    if text.contains('\0') {
        return Err("the SQL contains a zero byte".to_owned());
    }
    match text.trim_matches(|character: char| character.is_whitespace() || character == ';') {
        "" => Err("the SQL is empty: give one or more statements".to_owned()),
        _ => Ok(ActionKind::Sql(text.trim().to_owned())),
    }
}

impl ActionSpec {
    /// An action of a kind with this name and detail.
    ///
    /// # Errors
    /// The kind is unknown, or its detail is invalid.
    pub fn new(at: Duration, kind: &str, detail: &str) -> Result<Self, String> {
        let known = KINDS.iter().find(|(name, _)| *name == kind);
        let (_, read) = known.ok_or_else(|| {
            format!(
                "unknown kind of action \"{}\"; expected {}",
                kind.escape_debug(),
                Self::kinds().join(" or ")
            )
        })?;
        Ok(Self { at, kind: read(detail)? })
    }

    /// The names of all kinds.
    #[must_use]
    pub fn kinds() -> Vec<&'static str> {
        KINDS.iter().map(|(name, _)| *name).collect()
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
        Self::new(Duration::from_secs_f64(at), kind, detail)
    }
}

/// As on a command line, with the time in seconds.
impl fmt::Display for ActionSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ActionKind::Sql(sql) = &self.kind;
        write!(formatter, "{}s:sql={sql}", self.at.as_secs_f64())
    }
}

impl From<&ActionSpec> for Action {
    fn from(spec: &ActionSpec) -> Self {
        let ActionKind::Sql(sql) = &spec.kind;
        Self { at_s: spec.at.as_secs_f64(), work: ActionWork::Sql { sql: SafeText::sql(sql) } }
    }
}

impl From<&Action> for ActionSpec {
    fn from(action: &Action) -> Self {
        let ActionWork::Sql { sql } = &action.work;
        let at = Duration::try_from_secs_f64(action.at_s).unwrap_or_default();
        Self { at, kind: ActionKind::Sql(sql.as_str().to_owned()) }
    }
}

/// Refuses actions whose time is after the end of the run.
///
/// # Errors
/// A message that names the action.
pub fn check_actions(spec: &RunSpec) -> Result<(), String> {
    let Limit::Duration(duration) = spec.limit else { return Ok(()) };
    match spec.actions.iter().find(|action| action.at >= duration) {
        None => Ok(()),
        Some(action) => Err(format!(
            "an action is set to begin at {} s, and the measurement lasts {} s: choose an earlier time or a longer duration",
            action.at.as_secs_f64(),
            duration.as_secs_f64()
        )),
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
        assert_eq!(refused("3s:promot"), "unknown kind of action \"promot\"; expected sql");
        assert!(refused("soon:sql=select 1").starts_with("the time \"soon\": expected a number of seconds"));
        assert!(refused("-1:sql=select 1").starts_with("the time \"-1\": expected a number of seconds"));
        for empty in ["3s:sql", "3s:sql=", "3s:sql= ; "] {
            assert_eq!(refused(empty), "the SQL is empty: give one or more statements");
        }
    }

    #[test]
    fn an_action_begins_before_the_run_ends() {
        let actions = vec!["10s:sql=checkpoint".parse().unwrap()];
        let spec = |limit| RunSpec { limit, actions: actions.clone(), ..RunSpec::default() };
        assert_eq!(check_actions(&spec(Limit::Duration(Duration::from_secs(11)))), Ok(()));
        assert_eq!(check_actions(&spec(Limit::TransactionsPerClient(1))), Ok(()));
        assert_eq!(
            check_actions(&spec(Limit::Duration(Duration::from_secs(10)))).unwrap_err(),
            "an action is set to begin at 10 s, and the measurement lasts 10 s: choose an earlier time or a longer duration"
        );
    }
}
