//! Loads a table whose constraints generated rows may violate: rows are staged in a temporary table, and the server
//! inserts those that it accepts. Rows that it refuses are drawn again. Everything is within one open transaction.

mod sql;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io::Write;
use std::ops::Range;

use connect::quote::literal;
use connect::{ConnectError, Row, Session};

use super::copy::server_error;
use super::rows::RowSource;
use crate::WorkloadError;
use crate::contract::load::{execute, failed, query, with_commas};

use sql::{InsertForm, Staging};
pub(crate) use sql::{Judge, JudgedReference};

/// Most rows that are drawn and inserted together, and fewest.
const BATCH_ROWS_MAX: u64 = 10_000;
const BATCH_ROWS_MIN: u64 = 100;
/// Batches of large tables are so many times as large if some rows were accepted and none has caused an error: a statement has costs of
/// its own, and a row that causes an error is found by halving.
const BATCH_GROWTH: u64 = 10;
/// A table is divided into at least so many batches, unless they would be too small.
const BATCHES_MIN: u64 = 10;
/// If so many batches at the beginning have no accepted row, the others would have none either.
const EMPTY_BATCHES_MAX: u64 = 5;
/// Most draws of a batch.
const ATTEMPTS_MAX: u32 = 30;
/// Draws of a batch without an accepted row after which it is given up.
const IDLE_ATTEMPTS_MAX: u32 = 6;
/// From this draw on, references to rows that are missing become NULL, or references to the own row, if they may.
const NULLS_FROM: u32 = 3;
/// Errors of single rows after which the rest of a draw is not examined, or not inserted: finding one takes as many
/// statements as halvings.
const FAILED_ROWS_MAX: u32 = 64;
/// Insertions of the same rows if they may reference each other.
const PASSES_MAX: u32 = 16;
/// Rows that are generated before they are sent: their values may be long.
const ROWS_AT_ONCE: u64 = 32;
/// From this version on, INSERT can give values to identity columns.
const IDENTITY_FROM: u32 = 100_000;
/// Names of constraints that a message shows.
const CONSTRAINTS_SHOWN: usize = 5;

/// Classes of SQLSTATE that a row can cause: data exception; integrity constraint violation; an exception of SQL or of
/// a function that is not handled; a function, trigger or routine of a user; a value too large for an index.
const ROW_ERRORS: [&str; 8] = ["22", "23", "P0", "45", "2F", "38", "39", "54"];
/// Classes of errors of tables that do not allow ON CONFLICT: those with rules, and with deferrable keys.
const CONFLICT_ERRORS: [&str; 2] = ["0A", "55"];
/// The class of errors of names: a function of a condition may need the search path of the schema.
const NAME_ERROR: &str = "42";

/// From this version on, the server may compile the expressions of a statement.
const JIT_FROM: u32 = 110_000;
/// From this version on, the server says whether a text is a value of a type.
const VALIDITY_FROM: u32 = 160_000;

/// Receives the rows that are there and their bytes as COPY text. An error stops the loading.
pub(super) type TellRows<'a> = dyn FnMut(u64, u64) -> Result<(), WorkloadError> + 'a;

/// How many rows the server has accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The rows that the table should have.
    wanted: u64,
    /// Those that it has.
    kept: u64,
    /// Those that were generated.
    drawn: u64,
}

/// Loads all rows of a source, in the open transaction of the session.
pub(super) fn load(
    session: &mut Session,
    judge: &Judge,
    source: &dyn RowSource,
    relation: &str,
    tell: &mut TellRows<'_>,
) -> Result<Outcome, WorkloadError> {
    let mut loading = JudgedLoading::new(session, judge, source, relation)?;
    let wanted = loading.outcome.wanted;
    let batch_rows = (wanted / BATCHES_MIN).clamp(BATCH_ROWS_MIN, BATCH_ROWS_MAX);
    let (mut start, mut number) = (0, 0);
    while start < wanted && !(number == EMPTY_BATCHES_MAX && loading.outcome.kept == 0) {
        let grows = batch_rows == BATCH_ROWS_MAX && loading.outcome.kept > 0 && !loading.has_errors;
        let end = wanted.min(start + batch_rows * if grows { BATCH_GROWTH } else { 1 });
        loading.batch(&(start..end), tell)?;
        (start, number) = (end, number + 1);
    }
    tell(loading.outcome.kept, loading.kept_bytes())?;
    let outcome = loading.outcome;
    // Another table may be loaded in the same transaction.
    execute(session, &Judge::drop_staging())?;
    Ok(outcome)
}

/// The loading of a table.
struct JudgedLoading<'a> {
    session: &'a mut Session,
    judge: &'a Judge,
    source: &'a dyn RowSource,
    relation: &'a str,
    /// The search path of the transaction, as a literal.
    search_path: String,
    form: InsertForm,
    /// Whether conditions are judged before rows are inserted; the table's constraints judge them anyway.
    judges_conditions: bool,
    /// Whether a row was refused by an error, so that the next draws are first searched for invalid values.
    has_errors: bool,
    /// Rows before the loading, if the table has a trigger that may insert rows into tables that inherit from it
    /// instead.
    rows_before: Option<u64>,
    /// Whether that trigger does so. The accepted rows are not known then.
    redirects: bool,
    /// Errors of single rows while those of the current draw are examined, or inserted.
    failed_rows: u32,
    outcome: Outcome,
    drawn_bytes: u64,
}

/// The result of an insertion.
#[derive(Debug, Default)]
struct Inserted {
    rows: u64,
    /// Rows that met all conditions.
    tried: u64,
    /// The numbers of inserted rows, as far as they are known.
    numbers: BTreeSet<u64>,
}

impl<'a> JudgedLoading<'a> {
    /// Creates the staging table.
    fn new(
        session: &'a mut Session,
        judge: &'a Judge,
        source: &'a dyn RowSource,
        relation: &'a str,
    ) -> Result<JudgedLoading<'a>, WorkloadError> {
        // Otherwise the role's settings would decide what a text such as that of a time means.
        execute(session, &connect::value_formats())?;
        if session.server_version_num() >= JIT_FROM {
            // It would take longer than the statements.
            execute(session, "set local jit to off")?;
        }
        // A deferred constraint would refuse rows after the last of them only.
        execute(session, "set constraints all immediate")?;
        let path = query(session, "select pg_catalog.current_setting('search_path')")?;
        let path = path.first().and_then(|row| row.get(0)).unwrap_or_default();
        execute(session, &judge.create_staging(Staging::Typed))?;
        let trigger = format!(
            "select 1 from pg_catalog.pg_trigger where tgrelid operator(pg_catalog.=) {}::pg_catalog.regclass \
             and (tgtype operator(pg_catalog.&) 7::pg_catalog.int2) operator(pg_catalog.=) 7 limit 1",
            literal(relation)
        );
        let has_trigger = !query(session, &trigger)?.is_empty();
        let rows_before = has_trigger.then(|| row_count(session, relation)).transpose()?;
        let overrides_identity = session.server_version_num() >= IDENTITY_FROM;
        Ok(JudgedLoading {
            session,
            judge,
            source,
            relation,
            search_path: literal(path),
            form: InsertForm {
                overrides_identity,
                ignores_conflicts: true,
                limit: None,
                // Rows that reference each other are inserted in several passes.
                finds_rows: judge.references_own_rows(),
                staging: Staging::Typed,
            },
            judges_conditions: true,
            has_errors: false,
            rows_before,
            redirects: false,
            failed_rows: 0,
            outcome: Outcome { wanted: source.rows(), ..Outcome::default() },
            drawn_bytes: 0,
        })
    }

    /// Draws rows of these numbers until the server has accepted as many.
    fn batch(&mut self, rows: &Range<u64>, tell: &mut TellRows<'_>) -> Result<(), WorkloadError> {
        let mut missing = rows.end - rows.start;
        let mut open = BTreeSet::new();
        let mut idle_attempts = 0;
        for attempt in 0..ATTEMPTS_MAX {
            tell(self.outcome.kept, self.kept_bytes())?;
            // At first; and if of several equal rows only one was inserted.
            if open.is_empty() {
                open.extend(rows.clone());
            }
            if self.draw(attempt, &open)? == 0 {
                break;
            }
            self.failed_rows = 0;
            self.refuse(rows)?;
            if attempt >= NULLS_FROM {
                self.failed_rows = 0;
                self.forget_references(rows)?;
            }
            self.failed_rows = 0;
            let inserted = self.insert(rows, missing, &mut open)?;
            missing = missing.saturating_sub(inserted);
            idle_attempts = if inserted == 0 { idle_attempts + 1 } else { 0 };
            if missing == 0 || idle_attempts == IDLE_ATTEMPTS_MAX {
                break;
            }
        }
        Ok(())
    }

    /// Fills the staging table with rows of these numbers. Returns how many there are.
    fn draw(&mut self, attempt: u32, open: &BTreeSet<u64>) -> Result<u64, WorkloadError> {
        execute(self.session, &Judge::empty_staging())?;
        if self.form.staging == Staging::Texts {
            return self.stage(attempt, open);
        }
        execute(self.session, "savepoint pgmeter_judge")?;
        let drawn = match self.stage(attempt, open) {
            // A value is invalid for its type.
            Err(error) if error.server_failure().is_some() && !self.session.is_lost() => {
                execute(self.session, "rollback to savepoint pgmeter_judge")?;
                execute(self.session, &Judge::drop_staging())?;
                execute(self.session, &self.judge.create_staging(Staging::Texts))?;
                self.form.staging = Staging::Texts;
                self.stage(attempt, open)?
            }
            drawn => drawn?,
        };
        execute(self.session, "release savepoint pgmeter_judge")?;
        Ok(drawn)
    }

    fn stage(&mut self, attempt: u32, open: &BTreeSet<u64>) -> Result<u64, WorkloadError> {
        let sql = Judge::copy_to_staging();
        let mut copy = self.session.copy_in(&sql).map_err(failed(&sql))?;
        let (mut lines, mut numbered) = (Vec::new(), Vec::new());
        let mut drawn = 0;
        for run in runs(open) {
            lines.clear();
            numbered.clear();
            drawn += self.source.write_again(attempt, run.clone(), &mut lines);
            add_numbers(&lines, run.start, &mut numbered);
            self.drawn_bytes += lines.len() as u64;
            copy.write_all(&numbered).map_err(|error| failed(&sql)(server_error(error)))?;
        }
        copy.finish().map_err(failed(&sql))?;
        execute(self.session, &self.judge.analyze_staging())?;
        self.outcome.drawn += drawn;
        Ok(drawn)
    }

    /// Removes staged rows with invalid values, and those that violate a condition.
    fn refuse(&mut self, rows: &Range<u64>) -> Result<(), WorkloadError> {
        let is_text = self.form.staging == Staging::Texts;
        if self.has_errors && is_text && self.session.server_version_num() >= VALIDITY_FROM {
            let sql = self.judge.refuse_invalid(&self.search_path);
            match self.in_savepoint(|session| execute(session, &sql)) {
                // Not all types say so without an error.
                Err(error) if has_class(&error, &ROW_ERRORS) || has_class(&error, &CONFLICT_ERRORS) => {}
                done => done?,
            }
        }
        if !self.judges_conditions {
            return Ok(());
        }
        let done = self.in_parts(rows, |this, part| {
            let sql = this.judge.refuse(part, this.form.staging, &this.search_path);
            sql.map_or(Ok(()), |sql| this.in_savepoint(|session| execute(session, &sql)))
        });
        match done {
            Err(error) if has_class(&error, &[NAME_ERROR]) => {
                self.judges_conditions = false;
                Ok(())
            }
            done => done,
        }
    }

    fn forget_references(&mut self, rows: &Range<u64>) -> Result<(), WorkloadError> {
        let judge = self.judge;
        self.in_parts(rows, |this, part| {
            let mut updates = judge.forget_references(part, this.form.staging);
            updates.try_for_each(|sql| match this.in_savepoint(|session| execute(session, &sql)) {
                // A type may have no assignment cast to the other.
                Err(error) if has_class(&error, &[NAME_ERROR]) => Ok(()),
                done => done,
            })
        })
    }

    /// Inserts staged rows, at most as many as are missing, and removes them from the open numbers. Returns how many
    /// were inserted.
    fn insert(
        &mut self,
        rows: &Range<u64>,
        missing: u64,
        open: &mut BTreeSet<u64>,
    ) -> Result<u64, WorkloadError> {
        let passes = if self.judge.references_own_rows() { PASSES_MAX } else { 1 };
        let mut inserted = 0;
        for _ in 0..passes {
            let before = inserted;
            self.in_parts(rows, |this, part| {
                if inserted < missing {
                    let done = this.insert_part(part, missing - inserted)?;
                    inserted += done.rows;
                    open.retain(|number| !done.numbers.contains(number));
                }
                Ok(())
            })?;
            if inserted == before || inserted >= missing {
                break;
            }
        }
        Ok(inserted)
    }

    /// Inserts the staged rows of these numbers.
    fn insert_part(&mut self, rows: &Range<u64>, missing: u64) -> Result<Inserted, WorkloadError> {
        let done = match self.try_insert(rows, missing) {
            Err(error) if self.form.ignores_conflicts && has_class(&error, &CONFLICT_ERRORS) => {
                self.form.ignores_conflicts = false;
                self.try_insert(rows, missing)
            }
            done => done,
        };
        let mut done = match done {
            // A table with a rule for INSERT cannot say which rows were inserted.
            Err(error) if has_class(&error, &CONFLICT_ERRORS) => return Ok(Inserted::default()),
            done => done?,
        };
        if let Some(before) = self.rows_before.filter(|_| done.rows < done.tried) {
            let now = row_count(self.session, self.relation)?;
            let there = now.saturating_sub(before + self.outcome.kept);
            if there > done.rows {
                self.redirects = true;
                done.rows = there.min(missing);
            } else if !self.redirects {
                // Counting all rows takes long.
                self.rows_before = None;
            }
        }
        self.outcome.kept += done.rows;
        Ok(done)
    }

    fn try_insert(&mut self, rows: &Range<u64>, missing: u64) -> Result<Inserted, WorkloadError> {
        let (judge, relation, redirects) = (self.judge, self.relation, self.redirects);
        let mut form = self.form;
        let done = self.in_savepoint(|session| {
            let insert = |session: &mut Session, form| {
                insert_staged(session, relation, &judge.insert(relation, rows, form))
            };
            if redirects {
                return insert(session, InsertForm { limit: Some(missing), ..form });
            }
            // Without a limit at first: keys may refuse many of the rows.
            let mut done = insert(session, form)?;
            if !form.finds_rows && done.rows < done.tried {
                form.finds_rows = true;
                execute(session, "rollback to savepoint pgmeter_judge")?;
                done = insert(session, form)?;
            }
            if done.rows <= missing {
                return Ok(done);
            }
            execute(session, "rollback to savepoint pgmeter_judge")?;
            insert(session, InsertForm { limit: Some(missing), ..form })
        });
        self.form.finds_rows = form.finds_rows;
        done
    }

    /// Does work with the staged rows of these numbers. If the server refuses it because of a row, it is done with each
    /// half. A single row that is refused is removed.
    fn in_parts(
        &mut self,
        rows: &Range<u64>,
        mut work: impl FnMut(&mut Self, &Range<u64>) -> Result<(), WorkloadError>,
    ) -> Result<(), WorkloadError> {
        let mut parts = vec![rows.clone()];
        while let Some(part) = parts.pop().filter(|_| self.failed_rows < FAILED_ROWS_MAX) {
            match work(self, &part) {
                Err(error) if has_class(&error, &ROW_ERRORS) => {}
                done => {
                    done?;
                    continue;
                }
            }
            let middle = part.start + (part.end - part.start) / 2;
            if middle == part.start {
                self.failed_rows += 1;
                self.has_errors = true;
                execute(self.session, &self.judge.drop_row(part.start))?;
            } else {
                parts.extend([middle..part.end, part.start..middle]);
            }
        }
        Ok(())
    }

    /// Does work that leaves the transaction as it was if it fails because of a row, a name or the form of a statement.
    fn in_savepoint<T>(
        &mut self,
        work: impl FnOnce(&mut Session) -> Result<T, WorkloadError>,
    ) -> Result<T, WorkloadError> {
        execute(self.session, "savepoint pgmeter_judge")?;
        let done = work(self.session);
        if let Err(error) = &done {
            let is_survived = has_class(error, &ROW_ERRORS)
                || has_class(error, &CONFLICT_ERRORS)
                || has_class(error, &[NAME_ERROR]);
            if !is_survived {
                return done;
            }
            execute(self.session, "rollback to savepoint pgmeter_judge")?;
        }
        execute(self.session, "release savepoint pgmeter_judge")?;
        done
    }

    /// The bytes of the accepted rows, from the average of all drawn ones.
    fn kept_bytes(&self) -> u64 {
        let bytes = u128::from(self.drawn_bytes) * u128::from(self.outcome.kept);
        u64::try_from(bytes / u128::from(self.outcome.drawn.max(1))).unwrap_or(u64::MAX)
    }
}

impl Outcome {
    /// Whether the server has refused all rows.
    pub(super) fn is_empty(self) -> bool {
        self.kept == 0 && self.wanted > 0
    }

    pub(super) fn lacks_rows(self) -> bool {
        self.kept < self.wanted
    }

    /// How much the user should know of it; 0: rows are missing.
    pub(super) fn rank(self, judge: &Judge) -> u8 {
        match (self.lacks_rows(), judge.constraints.is_empty() && judge.refusal.is_none()) {
            (true, _) => 0,
            (false, is_consequence) => 1 + u8::from(is_consequence),
        }
    }

    /// What the user should know: why the server checked the rows, and how many it accepted.
    pub(super) fn sentence(self, relation: &str, judge: &Judge) -> String {
        let Outcome { wanted, kept, drawn } = self;
        let percent = u128::from(kept) * 100 / u128::from(drawn.max(1));
        let percent = if percent == 0 && kept > 0 { "less than 1".to_owned() } else { percent.to_string() };
        let rows = if self.lacks_rows() {
            format!("only {} of {} rows", with_commas(kept), with_commas(wanted))
        } else {
            format!("all {} rows", with_commas(wanted))
        };
        let shown = judge.constraints.iter().take(CONSTRAINTS_SHOWN).map(String::as_str);
        let more = judge.constraints.len().saturating_sub(CONSTRAINTS_SHOWN);
        let more = (more > 0).then(|| format!("{more} more"));
        let constraints = shown.chain(more.as_deref()).collect::<Vec<_>>().join(", ");
        let reason = match &judge.refusal {
            Some(message) => format!("it had rejected a row ({message})"),
            None if constraints.is_empty() => "they reference rows that it checked".to_owned(),
            None => format!("pgmeter cannot guarantee {constraints}"),
        };
        let is_low = self.lacks_rows() || u128::from(kept) * 2 < u128::from(drawn);
        let advice = match (is_low, constraints.is_empty()) {
            (true, false) => ". Directives for the columns of the constraints can raise this share",
            (false, false) if kept == drawn && judge.refusal.is_none() => {
                ". It rejected none, so the directive `-- df: direct` after the name of the table is enough, and faster"
            }
            _ => "",
        };
        format!(
            "{relation}: {rows}; the server accepted {percent} % of {} generated rows. It checked them because {reason}{advice}",
            with_commas(drawn)
        )
    }
}

/// Consecutive numbers, not too many at once.
fn runs(numbers: &BTreeSet<u64>) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some(run) if run.end == number && run.end - run.start < ROWS_AT_ONCE => run.end = number + 1,
            _ => runs.push(number..number + 1),
        }
    }
    runs
}

/// Appends lines of COPY text with their numbers as the first column. Line feeds within values are escaped.
fn add_numbers(lines: &[u8], first: u64, out: &mut Vec<u8>) {
    for (number, line) in (first..).zip(lines.split_inclusive(|&byte| byte == b'\n')) {
        out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        out.push(b'\t');
        out.extend_from_slice(line);
    }
}

/// Inserts rows by a statement of [`Judge::insert`].
fn insert_staged(session: &mut Session, relation: &str, sql: &str) -> Result<Inserted, WorkloadError> {
    // The statement is long, and no user wrote it.
    let failed = |source| WorkloadError::Query { sql: format!("insert into {relation} …"), source };
    let rows = session.query(sql).map_err(failed)?;
    let number = |row: &Row, column| row.get(column).and_then(|text| text.parse().ok());
    let count = |column| rows.first().and_then(|row| number(row, column)).unwrap_or_default();
    let numbers = rows.iter().filter_map(|row| number(row, 2)).collect();
    Ok(Inserted { rows: count(0), tried: count(1), numbers })
}

/// The rows of a table and of those that inherit from it.
fn row_count(session: &mut Session, relation: &str) -> Result<u64, WorkloadError> {
    let rows = query(session, &format!("select pg_catalog.count(*) from {relation}"))?;
    Ok(rows.first().and_then(|row| row.get(0)?.parse().ok()).unwrap_or_default())
}

/// Whether a row may have caused an error of COPY, or COPY is not possible, as with row-level security.
pub(super) fn is_of_copy(error: &WorkloadError) -> bool {
    has_class(error, &ROW_ERRORS) || has_class(error, &["0A"])
}

/// Whether an error of the server is of one of these classes of SQLSTATE.
fn has_class(error: &WorkloadError, classes: &[&str]) -> bool {
    let state = error.server_failure().and_then(ConnectError::sqlstate);
    state.is_some_and(|state| classes.contains(&state.class()))
}
