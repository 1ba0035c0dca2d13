//! From what the catalogs of a server say to tables with keys and bounds. The text of the schema gives only directives and
//! places. What the generators may not meet exactly is noted for the server to judge.

use super::bounds::Bounds;
use super::checks::{Condition, is_usable};
use super::{
    Cases, Column, Described, ForeignKey, Judgement, Kept, Name, NamedType, Schema, Scope, Source, Table,
    Type, TypeName, Unique, partitions, scopes, split,
};
use crate::description::{
    CheckDescription, Description, KeptRows, KeyDescription, Special, TableDescription, TypeDescription,
    TypeKind,
};
use crate::directive::{self, Directives, Settings};
use crate::error::{Checked, Error, Place};

/// Domains over domains, and composite types within others.
const DEPTH_MAX: u32 = 30;

/// Tables with more columns of texts than this get short texts, so that a row fits a page.
const TEXTS_MAX: usize = 400;

/// Bytes for the texts of such a row: a page without its header, the header of the row and its NULL bitmap.
const TEXT_BYTES: usize = 7_000;

impl Schema {
    /// The schema that a server describes. `source` is what the server has executed: it gives directives and places.
    ///
    /// # Errors
    /// Text that is not closed, or a directive that cannot be read.
    pub fn new(description: &Description, source: &Source) -> Result<Self, Error> {
        source.placed(read(description, source))
    }
}

fn read(description: &Description, source: &Source) -> Checked<Schema> {
    let pieces = split::split(source.text())?;
    let types = Types { all: &description.types };
    let mut tables: Vec<Table> = description.tables.iter().map(|table| types.table(table)).collect();
    let mut starts = Vec::new();
    for piece in &pieces.statements {
        if source.leaves_out_line(piece.place.line) {
            starts.push((piece.place, Scope::LeftOut));
            continue;
        }
        scopes::of_statement(piece, &mut tables, &mut starts);
    }
    starts.sort_by_key(|(place, _)| *place);
    for (index, own) in description.tables.iter().enumerate() {
        add_keys(&mut tables, index, own);
    }
    let directives = directive::attach(&pieces, source, &starts, &tables);
    tables.iter_mut().zip(0..).for_each(|(table, index)| shorten_texts(table, index, &directives));
    for (index, own) in description.tables.iter().enumerate() {
        add_exclusions(&mut tables[index], own, &directives.columns[index]);
    }
    Ok(Schema { origins: source.origins().clone(), tables, types: types.named(), directives })
}

/// The types of a description.
struct Types<'a> {
    all: &'a [TypeDescription],
}

/// A type with the conditions of all domains above it.
struct Resolved<'a> {
    kind: Type,
    not_null: bool,
    checks: Vec<&'a CheckDescription>,
    /// The type below the domains.
    base: String,
}

impl<'a> Types<'a> {
    fn resolve(&self, type_name: &str, depth: u32) -> Resolved<'a> {
        let trimmed = type_name.trim();
        let plain = |kind| Resolved { kind, not_null: false, checks: Vec::new(), base: trimmed.to_owned() };
        if depth > DEPTH_MAX {
            return plain(Type::Other(trimmed.to_lowercase()));
        }
        if let Some(element) = trimmed.strip_suffix("[]") {
            return plain(Type::Array(Box::new(self.resolve(element, depth + 1).kind)));
        }
        let bare = Name::of_sql(trimmed).map_or(trimmed, |(_, rest)| &trimmed[..trimmed.len() - rest.len()]);
        let name = TypeName::read(trimmed);
        let Some(own) = self.all.iter().find(|own| own.name == trimmed || own.name == bare) else {
            return plain(Type::built_in(&name));
        };
        match &own.kind {
            TypeKind::Enum(labels) => plain(Type::Enum(labels.clone())),
            TypeKind::Composite(fields) => {
                let fields = fields.iter().map(|field| self.resolve(field, depth + 1).kind).collect();
                plain(Type::Composite(bare_name(&own.name), fields))
            }
            TypeKind::Domain { base, not_null, checks } => {
                let mut below = self.resolve(base, depth + 1);
                below.not_null |= not_null;
                below.checks.extend(checks);
                below
            }
            TypeKind::Base(base) => {
                let arguments = name.arguments;
                plain(Type::built_in(&TypeName { base: base.to_lowercase(), arguments, array: false }))
            }
            TypeKind::Range(subtype) => {
                plain(Type::Other(range_of(&self.resolve(subtype, depth + 1).kind).to_owned()))
            }
        }
    }

    /// All types by their names, for the directive `type`.
    fn named(&self) -> Vec<NamedType> {
        let named = |own: &TypeDescription| {
            let column = self.column("value", &own.name).0;
            let Column { kind, bounds, .. } = column;
            let name = Name::of_sql(&own.name).map_or_else(|| Name::read(&own.name), |(name, _)| name);
            NamedType { name, kind, bounds }
        };
        self.all.iter().map(named).collect()
    }

    /// A column of this type, and the conditions of its domains that its values may not meet.
    fn column(&self, name: &str, type_name: &str) -> (Column, Vec<&'a CheckDescription>) {
        let Resolved { kind, not_null, checks, base } = self.resolve(type_name, 0);
        let mut column = Column {
            name: name.to_owned(),
            place: Place::default(),
            kind,
            type_name: type_name.to_owned(),
            not_null,
            sequence: false,
            computed: false,
            bounds: Bounds::default(),
            described: Described::default(),
        };
        let mut open = Vec::new();
        for check in checks {
            let is_met =
                Condition::new(&check.expression).apply(std::slice::from_mut(&mut column), |_| "value");
            if !is_met {
                open.push(check);
            }
        }
        column.described.base_type = Some(base).filter(|_| !open.is_empty());
        (column, open)
    }

    fn table(&self, own: &TableDescription) -> Table {
        let mut judgement: Option<Judgement> = None;
        let mut judge = |name: &str, condition: Option<String>| {
            let judgement = judgement.get_or_insert_default();
            judgement.add(name);
            judgement.conditions.extend(condition);
        };
        let mut columns = Vec::with_capacity(own.columns.len());
        for described in &own.columns {
            let (mut column, open) = self.column(&described.name, &described.type_name);
            for check in open {
                judge(&check.name, Some(with_value(&check.expression, &sql::identifier(&described.name))));
            }
            column.not_null |= described.not_null;
            column.sequence = described.sequence;
            column.computed = described.computed;
            column.described.has_default = described.has_default || described.sequence;
            columns.push(column);
        }
        let mut open = Vec::new();
        for check in &own.checks {
            let condition = Condition::new(&check.expression);
            let tests_null = condition.tests_null;
            // Values of other tables, or of the server, do not follow the condition.
            let is_foreign = |column: &Column| column.computed || is_referencing(own, column);
            let named = columns.iter().filter(|column| check.columns.contains(&column.name));
            let is_own = !named.clone().any(is_foreign) || condition.is_not_null();
            if !condition.apply(&mut columns, |column| &column.name) || !is_own {
                open.push((check, tests_null));
            }
        }
        let mut cases = Cases::default();
        for (check, tests_null) in open {
            let named = columns.iter_mut().filter(|column| check.columns.contains(&column.name));
            named.for_each(|column| column.described.is_conditioned = true);
            if cases.add(check, &mut columns, |column| column.computed || is_referencing(own, column)) {
                continue;
            }
            judge(&check.name, Some(check.expression.clone()));
            for column in columns.iter_mut().filter(|column| check.columns.contains(&column.name)) {
                column.described.half_null |= tests_null;
            }
        }
        if !partitioned(own, &mut columns) {
            judge(&format!("partitions of {}", own.name), None);
        }
        let kept = own.kept.as_ref().map(|rows| kept(rows, &columns));
        Table {
            name: Name { schema: own.schema.clone(), name: own.name.clone() },
            place: Place::default(),
            columns,
            uniques: Vec::new(),
            foreign_keys: Vec::new(),
            is_partition: own.is_partition,
            is_partitioned: own.is_partitioned,
            lacks_partitions: own.is_partitioned
                && own.partitioning.iter().all(|level| level.bounds.is_empty()),
            kept,
            judgement,
            cases,
        }
    }
}

/// The name of a type without its schema.
fn bare_name(sql: &str) -> String {
    Name::of_sql(sql).map_or_else(|| sql.to_owned(), |(name, _)| name.name)
}

/// The type of ranges whose generator fits this subtype.
fn range_of(subtype: &Type) -> &'static str {
    match subtype {
        Type::Integer { .. } => "int4range",
        Type::Numeric { .. } | Type::Float | Type::Money => "numrange",
        Type::Date => "daterange",
        Type::Timestamp { zone: false } => "tsrange",
        Type::Timestamp { zone: true } => "tstzrange",
        Type::Uuid => "uuidrange",
        Type::Text { .. } => "textrange",
        Type::Time { zone: false } => "timerange",
        Type::Inet => "inetrange",
        _ => "anyrange",
    }
}

/// A range for each row that overlaps with no other, if the type is one of ranges. PostgreSQL reads Julian days.
fn disjoint(kind: &Type) -> Option<String> {
    let Type::Other(name) = kind else { return None };
    let (mark, first) = match name.as_str() {
        "int4range" | "int8range" | "numrange" => ("", 1),
        // 2000-01-01
        "daterange" | "tsrange" | "tstzrange" => ("J", 2_451_545),
        _ => return None,
    };
    let end = |start: u32| format!("{mark}[:count start={start} step=2:]");
    Some(format!("pattern='\\[{},{}\\)'", end(first), end(first + 1)))
}

/// A condition of a domain for a column: the word VALUE outside of quotes becomes its name.
fn with_value(expression: &str, column: &str) -> String {
    let tokens = sql::Lexer::new(expression.as_bytes()).map(|token| token.of(expression));
    tokens.map(|text| if text.eq_ignore_ascii_case("value") { column } else { text }).collect()
}

/// Whether the values of a column are those of another one.
fn is_referencing(own: &TableDescription, column: &Column) -> bool {
    own.foreign_keys.iter().any(|key| key.columns.contains(&column.name))
}

/// Narrows the columns of a partitioning. Returns whether each value has a partition.
fn partitioned(own: &TableDescription, columns: &mut [Column]) -> bool {
    let mut is_exact = own.partitioning.len() <= 1;
    let mut levels: Vec<(usize, Vec<String>)> = Vec::new();
    for level in &own.partitioning {
        let position = |name: &String| columns.iter().position(|column| column.name == *name);
        let Some(column) = level.column.as_ref().and_then(position) else {
            is_exact = false;
            continue;
        };
        match levels.iter_mut().find(|(own, _)| *own == column) {
            Some((_, bounds)) => bounds.extend(level.bounds.iter().cloned()),
            None => levels.push((column, level.bounds.clone())),
        }
    }
    for (column, texts) in levels {
        let level = partitions::level(&texts);
        let column = &mut columns[column];
        is_exact &= level.is_complete && (level.takes_all || !is_referencing(own, column));
        is_exact &= is_usable(&column.kind, &level.bounds) && column.bounds.narrow(&level.bounds);
        // Few tables have a partition for NULL.
        column.not_null = true;
    }
    is_exact
}

fn kept(rows: &KeptRows, columns: &[Column]) -> Kept {
    let position = |name: &String| columns.iter().position(|column| column.name == *name);
    let found: Vec<(usize, usize)> =
        rows.columns.iter().enumerate().filter_map(|(at, name)| Some((at, position(name)?))).collect();
    let value = |row: &Vec<String>, at: usize| row.get(at).cloned().unwrap_or_default();
    Kept {
        columns: found.iter().map(|(_, column)| *column).collect(),
        rows: rows.rows.iter().map(|row| found.iter().map(|(at, _)| value(row, *at)).collect()).collect(),
    }
}

/// Adds the keys and foreign keys, whose columns have their places now.
fn add_keys(tables: &mut [Table], index: usize, own: &TableDescription) {
    let positions = |table: &Table, names: &[String]| -> Option<Vec<usize>> {
        names.iter().map(|name| table.columns.iter().position(|column| column.name == *name)).collect()
    };
    for key in &own.keys {
        let Some(columns) = positions(&tables[index], &key.columns) else { continue };
        add_key(&mut tables[index], key, columns);
    }
    for key in &own.foreign_keys {
        let Some(referenced) = tables.get(key.table).and_then(|table| positions(table, &key.referenced))
        else {
            continue;
        };
        let Some(columns) = positions(&tables[index], &key.columns) else { continue };
        if columns.len() != referenced.len() || columns.is_empty() {
            continue;
        }
        let place = tables[index].columns[columns[0]].place;
        let (name, table, full) = (key.name.clone(), key.table, key.full);
        tables[index].foreign_keys.push(ForeignKey { name, columns, table, referenced, full, place });
    }
}

fn add_key(table: &mut Table, key: &KeyDescription, columns: Vec<usize>) {
    if key.special == Some(Special::Exclusion) {
        return;
    }
    if key.special == Some(Special::Expression) || columns.is_empty() {
        table.judgement.get_or_insert_default().add(&key.name);
    }
    if columns.is_empty() {
        return;
    }
    let place = table.columns[columns[0]].place;
    let computed = columns.iter().any(|column| table.columns[*column].computed);
    if computed {
        table.judgement.get_or_insert_default().add(&key.name);
    }
    let own = Unique {
        name: key.name.clone(),
        temporal: key.temporal && columns.len() > 1,
        special: key.special,
        ..Unique::new(columns, key.primary, place)
    };
    if own.special.is_some() { table.uniques.push(own) } else { add_unique(table, own) }
}

/// Gives a range of each exclusion constraint a generator whose ranges do not overlap, if there is one. That meets the
/// constraint, whatever its other columns are: operators of ranges in these constraints are `&&` in practice.
fn add_exclusions(table: &mut Table, own: &TableDescription, directives: &[Settings]) {
    for key in own.keys.iter().filter(|key| key.special == Some(Special::Exclusion)) {
        let columns = table.columns.iter_mut().zip(directives);
        let free = columns.filter(|(column, settings)| {
            let is_own = !column.computed && !is_referencing(own, column);
            is_own && settings.list.is_empty() && key.columns.contains(&column.name)
        });
        let is_met = free.into_iter().any(|(column, _)| match disjoint(&column.kind) {
            Some(generator) => *column.described.hint.get_or_insert_with(|| generator.clone()) == generator,
            None => false,
        });
        if !is_met {
            table.judgement.get_or_insert_default().add(&key.name);
        }
    }
}

/// Keeps the texts of a table with very many of them short.
fn shorten_texts(table: &mut Table, index: usize, directives: &Directives) {
    let is_text = |column: &Column| matches!(column.kind, Type::Text { .. });
    let count = table.columns.iter().filter(|column| is_text(column)).count();
    if count <= TEXTS_MAX {
        return;
    }
    // One byte of each is its length.
    let room = u32::try_from((TEXT_BYTES / count).saturating_sub(1)).unwrap_or(1).max(1);
    let is_key = |column: usize| table.uniques.iter().any(|unique| unique.columns.contains(&column));
    let free: Vec<bool> = (0..table.columns.len())
        .map(|column| directives.columns[index][column].list.is_empty() && !is_key(column))
        .collect();
    for (column, _) in table.columns.iter_mut().zip(free).filter(|(_, is_free)| *is_free) {
        if let Type::Text { max, .. } = &mut column.kind {
            *max = Some(max.map_or(room, |max| max.min(room)));
        }
    }
}

fn add_unique(table: &mut Table, unique: Unique) {
    match table.uniques.iter_mut().find(|own| own.columns == unique.columns) {
        Some(own) => own.primary |= unique.primary,
        None => table.uniques.push(unique),
    }
}
