//! The running pooler of a trial: whether its program can be used, what it takes away from scripts, and its start. Each
//! trial has its own, so that none finds the connections of an earlier one. `server` runs it.

use connect::Target;
use experiment::{Cell, Configuration, NetworkKind, PoolerSpec};
use results::{Pooler, SafeText, Warning};
use run::{Control, PoolerInUse, RunError, Scripts, check_pooling};
use server::{Locations, PoolerListens, PoolerOptions, PoolerProgram, Server, find_pooler};
use stats::Protocol;

use crate::event::{Event, Listener};
use crate::relays::resolve;

/// Clients of a pooler in addition to those of the load.
const CLIENTS_BESIDE_LOAD: u32 = 20;

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

/// Tells once what the poolers of an experiment take away from its scripts.
pub(crate) fn warn(cells: &[Cell], listener: Listener<'_>) {
    let mut told: Vec<Warning> = Vec::new();
    for Cell { configuration, .. } in cells {
        let Some(mode) = configuration.pooler.mode else { continue };
        let workload = configuration.data.workload.clone().unwrap_or_default();
        // Scripts were read and checked before; files that have vanished meanwhile are told at the trial.
        let Ok(workload) = workload.open() else { continue };
        let Ok(scripts) = Scripts::read(&configuration.load.scripts, &*workload) else { continue };
        for warning in check_pooling(mode, &scripts).unwrap_or_default() {
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
            clients_max: wanted.load.connections_max().saturating_add(CLIENTS_BESIDE_LOAD),
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
