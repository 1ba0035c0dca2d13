//! A comparison as a table for other programs: a line for each figure of each block, then the findings. docs/reports.md has
//! the columns.

use results::{ComparedMetric, ComparisonRecord};

use super::in_unit;
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
    for finding in &record.findings {
        let metric = finding.metric;
        let figures = [
            ("finding", "A", Some(in_unit(metric, finding.a))),
            ("finding", "B", Some(in_unit(metric, finding.b))),
            ("ratio", "", Some(finding.ratio)),
            ("ratio_low", "", finding.low),
            ("ratio_high", "", finding.high),
            ("smallest_difference", "", finding.smallest_difference),
        ];
        for (part, side, value) in figures {
            let Some(value) = value.filter(|value| value.is_finite()) else { continue };
            let empty = String::new;
            let name = Metric::from(metric).column().to_owned();
            line([part.to_owned(), empty(), empty(), empty(), side.to_owned(), name, value.to_string()]);
        }
    }
    out
}
