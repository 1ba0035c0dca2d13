//! What a run says of itself in figures, as the binary measures it against the null server: quantiles beside those
//! counted from the log of the same run, a stalling server, and the end of a run that knows enough. The methods are
//! tested in `stats`.

use std::fs;

use results::{Latency, Record};

use crate::harness::Bench;
use crate::null_server::Null;

/// The latencies of all logs of the bench's directory, sorted.
fn logged_us(bench: &Bench, prefix: &str) -> Vec<f64> {
    let files = fs::read_dir(bench.path()).expect("it is there").map(|entry| entry.expect("an entry"));
    let logs = files.filter(|file| file.file_name().to_string_lossy().starts_with(prefix));
    let texts = logs.map(|file| fs::read_to_string(file.path()).expect("it can be read"));
    let latency = |line: &str| line.split(' ').nth(2).expect("a column").parse::<f64>().expect("a number");
    let mut latencies: Vec<_> =
        texts.flat_map(|text| text.lines().map(latency).collect::<Vec<_>>()).collect();
    latencies.sort_by(f64::total_cmp);
    latencies
}

/// The smallest logged latency that a share of them does not exceed.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a rank
fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((share * sorted.len() as f64).ceil() as usize).max(1) - 1]
}

fn response(record: &Record) -> Latency {
    record.summary.response_us.expect("some succeeded")
}

#[test]
fn quantiles_of_the_record_are_those_counted_from_the_log_of_the_same_run() {
    let bench = Bench::new();
    let null = Null::start(&bench, "./", &["--stall-every", "0.1", "--stall-for", "0.02"]);
    let options = ["bench", "-S", "-n", "-c", "8", "-j", "2", "-T", "1", "-l", "--log-prefix", "log"];
    bench.run(options.into_iter().chain([null.conninfo.as_str()])).exits(0);
    let record = bench.record();
    let (latency, logged) = (response(&record), logged_us(&bench, "log"));
    assert_eq!(logged.len() as u64, record.summary.counts.succeeded);
    let Latency { mean, stddev: _, min, p50, p90, p95, p99, p999, max } = latency;
    let shares = [(p50, 0.5), (p90, 0.9), (p95, 0.95), (p99, 0.99), (p999, 0.999), (min, 0.0), (max, 1.0)];
    for (recorded, share) in shares {
        let counted = quantile(&logged, share);
        // Three digits, and the log has whole microseconds.
        let tolerance = 1.0 + counted * 1e-3;
        assert!((recorded - counted).abs() <= tolerance, "{share}: recorded {recorded}, counted {counted}");
    }
    let counted = logged.iter().sum::<f64>() / logged.len() as f64;
    assert!((mean - counted).abs() <= 1.0, "mean: recorded {mean}, counted {counted}");
}

#[test]
fn a_stall_is_in_the_response_times_under_a_rate_and_in_one_service_time_for_each_client() {
    let bench = Bench::new();
    let null = Null::start(&bench, "./", &["--stall-every", "0.5", "--stall-for", "0.5"]);
    bench.run(["bench", "-S", "-n", "-c", "4", "-T", "2", "--rate", "1000", &null.conninfo]).exits(0);
    let record = bench.record();
    let service = record.summary.service_us.expect("some succeeded");
    // About half of the transactions were scheduled while it was silent.
    assert!(response(&record).p90 > 100_000.0 && response(&record).p99 > 250_000.0, "{record:?}");
    assert!(service.max > 250_000.0 && service.p90 < 100_000.0, "{service:?}");
}

#[test]
fn without_a_rate_stalls_are_told_and_percentiles_with_them_stand_beside_the_plain_ones() {
    let bench = Bench::new();
    let null = Null::start(&bench, "./", &["--stall-every", "0.6", "--stall-for", "1.4"]);
    let out = bench.run(["bench", "-S", "-n", "-c", "4", "-T", "2.5", &null.conninfo]).exits(0);
    let record = bench.record();
    let stalls = record.summary.stalls.as_ref().expect("they were looked for");
    let long = stalls.longest.iter().filter(|stall| stall.length_s() > 1.2);
    assert!(long.count() >= 1 && stalls.total_s > 1.2, "{stalls:?}");
    let with = record.summary.response_with_stalls_us.expect("there were stalls");
    assert!(response(&record).p90 < 100_000.0 && with.p90 > 100_000.0, "{with:?}");
    assert!(out.stdout.contains("\n  stalls  ") && out.stdout.contains("\n  with stalls"), "{}", out.stdout);
    assert!(out.stdout.contains("warning: The run completed no transaction for"), "{}", out.stdout);
    assert_eq!(record.summary.response_us, record.summary.service_us);
    assert_eq!(record.summary.lag_us.map(|lag| lag.max), Some(0.0));
    assert!(response(&record).max > 100_000.0 && response(&record).p50 < 50_000.0, "{record:?}");
}

#[test]
fn connection_figures_are_of_the_measured_transactions() {
    let bench = Bench::new();
    let null = Null::start(&bench, "./", &[]);
    let options = ["bench", "-S", "-n", "-C", "-c", "2", "-T", "0.6", "--warmup", "1.2", &null.conninfo];
    bench.run(options).exits(0);
    let Record { summary, .. } = bench.record();
    let connecting = summary.connecting.expect("each transaction had a connection of its own");
    // A client that gets in when the time is over has connected for nothing.
    let due = summary.counts.scheduled;
    assert!((due..=due + 2).contains(&connecting.connects), "{} of {due}", connecting.connects);
    assert!(connecting.total_s <= 2.0 * summary.elapsed_s, "{} s", connecting.total_s);
}

#[test]
fn a_run_that_does_not_get_to_know_enough_takes_its_time_and_says_so() {
    let bench = Bench::new();
    let null = Null::start(&bench, "./", &[]);
    bench.run(["bench", "-S", "-n", "-T", "1", "--until", "1%", &null.conninfo]).exits(0);
    let record = bench.record();
    assert_eq!((record.plan.until, record.summary.until_reached), (Some(0.01), Some(false)));
    assert!(record.summary.duration_s >= 1.0);
}

#[test]
fn until_is_a_percentage_and_has_a_longest_time() {
    let bench = Bench::new();
    for (options, says) in [
        (["bench", "-T", "1", "--until", "1"], "expected a percentage above 0% and below 100%"),
        (["bench", "-T", "1", "--until", "0%"], "expected a percentage above 0% and below 100%"),
        (["bench", "-c", "1", "--until", "1%"], "--duration <TIME>"),
    ] {
        bench.run(options).exits(1).says(&[says]);
    }
}
