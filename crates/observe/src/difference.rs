//! Growth of counters between two readings. Counters may be reset and rows may appear and disappear; a decreased
//! counter means a reset. Pure.

use std::collections::BTreeMap;

use connect::Row;

use crate::catalogue::{Column, Kind};

/// A view as read: rows by key.
pub(crate) type Reading = BTreeMap<String, Counters>;

/// One row of numbers, in the order of the query's columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counters {
    /// Time of the last reset, in seconds of the server's calendar.
    pub(crate) reset: Option<f64>,
    /// `None` for NULL.
    pub(crate) values: Vec<Option<f64>>,
}

/// Growth of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Growth {
    /// In the order of the columns.
    pub(crate) values: Vec<Option<f64>>,
    /// There was a reset in between: the values are the growth since the reset.
    pub(crate) was_reset: bool,
}

impl Growth {
    /// Adds the growth of another row.
    pub(crate) fn add(&mut self, more: &Growth) {
        for (sum, more) in self.values.iter_mut().zip(&more.values) {
            *sum = sum.zip(*more).map(|(sum, more)| sum + more).or(*sum).or(*more);
        }
        self.was_reset |= more.was_reset;
    }

    /// Whether all counters are unchanged; sizes are ignored.
    pub(crate) fn is_nothing(&self, columns: &[Column]) -> bool {
        let still = |(value, column): (&Option<f64>, &Column)| {
            column.kind == Kind::AtEnd || value.unwrap_or(0.0) == 0.0
        };
        self.values.iter().zip(columns).all(still)
    }
}

/// Parses rows of key, reset and numbers.
pub(crate) fn read(rows: &[Row]) -> Reading {
    let number =
        |text: Option<&str>| text.and_then(|text| text.parse::<f64>().ok()).filter(|value| value.is_finite());
    let counters = |row: &Row| Counters {
        reset: number(row.get(1)),
        values: (2..row.len()).map(|column| number(row.get(column))).collect(),
    };
    rows.iter().map(|row| (row.get(0).unwrap_or_default().to_owned(), counters(row))).collect()
}

/// Growth of a row between two readings. A new row has grown from zero.
pub(crate) fn growth(before: Option<&Counters>, after: &Counters, columns: &[Column]) -> Growth {
    let Some(before) = before else { return Growth { values: after.values.clone(), was_reset: false } };
    let pairs = || before.values.iter().zip(&after.values).zip(columns);
    let fell = pairs().any(|((before, after), column)| match (before, after, column.kind) {
        (Some(before), Some(after), Kind::Counter) => after < before,
        _ => false,
    });
    let was_reset =
        fell || matches!((before.reset, after.reset), (Some(before), Some(after)) if before != after);
    let grown = |((before, after), column): ((&Option<f64>, &Option<f64>), &Column)| match column.kind {
        Kind::AtEnd => *after,
        Kind::Counter if was_reset => *after,
        Kind::Counter => Some((*after)? - before.unwrap_or(0.0)),
    };
    Growth { values: pairs().map(grown).collect(), was_reset }
}

/// Growth of each row of a view.
pub(crate) fn growths(before: &Reading, after: &Reading, columns: &[Column]) -> BTreeMap<String, Growth> {
    after.iter().map(|(key, row)| (key.clone(), growth(before.get(key), row, columns))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Asked, TABLES, V18, questions};

    fn columns() -> Vec<Column> {
        let table = questions(V18, &Asked { tables: &[1], ..Asked::default() })
            .into_iter()
            .find(|question| question.view == TABLES)
            .unwrap();
        let named = |name| *table.columns.iter().find(|column| column.name == name).unwrap();
        vec![named("seq_scan"), named("n_tup_ins"), named("table_bytes_at_end")]
    }

    fn counters(reset: Option<f64>, values: [f64; 3]) -> Counters {
        Counters { reset, values: values.map(Some).to_vec() }
    }

    fn check(before: Option<Counters>, after: Counters, expected: [f64; 3], was_reset: bool) {
        let growth = growth(before.as_ref(), &after, &columns());
        assert_eq!(growth, Growth { values: expected.map(Some).to_vec(), was_reset });
    }

    #[test]
    fn counters_grow_by_their_difference_and_sizes_are_those_of_the_end() {
        check(
            Some(counters(None, [5.0, 7.0, 100.0])),
            counters(None, [6.0, 7.0, 90.0]),
            [1.0, 0.0, 90.0],
            false,
        );
    }

    #[test]
    fn a_row_that_was_not_there_has_grown_from_nothing() {
        check(None, counters(Some(1.0), [6.0, 7.0, 9.0]), [6.0, 7.0, 9.0], false);
    }

    #[test]
    fn after_a_reset_the_growth_is_what_was_counted_since() {
        let reset = |reset| counters(Some(reset), [50.0, 7.0, 1.0]);
        check(Some(reset(1.0)), counters(Some(2.0), [60.0, 8.0, 1.0]), [60.0, 8.0, 1.0], true);
    }

    #[test]
    fn a_counter_that_went_down_has_begun_anew_with_its_whole_row() {
        check(Some(counters(None, [50.0, 7.0, 1.0])), counters(None, [3.0, 9.0, 1.0]), [3.0, 9.0, 1.0], true);
    }

    #[test]
    fn what_the_server_does_not_say_stays_unsaid() {
        let silent = Counters { reset: None, values: vec![None, None, None] };
        let growth = growth(Some(&counters(None, [1.0, 2.0, 3.0])), &silent, &columns());
        assert_eq!(growth.values, [None; 3]);
        assert!(growth.is_nothing(&columns()) && !growth.was_reset);
    }

    #[test]
    fn a_row_that_vanished_is_no_growth() {
        let before = Reading::from([("gone".to_owned(), counters(None, [1.0, 1.0, 1.0]))]);
        assert!(growths(&before, &Reading::new(), &columns()).is_empty());
    }
}
