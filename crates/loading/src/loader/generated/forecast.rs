//! The needs of a load of generated rows, from the compiled rows: number, bytes and time. `init` refuses a large load
//! without consent, and `init --dry-run` shows all tables with the generators of their columns.

use std::fmt;

use datagen::TableRows;

use super::{Described, GeneratedRowsOf, Rows};
use crate::WorkloadError;
use crate::contract::load::{LoadLimit, time_left, with_commas};
use crate::contract::text_table::table;

/// Bytes that a row has in addition to its values: its header, its line pointer, and its entry in the index of a key.
const ROW_BYTES: u64 = 28;
const KEY_BYTES: u64 = 24;
/// Rates on two cores of 2024, to say whether a load takes seconds or hours.
const DIRECT_BYTES_PER_S: u64 = 20_000_000;
const JUDGED_BYTES_PER_S: u64 = 4_000_000;
/// Larger loads need consent.
const CONSENT_BYTES: u64 = 10_000_000_000;
const CONSENT_SECONDS: u64 = 600;
/// A smaller load is not worth a line.
const SHOWN_FROM_BYTES: u64 = 1_000_000_000;
/// Tables that a forecast names.
const LARGEST: usize = 3;

/// The load of all tables.
pub(crate) struct LoadForecast {
    /// The largest first.
    tables: Vec<TableForecast>,
}

struct TableForecast {
    name: String,
    rows: u64,
    bytes: u64,
    seconds: u64,
}

impl LoadForecast {
    /// `None` for rows that are not generated from a schema.
    pub(crate) fn new(rows: &Rows, described: &Described) -> Option<LoadForecast> {
        let Rows::Generated(GeneratedRowsOf { generation, .. }) = rows else { return None };
        let mut tables: Vec<TableForecast> =
            generation.tables().iter().map(|table| TableForecast::new(table, described)).collect();
        tables.sort_by_key(|table| std::cmp::Reverse(table.bytes));
        Some(LoadForecast { tables })
    }

    fn bytes(&self) -> u64 {
        self.tables.iter().fold(0, |sum, table| sum.saturating_add(table.bytes))
    }

    fn seconds(&self) -> u64 {
        self.tables.iter().fold(0, |sum, table| sum.saturating_add(table.seconds))
    }

    /// Whether it is worth a line.
    pub(crate) fn is_large(&self) -> bool {
        self.bytes() >= SHOWN_FROM_BYTES
    }

    /// Refuses a load beyond the limit.
    pub(crate) fn check(&self, limit: LoadLimit) -> Result<(), WorkloadError> {
        let reason = match limit.free_bytes {
            Some(free) if self.bytes() > free => format!("the server has {} free", sql::size_pretty(free)),
            _ if self.bytes() > CONSENT_BYTES || self.seconds() > CONSENT_SECONDS => {
                "more than 10 GB or 10 minutes need consent".to_owned()
            }
            _ => return Ok(()),
        };
        Err(WorkloadError::LoadTooLarge { forecast: format!("{self}; {reason}") })
    }
}

impl TableForecast {
    fn new(table: &TableRows, described: &Described) -> TableForecast {
        let keys = described.description.tables.iter().find(|own| described.is_of(own, table));
        let keys = keys.map_or(1, |own| own.keys.len() as u64);
        let row = table.row_bytes_mean() + ROW_BYTES + keys * KEY_BYTES;
        let bytes = table.rows().saturating_mul(row);
        let rate = if table.judgement().is_some() { JUDGED_BYTES_PER_S } else { DIRECT_BYTES_PER_S };
        TableForecast { name: table.name(), rows: table.rows(), bytes, seconds: bytes / rate }
    }
}

impl fmt::Display for LoadForecast {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.tables.iter().fold(0, |sum: u64, table| sum.saturating_add(table.rows));
        let largest: Vec<String> = self.tables[..self.tables.len().min(LARGEST)]
            .iter()
            .map(|table| format!("{} {}", table.name, with_commas(table.rows)))
            .collect();
        write!(
            out,
            "loading needs about {} of disk space and {}: {} rows ({})",
            sql::size_pretty(self.bytes()),
            time_left(0, self.seconds(), std::time::Duration::from_secs(1)),
            with_commas(rows),
            largest.join(", ")
        )
    }
}

/// The tables with their numbers of rows, then the columns of each with their generators, then notes.
pub(crate) fn dry_run(rows: &Rows, described: &Described) -> String {
    let Rows::Generated(GeneratedRowsOf { generation, .. }) = rows else { return String::new() };
    let mut lines = vec![["table", "rows", "bytes", "loading"].map(str::to_owned)];
    for own in generation.tables() {
        let forecast = TableForecast::new(own, described);
        let path = match own.judgement() {
            None if own.skips() => "COPY, without the rows that skip leaves out".to_owned(),
            None => "COPY".to_owned(),
            Some(judgement) if judgement.constraints.is_empty() => {
                "checked by the server: references such a table".to_owned()
            }
            Some(judgement) => format!("checked by the server: {}", judgement.constraints.join(", ")),
        };
        let path = own.size_reason().map_or(path.clone(), |reason| format!("{path}; {reason}"));
        lines.push([forecast.name, with_commas(forecast.rows), sql::size_pretty(forecast.bytes), path]);
    }
    lines.extend(described.kept_tables().map(|name| {
        [
            name,
            String::new(),
            String::new(),
            "no generated rows: schema.sql inserts them, or the table exists".to_owned(),
        ]
    }));
    let mut text = table(&lines);
    for own in generation.tables() {
        let columns = own.summaries().map(|column| {
            [column.column, column.type_name, column.directives, column.origin].map(str::to_owned)
        });
        let heading = ["column", "type", "generator", "by"].map(str::to_owned);
        let columns: Vec<_> = std::iter::once(heading).chain(columns).collect();
        text.push_str(&format!("\n{}\n", own.name()));
        text.extend(table(&columns).lines().map(|line| format!("  {line}\n")));
    }
    text
}
