//! A measured run from start to record: the one path of `bench`, `quickstart` and the drop-in for pgbench.
//! The measuring is done by `engine`; here the server is asked and the record made. What of it is shown, and how,
//! is up to a `Showing`.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use connect::{Address, HostOrder, Session, Target, Transport};
use engine::{
    Compatibility, End, EngineError, EventLoopChoice, Grace, HostPlan, Limit, Outcome, Plan, Progress,
    Protocol, ScriptPlan, TargetPlan, Witness, WorkerIntro,
};
use results::{
    Calibration, Environment, Measured, ObserveLevel, ProcessorTimes, Record, SafeText, Status, UtcTime,
    WaitMean,
};
use script::Program;
use server::ServerError;
use stats::Until;
use workload::{Tables, WorkloadError};

use crate::describing;
use crate::failure::Failure;
use crate::introspection;
use crate::mix::{Mix, ScriptText};
use crate::observing::{self, Observing};
use crate::password::connect_asking;
use crate::repeating;
use crate::signals::Signals;
use crate::stopped::StopWatch;
use crate::{surveying, terminal};

/// A run as it was asked for.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) target: Target,
    /// Further servers, by the names that scripts call them.
    pub(crate) targets: Vec<(String, Target)>,
    pub(crate) mix: Mix,
    pub(crate) variables: Vec<(String, String)>,
    /// `:scale` for script files; the tables' own where a built-in script is used.
    pub(crate) scale: Option<u32>,
    pub(crate) clients: u32,
    pub(crate) workers: u32,
    pub(crate) protocol: Protocol,
    pub(crate) limit: Limit,
    pub(crate) grace: Grace,
    /// Without a transaction that ends for so long, the run ends; `None`: it waits.
    pub(crate) silence_limit: Option<Duration>,
    /// The run ends so long after its first transaction, whatever its limit; for time budgets.
    pub(crate) deadline: Option<Duration>,
    pub(crate) warmup_s: f64,
    /// The half width of the intervals, as a share of their figures, at which the run may end early.
    pub(crate) until: Option<f64>,
    pub(crate) rate_per_s: Option<f64>,
    /// Drawn from the system if not given.
    pub(crate) seed: Option<u64>,
    /// Successes that took longer are late.
    pub(crate) latency_limit: Option<Duration>,
    /// A connection for each transaction.
    pub(crate) reconnect: bool,
    /// `None`: as many as it takes.
    pub(crate) max_tries: Option<NonZeroU32>,
    pub(crate) continue_on_error: bool,
    pub(crate) exit_on_abort: bool,
    pub(crate) manner: Compatibility,
    pub(crate) event_loop: EventLoopChoice,
    /// Where calibrations of this machine are kept; `None`: they are not looked for.
    pub(crate) calibrations: Option<PathBuf>,
    pub(crate) vacuum: Vacuum,
    /// Whether the server is asked for its settings, which are several statements of ours.
    pub(crate) asks_settings: bool,
    /// How closely the server is looked at meanwhile.
    pub(crate) observe: ObserveLevel,
    /// What a relay of ours between clients and server delays each way, if there is one.
    pub(crate) relay_delay: Option<Duration>,
    /// Whether this process's command makes this run alone, and would make it again.
    pub(crate) is_whole_command: bool,
}

/// What is vacuumed before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vacuum {
    Nothing,
    /// Branches and tellers; and the history is emptied.
    SmallTables,
    /// These, and the accounts.
    AllTables,
}

/// What is told of the vacuuming.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Vacuuming<'a> {
    SmallTables,
    Accounts,
    /// The run goes on all the same.
    Failed(&'a WorkloadError),
    Done,
}

/// Makes the witness of each worker.
pub(crate) type Witnesses = Box<dyn Fn(WorkerIntro) -> Box<dyn Witness>>;

/// How a run is shown while it goes on, and afterwards.
pub(crate) trait Showing {
    /// Opens the session that prepares the run; a password that it needed is kept for the clients.
    fn connect(&mut self, target: &mut Target, signals: &Signals) -> Result<Session, Failure>;

    /// `-s` was given and does not matter, since the tables have this scale.
    fn scale_ignored(&mut self, asked: u32, scale: u32);

    fn vacuuming(&mut self, what: Vacuuming<'_>);

    /// Makes those who look at single transactions, one for each worker.
    fn witnesses(&mut self, plan: &results::Plan) -> Result<Witnesses, Failure>;

    /// The directory that records go into; none if the run is not to be kept.
    fn records(&self) -> Option<PathBuf> {
        None
    }

    /// The run begins, in this environment; nothing keeps a run that is not to be kept.
    fn begins(
        &mut self,
        _started_at: UtcTime,
        _plan: &results::Plan,
        _environment: &Environment,
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// The run came to nothing, for this reason.
    fn breaks_off(&mut self, _failure: &Failure) {}

    /// A second has passed; `waits`: what the server's backends were doing in the one before.
    fn second(&mut self, progress: &Progress<'_>, waits: &[WaitMean]);

    /// The seconds that were measured, for the record.
    fn take_intervals(&mut self) -> Vec<results::Interval>;

    /// The run is over; whatever was asked for is shown, kept and judged.
    fn conclude(&mut self, record: &Record, outcome: &Outcome) -> Result<(), Failure>;
}

/// How a server was reached, and its clients will reach it.
pub(crate) struct Way {
    /// Where the control session went, or, where the load is balanced, all places that will do.
    places: Vec<(Address, Transport)>,
}

impl Way {
    fn of(session: &Session, target: &Target, signals: &Signals) -> Result<Self, Failure> {
        Ok(Self {
            places: match target.host_order {
                HostOrder::Given => vec![(session.address().clone(), session.transport().clone())],
                HostOrder::Random | HostOrder::Seeded(_) => {
                    signals.abandonable(target, Session::survey)?.map_err(|error| *error)?
                }
            },
        })
    }

    /// Where clients will go, never empty.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.places.iter().map(|(address, _)| address)
    }
}

/// What was found out about the server before the run.
struct Found {
    way: Way,
    /// Those to the further servers.
    ways: Vec<Way>,
    scale: u32,
    tables: results::Tables,
    /// `None` if it was not asked.
    facts: Option<Result<server::Facts, ServerError>>,
}

impl Job {
    /// Prepares, runs, makes the record and has it shown.
    pub(crate) fn run(mut self, showing: &mut dyn Showing, signals: &Signals) -> Result<(), Failure> {
        let Found { way, ways, scale, tables, facts } = self.prepare(showing, signals)?;
        signals.check()?;
        let workers = self.workers;
        let mut until = self.until.map(Until::new);
        let mut plan_record = describing::plan(&self, &way, &ways);
        let mut observing = Observing::start(&mut self, &way.addresses().collect::<Vec<_>>());
        let (manner, calibrations) = (self.manner, self.calibrations.take());
        let (is_whole_command, relay_delay) = (self.is_whole_command, self.relay_delay);
        let (address, seed_is_drawn) = (way.addresses().next().cloned(), self.seed.is_none());
        let variables = self.variables.clone();
        let plan = self.into_plan(way, ways, scale);
        plan_record.seed = plan.seed;
        plan_record.command_line =
            is_whole_command.then(|| repeating::command_line(seed_is_drawn.then_some(plan.seed)));
        plan_record.variables.entry("scale".to_owned()).or_insert_with(|| scale.to_string());
        let known = facts.as_ref().and_then(|facts| facts.as_ref().ok());
        let mut environment = match showing.records() {
            Some(records) => surveying::survey(known, address.as_ref(), &records),
            None => surveying::bare(known),
        };
        let started_at = UtcTime::now();
        let witnesses = showing.witnesses(&plan_record)?;
        showing.begins(started_at, &plan_record, &environment)?;
        let processors = ProcessorTimes::now();
        let lately = observing.lately();
        let mut second = |progress: &Progress<'_>| {
            showing.second(progress, &lately.waits());
            let is_enough = |until: &mut Until| !progress.warmup && until.take(progress.interval);
            progress.enough.set(until.as_mut().is_some_and(is_enough));
        };
        // As with pgbench, the drop-in waits for its own output.
        let is_own = manner == Compatibility::Pgmeter;
        let guards = is_own.then(|| (StopWatch::begin(), terminal::measure()));
        let outcome = observing
            .run(&plan, signals.stop_request(), &mut second, &witnesses)
            .map_err(|error| explain(error, plan.clients, manner))
            .inspect_err(|failure| showing.breaks_off(failure))?;
        let disturbances = guards.map(|(stopped, shown)| [stopped.end(), shown.end()]).into_iter().flatten();
        surveying::look_back(&mut environment, processors);
        let observation = observing.finish(&outcome);
        let loop_name = introspection::event_loop(&outcome.event_loop).name;
        let kept = |dir: PathBuf| Calibration::kept(&dir, &environment.host, loop_name);
        let calibration = calibrations.and_then(kept);
        let measured = Measured {
            summary: &outcome.summary,
            gaps: Some(&outcome.gaps),
            intervals: showing.take_intervals(),
            elapsed: outcome.elapsed.saturating_sub(plan.warmup),
            commands: describing::commands(&plan, &outcome.commands),
            connecting: plan.reconnect.then(|| describing::connecting(&outcome.reconnects)),
            client_cpu: Some(outcome.client_cpu),
            connection_time: Some(outcome.connect_time),
            introspection: Some(introspection::of(&outcome, &plan, relay_delay, calibration.as_ref())),
        };
        let status = status(&outcome, plan.clients, &variables);
        let mut record = Record::new(started_at, status, plan_record, environment, tables, measured);
        record.summary.until_reached = until.map(|until| until.is_reached());
        record.observation = observation;
        observing::add_ceilings(&mut record);
        record.plan.workers = u32::try_from(outcome.workers).unwrap_or(workers);
        if let Some(Err(error)) = facts {
            record.warnings.push(SafeText::from(format!("the server's settings could not be read: {error}")));
        }
        record.warnings.extend(overload(&outcome, plan.clients).map(SafeText::from));
        record
            .warnings
            .extend(uncancelled(&outcome).into_iter().chain(disturbances.flatten()).map(SafeText::from));
        record.warn();
        showing.conclude(&record, &outcome)
    }

    /// Only what the engine needs, for whoever runs it again and again: the server is asked, its tables are vacuumed.
    pub(crate) fn prepared(mut self, showing: &mut dyn Showing, signals: &Signals) -> Result<Plan, Failure> {
        let Found { way, ways, scale, .. } = self.prepare(showing, signals)?;
        Ok(self.into_plan(way, ways, scale))
    }

    /// Asks the server, and vacuums its tables.
    fn prepare(&mut self, showing: &mut dyn Showing, signals: &Signals) -> Result<Found, Failure> {
        let mut ways = Vec::new();
        for (_, target) in &mut self.targets {
            let session = connect_asking(target, signals)?;
            ways.push(Way::of(&session, target, signals)?);
        }
        let mut session = showing.connect(&mut self.target, signals)?;
        let way = Way::of(&session, &self.target, signals)?;
        signals.guard(&mut session, |session| -> Result<_, Failure> {
            let tables = self.find_tables(session, showing)?;
            let scale = tables.map(|tables| tables.scale).or(self.scale).unwrap_or(1);
            self.vacuum_tables(session, showing);
            let facts = self.asks_settings.then(|| server::facts(session));
            let tables = match tables {
                Some(tables) => describing::tables(&tables),
                None => results::Tables { scale: Some(scale), ..results::Tables::default() },
            };
            Ok(Found { way, ways, scale, tables, facts })
        })
    }

    /// Looks at the tables of the built-in scripts, if one is used.
    fn find_tables(
        &self,
        session: &mut Session,
        showing: &mut dyn Showing,
    ) -> Result<Option<Tables>, Failure> {
        if !self.mix.has_builtin() {
            return Ok(None);
        }
        let tables = workload::detect_tables(session)?;
        // pgbench runs on empty tables too, and its scripts then fail.
        if tables.scale == 0 && self.manner == Compatibility::Pgmeter {
            return Err(WorkloadError::ScaleUnusable { branches: "0".to_owned() }.into());
        }
        if let Some(asked) = self.scale {
            showing.scale_ignored(asked, tables.scale);
        }
        Ok(Some(tables))
    }

    fn vacuum_tables(&self, session: &mut Session, showing: &mut dyn Showing) {
        if self.vacuum == Vacuum::Nothing {
            return;
        }
        showing.vacuuming(Vacuuming::SmallTables);
        for failure in workload::prepare_run(session) {
            showing.vacuuming(Vacuuming::Failed(&failure));
        }
        showing.vacuuming(Vacuuming::Done);
        if self.vacuum == Vacuum::AllTables {
            showing.vacuuming(Vacuuming::Accounts);
            if let Err(failure) = workload::vacuum_accounts(session) {
                showing.vacuuming(Vacuuming::Failed(&failure));
            }
            showing.vacuuming(Vacuuming::Done);
        }
    }

    /// Whether every script runs on a server that is known, and no server has two names.
    pub(crate) fn check_targets(&self) -> Result<(), Failure> {
        for (at, (name, _)) in self.targets.iter().enumerate() {
            if self.targets[..at].iter().any(|(other, _)| other == name) {
                return Err(Failure::Usage(format!("--target {name} is given twice")));
            }
        }
        for program in &self.mix.programs {
            if let Some(name) = program.target()
                && self.target_of(program).is_none()
            {
                return Err(Failure::Usage(format!(
                    "script {} runs on the target \"{name}\", which no --target {name}=CONNECTION names",
                    program.name()
                )));
            }
        }
        Ok(())
    }

    /// How many servers each client has a connection to; as the engine counts, a script without weight needs none.
    pub(crate) fn targets_in_use(&self) -> usize {
        let scripts = self.mix.programs.iter().zip(&self.mix.texts);
        let weighty = scripts.filter(|(_, text)| text.weight > 0);
        weighty.filter_map(|(program, _)| self.target_of(program)).collect::<BTreeSet<_>>().len()
    }

    /// The server of a script: 0 is the default, the named ones follow.
    pub(crate) fn target_of(&self, program: &Program) -> Option<usize> {
        let Some(name) = program.target() else { return Some(0) };
        self.targets.iter().position(|(known, _)| known == name).map(|at| at + 1)
    }

    /// All that the engine needs; clients go to the addresses that the control sessions found.
    fn into_plan(self, way: Way, ways: Vec<Way>, scale: u32) -> Plan {
        let of_script =
            |(program, text): (&Program, &ScriptText)| (self.target_of(program).unwrap_or(0), text.weight);
        let placed: Vec<_> = self.mix.programs.iter().zip(&self.mix.texts).map(of_script).collect();
        let place = |name: &str, target: &Target, way: Way| {
            let host = |(address, transport)| {
                let startup = target.startup_parameters(target.host_of(&address));
                HostPlan { address, transport, startup }
            };
            TargetPlan { name: name.to_owned(), hosts: way.places.into_iter().map(host).collect() }
        };
        let mut targets = vec![place("", &self.target, way)];
        let named = self.targets.iter().zip(ways);
        targets.extend(named.map(|((name, target), way)| place(name, target, way)));
        let scripts = self.mix.programs.into_iter().zip(placed);
        let scripts =
            scripts.map(|(program, (target, weight))| ScriptPlan { program, weight, target }).collect();
        let plan = Plan::new(targets, scripts, self.mix.symbols);
        Plan {
            connect_timeout: self.target.connect_timeout.unwrap_or(plan.connect_timeout),
            variables: self.variables,
            scale: i64::from(scale),
            clients: self.clients as usize,
            workers: self.workers as usize,
            protocol: self.protocol,
            limit: self.limit,
            grace: self.grace,
            silence_limit: self.silence_limit,
            deadline: self.deadline,
            warmup: Duration::from_secs_f64(self.warmup_s),
            rate_per_s: self.rate_per_s,
            latency_limit: self.latency_limit,
            seed: self.seed.unwrap_or_else(describing::fresh_seed),
            reconnect: self.reconnect,
            max_tries: self.max_tries,
            continue_on_error: self.continue_on_error,
            exit_on_abort: self.exit_on_abort,
            compatibility: self.manner,
            event_loop: self.event_loop,
            ..plan
        }
    }
}

/// Under a rate, what was scheduled and never started is in no latency: that must be said.
fn overload(outcome: &Outcome, clients: usize) -> Option<String> {
    let unfinished = outcome.summary.total.counts.unfinished;
    (unfinished > clients as u64).then(|| {
        format!(
            "{unfinished} transactions were scheduled and not finished, more than there are clients: the rate was \
             not kept, and the latencies are those of the transactions that finished"
        )
    })
}

fn uncancelled(outcome: &Outcome) -> Option<String> {
    let count = outcome.uncancelled;
    (count > 0).then(|| {
        format!(
            "{count} statements were running when the run ended and could not be cancelled: they may still be running \
             on the server"
        )
    })
}

fn status(outcome: &Outcome, clients: usize, variables: &[(String, String)]) -> Status {
    match (&outcome.end, outcome.aborted.first()) {
        (End::Interrupted, _) => Status::Interrupted,
        (_, Some(first)) => {
            let aborted = outcome.aborted.len();
            let reason = format!("{aborted} of {clients} clients were aborted; the first: {first}");
            let variables = variables.iter().map(|(name, value)| (name, value));
            let reason = describing::without_secret_values(&reason, variables);
            Status::Failed { reason: SafeText::from(reason) }
        }
        (End::CutOff(cut_off), None) => {
            Status::Failed { reason: SafeText::from(format!("{cut_off}; --grace gives them another time")) }
        }
        (_, None) => Status::Complete,
    }
}

/// Adds what to do next to the engine's sentence.
fn explain(error: EngineError, clients: usize, manner: Compatibility) -> Failure {
    if manner == Compatibility::Pgmeter && error.is_too_many_connections() {
        return Failure::Usage(format!(
            "{error}. The server's max_connections is too low for {clients} clients: raise it, or ask for fewer with -c"
        ));
    }
    error.into()
}
