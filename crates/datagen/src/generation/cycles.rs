//! Cycles of foreign keys: a key of each is cut, so its columns take values of a table that is compiled later.
//! `generation` calls it before the order of the tables is known.

use std::sync::Arc;

use super::columns::TableCompiler;
use super::keys::returns;
use crate::generator::{ColumnNode, Node};
use crate::schema::Unique;

impl TableCompiler<'_> {
    /// Nodes of columns of a table that is compiled later, if they depend on no table that has no nodes yet.
    pub(super) fn later(&self, table: usize, columns: &[usize]) -> Option<Vec<Arc<ColumnNode>>> {
        let other = Self::new(self.around, table).ok()?;
        let count = other.table().columns.len();
        other.absent.replace(vec![false; count]);
        let mut nodes: Vec<Option<Node>> = vec![None; count];
        for &column in columns {
            let is_known = match other.reference(column).ok()? {
                None => true,
                Some((key, _)) => {
                    let target = other.table().foreign_keys[key].table;
                    other.around.order.cut(table, key).is_none() && other.around.built[target].is_some()
                }
            };
            let is_alone = !other.depends(column).ok()? && is_known;
            nodes[column] = Some(other.independent(column).ok().filter(|_| is_alone)?);
        }
        let is_left = |unique: &Unique| unique.columns.iter().any(|column| !columns.contains(column));
        let left: Vec<bool> = other.table().uniques.iter().map(is_left).collect();
        let ranks = other.distinctness(&nodes, &left).ranks().ok()?;
        let node = |column: &usize| Some(other.finished(nodes[*column].clone()?, ranks[*column].clone()));
        columns.iter().map(node).collect()
    }

    /// The one column of a cut compound key, by its position, whose values are of the later table itself: the other
    /// columns there reference this table, as in `method(id, conf) → conf(method, id)` with `conf(method) → method(id)`.
    /// Row n of each table refers to row n of the other.
    pub(super) fn counterpart(&self, number: usize) -> Option<usize> {
        self.around.order.cut(self.index, number)?;
        let key = &self.table().foreign_keys[number];
        let rows = self.around.rows;
        let is_free =
            |table: usize, column: usize| self.schema.directives.columns[table][column].list.is_empty();
        let positions = 0..key.columns.len();
        let is_plain = key.columns.iter().all(|column| is_free(self.index, *column))
            && key.referenced.iter().all(|column| is_free(key.table, *column));
        let mut own = positions.filter(|position| !returns(self.schema, self.index, key, *position));
        let first = own.next()?;
        let is_only = own.next().is_none() && key.columns.len() > 1;
        (is_only && is_plain && self.own_rows <= rows[key.table]).then_some(first)
    }

    /// Whether a foreign key takes row n in row n, because of a [`TableCompiler::counterpart`].
    pub(super) fn is_paired(&self, number: usize) -> bool {
        if self.counterpart(number).is_some() {
            return true;
        }
        let key = &self.table().foreign_keys[number];
        self.around.order.cut.iter().filter(|cut| cut.table == key.table).any(|cut| {
            let other = &self.schema.tables[cut.table].foreign_keys[cut.key];
            let is_back =
                other.table == self.index && key.columns.iter().all(|own| other.referenced.contains(own));
            is_back && Self::new(self.around, cut.table).is_ok_and(|own| own.counterpart(cut.key).is_some())
        })
    }
}
