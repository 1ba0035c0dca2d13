//! The explanation of a column: its generator, the reason for it, and a histogram of draws.
//! For a reader who asks why a value is as it is.

use super::{ColumnRows, Generation, TableRows};
use crate::error::{Error, Fault, Place, nearest};
use crate::generator::bits;
use crate::histogram::Histogram;
use crate::schema::split_column;

/// What fills a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// `table.column`.
    pub column: String,
    /// Name of the type in SQL.
    pub type_name: String,
    /// The generator as directives.
    pub directives: String,
    /// Why this generator was selected.
    pub origin: String,
    /// The draw with all its parameters, for generators that draw a number.
    pub draw: Option<String>,
    /// Rows of the table.
    pub rows: u64,
    /// Why it has so many, if that is not the common number.
    pub size_reason: Option<String>,
    /// Values of some of its rows.
    pub histogram: Histogram,
}

impl Explanation {
    /// A few lines and the bars of the histogram.
    pub fn text(&self) -> String {
        let Self { column, type_name, directives, origin, draw, rows, size_reason, histogram } = self;
        let draws = histogram.draws;
        if draws == 0 && *rows > 0 {
            return format!(
                "column:    {column} {type_name}\ngenerator: {directives}\nby:        {origin}\nvalues:    PostgreSQL computes them when the rows are loaded\n"
            );
        }
        let drawn =
            if draws == *rows { format!("all {draws} rows") } else { format!("{draws} of {rows} rows") };
        let line = |name: &str, text: &Option<String>| {
            text.as_ref().map_or(String::new(), |text| format!("{name:<11}{text}\n"))
        };
        let (draw, size) = (line("draw:", draw), line("rows:", size_reason));
        format!(
            "column:    {column} {type_name}\ngenerator: {directives}\nby:        {origin}\n{draw}{size}values:    {drawn}: {} distinct, {:.2} % NULL\n\n{}",
            histogram.distinct,
            histogram.null_share() * 100.0,
            histogram.text()
        )
    }
}

/// A column that gets values: its generator, and the reason for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnSummary<'a> {
    /// Without quotes.
    pub column: &'a str,
    /// Name of the type in SQL.
    pub type_name: &'a str,
    /// The generator as directives.
    pub directives: &'a str,
    /// Why this generator was selected.
    pub origin: &'a str,
}

impl Generation {
    /// Counts the values of a column, `table.column`, over so many rows, or over all rows if there are fewer.
    ///
    /// # Errors
    /// No table gets rows in a column of this name.
    pub fn explain(&self, column: &str, draws: u64) -> Result<Explanation, Error> {
        let fault = |message: String| self.origins.error(Fault::new(Place::default(), message));
        // Names can contain dots: the first way that finds a column counts.
        let is_column = |(table, name): &(&str, String)| {
            self.table(table).is_ok_and(|table| table.column(name).is_some())
        };
        let found = split_column(column).find(is_column).or_else(|| split_column(column).next());
        let Some((table, name)) = found else {
            return Err(fault(format!("{column} does not name a column; write table.column")));
        };
        let table = self.table(table)?;
        let names = || table.columns.iter().map(|column| column.name.as_str());
        let Some(own) = table.column(&name) else {
            let hint = nearest(&name, names());
            return Err(fault(format!("the table {} has no column {name}{hint}", table.name.plain())));
        };
        // PostgreSQL computes the values of columns that are not copied.
        let rows = sample(table, if own.copied { draws } else { 0 });
        Ok(Explanation {
            column: format!("{}.{name}", table.name()),
            type_name: own.type_name.clone(),
            directives: own.description.directives.clone(),
            origin: own.description.origin.clone(),
            draw: own.node.node.draw_text(),
            rows: table.rows,
            size_reason: table.size_reason.clone(),
            histogram: Histogram::new(rows, |row, out| own.node.write(row, out)),
        })
    }
}

impl TableRows {
    /// All columns, with those that PostgreSQL fills.
    pub fn summaries(&self) -> impl Iterator<Item = ColumnSummary<'_>> {
        self.columns.iter().map(|column| ColumnSummary {
            column: &column.name,
            type_name: &column.type_name,
            directives: &column.description.directives,
            origin: &column.description.origin,
        })
    }

    /// Mean bytes of a row as text, over a sample.
    pub fn row_bytes_mean(&self) -> u64 {
        const ROWS_SAMPLED: u64 = 200;
        let mut text = Vec::new();
        let rows = sample(self, ROWS_SAMPLED).map(|row| self.write_copy(row..row + 1, &mut text)).count();
        (text.len() as u64).div_ceil((rows as u64).max(1))
    }

    fn column(&self, name: &str) -> Option<&ColumnRows> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// One row at random of each of so many parts of the table: a fixed distance could meet the period of a counter.
fn sample(table: &TableRows, draws: u64) -> impl Iterator<Item = u64> {
    let (rows, draws) = (table.rows, draws.min(table.rows));
    (0..draws).map(move |draw| {
        let start = |part: u64| u128::from(part) * u128::from(rows) / u128::from(draws);
        let length = (start(draw + 1) - start(draw)).max(1);
        u64::try_from(start(draw) + u128::from(bits(rows, draw)) % length).unwrap_or(0)
    })
}
