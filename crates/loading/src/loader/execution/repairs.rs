//! References to rows that the server has refused: they become NULL, or their rows are deleted, before foreign keys are
//! checked. Rows of a cycle of foreign keys are there before those that they refer to.

use connect::Session;

use super::judged::JudgedReference;
use crate::WorkloadError;
use crate::contract::load::{execute, failed, query, with_commas};

/// Most passes over all foreign keys: each deleted row can leave further references without their row.
const PASSES_MAX: u32 = 1000;

/// A foreign key of a table.
#[derive(Clone, Debug)]
pub struct Repair {
    relation: String,
    columns: String,
    /// The rows that violate it, as a condition.
    violated: String,
    /// Sets its columns to NULL.
    nulls: String,
}

impl Repair {
    pub(super) fn new(relation: &str, key: &JudgedReference) -> Repair {
        let nulls: Vec<String> = key.columns.iter().map(|column| format!("{column} = null")).collect();
        Repair {
            relation: relation.to_owned(),
            columns: key.columns.join(", "),
            violated: format!("not {}", key.met(false)),
            nulls: nulls.join(", "),
        }
    }

    /// Returns how many references have become NULL, and how many rows were deleted.
    fn apply(&self, session: &mut Session) -> Result<(u64, u64), WorkloadError> {
        let Repair { relation, violated, nulls, .. } = self;
        let update = format!("update {relation} as t set {nulls} where {violated}");
        let delete = format!("delete from {relation} as t where {violated}");
        execute(session, "savepoint pgmeter_repair")?;
        match session.execute(&update) {
            Ok(rows) => Ok((rows, 0)),
            // NOT NULL, another constraint, or a column that cannot be set.
            Err(error) if error.sqlstate().is_some() && !session.is_lost() => {
                execute(session, "rollback to savepoint pgmeter_repair")?;
                Ok((0, session.execute(&delete).map_err(failed(&delete))?))
            }
            Err(error) => Err(failed(&update)(error)),
        }
    }
}

/// Repairs all foreign keys in the open transaction. Returns sentences about what has changed.
pub(super) fn repair(session: &mut Session, repairs: &[Repair]) -> Result<Vec<String>, WorkloadError> {
    let mut all = vec![(0, 0); repairs.len()];
    for _ in 0..PASSES_MAX {
        let mut changed = 0;
        for (own, (nulls, deleted)) in repairs.iter().zip(&mut all) {
            let done = own.apply(session)?;
            (*nulls, *deleted) = (*nulls + done.0, *deleted + done.1);
            changed += done.0 + done.1;
        }
        if changed == 0 {
            break;
        }
    }
    let mut sentences = Vec::new();
    for (Repair { relation, columns, .. }, (nulls, deleted)) in repairs.iter().zip(all) {
        let name = relation.strip_prefix("only ").unwrap_or(relation);
        if nulls > 0 {
            let rows = with_commas(nulls);
            sentences.push(format!(
                "{name}: ({columns}) is NULL in {rows} rows, because the server rejected the rows that they referenced"
            ));
        }
        if deleted > 0 {
            let left = query(session, &format!("select pg_catalog.count(*) from {relation}"))?;
            let left: u64 = left.first().and_then(|row| row.get(0)?.parse().ok()).unwrap_or_default();
            let deleted = with_commas(deleted);
            sentences.push(format!(
                "{name}: {deleted} rows were deleted, because ({columns}) is NOT NULL and the server rejected the rows that they \
                 referenced; {} rows are left",
                with_commas(left)
            ));
        }
    }
    Ok(sentences)
}
