//! A connection pooler between the clients of a trial and its embedded server: the keys of `[pooler]`, what does not fit to
//! it, and its start. Each trial has its own, so none finds the connections of an earlier one. `server` runs it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use config::{Complaint, Node};
use connect::Target;
use results::{Pooler, SafeText, Warning};
use run::options::Value as OptionValue;
use run::options::word_of;
use run::{Control, PoolerInUse, RunError, Scripts, check_pooling};
use server::{
    Locations, PoolerListens, PoolerOptions, PoolerProgram, Server, check_pooler_setting, find_pooler,
};
use stats::{PoolMode, Protocol};

use crate::configuration::{Configuration, NetworkKind};
use crate::event::{Event, Listener};
use crate::keys::{Key, put};
use crate::matrix::Cell;
use crate::network::resolve;
use crate::schema::count;
use crate::values::pairs;

/// The pooler of a trial.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolerSpec {
    /// When connections return to the pool; `None`: clients connect directly.
    pub mode: Option<PoolMode>,
    /// The program; `None`: the installed one.
    pub program: Option<PathBuf>,
    /// Maximum number of connections to the server.
    pub pool_size: u32,
    /// Prepared statements that it keeps for each connection to the server; `None`: 200 if the version can.
    pub max_prepared_statements: Option<u32>,
    /// Further settings.
    pub settings: BTreeMap<String, String>,
}

impl Default for PoolerSpec {
    fn default() -> Self {
        // The pool size is PgBouncer's own default.
        Self {
            mode: None,
            program: None,
            pool_size: 20,
            max_prepared_statements: None,
            settings: BTreeMap::new(),
        }
    }
}

/// The values of `mode`.
const MODES: [(&str, Option<PoolMode>); 4] = [
    ("none", None),
    ("session", Some(PoolMode::Session)),
    ("transaction", Some(PoolMode::Transaction)),
    ("statement", Some(PoolMode::Statement)),
];
/// Maximum of connections to the server, and of prepared statements.
const POOL_SIZE_MAX: u64 = 10_000;
const PREPARED_STATEMENTS_MAX: u64 = 100_000;
/// Clients of a pooler in addition to those of the load.
const CLIENTS_BESIDE_LOAD: u32 = 20;

/// The keys of `[pooler]`.
pub(crate) const KEYS: [Key; 5] = [
    Key::new(
        "pooler.mode",
        run::options::Kind::Choice(&run::options::words(&MODES)),
        (|it| word_of(&MODES, &it.pooler.mode), |it, value| put(&mut it.pooler.mode, value.one_of(&MODES))),
        "When a client's connection to the server returns to the pool: \"session\", when it disconnects; \"transaction\" or \
         \"statement\", at the end of each; \"none\": no pooler. In a file with [pooler], \"session\" if not set",
    ),
    Key::new(
        "pooler.pool_size",
        count(1, POOL_SIZE_MAX),
        (|it| it.pooler.pool_size.into(), |it, value| put(&mut it.pooler.pool_size, value.try_into())),
        "Maximum number of connections from the pooler to the server (default_pool_size)",
    ),
    Key::other(
        "pooler.program",
        "text",
        |it, node, folder| {
            let named = node.text()?;
            it.pooler.program = (!named.is_empty()).then(|| folder.path(named));
            Ok(())
        },
        "Program of PgBouncer, relative to the experiment file; \"\": the installed one",
    ),
    Key::new(
        "pooler.max_prepared_statements",
        count(0, PREPARED_STATEMENTS_MAX),
        (|_| OptionValue::Unset, |it, value| put(&mut it.pooler.max_prepared_statements, value.optional())),
        "Prepared statements that the pooler keeps for each connection to the server; PgBouncer 1.21 and newer; default there: 200",
    ),
    Key::other(
        "pooler.settings",
        "settings",
        |it, node, _| settings(&mut it.pooler.settings, node),
        "Further settings of PgBouncer, such as { server_reset_query_always = 1 }",
    ),
];

fn settings(settings: &mut BTreeMap<String, String>, node: &Node) -> Result<(), Complaint> {
    pairs(settings, node)?;
    let check = |(name, value): (&String, &String)| check_pooler_setting(name, value);
    settings.iter().try_for_each(check).map_err(|error| Complaint::at(node.place, error.to_string()))
}

/// What cannot be combined with a pooler; a sentence.
pub(crate) fn check(configuration: &Configuration) -> Result<(), String> {
    let Configuration { pooler, server, load, .. } = configuration;
    let Some(mode) = pooler.mode else { return Ok(()) };
    if server.origin.dsn().is_some() {
        return Err("[pooler] starts a pooler in front of an embedded server, and a dsn names a running one: set version or \
                    bin_dir in [server]; to measure through a pooler of your own, name its address with hosts in [load]"
            .to_owned());
    }
    if !configuration.is_load() {
        return Err("[pooler] applies to loads: timed steps and queries are measured in one session, with settings of its \
                    own; remove [pooler], or set mode = \"none\""
            .to_owned());
    }
    if configuration.promotes() {
        return Err("[pooler] forwards to the first server only, and an action promotes a standby: remove the action, or set \
                    mode = \"none\""
            .to_owned());
    }
    if mode == PoolMode::Session && !load.reconnect && pooler.pool_size < load.clients {
        return Err(format!(
            "session pooling keeps a connection to the server for each client as long as it is connected: {0} clients need \
             pool_size = {0} or more in [pooler], and it is {1}; or use mode = \"transaction\"",
            load.clients, pooler.pool_size
        ));
    }
    let keeps_none = pooler.max_prepared_statements == Some(0);
    if mode != PoolMode::Session && load.protocol == Protocol::Prepared && keeps_none {
        return Err(format!(
            "with max_prepared_statements = 0 in [pooler], {} pooling loses prepared statements, and protocol = \"prepared\" \
             needs them: remove the key, or use protocol = \"extended\" or mode = \"session\"",
            mode.name()
        ));
    }
    Ok(())
}

/// The reasons why trials of these cells cannot use a pooler: no PgBouncer is installed, or its version lacks a feature.
pub(crate) fn problems(cells: &[Cell]) -> Vec<String> {
    let mut problems = Vec::new();
    for Configuration { pooler, load, .. } in cells.iter().map(|cell| &cell.configuration) {
        let Some(mode) = pooler.mode else { continue };
        let problem = find(pooler).and_then(|program| {
            let is_prepared = load.protocol == Protocol::Prepared;
            if is_prepared {
                program.version.check_prepared(mode)?
            }
            Ok(())
        });
        problems.extend(problem.err().map(|error| error.to_string()));
    }
    problems
}

fn find(spec: &PoolerSpec) -> Result<PoolerProgram, server::ServerError> {
    let locations = Locations::from_environment(&server::Environment::of_process())?;
    find_pooler(spec.program.as_deref(), &locations)
}

/// Refuses scripts that a cell's pooler certainly refuses.
pub(crate) fn check_scripts(cell: &Configuration, scripts: &Scripts) -> Result<Vec<Warning>, RunError> {
    cell.pooler.mode.map_or_else(|| Ok(Vec::new()), |mode| check_pooling(mode, scripts))
}

/// Tells once what the poolers of an experiment take away from its scripts.
pub(crate) fn warn(cells: &[Cell], listener: Listener<'_>) {
    let mut told: Vec<Warning> = Vec::new();
    for Cell { configuration, .. } in cells.iter().filter(|cell| cell.configuration.pooler.mode.is_some()) {
        let workload = configuration.data.workload.clone().unwrap_or_default();
        // Scripts were read and checked before; files that have vanished meanwhile are told at the trial.
        let Ok(workload) = workload.open() else { continue };
        let Ok(scripts) = Scripts::read(&configuration.load.scripts, &*workload) else { continue };
        for warning in check_scripts(configuration, &scripts).unwrap_or_default() {
            if !told.contains(&warning) {
                listener.tell(Event::MeasurementWarning(warning.clone()));
                told.push(warning);
            }
        }
    }
}

/// A running pooler, and what a run needs of it.
pub(super) struct RunningPooler {
    process: server::Pooler,
    /// For the run.
    pub(super) in_use: PoolerInUse,
}

impl RunningPooler {
    /// Starts the pooler of a configuration, if it has one. The clients' target is then [`RunningPooler::direct`].
    pub(super) fn start(
        server: &Server,
        wanted: &Configuration,
        database: &str,
        control: &Control,
    ) -> Result<Option<Self>, RunError> {
        let spec = &wanted.pooler;
        let Some(mode) = spec.mode else { return Ok(None) };
        let program = find(spec)?;
        let settings = spec.settings.iter().map(|(name, value)| (name.clone(), value.clone()));
        let options = PoolerOptions {
            mode,
            pool_size: spec.pool_size,
            clients_max: wanted.load.clients.saturating_add(CLIENTS_BESIDE_LOAD),
            max_prepared_statements: spec.max_prepared_statements,
            settings: settings.collect(),
            listens: match wanted.network.kind {
                NetworkKind::Socket => PoolerListens::Nowhere,
                NetworkKind::Tcp => PoolerListens::Tcp,
                NetworkKind::Tls => PoolerListens::Tls,
            },
            stop: Some(control.shared_stop()),
        };
        let process = server.start_pooler(&program, &options)?;
        let clients = process.conninfo_tcp().unwrap_or_else(|| process.conninfo());
        let clients = Target { database: database.to_owned(), ..resolve(&clients)? };
        let recorded = |(name, value): (&String, &String)| (name.clone(), SafeText::from(value.as_str()));
        let in_use = PoolerInUse {
            clients,
            console: resolve(&process.conninfo_console())?,
            pid: process.pid(),
            about: Pooler {
                version: process.version().to_string(),
                mode,
                pool_size: spec.pool_size,
                max_prepared_statements: process.max_prepared_statements(),
                behind_relay: wanted.network_of_trial().needs_relay(),
                settings: spec.settings.iter().map(recorded).collect(),
                figures: None,
                missing: Vec::new(),
            },
        };
        Ok(Some(Self { process, in_use }))
    }

    /// What happened to it if it has ended by itself.
    pub(super) fn death(&mut self) -> Option<String> {
        if self.process.is_running() {
            return None;
        }
        let log = self.process.log();
        Some(format!("PgBouncer ended during the trial; the end of its log:\n{log}"))
    }
}

/// `PgBouncer with transaction pooling, pool of 20`; empty without a pooler.
pub(crate) fn in_words(it: &Configuration) -> String {
    let PoolerSpec { mode, pool_size, .. } = &it.pooler;
    mode.map_or_else(String::new, |mode| {
        format!("through PgBouncer with {} pooling and a pool of {pool_size}", mode.name())
    })
}
