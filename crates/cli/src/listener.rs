//! What experiments, comparisons and servers tell, as lines, bars and views of the terminal. Nothing is decided here; the
//! commands `lab`, `compare`, `quickstart` and `server` use it.

use std::cell::RefCell;

use ::lab::{Event, Listener, TrialRecord, rough};
use engine::{Tracer, WorkerIntro};
use run::{Circumstances, StorePlaces};
use server::FetchProgress;

use crate::compare::ComparisonView;
use crate::init::LoadView;
use crate::live::{Live, ProgressStyle};
use crate::metrics::MetricsServer;
use crate::reporting::experiments;
use crate::terminal::{self, Bar, Terminal, Unit};
use crate::watcher::Watcher;
use crate::{lab_status, password, showing};

/// Shows what is told.
pub(crate) struct TerminalListener<'a> {
    terminal: &'a Terminal,
    /// Where the report of an experiment comes from.
    places: StorePlaces,
    state: RefCell<State<'a>>,
}

struct State<'a> {
    bar: Option<Bar>,
    load: Option<LoadView<'a>>,
    live: Option<Live<'a>>,
    /// Lines that stand above the view of a trial.
    above: Vec<String>,
    comparison: ComparisonView<'a>,
}

/// Calls `work` with a listener that shows everything on the terminal.
pub(crate) fn listening<T>(
    terminal: &Terminal,
    places: StorePlaces,
    work: impl FnOnce(Listener<'_>) -> T,
) -> T {
    let comparison = ComparisonView::new(terminal);
    let state = State { bar: None, load: None, live: None, above: Vec::new(), comparison };
    let shown = TerminalListener { terminal, places, state: RefCell::new(state) };
    work(Listener::new(&|event| shown.show(event)))
}

/// The circumstances of runs that are shown on the terminal.
pub(crate) fn circumstances() -> Circumstances {
    Circumstances {
        ask_password: Some(password::ask),
        output: Some(|| {
            let measuring = terminal::measure();
            Box::new(move || measuring.end())
        }),
        ..Circumstances::default()
    }
}

/// Sees what clients of trials say.
pub(crate) fn tracer(_: WorkerIntro) -> Box<dyn Tracer> {
    Box::new(Watcher { log: None, verbose_errors: false })
}

impl<'a> TerminalListener<'a> {
    fn show(&self, event: Event<'_>) {
        let terminal = self.terminal;
        let mut state = self.state.borrow_mut();
        match event {
            Event::Message(text) => terminal.say(text),
            Event::Warning(text) => terminal.warn(text),
            Event::Busy(text) => state.bar = Some(waiting(terminal, text)),
            Event::Idle => state.bar = None,
            Event::Fetch(progress) => state.fetch(&progress, terminal),
            Event::Load(progress) => {
                state.load.get_or_insert_with(|| LoadView::with_bars(terminal)).show(progress);
            }
            Event::Loaded(options, report) => {
                state.load = None;
                terminal.say(crate::init::summary(options, report));
            }
            Event::TrialBegins(subject, row, position) => {
                terminal.say(lab_status::name(&subject.plan, position));
                state.above = match terminal.can_draw() {
                    true => lab_status::cells_so_far(subject, row, &terminal.talk_style()),
                    false => Vec::new(),
                };
            }
            Event::RunBegins(plan, asked) => {
                // A trial is measured all the same where its figures cannot be served.
                let served = asked.map(MetricsServer::start).transpose();
                let metrics = served.unwrap_or_else(|failure| {
                    terminal.warn(failure);
                    None
                });
                if let Some(server) =
                    metrics.as_ref().filter(|_| asked.is_some_and(|asked| asked.ends_with(":0")))
                {
                    terminal.say(format_args!("  metrics at http://{}/metrics", server.address()));
                }
                let style = if terminal.can_draw() { ProgressStyle::View } else { ProgressStyle::Nothing };
                let above = std::mem::take(&mut state.above);
                let mut live = Live::new(terminal, style, metrics).below(above);
                live.begin(plan);
                state.live = Some(live);
            }
            Event::Run(run::Event::Second { progress, waits }) => {
                state.live.iter_mut().for_each(|live| live.show(progress, waits));
            }
            Event::Run(event) => showing::warn(&event, terminal),
            Event::RunEnded => state.live.take().iter_mut().for_each(Live::end),
            Event::TrialEnded(record, left) => {
                let line = match record {
                    TrialRecord::Load(record) => report::trial_line(record),
                    TrialRecord::Steps(record) => report::steps_line(record),
                };
                match left.is_zero() {
                    true => terminal.say(format_args!("  {line}")),
                    false => terminal.say(format_args!("  {line}; about {} left", rough(left))),
                }
            }
            Event::Ended(subject, row) => {
                terminal.print(&lab_status::standing(subject, row));
                self.report(subject, row);
            }
            Event::Comparison(run, event) => state.comparison.show(run, event),
        }
    }

    /// What came of an experiment so far, if anything did.
    fn report(&self, subject: &::lab::Subject, row: &results::ExperimentRow) {
        let is_complete = |trial: &results::TrialRow| trial.status == results::TrialStatus::Complete;
        if !row.trials.iter().any(is_complete) {
            return;
        }
        let (name, profile) = (&subject.experiment.name, ::lab::profile_name(subject.profile));
        match experiments::text(&self.places.store(), name, profile, self.terminal.style()) {
            Ok(report) => self.terminal.print(&format!("\n{report}")),
            Err(failure) => {
                self.terminal.warn(format_args!("the trials are stored, but not reported: {failure}"));
            }
        }
    }
}

impl State<'_> {
    fn fetch(&mut self, progress: &FetchProgress, terminal: &Terminal) {
        match progress {
            FetchProgress::Downloading { version, bytes, total: Some(total) } => {
                let counting = self.bar.take().filter(Bar::counts);
                let counting = counting.unwrap_or_else(|| terminal.bar(Some(*total), Unit::Bytes));
                counting.label(format!("fetching PostgreSQL {version}"));
                counting.reached(*bytes, *total);
                self.bar = Some(counting);
            }
            FetchProgress::Done { .. } => {}
            other => {
                self.bar = None;
                self.bar = Some(waiting(terminal, fetch_label(other)));
            }
        }
    }
}

fn waiting(terminal: &Terminal, text: String) -> Bar {
    let bar = terminal.bar(None, Unit::Nothing);
    bar.label(text);
    bar
}

fn fetch_label(progress: &FetchProgress) -> String {
    match progress {
        FetchProgress::Waiting => "waiting for another pgmeter that is fetching".to_owned(),
        FetchProgress::Locating { wanted } => format!("looking for the newest PostgreSQL {wanted}"),
        FetchProgress::Unpacking { version } => format!("unpacking PostgreSQL {version}"),
        FetchProgress::Downloading { version, .. } => format!("fetching PostgreSQL {version}"),
        _ => "fetching PostgreSQL".to_owned(),
    }
}
