//! Why the load generator was late in a run whose verdict is that it was the limit: because of its own work, because it
//! shares the CPUs with the server, or because of something else on its machine. Pure, for searches, which repeat a load
//! that other programs have disturbed.

use crate::processor_use::{OTHERS_SHARE_MAX, others_share};
use crate::{Evidence, LimitedBy, Record};

/// Share of time that a worker must need for the rate before its own work can be the limit.
const NEEDED_MIN: f64 = 0.75;
/// Share of the time of commands from which those of a shell are the limit.
const SHELL_MIN: f64 = 0.5;
/// Share of CPU time that a hypervisor may take without being the cause.
const STOLEN_MAX: f64 = 0.05;

/// Why the load generator was late.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum LateGenerator {
    /// Its own work: the rate needs most of its time, its scripts wait for a shell, or it reached its calibrated
    /// maximum.
    Itself,
    /// It waited for CPUs that the server used: the machine of both was at its limit.
    SharedCpus,
    /// Other programs, the hypervisor or a single pause: the next load may be different.
    Machine,
}

impl LateGenerator {
    /// Of a complete record; `None` if the generator was not the limit.
    pub fn of(record: &Record) -> Option<LateGenerator> {
        let generator = record.summary.generator.as_ref()?;
        // Commands of a shell block a worker, whatever the rate that was reached says.
        if generator.commands.shell_share >= SHELL_MIN {
            return Some(LateGenerator::Itself);
        }
        if generator.verdict.limit != LimitedBy::Generator {
            return None;
        }
        let busiest = generator.workers.iter().max_by(|a, b| a.busy_share().total_cmp(&b.busy_share()))?;
        // A worker that did less than the rate asks for would have to run for longer.
        let ran = (record.summary.counts.succeeded + record.summary.counts.failed) as f64;
        let done_tps = ran / record.summary.duration_s.max(f64::MIN_POSITIVE);
        let missing = record.plan.rate_tps.map_or(1.0, |rate| rate / done_tps.max(f64::MIN_POSITIVE));
        let needed = busiest.cpu_share * missing.max(1.0);
        let stolen = record.environment.conditions.processors.map_or(0.0, |shares| shares.stolen);
        let is_disturbed = others_share(record).is_some_and(|share| share > OTHERS_SHARE_MAX);
        let waited = busiest.run_queue_share.unwrap_or(0.0);
        let evidence = &generator.verdict.evidence;
        Some(cause(evidence, (busiest.cpu_share, waited), needed, is_disturbed || stolen > STOLEN_MAX))
    }
}

/// From the shares of time that the busiest worker ran and waited for a core, the share that it needs for the rate, and
/// whether others used the CPUs.
fn cause(evidence: &Evidence, (ran, waited): (f64, f64), needed: f64, is_disturbed: bool) -> LateGenerator {
    let is_itself = match evidence {
        Evidence::NothingSent
        | Evidence::Shell { .. }
        | Evidence::CalibratedMaximum { .. }
        | Evidence::CalibratedFloor { .. } => true,
        Evidence::OwnTime { .. } => ran >= waited || needed >= NEEDED_MIN,
        _ => needed >= NEEDED_MIN,
    };
    match evidence {
        _ if is_itself => LateGenerator::Itself,
        // One pause, of which nothing else is known.
        Evidence::LateOnce { .. } => LateGenerator::Machine,
        _ if is_disturbed => LateGenerator::Machine,
        _ => LateGenerator::SharedCpus,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_work_makes_pgmeter_the_limit_and_a_disturbed_load_is_told_from_shared_cpus() {
        let late = Evidence::LateWakeups { quantile: 0.99, late_us: 900.0, response_us: 2_000.0 };
        assert_eq!(cause(&late, (0.9, 0.0), 0.9, true), LateGenerator::Itself);
        assert_eq!(cause(&late, (0.3, 0.5), 0.3, true), LateGenerator::Machine);
        assert_eq!(cause(&late, (0.3, 0.5), 0.3, false), LateGenerator::SharedCpus);
        let once = Evidence::LateOnce { late_us: 80_000.0, transactions_share: 0.03 };
        assert_eq!(cause(&once, (0.2, 0.1), 0.2, false), LateGenerator::Machine);
        let own = Evidence::OwnTime { own_us: 60.0, round_trip_us: 100.0 };
        assert_eq!(cause(&own, (0.4, 0.1), 0.4, false), LateGenerator::Itself);
        assert_eq!(cause(&own, (0.3, 0.6), 0.3, true), LateGenerator::Machine);
        assert_eq!(
            cause(&Evidence::Shell { shell_share: 0.8 }, (0.1, 0.0), 0.1, true),
            LateGenerator::Itself
        );
        // It got half of the time that the rate needs, because others ran in the other half.
        assert_eq!(cause(&late, (0.5, 0.5), 1.0, true), LateGenerator::Itself);
    }
}
