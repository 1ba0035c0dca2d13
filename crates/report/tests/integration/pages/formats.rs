//! Markdown, CSV and JSON of the same records.
//! What a browser makes of the page is tested in `browser`.
//! Long because: it has the metrics of each kind of run, for all formats.

use std::collections::BTreeMap;

use pgmeter_report::{Run, TextStyle};
use results::{Record, Stall, Stalls};

use crate::pages::example::{self, Example};
use crate::pages::forms;
use crate::pages::html::{HOSTILE, make_hostile};

fn short() -> Record {
    example::full(&Example { seconds: 5, ..Example::default() })
}

#[test]
fn markdown_has_the_headline_the_tables_and_the_command() {
    let record = short();
    let markdown = forms::markdown(&[Run { name: "a run", record: &record }]);
    for words in [
        "# tpcb-like on PostgreSQL 18.1\n",
        "> **Warning:** Client and server share this host",
        "| latency, ms | tps | p50 | p90 | p99 | p99.9 | max | mean ± stddev |",
        "| IO | WALSync | 38 ± 4 % |",
        "| WAL | 1214 bytes |\n",
        "```sh\npgmeter bench -b tpcb-like",
    ] {
        assert!(markdown.contains(words), "no {words} in:\n{markdown}");
    }
}

#[test]
fn the_command_names_the_workload_of_a_folder_and_its_scripts() {
    let mut record = short();
    record.plan.workload = Some("shop".to_owned());
    record.plan.scripts[0].name = "order".to_owned();
    record.plan.scripts[0].description = "<shop: order>".to_owned();
    record.plan.scripts[0].builtin = false;
    let markdown = forms::markdown(&[Run { name: "a run", record: &record }]);
    assert!(markdown.contains("```sh\npgmeter bench --workload shop -b order -c 8"), "{markdown}");
}

#[test]
fn markdown_of_two_runs_says_whether_they_differ() {
    let (first, second) =
        (short(), example::full(&Example { seconds: 5, tps: 4_800.0, ..Example::default() }));
    let markdown = forms::markdown(&[Run { name: "a", record: &first }, Run { name: "b", record: &second }]);
    assert!(markdown.contains("b is 2.0") && markdown.contains(" times as fast as a (2.0"), "{markdown}");
}

#[test]
fn markdown_cannot_be_broken_out_of() {
    let mut record = short();
    make_hostile(&mut record);
    let markdown = forms::markdown(&[Run { name: HOSTILE, record: &record }]);
    let outside_of_code = markdown.split("```").next().unwrap();
    assert!(!outside_of_code.contains("<script"), "{markdown}");
}

#[test]
fn csv_is_a_line_for_each_figure_with_as_many_cells_as_columns() {
    let record = short();
    let csv = forms::csv(&[Run { name: "a, \"run\"", record: &record }]);
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("run,part,script,item,start_s,end_s,metric,value"));
    let tps = format!("\"a, \"\"run\"\"\",summary,,,,,tps,{}", record.summary.tps);
    assert!(csv.contains(&tps), "no {tps} in {}", &csv[..2_000]);
    for part in ["script", "command", "interval", "per_transaction", "wait", "event", "sample", "ceiling"] {
        assert!(csv.contains(&format!(",{part},")), "{part}");
    }
    assert!(csv.contains(",interval,,,4,5,response_p99_us,"));
    assert!(lines.all(|line| line.ends_with(|c: char| c.is_ascii_digit())));
}

#[test]
fn csv_of_nothing_is_its_head_and_counts() {
    let csv = forms::csv(&[Run { name: "nothing", record: &example::empty() }]);
    assert!(csv.lines().count() < 15, "{csv}");
}

#[test]
fn json_is_the_record_or_a_list_of_them() {
    let record = short();
    let run = Run { name: "a run", record: &record };
    let one = forms::json(&[run]);
    assert_eq!(Record::from_json(one.as_bytes(), "it".as_ref()).unwrap(), record);
    let two: serde_json::Value = serde_json::from_str(&forms::json(&[run, run])).unwrap();
    assert_eq!(two["runs"].as_array().map(Vec::len), Some(2));
}

#[test]
fn pictures_are_whole_and_of_one_size() {
    let (first, second) = (short(), example::full(&Example { seconds: 5, seed: 3, ..Example::default() }));
    let (one, two) = (Run { name: "a", record: &first }, Run { name: "b", record: &second });
    for runs in [&[one][..], &[one, two]] {
        let svg = pgmeter_report::svg(&pgmeter_report::document(runs));
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
        assert!(svg.matches("<path").count() > 15);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "a mark is nowhere");
    }
    // Width and height of the image header (Portable Network Graphics, §11.2.2).
    let png = pgmeter_report::png(&pgmeter_report::document(&[one])).unwrap();
    assert_eq!((&png[1..4], &png[12..16], &png[16..20]), (&b"PNG"[..], &b"IHDR"[..], &[0, 0, 7, 208][..]));
}

#[test]
fn pictures_of_nothing_have_a_title_and_hostile_names_stay_text() {
    let nothing = example::empty();
    let run = Run { name: "nothing", record: &nothing };
    assert!(pgmeter_report::svg(&pgmeter_report::document(&[run])).contains("Nothing was measured"));
    assert!(pgmeter_report::png(&pgmeter_report::document(&[run])).is_ok());
    let mut record = short();
    make_hostile(&mut record);
    let svg = pgmeter_report::svg(&pgmeter_report::document(&[Run { name: HOSTILE, record: &record }]));
    assert!(!svg.contains("<script") && !svg.contains("<img"));
}

#[test]
fn a_rate_is_no_outcome_and_other_scripts_are_not_compared() {
    let first = short();
    let mut second = example::full(&Example { seconds: 5, tps: 480.0, ..Example::default() });
    let shown = |second: &Record| {
        let runs = [Run { name: "a", record: &first }, Run { name: "b", record: second }];
        [forms::markdown(&runs), forms::html(&runs), pgmeter_report::svg(&pgmeter_report::document(&runs))]
    };
    second.plan.rate_tps = Some(480.0);
    for report in shown(&second) {
        let report = report.replace('\u{a0}', " ");
        assert!(
            report.contains("The throughput of b is not compared with that of a: b was asked for 480 tps.")
        );
        assert!(!report.contains("slower than") && !report.contains("faster than"));
    }
    second.plan.scripts[0].name = "select-only".to_owned();
    for report in shown(&second) {
        assert!(
            report.contains(
                "tpcb-like and select-only ran different scripts, so neither can be called faster."
            )
        );
        assert!(!report.contains("slower than") && !report.contains("longer than"));
    }
}

#[test]
fn markdown_of_several_runs_has_their_warnings_means_and_what_they_were_asked_for() {
    let first = short();
    let mut second = short();
    second.plan.workers = 1;
    second.observation = None;
    if let Some(server) = &mut second.environment.server {
        server.non_default_settings = [("port".to_owned(), "5433".to_owned())].into_iter().collect();
    }
    let runs = [Run { name: "a", record: &first }, Run { name: "b", record: &second }];
    let markdown = forms::markdown(&runs);
    for words in [
        "> **Warning:** 2 workers and 1 worker: Client and server share this host",
        "| workers | 2 | 1 |",
        "| observed | full | off |",
        "| difference | mean, ms | p50, ms |",
        "| --- | ---: | ---: |",
    ] {
        assert!(markdown.contains(words), "no {words} in:\n{markdown}");
    }
    assert!(!markdown.contains("| port"), "{markdown}");
    let page = forms::html(&runs);
    assert!(page.find(">workers</th>").unwrap() < page.find(">shared_buffers<").unwrap());
}

#[test]
fn a_cell_of_a_table_is_no_formula_and_steers_nothing() {
    let mut record = short();
    record.plan.scripts[0].name = "=cmd()\u{1b}[2J\u{202e}x".to_owned();
    record.summary.scripts[0].name = record.plan.scripts[0].name.clone();
    let csv = forms::csv(&[Run { name: "-a\u{7}", record: &record }]);
    assert!(csv.contains("\n'-a\\x07,script,'=cmd()\\x1b[2J\\u{202e}x,,,,tps,"), "{}", &csv[..2_000]);
    assert!(!csv.contains(['\u{1b}', '\u{202e}', '\u{7}']));
    assert!(csv.lines().skip(1).all(|line| line.starts_with("'-a\\x07,")));
}

#[test]
fn a_run_without_success_is_drawn_with_numbers() {
    let record = example::fruitless();
    let runs = [Run { name: "a run", record: &record }];
    let svg = pgmeter_report::svg(&pgmeter_report::document(&runs));
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    pgmeter_report::png(&pgmeter_report::document(&runs)).expect("it can be drawn");
}

#[test]
fn text_of_two_runs_has_them_side_by_side_with_differences_and_intervals() {
    let (first, second) =
        (short(), example::full(&Example { seconds: 5, tps: 4_800.0, ..Example::default() }));
    let style = TextStyle { colour: false, width: 80 };
    let runs = [Run { name: "run 1", record: &first }, Run { name: "run 2", record: &second }];
    let text = forms::text_of(&runs, &style);
    for words in
        ["run 1 against run 2\n  run 2 is ", "\n  run 1: tpcb-like", "\n  tps ", "\n  p99.9 ", "●", "┊"]
    {
        assert!(text.contains(words), "no {words:?} in:\n{text}");
    }
    let line = |label: &str| {
        let line = text.lines().rfind(|line| line.trim_start().starts_with(label)).expect("it is there");
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("run 1:"), "run 1: tpcb-like on PostgreSQL 18.1, 8 clients, prepared");
    let tps = line("tps ");
    assert!(tps.matches('±').count() == 2 && tps.contains(" ×") && tps.contains(" … "), "{tps}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_run_without_an_interval_says_how_long_it_takes_to_have_one() {
    let mut record = short();
    let style = TextStyle { colour: false, width: 120 };
    assert!(!forms::text(&record, &style).contains("to tell"));
    record.summary.confidence.tps = None;
    let text = forms::text(&record, &style);
    assert!(text.contains(" tps (no confidence interval below 20 s)\n"), "{text}");
    let markdown = forms::markdown(&[Run { name: "a run", record: &record }]);
    assert!(markdown.contains("too short for a confidence interval, which takes 20 s"), "{markdown}");
}

const STYLE: TextStyle = TextStyle { colour: false, width: 200 };

/// Under a rate with a limit: of 1,000 that were due, 30 were late and 45 skipped.
fn limited() -> Record {
    let mut record = short();
    record.plan.rate_tps = Some(200.0);
    record.plan.latency_limit_us = Some(10_000.0);
    for counts in [&mut record.summary.counts, &mut record.summary.scripts[0].counts] {
        (counts.scheduled, counts.succeeded, counts.business) = (1_000, 950, 950);
        (counts.failed, counts.skipped, counts.unfinished, counts.late) = (0, 45, 5, 30);
        counts.failures = results::Failures::default();
    }
    record.summary.late_or_skipped_share = Some(0.075);
    record
}

#[test]
fn all_formats_hold_to_one_share_of_late_or_skipped() {
    let record = limited();
    let run = Run { name: "a run", record: &record };
    let told =
        "7.5 % of all that were due: 30 took longer than 10 ms, 45 were skipped; 5 more had not finished";
    let text = forms::text(&record, &STYLE);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("late/skipped {told} ")), "{text}");
    let markdown = forms::markdown(&[run]);
    assert!(markdown.contains(&format!("- late or skipped: {told}\n")), "{markdown}");
    assert!(forms::html(&[run]).replace('\u{a0}', " ").contains(&format!("<dd>{told}</dd>")));
    let csv = forms::csv(&[run]);
    assert!(csv.contains("a run,summary,,,,,late_or_skipped_share,0.075\n"), "{csv}");
    assert!(forms::json(&[run]).contains("\"late_or_skipped_share\": 0.075"));
    assert!(pgmeter_report::trial_line(&record).contains(", 7.5 % late or skipped"));
    // No format says the share that it is of others: of the succeeded ones, or the late ones alone.
    for shown in [&text, &markdown] {
        assert!(!shown.contains("(3.2 %)") && !shown.contains("(3.0 %)"), "{shown}");
    }
}

#[test]
fn runs_side_by_side_show_what_was_skipped_and_late() {
    let (first, second) = (short(), limited());
    let runs = [Run { name: "a", record: &first }, Run { name: "b", record: &second }];
    let text = forms::text_of(&runs, &STYLE);
    let row = |label: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(label)).unwrap_or_default();
        line.trim_start()[label.len()..]
            .split("  ")
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .collect::<Vec<_>>()
    };
    assert_eq!(row("skipped"), ["0 %", "4.5 %"], "{text}");
    assert_eq!(row("late or skipped"), ["—", "7.5 %"], "{text}");
    let markdown = forms::markdown(&runs);
    assert!(
        markdown.contains("| skipped | late or skipped |") && markdown.contains("| 4.5 % | 7.5 % |"),
        "{markdown}"
    );
    let page = forms::html(&runs).replace('\u{a0}', " ");
    assert!(page.contains("data-label=\"late or skipped\">7.5 %<"), "no column of late or skipped");
}

#[test]
fn a_stall_is_in_all_formats_and_marked_in_the_charts() {
    // Charts over time need ten points.
    let longer = || example::full(&Example { seconds: 20, ..Example::default() });
    let mut record = longer();
    let stall = Stall { start_s: 1.5, end_s: 3.25 };
    record.summary.stalls =
        Some(Stalls { threshold_us: 40_000.0, count: 1, total_s: 1.75, longest: vec![stall] });
    let mut with = record.summary.response_us.expect("some succeeded");
    (with.p90, with.p95, with.p99, with.p999) = (1.2e6, 1.5e6, 1.7e6, 1.75e6);
    record.summary.response_with_stalls_us = Some(with);
    let run = Run { name: "a run", record: &record };
    let told = "1 of more than 40.0 ms without a completed transaction; the longest 1.75 s from 1.50 s on";
    let text = forms::text(&record, &STYLE);
    assert!(text.contains(&format!("  stalls          {told}\n")), "{text}");
    let row = text.lines().find(|line| line.trim_start().starts_with("with stalls")).unwrap_or_default();
    assert!(row.contains("1,700") && text.contains("With stalls: as if transactions had gone on"), "{text}");
    let markdown = forms::markdown(&[run]);
    assert!(markdown.contains(&format!("- stalls: {told}\n")), "{markdown}");
    assert!(markdown.contains("| response, with stalls |") && markdown.contains(" 1,700 |"), "{markdown}");
    let page = forms::html(&[run]).replace('\u{a0}', " ");
    assert!(page.contains(told) && page.contains("</svg>stall</span>"), "no mark in the legend");
    assert!(
        page.contains("{\"kind\":\"stall\",\"colour\":\"stall\",\"start\":1.5,\"end\":3.25,\"detail\":"),
        "no mark in the data"
    );
    assert!(forms::csv(&[run]).contains("a run,stall,,,1.5,3.25,length_s,1.75\n"));
    assert!(forms::json(&[run]).contains("\"longest\""));
    let marks = |record: &Record| {
        let document = pgmeter_report::document(&[Run { name: "a run", record }]);
        pgmeter_report::svg(&document).matches("b3261e").count()
    };
    assert!(marks(&record) > marks(&longer()), "no mark in the picture");
    assert!(pgmeter_report::trial_line(&record).ends_with(", stalled for 1.75 s"));
}

#[test]
fn percentiles_that_stalls_hardly_change_stand_alone() {
    let mut record = short();
    let mut with = record.summary.response_us.expect("some succeeded");
    with.p99 *= 1.05;
    record.summary.response_with_stalls_us = Some(with);
    assert!(!forms::text(&record, &STYLE).contains("with stalls"));
}

/// Microseconds, bytes, a share or a number, as people read them: `6.48 ms`, `12 kB`, `3.0 %`, `1,234`.
fn read(shown: &str) -> f64 {
    const UNITS: [(&str, f64); 8] = [
        ("µs", 1.0),
        ("ms", 1e3),
        ("s", 1e6),
        ("bytes", 1.0),
        ("kB", 1024.0),
        ("MB", 1_048_576.0),
        ("%", 0.01),
        ("tps", 1.0),
    ];
    let mut words = shown.split_whitespace();
    let figure: f64 = words.next().unwrap_or_default().replace(',', "").parse().expect(shown);
    let unit = words.next().and_then(|word| UNITS.iter().find(|(unit, _)| *unit == word));
    figure * unit.map_or(1.0, |(_, factor)| *factor)
}

/// Whether a figure is the value, rounded to three digits, or to two if it is a share or a size.
fn assert_shown(what: &str, shown: &str, value: f64) {
    let has_two_digits = ['%', 'B'].iter().any(|unit| shown.contains(*unit));
    let tolerance = if has_two_digits { 0.05 } else { 0.005 };
    assert!((read(shown) - value).abs() <= tolerance * value.abs(), "{what}: {shown} is not {value}");
}

/// The labels of single figures in reports; where a fact has several figures, the first one.
const LABELS: [(&str, &str); 30] = [
    ("succeeded", "succeeded"),
    ("failed", "failed"),
    ("skipped", "skipped as too late to start"),
    ("retried", "tried again"),
    ("late_or_skipped_share", "late or skipped"),
    ("start_delay_mean_us", "start delay"),
    ("client_cpu_us_per_transaction", "client CPU (pgmeter itself)"),
    ("server_cpu_us", "server CPU"),
    ("wal_bytes", "WAL"),
    ("wal_records", "WAL records"),
    ("wal_full_page_images", "full-page images"),
    ("wal_full_page_image_bytes", "WAL of full-page images"),
    ("blocks_hit", "shared buffers hit"),
    ("blocks_read", "blocks read"),
    ("block_read_us", "time reading blocks"),
    ("shared_buffers_share", "blocks from shared buffers"),
    ("system_cache_share", "blocks from the system cache"),
    ("disk_share", "blocks from disk"),
    ("blocks_dirtied", "blocks dirtied"),
    ("blocks_written", "blocks written"),
    ("block_write_us", "time writing blocks"),
    ("temp_bytes", "temporary files"),
    ("backend_user_cpu_us", "server CPU, user"),
    ("backend_system_cpu_us", "server CPU, system"),
    ("backend_read_bytes", "read from disk"),
    ("backend_written_bytes", "dirtied by backends, counted by the kernel"),
    ("plan_us", "planning"),
    ("execution_us", "execution"),
    ("backend_memory_bytes", "backend memory"),
    ("unfinished", "unfinished at the end"),
];

/// The columns of the table of latencies.
const LATENCIES: [&str; 5] = ["p50", "p90", "p99", "p999", "max"];

/// Those in one column beside them, and those that only programs get.
const OTHER_TIMES: [&str; 4] = ["mean", "stddev", "min", "p95"];

/// Figures of the CSV that no report shows by themselves: they follow from others that it shows, or are part of a sentence.
const NOT_BY_THEMSELVES: [&str; 20] = [
    "disk_blocks_read",
    "round_trips_per_transaction",
    "sent_bytes_per_transaction",
    "received_bytes_per_transaction",
    "duration_s",
    "tail_s",
    "tps_low",
    "tps_high",
    "cycle_us",
    "scheduled",
    "late",
    "retries",
    "failed_share",
    "start_delay_max_us",
    "stalls",
    "unknown",
    "reserved",
    "lost_connections",
    "write_outage_s",
    "recovery_s",
];

/// Metrics that other kinds of runs have; their own tests show them.
const OF_OTHER_RUNS: [&str; 24] = [
    "renewed_sessions",
    "connecting_p99_us",
    "reconnect_storm_s",
    "duration_us",
    "operations_per_s",
    "stalls",
    "stalled_s",
    "lost_connections",
    "write_outage_s",
    "recovery_s",
    "pooler_cpu_us_per_transaction",
    "pooler_cpu_share",
    "pooler_wait_us_per_transaction",
    "acknowledged_commits",
    "lost_commits",
    "unknown_applied_commits",
    "unknown_absent_commits",
    "phantom_commits",
    "doubled_transactions",
    "replay_lag_mean_us",
    "replay_lag_max_us",
    "replay_lag_max_bytes",
    "stale_read_share",
    "staleness_p99_us",
];

/// A run with a rate, a limit and costs.
fn with_all_metrics() -> Record {
    let mut record = example::full(&Example { seconds: 5, ..Example::default() });
    record.plan.rate_tps = Some(5_000.0);
    record.plan.latency_limit_us = Some(10_000.0);
    record.summary.lag_us = Some(results::Lag { mean: 1_237.0, max: 12_345.0 });
    let traffic =
        results::TrafficPerTransaction { round_trips: 7.5, sent_bytes: 431.0, received_bytes: 652.0 };
    record.summary.traffic_per_transaction = Some(traffic);
    let counts = &mut record.summary.counts;
    (counts.late, counts.skipped, counts.unfinished, counts.retried) = (341, 17, 23, 101);
    counts.scheduled += 17 + 23;
    record.summary.late_or_skipped_share = Some(record.summary.counts.late_or_skipped_share());
    let observation = record.observation.as_mut().expect("it was observed");
    observation.backend_memory = Some(results::BackendMemory {
        backends: 64,
        private_mean_bytes: 3_041_280.0,
        private_max_bytes: 3_407_872.0,
        page_tables_mean_bytes: 209_715.0,
    });
    let costs = &mut observation.per_transaction;
    let mut value = 217.0;
    for cost in [
        &mut costs.wal_bytes,
        &mut costs.wal_records,
        &mut costs.wal_full_page_images,
        &mut costs.wal_full_page_image_bytes,
        &mut costs.blocks_hit,
        &mut costs.blocks_read,
        &mut costs.block_read_us,
        &mut costs.blocks_dirtied,
        &mut costs.blocks_written,
        &mut costs.block_write_us,
        &mut costs.temp_bytes,
        &mut costs.backend_user_cpu_us,
        &mut costs.backend_system_cpu_us,
        &mut costs.backend_read_bytes,
        &mut costs.backend_written_bytes,
        &mut costs.plan_us,
        &mut costs.execution_us,
    ] {
        value *= 1.9;
        *cost = Some(value);
    }
    costs.server_cpu_us =
        costs.backend_user_cpu_us.zip(costs.backend_system_cpu_us).map(|(user, system)| user + system);
    costs.disk_blocks_read = costs.blocks_read.map(|blocks| blocks / 3.0);
    record
}

/// The metrics of the CSV that are of the whole run, with their values.
fn csv_metrics(run: &[Run<'_>]) -> BTreeMap<String, f64> {
    let of_run = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let [_, "summary" | "per_transaction", .., metric, value] = cells.as_slice() else { return None };
        Some(((*metric).to_owned(), value.parse().ok()?))
    };
    forms::csv(run).lines().skip(1).filter_map(of_run).collect()
}

#[test]
fn every_metric_of_a_run_has_one_value_in_all_formats() {
    let record = with_all_metrics();
    let run = [Run { name: "a run", record: &record }];
    let metrics = csv_metrics(&run);
    let markdown = forms::markdown(&run);
    let page = forms::html(&run).replace('\u{a0}', " ");
    for (metric, label) in LABELS {
        let value = *metrics.get(metric).unwrap_or_else(|| panic!("{metric} is not in the CSV"));
        // In a list, or in a table of costs.
        let found = |start: String| Some(markdown.split_once(&start)?.1.lines().next()?.to_owned());
        if let Some(shown) = found(format!("\n- {label}: ")) {
            assert_shown(label, &shown, value);
            let on_page = format!("<dt>{label}</dt><dd>{}</dd>", shown.replace("\\", ""));
            assert!(page.contains(&on_page), "not on the page: {on_page}");
            continue;
        }
        let rows = markdown.lines().filter_map(|line| line.strip_prefix(&format!("| {label} | ")));
        let shown = rows.filter(|it| !it.starts_with("per")).map(|it| it.trim_end_matches(" |")).next();
        let shown = shown.unwrap_or_else(|| panic!("{label} is not in Markdown"));
        assert_shown(label, shown, value);
        assert!(page.contains(&format!(">{label}</th>")), "not on the page: {label}");
        assert!(page.contains(&format!(">{shown}</td>")), "not on the page: {label} {shown}");
    }
    assert!(markdown.contains("7.50 round trips, 431 bytes sent to the server and 652 bytes received"));
    // One unit above the table, then a column for each figure.
    let line = |start: &str| markdown.lines().find(|line| line.starts_with(start)).expect(start);
    let cells =
        |line: &str| line.trim_matches('|').split('|').map(|it| it.trim().to_owned()).collect::<Vec<_>>();
    let (head, unit) =
        (cells(line("| latency, ")), cells(line("| latency, "))[0].split_off("latency, ".len()));
    let titles: Vec<String> = head[2..].iter().map(|title| title.replace("p99.9", "p999")).collect();
    assert_eq!((&titles[..5], titles[5].as_str()), (&LATENCIES.map(str::to_owned)[..], "mean ± stddev"));
    for kind in ["response", "service"] {
        let row = cells(line(&format!("| {kind} |")));
        assert_shown("tps", &row[1], metrics["tps"]);
        for (shown, figure) in row[2..].iter().zip(LATENCIES) {
            assert_shown(figure, &format!("{shown} {unit}"), metrics[&format!("{kind}_{figure}_us")]);
            assert!(page.contains(&format!(">{shown}</td>")), "{kind} {figure}: {shown} is not on the page");
        }
        let mean = row[7].split(' ').next().unwrap_or_default();
        assert_shown("mean", &format!("{mean} {unit}"), metrics[&format!("{kind}_mean_us")]);
    }
    // The terminal has fewer figures, each with its label.
    let wide = TextStyle { colour: false, width: 300 };
    let text = pgmeter_report::text(&pgmeter_report::summary(&record, false), &wide);
    for (label, metric) in [
        ("  throughput ", "tps"),
        ("  transactions ", "succeeded"),
        ("  late/skipped ", "late_or_skipped_share"),
        ("  start delay ", "start_delay_mean_us"),
        ("  client CPU ", "client_cpu_us_per_transaction"),
        ("  backend memory ", "backend_memory_bytes"),
    ] {
        let shown = text.lines().find_map(|line| line.strip_prefix(label)).expect(label);
        assert_shown(label, shown, metrics[metric]);
    }
    // A metric that is new has its place in this test.
    let latencies = |metric: &String| {
        LATENCIES.iter().chain(&OTHER_TIMES).any(|it| metric.ends_with(&format!("_{it}_us")))
    };
    let is_known = |metric: &&String| {
        LABELS.iter().any(|(name, _)| name == metric)
            || NOT_BY_THEMSELVES.contains(&metric.as_str())
            || *metric == "tps"
            || latencies(metric)
    };
    let unknown: Vec<&String> = metrics.keys().filter(|metric| !is_known(metric)).collect();
    assert!(unknown.is_empty(), "{unknown:?} are in no list of this test");
}

#[test]
fn the_run_of_these_tests_has_each_metric_of_the_table() {
    let record = with_all_metrics();
    let metrics = csv_metrics(&[Run { name: "a run", record: &record }]);
    let reference = pgmeter_report::metrics_reference();
    // The names in the first cell of a row; the CSV has one of them.
    let names = |row: &str| {
        row.split('|')
            .nth(1)
            .unwrap_or_default()
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let is_shown = |name: &String| metrics.contains_key(name) || OF_OTHER_RUNS.contains(&name.as_str());
    let missing: Vec<Vec<String>> =
        reference.lines().skip(2).map(names).filter(|names| !names.iter().any(is_shown)).collect();
    assert!(missing.is_empty(), "no test has a value of {missing:?}");
}

#[test]
fn the_record_has_the_metrics_that_it_is_the_source_of() {
    let record = with_all_metrics();
    let run = [Run { name: "a run", record: &record }];
    let json: serde_json::Value = serde_json::from_str(&forms::json(&run)).expect("it is JSON");
    let metrics = csv_metrics(&run);
    let (summary, costs) = (&json["summary"], &json["observation"]["per_transaction"]);
    for (metric, of_record) in [
        ("tps", &summary["tps"]),
        ("succeeded", &summary["counts"]["succeeded"]),
        ("late", &summary["counts"]["late"]),
        ("late_or_skipped_share", &summary["late_or_skipped_share"]),
        ("response_p99_us", &summary["response_us"]["p99"]),
        ("service_mean_us", &summary["service_us"]["mean"]),
        ("start_delay_max_us", &summary["lag_us"]["max"]),
        ("client_cpu_us_per_transaction", &summary["client_cpu_us_per_transaction"]),
        ("round_trips_per_transaction", &summary["traffic_per_transaction"]["round_trips"]),
        ("sent_bytes_per_transaction", &summary["traffic_per_transaction"]["sent_bytes"]),
        ("received_bytes_per_transaction", &summary["traffic_per_transaction"]["received_bytes"]),
    ] {
        assert_eq!(of_record.as_f64(), Some(metrics[metric]), "{metric}");
    }
    let memory = &json["observation"]["backend_memory"];
    let [private, page_tables] =
        ["private_mean_bytes", "page_tables_mean_bytes"].map(|name| memory[name].as_f64());
    let both = private.zip(page_tables).map(|(private, page_tables)| private + page_tables);
    assert_eq!(both, Some(metrics["backend_memory_bytes"]));
    for (metric, of_record) in costs.as_object().expect("it has costs") {
        assert_eq!(of_record.as_f64(), Some(metrics[metric]), "{metric}");
    }
    let cpu = metrics["backend_user_cpu_us"] + metrics["backend_system_cpu_us"];
    assert!((metrics["server_cpu_us"] - cpu).abs() < 1e-9);
}

#[test]
fn statements_have_their_cpu_time_and_the_sources_of_their_blocks() {
    let page = forms::markdown(&[Run { name: "a run", record: &short() }]);
    let from = page.find("CPU time of statements").expect("pg_stat_kcache has counted them");
    let table: Vec<&str> = page[from..].lines().take(8).collect();
    insta::assert_snapshot!(table.join("\n"), @r#"
    CPU time of statements and sources of their blocks, as pg\_stat\_kcache counts them

    | statement | user CPU each, µs | system CPU each, µs | share of CPU | from shared buffers | from system cache | from disk | read from disk each | written each |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | UPDATE pgbench\_branches SET bbalance = bbalance + $1 WHERE bid = $2 | 72.9 | 31.2 | 100 % | 96 % | 0 % | 4.3 % | 1422 bytes | 28 bytes |

    Disks delivered 78 MB beyond the blocks that these statements read, such as the kernel's read-ahead and temporary files. This is in "read from disk each", but not in the shares.
    "#);
}

#[test]
fn without_pg_stat_kcache_there_is_no_such_table() {
    let mut record = short();
    let observation = record.observation.as_mut().expect("it was observed");
    let of_kernel =
        ["user_cpu_ms", "system_cpu_ms", "disk_read_bytes", "disk_read_blks", "disk_written_bytes"];
    for statement in &mut observation.statements {
        statement.values.retain(|name, _| !of_kernel.contains(&name.as_str()));
    }
    let page = forms::markdown(&[Run { name: "a run", record: &record }]);
    assert!(page.contains(r"Statements, as pg\_stat\_statements counts them"));
    assert!(!page.contains("kcache"));
}

#[test]
fn the_page_has_the_cpu_time_of_the_backends_over_time_where_it_was_seen() {
    let mut record = example::full(&Example { seconds: 20, ..Example::default() });
    let page = |record: &Record| forms::html(&[Run { name: "a run", record }]);
    assert!(!page(&record).contains("the load&#39;s backends"));
    for sample in &mut record.observation.as_mut().expect("it was observed").samples {
        let cpu = [("backend_user_cpu_s", 0.7), ("backend_system_cpu_s", 0.2)];
        sample.values.extend(cpu.map(|(name, value)| (name.to_owned(), value)));
    }
    assert!(page(&record).contains("the load&#39;s backends"));
}
