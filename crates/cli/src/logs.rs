//! Log files of a run, one for each worker: a line for each transaction, or one for each interval.
//! The lines are `report::pgbench`'s; here they get into files. Used by `pgmeter bench -l` and the drop-in.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dropin::system_words;
use engine::{EndedTransaction, WorkerIntro};
use report::pgbench::{AggregateLog, Columns, LogFormat, transaction_line};
use results::unix_now;
use script::Random;
use stats::Timestamp;

use crate::failure::Failure;

/// What is logged, and where.
#[derive(Clone, Debug)]
pub(crate) struct LogOptions {
    /// What file names begin with.
    pub(crate) prefix: OsString,
    /// The share of transactions that get a line; `None`: all.
    pub(crate) sampling_rate: Option<f64>,
    /// Lines are of so many seconds each, not of single transactions.
    pub(crate) aggregate_interval_s: Option<u32>,
    pub(crate) failures_detailed: bool,
    /// Whether the interval that the end of the run cuts off is written too; pgbench loses it.
    pub(crate) writes_last_interval: bool,
}

/// What is kept before it is written; as little as with pgbench, so that a run that is ended by a signal loses no
/// more of its log.
const BUFFER_BYTES: usize = 4096;

/// The files of a run.
#[derive(Debug)]
pub(crate) struct Logs {
    options: LogOptions,
    files: Vec<Option<File>>,
    columns: Columns,
    fault: LogFault,
    /// What the calendar said when the run's clock was at zero; known once the first transactions start.
    unix_at_zero: Option<Duration>,
}

/// Why lines could not be written: the first reason that any worker met.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogFault(Arc<OnceLock<String>>);

impl LogFault {
    pub(crate) fn get(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

impl Logs {
    /// Makes the files, empty: `PREFIX.PID` for the first worker, `PREFIX.PID.N` for the others.
    pub(crate) fn open(options: LogOptions, plan: &results::Plan) -> Result<Self, Failure> {
        let columns = Columns::of(plan, options.failures_detailed);
        let workers = plan.workers.min(plan.clients);
        let files =
            (0..workers).map(|worker| create(&options, worker).map(Some)).collect::<Result<_, _>>()?;
        Ok(Self { options, files, columns, fault: LogFault::default(), unix_at_zero: None })
    }

    /// What becomes known of writing them, while the run goes on and after it.
    pub(crate) fn fault(&self) -> LogFault {
        self.fault.clone()
    }

    /// The log of one worker, whose first transaction starts now.
    pub(crate) fn of_worker(&mut self, intro: &WorkerIntro) -> Option<WorkerLog> {
        let file = self.files.get_mut(intro.number)?.take()?;
        // One for all workers, so that their logs can be laid side by side.
        let unix_at_zero = *self.unix_at_zero.get_or_insert_with(|| {
            let since_zero = Duration::from_nanos(intro.start.as_nanos());
            unix_now().saturating_sub(since_zero)
        });
        let format = LogFormat { columns: self.columns, unix_at_zero };
        let kind = match self.options.aggregate_interval_s {
            Some(seconds) => Kind::Intervals(Box::new(AggregateLog::new(format, seconds, intro.start))),
            None => Kind::Transactions(format),
        };
        let sampling = self.options.sampling_rate.map(|rate| (rate, intro.sampler.clone()));
        let writes_last_interval = self.options.writes_last_interval;
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        let fault = self.fault.clone();
        Some(WorkerLog {
            file,
            kind: Some(kind),
            sampling,
            writes_last_interval,
            lines: String::new(),
            fault,
        })
    }
}

fn create(options: &LogOptions, worker: u32) -> Result<File, Failure> {
    let mut name = options.prefix.clone();
    name.push(format!(".{}", std::process::id()));
    if worker > 0 {
        name.push(format!(".{worker}"));
    }
    let path = PathBuf::from(name);
    File::create(&path)
        .map_err(|error| Failure::LogFile { path: path.display().to_string(), reason: system_words(&error) })
}

/// What one worker writes.
#[derive(Debug)]
pub(crate) struct WorkerLog {
    file: BufWriter<File>,
    /// `None` once the log is closed, or could not be written.
    kind: Option<Kind>,
    sampling: Option<(f64, Random)>,
    writes_last_interval: bool,
    lines: String,
    fault: LogFault,
}

#[derive(Debug)]
enum Kind {
    Transactions(LogFormat),
    Intervals(Box<AggregateLog>),
}

impl WorkerLog {
    /// Logs a transaction that is over. The reason if the log ends here, for whoever is the first to have one.
    pub(crate) fn transaction(&mut self, ended: &EndedTransaction<'_>) -> Result<(), String> {
        if let Some((rate, sampler)) = &mut self.sampling
            && sampler.next_f64() > *rate
        {
            return Ok(());
        }
        match &mut self.kind {
            Some(Kind::Transactions(format)) => {
                transaction_line(format, ended.client, ended.number, ended.sample, &mut self.lines);
            }
            Some(Kind::Intervals(log)) => log.record(ended.sample, &mut self.lines),
            None => {}
        }
        let written = self.write();
        self.judge(written)
    }

    /// Writes what is still to be written; else as [`WorkerLog::transaction`].
    pub(crate) fn close(&mut self, now: Timestamp) -> Result<(), String> {
        let Some(kind) = self.kind.take() else { return Ok(()) };
        if let Kind::Intervals(mut log) = kind {
            if self.writes_last_interval {
                log.finish(now, &mut self.lines);
            } else {
                log.advance(now, &mut self.lines);
            }
        }
        let written = self.write().and_then(|()| self.file.flush());
        self.judge(written)
    }

    fn write(&mut self) -> io::Result<()> {
        let written = self.file.write_all(self.lines.as_bytes());
        self.lines.clear();
        written
    }

    /// A full disk does not end the run, but the log: after a gap it would not be one.
    fn judge(&mut self, written: io::Result<()>) -> Result<(), String> {
        let Err(error) = written else { return Ok(()) };
        self.kind = None;
        let reason = system_words(&error);
        let is_first = self.fault.0.set(reason.clone()).is_ok();
        if is_first { Err(reason) } else { Ok(()) }
    }
}
