//! The progress of a run while it goes on: a view that is drawn anew each second, or a line for each second or every few,
//! and metrics over HTTP. The figures are gathered by `report`.

use engine::Progress;
use report::{LiveFigures, MetricsServer, Phase};
use results::{Plan, WaitMean};

use crate::failure::Failure;
use crate::terminal::Terminal;

/// How the progress of a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressStyle {
    /// Lines that are drawn anew each second.
    View,
    /// A line every so many seconds.
    Lines(u32),
    Nothing,
}

/// Seconds between lines if none are asked for and stderr is no terminal.
const SECONDS_BETWEEN_LINES: u32 = 10;

impl ProgressStyle {
    /// Reads the value of `--progress`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "live" => Ok(Self::View),
            "plain" => Ok(Self::Lines(1)),
            "none" | "0" => Ok(Self::Nothing),
            seconds => match seconds.parse() {
                Ok(seconds) => Ok(Self::Lines(seconds)),
                Err(_) => Err("expected live, plain, none, or a number of seconds".to_owned()),
            },
        }
    }

    /// A view on a terminal, otherwise lines, unless something else was asked for.
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

/// Serves metrics at `HOST:PORT`; port 0 is a free one.
pub(crate) fn serve_metrics(address: &str) -> Result<MetricsServer, Failure> {
    let cannot = |error| Failure::System { what: format!("serve metrics at {address}"), error };
    MetricsServer::start(address).map_err(cannot)
}

/// Shows the seconds of a run.
pub(crate) struct ProgressDisplay<'a> {
    terminal: &'a Terminal,
    style: ProgressStyle,
    metrics: Option<MetricsServer>,
    /// Lines that stand above the view, whatever it shows.
    above: Vec<String>,
    figures: LiveFigures,
}

impl<'a> ProgressDisplay<'a> {
    /// All clients are connected, and the run begins.
    pub(crate) fn new(
        terminal: &'a Terminal,
        style: ProgressStyle,
        metrics: Option<MetricsServer>,
        above: Vec<String>,
        plan: &Plan,
    ) -> Self {
        Self { terminal, style, metrics, above, figures: LiveFigures::new(plan) }
    }

    /// Takes in a second. `waits` is what the server's backends were doing lately.
    pub(crate) fn show(&mut self, progress: &Progress<'_>, waits: &[WaitMean]) {
        let phase = if progress.warmup { Phase::WarmUp } else { Phase::Measuring };
        let figures = &mut self.figures;
        let is_whole = figures.add(progress.interval, phase, progress.elapsed);
        if let Some(server) = &self.metrics {
            server.publish(figures.open_metrics(env!("CARGO_PKG_VERSION"), waits));
        }
        match self.style {
            ProgressStyle::View if is_whole => {
                let lines = report::live_view(&figures.view(waits), &self.terminal.message_style());
                self.terminal.draw(&[self.above.as_slice(), &lines].concat());
            }
            ProgressStyle::Lines(every_s) if is_whole && figures.seconds() >= every_s => {
                self.terminal.say(report::live_line(&figures.line()));
            }
            _ => {}
        }
    }

    /// The run is over: the view goes away.
    pub(crate) fn end(&mut self) {
        self.terminal.erase();
        self.metrics = None;
    }
}
