//! Actions: things that are done to the server at set times of a run, such as a REFRESH after 30 s. The plan has what was
//! asked for, the record what happened. `fault` has the kinds other than SQL. Executed by `run`, shown by `report`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Fault, Missing, RelationKind, SafeText, Warning};

/// Something to do at a time of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Action {
    /// When, in seconds since measuring began.
    pub at_s: f64,
    /// What to do.
    #[serde(flatten)]
    pub work: ActionWork,
}

/// Kinds of actions, each with its details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ActionWork {
    /// SQL, executed on a connection of its own.
    Sql {
        /// One or more statements, with masked secrets.
        #[serde(deserialize_with = "crate::safe_text::read_sql")]
        sql: SafeText,
    },
    /// A fault of a server that pgmeter manages, or of the network.
    Fault(Fault),
}

impl ActionWork {
    /// The kind with its details, as in options: `sql=VACUUM t`, `kill=5s`.
    pub fn text(&self) -> String {
        match self {
            ActionWork::Sql { sql } => format!("sql={sql}"),
            ActionWork::Fault(fault) => fault.to_string(),
        }
    }

    /// For reports: the SQL, or the text of the fault.
    pub fn title(&self) -> SafeText {
        match self {
            ActionWork::Sql { sql } => sql.clone(),
            ActionWork::Fault(fault) => fault.to_string().into(),
        }
    }
}

/// An action and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActionResult {
    /// What was asked for.
    #[serde(flatten)]
    pub action: Action,
    /// When it began, in seconds since measuring began; `null` if it did not.
    pub begin_s: Option<f64>,
    /// When it ended, or was cut off; `null` if it did not begin.
    pub end_s: Option<f64>,
    /// How it ended.
    pub outcome: ActionOutcome,
    /// The tables concerned, just before it; `null` if it did not begin.
    pub before: Option<TablesAt>,
    /// The same, about a second after it, because the server reports its statistics with a delay.
    pub after: Option<TablesAt>,
}

impl ActionResult {
    /// The warning about an action that did not succeed.
    pub fn warning(&self) -> Option<Warning> {
        let Action { at_s, work } = &self.action;
        let (at_s, action) = (*at_s, work.title());
        match &self.outcome {
            ActionOutcome::Succeeded => None,
            ActionOutcome::Failed { error, .. } => {
                Some(Warning::ActionFailed { at_s, action, error: error.clone() })
            }
            ActionOutcome::CutOff => {
                let ran_s = self.end_s.zip(self.begin_s).map_or(0.0, |(end_s, begin_s)| end_s - begin_s);
                Some(Warning::ActionCutOff { action, ran_s })
            }
            ActionOutcome::NotStarted => Some(Warning::ActionNotStarted { at_s, action }),
        }
    }
}

/// How an action ended: `"succeeded"`, `"cut_off"`, `"not_started"` or `{"failed": {"sqlstate": …, "error": …}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionOutcome {
    /// Without an error.
    Succeeded,
    /// With an error.
    Failed {
        /// The code of the server's error; `null` if the server sent none, for example because the connection was lost.
        sqlstate: Option<String>,
        /// The error.
        error: SafeText,
    },
    /// The run ended first, and the action was cancelled.
    CutOff,
    /// The run ended before its time.
    NotStarted,
}

impl ActionOutcome {
    /// The name in the record.
    pub fn name(&self) -> &'static str {
        match self {
            ActionOutcome::Succeeded => "succeeded",
            ActionOutcome::Failed { .. } => "failed",
            ActionOutcome::CutOff => "cut_off",
            ActionOutcome::NotStarted => "not_started",
        }
    }
}

/// Tables at a time of the run: those that the action names, then those that the scripts' statements use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TablesAt {
    /// When, in seconds since measuring began.
    pub at_s: f64,
    /// The tables by name, at most 64.
    pub tables: Vec<TableState>,
    /// What could not be read, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
}

/// Size and statistics of a table. Those of a partitioned table include its partitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TableState {
    /// Schema and name, quoted where SQL requires it.
    pub name: SafeText,
    /// What it is.
    pub kind: RelationKind,
    /// Size with TOAST, without indexes; `null` for views and foreign tables.
    pub bytes: Option<u64>,
    /// Live rows by the server's statistics.
    pub live_rows: Option<u64>,
    /// Dead rows by the server's statistics.
    pub dead_rows: Option<u64>,
    /// Rows inserted since the statistics were reset.
    pub inserted_rows: Option<u64>,
    /// Rows updated since the statistics were reset.
    pub updated_rows: Option<u64>,
    /// Rows deleted since the statistics were reset.
    pub deleted_rows: Option<u64>,
    /// Bytes of it in shared buffers; `null` unless the extension pg_buffercache is installed in the database.
    pub cached_bytes: Option<u64>,
    /// Its indexes by name.
    pub indexes: Vec<IndexState>,
}

/// Size of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IndexState {
    /// Schema and name, quoted where SQL requires it.
    pub name: SafeText,
    /// Size; `null` for an index of a partitioned table.
    pub bytes: Option<u64>,
    /// Bytes of it in shared buffers; `null` unless the extension pg_buffercache is installed in the database.
    pub cached_bytes: Option<u64>,
}

impl TablesAt {
    /// What is missing if no table could be read.
    pub const ALL: &str = "tables";

    /// Whether the tables could be read.
    pub fn is_read(&self) -> bool {
        self.missing.iter().all(|missing| missing.what != Self::ALL)
    }

    /// The state of this table.
    pub fn table(&self, name: &SafeText) -> Option<&TableState> {
        self.tables.iter().find(|table| table.name == *name)
    }
}

impl TableState {
    /// The state of this index.
    pub fn index(&self, name: &SafeText) -> Option<&IndexState> {
        self.indexes.iter().find(|index| index.name == *name)
    }
}
