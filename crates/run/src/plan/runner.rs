//! A run whose specification was read and checked: its scripts are parsed and its servers are resolved. Nothing is
//! connected yet; `preparation` does that.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use connect::{Overrides, Password, Session, Target};
use script::Program;
use stats::goals::GoalMeter;
use workload::{Workload, WorkloadName};

use crate::check::{RunPlace, RunToCheck, check_run, goals};
use crate::control::Control;
use crate::distributed::machines;
use crate::error::RunError;
use crate::plan::descriptors::provide_descriptors;
use crate::spec::circumstances::Circumstances;
use crate::spec::pooler::PoolerInUse;
use crate::spec::request::RunRequest;
use crate::spec::scripts::Scripts;
use crate::spec::site::FaultSite;
use crate::spec::surface::Surface;
use crate::spec::{RunSpec, fresh_seed};

/// A run with parsed scripts and resolved servers, not yet connected.
pub struct Runner {
    pub(crate) spec: RunSpec,
    pub(crate) workload: Arc<dyn Workload>,
    pub(crate) scripts: Scripts,
    pub(crate) target: Target,
    /// Additional servers, by their names in scripts.
    pub(crate) targets: Vec<(String, Target)>,
    pub(crate) seed: u64,
    /// The settings that connections to the targets ask for and have, once the servers were asked.
    pub(crate) session_settings: Vec<Vec<(String, String)>>,
    pub(crate) circumstances: Circumstances,
    pub(crate) surface: Surface,
    pub(crate) site: Option<Arc<dyn FaultSite>>,
    pub(crate) pooler: Option<PoolerInUse>,
    pub(crate) in_turns: bool,
}

/// Connects. If the server requires a password and none is known, asks for it once and stores it in the target for
/// later connections.
///
/// # Errors
/// The connection failed, or the user asked to stop.
pub fn connect(
    target: &mut Target,
    ask: Option<fn() -> io::Result<Password>>,
    control: &Control,
) -> Result<Session, RunError> {
    match (control.connect(target), ask) {
        (Err(RunError::Connect(error)), Some(ask)) if error.is_password_needed() => {
            let Ok(password) = control.leave_at_once(ask)? else { return Err(error.into()) };
            *target = target.clone().with_password(password);
            control.connect(target)
        }
        (other, _) => other,
    }
}

impl Runner {
    /// Reads the scripts, resolves the servers, and checks all that can be checked without a server. There is no other way to
    /// a run.
    ///
    /// # Errors
    /// A script is invalid or uses an undefined target, a server cannot be resolved, two targets have one name, or options
    /// cannot be combined.
    pub fn new(request: impl Into<RunRequest>) -> Result<Self, RunError> {
        let RunRequest {
            mut spec,
            surface,
            target,
            others: mut targets,
            overrides,
            scripts,
            site,
            pooler,
            in_turns,
        } = request.into();
        let environment = connect::Environment::of_process();
        let of_environment = || connect::resolve(None, &Overrides::default(), &environment);
        let target = target.map_or_else(of_environment, Ok)?;
        let (workload, scripts): (Arc<dyn Workload>, _) = match scripts {
            Some(scripts) => (WorkloadName::default().open()?, scripts),
            None => {
                let workload = spec.workload.clone().unwrap_or_default().open()?;
                let scripts = Scripts::read(&spec.scripts, &*workload)?;
                for (name, value) in workload.parameters() {
                    spec.variables.entry(name.clone()).or_insert_with(|| value.clone());
                }
                (workload, scripts)
            }
        };
        for further in &spec.targets {
            let resolved = connect::resolve(Some(&further.connection), &overrides, &environment)?;
            targets.push((further.name.clone(), resolved));
        }
        let names: Vec<&str> = targets.iter().map(|(name, _)| name.as_str()).collect();
        check_run(&RunToCheck {
            spec: &spec,
            surface,
            scripts: Some(&scripts),
            pooling: pooler.as_ref().map(|pooler| pooler.about.mode),
            place: Some(RunPlace { targets: &names, site: site.as_deref(), in_turns }),
        })?;
        let seed = spec.seed.unwrap_or_else(fresh_seed);
        let (circumstances, session_settings) = (Circumstances::default(), Vec::new());
        Ok(Self {
            spec,
            workload,
            scripts,
            target,
            targets,
            seed,
            session_settings,
            circumstances,
            surface,
            site,
            pooler,
            in_turns,
        })
    }

    /// The same run with other circumstances.
    #[must_use]
    pub fn under(self, circumstances: Circumstances) -> Self {
        Self { circumstances, ..self }
    }

    /// The random seed, if none was given.
    pub fn drawn_seed(&self) -> Option<u64> {
        self.spec.seed.is_none().then_some(self.seed)
    }

    /// Whether the workload's tables are needed: the specification names the workload, or one of its scripts runs.
    pub(crate) fn needs_tables(&self) -> bool {
        self.spec.workload.is_some() || self.scripts.need_tables()
    }

    /// Number of servers to which each client connects; the engine opens no connection for scripts without weight.
    pub fn targets_in_use(&self) -> usize {
        let in_use = self.scripts.iter().filter(|(text, _)| text.weight > 0);
        in_use.filter_map(|(_, program)| self.target_of(program)).collect::<BTreeSet<_>>().len()
    }

    /// Raises the limit of open files for the clients of this process.
    ///
    /// # Errors
    /// The hard limit is too low.
    pub fn provide_descriptors(&self, control: &Control) -> Result<(), RunError> {
        let clients = self.spec.clients as usize;
        let of_this_rank = clients.div_ceil(machines(&self.spec, control)? as usize);
        let targets = self.targets_in_use();
        let idle = u64::from(self.spec.population.idle_transactions(self.spec.clients));
        provide_descriptors((of_this_rank * targets) as u64 + idle).map_err(|too_few| {
            let with_targets = if targets < 2 { String::new() } else { format!(" with {targets} targets") };
            let clients = self.surface.setting("clients", &[&clients.to_string()]);
            too_few.for_what(&format!("{clients}{with_targets}"))
        })
    }

    /// Refuses an output or option that would have the transactions of this process only.
    ///
    /// # Errors
    /// The run has several load generators.
    pub fn refuse_several_machines(&self, what: &str, control: &Control) -> Result<(), RunError> {
        match machines(&self.spec, control)? {
            1 => Ok(()),
            _ => Err(RunError::Usage(format!(
                "{what} is not possible on several machines, because each machine has only the transactions of its own clients: use {}",
                self.surface.setting("machines", &["1"])
            ))),
        }
    }

    /// Index of a script's server: 0 is the default, followed by the named ones.
    pub(crate) fn target_of(&self, program: &Program) -> Option<usize> {
        let Some(name) = program.target() else { return Some(0) };
        self.targets.iter().position(|(known, _)| known == name).map(|at| at + 1)
    }

    /// A meter of the goals that never ends a run, for callers that run the plan many times.
    pub fn goal_meter(&self) -> GoalMeter {
        goals::passive_meter(&self.spec, &self.scripts)
    }

    /// For each goal, the index of its script, if it is about a single one.
    pub fn scripts_of_goals(&self) -> Vec<Option<usize>> {
        goals::scripts_of_goals(&self.spec, &self.scripts)
    }

    /// The target of the clients of scripts without a named one.
    pub(crate) fn client_target(&self) -> &Target {
        self.pooler.as_ref().map_or(&self.target, |pooler| &pooler.clients)
    }
}
