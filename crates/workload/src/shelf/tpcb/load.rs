//! Creates and fills pgbench's tables, and times each step. The counterpart of `pgbench -i`. `phase` plans the work,
//! `loader` carries it out.

use connect::{Session, Target};

use super::Tpcb;
use super::existing::ExistingTables;
use super::obstacles::{PgbenchObstacles, Replaced};
use super::phase::{LoadContext, grouped};
use super::schema::{self, ACCOUNTS_PER_BRANCH, needs_major};
use crate::WorkloadError;
use loading::contract::init_steps::Step;
use loading::contract::load::{InitOptions, InitReport, Partitioning, Progress};
use loading::contract::unsupported::{check_made_by_code, refuse};
use loading::contract::workload::Workload;
use loading::loader::execution::{self, Execution};

/// The greatest scale and number of partitions, as in `pgbench`: what its `int` holds.
const COUNT_MAX: u32 = i32::MAX.unsigned_abs();

/// Runs the steps of `options`. `progress` is called for each, and may stop at any moment: the current transaction is
/// rolled back, and earlier steps stay.
///
/// `session` is connected to `target`; if it is lost, it is replaced by another to the same server, and its current
/// task is repeated. Further sessions are opened for work on partitions, at most [`InitOptions::jobs`] in total.
pub(super) fn init(
    target: &Target,
    session: &mut Session,
    options: &InitOptions,
    progress: &mut Progress<'_>,
) -> Result<InitReport, WorkloadError> {
    check(options)?;
    check_version(options, session)?;
    let obstacles = if options.waits_as_pgbench { None } else { Some(PgbenchObstacles::find(session)?) };
    if let Some(obstacles) = obstacles.as_ref().filter(|_| !options.drops) {
        obstacles.check(session, &options.steps)?;
    }
    let existing =
        if options.resumes { ExistingTables::find(session, options)? } else { ExistingTables::default() };
    let mut replaced = Replaced::default();
    if let Some(obstacles) = obstacles.filter(|_| !existing.has_tables) {
        if options.steps.contains(&Step::DropTables) {
            obstacles.announce(progress)?;
        }
        if options.steps.first() == Some(&Step::DropTables) {
            replaced = obstacles.replace(session, options, progress)?;
        }
    }
    let context = LoadContext { options, version: session.server_version_num(), existing: &existing };
    // All connections go to the host of the first one.
    let target = &target.single(session.address());
    let mut report = InitReport::default();
    let mut before = Vec::new();
    for (number, steps) in grouped(context).into_iter().enumerate() {
        let mut phase = context.phase(&before, steps.clone());
        if number < replaced.steps {
            phase.leave_partitions();
        }
        let connections = phase.chains.len().min(options.jobs as usize);
        let key_rows = steps.contains(&Step::PrimaryKeys).then(|| rows_per_key(options));
        let execution = Execution::new(target, connections, key_rows, !options.waits_as_pgbench);
        let done = execution::work(phase.into_plan(), session, &execution, progress);
        let is_resumable = before.contains(&Step::CreateTables) && !options.waits_as_pgbench;
        report.steps.extend(done.map_err(|error| match is_resumable {
            true => error.with_resume_after_lock(&Tpcb.init_command()),
            false => error,
        })?);
        before.extend(steps);
    }
    if let Some(first) = report.steps.first_mut() {
        first.took += replaced.took;
    }
    Ok(report)
}

/// Accounts in a partition, or in the table without partitions.
fn rows_per_key(options: &InitOptions) -> u64 {
    let partitions = options.partitioning.map_or(1, |partitioning| u64::from(partitioning.partitions));
    (schema::branches(options) * ACCOUNTS_PER_BRANCH).div_ceil(partitions.max(1))
}

/// Rejects invalid options before anything is dropped.
pub(super) fn check(options: &InitOptions) -> Result<(), WorkloadError> {
    let out_of_range = |option, low, high| Err(WorkloadError::OutOfRange { option, low, high });
    match options.scale.whole() {
        None => return Err(WorkloadError::FractionalScale { scale: options.scale }),
        Some(0) => return out_of_range("-s/--scale", 1, COUNT_MAX),
        Some(_) => {}
    }
    if !(10..=100).contains(&options.fillfactor) {
        return out_of_range("-F/--fillfactor", 10, 100);
    }
    let partitions = options.partitioning.map_or(1, |partitioning| partitioning.partitions);
    if !(1..=COUNT_MAX).contains(&partitions) {
        return out_of_range("--partitions", 1, COUNT_MAX);
    }
    refuse(Tpcb::NAME, &[(options.indexes.is_some(), "--indexes", "it has no index sets")])?;
    check_made_by_code(Tpcb::NAME, options)
}

/// Rejects partitions that the server does not support.
fn check_version(options: &InitOptions, session: &Session) -> Result<(), WorkloadError> {
    let Some(Partitioning { method, .. }) = options.partitioning else { return Ok(()) };
    // Only the step that creates the tables knows partitions; the others work on what is there.
    let creates = options.steps.contains(&Step::CreateTables);
    if creates && session.server_version_num() / 10_000 < needs_major(method) {
        return Err(WorkloadError::PartitioningUnsupported {
            method: method.name(),
            needed: needs_major(method),
            server: session.parameter("server_version").unwrap_or("of an unknown version").to_owned(),
        });
    }
    Ok(())
}
