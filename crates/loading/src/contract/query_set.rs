//! Query sets: the queries of a workload with their parameters, expected answers and refresh functions as values.
//! `queries` times them, this crate only says which SQL they are.

use std::borrow::Cow;
use std::collections::BTreeMap;

use stats::Scale;

/// A query of a query set. Only `sql` is timed together with `before` and `after`, which create and drop what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Its name in reports and options, such as `q1`; unique in the set.
    pub name: String,
    /// Statements before it in the same session, such as CREATE VIEW; usually none.
    pub before: Vec<String>,
    /// The statement whose rows are the answer.
    pub sql: String,
    /// Statements after it, executed also if it failed.
    pub after: Vec<String>,
    /// Whether rows tie at a LIMIT, so that the server chooses among them: only the number of rows is an answer.
    pub has_ties: bool,
}

impl Query {
    /// A query of one statement.
    pub fn new(name: impl Into<String>, sql: impl Into<String>) -> Query {
        Query { name: name.into(), before: Vec::new(), sql: sql.into(), after: Vec::new(), has_ties: false }
    }
}

/// Which queries are wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryChoice {
    /// The scale of the data.
    pub scale: Scale,
    /// The version of the texts, one of [`Workload::query_texts`]; `None`: the first.
    ///
    /// [`Workload::query_texts`]: crate::Workload::query_texts
    pub text: Option<String>,
    /// Seed of the parameters; `None`: the validation parameters, for which answers may be known.
    pub seed: Option<u64>,
    /// Seed of the rows; `None`: that of the workload.
    pub data_seed: Option<u64>,
    /// The stream, from 0: its parameters differ from those of other streams.
    pub stream: u32,
    /// Values of the workload's parameters by name.
    pub parameters: BTreeMap<String, String>,
}

impl QueryChoice {
    /// The queries of a scale as they are without options.
    pub fn new(scale: Scale) -> QueryChoice {
        QueryChoice { scale, text: None, seed: None, data_seed: None, stream: 0, parameters: BTreeMap::new() }
    }
}

/// The expected answer of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Name of the query.
    pub query: Cow<'static, str>,
    /// Number of rows.
    pub rows: u64,
    /// Checksum of the rows, in the form of `queries::Checksum`; `None` if only their number is known.
    pub checksum: Option<Cow<'static, str>>,
}

/// A set of indexes that can be created after the rows are loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSet {
    /// Its name in options, such as `none`, `keys`.
    pub name: Cow<'static, str>,
    /// One line for readers.
    pub title: Cow<'static, str>,
}
