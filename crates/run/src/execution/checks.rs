//! After a run: the checks of its workload, and the queries that the rules of the workload's standard need. `results` judges
//! the rules. Called by the runner.

use std::collections::BTreeMap;
use std::sync::Arc;

use connect::{Session, Target};
use results::{CheckFindings, DrawnRows};
use stats::Scale;
use stats::rules::StandardRule;
use workload::{Standard, Workload, WorkloadError, listing};

use crate::control::Control;
use crate::error::RunError;
use crate::event::Event;
use crate::plan::runner::Runner;

/// The rules of a workload's standard.
pub(crate) struct Rules(Arc<dyn Workload>);

impl Rules {
    /// `None` if the workload follows no standard, or if the load is not the workload's own mix: rules are about this
    /// load.
    pub(crate) fn new(runner: &Runner) -> Option<Rules> {
        runner.workload.standard()?;
        let own = runner.workload.mix();
        let texts = &runner.scripts.texts;
        let is_own_mix = texts.len() == own.len()
            && texts.iter().zip(&own).all(|(text, script)| {
                let is_weight = own.len() == 1 || text.weight == script.weight;
                text.is_of_workload && text.name == script.name && is_weight
            });
        is_own_mix.then(|| Rules(Arc::clone(&runner.workload)))
    }

    fn get(&self) -> Option<&Standard> {
        self.0.standard()
    }

    /// The name of the standard.
    pub(crate) fn standard(&self) -> &str {
        self.get().map_or("", |standard| &standard.name)
    }

    /// All rules.
    pub(crate) fn rules(&self) -> &[StandardRule] {
        self.get().map_or(&[], Standard::rules)
    }
}

/// The checks after a run, and their server.
pub(crate) struct Checks {
    workload: Arc<dyn Workload>,
    target: Target,
    variables: BTreeMap<String, String>,
}

/// The result of the checks.
pub(crate) struct Checked {
    /// The error, if they failed.
    pub(crate) checked: Result<(), RunError>,
    /// What they found; `None` if they did not run, or not completely.
    pub(crate) findings: Option<CheckFindings>,
}

impl Default for Checked {
    fn default() -> Self {
        Checked { checked: Ok(()), findings: None }
    }
}

impl Checks {
    /// `None` if they are not wanted. A verified run on the workload's tables is checked in any case.
    pub(crate) fn new(runner: &Runner, scale: Scale) -> Option<Checks> {
        let is_verified = runner.spec.verify && runner.needs_tables() && !runner.workload.checks().is_empty();
        (runner.spec.check || is_verified).then(|| Checks {
            workload: Arc::clone(&runner.workload),
            target: runner.target.clone(),
            variables: runner.workload.variables(&runner.spec.variables, scale),
        })
    }

    /// Runs them, and the queries of the rules.
    pub(crate) fn run(&self, control: &Control, events: &mut dyn FnMut(Event<'_>)) -> Checked {
        let workload = &*self.workload;
        events(Event::Checking(&listing::checks_running(workload)));
        let found = control.connect(&self.target).and_then(|mut session| {
            session.lift_statement_timeout();
            control.guard(&mut session, |session| Ok((self.check(session)?, self.count_drawn(session)?)))
        });
        match control.unless_interrupted(found) {
            Err(error) => Checked { checked: Err(error), findings: None },
            Ok((Ok(()), shares)) => {
                let passed = listing::checks_passed(workload.checks().len(), workload);
                events(Event::Checked(&passed));
                Checked { checked: Ok(()), findings: Some(CheckFindings { failed: Vec::new(), shares }) }
            }
            Ok((Err(failed), shares)) => {
                let names = match &failed {
                    WorkloadError::ChecksFailed { failed, .. } => {
                        failed.iter().map(|check| check.name.clone()).collect()
                    }
                    _ => Vec::new(),
                };
                Checked {
                    checked: Err(failed.into()),
                    findings: Some(CheckFindings { failed: names, shares }),
                }
            }
        }
    }

    /// `Ok(Err(…))` if checks returned rows.
    fn check(&self, session: &mut Session) -> Result<Result<(), WorkloadError>, RunError> {
        match self.workload.run_checks(session, &self.variables) {
            Err(failed @ WorkloadError::ChecksFailed { .. }) => Ok(Err(failed)),
            other => Ok(Ok(other?)),
        }
    }

    fn count_drawn(&self, session: &mut Session) -> Result<Vec<DrawnRows>, RunError> {
        let Some(standard) = self.workload.standard() else { return Ok(Vec::new()) };
        let rows = standard.count_drawn(session, &self.variables)?;
        Ok(rows.into_iter().map(|(query, count, of)| DrawnRows { query, count, of }).collect())
    }
}
