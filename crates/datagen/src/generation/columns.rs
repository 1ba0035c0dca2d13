//! Compiles the columns of one table: references first look at the tables that are already compiled; columns that depend
//! on others of the same table come last.

use std::sync::Arc;

use super::keys::{Keys, unique_ranks};
use super::{ColumnRows, Common, Files, TableRows};
use crate::directive::Settings;
use crate::directive::keys::{COLUMN, REFERENCE};
use crate::error::{Checked, Fault, nearest};
use crate::generator::{
    ColumnNode, Compiler, Description, Kind, Node, Rank, ReferenceOrder, Target, decimals, key_of,
    reference_draw, settings_text,
};
use crate::schema::{Bounds, Column, ForeignKey, Schema, Table, Type};

/// Compiles one table.
pub(crate) struct TableCompiler<'a> {
    schema: &'a Schema,
    common: &'a Common,
    /// Index of the table.
    index: usize,
    /// Rows of all tables.
    rows: &'a [u64],
    built: &'a [Option<TableRows>],
    compiler: Compiler<'a>,
    keys: Keys,
    key: u64,
}

impl<'a> TableCompiler<'a> {
    pub fn new(
        schema: &'a Schema,
        files: &'a dyn Files,
        common: &'a Common,
        index: usize,
        rows: &'a [u64],
        built: &'a [Option<TableRows>],
    ) -> Checked<Self> {
        let table = &schema.tables[index];
        let name = match table.name.schema.as_deref() {
            None | Some("public") => table.name.name.clone(),
            Some(_) => table.name.plain(),
        };
        let keys = Keys::new(schema, index)?;
        for key in &table.foreign_keys {
            let settings = &schema.directives.tables[key.table];
            if settings.has("skip") {
                let message = format!(
                    "{} has the directive skip, so {} cannot reference it: the row may be left out",
                    schema.tables[key.table].name.plain(),
                    table.name.plain()
                );
                return Err(settings.fault("skip", message));
            }
        }
        let key = key_of(common.key, &name);
        Ok(Self { schema, common, index, rows, built, compiler: Compiler::new(schema, files), keys, key })
    }

    fn table(&self) -> &'a Table {
        &self.schema.tables[self.index]
    }

    fn settings(&self, column: usize) -> &'a Settings {
        &self.schema.directives.columns[self.index][column]
    }

    fn own_rows(&self) -> u64 {
        self.rows[self.index]
    }

    pub fn compile(self) -> Checked<TableRows> {
        let table = self.table();
        let count = table.columns.len();
        let mut nodes: Vec<Option<Node>> = Vec::with_capacity(count);
        for column in 0..count {
            nodes.push(if self.depends(column)? { None } else { Some(self.independent(column)?) });
        }
        let ranks = unique_ranks(table, &self.keys, &nodes, self.own_rows(), self.key)?;
        let mut done: Vec<Option<Arc<ColumnNode>>> = vec![None; count];
        for (column, node) in nodes.into_iter().enumerate() {
            done[column] = node.map(|node| self.finished(node, ranks[column].clone()));
        }
        self.dependent(&mut done)?;
        let settings = &self.schema.directives.tables[self.index];
        let columns = table.columns.iter().enumerate().zip(done).filter_map(|((index, column), node)| {
            let copied = !column.computed && !self.settings(index).has("nogen");
            Some(ColumnRows {
                name: column.name.clone(),
                node: node?,
                sequence: column.sequence,
                copied,
                type_name: column.type_name.clone(),
                description: self.description(index),
            })
        });
        let rows = TableRows {
            name: table.name.clone(),
            rows_sql: table.rows_sql(),
            rows: self.own_rows(),
            columns: columns.collect(),
            skip: settings.rate("skip")?.unwrap_or(0.0),
            key: key_of(self.key, "skip"),
            fills: !settings.has("nogen") && !table.is_partition,
        };
        if rows.fills && rows.rows > 0 && rows.columns().next().is_none() {
            let message =
                format!("no column of {} gets values; give it the directive nogen", table.name.plain());
            return Err(Fault::new(table.place, message));
        }
        Ok(rows)
    }

    /// The generator of a column that is compiled.
    fn description(&self, column: usize) -> Description {
        let own = &self.table().columns[column];
        let settings = self.settings(column);
        let text = settings_text(settings);
        if own.computed {
            return Description::new("none", "GENERATED ALWAYS AS: PostgreSQL computes the values");
        }
        if settings.has("nogen") {
            return Description::new("nogen", "its directives: PostgreSQL takes the column's default");
        }
        if let Ok(Some((key, position))) = self.reference(column) {
            let key = &self.table().foreign_keys[key];
            let table = &self.schema.tables[key.table];
            let name = &table.columns[key.referenced[position]].name;
            let values = format!("values of {}.{name} {text}", table.name.plain());
            return Description::new(values.trim_end(), "its foreign key");
        }
        match self.target(column, own) {
            Ok(target) => self.compiler.describe(settings, target),
            Err(_) => Description::new(text, "its directives"),
        }
    }

    fn finished(&self, node: Node, rank: Option<Rank>) -> Arc<ColumnNode> {
        Arc::new(ColumnNode { node, rows: self.own_rows(), rank })
    }

    /// Whether the column needs another one of the same table.
    fn depends(&self, column: usize) -> Checked<bool> {
        let linear = self.settings(column).has("linear");
        let own_table = self
            .reference(column)?
            .is_some_and(|(key, _)| self.table().foreign_keys[key].table == self.index);
        Ok(linear || own_table)
    }

    /// The foreign key that gives the column its values, and the column's position in it. A generator for the column
    /// comes before its foreign key.
    fn reference(&self, column: usize) -> Checked<Option<(usize, usize)>> {
        let own = self.settings(column).generator()?.is_some() || self.settings(column).has("type");
        Ok(self.keys.governing[column].filter(|_| !own))
    }

    fn independent(&self, column: usize) -> Checked<Node> {
        let settings = self.settings(column);
        let own = &self.table().columns[column];
        let key = key_of(self.key, &own.name);
        if own.computed {
            return Ok(Node { key, null: 0.0, share: None, kind: Kind::Null });
        }
        let node = match self.reference(column)? {
            Some((foreign_key, position)) => self.referencing(column, foreign_key, position)?,
            None => {
                let compiled = self.compiler.column(settings, self.target(column, own)?, key);
                if settings.has("nogen") {
                    compiled.unwrap_or(Node { key, null: 0.0, share: None, kind: Kind::Null })
                } else {
                    compiled?
                }
            }
        };
        self.with_null(node, column)
    }

    fn with_null(&self, node: Node, column: usize) -> Checked<Node> {
        let own = &self.table().columns[column];
        let settings = self.settings(column);
        if own.not_null {
            if matches!(node.kind, Kind::Null) && !settings.has("nogen") {
                let message = format!("the column {} is NOT NULL, and its generator gives NULL", own.name);
                return Err(settings.fault("isnull", message));
            }
            return Ok(Node { null: 0.0, ..node });
        }
        Ok(Node { null: self.null_share(column)?, ..node })
    }

    /// Share of NULL. The columns of a foreign key with MATCH FULL have a common one.
    fn null_share(&self, column: usize) -> Checked<f64> {
        let settings = self.settings(column);
        let own = settings.rate("null")?;
        if self.keys.referenced[column] {
            if own.is_some_and(|share| share > 0.0) {
                let name = &self.table().columns[column].name;
                let message = format!(
                    "a foreign key references the column {name}, so it cannot have NULL; remove null or give it 0"
                );
                return Err(settings.fault("null", message));
            }
            return Ok(0.0);
        }
        let of_table = self.schema.directives.tables[self.index].rate("null")?;
        let common = of_table.unwrap_or(self.common.null);
        let Some(key) = self.full_key(column)? else { return Ok(own.unwrap_or(common)) };
        let never = |column: &usize| self.table().columns[*column].not_null || self.keys.referenced[*column];
        if key.columns.iter().any(never) {
            return Ok(0.0);
        }
        let mut shares = key.columns.iter().map(|column| self.settings(*column).rate("null"));
        Ok(shares.find_map(Result::transpose).transpose()?.unwrap_or(common))
    }

    /// The compound foreign key with MATCH FULL that gives the column its values.
    fn full_key(&self, column: usize) -> Checked<Option<&'a ForeignKey>> {
        let key = self.reference(column)?.map(|(key, _)| &self.table().foreign_keys[key]);
        Ok(key.filter(|key| key.full && key.columns.len() > 1))
    }

    fn target(&self, column: usize, own: &'a Column) -> Checked<Target<'a>> {
        let rows = match self.keys.others_in_compound(self.table(), column, self.rows) {
            // Twice as many values as each combination of the others needs, so that not all of them occur.
            Some(others)
                if self.settings(column).list.is_empty() && matches!(own.kind, Type::Integer { .. }) =>
            {
                (self.own_rows() / others.max(1) + 1).saturating_mul(2)
            }
            _ => self.own_rows(),
        };
        Ok(Target {
            rows,
            table_key: self.key,
            name: &own.name,
            kind: &own.kind,
            type_name: &own.type_name,
            bounds: &own.bounds,
            unique: self.keys.unique[column],
            serial: false,
            offset: self.common.offset,
            depth: 0,
        })
    }

    /// A column of a foreign key to another table.
    fn referencing(&self, column: usize, foreign_key: usize, position: usize) -> Checked<Node> {
        let key = &self.table().foreign_keys[foreign_key];
        let target_rows = self.rows[key.table];
        let referenced = key.referenced[position];
        let own = &self.table().columns[column];
        if target_rows == 0 && self.own_rows() > 0 {
            if own.not_null {
                let name = self.schema.tables[key.table].name.plain();
                let message = format!("the column {} references {name}, which has no rows", own.name);
                return Err(Fault::new(own.place, message));
            }
            return Ok(Node { key: 0, null: 0.0, share: None, kind: Kind::Null });
        }
        let target = self.built[key.table].as_ref().and_then(|table| table.columns.get(referenced));
        let Some(target) =
            target.map(|column| &column.node).filter(|node| !matches!(node.node.kind, Kind::Null))
        else {
            let name = &self.schema.tables[key.table].columns[referenced].name;
            return Err(Fault::new(
                own.place,
                format!("the column {} references {name}, which gets no values", own.name),
            ));
        };
        self.reference_node(column, foreign_key, target_rows, target.clone(), ReferenceOrder::All)
    }

    fn reference_node(
        &self,
        column: usize,
        foreign_key: usize,
        target_rows: u64,
        target: Arc<ColumnNode>,
        order: ReferenceOrder,
    ) -> Checked<Node> {
        let key = &self.table().foreign_keys[foreign_key];
        let own = &self.table().columns[column];
        let settings = self.settings(column);
        let used = |key: &&str| REFERENCE.contains(key) || COLUMN.contains(key);
        if let Some(setting) = settings.list.iter().find(|setting| !used(&setting.key)) {
            let message = format!(
                "the directive {} is not used by a foreign key, whose values are those of the referenced column",
                setting.key
            );
            return Err(Fault::new(setting.place, message));
        }
        // All columns of a key take the same row: the first column selects it.
        let first = key.columns[0];
        let draws = settings.list.iter().find(|setting| REFERENCE.contains(&setting.key));
        if let Some(setting) = draws.filter(|_| column != first) {
            let name = &self.table().columns[first].name;
            let message = format!(
                "the columns of a foreign key take one row; write {} behind its first column {name}",
                setting.key
            );
            return Err(Fault::new(setting.place, message));
        }
        let draw_key = key
            .columns
            .iter()
            .fold(self.key, |parent, column| key_of(parent, &self.table().columns[*column].name));
        let bounds = Bounds::default();
        let target_settings = Target {
            unique: self.keys.unique[first],
            serial: false,
            bounds: &bounds,
            ..self.target(column, own)?
        };
        let draw = reference_draw(self.settings(first), target_settings, draw_key, target_rows)?;
        // A common key makes the columns of a row NULL together.
        let own_key = if key.full { draw_key } else { key_of(self.key, &own.name) };
        Ok(Node { key: own_key, null: 0.0, share: None, kind: Kind::Reference { draw, target, order } })
    }

    /// Columns that need others of the table, until all are there.
    fn dependent(&self, done: &mut [Option<Arc<ColumnNode>>]) -> Checked<()> {
        loop {
            let open: Vec<usize> = (0..done.len()).filter(|column| done[*column].is_none()).collect();
            let Some(first) = open.first() else { return Ok(()) };
            let mut progress = false;
            for &column in &open {
                let source = self.source(column)?;
                if let Some(source) = done[source].clone() {
                    let node = self.with_null(self.dependent_node(column, source)?, column)?;
                    done[column] = Some(self.finished(node, None));
                    progress = true;
                }
            }
            if !progress {
                let own = &self.table().columns[*first];
                let names: Vec<&str> =
                    open.iter().map(|column| self.table().columns[*column].name.as_str()).collect();
                let message = format!("the columns {} depend on each other", names.join(", "));
                return Err(Fault::new(own.place, message));
            }
        }
    }

    /// The column of the same table that a column depends on.
    fn source(&self, column: usize) -> Checked<usize> {
        let settings = self.settings(column);
        if let Some(name) = settings.text("linear") {
            let columns = &self.table().columns;
            return columns.iter().position(|own| own.name == name).ok_or_else(|| {
                let hint = nearest(name, columns.iter().map(|own| own.name.as_str()));
                settings.fault("linear", format!("linear={name} names no column of the table{hint}"))
            });
        }
        let reference = self.reference(column)?;
        Ok(reference.map_or(column, |(key, position)| self.table().foreign_keys[key].referenced[position]))
    }

    fn dependent_node(&self, column: usize, source: Arc<ColumnNode>) -> Checked<Node> {
        let own = &self.table().columns[column];
        let settings = self.settings(column);
        if let Some((foreign_key, _)) = self.reference(column)? {
            let full = self.full_key(column)?;
            let not_null = |column: &usize| self.table().columns[*column].not_null;
            let never = own.not_null || full.is_some_and(|key| key.columns.iter().any(not_null));
            let order = if never { ReferenceOrder::EarlierOrSelf } else { ReferenceOrder::EarlierOrNull };
            return self.reference_node(column, foreign_key, self.own_rows(), source, order);
        }
        self.compiler.check_generator(settings)?;
        let numeric =
            matches!(own.kind, Type::Integer { .. } | Type::Numeric { .. } | Type::Float | Type::Money);
        if !numeric || !source.node.is_number() {
            let message = format!(
                "linear needs two columns of numbers: {} and {}",
                own.name,
                settings.text("linear").unwrap_or_default()
            );
            return Err(settings.fault("linear", message));
        }
        let noise = settings.number("noise").unwrap_or(0.0);
        if noise < 0.0 {
            return Err(settings.fault("noise", "noise is a standard deviation, which is not negative"));
        }
        let kind = Kind::Linear {
            source,
            slope: settings.number("slope").unwrap_or(1.0),
            intercept: settings.number("intercept").unwrap_or(0.0),
            noise,
            scale: decimals(&own.kind),
        };
        Ok(Node { key: key_of(self.key, &own.name), null: 0.0, share: None, kind })
    }
}
