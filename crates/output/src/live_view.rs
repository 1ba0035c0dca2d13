//! The live view on a terminal: a few lines, redrawn every second. `cli` gathers the figures and draws the lines.
//! Without a terminal, `live` provides a line per second instead.

use std::time::Duration;

use results::{Counts, Latency};

use crate::live::{LiveSample, Phase};
use report::figures::{count, fixed, latency, percent, rate, with_ordinary_spaces};
use report::prose::{Emphasis, cut, emphasise, escaped_line};
use report::{TextStyle, sparkline};

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
    /// The seconds of this phase, at most the last 60, the newest last.
    pub last_minute: Vec<LiveSecond>,
    /// Totals of the measured window; `None` during the warm-up.
    pub so_far: Option<SoFar>,
    /// Recent wait events of the backends and their shares, in descending order.
    pub waits: Vec<(String, f64)>,
}

/// A second of a phase.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct LiveSecond {
    /// Succeeded transactions per second.
    pub tps: f64,
    /// 99th percentile of the response times; `None` if none succeeded.
    pub p99_us: Option<f64>,
    /// Mean time between scheduled and actual start; `None` without a rate.
    pub lag_us: Option<f64>,
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
/// Seconds shown in the curves.
pub(crate) const SECONDS_MAX: usize = 60;
/// Wait events shown.
const WAITS_MAX: usize = 4;

/// The lines, each at most as wide as the terminal.
pub fn live_view(view: &LiveView, style: &TextStyle) -> Vec<String> {
    let mut lines = vec![headline(view, style), progress(view)];
    lines.extend(over_time("throughput", &throughput(view), view, |second| Some(second.tps), rate));
    lines.push(labelled("latency", &latencies("last second", view.second.response_us.as_ref())));
    if let Some(so_far) = &view.so_far {
        lines.push(labelled("", &latencies("so far", so_far.response_us.as_ref())));
    }
    lines.extend(over_time("p99", "", view, |second| second.p99_us, latency));
    if let (Some(lag_us), Phase::Measuring) = (view.second.lag_us, view.second.phase) {
        let lag = format!("{} on average, from due to begun", latency(lag_us));
        lines.extend(over_time("lag", &lag, view, |second| second.lag_us, latency));
    }
    if let Some(so_far) = &view.so_far {
        lines.push(labelled("failures", &failures(&so_far.counts)));
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

/// `1,234 tps; 1,180 to 1,240 in the last minute`, and below it the curve; nothing if no second has the figure.
fn over_time(
    label: &str,
    newest: &str,
    view: &LiveView,
    of: fn(&LiveSecond) -> Option<f64>,
    shown: fn(f64) -> String,
) -> Vec<String> {
    let values: Vec<Option<f64>> = view.last_minute.iter().map(of).collect();
    let known = || values.iter().flatten().copied();
    let (lowest, highest) = (known().fold(f64::INFINITY, f64::min), known().fold(0.0, f64::max));
    if known().next().is_none() {
        let is_known = !newest.is_empty();
        return is_known.then(|| labelled(label, newest)).into_iter().collect();
    }
    let range = format!("{} to {} in the last minute", shown(lowest), shown(highest));
    let told = if newest.is_empty() { range } else { format!("{newest}; {range}") };
    vec![labelled(label, &told), labelled("", sparkline(&values).trim_end())]
}

/// What the terminal gets to show a text in place of the `lines` above the cursor. The lines are erased one by one: tmux
/// keeps a screen that is erased as a whole in its history, so each frame of a view would stay there.
pub fn in_place_of(lines: usize, text: &str) -> String {
    // Cursor up, and erase to the end of the line (ECMA-48, §8.3.22 CUU and §8.3.41 EL).
    let up = format!("\x1b[{lines}A\r");
    if lines == 0 { text.to_owned() } else { format!("{up}{}{up}{text}", "\x1b[K\n".repeat(lines)) }
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
    fn a_view_is_replaced_line_by_line() {
        assert_eq!(in_place_of(0, "a\n"), "a\n");
        assert_eq!(in_place_of(2, "b\n"), "\x1b[2A\r\x1b[K\n\x1b[K\n\x1b[2A\rb\n");
    }
}
