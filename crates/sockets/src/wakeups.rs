//! Compensates late wake-ups: the system wakes a sleeping thread some microseconds late, tens of microseconds in a
//! virtual machine. A driver sleeps shorter by the usual lateness, which is estimated from the sleeps themselves, and
//! polls for the remaining time. A budget limits the share of polling.

use std::time::Duration;

use stats::Timestamp;

use crate::clock::thread_cpu_time;

/// Maximum duration of polling per wait, because other threads may need the core.
const LEAD_MAX_NS: f64 = 80_000.0;
/// Weights of a new observation in the mean and in the deviation. The estimate, mean plus twice the deviation, follows
/// TCP's retransmission timeout (Jacobson, Congestion Avoidance and Control, 1988).
const MEAN_WEIGHT: f64 = 0.125;
const DEVIATION_WEIGHT: f64 = 0.25;
const DEVIATIONS: f64 = 2.0;
/// Reciprocal of the budget's share of time for polling.
const POLLING_SHARE: u32 = 10;
/// Maximum unused budget: sufficient for a dozen wake-ups.
const BUDGET_MAX: Duration = Duration::from_millis(1);

/// Estimated lateness of wake-ups, and the polling time it caused.
#[derive(Debug, Default)]
pub struct Wakeups {
    mean_ns: f64,
    deviation_ns: f64,
    polled: Duration,
    /// The thread's CPU time at the last poll of the current wait.
    cpu_at_poll: Option<Duration>,
    budget: Option<Budget>,
}

/// Budget for polling.
#[derive(Debug)]
struct Budget {
    left: Duration,
    /// Time up to which the budget has been granted.
    given_until: Timestamp,
}

impl Budget {
    fn give(&mut self, now: Timestamp) {
        let earned = now.since(self.given_until) / POLLING_SHARE;
        self.given_until = now;
        self.left = (self.left + earned).min(BUDGET_MAX);
    }
}

impl Wakeups {
    /// Limits polling to a tenth of the time from `now` on. With frequent deadlines, the thread sleeps instead of
    /// polling permanently, which would take a core from others.
    pub fn with_budget(now: Timestamp) -> Self {
        Self { budget: Some(Budget { left: BUDGET_MAX, given_until: now }), ..Self::default() }
    }

    /// Sleep time before a deadline after this time; zero means polling.
    #[inline]
    pub fn sleep(&self, until_due: Duration) -> Duration {
        let is_spent = self.budget.as_ref().is_some_and(|budget| budget.left.is_zero());
        if is_spent { until_due } else { until_due.saturating_sub(self.lead()) }
    }

    /// Starts a wait: work since the previous wait does not count as polling.
    #[inline]
    pub fn begin(&mut self, now: Timestamp) {
        self.cpu_at_poll = None;
        if let Some(budget) = &mut self.budget {
            budget.give(now);
        }
    }

    /// Records a wait without events from `from` to `woke`, with this sleep time; zero means polling. Polling is
    /// measured in CPU time of the thread, which excludes waiting for a core.
    pub fn nothing_happened(&mut self, from: Timestamp, sleep: Duration, woke: Timestamp) {
        if sleep.is_zero() {
            let cpu = thread_cpu_time();
            let before = self.cpu_at_poll.replace(cpu).unwrap_or(cpu);
            let polled = cpu.saturating_sub(before);
            self.polled += polled;
            if let Some(budget) = &mut self.budget {
                budget.left = budget.left.saturating_sub(polled);
            }
            // Lets other threads on this core run first, such as the server's.
            rustix::thread::sched_yield();
        } else if woke >= from + sleep {
            self.woke(from + sleep, woke);
        }
    }

    /// Records a sleep that should have ended at `asked` and ended at `woke`.
    fn woke(&mut self, asked: Timestamp, woke: Timestamp) {
        // Limits a single long delay, which would otherwise affect the estimate for a long time.
        let late_ns = (woke.since(asked).as_nanos() as f64).min(2.0 * LEAD_MAX_NS);
        let error_ns = late_ns - self.mean_ns;
        self.mean_ns += MEAN_WEIGHT * error_ns;
        self.deviation_ns += DEVIATION_WEIGHT * (error_ns.abs() - self.deviation_ns);
    }

    /// CPU time spent on polling before a deadline, a lower bound: the thread had no work, but appears busy to the
    /// system.
    pub fn polled(&self) -> Duration {
        self.polled
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and a small constant"
    )]
    fn lead(&self) -> Duration {
        let lead_ns = self.mean_ns + DEVIATIONS * self.deviation_ns;
        Duration::from_nanos(lead_ns.clamp(0.0, LEAD_MAX_NS) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(late_us: impl IntoIterator<Item = u64>) -> Wakeups {
        let mut wakeups = Wakeups::default();
        for late_us in late_us {
            let (begun, sleep) = (Timestamp::from_nanos(1_000_000_000), Duration::from_micros(100));
            wakeups.nothing_happened(begun, sleep, begun + sleep + Duration::from_micros(late_us));
        }
        wakeups
    }

    #[test]
    fn who_is_woken_on_time_sleeps_all_the_time() {
        let due = Duration::from_micros(500);
        assert_eq!(Wakeups::default().sleep(due), due);
        assert_eq!(after([0; 100]).sleep(due), due);
    }

    #[test]
    fn who_is_woken_late_as_a_rule_sleeps_that_much_less() {
        let slept = after([30; 100]).sleep(Duration::from_micros(500));
        assert!((468..=471).contains(&slept.as_micros()), "{slept:?}");
        assert_eq!(
            after([30; 100]).sleep(Duration::from_micros(20)),
            Duration::ZERO,
            "too near to sleep at all"
        );
    }

    #[test]
    fn a_machine_that_is_very_late_is_not_polled_on_for_long() {
        let due = Duration::from_millis(50);
        assert_eq!(due - after([20_000; 100]).sleep(due), Duration::from_micros(80));
    }

    #[test]
    fn polls_are_counted_by_the_cpu_time_they_take_and_not_by_the_clock() {
        let (begun, later) = (Timestamp::from_nanos(0), Timestamp::from_nanos(3_600_000_000_000));
        let mut wakeups = Wakeups::default();
        let before = thread_cpu_time();
        while thread_cpu_time() < before + Duration::from_millis(1) {
            wakeups.nothing_happened(begun, Duration::ZERO, later);
        }
        let (polled, used) = (wakeups.polled(), thread_cpu_time() - before);
        assert!(!polled.is_zero() && polled <= used, "{polled:?} of {used:?}");
        wakeups.begin(later);
        wakeups.nothing_happened(begun, Duration::ZERO, later);
        assert_eq!(wakeups.polled(), polled, "what lies between two waits is no polling");
    }

    #[test]
    fn a_sleep_that_a_signal_ended_is_no_observation() {
        let (begun, later) = (Timestamp::from_nanos(1_000), Timestamp::from_nanos(51_000));
        let mut wakeups = Wakeups::default();
        wakeups.nothing_happened(begun, Duration::from_millis(1), later);
        assert_eq!(wakeups.sleep(Duration::from_millis(1)), Duration::from_millis(1));
    }

    #[test]
    fn a_machine_that_has_calmed_down_is_trusted_again() {
        let due = Duration::from_millis(1);
        let lead = due - after([20_000; 5].into_iter().chain([5; 60])).sleep(due);
        assert!(lead < Duration::from_micros(8), "{lead:?}");
    }

    #[test]
    fn a_budget_that_is_spent_is_earned_again() {
        let at = Timestamp::from_nanos;
        let late = after([30; 100]);
        let mut wakeups = Wakeups { mean_ns: late.mean_ns, ..Wakeups::with_budget(at(0)) };
        let due = Duration::from_micros(100);
        assert!(wakeups.sleep(due) < due);
        let budget = wakeups.budget.as_mut().expect("there is one");
        budget.left = Duration::ZERO;
        assert_eq!(wakeups.sleep(due), due);
        wakeups.begin(at(1_000_000));
        assert!(wakeups.sleep(due) < due);
        wakeups.begin(at(2_000_000_000));
        assert_eq!(wakeups.budget.expect("there is one").left, BUDGET_MAX);
    }
}
