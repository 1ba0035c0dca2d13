//! What a run says of itself in figures, as the binary measures it against the null server: quantiles beside those
//! counted from the log of the same run, a stalling server, and the end of a run that knows enough. The methods are
//! tested in `stats`.

use std::fs;
use std::time::{Duration, Instant};

use results::{Latency, Record};
use testkit::cluster::Cluster;

use crate::harness::{Bench, Running, tables_of_pgbench};
use crate::null_server::Null;
use crate::processes::ends;

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

/// Longer than any wait here takes.
const DEADLINE: Duration = Duration::from_secs(60);

/// Runs the load while another session holds a lock for two seconds that each update waits for.
fn beside_a_lock(bench: &Bench, conninfo: &str, options: &[&str]) -> String {
    let mut holder = Cluster::session(conninfo);
    holder.execute("begin; lock table pgbench_accounts in exclusive mode").expect("a lock");
    // A transaction sees one state of pg_stat_activity, so another session looks.
    let mut observer = Cluster::session(conninfo);
    let run = Running::start(
        &mut bench.command(["bench", "-N", "-n", "-c", "2"].iter().chain(options).chain(&[conninfo])),
    );
    let waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    let since = Instant::now();
    while observer.query(waiting).expect("the query is right")[0].get(0) != Some("2") {
        assert!(since.elapsed() < DEADLINE, "nothing waits for the lock");
        testkit::condition::pause();
    }
    holder.execute("select pg_sleep(2); commit").expect("the lock is released");
    ends(run).exits(0).stdout
}

#[test]
fn a_lock_that_makes_transactions_be_skipped_is_in_the_first_line_and_in_all_percentiles() {
    let bench = Bench::new();
    let conninfo = tables_of_pgbench(Cluster::shared("18"), "skipped_in_lock", 1);
    let load = ["-R", "100", "-T", "5", "--random-seed", "5"];
    let limited = [&load[..], &["-L", "200ms", "--label", "limited"]].concat();
    let report = beside_a_lock(&bench, &conninfo, &limited);
    assert!(report.starts_with("STALL: no transaction completed for 2."), "{report}");
    let record = bench.record();
    let [all, succeeded] =
        [record.summary.response_of_all_us(), record.summary.response_us].map(Option::unwrap);
    assert!(record.summary.counts.skipped > 100, "{:?}", record.summary.counts);
    assert!(succeeded.p50 < 300_000.0 && all.p90 > 1_000_000.0, "{all:?} {succeeded:?}");
    // All formats show the same: the row of the response is of all, that of the succeeded ones stands below.
    let rows: Vec<&str> = report
        .lines()
        .filter(|line| line.starts_with("  response") || line.starts_with("  succeeded"))
        .collect();
    assert_eq!(rows.len(), 2, "{report}");
    let list = bench.run(["runs"]).exits(0).stdout;
    assert!(list.contains("stall of 2."), "{list}");
    let csv = bench.run(["report", "last", "--format", "csv"]).exits(0).stdout;
    let of = |metric: &str| {
        let line =
            csv.lines().find(|line| line.contains(",summary,") && line.contains(&format!(",{metric},")));
        line.and_then(|line| line.rsplit(',').next()?.trim().parse::<f64>().ok())
            .unwrap_or_else(|| panic!("{metric}: {csv}"))
    };
    assert_eq!((of("response_p95_us"), of("succeeded_response_p95_us")), (all.p95, succeeded.p95));
    // The control: the same arrivals without a limit, so that each of them waits for the lock.
    let control = Bench::new();
    beside_a_lock(&control, &conninfo, &load);
    let waited = control.record().summary.response_us.expect("all succeeded");
    // A backlog delays later ones, which skipping spares; and the machine is shared.
    let ratio = |found: f64, expected: f64| found / expected;
    assert!((0.6..1.5).contains(&ratio(all.p90, waited.p90)), "{all:?} {waited:?}");
    assert!((0.4..1.6).contains(&ratio(all.mean, waited.mean)), "{all:?} {waited:?}");
}
