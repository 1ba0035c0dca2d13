//! The text of a learnt schema: CREATE TABLE with keys, and directives behind the columns. Pure. What the generators
//! cannot reproduce is left out, with a warning.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use datagen::{Generation, NoFiles, Options, Permitted, Schema};

use super::catalogs::identifier;
use super::directives::{Directives, Setting, directives};
use super::facts::{ColumnFacts, Constraint, ConstraintKind, Sequence, TableFacts};

/// A schema that was learnt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learned {
    /// SQL with directives.
    pub schema: String,
    /// Sentences about parts of the tables that the schema cannot reproduce.
    pub warnings: Vec<String>,
}

/// For a comment: a name with a line break must not end it.
fn in_one_line(text: &str) -> String {
    text.chars()
        .map(|one| if one.is_control() || "\u{2028}\u{2029}".contains(one) { '?' } else { one })
        .collect()
}

/// Writes the schema of the tables.
pub(crate) fn learned(tables: &[TableFacts], values: bool) -> Learned {
    let mut warnings = Vec::new();
    let mut schema = format!(
        "-- Learnt from the catalogs and statistics of {}.\n-- {}\n",
        in_one_line(&tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>().join(", ")),
        if values {
            "It contains values of the tables: the most common ones and the bounds of histograms."
        } else {
            "It contains no values of the tables, apart from constants of their definitions."
        }
    );
    let types: BTreeMap<u32, &String> =
        tables.iter().flat_map(|table| &table.types).map(|(oid, statement)| (*oid, statement)).collect();
    let types: Vec<&String> = types.into_values().collect();
    for statement in &types {
        let _ = writeln!(schema, "{statement}");
    }
    let tables = in_loading_order(tables);
    for (at, table) in tables.iter().enumerate() {
        let writer = Writer {
            table,
            tables: &tables[..=at],
            all: &tables,
            types: &types,
            values,
            warnings: &mut warnings,
        };
        let text = writer.write();
        let _ = write!(schema, "\n{text}");
    }
    if let Err(error) = checked(&schema) {
        warnings.push(format!("the schema needs a change before it can be used: {error}"));
    }
    Learned { schema, warnings }
}

/// Referenced tables come first. In a cycle of foreign keys, the first table comes first.
fn in_loading_order(tables: &[TableFacts]) -> Vec<&TableFacts> {
    let mut waiting: Vec<&TableFacts> = tables.iter().collect();
    let mut order = Vec::with_capacity(tables.len());
    while !waiting.is_empty() {
        let is_waiting = |own: u32, oid: u32| oid != own && waiting.iter().any(|table| table.oid == oid);
        let is_ready = |table: &&TableFacts| {
            let mut keys = table.constraints.iter().filter_map(|key| key.referenced.as_ref());
            !keys.any(|(oid, _)| is_waiting(table.oid, *oid))
        };
        let next = waiting.iter().position(is_ready).unwrap_or(0);
        order.push(waiting.remove(next));
    }
    order
}

fn checked(schema: &str) -> Result<(), datagen::Error> {
    let schema = Schema::parse(schema, "the learnt schema")?;
    Generation::new(&schema, &Options::default(), &NoFiles).map(drop)
}

/// Writes one table.
struct Writer<'a> {
    table: &'a TableFacts,
    /// This table and the tables before it: those that it can reference.
    tables: &'a [&'a TableFacts],
    all: &'a [&'a TableFacts],
    types: &'a [&'a String],
    values: bool,
    warnings: &'a mut Vec<String>,
}

impl<'a> Writer<'a> {
    fn write(mut self) -> String {
        let table = self.table;
        self.warn_of_types();
        let checks = self.checks();
        let foreign_keys = self.foreign_keys();
        let permitted = self.permitted(&checks);
        let least = self.least_sizes(&foreign_keys);
        let mut macros = Vec::new();
        let mut lines: Vec<(String, String)> = Vec::new();
        for column in table.columns.iter().filter(|column| !column.is_left_out) {
            let key = foreign_keys.iter().find(|(key, _)| key.columns.contains(&column.name));
            let definition = self.definition(column);
            let Some(made) = self.directives(column, key.copied(), &permitted, &least) else {
                lines.push((definition, String::new()));
                continue;
            };
            macros.extend(made.macros);
            lines.push((definition, made.column));
        }
        for key in table.keys().filter(|key| !has_left_out(table, &key.columns)) {
            let word = if key.kind == ConstraintKind::PrimaryKey { "PRIMARY KEY" } else { "UNIQUE" };
            lines.push((format!("{word} ({})", list(&key.columns)), String::new()));
        }
        for (key, referenced) in &foreign_keys {
            let columns = key.referenced.as_ref().map(|(_, columns)| list(columns)).unwrap_or_default();
            let text = format!(
                "FOREIGN KEY ({}) REFERENCES {} ({columns})",
                list(&key.columns),
                referenced.sql_name
            );
            lines.push((text, String::new()));
        }
        lines.extend(checks.iter().map(|check| (check.definition.clone(), String::new())));
        let mut text = String::new();
        for line in &macros {
            let _ = writeln!(text, "-- df {line}");
        }
        let _ = writeln!(text, "CREATE TABLE {}( -- df: size={}", table.sql_name, table.rows);
        let last = lines.len().saturating_sub(1);
        for (number, (definition, directives)) in lines.iter().enumerate() {
            let comma = if number == last { "" } else { "," };
            let comment = if directives.is_empty() { String::new() } else { format!(" -- df: {directives}") };
            let _ = writeln!(text, "  {definition}{comma}{comment}");
        }
        text.push_str(");\n");
        text
    }

    fn definition(&self, column: &ColumnFacts) -> String {
        let mut text = format!("{} {}", identifier(&column.name), column.sql_type);
        if let Some(expression) = &column.generated {
            let _ = write!(text, " GENERATED ALWAYS AS {expression}");
        }
        match column.sequence {
            _ if column.generated.is_some() => {}
            Some(Sequence::AlwaysIdentity) => text.push_str(" GENERATED ALWAYS AS IDENTITY"),
            Some(Sequence::DefaultIdentity) => text.push_str(" GENERATED BY DEFAULT AS IDENTITY"),
            Some(Sequence::Serial) => {
                text = match column.sql_type.as_str() {
                    "integer" => format!("{} serial", identifier(&column.name)),
                    "smallint" => format!("{} smallserial", identifier(&column.name)),
                    _ => format!("{} bigserial", identifier(&column.name)),
                };
            }
            None => {}
        }
        if column.not_null {
            text.push_str(" NOT NULL");
        }
        text
    }

    fn directives(
        &mut self,
        column: &ColumnFacts,
        key: Option<(&Constraint, &TableFacts)>,
        permitted: &BTreeMap<String, Permitted>,
        least: &BTreeMap<String, u64>,
    ) -> Option<Directives> {
        if column.generated.is_some() {
            return None;
        }
        let table = self.table;
        let null = |share: f64| Directives { column: format!("null={share}"), macros: Vec::new() };
        let share = column.statistics.as_ref().map_or(0.0, |statistics| statistics.null_share);
        match key {
            // The first column selects the row; a row of the table itself is an earlier one.
            Some((key, referenced))
                if key.columns.first() != Some(&column.name) || referenced.oid == table.oid =>
            {
                return (!column.not_null).then(|| null(share));
            }
            None if !self.has_generator(column) => {
                let sentence = format!(
                    "{}.{} has the type {}, for which there is no generator",
                    table.name, column.name, column.sql_type
                );
                self.warnings.push(sentence);
                let word = if column.not_null { "nogen" } else { "isnull" };
                return Some(Directives { column: word.to_owned(), macros: Vec::new() });
            }
            _ => {}
        }
        let setting = Setting {
            path: format!("{}.{}", macro_name(&table.name), macro_name(&column.name)),
            rows: table.rows,
            unique: table.is_unique(&column.name),
            in_compound_key: table.is_in_compound_key(&column.name),
            least_size: least.get(&column.name).copied().unwrap_or(1),
            referenced_rows: key.map(|(_, referenced)| referenced.rows.max(1)),
            permitted: permitted.get(&column.name).cloned().unwrap_or_default(),
            values: self.values,
            column: Some(column),
        };
        Some(directives(&setting)).filter(|made| !made.column.is_empty())
    }

    /// Whether a column of this type can be generated.
    fn has_generator(&self, column: &ColumnFacts) -> bool {
        let types: String = self.types.iter().map(|statement| format!("{statement}\n")).collect();
        checked(&format!("{types}CREATE TABLE t(c {});", column.sql_type)).is_ok()
    }

    /// Warns of columns whose types the schema does not have.
    fn warn_of_types(&mut self) {
        for column in &self.table.columns {
            let (table, name, sql_type) = (&self.table.name, &column.name, &column.sql_type);
            if column.is_left_out {
                self.warnings.push(format!(
                    "{table}.{name} is left out; the schema cannot define its type {sql_type}"
                ));
            } else if let Some(domain) = &column.domain {
                self.warnings.push(format!(
                    "{table}.{name} has the type {sql_type}; the domain {domain} and its constraints are left out"
                ));
            }
        }
    }

    /// Foreign keys to tables that are learnt, too.
    fn foreign_keys(&mut self) -> Vec<(&'a Constraint, &'a TableFacts)> {
        let mut kept = Vec::new();
        for key in self.table.constraints.iter().filter(|key| key.kind == ConstraintKind::ForeignKey) {
            let target = key.referenced.as_ref().map_or(0, |(oid, _)| *oid);
            let find = |tables: &[&'a TableFacts]| tables.iter().copied().find(|table| table.oid == target);
            let reason = match (find(self.tables), find(self.all)) {
                (Some(table), _) => {
                    let columns = key.referenced.as_ref().map_or(&[][..], |(_, columns)| columns);
                    if !has_left_out(self.table, &key.columns) && !has_left_out(table, columns) {
                        kept.push((key, table));
                        continue;
                    }
                    "it needs a column that is left out"
                }
                (None, Some(_)) => "foreign keys form a cycle",
                (None, None) => "name the referenced table, too",
            };
            self.warnings.push(format!("{}: {} is left out; {reason}", self.table.name, key.definition));
        }
        kept
    }

    /// CHECK constraints of one column that the generators can read.
    fn checks(&mut self) -> Vec<&'a Constraint> {
        let mut kept = Vec::new();
        for check in self.table.constraints.iter().filter(|check| check.kind == ConstraintKind::Check) {
            let column = self.table.columns.iter().find(|column| check.columns == [column.name.as_str()]);
            let is_read = column.is_some_and(|column| {
                let read = permitted(self.types, column, &[check]);
                read.is_some_and(|read| read != Permitted::default())
            });
            if is_read {
                kept.push(check);
            } else {
                let sentence = format!(
                    "{}: {} is left out; the generators cannot meet it",
                    self.table.name, check.definition
                );
                self.warnings.push(sentence);
            }
        }
        kept
    }

    fn permitted(&self, checks: &[&Constraint]) -> BTreeMap<String, Permitted> {
        let of_column = |column: &ColumnFacts| {
            let own: Vec<&Constraint> =
                checks.iter().copied().filter(|check| check.columns == [column.name.as_str()]).collect();
            Some((column.name.clone(), permitted(self.types, column, &own)?))
        };
        self.table.columns.iter().filter_map(of_column).collect()
    }

    /// The number of values that the columns of compound keys need, so that their combinations are enough.
    fn least_sizes(&self, foreign_keys: &[(&Constraint, &TableFacts)]) -> BTreeMap<String, u64> {
        let mut least = BTreeMap::new();
        let rows = self.table.rows;
        for key in self.table.keys().filter(|key| key.columns.len() > 1) {
            let count = |name: &String| {
                let column = self.table.columns.iter().find(|column| column.name == *name);
                let statistics = column.and_then(|column| column.statistics.as_ref());
                statistics.map_or(1, |statistics| statistics.distinct_values(rows))
            };
            let possible = key.columns.iter().map(count).fold(1, u64::saturating_mul);
            // A foreign key has no more values than the referenced table has rows.
            let free = key
                .columns
                .iter()
                .rev()
                .find(|name| !foreign_keys.iter().any(|(foreign, _)| foreign.columns.contains(name)));
            if possible < rows
                && let Some(name) = free
            {
                let others = (possible / count(name).max(1)).max(1);
                least.insert(name.clone(), rows.div_ceil(others));
            }
        }
        least
    }
}

/// The values of a column that the constraints permit.
fn permitted(types: &[&String], column: &ColumnFacts, checks: &[&Constraint]) -> Option<Permitted> {
    let types: String = types.iter().map(|statement| format!("{statement}\n")).collect();
    let checks: String = checks.iter().map(|check| format!(", {}", check.definition)).collect();
    let text = format!("{types}CREATE TABLE t({} {}{checks});", identifier(&column.name), column.sql_type);
    Schema::parse(&text, "").ok()?.permitted("t", &column.name)
}

/// Whether the schema lacks one of the columns.
fn has_left_out(table: &TableFacts, names: &[String]) -> bool {
    table.columns.iter().any(|column| column.is_left_out && names.contains(&column.name))
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| identifier(name)).collect::<Vec<_>>().join(", ")
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
