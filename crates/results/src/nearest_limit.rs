//! What was nearest to its limit in a run, with its use: a resource of the server, the way to it, or pgmeter. For curves of
//! loads, in which it shows what the next step will meet. Pure; the figures are those of the verdict and the ceilings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::processor_use::backends_running;
use crate::{CeilingBasis, Record};

/// Something that has a limit.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitedResource {
    /// CPUs of the server's host, used by the server.
    ServerCpu,
    /// CPUs of the host of both, used by pgmeter more than by the server.
    ClientCpu,
    /// The busiest worker of pgmeter.
    Worker,
    /// Rows that transactions compete for.
    RowLocks,
    /// Flushes of WAL.
    WalFlush,
    /// Reads of tables and indexes.
    Reads,
    /// The way between client and server.
    Network,
}

impl LimitedResource {
    /// The name in output.
    pub fn name(self) -> &'static str {
        match self {
            LimitedResource::ServerCpu => "server CPU",
            LimitedResource::ClientCpu => "client CPU",
            LimitedResource::Worker => "worker of pgmeter",
            LimitedResource::RowLocks => "row locks",
            LimitedResource::WalFlush => "WAL flush",
            LimitedResource::Reads => "reads",
            LimitedResource::Network => "network",
        }
    }

    /// Whether it belongs to pgmeter's machine alone.
    pub fn is_of_client(self) -> bool {
        matches!(self, LimitedResource::ClientCpu | LimitedResource::Worker)
    }
}

/// The use of a resource.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NearestLimit {
    /// What it is.
    pub resource: LimitedResource,
    /// Its use, from 0 to 1.
    pub share: f64,
}

impl NearestLimit {
    /// The resource with the highest use in a complete record; `None` if no use is known.
    pub fn of(record: &Record) -> Option<NearestLimit> {
        let found =
            |(resource, share): (LimitedResource, f64)| NearestLimit { resource, share: share.min(1.0) };
        let uses = cpus(record).into_iter().chain(worker(record)).chain(ceilings(record));
        uses.map(found).max_by(|a, b| a.share.total_cmp(&b.share))
    }
}

/// CPUs of this host. Those of a server on another host are unknown.
fn cpus(record: &Record) -> Option<(LimitedResource, f64)> {
    let shares = record.environment.conditions.processors?;
    let same_host = record.environment.connection.as_ref().is_some_and(|connection| connection.same_host);
    let cpus = f64::from(record.environment.host.cpu_count?);
    let of_server = backends_running(record).filter(|_| same_host).map_or(0.0, |backends| backends / cpus);
    let is_of_server = same_host && of_server >= shares.own;
    Some((if is_of_server { LimitedResource::ServerCpu } else { LimitedResource::ClientCpu }, shares.busy))
}

fn worker(record: &Record) -> Option<(LimitedResource, f64)> {
    Some((LimitedResource::Worker, record.summary.generator.as_ref()?.busy_share))
}

/// Bounds by other resources than CPUs, which are measured directly.
fn ceilings(record: &Record) -> impl Iterator<Item = (LimitedResource, f64)> {
    let ceilings = record.observation.iter().flat_map(|observation| &observation.ceilings);
    ceilings.filter_map(|ceiling| {
        let resource = match ceiling.basis {
            CeilingBasis::HottestRow { .. } => LimitedResource::RowLocks,
            CeilingBasis::Flush { .. } | CeilingBasis::FlushWaits { .. } => LimitedResource::WalFlush,
            CeilingBasis::Reads { .. } => LimitedResource::Reads,
            CeilingBasis::RoundTrips { .. } | CeilingBasis::OnTheWay { .. } => LimitedResource::Network,
            CeilingBasis::Cpu { .. } => return None,
        };
        Some((resource, ceiling.reached_share))
    })
}
