//! The text of a learnt schema: CREATE TABLE with directives behind the columns, then indexes and foreign keys. Pure.
//! Directives that the generators refuse are left out, with a warning.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use datagen::{Generation, NoFiles, Options, ReferenceDescription, Schema, Source};

use crate::directives::{Directives, Setting, directives};
use crate::facts::{ColumnFacts, Facts};

/// Most names in a sentence.
const NAMES_MAX: usize = 5;

/// A schema that was learnt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learned {
    /// SQL with directives.
    pub schema: String,
    /// Sentences about parts of the tables that the schema cannot reproduce, one for each kind.
    pub warnings: Vec<String>,
}

/// For a comment: a name with a line break must not end it.
fn in_one_line(text: &str) -> String {
    text.chars()
        .map(|one| if one.is_control() || "\u{2028}\u{2029}".contains(one) { '?' } else { one })
        .collect()
}

/// Writes the schema of the tables.
pub(crate) fn learned(mut facts: Facts, values: bool) -> Learned {
    let left_out = std::mem::take(&mut facts.left_out);
    let mut writer = Writer::new(&facts, values);
    let notes = writer.relax();
    let mut kinds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (kind, name) in left_out.iter().chain(&writer.free) {
        kinds.entry(kind).or_default().push(name);
    }
    let of_kind = |(kind, names): (&&str, &Vec<&str>)| format!("{kind} ({})", some_of(names));
    Learned { schema: writer.text, warnings: kinds.iter().map(of_kind).chain(notes).collect() }
}

/// Their number, and the first names.
fn some_of(names: &[&str]) -> String {
    let more = if names.len() > NAMES_MAX { ", …" } else { "" };
    format!("{}: {}{more}", names.len(), in_one_line(&names[..names.len().min(NAMES_MAX)].join(", ")))
}

/// A column by its table and its position.
type Place = (usize, usize);

/// Writes the tables.
struct Writer<'a> {
    facts: &'a Facts,
    /// The tables as the generators see them without directives.
    schema: Option<Schema>,
    values: bool,
    /// Columns whose generators know better than their statistics.
    free: Vec<(String, String)>,
    /// Columns without directives, those that have only NULL, and tables without a size: the generators refused more.
    relaxed: BTreeSet<Place>,
    empty: BTreeSet<Place>,
    free_sizes: BTreeSet<usize>,
    text: String,
    /// Columns by the lines of their directives.
    lines: BTreeMap<u32, Place>,
    line: u32,
}

impl<'a> Writer<'a> {
    fn new(facts: &'a Facts, values: bool) -> Self {
        Self {
            facts,
            schema: Schema::new(&facts.description, &Source::new("", "")).ok(),
            values,
            free: Vec::new(),
            relaxed: BTreeSet::new(),
            empty: BTreeSet::new(),
            free_sizes: BTreeSet::new(),
            text: String::new(),
            lines: BTreeMap::new(),
            line: 1,
        }
    }

    /// Writes the schema with fewer directives until the generators accept it; returns what they say about it.
    fn relax(&mut self) -> Vec<String> {
        loop {
            self.write();
            let made = Schema::new(&self.facts.description, &Source::new(&self.text, "the learnt schema"))
                .and_then(|schema| Generation::new(&schema, &Options::default(), &NoFiles));
            let error = match made {
                Ok(generation) => return generation.notes().to_vec(),
                Err(error) => error,
            };
            if !self.lines.get(&error.line).copied().is_some_and(|place| self.yields(place)) {
                return vec![format!("the schema needs a change before it can be used: {error}")];
            }
        }
    }

    /// Takes directives away from a column, from those that are in a key with it, or from their table.
    fn yields(&mut self, (table, column): Place) -> bool {
        let facts = &self.facts.tables[table];
        let name = &facts.columns[column].name;
        let keys = self.facts.description.tables[table].keys.iter();
        let mut names: BTreeSet<&String> =
            keys.filter(|key| key.columns.contains(name)).flat_map(|key| &key.columns).collect();
        names.insert(name);
        let position = |name: &String| facts.columns.iter().position(|column| column.name == *name);
        let places: Vec<Place> =
            names.into_iter().filter_map(|name| Some((table, position(name)?))).collect();
        if places.iter().any(|place| self.relaxed.insert(*place)) {
            self.relaxed.extend(&places);
            let kind =
                "columns whose statistics are left out, because a key or a foreign key does not permit them";
            self.tell(kind, &places);
            return true;
        }
        let nullable = places.iter().find(|(_, column)| !facts.columns[*column].not_null);
        if let Some(place) = nullable.filter(|place| self.empty.insert(**place)) {
            self.tell("columns in keys with few values have only NULL", &[*place]);
            return true;
        }
        let kind = "tables without a size, because a key has fewer values than rows";
        self.free.push((kind.to_owned(), facts.sql_name.clone()));
        self.free_sizes.insert(table)
    }

    fn tell(&mut self, kind: &str, places: &[Place]) {
        for (table, column) in places {
            let facts = &self.facts.tables[*table];
            let name = format!("{}.{}", facts.sql_name, facts.columns[*column].name);
            self.free.push((kind.to_owned(), name));
        }
    }

    fn put(&mut self, line: &str) {
        self.line += u32::try_from(line.matches('\n').count()).unwrap_or(0) + 1;
        let _ = writeln!(self.text, "{line}");
    }

    fn write(&mut self) {
        let facts = self.facts;
        (self.text, self.line) = (String::new(), 1);
        self.lines.clear();
        let names: Vec<&str> = facts.tables.iter().map(|table| table.sql_name.as_str()).collect();
        self.put(&format!(
            "-- Learnt from the catalogs and statistics of these tables, {}.",
            some_of(&names)
        ));
        self.put(if self.values {
            "-- It contains values of the tables: the most common ones and the bounds of histograms."
        } else {
            "-- It contains no values of the tables, apart from constants of their definitions."
        });
        facts.before.iter().for_each(|statement| self.put(&format!("{statement};")));
        let mut order: Vec<usize> = (0..facts.tables.len()).collect();
        order.sort_by_key(|table| facts.tables[*table].depth);
        order.into_iter().for_each(|table| self.table(table));
        self.put("");
        facts.after.iter().for_each(|statement| self.put(&format!("{statement};")));
    }

    fn table(&mut self, at: usize) {
        let table = &self.facts.tables[at];
        let mut lines: Vec<(&str, Option<(Place, String)>)> = Vec::new();
        self.put("");
        for (number, column) in table.columns.iter().enumerate().filter(|_| !table.is_partition) {
            let made = self.directives(at, column, (at, number)).unwrap_or_default();
            for line in &made.macros {
                self.lines.insert(self.line, (at, number));
                self.put(&format!("-- df {line}"));
            }
            lines.push((&column.definition, Some(((at, number), made.column))));
        }
        lines.extend(table.constraints.iter().map(|definition| (definition.as_str(), None)));
        if lines.is_empty() && table.is_partition {
            return self.put(&format!("{}{};", table.head, table.tail));
        }
        let size = table.rows.filter(|_| !table.is_partition && !self.free_sizes.contains(&at));
        let size = size.map_or(String::new(), |rows| format!(" -- df: size={rows}"));
        self.put(&format!("{}({size}", table.head));
        let last = lines.len().saturating_sub(1);
        for (number, (definition, column)) in lines.into_iter().enumerate() {
            let comma = if number == last { "" } else { "," };
            let mut line = format!("  {definition}{comma}");
            let breaks = u32::try_from(line.matches('\n').count()).unwrap_or(0);
            if let Some((place, text)) = column {
                // Both ends: an error may be at the column or at its directives.
                self.lines.insert(self.line, place);
                self.lines.insert(self.line + breaks, place);
                if !text.is_empty() {
                    let _ = write!(line, " -- df: {text}");
                }
            }
            self.put(&line);
        }
        self.put(&format!("){};", table.tail));
    }

    fn directives(&mut self, at: usize, column: &ColumnFacts, place: Place) -> Option<Directives> {
        let (facts, table) = (self.facts, &self.facts.tables[at]);
        let own = &facts.description.tables[at];
        let null = |share: f64| Directives { column: format!("null={share}"), macros: Vec::new() };
        if self.empty.contains(&place) {
            return Some(Directives { column: "isnull".to_owned(), macros: Vec::new() });
        }
        if column.is_generated || !table.has_statistics() || self.relaxed.contains(&place) {
            return None;
        }
        let permitted = self.schema.as_ref()?.permitted(at, &column.name)?;
        let of_column = |columns: &[String]| columns.contains(&column.name);
        let in_special =
            own.keys.iter().any(|key| (key.special.is_some() || key.temporal) && of_column(&key.columns));
        if permitted.has_others || in_special {
            let kind =
                "columns whose statistics are left out, because conditions of other forms limit their values";
            if !self.free.iter().any(|(_, name)| *name == format!("{}.{}", table.sql_name, column.name)) {
                self.tell(kind, &[place]);
            }
            return None;
        }
        let key = own.foreign_keys.iter().find(|key| of_column(&key.columns));
        let share = column.statistics.as_ref().map_or(0.0, |statistics| statistics.null_share);
        // A referenced column has no NULL.
        let refers = |key: &ReferenceDescription| key.table == at && of_column(&key.referenced);
        let is_referenced =
            facts.description.tables.iter().any(|other| other.foreign_keys.iter().any(refers));
        let is_nullable = !column.not_null && !is_referenced;
        // The first column selects the row; a row of the table itself is an earlier one.
        if key.is_some_and(|key| key.columns.first() != Some(&column.name) || key.table == at) {
            return is_nullable.then(|| null(share));
        }
        let keys = || own.keys.iter().filter(|key| key.special.is_none());
        let is_unique = |name: &str| keys().any(|key| key.columns == [name]);
        let in_compound_key = keys().any(|key| {
            key.columns.len() > 1 && of_column(&key.columns) && !key.columns.iter().any(|own| is_unique(own))
        });
        let setting = Setting {
            path: format!("{}.{}", macro_name(&table.sql_name), macro_name(&column.name)),
            rows: table.rows.unwrap_or(0),
            unique: is_unique(&column.name),
            in_compound_key,
            least_size: self.least_size(at, column),
            referenced_rows: key.map(|key| facts.tables[key.table].rows.unwrap_or(0).max(1)),
            permitted,
            values: self.values,
            is_nullable,
            column: Some(column),
        };
        Some(directives(&setting)).filter(|made| !made.column.is_empty())
    }

    /// The number of values that the column needs for compound keys, so that their combinations are enough.
    fn least_size(&self, at: usize, column: &ColumnFacts) -> u64 {
        let (table, own) = (&self.facts.tables[at], &self.facts.description.tables[at]);
        let rows = table.rows.unwrap_or(0);
        let count = |name: &String| {
            let column = table.columns.iter().find(|column| column.name == *name);
            let statistics = column.and_then(|column| column.statistics.as_ref());
            statistics.map_or(1, |statistics| statistics.distinct_values(rows))
        };
        let mut least = 1;
        for key in own.keys.iter().filter(|key| key.columns.len() > 1 && key.columns.contains(&column.name)) {
            let possible = key.columns.iter().map(count).fold(1, u64::saturating_mul);
            // A foreign key has no more values than the referenced table has rows.
            let is_free = |name: &&String| !own.foreign_keys.iter().any(|other| other.columns.contains(name));
            let free = key.columns.iter().rev().find(is_free);
            if possible < rows && free == Some(&column.name) {
                least = least.max(rows.div_ceil((possible / count(&column.name).max(1)).max(1)));
            }
        }
        least
    }
}

/// A name of letters, digits, underscores and dots.
fn macro_name(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || c == '_' || c == '.' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_break_in_a_name_does_not_end_a_comment() {
        assert_eq!(in_one_line("a\nDROP TABLE b;\r--"), "a?DROP TABLE b;?--");
    }
}
