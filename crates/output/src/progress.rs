//! The progress of a run: a view that is redrawn each second, or lines at intervals, and metrics over HTTP. `cli` draws
//! and prints them.

use engine::Progress;
use report::TextStyle;
use results::{Plan, WaitMean};
use run::options::whole_seconds;

use crate::live::{Phase, live_line};
use crate::live_figures::LiveFigures;
use crate::live_view::live_view;
use crate::metrics_server::MetricsServer;

/// Style of the progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressStyle {
    /// Lines redrawn each second.
    View,
    /// A line at this interval in seconds.
    Lines(u32),
    /// No progress.
    Nothing,
}

/// Default interval of lines in seconds if stderr is not a terminal.
const SECONDS_BETWEEN_LINES: u32 = 10;

impl ProgressStyle {
    /// Parses the value of `--progress`.
    ///
    /// # Errors
    /// It is no style.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "live" => Ok(Self::View),
            "plain" => Ok(Self::Lines(1)),
            "none" | "0" => Ok(Self::Nothing),
            seconds => match whole_seconds(seconds) {
                Ok(seconds) => Ok(Self::Lines(seconds)),
                Err(_) => Err("expected live, plain, none, or whole seconds, such as 10 or 1min".to_owned()),
            },
        }
    }

    /// The given style; by default a view where lines can be redrawn, otherwise lines.
    pub fn choose(asked: Option<Self>, can_draw: bool, is_terminal: bool) -> Self {
        match asked {
            Some(Self::View) | None if can_draw => Self::View,
            Some(Self::View) => Self::Lines(1),
            Some(style) => style,
            None if is_terminal => Self::Lines(1),
            None => Self::Lines(SECONDS_BETWEEN_LINES),
        }
    }
}

/// What is to be shown of a second.
#[derive(Clone, Debug, PartialEq)]
pub enum ShownSecond {
    /// A view that replaces the last one.
    View(Vec<String>),
    /// A line that stays.
    Line(String),
}

/// The progress of a run. The metrics are served as long as this value lives.
pub struct RunProgress {
    style: ProgressStyle,
    metrics: Option<MetricsServer>,
    /// Lines above the view.
    above: Vec<String>,
    figures: LiveFigures,
}

impl RunProgress {
    /// Called when all clients are connected and the run begins.
    pub fn new(
        style: ProgressStyle,
        metrics: Option<MetricsServer>,
        above: Vec<String>,
        plan: &Plan,
    ) -> Self {
        Self { style, metrics, above, figures: LiveFigures::new(plan) }
    }

    /// Adds a second and publishes its metrics. `waits` are the current wait events of the server's backends, `style` is
    /// that of a view.
    pub fn add(
        &mut self,
        progress: &Progress<'_>,
        waits: &[WaitMean],
        style: impl FnOnce() -> TextStyle,
    ) -> Option<ShownSecond> {
        let phase = if progress.warmup { Phase::WarmUp } else { Phase::Measuring };
        let figures = &mut self.figures;
        let is_whole = figures.add(progress.interval, phase, progress.elapsed);
        if let Some(server) = &self.metrics {
            server.publish(figures.open_metrics(env!("CARGO_PKG_VERSION"), waits));
        }
        match self.style {
            ProgressStyle::View if is_whole => {
                let lines = live_view(&figures.view(waits), &style());
                Some(ShownSecond::View([self.above.as_slice(), &lines].concat()))
            }
            ProgressStyle::Lines(every_s) if is_whole && figures.seconds() >= every_s => {
                Some(ShownSecond::Line(live_line(&figures.line())))
            }
            ProgressStyle::View | ProgressStyle::Lines(_) | ProgressStyle::Nothing => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_needs_a_place_to_draw_and_lines_are_rare_where_no_one_looks() {
        let choose = ProgressStyle::choose;
        assert_eq!(choose(None, true, true), ProgressStyle::View);
        assert_eq!(choose(Some(ProgressStyle::View), false, false), ProgressStyle::Lines(1));
        assert_eq!(choose(None, false, true), ProgressStyle::Lines(1));
        assert_eq!(choose(None, false, false), ProgressStyle::Lines(SECONDS_BETWEEN_LINES));
        assert_eq!(
            ProgressStyle::parse("1min").map(|style| choose(Some(style), true, true)),
            Ok(ProgressStyle::Lines(60))
        );
        assert!(ProgressStyle::parse("often").is_err());
    }
}
