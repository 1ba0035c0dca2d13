//! The table of a run's tokens: its name and its SQL, for PostgreSQL 9.6 to 19. Pure.
//! Called when a run with `--verify` begins, and when its commits are classified.

use connect::OwnSettings;
use connect::quote::{identifier, literal};
use serde::{Deserialize, Serialize};

/// First part of all tables' names.
pub const NAME_PREFIX: &str = "pgmeter_verify_";
/// The constraint that closes a table.
const CLOSED: &str = "pgmeter_closed";
/// The table's comment, by which `--clean` recognizes it.
const COMMENT: &str = "tokens of a run of pgmeter; pgmeter verify --clean removes them";

/// A table of tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenTable {
    schema: String,
    name: String,
}

impl TokenTable {
    /// The table of the run with this number in this schema.
    pub fn new(schema: &str, run: u64) -> Self {
        Self { schema: schema.to_owned(), name: format!("{NAME_PREFIX}{run:016x}") }
    }

    /// An existing table.
    pub(crate) fn existing(schema: &str, name: &str) -> Self {
        Self { schema: schema.to_owned(), name: name.to_owned() }
    }

    /// Its name without the schema.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name with the schema, quoted.
    pub fn quoted(&self) -> String {
        format!("{}.{}", identifier(&self.schema), identifier(&self.name))
    }

    /// Creates it, durably even if commits do not wait for a flush. There is no unique constraint, so that a transaction that
    /// was applied twice is found. No index and no vacuum, for the sake of the load.
    pub fn create(&self) -> String {
        let table = self.quoted();
        format!(
            "BEGIN; {}; SELECT pg_catalog.set_config('synchronous_commit', 'local', true) WHERE \
             pg_catalog.current_setting('synchronous_commit') = 'off'; CREATE TABLE {table} (sequence bigint NOT NULL, client \
             integer NOT NULL, part integer NOT NULL, try integer NOT NULL) WITH (autovacuum_enabled = false); COMMENT ON \
             TABLE {table} IS {}; COMMIT",
            OwnSettings::Limits.sql(),
            literal(COMMENT)
        )
    }

    /// The beginning of the statement that writes a token; four values in parentheses follow.
    pub fn insert(&self) -> String {
        format!("INSERT INTO {} (client, sequence, part, try) VALUES ", self.quoted())
    }

    /// Finds the table: no row if there is none; whether it is closed.
    pub(crate) fn find(&self) -> String {
        format!(
            "SELECT EXISTS (SELECT 1 FROM pg_constraint AS x WHERE x.conrelid = c.oid AND x.conname = {}) FROM pg_class AS c \
             JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = {} AND c.relname = {} AND c.relkind = 'r'",
            literal(CLOSED),
            literal(&self.schema),
            literal(&self.name)
        )
    }

    /// Waits for the transactions that have written a token, and refuses all later tokens: a commit that the server had
    /// received and not executed cannot change the answer any more.
    pub(crate) fn close(&self) -> String {
        format!("ALTER TABLE {} ADD CONSTRAINT {CLOSED} CHECK (false) NOT VALID", self.quoted())
    }

    /// All tokens, by one full read.
    pub(crate) fn read(&self) -> String {
        format!("SELECT client, sequence, part, try FROM ONLY {}", self.quoted())
    }

    /// Removes it.
    pub(crate) fn drop(&self) -> String {
        format!("DROP TABLE {}", self.quoted())
    }

    /// The tables of the database: schema, name.
    pub fn all() -> String {
        format!(
            "SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind = \
             'r' AND pg_catalog.left(c.relname::text, {}) = {} AND pg_catalog.obj_description(c.oid, 'pg_class') = {} ORDER BY 1, 2",
            NAME_PREFIX.len(),
            literal(NAME_PREFIX),
            literal(COMMENT)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted() {
        let table = TokenTable::new("my \"schema\"", 0xab);
        assert_eq!(table.quoted(), "\"my \"\"schema\"\"\".\"pgmeter_verify_00000000000000ab\"");
        assert!(table.find().contains("'my \"schema\"'"));
        assert!(table.name().len() < 64, "the server truncates longer names");
    }
}
