//! The log files of a run, one per worker: a line per transaction or per interval. `report` formats the
//! lines. Used by `pgmeter bench --log` and the drop-in.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::Compatibility;
use results::{Plan, unix_now};
use stats::{Sample, Timestamp};

use report::pgbench::{AggregateLog, Columns, LogFormat, transaction_line};

/// Options of the log.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Prefix of the file names.
    pub prefix: OsString,
    /// Share of transactions that are logged; `None`: all.
    pub sampling_rate: Option<f64>,
    /// Seconds per line; `None`: a line per transaction.
    pub aggregate_interval_s: Option<u32>,
    /// Whether failures are counted by kind.
    pub failures_detailed: bool,
    /// As pgbench, the drop-in omits the last, incomplete interval, and follows links in the place of a file.
    pub compatibility: Compatibility,
}

/// Size of a file's buffer, in bytes. As small as pgbench's, so that a signal loses no more of the log.
const BUFFER_BYTES: usize = 4096;

/// Called on a worker's thread when writing its log fails; that log ends there.
pub type OnLogError = Arc<dyn Fn(&io::Error) + Send + Sync>;

/// Returns a random number from 0 to 1, which decides whether a transaction is logged.
pub type Sampler = Box<dyn FnMut() -> f64 + Send>;

/// The log files of a run.
pub struct LogFiles {
    options: LogOptions,
    files: Vec<Option<File>>,
    columns: Columns,
    on_error: OnLogError,
    /// Wall-clock time since 1970 at zero of the run's clock; known when the first transactions start.
    unix_at_zero: Option<Duration>,
}

impl LogFiles {
    /// Creates empty files: `PREFIX.PID` for the first worker, `PREFIX.PID.N` for the others.
    ///
    /// # Errors
    /// A file cannot be created: its path and the system's error.
    pub fn create(
        options: LogOptions,
        plan: &Plan,
        on_error: OnLogError,
    ) -> Result<Self, (PathBuf, io::Error)> {
        let columns = Columns::of(plan, options.failures_detailed);
        let create = |worker: u32| {
            let mut name = options.prefix.clone();
            name.push(format!(".{}", std::process::id()));
            if worker > 0 {
                name.push(format!(".{worker}"));
            }
            let created = match options.compatibility {
                Compatibility::Pgbench => File::create(&name),
                Compatibility::Pgmeter => config::create_output(Path::new(&name)),
            };
            created.map(Some).map_err(|error| (name.into(), error))
        };
        let files = (0..plan.workers.min(plan.clients)).map(create).collect::<Result<_, _>>()?;
        Ok(Self { options, files, columns, on_error, unix_at_zero: None })
    }

    /// The log of one worker, whose first transaction starts now.
    pub fn of_worker(&mut self, number: usize, start: Timestamp, sampler: Sampler) -> Option<WorkerLog> {
        let file = self.files.get_mut(number)?.take()?;
        // All workers share one origin, so that their logs can be merged.
        let unix_at_zero = *self
            .unix_at_zero
            .get_or_insert_with(|| unix_now().saturating_sub(Duration::from_nanos(start.as_nanos())));
        let format = LogFormat { columns: self.columns, unix_at_zero };
        let lines = match self.options.aggregate_interval_s {
            Some(seconds) => Lines::Intervals(Box::new(AggregateLog::new(format, seconds, start))),
            None => Lines::Transactions(format),
        };
        Some(WorkerLog {
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            lines: Some(lines),
            sampling: self.options.sampling_rate.map(|rate| (rate, sampler)),
            writes_last_interval: self.options.compatibility == Compatibility::Pgmeter,
            text: String::new(),
            on_error: Arc::clone(&self.on_error),
        })
    }
}

/// The log of one worker.
pub struct WorkerLog {
    file: BufWriter<File>,
    /// `None` after closing or a failed write.
    lines: Option<Lines>,
    sampling: Option<(f64, Sampler)>,
    writes_last_interval: bool,
    /// Lines not written yet.
    text: String,
    on_error: OnLogError,
}

/// The two kinds of log.
enum Lines {
    Transactions(LogFormat),
    Intervals(Box<AggregateLog>),
}

impl WorkerLog {
    /// Logs a completed transaction.
    pub fn transaction(&mut self, client: usize, number: u64, sample: &Sample) {
        if self.sampling.as_mut().is_some_and(|(rate, sampler)| sampler() > *rate) {
            return;
        }
        match &mut self.lines {
            Some(Lines::Transactions(format)) => {
                transaction_line(format, client, number, sample, &mut self.text);
            }
            Some(Lines::Intervals(log)) => log.record(sample, &mut self.text),
            None => {}
        }
        self.write(|_| Ok(()));
    }

    /// Writes the remaining lines.
    pub fn close(&mut self, now: Timestamp) {
        let Some(lines) = self.lines.take() else { return };
        if let Lines::Intervals(mut log) = lines {
            if self.writes_last_interval {
                log.finish(now, &mut self.text);
            } else {
                log.advance(now, &mut self.text);
            }
        }
        self.write(BufWriter::flush);
    }

    /// A write error, such as a full disk, ends this log but not the run: a log with a gap would be wrong.
    fn write(&mut self, then: fn(&mut BufWriter<File>) -> io::Result<()>) {
        let written = self.file.write_all(self.text.as_bytes()).and_then(|()| then(&mut self.file));
        self.text.clear();
        if let Err(error) = written {
            self.lines = None;
            (self.on_error)(&error);
        }
    }
}
