//! The heat map: how many transactions took how long, over time. Columns are stretches of time, rows are latencies
//! that grow by a constant factor, so that each decade is as high as any other. Counts, not colours.

use results::Record;
use stats::Distribution;

use super::neighbours;

/// Columns: about one for each four pixels of a page.
const COLUMNS_MAX: usize = 240;
/// Rows, unless the latencies span more than ten decades.
const ROWS_MAX: f64 = 56.0;
const ROWS_PER_DECADE_MIN: f64 = 4.0;
const ROWS_PER_DECADE_MAX: f64 = 24.0;
const NANOSECONDS_PER_MICROSECOND: f64 = 1e3;

/// The rows, the same for all runs that are compared.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct LatencyRows {
    /// Decimal logarithm of the lower edge of the first row, in microseconds.
    lowest_log: f64,
    per_decade: f64,
    /// How many there are.
    pub(crate) count: usize,
}

/// Counts by time and latency.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeatOverTime {
    pub(crate) rows: LatencyRows,
    /// In order.
    pub(crate) columns: Vec<HeatColumn>,
}

/// A stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeatColumn {
    pub(crate) start_s: f64,
    pub(crate) end_s: f64,
    /// Of each row.
    pub(crate) counts: Vec<u64>,
}

impl LatencyRows {
    /// Rows for all response times of these records.
    // A whole number of at most some hundred rows.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(crate) fn for_all<'a>(records: impl Iterator<Item = &'a Record>) -> LatencyRows {
        let scripts = records.flat_map(|record| &record.intervals).flat_map(|interval| &interval.scripts);
        let (mut min_ns, mut max_ns) = (u64::MAX, 0);
        for script in scripts {
            min_ns = min_ns.min(script.response.min_ns.unwrap_or(u64::MAX));
            max_ns = max_ns.max(script.response.max_ns.unwrap_or(0));
        }
        if min_ns > max_ns {
            return LatencyRows { lowest_log: 0.0, per_decade: ROWS_PER_DECADE_MIN, count: 0 };
        }
        let log = |ns: u64| (ns.max(1) as f64 / NANOSECONDS_PER_MICROSECOND).log10();
        let decades = (log(max_ns) - log(min_ns)).max(0.1);
        let per_decade = (ROWS_MAX / decades).floor().clamp(ROWS_PER_DECADE_MIN, ROWS_PER_DECADE_MAX);
        let first = (log(min_ns) * per_decade).floor();
        let count = ((log(max_ns) * per_decade).floor() - first) as usize + 1;
        LatencyRows { lowest_log: first / per_decade, per_decade, count }
    }

    /// The row of a latency; the first or last one for what is outside.
    // Bounded by the number of rows.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn row_of(self, us: f64) -> usize {
        let row = ((us.max(1e-3).log10() - self.lowest_log) * self.per_decade).floor().max(0.0) as usize;
        row.min(self.count.saturating_sub(1))
    }

    /// The edges between rows in microseconds, one more than there are rows.
    pub(crate) fn edges_us(self) -> Vec<f64> {
        let edge = |row: usize| 10f64.powf(self.lowest_log + row as f64 / self.per_decade);
        (0..=self.count).map(edge).collect()
    }
}

impl HeatOverTime {
    pub(crate) fn new(rows: LatencyRows) -> HeatOverTime {
        HeatOverTime { rows, columns: Vec::new() }
    }

    /// A further column.
    pub(crate) fn add(&mut self, start_s: f64, end_s: f64, response: &Distribution) {
        let mut counts = vec![0u64; self.rows.count];
        if self.rows.count > 0 {
            for (lowest_ns, highest_ns, count) in response.buckets() {
                let middle_us = (lowest_ns as f64 + highest_ns as f64) / 2.0 / NANOSECONDS_PER_MICROSECOND;
                let row = &mut counts[self.rows.row_of(middle_us)];
                *row = row.saturating_add(count);
            }
        }
        self.columns.push(HeatColumn { start_s, end_s, counts });
    }

    /// Merges neighbours until no more than [`COLUMNS_MAX`] are left.
    pub(crate) fn thin_out(&mut self) {
        let together = neighbours(self.columns.len(), COLUMNS_MAX);
        if together == 1 {
            return;
        }
        let merged = self.columns.chunks(together).filter_map(|chunk| {
            let (first, others) = chunk.split_first()?;
            let mut column = first.clone();
            for other in others {
                column.end_s = other.end_s;
                for (sum, count) in column.counts.iter_mut().zip(&other.counts) {
                    *sum = sum.saturating_add(*count);
                }
            }
            Some(column)
        });
        self.columns = merged.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(lowest_log: f64, per_decade: f64, count: usize) -> LatencyRows {
        LatencyRows { lowest_log, per_decade, count }
    }

    #[test]
    fn every_latency_is_in_the_row_between_its_edges() {
        let rows = rows(1.0, 8.0, 24);
        let edges = rows.edges_us();
        for us in [10.1, 99.0, 101.0, 4_567.0, 9_999.0] {
            let row = rows.row_of(us);
            assert!(edges[row] <= us && us < edges[row + 1], "{us} in {row}");
        }
        assert_eq!((rows.row_of(0.0), rows.row_of(1e9)), (0, 23));
    }

    #[test]
    fn thinning_out_loses_no_transaction() {
        let mut response = Distribution::new();
        (1..=1_000u64).for_each(|us| response.record_ns(us * 1_000));
        let mut heat = HeatOverTime::new(rows(0.0, 10.0, 31));
        (0..500u32).for_each(|second| heat.add(second.into(), f64::from(second) + 1.0, &response));
        heat.thin_out();
        assert!(heat.columns.len() <= COLUMNS_MAX);
        let sum: u64 = heat.columns.iter().flat_map(|column| &column.counts).sum();
        assert_eq!(sum, 500_000);
        assert_eq!((heat.columns[0].start_s, heat.columns.last().unwrap().end_s), (0.0, 500.0));
    }

    #[test]
    fn without_a_latency_there_are_no_rows() {
        let rows = LatencyRows::for_all(std::iter::empty());
        assert_eq!((rows.count, rows.edges_us().len()), (0, 1));
        let mut heat = HeatOverTime::new(rows);
        heat.add(0.0, 1.0, &Distribution::new());
        assert!(heat.columns[0].counts.is_empty());
    }
}
