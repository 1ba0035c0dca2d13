//! The preparation of a run: queries its servers, checks its statements, prepares its tables, starts the observer, and
//! makes the plan of the engine. `runner` has checked the specification, and `prepared` runs the load.

use connect::{LockWaitLimit, Session, Target};
use engine::{Compatibility, EventLoopChoice, Part, Plan, Reconnecting, ScriptPlan, TargetPlan};
use results::{UtcTime, Warning};
use server::{Facts, ServerError};
use stats::{OnDisconnect, Population, Protocol, QueueWatch, Scale, Until};

use crate::check::goals;
use crate::check::load_changes::load_changes;
use crate::check::pooling::check_pooling;
use crate::check::rules::{self, Situation};
use crate::control::Control;
use crate::distributed::{Load, Order, machines};
use crate::error::RunError;
use crate::event::Event;
use crate::execution::checks::{Checks, Rules};
use crate::execution::connection_places::check_prepared_statements;
use crate::execution::load_watch::Watch;
use crate::execution::observing::Observing;
use crate::execution::verification::Planned;
use crate::plan::places::{ATTEMPT_TIMEOUT, Places};
use crate::plan::relations;
use crate::plan::runner::{Runner, connect};
use crate::plan::session_settings::settings_in_force;
use crate::plan::statement_check;
use crate::prepared::{Finished, PlannedActions, Prepared};
use crate::record::environment;
use crate::record::plan_record;
use crate::spec::RunSpec;
use crate::spec::circumstances::Circumstances;
use crate::spec::pooler::PoolerInUse;
use crate::tables::left_changes::{LeftIndex, indexes_left_by_killed};

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

impl Runner {
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
        self.count_machines(control)?;
        let pooling = self.pooler.as_ref().map(|pooler| check_pooling(pooler.about.mode, &self.scripts));
        let mut warnings = pooling.transpose()?.unwrap_or_default();
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
        let environment = match (&self.circumstances.environment, &self.circumstances.records) {
            (Some(known), _) => known.clone(),
            (None, Some(records)) => environment::survey(known, places.addresses().next(), records),
            (None, None) => environment::bare(known),
        };
        let (circumstances, pooler) = (self.circumstances.clone(), self.pooler.clone());
        let until = self.spec.until.map(Until::new);
        let goals = goals::meters(&self.spec, &self.scripts);
        let queue = self.spec.rate_tps.zip(circumstances.queue_limit);
        let queue = queue.map(|(rate_tps, limit)| QueueWatch::new(rate_tps, limit));
        let actions = self.planned_actions(&places, relations.as_ref());
        let watch = Watch::new(&self.spec, self.surface);
        let (checks, rules) = (Checks::new(&self, scale), Rules::new(&self));
        let load = self.into_load(pooled.unwrap_or(places), further, scale);
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
            queue,
            actions,
            circumstances,
            pooler,
            watch,
            checks,
            rules,
            warnings,
            verification,
            started_at: UtcTime::now(),
        })
    }

    /// Finds out how many machines make the load, and refuses what is impossible on several.
    fn count_machines(&mut self, control: &Control) -> Result<(), RunError> {
        let machines = machines(&self.spec, control)?;
        self.spec.machines = Some(machines);
        let refusal = rules::impossible(&self.spec, Situation::OnSeveralMachines, self.surface);
        refusal.filter(|_| machines > 1).map_or(Ok(()), |sentence| Err(RunError::Usage(sentence)))
    }

    /// The actions, on the server that is observed.
    fn planned_actions(&self, places: &Places, relations: Option<&results::Relations>) -> PlannedActions {
        let place = places.addresses().next();
        let tables = relations.iter().flat_map(|relations| &relations.tables);
        PlannedActions {
            specs: self.spec.actions.clone(),
            target: place.map_or_else(|| self.target.clone(), |place| self.target.single(place)),
            tables: tables.map(|table| table.name.as_str().to_owned()).collect(),
            site: self.site.clone(),
        }
    }

    /// Does only what the engine requires, for callers that run the load many times: queries the server and vacuums
    /// its tables.
    ///
    /// # Errors
    /// The server is unreachable, or its tables are missing.
    ///
    /// # Panics
    /// The request did not say that the run is in turns.
    pub fn load(mut self, control: &Control, events: &mut dyn FnMut(Event<'_>)) -> Result<Load, RunError> {
        assert!(self.in_turns, "a runner of runs in turns is made with `RunRequest::in_turns`");
        self.count_machines(control)?;
        let Found { places, pooled, further, scale, .. } =
            control.unless_interrupted(self.find(None, control, events))?;
        Ok(self.into_load(pooled.unwrap_or(places), further, scale))
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
                check_prepared_statements(session, &self.target, self.surface, control)?;
            }
            Watch::new(&self.spec, self.surface).map(|watch| watch.check(session)).transpose()?;
            if !is_drop_in {
                self.check_connections(session, events)?;
            }
            self.prepare_tables(session, events);
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
        let Some(PoolerInUse { clients, .. }) = &self.pooler else { return Ok(None) };
        let mut session = control.connect(clients)?;
        self.session_settings[0] = self.circumstances.settings_in_force(&mut session, clients, control)?;
        Places::of(&session, clients, self.spec.on_disconnect == OnDisconnect::Reconnect, control).map(Some)
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

    /// The load, in this process alone or on several ranks.
    fn into_load(self, places: Places, further: Vec<Places>, scale: Scale) -> Load {
        let ranks = self.spec.machines.map_or(1, |machines| machines as usize);
        let order = (ranks > 1).then(|| {
            let spec = RunSpec { seed: Some(self.seed), scale: Some(scale), ..self.spec.clone() };
            let name = self.target.application_name.clone();
            Order::of(spec, ranks, self.client_target(), name, &self.targets, &self.scripts)
        });
        let plan = Plan { part: Part { rank: 0, ranks }, ..self.into_plan(places, further, scale) };
        Load::new(plan, order)
    }

    /// The engine's plan; clients connect to the addresses that the control sessions found.
    fn into_plan(self, places: Places, further: Vec<Places>, scale: Scale) -> Plan {
        let placed: Vec<_> = self
            .scripts
            .iter()
            .map(|(text, program)| (self.target_of(program).unwrap_or(0), text.weight))
            .collect();
        let Self {
            spec, scripts, target, targets: named, seed, session_settings, circumstances, pooler, ..
        } = self;
        let (changes, event_loop) = (load_changes(&spec, &scripts), event_loop(&spec));
        let mut reconnect_targets = Vec::new();
        let mut place = |name: &str, target: &Target, places: Places| {
            let (hosts, reconnect) = places.into_hosts(target);
            reconnect_targets.push(reconnect);
            TargetPlan { name: name.to_owned(), hosts }
        };
        // The observer knows the clients by the name that it gave the target.
        let application_name = target.application_name.clone();
        let through = |pooler: &PoolerInUse| Target { application_name, ..pooler.clients.clone() };
        let target = pooler.as_ref().map_or(target, through);
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
            changes,
            think_time: spec.think,
            // Sessions that hold a transaction are not the engine's.
            population: Population { idle_in_transaction: None, ..spec.population },
            latency_limit: spec.latency_limit,
            seed,
            reconnect: spec.reconnect,
            reconnecting,
            response_timeout: spec.response_timeout,
            max_tries: spec.max_tries,
            continue_on_error: spec.continue_on_error,
            exit_on_abort: spec.exit_on_abort,
            compatibility: circumstances.compatibility,
            event_loop,
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

/// The event loop of a run. A ring is read as data arrives, so it has no slow readers.
fn event_loop(spec: &RunSpec) -> EventLoopChoice {
    match spec.event_loop {
        EventLoopChoice::Auto if spec.population.slow_readers.is_some() => EventLoopChoice::Epoll,
        choice => choice,
    }
}
