//! What was asked of a search, and its goals as shares of transactions.
//! Command lines fill in the options; bad ones are refused with a sentence.

use results::SearchGoal;
use run::{RunError, RunSpec};

/// The figure of `--expect`.
const EXPECTED: &str = "search.rate_tps";
/// The shortest budget: the bursts, a few trials and a confirmation.
const BUDGET_MIN_S: f64 = 10.0;
/// The confirmation takes at most this share of the budget, and this many seconds.
const CONFIRMATION_SHARE: f64 = 0.16;
const CONFIRMATION_MAX_S: f64 = 60.0;

/// The options of a run that a search takes. It finds the rate, the length and the clients.
pub const OPTIONS_OF_SEARCH: &[&str] = &[
    "goal",
    "workload",
    "file",
    "builtin",
    "skip_some_updates",
    "select_only",
    "variables",
    "scale",
    "workers",
    "protocol",
    "latency_limit",
    "max_tries",
    "continue_on_error",
    "no_vacuum",
    "observe",
    "event_loop",
    "seed",
];
/// Help of its goals.
pub const GOAL_OF_SEARCH: &str = "The promise: a share of transactions over a limit, such as 'p99 < 20ms', 'over(20ms) < 1%' or \
    'failed < 0.1%'; may be repeated";

/// The number of clients on a command line; `None`: it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchClients(pub Option<u32>);

/// Options of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchOptions {
    /// Time for everything, in seconds.
    pub budget_s: f64,
    /// Half of the interval, relative to the rate, at which the search may end.
    pub width: f64,
    /// The highest rate to try.
    pub max_rate_tps: Option<f64>,
    /// The number of clients; `None`: it is found.
    pub clients: Option<u32>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The rate that is expected at least.
    pub expected_tps: Option<f64>,
    /// Whether a longer load confirms the answer.
    pub confirms: bool,
}

/// The search that `--resume` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumedSearch {
    /// The newest one with the same goals.
    Newest,
    /// Its number.
    Number(i64),
}

impl SearchOptions {
    /// Parses `auto` or a number of clients.
    ///
    /// # Errors
    /// It is neither.
    pub fn clients(text: &str) -> Result<SearchClients, String> {
        match text {
            "auto" => Ok(SearchClients(None)),
            number => match number.parse() {
                Ok(number @ 1..) => Ok(SearchClients(Some(number))),
                _ => Err("expected auto or a number of clients, such as 16".to_owned()),
            },
        }
    }

    /// Parses the half width of the interval.
    ///
    /// # Errors
    /// It is no share between 0.1 % and 50 %.
    pub fn width(text: &str) -> Result<f64, String> {
        let width = run::options::percent(text)?;
        if (0.001..=0.5).contains(&width) { Ok(width) } else { Err("expected 0.1% to 50%".to_owned()) }
    }

    /// Parses a budget.
    ///
    /// # Errors
    /// It is no time, or too short.
    pub fn budget(text: &str) -> Result<f64, String> {
        let seconds =
            run::options::duration(text).map_err(|expected| format!("expected {expected}"))?.as_secs_f64();
        if seconds < BUDGET_MIN_S {
            return Err(format!(
                "must be at least {BUDGET_MIN_S}s: a search has short loads, many trials and a confirmation"
            ));
        }
        Ok(seconds)
    }

    /// Parses the condition of `--expect`.
    ///
    /// # Errors
    /// It is not one.
    pub fn expected(text: &str) -> Result<f64, String> {
        let rest =
            text.trim().strip_prefix(EXPECTED).map(str::trim_start).and_then(|rest| rest.strip_prefix('>'));
        let rate = rest.and_then(|rest| Self::rate(rest.trim()).ok());
        rate.ok_or_else(|| {
            format!("expected \"{EXPECTED} > \" and transactions per second, such as \"{EXPECTED} > 3000\"")
        })
    }

    /// Parses the value of `--resume`.
    ///
    /// # Errors
    /// It is no number of a search.
    pub fn resumed(text: &str) -> Result<ResumedSearch, String> {
        if text == "last" {
            return Ok(ResumedSearch::Newest);
        }
        let number =
            text.strip_prefix('h').and_then(|number| number.parse().ok()).filter(|number| *number > 0);
        number
            .map(ResumedSearch::Number)
            .ok_or_else(|| "expected last or the number of a search, such as h5".to_owned())
    }

    /// Parses a rate.
    ///
    /// # Errors
    /// It is no number of at least 1.
    pub fn rate(text: &str) -> Result<f64, String> {
        match text.parse() {
            Ok(rate) if rate >= 1.0 && f64::is_finite(rate) => Ok(rate),
            _ => Err("expected transactions per second, at least 1, such as 5000".to_owned()),
        }
    }

    /// Length of the confirmation, in seconds; 0 without one.
    pub(super) fn confirmation_s(&self) -> f64 {
        if self.confirms { (CONFIRMATION_SHARE * self.budget_s).min(CONFIRMATION_MAX_S) } else { 0.0 }
    }
}

/// The goals of the load as shares.
///
/// # Errors
/// There are none, or one is no share.
pub(crate) fn goals(spec: &RunSpec) -> Result<Vec<SearchGoal>, RunError> {
    if spec.goals.is_empty() {
        return Err(RunError::Usage(
            "a search needs a promise to look for: give --goal, such as --goal 'p99 < 20ms'".to_owned(),
        ));
    }
    let share = |goal: &stats::goals::Goal| match goal.allowed_share() {
        Ok(allowed_share) => Ok(SearchGoal { goal: goal.clone(), allowed_share }),
        Err(why) => Err(RunError::Usage(format!(
            "the goal \"{goal}\" cannot be searched for, because {why}: a search needs a share of transactions over a limit, \
             such as p99 < 20ms, over(20ms) < 1% or failed < 0.1%"
        ))),
    };
    spec.goals.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_options_are_read_and_others_refused() {
        let clients = |text| SearchOptions::clients(text).map(|clients| clients.0);
        assert_eq!((clients("auto"), clients("16")), (Ok(None), Ok(Some(16))));
        assert!(SearchOptions::clients("0").is_err() && SearchOptions::clients("many").is_err());
        assert_eq!((SearchOptions::width("3%"), SearchOptions::budget("10min")), (Ok(0.03), Ok(600.0)));
        assert!(SearchOptions::width("90%").is_err() && SearchOptions::budget("5s").is_err());
        assert!(SearchOptions::rate("0").is_err() && SearchOptions::rate("NaN").is_err());
        assert_eq!(SearchOptions::rate("5000"), Ok(5000.0));
        assert_eq!(SearchOptions::expected("search.rate_tps > 3000"), Ok(3000.0));
        assert_eq!(SearchOptions::expected("search.rate_tps>3000"), Ok(3000.0));
        for wrong in ["search.rate_tps < 3000", "rate > 3000", "search.rate_tps > some"] {
            assert!(
                SearchOptions::expected(wrong).unwrap_err().contains("search.rate_tps > 3000"),
                "{wrong}"
            );
        }
        assert_eq!(SearchOptions::resumed("h5"), Ok(ResumedSearch::Number(5)));
        assert_eq!(SearchOptions::resumed("last"), Ok(ResumedSearch::Newest));
        assert!(SearchOptions::resumed("5").is_err() && SearchOptions::resumed("h0").is_err());
    }

    #[test]
    fn goals_without_a_share_are_refused_with_a_sentence() {
        let spec = |goals: &[&str]| RunSpec {
            goals: goals.iter().map(|goal| goal.parse().unwrap()).collect(),
            ..RunSpec::default()
        };
        let both = goals(&spec(&["p99 < 20ms", "failed < 1%"])).unwrap();
        assert_eq!(
            both.iter().map(|goal| (goal.allowed_share * 1e4).round()).collect::<Vec<_>>(),
            [100.0, 100.0]
        );
        let refused = |texts: &[&str]| goals(&spec(texts)).unwrap_err().to_string();
        assert!(refused(&[]).starts_with("a search needs a promise"));
        assert!(refused(&["mean < 20ms"]).contains("it is not a share of the transactions"));
        assert!(refused(&["tps > 100"]).contains("it sets a lower limit"));
    }
}
