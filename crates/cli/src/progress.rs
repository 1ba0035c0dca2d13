//! Progress of a run: a view redrawn each second, or lines at intervals, and metrics over HTTP. `output` calculates
//! the figures.

use engine::Progress;
use output::{LiveFigures, MetricsServer, Phase};
use results::{Plan, WaitMean};
use run::options::whole_seconds;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// Style of the progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressStyle {
    /// Lines redrawn each second.
    View,
    /// A line at this interval in seconds.
    Lines(u32),
    Nothing,
}

/// Default interval of lines in seconds if stderr is not a terminal.
const SECONDS_BETWEEN_LINES: u32 = 10;

impl ProgressStyle {
    /// Parses the value of `--progress`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
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

    /// The given style; by default a view on a terminal, otherwise lines.
    pub(crate) fn choose(asked: Option<Self>, terminal: &Terminal) -> Self {
        match asked {
            Some(Self::View) | None if terminal.can_draw() => Self::View,
            Some(Self::View) => Self::Lines(1),
            Some(style) => style,
            None if terminal.is_interactive() => Self::Lines(1),
            None => Self::Lines(SECONDS_BETWEEN_LINES),
        }
    }
}

/// Serves metrics at `HOST:PORT`; port 0 selects a free port.
pub(crate) fn serve_metrics(address: &str) -> Result<MetricsServer, Failure> {
    let cannot = |error| Failure::System { what: format!("serve metrics at {address}"), error };
    MetricsServer::start(address).map_err(cannot)
}

/// Shows the progress of a run.
pub(crate) struct ProgressDisplay<'a> {
    terminal: &'a Terminal,
    style: ProgressStyle,
    metrics: Option<MetricsServer>,
    /// Lines above the view.
    above: Vec<String>,
    figures: LiveFigures,
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
        Self { terminal, style, metrics, above, figures: LiveFigures::new(plan) }
    }

    /// Adds a second. `waits` are the current wait events of the server's backends.
    pub(crate) fn show(&mut self, progress: &Progress<'_>, waits: &[WaitMean]) {
        let phase = if progress.warmup { Phase::WarmUp } else { Phase::Measuring };
        let figures = &mut self.figures;
        let is_whole = figures.add(progress.interval, phase, progress.elapsed);
        if let Some(server) = &self.metrics {
            server.publish(figures.open_metrics(env!("CARGO_PKG_VERSION"), waits));
        }
        match self.style {
            ProgressStyle::View if is_whole => {
                let lines = output::live_view(&figures.view(waits), &self.terminal.message_style());
                self.terminal.draw(&[self.above.as_slice(), &lines].concat());
            }
            ProgressStyle::Lines(every_s) if is_whole && figures.seconds() >= every_s => {
                self.terminal.say(output::live_line(&figures.line()));
            }
            _ => {}
        }
    }

    /// Removes the view after the run.
    pub(crate) fn end(&mut self) {
        self.terminal.erase();
        self.metrics = None;
    }
}
