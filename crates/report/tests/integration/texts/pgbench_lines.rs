//! What pgbench says while a run goes on: progress lines, and the lines of both logs, each in the combinations of
//! options that change them. Layouts are those of real runs of pgbench 15, with the field that came since.

use std::time::Duration;

use pgmeter_report::pgbench::{
    AggregateLog, Columns, LogFormat, ProgressClock, ProgressMeter, progress_line, transaction_line,
};
use stats::{Ending, Failure, Interval, Recorder, Sample, ScriptStats, Timestamp};

const NONE: Columns = Columns { lag: false, latency_limit: false, retries: false, failures_detailed: false };
const ALL: Columns = Columns { lag: true, latency_limit: true, retries: true, failures_detailed: true };

/// The run's zero, in the middle of a second.
const UNIX_AT_ZERO: Duration = Duration::new(1_795_273_573, 217_000_900);

fn at(us: u64) -> Timestamp {
    Timestamp::from_nanos(us * 1_000)
}

/// Scheduled, started, finished, in microseconds.
fn sample([scheduled, started, finished]: [u64; 3], tries: u32, ending: Ending) -> Sample {
    let [scheduled, started, finished] = [scheduled, started, finished].map(at);
    Sample {
        script: 1,
        scheduled,
        started,
        finished,
        tries,
        business: 1,
        ending,
        traffic: stats::Traffic::default(),
    }
}

/// Two that succeeded, one after a retry; each kind of failure, one after two retries; a skipped one; and one that the
/// end of the run caught. All within 10 ms after `begin_us`.
fn samples(begin_us: u64) -> Vec<Sample> {
    let moment = |us: u64| [begin_us + us; 3];
    let [begin, middle, end] = [1_000, 1_250, 3_000].map(|us| begin_us + us);
    vec![
        sample([begin, middle, end], 1, Ending::Succeeded),
        sample([begin, middle + 500, end + 3_000], 2, Ending::Succeeded),
        sample([begin, middle, end], 3, Ending::Failed(Failure::Serialization)),
        sample([begin, begin, end], 1, Ending::Failed(Failure::Deadlock)),
        sample([begin, begin, end], 1, Ending::Failed(Failure::Other)),
        sample(moment(8_000), 0, Ending::Skipped),
        sample([begin, middle, end], 2, Ending::Unfinished),
    ]
}

fn interval(samples: &[Sample]) -> Interval {
    let mut recorder = Recorder::new(2, None);
    samples.iter().for_each(|sample| recorder.record(sample));
    recorder.hand_over(at(0), at(1_000_000), Interval::new(2))
}

fn line(clock: ProgressClock, columns: Columns) -> String {
    let (elapsed, covered) = (Duration::from_millis(10_040), Duration::from_millis(4_000));
    progress_line(clock, elapsed, covered, &interval(&samples(0)).total(), &columns)
}

#[test]
fn a_progress_line_has_what_the_options_ask_for() {
    let plain = "progress: 10.0 s, 0.5 tps, lat 3.500 ms stddev 1.500, 3 failed";
    for (columns, more) in [
        (NONE, ""),
        (Columns { failures_detailed: true, ..NONE }, ""),
        (Columns { lag: true, ..NONE }, ", lag 0.500 ms"),
        (Columns { latency_limit: true, ..NONE }, ""),
        (Columns { lag: true, latency_limit: true, ..NONE }, ", lag 0.500 ms, 1 skipped"),
        (Columns { retries: true, ..NONE }, ", 3 retried, 4 retries"),
        (ALL, ", lag 0.500 ms, 1 skipped, 3 retried, 4 retries"),
    ] {
        assert_eq!(line(ProgressClock::SinceStart, columns), format!("{plain}{more}"));
    }
}

#[test]
fn a_progress_line_can_begin_with_the_time_of_the_epoch() {
    assert_eq!(
        line(ProgressClock::Unix { start: UNIX_AT_ZERO }, NONE),
        "progress: 1795273583.257 s, 0.5 tps, lat 3.500 ms stddev 1.500, 3 failed"
    );
}

#[test]
fn progress_without_transactions_is_all_zeros() {
    let nothing =
        progress_line(ProgressClock::SinceStart, Duration::ZERO, Duration::ZERO, &ScriptStats::new(), &ALL);
    assert_eq!(
        nothing,
        "progress: 0.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 0 failed, lag 0.000 ms, 0 skipped, 0 retried, 0 retries"
    );
}

#[test]
fn progress_lines_lie_on_a_grid_and_cover_all_since_the_last() {
    let mut meter = ProgressMeter::new(2, ProgressClock::SinceStart, NONE);
    let one = interval(&[sample([0, 0, 2_000], 1, Ending::Succeeded)]);
    let said: Vec<Option<String>> = [1_000, 2_000, 3_000, 3_999, 7_500, 8_000, 8_040]
        .map(|elapsed_ms| meter.take(Duration::from_millis(elapsed_ms), &one))
        .into();
    let line = |time: &str, tps: &str| {
        Some(format!("progress: {time} s, {tps} tps, lat 2.000 ms stddev 0.000, 0 failed"))
    };
    assert_eq!(said, [None, line("2.0", "1.0"), None, None, line("7.5", "0.5"), line("8.0", "2.0"), None]);
}

fn logged(columns: Columns) -> String {
    let format = LogFormat { columns, unix_at_zero: UNIX_AT_ZERO };
    let mut out = String::new();
    for (number, sample) in (1..).zip(samples(0)) {
        transaction_line(&format, 4, number, &sample, &mut out);
    }
    out
}

#[test]
fn each_transaction_has_a_line_unless_the_end_of_the_run_caught_it() {
    assert_eq!(
        logged(NONE),
        "\
4 1 2000 1 1795273573 220000
4 2 5000 1 1795273573 223000
4 3 failed 1 1795273573 220000
4 4 failed 1 1795273573 220000
4 5 failed 1 1795273573 220000
4 6 skipped 1 1795273573 225000
"
    );
}

#[test]
fn lag_retries_and_kinds_of_failure_are_logged_where_they_can_be() {
    assert_eq!(
        logged(ALL),
        "\
4 1 2000 1 1795273573 220000 250 0
4 2 5000 1 1795273573 223000 750 1
4 3 serialization 1 1795273573 220000 0 2
4 4 deadlock 1 1795273573 220000 0 0
4 5 other 1 1795273573 220000 0 0
4 6 skipped 1 1795273573 225000 0 0
"
    );
    let line = |columns| logged(columns).lines().next().map(str::to_owned);
    let with_lag = line(Columns { lag: true, ..NONE });
    assert_eq!(with_lag.as_deref(), Some("4 1 2000 1 1795273573 220000 250"));
    let with_retries = line(Columns { retries: true, ..NONE });
    assert_eq!(with_retries.as_deref(), Some("4 1 2000 1 1795273573 220000 0"));
    assert_eq!(line(Columns { latency_limit: true, ..NONE }), line(NONE));
}

#[test]
fn microseconds_of_the_time_are_not_padded() {
    let format = LogFormat { columns: NONE, unix_at_zero: Duration::new(1_795_273_573, 7_000) };
    let mut out = String::new();
    transaction_line(&format, 0, 1, &sample([0, 0, 5], 1, Ending::Succeeded), &mut out);
    assert_eq!(out, "0 1 5 1 1795273573 12\n");
}

/// Transactions in the first and the fourth second of a log by the second.
fn aggregate(columns: Columns) -> AggregateLogAndText {
    let format = LogFormat { columns, unix_at_zero: UNIX_AT_ZERO };
    let (mut log, mut text) = (AggregateLog::new(format, 1, at(100)), String::new());
    samples(0).iter().for_each(|sample| log.record(sample, &mut text));
    assert_eq!(text, "", "no interval is over");
    samples(3_000_000).iter().for_each(|sample| log.record(sample, &mut text));
    AggregateLogAndText { log, text }
}

struct AggregateLogAndText {
    log: AggregateLog,
    text: String,
}

#[test]
fn the_aggregated_log_has_a_line_for_each_interval_that_is_over_also_an_empty_one() {
    let AggregateLogAndText { mut log, mut text } = aggregate(ALL);
    log.advance(at(3_700_000), &mut text);
    assert_eq!(
        text,
        "\
1795273573 2 7000 29000000 2000 5000 1000 625000 250 750 1 2 3 1 1 1
1795273574 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
1795273575 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
"
    );
}

#[test]
fn the_interval_that_is_not_over_is_written_only_on_request() {
    let AggregateLogAndText { log, mut text } = aggregate(ALL);
    text.clear();
    log.finish(at(3_700_000), &mut text);
    assert_eq!(text, "1795273576 2 7000 29000000 2000 5000 1000 625000 250 750 1 2 3 1 1 1\n");
}

#[test]
fn fields_of_options_that_are_off_are_zero() {
    for (columns, expected) in [
        (NONE, "1795273573 2 7000 29000000 2000 5000 0 0 0 0 0 0 0 0 0 0"),
        (
            Columns { lag: true, ..NONE },
            "1795273573 2 7000 29000000 2000 5000 1000 625000 250 750 0 0 0 0 0 0",
        ),
        (Columns { latency_limit: true, ..NONE }, "1795273573 2 7000 29000000 2000 5000 0 0 0 0 1 0 0 0 0 0"),
        (Columns { retries: true, ..NONE }, "1795273573 2 7000 29000000 2000 5000 0 0 0 0 0 2 3 0 0 0"),
        (
            Columns { failures_detailed: true, ..NONE },
            "1795273573 2 7000 29000000 2000 5000 0 0 0 0 0 0 0 1 1 1",
        ),
    ] {
        assert_eq!(aggregate(columns).text.lines().next(), Some(expected), "{columns:?}");
    }
}

#[test]
fn intervals_of_several_seconds_begin_on_the_whole_second_before_the_start() {
    let format = LogFormat { columns: NONE, unix_at_zero: UNIX_AT_ZERO };
    let (mut log, mut text) = (AggregateLog::new(format, 5, at(2_000_000)), String::new());
    log.record(&sample([2_000_000, 2_000_000, 2_000_001], 1, Ending::Succeeded), &mut text);
    log.advance(at(6_782_999), &mut text);
    assert_eq!(text, "", "1795273579.999999 is within");
    log.advance(at(6_783_000), &mut text);
    assert_eq!(text, "1795273575 1 1 1 1 1 0 0 0 0 0 0 0 0 0 0\n");
}
