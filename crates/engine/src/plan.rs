//! The plan: all that the engine needs to know before it starts, as plain data.
//!
//! It is made by whoever reads the command line or an experiment file, and is never changed by a run.

use std::num::NonZeroU32;
use std::time::Duration;

use connect::{Address, Transport};
use script::{Program, Symbols};
use serde::{Deserialize, Serialize};
use stats::{Limit, Protocol};
use wire::StartupParameters;
use wire::frontend::MESSAGE_LENGTH_MAX;

use crate::EngineError;

/// How long transactions that are under way at the end of a timed run may go on. Then they are cancelled, their
/// connections are closed, and they count as unfinished with the time that they had run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grace {
    /// Ten times the 99th percentile of the response times so far, between [`Grace::MIN`] and [`Grace::MAX`].
    #[default]
    Automatic,
    /// This long.
    #[serde(rename = "fixed_s", with = "stats::load::seconds")]
    Fixed(Duration),
    /// Until the last one has ended, as in pgbench.
    Unlimited,
}

impl Grace {
    /// The shortest automatic grace period: also where nothing has succeeded, so that nothing is known.
    pub const MIN: Duration = Duration::from_secs(10);
    /// The longest automatic grace period.
    pub const MAX: Duration = Duration::from_secs(60);
    /// The automatic grace period, in 99th percentiles.
    const PERCENTILES: u64 = 10;

    /// The automatic grace period after a run with this 99th percentile of response times.
    pub(crate) fn after(p99_ns: Option<u64>) -> Duration {
        let several = p99_ns.unwrap_or(0).saturating_mul(Self::PERCENTILES);
        Duration::from_nanos(several).clamp(Self::MIN, Self::MAX)
    }
}

/// How long a client may take to get in, unless a plan says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// One script of the mix.
#[derive(Debug)]
pub struct ScriptPlan {
    /// The parsed script; its slots belong to [`Plan::symbols`].
    pub program: Program,
    /// Its share of the mix is `weight ÷ sum of weights`; 0 means never chosen.
    pub weight: u32,
    /// The server it runs on, by its index in [`Plan::targets`].
    pub target: usize,
}

/// One server, or one way to it.
#[derive(Clone, Debug)]
pub struct TargetPlan {
    /// What scripts call it; empty for the default.
    pub name: String,
    /// Where it is, at least one place. Where there are several, each connection draws one of them.
    pub hosts: Vec<HostPlan>,
}

/// One place at which a target is.
#[derive(Clone, Debug)]
pub struct HostPlan {
    /// The server's address.
    pub address: Address,
    /// How connections to it are made; what the control session has found to work.
    pub transport: Transport,
    /// How each client introduces itself.
    pub startup: StartupParameters,
}

/// Whether a run behaves as pgbench does where pgmeter's own behaviour differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compatibility {
    /// As pgmeter.
    Pgmeter,
    /// As pgbench (reference, sections 6 and 13):
    ///
    /// - [`Limit::Duration`] counts from before the clients connect, so that slow connects shorten the run;
    /// - a script that ends within a transaction block aborts its client, but its transaction has succeeded;
    /// - an error after that time ends its client without a transaction being counted as failed;
    /// - a statement that cannot be prepared counts as prepared: its execution is tried, now and later, and fails;
    /// - under a rate, what was scheduled and found no free client is not counted at all, and the measured time
    ///   ends with the last transaction, not with the limit;
    /// - a worker that cannot wait for its sockets aborts its own clients, the others go on.
    Pgbench,
}

/// How the workers are to wait for their sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventLoopChoice {
    /// io_uring where the system lets us, otherwise epoll; the outcome says which, and why.
    #[default]
    Auto,
    /// io_uring, or no run.
    IoUring,
    /// The portable poll, epoll on Linux.
    Epoll,
}

/// All that the engine needs.
#[derive(Debug)]
pub struct Plan {
    /// Where the scripts run, at least one; the first is the default. Each client has a connection to each of them
    /// that a script uses.
    pub targets: Vec<TargetPlan>,
    /// How long a client may take to connect and authenticate.
    pub connect_timeout: Duration,
    /// The mix, at least one script with a weight above 0.
    pub scripts: Vec<ScriptPlan>,
    /// The variables of all scripts.
    pub symbols: Symbols,
    /// Variables defined by the user (`-D`), as text; they win over the automatic ones.
    pub variables: Vec<(String, String)>,
    /// The automatic variable `:scale`.
    pub scale: i64,
    /// Simulated users, each with its own connection; at least 1.
    pub clients: usize,
    /// Threads; at least 1; more than clients are not started.
    pub workers: usize,
    /// How SQL commands travel.
    pub protocol: Protocol,
    /// When the run ends by itself.
    pub limit: Limit,
    /// How long what is under way at that moment may go on.
    pub grace: Grace,
    /// The run ends when no transaction has ended for so long; `None`: it waits. For runs that end with a number of
    /// transactions, which a silent server would make endless.
    pub silence_limit: Option<Duration>,
    /// The run ends so long after its start, whatever its limit; `None`: by its limit alone.
    pub deadline: Option<Duration>,
    /// Transactions scheduled earlier than this after the start are run but not measured.
    pub warmup: Duration,
    /// Open loop: arrivals per second over all workers, a Poisson stream. `None`: closed loop.
    pub rate_per_s: Option<f64>,
    /// Successes whose response time is above this are counted as late. Under a rate, what is later than this
    /// already when its turn comes is not run but skipped.
    pub latency_limit: Option<Duration>,
    /// Every random draw of the run comes from this number.
    pub seed: u64,
    /// Each transaction has a connection of its own, made when it starts and closed when it ends.
    pub reconnect: bool,
    /// Tries of one transaction, the first included; `None`: as many as it takes.
    pub max_tries: Option<NonZeroU32>,
    /// An error of an SQL command fails the transaction and not the client.
    pub continue_on_error: bool,
    /// The first client that cannot go on ends the run.
    pub exit_on_abort: bool,
    /// Whether it behaves as pgbench.
    pub compatibility: Compatibility,
    /// How the workers wait for their sockets.
    pub event_loop: EventLoopChoice,
    /// The longest message that a client sends; a longer one aborts it.
    pub message_length_max: usize,
}

impl Plan {
    /// Arrivals are drawn in whole microseconds; more of them would fall on the same one for ever.
    pub const RATE_PER_WORKER_MAX: f64 = 1e6;

    /// What pgbench does when it is told nothing: one client runs ten transactions, by simple queries, each tried
    /// once, as fast as it can. The rest is said in `Plan { clients: 8, ..Plan::new(…) }`.
    pub fn new(targets: Vec<TargetPlan>, scripts: Vec<ScriptPlan>, symbols: Symbols) -> Self {
        Self {
            targets,
            connect_timeout: CONNECT_TIMEOUT,
            scripts,
            symbols,
            variables: Vec::new(),
            scale: 1,
            clients: 1,
            workers: 1,
            protocol: Protocol::Simple,
            limit: Limit::TransactionsPerClient(10),
            grace: Grace::Automatic,
            silence_limit: None,
            deadline: None,
            warmup: Duration::ZERO,
            rate_per_s: None,
            latency_limit: None,
            seed: 0,
            reconnect: false,
            max_tries: Some(NonZeroU32::MIN),
            continue_on_error: false,
            exit_on_abort: false,
            compatibility: Compatibility::Pgmeter,
            event_loop: EventLoopChoice::Auto,
            message_length_max: MESSAGE_LENGTH_MAX,
        }
    }

    /// Checks what cannot be said in the types, before any thread or socket exists.
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        let refuse = |reason: &str| Err(EngineError::Plan(reason.to_owned()));
        if self.clients == 0 || self.workers == 0 {
            return refuse("a run needs at least one client and one worker");
        }
        if self.scripts.is_empty() || self.total_weight() == 0 {
            return refuse("total script weight must not be zero");
        }
        if self.targets.is_empty() || self.scripts.iter().any(|script| script.target >= self.targets.len()) {
            return refuse("each script needs a target to run on");
        }
        if self.targets.iter().any(|target| target.hosts.is_empty()) {
            return refuse("each target needs a place where it is");
        }
        if let Some(rate) = self.rate_per_s
            && (!rate.is_finite() || rate <= 0.0)
        {
            return refuse("the rate must be a positive number of transactions per second");
        }
        let workers = self.workers.min(self.clients) as f64;
        if self.rate_per_s.is_some_and(|rate| rate > Self::RATE_PER_WORKER_MAX * workers) {
            return refuse("the rate must be at most 1,000,000 transactions per second for each worker (-j)");
        }
        Ok(())
    }

    /// Sum of the scripts' weights.
    pub(crate) fn total_weight(&self) -> u64 {
        self.scripts.iter().map(|script| u64::from(script.weight)).sum()
    }
}
