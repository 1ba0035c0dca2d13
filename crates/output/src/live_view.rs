//! The live view on a terminal: a few lines, redrawn every second. `cli` gathers the figures and draws the lines.
//! Without a terminal, `live` provides a line per second instead.

use std::time::Duration;

use results::{Counts, Latency};

use crate::live::{LiveSample, Phase};
use report::TextStyle;
use report::figures::{count, fixed, latency, percent, rate, with_ordinary_spaces};
use report::prose::{Emphasis, cut, emphasise, escaped_line};

/// Contents of the view.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveView {
    /// Short description of the run: `tpcb-like, 8 clients`.
    pub title: String,
    /// The newest second.
    pub second: LiveSample,
    /// Completed share of this phase, from 0 to 1; `None` if unknown.
    pub done_share: Option<f64>,
    /// Estimated remaining time of this phase; `None` if unknown.
    pub left: Option<Duration>,
    /// Succeeded transactions of each second of this phase, the newest last.
    pub tps_history: Vec<f64>,
    /// Totals of the measured window; `None` during the warm-up.
    pub so_far: Option<SoFar>,
    /// Recent wait events of the backends and their shares, in descending order.
    pub waits: Vec<(String, f64)>,
}

/// Totals of the measured window.
#[derive(Clone, Debug, PartialEq)]
pub struct SoFar {
    /// Succeeded transactions per second.
    pub tps: f64,
    /// Response times; `None` if none succeeded.
    pub response_us: Option<Latency>,
    /// Transactions by ending.
    pub counts: Counts,
}

/// Column of the values.
const VALUE_COLUMN: usize = 13;
/// Width of the progress bar, in columns.
const BAR_WIDTH: usize = 30;
/// Seconds shown in the throughput curve.
const CURVE_LENGTH: usize = 40;
/// Wait events shown.
const WAITS_MAX: usize = 4;

/// The lines, each at most as wide as the terminal.
pub fn live_view(view: &LiveView, style: &TextStyle) -> Vec<String> {
    let mut lines = vec![headline(view, style), progress(view)];
    lines.push(labelled("throughput", &throughput(view)));
    lines.push(labelled("", &curve(&view.tps_history)));
    lines.push(labelled("latency", &latencies("last second", view.second.response_us.as_ref())));
    if let Some(so_far) = &view.so_far {
        lines.push(labelled("", &latencies("so far", so_far.response_us.as_ref())));
        lines.push(labelled("failures", &failures(&so_far.counts)));
    }
    if let (Some(lag_us), Phase::Measuring) = (view.second.lag_us, view.second.phase) {
        lines.push(labelled("lag", &format!("{} on average, from due to begun", latency(lag_us))));
    }
    if !view.waits.is_empty() {
        lines.push(labelled("waits", &waits(&view.waits)));
    }
    // The lines must not wrap: the cursor moves up by the number of lines. The first line may contain colour codes,
    // which have no width, and is short.
    let width = style.width.saturating_sub(1);
    let shown = |(number, line): (usize, String)| {
        let line = with_ordinary_spaces(&line);
        if number == 0 { line } else { cut(&line, width) }
    };
    lines.into_iter().enumerate().map(shown).collect()
}

/// `tpcb-like, 8 clients: measuring`.
fn headline(view: &LiveView, style: &TextStyle) -> String {
    let phase = match view.second.phase {
        Phase::WarmUp => "warming up",
        Phase::Measuring => "measuring",
    };
    let title = cut(&escaped_line(&view.title), style.width.saturating_sub(phase.len() + 3));
    format!("{}: {phase}", emphasise(&title, Emphasis::Strong, style))
}

/// `━━━━━━━━━━──────────  33 %, 20 s, 40 s left`.
fn progress(view: &LiveView) -> String {
    let elapsed = format!("{} s", fixed(view.second.elapsed.as_secs_f64(), 0));
    let Some(share) = view.done_share else { return labelled("", &elapsed) };
    let share = share.clamp(0.0, 1.0);
    let full = (0..BAR_WIDTH).filter(|&at| at as f64 + 0.5 < share * BAR_WIDTH as f64).count();
    let bar = "━".repeat(full) + &"─".repeat(BAR_WIDTH - full);
    let left = view.left.map_or(String::new(), |left| format!(", {} left", clock(left)));
    labelled("", &format!("{bar}  {} %, {elapsed}{left}", fixed(share * 100.0, 0)))
}

/// `40 s`, `3:20 min`, `1:05 h`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs() + u64::from(time.subsec_millis() >= 500);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{}:{:02} min", seconds / 60, seconds % 60),
        _ => format!("{}:{:02} h", seconds / 3600, seconds / 60 % 60),
    }
}

/// `12,345 tps, 12,401 so far`.
fn throughput(view: &LiveView) -> String {
    let so_far =
        view.so_far.as_ref().map_or(String::new(), |so_far| format!(", {} so far", rate(so_far.tps)));
    format!("{} tps{so_far}", rate(view.second.tps))
}

fn latencies(what: &str, response_us: Option<&Latency>) -> String {
    let Some(us) = response_us else { return format!("{what:<12} no transaction succeeded") };
    let figures = [("p50", us.p50), ("p90", us.p90), ("p99", us.p99), ("max", us.max)];
    let figures: Vec<String> =
        figures.iter().map(|(name, us)| format!("{name} {:>7}", latency(*us))).collect();
    format!("{what:<12} {}", figures.join("  "))
}

/// `3 failed, 12 retried, 1 late, 2 skipped, late or skipped 0.12 %`; omits zero counts, except failures.
fn failures(counts: &Counts) -> String {
    let mut parts = vec![format!("{} failed", count(counts.failed))];
    let others = [(counts.retried, "retried"), (counts.late, "late"), (counts.skipped, "skipped")];
    parts.extend(
        others.iter().filter(|(number, _)| *number > 0).map(|(n, what)| format!("{} {what}", count(*n))),
    );
    if counts.late + counts.skipped > 0 {
        parts.push(format!("late or skipped {}", percent(counts.late_or_skipped_share(), 1.0)));
    }
    parts.join(", ")
}

fn waits(waits: &[(String, f64)]) -> String {
    let shown: Vec<String> = waits
        .iter()
        .take(WAITS_MAX)
        .map(|(event, share)| format!("{} {} %", escaped_line(event), fixed(share * 100.0, 0)))
        .collect();
    shown.join("  ")
}

/// One block character per second; the highest throughput shown has full height.
fn curve(history: &[f64]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let shown = &history[history.len().saturating_sub(CURVE_LENGTH)..];
    let highest = shown.iter().copied().fold(0.0, f64::max);
    let block = |&tps: &f64| {
        let steps = BLOCKS.iter().skip(1).filter(|_| highest > 0.0);
        let reached = steps.enumerate().filter(|(at, _)| tps / highest > (*at as f64 + 0.5) / 7.5).count();
        BLOCKS[reached.min(BLOCKS.len() - 1)]
    };
    shown.iter().map(block).collect()
}

fn labelled(label: &str, value: &str) -> String {
    format!("  {label:<width$}{value}", width = VALUE_COLUMN - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_on_a_clock() {
        let written = |seconds| clock(Duration::from_secs_f64(seconds));
        assert_eq!(
            [written(0.4), written(59.4), written(59.6), written(200.0), written(3_900.0)],
            ["0 s", "59 s", "1:00 min", "3:20 min", "1:05 h"]
        );
    }

    #[test]
    fn the_curve_is_as_high_as_the_throughput_beside_the_highest() {
        assert_eq!(curve(&[0.0, 50.0, 100.0, 100.0]), "▁▅██");
        assert_eq!(curve(&[0.0, 0.0]), "▁▁");
        assert_eq!(curve(&[]), "");
        assert_eq!(curve(&vec![1.0; 100]).chars().count(), CURVE_LENGTH);
    }
}
