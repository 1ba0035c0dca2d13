//! The sentences and short texts of an experiment's report: ratios, marks, waits, missing figures. Nothing is escaped or
//! laid out here.

use super::cells::{ExperimentCell, Standing};
use super::overview::{Base, Overview};
use super::repeats::{Ratio, Repeated, Subtraction};
use super::steps::StepFigures;
use super::{Marks, Metric, Quantity};
use crate::figures::{TIE, counted, half_width, latency_known_to, percent, plus_minus, rate_known_to};
use crate::prose::enumerate;
use crate::ratios;
use crate::wording::wait_name;

/// Sign, words, and whether a cell has it.
type Mark = (char, &'static str, fn(Marks) -> bool);

/// The signs of the marks, and what they stand for, in the order in which they are said.
pub(crate) const MARKS: [Mark; 3] = [
    ('▲', "best throughput", |marks| marks.throughput),
    ('▼', "lowest mean latency", |marks| marks.latency),
    ('◆', "compromise", |marks| marks.compromise),
];

/// Further figures of tables: of every load, and of all trials if any of them has some.
pub(crate) const OF_EVERY_LOAD: [Metric; 4] = [Metric::Mean, Metric::Stddev, Metric::P50, Metric::P99];
pub(crate) const IF_ANY: [Metric; 6] = [
    Metric::FailedShare,
    Metric::LateOrSkipped,
    Metric::WalBytes,
    Metric::ServerCpu,
    Metric::PoolerCpu,
    Metric::PoolerWait,
];

/// `▲◆`
pub(crate) fn signs(marks: Marks) -> String {
    MARKS.iter().filter(|(.., is)| is(marks)).map(|(sign, ..)| *sign).collect()
}

/// `± 1.2 %`, or nothing of a single repeat; nor of 0, of which there is no share.
pub(crate) fn interval(figure: &Repeated) -> String {
    match figure.interval.filter(|_| figure.mean > 0.0) {
        None => String::new(),
        Some((low, high)) => {
            plus_minus(figure.mean, low, high).unwrap_or_else(|| format!("±{TIE}100{TIE}% or more"))
        }
    }
}

/// `×1.042`, `×63.1`; one of which the interval says nothing is not told.
pub(crate) fn ratio(ratio: &Ratio) -> String {
    match ratios::says_nothing(ratio.interval) {
        true => "not measurable".to_owned(),
        false => ratios::value(ratio.value, ratio.interval),
    }
}

/// `(0.98 … 1.11)`, or nothing.
pub(crate) fn bounds(ratio: &Ratio) -> String {
    let interval = ratio.interval.filter(|interval| !ratios::says_nothing(Some(*interval)));
    ratios::range(ratio.value, interval).map_or(String::new(), |range| format!("({range})"))
}

/// `117 µs` and `(88.1 µs … 147 µs)`, or nothing.
pub(crate) fn difference(quantity: Quantity, difference: &Subtraction) -> (String, String) {
    let signed = |figure: f64| {
        let shown = quantity.shown(figure.abs());
        if figure < 0.0 { format!("−{shown}") } else { shown }
    };
    let bounds = difference.interval.map(|(low, high)| format!("({} … {})", signed(low), signed(high)));
    (signed(difference.value), bounds.unwrap_or_default())
}

/// Columns of ratios.
pub(crate) const RATIO_TO_BASE: &str = "ratio to the base";
pub(crate) const RATIO_TO_PREVIOUS: &str = "ratio to the step before";

/// Rarer events are not named.
const WAIT_SHARE_MIN: f64 = 0.05;

/// `Lock transactionid 62 %, running 20 %`
pub(crate) fn top_waits(cell: &ExperimentCell, shown_max: usize) -> String {
    let waits = cell.waits.iter().take(shown_max).filter(|wait| wait.share >= WAIT_SHARE_MIN);
    let told = waits
        .map(|wait| format!("{} {}", wait_name(&wait.event_type, &wait.event), percent(wait.share, 1.0)));
    told.collect::<Vec<_>>().join(", ")
}

impl Overview {
    /// `18 of 20 trials complete, 1 failed, 1 not run: 6 combinations, 3 repeats`
    pub(crate) fn standing(&self) -> String {
        let number = |name: &str| self.trials.iter().filter(|trial| trial.standing.name() == name).count();
        let mut told = format!("{} of {} trials complete", number("complete"), self.trials.len());
        for (name, words) in [("failed", "failed"), ("running", "running"), ("planned", "not run")] {
            if number(name) > 0 {
                told += &format!(", {} {words}", number(name));
            }
        }
        let repeats = self.trials.iter().map(|trial| trial.repeat).max().unwrap_or(0);
        let cells = counted(self.cells.len() as u64, "combination", "combinations");
        format!("{told}: {cells}, {}", counted(repeats.into(), "repeat", "repeats"))
    }

    /// As a sentence names a figure: `the mean latency`.
    fn named(&self, metric: Metric) -> String {
        let title = self.title_of(metric);
        if self.has_steps() && metric == Metric::Duration {
            let of = if super::query_sets::is_of_query_sets(self) { "queries" } else { "steps" };
            return format!("the total {title} of all {of}");
        }
        match metric.quantity() {
            Quantity::Share => format!("the share of {title} transactions"),
            _ => format!("the {title}"),
        }
    }

    /// Whether durations are bounds, because a query reached its limit.
    pub(crate) fn has_bounds(&self) -> bool {
        (0..self.cells.len()).any(|cell| super::query_sets::is_bound(self, cell))
    }

    /// Whether any cell is compared with another.
    pub(crate) fn has_ratios(&self) -> bool {
        self.cells.iter().any(|cell| cell.base.is_some())
    }

    /// Whether any cell has one with an earlier level.
    pub(crate) fn has_previous(&self) -> bool {
        self.cells.iter().any(|cell| cell.previous.is_some())
    }

    /// The denominator of ratios.
    pub(super) fn base_named(&self) -> String {
        match &self.base {
            Base::First => {
                let is_host = |at: usize| Some(at) == self.host_factor;
                let levels = self.levels(0).enumerate().filter(|(at, _)| !is_host(*at));
                let levels: Vec<String> =
                    levels.map(|(_, (factor, level))| format!("{} {level}", factor.name)).collect();
                let rest = if self.host_factor.is_some() { " on the same host" } else { "" };
                format!("the first combination ({}){rest}", levels.join(", "))
            }
            Base::Levels(pairs) => {
                let all = self.factors.iter().filter(|factor| factor.levels.len() > 1).count();
                let rest = if pairs.len() < all { ", all other factors equal" } else { "" };
                let pairs: Vec<String> =
                    pairs.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
                format!("{}{rest}", crate::prose::escaped_line(&pairs.join(", ")))
            }
        }
    }

    /// How ratios are defined, in sentences; empty for a report without ratios.
    pub(crate) fn ratios_in_words(&self) -> String {
        let mut sentences = Vec::new();
        if self.has_ratios() {
            let note = match &self.base {
                Base::First => ", because the file names no base",
                Base::Levels(_) => {
                    let bases = self.cells.iter().filter_map(|cell| cell.base);
                    let missing = bases.map(|base| self.complete_trials(base)).all(|number| number == 0);
                    if missing { ", which has no complete trial" } else { "" }
                }
            };
            sentences.push(format!(
                "The {RATIO_TO_BASE} divides {} by that of {}{note}.",
                self.named(self.main()),
                self.base_named()
            ));
        }
        if self.host_factor.is_some() {
            let first = &self.hosts[0].name;
            sentences.push(format!(
                "The ratio to {first} divides {} by that of the same combination there.",
                self.named(self.main())
            ));
        }
        if let Some(axis) = self.ladder().filter(|_| self.has_previous()) {
            sentences.push(format!(
                "The {RATIO_TO_PREVIOUS} divides {} by that of the previous level of {}.",
                self.named(self.main()),
                crate::prose::escaped_line(&self.factors[axis].name)
            ));
        }
        if self.repeats_are_blocks && !sentences.is_empty() {
            let within = if self.host_factor.is_some() { "Ratios within a host" } else { "Ratios" };
            sentences.push(match self.has_steps() {
                true => "Intervals of ratios are of the differences within each repeat.".to_owned(),
                false => format!("{within} are computed within each repeat."),
            });
        }
        sentences.join(" ")
    }

    /// How the ratios of steps are defined; `None` for a report without such ratios.
    pub(crate) fn step_ratios_in_words(&self) -> Option<String> {
        let has_steps = self.cells.iter().any(|cell| !cell.steps.is_empty());
        (has_steps && self.has_ratios()).then(|| {
            format!(
                "× duration, × WAL and × CPU are ratios to the same step of {}. A ratio is missing if the value is \
                 unknown, or 0 in a repeat.",
                self.base_named()
            )
        })
    }

    /// Why figures are missing in the tables, in sentences.
    pub(crate) fn left_out(&self) -> Vec<String> {
        [self.rate_in_words(), self.missing_ratios(), self.missing_figures()].into_iter().flatten().collect()
    }

    fn rate_in_words(&self) -> Option<String> {
        let told = "The throughput was set by a rate, so it is not judged.";
        self.has_rate().then(|| told.to_owned())
    }

    /// Ratios that there are none of, since there is no logarithm of 0.
    fn missing_ratios(&self) -> Option<String> {
        let main = self.main();
        let is_known = |cell: usize| self.cells[cell].figure(main).is_some();
        let lacks_it = |cell: &usize| {
            let has_both = self.cells[*cell].base.is_some_and(|base| is_known(base) && is_known(*cell));
            has_both && self.ratio(*cell, main).is_none()
        };
        let number = (0..self.cells.len()).filter(lacks_it).count() as u64;
        let have = if number == 1 { "has" } else { "have" };
        let cells = counted(number, "combination", "combinations");
        (number > 0)
            .then(|| format!("{cells} {have} no ratio: a repeat of it or of its base has the value 0."))
    }

    /// Figures that are not shown, since not all trials of a combination have them.
    fn missing_figures(&self) -> Option<String> {
        let of_every_load: &[Metric] = if self.has_steps() { &[] } else { &OF_EVERY_LOAD };
        let shown = self.shown(&[of_every_load, &IF_ANY[..]].concat());
        let gap = |metric: Metric| {
            let number = self.cells.iter().filter(|cell| cell.knows_partly(metric)).count() as u64;
            let cells = counted(number, "combination", "combinations");
            (number > 0).then(|| format!("{} of {cells}", self.named(metric)))
        };
        let mut gaps: Vec<String> = std::iter::once(self.main()).chain(shown).filter_map(gap).collect();
        let steps = self.cells.iter().flat_map(|cell| &cell.steps).filter(|step| step.is_partly_known);
        let steps = steps.count() as u64;
        if steps > 0 {
            gaps.push(format!("a figure of {}", counted(steps, "step", "steps")));
        }
        (!gaps.is_empty())
            .then(|| format!("Unknown, because some of the trials have no value: {}.", enumerate(&gaps)))
    }

    /// The meaning of the marks that cells have, in a sentence; `None` if no cell has one.
    pub(crate) fn marks_told(&self) -> Option<String> {
        let is_there = |is: fn(Marks) -> bool| (0..self.cells.len()).any(|cell| is(self.marks(cell)));
        let told = |(sign, name, _): &Mark| match *sign {
            '◆' => format!("{sign} the {name} between them, where throughput ÷ mean latency is greatest"),
            sign => format!("{sign} {name}"),
        };
        let told: Vec<String> = MARKS.iter().filter(|(.., is)| is_there(*is)).map(told).collect();
        let among = "each in one line of the first chart";
        (!told.is_empty()).then(|| format!("{}; {among}.", told.join(", ")))
    }

    /// How intervals were computed, in a sentence; `None` for a report without intervals.
    pub(crate) fn intervals_in_words(&self) -> Option<String> {
        let any =
            self.cells.iter().any(|cell| cell.figure(self.main()).is_some_and(|it| it.interval.is_some()));
        any.then(|| {
            let welch = if self.repeats_are_blocks { "" } else { " and Welch's" };
            format!(
                "Figures are means of the repeats; ± and ranges are 95{TIE}% confidence intervals (Student's t{welch})."
            )
        })
    }

    /// The marks of a cell in the first chart.
    pub(crate) fn marks(&self, cell: usize) -> Marks {
        let points =
            self.charts.iter().take(1).flat_map(|chart| &chart.panels).flat_map(|panel| &panel.lines);
        let mut points = points.flat_map(|line| &line.points);
        points.find(|point| point.cell == cell).map_or(Marks::default(), |point| point.marks)
    }

    /// Trials without figures, with the reason: those of one cell and one reason together.
    pub(crate) fn lost(&self) -> Vec<String> {
        let mut groups: Vec<((usize, String), Vec<String>)> = Vec::new();
        let mut trials: Vec<&super::Trial> =
            self.trials.iter().filter(|trial| trial.standing != Standing::Complete).collect();
        trials.sort_by_key(|trial| (trial.cell, trial.repeat));
        for trial in trials {
            let what = match &trial.standing {
                Standing::Failed(reason) => format!("failed: {reason}"),
                Standing::Running => "running".to_owned(),
                Standing::Planned | Standing::Complete => "not run yet".to_owned(),
            };
            let run = trial.run.as_ref().filter(|_| matches!(trial.standing, Standing::Failed(_)));
            let run = run.map_or(String::new(), |run| format!(" (run {})", run.run));
            let key = (trial.cell, what);
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, repeats)) => repeats.push(format!("{}{run}", trial.repeat)),
                None => groups.push((key, vec![format!("{}{run}", trial.repeat)])),
            }
        }
        let told = |((cell, what), repeats): &((usize, String), Vec<String>)| {
            let word = if repeats.len() == 1 { "repeat" } else { "repeats" };
            format!("{}, {word} {} {what}", self.description_of(*cell), enumerate(repeats))
        };
        groups.iter().map(told).collect()
    }

    /// The command that repeats the experiment, in the directory of its file, which the store does not know.
    pub(crate) fn repeat_command(&self) -> String {
        let quick = if self.profile == "quick" { " --quick" } else { "" };
        let file = self.file_name().unwrap_or("experiment.toml");
        format!("pgmeter lab run {file}{quick}{}", self.hosts[0].option)
    }

    /// Its file among those that are stored.
    pub(crate) fn file_name(&self) -> Option<&str> {
        self.files.keys().map(String::as_str).find(|name| name.ends_with(".toml"))
    }

    /// The command that writes the figures of all trials.
    pub(crate) fn export_command(&self) -> String {
        let Self { name, store, profile, .. } = self;
        format!("pgmeter report{store} --experiment {name} --profile {profile} --format csv -o {name}.csv")
    }

    /// The command that writes the page.
    pub(crate) fn page_command(&self) -> String {
        let profile = if self.profile == "quick" { " --profile quick" } else { "" };
        let Self { name, store, .. } = self;
        format!("pgmeter report{store} --experiment {name}{profile} --format html -o {name}.html")
    }
}

/// A figure with its unit and how sure it is, in one cell: `1,234 ± 1.2 %`; a dash if there is none.
pub(crate) fn with_interval(figure: Option<&Repeated>, quantity: Quantity) -> String {
    let Some(figure) = figure else { return "—".to_owned() };
    let half = figure.interval.map(|(low, high)| half_width(figure.mean, low, high) / figure.mean);
    let half = half.filter(|half| half.is_finite()).unwrap_or(0.0);
    let shown = match quantity {
        Quantity::PerSecond => rate_known_to(figure.mean, half),
        Quantity::Microseconds => latency_known_to(figure.mean, half),
        Quantity::Seconds
        | Quantity::Share
        | Quantity::Bytes
        | Quantity::Number
        | Quantity::Count
        | Quantity::Percentile => quantity.shown(figure.mean),
    };
    match interval(figure) {
        sure if sure.is_empty() => shown,
        sure => format!("{shown} {sure}"),
    }
}

/// Whether others are compared with this cell.
pub(crate) fn is_base(overview: &Overview, cell: usize) -> bool {
    overview.cells.iter().any(|other| other.base == Some(cell))
}

/// `2 of 3 times at the limit`: the meaning of the asterisk; `None` if no step has one.
pub(crate) fn limits_in_words(overview: &Overview) -> Option<String> {
    let limited = overview.cells.iter().enumerate().flat_map(|(number, cell)| {
        cell.steps.iter().filter(|step| step.limited > 0).map(move |step| (number, step))
    });
    let told = |(cell, step): (usize, &StepFigures)| {
        format!("{} of {} ({})", step.name, overview.label(cell), step.limited_in_words())
    };
    let told: Vec<String> = limited.map(told).collect();
    (!told.is_empty()).then(|| {
        format!(
            "* Cancelled at its limit, and counted with the duration given in the file: {}.",
            enumerate(&told)
        )
    })
}
