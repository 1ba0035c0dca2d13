//! Shares of waits by post-stratification. Sampling on the server's host misses running backends: the observer gets a
//! CPU when they do not run. The kernel's accounting has the exact time for which client backends ran and waited for a
//! CPU, so the samples only divide the time for which they slept.
//!
//! Cochran, Sampling Techniques, 3rd ed. 1977: 5A.9 (strata of known size), 6 (ratios, their errors). Pure.

use std::collections::BTreeMap;

use results::{ShareInterval, WaitMean, WaitMethod, WaitShare, Waits};
use stats::RatioEstimate;

use crate::event_names::{RUNNABLE, RUNNING, WaitEvent, owned};
use crate::waits::{Tally, rounded};

/// Average number of client backends in the strata that the kernel measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Strata {
    /// On a CPU.
    pub(crate) running: f64,
    /// Ready to run, without a CPU; `None` if the kernel does not measure it.
    pub(crate) runnable: Option<f64>,
}

/// Weights of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Weights {
    /// Each sample has weight 1.
    Samples,
    /// Samples of sleeping client backends have weight `asleep`. Each sample adds its part of the running time, which
    /// is known without sampling.
    PostStratified { asleep: f64, running: f64, runnable: f64 },
}

/// If more backends than this sleep without a sample, their activity is unknown.
const ASLEEP_UNSEEN_MAX: f64 = 0.05;

impl Weights {
    /// Weights with which the samples of a tally add up to the strata; `None` if there are no samples of sleeping
    /// backends.
    fn new(tally: &Tally, strata: &Strata) -> Option<Weights> {
        let looks = tally.looks as f64;
        let (asleep_seen, backends) = (tally.asleep() as f64 / looks, tally.clients() as f64 / looks);
        let Strata { running, runnable } = *strata;
        let runnable = runnable.unwrap_or(0.0);
        let asleep = (backends - running - runnable).max(0.0);
        if tally.looks == 0 || (asleep_seen == 0.0 && asleep > ASLEEP_UNSEEN_MAX) {
            return None;
        }
        // Without samples of sleeping backends there is nothing to weight: all samples show running backends.
        (asleep_seen > 0.0).then(|| Weights::PostStratified {
            asleep: asleep / asleep_seen,
            running: running / asleep_seen,
            runnable: runnable / asleep_seen,
        })
    }
}

/// Idle backends, and others by activity; weighted sums over samples.
#[derive(Clone, Debug, Default, PartialEq)]
struct Weighed {
    idle: f64,
    doing: BTreeMap<WaitEvent, f64>,
}

impl Weighed {
    fn new(tally: &Tally, weights: &Weights) -> Weighed {
        let mut weighed = Weighed::default();
        let mut add = |doing: WaitEvent, backends: f64| *weighed.doing.entry(doing).or_default() += backends;
        let of_waiting = match *weights {
            Weights::Samples => 1.0,
            Weights::PostStratified { asleep, running, runnable } => {
                let slept = tally.asleep() as f64;
                add(owned(RUNNING), running * slept);
                if runnable > 0.0 {
                    add(owned(RUNNABLE), runnable * slept);
                }
                asleep
            }
        };
        for (doing, seen) in &tally.doing {
            if *weights == Weights::Samples || !Tally::is_awake(doing) {
                add(doing.clone(), of_waiting * *seen as f64);
            }
        }
        // Parallel workers exit before their CPU time can be read, so their samples have weight 1.
        for (doing, seen) in &tally.workers {
            add(doing.clone(), *seen as f64);
        }
        weighed.idle = of_waiting * tally.idle as f64;
        weighed
    }

    /// Backends that were not idle.
    fn busy(&self) -> f64 {
        self.doing.values().sum()
    }
}

impl Tally {
    /// The stored form. The batches contain the same samples, in order of time.
    pub(crate) fn to_waits(
        &self,
        batches: &[Tally],
        strata: Option<&Strata>,
        source: &str,
        rate_hz: f64,
    ) -> Waits {
        let Shares { method, idle, idle_interval, top, scripts } = shares(self, batches, strata);
        Waits {
            source: source.to_owned(),
            rate_hz,
            looks: self.looks,
            backends_seen: self.busy() + self.idle,
            method,
            running_backends: strata.map(|strata| strata.running),
            runnable_backends: strata.and_then(|strata| strata.runnable),
            idle_share: idle,
            idle_interval,
            top,
            scripts,
        }
    }

    /// Idle backends, and others by activity: averages over the samples.
    pub(crate) fn means(&self, strata: Option<&Strata>) -> (f64, Vec<WaitMean>) {
        let Weighed { idle, doing } = means(self, strata);
        let wait =
            |((event_type, event), backends): (WaitEvent, f64)| WaitMean { event_type, event, backends };
        let mut waits: Vec<_> = doing.into_iter().map(wait).collect();
        waits.sort_by(|a, b| b.backends.total_cmp(&a.backends));
        (idle, waits)
    }
}

/// Average numbers of idle and other backends in one stretch of time.
fn means(tally: &Tally, strata: Option<&Strata>) -> Weighed {
    let weights = strata.and_then(|strata| Weights::new(tally, strata)).unwrap_or(Weights::Samples);
    let Weighed { idle, doing } = Weighed::new(tally, &weights);
    let looks = if tally.looks == 0 { 1.0 } else { tally.looks as f64 };
    let doing = doing.into_iter().map(|(doing, sum)| (doing, sum / looks)).collect();
    Weighed { idle: idle / looks, doing }
}

/// Shares of the whole measured time, with confidence intervals.
#[derive(Clone, Debug, PartialEq)]
struct Shares {
    method: WaitMethod,
    idle: f64,
    idle_interval: Option<ShareInterval>,
    /// Most frequent first; the sum is 1, or 0 without samples.
    top: Vec<WaitShare>,
    scripts: Vec<Vec<WaitShare>>,
}

/// Estimates the shares from all samples, and their errors from batches: consecutive samples are correlated, so the
/// error is that of a series, not of independent samples.
fn shares(whole: &Tally, batches: &[Tally], strata: Option<&Strata>) -> Shares {
    let weights = strata.and_then(|strata| Weights::new(whole, strata));
    let method = if weights.is_some() { WaitMethod::PostStratified } else { WaitMethod::Samples };
    let weights = weights.unwrap_or(Weights::Samples);
    let sum = Weighed::new(whole, &weights);
    let series: Vec<Weighed> = batches.iter().map(|batch| Weighed::new(batch, &weights)).collect();
    let busy: Vec<f64> = series.iter().map(Weighed::busy).collect();
    let interval_of = |doing: &WaitEvent| {
        let of: Vec<f64> =
            series.iter().map(|batch| batch.doing.get(doing).copied().unwrap_or(0.0)).collect();
        interval(&of, &busy)
    };
    let mut top = of_sums(&sum.doing, |doing| whole.seen(doing));
    for wait in &mut top {
        wait.interval = interval_of(&(wait.event_type.clone(), wait.event.clone()));
    }
    let idle: Vec<f64> = series.iter().map(|batch| batch.idle).collect();
    let all: Vec<f64> = series.iter().map(|batch| batch.idle + batch.busy()).collect();
    let backends = sum.idle + sum.busy();
    Shares {
        method,
        idle: if backends > 0.0 { sum.idle / backends } else { 0.0 },
        idle_interval: interval(&idle, &all),
        scripts: scripts(whole, &weights, &top),
        top,
    }
}

/// A shorter half of an interval is a rounding error.
const HALF_WIDTH_MIN: f64 = 1e-9;

/// `None` for a share that is the same in all batches, as one that the kernel alone measures: the samples then give no
/// variance.
fn interval(numerators: &[f64], denominators: &[f64]) -> Option<ShareInterval> {
    let RatioEstimate { ratio, half_width, .. } = RatioEstimate::of(numerators, denominators)?;
    let bound = |value: f64| value.clamp(0.0, 1.0);
    (half_width > HALF_WIDTH_MIN)
        .then(|| ShareInterval { low: bound(ratio - half_width), high: bound(ratio + half_width) })
}

/// The same per script. With several scripts, the running time is divided in proportion to the running samples; with
/// one script it is exact.
fn scripts(whole: &Tally, weights: &Weights, top: &[WaitShare]) -> Vec<Vec<WaitShare>> {
    let awake = |script: &BTreeMap<WaitEvent, f64>| -> f64 {
        script.iter().filter(|(doing, _)| Tally::is_awake(doing)).map(|(_, seen)| seen).sum()
    };
    let all_awake: f64 = whole.scripts.iter().map(awake).sum();
    let of_script = |script: &BTreeMap<WaitEvent, f64>| {
        if script.is_empty() {
            return Vec::new();
        }
        let seen = |doing: &WaitEvent| rounded(script.get(doing).copied().unwrap_or(0.0));
        if rounded(script.values().sum()) == whole.busy() {
            return top.to_vec();
        }
        let Weights::PostStratified { asleep, running, runnable } = *weights else {
            return of_sums(script, seen);
        };
        let mut sums: BTreeMap<WaitEvent, f64> = script.clone();
        sums.retain(|doing, _| !Tally::is_awake(doing));
        sums.values_mut().for_each(|seen| *seen *= asleep);
        if all_awake > 0.0 {
            let part = awake(script) / all_awake * whole.asleep() as f64;
            sums.insert(owned(RUNNING), running * part);
            sums.insert(owned(RUNNABLE), runnable * part);
        }
        of_sums(&sums, seen)
    };
    whole.scripts.iter().map(of_script).collect()
}

fn of_sums(sums: &BTreeMap<WaitEvent, f64>, seen: impl Fn(&WaitEvent) -> u64) -> Vec<WaitShare> {
    let all: f64 = sums.values().sum();
    let mut sorted: Vec<_> = sums.iter().filter(|(_, sum)| **sum > 0.0).collect();
    sorted.sort_by(|a, b| b.1.total_cmp(a.1));
    let share = |(doing, sum): (&WaitEvent, &f64)| WaitShare {
        event_type: doing.0.clone(),
        event: doing.1.clone(),
        seen: seen(doing),
        share: if all > 0.0 { sum / all } else { 0.0 },
        interval: None,
    };
    sorted.into_iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripts::{Matcher, Script};
    use crate::waits::Seen;

    const SYNC: (&str, &str) = ("IO", "WalSync");
    const LOCK: (&str, &str) = ("Lock", "tuple");

    fn seen(doing: Option<(&str, &str)>, backends: u64) -> Seen {
        Seen { doing: doing.map(owned), statement: None, is_worker: false, backends }
    }

    fn matcher(texts: &[&str]) -> Matcher {
        let script = |text: &&str| Script { weight: 1, commands: vec![Some((*text).to_owned())] };
        Matcher::new(&texts.iter().map(script).collect::<Vec<_>>())
    }

    fn tally(looks: &[Vec<Seen>], matcher: &Matcher) -> Tally {
        let mut tally = Tally::default();
        looks.iter().for_each(|look| tally.count(look, matcher));
        tally
    }

    fn share_of(shares: &[WaitShare], event: &str) -> f64 {
        shares.iter().find(|wait| wait.event == event).map_or(0.0, |wait| wait.share)
    }

    /// Of 8 backends, 2 wait for a flush, 1 for a lock, and 5 are idle or running; `running` of these are sampled as
    /// running.
    fn looks(running: u64) -> Vec<Vec<Seen>> {
        let look = vec![
            seen(None, 5 - running),
            seen(Some(SYNC), 2),
            seen(Some(LOCK), 1),
            seen(Some(RUNNING), running),
        ];
        vec![look; 10]
    }

    #[test]
    fn the_running_share_is_that_of_the_cpu_time_and_the_samples_divide_the_rest() {
        let strata = Strata { running: 1.4, runnable: Some(0.6) };
        let biased = tally(&looks(0), &matcher(&["x"]));
        let Shares { method, idle, top, scripts, .. } = shares(&biased, &[], Some(&strata));
        assert_eq!(method, WaitMethod::PostStratified);
        // Six sleep: 6 · 5/8 idle, 6 · 2/8 at a flush, 6 · 1/8 at a lock; so 4.25 are not idle.
        assert!((idle - 3.75 / 8.0).abs() < 1e-9, "{idle}");
        for (event, backends) in [("running", 1.4), ("runnable", 0.6), ("WalSync", 1.5), ("tuple", 0.75)] {
            assert!((share_of(&top, event) - backends / 4.25).abs() < 1e-9, "{event}: {top:?}");
        }
        assert_eq!(scripts, std::slice::from_ref(&top));
        let counts: Vec<_> = top.iter().map(|wait| (wait.event.as_str(), wait.seen)).collect();
        assert_eq!(counts, [("WalSync", 20), ("running", 0), ("tuple", 10), ("runnable", 0)]);
        let Weighed { idle, doing } = means(&biased, Some(&strata));
        assert!((idle + doing.values().sum::<f64>() - 8.0).abs() < 1e-9, "all backends are somewhere");
    }

    #[test]
    fn shares_that_the_kernel_alone_measures_have_no_interval() {
        let matcher = matcher(&["x"]);
        // Who sleeps is idle, in any number, so the samples say nothing of who runs.
        let batch = |idle: u64| tally(&[vec![seen(None, idle)]], &matcher);
        let batches: Vec<Tally> = (0..40).map(|number| batch(1 + number % 3)).collect();
        let mut whole = Tally::default();
        batches.iter().for_each(|batch| whole.merge(batch));
        let strata = Strata { running: 0.7, runnable: Some(0.3) };
        let Shares { top, idle_interval, .. } = shares(&whole, &batches, Some(&strata));
        let intervals: Vec<_> = top.iter().map(|wait| wait.interval).collect();
        assert_eq!((intervals.as_slice(), idle_interval), (&[None, None][..], None), "{top:?}");
    }

    #[test]
    fn without_the_kernels_accounting_shares_are_those_of_the_samples() {
        let plain = tally(&looks(1), &matcher(&["x"]));
        let Shares { method, idle, top, .. } = shares(&plain, &[], None);
        assert_eq!((method, idle), (WaitMethod::Samples, 0.5));
        assert!(
            (share_of(&top, "WalSync") - 0.5).abs() < 1e-9 && (share_of(&top, "running") - 0.25).abs() < 1e-9
        );
    }

    #[test]
    fn what_no_sample_saw_sleeping_cannot_be_divided() {
        let always = tally(&vec![vec![seen(Some(RUNNING), 4)]; 10], &matcher(&["x"]));
        let strata = Strata { running: 2.0, runnable: None };
        assert_eq!(shares(&always, &[], Some(&strata)).method, WaitMethod::Samples);
        assert_eq!(shares(&Tally::default(), &[], Some(&strata)).top, []);
    }

    #[test]
    fn more_cpu_time_than_backends_leaves_nothing_to_sleep() {
        let strata = Strata { running: 8.1, runnable: Some(0.2) };
        let Shares { idle, top, .. } = shares(&tally(&looks(2), &matcher(&["x"])), &[], Some(&strata));
        assert_eq!((idle, share_of(&top, "WalSync")), (0.0, 0.0));
        assert!((top.iter().map(|wait| wait.share).sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn samples_of_parallel_workers_stand_for_themselves() {
        let mut looks = looks(0);
        for look in &mut looks {
            look.push(Seen { is_worker: true, ..seen(Some(RUNNING), 3) });
        }
        let strata = Strata { running: 1.4, runnable: Some(0.6) };
        let Weighed { doing, .. } = means(&tally(&looks, &matcher(&["x"])), Some(&strata));
        assert!((doing[&owned(RUNNING)] - 4.4).abs() < 1e-9, "{doing:?}");
        assert!((doing[&owned(SYNC)] - 1.5).abs() < 1e-9, "{doing:?}");
    }

    #[test]
    fn each_script_has_its_part_of_the_running_time() {
        let of = |text: &str, doing, backends| Seen {
            statement: Some(text.to_owned()),
            ..seen(Some(doing), backends)
        };
        let look = vec![
            of("select a", RUNNING, 3),
            of("select b", RUNNING, 1),
            of("select b", SYNC, 1),
            seen(None, 1),
        ];
        let both = tally(&vec![look; 10], &matcher(&["select a", "select b"]));
        let Shares { scripts, .. } = shares(&both, &[], Some(&Strata { running: 2.0, runnable: Some(2.0) }));
        assert!((share_of(&scripts[0], "running") - 0.5).abs() < 1e-9, "{scripts:?}");
        // Half a backend ran for it, half of one was runnable, one waited for a flush.
        assert!((share_of(&scripts[1], "WalSync") - 0.5).abs() < 1e-9, "{scripts:?}");
    }

    /// Uniform numbers from 0 to 1, from a seed (Knuth's multiplier of MMIX).
    fn uniform(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = (*state >> 33) as f64;
        number / f64::from(1_u32 << 31)
    }

    #[test]
    fn intervals_hold_the_true_share_though_neighbouring_looks_see_the_same_waits() {
        let (mut held, rounds) = (0, 200);
        let strata = Strata { running: 1.0, runnable: Some(0.0) };
        let matcher = matcher(&["x"]);
        for round in 0..rounds {
            let mut state = round;
            // Each of 9 backends runs 1/9 of the time and is rarely sampled while running; a wait lasts 20 samples on
            // average.
            let mut in_sync: Vec<bool> = (0..9).map(|_| uniform(&mut state) < 0.25).collect();
            let batches: Vec<Tally> = (0..80)
                .map(|_| {
                    let mut batch = Tally::default();
                    for _ in 0..5 {
                        for is_sync in &mut in_sync {
                            if uniform(&mut state) < 0.05 {
                                *is_sync = uniform(&mut state) < 0.25;
                            }
                        }
                        let syncing = in_sync.iter().filter(|is_sync| **is_sync).count() as u64;
                        batch.count(&[seen(Some(SYNC), syncing), seen(Some(LOCK), 9 - syncing)], &matcher);
                    }
                    batch
                })
                .collect();
            let mut whole = Tally::default();
            batches.iter().for_each(|batch| whole.merge(batch));
            let Shares { top, .. } = shares(&whole, &batches, Some(&strata));
            let sync =
                top.iter().find(|wait| wait.event == "WalSync").and_then(|wait| wait.interval).unwrap();
            let truth = 8.0 / 9.0 * 0.25;
            held += u32::from(sync.low <= truth && truth <= sync.high);
        }
        assert!((180..=200).contains(&held), "{held} of {rounds} 95 % intervals held the true share");
    }
}
