//! Who used the CPUs of a run's host: the benchmark's backends, the pooler, and other programs. Pure functions of the
//! complete record, for `warnings` and `server_limit`.

use crate::{BusyCpus, ProcessorShares, Record};

/// Share of CPU time of other programs above which a warning is given.
pub(crate) const OTHERS_SHARE_MAX: f64 = 0.15;

/// CPU use, if client and server share a host whose CPUs were full, and other programs took a part of them.
pub(crate) fn full_beside_others(record: &Record) -> Option<BusyCpus> {
    let busy_share = record.environment.conditions.processors?.busy;
    let others_share = others_share(record).filter(|&share| share > OTHERS_SHARE_MAX)?;
    record.environment.has_full_processors().then_some(BusyCpus { busy_share, others_share })
}

/// Share of CPU time used by neither pgmeter nor the server; `None` if unknown.
pub(crate) fn others_share(record: &Record) -> Option<f64> {
    let ProcessorShares { busy, own, .. } = record.environment.conditions.processors?;
    if !record.environment.connection.as_ref()?.same_host {
        return Some((busy - own).max(0.0));
    }
    let processors = f64::from(record.environment.host.cpu_count.filter(|&count| count > 0)?);
    // A pooler that pgmeter started is on this host too, with a server that pgmeter started.
    let pooler = pooler_cpu_share(record).unwrap_or(0.0) / processors;
    Some((busy - own - backends_running(record)? / processors - pooler).max(0.0))
}

/// Mean number of running backends of the benchmark, by their CPU time.
pub(crate) fn backends_running(record: &Record) -> Option<f64> {
    let observation = record.observation.as_ref()?;
    let Some(per_transaction_us) = observation.per_transaction.cpu_us() else {
        return observation.waits.as_ref()?.running_backends;
    };
    let ran = record.summary.counts.succeeded + record.summary.counts.failed;
    let duration_us = record.summary.whole_s() * 1e6;
    (duration_us > 0.0).then(|| per_transaction_us * ran as f64 / duration_us)
}

/// CPU time of the pooler ÷ measured time.
pub(crate) fn pooler_cpu_share(record: &Record) -> Option<f64> {
    record.summary.pooler.as_ref()?.figures.as_ref()?.cpu_share
}
