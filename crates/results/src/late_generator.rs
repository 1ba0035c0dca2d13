//! Why the load generator was late in a run whose verdict is that it was the limit: because of its own work, because it
//! shares the CPUs with the server, or because of something else on its machine. Pure, for searches, which repeat a load
//! that other programs have disturbed.

use crate::processor_use::{OTHERS_SHARE_MAX, others_share};
use crate::{Evidence, LimitedBy, Record};

/// Share of time in which a worker must run before its own work can be the limit.
const RAN_MIN: f64 = 0.75;
/// Share of CPU time that a hypervisor may take without being the cause.
const STOLEN_MAX: f64 = 0.05;

/// Why the load generator was late.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum LateGenerator {
    /// Its own work: it ran for most of the time, or reached its calibrated maximum.
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
        if generator.verdict.limit != LimitedBy::Generator {
            return None;
        }
        let busiest = generator.workers.iter().max_by(|a, b| a.busy_share().total_cmp(&b.busy_share()))?;
        let stolen = record.environment.conditions.processors.map_or(0.0, |shares| shares.stolen);
        let is_disturbed = others_share(record).is_some_and(|share| share > OTHERS_SHARE_MAX);
        let waited = busiest.run_queue_share.unwrap_or(0.0);
        let evidence = &generator.verdict.evidence;
        Some(cause(evidence, (busiest.cpu_share, waited), is_disturbed || stolen > STOLEN_MAX))
    }
}

/// From the shares of time that the busiest worker ran and waited for a core, and whether others used the CPUs.
fn cause(evidence: &Evidence, (ran, waited): (f64, f64), is_disturbed: bool) -> LateGenerator {
    let is_itself = match evidence {
        Evidence::NothingSent
        | Evidence::Shell { .. }
        | Evidence::CalibratedMaximum { .. }
        | Evidence::CalibratedFloor { .. } => true,
        Evidence::OwnTime { .. } => ran >= waited,
        _ => ran >= RAN_MIN,
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
        assert_eq!(cause(&late, (0.9, 0.0), true), LateGenerator::Itself);
        assert_eq!(cause(&late, (0.3, 0.5), true), LateGenerator::Machine);
        assert_eq!(cause(&late, (0.3, 0.5), false), LateGenerator::SharedCpus);
        let once = Evidence::LateOnce { late_us: 80_000.0, transactions_share: 0.03 };
        assert_eq!(cause(&once, (0.2, 0.1), false), LateGenerator::Machine);
        let own = Evidence::OwnTime { own_us: 60.0, round_trip_us: 100.0 };
        assert_eq!(cause(&own, (0.4, 0.1), false), LateGenerator::Itself);
        assert_eq!(cause(&own, (0.3, 0.6), true), LateGenerator::Machine);
        assert_eq!(cause(&Evidence::Shell { shell_share: 0.8 }, (0.1, 0.0), true), LateGenerator::Itself);
    }
}
