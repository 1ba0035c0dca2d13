//! What is kept of a run: the versioned [`Record`], how it is written and read, and the environment.
//!
//! The engine's outcome comes in as `stats` values and leaves as one JSON document with the names of
//! `docs/record.md`, in microseconds and seconds. `cli` fills and writes records, `report` shows them.
//!
//! In reading order: the [`Record`] holds the [`Plan`] (what was asked), the [`Environment`] (where it
//! ran), the [`Summary`] and the [`Interval`]s (what was measured), and in the summary the [`Generator`] with the
//! [`Verdict`] on itself, for which a [`Calibration`] may be at hand. [`SafeText`] keeps passwords out of
//! all of it. A trial of timed steps leaves a [`StepsRecord`] instead. [`Host::detect`] and [`Conditions`] read the host,
//! [`Disk::measure`] its disk; nothing else here does.

mod action;
mod fault;
mod measured;
mod record;
mod status;

mod plan;

mod relations;

mod steps;

mod regression;

mod environment;

mod host;
mod system_files;

mod conditions;

mod allowance;
mod annotation;
mod disk;
mod process_stat;

mod transaction_errors;

mod times;

mod summary;

mod stage;
mod stalls;

mod endings;

mod outages;
mod population;

mod generator;
mod workers;

mod rank;

mod rules;
mod service_level;
mod verdict;
mod verification;

mod confidence;

mod observation;

mod pooler;

mod block_sources;

mod replication;

mod standby_figures;

mod warning;

mod warnings;

mod calibration;

mod comparison;
mod comparison_note;

mod nearest_limit;
mod search;

mod intervals;

mod kept_text;
mod late_generator;
mod load_watch;

mod safe_text;

mod processor_use;
mod server_limit;
mod server_resource;

mod secrets;
mod self_test;

mod check;

mod write;

mod read;

mod upgrade;

mod entry_id;
mod store;

mod error;
mod experiment_design;

pub use action::{Action, ActionOutcome, ActionResult, ActionWork, IndexState, TableState, TablesAt};
pub use allowance::{cpus_allowed, memory_allowed};
pub use annotation::{Annotation, Label, Note};
pub use block_sources::BlockSources;
pub use calendar::{UtcTime, unix_now};
pub use calibration::{Calibration, CalibrationUsed, Level};
pub use comparison::{
    COMPARISON_SCHEMA, Checkpoints, ComparedBlock, ComparedPair, ComparedSide, ComparisonMethod,
    ComparisonRecord, ComparisonStatus, DrawnAnew, UnjudgedMetric,
};
pub use comparison_note::{ComparisonNote, NoEffect};
pub use conditions::{Conditions, ProcessorShares, ProcessorTimes};
pub use confidence::{Confidence, Drift, DriftMeaning, Estimate, SteadyEvidence, SteadyMetric, SteadyState};
pub use disk::{Disk, DiskHolds, FlushTime};
pub use endings::{OtherEndings, TimesOfAll};
pub use entry_id::{EntryId, EntryKind};
pub use environment::{
    BuildFingerprint, ConnectionInUse, Environment, ServerFacts, Settings, TlsInUse, TransportInUse,
};
pub use error::ResultsError;
pub use experiment_design::{ChartSpec, ContrastSpec, DesignCell, ExperimentDesign, TrialOrder};
pub use fault::{Fault, FaultCourse, FaultKind, ShutdownMode};
pub use generator::{Generator, Introspection};
pub use host::Host;
pub use intervals::{EncodedDistribution, Interval, IntervalScript};
pub use kept_text::KeptText;
pub use late_generator::LateGenerator;
pub use load_watch::{LoadPause, LoadPauses, LoadStop, LoadWatch, WatchReason};
pub use measured::Measured;
pub use nearest_limit::{LimitedResource, NearestLimit};
pub use observation::{
    Ceiling, CeilingBasis, CounterRow, CounterTable, CpuOwner, Event, EventKind, FlushSharing, FlushSource,
    LockEnd, Missing, Observation, ObserveLevel, ObserverCost, PerTransaction, ReadSource, ServerSample,
    ShareInterval, StatementCounters, WaitMean, WaitMethod, WaitShare, Waits,
};
pub use outages::{
    AttemptCount, ClientOutage, ConnectAttempt, LossCause, LossCount, Outage, OutageWindow, Outages,
    RECOVERED_SHARE,
};
pub use plan::{Connection, Contention, PerMinute, Plan, Script, Target};
pub use pooler::{Pooler, PoolerFigures, PoolerSample, SessionFeature};
pub use population::{IdleInTransaction, PopulationSummary, StormSummary};
pub use process_stat::ProcessStat;
pub use rank::{Rank, RankClock, RankMeasured};
pub use record::{PgmeterBuild, Record, SCHEMA_VERSION, Tables};
pub use regression::{QueryRegression, Regressions};
pub use relations::{Index, Relation, RelationKind, Relations, StatementPlace};
pub use replication::{LagSample, LagValue, StaleSession, Staleness, StandbyLag};
pub use rules::{CheckFindings, DrawnRows};
pub use safe_text::{SafeText, escaped, escaped_json, steers};
pub use search::{
    ExpectedRate, LoadFigures, LoadVerdict, LoadWait, OverCount, RateInterval, RatioInterval, SEARCH_SCHEMA,
    SearchAnswer, SearchBurst, SearchComparison, SearchConfirmation, SearchGoal, SearchLoad, SearchMethod,
    SearchRecord, SearchResult, SearchState, SearchTrial, TrialDetails,
};
pub use secrets::{is_secret_name, secret_ranges};
pub use self_test::{Check, ClockFigures, Grade, SelfTest};
pub use server_resource::{ServerResource, is_block_io};
pub use service_level::ServiceLevel;
pub use stage::StageSummary;
pub use stalls::{Stall, Stalls};
pub use standby_figures::StandbyFigures;
pub use stats::AttemptOutcome;
pub use stats::comparison::{
    ComparedFigure, ComparedMetric, ComparisonDecision, CrossoverEffect, MetricFinding, MetricNoise,
    Percentile,
};
pub use stats::goals::{Goal, GoalResult, GoalStop, GoalTally, GoalVerdict};
pub use stats::rules::{Rule, RuleResult, RuleVerdict};
pub use stats::{Copied, Counts, Failures, Limit, PartitionMethod, PoolMode, Protocol, ResultFormat};
pub use status::Status;
pub use steps::{
    AnswerCheck, QuerySetPlan, RegressionPlan, RegressionSide, STEPS_SCHEMA_VERSION, StepBuffers, StepResult,
    StepTime, StepsRecord, StreamResult,
};
pub use store::{
    ChangedDatabase, ComparisonLine, DEFAULT_STORE, Entry, Execution, ExperimentLine, ExperimentRow, Found,
    ImportEvent, ImportTotals, Imported, LeftChange, ListFilter, MadeObject, NewDirectories, PlannedTrial,
    QuerySetLine, RENEWAL, Removed, RunLine, RunStatus, SearchLine, Store, StoredExperiment, StoredRun,
    StoredTrial, TableSizes, TrialFigures, TrialOfRun, TrialRow, TrialStatus, UnfinishedExperiment,
    entries_json, find, find_entry, records_in,
};
pub use summary::{CommandSummary, ScriptSummary, Summary, TrafficPerTransaction};
pub use times::{Connecting, Lag, Latency};
pub use transaction_errors::{ErrorCounts, TransactionError, TransactionErrors};
pub use verdict::{BusiestWorker, BusyCpus, Evidence, GeneratorRemedy, LimitedBy, NetworkSource, Verdict};
pub use verification::{
    CommitExample, LostWindow, TokenPlace, VERIFICATION_EXAMPLES_MAX, Verification, VerificationExamples,
    VerifiedScript,
};
pub use warning::{ComparedFact, FailedCheck, LimitedRank, Severity, StallEffect, Warning};
pub use warnings::{warnings, warnings_of_comparison};
pub use workers::{CommandTimes, EventLoop, EventLoopName, HeldBack, Lateness, Work, WorkerCondition};
pub use write::write_copy;
