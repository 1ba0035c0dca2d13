//! Output of results: [`file`] writes reports whole or not at all, [`LogFiles`] the logs of transactions.
//! [`MetricsServer`] answers over HTTP, and [`select`] reads the store for a report. `report` makes the documents and
//! their formats, and `cli` owns the terminal.
//!
//! A [`Conclusion`] is what a command says at the end of a run. [`LiveFigures`] gathers the figures of a run in
//! progress, for [`live_line`], [`live_view`] and [`open_metrics`], and [`RunProgress`] makes its lines and views.
//! [`tracers`] creates the log files of a run and returns the tracers that write them.

mod conclusion;

pub mod file;

mod live;

mod live_figures;

mod live_metrics;

mod live_view;

mod log_files;

pub mod message_queue;

mod metrics_server;

mod progress;

mod search_metrics;

mod selection;

mod tracer;

pub use conclusion::{Conclusion, judge_comparison};
pub use live::{LiveSample, Phase, live_line};
pub use live_figures::LiveFigures;
pub use live_metrics::{Metrics, open_metrics};
pub use live_view::{LiveSecond, LiveView, SoFar, in_place_of, live_view};
pub use log_files::{LogFiles, LogOptions, OnLogError, Sampler, WorkerLog};
pub use metrics_server::MetricsServer;
pub use progress::{ProgressStyle, RunProgress, ShownSecond};
pub use search_metrics::search_metrics;
pub use selection::{ReportedStore, Selected, Selection, SelectionError, overview, select};
pub use tracer::{ClientMessages, LogFault, TracerMaker, tracer_without_log, tracers};
