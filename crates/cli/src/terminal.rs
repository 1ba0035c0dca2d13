//! The only place that writes to the terminal: data to stdout, messages to stderr, bars where stderr is one.
//! What a report looks like is `report`'s affair; here it is only put out.

use std::cell::Cell;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::TextStyle;
use results::SafeText;
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp, tcgetwinsize};

use crate::stderr_queue::{self, Measuring, Message};

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
    /// Of messages on stderr.
    message_colour: bool,
    interactive: bool,
    prints_to_one: bool,
    /// The last error in writing data.
    lost: Cell<Option<io::Error>>,
}

/// Lines of a view that stand at the end of the screen, to be drawn over. There is one screen for all of the process, and
/// workers write messages too.
static DRAWN: Mutex<usize> = Mutex::new(0);

/// Values that are masked in messages, the longest first.
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
        let width = tcgetwinsize(&stdout).map_or(WIDTH_ELSEWHERE, |size| usize::from(size.ws_col));
        let width = if width == 0 { WIDTH_ELSEWHERE } else { width };
        let prints_to_one = stdout.is_terminal();
        let interactive = io::stderr().is_terminal();
        let style = TextStyle { colour: wanted(prints_to_one), width };
        Self { style, message_colour: wanted(interactive), interactive, prints_to_one, lost: Cell::new(None) }
    }

    /// How reports are to look.
    pub(crate) fn style(&self) -> &TextStyle {
        &self.style
    }

    /// Whether stdout is one.
    pub(crate) fn prints_to_one(&self) -> bool {
        self.prints_to_one
    }

    /// Whether stderr is a terminal.
    pub(crate) fn is_interactive(&self) -> bool {
        self.interactive
    }

    /// How lines that are drawn on stderr are to look; its width may change at any time.
    pub(crate) fn message_style(&self) -> TextStyle {
        let width = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
        TextStyle { colour: self.message_colour, width: if width == 0 { WIDTH_ELSEWHERE } else { width } }
    }

    /// Whether lines on stderr can be drawn over.
    pub(crate) fn can_draw(&self) -> bool {
        self.interactive && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// Puts these lines in the place of those that were drawn before.
    pub(crate) fn draw(&self, lines: &[String]) {
        let text = lines.iter().map(|line| format!("{line}\n")).collect();
        show_or_queue(Message::View(text, lines.len()));
    }

    /// Takes away what was drawn.
    pub(crate) fn erase(&self) {
        write_message("");
    }

    /// Data, to stdout. A reader that has gone away (`| head`) is no error of ours.
    pub(crate) fn print(&self, text: &str) {
        self.print_bytes(text.as_bytes());
    }

    /// Why data could not be written, if some could not; a reader that has gone away is no reason.
    pub(crate) fn lost(&self) -> Option<io::Error> {
        self.lost.take()
    }

    /// Data that is no text, to stdout.
    pub(crate) fn print_bytes(&self, bytes: &[u8]) {
        let mut stdout = io::stdout().lock();
        if let Err(error) = stdout.write_all(bytes).and_then(|()| stdout.flush())
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.lost.set(Some(error));
        }
    }

    /// A message of one line, to stderr.
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

    /// A bar for work of unknown size.
    pub(crate) fn waiting(&self, label: String) -> Bar {
        let bar = self.bar_with(None, "{msg} {elapsed}");
        bar.label(label);
        bar
    }

    /// A bar for work of this size.
    pub(crate) fn bar(&self, total: u64, unit: Unit) -> Bar {
        self.bar_with(Some(total), unit.template())
    }

    /// Nothing is drawn if stderr is no terminal.
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

/// Help, to stdout. The program does not fail if it cannot be written.
pub(crate) fn print_help(text: &str) {
    let _ = io::stdout().lock().write_all(text.as_bytes());
}

/// Writes a message to stderr, whole, whichever thread writes it; a view that is drawn there makes room until it is drawn
/// again. The message may quote others, such as a server: what steers a terminal is shown as its code.
pub(crate) fn write_message(text: &str) {
    let text = {
        let secrets = SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
        secrets
            .iter()
            .fold(results::escaped(text).into_owned(), |text, secret| run::mask_value(&text, secret))
    };
    write_styled(&text);
}

/// Masks these values in all messages: servers quote statements in their errors, with the values of variables in them.
pub(crate) fn mask(values: impl IntoIterator<Item = String>) {
    let mut secrets = SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
    secrets.extend(values);
    // The longest first: another may be a part of it.
    secrets.sort_by_key(|value| std::cmp::Reverse(value.len()));
}

/// The same for text that has colours.
pub(crate) fn write_styled(text: &str) {
    show_or_queue(Message::Lines(text.to_owned()));
}

/// From now on nobody waits for stderr, until the load is over.
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
    if let Some(message) = stderr_queue::add(message) {
        show(&message);
    }
}

fn show(message: &Message) {
    let mut drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
    let (text, lines) = match message {
        Message::Lines(text) => (text, 0),
        Message::View(text, lines) => (text, *lines),
    };
    // Goes up so many lines and erases to the end of the screen (ECMA-48, §8.3.22 CUU and §8.3.39 ED).
    let erasing = if *drawn == 0 { String::new() } else { format!("\x1b[{drawn}A\r\x1b[J") };
    let _ = io::stderr().lock().write_all(format!("{erasing}{text}").as_bytes());
    *drawn = lines;
}

/// Whether the terminal would stop the whole process for writing (SIGTTOU, `stty tostop`), because it is in the
/// background.
fn would_be_stopped() -> bool {
    let stderr = io::stderr();
    let stops = tcgetattr(&stderr).is_ok_and(|modes| modes.local_modes.contains(LocalModes::TOSTOP));
    stops && tcgetpgrp(&stderr).is_ok_and(|foreground| foreground != getpgrp())
}

const TICK: Duration = Duration::from_millis(200);

/// The last line of a program that is left at once; there may be a bar on the line before.
pub(crate) fn say_interrupted() {
    write_message("\npgmeter: error: interrupted; nothing was measured\n");
    stderr_queue::flush();
}

/// What a bar counts.
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
    /// Whether it shows how much is done, not only that something is going on.
    pub(crate) fn counts(&self) -> bool {
        self.counts
    }

    pub(crate) fn label(&self, text: impl Into<String>) {
        self.bar.set_message(results::escaped(&text.into()).into_owned());
    }

    /// Shows how much is done, and how long the rest will take where the unit's own estimate is not shown.
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
