//! Progress of a comparison: number of pairs, estimate, remaining time. On a terminal the line is redrawn, otherwise
//! lines are printed at intervals.

use ::lab::{ComparisonEvent, ComparisonRun};

use crate::terminal::Terminal;

/// Seconds between two lines: redrawn, or printed.
const DRAWN_EVERY_S: f64 = 1.0;
const SAID_EVERY_S: f64 = 10.0;
/// Growth of the number of pairs between two estimates, because the calculation takes time with the square of the
/// pairs.
const GROWTH: f64 = 1.05;

/// Shows the progress of a comparison.
pub(crate) struct ComparisonProgress<'a> {
    terminal: &'a Terminal,
    draws: bool,
    next_s: f64,
    /// The estimate, and its number of pairs.
    known: (String, f64),
}

impl<'a> ComparisonProgress<'a> {
    pub(crate) fn new(terminal: &'a Terminal) -> Self {
        let draws = terminal.can_draw();
        Self { terminal, draws, next_s: 0.0, known: ("no estimate yet".to_owned(), 0.0) }
    }

    pub(crate) fn show(&mut self, run: &ComparisonRun, event: ComparisonEvent) {
        match event {
            // The first pairs have ended, or the servers are ready.
            ComparisonEvent::Begins(pairs) => {
                let (block_s, budget_s) = (run.block_s(), run.options().budget_s);
                let change = |change_s| format!("; a change of the schema takes {change_s:.2} s");
                let change = run.schema_change_s().map_or(String::new(), change);
                self.terminal.say(format_args!(
                    "comparing: at most {pairs} pairs with those of the noise floor, blocks of {block_s:.3} s, {budget_s:.0} s{change}"
                ));
                self.wait(run);
            }
            ComparisonEvent::Pair | ComparisonEvent::Block if run.passed_s() < self.next_s => {}
            ComparisonEvent::Pair => {
                self.estimate(run);
                self.line(run);
            }
            ComparisonEvent::Block => self.line(run),
            ComparisonEvent::Ends => self.terminal.erase(),
        }
    }

    fn estimate(&mut self, run: &ComparisonRun) {
        let pairs = run.pairs() as f64;
        if pairs < self.known.1 * GROWTH {
            return;
        }
        if let Some(finding) = run.finding() {
            let change = (finding.ratio - 1.0) * 100.0;
            let smallest = finding.smallest_difference_so_far.map(|it| it * 100.0);
            let seen = smallest.map_or(String::new(), |it| format!(", detectable {it:.1} %"));
            self.known = (format!("B − A {change:+.1} %{seen}"), pairs);
        }
    }

    fn line(&mut self, run: &ComparisonRun) {
        let left_s = (run.options().budget_s - run.passed_s()).max(0.0);
        let line = format!("{} pairs, {}, at most {left_s:.0} s left", run.pairs(), self.known.0);
        if self.draws {
            self.terminal.draw(&[line]);
        } else {
            self.terminal.say(line);
        }
        self.wait(run);
    }

    fn wait(&mut self, run: &ComparisonRun) {
        self.next_s = run.passed_s() + if self.draws { DRAWN_EVERY_S } else { SAID_EVERY_S };
    }
}
