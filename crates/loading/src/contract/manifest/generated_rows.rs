//! The keys of workload.toml about generated rows: directives of columns and tables, and numbers of rows. Read by
//! `manifest`; `datagen` gives directives their meaning.

use std::collections::BTreeMap;

use config::{Complaint, Entry, Node, Place, Table, Value};
use datagen::OwnDirective;

use super::ROWS_PER_SCALE_MAX;

/// What the file says about generated rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct GeneratedRows {
    pub(crate) directives: Vec<OwnDirective>,
    /// By the name of the table.
    pub(crate) rows: BTreeMap<String, u64>,
    /// Where the first key about them stands.
    pub(super) place: Option<Place>,
}

impl GeneratedRows {
    /// Takes these keys. Returns the list of tables, if `tables` is a list.
    pub(super) fn take(top: &mut Table) -> Result<(GeneratedRows, Vec<Node>), Complaint> {
        let mut own = GeneratedRows::default();
        for Entry { key, place, node } in top.table("columns")?.entries {
            match node.value {
                // `orders.status = "…"` without quotation marks, and `[columns.orders]`.
                Value::Table(entries) => {
                    for entry in entries {
                        own.add(format!("{key}.{}", entry.key), true, (entry.place, &entry.node))?;
                    }
                }
                _ => own.add(key, true, (place, &node))?,
            }
        }
        let tables = match top.take("tables") {
            None => Vec::new(),
            Some(Node { value: Value::Table(entries), .. }) => {
                for Entry { key, place, node } in entries {
                    own.add(key, false, (place, &node))?;
                }
                Vec::new()
            }
            Some(node) => node.into_list()?,
        };
        for Entry { key, place, node } in top.table("rows")?.entries {
            own.place.get_or_insert(place);
            own.rows.insert(key, node.whole(0, ROWS_PER_SCALE_MAX)?);
        }
        Ok((own, tables))
    }

    /// Refuses the keys if no rows are generated.
    pub(super) fn check(&self, has_schema: bool) -> Result<(), Complaint> {
        let what = "directives and numbers of rows are for a schema.sql without load steps: remove the key";
        let refused = self.place.filter(|_| !has_schema);
        refused.map_or(Ok(()), |place| Err(Complaint::at(place, what)))
    }

    /// Adds the directives of an object.
    pub(super) fn add(
        &mut self,
        object: String,
        is_column: bool,
        (place, node): (Place, &Node),
    ) -> Result<(), Complaint> {
        let text = node.text()?.to_owned();
        self.place.get_or_insert(place);
        let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let key = format!("{} \"{object}\"", if is_column { "columns" } else { "tables" });
        let (line, column) = (small(place.line), small(place.column));
        self.directives.push(OwnDirective { object, is_column, text, line, column, key });
        Ok(())
    }
}
