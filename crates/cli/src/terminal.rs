//! All terminal output: data on stdout, messages on stderr, progress bars if stderr is a terminal. `report` formats
//! reports.

use std::cell::Cell;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use output::message_queue::{self, Measuring, Message};
use report::TextStyle;
use results::SafeText;
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp, tcgetwinsize};

use crate::failure::Failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    // On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

/// Width of a report in a file or a pipe, unless COLUMNS is set.
const WIDTH_ELSEWHERE: usize = 100;

/// stdout and stderr of this process.
pub(crate) struct Terminal {
    style: TextStyle,
    /// Whether messages on stderr are coloured.
    message_colour: bool,
    interactive: bool,
    prints_to_one: bool,
    /// The last output that could not be written.
    lost: Cell<Option<Failure>>,
}

/// Number of lines of the current view, which the next one overwrites. Global, because workers write messages too.
static DRAWN: Mutex<usize> = Mutex::new(0);

/// Values to mask in messages, the longest first.
static SECRETS: Mutex<Vec<String>> = Mutex::new(Vec::new());

impl Terminal {
    pub(crate) fn of_process(colour: Colour) -> Self {
        let stdout = io::stdout();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let wanted = |is_terminal: bool| match colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => is_terminal && !no_colour,
        };
        let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
        let width = tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col)).or_else(columns);
        let width = width.filter(|width| *width > 0).unwrap_or(WIDTH_ELSEWHERE);
        let prints_to_one = stdout.is_terminal();
        let interactive = io::stderr().is_terminal();
        let style = TextStyle { colour: wanted(prints_to_one), width };
        Self { style, message_colour: wanted(interactive), interactive, prints_to_one, lost: Cell::new(None) }
    }

    /// Style of reports.
    pub(crate) fn style(&self) -> &TextStyle {
        &self.style
    }

    /// Whether stdout is a terminal.
    pub(crate) fn prints_to_one(&self) -> bool {
        self.prints_to_one
    }

    /// Whether stderr is a terminal.
    pub(crate) fn is_interactive(&self) -> bool {
        self.interactive
    }

    /// Style of lines drawn on stderr; its width may change at any time.
    pub(crate) fn message_style(&self) -> TextStyle {
        let width = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
        TextStyle { colour: self.message_colour, width: if width == 0 { WIDTH_ELSEWHERE } else { width } }
    }

    /// Whether lines on stderr can be redrawn.
    pub(crate) fn can_draw(&self) -> bool {
        self.interactive && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// Replaces the current view by these lines.
    pub(crate) fn draw(&self, lines: &[String]) {
        let text = lines.iter().map(|line| format!("{line}\n")).collect();
        show_or_queue(Message::View(text, lines.len()));
    }

    /// Erases the current view.
    pub(crate) fn erase(&self) {
        write_message("");
    }

    /// Prints data on stdout. A closed pipe (`| head`) is not an error.
    pub(crate) fn print(&self, text: &str) {
        self.print_bytes(text.as_bytes());
    }

    /// Why some output could not be written, if any; a closed pipe is not an error.
    pub(crate) fn lost(&self) -> Option<Failure> {
        self.lost.take()
    }

    /// Some output could not be written; the command continues, and fails at its end.
    pub(crate) fn lose(&self, failure: Failure) {
        self.lost.set(Some(failure));
    }

    /// Prints binary data on stdout.
    pub(crate) fn print_bytes(&self, bytes: &[u8]) {
        let mut stdout = io::stdout().lock();
        let is_open = ring::check_stdout();
        if let Err(error) = is_open.and_then(|()| stdout.write_all(bytes)).and_then(|()| stdout.flush())
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.lose(Failure::System { what: "write to standard output".to_owned(), error });
        }
    }

    /// Prints a message of one line on stderr.
    pub(crate) fn say(&self, text: impl Display) {
        write_message(&format!("{text}\n"));
    }

    pub(crate) fn warn(&self, text: impl Display) {
        let text = SafeText::from(text.to_string());
        self.say(format_args!("pgmeter: warning: {text}"));
    }

    pub(crate) fn complain(&self, failure: &dyn Display) {
        let text = SafeText::from(failure.to_string());
        self.say(format_args!("pgmeter: error: {text}"));
    }

    /// A progress indicator for work of unknown size.
    pub(crate) fn waiting(&self, label: String) -> Bar {
        let bar = self.bar_with(None, "{msg} {elapsed}");
        bar.label(label);
        bar
    }

    /// A progress bar for work of this size.
    pub(crate) fn bar(&self, total: u64, unit: Unit) -> Bar {
        self.bar_with(Some(total), unit.template())
    }

    /// Draws nothing if stderr is not a terminal.
    fn bar_with(&self, total: Option<u64>, template: &str) -> Bar {
        let target =
            if self.interactive { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(total, target);
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━━─"));
        bar.enable_steady_tick(TICK);
        Bar { bar, counts: total.is_some() }
    }
}

/// Writes a complete message to stderr from any thread. A drawn view is erased until it is redrawn. The message may
/// quote a server, so control characters are escaped.
pub(crate) fn write_message(text: &str) {
    write_styled(&masked(text));
}

/// The text with control characters escaped and secrets masked.
pub(crate) fn masked(text: &str) -> String {
    let secrets = SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
    secrets.iter().fold(results::escaped(text).into_owned(), |text, secret| run::mask_value(&text, secret))
}

/// Masks these values in all messages, because servers quote statements with values of variables in their errors.
pub(crate) fn mask(values: impl IntoIterator<Item = String>) {
    let mut secrets = SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
    secrets.extend(values);
    // The longest first, because a value may contain another.
    secrets.sort_by_key(|value| std::cmp::Reverse(value.len()));
}

/// The same for text with colours.
pub(crate) fn write_styled(text: &str) {
    show_or_queue(Message::Lines(text.to_owned()));
}

/// Queues all messages on stderr until the load is over.
pub(crate) fn measure() -> Measuring {
    Measuring::begin(|message| {
        let may_show = !would_be_stopped();
        if may_show {
            show(message);
        }
        may_show
    })
}

fn show_or_queue(message: Message) {
    if let Some(message) = message_queue::add(message) {
        show(&message);
    }
}

fn show(message: &Message) {
    let mut drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
    let (text, lines) = match message {
        Message::Lines(text) => (text, 0),
        Message::View(text, lines) => (text, *lines),
    };
    let _ = io::stderr().lock().write_all(output::in_place_of(*drawn, text).as_bytes());
    *drawn = lines;
}

/// Whether writing would stop the process (SIGTTOU, `stty tostop`), because it is in the background.
fn would_be_stopped() -> bool {
    let stderr = io::stderr();
    let stops = tcgetattr(&stderr).is_ok_and(|modes| modes.local_modes.contains(LocalModes::TOSTOP));
    stops && tcgetpgrp(&stderr).is_ok_and(|foreground| foreground != getpgrp())
}

const TICK: Duration = Duration::from_millis(200);

/// The last line before an immediate exit; a progress bar may be on the line before.
pub(crate) fn say_interrupted() {
    write_message("\npgmeter: error: interrupted\n");
    message_queue::flush();
}

/// Unit of a progress bar.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Bytes,
    Rows,
}

impl Unit {
    fn template(self) -> &'static str {
        match self {
            Self::Bytes => "{msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left",
            Self::Rows => "{msg} {bar:30} {human_pos}/{human_len} rows, {prefix} left",
        }
    }
}

/// A progress bar; dropping it removes it from the screen.
pub(crate) struct Bar {
    bar: ProgressBar,
    counts: bool,
}

impl Bar {
    /// Whether it shows an amount, not only activity.
    pub(crate) fn counts(&self) -> bool {
        self.counts
    }

    pub(crate) fn label(&self, text: impl Into<String>) {
        self.bar.set_message(results::escaped(&text.into()).into_owned());
    }

    /// Updates the amount, and the remaining time if the unit shows no estimate of its own.
    pub(crate) fn reached(&self, position: u64, total: u64, left: String) {
        self.bar.set_prefix(left);
        self.bar.set_length(total);
        self.bar.set_position(position);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
