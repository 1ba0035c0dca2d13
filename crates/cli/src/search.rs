//! `pgmeter search`: the highest rate that keeps goals. The crate `lab` searches; this module has the options, output, and
//! exit status. docs/search.md explains the method.

use ::lab::{Event, Listener, ResumedSearch, SearchOptions, Searched};
use clap::Args;
use report::Subject;
use run::{Circumstances, ExitStatus, RunError, RunSpec, StorePlaces, fresh_seed};

use crate::arguments::{AnnotationArguments, ConnectionArguments, StoreArguments};
use crate::failure::Failure;
use crate::listener::listening;
use crate::options::{RunCommand, RunOptions};
use crate::output::{Output, OutputArguments};
use crate::progress::serve_metrics;
use crate::run_output::circumstances;
use crate::signals::Signals;
use crate::terminal::{self, Terminal};

#[derive(Clone, Copy, Debug)]
struct Search;

impl RunCommand for Search {
    const OPTIONS: &'static [&'static str] = ::lab::OPTIONS_OF_SEARCH;
    const HELPS: &'static [(&'static str, &'static str)] = &[("goal", ::lab::GOAL_OF_SEARCH)];

    fn base() -> RunSpec {
        RunSpec::default()
    }
}

#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    #[command(flatten)]
    connection: ConnectionArguments,
    #[command(flatten)]
    run: RunOptions<Search>,
    /// Time for everything, such as 90s, 5min or 1h
    #[arg(long, value_name = "TIME", default_value = "5min", help_heading = "Search", value_parser = SearchOptions::budget)]
    budget: f64,
    /// Half of the interval, relative to the rate, at which the search may end
    #[arg(long, value_name = "PERCENT", default_value = "3%", help_heading = "Search", value_parser = SearchOptions::width)]
    width: f64,
    /// The highest rate to try, in transactions per second
    #[arg(long, value_name = "TPS", help_heading = "Search", value_parser = SearchOptions::rate)]
    max_rate: Option<f64>,
    /// Number of clients; auto: as many as the rate needs
    #[arg(short, long, value_name = "auto|N", default_value = "auto", help_heading = "Search", value_parser = SearchOptions::clients)]
    clients: ::lab::SearchClients,
    /// Fail unless the answer is above this rate, such as 'search.rate_tps > 3000'; for continuous integration
    #[arg(long, value_name = "CONDITION", help_heading = "Search", value_parser = SearchOptions::expected)]
    expect: Option<f64>,
    /// Continue a search of the same load and goals that was broken off or is too wide: h5, or the newest one; the
    /// budget is that of the whole search
    #[arg(long, value_name = "SEARCH", num_args = 0..=1, require_equals = true, default_missing_value = "last", help_heading = "Search", value_parser = SearchOptions::resumed)]
    resume: Option<ResumedSearch>,
    /// Serve the state of the search in OpenMetrics format, for Prometheus; port 0 selects a free port
    #[arg(long, value_name = "HOST:PORT", help_heading = "Output")]
    metrics: Option<String>,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    annotation: AnnotationArguments,
    #[command(flatten)]
    places: StoreArguments,
}

pub(crate) fn run(
    arguments: &SearchArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<ExitStatus, Failure> {
    let output = arguments.output.output(terminal)?;
    search(arguments, &output, terminal, signals)
        .inspect_err(|failure| output.write_failure("search", failure, terminal))
}

fn search(
    arguments: &SearchArguments,
    output: &Output,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<ExitStatus, Failure> {
    let &SearchArguments { budget: budget_s, width, max_rate: max_rate_tps, clients, resume, .. } = arguments;
    let spec = arguments.run.spec()?;
    terminal::mask(run::secret_values(&spec.variables).into_iter().cloned());
    let seed = spec.seed.unwrap_or_else(fresh_seed);
    let options = SearchOptions {
        budget_s,
        width,
        max_rate_tps,
        clients: clients.0,
        seed,
        expected_tps: arguments.expect,
        confirms: true,
    };
    let (target, places) = (arguments.connection.target()?, arguments.places.announced(terminal)?);
    let circumstances = Circumstances {
        command_line: Some(run::command_line(spec.seed.is_none().then_some(seed))),
        annotation: arguments.annotation.annotation()?,
        ..circumstances()
    };
    let metrics = arguments.metrics.as_deref().map(serve_metrics).transpose()?;
    if let Some(server) = &metrics {
        terminal.say(format_args!("metrics at http://{}/metrics while the search goes on", server.address()));
    }
    let done = listening(terminal, places.clone(), Output::default(), |listener| {
        let told = |event: Event<'_>| {
            if let (Event::Search(state), Some(server)) = (&event, &metrics) {
                server.publish(::output::search_metrics(state));
            }
            listener.tell(event);
        };
        let options = (&options, resume);
        ::lab::search((spec, target), options, &places, &circumstances, Listener::new(&told), signals)
    })?;
    conclude(done, output, &places, terminal)
}

/// Shows the answer, and says where it is stored.
pub(crate) fn conclude(
    done: Searched,
    output: &Output,
    places: &StorePlaces,
    terminal: &Terminal,
) -> Result<ExitStatus, Failure> {
    output.show(Subject::Search(&done.record), terminal)?;
    let (status, advice) = (done.exit_status(), done.advice());
    let kept = done.kept.map_err(|error| RunError::not_stored(error, [done.record.to_json()]))?;
    terminal.say(format_args!("stored as search h{kept} in {}", places.store().display()));
    advice.iter().for_each(|advice| terminal.say(advice));
    // The answer is shown and stored all the same.
    done.failure.map_or(Ok(status), |failure| Err(failure.into()))
}
