//! Numbers of stored results, such as `12` for a run and `c3` for a comparison, and `last` for the newest run. A label
//! must not look like one. `store` finds the results.

use std::fmt;
use std::str::FromStr;

/// Name of the newest run; `last-1` is the previous one.
const LAST: &str = "last";

/// The kinds of results in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A run, also of a trial.
    Run,
    /// A comparison.
    Comparison,
    /// An experiment.
    Experiment,
    /// A query set.
    QuerySet,
    /// A search.
    Search,
}

impl EntryKind {
    /// All kinds.
    pub const ALL: [EntryKind; 5] = [
        EntryKind::Run,
        EntryKind::Comparison,
        EntryKind::Experiment,
        EntryKind::QuerySet,
        EntryKind::Search,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        self.words()[0]
    }

    /// The column of numbers in its table, which is also its name in `removals`.
    pub(crate) fn column(self) -> &'static str {
        self.words()[1]
    }

    /// Its table.
    pub(crate) fn table(self) -> &'static str {
        self.words()[2]
    }

    /// The letter before its numbers.
    fn prefix(self) -> &'static str {
        self.words()[3]
    }

    /// Name, column, table, and the letter before its numbers.
    fn words(self) -> [&'static str; 4] {
        match self {
            EntryKind::Run => ["run", "run", "runs", ""],
            EntryKind::Comparison => ["comparison", "comparison", "comparisons", "c"],
            EntryKind::Experiment => ["experiment", "experiment", "experiments", "e"],
            EntryKind::QuerySet => ["query set", "query_set", "query_sets", "s"],
            EntryKind::Search => ["search", "search", "searches", "h"],
        }
    }
}

/// The number of an entry of the store: `12` for a run, `c3` for a comparison, `e2` for an experiment,
/// `s4` for a query set, `h5` for a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryId {
    /// The kind.
    pub kind: EntryKind,
    /// The number among those of the kind.
    pub number: i64,
}

impl fmt::Display for EntryId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As one text, so that it can be padded.
        formatter.pad(&format!("{}{}", self.kind.prefix(), self.number))
    }
}

impl FromStr for EntryId {
    type Err = String;

    fn from_str(text: &str) -> Result<EntryId, String> {
        let of = |kind: EntryKind| {
            let number = text.strip_prefix(kind.prefix()).and_then(whole)?;
            Some(EntryId { kind, number })
        };
        let id = EntryKind::ALL.into_iter().find_map(of);
        id.ok_or_else(|| {
            "expected a number from `pgmeter runs`: 12 for a run, c3 for a comparison, e2 for an experiment, s4 for a \
             query set, h5 for a search"
                .to_owned()
        })
    }
}

fn whole(digits: &str) -> Option<i64> {
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_whole)
}

/// A name of an entry that needs no file and no label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    Id(EntryId),
    /// Number of runs before the newest.
    Ago(i64),
}

/// `None` for a path or a label.
pub(crate) fn called(which: &str) -> Option<Called> {
    let ago = || {
        which.strip_prefix(LAST).and_then(|rest| match rest {
            "" => Some(0),
            rest => whole(rest.strip_prefix('-')?),
        })
    };
    which.parse().ok().map(Called::Id).or_else(|| ago().map(Called::Ago))
}

/// Whether this names an entry by its number or age, so that it cannot be a label.
pub(crate) fn is_reserved_name(text: &str) -> bool {
    let digits_only = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits_only || called(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_called_by_its_number_or_by_how_long_ago() {
        let id = |kind, number| Some(Called::Id(EntryId { kind, number }));
        assert_eq!(called("12"), id(EntryKind::Run, 12));
        assert_eq!(called("c3"), id(EntryKind::Comparison, 3));
        assert_eq!(called("e2"), id(EntryKind::Experiment, 2));
        assert_eq!(called("s4"), id(EntryKind::QuerySet, 4));
        assert_eq!(called("h5"), id(EntryKind::Search, 5));
        let ago = [called("last"), called("last-0"), called("last-3")];
        assert_eq!(ago, [0, 0, 3].map(|ago| Some(Called::Ago(ago))));
        for other in
            ["./12", "+3", "-1", "last-", "last-x", "last1", "a/last", "99999999999999999999", "", "c", "c-1"]
        {
            assert_eq!(called(other), None, "{other}");
        }
    }

    #[test]
    fn numbers_are_shown_as_they_are_read() {
        for text in ["12", "c3", "e2", "s4", "h5"] {
            assert_eq!(text.parse::<EntryId>().map(|id| id.to_string()), Ok(text.to_owned()));
        }
        assert!("last".parse::<EntryId>().is_err_and(|why| why.contains("12 for a run")));
    }
}
