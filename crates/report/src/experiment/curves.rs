//! Throughput over time of some cells, of one run each: which runs, and their points. The records are not in the store's
//! database, so the caller reads them, for the formats that have charts.

use results::{Interval, Record};

use super::cells::Trial;
use super::chart::Curve;
use super::overview::Overview;
use super::said::is_base;
use crate::prose::enumerate;

/// Lines that a reader can tell apart.
const CURVES_MAX: usize = 8;
/// Fewer points show no course.
const POINTS_MIN: usize = 10;
/// Points of a line.
const POINTS_MAX: usize = 300;

/// A run whose record has the throughput over time of its cell.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CurveOfRun {
    cell: usize,
    /// The store it is in, by its place among those of the report.
    pub store: usize,
    /// Its number in that store.
    pub run: i64,
}

impl Overview {
    /// The runs whose records [`Overview::add_curve`] needs: of each cell, or of eight of them, the run with the median
    /// figure.
    pub fn curves(&self) -> Vec<CurveOfRun> {
        self.cells_of_curves().into_iter().filter_map(|cell| self.median_run(cell)).collect()
    }

    /// Adds the throughput over time of one of these runs.
    pub fn add_curve(&mut self, of: CurveOfRun, record: &Record) {
        let points = points(&record.intervals);
        if points.len() >= POINTS_MIN {
            let actions = record.summary.actions.iter();
            let actions = actions
                .filter_map(|it| Some((it.begin_s?, it.end_s, crate::run::action_detail(&it.action.work))))
                .collect();
            self.curves.push(Curve { cell: of.cell, points, actions });
        }
    }

    /// All cells, or the base, the best, the worst, and others evenly spread between them.
    fn cells_of_curves(&self) -> Vec<usize> {
        let measured: Vec<usize> =
            (0..self.cells.len()).filter(|cell| self.median_run(*cell).is_some()).collect();
        if measured.len() <= CURVES_MAX {
            return measured;
        }
        let mean = |cell: &usize| self.cells[*cell].figure(self.main()).map_or(0.0, |figure| figure.mean);
        let order = |a: &usize, b: &usize| mean(a).total_cmp(&mean(b));
        let named = [
            measured.iter().copied().find(|cell| is_base(self, *cell)),
            measured.iter().copied().max_by(order),
            measured.iter().copied().min_by(order),
        ];
        let (mut chosen, rest): (Vec<usize>, Vec<usize>) =
            measured.iter().partition(|cell| named.contains(&Some(**cell)));
        let missing = CURVES_MAX - chosen.len();
        // In the middle of so many equal parts.
        chosen.extend((0..missing).map(|part| rest[(2 * part + 1) * rest.len() / (2 * missing)]));
        chosen.sort_unstable();
        chosen
    }

    /// The complete run with the median of the main figure; of an even number the lower one of the middle.
    fn median_run(&self, cell: usize) -> Option<CurveOfRun> {
        let figure = |trial: &Trial| trial.figure(self.main());
        let mut runs: Vec<(f64, &Trial, i64)> =
            self.complete(cell).filter_map(|(trial, run)| Some((figure(trial)?, trial, run.run))).collect();
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (_, trial, run) = runs.get(runs.len().checked_sub(1)? / 2)?;
        Some(CurveOfRun { cell, store: trial.host, run: *run })
    }

    /// Which cells the chart shows, and which run of each.
    pub(super) fn curves_in_words(&self) -> String {
        let measured = (0..self.cells.len()).filter(|cell| self.median_run(*cell).is_some()).count();
        let chosen = if measured > CURVES_MAX {
            let kinds = ["the base", "the best", "the worst", "others evenly spread"].map(str::to_owned);
            format!("{} of {measured} combinations: {}", self.curves.len(), enumerate(&kinds))
        } else if self.curves.len() < measured {
            format!(
                "{} of {measured} combinations: the records of the others cannot be read",
                self.curves.len()
            )
        } else {
            "all combinations".to_owned()
        };
        format!("{chosen}; the run with the median throughput of each")
    }
}

/// Rates of equally many intervals each; a last one that is much shorter than the others is left out.
fn points(intervals: &[Interval]) -> Vec<(f64, f64)> {
    let together = intervals.len().div_ceil(POINTS_MAX).max(1);
    let point = |stretch: &[Interval]| {
        let (start, end) = (stretch.first()?.start_s, stretch.last()?.end_s);
        let succeeded: f64 = stretch.iter().map(|interval| interval.counts.succeeded as f64).sum();
        Some((start, end, succeeded / (end - start))).filter(|(.., rate)| rate.is_finite())
    };
    let mut points: Vec<(f64, f64, f64)> = intervals.chunks(together).filter_map(point).collect();
    if let [.., before, last] = points.as_slice()
        && last.1 - last.0 < (before.1 - before.0) / 2.0
    {
        points.pop();
    }
    points.into_iter().map(|(start, end, rate)| (f64::midpoint(start, end), rate)).collect()
}

#[cfg(test)]
mod tests {
    use results::Counts;

    use super::*;

    fn interval(start_s: f64, end_s: f64, succeeded: u64) -> Interval {
        let counts = Counts { scheduled: succeeded, succeeded, ..Counts::default() };
        Interval { start_s, end_s, counts, scripts: Vec::new() }
    }

    #[test]
    fn a_point_is_a_rate_in_the_middle_of_its_time_and_a_short_rest_is_none() {
        let intervals = [interval(0.0, 1.0, 10), interval(1.0, 2.0, 30), interval(2.0, 2.1, 9)];
        assert_eq!(points(&intervals), [(0.5, 10.0), (1.5, 30.0)]);
        assert_eq!(points(&[]), []);
    }

    #[test]
    fn a_long_run_has_no_more_points_than_a_line_can_show() {
        let of = |second: u32| interval(f64::from(second), f64::from(second + 1), 5);
        let points = points(&(0..3_600).map(of).collect::<Vec<_>>());
        assert!(points.len() <= POINTS_MAX && points.iter().all(|(_, rate)| (rate - 5.0).abs() < 1e-9));
    }
}
