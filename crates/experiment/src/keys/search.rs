//! The keys of `[search]`: a trial is a search for the highest rate that keeps the goals of `[load]`.
//! `lab` runs it.

use std::time::Duration;

use run::options::{Kind, Value as OptionValue};

use super::key::{Key, put};
use crate::configuration::{Configuration, SearchSpec};

/// The keys of `[search]`.
pub(crate) const KEYS: [Key; 3] = [
    Key::new(
        "search.budget",
        Kind::Time { may_be_zero: false },
        (|it| OptionValue::Time(seen(it).budget), set_budget),
        "Time of each search, at least 10 s",
    ),
    Key::new(
        "search.width",
        Kind::Percent,
        (
            |it| OptionValue::Text(format!("{}%", seen(it).width * 100.0)),
            |it, value| put(&mut asked(it).width, value.try_into()),
        ),
        "Half of the interval, relative to the rate, at which a search may end",
    ),
    Key::new(
        "search.max_rate",
        Kind::Positive,
        (|_| OptionValue::Unset, |it, value| put(&mut asked(it).max_rate_tps, value.optional())),
        "The highest rate to try, in transactions per second; default: any",
    ),
];

/// The shortest time of a search: the closed loops and a few trials.
const BUDGET_MIN: Duration = Duration::from_secs(10);

/// The specification of a configuration, or the default one.
fn seen(configuration: &Configuration) -> SearchSpec {
    configuration.search.unwrap_or_default()
}

fn asked(configuration: &mut Configuration) -> &mut SearchSpec {
    configuration.search.get_or_insert_default()
}

fn set_budget(configuration: &mut Configuration, value: OptionValue) -> Result<(), String> {
    let budget: Duration = value.try_into()?;
    if budget < BUDGET_MIN {
        return Err("a search needs at least 10 s".to_owned());
    }
    asked(configuration).budget = budget;
    Ok(())
}
