//! The input of `Runner::new`: the specification of a run, its servers, and scripts that were read before. The
//! specification alone is a request on the server of the environment.

use std::sync::Arc;

use connect::{Overrides, Target};

use crate::spec::RunSpec;
use crate::spec::pooler::PoolerInUse;
use crate::spec::scripts::Scripts;
use crate::spec::site::FaultSite;
use crate::spec::surface::Surface;

/// What a run is made from: the load, and where it takes place.
#[derive(Default)]
pub struct RunRequest {
    /// The load.
    pub spec: RunSpec,
    /// Where it was written; messages name its options accordingly.
    pub surface: Surface,
    /// The server; `None`: that of the environment (`PGHOST` and related variables).
    pub target: Option<Target>,
    /// Other servers, which scripts name as their targets, beside those of the specification.
    pub others: Vec<(String, Target)>,
    /// Missing parameters of the connections to the specification's targets.
    pub overrides: Overrides,
    /// Scripts that are already parsed, in any dialect, on pgbench's tables: the specification's scripts and workload are
    /// ignored.
    pub scripts: Option<Scripts>,
    /// The managed server of the run and the network before it, for actions that are faults.
    pub site: Option<Arc<dyn FaultSite>>,
    /// A pooler to which the clients connect instead of the server.
    pub pooler: Option<PoolerInUse>,
    /// Whether the load is executed many times in turns with others, by `Runner::load`.
    pub in_turns: bool,
}

impl From<RunSpec> for RunRequest {
    fn from(spec: RunSpec) -> Self {
        Self { spec, ..Self::default() }
    }
}

impl RunRequest {
    /// A run on this server.
    pub fn on(target: Target, spec: RunSpec) -> Self {
        Self { spec, target: Some(target), ..Self::default() }
    }
}
