//! What is watched while a run goes on, drawn or scraped: each test is a moment of a run and all that is shown of it.
//! Not when it is drawn, nor who asks for it, which is the binary's affair.

use std::time::Duration;

use pgmeter_output::{
    LiveSample, LiveSecond, LiveView, Metrics, Phase, SoFar, live_line, live_view, open_metrics,
};
use report::TextStyle;
use results::{Counts, Latency};
use stats::{Ending, Recorder, Sample, ScriptStats, Timestamp};

const WIDE: TextStyle = TextStyle { colour: false, width: 90 };

fn latency(p50: f64) -> Latency {
    let (p90, p99, p999) = (p50 * 1.5, p50 * 3.0, p50 * 9.0);
    Latency { mean: p50, stddev: p50, min: 1.0, p50, p90, p95: p90, p99, p999, max: p50 * 20.0 }
}

fn second(phase: Phase) -> LiveSample {
    LiveSample {
        elapsed: Duration::from_secs(20),
        phase,
        tps: 1_234.0,
        response_us: Some(latency(6_482.0)),
        failed: 0,
        skipped: 0,
        late: None,
        lag_us: None,
    }
}

fn of_minute((tps, p99_us): (f64, f64)) -> LiveSecond {
    LiveSecond { tps, p99_us: Some(p99_us), lag_us: None }
}

fn measuring() -> LiveView {
    LiveView {
        title: "tpcb-like, 8 clients".to_owned(),
        second: second(Phase::Measuring),
        done_share: Some(1.0 / 3.0),
        left: Some(Duration::from_secs(40)),
        last_minute: [(1_180.0, 18e3), (1_240.0, 18e3), (300.0, 90e3), (1_234.0, 19.4e3)]
            .map(of_minute)
            .into(),
        so_far: Some(SoFar {
            tps: 1_198.5,
            response_us: Some(latency(6_655.0)),
            counts: Counts {
                scheduled: 24_000,
                succeeded: 23_970,
                failed: 30,
                retried: 12,
                ..Counts::default()
            },
        }),
        waits: vec![
            ("LWLock WALWrite".to_owned(), 0.41),
            ("IO WalSync".to_owned(), 0.22),
            ("CPU".to_owned(), 0.2),
        ],
    }
}

fn shown(view: &LiveView) -> String {
    live_view(view, &WIDE).join("\n")
}

#[test]
fn what_is_watched_of_a_run_that_is_measured() {
    insta::assert_snapshot!(shown(&measuring()), @r"
    tpcb-like, 8 clients: measuring
                 ━━━━━━━━━━────────────────────  33 %, 20 s, 40 s left
      throughput 1,234 tps, 1,198 so far; 300.0 to 1,240 in the last minute
                 ██▃█
      latency    last second  p50 6.48 ms  p90 9.72 ms  p99 19.4 ms  max  130 ms
                 so far       p50 6.66 ms  p90 9.98 ms  p99 20.0 ms  max  133 ms
      p99        18.0 ms to 90.0 ms in the last minute
                 ▂▂█▃
      failures   30 failed, 12 retried
      waits      LWLock WALWrite 41 %  IO WalSync 22 %  CPU 20 %
    ");
}

#[test]
fn a_warm_up_has_no_figures_that_count_yet() {
    let view = LiveView { second: second(Phase::WarmUp), so_far: None, waits: Vec::new(), ..measuring() };
    insta::assert_snapshot!(shown(&view), @r"
    tpcb-like, 8 clients: warming up
                 ━━━━━━━━━━────────────────────  33 %, 20 s, 40 s left
      throughput 1,234 tps; 300.0 to 1,240 in the last minute
                 ██▃█
      latency    last second  p50 6.48 ms  p90 9.72 ms  p99 19.4 ms  max  130 ms
      p99        18.0 ms to 90.0 ms in the last minute
                 ▂▂█▃
    ");
}

#[test]
fn an_open_loop_shows_its_lag_and_an_endless_run_no_bar() {
    let mut view = LiveView { done_share: None, left: None, ..measuring() };
    view.second = LiveSample { lag_us: Some(612.0), response_us: None, tps: 0.0, ..view.second };
    view.last_minute.iter_mut().for_each(|second| second.lag_us = Some(612.0));
    view.last_minute.push(LiveSecond { tps: 0.0, p99_us: None, lag_us: None });
    insta::assert_snapshot!(shown(&view), @r"
    tpcb-like, 8 clients: measuring
                 20 s
      throughput 0 tps, 1,198 so far; 0 to 1,240 in the last minute
                 ██▃█▁
      latency    last second  no transaction succeeded
                 so far       p50 6.66 ms  p90 9.98 ms  p99 20.0 ms  max  133 ms
      p99        18.0 ms to 90.0 ms in the last minute
                 ▂▂█▃
      lag        612 µs on average, from due to begun; 612 µs to 612 µs in the last minute
                 ████
      failures   30 failed, 12 retried
      waits      LWLock WALWrite 41 %  IO WalSync 22 %  CPU 20 %
    ");
}

#[test]
fn no_line_is_wider_than_the_terminal_whatever_the_script_is_called() {
    let title = "\u{1b}[2J".to_owned() + &"long-name ".repeat(30);
    let view = LiveView { title, ..measuring() };
    for width in [20, 40, 79] {
        let lines = live_view(&view, &TextStyle { colour: false, width });
        assert!(lines.iter().all(|line| line.chars().count() < width), "{width}: {lines:#?}");
        assert!(!lines.concat().contains('\u{1b}'));
    }
}

/// Two transactions of 1.5 and 2.5 ms, one that failed, one that was skipped.
fn script() -> ScriptStats {
    let mut recorder = Recorder::new(1, None);
    let endings = [
        (1_500_000, Ending::Succeeded),
        (2_500_000, Ending::Succeeded),
        (900_000, Ending::Failed(stats::Failure::Deadlock)),
        (0, Ending::Skipped),
    ];
    for (took_ns, ending) in endings {
        let now = Timestamp::ZERO;
        let finished = Timestamp::from_nanos(took_ns);
        recorder.record(&Sample {
            script: 0,
            scheduled: now,
            started: now,
            finished,
            tries: 1,
            business: 1,
            ending,
            traffic: stats::Traffic::default(),
        });
    }
    let end = Timestamp::from_nanos(1_000_000_000);
    recorder.hand_over(Timestamp::ZERO, end, stats::Interval::new(1)).scripts.remove(0)
}

#[test]
fn metrics_are_in_the_text_format_of_open_metrics() {
    let script = script();
    let text = open_metrics(&Metrics {
        version: "0.1.0",
        protocol: "prepared",
        clients: 8,
        measured: Duration::from_millis(1_000),
        warmup: false,
        tps: 2.0,
        scripts: vec![("a \"b\"\\\n.sql", &script)],
        waits: vec![("Lock", "transactionid", 1.25)],
    });
    insta::assert_snapshot!(text);
}

fn latencies(mean: f64, stddev: f64, [p50, p90, p99, p999, max]: [f64; 5]) -> Latency {
    Latency { mean, stddev, min: p50 / 3.0, p50, p90, p95: p90, p99, p999, max }
}

fn tpcb_us() -> Latency {
    latencies(6_482.113, 2_104.9, [6_119.423, 8_904.703, 13_402.111, 25_100.287, 48_311.002])
}

fn select_us() -> Latency {
    latencies(61.238, 20.4, [58.111, 80.2, 141.9, 402.4, 25_131.9])
}

fn second_of(elapsed_s: u64, phase: Phase, tps: f64, response_us: Option<Latency>) -> LiveSample {
    let elapsed = Duration::from_secs(elapsed_s);
    LiveSample { elapsed, phase, tps, response_us, failed: 0, skipped: 0, late: None, lag_us: None }
}

fn lines(samples: &[LiveSample]) -> String {
    samples.iter().map(live_line).collect::<Vec<_>>().join("\n")
}

#[test]
fn progress_lines_stand_under_each_other() {
    let failed = LiveSample { failed: 3, ..second_of(9, Phase::Measuring, 988.2, Some(tpcb_us())) };
    insta::assert_snapshot!(lines(&[
        second_of(1, Phase::WarmUp, 998.7, Some(tpcb_us())),
        second_of(2, Phase::WarmUp, 12_343.1, Some(select_us())),
        second_of(1, Phase::Measuring, 1_234.5, Some(tpcb_us())),
        failed,
        second_of(10, Phase::Measuring, 0.0, None),
        second_of(3600, Phase::Measuring, 123_456.7, Some(select_us())),
    ]), @r#"
      1 s   998.7 tps  mean 6.48 ms  p50 6.12 ms  p99 13.4 ms  0 failed  warm-up
      2 s  12,343 tps  mean 61.2 µs  p50 58.1 µs  p99  142 µs  0 failed  warm-up
      1 s   1,234 tps  mean 6.48 ms  p50 6.12 ms  p99 13.4 ms  0 failed
      9 s   988.2 tps  mean 6.48 ms  p50 6.12 ms  p99 13.4 ms  3 failed
     10 s       0 tps  mean    -     p50    -     p99    -     0 failed
    3600 s 123,457 tps  mean 61.2 µs  p50 58.1 µs  p99  142 µs  0 failed
    "#);
}

#[test]
fn progress_under_a_rate_shows_the_lag() {
    let on_time =
        LiveSample { lag_us: Some(12.4), ..second_of(1, Phase::Measuring, 1_499.8, Some(tpcb_us())) };
    let behind = LiveSample {
        lag_us: Some(1_204_000.0),
        skipped: 1_480,
        ..second_of(2, Phase::Measuring, 20.0, None)
    };
    let warming_up = LiveSample { phase: Phase::WarmUp, ..on_time.clone() };
    insta::assert_snapshot!(lines(&[warming_up, on_time, behind]), @r#"
    1 s   1,500 tps  mean 6.48 ms  p50 6.12 ms  p99 13.4 ms  0 failed  warm-up
    1 s   1,500 tps  mean 6.48 ms  p50 6.12 ms  p99 13.4 ms  lag 12.4 µs  0 failed
    2 s   20.00 tps  mean    -     p50    -     p99    -     lag  1.20 s  0 failed, 1,480 skipped
    "#);
}

#[test]
fn progress_under_a_latency_limit_shows_late_and_skipped_transactions() {
    let on_time = LiveSample {
        late: Some(0),
        lag_us: Some(12.4),
        ..second_of(1, Phase::Measuring, 299.8, Some(tpcb_us()))
    };
    let late = LiveSample { late: Some(159), skipped: 141, ..on_time.clone() };
    let failing = LiveSample { late: Some(7), failed: 12, ..on_time.clone() };
    insta::assert_snapshot!(lines(&[on_time, late, failing]), @r#"
    1 s   299.8 tps  p50 6.12 ms  p99 13.4 ms  lag 12.4 µs  0 failed
    1 s   299.8 tps  p50 6.12 ms  p99 13.4 ms  lag 12.4 µs  141 skipped, 159 late
    1 s   299.8 tps  p50 6.12 ms  p99 13.4 ms  lag 12.4 µs  12 failed, 7 late
    "#);
}
