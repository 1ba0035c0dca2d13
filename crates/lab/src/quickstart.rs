//! Runs of a workload on an embedded server that exists only for them: starts it, loads the tables, prepares a run for
//! each mix of the workload's scripts, and removes everything.

use connect::{Environment, Overrides, Target};
use engine::Limit;
use run::{Control, RunError, RunRequest, RunSpec, Runner, ScriptSource, ScriptSpec, Surface};
use server::{Locations, Server, ServerOptions};
use stats::Scale;
use workload::{InitOptions, InitProgress, Script, Workload, WorkloadName};

use crate::event::{Event, Listener};
use crate::servers::{Programs, obtain, sweep, warn_without_statements};

/// Connections in addition to the clients: control sessions, and some for the user.
const CONNECTIONS_BESIDE_CLIENTS: u32 = 20;

/// A workload, the server for it, and the load.
pub struct Quickstart<'a> {
    /// The programs of the server.
    pub programs: Programs<'a>,
    /// Its settings.
    pub server: ServerOptions,
    /// Whether the server need not count statements.
    pub no_instrumentation: bool,
    /// The load; its scripts are replaced by the workload's mixes.
    pub spec: RunSpec,
    /// The scale; `None` is that of the workload.
    pub scale: Option<Scale>,
    /// Whether the server keeps running after a success.
    pub keeps: bool,
}

impl Quickstart<'_> {
    /// Calls `measure` with the prepared run of each mix.
    ///
    /// # Errors
    /// The server cannot be started, loaded or removed, a run failed, or the user asked to stop.
    pub fn run<E: From<RunError>>(
        &self,
        locations: &Locations,
        listener: Listener<'_>,
        control: &Control,
        measure: &mut dyn FnMut(Runner) -> Result<(), E>,
    ) -> Result<(), E> {
        let name = self.spec.workload.clone().unwrap_or_default();
        let workload = name.open().map_err(RunError::from)?;
        let mut server = self.start(locations, listener, control)?;
        let result = self.measure(name, &*workload, &server, listener, control, measure);
        if self.keeps && result.is_ok() {
            let status = server.keep().map_err(RunError::from)?;
            let conninfo = status.conninfo_tcp.as_ref().unwrap_or(&status.conninfo);
            listener.say(format_args!("server kept. Connect: psql \"{conninfo}\""));
            listener.say(format_args!("Stop and remove it: pgmeter server stop --remove {}", status.name));
            return result;
        }
        let stopped = server.stop_and_remove().map_err(RunError::from);
        result?;
        Ok(stopped?)
    }

    fn start(
        &self,
        locations: &Locations,
        listener: Listener<'_>,
        control: &Control,
    ) -> Result<Server, RunError> {
        sweep(locations, listener);
        let installation = control.leave_at_once(|| obtain(self.programs, locations, listener))??;
        control.check()?;
        let busy = listener.busy(format_args!("starting PostgreSQL {} …", installation.version));
        let mut options = ServerOptions { stop: Some(control.shared_stop()), ..self.server.clone() };
        let connections = self.spec.clients.saturating_add(CONNECTIONS_BESIDE_CLIENTS);
        options.settings.insert(0, ("max_connections".to_owned(), connections.to_string()));
        let server = Server::start(&installation, &options, locations)?;
        drop(busy);
        warn_without_statements(&server, self.no_instrumentation, listener);
        Ok(server)
    }

    /// Loads the tables and runs the mixes.
    fn measure<E: From<RunError>>(
        &self,
        name: WorkloadName,
        workload: &dyn Workload,
        server: &Server,
        listener: Listener<'_>,
        control: &Control,
        measure: &mut dyn FnMut(Runner) -> Result<(), E>,
    ) -> Result<(), E> {
        let environment = Environment::of_process().only_control_timeout();
        let conninfo = server.conninfo_tcp().unwrap_or_else(|| server.conninfo());
        let own = server.conninfo_tcp_guarded().unwrap_or_else(|| server.conninfo());
        let target = connect::resolve(Some(&own), &Overrides::default(), &environment);
        let target = target.map_err(RunError::from)?;
        listener.say(format_args!("PostgreSQL is running: psql \"{conninfo}\""));
        self.load(workload, &target, listener, control)?;
        let spec = RunSpec { workload: Some(name), ..self.spec.clone() };
        for mix in workload.quickstart() {
            control.check()?;
            listener.say(format_args!("\n{}", heading(&mix, &spec)));
            let scripts = mix.iter().map(|script| script_of(script, mix.len())).collect();
            let spec = RunSpec { scripts, ..spec.clone() };
            let request = RunRequest { surface: Surface::Flags, ..RunRequest::on(target.clone(), spec) };
            measure(Runner::new(request)?)?;
        }
        Ok(())
    }

    fn load(
        &self,
        workload: &dyn Workload,
        target: &Target,
        listener: Listener<'_>,
        control: &Control,
    ) -> Result<(), RunError> {
        let scale = self.scale.unwrap_or_else(|| workload.quickstart_scale());
        let options = InitOptions { scale, jobs: run::loading_sessions(), ..InitOptions::default() };
        let mut session = control.connect(target)?;
        let mut told = |progress: InitProgress<'_>| listener.tell(Event::Load(progress));
        let loaded = run::load(workload, target, &mut session, &options, control, &mut told);
        // After an interrupted load, the message about loading again would be wrong: the server is removed.
        control.check()?;
        listener.tell(Event::Loaded(&options, &loaded?));
        Ok(())
    }
}

/// A single script needs no weight.
fn script_of(script: &Script, of: usize) -> ScriptSpec {
    ScriptSpec {
        source: ScriptSource::OfWorkload(script.name.clone().into_owned()),
        weight: if of == 1 { 1 } else { script.weight },
    }
}

fn heading(mix: &[&Script], spec: &RunSpec) -> String {
    let name = mix.iter().map(|script| &*script.name).collect::<Vec<_>>().join(" and ");
    let noun = if spec.clients == 1 { "client" } else { "clients" };
    let measured = match spec.limit {
        Limit::Duration(time) => format!("{} s", time.as_secs_f64()),
        Limit::TransactionsPerClient(each) => format!("{each} transactions per client"),
    };
    format!(
        "running {name}: {} {noun}, {measured} after a warm-up of {} s",
        spec.clients,
        spec.warmup.as_secs_f64()
    )
}
