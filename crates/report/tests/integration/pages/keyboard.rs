//! Every chart is read by the keyboard, value by value.
//! Nothing may be missing, and what is read is what the record holds.

use pgmeter_report::{Format, Subject, TextStyle, formatted};
use results::{Interval, Record};
use serde_json::{Value, json};
use stats::Distribution;
use testkit::extent::choose;

use crate::pages::browser::{artefact, assert_quiet, browser};
use crate::pages::devtools::Browser;
use crate::pages::example::{self, Example};
use crate::pages::experiment::{overview, stored};
use crate::pages::query_sets::{self, Set};

/// Of each chart that is in sight: its title, its values as the page has them, and what the keys read out, in order.
/// Nothing is laid out meanwhile, which would take most of the time.
const READ: &str = "(() => { const main = document.querySelector('main'); main.hidden = true;
 const all = [...document.querySelectorAll('figure.chart:not([hidden]), figure.bars:not([hidden])')].map((figure) => {
  const place = figure.querySelector('.plot, .bar-list');
  const said = document.querySelector('.said');
  const press = (key) => { place.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })); return said.textContent; };
  place.focus();
  const next = figure.classList.contains('bars') ? 'ArrowDown' : 'ArrowRight';
  const last = press('End');
  const read = [press('Home')];
  while (read.at(-1) !== last && read.length < 2000) read.push(press(next));
  press('Escape');
  return [figure.querySelector('h3').textContent, JSON.parse(figure.querySelector('script').textContent), read];
 });
 main.hidden = false;
 return all; })()";

/// A chart that was read by the keys.
pub struct Read {
    pub title: String,
    pub values: Value,
    pub said: Vec<String>,
}

/// All charts of a page.
pub fn read(browser: &mut Browser, name: &str, page: &str) -> Vec<Read> {
    let path = artefact(name);
    std::fs::write(&path, page).expect("it can be written");
    browser.open(&path);
    let found = browser.value(READ);
    assert_quiet(browser);
    let text = |value: &Value| value.as_str().expect("a text").replace('\u{a0}', " ");
    let chart = |chart: &Value| Read {
        title: text(&chart[0]),
        values: chart[1].clone(),
        said: chart[2].as_array().expect("a list").iter().map(text).collect(),
    };
    found.as_array().expect("a list").iter().map(chart).collect()
}

/// Each value of each series is read once at least, with its name.
pub fn assert_all_is_read(page: &str, Read { title, values, said }: &Read) {
    assert!(!said.is_empty() && said.iter().all(|it| it.contains(": ")), "{page}, {title}: {said:?}");
    assert!(
        said.iter().all(|it| !it.contains("NaN") && !it.contains("undefined")),
        "{page}, {title}: {said:?}"
    );
    for series in values["series"].as_array().into_iter().flatten() {
        let label = match series["label"].as_str() {
            Some("") | None => values["y"]["name"].as_str().unwrap_or_default(),
            Some(label) => label,
        };
        let label = label.replace('\u{a0}', " ");
        // Layers of nothing are not read.
        let is_read =
            |value: &&Value| value.is_number() && !(values["stacked"] == true && value.as_f64() == Some(0.0));
        let known = series["values"].as_array().expect("values").iter().filter(is_read).count();
        let times: usize = said.iter().map(|it| it.matches(&label).count()).sum();
        assert!(times >= known, "{page}, {title}, {label}: {times} of {known} values are read: {said:?}");
    }
    if let Some(bars) = values["bars"].as_array() {
        assert_eq!(said.len(), bars.len(), "{page}, {title}");
        for (bar, said) in bars.iter().zip(said) {
            let shown = bar["shown"].as_str().expect("a text").replace('\u{a0}', " ");
            assert!(said.contains(&shown), "{page}, {title}: no {shown} in {said}");
        }
    }
}

/// The figure behind a label, in seconds, bytes, shares or as it is.
pub fn figure(said: &str, label: &str) -> f64 {
    let (_, rest) = said.split_once(&format!("{label} ")).unwrap_or_else(|| panic!("no {label} in {said}"));
    let digits: String =
        rest.chars().take_while(|it| it.is_ascii_digit() || matches!(it, ',' | '.' | '−' | '-')).collect();
    let unit = rest[digits.len()..].trim_start();
    let digits = digits.trim_end_matches(',').replace(',', "").replace('−', "-");
    let number: f64 = digits.parse().unwrap_or_else(|_| panic!("no figure behind {label} in {said}"));
    let units = [("µs", 1e-6), ("ms", 1e-3), ("%", 0.01), ("kB", 1024.0), ("MB", 1_048_576.0)];
    number * units.iter().find(|(name, _)| unit.starts_with(name)).map_or(1.0, |(_, factor)| *factor)
}

fn assert_near(said: &str, label: &str, expected: f64, tolerance: f64) {
    let read = figure(said, label);
    let apart = (read - expected).abs();
    assert!(apart <= tolerance * expected.abs().max(1e-9), "{label} is {read}, not {expected}, in {said}");
}

fn quantile_s(intervals: &[Interval], quantile: f64) -> f64 {
    let mut merged = Distribution::new();
    let scripts = intervals.iter().flat_map(|interval| &interval.scripts);
    scripts.for_each(|script| merged.merge(&script.response.decode().expect("it is whole")));
    merged.quantile_ns(quantile).expect("there are some") as f64 / 1e9
}

fn runs(records: &[(&str, &Record)]) -> String {
    let runs: Vec<_> = records.iter().map(|(name, record)| pgmeter_report::Run { name, record }).collect();
    crate::pages::forms::html(&runs)
}

#[test]
fn what_the_keys_read_from_the_charts_of_a_run_is_what_its_record_holds() {
    let Some(mut browser) = browser() else { return };
    // A checkpoint begins at 31 s; without one there is no chart of WAL.
    let seconds = choose(40, 60);
    let record = example::full(&Example { seconds, ..Example::default() });
    browser.window(1280, 900, false);
    let charts = read(&mut browser, "read-run.html", &runs(&[("a run", &record)]));
    charts.iter().for_each(|chart| assert_all_is_read("a run", chart));
    let said = |title: &str| {
        let of_title = charts.iter().find(|chart| chart.title == title && chart.said.len() > 1);
        &of_title.unwrap_or_else(|| panic!("no chart {title}")).said
    };
    let samples = &record.observation.as_ref().expect("it was observed").samples;
    for (at, interval) in record.intervals.iter().enumerate() {
        let succeeded = interval.counts.succeeded as f64;
        assert_near(&said("Throughput")[at], "succeeded", succeeded, 1e-3);
        let one = std::slice::from_ref(interval);
        for (label, quantile) in
            [("median", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)]
        {
            assert_near(&said("Response time")[at], label, quantile_s(one, quantile), 0.01);
        }
        assert_near(&said("Latency distribution over time")[at], "of", succeeded, 1e-9);
        let waits = &said("Wait events and CPU of the backends")[at];
        let of = |event: &str| {
            samples[at].waits.iter().find(|wait| wait.event == event).expect("it is there").backends
        };
        assert_near(waits, "IO WALSync", of("WALSync"), 0.01);
        assert_near(&said("CPU")[at], "all processes", samples[at].values["host_busy_share"], 0.02);
        assert_near(&said("WAL written")[at], "written", samples[at].values["wal_bytes"], 0.06);
    }
    let percentiles = said("Percentiles");
    for (name, quantile) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)] {
        let line = percentiles.iter().find(|it| it.starts_with(&format!("{name}: ")));
        let line = line.unwrap_or_else(|| panic!("no {name} in {percentiles:?}"));
        assert_near(line, "response time", quantile_s(&record.intervals, quantile), 0.01);
    }
}

#[test]
fn the_keys_read_every_value_of_the_charts_of_all_other_pages() {
    let Some(mut browser) = browser() else { return };
    browser.window(1280, 900, false);
    let [first, second] =
        [1, 7].map(|seed| example::full(&Example { seconds: 30, seed, tps: 500.0, ..Example::default() }));
    let many = query_sets::record(&Set { queries: 150, repeats: 3, ..Set::default() });
    let few = query_sets::record(&Set { repeats: 3, ..Set::default() });
    let style = TextStyle { colour: false, width: 100 };
    let html = |subject| String::from_utf8(formatted(subject, Format::Html, &style).unwrap()).unwrap();
    let named = |record| [("queries".to_owned(), record)];
    let pages = [
        ("two runs", runs(&[("before", &first), ("after", &second)])),
        ("an experiment", html(Subject::Experiment(&overview(stored())))),
        ("a query set", html(Subject::Queries(&named(few)))),
        ("a large query set", html(Subject::Queries(&named(many)))),
    ];
    // After a change, the gallery reads pages of the other kinds.
    for (name, page) in pages.iter().skip(choose(3, 0)) {
        let charts = read(&mut browser, &format!("read-{}.html", name.replace(' ', "-")), page);
        assert!(!charts.is_empty(), "{name} has charts");
        charts.iter().for_each(|chart| assert_all_is_read(name, chart));
    }
}

fn eval(browser: &mut Browser, script: &str) -> Value {
    browser.value(script)
}

#[test]
fn dragging_zooms_all_charts_over_time_and_there_is_a_way_back() {
    let Some(mut browser) = browser() else { return };
    let record = example::full(&Example { seconds: 60, ..Example::default() });
    let path = artefact("zoom.html");
    std::fs::write(&path, runs(&[("a run", &record)])).expect("it can be written");
    browser.window(1280, 900, false);
    browser.open(&path);
    let place = eval(
        &mut browser,
        "(() => { const area = document.querySelector('#chart-0 .area'); area.scrollIntoView({block: 'center', behavior: 'instant'}); \
         const box = area.getBoundingClientRect(); return [box.x, box.y + box.height / 2, box.width]; })()",
    );
    let [x, y, width] = [0, 1, 2].map(|at| place[at].as_f64().expect("a number"));
    for (kind, share, buttons) in [
        ("mouseMoved", 0.25, 0),
        ("mousePressed", 0.25, 1),
        ("mouseMoved", 0.4, 1),
        ("mouseMoved", 0.5, 1),
        ("mouseReleased", 0.5, 0),
    ] {
        let event = json!({"type": kind, "x": x + width * share, "y": y, "button": if kind == "mouseMoved" { "none" } else { "left" }, "buttons": buttons, "clickCount": 1});
        browser.call("Input.dispatchMouseEvent", event);
    }
    let ticks = "[...document.querySelectorAll('#chart-1 text.zoomed')].map((text) => text.textContent.replace('\\u00a0', ' '))";
    let zoomed = eval(&mut browser, ticks);
    let zoomed: Vec<&str> = zoomed.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(zoomed.contains(&"20 s") && !zoomed.contains(&"40 s"), "from 15 to 30 s: {zoomed:?}");
    browser.keep_screenshot(&artefact("zoom.png"));
    let back = "document.querySelector('#chart-1 .back:not([hidden])').click()";
    eval(&mut browser, back);
    assert_eq!(eval(&mut browser, ticks), json!([]));
    // The legend switches a series, and what is off is not read.
    let said = eval(
        &mut browser,
        "(() => { const figure = document.querySelector('#chart-1'); const plot = figure.querySelector('.plot'); \
         const button = [...figure.querySelectorAll('.legend button')].find((it) => it.textContent === 'p95'); button.click(); \
         plot.dispatchEvent(new KeyboardEvent('keydown', {key: 'Home'})); \
         return [document.querySelector('.said').textContent, button.getAttribute('aria-pressed'), \
           getComputedStyle(figure.querySelector('.area g[data-s=\"1\"]')).display]; })()",
    );
    let words = said[0].as_str().expect("a text");
    assert!(words.contains("median") && !words.contains("p95"), "{words}");
    assert_eq!((&said[1], &said[2]), (&json!("false"), &json!("none")));
    assert_quiet(&browser);
}
