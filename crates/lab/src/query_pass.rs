//! Trials that are a pass over the queries of a workload. `queries` measures; the record of a trial is that of timed
//! steps.

use connect::Target;
use experiment::{Cell, Configuration};
use queries::QuerySet;
use results::Status;
use run::{Control, OUT_OF_TIME, RunError, StorePlaces};
use stats::Scale;

use crate::event::{Listener, TrialRecord};
use crate::trial::Finished;

/// Runs one trial of a cell. The measurements of a failed trial are stored too.
pub(crate) fn run(
    cell: &Cell,
    target: &Target,
    trial: i64,
    places: &StorePlaces,
    listener: Listener<'_>,
    control: &Control,
) -> Result<Finished, RunError> {
    let Configuration { queries, data, server, .. } = &cell.configuration;
    let spec = queries.clone().unwrap_or_default();
    let workload = data.workload.clone().unwrap_or_default().open()?;
    let mut session = control.connect(target)?;
    // In place, the scale is that of the tables.
    let scale = Some(data.scale).filter(|scale| !server.in_place || *scale != Scale::ONE);
    let set = control.guard(&mut session, |session| {
        if data.checkpoint {
            session.execute("CHECKPOINT")?;
        }
        QuerySet::for_tables(workload, spec, scale, session)
    })?;
    drop(session);
    let mut busy = None;
    let measured = set.run(target, control, places.records(), &mut |event| {
        // The old text must end before the new one begins.
        drop(busy.take());
        busy = Some(listener.busy(event.to_string()));
    })?;
    drop(busy);
    for problem in &measured.problems {
        listener.warn(problem);
    }
    let is_out_of_time = control.is_out_of_time();
    let reason = match &measured.record.status {
        Status::Complete => None,
        Status::Interrupted if is_out_of_time => Some(OUT_OF_TIME.to_owned()),
        Status::Interrupted => {
            control.check()?;
            Some("interrupted".to_owned())
        }
        Status::Failed { reason } => Some(reason.as_str().to_owned()),
    };
    places.open()?.end_steps(trial, &measured.record, reason.as_deref())?;
    match reason {
        None => {
            let record = TrialRecord::Steps(Box::new(measured.record));
            Ok(Finished { run: None, figures: None, record })
        }
        Some(reason) => Err(RunError::Aborted(reason)),
    }
}
