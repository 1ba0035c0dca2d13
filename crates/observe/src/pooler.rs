//! Watches a PgBouncer on this host during a run: its CPU time by `/proc`, and once a second the counts of its console
//! (PgBouncer manual, `SHOW STATS` and `SHOW POOLS`), on its own connection and thread.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use connect::{ConnectError, ResultSet, Session, Target};
use results::{Missing, PoolerSample};

use crate::clock;
use crate::probe::PATIENCE;
use crate::processes;

/// Time between readings.
const INTERVAL: Duration = Duration::from_secs(1);
/// A shorter last sample is merged into the one before.
const REST_MAX_S: f64 = 0.1;
/// The console's own database, which is in its lists too.
const CONSOLE: &str = "pgbouncer";

/// Messages to the thread.
enum Message {
    MeasureFrom(Instant),
    Finish,
}

/// Watches a pooler until it is asked for the result.
#[derive(Debug)]
pub struct PoolerWatch {
    messages: Sender<Message>,
    thread: Option<JoinHandle<PoolerReadings>>,
}

/// The samples of the measured time, and what could not be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoolerReadings {
    /// In order of time.
    pub samples: Vec<PoolerSample>,
    /// What could not be read, and why.
    pub missing: Vec<Missing>,
}

impl PoolerWatch {
    /// Connects to the console. `pid` is the process of the pooler.
    pub fn start(console: Target, pid: u32) -> PoolerWatch {
        let (messages, received) = channel();
        let thread = Builder::new().name("pooler".to_owned()).spawn(move || watch(&console, pid, &received));
        // Without a thread the readings name the reason.
        PoolerWatch { messages, thread: thread.ok() }
    }

    /// The transactions from `origin` on, on the clock of [`crate::Observer::now`], are measured.
    pub fn measure_from(&self, origin: Instant) {
        // A thread that has ended has told why.
        let _ = self.messages.send(Message::MeasureFrom(origin));
    }

    /// Takes the last reading and returns all of them.
    pub fn finish(mut self) -> PoolerReadings {
        let _ = self.messages.send(Message::Finish);
        let readings = self.thread.take().and_then(|thread| thread.join().ok());
        readings.unwrap_or_else(|| PoolerReadings {
            samples: Vec::new(),
            missing: vec![Missing::new("everything", "the thread that watches the pooler could not run")],
        })
    }
}

fn watch(console: &Target, pid: u32, messages: &Receiver<Message>) -> PoolerReadings {
    let mut reader = Reader { session: None, pid, missing: Vec::new() };
    match connected(console) {
        Ok(session) => reader.session = Some(session),
        Err(error) => reader.lose(&error),
    }
    let Ok(Message::MeasureFrom(origin)) = messages.recv() else {
        return PoolerReadings { samples: Vec::new(), missing: reader.missing };
    };
    // If the run ends before, nothing was measured.
    if !matches!(messages.recv_timeout(clock::left_until(origin)), Err(RecvTimeoutError::Timeout)) {
        return PoolerReadings { samples: Vec::new(), missing: reader.missing };
    }
    let mut before = reader.read(origin);
    let mut samples = Vec::new();
    let mut next = origin + INTERVAL;
    loop {
        let is_over = match messages.recv_timeout(clock::left_until(next)) {
            Err(RecvTimeoutError::Timeout) => false,
            Ok(Message::Finish) | Err(RecvTimeoutError::Disconnected) => true,
            Ok(Message::MeasureFrom(_)) => continue,
        };
        let now = reader.read(origin);
        add(&mut samples, &before, &now, is_over);
        before = now;
        if is_over {
            return PoolerReadings { samples, missing: reader.missing };
        }
        // After a late answer, the next reading is not taken at once.
        while next <= clock::now() {
            next += INTERVAL;
        }
    }
}

fn connected(console: &Target) -> Result<Session, ConnectError> {
    let mut session = Session::connect(console)?;
    session.set_read_timeout(Some(PATIENCE))?;
    Ok(session)
}

/// The state of a pooler at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Reading {
    at_s: f64,
    cpu_s: Option<f64>,
    /// `None` if the console does not answer.
    console: Option<ConsoleReading>,
}

/// Sums over the databases and users.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ConsoleReading {
    transactions: u64,
    wait_us: u64,
    clients_active: u32,
    clients_waiting: u32,
    servers_active: u32,
    servers_idle: u32,
    longest_wait_us: u64,
}

struct Reader {
    session: Option<Session>,
    pid: u32,
    missing: Vec<Missing>,
}

impl Reader {
    fn lose(&mut self, error: &ConnectError) {
        self.session = None;
        self.missing
            .push(Missing::new("console", format!("the console of the pooler does not answer: {error}")));
    }

    fn read(&mut self, origin: Instant) -> Reading {
        let console = self.session.as_mut().map(ask);
        let console = match console {
            Some(Ok(reading)) => Some(reading),
            Some(Err(error)) => {
                self.lose(&error);
                None
            }
            None => None,
        };
        let cpu_s = processes::look_at(self.pid).map(|process| process.usage.cpu_s());
        if cpu_s.is_none() && !self.missing.iter().any(|missing| missing.what == "CPU time") {
            let why = "there is no process of the pooler in /proc: it has ended, or this system has no /proc";
            self.missing.push(Missing::new("CPU time", why));
        }
        Reading { at_s: clock::seconds_between(origin, clock::now()), cpu_s, console }
    }
}

fn ask(session: &mut Session) -> Result<ConsoleReading, ConnectError> {
    let stats = session.query_sets("SHOW STATS")?;
    let pools = session.query_sets("SHOW POOLS")?;
    Ok(reading(&stats, &pools))
}

/// Reads the lists by the names of their columns, which differ in number between versions.
fn reading(stats: &[ResultSet], pools: &[ResultSet]) -> ConsoleReading {
    let sum = |sets: &[ResultSet], name: &str| values(sets, name).sum::<u64>();
    let count = |name: &str| u32::try_from(sum(pools, name)).unwrap_or(u32::MAX);
    // Seconds and microseconds of the same wait are two columns.
    let waits = values(pools, "maxwait").zip(values(pools, "maxwait_us"));
    let idle = ["sv_idle", "sv_used", "sv_tested", "sv_login"].map(count).into_iter().sum();
    ConsoleReading {
        transactions: sum(stats, "total_xact_count"),
        wait_us: sum(stats, "total_wait_time"),
        clients_active: count("cl_active"),
        clients_waiting: count("cl_waiting"),
        servers_active: count("sv_active"),
        servers_idle: idle,
        longest_wait_us: waits
            .map(|(seconds, rest)| seconds.saturating_mul(1_000_000).saturating_add(rest))
            .max()
            .unwrap_or_default(),
    }
}

/// The values of a column, without the row of the console itself. Empty if there is no such column.
fn values<'a>(sets: &'a [ResultSet], name: &'a str) -> impl Iterator<Item = u64> + 'a {
    sets.iter().flat_map(move |set| {
        let column = |name: &str| set.columns.iter().position(|known| known == name);
        let (wanted, database) = (column(name), column("database"));
        let rows = set
            .rows
            .iter()
            .filter(move |row| database.and_then(|database| row.get(database)) != Some(CONSOLE));
        rows.filter_map(move |row| row.get(wanted?)?.parse().ok())
    })
}

/// Adds the growth between two readings. Without the console, only CPU time is known.
fn add(samples: &mut Vec<PoolerSample>, before: &Reading, now: &Reading, is_last: bool) {
    let (was, is) = (before.console.unwrap_or_default(), now.console.or(before.console).unwrap_or_default());
    let cpu_s = before.cpu_s.zip(now.cpu_s).map(|(before, now)| (now - before).max(0.0));
    let sample = PoolerSample {
        start_s: before.at_s,
        end_s: now.at_s,
        cpu_s,
        transactions: is.transactions.saturating_sub(was.transactions),
        wait_us: is.wait_us.saturating_sub(was.wait_us),
        clients_active: is.clients_active,
        clients_waiting: is.clients_waiting,
        servers_active: is.servers_active,
        servers_idle: is.servers_idle,
        longest_wait_us: is.longest_wait_us,
    };
    match samples.last_mut() {
        // At the end the clients have left already: only counts are taken over.
        Some(last) if is_last && sample.end_s - sample.start_s < REST_MAX_S => {
            last.end_s = sample.end_s;
            last.cpu_s = last.cpu_s.zip(sample.cpu_s).map(|(last, rest)| last + rest);
            last.transactions += sample.transactions;
            last.wait_us += sample.wait_us;
        }
        _ => samples.push(sample),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading_at(at_s: f64, transactions: u64) -> Reading {
        let console = ConsoleReading { transactions, clients_waiting: 3, ..ConsoleReading::default() };
        Reading { at_s, cpu_s: Some(at_s / 10.0), console: Some(console) }
    }

    #[test]
    fn samples_are_the_growth_between_readings_and_a_short_rest_belongs_to_the_last() {
        let mut samples = Vec::new();
        add(&mut samples, &reading_at(0.0, 5), &reading_at(1.0, 25), false);
        add(&mut samples, &reading_at(1.0, 25), &reading_at(2.0, 65), false);
        add(&mut samples, &reading_at(2.0, 65), &reading_at(2.05, 66), true);
        let seen: Vec<_> = samples.iter().map(|it| (it.start_s, it.end_s, it.transactions)).collect();
        assert_eq!(seen, [(0.0, 1.0, 20), (1.0, 2.05, 41)]);
        assert_eq!(samples[1].clients_waiting, 3);
    }

    #[test]
    fn a_console_that_no_longer_answers_adds_no_transactions() {
        let mut samples = Vec::new();
        let silent = Reading { at_s: 1.0, cpu_s: Some(0.5), console: None };
        add(&mut samples, &reading_at(0.0, 5), &silent, false);
        assert_eq!((samples[0].transactions, samples[0].cpu_s), (0, Some(0.5)));
    }
}
