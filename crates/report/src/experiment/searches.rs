//! Trials that are searches: for each combination the highest rate that keeps the goals, as a forest plot against the base
//! and as a table. `lab` runs the searches; `cells` has those of the trials.

use results::{SearchAnswer, SearchRecord, SearchResult};
use stats::{RateEstimate, RateRatio};

use super::overview::Overview;
use crate::document::{Block, Cell, Column, Table, TableOf, Tone};
use crate::figures::{TIE, percent};
use crate::forest::{EffectVerdict, Forest, ForestRow};
use crate::prose::escaped_line;
use crate::ratios;
use crate::search::{goals_in_words, rounded_rate};
use crate::values::{Fields, Value, fields};

/// More combinations than this are in the table alone.
const FOREST_MAX: usize = 24;

/// The rate of a combination, over its repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CellRate {
    pub(crate) rate_tps: f64,
    /// Of 95 %.
    pub(crate) interval: (f64, f64),
    /// Searches that found an interval, of those that are complete.
    pub(crate) found: usize,
    pub(crate) of: usize,
}

impl CellRate {
    /// The geometric mean of the rates. Its interval follows from those of the searches; if the repeats differ by more than
    /// these say, it is wider by the same factor (Birge, The calculation of errors by the method of least squares,
    /// Physical Review 40, 1932). `None` if no search has an interval.
    pub(crate) fn new(searches: &[&SearchResult]) -> Option<CellRate> {
        let known: Vec<(f64, f64, f64)> = (searches.iter())
            .filter(|search| search.answer == SearchAnswer::Sustains)
            .filter_map(|search| {
                let (rate, interval) = (search.rate_tps?, search.interval?);
                Some((rate.ln(), (rate / interval.low).ln(), (interval.high / rate).ln()))
            })
            .collect();
        if known.is_empty() {
            return None;
        }
        let count = known.len() as f64;
        let mean = known.iter().map(|(ln_rate, ..)| ln_rate).sum::<f64>() / count;
        let half = |side: fn(&(f64, f64, f64)) -> f64| {
            known.iter().map(|it| side(it).powi(2)).sum::<f64>().sqrt() / count
        };
        // Deviations of the repeats in the standard deviations that their intervals stand for.
        let deviations = known.iter().map(|(ln_rate, down, up)| {
            let deviation = (down + up) / 2.0 / NORMAL;
            if deviation > 0.0 { ((ln_rate - mean) / deviation).powi(2) } else { 0.0 }
        });
        let birge =
            if known.len() > 1 { (deviations.sum::<f64>() / (count - 1.0)).sqrt().max(1.0) } else { 1.0 };
        let (down, up) = (birge * half(|it| it.1), birge * half(|it| it.2));
        let interval = ((mean - down).exp(), (mean + up).exp());
        Some(CellRate { rate_tps: mean.exp(), interval, found: known.len(), of: searches.len() })
    }

    fn estimate(&self) -> RateEstimate {
        let CellRate { rate_tps, interval: (low_tps, high_tps), .. } = *self;
        RateEstimate { rate_tps, low_tps, high_tps }
    }

    /// This rate ÷ that of the base, with an interval from those of both.
    fn ratio(&self, base: &CellRate) -> (f64, (f64, f64)) {
        let RateRatio { ratio, low, high } = RateRatio::new(&base.estimate(), &self.estimate());
        (ratio, (low, high))
    }
}

/// Standard deviations of a normal distribution that contain 95 %.
const NORMAL: f64 = 1.959_964;

/// Whether the trials are searches.
pub(super) fn is_of_searches(overview: &Overview) -> bool {
    overview.trials.iter().any(|trial| trial.search.is_some())
}

/// The complete searches of a cell.
fn of_cell(overview: &Overview, cell: usize) -> Vec<&SearchRecord> {
    let trials = overview.cells[cell].trials.iter().map(|trial| &overview.trials[*trial]);
    trials.filter_map(|trial| trial.complete_search()).collect()
}

fn rate_of(overview: &Overview, cell: usize) -> Option<CellRate> {
    let searches = of_cell(overview, cell);
    CellRate::new(&searches.iter().map(|record| &record.search).collect::<Vec<_>>())
}

/// The combination with the highest rate, if its interval is above all others.
pub(super) fn answer(overview: &Overview) -> Option<(Tone, String)> {
    if !is_of_searches(overview) {
        return None;
    }
    let rates: Vec<(usize, CellRate)> =
        (0..overview.cells.len()).filter_map(|cell| Some((cell, rate_of(overview, cell)?))).collect();
    let (best, rate) = rates.iter().max_by(|a, b| a.1.rate_tps.total_cmp(&b.1.rate_tps))?;
    let with = goals_in_words(&of_cell(overview, *best).first()?.search.goals);
    let shown = shown(rate);
    if overview.cells.len() == 1 {
        return Some((Tone::Good, format!("Sustains {shown} with {with}.")));
    }
    let is_apart = rates.iter().all(|(cell, other)| cell == best || other.interval.1 < rate.interval.0);
    let is_whole = rates.len() == overview.cells.len();
    let name = overview.description_of(*best);
    Some(match is_apart && is_whole {
        true => (Tone::Good, format!("{name} sustains the most: {shown} with {with}.")),
        false => (
            Tone::Strong,
            format!("The highest rate with {with} is {shown}, but others may sustain as much."),
        ),
    })
}

/// `4,150 tps (4,000 … 4,280)`
fn shown(rate: &CellRate) -> String {
    let (low, high) = rate.interval;
    format!("{}{TIE}tps ({} … {})", rounded_rate(rate.rate_tps), rounded_rate(low), rounded_rate(high))
}

/// Each rate ÷ that of its base.
pub(super) fn forest(overview: &Overview) -> Option<Forest> {
    if !is_of_searches(overview) || !(2..=FOREST_MAX).contains(&overview.cells.len()) {
        return None;
    }
    let row = |cell: usize| {
        let base = overview.cells[cell].base?;
        let name = escaped_line(&overview.label(cell));
        let rates = rate_of(overview, cell).zip(rate_of(overview, base));
        Some(rates.map_or_else(
            || ForestRow::unknown(name.clone(), "unknown"),
            |(own, base)| {
                let (ratio, interval) = own.ratio(&base);
                ForestRow::new(name.clone(), ratio, Some(interval), EffectVerdict::of(Some(interval), true))
            },
        ))
    };
    let rows: Vec<ForestRow> = (0..overview.cells.len()).filter_map(row).collect();
    (!rows.is_empty()).then(|| Forest {
        title: "Highest rates that keep the goals".to_owned(),
        caption: "÷ that of the base, logarithmic, with 95 % intervals".to_owned(),
        rows,
        tolerance: None,
        words: ["more", "less", "inconclusive", "", "not judged"],
    })
}

/// A row for each combination.
pub(super) fn blocks(overview: &Overview) -> Vec<Block> {
    let mut table = TableOf::new(0..overview.cells.len());
    let names: Vec<&str> = overview.factors.iter().map(|factor| factor.name.as_str()).collect();
    let names = if names.is_empty() { "combination".to_owned() } else { escaped_line(&names.join(", ")) };
    table.text(names, |cell| escaped_line(&overview.label(*cell)));
    table.column(Column::text("highest rate, tps"), |cell| Cell::text(rate_in_words(overview, *cell)));
    table.text("95 % interval", |cell| {
        let interval = rate_of(overview, *cell).map(|rate| rate.interval);
        interval
            .map(|(low, high)| format!("{} … {}", rounded_rate(low), rounded_rate(high)))
            .unwrap_or_default()
    });
    if overview.cells.len() > 1 {
        table.text("ratio to base", |cell| {
            let Some(base) = overview.cells[*cell].base else { return "base".to_owned() };
            let rates = rate_of(overview, *cell).zip(rate_of(overview, base));
            rates.map_or("—".to_owned(), |(own, base)| {
                let (ratio, interval) = own.ratio(&base);
                ratios::ratio(ratio, Some(interval))
            })
        });
    }
    table.text("nearest limit", |cell| {
        let searches = of_cell(overview, *cell);
        let nearest = searches.first().and_then(|record| record.search.nearest);
        nearest.map(|it| format!("{} {}", it.resource.name(), percent(it.share, 1.0))).unwrap_or_default()
    });
    table.text("clients", |cell| {
        let clients = of_cell(overview, *cell).iter().map(|record| record.search.clients).max();
        clients.map(|clients| clients.to_string()).unwrap_or_default()
    });
    table.text("searches", |cell| {
        let all = of_cell(overview, *cell).len();
        let found = rate_of(overview, *cell).map_or(0, |rate| rate.found);
        if found == all { all.to_string() } else { format!("{found} of {all} with an interval") }
    });
    let table = Table { optional_columns: 2, ..table.table };
    vec![Block::Table(table), Block::quiet(METHOD)]
}

const METHOD: &str = "A trial is a search. The rate of several searches is their geometric mean; if they differ by more than their \
    intervals say, the interval is wider by as much.";

/// The rate, or what is known of it.
fn rate_in_words(overview: &Overview, cell: usize) -> String {
    if let Some(rate) = rate_of(overview, cell) {
        return rounded_rate(rate.rate_tps);
    }
    let searches = of_cell(overview, cell);
    let kept = searches.iter().filter_map(|record| record.search.kept_tps).fold(0.0, f64::max);
    let broken = searches.iter().filter_map(|record| record.search.broken_tps).fold(f64::INFINITY, f64::min);
    match (kept > 0.0, broken.is_finite()) {
        (true, true) => format!("{} … {}", rounded_rate(kept), rounded_rate(broken)),
        (true, false) => format!("at least {}", rounded_rate(kept)),
        (false, true) => format!("less than {}", rounded_rate(broken)),
        (false, false) => "unknown".to_owned(),
    }
}

/// The rate of a combination, for JSON.
pub(super) fn rate_fields(overview: &Overview, cell: usize) -> Option<Fields<'static>> {
    let rate = rate_of(overview, cell)?;
    let (low, high) = rate.interval;
    Some(fields! {
        "rate_tps" => rate.rate_tps,
        "low" => low,
        "high" => high,
        "searches" => rate.of,
        "with_interval" => rate.found,
    })
}

/// The answer of a trial, for JSON.
pub(super) fn search_fields(record: &SearchRecord) -> Fields<'_> {
    let SearchResult { answer, rate_tps, interval, kept_tps, broken_tps, clients, elapsed_s, .. } =
        &record.search;
    fields! {
        "answer" => answer.name(),
        "rate_tps" => *rate_tps,
        "low" => interval.map(|it| it.low),
        "high" => interval.map(|it| it.high),
        "kept_tps" => *kept_tps,
        "broken_tps" => *broken_tps,
        "clients" => *clients,
        "elapsed_s" => *elapsed_s,
    }
}

/// Columns of a trial in CSV.
pub(super) const COLUMNS: [&str; 6] = [
    "search_answer",
    "search_rate_tps",
    "search_low_tps",
    "search_high_tps",
    "search_clients",
    "nearest_limit",
];

/// Their values.
pub(super) fn values(record: Option<&SearchRecord>) -> Vec<Value<'_>> {
    let search = record.map(|record| &record.search);
    let interval = search.and_then(|search| search.interval);
    vec![
        search.map(|search| search.answer.name()).into(),
        search.and_then(|search| search.rate_tps).into(),
        interval.map(|it| it.low).into(),
        interval.map(|it| it.high).into(),
        search.map(|search| search.clients).into(),
        search.and_then(|search| search.nearest).map(|it| it.resource.name()).into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::RateInterval;
    use testkit::search_record::search_record;

    fn found(rate_tps: f64, half: f64) -> SearchResult {
        let interval = RateInterval { low: rate_tps * (-half).exp(), high: rate_tps * half.exp() };
        SearchResult { rate_tps: Some(rate_tps), interval: Some(interval), ..search_record().search }
    }

    #[test]
    fn repeats_that_agree_narrow_the_interval_and_repeats_that_differ_widen_it() {
        let width = |rate: &CellRate| (rate.interval.1 / rate.interval.0).ln() / 2.0;
        let (one, same) = (found(1000.0, 0.04), found(1000.0, 0.04));
        let single = CellRate::new(&[&one]).unwrap();
        assert!((width(&single) - 0.04).abs() < 1e-9);
        let pair = CellRate::new(&[&one, &same]).unwrap();
        assert!((width(&pair) - 0.04 / 2f64.sqrt()).abs() < 1e-9 && (pair.rate_tps - 1000.0).abs() < 1e-6);
        let far = found(1300.0, 0.04);
        let apart = CellRate::new(&[&one, &far]).unwrap();
        assert!(width(&apart) > 0.15 && apart.interval.0 < 1000.0 && apart.interval.1 > 1300.0, "{apart:?}");
        let mut open = found(1000.0, 0.04);
        (open.answer, open.interval) = (SearchAnswer::Between, None);
        assert_eq!(CellRate::new(&[&open]), None);
        assert_eq!(CellRate::new(&[&open, &one]).map(|it| (it.found, it.of)), Some((1, 2)));
    }
}
