//! How guesses give way to keys: more values for a column, fewer rows for the table, or the
//! judgement of the server. Directives never give way: what they make impossible is an error.

use super::columns::{Guess, TableCompiler};
use super::keys::{FailureReason, KeyFailure};
use crate::error::{Checked, Fault};
use crate::generator::{Kind, Node};
use crate::schema::Judgement;

/// Directives that change values without limiting their number.
const UNLIMITING: [&str; 7] = ["null", "nogen", "seed", "mangle", "shift", "step", "xor"];

impl TableCompiler<'_> {
    /// Changes what is guessed, so that a unique constraint is met or left to the server.
    pub(super) fn adapt(&mut self, failure: KeyFailure) -> Checked<()> {
        let KeyFailure { unique, reason, fault } = failure;
        let is_optional = self.table().uniques[unique].special.is_some();
        match reason {
            FailureReason::Skewed(column)
                if self.can_guess(column)? && self.guesses[column] == Guess::Named =>
            {
                self.guesses[column] = Guess::Uniform;
            }
            FailureReason::TooFew(possible) => {
                if let Some(column) = self.widest(unique)? {
                    self.guesses[column] = Guess::Distinct;
                } else if is_optional || self.is_open(unique)? {
                    self.left[unique] = true;
                } else {
                    self.shrink(unique, possible, fault)?;
                }
            }
            FailureReason::Skewed(_) if is_optional => self.left[unique] = true,
            FailureReason::Skewed(_) => return Err(fault),
        }
        Ok(())
    }

    /// Whether the values of a column are a guess.
    fn can_guess(&self, column: usize) -> Checked<bool> {
        let is_own = !self.depends(column)? && self.reference(column)?.is_none();
        Ok(is_own && self.settings(column).leave_a_guess() && !self.table().columns[column].computed)
    }

    /// The column of a constraint that gains most values if it has one for each row.
    fn widest(&mut self, unique: usize) -> Checked<Option<usize>> {
        let mut best: Option<(u64, usize)> = None;
        for &column in self.table().uniques[unique].distinct() {
            if self.guesses[column] == Guess::Distinct || !self.can_guess(column)? {
                continue;
            }
            let guess = self.guesses[column];
            let now = reached(&self.independent(column)?);
            self.guesses[column] = Guess::Distinct;
            let wide = self.independent(column);
            self.guesses[column] = guess;
            let wide = reached(&wide?);
            if wide > now && best.is_none_or(|(most, _)| wide > most) {
                best = Some((wide, column));
            }
        }
        Ok(best.map(|(_, column)| column))
    }

    /// Whether the number of values is unknown: columns that depend on others, and parts of compound foreign keys.
    fn is_open(&self, unique: usize) -> Checked<bool> {
        for &column in self.table().uniques[unique].distinct() {
            let is_part = |(key, _): (usize, usize)| self.table().foreign_keys[key].columns.len() > 1;
            if self.depends(column)? || self.reference(column)?.is_some_and(is_part) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// As many rows as the constraint allows, if no directive asks for more.
    fn shrink(&mut self, unique: usize, possible: u64, fault: Fault) -> Checked<()> {
        let table = self.table();
        let own = &table.uniques[unique];
        let of_table = &self.schema.directives.tables[self.index];
        let limits = |column: &usize| {
            let settings = &self.settings(*column).list;
            settings.iter().any(|setting| !UNLIMITING.contains(&setting.key))
        };
        if of_table.has("size") || of_table.has("mult") || own.distinct().iter().any(limits) {
            return Err(fault);
        }
        let names: Vec<&str> =
            own.distinct().iter().map(|column| table.columns[*column].name.as_str()).collect();
        let rows = possible.max(1);
        let unit = if rows == 1 { "row" } else { "rows" };
        let note =
            format!("{}: {rows} {unit}; its key ({}) allows no more", table.name.plain(), names.join(", "));
        let start = format!("{}: ", table.name.plain());
        self.notes.retain(|note| !note.starts_with(&start));
        self.notes.push(note);
        self.own_rows = rows;
        Ok(())
    }

    /// The note that the table gets no rows: it must reference a table that has none, or has no partitions.
    pub(super) fn emptiness(&self) -> Checked<Option<String>> {
        let table = self.table();
        if self.own_rows == 0 || table.kept.is_some() {
            return Ok(None);
        }
        if table.lacks_partitions && !table.is_partition {
            let name = table.name.plain();
            return Ok(Some(format!("{name}: no rows; it has no partitions; create one in the schema")));
        }
        for (column, own) in table.columns.iter().enumerate().filter(|(_, own)| own.not_null) {
            let Some((key, _)) = self.reference(column)? else { continue };
            let target = table.foreign_keys[key].table;
            if target != self.index && self.around.rows[target] == 0 {
                let target = self.schema.tables[target].name.plain();
                let name = table.name.plain();
                return Ok(Some(format!(
                    "{name}: no rows; {} references {target}, which has none",
                    own.name
                )));
            }
        }
        Ok(None)
    }

    /// Whether a column cannot have values. The table gets no rows then, with a note.
    pub(super) fn is_unfilled(&mut self) -> bool {
        let reasons = self.errors.take();
        let table = self.table();
        if reasons.is_empty() || self.own_rows == 0 || table.kept.is_some() || table.is_partition {
            return false;
        }
        self.notes = vec![format!("{}: no rows; {}", table.name.plain(), reasons.join("; "))];
        self.own_rows = 0;
        true
    }

    /// Why the server must judge the rows. `has_cases`: they take the cases of the table.
    pub(super) fn judgement(&self, has_cases: bool) -> Option<Judgement> {
        let table = self.table();
        let mut judgement = table.judgement.clone();
        if !has_cases {
            let own = judgement.get_or_insert_default();
            table.cases.met.constraints.iter().for_each(|name| own.add(name));
            own.conditions.extend(table.cases.met.conditions.iter().cloned());
        }
        for key in self.keys.judged.iter().filter(|key| self.counterpart(**key).is_none()) {
            judgement.get_or_insert_default().add(&table.foreign_keys[*key].name);
        }
        for (unique, _) in table.uniques.iter().zip(&self.left).filter(|(_, left)| **left) {
            judgement.get_or_insert_default().add(&unique.name);
        }
        for (number, key) in table.foreign_keys.iter().enumerate() {
            let is_cut = self.around.order.cut(self.index, number).is_some();
            let target = self.around.built[key.table].as_ref().filter(|_| !is_cut);
            // Rows of that table may be missing.
            if target.is_some_and(|target| target.judgement.is_some()) {
                judgement.get_or_insert_default();
            }
        }
        judgement.filter(|_| table.kept.is_none())
    }
}

/// Values that a column can have: those of serial numbers are not all enumerated.
fn reached(node: &Node) -> u64 {
    match &node.kind {
        Kind::Null => 1,
        _ if node.is_serial(u64::MAX) => u64::MAX,
        _ => node.count(),
    }
}
