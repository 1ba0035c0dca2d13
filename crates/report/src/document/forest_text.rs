//! The forest plot where there are no pictures: in characters on the terminal, `──●──┊` with the line at 1 and the
//! tolerance as dots, and as a table in Markdown.

use results::escaped;

use super::{Cell, Column, Table, Tone};
use crate::chart::Bound;
use crate::figures::{TIE, as_asked, with_ordinary_spaces};
use crate::forest::{EffectVerdict, Forest, ForestRow};
use crate::prose::{Emphasis, TextStyle, cut, emphasise, wrap};

/// Characters of a name.
const NAME_LEN: std::ops::RangeInclusive<usize> = 8..=32;
/// Columns of the plot.
const PLOT: std::ops::RangeInclusive<usize> = 15..=61;
/// Blanks between columns.
const GAP: usize = 2;
/// Rows that a terminal shows.
const ROWS_MAX: usize = 40;

/// Lines of characters, the last with its line end; nothing without rows.
pub(super) fn forest(forest: &Forest, indent: usize, style: &TextStyle) -> String {
    if forest.rows.is_empty() {
        return String::new();
    }
    let blanks = " ".repeat(indent);
    let head = [forest.title.as_str(), forest.caption.as_str()];
    let head: Vec<&str> = head.into_iter().filter(|text| !text.is_empty()).collect();
    let head = wrap(&escaped(&head.join(": ")), indent, indent, style.width);
    let columns = Columns::new(forest, style.width.saturating_sub(indent));
    let mut out = format!("{blanks}{}\n", emphasise(&head, Emphasis::Quiet, style));
    for row in forest.rows.iter().take(ROWS_MAX) {
        out += &format!("{blanks}{}\n", columns.line(row, style));
    }
    let more = forest.rows.len().saturating_sub(ROWS_MAX);
    if more > 0 {
        out += &format!("{blanks}… and {more} more\n");
    }
    if columns.plot > 0 {
        out += &format!("{blanks}{}\n", columns.axis());
    }
    let legend = wrap(&legend(forest), indent, indent, style.width);
    if legend.is_empty() {
        out
    } else {
        format!("{out}{blanks}{}\n", emphasise(&legend, Emphasis::Quiet, style))
    }
}

/// `● better   ○ inconclusive: the interval contains 1   ··· tolerance ± 2 %`
fn legend(forest: &Forest) -> String {
    let tie = |text: &str| text.replace(' ', &TIE.to_string());
    let verdicts = forest.legend().into_iter();
    let verdicts = verdicts.map(|(verdict, word)| tie(&format!("{} {word}", verdict.character())));
    let tolerance = forest.tolerance.map(|share| {
        let percent = as_asked((share * 1e6).round() / 1e4);
        tie(&format!("··· tolerance ± {percent} %"))
    });
    verdicts.chain(tolerance).collect::<Vec<_>>().join("  ")
}

/// The widths of a forest's columns, and the scale of its plot.
struct Columns {
    name: usize,
    /// 0 where there is no room.
    plot: usize,
    shown: usize,
    change: usize,
    ends: (f64, f64),
    band: Option<(f64, f64)>,
}

impl Columns {
    fn new(forest: &Forest, width: usize) -> Columns {
        let longest = |of: fn(&ForestRow) -> &String, is_measured: bool| {
            let rows = forest.rows.iter().filter(|row| !is_measured || row.ratio.is_some());
            rows.map(|row| of(row).chars().count()).max().unwrap_or(0)
        };
        let shown = longest(|row| &row.shown, true);
        let change = longest(|row| &row.change, true);
        let change_width = if change > 0 { change + GAP } else { 0 };
        let others = GAP + GAP + shown + change_width;
        let name = longest(|row| &row.name, false).min(*NAME_LEN.end());
        // A long name gives way to the plot.
        let room = width.saturating_sub(others + PLOT.start());
        let name = name.min(room.max(*NAME_LEN.start()));
        let plot = width.saturating_sub(others + name);
        let plot = if plot < *PLOT.start() { 0 } else { plot.min(*PLOT.end()) };
        Columns { name, plot, shown, change, ends: forest.ends(), band: forest.band() }
    }

    /// The column of a ratio, at the edge if it lies outside.
    // A column of the terminal.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn at(&self, ratio: f64) -> usize {
        let (low, high) = self.ends;
        let last = self.plot.saturating_sub(1);
        let share = (ratio / low).ln() / (high / low).ln();
        if share.is_finite() { (share.clamp(0.0, 1.0) * last as f64).round() as usize } else { 0 }
    }

    fn line(&self, row: &ForestRow, style: &TextStyle) -> String {
        let Columns { name, shown, change, .. } = *self;
        let label = cut(&escaped(&with_ordinary_spaces(&row.name)), name);
        let gap = " ".repeat(GAP);
        let mut plot = if self.plot > 0 { gap.clone() + &self.row(row, style) } else { String::new() };
        if row.ratio.is_none() {
            // A reason is longer than figures; nothing but the line at 1 stands in its plot.
            let room = shown + if change > 0 { change + GAP } else { 0 };
            let over = row.shown.chars().count().saturating_sub(room);
            plot = plot.chars().take(plot.chars().count().saturating_sub(over)).collect();
        }
        let figure = format!("{:<shown$}", row.shown);
        let change = match row.change.is_empty() {
            true => String::new(),
            false => format!("{gap}{:>change$}", row.change),
        };
        format!("{label:<name$}{plot}{gap}{figure}{change}").trim_end().to_owned()
    }

    /// The point and its interval, and behind them the tolerance and the line at 1.
    fn row(&self, row: &ForestRow, style: &TextStyle) -> String {
        let mut cells = vec![' '; self.plot];
        if let Some((low, high)) = self.band {
            cells[self.at(low)..=self.at(high)].fill('·');
        }
        cells[self.at(1.0)] = '┊';
        let last = self.plot - 1;
        let Some(ratio) = row.ratio else { return cells.into_iter().collect() };
        let (low, high) = self.ends;
        if let Some((from, to)) = row.interval {
            cells[self.at(from)..=self.at(to)].fill('─');
            if from < low {
                cells[0] = '←';
            }
            if to > high {
                cells[last] = '→';
            }
        }
        let point = match row.bound {
            Bound::Exact => self.at(ratio),
            Bound::AtLeast => {
                let point = self.at(ratio).min(last - 1);
                cells[point + 1] = '→';
                point
            }
            Bound::AtMost => {
                let point = self.at(ratio).max(1);
                cells[point - 1] = '←';
                point
            }
        };
        let [before, after] =
            [&cells[..point], &cells[point + 1..]].map(|part| part.iter().collect::<String>());
        let emphasis = match row.verdict {
            EffectVerdict::Better => Emphasis::Strong,
            EffectVerdict::Worse => Emphasis::Alarm,
            EffectVerdict::Inconclusive | EffectVerdict::Within | EffectVerdict::NotJudged => Emphasis::Quiet,
        };
        let point = emphasise(&row.verdict.character().to_string(), emphasis, style);
        before + &point + &after
    }

    /// Round ratios below their columns, 1 first of all.
    fn axis(&self) -> String {
        let start = self.name + GAP;
        let mut cells = vec![' '; start + self.plot + GAP];
        let mut ticks = Forest::ticks(self.ends);
        ticks.sort_by(|a, b| a.0.ln().abs().total_cmp(&b.0.ln().abs()));
        for (value, name) in ticks {
            let length = name.chars().count();
            let from = (start + self.at(value)).saturating_sub((length - 1) / 2);
            let to = from + length;
            // A blank on both sides.
            let is_free = to < cells.len() && cells[from - 1..=to].iter().all(|cell| *cell == ' ');
            if is_free {
                cells.splice(from..to, name.chars());
            }
        }
        cells.into_iter().collect::<String>().trim_end().to_owned()
    }
}

/// A row for each effect; used by Markdown.
pub(super) fn table(forest: &Forest) -> Table {
    let columns = vec![
        Column::text(forest.title.clone()),
        Column::figures(format!("ratio (95{TIE}% interval)")),
        Column::figures("change"),
        Column::text("verdict"),
    ];
    let row = |row: &ForestRow| {
        let word = forest.word(row.verdict).split(':').next().unwrap_or_default();
        let tone = match row.verdict {
            EffectVerdict::Better => Tone::Good,
            EffectVerdict::Worse => Tone::Bad,
            EffectVerdict::Inconclusive | EffectVerdict::Within | EffectVerdict::NotJudged => Tone::Plain,
        };
        vec![
            Cell::text(row.name.clone()),
            Cell::text(row.shown.clone()),
            Cell::text(row.change.clone()),
            Cell::text(if row.ratio.is_some() { word } else { "" }).with_tone(tone),
        ]
    };
    Table { columns, rows: forest.rows.iter().map(row).collect(), ..Table::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::BETTER_OR_WORSE;

    const STYLE: TextStyle = TextStyle { colour: false, width: 80 };

    fn of(rows: Vec<ForestRow>, tolerance: Option<f64>) -> Forest {
        Forest {
            title: "Change".to_owned(),
            caption: "B ÷ A".to_owned(),
            rows,
            tolerance,
            words: BETTER_OR_WORSE,
        }
    }

    fn row(name: &str, ratio: f64, interval: (f64, f64)) -> ForestRow {
        ForestRow::new(name, ratio, Some(interval), EffectVerdict::of(Some(interval), true))
    }

    #[test]
    fn a_forest_of_characters_has_points_intervals_the_line_at_1_and_an_axis() {
        let rows = vec![
            row("tps", 1.5, (1.2, 1.9)),
            row("p99 of a very long script name that is cut", 0.5, (0.25, 1.0)),
            row("WAL/tx", 1.0, (0.01, 90.0)),
            ForestRow::unknown("p50", "not measurable with 2 repeats"),
        ];
        let text = with_ordinary_spaces(&forest(&of(rows, None), 2, &STYLE));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(lines[0], "  Change: B ÷ A");
        assert!(lines[1].starts_with("  tps ") && lines[1].contains("─●─"), "{text}");
        assert!(lines[1].ends_with("×1.50 (1.20 … 1.90)   +50 %"), "{text}");
        assert!(lines[2].contains("…") && lines[2].contains("─○─"), "{text}");
        assert!(lines[3].contains("←─") && lines[3].contains("─→"), "{text}");
        assert!(lines[4].contains("┊") && lines[4].ends_with("not measurable with 2 repeats"), "{text}");
        // 1 stands below its line.
        let column = |line: &str, character| line.chars().position(|it| it == character);
        assert_eq!(column(lines[5], '1'), column(lines[4], '┊'), "{text}");
        assert!(lines[6].contains("● better") && lines[6].contains("○ inconclusive"), "{text}");
    }

    #[test]
    fn a_tolerance_is_dots_around_1_and_a_narrow_terminal_has_figures_alone() {
        let forest_of = of(vec![row("tps", 1.01, (0.99, 1.03))], Some(0.05));
        let text = with_ordinary_spaces(&forest(&forest_of, 2, &STYLE));
        assert!(text.contains("··─") && text.contains("··· tolerance ± 5 %"), "{text}");
        let narrow = with_ordinary_spaces(&forest(&forest_of, 2, &TextStyle { width: 40, ..STYLE }));
        assert!(
            !narrow.contains('┊') && narrow.contains("tps       ×1.01") || narrow.contains("×1.010"),
            "{narrow}"
        );
    }
}
