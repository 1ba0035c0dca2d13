//! Progress of a run on the terminal, and the server of its metrics.
//! `output` makes the view and the lines.

use engine::Progress;
use output::{MetricsServer, ProgressStyle, RunProgress, ShownSecond};
use results::{Plan, WaitMean};

use crate::failure::Failure;
use crate::terminal::Terminal;

/// The given style of the progress, or that of the terminal.
pub(crate) fn style(asked: Option<ProgressStyle>, terminal: &Terminal) -> ProgressStyle {
    ProgressStyle::choose(asked, terminal.can_draw(), terminal.is_interactive())
}

/// Serves metrics at `HOST:PORT`; port 0 selects a free port.
pub(crate) fn serve_metrics(address: &str) -> Result<MetricsServer, Failure> {
    let cannot = |error| Failure::System { what: format!("serve metrics at {address}"), error };
    MetricsServer::start(address).map_err(cannot)
}

/// Shows the progress of a run.
pub(crate) struct ProgressDisplay<'a> {
    terminal: &'a Terminal,
    /// `None` after the run.
    progress: Option<RunProgress>,
}

impl<'a> ProgressDisplay<'a> {
    /// Called when all clients are connected and the run begins.
    pub(crate) fn new(
        terminal: &'a Terminal,
        style: ProgressStyle,
        metrics: Option<MetricsServer>,
        above: Vec<String>,
        plan: &Plan,
    ) -> Self {
        Self { terminal, progress: Some(RunProgress::new(style, metrics, above, plan)) }
    }

    /// Adds a second. `waits` are the current wait events of the server's backends.
    pub(crate) fn show(&mut self, second: &Progress<'_>, waits: &[WaitMean]) {
        let Some(progress) = &mut self.progress else { return };
        match progress.add(second, waits, || self.terminal.message_style()) {
            Some(ShownSecond::View(lines)) => self.terminal.draw(&lines),
            Some(ShownSecond::Line(line)) => self.terminal.say(line),
            None => {}
        }
    }

    /// Removes the view after the run.
    pub(crate) fn end(&mut self) {
        self.terminal.erase();
        self.progress = None;
    }
}
