//! The load generator: clients on workers; owns threads, polling, pacing and the clock.
//!
//! [`run`] takes a [`Plan`] and returns an [`Outcome`]; it prints nothing. A worker serves many clients through one
//! [`Driver`], which owns sockets and the clock, so the same worker runs over epoll and, in tests, in virtual time
//! against a fake server ([`run_on`]).

mod abort;
mod arrivals;
mod client;
mod conclusion;
mod coordinator;
mod driver;
mod error;
mod errors;
mod load;
mod measurement;
mod merging;
mod net;
mod outcome;
mod part;
mod peers;
mod plan;
mod rank_outcome;
mod renewals;
mod run;
mod statement_effects;
mod statements;
mod stopping;
mod timeline;
mod token;
mod tracer;
mod worker;

pub use abort::{AbortCause, AbortedClient, CommandPosition};
pub use driver::{Driver, DriverUsage, Event, EventLoop, IsOver, Receive, ShellAnswer};
pub use error::{ConnectReason, EngineError};
pub use errors::{ERROR_KINDS_MAX, ErrorCounts, ErrorKind, ErrorTable};
pub use outcome::{CutOff, End, Exceeded, Outcome, Progress, RankFigures, Reconnects};
pub use part::{ClientNumbers, Part};
pub use peers::{Inbox, Peers, RankMessage};
pub use plan::{
    Compatibility, EventLoopChoice, Grace, HostPlan, LoadChanges, MixChange, Plan, ReconnectTarget,
    Reconnecting, ScriptPlan, TargetPlan,
};
pub use rank_outcome::RankOutcome;
pub use renewals::{SessionRenewals, StormCourse};
pub use run::{run, run_on, run_rank, run_rank_on, run_with_peers, run_with_peers_on};
pub use stats::{Limit, Protocol, ResultFormat};
pub use stopping::{DISTRIBUTED_LEAD, EndDecisions, GateState, LoadGate, SharedEnd, StopRequest};
pub use token::{Token, TokenPlan, TokenRole};
pub use tracer::{
    ClientEvent, ClientStep, CommitEvent, CommitReply, EndedTransaction, Tracer, WorkerIntro, no_tracer,
};
pub use wire::frontend::PARAMETERS_MAX;
