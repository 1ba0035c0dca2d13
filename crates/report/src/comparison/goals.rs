//! The goals of both sides of a comparison: the first line of the report, and a table.
//! The sentences are in `wording`.

use results::ComparisonRecord;

use crate::document::{Banner, Block};
use crate::goals::{table, tone};
use crate::wording::{self, Measurement};

/// The goals of B, whose verdict is that of the command, and in short those of A.
pub(super) fn banner(record: &ComparisonRecord) -> Option<Banner> {
    let [a, b] = &record.sides;
    let (verdict, text) = wording::goals(&b.goals, Measurement::Comparison)?;
    let of_a = wording::goals_in_short(a.goals.iter().map(|result| result.verdict).collect());
    let of_a = of_a.map_or(String::new(), |of_a| format!(" A: {of_a}."));
    Some(Banner::new(tone(verdict), format!("B: {text}{of_a}")))
}

/// The goals of both sides.
pub(super) fn blocks(record: &ComparisonRecord) -> Vec<Block> {
    let [a, b] = record.sides.each_ref().map(|side| &side.goals);
    let rows = a.iter().zip(b).flat_map(|(a, b)| [("A".to_owned(), a), ("B".to_owned(), b)]);
    table(Some(""), rows, Measurement::Comparison)
}
