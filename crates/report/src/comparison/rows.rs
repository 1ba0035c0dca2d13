//! A comparison as a table for other programs: a row for each figure of each block, then the findings. docs/reports.md has
//! the columns.

use results::{ComparedFigure, ComparisonRecord};

use super::names::{self, column, in_unit};
use crate::values::{Value, ValueTable};

const COLUMNS: &str = "part,pair,start_s,block,side,metric,value,script";

/// The figures that are known.
pub(crate) fn comparison_rows(record: &ComparisonRecord) -> ValueTable<'_> {
    let mut rows = Vec::new();
    let script = |figure: ComparedFigure| figure.script.map(|script| names::script(record, script));
    let mut row = |part,
                   [pair, start_s, block]: [Value<'static>; 3],
                   side,
                   figure: ComparedFigure,
                   value: Option<f64>| {
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        let metric = column(figure.metric).into();
        let side = Value::from(side);
        rows.push(vec![part, pair, start_s, block, side, metric, value.into(), script(figure).into()]);
    };
    let figures = record.figures();
    for (number, pair) in (1_usize..).zip(&record.pairs) {
        let part = if pair.is_noise_floor { "noise_floor" } else { "pair" };
        for (position, block) in (1_usize..).zip(&pair.blocks) {
            let side = if block.is_candidate { "B" } else { "A" };
            let place = || [number.into(), pair.start_s.into(), position.into()];
            for figure in &figures {
                let value = block.figure(*figure).map(|value| in_unit(figure.metric, value));
                row(part.into(), place(), side, *figure, value);
            }
        }
        for merged in &pair.merged {
            for (side, ns) in [("A", merged.a_ns), ("B", merged.b_ns)] {
                let value = Some(in_unit(merged.metric, ns));
                let place = [number.into(), pair.start_s.into(), Value::Unknown];
                row("merged".into(), place, side, merged.figure(), value);
            }
        }
    }
    let mut of_all_blocks =
        |part: &'static str, side, figure, value| row(part.into(), Default::default(), side, figure, value);
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
    ValueTable::new(COLUMNS, rows)
}
