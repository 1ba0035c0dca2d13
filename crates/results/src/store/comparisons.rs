//! Comparisons: each is a row with what was found, and the whole of it as JSON beside. Written once, when a comparison
//! is over; its single blocks are no runs.

use std::collections::BTreeMap;

use rusqlite::params;

use super::trials::kept;
use super::write::json;
use super::{Store, failed};
use crate::upgrade::COMPARISON;
use crate::{ComparisonRecord, ResultsError, UtcTime};

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
        let inserted = self.connection.execute(
            "INSERT INTO comparisons (name, status, decision, started_at, ended_at, files, record) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                record.name,
                record.status.name(),
                record.decision.name(),
                record.started_at.to_string(),
                UtcTime::now().to_string(),
                json(&kept(files)),
                json(record),
            ],
        );
        inserted.map_err(failed(&self.path))?;
        Ok(self.connection.last_insert_rowid())
    }

    /// The number of the newest comparison, if there is any; all from 1 to this are there.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn newest_comparison(&self) -> Result<Option<i64>, ResultsError> {
        let sql = "SELECT max(comparison) FROM comparisons";
        self.connection.query_row(sql, [], |row| row.get(0)).map_err(failed(&self.path))
    }

    /// A comparison by its number.
    ///
    /// # Errors
    /// If the store cannot be read, has none of that number, or one of another schema.
    pub fn comparison(&self, comparison: i64) -> Result<ComparisonRecord, ResultsError> {
        let sql = "SELECT record FROM comparisons WHERE comparison = ?1";
        let read = self.connection.query_row(sql, [comparison], |row| row.get::<_, String>(0));
        COMPARISON.read(read.map_err(failed(&self.path))?.as_bytes(), &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_comes_back_as_it_was_kept() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::create(&directory.path().join("s.sqlite")).unwrap();
        let record = crate::comparison::example();
        let files = BTreeMap::from([("c.toml".to_owned(), "name = \"c\"".to_owned())]);
        assert_eq!(store.newest_comparison().unwrap(), None);
        let number = store.add_comparison(&record, &files).unwrap();
        assert_eq!(store.newest_comparison().unwrap(), Some(number));
        assert_eq!(store.comparison(number).unwrap(), record);
        assert!(store.comparison(number + 1).is_err());
        let row: (String, f64) = store
            .connection
            .query_row("SELECT decision, tps_ratio FROM comparison_summary", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        assert_eq!(row, ("better".to_owned(), 1.042));
    }
}
