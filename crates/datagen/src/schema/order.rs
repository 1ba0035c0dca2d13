//! The order in which tables are loaded: a referenced table comes before the tables that reference it.
//! Cycles are refused.

use super::Table;
use crate::error::{Checked, Fault};

/// Indexes of the tables in loading order. A table may reference itself.
pub(crate) fn loading_order(tables: &[Table]) -> Checked<Vec<usize>> {
    let mut order = Vec::with_capacity(tables.len());
    let mut placed = vec![false; tables.len()];
    while order.len() < tables.len() {
        let is_ready = |index: usize| {
            let mut keys = tables[index].foreign_keys.iter();
            !placed[index] && keys.all(|key| key.table == index || placed[key.table])
        };
        let ready: Vec<usize> = (0..tables.len()).filter(|index| is_ready(*index)).collect();
        if ready.is_empty() {
            return Err(cycle(tables, &placed));
        }
        for index in ready {
            placed[index] = true;
            order.push(index);
        }
    }
    Ok(order)
}

/// Follows references from a table that has no place until one comes again.
fn cycle(tables: &[Table], placed: &[bool]) -> Fault {
    let mut path: Vec<usize> = placed.iter().position(|placed| !placed).into_iter().collect();
    while let Some(&last) = path.last() {
        let open = |key: &&super::ForeignKey| key.table != last && !placed[key.table];
        let Some(key) = tables[last].foreign_keys.iter().find(open) else { break };
        if let Some(start) = path.iter().position(|index| *index == key.table) {
            path.push(key.table);
            let names: Vec<String> = path[start..].iter().map(|index| tables[*index].name.plain()).collect();
            let message = format!(
                "foreign keys form a cycle: {}; remove one of them from the schema, and add it after loading",
                names.join(" → ")
            );
            return Fault::new(key.place, message);
        }
        path.push(key.table);
    }
    Fault::new(crate::error::Place::default(), "foreign keys form a cycle")
}
