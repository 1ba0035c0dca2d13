//! Errors of workloads as complete messages.
//! Messages that exist in `pgbench` keep its words.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use config::FileError;
use connect::{ConnectError, LockFailure, SqlState};
use script::StatementsError;
use server::ServerError;
use stats::Scale;

use crate::contract::check::{FailedCheck, shortened};

/// Why a workload cannot be found, loaded or used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the sentence of each variant says what its fields are")]
pub enum WorkloadError {
    /// Neither a built-in workload nor a directory.
    #[error(
        "there is no workload, no directory and no file \"{name}\"; {}",
        nearest.as_ref().map_or(format!("pgmeter includes: {known}"), |nearest| format!("did you mean {nearest}?"))
    )]
    UnknownWorkload { name: String, known: String, nearest: Option<String> },
    /// A workload.toml cannot be read.
    #[error("cannot read the workload {file}: {source}")]
    Read { file: String, source: io::Error },
    /// An archive cannot be used.
    #[error(transparent)]
    Archive(#[from] ServerError),
    /// A file of a workload's directory is invalid.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file that is used without being named in workload.toml is invalid.
    #[error("{0}")]
    UnlistedFile(String),
    /// The value of a parameter is invalid; a complete message.
    #[error("{0}")]
    Parameter(String),
    /// A schema, or a directive in it, cannot be used.
    #[error(transparent)]
    Schema(#[from] datagen::Error),
    /// There is no such index set.
    #[error("the workload {workload} has no index set \"{name}\"; {known}")]
    UnknownIndexes { workload: String, name: String, known: String },
    /// An SQL file cannot be parsed.
    #[error(transparent)]
    Statements(#[from] StatementsError),
    /// There is no such script, or several match.
    #[error("the workload {workload} has no script \"{name}\"; it has {known}")]
    UnknownScript { workload: String, name: String, known: String },
    /// There is no such parameter.
    #[error("the workload {workload} has no parameter \"{name}\"; {known}")]
    UnknownParameter { workload: String, name: String, known: String },
    /// There is no such version of the query texts.
    #[error("the workload {workload} has no query text \"{name}\"; it has {known}")]
    UnknownQueryText { workload: String, name: String, known: String },
    /// An option without a meaning for a built-in workload.
    #[error("the workload {workload} does not support {option}: {reason}")]
    OptionUnsupported { option: &'static str, workload: String, reason: &'static str },
    /// The generator has no sound data for this scale.
    #[error("the workload {workload} does not support scale {scale}: {reason}")]
    ScaleUnsupported { workload: String, scale: Scale, reason: &'static str },
    /// The loading was interrupted.
    #[error(
        "the tables of the workload {workload} are not completely loaded; continue with `{init} --resume` and the same \
         options as before, or start again with `{init}`"
    )]
    Incomplete { workload: String, init: String },
    /// A statement of a load step failed.
    #[error(
        "{file}:{line}: {source}{}",
        if *is_misplaced { "; set transaction = false for this file in workload.toml" } else { "" }
    )]
    LoadStep { file: String, line: u32, source: ConnectError, is_misplaced: bool },
    /// A schema has nothing to load.
    #[error("{file}: the schema creates no table; write CREATE TABLE statements into it")]
    NoTables { file: String },
    /// The tables are not those of the chosen scale.
    #[error(
        "the tables of the workload {workload} have scale {found}, not {asked}; leave out --scale, or load them with \
         `{init} --scale {asked}`"
    )]
    OtherScale { workload: String, found: Scale, asked: Scale, init: String },
    /// Neither the workload nor the marks of its tables say what to check.
    #[error(
        "there is nothing to check: the workload {workload} has no checks, and the marks of its tables have no numbers of rows; \
         load the tables again with `{init}`, or add a file checks/NAME.sql"
    )]
    NoChecks { workload: String, init: String },
    /// Checks returned rows.
    #[error("{}", checks_failed(workload, failed))]
    ChecksFailed { workload: String, failed: Vec<FailedCheck> },
    /// The workload has no such small scale.
    #[error("the workload {workload} does not support scale {scale}: the smallest scale is {least}")]
    ScaleTooSmall { workload: String, scale: Scale, least: Scale },
    /// The query of a drawn share returned something else.
    #[error("the query {query} of a rule must return two numbers: rows that were drawn, and all rows")]
    NoShare { query: String },
    /// No built-in script begins with this name.
    #[error(
        "no builtin script found for name \"{name}\"; did you mean: pgmeter bench -b {similar}, or one of {known}"
    )]
    UnknownBuiltin { name: String, similar: String, known: String },
    /// More than one built-in script begins with this prefix.
    #[error("ambiguous builtin name: {found} builtin scripts found for prefix \"{prefix}\"\n{known}")]
    AmbiguousBuiltin { prefix: String, found: usize, known: String },
    /// An unknown step letter.
    #[error("unrecognized initialization step \"{letter}\"\nAllowed step characters are: \"{known}\".")]
    UnknownStep { letter: char, known: String },
    /// An empty list of steps.
    #[error("no initialization steps specified")]
    NoSteps,
    /// An option out of range.
    #[error("{option} must be in range {low}..{high}")]
    OutOfRange { option: &'static str, low: u32, high: u32 },
    /// A scale with a fraction for pgbench's tables.
    #[error("the tables of pgbench (the workload tpcb) need a whole number as their scale, not {scale}")]
    FractionalScale { scale: Scale },
    /// The server is too old for the partitioning method.
    #[error(
        "partitioning by {method} requires PostgreSQL {needed} or newer; this server is {server}. \
         Omit --partitions, or use a newer server"
    )]
    PartitioningUnsupported { method: &'static str, needed: u32, server: String },
    /// A statement failed.
    #[error("query failed: {source}\nQuery was: {sql}")]
    Query { sql: String, source: ConnectError },
    /// A table of the scripts is missing, or not in the search path.
    #[error(
        "database \"{database}\" has no table {table}. Create and fill the tables with `{init}` \
         (on the same connection){}",
        if *is_for_scripts { ", or give your own script with -f" } else { "" }
    )]
    TablesMissing {
        database: String,
        table: String,
        init: String,
        is_for_scripts: bool,
        source: Option<Box<ConnectError>>,
    },
    /// The accounts have a partitioning method that loading never creates.
    #[error(
        "unexpected partition method: \"{strategy}\" ({table} can be partitioned by range or hash). \
         Create the tables again with `pgmeter init`"
    )]
    UnknownPartitionMethod { table: &'static str, strategy: String },
    /// The tables exist, but their number of rows is unusable.
    #[error(
        "{table} has {rows} rows, so the scale cannot be determined. Fill the tables with `{init}` (on the same \
         connection)"
    )]
    ScaleUnusable { table: String, rows: String, init: String },
    /// The load is larger than its limit; nothing was changed.
    #[error("{forecast}. Use a smaller --scale, or --yes to load anyway; nothing was changed")]
    LoadTooLarge { forecast: String },
    /// The caller's progress function asked to stop. If a statement was cancelled for that, this is its error.
    #[error("loading was interrupted; continue with `pgmeter init --resume` and the same options")]
    Interrupted { cancelled: Option<Box<WorkloadError>> },
    /// The same, with the command that loaded the tables.
    #[error("loading was interrupted; continue with `{init} --resume` and the same options")]
    InterruptedTables { init: String },
    /// The same, for a workload whose loading cannot be resumed.
    #[error("loading was interrupted; start again with `{init}`")]
    InterruptedForGood { init: String },
    /// A table exists that `init` did not make.
    #[error(
        "{table} exists already and was not made by `init` for the workload {workload}; nothing was changed. Rename it, \
         use another database, or let `{init} --drop` drop it"
    )]
    ForeignTable { table: String, workload: String, init: String },
    /// A relation has the name of a table that `init` makes, and is another one.
    #[error(
        "{table} exists already {reason}; nothing was changed. Rename it, use another database, or let `{init} --drop` drop \
         it"
    )]
    OtherTable { table: String, reason: String, init: String },
    /// Only some of pgbench's tables exist in a schema.
    #[error(
        "{table} exists already, but `init` may not have created it: its schema lacks some of pgbench's four tables, or is not \
         the first of search_path. Nothing was changed. Rename it, use a search path without its schema, or let \
         `{init} --drop` drop it"
    )]
    IncompleteTables { table: String, init: String },
    /// A name in the workload's SQL means a table of others.
    #[error(
        "the name {name} in the SQL of the workload {workload} means {found} here, which `init` did not make; the workload's \
         own table is {own}. Put its schema first in the search path, such as with \"options=-csearch_path={schema}\" in the \
         connection string"
    )]
    Namesake { workload: String, name: String, found: String, own: String, schema: String },
    /// A table that was to be truncated before a run is not the workload's.
    #[error(
        "{table} was not truncated before the run: `init` did not make {} for the workload {workload}. If its rows may be \
         lost, truncate it yourself; -n leaves out all statements before a run",
        child.as_ref().map_or("it".to_owned(), |child| format!("{child}, which TRUNCATE would empty too,"))
    )]
    NotTruncated { table: String, workload: String, child: Option<String> },
    /// A statement of the folder changed a table that `init` did not make, and was rolled back.
    #[error(
        "the SQL of the workload {workload} would drop or change {object}, which `init` did not create for it. The cause can be \
         DROP … CASCADE, a trigger{} or a function. The transaction was rolled back; nothing was changed. Remove the statement, use another database, or allow it with --drop",
        event_trigger.as_ref().map_or(String::new(), |name| format!(", the event trigger {name} of the database"))
    )]
    ForeignObjectChanged { object: String, workload: String, event_trigger: Option<String> },
    /// A statement of the folder changed the value of a sequence that `init` did not make.
    #[error(
        "the SQL of the workload {workload} has changed the value of the sequence {sequence}, which `init` did not make for it. \
         Its transaction was rolled back, but PostgreSQL does not roll back values of sequences. If no other session has used \
         the sequence since, restore its value with: {restore}. Remove the statement, use another database, or allow it with \
         --drop"
    )]
    SequenceChanged { sequence: String, workload: String, restore: String },
    /// The server does not count changed rows.
    #[error(
        "track_counts is off, so pgmeter cannot see whether the SQL of the workload changes rows of other tables. Set \
         track_counts = on for this role or server, or allow such changes with --drop"
    )]
    RowsNotCounted,
    /// A statement concerns more than the database.
    #[error(
        "{place}: {statement} concerns more than this database, and pgmeter cannot roll it back. Remove the statement, or \
         allow it with --drop"
    )]
    BeyondDatabase { place: String, statement: String },
    /// A statement that cannot be rolled back names an object of others, or all of them.
    #[error(
        "{place} drops or rewrites {object}, which `init` did not make for the workload {workload}, and cannot be rolled \
         back; it did not run. Name the workload's own tables and indexes only, or allow it with --drop"
    )]
    ForeignObjectNamed { object: String, workload: String, place: String },
    /// The same, and it could not be prevented.
    #[error(
        "{place} has dropped or changed {object}, which `init` did not make for the workload {workload}. The statement \
         cannot run in a transaction, so the change could not be rolled back. Look at the object, restore it from a \
         backup if something is missing, and remove the statement"
    )]
    ForeignObjectLost { object: String, workload: String, place: String },
    /// The rollback of a transaction that changed it has failed.
    #[error(
        "{place} would drop or change {object}, which `init` did not make for it, and ROLLBACK has failed: {reason}. \
         Look at the object before you go on"
    )]
    RollbackFailed { object: String, place: String, reason: String },
    /// A statement would end the transaction of its step.
    #[error(
        "{place}: {word} is not allowed, because `init` runs the statement in a transaction of its own, to roll it back if \
         it changes objects of others; nothing was changed by this file. Remove the statement"
    )]
    TransactionControl { place: String, word: String },
    /// A check would leave its read-only transaction.
    #[error(
        "{place}: {word} is not allowed in a check, which runs in a read-only transaction. Remove the statement"
    )]
    CheckControl { place: String, word: String },
    /// A statement has ended the transaction of its step in a way that its text does not show.
    #[error(
        "{place} has ended the transaction of its file: the statements before it are committed, and those after it did not \
         run. Remove the statement or the call that commits"
    )]
    TransactionEnded { place: String },
    /// A table whose mark was made for another one.
    #[error(
        "{table} was restored or copied: its mark was made for another table or database; nothing was changed. Rename \
         it, use another database, or let `{init} --drop` drop it"
    )]
    CopiedTable { table: String, init: String },
    /// A table that somebody has altered since `init` made it.
    #[error(
        "{table} was made by `init` and has been renamed or altered since: it has another name, owner or definition; nothing was \
         changed. Rename it, use another database, or let `{init} --drop` drop it"
    )]
    AlteredTable { table: String, init: String },
    /// A table of a workload of the same name that this one does not create.
    #[error(
        "{table} was made by `init` for the workload {workload} of another folder, and schema.sql of this folder does not \
         create it; nothing was changed. Give one of the two workloads another name in its workload.toml, use another \
         database, or let `{init} --drop` drop it"
    )]
    OtherFolder { table: String, workload: String, init: String },
    /// Objects of users belong to the tables that are to be dropped.
    #[error(
        "to drop its tables, `init` would also drop {objects}, which it did not create, or which were changed since; nothing was \
         changed. Drop them, move them to another table, use another database, or let `{init} --drop` drop them"
    )]
    Dependents { objects: String, init: String },
    /// Two loadings at the same time.
    #[error(
        "another init of the workload {workload} is running in this database (process {process}); wait until it ends, \
         or end that process with pg_terminate_backend"
    )]
    InitRunning { workload: String, process: String },
    /// Its connection was lost, and another loading began.
    #[error("another init has dropped these tables and loads its own, so this one has ended")]
    Replaced,
    /// The connection was lost for good, or a lock was not granted.
    #[error("{source}; continue with `{init} --resume` and the same options")]
    ConnectionLost { init: String, source: Box<WorkloadError> },
    /// A statement needs a privilege, or other objects depend on what it drops.
    #[error("{doing}: {reason}. {remedy}, or use another database")]
    NotPermitted { doing: String, reason: String, remedy: &'static str, source: Box<WorkloadError> },
    /// A new workload cannot be written.
    #[error("cannot write a workload to {folder}: {source}")]
    NewFolder { folder: String, source: io::Error },
    /// There is no script to run.
    #[error(
        "the workload {workload} has no scripts: give a script with -f, add files scripts/*.sql to its folder, or time its \
         queries with `pgmeter queries`"
    )]
    NoScripts { workload: String },
    /// The server's disk is full.
    #[error(
        "the server has no disk space left (while {doing}: {message}). Free some space and continue with \
         `pgmeter init --resume` and the same options, or use a smaller scale"
    )]
    DiskFull { doing: String, message: String, source: Box<WorkloadError> },
    /// Rows violate a unique constraint.
    #[error(
        "{doing}: {message}. The generated rows violate the constraint: remove the constraint from the schema, or give \
         its columns generators with enough different values, such as sub=serial"
    )]
    NotUnique { doing: String, message: String, source: Box<WorkloadError> },
    /// Rows violate a foreign key or an exclusion constraint.
    #[error(
        "{doing}: {message}. The generated rows violate the constraint: change the directives of its columns, or remove \
         the constraint from the schema"
    )]
    Violated { doing: String, message: String, source: Box<WorkloadError> },
    /// Rows violate a constraint, or a value does not fit its column.
    #[error(
        "{}loading {relation}: {message}. The schema does not accept the generated rows, and --resume would fail again. Correct the \
         schema or the directives of the columns, then run `{init}` again",
        place.as_ref().map(|(file, line)| format!("{file}:{line}: ")).unwrap_or_default()
    )]
    InvalidRows {
        place: Option<(Arc<str>, u32)>,
        relation: String,
        message: String,
        init: String,
        source: Box<WorkloadError>,
    },
    /// A statement of a schema has reached its time limit.
    #[error(
        "{place}: {message}. If the statement only takes long, write SET statement_timeout = '5h' before it; the limit is one \
         hour otherwise. If not, look for an endless loop in it and in the functions and triggers that it calls"
    )]
    StatementLimit { place: String, message: String, source: Box<WorkloadError> },
    /// The server accepts no more rows.
    #[error(
        "loading {relation}: the server has accepted no row for {} s, and --resume would wait again. Look for an endless \
         loop in the functions of its triggers, constraints, domains and generated columns",
        limit.as_secs_f64()
    )]
    RowsLimit { relation: String, limit: Duration },
    /// The server does not have an extension of a schema.
    #[error(
        "{place}: this server does not have {extensions}{}. Install it there (the names of packages are similar to \
         postgresql-{major}-NAME; see https://pgxn.org), or load the other tables with{option}",
        if needed.is_empty() { String::new() } else { format!("; it is needed for {needed}") }
    )]
    ExtensionMissing { place: String, extensions: String, needed: String, major: u32, option: String },
    /// The schema does not create this extension.
    #[error("--without-extension {name}: the schema {}", match (nearest, known.is_empty()) {
        (_, true) => "creates no extension".to_owned(),
        (Some(nearest), _) => format!("does not create it; did you mean {nearest}?"),
        (None, _) => format!("does not create it; it creates {known}"),
    })]
    UnknownExtension { name: String, known: String, nearest: Option<String> },
    /// The existing tables were not created with these options.
    #[error(
        "--resume requires tables that were created with the same options, but {found}; omit --resume to create \
         the tables again"
    )]
    NotResumable { found: String },
}

/// SQLSTATE of a cancelled statement: `query_canceled`.
pub(crate) const CANCELED: &[u8; 5] = b"57014";

impl LockFailure for WorkloadError {
    fn is_lock_timeout(&self) -> bool {
        matches!(self, Self::Query { source, .. } | Self::LoadStep { source, .. } if source.is_lock_timeout())
    }

    /// The preparation of a load is one transaction, and a failure rolls it back.
    fn is_undone(&self) -> bool {
        true
    }

    fn with_cause(self, cause: ConnectError) -> Self {
        match self {
            Self::Query { sql, .. } => Self::Query { sql, source: cause },
            Self::LoadStep { file, line, is_misplaced, .. } => {
                Self::LoadStep { file, line, source: cause, is_misplaced }
            }
            other => other,
        }
    }
}

impl WorkloadError {
    /// For the start of scripts: they may need no tables of a workload.
    pub fn for_scripts(self) -> WorkloadError {
        match self {
            Self::TablesMissing { database, table, init, source, .. } => {
                Self::TablesMissing { database, table, init, is_for_scripts: true, source }
            }
            error => error,
        }
    }

    /// The error of the server or of its connection, if a statement failed.
    pub(crate) fn server_failure(&self) -> Option<&ConnectError> {
        match self {
            Self::Query { source, .. } | Self::LoadStep { source, .. } => Some(source),
            _ => None,
        }
    }

    /// The error of a statement of a check, with its line.
    pub(crate) fn of_check(self, check: &str, line: u32) -> WorkloadError {
        match self {
            Self::Query { source, .. } => {
                Self::LoadStep { file: format!("the check {check}"), line, source, is_misplaced: false }
            }
            other => other,
        }
    }

    /// The error of the rows of a table.
    pub(crate) fn of_rows(self, relation: &str) -> WorkloadError {
        /// Classes of SQLSTATE: data exception, integrity constraint violation.
        const INVALID_ROWS: [&str; 2] = ["22", "23"];
        let error = self.explained(&format!("loading {relation}"));
        let Some(server) = error.server_failure().and_then(ConnectError::server_error) else { return error };
        let sqlstate = server.sqlstate.to_string();
        if !INVALID_ROWS.iter().any(|class| sqlstate.starts_with(class)) {
            return error;
        }
        let context = server.context.as_ref().and_then(|context| context.lines().next());
        let detail = server.detail.as_deref().or(context).map(|detail| detail.trim_end_matches('.'));
        let message = match detail {
            Some(detail) => format!("{} ({})", server.message, shortened(detail)),
            None => server.message.clone(),
        };
        let (relation, init) = (relation.to_owned(), String::new());
        Self::InvalidRows { place: None, relation, message, init, source: Box::new(error) }
    }

    /// The error of rows with the place of their table and the command that loads it. `place_of` finds a relation.
    pub(crate) fn of_tables(
        self,
        command: &str,
        place_of: impl FnOnce(&str) -> Option<(Arc<str>, u32)>,
    ) -> WorkloadError {
        match self {
            Self::InvalidRows { relation, message, source, .. } => {
                let (place, init) = (place_of(&relation), command.to_owned());
                Self::InvalidRows { place, relation, message, init, source }
            }
            error => error,
        }
    }

    /// With the command that continues the loading, if the connection was lost.
    pub(crate) fn with_resume(self, init: &str) -> WorkloadError {
        let is_lost = self.server_failure().is_some_and(|source| match source.sqlstate() {
            None => true,
            Some(state) => {
                state.class() == "08"
                    || (state.class() == "57" && Some(state) != SqlState::from_bytes(CANCELED))
            }
        });
        if is_lost { Self::ConnectionLost { init: init.to_owned(), source: Box::new(self) } } else { self }
    }

    /// An error of a lock that was not granted, with the way to continue.
    pub fn with_resume_after_lock(self, init: &str) -> WorkloadError {
        match self.server_failure() {
            Some(ConnectError::LockNotGranted(_)) => self.with_resume(init),
            _ => self,
        }
    }

    /// With a remedy, if the error has one.
    pub(crate) fn explained(self, doing: &str) -> WorkloadError {
        let Some(error) = self.server_failure().and_then(ConnectError::server_error) else { return self };
        let doing = doing.to_owned();
        let detail = error.detail.as_ref().map(|detail| format!(" ({})", detail.trim_end_matches('.')));
        let message = format!("{}{}", error.message, detail.unwrap_or_default());
        match error.sqlstate.to_string().as_str() {
            "53100" => Self::DiskFull { doing, message, source: Box::new(self) },
            "23505" => Self::NotUnique { doing, message, source: Box::new(self) },
            "23503" | "23P01" => Self::Violated { doing, message, source: Box::new(self) },
            _ => self.not_permitted(&doing),
        }
    }

    /// With the dependent objects and a remedy, if the error is about them or about a privilege.
    pub(crate) fn not_permitted(self, doing: &str) -> WorkloadError {
        let Some(error) = self.server_failure().and_then(ConnectError::server_error) else { return self };
        let dependents = error.detail.as_deref().map(first_lines);
        let (reason, remedy) = match error.sqlstate.to_string().as_str() {
            // Since 15, only its owner may create tables in the schema public.
            "42501" if error.message.to_lowercase().contains("schema") => (error.message.clone(), NO_SCHEMA),
            "3F000" => (error.message.clone(), NO_SCHEMA),
            "42501" => (error.message.clone(), "Connect as the owner or as a user with this privilege"),
            "42710" if error.message.starts_with("extension") => {
                (error.message.clone(), "Write CREATE EXTENSION IF NOT EXISTS instead")
            }
            "42710" if error.message.starts_with("type") => (error.message.clone(), IS_ALTERED),
            "42723" => (error.message.clone(), IS_ALTERED),
            "2BP01" => {
                (dependents.unwrap_or_else(|| error.message.clone()), "Drop the dependent objects first")
            }
            _ => return self,
        };
        Self::NotPermitted { doing: doing.to_owned(), reason, remedy, source: Box::new(self) }
    }

    /// An error of loading, with what to do if the role may not create tables. pgbench says only what the server says.
    #[must_use]
    pub fn with_advice(self) -> WorkloadError {
        match self {
            Self::Query { .. } => self.not_permitted("cannot create the tables"),
            other => other,
        }
    }

    /// Whether a statement failed because a table does not exist.
    pub fn is_missing_table(&self) -> bool {
        const UNDEFINED_TABLE: &str = "42P01";
        match self {
            Self::Query { source, .. } => {
                source.server_error().is_some_and(|error| error.sqlstate.to_string() == UNDEFINED_TABLE)
            }
            _ => false,
        }
    }
}

/// What to do about an object that is not dropped before a loading.
const IS_ALTERED: &str = "`init` did not make it, or somebody has changed it since: drop it or rename it";

/// What to do about a role that may not create tables in the schema of its `search_path`.
const NO_SCHEMA: &str = "As the database's owner or a superuser, execute CREATE SCHEMA role AUTHORIZATION role (the default \
                         search_path has a schema with the name of the role)";

/// Most dependent objects in a message.
const DEPENDENTS_MAX: usize = 3;

/// The first lines of a detail, in one line.
fn first_lines(detail: &str) -> String {
    let lines: Vec<&str> = detail.lines().collect();
    let shown = lines.iter().take(DEPENDENTS_MAX).copied().collect::<Vec<_>>().join(", ");
    match lines.len().saturating_sub(DEPENDENTS_MAX) {
        0 => shown,
        more => format!("{shown}, and {more} more"),
    }
}

/// `1 check of the workload shop failed: stock (2 rows, the first: 7 | -1). Sound data return no row`
fn checks_failed(workload: &str, failed: &[FailedCheck]) -> String {
    let shown: Vec<String> = failed.iter().map(ToString::to_string).collect();
    let noun = if failed.len() == 1 { "check" } else { "checks" };
    format!(
        "{} {noun} of the workload {workload} failed: {}. A check returns no row if the data are sound",
        failed.len(),
        shown.join("; ")
    )
}
