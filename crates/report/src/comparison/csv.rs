//! A comparison as a table for other programs: a line for each figure of each block, then the findings. docs/reports.md has
//! the columns.

use results::{ComparedMetric, ComparisonRecord, UnjudgedMetric};

use super::table::in_unit;
use crate::csv::quoted;
use crate::metrics::Metric;

const COLUMNS: [&str; 7] = ["part", "pair", "start_s", "block", "side", "metric", "value"];

/// The table, its head first.
pub fn comparison_csv(record: &ComparisonRecord) -> String {
    let mut out = COLUMNS.join(",") + "\n";
    let mut line = |cells: [String; 7]| out += &(cells.map(|cell| quoted(&cell)).join(",") + "\n");
    for (number, pair) in (1..).zip(&record.pairs) {
        let part = if pair.is_noise_floor { "noise_floor" } else { "pair" };
        for (position, block) in (1..).zip(&pair.blocks) {
            let side = if block.is_candidate { "B" } else { "A" };
            for metric in ComparedMetric::ALL {
                let Some(value) = block.figure(metric).filter(|value| value.is_finite()) else { continue };
                let (number, position): (usize, usize) = (number, position);
                line([
                    part.to_owned(),
                    number.to_string(),
                    pair.start_s.to_string(),
                    position.to_string(),
                    side.to_owned(),
                    Metric::from(metric).column().to_owned(),
                    in_unit(metric, value).to_string(),
                ]);
            }
        }
    }
    let mut of_all_blocks = |part: &str, side: &str, metric: ComparedMetric, value: Option<f64>| {
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        let empty = String::new;
        let name = Metric::from(metric).column().to_owned();
        line([part.to_owned(), empty(), empty(), empty(), side.to_owned(), name, value.to_string()]);
    };
    for finding in &record.findings {
        let metric = finding.metric;
        of_all_blocks("finding", "A", metric, Some(in_unit(metric, finding.a)));
        of_all_blocks("finding", "B", metric, Some(in_unit(metric, finding.b)));
        of_all_blocks("ratio", "", metric, Some(finding.ratio));
        of_all_blocks("ratio_low", "", metric, finding.low);
        of_all_blocks("ratio_high", "", metric, finding.high);
        of_all_blocks("smallest_difference", "", metric, finding.smallest_difference);
    }
    for &UnjudgedMetric { metric, a, b, pairs: _ } in &record.unjudged {
        of_all_blocks("unjudged", "A", metric, a.map(|a| in_unit(metric, a)));
        of_all_blocks("unjudged", "B", metric, b.map(|b| in_unit(metric, b)));
    }
    out
}
