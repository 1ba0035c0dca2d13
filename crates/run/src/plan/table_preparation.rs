//! The tables of a run before it: their scale, their vacuum and truncation, and the limit of waits for locks until then.
//! Called by the runner on its control session.

use std::time::Duration;

use connect::{LockWaitLimit, Session};
use engine::{Compatibility, Grace, Limit};
use stats::Scale;
use workload::{Preparation, Tables, Truncation, WorkloadError};

use crate::error::RunError;
use crate::event::{Event, VacuumEvent};
use crate::plan::runner::Runner;
use crate::spec::Vacuum;
use crate::spec::scripts::SCALE;

impl Runner {
    /// Examines the workload's tables, if they are used.
    pub(crate) fn find_tables(
        &self,
        session: &mut Session,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<Option<Tables>, RunError> {
        if !self.needs_tables() {
            return self.find_scale(session, events);
        }
        let tables = self.workload.find_tables(session).map_err(WorkloadError::for_scripts)?;
        // pgbench also runs on empty tables, where its scripts then fail.
        if self.circumstances.compatibility == Compatibility::Pgmeter {
            self.workload.check_scale(&tables)?;
        }
        if let (Some(asked), Some(scale), Some(table)) =
            (self.spec.scale, tables.scale, self.workload.scale_table())
        {
            events(Event::ScaleIgnored { asked, scale, table });
        }
        Ok(Some(tables))
    }

    /// The tables of pgbench if a user's script needs their scale, which pgbench takes as 1 then.
    fn find_scale(
        &self,
        session: &mut Session,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<Option<Tables>, RunError> {
        let is_pgbench = self.circumstances.compatibility == Compatibility::Pgbench;
        if self.spec.scale.is_some() || is_pgbench || !self.uses_scale() {
            return Ok(None);
        }
        match self.workload.find_tables(session) {
            Ok(tables) if tables.scale.is_some_and(|scale| scale != 0) => return Ok(Some(tables)),
            Err(error) if session.is_lost() => return Err(error.into()),
            _ => {}
        }
        if !self.scripts.assign_scale() {
            let table = self.workload.scale_table().unwrap_or("a table");
            events(Event::Warning(&format!(
                "the scripts use :scale, which is 1 here, because it could not be taken from the rows of {table}; set it with {}",
                self.surface.name("scale")
            )));
        }
        Ok(None)
    }

    /// Whether a script uses the scale without `-D scale=…`.
    pub(crate) fn uses_scale(&self) -> bool {
        !self.spec.variables.contains_key(SCALE) && self.scripts.use_scale()
    }

    /// The scale for the record if nobody has looked at the tables.
    pub(crate) fn told_scale(&self, scale: Scale) -> Option<Scale> {
        let is_told = self.spec.scale.is_some() || self.circumstances.compatibility == Compatibility::Pgbench;
        is_told.then_some(scale)
    }

    /// The longest wait for a lock before a run: that of the load and its grace period, so that a short run that needs a lock
    /// of others also ends soon.
    pub(crate) fn lock_wait_limit(&self) -> Option<LockWaitLimit> {
        let Limit::Duration(duration) = self.spec.limit else { return None };
        let grace = match self.spec.grace {
            Grace::Automatic => Grace::MIN,
            Grace::Fixed(grace) => grace,
            Grace::Unlimited => return None,
        };
        let limit = duration.saturating_add(grace).max(LOCK_WAIT_MIN);
        Some(LockWaitLimit { limit, setting: "a longer -T or --grace" })
    }

    /// Vacuums and truncates the workload's tables, unless the server refuses that.
    pub(crate) fn prepare_tables(&self, session: &mut Session, events: &mut dyn FnMut(Event<'_>)) {
        // The drop-in complains about missing tables, as pgbench does.
        let complains = self.circumstances.compatibility == Compatibility::Pgbench;
        // As pgbench, the drop-in acts on pgbench's tables with any script, also where the server refuses it.
        let (vacuums, truncation) = match complains {
            true => (self.spec.vacuum, Truncation::ByName),
            false if self.needs_tables() && accepts_writes(session) => {
                (self.spec.vacuum, Truncation::OwnTables)
            }
            false => (Vacuum::Nothing, Truncation::OwnTables),
        };
        if vacuums == Vacuum::Nothing {
            return;
        }
        if !complains {
            session.lift_statement_timeout();
        }
        let mut tell = |event: VacuumEvent<'_>| match event {
            VacuumEvent::Failed(failure) if failure.is_missing_table() && !complains => {}
            event => events(Event::Vacuum(event)),
        };
        let mut preparation = Preparation::new(session, truncation);
        tell(VacuumEvent::SmallTables);
        preparation.carry_out(self.workload.name(), self.workload.prepared());
        tell_done(&mut preparation, &mut tell);
        if vacuums == Vacuum::AllTables {
            tell(VacuumEvent::LargeTables);
            preparation.carry_out(self.workload.name(), self.workload.vacuumed());
            tell_done(&mut preparation, &mut tell);
        }
    }
}

/// A lock may be missing for a moment.
const LOCK_WAIT_MIN: Duration = Duration::from_secs(1);

fn tell_done(preparation: &mut Preparation<'_>, tell: &mut dyn FnMut(VacuumEvent<'_>)) {
    let prepared = preparation.take();
    if !prepared.truncated.is_empty() {
        tell(VacuumEvent::Truncated(&prepared.truncated));
    }
    for failure in &prepared.failed {
        tell(VacuumEvent::Failed(failure));
    }
    tell(VacuumEvent::Done);
}

/// Whether the session may vacuum and empty tables: its server is no standby, and its transactions are not read-only.
fn accepts_writes(session: &mut Session) -> bool {
    let question =
        "SELECT NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off'";
    let rows = session.query_catalogs(question).unwrap_or_default();
    rows.first().and_then(|row| row.get(0)) != Some("f")
}
