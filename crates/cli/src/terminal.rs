//! The only place that writes to the terminal: data to stdout, talk to stderr, bars where stderr is one.
//! What a report looks like is `report`'s affair; here it is only put out.

use std::cell::Cell;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
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
    /// Of what is said to stderr.
    talk_colour: bool,
    interactive: bool,
    prints_to_one: bool,
    /// The last error in writing data.
    lost: Cell<Option<io::Error>>,
}

/// Lines of a view that stand at the end of the screen, to be drawn over. There is one screen for all of the process, and
/// workers talk too.
static DRAWN: Mutex<usize> = Mutex::new(0);

/// What is never said, the longest first.
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
        Self { style, talk_colour: wanted(interactive), interactive, prints_to_one, lost: Cell::new(None) }
    }

    /// How reports are to look.
    pub(crate) fn style(&self) -> &TextStyle {
        &self.style
    }

    /// Whether stdout is one.
    pub(crate) fn prints_to_one(&self) -> bool {
        self.prints_to_one
    }

    /// Whether somebody watches stderr.
    pub(crate) fn is_watched(&self) -> bool {
        self.interactive
    }

    /// How lines that are drawn on stderr are to look; its width may change at any time.
    pub(crate) fn talk_style(&self) -> TextStyle {
        let width = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
        TextStyle { colour: self.talk_colour, width: if width == 0 { WIDTH_ELSEWHERE } else { width } }
    }

    /// Whether lines on stderr can be drawn over.
    pub(crate) fn can_draw(&self) -> bool {
        self.interactive && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// Puts these lines in the place of those that were drawn before.
    pub(crate) fn draw(&self, lines: &[String]) {
        let text = lines.iter().map(|line| format!("{line}\n")).collect();
        say_now_or_queue(Message::View(text, lines.len()));
    }

    /// Takes away what was drawn.
    pub(crate) fn erase(&self) {
        talk("");
    }

    /// Data, to stdout. A reader that has gone away (`| head`) is no error of ours.
    pub(crate) fn print(&self, text: &str) {
        let mut stdout = io::stdout().lock();
        self.note_loss(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()));
    }

    /// Why data could not be written, if some could not; a reader that has gone away is no reason.
    pub(crate) fn lost(&self) -> Option<io::Error> {
        self.lost.take()
    }

    fn note_loss(&self, written: io::Result<()>) {
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.lost.set(Some(error));
        }
    }

    /// Data that is no text, to stdout.
    pub(crate) fn print_bytes(&self, bytes: &[u8]) {
        let mut stdout = io::stdout().lock();
        self.note_loss(stdout.write_all(bytes).and_then(|()| stdout.flush()));
    }

    /// A line of talk, to stderr.
    pub(crate) fn say(&self, text: impl Display) {
        talk(&format!("{text}\n"));
    }

    pub(crate) fn warn(&self, text: impl Display) {
        let text = SafeText::from(text.to_string());
        self.say(format_args!("pgmeter: warning: {text}"));
    }

    pub(crate) fn complain(&self, failure: &dyn Display) {
        let text = SafeText::from(failure.to_string());
        self.say(format_args!("pgmeter: error: {text}"));
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

/// Help, to stdout; nobody needs to know if nobody reads it.
pub(crate) fn put_out(text: &str) {
    let _ = io::stdout().lock().write_all(text.as_bytes());
}

/// Says something on stderr, whole, whichever thread says it; a view that is drawn there makes room until it is drawn
/// again. There may be others' words in it, such as a server's: what steers a terminal is shown as its code.
pub(crate) fn talk(text: &str) {
    let text = {
        let secrets = SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
        secrets
            .iter()
            .fold(results::escaped(text).into_owned(), |text, secret| run::mask_value(&text, secret))
    };
    talk_styled(&text);
}

/// These values are not said: servers quote statements in their errors, with the values of variables in them.
pub(crate) fn never_say(values: Vec<String>) {
    let mut secrets = SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
    secrets.extend(values);
    // The longest first: another may be a part of it.
    secrets.sort_by_key(|value| std::cmp::Reverse(value.len()));
}

/// The same for text that has colours.
pub(crate) fn talk_styled(text: &str) {
    say_now_or_queue(Message::Talk(text.to_owned()));
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

fn say_now_or_queue(message: Message) {
    if let Some(message) = stderr_queue::add(message) {
        show(&message);
    }
}

fn show(message: &Message) {
    let mut drawn = drawn();
    let (text, lines) = match message {
        Message::Talk(text) => (text, 0),
        Message::View(text, lines) => (text, *lines),
    };
    put(&format!("{}{text}", erasing(*drawn)));
    *drawn = lines;
}

/// Whether the terminal would stop the whole process for writing (SIGTTOU, `stty tostop`), because it is in the
/// background.
fn would_be_stopped() -> bool {
    let stderr = io::stderr();
    let stops = tcgetattr(&stderr).is_ok_and(|modes| modes.local_modes.contains(LocalModes::TOSTOP));
    stops && tcgetpgrp(&stderr).is_ok_and(|foreground| foreground != getpgrp())
}

fn drawn() -> MutexGuard<'static, usize> {
    DRAWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn put(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Goes up so many lines and erases to the end of the screen (ECMA-48, §8.3.22 CUU and §8.3.39 ED).
fn erasing(lines: usize) -> String {
    if lines == 0 { String::new() } else { format!("\x1b[{lines}A\r\x1b[J") }
}

const TICK: Duration = Duration::from_millis(200);

/// The last line of a program that is left at once; there may be a bar on the line before.
pub(crate) fn say_interrupted() {
    talk("\npgmeter: error: interrupted; nothing was measured\n");
    stderr_queue::flush();
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
        self.bar.set_message(results::escaped(&text.into()).into_owned());
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
