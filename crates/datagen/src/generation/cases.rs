//! Which column is NULL, or has which values, in a row: the cases of the table that its keys and directives permit.
//! `columns` asks it for each table; conditions on one column are bounds of that column, and no cases.

use std::sync::Arc;

use super::columns::TableCompiler;
use super::keys::again;
use crate::generator::{CaseValue, ColumnCases, ColumnNode, Kind, key_of};
use crate::schema::{Case, Demand};

impl TableCompiler<'_> {
    /// Gives the columns their part of the cases. `false`: the server must judge the constraints that they are for.
    pub(super) fn apply_cases(&self, nodes: &mut [Arc<ColumnNode>]) -> bool {
        let all = &self.table().cases.list;
        if all.is_empty() || self.table().kept.is_some() {
            return true;
        }
        let possible = |case: &&Case| case.iter().all(|demand| self.is_possible(demand, nodes));
        let mut cases: Vec<Case> = all.iter().filter(possible).cloned().collect();
        let is_met = !cases.is_empty();
        if !is_met {
            // The part that is possible lets the server accept more rows.
            cases.clone_from(all);
            cases.iter_mut().for_each(|case| case.retain(|demand| self.is_possible(demand, nodes)));
        }
        let key = again(key_of(self.key, "cases"), self.around.common.attempt);
        for (column, node) in nodes.iter_mut().enumerate() {
            let values: Vec<CaseValue> = cases.iter().map(|case| value(case, column)).collect();
            if values.iter().any(|value| *value != CaseValue::Any) {
                *node = Arc::new(ColumnNode { cases: Some(ColumnCases { key, values }), ..(**node).clone() });
            }
        }
        is_met
    }

    fn is_possible(&self, (column, demand): &(usize, Demand), nodes: &[Arc<ColumnNode>]) -> bool {
        let own = &self.table().columns[*column];
        let is_free = self.settings(*column).list.is_empty() && !self.absent.borrow()[*column];
        let is_referenced = self.keys.referenced[*column];
        is_free
            && match demand {
                Demand::Null => !own.not_null && !is_referenced && !self.is_full(*column),
                Demand::NotNull => !matches!(nodes[*column].node.kind, Kind::Null),
                Demand::Values(_) => !is_referenced && !self.makes_unique(*column),
            }
    }

    /// Part of a foreign key with MATCH FULL: its columns are NULL together.
    fn is_full(&self, column: usize) -> bool {
        let mut keys = self.table().foreign_keys.iter();
        keys.any(|key| key.full && key.columns.len() > 1 && key.columns.contains(&column))
    }

    /// Whether a unique constraint needs different values of the column.
    fn makes_unique(&self, column: usize) -> bool {
        let uniques = &self.table().uniques;
        uniques.iter().filter(|own| own.columns.contains(&column)).any(|own| {
            let mut smaller = uniques.iter().filter(|other| !other.columns.contains(&column));
            !smaller.any(|other| other.columns.iter().all(|part| own.columns.contains(part)))
        })
    }
}

fn value(case: &Case, column: usize) -> CaseValue {
    match case.iter().find(|(own, _)| *own == column).map(|(_, demand)| demand) {
        None => CaseValue::Any,
        Some(Demand::Null) => CaseValue::Null,
        Some(Demand::NotNull) => CaseValue::NotNull,
        Some(Demand::Values(values)) => {
            CaseValue::Words(values.iter().map(|text| text.clone().into_bytes()).collect())
        }
    }
}
