//! The plan: the complete input of the engine, as plain data.
//!
//! The caller creates it; a run never changes it.

use std::num::NonZeroU32;
use std::time::Duration;

use connect::{Address, SessionAttributes, Transport};
use script::{CommandKind, Program, Symbols};
use serde::{Deserialize, Serialize};
use stats::rate::{GapLaw, LoadStage, RateCurve};
use stats::{Limit, Population, Protocol, ReconnectPolicy, ResultFormat, TimeLaw};
use wire::StartupParameters;
use wire::frontend::MESSAGE_LENGTH_MAX;

use crate::EngineError;
use crate::part::Part;
use crate::statement_effects;
use crate::token::TokenPlan;

/// How long running transactions may continue after the end of a timed run. Then they are cancelled, their
/// connections are closed, and they count as unfinished with their time so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grace {
    /// Ten times the 99th percentile of the response times so far, between [`Grace::MIN`] and [`Grace::MAX`].
    #[default]
    Automatic,
    /// A fixed time.
    #[serde(rename = "fixed_s", with = "stats::load::seconds")]
    Fixed(Duration),
    /// Without limit, as in pgbench.
    Unlimited,
}

impl Grace {
    /// Minimum of the automatic grace period, also if nothing has succeeded.
    pub const MIN: Duration = Duration::from_secs(10);
    /// Maximum of the automatic grace period.
    pub const MAX: Duration = Duration::from_secs(60);
    /// The automatic grace period in units of the 99th percentile.
    const PERCENTILES: u64 = 10;

    /// The automatic grace period for this 99th percentile of response times.
    pub(crate) fn after(p99_ns: Option<u64>) -> Duration {
        let several = p99_ns.unwrap_or(0).saturating_mul(Self::PERCENTILES);
        Duration::from_nanos(several).clamp(Self::MIN, Self::MAX)
    }
}

/// Default time limit for connecting a client.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// One script of the mix.
#[derive(Debug)]
pub struct ScriptPlan {
    /// The parsed script; its slots belong to [`Plan::symbols`].
    pub program: Program,
    /// Its share of the mix is `weight ÷ sum of weights`; 0: never selected.
    pub weight: u32,
    /// Index of its server in [`Plan::targets`].
    pub target: usize,
}

/// One server, or one way to it.
#[derive(Clone, Debug)]
pub struct TargetPlan {
    /// Name in scripts; empty for the default.
    pub name: String,
    /// Its hosts, at least one. With several, each connection selects one at random.
    pub hosts: Vec<HostPlan>,
}

/// One host of a target.
#[derive(Clone, Debug)]
pub struct HostPlan {
    /// The server's address.
    pub address: Address,
    /// Parameters of connections, as the control session determined them.
    pub transport: Transport,
    /// Start-up parameters of each client.
    pub startup: StartupParameters,
}

/// What clients do whose connection is lost: they connect again.
#[derive(Clone, Debug)]
pub struct Reconnecting {
    /// When.
    pub policy: ReconnectPolicy,
    /// Time limit of an attempt.
    pub attempt_timeout: Duration,
    /// For each of [`Plan::targets`]; a missing one: its hosts in their order, any session.
    pub targets: Vec<ReconnectTarget>,
}

/// The hosts of a target for further attempts.
#[derive(Clone, Debug)]
pub struct ReconnectTarget {
    /// The first connections of the run use only so many of [`TargetPlan::hosts`]; the others were not suitable then.
    pub suitable: usize,
    /// The order of attempts, as indexes of [`TargetPlan::hosts`].
    pub order: Vec<usize>,
    /// A client begins with a random one of them.
    pub is_random: bool,
    /// The required state of a server.
    pub session: SessionAttributes,
}

/// Selects pgbench's behaviour where pgmeter's differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compatibility {
    /// pgmeter's behaviour.
    Pgmeter,
    /// pgbench's behaviour (reference, sections 6 and 13):
    ///
    /// - [`Limit::Duration`] counts from before the clients connect, so that slow connects shorten the run;
    /// - a script that ends within a transaction block aborts its client, but its transaction has succeeded;
    /// - an error after that time ends its client without counting a failed transaction;
    /// - a statement that cannot be prepared counts as prepared: each execution is tried and fails;
    /// - with a rate, arrivals that found no free client are not counted at all, and the measured time ends with the
    ///   last transaction, not with the limit;
    /// - a worker that cannot wait for its sockets aborts its own clients, the others continue.
    Pgbench,
}

/// How the workers wait for their sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventLoopChoice {
    /// io_uring if available, otherwise epoll; the outcome contains the choice and the reason.
    #[default]
    Auto,
    /// io_uring; an error if it is not available.
    IoUring,
    /// Portable polling, epoll on Linux.
    Epoll,
}

/// How a load changes during a run; times count from the end of the warm-up. pgbench's compatibility has no changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadChanges {
    /// Open loop with a rate that changes, instead of [`Plan::rate_per_s`]. Requires a run with a duration.
    pub rate: Option<RateCurve>,
    /// The gaps between arrivals.
    pub law: GapLaw,
    /// Stages with numbers of clients in a closed loop; the other clients are connected and do nothing. Empty: all work.
    /// Requires a run with a duration.
    pub clients: Vec<LoadStage>,
    /// Mixes that replace the weights of the scripts, in the order of their times.
    pub mixes: Vec<MixChange>,
}

/// A mix from some time on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MixChange {
    /// Time since the end of the warm-up; the first mix also holds before.
    pub from: Duration,
    /// For each script its weight; 0 for scripts with a weight of 0 in the plan, and not 0 for all.
    pub weights: Vec<u32>,
}

/// Input of the engine.
#[derive(Debug)]
pub struct Plan {
    /// The servers, at least one; the first is the default. Each client connects to every target that a script uses.
    pub targets: Vec<TargetPlan>,
    /// For each of `targets`, parameters of the server and the values that each session must have, as the server writes
    /// them; missing: none. Each client compares them before its first transaction.
    pub session_settings: Vec<Vec<(String, String)>>,
    /// Time limit for connecting and authenticating a client.
    pub connect_timeout: Duration,
    /// The mix: at least one script with a weight above 0.
    pub scripts: Vec<ScriptPlan>,
    /// The variables of all scripts.
    pub symbols: Symbols,
    /// Variables defined by the user (`-D`), as text; they override the automatic ones.
    pub variables: Vec<(String, String)>,
    /// The automatic variable `:scale`.
    pub scale: i64,
    /// The part of the run that this process executes. All other fields are those of the whole run and equal on all
    /// ranks, except the targets.
    pub part: Part,
    /// Number of clients of all ranks, each with its own connection; at least one per rank.
    pub clients: usize,
    /// Number of threads of a rank; at least 1; at most one per client is started.
    pub workers: usize,
    /// Protocol for queries.
    pub protocol: Protocol,
    /// Format of results in the extended and prepared protocols. Results that `\gset` or `\aset` stores are text.
    pub result_format: ResultFormat,
    /// Whether clients parse the values of results, as an application does, and drop them.
    pub parse_results: bool,
    /// Limit of the run.
    pub limit: Limit,
    /// Grace period after the end.
    pub grace: Grace,
    /// The run ends if no transaction has ended for this long; `None`: no limit. For runs of a number of
    /// transactions, which would never end on an unresponsive server.
    pub silence_limit: Option<Duration>,
    /// Maximum time of the run; `None`: no limit.
    pub deadline: Option<Duration>,
    /// Transactions scheduled earlier than this after the start are run but not measured.
    pub warmup: Duration,
    /// Open loop: arrivals per second over all ranks and workers. `None`: closed loop, unless `changes` has a rate.
    pub rate_per_s: Option<f64>,
    /// What changes during the run.
    pub changes: LoadChanges,
    /// Time between two transactions of a client in a closed loop, also before its first one.
    pub think_time: Option<TimeLaw>,
    /// What clients do beside their transactions. [`Population::idle_in_transaction`] is the caller's, and has no effect here.
    pub population: Population,
    /// Successful transactions with a higher response time count as late. With a rate, a transaction whose start is
    /// delayed by more than this is skipped.
    pub latency_limit: Option<Duration>,
    /// Seed of all random numbers of the run.
    pub seed: u64,
    /// Each transaction has its own connection, made at its start and closed at its end.
    pub reconnect: bool,
    /// Clients whose connection is lost connect again; `None`: they are aborted.
    pub reconnecting: Option<Reconnecting>,
    /// A client that has waited this long for the reply to a command gives its connection up as lost; `None`: no limit.
    pub response_timeout: Option<Duration>,
    /// Maximum number of tries of a transaction, including the first; `None`: no limit.
    pub max_tries: Option<NonZeroU32>,
    /// An SQL error fails the transaction and does not abort the client.
    pub continue_on_error: bool,
    /// The first aborted client ends the run.
    pub exit_on_abort: bool,
    /// pgmeter's or pgbench's behaviour.
    pub compatibility: Compatibility,
    /// How the workers wait for their sockets.
    pub event_loop: EventLoopChoice,
    /// Maximum length of a client's message; a longer one aborts the client.
    pub message_length_max: usize,
    /// How clients write tokens, and tell the tracer of each commit; `None`: no tokens.
    pub tokens: Option<TokenPlan>,
}

impl Plan {
    /// Gaps of pgbench's arrivals are whole microseconds; at higher rates they would all be zero.
    pub const RATE_PER_WORKER_MAX: f64 = 1e6;

    /// Whether the scripts that run only read: all of their SQL can write only by functions that it calls.
    pub fn only_reads(&self) -> bool {
        let run = self.scripts.iter().filter(|script| script.weight > 0);
        run.flat_map(|script| script.program.commands()).all(|command| match &command.kind {
            CommandKind::Sql(sql) => statement_effects::only_reads(sql.numbered_text()),
            _ => true,
        })
    }

    /// pgbench's default: one client runs ten transactions with simple queries, each tried once, without a rate.
    /// Change it with `Plan { clients: 8, ..Plan::new(…) }`.
    pub fn new(targets: Vec<TargetPlan>, scripts: Vec<ScriptPlan>, symbols: Symbols) -> Self {
        Self {
            targets,
            session_settings: Vec::new(),
            connect_timeout: CONNECT_TIMEOUT,
            scripts,
            symbols,
            variables: Vec::new(),
            scale: 1,
            part: Part::default(),
            clients: 1,
            workers: 1,
            protocol: Protocol::Simple,
            result_format: ResultFormat::Text,
            parse_results: false,
            limit: Limit::TransactionsPerClient(10),
            grace: Grace::Automatic,
            silence_limit: None,
            deadline: None,
            warmup: Duration::ZERO,
            rate_per_s: None,
            changes: LoadChanges::default(),
            think_time: None,
            population: Population::default(),
            latency_limit: None,
            seed: 0,
            reconnect: false,
            reconnecting: None,
            response_timeout: None,
            max_tries: Some(NonZeroU32::MIN),
            continue_on_error: false,
            exit_on_abort: false,
            compatibility: Compatibility::Pgmeter,
            event_loop: EventLoopChoice::Auto,
            message_length_max: MESSAGE_LENGTH_MAX,
            tokens: None,
        }
    }

    /// Checks what the types do not ensure, before any thread or socket is created.
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        let refuse = |reason: &str| Err(EngineError::Plan(reason.to_owned()));
        if self.clients == 0 || self.workers == 0 {
            return refuse("a run requires at least one client and one worker");
        }
        self.check_part()?;
        if self.scripts.is_empty() || self.total_weight() == 0 {
            return refuse("total script weight must not be zero");
        }
        if self.targets.is_empty() || self.scripts.iter().any(|script| script.target >= self.targets.len()) {
            return refuse("each script requires a target");
        }
        if self.targets.iter().any(|target| target.hosts.is_empty()) {
            return refuse("each target requires an address");
        }
        if self.reconnect && self.reconnecting.is_some() {
            return refuse("a run with a connection for each transaction cannot replace lost connections");
        }
        if let Some(rate) = self.rate_per_s
            && (!rate.is_finite() || rate <= 0.0)
        {
            return refuse("the rate must be a positive number of transactions per second");
        }
        self.check_changes()?;
        if self.think_time.is_some() && (self.is_open() || self.compatibility == Compatibility::Pgbench) {
            return refuse("a think time requires a closed loop, without a rate");
        }
        self.check_population()?;
        let fits = |tokens: &TokenPlan| {
            let roles = tokens.roles.iter().map(Vec::len);
            roles.eq(self.scripts.iter().map(|script| script.program.commands().len()))
        };
        if self.tokens.as_ref().is_some_and(|tokens| !fits(tokens)) {
            return refuse("the roles of tokens belong to other scripts");
        }
        let workers = |part: Part| self.workers.min(part.clients(self.clients));
        let workers: usize = self.part.all().map(workers).sum();
        if self.peak_rate_per_s().is_some_and(|rate| rate > Self::RATE_PER_WORKER_MAX * workers as f64) {
            return refuse("the rate must be at most 1,000,000 transactions per second for each worker (-j)");
        }
        Ok(())
    }

    fn check_population(&self) -> Result<(), EngineError> {
        let refuse = |reason: &str| Err(EngineError::Plan(reason.to_owned()));
        let population = &self.population;
        if population.is_plain() {
            return Ok(());
        }
        if self.compatibility == Compatibility::Pgbench {
            return refuse("pgbench's compatibility has no population");
        }
        if population.active.is_some() && (self.is_open() || !self.changes.clients.is_empty()) {
            return refuse(
                "a number of active clients requires a closed loop without stages of clients, and without a rate",
            );
        }
        if self.reconnect && population.renews_sessions() {
            return refuse("a connection for each transaction has no lifetime");
        }
        if self.event_loop != EventLoopChoice::Epoll && population.slow_readers.is_some() {
            return refuse("clients that read slowly require the event loop epoll");
        }
        Ok(())
    }

    fn check_changes(&self) -> Result<(), EngineError> {
        let LoadChanges { rate, law, clients, mixes } = &self.changes;
        let refuse = |reason: String| Err(EngineError::Plan(reason));
        if self.changes == LoadChanges::default() {
            return Ok(());
        }
        if self.compatibility == Compatibility::Pgbench {
            return refuse("pgbench's compatibility has no load that changes".to_owned());
        }
        let is_timed = matches!(self.limit, Limit::Duration(_));
        if !is_timed && (rate.is_some() || !clients.is_empty() || !mixes.is_empty()) {
            return refuse("a load that changes requires a run with a duration".to_owned());
        }
        if let Some(problem) = rate.as_ref().and_then(RateCurve::problem) {
            return refuse(problem);
        }
        if !self.is_open() && !law.is_poisson() {
            return refuse("gaps between arrivals require a rate".to_owned());
        }
        if self.is_open() && !clients.is_empty() {
            return refuse(
                "a number of clients that changes requires a closed loop, without a rate".to_owned(),
            );
        }
        let problem = (!clients.is_empty()).then(|| LoadStage::problem(clients)).flatten();
        if let Some(problem) = problem {
            return refuse(problem);
        }
        let fits = |mix: &MixChange| {
            let pairs = || mix.weights.iter().zip(&self.scripts);
            mix.weights.len() == self.scripts.len()
                && pairs().all(|(weight, script)| *weight == 0 || script.weight > 0)
                && pairs().any(|(weight, _)| *weight > 0)
        };
        if !mixes.iter().all(fits) || !mixes.is_sorted_by_key(|mix| mix.from) {
            return refuse(
                "a mix must have a weight for each script, and be in the order of time".to_owned(),
            );
        }
        Ok(())
    }

    /// Whether a rate fixes the starts of transactions.
    pub fn is_open(&self) -> bool {
        self.rate_per_s.is_some() || self.changes.rate.is_some()
    }

    /// The highest rate of the run; `None` in a closed loop.
    pub(crate) fn peak_rate_per_s(&self) -> Option<f64> {
        self.changes.rate.as_ref().map(RateCurve::peak_tps).or(self.rate_per_s)
    }

    fn check_part(&self) -> Result<(), EngineError> {
        let Part { rank, ranks } = self.part;
        if rank >= ranks || ranks > Part::RANKS_MAX {
            let most = Part::RANKS_MAX;
            return Err(EngineError::Plan(format!(
                "rank {rank} of {ranks} does not exist: ranks are counted from 0, and {most} can run together"
            )));
        }
        if self.clients < ranks {
            return Err(EngineError::Plan(format!(
                "{ranks} ranks need at least one client each, but -c is {}; raise -c or start fewer ranks",
                self.clients
            )));
        }
        if self.part.is_distributed() && self.compatibility == Compatibility::Pgbench {
            return Err(EngineError::Plan(
                "pgbench's compatibility has one process only; use pgmeter bench for a run on several machines"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Sum of the scripts' weights.
    pub(crate) fn total_weight(&self) -> u64 {
        self.scripts.iter().map(|script| u64::from(script.weight)).sum()
    }
}
