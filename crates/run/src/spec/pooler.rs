//! A pooler in front of the server of a run: the address for clients, and the facts that are observed and recorded. The
//! caller starts it; `check::pooling` finds features of scripts that it does not support.

use connect::Target;
use observe::{PoolerReadings, PoolerWatch};
use results::{Pooler, PoolerFigures};

/// A pooler between the clients and the server of a run.
#[derive(Clone, Debug)]
pub struct PoolerInUse {
    /// Where the clients connect: the pooler, or a relay in front of it.
    pub clients: Target,
    /// Its console.
    pub console: Target,
    /// Its process.
    pub pid: u32,
    /// Its properties, without figures.
    pub about: Pooler,
}

impl PoolerInUse {
    pub(crate) fn watch(&self) -> PoolerWatch {
        PoolerWatch::start(self.console.clone(), self.pid)
    }

    /// For the record; `transactions` are those that succeeded or failed.
    pub(crate) fn seen(&self, readings: PoolerReadings, transactions: u64) -> Pooler {
        let PoolerReadings { samples, missing } = readings;
        Pooler { figures: PoolerFigures::new(samples, transactions), missing, ..self.about.clone() }
    }
}
