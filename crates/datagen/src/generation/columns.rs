//! Compiles the columns of one table: references first look at the tables that are already compiled; columns that depend
//! on others of the same table come last.

use std::cell::RefCell;
use std::sync::Arc;

use super::keys::{Distinctness, KeyFailure, Keys, again};
use super::{ColumnRows, Common, Files, TableRows};
use crate::directive::Settings;
use crate::directive::keys::{COLUMN, REFERENCE};
use crate::error::{Checked, Fault, Faults, nearest};
use crate::generator::{
    ColumnNode, Compiler, GeneratorDescription, Kind, Node, Rank, ReferenceOrder, Sub, Target, decimals,
    fixed_lengths, key_of, reference_draw, settings_text,
};
use crate::schema::{Bounds, Column, ForeignKey, Order, Schema, Table, Type};

/// What the compilers of all tables share.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub schema: &'a Schema,
    pub files: &'a dyn Files,
    pub common: &'a Common,
    pub order: &'a Order,
    /// Rows of all tables.
    pub rows: &'a [u64],
    pub built: &'a [Option<TableRows>],
}

/// Compiles one table.
pub(crate) struct TableCompiler<'a> {
    pub(super) around: Surroundings<'a>,
    pub(super) schema: &'a Schema,
    /// Index of the table.
    pub(super) index: usize,
    compiler: Compiler<'a>,
    pub(super) keys: Keys,
    pub(super) key: u64,
    /// Rows of the table: fewer than asked for if a key allows no more.
    pub(super) own_rows: u64,
    /// How each column is guessed that has no directives.
    pub(super) guesses: Vec<Guess>,
    /// Unique constraints that are left to the server.
    pub(super) left: Vec<bool>,
    /// Columns without values: PostgreSQL fills them, or the table gets no rows.
    pub(super) absent: RefCell<Vec<bool>>,
    pub(super) errors: RefCell<Vec<String>>,
    pub(super) notes: Vec<String>,
}

/// How the values of a column without directives are selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guess {
    /// By its name and type.
    Named,
    /// The same values, all equally often.
    Uniform,
    /// As many values as rows.
    Distinct,
}

/// A compiled table, with sentences for the user.
pub(crate) struct Compiled {
    pub rows: TableRows,
    pub notes: Vec<String>,
}

impl<'a> TableCompiler<'a> {
    pub fn new(around: Surroundings<'a>, index: usize) -> Checked<Self> {
        let Surroundings { schema, files, common, rows, .. } = around;
        let table = &schema.tables[index];
        let name = match table.name.schema.as_deref() {
            None | Some("public") => table.name.name.clone(),
            Some(_) => table.name.plain(),
        };
        let keys = Keys::new(schema, index);
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
        Ok(Self {
            around,
            schema,
            index,
            compiler: Compiler::new(schema, files),
            keys,
            key: key_of(common.key, &name),
            own_rows: rows[index],
            guesses: vec![Guess::Named; table.columns.len()],
            left: vec![table.kept.is_some(); table.uniques.len()],
            absent: RefCell::default(),
            errors: RefCell::default(),
            notes: Vec::new(),
        })
    }

    pub(super) fn table(&self) -> &'a Table {
        &self.schema.tables[self.index]
    }

    pub(super) fn settings(&self, column: usize) -> &'a Settings {
        &self.schema.directives.columns[self.index][column]
    }

    fn own_rows(&self) -> u64 {
        self.own_rows
    }

    pub fn compile(mut self) -> Checked<Compiled> {
        if let Some(note) = self.emptiness()? {
            self.own_rows = 0;
            self.notes.push(note);
        }
        loop {
            match self.columns()? {
                Ok(_) if self.is_unfilled() => {}
                Ok(columns) => return self.compiled(columns),
                Err(failure) => self.adapt(failure)?,
            }
        }
    }

    /// All columns, if they meet the unique constraints.
    fn columns(&self) -> Checked<Result<Vec<Arc<ColumnNode>>, KeyFailure>> {
        let count = self.table().columns.len();
        self.absent.replace(vec![false; count]);
        self.errors.borrow_mut().clear();
        let mut nodes: Vec<Option<Node>> = Vec::with_capacity(count);
        let mut faults = Faults::default();
        for column in 0..count {
            let node = self.depends(column).and_then(|depends| match depends {
                true => Ok(None),
                false => self.independent(column).map(Some),
            });
            nodes.push(faults.take(node).flatten());
        }
        faults.all()?;
        let ranks = match self.distinctness(&nodes, &self.left).ranks() {
            Ok(ranks) => ranks,
            Err(failure) => return Ok(Err(failure)),
        };
        let mut done: Vec<Option<Arc<ColumnNode>>> = vec![None; count];
        for (column, node) in nodes.into_iter().enumerate() {
            done[column] = node.map(|node| self.finished(node, ranks[column].clone()));
        }
        self.dependent(&mut done)?;
        Ok(Ok(done.into_iter().flatten().collect()))
    }

    pub(super) fn distinctness<'b>(
        &'b self,
        nodes: &'b [Option<Node>],
        left: &'b [bool],
    ) -> Distinctness<'b> {
        Distinctness {
            schema: self.schema,
            table: self.table(),
            keys: &self.keys,
            nodes,
            rows: self.own_rows(),
            key: self.key,
            attempt: self.around.common.attempt,
            left,
        }
    }

    fn compiled(self, mut nodes: Vec<Arc<ColumnNode>>) -> Checked<Compiled> {
        let table = self.table();
        let has_cases = self.apply_cases(&mut nodes);
        let settings = &self.schema.directives.tables[self.index];
        let absent = self.absent.borrow().clone();
        let columns = table.columns.iter().enumerate().zip(nodes).map(|((index, column), node)| ColumnRows {
            name: column.name.clone(),
            node,
            sequence: column.sequence,
            copied: !column.computed && !self.settings(index).has("nogen") && !absent[index],
            type_name: column.type_name.clone(),
            loaded_type: column.described.base_type.as_ref().unwrap_or(&column.type_name).clone(),
            description: self.description(index),
        });
        let columns: Vec<ColumnRows> = columns.collect();
        let is_open = |key: &usize| {
            let is_filled = |column: &usize| !columns[*column].copied;
            self.around.order.cut(self.index, *key).is_some()
                || table.foreign_keys[*key].columns.iter().any(is_filled)
        };
        let mut judgement = self.judgement(has_cases);
        for key in &table.foreign_keys {
            if table.kept.is_none() && key.columns.iter().any(|column| !columns[*column].copied) {
                judgement.get_or_insert_default().add(&key.name);
            }
        }
        let (open, keys): (Vec<usize>, Vec<usize>) = (0..table.foreign_keys.len()).partition(is_open);
        let mut met = Vec::new();
        for &key in &keys {
            if self.is_met(key)? {
                met.push(key);
            }
        }
        let keys: Vec<usize> = keys.into_iter().filter(|key| !met.contains(key)).collect();
        let primary_is_met = self.primary_is_met(&columns);
        let reference = |key| self.schema.reference(table, &table.foreign_keys[key]);
        let of_keys = |keys: Vec<usize>| keys.into_iter().map(reference).collect::<Vec<_>>();
        let mut rows = TableRows {
            name: table.name.clone(),
            rows_sql: table.rows_sql(),
            rows: self.own_rows(),
            columns,
            skip: settings.rate("skip")?.unwrap_or(0.0),
            key: key_of(self.key, "skip"),
            fills: !settings.has("nogen") && !table.is_partition && table.kept.is_none(),
            judgement: judgement.filter(|_| !settings.has("direct")),
            references: of_keys(keys),
            open_references: of_keys(open),
            met_references: of_keys(met),
            primary_is_met,
            is_directed: self.schema.directives.columns[self.index].iter().any(|own| !own.list.is_empty()),
            size_reason: None,
        };
        let mut notes = self.notes;
        if !rows.fills {
            notes.clear();
        } else if rows.columns().next().is_none() {
            let name = table.name.plain();
            if notes.is_empty() {
                notes.push(format!("{name}: no rows; none of its columns gets values"));
            }
            rows.rows = 0;
            rows.fills = false;
        }
        Ok(Compiled { rows, notes })
    }

    /// Whether no two rows have the same primary key, however often they are drawn.
    fn primary_is_met(&self, columns: &[ColumnRows]) -> bool {
        let table = self.table();
        let primary =
            table.uniques.iter().position(|own| own.primary && !own.temporal && own.special.is_none());
        let is_plain = |column: &usize| {
            columns[*column].copied
                && columns[*column].node.cases.is_none()
                && self.keys.is_kept(table, *column)
        };
        primary.is_some_and(|own| {
            let refers_to_itself = table.foreign_keys.iter().any(|key| key.table == self.index);
            !self.left[own] && !refers_to_itself && table.uniques[own].columns.iter().all(is_plain)
        })
    }

    /// Whether all values of a foreign key are those of rows that are there: no server needs to look them up.
    fn is_met(&self, key: usize) -> Checked<bool> {
        let target = self.schema.tables.get(self.table().foreign_keys[key].table);
        let is_kept = target.is_some_and(|target| target.kept.is_some());
        let built = self.around.built[self.table().foreign_keys[key].table].as_ref();
        let is_there = built.is_some_and(|built| is_kept || (built.fills && built.judgement.is_none()));
        for column in &self.table().foreign_keys[key].columns {
            if !is_there || self.reference(*column)?.is_none_or(|(own, _)| own != key) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The generator of a column that is compiled.
    fn description(&self, column: usize) -> GeneratorDescription {
        let own = &self.table().columns[column];
        let settings = self.settings(column);
        let text = settings_text(settings);
        if own.computed {
            return GeneratorDescription::new("none", "GENERATED ALWAYS AS: PostgreSQL computes the values");
        }
        if settings.has("nogen") {
            return GeneratorDescription::new(
                "nogen",
                "its directives: PostgreSQL takes the column's default",
            );
        }
        if let Ok(Some((key, position))) = self.reference(column) {
            let key = &self.table().foreign_keys[key];
            let table = &self.schema.tables[key.table];
            let name = &table.columns[key.referenced[position]].name;
            let values = format!("values of {}.{name} {text}", table.name.plain());
            return GeneratorDescription::new(values.trim_end(), "its foreign key");
        }
        match self.target(column, own) {
            Ok(target) => self.compiler.describe(settings, target),
            Err(_) => GeneratorDescription::new(text, "its directives"),
        }
    }

    pub(super) fn finished(&self, node: Node, rank: Option<Rank>) -> Arc<ColumnNode> {
        Arc::new(ColumnNode { node, rows: self.own_rows(), rank, cases: None })
    }

    /// Whether the column needs another one of the same table.
    pub(super) fn depends(&self, column: usize) -> Checked<bool> {
        let linear = self.settings(column).has("linear");
        let own_table = self
            .reference(column)?
            .is_some_and(|(key, _)| self.table().foreign_keys[key].table == self.index);
        Ok(self.table().kept.is_none() && (linear || own_table))
    }

    /// The foreign key that gives the column its values, and the column's position in it. A generator for the column
    /// comes before its foreign key.
    pub(super) fn reference(&self, column: usize) -> Checked<Option<(usize, usize)>> {
        let own = self.settings(column).generator()?.is_some() || self.settings(column).has("type");
        Ok(self.keys.governing[column].filter(|_| !own))
    }

    pub(super) fn independent(&self, column: usize) -> Checked<Node> {
        let own = &self.table().columns[column];
        let key = self.column_key(column);
        if own.computed {
            return Ok(Node { key, null: 0.0, share: None, kind: Kind::Null });
        }
        if let Some(node) = self.kept(column) {
            return Ok(node);
        }
        let node = match self.reference(column)? {
            Some((foreign_key, position)) => self.referencing(column, foreign_key, position)?,
            None => self.generated(column, key)?,
        };
        self.with_null(node, column)
    }

    /// The node of a column by its directives, or by a guess.
    fn generated(&self, column: usize, key: u64) -> Checked<Node> {
        let null = Node { key, null: 0.0, share: None, kind: Kind::Null };
        let settings = self.settings(column);
        let own = &self.table().columns[column];
        let target = self.target(column, own)?;
        let mut compiled = self.compiler.column(settings, target, key);
        let most = if let Type::Text { max: Some(max), .. } = own.kind { u64::from(max) } else { u64::MAX };
        let is_usable = |node: &Checked<Node>| node.as_ref().is_ok_and(|node| node.bytes_max() <= most);
        if let Some(hint) = target.hint.filter(|_| settings.leave_a_guess()) {
            let is_enough = |node: &Node| node.is_serial(target.rows) || node.count() >= target.rows;
            if target.unique && compiled.as_ref().is_ok_and(|node| !is_enough(node)) {
                let fixed = fixed_lengths(hint);
                let wider = self.compiler.column(settings, Target { hint: Some(&fixed), ..target }, key);
                compiled = if is_usable(&wider) { wider } else { compiled };
            }
            if !is_usable(&compiled) {
                compiled = self.compiler.column(settings, Target { hint: None, ..target }, key);
            }
        }
        match compiled {
            Ok(node) if self.guesses[column] == Guess::Uniform => Ok(node.uniform()),
            Ok(node) => Ok(node),
            Err(_) if settings.has("nogen") => Ok(null),
            Err(fault) if settings.leave_a_guess() => {
                self.absence(column, fault.message);
                Ok(null)
            }
            Err(fault) => Err(fault),
        }
    }

    /// A column without a generator: NULL, its default, or no rows at all.
    fn absence(&self, column: usize, reason: String) {
        let own = &self.table().columns[column];
        if !own.not_null && !self.keys.referenced[column] {
            return;
        }
        self.absent.borrow_mut()[column] = true;
        if !own.described.has_default {
            self.errors.borrow_mut().push(reason);
        }
    }

    /// Values of rows that are there already, by the number of their row.
    fn kept(&self, column: usize) -> Option<Node> {
        let kept = self.table().kept.as_ref()?;
        let key = self.column_key(column);
        let position = kept.columns.iter().position(|own| *own == column);
        let kind = match position.filter(|_| !kept.rows.is_empty()) {
            Some(position) => {
                let list = kept.rows.iter().map(|row| row[position].clone().into_bytes()).collect();
                Kind::listed(list, key)
            }
            None => Kind::Null,
        };
        Some(Node { key, null: 0.0, share: None, kind })
    }

    /// The key of the draws of a column. Only columns that nothing refers to draw again.
    fn column_key(&self, column: usize) -> u64 {
        let table = self.table();
        let is_kept = self.keys.is_kept(table, column);
        let attempt = if is_kept { 0 } else { self.around.common.attempt };
        again(key_of(self.key, &table.columns[column].name), attempt)
    }

    fn with_null(&self, node: Node, column: usize) -> Checked<Node> {
        let own = &self.table().columns[column];
        let settings = self.settings(column);
        if own.not_null {
            let is_empty = self.own_rows() == 0;
            let is_absent = settings.has("nogen") || self.absent.borrow()[column] || is_empty;
            if matches!(node.kind, Kind::Null) && !is_absent {
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
        let is_judged = |key: &usize| self.table().foreign_keys[*key].columns.contains(&column);
        let is_half =
            self.table().columns[column].described.half_null || self.keys.judged.iter().any(is_judged);
        let common = of_table.unwrap_or(if is_half { 0.5 } else { self.around.common.null });
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
        let is_distinct = self.guesses[column] == Guess::Distinct;
        let rows = match self.keys.others_in_compound(self.table(), column, self.around.rows) {
            // Twice as many values as each combination of the others needs, so that not all of them occur.
            Some(others)
                if self.settings(column).list.is_empty()
                    && !is_distinct
                    && matches!(own.kind, Type::Integer { .. }) =>
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
            hint: own.described.hint.as_deref(),
            unique: self.keys.unique[column] || is_distinct,
            serial: false,
            offset: self.around.common.offset,
            depth: 0,
        })
    }

    /// A column of a foreign key to another table.
    fn referencing(&self, column: usize, foreign_key: usize, position: usize) -> Checked<Node> {
        let null = Node { key: 0, null: 0.0, share: None, kind: Kind::Null };
        let key = &self.table().foreign_keys[foreign_key];
        let target_rows = self.around.rows[key.table];
        let referenced = key.referenced[position];
        let own = &self.table().columns[column];
        if self.own_rows() == 0 {
            return Ok(null);
        }
        if target_rows == 0 {
            if own.not_null {
                let name = self.schema.tables[key.table].name.plain();
                let message = format!("the column {} references {name}, which has no rows", own.name);
                return Err(Fault::new(own.place, message));
            }
            return Ok(null);
        }
        let cut = self.around.order.cut(self.index, foreign_key);
        let target = match cut {
            Some(_) => {
                let whole = self.later(key.table, &key.referenced);
                let nodes = whole.map(|mut nodes| nodes.swap_remove(position));
                nodes.or_else(|| {
                    let is_own = self.counterpart(foreign_key)? == position;
                    self.later(key.table, &[referenced]).filter(|_| is_own)?.pop()
                })
            }
            None => {
                let table = self.around.built[key.table].as_ref();
                table.and_then(|table| table.columns.get(referenced)).map(|column| column.node.clone())
            }
        };
        let Some(target) = target.filter(|node| !matches!(node.node.kind, Kind::Null)) else {
            let name = &self.schema.tables[key.table].columns[referenced].name;
            let message = match cut {
                Some(cut) => format!(
                    "the foreign key {} is part of the cycle {}, and {}.{name} depends on other keys; remove NOT NULL, or write a generator after the column",
                    key.name,
                    cut.cycle,
                    self.schema.tables[key.table].name.plain()
                ),
                None => format!(
                    "the foreign key {} references {name}, which gets no values; write a generator after the column, as in -- df: int size=100",
                    key.name
                ),
            };
            self.absence(column, message);
            return Ok(null);
        };
        self.reference_node(column, foreign_key, target_rows, target, ReferenceOrder::All)
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
        let is_kept = key.columns.iter().any(|column| self.keys.is_kept(self.table(), *column));
        let draw_key = again(draw_key, if is_kept { 0 } else { self.around.common.attempt });
        let bounds = Bounds::default();
        let target_settings = Target {
            unique: self.keys.unique[first],
            serial: false,
            bounds: &bounds,
            ..self.target(column, own)?
        };
        let mut draw = reference_draw(self.settings(first), target_settings, draw_key, target_rows)?;
        if self.is_paired(foreign_key) {
            draw.sub = Sub::Serial;
        }
        // A common key makes the columns of a row NULL together.
        let own_key = if key.full { draw_key } else { self.column_key(column) };
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
        Ok(Node { key: self.column_key(column), null: 0.0, share: None, kind })
    }
}
