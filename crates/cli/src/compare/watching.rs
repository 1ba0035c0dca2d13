//! The progress of a comparison: pairs so far, the estimate, the time left. A line that is drawn over where somebody
//! watches, otherwise a line now and then.

use super::course::Course;
use crate::terminal::Terminal;

/// Seconds between two lines: drawn over, or below each other.
const DRAWN_EVERY_S: f64 = 1.0;
const SAID_EVERY_S: f64 = 10.0;
/// The estimate takes time with the square of the pairs, so that it is made anew only when there are so many more.
const GROWTH: f64 = 1.05;

pub(super) struct Watching<'a> {
    terminal: &'a Terminal,
    draws: bool,
    next_s: f64,
    /// The estimate, and of how many pairs.
    known: (String, f64),
}

impl<'a> Watching<'a> {
    pub(super) fn new(terminal: &'a Terminal) -> Self {
        let draws = terminal.can_draw();
        Self { terminal, draws, next_s: 0.0, known: ("nothing known yet".to_owned(), 0.0) }
    }

    /// The first pairs are over, or the servers stand.
    pub(super) fn begin(&mut self, course: &Course, pairs: f64) {
        self.terminal.say(format_args!(
            "comparing: at most {pairs} pairs, blocks of {:.3} s, {:.0} s",
            course.lengths.block_s, course.wish.budget_s
        ));
        self.next_s = course.passed_s() + self.every_s();
    }

    /// A pair is over.
    pub(super) fn pair(&mut self, course: &Course) {
        if course.passed_s() < self.next_s {
            return;
        }
        let pairs = course.pairs.len() as f64;
        if pairs >= self.known.1 * GROWTH {
            let finding = course.comparison.finding(course.wish.decisive);
            let figure = finding.map(|finding| {
                let change = (finding.ratio - 1.0) * 100.0;
                let smallest = finding.smallest_difference_so_far.map(|it| it * 100.0);
                let seen = smallest.map_or(String::new(), |it| format!(", would have seen {it:.1} %"));
                format!("B − A {change:+.1} %{seen}")
            });
            if let Some(figure) = figure {
                self.known = (figure, pairs);
            }
        }
        self.line(course);
    }

    /// Some blocks of a long pair are over.
    pub(super) fn block(&mut self, course: &Course) {
        if course.passed_s() >= self.next_s {
            self.line(course);
        }
    }

    fn line(&mut self, course: &Course) {
        let left_s = (course.wish.budget_s - course.passed_s()).max(0.0);
        let line = format!("{} pairs, {}, at most {left_s:.0} s left", course.pairs.len(), self.known.0);
        if self.draws {
            self.terminal.draw(&[line]);
        } else {
            self.terminal.say(line);
        }
        self.next_s = course.passed_s() + self.every_s();
    }

    pub(super) fn end(&self) {
        if self.draws {
            self.terminal.erase();
        }
    }

    fn every_s(&self) -> f64 {
        if self.draws { DRAWN_EVERY_S } else { SAID_EVERY_S }
    }
}
