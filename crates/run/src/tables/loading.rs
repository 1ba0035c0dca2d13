//! Loading of a workload's tables for `init`, `quickstart` and experiments, with progress and interruption.
//! `workload` loads the tables.

use std::cell::RefCell;
use std::mem::replace;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use connect::{Session, Target, publications_of_new_tables, subscriber_of_new_tables};
use workload::{
    DataOptions, Generation, InitOptions, InitProgress, InitReport, Progress, SchemaText, Workload,
    WorkloadError,
};

use crate::control::Control;
use crate::error::RunError;
use crate::tables::database_use::use_shared;
use crate::tables::left_changes::indexes_left_by_killed;

/// Limits of the default number of loading sessions. More sessions mostly wait for each other when they write WAL.
const SESSIONS_MIN: u32 = 2;
const SESSIONS_MAX: u32 = 8;
/// Default number of loading sessions: the number of local processors, because the server's number is unknown. It is
/// 2 on a machine with one processor, since the server is then usually elsewhere.
pub fn loading_sessions() -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    u32::try_from(processors).unwrap_or(SESSIONS_MAX).clamp(SESSIONS_MIN, SESSIONS_MAX)
}

/// What new tables do to subscribers that this database gets later, a sentence for each publication.
///
/// # Errors
/// The database has a subscriber, and the options do not permit it.
fn publications_of_tables(session: &mut Session, options: &InitOptions) -> Result<Vec<String>, RunError> {
    if !options.creates() {
        return Ok(Vec::new());
    }
    let schema = session.query("SELECT pg_catalog.current_schema()").unwrap_or_default();
    let schema = schema.first().and_then(|row| row.get(0)).unwrap_or_default();
    let subscriber = subscriber_of_new_tables(session, schema).unwrap_or_default();
    if let Some((publication, slot)) = subscriber.filter(|_| !options.is_confirmed) {
        return Err(RunError::Usage(format!(
            "{publication}, so the subscriber of the replication slot {slot} would get the rows of the loaded tables; it would \
             stop there if it does not have these tables, and the slot would keep WAL: use another database, or --yes to load \
             anyway; nothing was changed"
        )));
    }
    let publications = publications_of_new_tables(session, schema).unwrap_or_default();
    let sentence = |publication: &String| {
        format!(
            "{publication}, so it also has the tables that are loaded now: a subscriber without these tables stops at their \
             first row"
        )
    };
    Ok(publications.iter().map(sentence).collect())
}

/// The tables that a load would fill, as text; nothing is changed.
///
/// # Errors
/// The rows are not those of a schema, or the server refuses the schema.
pub fn dry_run(
    workload: &dyn Workload,
    session: &mut Session,
    options: &InitOptions,
    control: &Control,
    told: &mut dyn FnMut(InitProgress<'_>),
) -> Result<String, RunError> {
    examine(session, control, told, |session, step| workload.dry_run(session, options, step))
}

/// The rows of a schema as the server describes its tables; nothing is changed.
///
/// # Errors
/// The schema is wrong, or the server refuses it.
pub fn described_rows(
    schema: &SchemaText,
    options: &DataOptions,
    session: &mut Session,
    control: &Control,
    told: &mut dyn FnMut(InitProgress<'_>),
) -> Result<Generation, RunError> {
    examine(session, control, told, |session, step| schema.rows(options, session, step))
}

fn examine<T>(
    session: &mut Session,
    control: &Control,
    told: &mut dyn FnMut(InitProgress<'_>),
    work: impl FnOnce(&mut Session, &mut Progress<'_>) -> Result<T, WorkloadError>,
) -> Result<T, RunError> {
    let mut step = |progress: InitProgress<'_>| {
        told(progress);
        if control.stop().load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    session.lift_statement_timeout();
    control.guard(session, |session| use_shared(session, |session| Ok(work(session, &mut step)?)))
}

/// Runs the loading steps.
///
/// # Errors
/// A step failed. A statement cancelled by an interruption counts as an interruption.
pub fn load(
    workload: &dyn Workload,
    target: &Target,
    session: &mut Session,
    options: &InitOptions,
    control: &Control,
    told: &mut dyn FnMut(InitProgress<'_>),
) -> Result<InitReport, RunError> {
    let (mut is_place_told, warnings) = (false, RefCell::new(Vec::<String>::new()));
    let place = format!("in {}:", session.place());
    let mut step = |progress: InitProgress<'_>| {
        if matches!(progress, InitProgress::Dropping(_)) && !replace(&mut is_place_told, true) {
            told(InitProgress::Dropping(&place));
        }
        told(progress);
        // Until then, a check may refuse the loading.
        if let InitProgress::Finished(_) | InitProgress::Rows { .. } = progress {
            warnings.take().iter().for_each(|sentence| told(InitProgress::Found(sentence)));
        }
        if control.stop().load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let secret = options.parameters.keys().filter(|name| results::is_secret_name(name)).cloned();
    let options = &InitOptions { secret_parameters: secret.collect(), ..options.clone() };
    session.lift_statement_timeout();
    let result = control.guard(session, |session| {
        warnings.replace(publications_of_tables(session, options)?);
        for index in indexes_left_by_killed(session) {
            let _ = step(InitProgress::Found(&index.sentence()));
        }
        use_shared(session, |session| Ok(workload.load(target, session, options, &mut step)?))
    });
    if result.is_err() && control.stop().load(Ordering::Relaxed) {
        return Err(workload.interrupted().into());
    }
    result
}
