//! Figures of a run in progress, accumulated second by second, and their three forms: line, view, metrics.
//! This module does no I/O: `cli` decides when they are shown.

use std::collections::VecDeque;
use std::time::Duration;

use results::{Latency, Limit, Plan, WaitMean};
use stats::{Interval, ScriptStats};

use crate::live::{LiveSample, Phase};
use crate::live_metrics::{Metrics, open_metrics};
use crate::live_view::{LiveSecond, LiveView, SECONDS_MAX, SoFar};

/// Minimum length of an interval that gets its own line.
const SHORTEST_LINE: Duration = Duration::from_millis(500);
const NANOS_PER_MICRO: f64 = 1e3;

/// Accumulated figures of a run in progress.
#[derive(Debug)]
pub struct LiveFigures {
    plan: Plan,
    phase: Phase,
    /// Time since the first transaction.
    elapsed: Duration,
    /// Start of the measured window, as time since the first transaction.
    measuring_since: Option<Duration>,
    /// Seconds since the last line or view, and their transactions.
    seconds: u32,
    time: Duration,
    newest: ScriptStats,
    /// The newest seconds of the current phase.
    last_minute: VecDeque<LiveSecond>,
    /// All measured transactions, by script.
    measured: Vec<ScriptStats>,
}

impl LiveFigures {
    /// Figures at the start of a run with this plan.
    pub fn new(plan: &Plan) -> Self {
        Self {
            plan: plan.clone(),
            phase: Phase::WarmUp,
            elapsed: Duration::ZERO,
            measuring_since: None,
            seconds: 0,
            time: Duration::ZERO,
            newest: ScriptStats::new(),
            last_minute: VecDeque::new(),
            measured: vec![ScriptStats::new(); plan.scripts.len()],
        }
    }

    /// Adds a second of the warm-up or of the measured window, which ends `elapsed` after the first transaction.
    /// Returns false if the interval is too short to be shown: a run ends shortly after its last full second.
    pub fn add(&mut self, interval: &Interval, phase: Phase, elapsed: Duration) -> bool {
        let length = interval.end.since(interval.start);
        (self.phase, self.elapsed) = (phase, elapsed);
        if phase == Phase::Measuring {
            if self.measuring_since.is_none() {
                self.measuring_since = Some(elapsed.saturating_sub(length));
                self.restart();
                self.last_minute.clear();
            }
            for (all, newest) in self.measured.iter_mut().zip(&interval.scripts) {
                all.merge(newest);
            }
        }
        let total = interval.total();
        let is_whole = length >= SHORTEST_LINE;
        if is_whole {
            if self.last_minute.len() == SECONDS_MAX {
                self.last_minute.pop_front();
            }
            self.last_minute.push_back(LiveSecond {
                tps: per_second(total.counts.succeeded, length),
                p99_us: Latency::of(&total.response).map(|us| us.p99),
                lag_us: self.plan.rate_tps.and_then(|_| lag_us(&total)),
            });
        }
        self.newest.merge(&total);
        self.seconds += 1;
        self.time += length;
        is_whole
    }

    /// Seconds since the last line or view.
    pub fn seconds(&self) -> u32 {
        self.seconds
    }

    fn restart(&mut self) {
        (self.seconds, self.time, self.newest) = (0, Duration::ZERO, ScriptStats::new());
    }

    /// Time since the start of the current phase.
    fn phase_time(&self) -> Duration {
        self.elapsed.saturating_sub(self.measuring_since.unwrap_or(Duration::ZERO))
    }

    /// The figures of the seconds since the last line or view.
    pub fn line(&mut self) -> LiveSample {
        let stats = &self.newest;
        let sample = LiveSample {
            elapsed: self.phase_time(),
            phase: self.phase,
            tps: per_second(stats.counts.succeeded, self.time),
            response_us: Latency::of(&stats.response),
            failed: stats.counts.failed,
            skipped: stats.counts.skipped,
            late: self.plan.latency_limit_us.map(|_| stats.counts.late),
            lag_us: self.plan.rate_tps.and_then(|_| lag_us(stats)),
        };
        self.restart();
        sample
    }

    /// The view of the same seconds, with the totals of the measured window. `waits`: recent wait events of the
    /// backends.
    pub fn view(&mut self, waits: &[WaitMean]) -> LiveView {
        let second = self.line();
        let so_far = (self.phase == Phase::Measuring).then(|| {
            let mut all = ScriptStats::new();
            self.measured.iter().for_each(|script| all.merge(script));
            SoFar {
                tps: per_second(all.counts.succeeded, second.elapsed),
                response_us: Latency::of(&all.response),
                counts: all.counts,
            }
        });
        let done_share = self.done_share(so_far.as_ref());
        let left = done_share.filter(|&share| share > 0.0).map(|share| {
            let rest = second.elapsed.as_secs_f64() * (1.0 - share).max(0.0) / share;
            Duration::try_from_secs_f64(rest).unwrap_or(Duration::MAX)
        });
        let scripts: Vec<&str> = self.plan.scripts.iter().map(|script| script.name.as_str()).collect();
        let clients = if self.plan.clients == 1 { "client" } else { "clients" };
        LiveView {
            title: format!("{}, {} {clients}", scripts.join(" + "), self.plan.clients),
            second,
            done_share,
            left,
            last_minute: self.last_minute.iter().copied().collect(),
            so_far,
            waits: shares(waits),
        }
    }

    /// Completed share of the phase: by duration, or by transactions if the run has a number of transactions.
    fn done_share(&self, so_far: Option<&SoFar>) -> Option<f64> {
        let (done, all) = match (so_far, self.plan.limit) {
            (None, _) => (self.phase_time().as_secs_f64(), self.plan.warmup_s),
            (Some(_), Limit::Duration(time)) => (self.phase_time().as_secs_f64(), time.as_secs_f64()),
            (Some(so_far), Limit::TransactionsPerClient(each)) => {
                (so_far.counts.scheduled as f64, each as f64 * f64::from(self.plan.clients))
            }
        };
        (all > 0.0).then(|| done / all)
    }

    /// Totals of the measured window in the OpenMetrics format; `version` is that of pgmeter.
    pub fn open_metrics(&self, version: &str, waits: &[WaitMean]) -> String {
        let is_warmup = self.phase == Phase::WarmUp;
        let names = self.plan.scripts.iter().map(|script| script.name.as_str());
        open_metrics(&Metrics {
            version,
            protocol: self.plan.protocol.name(),
            clients: self.plan.clients,
            measured: if is_warmup { Duration::ZERO } else { self.phase_time() },
            warmup: is_warmup,
            tps: self.last_minute.back().map_or(0.0, |second| second.tps),
            scripts: names.zip(&self.measured).collect(),
            waits: waits
                .iter()
                .map(|wait| (wait.event_type.as_str(), wait.event.as_str(), wait.backends))
                .collect(),
        })
    }
}

/// Wait events as shares of the backends that were not idle, in descending order.
fn shares(waits: &[WaitMean]) -> Vec<(String, f64)> {
    let all: f64 = waits.iter().map(|wait| wait.backends).sum();
    let name = |wait: &WaitMean| report::wait_name(&wait.event_type, &wait.event);
    let mut shares: Vec<_> = waits.iter().map(|wait| (name(wait), wait.backends / all)).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}

/// Mean time between scheduled and actual start.
fn lag_us(stats: &ScriptStats) -> Option<f64> {
    let (response, service) = (stats.response.mean_ns()?, stats.service.mean_ns()?);
    Some((response - service) / NANOS_PER_MICRO)
}

fn per_second(count: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { count as f64 / time.as_secs_f64() }
}
