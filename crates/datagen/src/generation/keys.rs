//! Foreign keys and unique constraints of a table: which foreign key gives a column its values, and how rows are kept
//! different without memory of earlier rows.
//!
//! The values of a unique constraint are the digits of a mixed-radix number, one digit for each column with as many
//! values as its generator has. A permutation of these numbers gives each row its own.

use std::sync::Arc;

use crate::error::Fault;
use crate::generator::{Combinations, Kind, Node, Rank, Sub, Weighted, key_of};
use crate::schema::{ForeignKey, Schema, Table, Unique};

/// Constraints by column.
pub(crate) struct Keys {
    /// The foreign key that gives the column its values, and the position in it.
    pub governing: Vec<Option<(usize, usize)>>,
    /// Unique by itself.
    pub unique: Vec<bool>,
    /// A foreign key references the column, so that it has no NULL.
    pub referenced: Vec<bool>,
    /// Foreign keys whose columns take their values from several keys: rows may violate them.
    pub judged: Vec<usize>,
}

impl Keys {
    pub fn new(schema: &Schema, index: usize) -> Self {
        let table = &schema.tables[index];
        let (governing, judged) = governing(schema, index);
        let is_free = |column: usize| schema.directives.columns[index][column].list.is_empty();
        let mut unique = vec![false; table.columns.len()];
        for own in table.uniques.iter().filter(|own| own.distinct().len() == 1) {
            let column = own.distinct()[0];
            unique[column] |= own.special.is_none() || is_free(column);
        }
        let mut referenced = vec![false; table.columns.len()];
        for (from, own) in schema.tables.iter().enumerate() {
            let here = own.foreign_keys.iter().filter(|key| key.table == index);
            for key in here.filter(|key| from != index || key.columns != key.referenced) {
                key.referenced.iter().for_each(|column| referenced[*column] = true);
            }
        }
        Self { governing, unique, referenced, judged }
    }

    /// Whether the column keeps its values when rows are drawn again: other rows may refer to it, or it is in a primary key
    /// that no condition can refuse.
    pub fn is_kept(&self, table: &Table, column: usize) -> bool {
        let is_conditioned = |column: &usize| {
            let own = &table.columns[*column].described;
            own.is_conditioned || own.base_type.is_some()
        };
        let keeps = |own: &Unique| {
            own.primary && own.columns.contains(&column) && !own.columns.iter().any(is_conditioned)
        };
        self.referenced[column] || table.uniques.iter().any(keeps)
    }

    /// Combinations of the other columns of a compound unique constraint, if foreign keys give them.
    pub fn others_in_compound(&self, table: &Table, column: usize, rows: &[u64]) -> Option<u64> {
        let unique =
            table.uniques.iter().find(|own| own.distinct().len() > 1 && own.distinct().contains(&column))?;
        let mut keys: Vec<usize> =
            unique.distinct().iter().filter_map(|column| Some(self.governing[*column]?.0)).collect();
        keys.sort_unstable();
        keys.dedup();
        let counts = keys.iter().map(|key| rows[table.foreign_keys[*key].table]);
        (!keys.is_empty()).then(|| counts.fold(1, u64::saturating_mul))
    }
}

/// The foreign key that gives each column its values with the column's position in it, and the keys that share columns
/// with others which do not imply them.
fn governing(schema: &Schema, index: usize) -> (Vec<Option<(usize, usize)>>, Vec<usize>) {
    let table = &schema.tables[index];
    let mut governing: Vec<Option<(usize, usize)>> = vec![None; table.columns.len()];
    let mut judged = Vec::new();
    let mut order: Vec<usize> = (0..table.foreign_keys.len()).collect();
    order.sort_by_key(|key| std::cmp::Reverse(table.foreign_keys[*key].columns.len()));
    for number in order {
        let key = &table.foreign_keys[number];
        let taken: Vec<bool> = key.columns.iter().map(|column| governing[*column].is_some()).collect();
        // A reference of a column to itself says nothing.
        let itself = key.table == index && key.columns == key.referenced;
        if itself || (taken.iter().all(|taken| *taken) && is_implied(schema, table, &governing, key)) {
            continue;
        }
        // The same column of an earlier row, as in (tenant, parent) references (tenant, id).
        let own = |position: usize| {
            (key.table == index && key.referenced.contains(&key.columns[position]))
                || returns(schema, index, key, position)
        };
        // A column of the table itself that takes its values from another one of it.
        let is_taken = |column: &usize| {
            governing[*column].is_some_and(|(own, _)| table.foreign_keys[own].table == index)
        };
        if key.table == index && key.referenced.iter().any(is_taken) {
            judged.push(number);
            continue;
        }
        if taken.iter().any(|taken| *taken) || (0..key.columns.len()).any(own) {
            judged.push(number);
        }
        for (position, column) in key.columns.iter().enumerate() {
            if governing[*column].is_none() && !own(position) {
                governing[*column] = Some((number, position));
            }
        }
    }
    (governing, judged)
}

/// Whether a column of a compound key gives its values to the referenced column, which references it.
pub(crate) fn returns(schema: &Schema, index: usize, key: &ForeignKey, position: usize) -> bool {
    let (column, referenced) = (key.columns[position], key.referenced[position]);
    let back = |own: &ForeignKey| {
        (own.table, &own.columns[..], &own.referenced[..]) == (index, &[referenced][..], &[column][..])
    };
    let is_other = key.table != index && key.columns.len() > 1;
    is_other && schema.tables[key.table].foreign_keys.iter().any(back)
}

/// Whether the values that the columns take meet this foreign key, too: the referenced columns reference its table
/// themselves, as `partsupp(partkey)` does for `lineitem(partkey)`.
fn is_implied(
    schema: &Schema,
    table: &Table,
    governing: &[Option<(usize, usize)>],
    key: &ForeignKey,
) -> bool {
    let through: Option<Vec<(usize, usize)>> = key.columns.iter().map(|column| governing[*column]).collect();
    let Some(through) = through else { return false };
    let Some((first, _)) = through.first() else { return false };
    if through.iter().any(|(other, _)| other != first) {
        return false;
    }
    let middle_key = &table.foreign_keys[*first];
    let middle: Vec<usize> = through.iter().map(|(_, position)| middle_key.referenced[*position]).collect();
    if middle_key.table == key.table && middle == key.referenced {
        return true;
    }
    let references = |own: &ForeignKey| {
        let pairs = middle.iter().zip(&key.referenced);
        own.table == key.table
            && pairs.clone().all(|(from, to)| {
                own.columns
                    .iter()
                    .zip(&own.referenced)
                    .any(|(column, referenced)| column == from && referenced == to)
            })
    };
    schema.tables[middle_key.table].foreign_keys.iter().any(references)
}

/// A column, or the columns of a compound foreign key, that take one digit.
struct Unit {
    columns: Vec<usize>,
    count: u64,
}

/// The nodes of a table whose unique constraints are to be met.
pub(crate) struct Distinctness<'a> {
    pub schema: &'a Schema,
    pub table: &'a Table,
    pub keys: &'a Keys,
    pub nodes: &'a [Option<Node>],
    pub rows: u64,
    /// Key of the table.
    pub key: u64,
    /// See [`super::Options::attempt`].
    pub attempt: u32,
    /// Constraints that are left to the server.
    pub left: &'a [bool],
}

/// A unique constraint that the nodes do not meet.
pub(crate) struct KeyFailure {
    /// Number of the constraint.
    pub unique: usize,
    pub reason: FailureReason,
    pub fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureReason {
    /// So many combinations are possible.
    TooFew(u64),
    /// The values of this column follow a distribution.
    Skewed(usize),
}

impl Distinctness<'_> {
    /// The digits of the columns that the unique constraints need.
    pub fn ranks(&self) -> Result<Vec<Option<Rank>>, KeyFailure> {
        let Self { table, nodes, rows, .. } = *self;
        let mut ranks: Vec<Option<Rank>> = vec![None; table.columns.len()];
        // Sets of columns that differ in every row.
        let mut distinct: Vec<Vec<usize>> = Vec::new();
        for (column, node) in nodes.iter().enumerate() {
            if node.as_ref().is_some_and(|node| node.is_serial(rows)) {
                distinct.push(vec![column]);
            }
        }
        let mut uniques: Vec<usize> = (0..table.uniques.len()).filter(|unique| !self.left[*unique]).collect();
        uniques.sort_by_key(|unique| table.uniques[*unique].columns.len());
        for number in uniques {
            let unique = &table.uniques[number];
            let met = distinct.iter().any(|set| set.iter().all(|column| unique.distinct().contains(column)));
            if met || rows <= 1 || self.is_filled_by_server(unique) {
                continue;
            }
            distinct.push(self.rank(number, &mut ranks)?);
        }
        Ok(ranks)
    }

    fn is_filled_by_server(&self, unique: &Unique) -> bool {
        let is_null =
            |column: usize| matches!(&self.nodes[column], Some(node) if matches!(node.kind, Kind::Null));
        unique.distinct().iter().any(|column| self.table.columns[*column].computed || is_null(*column))
    }

    /// Gives the columns of one constraint their digits, and returns them.
    fn rank(&self, number: usize, ranks: &mut [Option<Rank>]) -> Result<Vec<usize>, KeyFailure> {
        let Self { table, keys, nodes, rows, .. } = *self;
        let unique = &table.uniques[number];
        let mut units = self.units(unique, ranks);
        let names: Vec<&str> =
            unique.distinct().iter().map(|column| table.columns[*column].name.as_str()).collect();
        // A column with a value for each row is enough; the others are free.
        if let Some(place) =
            units.iter().position(|unit| unit.count >= rows && weighted(unit, nodes).is_some())
        {
            units = vec![units.swap_remove(place)];
        }
        let possible = units.iter().map(|unit| unit.count).fold(1, u64::saturating_mul);
        if possible < rows {
            let fault = too_few(table, unique, &names, rows, possible);
            return Err(KeyFailure { unique: number, reason: FailureReason::TooFew(possible), fault });
        }
        for unit in &units {
            let skewed =
                unit.columns.iter().find(|column| nodes[**column].as_ref().is_some_and(Node::is_skewed));
            if let Some(&column) = skewed.filter(|_| unit.count > 1) {
                let own = &table.columns[column];
                let message = format!(
                    "the column {} is part of the unique constraint ({}). Its values are enumerated, so that none repeats, and cannot follow this distribution; use sub=uniform",
                    own.name,
                    names.join(", ")
                );
                let fault = Fault::new(own.place, message);
                return Err(KeyFailure { unique: number, reason: FailureReason::Skewed(column), fault });
            }
        }
        let size = possible.min(i64::MAX.cast_unsigned());
        let seed = key_of(self.key, &names.join(","));
        let is_kept = units.iter().flat_map(|unit| &unit.columns).any(|column| keys.is_kept(table, *column));
        let seed = again(seed, if is_kept { 0 } else { self.attempt }).cast_signed();
        // The column whose order counts most changes most slowly.
        units.sort_by_key(|unit| weighted(unit, nodes).map(Weighted::in_place));
        if let Some(order) = units.iter().rev().find_map(|unit| weighted(unit, nodes)) {
            return Ok(combine(ranks, &units, order));
        }
        Ok(assign(ranks, units, size, seed))
    }
}

impl Distinctness<'_> {
    fn units(&self, unique: &Unique, ranks: &[Option<Rank>]) -> Vec<Unit> {
        let Self { table, keys, nodes, .. } = *self;
        let mut units: Vec<(Option<usize>, Unit)> = Vec::new();
        for &column in unique.distinct() {
            let Some(node) = nodes[column].as_ref() else { continue };
            if ranks[column].is_some() {
                continue;
            }
            let foreign_key = keys.governing[column].map(|(key, _)| key).filter(|_| node.is_reference());
            if let Some(foreign_key) = foreign_key {
                if units.iter().any(|(own, _)| *own == Some(foreign_key)) {
                    continue;
                }
                let governed =
                    |column: &usize| keys.governing[*column].is_some_and(|(key, _)| key == foreign_key);
                let whole: Vec<usize> =
                    table.foreign_keys[foreign_key].columns.iter().copied().filter(governed).collect();
                let count = if self.is_complete(unique, &whole) { node.count() } else { 1 };
                units.push((Some(foreign_key), Unit { columns: whole, count }));
            } else {
                units.push((None, Unit { columns: vec![column], count: node.count() }));
            }
        }
        let mut units: Vec<Unit> =
            units.into_iter().map(|(_, unit)| unit).filter(|unit| unit.count > 1).collect();
        // The largest comes last: its values are the ones that may be left out if there are too many combinations.
        units.sort_by_key(|unit| unit.count);
        units
    }

    /// Whether different rows of the referenced table differ in the columns of the constraint. A part of a compound key
    /// may have the same values in several rows.
    fn is_complete(&self, unique: &Unique, whole: &[usize]) -> bool {
        let within: Vec<usize> =
            whole.iter().copied().filter(|column| unique.distinct().contains(column)).collect();
        let referenced: Vec<(usize, usize)> = within
            .iter()
            .filter_map(|column| {
                let (key, position) = self.keys.governing[*column]?;
                let key = &self.table.foreign_keys[key];
                Some((key.table, key.referenced[position]))
            })
            .collect();
        let is_key = |own: &Unique, table: usize| {
            own.special.is_none()
                && own.distinct().iter().all(|column| referenced.contains(&(table, *column)))
        };
        let of_target = |(table, _): &(usize, usize)| {
            self.schema.tables[*table].uniques.iter().any(|own| is_key(own, *table))
        };
        within.len() == whole.len() || referenced.first().is_some_and(of_target)
    }
}

/// The key of a draw that is repeated.
pub(crate) fn again(key: u64, attempt: u32) -> u64 {
    if attempt == 0 { key } else { key_of(key, &format!("attempt {attempt}")) }
}

fn weighted<'a>(unit: &Unit, nodes: &'a [Option<Node>]) -> Option<&'a Weighted> {
    unit.columns.iter().find_map(|column| match &nodes[*column].as_ref()?.draw()?.sub {
        Sub::Weighted(weighted) => Some(&**weighted),
        _ => None,
    })
}

/// Gives each unit its part of the combinations, the last of which changes most slowly; returns the columns.
fn combine(ranks: &mut [Option<Rank>], units: &[Unit], order: &Weighted) -> Vec<usize> {
    let counts = units.iter().rev().map(|unit| unit.count).collect();
    let all = Arc::new(Combinations::new(order, counts));
    for (place, unit) in units.iter().rev().enumerate() {
        for &column in &unit.columns {
            ranks[column] = Some(Rank::Combined { all: Arc::clone(&all), place });
        }
    }
    units.iter().flat_map(|unit| &unit.columns).copied().collect()
}

/// Gives each unit its digit; returns the columns.
fn assign(ranks: &mut [Option<Rank>], units: Vec<Unit>, size: u64, seed: i64) -> Vec<usize> {
    let mut divisor = 1_u64;
    let mut used = Vec::new();
    for unit in units {
        let radix = unit.count.min(size / divisor).max(1);
        for &column in &unit.columns {
            ranks[column] = Some(Rank::Digit { size, seed, divisor, radix });
        }
        used.extend(unit.columns);
        divisor = divisor.saturating_mul(radix);
    }
    used
}

fn too_few(table: &Table, unique: &Unique, names: &[&str], rows: u64, possible: u64) -> Fault {
    let what = if unique.primary { "primary key" } else { "unique constraint" };
    let name = table.name.plain();
    let names = names.join(", ");
    let message = if possible <= 1 {
        format!(
            "the {what} ({names}) of {name} needs {rows} different values, and the generators of its columns cannot enumerate theirs; use int, string, word, pattern or uuid"
        )
    } else {
        format!(
            "the {what} ({names}) of {name} needs {rows} different values, and only {possible} are possible; give the columns more values, or the table fewer rows"
        )
    };
    Fault::new(unique.place, message)
}
