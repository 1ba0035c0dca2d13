//! Delay with which a busy-waiting thread, which only reads the clock, notices given moments. Delays occur when the
//! core is taken from it by other threads or by the host of a virtual machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sockets::{run_queue_time, thread_cpu_time};
use stats::SplitMix64;

use crate::Figures;

const SEED: u64 = 1;
/// CPU time used by the other thread at a time.
const SLICE: Duration = Duration::from_micros(100);

/// `rate` random moments per second; with a second thread that uses this share of a core, if it is not 0.
pub fn run(rate: f64, seconds: f64, share: f64) -> Figures {
    let is_over = AtomicBool::new(false);
    let (mut late_us, queued) = thread::scope(|scope| {
        if share > 0.0 {
            scope.spawn(|| use_share(share.min(1.0), &is_over));
        }
        let moments = moments(rate, seconds);
        let queued_before = run_queue_time().unwrap_or_default();
        let late_us = wait_for_all(&moments);
        let queued = run_queue_time().unwrap_or_default().saturating_sub(queued_before);
        is_over.store(true, Ordering::Relaxed);
        (late_us, queued)
    });
    late_us.sort_by(f64::total_cmp);
    let quantile = |share: f64| {
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let rank = (share * late_us.len() as f64).ceil() as usize;
        late_us.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
    };
    vec![
        ("p50_us", quantile(0.5)),
        ("p99_us", quantile(0.99)),
        ("max_us", quantile(1.0)),
        ("queued_percent", queued.as_secs_f64() / seconds * 100.0),
    ]
}

/// A Poisson process: distances are −ln(u) ÷ rate, u uniform (Knuth, The Art of Computer Programming 2, 3.4.1).
fn moments(rate: f64, seconds: f64) -> Vec<Duration> {
    let (mut random, mut at_s, mut moments) = (SplitMix64::new(SEED), 0.0, Vec::new());
    loop {
        at_s -= random.share().ln() / rate;
        if at_s >= seconds {
            return moments;
        }
        moments.push(Duration::from_secs_f64(at_s));
    }
}

fn wait_for_all(moments: &[Duration]) -> Vec<f64> {
    let started = Instant::now();
    let mut late_us = Vec::with_capacity(moments.len());
    for &moment in moments {
        let mut now = started.elapsed();
        while now < moment {
            now = started.elapsed();
        }
        late_us.push((now - moment).as_secs_f64() * 1e6);
    }
    late_us
}

/// Uses this share of a core in slices, and sleeps in between.
fn use_share(share: f64, is_over: &AtomicBool) {
    let started = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        let enough = thread_cpu_time() + SLICE;
        while thread_cpu_time() < enough {}
        thread::sleep(thread_cpu_time().div_f64(share).saturating_sub(started.elapsed()));
    }
}
