//! A run from its specification to its record. `engine` measures; this module queries the server, collects the
//! intervals, and builds the record.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use connect::{LockWaitLimit, Overrides, Password, Session, Target};
use engine::{Compatibility, Plan, Reconnecting, ScriptPlan, TargetPlan, Tracer, WorkerIntro};
use results::{Annotation, SafeText, UtcTime, Warning};
use script::Program;
use server::{Facts, ServerError};
use stats::goals::GoalMeter;
use stats::{OnDisconnect, Protocol, Scale, Until};
use workload::{Tpcb, Workload};

use crate::action::{FaultSite, check_actions};
use crate::checks::{Checks, Rules};
use crate::connection_places::check_prepared_statements;
use crate::control::Control;
use crate::descriptors::provide_descriptors;
use crate::distributed::{Load, machines};
use crate::environment;
use crate::error::RunError;
use crate::event::Event;
use crate::generator;
use crate::left_changes::{LeftIndex, indexes_left_by_killed};
use crate::load_watch::Watch;
use crate::observing::Observing;
use crate::places::{ATTEMPT_TIMEOUT, Places};
use crate::plan_record;
use crate::pooling::{self, PoolerInUse};
use crate::prepared::{Finished, PlannedActions, Prepared};
use crate::relations;
use crate::scripts::Scripts;
use crate::session_settings::settings_in_force;
use crate::spec::RunSpec;
use crate::statement_check;
use crate::verification::{self, Planned};

/// Creates the tracer of each worker, which receives single transactions.
pub type Tracers<'a, 'w> = &'a dyn Fn(WorkerIntro) -> Box<dyn Tracer + 'w>;

/// Properties of the caller that are not part of the specification.
#[derive(Clone, Debug)]
pub struct Circumstances {
    /// Whether the run behaves as pgbench.
    pub compatibility: Compatibility,
    /// The run ends if no transaction ends for this long; `None`: no limit.
    pub silence_limit: Option<Duration>,
    /// Maximum time from the first transaction to the end of the run, for time budgets.
    pub deadline: Option<Duration>,
    /// Directory of calibrations; `None`: do not look for one.
    pub calibrations: Option<PathBuf>,
    /// Whether to query the server's settings, which takes several statements.
    pub asks_settings: bool,
    /// Directory of the record, whose disk is examined before the run; `None`: the record is not saved.
    pub records: Option<PathBuf>,
    /// One-way delay of a simulated network between clients and server.
    pub relay_delay: Option<Duration>,
    /// The managed server of the run and the network before it, for actions that are faults.
    pub site: Option<Arc<dyn FaultSite>>,
    /// A pooler to which the clients connect instead of the server.
    pub pooler: Option<PoolerInUse>,
    /// Values given relative to the server's host: the keys with their descriptions.
    pub relative: BTreeMap<String, String>,
    /// A command that repeats the run.
    pub command_line: Option<SafeText>,
    /// The user's label and note.
    pub annotation: Annotation,
    /// Asks the user for a password if the server requires one.
    pub ask_password: Option<fn() -> io::Result<Password>>,
    /// Called before the load starts, so that the caller can protect the load from its own output.
    pub output: Option<fn() -> OutputLoss>,
}

/// Called when the load is over; returns how many messages were lost meanwhile.
pub type OutputLoss = Box<dyn FnOnce() -> u64>;

impl Default for Circumstances {
    fn default() -> Self {
        Self {
            compatibility: Compatibility::Pgmeter,
            silence_limit: None,
            deadline: None,
            calibrations: generator::calibrations(),
            asks_settings: true,
            records: None,
            relay_delay: None,
            site: None,
            pooler: None,
            relative: BTreeMap::new(),
            command_line: None,
            annotation: Annotation::default(),
            ask_password: None,
            output: None,
        }
    }
}

/// A run with parsed scripts and resolved servers, not yet connected.
pub struct Runner {
    pub(crate) spec: RunSpec,
    pub(crate) workload: Arc<dyn Workload>,
    pub(crate) scripts: Scripts,
    pub(crate) target: Target,
    /// Additional servers, by their names in scripts.
    pub(crate) targets: Vec<(String, Target)>,
    pub(crate) seed: u64,
    /// The settings that connections to the targets ask for and have, once the servers were asked.
    pub(crate) session_settings: Vec<Vec<(String, String)>>,
    pub(crate) circumstances: Circumstances,
}

/// Facts about the server before the run.
struct Found {
    places: Places,
    /// Addresses of the clients, if they connect to a pooler.
    pooled: Option<Places>,
    /// Facts about the additional servers.
    further: Vec<Places>,
    scale: Scale,
    tables: results::Tables,
    relations: Option<results::Relations>,
    /// `None` if it was not queried.
    facts: Option<Result<Facts, ServerError>>,
    /// Whether the session went through a pooler that pgmeter did not start.
    is_pooled: bool,
    /// What killed comparisons left in the database.
    left: Vec<LeftIndex>,
}

/// Connects. If the server requires a password and none is known, asks for it once and stores it in the target for
/// later connections.
///
/// # Errors
/// The connection failed, or the user asked to stop.
pub fn connect(
    target: &mut Target,
    ask: Option<fn() -> io::Result<Password>>,
    control: &Control,
) -> Result<Session, RunError> {
    match (control.connect(target), ask) {
        (Err(RunError::Connect(error)), Some(ask)) if error.is_password_needed() => {
            let Ok(password) = control.leave_at_once(ask) else { return Err(error.into()) };
            *target = target.clone().with_password(password);
            control.connect(target)
        }
        (other, _) => other,
    }
}

impl Runner {
    /// A run on the server given by the environment (`PGHOST` and related variables).
    ///
    /// # Errors
    /// A script is invalid, or a server cannot be resolved.
    pub fn new(spec: RunSpec) -> Result<Self, RunError> {
        let target = connect::resolve(None, &Overrides::default(), &connect::Environment::of_process())?;
        Self::on(target, spec)
    }

    /// A run on this server.
    ///
    /// # Errors
    /// A script is invalid, or uses an undefined target.
    pub fn on(target: Target, spec: RunSpec) -> Result<Self, RunError> {
        Self::on_with(target, spec, &Overrides::default())
    }

    /// A run on this server and on others, which scripts name as their targets.
    ///
    /// # Errors
    /// A script is invalid, or uses an undefined target; two targets have one name.
    pub fn on_servers(
        target: Target,
        others: Vec<(String, Target)>,
        spec: RunSpec,
    ) -> Result<Self, RunError> {
        Self::on_targets(target, others, spec, &Overrides::default())
    }

    /// A run on this server; `overrides` fill in missing parameters of the additional targets' connections.
    ///
    /// # Errors
    /// A script is invalid, or uses an undefined target.
    pub fn on_with(target: Target, spec: RunSpec, overrides: &Overrides) -> Result<Self, RunError> {
        Self::on_targets(target, Vec::new(), spec, overrides)
    }

    fn on_targets(
        target: Target,
        mut targets: Vec<(String, Target)>,
        spec: RunSpec,
        overrides: &Overrides,
    ) -> Result<Self, RunError> {
        let workload = spec.workload.clone().unwrap_or_default().open()?;
        let scripts = Scripts::read(&spec.scripts, &*workload)?;
        let mut spec = spec;
        for (name, value) in workload.parameters() {
            spec.variables.entry(name.clone()).or_insert_with(|| value.clone());
        }
        scripts.check_variables(spec.variables.keys().map(String::as_str))?;
        if let Some(name) =
            spec.variables.iter().find(|(_, value)| value.contains('\0')).map(|(name, _)| name)
        {
            let reason = format!(
                "the value of the variable {name} contains a zero byte, which PostgreSQL does not accept"
            );
            return Err(RunError::Usage(reason));
        }
        scripts.check_parameter_counts(spec.protocol)?;
        let environment = connect::Environment::of_process();
        for further in &spec.targets {
            if targets.iter().any(|(name, _)| *name == further.name) {
                return Err(RunError::Usage(format!("--target {} is specified twice", further.name)));
            }
            let resolved = connect::resolve(Some(&further.connection), overrides, &environment)?;
            targets.push((further.name.clone(), resolved));
        }
        crate::goals::check_goals(&spec, &scripts)?;
        check_actions(&spec).map_err(RunError::Usage)?;
        verification::check(&spec)?;
        if spec.protocol == Protocol::Simple && !spec.result_format.is_text() {
            let reason = "--result-format binary requires -M extended or prepared: the simple protocol has only text results";
            return Err(RunError::Usage(reason.to_owned()));
        }
        if spec.reconnect && spec.on_disconnect == OnDisconnect::Reconnect {
            let reason = "--on-disconnect reconnect cannot be combined with --connect, which makes a new connection for each \
                          transaction: remove one of them";
            return Err(RunError::Usage(reason.to_owned()));
        }
        let runner = Self { targets, workload, ..Self::with_scripts(target, spec, scripts) };
        match runner.scripts.programs.iter().find(|program| runner.target_of(program).is_none()) {
            None => Ok(runner),
            Some(program) => {
                let (script, name) = (program.name(), program.target().unwrap_or_default());
                Err(RunError::Usage(format!(
                    "script {script} uses the undefined target \"{name}\"; define it with --target \
                     {name}=CONNECTION"
                )))
            }
        }
    }

    /// A run on this server with scripts that are already parsed, in any dialect, on pgbench's tables; the
    /// specification's scripts and workload are ignored.
    #[must_use]
    pub fn with_scripts(target: Target, spec: RunSpec, scripts: Scripts) -> Self {
        let seed = spec.seed.unwrap_or_else(plan_record::fresh_seed);
        let (workload, circumstances) = (Arc::new(Tpcb), Circumstances::default());
        let (targets, session_settings) = (Vec::new(), Vec::new());
        Self { spec, workload, scripts, target, targets, seed, session_settings, circumstances }
    }

    /// The same run with other circumstances.
    #[must_use]
    pub fn under(self, circumstances: Circumstances) -> Self {
        Self { circumstances, ..self }
    }

    /// The random seed, if none was given.
    #[must_use]
    pub fn drawn_seed(&self) -> Option<u64> {
        self.spec.seed.is_none().then_some(self.seed)
    }

    /// Whether the workload's tables are needed: the specification names the workload, or one of its scripts runs.
    pub(crate) fn needs_tables(&self) -> bool {
        self.spec.workload.is_some() || self.scripts.need_tables()
    }

    /// Number of servers to which each client connects; the engine opens no connection for scripts without weight.
    #[must_use]
    pub fn targets_in_use(&self) -> usize {
        let in_use = self.scripts.iter().filter(|(text, _)| text.weight > 0);
        in_use.filter_map(|(_, program)| self.target_of(program)).collect::<BTreeSet<_>>().len()
    }

    /// Raises the limit of open files for the clients of this process.
    ///
    /// # Errors
    /// The hard limit is too low.
    pub fn provide_descriptors(&self, control: &Control) -> Result<(), RunError> {
        let clients = self.spec.clients as usize;
        let of_this_rank = clients.div_ceil(machines(&self.spec, control)? as usize);
        let targets = self.targets_in_use();
        provide_descriptors((of_this_rank * targets) as u64).map_err(|too_few| {
            let with_targets = if targets < 2 { String::new() } else { format!(" with {targets} targets") };
            too_few.for_what(&format!("-c {clients}{with_targets}"))
        })
    }

    /// Refuses what would concern the transactions of this process only.
    ///
    /// # Errors
    /// The run has several load generators.
    pub fn refuse_several_machines(&self, what: &str, control: &Control) -> Result<(), RunError> {
        match machines(&self.spec, control)? {
            1 => Ok(()),
            _ => Err(RunError::Usage(format!(
                "{what} is not possible on several machines, because each has the transactions of its own clients only: use \
                 --machines 1"
            ))),
        }
    }

    /// Index of a script's server: 0 is the default, followed by the named ones.
    pub(crate) fn target_of(&self, program: &Program) -> Option<usize> {
        let Some(name) = program.target() else { return Some(0) };
        self.targets.iter().position(|(known, _)| known == name).map(|at| at + 1)
    }

    /// Prepares and runs without reporting events.
    ///
    /// # Errors
    /// There is no result.
    pub fn run(self, control: &Control) -> Result<Finished, RunError> {
        let prepared = self.prepare(control, &mut |_| ())?;
        prepared.run(control, &engine::no_tracer, &mut |_| ())
    }

    /// Queries the server, vacuums its tables, starts the observer, and examines the host.
    ///
    /// # Errors
    /// The server is unreachable, or its tables are missing.
    pub fn prepare(
        mut self,
        control: &Control,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<Prepared, RunError> {
        self.spec.machines = Some(machines(&self.spec, control)?);
        self.check_faults()?;
        let mut warnings = match &self.circumstances.pooler {
            Some(pooler) => pooling::check_pooling(pooler.about.mode, &self.scripts)?,
            None => Vec::new(),
        };
        let Found { places, pooled, further, scale, tables, relations, facts, is_pooled, left } =
            control.unless_interrupted(self.find(self.lock_wait_limit(), control, events))?;
        warnings.extend(is_pooled.then_some(Warning::ForeignPooler));
        warnings.extend(left.iter().map(LeftIndex::warning));
        control.check()?;
        let verification = Planned::new(&self, control, events)?;
        let mut observing = Observing::start(&mut self, &places.addresses().collect::<Vec<_>>());
        if is_pooled && self.circumstances.compatibility == Compatibility::Pgmeter {
            self.check_pool(&mut observing, control, events)?;
        }
        let plan_record = plan_record::plan(&self, pooled.as_ref().unwrap_or(&places), &further, scale);
        let known = facts.as_ref().and_then(|facts| facts.as_ref().ok());
        let environment = match &self.circumstances.records {
            Some(records) => environment::survey(known, places.addresses().next(), records),
            None => environment::bare(known),
        };
        let circumstances = self.circumstances.clone();
        let until = self.spec.until.map(Until::new);
        let goals = crate::goals::meter(&self.spec, &self.scripts);
        let actions = self.planned_actions(&places, relations.as_ref());
        let watch = Watch::new(&self.spec);
        let (checks, rules) = (Checks::new(&self, scale), Rules::new(&self));
        let load =
            Load::of(self, scale, |runner| runner.into_plan(pooled.unwrap_or(places), further, scale))?;
        let settings_error = facts.and_then(Result::err);
        Ok(Prepared {
            load,
            plan_record,
            environment,
            tables,
            relations,
            settings_error,
            observing,
            until,
            goals,
            actions,
            circumstances,
            watch,
            checks,
            rules,
            warnings,
            verification,
            started_at: UtcTime::now(),
        })
    }

    /// Refuses faults that are impossible here.
    fn check_faults(&self) -> Result<(), RunError> {
        for kind in self.spec.actions.iter().filter_map(|action| Some(&action.fault()?.kind)) {
            let refusal = match &self.circumstances.site {
                Some(site) => site.refusal(kind),
                None => Some(format!(
                    "the action {} is only possible on a server that pgmeter manages: an embedded server of an experiment \
                     (pgmeter lab){}; sql is possible on every server",
                    kind.name(),
                    if kind.is_of_network() {
                        ", with a relay before it"
                    } else {
                        ", or a permanent one over its Unix socket (pgmeter server start)"
                    }
                )),
            };
            if let Some(reason) = refusal {
                return Err(RunError::Usage(reason));
            }
        }
        Ok(())
    }

    /// The actions, on the server that is observed.
    fn planned_actions(&self, places: &Places, relations: Option<&results::Relations>) -> PlannedActions {
        let place = places.addresses().next();
        let tables = relations.iter().flat_map(|relations| &relations.tables);
        PlannedActions {
            specs: self.spec.actions.clone(),
            target: place.map_or_else(|| self.target.clone(), |place| self.target.single(place)),
            tables: tables.map(|table| table.name.as_str().to_owned()).collect(),
        }
    }

    /// A meter of the goals that never ends a run, for callers that run the plan many times.
    pub fn goal_meter(&self) -> GoalMeter {
        crate::goals::passive_meter(&self.spec, &self.scripts)
    }

    /// Does only what the engine requires, for callers that run the load many times: queries the server and vacuums
    /// its tables.
    ///
    /// # Errors
    /// The server is unreachable, or its tables are missing.
    pub fn load(mut self, control: &Control, events: &mut dyn FnMut(Event<'_>)) -> Result<Load, RunError> {
        if !self.spec.actions.is_empty() {
            let reason = "actions cannot be combined with runs in turns, which are too short for them: use pgmeter bench, or an \
                          experiment with pgmeter lab";
            return Err(RunError::Usage(reason.to_owned()));
        }
        if self.spec.verify {
            let reason = "--verify cannot be combined with runs in turns: use pgmeter bench, or an experiment with pgmeter lab";
            return Err(RunError::Usage(reason.to_owned()));
        }
        if Watch::new(&self.spec).is_some() {
            let reason = "--max-lag, --max-waiting-locks, --pause-when and --stop-when cannot be combined with runs in turns: use \
                          pgmeter bench, or an experiment with pgmeter lab";
            return Err(RunError::Usage(reason.to_owned()));
        }
        self.spec.machines = Some(machines(&self.spec, control)?);
        let Found { places, pooled, further, scale, .. } =
            control.unless_interrupted(self.find(None, control, events))?;
        Load::of(self, scale, |runner| runner.into_plan(pooled.unwrap_or(places), further, scale))
    }

    /// Queries the server and vacuums its tables.
    fn find(
        &mut self,
        lock_waits: Option<LockWaitLimit>,
        control: &Control,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<Found, RunError> {
        let ask = self.circumstances.ask_password;
        let reconnects = self.spec.on_disconnect == OnDisconnect::Reconnect;
        let mut further = Vec::new();
        self.session_settings = vec![Vec::new()];
        for at in 0..self.targets.len() {
            let target = &mut self.targets[at].1;
            let mut session = connect(target, ask, control)?;
            session.limit_lock_waits(lock_waits);
            let settings = self.circumstances.settings_in_force(&mut session, target, control)?;
            self.session_settings.push(settings);
            further.push(Places::of(&session, target, reconnects, control)?);
            control.guard(&mut session, |session| self.check_statements(session, at + 1))?;
        }
        events(Event::Connecting(&self.target));
        let mut session = connect(&mut self.target, ask, control)?;
        events(Event::Connected(&session, &self.target));
        session.limit_lock_waits(lock_waits);
        let places = Places::of(&session, &self.target, reconnects, control)?;
        let settings = self.circumstances.settings_in_force(&mut session, &self.target, control)?;
        self.session_settings[0] = settings;
        let pooled = self.pooled_places(control)?;
        control.guard(&mut session, |session| {
            let tables = self.find_tables(session, events)?;
            let scale = tables.and_then(|tables| tables.scale).or(self.spec.scale).unwrap_or_default();
            self.check_statements(session, 0)?;
            let is_drop_in = self.circumstances.compatibility != Compatibility::Pgmeter;
            if self.spec.protocol == Protocol::Prepared && !is_drop_in {
                check_prepared_statements(session, &self.target, control)?;
            }
            Watch::new(&self.spec).map(|watch| watch.check(session)).transpose()?;
            self.prepare_tables(session, events);
            if !is_drop_in {
                self.warn_of_reserved(session, events);
            }
            let facts = self.circumstances.asks_settings.then(|| server::facts(session));
            let tables = match tables {
                Some(tables) => results::Tables { scale: Some(scale), ..plan_record::tables(&tables) },
                None => results::Tables { scale: self.told_scale(scale), ..results::Tables::default() },
            };
            let is_known = matches!(&facts, Some(Ok(facts)) if facts.version_num > 0);
            let is_pooled = is_known && session.is_pooled();
            let relations = self.find_relations(session);
            let left = if is_known { indexes_left_by_killed(session) } else { Vec::new() };
            if session.is_lost() {
                // Fails with the reason, instead of a load that cannot connect.
                session.query("select 1")?;
            }
            Ok(Found { places, pooled, further, scale, tables, relations, facts, is_pooled, left })
        })
    }

    /// The pooler's address, if there is one; a session shows that it lets clients in.
    fn pooled_places(&mut self, control: &Control) -> Result<Option<Places>, RunError> {
        let Some(PoolerInUse { clients, .. }) = &self.circumstances.pooler else { return Ok(None) };
        let mut session = control.connect(clients)?;
        self.session_settings[0] = self.circumstances.settings_in_force(&mut session, clients, control)?;
        Places::of(&session, clients, self.spec.on_disconnect == OnDisconnect::Reconnect, control).map(Some)
    }

    /// The target of the clients of scripts without a named one.
    pub(crate) fn client_target(&self) -> &Target {
        self.circumstances.pooler.as_ref().map_or(&self.target, |pooler| &pooler.clients)
    }

    /// Checks the tables and the statements of the scripts on the server, and starts nothing.
    ///
    /// # Errors
    /// The server is unreachable, tables are missing, or a statement fails.
    pub fn check_scripts(&mut self, control: &Control) -> Result<(), RunError> {
        let mut session = connect(&mut self.target, self.circumstances.ask_password, control)?;
        control.unless_interrupted(control.guard(&mut session, |session| {
            self.find_tables(session, &mut |_| ())?;
            self.check_statements(session, 0)
        }))
    }

    /// Refuses scripts with a statement that fails on this server, in order of [`Runner::target_of`]. The drop-in sends it,
    /// as pgbench does, and so does a run that continues on errors.
    fn check_statements(&self, session: &mut Session, server: usize) -> Result<(), RunError> {
        let is_lenient =
            self.spec.continue_on_error || self.circumstances.compatibility == Compatibility::Pgbench;
        if is_lenient {
            return Ok(());
        }
        let target = server.checked_sub(1).map_or(&self.target, |at| &self.targets[at].1);
        let is_here = |script: usize| self.runs_on(script, server);
        statement_check::check(session, &self.scripts, &self.spec.variables, &target.user, is_here)
    }

    fn runs_on(&self, script: usize, server: usize) -> bool {
        let (text, program) = (&self.scripts.texts[script], &self.scripts.programs[script]);
        text.weight > 0 && self.target_of(program) == Some(server)
    }

    /// The tables that the statements use, if the server's facts are wanted too.
    fn find_relations(&self, session: &mut Session) -> Option<results::Relations> {
        let is_wanted =
            self.circumstances.asks_settings && self.circumstances.compatibility == Compatibility::Pgmeter;
        let is_here = |script: usize| self.runs_on(script, 0);
        is_wanted.then(|| relations::relations(session, &self.scripts, &self.spec.variables, is_here))?
    }

    /// The engine's plan; clients connect to the addresses that the control sessions found.
    fn into_plan(self, places: Places, further: Vec<Places>, scale: Scale) -> Plan {
        let placed: Vec<_> = self
            .scripts
            .iter()
            .map(|(text, program)| (self.target_of(program).unwrap_or(0), text.weight))
            .collect();
        let Self {
            spec,
            workload: _,
            scripts,
            target,
            targets: named,
            seed,
            session_settings,
            circumstances,
        } = self;
        let mut reconnect_targets = Vec::new();
        let mut place = |name: &str, target: &Target, places: Places| {
            let (hosts, reconnect) = places.into_hosts(target);
            reconnect_targets.push(reconnect);
            TargetPlan { name: name.to_owned(), hosts }
        };
        // The observer knows the clients by the name that it gave the target.
        let application_name = target.application_name.clone();
        let through = |pooler: &PoolerInUse| Target { application_name, ..pooler.clients.clone() };
        let target = circumstances.pooler.as_ref().map_or(target, through);
        let mut targets = vec![place("", &target, places)];
        targets.extend(named.iter().zip(further).map(|((name, target), places)| place(name, target, places)));
        let reconnecting = (spec.on_disconnect == OnDisconnect::Reconnect).then(|| Reconnecting {
            policy: spec.reconnect_policy,
            attempt_timeout: target.connect_timeout.unwrap_or(ATTEMPT_TIMEOUT),
            targets: reconnect_targets,
        });
        let programs = scripts.programs.into_iter().zip(placed);
        let programs =
            programs.map(|(program, (target, weight))| ScriptPlan { program, weight, target }).collect();
        let plan = Plan::new(targets, programs, scripts.symbols);
        let mut variables = spec.variables;
        if scale.whole().is_none() {
            variables.entry("scale".to_owned()).or_insert_with(|| scale.to_string());
        }
        Plan {
            session_settings,
            connect_timeout: target.connect_timeout.unwrap_or(plan.connect_timeout),
            variables: variables.into_iter().collect(),
            scale: scale.whole().map_or(1, i64::from),
            clients: spec.clients as usize,
            workers: spec.workers as usize,
            protocol: spec.protocol,
            result_format: spec.result_format,
            parse_results: spec.parse_results,
            limit: spec.limit,
            grace: spec.grace,
            silence_limit: circumstances.silence_limit,
            deadline: circumstances.deadline,
            warmup: spec.warmup,
            rate_per_s: spec.rate_tps,
            latency_limit: spec.latency_limit,
            seed,
            reconnect: spec.reconnect,
            reconnecting,
            response_timeout: spec.response_timeout,
            max_tries: spec.max_tries,
            continue_on_error: spec.continue_on_error,
            exit_on_abort: spec.exit_on_abort,
            compatibility: circumstances.compatibility,
            event_loop: spec.event_loop,
            ..plan
        }
    }
}

impl Circumstances {
    /// As [`settings_in_force`]. The drop-in sends settings and does not ask, as pgbench does.
    fn settings_in_force(
        &self,
        session: &mut Session,
        target: &Target,
        control: &Control,
    ) -> Result<Vec<(String, String)>, RunError> {
        match self.compatibility {
            Compatibility::Pgmeter => control.guard(session, |session| settings_in_force(session, target)),
            Compatibility::Pgbench => Ok(Vec::new()),
        }
    }
}
