//! The only place that writes to the terminal: data to stdout, talk to stderr, bars where stderr is one.
//! What a report looks like is `report`'s affair; here it is only put out.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::TextStyle;
use rustix::termios::tcgetwinsize;

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    // On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

/// Columns of a report that goes to a file or a pipe.
const WIDTH_ELSEWHERE: usize = 100;

/// stdout and stderr of this process.
pub(crate) struct Terminal {
    style: TextStyle,
    interactive: bool,
}

impl Terminal {
    pub(crate) fn of_process(colour: Colour) -> Self {
        let stdout = io::stdout();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colour = match colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => stdout.is_terminal() && !no_colour,
        };
        let width = tcgetwinsize(&stdout).map_or(WIDTH_ELSEWHERE, |size| usize::from(size.ws_col));
        let width = if width == 0 { WIDTH_ELSEWHERE } else { width };
        Self { style: TextStyle { colour, width }, interactive: io::stderr().is_terminal() }
    }

    /// How reports are to look.
    pub(crate) fn style(&self) -> &TextStyle {
        &self.style
    }

    /// Whether somebody watches stderr.
    pub(crate) fn is_watched(&self) -> bool {
        self.interactive
    }

    /// Data, to stdout. A reader that has gone away (`| head`) is no error of ours.
    pub(crate) fn print(&self, text: &str) {
        let mut stdout = io::stdout().lock();
        let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    }

    /// A line of talk, to stderr.
    pub(crate) fn say(&self, text: impl Display) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    pub(crate) fn warn(&self, text: impl Display) {
        self.say(format_args!("pgmeter: warning: {text}"));
    }

    pub(crate) fn complain(&self, failure: &dyn Display) {
        self.say(format_args!("pgmeter: error: {failure}"));
    }

    /// A bar for work of known or unknown size; nothing is drawn where nobody watches.
    pub(crate) fn bar(&self, total: Option<u64>, unit: Unit) -> Bar {
        let target =
            if self.interactive { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(total, target);
        let style = ProgressStyle::with_template(unit.template(total.is_some()));
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━━─"));
        bar.enable_steady_tick(TICK);
        Bar { bar, counts: total.is_some() }
    }
}

const TICK: Duration = Duration::from_millis(200);

/// The last line of a program that is left at once; there may be a bar on the line before.
pub(crate) fn say_interrupted() {
    let _ = writeln!(io::stderr().lock(), "\npgmeter: error: interrupted; nothing was measured");
}

/// What a bar counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Bytes,
    Rows,
    Nothing,
}

impl Unit {
    fn template(self, total_known: bool) -> &'static str {
        match (self, total_known) {
            (Self::Bytes, true) => "{msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left",
            (Self::Bytes, false) => "{msg} {bytes} {bytes_per_sec}",
            (Self::Rows, true) => "{msg} {bar:30} {human_pos}/{human_len} rows, {prefix} left",
            (Self::Rows, false) => "{msg} {human_pos} rows",
            (Self::Nothing, _) => "{msg} {elapsed}",
        }
    }
}

/// A progress bar; dropping it removes it from the screen.
pub(crate) struct Bar {
    bar: ProgressBar,
    counts: bool,
}

impl Bar {
    /// Whether it shows how much is done, not only that something is going on.
    pub(crate) fn counts(&self) -> bool {
        self.counts
    }

    pub(crate) fn label(&self, text: impl Into<String>) {
        self.bar.set_message(text.into());
    }

    /// The same, for a bar whose owner knows better how long the rest will take.
    pub(crate) fn reached_with(&self, position: u64, total: u64, left: String) {
        self.bar.set_prefix(left);
        self.reached(position, total);
    }

    pub(crate) fn reached(&self, position: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(position);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
