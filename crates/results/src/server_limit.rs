//! What the server's part of a verdict needs beyond pgmeter's own figures: the resource that a limiting server lacked,
//! by what its backends were doing, and whether a rate was missed for want of clients. Pure, from the whole record;
//! called when the observation is in it. docs/generator.md has the rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::MISSED_MAX;
use crate::{Evidence, Generator, LimitedBy, Record, WaitShare};

/// What a server had too little of.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerResource {
    /// Transactions waited for others that had locked the same rows.
    RowLocks,
    /// Commits waited for WAL to be written and flushed.
    WalFlush,
    /// Backends ran, or waited for a processor.
    Processors,
    /// Backends read or wrote tables, indexes and temporary files.
    Io,
}

impl ServerResource {
    /// As it is shown.
    pub fn name(self) -> &'static str {
        match self {
            ServerResource::RowLocks => "row locks",
            ServerResource::WalFlush => "WAL flush",
            ServerResource::Processors => "processors",
            ServerResource::Io => "I/O",
        }
    }

    const ALL: [ServerResource; 4] = [Self::RowLocks, Self::WalFlush, Self::Processors, Self::Io];

    /// The resource that a wait event is about. Names of events differ between versions in capitals alone.
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

/// A resource is named if the backends had to do with it for so much of the time in which they worked.
const NAMED_SHARE: f64 = 0.4;
/// Row locks that take half of the time make other clients wait, too.
const LOCKED_SHARE: f64 = 0.5;

/// The resource that the backends had most to do with, and its share of the time in which they worked.
fn resource(record: &Record) -> Option<(ServerResource, f64)> {
    let waits = record.observation.as_ref()?.waits.as_ref()?;
    // Waiting for the client inside a transaction is not the server's.
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
    /// Completes a verdict on the server: a rate that was missed because too few clients were there to keep it is not
    /// the server's fault; of what is, the resource is named.
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

/// Why the clients were too few for the rate, if they were: all of them were busy, and the server answered as fast as
/// it does, since neither its processors were busy nor rows locked for most of the time.
fn too_few_clients(record: &Record, resource: Option<(ServerResource, f64)>) -> Option<Evidence> {
    let (plan, summary) = (&record.plan, &record.summary);
    let rate_tps = plan.rate_tps?;
    if summary.counts.missed_share(plan.clients) <= MISSED_MAX {
        return None;
    }
    let is_full = record.environment.has_full_processors();
    let is_locked = matches!(resource, Some((ServerResource::RowLocks, share)) if share >= LOCKED_SHARE);
    // Of another host's processors only its backends tell: where they mostly run, they may be all that there are.
    let is_elsewhere = !record.environment.connection.as_ref().is_some_and(|connection| connection.same_host);
    let may_be_full = is_elsewhere && matches!(resource, Some((ServerResource::Processors, _)));
    // Who did not look at the server cannot say that it had time.
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
