//! Progress of loading tables in words: a step on a terminal, otherwise lines at intervals.
//! The listener shows them.

use std::time::Duration;

use workload::InitProgress;

/// Interval of progress lines where nothing can be redrawn; a short load prints none.
const LINES_APART: Duration = Duration::from_secs(30);

/// What to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadText {
    /// A warning, which stays.
    Warning(String),
    /// A message, which stays.
    Message(String),
    /// A step of unknown length, which replaces the last one.
    Step(String),
    /// Rows of a table: the text, loaded and total rows, and the remaining time.
    Rows(String, (u64, u64), String),
    /// Nothing is in progress any more.
    Ended,
}

/// The progress of loading.
#[derive(Clone, Debug)]
pub struct LoadProgress {
    /// Whether steps and rows can be redrawn.
    can_draw: bool,
    /// Whether only lost connections are shown.
    is_quiet: bool,
    /// Time of the next line, counted from the table's first row.
    due: Duration,
}

impl LoadProgress {
    /// Before the first step.
    pub fn new(can_draw: bool, is_quiet: bool) -> Self {
        Self { can_draw, is_quiet, due: LINES_APART }
    }

    /// What to show after an event.
    pub fn after(&mut self, progress: InitProgress<'_>) -> Vec<LoadText> {
        match progress {
            InitProgress::Lost { doing, reason } => {
                vec![LoadText::Ended, LoadText::Warning(workload::reconnecting(doing, reason))]
            }
            InitProgress::Dropping(sentence) => vec![LoadText::Message(sentence.to_owned())],
            InitProgress::Found(sentence) => vec![LoadText::Warning(sentence.to_owned())],
            _ if self.is_quiet => Vec::new(),
            InitProgress::Forecast(sentence) => vec![LoadText::Message(sentence.to_owned())],
            InitProgress::Started { doing } => {
                let text = format!("{doing} …");
                // After a long load the other steps may take long too.
                let is_told = self.due > LINES_APART && !self.can_draw;
                let told = is_told.then(|| LoadText::Message(text.clone()));
                [LoadText::Ended].into_iter().chain(told).chain([LoadText::Step(text)]).collect()
            }
            InitProgress::Rows { table, done, total, bytes, elapsed } if self.can_draw => {
                let label = format!("loading {table}, {}", workload::listing::size(bytes));
                vec![LoadText::Rows(label, (done, total), workload::time_left(done, total, elapsed))]
            }
            InitProgress::Rows { table, done, total, bytes, elapsed } => {
                if elapsed < self.due {
                    return Vec::new();
                }
                while self.due <= elapsed {
                    self.due += LINES_APART;
                }
                vec![LoadText::Message(workload::rows_loaded(table, (done, total), bytes, elapsed))]
            }
            InitProgress::Finished(_) => vec![LoadText::Ended],
            InitProgress::Partitions(_) | InitProgress::Notice(_) | InitProgress::Waiting => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows<'a>(seconds: u64) -> InitProgress<'a> {
        let elapsed = Duration::from_secs(seconds);
        InitProgress::Rows { table: "t", done: 10, total: 20, bytes: 1_000, elapsed }
    }

    #[test]
    fn lines_are_rare_where_nothing_can_be_redrawn_and_none_are_shown_if_quiet() {
        let mut lines = LoadProgress::new(false, false);
        assert_eq!(
            lines.after(InitProgress::Started { doing: "vacuum" })[1..],
            [LoadText::Step("vacuum …".to_owned())]
        );
        assert_eq!(lines.after(rows(29)), []);
        assert!(
            matches!(&lines.after(rows(61))[..], [LoadText::Message(text)] if text.starts_with("loading t: 10 of 20 rows"))
        );
        assert_eq!(lines.after(rows(80)), [], "the next one is due after 90 s");
        let later = lines.after(InitProgress::Started { doing: "vacuum" });
        assert_eq!(later[1], LoadText::Message("vacuum …".to_owned()));
        let mut quiet = LoadProgress::new(true, true);
        assert_eq!(quiet.after(rows(61)), []);
        let lost = quiet.after(InitProgress::Lost { doing: "vacuum", reason: "closed" });
        assert!(matches!(&lost[..], [LoadText::Ended, LoadText::Warning(_)]), "{lost:?}");
    }

    #[test]
    fn rows_are_redrawn_on_a_terminal() {
        let mut drawn = LoadProgress::new(true, false);
        let [LoadText::Rows(label, (10, 20), left)] = &drawn.after(rows(5))[..] else { panic!("no rows") };
        assert!(
            label.starts_with("loading t, ") && left == &workload::time_left(10, 20, Duration::from_secs(5))
        );
    }
}
