//! The gallery: a page of each kind of report, from records that are made here. The tests look at all of them in a
//! browser; `cargo xtask gallery` shows them side by side. A new kind of page gets a row in `exhibits`.

mod checks;
mod comparisons;
mod experiments;
mod first_screens;
mod index;
mod look;
mod runs;
mod values;

use std::cell::LazyCell;
use std::rc::Rc;

use pgmeter_report::{Format, Subject, TextStyle, formatted};
use results::{EventLoopName, Record, StepsRecord};

use crate::pages::queries;
use crate::pages::query_sets::{self, Set};

/// Pages that are looked at after each change; all are looked at each night.
const OF_EACH_KIND: [&str; 5] = ["run-typical", "runs-two", "comparison-clear", "experiment-6", "queries-22"];

/// A page of the gallery.
pub struct Exhibit {
    /// Of its files.
    pub name: &'static str,
    /// For those who look.
    pub about: &'static str,
    /// Makes the page.
    page: Box<dyn Fn() -> String>,
    /// The same for programs.
    json: Box<dyn Fn() -> String>,
    /// The figures that its charts show, and that its JSON does not have as they are.
    derived: Box<dyn Fn() -> Vec<f64>>,
}

fn shown(subject: Subject<'_>, format: Format) -> String {
    let style = TextStyle { colour: false, width: 100 };
    String::from_utf8(formatted(subject, format, &style).expect("there is memory")).expect("it is text")
}

fn exhibit(
    name: &'static str,
    about: &'static str,
    shown: impl Fn(Format) -> String + Clone + 'static,
) -> Exhibit {
    let for_programs = shown.clone();
    Exhibit {
        name,
        about,
        page: Box::new(move || shown(Format::Html)),
        json: Box::new(move || for_programs(Format::Json)),
        derived: Box::new(Vec::new),
    }
}

fn of_records(
    name: &'static str,
    about: &'static str,
    records: impl Fn() -> Vec<(String, Record)> + 'static,
) -> Exhibit {
    // Long runs take seconds to make.
    let records = Rc::new(LazyCell::new(records));
    let of_page = Rc::clone(&records);
    Exhibit {
        derived: Box::new(move || values::of_runs(&records)),
        // The records are among the figures.
        json: Box::new(|| "null".to_owned()),
        ..exhibit(name, about, move |format| shown(Subject::Runs(&of_page), format))
    }
}

/// The page of one run.
fn run(name: &'static str, about: &'static str, record: fn() -> Record) -> Exhibit {
    of_records(name, about, move || vec![("run 7".to_owned(), record())])
}

fn comparison(name: &'static str, about: &'static str, record: fn() -> results::ComparisonRecord) -> Exhibit {
    Exhibit {
        derived: Box::new(move || values::of_comparison(&record())),
        ..exhibit(name, about, move |format| shown(Subject::Comparison(&record()), format))
    }
}

fn experiment(
    name: &'static str,
    about: &'static str,
    overview: impl Fn() -> pgmeter_report::experiment::Overview + Clone + 'static,
) -> Exhibit {
    exhibit(name, about, move |format| shown(Subject::Experiment(&overview()), format))
}

fn query_sets(
    name: &'static str,
    about: &'static str,
    sets: impl Fn() -> Vec<(String, StepsRecord)> + Clone + 'static,
) -> Exhibit {
    let shown = move |format| shown(Subject::Queries(&sets()), format);
    let json = shown.clone();
    // JSON has milliseconds.
    Exhibit {
        derived: Box::new(move || values::of_json(&json(Format::Json), 1e3)),
        ..exhibit(name, about, shown)
    }
}

/// All pages.
pub fn exhibits() -> Vec<Exhibit> {
    [of_runs(), of_comparisons(), of_experiments(), of_queries(), of_checks()].into_iter().flatten().collect()
}

fn of_runs() -> Vec<Exhibit> {
    vec![
        run("run-typical", "two minutes, everything observed, two checkpoints", runs::typical),
        run("run-short", "three seconds: no interval", runs::short),
        run("run-long", "an hour", runs::long),
        run("run-precise", "known to ± 0.1 %", runs::precise),
        run("run-hopeless", "known to ± 100 %", runs::hopeless),
        run("run-one-client", "one client, nothing observed", runs::one_client),
        run("run-64-clients", "64 clients that wait for locks", runs::many_clients),
        run("run-open-loop", "a rate with a latency limit, and skipped transactions", runs::open_loop),
        run("run-goals", "goals: missed, met and undecided", runs::goals),
        run("run-actions", "a lock, a vacuum and a failed statement during the load", runs::actions),
        run("run-failover", "an outage, and lost commits", runs::failover),
        run("run-verified", "no commit was lost", runs::verified),
        run("run-ranks", "three load generators, of which one was the limit", runs::ranks),
        run("run-standbys", "lag of two standbys", runs::standbys),
        run("run-failed", "ended by the server", runs::failed),
        run("run-everything-failed", "no transaction succeeded", runs::failing),
        run("run-nothing", "interrupted before anything was measured", runs::nothing),
        run("run-observed-little", "counters without waits", runs::observed_little),
        of_records("runs-two", "two labelled runs that differ in the protocol", runs::two),
        of_records("runs-eight", "a ladder of clients", || runs::ladder(8, 30)),
        of_records("runs-hundred", "a hundred runs", || runs::ladder(100, 12)),
    ]
}

fn of_comparisons() -> Vec<Exhibit> {
    vec![
        comparison("comparison-clear", "B is a fifth faster", comparisons::clear),
        comparison("comparison-worse", "B is worse", comparisons::worse),
        comparison("comparison-large", "B is 18 times as fast", comparisons::large),
        comparison("comparison-hopeless", "noise of 50 %", comparisons::hopeless),
        comparison("comparison-few", "two pairs", comparisons::few),
    ]
}

fn of_experiments() -> Vec<Exhibit> {
    vec![
        experiment("experiment-2", "two combinations", experiments::two_cells),
        Exhibit {
            derived: Box::new(|| values::of_runs(&[("curve".to_owned(), experiments::curve_of_six())])),
            ..experiment("experiment-6", "six combinations, one trial failed", experiments::six_cells)
        },
        experiment("experiment-40", "forty combinations", experiments::forty_cells),
        Exhibit {
            derived: Box::new(|| values::of_runs(&[("curve".to_owned(), runs::failover())])),
            ..experiment("experiment-faults", "faults of servers and networks", experiments::faults)
        },
        Exhibit {
            // The goal is 20 ms.
            derived: Box::new(|| {
                values::of_json(
                    &shown(Subject::Experiment(&experiments::rates()), Format::Json),
                    1.0 / 20_000.0,
                )
            }),
            ..experiment("experiment-rates", "goals over rates", experiments::rates)
        },
        experiment("experiment-effects", "two settings with an interaction", experiments::factorial),
        experiment("experiment-one-repeat", "one repeat: no effect is stated", experiments::one_repeat),
        experiment("experiment-screening", "a screening that found one effect", || {
            experiments::screening(0.002)
        }),
        experiment("experiment-screening-noisy", "a screening in noise", || experiments::screening(0.05)),
        experiment("experiment-steps", "steps that were timed", experiments::steps),
        experiment("experiment-queries", "query sets of six combinations", experiments::queries),
    ]
}

fn of_queries() -> Vec<Exhibit> {
    let named = |record| vec![("queries 1".to_owned(), record)];
    vec![
        query_sets("queries-1", "one query", move || {
            named(query_sets::record(&Set { queries: 1, ..Set::default() }))
        }),
        query_sets("queries-22", "22 queries with answers, limits and errors", move || {
            named(queries::troubled())
        }),
        query_sets("queries-200", "200 queries", move || {
            named(query_sets::record(&Set { queries: 200, ..Set::default() }))
        }),
        query_sets("queries-300", "300 queries in two classes", move || named(queries::many(1))),
        query_sets("queries-pair", "two servers, with plans", queries::pair),
        query_sets("queries-in-turns", "two servers in turns, with verdicts", queries::in_turns),
        query_sets("queries-streams", "two streams with refreshes", move || {
            named(query_sets::record(&Set { refreshes: true, repeats: 1, streams: 2, ..Set::default() }))
        }),
    ]
}

fn of_checks() -> Vec<Exhibit> {
    vec![
        exhibit("isolation-kept", "a level that was kept", |format| {
            shown(Subject::Isolation(&checks::isolation_kept()), format)
        }),
        exhibit("isolation-violated", "a level that was violated", |format| {
            shown(Subject::Isolation(&checks::isolation_violated()), format)
        }),
        Exhibit {
            derived: Box::new(|| values::of_scan(&checks::tls())),
            ..exhibit("tls", "a scan with two weaknesses", |format| {
                shown(Subject::Tls(&checks::tls()), format)
            })
        },
        exhibit("calibration", "two event loops", |format| {
            let loops = [EventLoopName::IoUring, EventLoopName::Epoll];
            shown(Subject::Calibrations(&loops.map(checks::calibration)), format)
        }),
        exhibit("self-test", "a debug build", |format| {
            shown(Subject::SelfTest(&checks::self_test()), format)
        }),
    ]
}
