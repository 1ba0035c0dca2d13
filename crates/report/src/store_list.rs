//! The stored runs, comparisons, experiments and query sets as a table, one line each: identification, main figures,
//! throughput over time, answer. Trials stand under their experiment. Used by `pgmeter runs`. No line is longer than the
//! terminal is wide.

use std::collections::BTreeSet;

use results::{
    ComparisonLine, Entry, EntryId, EntryKind, ExperimentLine, Label, QuerySetLine, Removed, RunLine,
    TrialOfRun,
};

use crate::TextStyle;
use crate::figures::{count, counted, fixed, half_width, latency, rate, rate_known_to, with_ordinary_spaces};
use crate::metrics::Metric;
use crate::prose::{Emphasis, cut, emphasise, escaped_line};
use crate::search::search_in_short;
use crate::sparkline::sparkline;
use crate::table::{Cells, Side, padded, titled};
use crate::wording;

/// Text of an empty cell.
const NOTHING: &str = "-";

/// Maximum lengths at any terminal width.
const NAME_LEN_MAX: usize = 32;
const LEVELS_LEN_MAX: usize = 48;
const LABEL_LEN_MAX: usize = 24;
const ANSWER_LEN_MAX: usize = 100;
/// Lengths to which the cells of names, labels and answers are cut, and those in terminals that are too narrow for them.
const READABLE: Cut = Cut { name: 12, label: 8, answer: 20 };
const SHORTEST: Cut = Cut { name: 9, label: 6, answer: 8 };

/// Lengths of cut cells.
#[derive(Clone, Copy)]
struct Cut {
    name: usize,
    label: usize,
    answer: usize,
}

/// How much a line shows.
struct Detail {
    /// Character range of `2026-11-21 12:03:01`.
    moment: (usize, usize),
    has_server: bool,
    has_clients: bool,
    has_error: bool,
    has_kind: bool,
    latencies: &'static [Metric],
    has_curve: bool,
    gap: usize,
    /// Cells may be cut to these lengths.
    cut: Option<Cut>,
}

/// The first one that fits is used, otherwise the last one.
const DETAILS: [Detail; 10] = [
    Detail { has_server: true, moment: (0, 19), ..WIDE },
    WIDE,
    Detail { has_curve: true, ..MEDIUM },
    Detail { has_curve: false, ..WIDE },
    Detail { has_curve: true, has_kind: false, ..MEDIUM },
    MEDIUM,
    Detail { has_kind: false, ..MEDIUM },
    Detail { has_curve: true, latencies: &MAIN_LATENCIES, ..NARROW },
    Detail { latencies: &MAIN_LATENCIES, ..NARROW },
    Detail { latencies: &[Metric::P99], ..NARROW },
];
/// Where there is no room for all of the first figures.
const MAIN_LATENCIES: [Metric; 3] = [Metric::P50, Metric::P99, Metric::Max];
const WIDE: Detail = Detail {
    moment: (0, 16),
    has_server: false,
    has_clients: true,
    has_error: true,
    has_kind: true,
    latencies: &Metric::FIRST_LATENCIES,
    has_curve: true,
    gap: 2,
    cut: None,
};
const MEDIUM: Detail = Detail {
    moment: (5, 16),
    has_clients: false,
    has_error: false,
    has_curve: false,
    gap: 1,
    cut: Some(READABLE),
    ..WIDE
};
/// The id tells the kind.
const NARROW: Detail = Detail { has_kind: false, latencies: &[], ..MEDIUM };
/// The range of a short moment in years other than the newest entry's: `2025-11-21` and a blank.
const DAY: (usize, usize) = (0, 10);

/// A column of texts; `len_of` is the length of a cut one, `None` if it is never cut.
struct Column {
    cells: Cells,
    len_of: Option<fn(Cut) -> usize>,
}

impl Column {
    fn len(&self) -> usize {
        self.cells[0].chars().count()
    }

    /// The length after cutting to this.
    fn cut_len(&self, to: Option<Cut>) -> usize {
        let cut = self.len_of.zip(to).map(|(len_of, cut)| len_of(cut));
        cut.map_or(self.len(), |len| len.min(self.len()))
    }
}

/// The entries in their order, each line with its line end; a sentence if the list is empty.
pub fn store_list(entries: &[Entry], style: &TextStyle) -> String {
    if entries.is_empty() {
        return "the store has no entries, or none that these options select\n".to_owned();
    }
    let entries = &under_experiments(entries);
    let fits = |detail: &&Detail| width(&columns(entries, detail), detail.gap, detail.cut) <= style.width;
    let detail = DETAILS.iter().find(fits).unwrap_or(&NARROW);
    let mut columns = columns(entries, detail);
    cut_widest(&mut columns, detail.gap, style.width);
    let line = |number: usize| {
        let cells: Vec<&str> = columns.iter().map(|column| column.cells[number].as_str()).collect();
        let line = cells.join(&" ".repeat(detail.gap)).trim_end().to_owned();
        let line = if number == 0 { emphasise(&line, Emphasis::Quiet, style) } else { line };
        line + "\n"
    };
    let mut out: String = (0..=entries.len()).map(line).collect();
    let has_interval = |run: &RunLine| run.tps_low.is_some();
    let has = |of: &dyn Fn(&RunLine) -> bool| entries.iter().filter_map(|line| line.run()).any(of);
    let has_trials = |line: &Line<'_>| matches!(line.entry, Entry::Experiment(line) if line.trials > 0);
    let notes = [
        (detail.has_error && has(&has_interval), "± is half of the 95 % interval of the throughput"),
        (
            entries.iter().any(has_trials) && !has(&|run| run.trial.is_some()),
            "--trials lists the trials of experiments too",
        ),
    ];
    for (_, note) in notes.iter().filter(|(applies, _)| *applies) {
        out += &format!("{}\n", emphasise(note, Emphasis::Quiet, style));
    }
    with_ordinary_spaces(&out)
}

/// An entry, and whether it stands under its experiment.
#[derive(Clone, Copy)]
struct Line<'a> {
    entry: &'a Entry,
    is_under_experiment: bool,
}

impl Line<'_> {
    fn run(&self) -> Option<&RunLine> {
        match self.entry {
            Entry::Run(run) => Some(run),
            Entry::Comparison(_) | Entry::Experiment(_) | Entry::QuerySet(_) | Entry::Search(_) => None,
        }
    }
}

/// The entries in their order, but trials right after their experiment, if it is among them.
fn under_experiments(entries: &[Entry]) -> Vec<Line<'_>> {
    let number = |entry: &Entry| match entry {
        Entry::Run(run) => run.trial.as_ref().map(|trial| trial.experiment_number),
        Entry::Comparison(_) | Entry::Experiment(_) | Entry::QuerySet(_) | Entry::Search(_) => None,
    };
    let listed: BTreeSet<i64> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Experiment(line) => Some(line.experiment),
            Entry::Run(_) | Entry::Comparison(_) | Entry::QuerySet(_) | Entry::Search(_) => None,
        })
        .collect();
    let is_under = |entry: &Entry| number(entry).is_some_and(|experiment| listed.contains(&experiment));
    let line = |entry| Line { entry, is_under_experiment: false };
    let mut lines = Vec::with_capacity(entries.len());
    for entry in entries.iter().filter(|entry| !is_under(entry)) {
        lines.push(line(entry));
        if let Entry::Experiment(ExperimentLine { experiment, .. }) = entry {
            let trials = entries.iter().filter(|entry| number(entry) == Some(*experiment));
            lines.extend(trials.map(|entry| Line { is_under_experiment: true, ..line(entry) }));
        }
    }
    lines
}

/// `removed experiment e2 with 12 runs and 12 records`.
pub fn removed(removed: &Removed) -> String {
    let Removed { id, runs, deleted, left: _ } = removed;
    let kind = id.kind.name();
    let with = match (id.kind, deleted.as_slice()) {
        (EntryKind::Run, [record]) => format!(" and its record {}", record.display()),
        (EntryKind::Run, _) => " without a record".to_owned(),
        (EntryKind::Comparison | EntryKind::QuerySet | EntryKind::Search, _) => String::new(),
        (EntryKind::Experiment, deleted) => format!(
            " with {} and {}",
            counted(*runs, "run", "runs"),
            counted(deleted.len() as u64, "record", "records")
        ),
    };
    with_ordinary_spaces(&format!("removed {kind} {id}{with}"))
}

/// `2 runs, 1 comparison`; `0 runs` if there is none.
pub fn counted_entries(ids: &[EntryId]) -> String {
    let of = |kind: EntryKind| {
        let number = ids.iter().filter(|id| id.kind == kind).count() as u64;
        let plural =
            if kind == EntryKind::Search { "searches".to_owned() } else { format!("{}s", kind.name()) };
        (number > 0 || ids.is_empty() && kind == EntryKind::Run)
            .then(|| counted(number, kind.name(), &plural))
    };
    with_ordinary_spaces(&EntryKind::ALL.into_iter().filter_map(of).collect::<Vec<_>>().join(", "))
}

/// Width of a line with cells that are cut to these lengths.
fn width(columns: &[Column], gap: usize, to: Option<Cut>) -> usize {
    let cells: usize = columns.iter().map(|column| column.cut_len(to)).sum();
    cells + gap * columns.len().saturating_sub(1)
}

/// Cuts the widest of the columns that may be cut, until a line fits.
fn cut_widest(columns: &mut [Column], gap: usize, room: usize) {
    let mut too_long = width(columns, gap, None).saturating_sub(room);
    let mut lens: Vec<usize> = columns.iter().map(Column::len).collect();
    for floor in [READABLE, SHORTEST] {
        while too_long > 0 {
            let may_be_cut = |at: &usize| lens[*at] > columns[*at].cut_len(Some(floor));
            let Some(widest) = (0..lens.len()).filter(may_be_cut).max_by_key(|at| lens[*at]) else { break };
            lens[widest] -= 1;
            too_long -= 1;
        }
    }
    for (column, len) in columns.iter_mut().zip(lens).filter(|(column, len)| *len < column.len()) {
        let cells = column.cells.iter().map(|cell| cut(cell.trim_end(), len)).collect();
        column.cells = padded(cells, Side::Left);
    }
}

fn columns(lines: &[Line<'_>], detail: &Detail) -> Vec<Column> {
    let entries = || lines.iter().map(|line| line.entry);
    let all = |of: &dyn Fn(&Entry) -> String| entries().map(of).collect::<Cells>();
    let left = |title: &str, of: &dyn Fn(&Entry) -> String| {
        let cells = padded(std::iter::once(title.to_owned()).chain(all(of)).collect(), Side::Left);
        Column { cells, len_of: None }
    };
    let right =
        |title: &str, of: &dyn Fn(&Entry) -> String| Column { cells: titled(title, all(of)), len_of: None };
    let cuttable = |column: Column, len_of: fn(Cut) -> usize| Column { len_of: Some(len_of), ..column };
    let of_run = |of: fn(&RunLine) -> Option<String>| {
        move |entry: &Entry| match entry {
            Entry::Run(run) => of(run).unwrap_or_else(|| NOTHING.to_owned()),
            Entry::Comparison(_) | Entry::Experiment(_) | Entry::QuerySet(_) | Entry::Search(_) => {
                NOTHING.to_owned()
            }
        }
    };
    let year = entries().filter_map(|entry| entry.started_at().get(..4)).max().unwrap_or_default();
    let mut columns = vec![
        right("id", &|entry| entry.id().to_string()),
        left("began, UTC", &|entry| moment(entry.started_at(), year, detail.moment)),
    ];
    if detail.has_kind {
        columns.push(left("kind", &|entry| kind(entry).to_owned()));
    }
    columns.push(cuttable(names(lines), |cut| cut.name));
    if entries().any(|entry| entry.annotation().label.is_some()) {
        columns.push(cuttable(left("label", &label), |cut| cut.label));
    }
    if detail.has_server {
        columns.push(right("server", &of_run(|run| run.server_version.as_deref().map(escaped_line))));
    }
    if detail.has_clients {
        columns.push(right("clients", &of_run(|run| Some(count(u64::from(run.clients))))));
    }
    let tps = if detail.has_error { throughput } else { |run: &RunLine| run.tps.map(rate) };
    columns.push(right("tps", &of_run(tps)));
    for metric in detail.latencies {
        let shown = |entry: &Entry| match entry {
            Entry::Run(run) => latency_of(run, *metric).map_or_else(|| NOTHING.to_owned(), latency),
            Entry::Comparison(_) | Entry::Experiment(_) | Entry::QuerySet(_) | Entry::Search(_) => {
                NOTHING.to_owned()
            }
        };
        columns.push(right(metric.row().short, &shown));
    }
    let has_curve = |line: &Line<'_>| line.run().is_some_and(|run| run.tps_curve.len() > 1);
    if detail.has_curve && lines.iter().any(has_curve) {
        columns.push(left("tps over time", &of_run(|run| Some(curve(&run.tps_curve)))));
    }
    if detail.has_server {
        columns.push(left("limit", &of_run(|run| run.limit.as_deref().map(escaped_line))));
    }
    columns.push(cuttable(left("answer", &|entry| cut(&answer(entry), ANSWER_LEN_MAX)), |cut| cut.answer));
    columns
}

/// One of the first latencies of a run, in µs.
fn latency_of(run: &RunLine, metric: Metric) -> Option<f64> {
    [run.p50_us, run.p90_us, run.p99_us, run.p999_us, run.max_us]
        .into_iter()
        .zip(Metric::FIRST_LATENCIES)
        .find_map(|(us, known)| us.filter(|_| known == metric))
}

fn names(lines: &[Line<'_>]) -> Column {
    let name = |line: &Line<'_>| match (line.entry, line.is_under_experiment) {
        (Entry::Run(run), true) => {
            let levels = run.trial.as_ref().map(levels).unwrap_or_default();
            format!("  {}", cut(&escaped_line(&levels), LEVELS_LEN_MAX))
        }
        (entry, _) => name(entry),
    };
    let cells = std::iter::once("name".to_owned()).chain(lines.iter().map(name)).collect();
    Column { cells: padded(cells, Side::Left), len_of: None }
}

/// Of fewer than two values there is no curve.
fn curve(tps: &[f64]) -> String {
    match tps {
        [] | [_] => NOTHING.to_owned(),
        several => sparkline(&several.iter().copied().map(Some).collect::<Vec<_>>()),
    }
}

/// `clients 8, protocol prepared`
fn levels(trial: &TrialOfRun) -> String {
    let levels = trial.factors.iter().map(|(factor, level)| format!("{factor} {level}"));
    levels.collect::<Vec<_>>().join(", ")
}

/// The kind of an entry; a run of an experiment is a trial.
fn kind(entry: &Entry) -> &'static str {
    match entry {
        Entry::Run(run) if run.trial.is_some() => "trial",
        Entry::Run(_)
        | Entry::Comparison(_)
        | Entry::Experiment(_)
        | Entry::QuerySet(_)
        | Entry::Search(_) => entry.id().kind.name(),
    }
}

/// `tpcb-like`, `ladder: clients 8, protocol prepared`, `wal_compression: off, pglz`, `ladder (quick)`.
fn name(entry: &Entry) -> String {
    match entry {
        Entry::Run(run) => match &run.trial {
            None => cut(&escaped_line(&run.scripts), NAME_LEN_MAX),
            Some(trial) => {
                cut(&escaped_line(&format!("{}: {}", trial.experiment, levels(trial))), LEVELS_LEN_MAX)
            }
        },
        Entry::Comparison(line) => {
            let ComparisonLine { factor, a, b, .. } = &**line;
            cut(&escaped_line(&format!("{factor}: {a}, {b}")), LEVELS_LEN_MAX)
        }
        Entry::Experiment(ExperimentLine { name, profile, .. }) => {
            let profile = if profile == "full" { String::new() } else { format!(" ({profile})") };
            cut(&escaped_line(&format!("{name}{profile}")), LEVELS_LEN_MAX)
        }
        Entry::QuerySet(line) => {
            let QuerySetLine { name, scale, streams, .. } = &**line;
            let scale = scale.map(|scale| format!(": scale {scale}")).unwrap_or_default();
            let streams = streams.filter(|streams| *streams > 1);
            let streams = streams.map(|streams| format!(", {streams} streams")).unwrap_or_default();
            cut(&escaped_line(&format!("{name}{scale}{streams}")), LEVELS_LEN_MAX)
        }
        Entry::Search(line) => cut(&escaped_line(&line.name), NAME_LEN_MAX),
    }
}

fn label(entry: &Entry) -> String {
    let label = entry.annotation().label.as_ref().map(Label::as_str);
    label.map_or(NOTHING.to_owned(), |label| cut(&escaped_line(label), LABEL_LEN_MAX))
}

fn answer(entry: &Entry) -> String {
    match entry {
        Entry::Run(run) => wording::short_answer(run),
        Entry::Comparison(line) => wording::comparison_in_short(line),
        Entry::Experiment(line) => wording::experiment_in_short(line),
        Entry::QuerySet(line) => wording::query_set_in_short(line),
        Entry::Search(line) => search_in_short(line),
    }
}

/// Formats `2026-11-21T12:03:01.250Z` in this range.
fn moment(started_at: &str, year: &str, (from, to): (usize, usize)) -> String {
    let (first, end) = if from == 0 || started_at.starts_with(year) { (from, to) } else { DAY };
    let shown: String = escaped_line(started_at).chars().take(end).skip(first).collect();
    shown.replacen('T', " ", 1)
}

fn throughput(run: &RunLine) -> Option<String> {
    let tps = run.tps?;
    Some(match run.tps_low.zip(run.tps_high).map(|(low, high)| half_width(tps, low, high)) {
        Some(half) if half < tps => {
            format!("{} ± {}", rate_known_to(tps, half / tps), beside_a_rate(half))
        }
        _ => rate(tps),
    })
}

/// One decimal if the rate has one digit before the point, otherwise none.
fn beside_a_rate(tps: f64) -> String {
    fixed(tps, usize::from(tps < 9.95))
}
