//! The order in which tables are loaded: a referenced table comes before the tables that reference it.
//! A foreign key of each cycle is cut.

use super::Table;

/// Tables in loading order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    /// Indexes of the tables.
    pub tables: Vec<usize>,
    /// Foreign keys that reference a later table.
    pub cut: Vec<Cut>,
}

/// A foreign key of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub table: usize,
    /// Number of the key in its table.
    pub key: usize,
    /// The tables of the cycle: `a → b → a`.
    pub cycle: String,
}

impl Order {
    pub fn cut(&self, table: usize, key: usize) -> Option<&Cut> {
        self.cut.iter().find(|cut| (cut.table, cut.key) == (table, key))
    }
}

/// Indexes of the tables in loading order. A table may reference itself.
pub(crate) fn loading_order(tables: &[Table]) -> Order {
    let mut order = Order::default();
    let mut placed = vec![false; tables.len()];
    while order.tables.len() < tables.len() {
        let is_open = |index: usize, key: usize| {
            let target = tables[index].foreign_keys[key].table;
            let is_loaded = tables[index].kept.is_none();
            is_loaded && target != index && !placed[target] && order.cut(index, key).is_none()
        };
        let is_ready =
            |index: &usize| (0..tables[*index].foreign_keys.len()).all(|key| !is_open(*index, key));
        let ready: Vec<usize> = (0..tables.len()).filter(|index| !placed[*index]).filter(is_ready).collect();
        if ready.is_empty() {
            let path = cycle(tables, &placed, is_open);
            // Each table that is left has an open key, so there is one.
            let cut = path.iter().copied().min_by_key(|(table, key)| reluctance(tables, *table, *key));
            order.cut.extend(cut.map(|(table, key)| Cut { table, key, cycle: names(tables, &path) }));
        }
        for index in ready {
            placed[index] = true;
            order.tables.push(index);
        }
    }
    order
}

/// The key with the least number is cut: best, its columns may be NULL, and the referenced ones depend on no other key.
fn reluctance(tables: &[Table], table: usize, key: usize) -> u8 {
    let own = &tables[table].foreign_keys[key];
    let required = own.columns.iter().any(|column| tables[table].columns[*column].not_null);
    let mut others = tables[own.table].foreign_keys.iter().flat_map(|other| &other.columns);
    let depends = others.any(|column| own.referenced.contains(column));
    2 * u8::from(required) + u8::from(depends)
}

/// Follows references from a table that has no place until one comes again: the keys from table to table.
fn cycle(tables: &[Table], placed: &[bool], is_open: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
    let mut path: Vec<(usize, usize)> = Vec::new();
    let mut last = placed.iter().position(|placed| !placed).unwrap_or(0);
    while let Some(key) = (0..tables[last].foreign_keys.len()).find(|key| is_open(last, *key)) {
        path.push((last, key));
        last = tables[last].foreign_keys[key].table;
        if let Some(start) = path.iter().position(|(table, _)| *table == last) {
            return path.split_off(start);
        }
    }
    path
}

/// `a → b → a`
fn names(tables: &[Table], path: &[(usize, usize)]) -> String {
    let ring = path.iter().chain(path.first());
    let names: Vec<String> = ring.map(|(table, _)| tables[*table].name.plain()).collect();
    names.join(" → ")
}
