//! Shows the events of experiments, comparisons and servers on the terminal as lines, bars and views. Used by the
//! commands `lab`, `compare`, `quickstart` and `server`.

use std::cell::RefCell;

use ::experiment::rough;
use ::lab::{ComparisonProgress, Event, Listener, ProgressText, TrialRecord};
use ::output::ProgressStyle;
use report::{Subject, experiment};
use results::Plan;
use run::StorePlaces;
use server::FetchProgress;

use crate::arguments::reported;
use crate::failure::Failure;
use crate::init::LoadView;
use crate::output::Output;
use crate::progress::{ProgressDisplay, serve_metrics};
use crate::run_output;
use crate::terminal::{Bar, Terminal, Unit};

struct TerminalListener<'a> {
    terminal: &'a Terminal,
    /// Location of an experiment's results, for its report.
    places: StorePlaces,
    /// Destination of the report.
    output: Output,
    state: RefCell<State<'a>>,
}

struct State<'a> {
    bar: Option<Bar>,
    load: Option<LoadView<'a>>,
    run: Option<ProgressDisplay<'a>>,
    /// Lines above the view of a trial.
    above: Vec<String>,
    comparison: ComparisonProgress,
}

/// Calls `work` with a listener that shows everything on the terminal.
pub(crate) fn listening<T>(
    terminal: &Terminal,
    places: StorePlaces,
    output: Output,
    work: impl FnOnce(Listener<'_>) -> T,
) -> T {
    let comparison = ComparisonProgress::new(if terminal.can_draw() { 1.0 } else { 10.0 });
    let state = State { bar: None, load: None, run: None, above: Vec::new(), comparison };
    let shown = TerminalListener { terminal, places, output, state: RefCell::new(state) };
    work(Listener::new(&|event| shown.show(event)))
}

impl<'a> TerminalListener<'a> {
    fn show(&self, event: Event<'_>) {
        let terminal = self.terminal;
        let mut state = self.state.borrow_mut();
        match event {
            Event::Message(text) => terminal.say(text),
            Event::Warning(text) => terminal.warn(text),
            Event::MeasurementWarning(warning) => terminal.warn(report::warning(&warning)),
            Event::Busy(text) => state.bar = Some(terminal.waiting(text)),
            Event::Idle => state.bar = None,
            Event::Fetch(progress) => state.fetch(&progress, terminal),
            Event::Load(progress) => {
                state.load.get_or_insert_with(|| LoadView::new(terminal, false)).show(progress);
            }
            Event::Loaded(options, report) => {
                state.load = None;
                terminal.say(report.summary(options.scale));
            }
            Event::TrialBegins(subject, row, position) => {
                terminal.say(experiment::trial_name(&subject.plan, position));
                state.above = match terminal.can_draw() {
                    true => experiment::newest_cells(subject, row, &terminal.message_style()),
                    false => Vec::new(),
                };
            }
            Event::RunBegins(plan, metrics) => state.begin_run(plan, metrics, terminal),
            Event::Run(run::Event::Second { progress, waits }) => {
                state.run.iter_mut().for_each(|run| run.show(progress, waits));
            }
            Event::Run(event) => run_output::warn(&event, terminal),
            Event::RunEnded => state.run.take().iter_mut().for_each(ProgressDisplay::end),
            Event::TrialEnded(record, left) => {
                let line = match record {
                    TrialRecord::Load(record) => report::trial_line(record),
                    TrialRecord::Steps(record) => report::steps_line(record),
                    TrialRecord::Search(record) => report::search_line(record),
                };
                match left.is_zero() {
                    true => terminal.say(format_args!("  {line}")),
                    false => terminal.say(format_args!("  {line}; about {} left", rough(left))),
                }
            }
            Event::Ended(subject, row) => {
                match self.output.leaves_stdout() {
                    true => terminal.print(&experiment::standing(subject, row)),
                    false => terminal.say(experiment::standing(subject, row).trim_end()),
                }
                self.report(subject, row);
            }
            Event::Search(_) => {}
            Event::Comparison(run, event) => match state.comparison.after(run, event) {
                Some(ProgressText::State(text)) if terminal.can_draw() => terminal.draw(&[text]),
                Some(ProgressText::State(text) | ProgressText::Message(text)) => terminal.say(text),
                Some(ProgressText::End) => terminal.erase(),
                None => {}
            },
        }
    }

    /// Prints the results of an experiment so far, if there are any.
    fn report(&self, subject: &::experiment::Subject, row: &results::ExperimentRow) {
        let is_complete = |trial: &results::TrialRow| trial.status == results::TrialStatus::Complete;
        if !row.trials.iter().any(is_complete) && self.output.is_text_on_terminal() {
            return;
        }
        if self.output.leaves_stdout() {
            self.terminal.print("\n");
        }
        let (name, format) = (&subject.experiment.name, self.output.format);
        let stores = [reported(&self.places)];
        let overview = output::overview(&stores, name, Some(subject.profile), format);
        let show = |overview| self.output.show(Subject::Experiment(&overview), self.terminal);
        if let Err(failure) = overview.map_err(Failure::from).and_then(show) {
            let told = format!("the trials are stored, but cannot be reported: {failure}");
            self.terminal.lose(Failure::Usage(told));
        }
    }
}

impl<'a> State<'a> {
    /// A trial runs even if its metrics cannot be served.
    fn begin_run(&mut self, plan: &Plan, metrics: Option<&str>, terminal: &'a Terminal) {
        let served = metrics.map(serve_metrics).transpose().unwrap_or_else(|failure| {
            terminal.warn(failure);
            None
        });
        let has_free_port = metrics.is_some_and(|address| address.ends_with(":0"));
        if let Some(server) = served.as_ref().filter(|_| has_free_port) {
            terminal.say(format_args!("  metrics at http://{}/metrics", server.address()));
        }
        let style = if terminal.can_draw() { ProgressStyle::View } else { ProgressStyle::Nothing };
        let above = std::mem::take(&mut self.above);
        self.run = Some(ProgressDisplay::new(terminal, style, served, above, plan));
    }

    fn fetch(&mut self, progress: &FetchProgress, terminal: &Terminal) {
        match progress {
            FetchProgress::Downloading { bytes, total: Some(total), .. } => {
                let counting = self.bar.take().filter(Bar::counts);
                let counting = counting.unwrap_or_else(|| terminal.bar(*total, Unit::Bytes));
                counting.label(progress.to_string());
                counting.reached(*bytes, *total, String::new());
                self.bar = Some(counting);
            }
            FetchProgress::Done { .. } => {}
            other => {
                self.bar = None;
                self.bar = Some(terminal.waiting(other.to_string()));
            }
        }
    }
}
