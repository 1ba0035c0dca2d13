//! The samples of one run: reads the server at each tick and stores the results. `observer` provides the thread;
//! `account` makes the observation.
//!
//! Ticks lie on a grid with its origin at the start of measuring, so that the series has the same seconds as the
//! intervals. `account` corrects for statistics that backends report late.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use connect::ResultSet;
use results::{Missing, ObserveLevel, ProcessorTimes, WaitMean, Waits};

use crate::backends::{Backends, Stretch, Used};
use crate::catalogue::{Pace, QUEUES, V10, V15};
use crate::clock;
use crate::difference;
use crate::events::{Events, Vacuuming};
use crate::probe::{IoWorkers, Server};
use crate::processes::{self, Process};
use crate::profile::{self, WaitReading};
use crate::scripts::Matcher;
use crate::series::{Series, Snapshot, figures};
use crate::session::ObserverSession;
use crate::standbys::{self, Lags};
use crate::strata::Strata;
use crate::waits::{Seen, Tally};

/// Samples per second.
const RATE: i32 = 20;
/// At the start of measuring, the CPU time of backends is also read every quarter of a second.
const QUARTER: i32 = RATE / 4;
const YOUNG: i32 = 10 * RATE;

/// Maximum wait for the benchmark's backends to exit; they report their remaining statistics on exit.
const END_WAIT_MAX: Duration = Duration::from_secs(2);
const END_WAIT_STEP: Duration = Duration::from_millis(20);
/// Up to version 14, the statistics collector writes its files at most every 500 ms.
const COLLECTOR_DELAY: Duration = Duration::from_millis(600);

/// Name of the missing item if the shares of waits come from samples alone.
const STRATA: &str = "running share by CPU time";

/// Activity of the backends in the last second, for the live display.
#[derive(Clone, Debug, Default)]
pub struct RecentWaits(Arc<Mutex<Vec<WaitMean>>>);

impl RecentWaits {
    /// Average number of active backends in the last second, by activity.
    pub fn waits(&self) -> Vec<WaitMean> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Called at the end of each second.
    pub(crate) fn replace(&self, waits: &[WaitMean]) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = waits.to_vec();
    }
}

/// State of the samples of one run.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) server: Server,
    pub(crate) matcher: Matcher,
    pub(crate) level: ObserveLevel,
    origin: Instant,
    /// Time of the first sample.
    since_s: f64,
    pub(crate) reconnects: bool,
    /// Number of the next sample: 0 is at the origin, [`rate`] a second later.
    next: i32,
    pub(crate) series: Series,
    pub(crate) events: Events,
    /// Whether there was a queue for locks in the last second.
    has_queue: bool,
    /// The query for the lag of standbys; `None` if the server has none.
    lag_query: Option<String>,
    pub(crate) lags: Lags,
    /// Before the first transaction.
    pub(crate) at_start: Snapshot,
    /// At the start of measuring.
    pub(crate) at_origin: Option<Snapshot>,
    pub(crate) at_end: Snapshot,
    last: Snapshot,
    host: Option<ProcessorTimes>,
    pub(crate) backends: Backends,
    /// The benchmark's backends without parallel workers.
    pub(crate) clients: Backends,
    /// The server's I/O workers, if they read in place of backends.
    pub(crate) io_workers: Backends,
    /// Whether parallel workers were seen. They may exit before any reading, and the postmaster then has their usage.
    pub(crate) has_workers: bool,
    /// Usage of the server's exited children at the last reading at which the benchmark's backends existed.
    pub(crate) ended_beside_clients: Option<Used>,
    /// Usage of the parallel workers that ran at that reading, and of those at the start of measuring.
    pub(crate) workers_beside_clients: Used,
    pub(crate) workers_at_origin: Used,
    /// Usage of the server's exited children at the start and end of measuring.
    pub(crate) ended_at_origin: Option<Used>,
    pub(crate) ended_at_end: Option<Used>,
    /// CPU time of the observer's backend.
    own_cpu_at_origin_s: Option<f64>,
    pub(crate) own_cpu_s: Option<f64>,
    /// CPUs available to the observer's backend, and so to all server processes.
    pub(crate) server_cpus_allowed: Option<f64>,
    pub(crate) looks_missed: u64,
    /// For the live display.
    recent_waits: RecentWaits,
    /// Time and values of the last reading of pg_wait_sampling; `None` if it is not used.
    profile: Option<(f64, WaitReading)>,
    profile_was_reset: bool,
}

impl Watch {
    pub(crate) fn new(
        server: Server,
        matcher: Matcher,
        level: ObserveLevel,
        origin: Instant,
        reconnects: bool,
        recent_waits: RecentWaits,
    ) -> Watch {
        let now_s = clock::seconds_between(origin, clock::now());
        Watch {
            server,
            matcher,
            level,
            origin,
            since_s: now_s,
            reconnects,
            next: number_after(now_s, RATE),
            series: Series::new(now_s.min(0.0)),
            events: Events::default(),
            has_queue: false,
            lag_query: None,
            lags: Lags::default(),
            at_start: Snapshot::new(),
            at_origin: None,
            at_end: Snapshot::new(),
            last: Snapshot::new(),
            host: ProcessorTimes::now(),
            backends: Backends::default(),
            clients: Backends::default(),
            io_workers: Backends::default(),
            has_workers: false,
            ended_beside_clients: None,
            workers_beside_clients: Used::default(),
            workers_at_origin: Used::default(),
            ended_at_origin: None,
            ended_at_end: None,
            own_cpu_at_origin_s: None,
            own_cpu_s: None,
            server_cpus_allowed: None,
            looks_missed: 0,
            recent_waits,
            profile: None,
            profile_was_reset: false,
        }
    }

    /// Wait samples of the measured time, and their number.
    pub(crate) fn waits(&mut self, measured_s: f64) -> Waits {
        let strata = self.strata(measured_s);
        if let Err(Some(why)) = &strata {
            self.server.missing.push(Missing::new(STRATA, *why));
        }
        let (source, rate_hz) = match &self.profile {
            Some(_) if measured_s > 0.0 => {
                let rate_hz = self.series.measured.looks as f64 / measured_s;
                (profile::NAME, (rate_hz * 10.0).round() / 10.0)
            }
            _ => ("pg_stat_activity", f64::from(RATE)),
        };
        self.series.measured.to_waits(self.series.batches(), strata.ok().as_ref(), source, rate_hz)
    }

    /// Average number of running and runnable backends, from the kernel's accounting; or why it is unknown, `None` if
    /// another reason is reported already.
    fn strata(&self, measured_s: f64) -> Result<Strata, Option<&'static str>> {
        if self.server.postmaster.is_none() {
            return Err(None);
        }
        if self.reconnects {
            return Err(Some(
                "with a connection for each transaction the CPU time of backends contains their start, so shares of \
                 waits are those of the samples; on the server's own host these see running too seldom",
            ));
        }
        if self.server.version < V10 {
            return Err(Some(
                "before version 10 a backend that waits for a disk or a flush shows no wait event, so shares of waits are \
                 those of the samples",
            ));
        }
        let covers = |stretch: &Stretch| stretch.seconds > 0.5 * measured_s;
        let strata = self.clients.measured().filter(covers).and_then(|stretch| stretch.strata());
        strata.ok_or(Some(
            "the backends' CPU time was not read over more than half of the measured time, so shares of waits are those \
             of the samples: let the run last 2 s or more",
        ))
    }

    /// The same for the stretch that ends now.
    fn strata_of_stretch(&mut self) -> Option<Strata> {
        let stretch = self.clients.since_last_asked();
        let is_known = !self.reconnects && self.server.version >= V10;
        stretch.filter(|_| is_known)?.strata()
    }

    /// Time of the next sample.
    pub(crate) fn next_look(&self) -> Instant {
        let distance = Duration::from_secs_f64(f64::from(self.next.abs()) / f64::from(RATE));
        if self.next < 0 {
            self.origin.checked_sub(distance).unwrap_or(self.origin)
        } else {
            self.origin + distance
        }
    }

    /// Time of the first sample; negative in a warm-up.
    pub(crate) fn since_s(&self) -> f64 {
        self.since_s
    }

    fn now_s(&self) -> f64 {
        clock::seconds_between(self.origin, clock::now())
    }

    /// Called at the start of the run.
    pub(crate) fn begin(&mut self) {
        if let Some(snapshot) = self.read_all() {
            self.learn_names(&snapshot);
            self.last = snapshot.clone();
            self.at_start = snapshot;
        }
        self.begin_profile();
        self.begin_lags();
        if self.next >= 0 {
            // Without warm-up, the first reading is also that of the start of measuring.
            self.at_origin = Some(self.at_start.clone());
            self.note_origin();
        }
    }

    /// Takes one sample and schedules the next.
    pub(crate) fn look(&mut self) {
        let is_second = self.next % RATE == 0;
        if !self.server.session.is_lost() {
            self.look_at_waits();
            if is_second {
                self.look_at_counters();
            } else if self.next % QUARTER == 0 && (0..YOUNG).contains(&self.next) {
                self.look_again_at_backends();
            }
            if let Some(memory) = self.server.memory.as_mut().filter(|_| !is_second && self.next >= 0) {
                memory.look(&self.clients, self.origin);
            }
        }
        let following = number_after(self.now_s(), RATE);
        let on_time = self.next.saturating_add(1);
        self.looks_missed += u64::try_from((following - on_time).max(0)).unwrap_or(0);
        // Readings at full seconds are not skipped, even if they are late.
        let second = (self.next.div_euclid(RATE) + 1).saturating_mul(RATE);
        self.next = following.max(on_time).min(second.max(on_time));
    }

    fn look_at_waits(&mut self) {
        let Some(waits) = &mut self.server.waits else { return };
        match waits.ask(&mut self.server.session) {
            Ok(rows) => {
                let look: Vec<_> = rows.iter().filter_map(Seen::of).collect();
                self.series.count(&look, &self.matcher);
                let at_s = clock::seconds_between(self.origin, clock::now());
                self.has_queue |= self.events.look(&look, at_s);
            }
            Err(_) => self.looks_missed += 1,
        }
    }

    fn look_at_counters(&mut self) {
        let is_origin = self.at_origin.is_none() && self.next >= 0;
        let read = if is_origin { self.read_all() } else { self.read(|pace| pace == Pace::EachSecond) };
        let at_s = self.now_s();
        self.look_at_backends();
        self.look_at_vacuums(at_s);
        self.look_at_queues();
        self.look_at_lags();
        self.look_at_profile(1.0);
        let Some(snapshot) = read else { return };
        let mut values = figures(&self.last, &snapshot, &self.server.questions);
        self.add_processes(&mut values);
        self.events.read(&self.last, &snapshot, &self.server.questions, at_s);
        let strata = self.strata_of_stretch();
        // The origin separates warm-up and measured time, independent of the time of the reading.
        self.series.close(if is_origin { 0.0 } else { at_s }, values, strata.as_ref());
        if let Some(newest) = self.series.newest() {
            self.recent_waits.replace(&newest.waits);
        }
        if is_origin {
            self.at_origin = Some(snapshot.clone());
            self.note_origin();
        }
        self.last = snapshot;
    }

    /// Starts the measured time.
    fn note_origin(&mut self) {
        self.server.session.forget_cost();
        self.looks_missed = 0;
        self.own_cpu_at_origin_s = self.own_cpu();
        self.look_at_backends();
        self.backends.begin_measuring();
        self.clients.begin_measuring();
        self.io_workers.begin_measuring();
        self.ended_at_origin = self.backends.ended();
        self.workers_at_origin = self.backends.workers(&self.clients);
    }

    fn own_cpu(&self) -> Option<f64> {
        self.server.postmaster.and_then(|_| processes::cpu_s(self.server.session.pid()))
    }

    fn look_at_backends(&mut self) {
        let Some(postmaster) = self.server.postmaster else { return };
        if let Some(postmaster) = processes::look_at(postmaster) {
            self.backends.look_at_ended(&postmaster);
        }
        let io_workers = match &self.server.io_workers {
            IoWorkers::Query(sql) => Some(sql.as_str()),
            IoWorkers::None | IoWorkers::Hidden => None,
        };
        let questions: Vec<&str> = std::iter::once(self.server.backends.as_str()).chain(io_workers).collect();
        let Ok(sets) = self.server.session.sets(&questions) else { return };
        let rows = sets.first().map(|set| set.rows.as_slice()).unwrap_or_default();
        if let Some(workers) = sets.get(1) {
            let look = |row: &connect::Row| {
                let pid = row.get(0)?.parse().ok()?;
                Some((pid, processes::look_at(pid)?))
            };
            self.io_workers.look(workers.rows.iter().filter_map(look), self.now_s());
        }
        let look = |row: &connect::Row| {
            let pid = row.get(0)?.parse().ok()?;
            Some((pid, row.get(1) == Some("t"), processes::look_at(pid)?))
        };
        let found: Vec<_> = rows.iter().filter_map(look).collect();
        self.has_workers |= found.iter().any(|(_, is_worker, _)| *is_worker);
        let has_clients = found.iter().any(|(_, is_worker, _)| !is_worker);
        self.take_usage(found);
        if has_clients {
            self.ended_beside_clients = self.backends.ended();
            self.workers_beside_clients = self.backends.workers(&self.clients);
        }
    }

    /// Adds the process data of backends, and whether they are parallel workers. Querying the backends took place
    /// before.
    fn take_usage(&mut self, found: Vec<(u32, bool, Process)>) {
        let at_s = self.now_s();
        let clients = found.iter().filter(|(_, is_worker, _)| !is_worker);
        self.clients.look(clients.map(|(pid, _, process)| (*pid, process.clone())), at_s);
        self.backends.look(found.into_iter().map(|(pid, _, process)| (pid, process)), at_s);
    }

    /// Reads the backends of the last second without querying the server. In a run of a few seconds, the last full
    /// second may be a large part of the run ago.
    fn look_again_at_backends(&mut self) {
        let known = self.backends.known();
        let look = |pid| Some((pid, !self.clients.knows(pid), processes::look_at(pid)?));
        let found: Vec<_> = known.filter_map(look).collect();
        self.take_usage(found);
    }

    /// Starts the counts of pg_wait_sampling, if it is used. With a connection per transaction, backends start and exit
    /// between two readings.
    fn begin_profile(&mut self) {
        if self.server.profile.is_none() {
            return;
        }
        if self.reconnects {
            let why = "not used with a connection for each transaction: its counts are read once a second, and \
                       those backends are gone by then";
            self.server.missing.push(Missing::new(profile::NAME, why));
            return;
        }
        self.profile = self.read_profile().map(|reading| (self.now_s(), reading));
    }

    /// Includes counts of exited backends, which the extension keeps.
    fn read_profile(&mut self) -> Option<WaitReading> {
        let schema = self.server.profile.as_deref()?;
        let known = self.profile.iter().flat_map(|(_, reading)| reading.backends());
        let known: String = known.map(|pid| format!(" union select {pid}")).collect();
        let mine = format!("{}{known}", self.server.clients);
        let rows = self.server.session.rows(&profile::sql(schema, &mine)).ok()?;
        Some(WaitReading::of(&rows))
    }

    /// Replaces the samples by the counts of pg_wait_sampling. If a reading fails, the next one covers its stretch.
    fn look_at_profile(&mut self, lived_share: f64) {
        if self.profile.is_none() {
            return;
        }
        let (at_s, newest) = (self.now_s(), self.read_profile());
        let Some((newest, (_, before))) = newest.zip(self.profile.as_ref()) else {
            return self.series.replace_current(|_| Tally::default());
        };
        let growth = newest.since(before, lived_share);
        self.profile_was_reset |= growth.as_ref().is_some_and(|growth| growth.was_reset);
        let matcher = &self.matcher;
        let instead = |own: &Tally| growth.map(|growth| growth.instead_of(own, matcher)).unwrap_or_default();
        self.series.replace_current(instead);
        self.profile = Some((at_s, newest));
    }

    fn look_at_vacuums(&mut self, at_s: f64) {
        let Some(vacuums) = &self.server.vacuums else { return };
        let Ok(rows) = self.server.session.rows(vacuums) else { return };
        self.server.session.learn_names(rows.iter().filter_map(|row| row.get(1)));
        let vacuuming = |row: &connect::Row| {
            let table = self.server.session.name_of(row.get(1)?).to_owned();
            Some(Vacuuming { pid: row.get(0)?.parse().ok()?, table, what: row.get(2)?.to_owned() })
        };
        self.events.vacuums(rows.iter().filter_map(vacuuming).collect(), at_s);
    }

    /// Samples the rows that backends queue for. The query briefly locks the lock table, so it runs only at the full
    /// level and if there is a queue.
    fn look_at_queues(&mut self) {
        if !std::mem::take(&mut self.has_queue) || self.level != ObserveLevel::Full {
            return;
        }
        let Ok(rows) = self.server.session.rows(QUEUES) else { return };
        self.server.session.learn_names(rows.iter().filter_map(|row| row.get(1)));
        let row = |row: &connect::Row| {
            let place = format!("{}{}", row.get(0)?, self.server.session.name_of(row.get(1)?));
            Some((place, row.get(2)?.parse().ok()?))
        };
        self.events.queued_for(rows.iter().filter_map(row).collect());
    }

    /// Reads the lag of standbys once a second if there are any.
    fn begin_lags(&mut self) {
        let session = &mut self.server.session;
        let exist = |session: &mut ObserverSession, sql| session.value(sql).is_some_and(|count| count != "0");
        if exist(session, standbys::EXIST) {
            self.lag_query = Some(standbys::sql(self.server.version));
        } else if exist(session, standbys::HIDDEN) {
            let why =
                "the server has standbys, and this role may not see their state: GRANT pg_monitor to it";
            self.server.missing.push(Missing::new("lag of standbys", why));
        }
        self.look_at_lags();
    }

    fn look_at_lags(&mut self) {
        let Some(sql) = &self.lag_query else { return };
        let Ok(rows) = self.server.session.rows(sql) else { return };
        self.lags.look(&rows, clock::seconds_between(self.origin, clock::now()));
    }

    /// Adds values from `/proc` for the stretch that ends now.
    fn add_processes(&mut self, values: &mut std::collections::BTreeMap<String, f64>) {
        let Some(_) = self.server.postmaster else { return };
        let then = std::mem::replace(&mut self.host, ProcessorTimes::now());
        if let Some((then, now)) = then.zip(self.host)
            && let Some((shares, iowait)) = then.until(&now).zip(then.iowait_until(&now))
        {
            values.insert("host_busy_share".to_owned(), shares.busy);
            values.insert("host_iowait_share".to_owned(), iowait);
            values.insert("host_steal_share".to_owned(), shares.stolen);
        }
        if let Some(Stretch { used, .. }) = self.backends.since_last_asked() {
            values.insert("backend_user_cpu_s".to_owned(), used.user_s);
            values.insert("backend_system_cpu_s".to_owned(), used.system_s);
            let of_workers = self.io_workers.since_last_asked().map(|stretch| stretch.used);
            if let Some(bytes) = self.server.io_workers.read_bytes(&used, of_workers) {
                values.insert("backend_read_bytes".to_owned(), bytes);
            }
        }
    }

    /// Names of tables and indexes are for display; rows are matched by OID.
    fn learn_names(&mut self, snapshot: &Snapshot) {
        let by_relation = self.server.questions.iter().filter(|question| question.is_by_relation);
        let rows =
            by_relation.filter_map(|question| snapshot.get(question.view)).flat_map(|rows| rows.keys());
        self.server.session.learn_names(rows.map(String::as_str));
    }

    fn read_all(&mut self) -> Option<Snapshot> {
        self.read(|_| true)
    }

    /// Reads the views of some paces in one request.
    fn read(&mut self, wanted: fn(Pace) -> bool) -> Option<Snapshot> {
        let questions: Vec<_> =
            self.server.questions.iter().filter(|question| wanted(question.pace)).collect();
        if questions.is_empty() {
            return None;
        }
        let statements: Vec<_> = questions.iter().map(|question| question.sql.as_str()).collect();
        let sets = self.server.session.sets(&statements).ok()?;
        let reading = |set: &ResultSet| difference::read(&set.rows);
        Some(questions.iter().zip(&sets).map(|(question, set)| (question.view, reading(set))).collect())
    }

    /// Takes the last readings, at the end of the run.
    pub(crate) fn finish(&mut self, measured_s: f64) {
        let end_s = self.now_s().min(measured_s).max(0.0);
        let (cost_statements, cost_busy) = (self.server.session.statements, self.server.session.busy);
        // Backends are sampled until they exit at the end of the run.
        let since_s = self.profile.as_ref().map_or(end_s, |(at_s, _)| *at_s);
        let (ran_s, took_s) = (end_s - since_s, self.now_s() - since_s);
        if !self.server.session.is_lost() && ran_s > 0.0 {
            self.look_at_profile(ran_s / took_s);
        } else if self.profile.is_some() {
            self.series.replace_current(|_| Tally::default());
        }
        if self.profile_was_reset {
            let why = "its counts were reset during the run; what was counted before that is lost";
            self.server.missing.push(Missing::new(profile::NAME, why));
        }
        self.server_cpus_allowed =
            self.server.postmaster.and_then(|_| results::cpus_allowed(self.server.session.pid()));
        self.own_cpu_s = self.own_cpu().zip(self.own_cpu_at_origin_s).map(|(now, then)| now - then);
        if self.server.session.is_lost() {
            let why = self.server.session.last_failure.clone().unwrap_or_default();
            self.server.missing.push(Missing::new("everything after the connection was lost", why));
        } else {
            self.look_at_lags();
            self.wait_for_backends();
            if let Some(snapshot) = self.read_all() {
                let mut values = figures(&self.last, &snapshot, &self.server.questions);
                self.add_processes(&mut values);
                let read_s = self.now_s();
                self.events.read(&self.last, &snapshot, &self.server.questions, end_s);
                self.learn_names(&snapshot);
                let name_of = |number: &str| self.server.session.name_of(number).to_owned();
                self.events.short_vacuums(&snapshot, &self.server.questions, self.since_s, read_s, name_of);
                let strata = self.strata_of_stretch();
                self.series.close_last(end_s, values, strata.as_ref());
                self.at_end = snapshot;
            }
            let postmaster = self.server.postmaster.and_then(processes::look_at);
            if let Some(postmaster) = postmaster {
                self.backends.look_at_ended(&postmaster);
                self.ended_at_end = self.backends.ended();
            }
            if self.server.session.failures > 0 {
                let ObserverSession { failures, last_failure, .. } = &self.server.session;
                let last = last_failure.as_deref().unwrap_or_default();
                let why = format!("{failures} questions were answered with an error, the last: {last}");
                self.server.missing.push(Missing::new("some readings", why));
            }
        }
        (self.server.session.statements, self.server.session.busy) = (cost_statements, cost_busy);
    }

    /// Waits until the benchmark's backends have exited and their statistics are visible.
    fn wait_for_backends(&mut self) {
        let until = clock::now() + END_WAIT_MAX;
        while clock::now() < until {
            match self.server.session.rows(&self.server.backends) {
                Ok(rows) if !rows.is_empty() => std::thread::sleep(END_WAIT_STEP),
                _ => break,
            }
        }
        if self.server.version < V15 {
            std::thread::sleep(COLLECTOR_DELAY);
        }
    }
}

/// Number of the first sample after this time.
#[expect(
    clippy::cast_possible_truncation,
    reason = "saturates, after thirteen years of looking twenty times a second"
)]
fn number_after(at_s: f64, rate: i32) -> i32 {
    (at_s * f64::from(rate)).floor() as i32 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_lie_on_a_grid_whose_origin_is_where_measuring_begins() {
        assert_eq!(number_after(-1.99, 5), -9);
        assert_eq!(number_after(-0.01, 5), 0);
        assert_eq!(number_after(0.0, 5), 1);
        assert_eq!(number_after(0.99, 5), 5);
    }
}
