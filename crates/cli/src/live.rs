//! What is shown while a run goes on: a view that is drawn anew each second, or a line for each second or every few,
//! and metrics over HTTP.

use std::time::Duration;

use engine::Progress;
use report::{LiveSample, LiveView, Metrics, Phase, SoFar};
use results::{Latency, Limit, WaitMean};
use stats::{Interval, ScriptStats};

use crate::metrics::MetricsServer;
use crate::terminal::Terminal;

/// How the progress of a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressStyle {
    /// Lines that are drawn anew each second.
    View,
    /// A line every so many seconds.
    Lines(u32),
    Nothing,
}

/// Shows the seconds of a run.
pub(crate) struct Live<'a> {
    terminal: &'a Terminal,
    style: ProgressStyle,
    metrics: Option<MetricsServer>,
    /// Lines that stand above the view, whatever it shows.
    above: Vec<String>,
    run: Run,
    gathered: Gathered,
    /// When the measured window began, since the first transaction.
    measuring_since: Option<Duration>,
    /// Succeeded transactions per second of this phase, a figure for each second.
    tps_history: Vec<f64>,
    /// All that was measured, by script.
    measured: Vec<ScriptStats>,
}

/// What is known of the run before it begins.
#[derive(Default)]
struct Run {
    title: String,
    protocol: &'static str,
    scripts: Vec<String>,
    clients: u32,
    warmup_s: f64,
    open_loop: bool,
    limit: Option<Limit>,
}

/// The seconds of the next line.
#[derive(Default)]
struct Gathered {
    seconds: u32,
    time: Duration,
    stats: ScriptStats,
}

impl<'a> Live<'a> {
    pub(crate) fn new(terminal: &'a Terminal, style: ProgressStyle, metrics: Option<MetricsServer>) -> Self {
        Self {
            terminal,
            style,
            metrics,
            above: Vec::new(),
            run: Run::default(),
            gathered: Gathered::default(),
            measuring_since: None,
            tps_history: Vec::new(),
            measured: Vec::new(),
        }
    }

    /// The same, with these lines above the view.
    pub(crate) fn below(self, above: Vec<String>) -> Self {
        Self { above, ..self }
    }

    /// All clients are connected, and the run begins.
    pub(crate) fn begin(&mut self, plan: &results::Plan) {
        let scripts: Vec<String> = plan.scripts.iter().map(|script| script.name.clone()).collect();
        let clients = if plan.clients == 1 { "client" } else { "clients" };
        self.measured = vec![ScriptStats::new(); scripts.len()];
        self.run = Run {
            title: format!("{}, {} {clients}", scripts.join(" + "), plan.clients),
            protocol: plan.protocol.name(),
            scripts,
            clients: plan.clients,
            warmup_s: plan.warmup_s,
            open_loop: plan.rate_tps.is_some(),
            limit: Some(plan.limit),
        };
    }

    /// Takes in a second. `waits` is what the server's backends were doing lately.
    pub(crate) fn show(&mut self, progress: &Progress<'_>, waits: &[WaitMean]) {
        let interval = progress.interval;
        let length = interval.end.since(interval.start);
        if !progress.warmup {
            self.add(progress, length);
        }
        let total = interval.total();
        // The run ends a little after its last whole second; that remainder is no line's worth.
        let whole = length >= SHORTEST_LINE;
        if whole {
            self.tps_history.push(per_second(total.counts.succeeded, length));
        }
        self.gathered.stats.merge(&total);
        self.gathered.seconds += 1;
        self.gathered.time += length;
        self.publish(progress, waits);
        let due = match self.style {
            ProgressStyle::View => true,
            ProgressStyle::Lines(every_s) => self.gathered.seconds >= every_s,
            ProgressStyle::Nothing => false,
        };
        if due && whole {
            self.tell(progress, waits);
        }
    }

    /// A measured second.
    fn add(&mut self, progress: &Progress<'_>, length: Duration) {
        let interval: &Interval = progress.interval;
        if self.measuring_since.is_none() {
            self.measuring_since = Some(progress.elapsed.saturating_sub(length));
            self.gathered = Gathered::default();
            self.tps_history.clear();
        }
        for (all, newest) in self.measured.iter_mut().zip(&interval.scripts) {
            all.merge(newest);
        }
    }

    /// Shows what was gathered since the last time.
    fn tell(&mut self, progress: &Progress<'_>, waits: &[WaitMean]) {
        let Gathered { time, stats, .. } = std::mem::take(&mut self.gathered);
        let lag_us = || {
            let (response, service) = (stats.response.mean_ns()?, stats.service.mean_ns()?);
            Some((response - service) / NANOS_PER_MICRO)
        };
        let sample = LiveSample {
            elapsed: self.elapsed(progress),
            phase: if progress.warmup { Phase::WarmUp } else { Phase::Measuring },
            tps: per_second(stats.counts.succeeded, time),
            response_us: Latency::of(&stats.response),
            failed: stats.counts.failed,
            skipped: stats.counts.skipped,
            lag_us: self.run.open_loop.then(lag_us).flatten(),
        };
        if self.style == ProgressStyle::View {
            let view = self.view(sample, waits);
            let lines = report::live_view(&view, &self.terminal.talk_style());
            self.terminal.draw(&[self.above.as_slice(), &lines].concat());
        } else {
            self.terminal.say(report::live_line(&sample));
        }
    }

    /// Since measuring began, or since the warm-up did.
    fn elapsed(&self, progress: &Progress<'_>) -> Duration {
        progress.elapsed.saturating_sub(self.measuring_since.unwrap_or(Duration::ZERO))
    }

    fn view(&self, second: LiveSample, waits: &[WaitMean]) -> LiveView {
        let so_far = (second.phase == Phase::Measuring).then(|| {
            let all = self.all_measured();
            SoFar {
                tps: per_second(all.counts.succeeded, second.elapsed),
                response_us: Latency::of(&all.response),
                counts: all.counts,
            }
        });
        let done_share = self.done_share(&second, so_far.as_ref());
        let left = done_share.filter(|&share| share > 0.0).map(|share| {
            let rest = second.elapsed.as_secs_f64() * (1.0 - share).max(0.0) / share;
            Duration::try_from_secs_f64(rest).unwrap_or(Duration::MAX)
        });
        let (title, tps_history) = (self.run.title.clone(), self.tps_history.clone());
        LiveView { title, second, done_share, left, tps_history, so_far, waits: shares(waits) }
    }

    /// How much of this phase is done: by time, or by transactions if those were asked for.
    fn done_share(&self, second: &LiveSample, so_far: Option<&SoFar>) -> Option<f64> {
        let by_time = |seconds: f64| (seconds > 0.0).then(|| second.elapsed.as_secs_f64() / seconds);
        match (so_far, self.run.limit?) {
            (None, _) => by_time(self.run.warmup_s),
            (Some(_), Limit::Duration(time)) => by_time(time.as_secs_f64()),
            (Some(so_far), Limit::TransactionsPerClient(each)) => {
                let asked = each as f64 * f64::from(self.run.clients);
                (asked > 0.0).then(|| so_far.counts.scheduled as f64 / asked)
            }
        }
    }

    fn all_measured(&self) -> ScriptStats {
        let mut all = ScriptStats::new();
        self.measured.iter().for_each(|script| all.merge(script));
        all
    }

    /// Hands the newest figures to those who ask for metrics.
    fn publish(&self, progress: &Progress<'_>, waits: &[WaitMean]) {
        let Some(server) = &self.metrics else { return };
        let names = self.run.scripts.iter().map(String::as_str);
        server.publish(report::open_metrics(&Metrics {
            version: env!("CARGO_PKG_VERSION"),
            protocol: self.run.protocol,
            clients: self.run.clients,
            measured: if progress.warmup { Duration::ZERO } else { self.elapsed(progress) },
            warmup: progress.warmup,
            tps: self.tps_history.last().copied().unwrap_or(0.0),
            scripts: names.zip(&self.measured).collect(),
            waits: waits
                .iter()
                .map(|wait| (wait.event_type.as_str(), wait.event.as_str(), wait.backends))
                .collect(),
        }));
    }

    /// The run is over: the view goes away, and what follows is the report.
    pub(crate) fn end(&mut self) {
        self.terminal.erase();
        self.metrics = None;
    }
}

/// What backends were doing, as shares of those that were not idle, the most frequent first.
fn shares(waits: &[WaitMean]) -> Vec<(String, f64)> {
    let all: f64 = waits.iter().map(|wait| wait.backends).sum();
    let name = |wait: &WaitMean| {
        if wait.event_type == "CPU" {
            wait.event.clone()
        } else {
            format!("{} {}", wait.event_type, wait.event)
        }
    };
    let mut shares: Vec<_> = waits.iter().map(|wait| (name(wait), wait.backends / all)).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}

/// Parts of a second below this are not shown as a line of their own.
const SHORTEST_LINE: Duration = Duration::from_millis(500);

const NANOS_PER_MICRO: f64 = 1e3;

#[allow(clippy::cast_precision_loss)] // a count of one line's seconds
fn per_second(count: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { count as f64 / time.as_secs_f64() }
}
