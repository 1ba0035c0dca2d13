//! The tasks of a loading as data, with the order in which they must happen. Workloads make plans; `executor` carries
//! them out.

use std::borrow::Cow;
use std::sync::Arc;

use super::journal::Note;
use super::judged::Judge;
use super::repairs::Repair;
use super::rows::RowSource;
use super::statement::LoadStatement;

/// Tasks, and the steps that they belong to.
#[derive(Debug, Default)]
pub struct Plan {
    /// Steps in the order in which they are reported.
    pub steps: Vec<StepName>,
    /// Of the tasks that can start, the first one is started.
    pub jobs: Vec<Job>,
}

/// What a step is called.
#[derive(Clone, Debug)]
pub struct StepName {
    /// In the closing report: `primary keys`.
    pub name: Cow<'static, str>,
    /// While it is done: `creating primary keys`.
    pub doing: Cow<'static, str>,
}

/// A task as part of a step.
#[derive(Debug)]
pub struct Job {
    /// Index of its step in the plan.
    pub(crate) step: usize,
    /// What is done.
    pub task: Task,
    /// Indexes of the jobs that must end before.
    pub(crate) after: Vec<usize>,
}

/// A unit of work for one connection, repeated from its beginning if the connection is lost.
#[derive(Debug)]
#[allow(missing_docs, reason = "the sentence of each variant says what its fields are")]
pub enum Task {
    /// Statements, each a transaction of its own.
    Each(Vec<String>),
    /// Statements that build indexes, each a transaction of its own that begins with the settings of [`Shared`].
    ///
    /// [`Shared`]: super::connection::Shared
    BuildKeys(Vec<String>),
    /// Statements in one transaction.
    Together(Vec<String>),
    /// Creates so many partitions, each by its statement.
    CreatePartitions { partitions: u32, statement: StatementOf },
    /// Empties tables, then fills some by COPY, in one transaction.
    Load { truncate: String, parts: Vec<Part> },
    /// Rows of tables, and the note that they are there, in one transaction; each alone if that fails.
    Chunks { note: Note, parts: Vec<Part> },
    /// References to missing rows, which are removed if rows are missing, or if it is needed anyway.
    Repair { note: Note, repairs: Vec<Repair>, is_needed: bool },
    /// Statements, and the note that they were executed; each alone if that fails. `refills` has the rows of the table of each
    /// key or index, which are loaded again beside it if they violate it.
    Noted { note: Note, statements: Vec<LoadStatement>, mode: Mode, refills: Vec<Option<Arc<Part>>> },
}

/// How a statement is executed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In one transaction with its note.
    Transaction,
    /// The same, with the memory settings for building indexes.
    Index,
    /// In one transaction with its note, which may not change rows of others.
    Watched,
    /// Outside of a transaction, as VACUUM requires; the note follows it.
    Alone,
}

/// The statement for a number, counted from 1: there may be too many to hold them all.
pub struct StatementOf(pub Box<dyn Fn(u32) -> String + Send + Sync>);

impl std::fmt::Debug for StatementOf {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&(self.0)(1))
    }
}

/// Rows for one relation.
#[derive(Clone, Debug)]
pub struct Part {
    /// The rows.
    pub source: Arc<dyn RowSource>,
    /// The chunk of the rows, counted from 0, and the number of chunks.
    pub(crate) chunk: (u32, u32),
    /// The relation that is filled, quoted for SQL.
    pub relation: String,
    /// ` (column, …)` as COPY takes it; empty for all columns.
    pub(crate) columns: String,
    /// Whether the rows may be frozen: the table was emptied or created in the same transaction.
    pub(crate) freezes: bool,
    /// How the server judges the rows, if it does. The part is then one chunk.
    pub(crate) judge: Option<Arc<Judge>>,
    /// How it judges them if it refuses one nevertheless.
    pub(crate) fallback: Option<Arc<Judge>>,
    /// The name under which progress is reported, and the rows that all parts with this name have together.
    pub(crate) progress: (Arc<str>, u64),
}

impl Job {
    /// A job that waits for no other.
    pub fn new(step: usize, task: Task) -> Job {
        Job { step, task, after: Vec::new() }
    }
}

impl Part {
    /// All rows of a source for all columns of a relation, which was emptied or created in the same transaction. `progress` is
    /// the name under which progress is reported, and the rows that all parts with this name have together.
    pub fn new(source: Arc<dyn RowSource>, relation: String, progress: (Arc<str>, u64)) -> Part {
        let (columns, chunk) = (String::new(), (0, 1));
        Part { source, chunk, relation, columns, freezes: true, judge: None, fallback: None, progress }
    }
}

impl Plan {
    /// Adds jobs that are done one after the other once the jobs `after` have ended. Returns the last one, or `after`
    /// if there are none.
    pub fn add_chain(&mut self, jobs: Vec<Job>, after: &[usize]) -> Vec<usize> {
        jobs.into_iter().fold(after.to_vec(), |after, job| {
            self.jobs.push(Job { after, ..job });
            vec![self.jobs.len() - 1]
        })
    }
}
