//! A row of the tables of keys: name, section, type, help and effect on a configuration. The tables are in `keys` and
//! beside this file.

use config::{Complaint, Folder, Node};
use run::options::{Kind, Value as OptionValue};

use crate::configuration::Configuration;

/// The section of a key in an experiment file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Server,
    Data,
    Load,
    Queries,
    Search,
    Pooler,
}

impl Section {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Section::Server => "server",
            Section::Data => "data",
            Section::Load => "load",
            Section::Queries => "queries",
            Section::Search => "search",
            Section::Pooler => "pooler",
        }
    }

    /// The complete name of a key that is written in this section: factors and levels name the keys of `[queries]`,
    /// `[search]` and `[pooler]` with the section, because other sections have some of the same names.
    pub(crate) fn complete(self, key: &str) -> String {
        match self {
            Section::Queries => format!("{QUERIES_PREFIX}{key}"),
            Section::Search => format!("{SEARCH_PREFIX}{key}"),
            Section::Pooler => format!("{POOLER_PREFIX}{key}"),
            Section::Server | Section::Data | Section::Load => key.to_owned(),
        }
    }

    /// The name of a key within this section.
    pub(crate) fn short(self, name: &str) -> &str {
        match self {
            Section::Queries => name.strip_prefix(QUERIES_PREFIX).unwrap_or(name),
            Section::Search => name.strip_prefix(SEARCH_PREFIX).unwrap_or(name),
            Section::Pooler => name.strip_prefix(POOLER_PREFIX).unwrap_or(name),
            Section::Server | Section::Data | Section::Load => name,
        }
    }
}

const QUERIES_PREFIX: &str = "queries.";
const SEARCH_PREFIX: &str = "search.";
const POOLER_PREFIX: &str = "pooler.";

pub(crate) type Get = fn(&Configuration) -> OptionValue;
pub(crate) type Set = fn(&mut Configuration, OptionValue) -> Result<(), String>;

/// A row of the table: a key that is not an option of every run. Those are in `run::options`.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) takes: Takes,
    /// One sentence, for editors and the manual.
    pub(crate) help: &'static str,
    /// Reads the default from a configuration.
    pub(crate) get: Get,
}

/// Type of a key's value, and its setter.
pub(crate) enum Takes {
    /// A value of a type that options have.
    Value(Kind, Set),
    /// Any other value, with the name of its rule in the JSON Schema.
    Node(&'static str, fn(&mut Configuration, &Node, Folder<'_>) -> Result<(), Complaint>),
}

impl Key {
    /// A key with a value of a type that options have.
    pub(crate) const fn new(
        name: &'static str,
        kind: Kind,
        (get, set): (Get, Set),
        help: &'static str,
    ) -> Self {
        Self { name, takes: Takes::Value(kind, set), help, get }
    }

    /// A key with any other value; `rule` is its rule in the JSON Schema.
    pub(crate) const fn other(
        name: &'static str,
        rule: &'static str,
        set: fn(&mut Configuration, &Node, Folder<'_>) -> Result<(), Complaint>,
        help: &'static str,
    ) -> Self {
        Self { name, takes: Takes::Node(rule, set), help, get: |_| OptionValue::Unset }
    }

    /// The same with a default.
    pub(super) const fn default(self, get: Get) -> Self {
        Self { get, ..self }
    }
}

/// Sets a field to a value that may be wrong.
pub(crate) fn put<T, E>(field: &mut T, value: Result<T, E>) -> Result<(), E> {
    *field = value?;
    Ok(())
}
