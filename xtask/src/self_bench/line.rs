//! One line of the table: a figure of ours, what stands beside it, the ratio of the two, and the goal.
//! Also the table itself. Measures nothing.

use std::fmt;

use super::Found;
use super::rounds::Spread;

/// Of stolen processor time.
const WORTH_SAYING_PERCENT: f64 = 0.1;

/// What a line promises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Goal {
    /// Of ours ÷ theirs.
    RatioAtMost(f64),
    /// Of ours ÷ theirs.
    RatioAtLeast(f64),
    /// Of ours, in the line's unit.
    AtMost(f64),
}

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) what: String,
    pub(super) unit: &'static str,
    /// Whose figure stands beside ours: pgbench's, or another of ours; and the figure.
    pub(super) beside: Option<(&'static str, f64)>,
    pub(super) ours: f64,
    pub(super) ratio: Option<Spread>,
    pub(super) goal: Option<Goal>,
    /// What must be known to read it.
    pub(super) note: String,
}

impl Line {
    /// A figure of ours alone.
    pub(super) fn alone(name: &str, what: &str, ours: f64, unit: &'static str) -> Self {
        let (name, what) = (name.to_owned(), what.to_owned());
        Self { name, what, unit, beside: None, ours, ratio: None, goal: None, note: String::new() }
    }

    /// A figure of ours beside another.
    pub(super) fn pair(
        name: &str,
        what: &str,
        unit: &'static str,
        beside: &'static str,
        spread: Spread,
    ) -> Self {
        let mut line = Self::alone(name, what, spread.ours, unit);
        (line.beside, line.ratio) = (Some((beside, spread.theirs)), Some(spread));
        line
    }

    pub(super) fn goal(self, goal: Goal) -> Self {
        Self { goal: Some(goal), ..self }
    }

    pub(super) fn note(self, note: &str) -> Self {
        Self { note: note.to_owned(), ..self }
    }

    /// Nothing without a goal.
    pub(super) fn is_met(&self) -> Option<bool> {
        let ratio = self.ratio.map_or(f64::NAN, |ratio| ratio.ratio);
        // Not a number meets no goal.
        self.goal.map(|goal| match goal {
            Goal::RatioAtMost(most) => ratio <= most,
            Goal::RatioAtLeast(least) => ratio >= least,
            Goal::AtMost(most) => self.ours <= most,
        })
    }

    fn goal_text(&self) -> String {
        let verdict = match self.is_met() {
            None => return String::new(),
            Some(true) => "met",
            Some(false) => "MISSED",
        };
        match self.goal {
            Some(Goal::RatioAtMost(most)) => format!("≤ {most:.2} {verdict}"),
            Some(Goal::RatioAtLeast(least)) => format!("≥ {least:.2} {verdict}"),
            Some(Goal::AtMost(most)) => format!("≤ {} {} {verdict}", figure(most), self.unit),
            None => String::new(),
        }
    }

    fn cells(&self) -> [String; 6] {
        let with_unit = |value| format!("{} {}", figure(value), self.unit);
        let beside = self.beside.map_or(String::new(), |(whose, value)| match whose {
            "pgbench" => with_unit(value),
            other => format!("{} ({other})", with_unit(value)),
        });
        let ratio = self.ratio.map_or(String::new(), |ratio| ratio.to_string());
        [self.name.clone(), self.what.clone(), beside, with_unit(self.ours), ratio, self.goal_text()]
    }
}

impl fmt::Display for Line {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [name, _, beside, ours, ratio, goal] = self.cells();
        let beside = if beside.is_empty() { beside } else { format!(", beside {beside}, ratio {ratio}") };
        write!(to, "{name}: {ours}{beside} {goal} {}", self.note)
    }
}

/// All lines as a table in Markdown, then what was not measured, and why.
pub(super) fn table(all: &[Found], pgbench: &str) -> String {
    let mut rows = vec![
        ["name", "what", pgbench, "pgmeter", "ratio (min … max)", "goal"].map(str::to_owned),
        ["---"; 6].map(str::to_owned),
    ];
    let mut notes = String::new();
    for found in all {
        match &found.lines {
            Ok(lines) => rows.extend(lines.iter().map(Line::cells)),
            Err(reason) => notes += &format!("- {} was not measured: {reason}\n", found.name),
        }
        for line in found.lines.iter().flatten().filter(|line| !line.note.is_empty()) {
            notes += &format!("- {}: {}\n", line.name, line.note);
        }
        if found.stolen_percent >= WORTH_SAYING_PERCENT {
            let (name, stolen) = (found.name, found.stolen_percent);
            notes += &format!(
                "- {name}: {stolen:.1} % of the processors' time was stolen by the host meanwhile\n"
            );
        }
    }
    let rows: String = rows.iter().map(|row| format!("| {} |\n", row.join(" | "))).collect();
    format!("{rows}\n{notes}")
}

/// Three digits that matter.
fn figure(value: f64) -> String {
    let digits = match value.abs() {
        0.0 => 0,
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 0.1 => 2,
        _ => 5,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(theirs: f64, ours: f64) -> Line {
        let spread = Spread { ours, theirs, ratio: ours / theirs, low: 0.4, high: 0.7 };
        Line::pair("cpu-64", "client CPU", "µs", "pgbench", spread)
    }

    #[test]
    fn a_goal_is_met_or_missed_and_without_one_neither() {
        assert_eq!(pair(4.0, 2.0).is_met(), None);
        assert_eq!(pair(4.0, 2.0).goal(Goal::RatioAtMost(0.5)).is_met(), Some(true));
        assert_eq!(pair(4.0, 2.1).goal(Goal::RatioAtMost(0.5)).is_met(), Some(false));
        assert_eq!(pair(4.0, 2.0).goal(Goal::RatioAtLeast(0.6)).is_met(), Some(false));
        assert_eq!(pair(0.0, 0.0).goal(Goal::RatioAtMost(0.5)).is_met(), Some(false), "0 ÷ 0");
        assert_eq!(Line::alone("a", "b", 99.0, "µs").goal(Goal::AtMost(100.0)).is_met(), Some(true));
    }

    #[test]
    fn the_table_has_a_row_for_each_line_and_a_sentence_for_what_is_missing() {
        let all = [
            Found {
                name: "unix",
                lines: Ok(vec![pair(4.0, 2.0).goal(Goal::RatioAtMost(0.6)).note("epoll")]),
                stolen_percent: 2.34,
            },
            Found { name: "tls", lines: Err("no pgbench".to_owned()), stolen_percent: 0.0 },
        ];
        assert_eq!(
            table(&all, "pgbench 18.6"),
            "| name | what | pgbench 18.6 | pgmeter | ratio (min … max) | goal |\n\
             | --- | --- | --- | --- | --- | --- |\n\
             | cpu-64 | client CPU | 4.00 µs | 2.00 µs | 0.50 (0.40 … 0.70) | ≤ 0.60 met |\n\n\
             - cpu-64: epoll\n- unix: 2.3 % of the processors' time was stolen by the host meanwhile\n- tls was not measured: no pgbench\n"
        );
    }

    #[test]
    fn figures_have_three_digits_that_matter() {
        assert_eq!(
            [0.0, 2.25, 12.34, 98_765.4, 0.00012].map(figure),
            ["0", "2.25", "12.3", "98765", "0.00012"]
        );
    }
}
