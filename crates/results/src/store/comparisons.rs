//! Comparisons: each is a row with what was found, and the whole of it as JSON beside. Written once, when a comparison
//! is over; its single blocks are no runs.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row, params};

use super::process::Process;
use super::trials::kept;
use super::write::json;
use super::{Store, annotation, failed};
use crate::upgrade::COMPARISON;
use crate::{Annotation, ComparisonRecord, Label, Note, ResultsError, UtcTime};

impl Store {
    /// Keeps a comparison that is over, with the texts of the files it was made from; returns its number.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn add_comparison(
        &mut self,
        record: &ComparisonRecord,
        files: &BTreeMap<String, String>,
    ) -> Result<i64, ResultsError> {
        let (ended_at, hostname) = (UtcTime::now().to_string(), Process::own().hostname);
        insert(&self.connection, record, &ended_at, &json(&kept(files)), &hostname)
            .map_err(failed(&self.path))
    }

    /// A comparison by its number, with the label and the note that it has in the store.
    ///
    /// # Errors
    /// If the store cannot be read, has none of that number, or one of another schema.
    pub fn comparison(&self, comparison: i64) -> Result<ComparisonRecord, ResultsError> {
        let sql = "SELECT record, label, note FROM comparisons WHERE comparison = ?1";
        let row = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, annotation(row, 1)?));
        let (record, annotation) =
            self.connection.query_row(sql, [comparison], row).map_err(failed(&self.path))?;
        Ok(ComparisonRecord { annotation, ..COMPARISON.read(record.as_bytes(), &self.path)? })
    }
}

/// Inserts the row of a comparison, and returns its number; `files` is JSON.
pub(super) fn insert(
    connection: &Connection,
    record: &ComparisonRecord,
    ended_at: &str,
    files: &str,
    hostname: &str,
) -> rusqlite::Result<i64> {
    let Annotation { label, note } = &record.annotation;
    connection.execute(
        "INSERT INTO comparisons (name, status, decision, started_at, ended_at, files, record, hostname, label, note) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            record.name,
            record.status.stored(),
            record.decision.name(),
            record.started_at.to_string(),
            ended_at,
            files,
            json(record),
            hostname,
            label.as_ref().map(Label::as_str),
            note.as_ref().map(Note::as_str),
        ],
    )?;
    Ok(connection.last_insert_rowid())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Entry, ListFilter};

    #[test]
    fn a_comparison_comes_back_as_it_was_kept() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::create(&directory.path().join("s.sqlite")).unwrap();
        let record = crate::comparison::example();
        let files = BTreeMap::from([("c.toml".to_owned(), "name = \"c\"".to_owned())]);
        let number = store.add_comparison(&record, &files).unwrap();
        assert_eq!(number, 1);
        assert_eq!(store.comparison(number).unwrap(), record);
        assert!(store.comparison(number + 1).is_err());
        let early = ComparisonRecord { status: crate::ComparisonStatus::EndedEarly, ..record.clone() };
        let number = store.add_comparison(&early, &files).unwrap();
        assert_eq!(store.comparison(number).unwrap().status, early.status);
        let row: (String, f64) = store
            .connection
            .query_row("SELECT decision, tps_ratio FROM comparison_summary WHERE comparison = 1", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        assert_eq!(row, ("better".to_owned(), 1.042));
    }

    #[test]
    fn the_findings_of_a_script_have_its_name_and_the_list_has_the_finding_that_decides() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::create(&directory.path().join("s.sqlite")).unwrap();
        let mut record = crate::comparison::example();
        let p95 = "p95".parse().unwrap();
        record.method.decisive = p95;
        record.method.scripts = ["read.sql", "write.sql"].map(str::to_owned).into();
        let finding = crate::MetricFinding { metric: p95, ..record.findings[0] };
        let of_script = crate::MetricFinding { script: Some(1), ratio: 2.0, ..finding };
        record.findings = vec![record.findings[0], of_script, finding];
        store.add_comparison(&record, &BTreeMap::new()).unwrap();
        assert_eq!(store.comparison(1).unwrap(), record);
        let mut rows = store.connection.prepare("SELECT metric, script FROM comparison_findings").unwrap();
        let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let rows: Vec<(String, Option<String>)> = rows.collect::<Result<_, _>>().unwrap();
        let p95 = |script: Option<&str>| ("p95".to_owned(), script.map(str::to_owned));
        assert_eq!(rows, [("tps".to_owned(), None), p95(Some("write.sql")), p95(None)]);
        let entries = store.entries(&ListFilter::default()).unwrap();
        let [Entry::Comparison(line)] = entries.as_slice() else { panic!("{entries:?}") };
        assert_eq!(line.finding, Some(finding));
    }

    #[test]
    fn a_record_from_before_scripts_and_merged_percentiles_can_be_read() {
        let mut record = crate::comparison::example();
        let mut json: serde_json::Value = serde_json::from_str(&record.to_json()).unwrap();
        assert!(json.as_object_mut().unwrap().remove("unjudged").is_some());
        assert!(json["method"].as_object_mut().unwrap().remove("scripts").is_some());
        let earlier: ComparisonRecord = COMPARISON.read(json.to_string().as_bytes(), Path::new("c")).unwrap();
        // Not stored.
        record.findings[0].smallest_difference_so_far = None;
        assert_eq!(earlier, record);
        assert!(!record.to_json().contains("percentile_ns") && !record.to_json().contains("\"merged\""));
    }
}
