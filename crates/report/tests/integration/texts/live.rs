//! What is watched while a run goes on, drawn or scraped: each test is a moment of a run and all that is shown of it.
//! Not when it is drawn, nor who asks for it, which is the binary's affair.

use std::time::Duration;

use pgmeter_report::{LiveSample, LiveView, Metrics, Phase, SoFar, TextStyle, live_view, open_metrics};
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

fn measuring() -> LiveView {
    LiveView {
        title: "tpcb-like, 8 clients".to_owned(),
        second: second(Phase::Measuring),
        done_share: Some(1.0 / 3.0),
        left: Some(Duration::from_secs(40)),
        tps_history: vec![1_180.0, 1_240.0, 300.0, 1_234.0],
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
      throughput 1,234 tps, 1,198 so far
                 ██▃█
      latency    last second  p50 6.48 ms  p90 9.72 ms  p99 19.4 ms  max  130 ms
                 so far       p50 6.66 ms  p90 9.98 ms  p99 20.0 ms  max  133 ms
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
      throughput 1,234 tps
                 ██▃█
      latency    last second  p50 6.48 ms  p90 9.72 ms  p99 19.4 ms  max  130 ms
    ");
}

#[test]
fn an_open_loop_shows_its_lag_and_an_endless_run_no_bar() {
    let mut view = LiveView { done_share: None, left: None, ..measuring() };
    view.second = LiveSample { lag_us: Some(612.0), response_us: None, tps: 0.0, ..view.second };
    insta::assert_snapshot!(shown(&view), @r"
    tpcb-like, 8 clients: measuring
                 20 s
      throughput 0 tps, 1,198 so far
                 ██▃█
      latency    last second  no transaction succeeded
                 so far       p50 6.66 ms  p90 9.98 ms  p99 20.0 ms  max  133 ms
      failures   30 failed, 12 retried
      lag        612 µs on average, from due to begun
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
