//! The page in a real browser: no error, no request, marks in all charts, values at the pointer and by the keyboard,
//! wide and narrow, light and dark. Screenshots stay below the target directory, in `tmp/pages`.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use pgmeter_report::Run;
use results::Record;
use serde_json::{Value, json};
use testkit::extent::{choose, is_all};

use crate::pages::devtools::{self, Browser};
use crate::pages::example::{self, Example};
use crate::pages::forms;

/// A browser, or nothing and a loud word where there is none.
#[allow(clippy::print_stderr)] // who runs the tests has to see it
pub fn browser() -> Option<Browser> {
    let Some(program) = devtools::find() else {
        // `.ci/run` installs one and says so by this variable; a skipped test is then a failed one.
        assert!(
            std::env::var_os("PGMETER_TEST_BROWSER").is_none(),
            "there is no browser, and there must be one"
        );
        eprintln!("SKIPPED: no chromium is on the path, and CHROMIUM names none: no page was looked at");
        return None;
    };
    Some(Browser::start(&program))
}

pub fn artefact(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pages");
    fs::create_dir_all(&folder).expect("the target directory can be written");
    folder.join(name)
}

fn page(name: &str, runs: &[(&str, &Record)]) -> PathBuf {
    let runs: Vec<Run<'_>> = runs.iter().map(|(name, record)| Run { name, record }).collect();
    let path = artefact(name);
    fs::write(&path, forms::html(&runs)).expect("it can be written");
    path
}

/// Errors of the page, words on its console, and requests for anything but the page itself.
pub fn complaints(browser: &Browser) -> Vec<String> {
    let complaint = |(method, parameters): &(String, Value)| match method.as_str() {
        "Runtime.exceptionThrown" | "Log.entryAdded" | "Runtime.consoleAPICalled" => {
            Some(format!("{method}: {parameters}"))
        }
        "Network.requestWillBeSent" => {
            let url = parameters["request"]["url"].as_str().unwrap_or_default();
            let is_page = url.starts_with("file://") && url.ends_with(".html") || url == "data:,";
            (!is_page).then(|| format!("a request for {url}"))
        }
        _ => None,
    };
    browser.events.iter().filter_map(complaint).collect()
}

/// Nothing was complained of, and nothing asked for but the page itself.
pub fn assert_quiet(browser: &Browser) {
    assert_eq!(complaints(browser), Vec::<String>::new());
}

/// Of each chart of runs: its title, how many of its pixels are drawn, and in how many colours, as the page looks.
pub fn marks(browser: &mut Browser, name: &str) -> Vec<(String, usize, usize)> {
    let boxes = browser.value(
        "[...document.querySelectorAll('figure.chart:not([hidden])')].map((figure) => { \
           const box = figure.querySelector('.area').getBoundingClientRect(); \
           return [figure.querySelector('h3').textContent, box.x + scrollX, box.y + scrollY, box.width, box.height]; })",
    );
    let path = artefact(name);
    browser.screenshot(&path);
    let picture = tiny_skia::Pixmap::load_png(&path).expect("it is a PNG");
    let background = picture.pixel(1, 1);
    // Pixels of a page.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = |value: &Value| value.as_f64().expect("a number").max(0.0).round() as u32;
    let of_chart = |chart: &Value| {
        let [x, y, width, height] = [1, 2, 3, 4].map(|at| whole(&chart[at]));
        let (mut drawn, mut colours, mut last) = (0, HashSet::new(), background);
        for (y, x) in (y..y + height).flat_map(|y| (x..x + width).map(move |x| (y, x))) {
            let pixel = picture.pixel(x, y);
            if pixel.is_none() || pixel == background {
                continue;
            }
            drawn += 1;
            // Neighbours have the same colour most of the time.
            if pixel != last {
                colours.extend(pixel.map(|pixel| (pixel.red(), pixel.green(), pixel.blue())));
                last = pixel;
            }
        }
        (chart[0].as_str().expect("a title").to_owned(), drawn, colours.len())
    };
    boxes.as_array().expect("a list").iter().map(of_chart).collect()
}

#[test]
fn every_chart_has_marks_wide_and_narrow_light_and_dark_and_the_page_is_quiet() {
    let Some(mut browser) = browser() else { return };
    let record = example::full(&Example::default());
    let path = page("one.html", &[("2026-11-21-tpcb-like", &record)]);
    if is_all() {
        let picture = pgmeter_report::png(&pgmeter_report::document(&[Run { name: "run", record: &record }]))
            .expect("there is memory");
        fs::write(artefact("charts.png"), picture).expect("it can be written");
    }
    let windows = [(1280, false), (375, true), (1280, true), (375, false)];
    for (width, dark) in windows.into_iter().take(choose(2, 4)) {
        browser.window(width, 900, dark);
        browser.open(&path);
        let marks = marks(&mut browser, &format!("one-{width}-{}.png", if dark { "dark" } else { "light" }));
        let titles: Vec<&str> = marks.iter().map(|(title, ..)| title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "Throughput",
                "Response time",
                "Latency distribution over time",
                "Wait events and CPU of the backends",
                "CPU",
                "WAL written",
                "Percentiles"
            ]
        );
        for chart in &marks {
            assert!(chart.1 > 1_000 && chart.2 > 10, "{width} pixels, dark {dark}: {chart:?}");
        }
        assert_no_overlap(&mut browser, width);
        let wide = browser.value("[document.documentElement.scrollWidth, innerWidth]");
        assert_eq!(wide[0], wide[1], "the page scrolls sideways at {width} pixels");
        let scheme = browser.value("getComputedStyle(document.documentElement).colorScheme");
        assert_eq!(scheme, if dark { "dark" } else { "light" });
        assert_quiet(&browser);
    }
}

/// Words of an axis neither touch each other nor leave the window.
fn assert_no_overlap(browser: &mut Browser, width: u32) {
    let touching = browser.value(
        "[...document.querySelectorAll('figure.chart')].flatMap((figure) => { \
           const boxes = [...figure.querySelectorAll('.area text')].filter((text) => text.getClientRects().length) \
             .map((text) => [text.textContent, text.getBoundingClientRect()]); \
           const outside = boxes.filter(([, box]) => box.left < 0 || box.right > innerWidth).map(([name]) => name); \
           const pairs = boxes.flatMap(([a, one], at) => boxes.slice(at + 1).filter(([, other]) => \
             one.left < other.right && other.left < one.right && one.top + 2 < other.bottom && other.top + 2 < one.bottom) \
             .map(([b]) => a + ' on ' + b)); \
           return [...outside, ...pairs]; })",
    );
    assert_eq!(touching, json!([]), "{width} pixels");
}

#[test]
fn charts_need_no_script() {
    let Some(mut browser) = browser() else { return };
    let record = example::full(&Example { seconds: 60, ..Example::default() });
    let path = page("no-script.html", &[("a run", &record)]);
    browser.window(1280, 900, false);
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    browser.call("Page.navigate", json!({"url": format!("file://{}", path.display())}));
    browser.wait_for("Page.loadEventFired");
    let marks = marks(&mut browser, "no-script.png");
    assert_eq!(marks.len(), 7);
    assert!(marks.iter().all(|(_, drawn, colours)| *drawn > 1_000 && *colours > 10), "{marks:?}");
}

fn tip(browser: &mut Browser) -> Value {
    browser.value("(() => { const tip = document.querySelector('.tip'); return tip.hidden ? null : tip.textContent; })()")
}

#[test]
fn pointer_and_arrow_keys_show_values_and_a_table_has_them_all() {
    let Some(mut browser) = browser() else { return };
    let record = example::full(&Example::default());
    let path = page("pointer.html", &[("run", &record)]);
    browser.window(1280, 900, false);
    browser.open(&path);
    for (chart, title, words) in [
        (0, "Throughput", ["succeeded", "tps"]),
        (1, "Response time", ["median", "p99.9"]),
        (2, "Latency distribution over time", ["of the transactions then", "ms"]),
        (3, "Wait events and CPU of the backends", ["IO WALSync", "running"]),
        (6, "Percentiles", ["response time", "ms"]),
    ] {
        let place = browser.value(&format!(
            "(() => {{ const area = document.querySelector('#chart-{chart} .area'); \
             area.scrollIntoView({{block: 'center', behavior: 'instant'}}); const box = area.getBoundingClientRect(); \
             return [box.x + box.width / 2, box.y + box.height / 2, document.querySelector('#chart-{chart} h3').textContent]; }})()"
        ));
        assert_eq!(place[2], title);
        for shift in [0.0, 2.0] {
            let (x, y) = (place[0].as_f64().unwrap() + shift, place[1].as_f64().unwrap());
            browser.call("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": x, "y": y}));
        }
        browser
            .value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))");
        let tip = tip(&mut browser);
        for word in words {
            assert!(tip.as_str().is_some_and(|tip| tip.contains(word)), "{title}: no {word} in {tip}");
        }
    }
    // Scrolling to the chart must not move the pointer over another one.
    browser.call("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": 1, "y": 1}));
    browser.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))");
    browser.value("document.querySelector('#chart-0 .plot').focus({focusVisible: true})");
    for key in ["Home", "ArrowRight"] {
        browser.call("Input.dispatchKeyEvent", json!({"type": "keyDown", "key": key}));
    }
    let said = browser.value("document.querySelector('.said').textContent");
    assert!(
        said.as_str().is_some_and(|said| said.starts_with("1.5 s") || said.starts_with("1.5\u{a0}s")),
        "{said}"
    );
    // The value of the record, not of the drawing.
    let tps = record.intervals[1].counts.succeeded;
    let shown = format!("succeeded {},{:03}\u{a0}tps", tps / 1000, tps % 1000);
    assert!(said.as_str().is_some_and(|said| said.contains(&shown)), "no {shown} in {said}");
    let followed = "document.querySelectorAll('#chart-1 line.cursor, #chart-6 line.cursor').length";
    assert_eq!(browser.value(followed), 1, "charts on the axis of time follow, others do not");
    browser.value(
        "new Promise(done => { const table = document.querySelector('#chart-0 details'); \
         table.addEventListener('toggle', () => setTimeout(done)); table.open = true; })",
    );
    let rows = browser.value("document.querySelectorAll('#chart-0 tbody tr').length");
    assert_eq!(rows, 60);
    assert_quiet(&browser);
}

#[test]
fn runs_side_by_side_are_one_page_in_which_nothing_of_one_hides_the_other() {
    let Some(mut browser) = browser() else { return };
    let first = example::full(&Example::default());
    let mut second =
        example::full(&Example { tps: 2_950.0, median_us: 2_400.0, seed: 7, ..Example::default() });
    let server = second.environment.server.as_mut().unwrap();
    let settings = [("shared_buffers", "8GB"), ("synchronous_commit", "off")];
    server.non_default_settings =
        settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
    server.build.version =
        "PostgreSQL 18.1 on x86_64-pc-linux-gnu, compiled by clang 19.1, 64-bit".to_owned();
    let path = page("two.html", &[("before", &first), ("after", &second)]);
    // After a change, the gallery has two runs in a narrow window.
    for (width, dark) in [(1280, false), (375, true)].into_iter().take(choose(1, 2)) {
        browser.window(width, 900, dark);
        browser.open(&path);
        let marks = marks(&mut browser, &format!("two-{width}.png"));
        assert_eq!(marks.len(), 10, "{marks:?}");
        assert!(marks.iter().all(|(_, drawn, _)| *drawn > 1_000), "{marks:?}");
        assert_no_overlap(&mut browser, width);
        let wide = browser.value("[document.documentElement.scrollWidth, innerWidth]");
        assert_eq!(wide[0], wide[1], "the page scrolls sideways at {width} pixels");
        assert_quiet(&browser);
    }
    for chosen in ["max", "median"] {
        let shown = browser.value(&format!(
            "(() => {{ const select = document.querySelector('figure[data-choice]:not([hidden]) select'); \
             const names = [...select.options].map((option) => option.value); select.value = '{chosen}'; \
             select.dispatchEvent(new Event('change')); \
             const shown = [...document.querySelectorAll('figure[data-choice]:not([hidden])')]; \
             return [names, shown.map((figure) => figure.querySelector('.how').textContent), \
               shown.map((figure) => figure.querySelector('select').value)]; }})()"
        ));
        assert_eq!(shown[0], json!(["p99", "median", "p95", "p99.9", "max"]));
        assert_eq!((&shown[1], &shown[2]), (&json!([format!("{chosen}, logarithmic")]), &json!([chosen])));
    }
}

#[test]
fn a_record_with_nothing_in_it_is_a_page_too_and_hostile_names_stay_text() {
    let Some(mut browser) = browser() else { return };
    let path = page("nothing.html", &[("nothing", &example::empty())]);
    browser.window(1280, 900, false);
    browser.open(&path);
    assert_eq!(browser.value("document.querySelectorAll('figure').length"), 0);
    assert_quiet(&browser);
    let mut record = example::full(&Example { seconds: 12, ..Example::default() });
    crate::pages::html::make_hostile(&mut record);
    let path = page("hostile.html", &[(crate::pages::html::HOSTILE, &record)]);
    browser.open(&path);
    assert_eq!(
        browser.value("window.hostile === undefined && document.querySelectorAll('figure').length > 3"),
        true
    );
    assert_quiet(&browser);
}
