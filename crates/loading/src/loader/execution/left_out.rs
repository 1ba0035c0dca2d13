//! Statements of a schema that are left out because an extension is not there: CREATE EXTENSION, and those that the server
//! refuses then because a type, a function, an operator class or a table does not exist. Found by the trial.

use std::collections::BTreeSet;
use std::sync::Arc;

use connect::{ConnectError, Session};

use super::preparation::execute_statement;
use super::statement::LoadStatement;
use super::table_set::{AfterRows, TableSet};
use crate::WorkloadError;
use crate::contract::load::{InitOptions, execute};
use crate::contract::sql_names::{self, Token};
use crate::contract::table_name::TableName;
use crate::loader::protection::concurrent_forms;

/// SQLSTATE of CREATE EXTENSION without the files of the extension, since PostgreSQL 13 and before.
const NO_EXTENSION: [&str; 2] = ["0A000", "58P01"];
/// SQLSTATE of names that do not exist: objects, functions, tables, columns, schemas.
const UNDEFINED: [&str; 5] = ["42704", "42883", "42P01", "42703", "3F000"];
/// Most names in a sentence.
const NAMES_SHOWN: usize = 5;

/// What is left out.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    extensions: BTreeSet<String>,
    /// The tables that are not created.
    tables: BTreeSet<TableName>,
    statements: Vec<LoadStatement>,
    /// The first CREATE EXTENSION that the server refused, if there is one.
    refused: Option<LoadStatement>,
}

/// The extension that a statement creates.
pub(crate) fn created_extension(sql: &str) -> Option<String> {
    let tokens = sql_names::tokens(sql);
    let is = |at: usize, word: &str| matches!(tokens.get(at), Some(Token::Word(own)) if own == word);
    (is(0, "create") && is(1, "extension")).then_some(())?;
    match tokens.get(if is(2, "if") { 5 } else { 2 })? {
        Token::Word(name) | Token::Quoted(name) => Some(name.clone()),
        Token::Dollar(_) | Token::Symbol(_) => None,
    }
}

impl LeftOut {
    /// Executes the statements of a set in the open transaction, but for those that are left out.
    ///
    /// # Errors
    /// The server refuses a statement for another reason, or does not have an extension that no option leaves out.
    pub(super) fn execute(
        session: &mut Session,
        set: &TableSet,
        options: &InitOptions,
    ) -> Result<LeftOut, WorkloadError> {
        let mut left_out = LeftOut::default();
        for statement in &set.schema {
            left_out.statement(session, statement, options)?;
        }
        match &left_out.refused {
            None => Ok(left_out),
            Some(statement) => Err(WorkloadError::ExtensionMissing {
                place: statement.shown_place(),
                extensions: left_out.extensions.iter().cloned().collect::<Vec<_>>().join(", "),
                needed: left_out.names(),
                major: session.server_version_num() / 10_000,
                option: left_out
                    .extensions
                    .iter()
                    .map(|name| format!(" --without-extension {name}"))
                    .collect(),
            }),
        }
    }

    fn statement(
        &mut self,
        session: &mut Session,
        statement: &LoadStatement,
        options: &InitOptions,
    ) -> Result<(), WorkloadError> {
        let extension = created_extension(&statement.sql);
        if let Some(name) = extension.as_ref().filter(|name| options.without_extensions.contains(*name)) {
            self.extensions.insert(name.clone());
            self.statements.push(statement.clone());
            return Ok(());
        }
        if extension.is_none() && self.extensions.is_empty() {
            return execute_statement(session, statement, options);
        }
        execute(session, "savepoint pgmeter_schema")?;
        let done = execute_statement(session, statement, options);
        let Err(error) = done else { return execute(session, "release savepoint pgmeter_schema") };
        match (extension, state(&error).as_deref()) {
            (Some(name), Some(state)) if NO_EXTENSION.contains(&state) => {
                self.extensions.insert(name);
                self.refused.get_or_insert_with(|| statement.clone());
            }
            (_, Some(state)) if !self.extensions.is_empty() && UNDEFINED.contains(&state) => {
                self.tables.extend(sql_names::created(&statement.sql));
            }
            _ => return Err(error),
        }
        self.statements.push(statement.clone());
        execute(session, "rollback to savepoint pgmeter_schema")
    }

    /// Whether a statement of the schema is left out.
    pub(crate) fn has(&self, statement: &LoadStatement) -> bool {
        let is_same = |own: &LoadStatement| {
            own.sql == statement.sql
                || concurrent_forms::in_transaction(&statement.sql).as_ref() == Some(&own.sql)
        };
        self.statements.iter().any(|own| own.place == statement.place && is_same(own))
    }

    /// The names of the tables that are not created.
    pub(crate) fn tables(&self) -> impl Iterator<Item = String> {
        self.tables.iter().map(ToString::to_string)
    }

    /// Removes the statements from a set, and those after the rows that name a table that is not created.
    pub(crate) fn remove_from(&self, set: &mut TableSet) {
        if self.statements.is_empty() {
            return;
        }
        let names: BTreeSet<String> = self.tables.iter().map(|table| table.name.clone()).collect();
        let is_about = |AfterRows { table, statement, .. }: &AfterRows| match table {
            Some(table) => self.tables.contains(table),
            None => statement.place.is_some() && sql_names::mentions(&statement.sql, &names),
        };
        set.schema.retain(|statement| !self.has(statement));
        set.after.retain(|after| !self.has(&after.statement) && !is_about(after));
        set.names.retain(|name| !self.tables.contains(name));
    }

    /// A sentence about what is left out, if there is anything.
    pub(crate) fn sentence(&self) -> Option<String> {
        let extensions: Vec<&str> = self.extensions.iter().map(String::as_str).collect();
        let noun = if extensions.len() == 1 { "the extension" } else { "the extensions" };
        let needed = self.names();
        let needed =
            if needed.is_empty() { "no table needs it".to_owned() } else { format!("and {needed} with it") };
        (!extensions.is_empty()).then(|| format!("left out: {noun} {}, {needed}", extensions.join(", ")))
    }

    /// `the tables a, b and 3 other statements (schema.sql:3, …)`; empty if nothing needs the extensions.
    fn names(&self) -> String {
        let shown = |all: &[String]| {
            let more = if all.len() > NAMES_SHOWN { ", …" } else { "" };
            format!("{}{more}", all[..all.len().min(NAMES_SHOWN)].join(", "))
        };
        let tables: Vec<String> = self.tables().collect();
        let others = self
            .statements
            .iter()
            .filter(|own| created_extension(&own.sql).is_none() && sql_names::created(&own.sql).is_none());
        let others: Vec<String> = others.map(LoadStatement::shown_place).collect();
        let tables = match tables.len() {
            0 => None,
            1 => Some(format!("the table {}", tables[0])),
            count => Some(format!("{count} tables ({})", shown(&tables))),
        };
        let others = match others.len() {
            0 => None,
            1 => Some(format!("the statement {}", others[0])),
            count => Some(format!("{count} statements ({})", shown(&others))),
        };
        [tables, others].into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }

    /// The files and lines of the statements.
    pub(crate) fn places(&self) -> impl Iterator<Item = &(Arc<str>, u32)> {
        self.statements.iter().filter_map(|statement| statement.place.as_ref())
    }
}

/// The SQLSTATE of a statement that the server refused.
fn state(error: &WorkloadError) -> Option<String> {
    error.server_failure().and_then(ConnectError::sqlstate).map(|state| state.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_created_extension_is_found() {
        for (sql, expected) in [
            ("CREATE EXTENSION postgis", Some("postgis")),
            ("create extension if not exists \"uuid-ossp\" with schema public", Some("uuid-ossp")),
            ("CREATE TABLE extension (a int)", None),
            ("DROP EXTENSION postgis", None),
        ] {
            assert_eq!(created_extension(sql).as_deref(), expected, "{sql}");
        }
    }
}
