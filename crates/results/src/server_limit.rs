//! Extends a verdict by observations of the server: the limiting resource, from the activity of its backends, and
//! whether there were too few clients for a rate. Pure functions of the complete record. docs/generator.md has the
//! rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::MISSED_MAX;
use crate::{Evidence, Generator, LimitedBy, Record, WaitShare};

/// The limiting resource of a server.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerResource {
    /// Transactions waited for row locks of others.
    RowLocks,
    /// Commits waited for WAL writes and flushes.
    WalFlush,
    /// Backends ran or waited for a CPU.
    Processors,
    /// Backends read or wrote tables, indexes and temporary files.
    Io,
}

impl ServerResource {
    /// The name in output.
    pub fn name(self) -> &'static str {
        match self {
            ServerResource::RowLocks => "row locks",
            ServerResource::WalFlush => "WAL flush",
            ServerResource::Processors => "processors",
            ServerResource::Io => "I/O",
        }
    }

    const ALL: [ServerResource; 4] = [Self::RowLocks, Self::WalFlush, Self::Processors, Self::Io];

    /// The resource of a wait event. PostgreSQL versions differ in the capitalization of event names.
    fn of(wait: &WaitShare) -> Option<ServerResource> {
        let event = wait.event.to_ascii_lowercase();
        match wait.event_type.as_str() {
            "Lock" if matches!(event.as_str(), "transactionid" | "tuple") => Some(Self::RowLocks),
            "LWLock" | "LWLockNamed" if event.starts_with("walwrite") => Some(Self::WalFlush),
            "IO" if event.starts_with("wal") => Some(Self::WalFlush),
            "IO" | "BufferIO" => Some(Self::Io),
            "IPC" if event == "bufferio" => Some(Self::Io),
            "LWLock" | "LWLockTranche" if event == "buffer_io" => Some(Self::Io),
            "CPU" => Some(Self::Processors),
            _ => None,
        }
    }
}

/// Minimum share of the backends' active time for naming a resource.
const NAMED_SHARE: f64 = 0.4;
/// Minimum share of row locks in active time at which they delay other clients.
const LOCKED_SHARE: f64 = 0.5;

/// The resource with the largest share of the backends' active time, and this share.
fn resource(record: &Record) -> Option<(ServerResource, f64)> {
    let waits = record.observation.as_ref()?.waits.as_ref()?;
    // Waiting for the client within a transaction is not active time.
    let at_work: f64 =
        waits.top.iter().filter(|wait| wait.event_type != "Client").map(|wait| wait.share).sum();
    let share = |resource: ServerResource| {
        let of_it = waits.top.iter().filter(|wait| ServerResource::of(wait) == Some(resource));
        (of_it.map(|wait| wait.share).sum::<f64>() / at_work).min(1.0)
    };
    let shares = ServerResource::ALL.map(|resource| (resource, share(resource)));
    shares.into_iter().filter(|(_, share)| *share >= NAMED_SHARE).max_by(|a, b| a.1.total_cmp(&b.1))
}

impl Record {
    /// Completes a verdict that names the server: names the resource, or the clients if there were too few for the
    /// rate.
    pub(crate) fn complete_verdict(&mut self) {
        let found = resource(self);
        let shortage = too_few_clients(self, found);
        let Some(Generator { verdict, .. }) = &mut self.summary.generator else { return };
        if verdict.limit != LimitedBy::Server {
            return;
        }
        if let Some(evidence) = shortage {
            (verdict.limit, verdict.evidence) = (LimitedBy::ClientCount, evidence);
        } else if let Some((resource, share)) = found {
            (verdict.resource, verdict.resource_share) = (Some(resource), Some(share));
        }
    }
}

/// Evidence that there were too few clients for the rate: all were busy, although neither the server's CPUs nor row
/// locks took most of the time.
fn too_few_clients(record: &Record, resource: Option<(ServerResource, f64)>) -> Option<Evidence> {
    let (plan, summary) = (&record.plan, &record.summary);
    let rate_tps = plan.rate_tps?;
    if summary.counts.missed_share(plan.clients) <= MISSED_MAX {
        return None;
    }
    let is_full = record.environment.has_full_processors();
    let is_locked = matches!(resource, Some((ServerResource::RowLocks, share)) if share >= LOCKED_SHARE);
    // The CPU count of another host is unknown: if its backends mostly run, its CPUs may be fully used.
    let is_elsewhere = !record.environment.connection.as_ref().is_some_and(|connection| connection.same_host);
    let may_be_full = is_elsewhere && matches!(resource, Some((ServerResource::Processors, _)));
    // Without observation, free capacity of the server cannot be established.
    if is_full || may_be_full || is_locked || record.observation.as_ref()?.waits.is_none() {
        return None;
    }
    let service_us = summary.service_us?.mean;
    let tps_max = f64::from(plan.clients) * 1e6 / service_us;
    let clients_needed = (rate_tps * service_us / 1e6).ceil();
    (tps_max < rate_tps).then_some(Evidence::TooFewClients {
        clients: plan.clients,
        tps_max,
        service_us,
        rate_tps,
        clients_needed,
    })
}
