//! A measured run from start to record: the one path of `bench` and `quickstart`.
//! The measuring is done by `engine`; here the server is asked, the report printed and the record written.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use connect::{Address, Session, Target};
use engine::{End, EngineError, Limit, Manner, Outcome, Plan, Protocol, ScriptPlan, TargetPlan, no_witness};
use results::{Environment, Measured, Record, SafeText, Status, Tables, UtcTime};
use script::{Dialect, Program, Symbols};

use crate::describing;
use crate::failure::Failure;
use crate::live::Live;
use crate::signals::Signals;
use crate::terminal::Terminal;

/// How long a client may take to get in, when the user sets no `connect_timeout`.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
const MICROS_PER_SECOND: f64 = 1e6;
/// Reasons of aborted clients that are shown one by one.
const REASONS_SHOWN_MAX: usize = 3;

/// The text of one script of the mix.
#[derive(Clone, Debug)]
pub(crate) struct ScriptText {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) weight: u32,
    pub(crate) builtin: bool,
}

impl ScriptText {
    /// A built-in script by its name or a prefix of it.
    pub(crate) fn builtin(prefix: &str, weight: u32) -> Result<Self, Failure> {
        let builtin = workload::builtin(prefix)?;
        let (name, text) = (builtin.description.to_owned(), builtin.text.to_owned());
        Ok(Self { name, text, weight, builtin: true })
    }
}

/// The scripts of a run, parsed before anything is connected.
#[derive(Debug)]
pub(crate) struct Mix {
    pub(crate) texts: Vec<ScriptText>,
    programs: Vec<Program>,
    symbols: Symbols,
}

impl Mix {
    pub(crate) fn parse(texts: &[ScriptText], variables: &[(String, String)]) -> Result<Self, Failure> {
        let mut symbols = Symbols::new();
        for (name, _) in variables {
            symbols.intern(name);
        }
        let parse = |text: &ScriptText| {
            script::parse(&text.name, text.text.as_bytes(), &mut symbols, Dialect::Extended)
                .map_err(Failure::Script)
        };
        let programs = texts.iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Self { texts: texts.to_vec(), programs, symbols })
    }
}

/// A run as it was asked for.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) target: Target,
    pub(crate) mix: Mix,
    pub(crate) variables: Vec<(String, String)>,
    /// `:scale` for script files; the tables' own where a built-in script is used.
    pub(crate) scale: Option<u32>,
    pub(crate) clients: u32,
    pub(crate) workers: u32,
    pub(crate) protocol: Protocol,
    pub(crate) limit: Limit,
    pub(crate) warmup_s: f64,
    pub(crate) rate_per_s: Option<f64>,
    /// Drawn from the system if not given.
    pub(crate) seed: Option<u64>,
    /// Vacuum the tables and empty the history first.
    pub(crate) vacuum: bool,
    /// Seconds between live lines; 0: none.
    pub(crate) progress_s: u32,
    pub(crate) results: PathBuf,
}

impl Job {
    /// Prepares, runs, reports and records. An aborted or interrupted run is reported and recorded too,
    /// and then is a failure.
    pub(crate) fn run(self, terminal: &Terminal, signals: &Signals) -> Result<(), Failure> {
        let mut session = Session::connect(&self.target)?;
        let (scale, server_facts) = signals.guard(&mut session, |session| -> Result<_, Failure> {
            let scale = self.find_scale(session, terminal)?;
            if self.vacuum {
                for failure in workload::prepare_run(session) {
                    terminal.warn(format_args!("{failure} (the run goes on)"));
                }
            }
            Ok((scale, server::facts(session)))
        })?;
        signals.check()?;
        let address = session.address().clone();
        drop(session);

        let results = self.results.clone();
        let workers = self.workers;
        let mut live = Live::new(terminal, self.progress_s, self.rate_per_s.is_some());
        let mut plan_record = describing::plan(&self, &address);
        let plan = self.into_plan(address, scale);
        plan_record.seed = plan.seed;
        plan_record.latency_limit_us =
            plan.latency_limit.map(|limit| limit.as_secs_f64() * MICROS_PER_SECOND);
        plan_record.max_tries = plan.max_tries.map(NonZeroU32::get);
        plan_record.reconnect = plan.reconnect;
        plan_record.continue_on_error = plan.continue_on_error;
        plan_record.variables.entry("scale".to_owned()).or_insert_with(|| scale.to_string());
        let started_at = UtcTime::now();
        let outcome = engine::run(&plan, signals.stop(), &mut |progress| live.show(progress), &no_witness)
            .map_err(|error| explain(error, plan.clients))?;
        let environment = Environment {
            host: results::Host::detect(),
            server: server_facts.as_ref().ok().map(describing::server),
        };
        let measured = Measured {
            summary: &outcome.summary,
            intervals: live.into_intervals(),
            elapsed: outcome.elapsed.saturating_sub(plan.warmup),
            commands: describing::commands(&plan, &outcome.commands),
            connecting: plan.reconnect.then(|| describing::connecting(&outcome.reconnects)),
            client_cpu: Some(outcome.client_cpu),
            connection_time: Some(outcome.connect_time),
        };
        let tables = Tables { scale: Some(scale), ..Tables::default() };
        let status = status(&outcome, plan.clients);
        let mut record = Record::new(started_at, status, plan_record, environment, tables, measured);
        record.plan.workers = u32::try_from(outcome.workers).unwrap_or(workers);
        if let Err(error) = server_facts {
            record.warnings.push(SafeText::from(format!("the server's settings could not be read: {error}")));
        }
        record.warnings.extend(overload(&outcome, plan.clients).map(SafeText::from));
        conclude(&record, &outcome, plan.clients, &results, terminal)
    }

    fn find_scale(&self, session: &mut Session, terminal: &Terminal) -> Result<u32, Failure> {
        if !self.mix.texts.iter().any(|text| text.builtin) {
            return Ok(self.scale.unwrap_or(1));
        }
        let scale = workload::detect_scale(session)?;
        if self.scale.is_some_and(|asked| asked != scale) {
            terminal.warn(format_args!(
                "scale option ignored, using count from pgbench_branches table ({scale})"
            ));
        }
        Ok(scale)
    }

    /// All that the engine needs; clients go to the address that the control session found.
    fn into_plan(self, address: Address, scale: u32) -> Plan {
        let startup = self.target.startup_parameters(self.target.host_of(&address));
        let weights = self.mix.texts.iter().map(|text| text.weight);
        Plan {
            targets: vec![TargetPlan { name: String::new(), address, startup }],
            connect_timeout: self.target.connect_timeout.unwrap_or(CONNECT_TIMEOUT),
            scripts: self
                .mix
                .programs
                .into_iter()
                .zip(weights)
                .map(|(program, weight)| ScriptPlan { program, weight, target: 0 })
                .collect(),
            symbols: self.mix.symbols,
            variables: self.variables,
            scale: i64::from(scale),
            clients: self.clients as usize,
            workers: self.workers as usize,
            protocol: self.protocol,
            limit: self.limit,
            warmup: Duration::from_secs_f64(self.warmup_s),
            rate_per_s: self.rate_per_s,
            latency_limit: None,
            seed: self.seed.unwrap_or_else(describing::fresh_seed),
            reconnect: false,
            max_tries: Some(NonZeroU32::MIN),
            continue_on_error: false,
            exit_on_abort: false,
            manner: Manner::Pgmeter,
        }
    }
}

/// Shows the report, writes the record, and judges.
fn conclude(
    record: &Record,
    outcome: &Outcome,
    clients: usize,
    results: &std::path::Path,
    terminal: &Terminal,
) -> Result<(), Failure> {
    terminal.say("");
    terminal.print(&report::text(record, terminal.style()));
    let path = record.write_into(results)?;
    terminal.print(&format!("\n  record          {}\n", path.display()));
    if record.summary.counts.scheduled == 0 {
        terminal.warn("no transaction was scheduled in the measured time; run longer, or at a higher rate");
    }
    for aborted in outcome.aborted.iter().take(REASONS_SHOWN_MAX) {
        terminal.complain(&aborted.to_string());
    }
    match outcome.end {
        End::Interrupted => {
            Err(Failure::Interrupted("interrupted; the results above are of the time until then"))
        }
        _ if outcome.aborted.is_empty() => Ok(()),
        _ => Err(Failure::Aborted(format!(
            "{} of {clients} clients were aborted; the above results are incomplete",
            outcome.aborted.len()
        ))),
    }
}

/// Under a rate, what was scheduled and never started is in no latency: that must be said.
fn overload(outcome: &Outcome, clients: usize) -> Option<String> {
    let unfinished = outcome.summary.total.counts.unfinished;
    (unfinished > clients as u64).then(|| {
        format!(
            "{unfinished} transactions were scheduled and not finished, more than there are clients: the server \
             did not keep up with the rate, and the latencies are those of the transactions that finished"
        )
    })
}

fn status(outcome: &Outcome, clients: usize) -> Status {
    match (&outcome.end, outcome.aborted.first()) {
        (End::Interrupted, _) => Status::Interrupted,
        (_, Some(first)) => {
            let aborted = outcome.aborted.len();
            let reason = format!("{aborted} of {clients} clients were aborted; the first: {first}");
            Status::Failed { reason: SafeText::from(reason) }
        }
        (_, None) => Status::Complete,
    }
}

/// Adds what to do next to the engine's sentence.
fn explain(error: EngineError, clients: usize) -> Failure {
    if error.is_too_many_connections() {
        return Failure::Usage(format!(
            "{error}. The server's max_connections is too low for {clients} clients: raise it, or ask for fewer with -c"
        ));
    }
    error.into()
}
