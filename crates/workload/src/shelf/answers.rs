//! Expected answers of queries, kept as text: for each line the scale, the query, its number of rows and their checksum.
//! Used by the workloads with query sets of fixed texts.

use std::borrow::Cow;

use loading::contract::query_set::Answer;
use stats::Scale;

/// The answers of a scale.
pub(super) fn of_scale(lines: &'static str, scale: Scale) -> Vec<Answer> {
    let lines = lines.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(parsed).filter(|(of, _)| *of == scale).map(|(_, answer)| answer).collect()
}

fn parsed(line: &'static str) -> Option<(Scale, Answer)> {
    let mut words = line.split(' ');
    let (scale, query) = (words.next()?.parse().ok()?, Cow::Borrowed(words.next()?));
    let (rows, checksum) = (words.next()?.parse().ok()?, Some(Cow::Borrowed(words.next()?)));
    Some((scale, Answer { query, rows, checksum }))
}
