//! The progress of a comparison: pairs so far, the estimate, the time left. A line that is drawn over where somebody
//! watches, otherwise a line now and then.

use ::lab::{ComparisonEvent, ComparisonRun};

use crate::terminal::Terminal;

/// Seconds between two lines: drawn over, or below each other.
const DRAWN_EVERY_S: f64 = 1.0;
const SAID_EVERY_S: f64 = 10.0;
/// The estimate takes time with the square of the pairs, so that it is made anew only when there are so many more.
const GROWTH: f64 = 1.05;

/// Shows a comparison while it goes on.
pub(crate) struct ComparisonView<'a> {
    terminal: &'a Terminal,
    draws: bool,
    next_s: f64,
    /// The estimate, and of how many pairs.
    known: (String, f64),
}

impl<'a> ComparisonView<'a> {
    pub(crate) fn new(terminal: &'a Terminal) -> Self {
        let draws = terminal.can_draw();
        Self { terminal, draws, next_s: 0.0, known: ("nothing known yet".to_owned(), 0.0) }
    }

    pub(crate) fn show(&mut self, run: &ComparisonRun, event: ComparisonEvent) {
        match event {
            ComparisonEvent::Begins(pairs) => self.begin(run, pairs),
            ComparisonEvent::Pair => self.pair(run),
            ComparisonEvent::Block if run.passed_s() >= self.next_s => self.line(run),
            ComparisonEvent::Block => {}
            ComparisonEvent::Ends => self.end(),
        }
    }

    /// The first pairs are over, or the servers are ready.
    fn begin(&mut self, run: &ComparisonRun, pairs: f64) {
        self.terminal.say(format_args!(
            "comparing: at most {pairs} pairs, blocks of {:.3} s, {:.0} s",
            run.block_s(),
            run.options().budget_s
        ));
        self.next_s = run.passed_s() + self.every_s();
    }

    /// A pair is over.
    fn pair(&mut self, run: &ComparisonRun) {
        if run.passed_s() < self.next_s {
            return;
        }
        let pairs = run.pairs() as f64;
        if pairs >= self.known.1 * GROWTH {
            let finding = run.finding();
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
        self.line(run);
    }

    fn line(&mut self, run: &ComparisonRun) {
        let left_s = (run.options().budget_s - run.passed_s()).max(0.0);
        let line = format!("{} pairs, {}, at most {left_s:.0} s left", run.pairs(), self.known.0);
        if self.draws {
            self.terminal.draw(&[line]);
        } else {
            self.terminal.say(line);
        }
        self.next_s = run.passed_s() + self.every_s();
    }

    fn end(&self) {
        if self.draws {
            self.terminal.erase();
        }
    }

    fn every_s(&self) -> f64 {
        if self.draws { DRAWN_EVERY_S } else { SAID_EVERY_S }
    }
}
