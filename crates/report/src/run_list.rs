//! The stored runs as a table, one line each: identification and main figures.
//! Used by `pgmeter runs`.

use results::{RunLine, RunStatus, TrialOfRun};

use crate::TextStyle;
use crate::figures::{count, fixed, half_width, latency, rate, with_ordinary_spaces};
use crate::prose::{Emphasis, cut, emphasise, escaped_line};
use crate::table::{Cells, Side, fitted, padded, titled};

/// Text of an empty cell.
const NOTHING: &str = "-";

/// Maximum length of the scripts' names at any terminal width; descriptions of trials may be longer.
const NAMES_LEN_MAX: usize = 32;
const LEVELS_LEN_MAX: usize = 48;

/// Character ranges of `2026-11-21 12:03:01` that are shown in a narrow, a medium and a wide terminal.
const MOMENTS: [(usize, usize); 3] = [(5, 16), (0, 16), (0, 19)];
/// The range in a narrow terminal for years other than the newest run's: `2025-11-21` and a blank.
const DAY: (usize, usize) = (0, 10);

/// The runs, oldest first, each line with its line end; a sentence if the list is empty.
pub fn run_list(runs: &[RunLine], style: &TextStyle) -> String {
    if runs.is_empty() {
        return "no run is stored yet\n".to_owned();
    }
    let mut out = with_ordinary_spaces(&fitted(|room| columns(runs, room), MOMENTS.len() - 1, 0, style));
    if runs.iter().any(|run| run.tps_low.is_some()) {
        let what = "± is half of the 95 % interval of the throughput";
        out += &format!("{}\n", emphasise(what, Emphasis::Quiet, style));
    }
    out
}

fn columns(runs: &[RunLine], room: usize) -> Vec<Cells> {
    let column = |title: &str, of: &dyn Fn(&RunLine) -> String| titled(title, runs.iter().map(of).collect());
    let left = |title: &str, of: &dyn Fn(&RunLine) -> String| {
        padded(std::iter::once(title.to_owned()).chain(runs.iter().map(of)).collect(), Side::Left)
    };
    let digits = runs.iter().map(|run| run.run.to_string().len()).max().unwrap_or(0).max("run".len());
    let year = runs.iter().map(|run| run.started_at.get(..4)).max().flatten().unwrap_or_default();
    let what = |run: &RunLine| {
        format!("{:>digits$}  {}  {}", run.run, moment(&run.started_at, year, room), ran(run))
    };
    let has_trials = runs.iter().any(|run| run.trial.is_some());
    let named = match (has_trials, room) {
        (false, _) | (true, 0) => "scripts",
        (true, _) => "scripts, or experiment: levels",
    };
    let (from, to) = MOMENTS[room];
    let title = format!("{:>digits$}  {:<2$}  {named}", "run", "began, UTC", to - from);
    let names = std::iter::once(title).chain(runs.iter().map(what)).collect();
    let mut columns = vec![
        padded(names, Side::Left),
        column("server", &|run| run.server_version.as_deref().map_or(NOTHING.to_owned(), escaped_line)),
        column("clients", &|run| count(u64::from(run.clients))),
        column("tps", &throughput),
        column("p99", &|run| run.p99_us.map_or(NOTHING.to_owned(), latency)),
    ];
    let has_status = runs.iter().any(|run| run.status != RunStatus::Complete);
    if room > 0 || !has_status {
        columns.push(left("limit", &|run| run.limit.as_deref().map_or(NOTHING.to_owned(), escaped_line)));
    }
    if has_status {
        columns.push(left("status", &|run| run.status.name().to_owned()));
    }
    columns
}

/// `tpcb-like`, or `ladder: clients 8, protocol prepared`.
fn ran(run: &RunLine) -> String {
    match &run.trial {
        None => cut(&escaped_line(&run.scripts), NAMES_LEN_MAX),
        Some(TrialOfRun { experiment, factors, repeat: _ }) => {
            let levels: Vec<String> =
                factors.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
            cut(&escaped_line(&format!("{experiment}: {}", levels.join(", "))), LEVELS_LEN_MAX)
        }
    }
}

/// Formats `2026-11-21T12:03:01.250Z` for the available width.
fn moment(started_at: &str, year: &str, room: usize) -> String {
    let (from, to) = MOMENTS[room];
    let (first, end) = if from == 0 || started_at.starts_with(year) { (from, to) } else { DAY };
    let shown: String = escaped_line(started_at).chars().take(end).skip(first).collect();
    format!("{:<1$}", shown.replacen('T', " ", 1), to - from)
}

fn throughput(run: &RunLine) -> String {
    match (run.tps, run.tps_low, run.tps_high) {
        (Some(tps), Some(low), Some(high)) if half_width(tps, low, high) < tps => {
            format!("{} ± {}", rate(tps), beside_a_rate(half_width(tps, low, high)))
        }
        (Some(tps), ..) => rate(tps),
        (None, ..) => NOTHING.to_owned(),
    }
}

/// One decimal if the rate has one digit before the point, otherwise none.
fn beside_a_rate(tps: f64) -> String {
    fixed(tps, usize::from(tps < 9.95))
}
