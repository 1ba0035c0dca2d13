//! A comparison as a table for other programs: a line for each figure of each block, then the findings. docs/reports.md has
//! the columns.

use results::{ComparedFigure, ComparisonRecord};

use super::names::{self, column, in_unit};
use crate::csv::quoted;

const COLUMNS: [&str; 8] = ["part", "pair", "start_s", "block", "side", "metric", "value", "script"];

/// The table, its head first.
pub fn comparison_csv(record: &ComparisonRecord) -> String {
    let mut out = COLUMNS.join(",") + "\n";
    let mut write = |cells: [&str; 7], script: &str| {
        let cells = cells.iter().chain([&script]).map(|cell| quoted(cell));
        out += &(cells.collect::<Vec<_>>().join(",") + "\n");
    };
    let script = |figure: ComparedFigure| figure.script.map(|script| names::script(record, script));
    let mut line =
        |[part, pair, start, block, side]: [&str; 5], figure: ComparedFigure, value: Option<f64>| {
            let Some(value) = value.filter(|value| value.is_finite()) else { return };
            let cells = [part, pair, start, block, side, &column(figure.metric), &value.to_string()];
            write(cells, &script(figure).unwrap_or_default());
        };
    let figures = record.figures();
    for (number, pair) in (1_usize..).zip(&record.pairs) {
        let part = if pair.is_noise_floor { "noise_floor" } else { "pair" };
        let (number, start) = (number.to_string(), pair.start_s.to_string());
        for (position, block) in (1_usize..).zip(&pair.blocks) {
            let side = if block.is_candidate { "B" } else { "A" };
            for figure in &figures {
                let value = block.figure(*figure).map(|value| in_unit(figure.metric, value));
                line([part, &number, &start, &position.to_string(), side], *figure, value);
            }
        }
        for merged in &pair.merged {
            for (side, ns) in [("A", merged.a_ns), ("B", merged.b_ns)] {
                let value = Some(in_unit(merged.metric, ns));
                line(["merged", &number, &start, "", side], merged.figure(), value);
            }
        }
    }
    let mut of_all_blocks = |part, side, figure, value| line([part, "", "", "", side], figure, value);
    for finding in &record.findings {
        let (figure, metric) = (finding.figure(), finding.metric);
        of_all_blocks("finding", "A", figure, Some(in_unit(metric, finding.a)));
        of_all_blocks("finding", "B", figure, Some(in_unit(metric, finding.b)));
        of_all_blocks("ratio", "", figure, Some(finding.ratio));
        of_all_blocks("ratio_low", "", figure, finding.low);
        of_all_blocks("ratio_high", "", figure, finding.high);
        of_all_blocks("smallest_difference", "", figure, finding.smallest_difference);
    }
    for unjudged in &record.unjudged {
        for (side, value) in [("A", unjudged.a), ("B", unjudged.b)] {
            of_all_blocks("unjudged", side, unjudged.figure(), value.map(|it| in_unit(unjudged.metric, it)));
        }
    }
    out
}
