//! Interim results of an experiment per combination: a small table above the live view of a trial.
//! The final table, with intervals and ratios, is made from the complete experiment.

use results::TrialFigures;

use crate::TextStyle;
use crate::figures::{Unit, decimals_of_rates, decimals_of_table};
use crate::prose::{Emphasis, cut, emphasise, escaped_line};
use crate::table::{Cells, Side, fitted, padded, points_under_points, titled};

/// A combination and its complete trials.
#[derive(Clone, Debug, PartialEq)]
pub struct CellSoFar {
    /// Factors and levels.
    pub label: String,
    /// Planned number of trials.
    pub trials: u32,
    /// Figures of the complete trials.
    pub complete: Vec<TrialFigures>,
}

/// The table, each line at most as wide as the terminal; empty without a complete trial. `p50` and `p99` are means over
/// the trials.
pub fn cells_so_far(cells: &[CellSoFar], style: &TextStyle) -> Vec<String> {
    if cells.is_empty() {
        return Vec::new();
    }
    let of = |figure: &dyn Fn(&CellSoFar) -> Option<f64>| cells.iter().map(figure).collect::<Vec<_>>();
    let tps = |cell: &CellSoFar| cell.complete.iter().map(|trial| trial.tps).collect::<Vec<_>>();
    let mean_tps = of(&|cell| mean(tps(cell).into_iter()));
    let least = of(&|cell| tps(cell).into_iter().min_by(f64::total_cmp));
    let most = of(&|cell| tps(cell).into_iter().max_by(f64::total_cmp));
    let p50 = of(&|cell| mean(cell.complete.iter().filter_map(|trial| trial.p50_us)));
    let p99 = of(&|cell| mean(cell.complete.iter().filter_map(|trial| trial.p99_us)));
    let smallest = |figures: &[Option<f64>]| figures.iter().flatten().copied().min_by(f64::total_cmp);
    let unit = Unit::for_typical(smallest(&p50).unwrap_or(0.0));
    let in_unit =
        |figures: &[Option<f64>]| figures.iter().map(|us| us.map(|us| unit.of(us))).collect::<Vec<_>>();
    let (p50, p99) = (in_unit(&p50), in_unit(&p99));
    let of_rates = decimals_of_rates(smallest(&mean_tps).unwrap_or(0.0));
    let of_latencies = decimals_of_table(smallest(&p50).unwrap_or(0.0));
    let label = |cell: &CellSoFar| {
        if cell.label.is_empty() { "as it is".to_owned() } else { escaped_line(&cell.label) }
    };
    let columns = |decimals: usize| -> Vec<Cells> {
        let labels = std::iter::once("so far".to_owned()).chain(cells.iter().map(label)).collect();
        let trials = cells.iter().map(|cell| format!("{}/{}", cell.complete.len(), cell.trials)).collect();
        let rates = |figures: &[Option<f64>]| points_under_points(figures, of_rates.min(decimals));
        let latencies = |figures: &[Option<f64>]| points_under_points(figures, of_latencies.min(decimals));
        vec![
            padded(labels, Side::Left),
            titled("trials", trials),
            titled("tps", rates(&mean_tps)),
            titled("lowest", rates(&least)),
            titled("highest", rates(&most)),
            titled(&format!("p50 {}", unit.symbol()), latencies(&p50)),
            titled("p99", latencies(&p99)),
        ]
    };
    // The lines must not wrap: the view counts them to redraw itself.
    let narrower = TextStyle { colour: false, width: style.width.saturating_sub(1) };
    let table = fitted(columns, of_rates.max(of_latencies), 2, &narrower);
    let shown = |(number, line): (usize, &str)| {
        let line = cut(line, narrower.width);
        if number == 0 { emphasise(&line, Emphasis::Quiet, style) } else { line }
    };
    table.lines().enumerate().map(shown).collect()
}

fn mean(figures: impl Iterator<Item = f64>) -> Option<f64> {
    let figures: Vec<f64> = figures.collect();
    (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_are_told_with_their_trials_and_what_they_found() {
        let cell = |label: &str, tps: &[f64]| CellSoFar {
            label: label.to_owned(),
            trials: 3,
            complete: tps
                .iter()
                .map(|tps| TrialFigures {
                    tps: *tps,
                    p50_us: Some(1e6 / tps),
                    p99_us: (*tps < 1000.0).then_some(4e6 / tps),
                })
                .collect(),
        };
        let cells = [
            cell("protocol simple, clients 1", &[812.4, 798.2]),
            cell("protocol \u{1b}prepared, clients 64", &[12_345.6]),
        ];
        let style = TextStyle { colour: false, width: 80 };
        insta::assert_snapshot!(cells_so_far(&cells, &style).join("\n"), @r"
    so far                            trials    tps lowest highest p50 µs   p99
    protocol simple, clients 1           2/3    805    798     812  1,242 4,967
    protocol \x1bprepared, clients 64    1/3 12,346 12,346  12,346     81     -
    ");
        let narrow = cells_so_far(&cells, &TextStyle { colour: false, width: 50 });
        assert!(narrow.iter().all(|line| line.chars().count() < 50), "{narrow:?}");
        assert_eq!(cells_so_far(&[], &style), [""; 0]);
    }
}
