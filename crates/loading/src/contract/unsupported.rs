//! Options of loading that a workload does not support, and the sentences about them. Each workload says which ones these
//! are; `init` checks them before it asks a server.

use std::collections::BTreeMap;

use crate::WorkloadError;
use crate::contract::init_steps::Step;
use crate::contract::load::{InitOptions, Logging};

/// Why most workloads refuse options for the layout of pgbench's tables.
const ONLY_TPCB: &str = "only the workload tpcb does";

/// Why most workloads refuse a dry run.
pub(crate) const NOT_GENERATED: &str = "only workloads do whose rows are generated from a schema of the user";

/// Why workloads whose rows code makes refuse numbers of rows.
pub(crate) const ROWS_OF_SCALE: &str = "the numbers of its rows follow from the scale";

/// An option, whether it is given, and why the workload refuses it.
pub type RefusedOption = (bool, &'static str, &'static str);

/// The error about an option.
pub(crate) fn unsupported(workload: &str, option: &'static str, reason: &'static str) -> WorkloadError {
    WorkloadError::OptionUnsupported { option, workload: workload.to_owned(), reason }
}

/// Rejects the first of these options that is given.
///
/// # Errors
/// One is given.
pub fn refuse(workload: &str, options: &[RefusedOption]) -> Result<(), WorkloadError> {
    match options.iter().find(|(is_given, ..)| *is_given) {
        Some((_, option, reason)) => Err(unsupported(workload, option, reason)),
        None => Ok(()),
    }
}

/// Rejects options for the layout of pgbench's tables.
///
/// # Errors
/// One is given.
pub fn check_layout(workload: &str, options: &InitOptions) -> Result<(), WorkloadError> {
    let refused = [
        (options.steps != Step::DEFAULT, Step::CHOICE, ONLY_TPCB),
        (options.fillfactor != InitOptions::default().fillfactor, "a fillfactor", ONLY_TPCB),
        (options.partitioning.is_some(), "--partitions", ONLY_TPCB),
        (options.logging != Logging::All, "--unlogged-tables", ONLY_TPCB),
        (options.tablespace.is_some(), "a tablespace", ONLY_TPCB),
        (options.index_tablespace.is_some(), "an index tablespace", ONLY_TPCB),
    ];
    refuse(workload, &refused)
}

/// Rejects options for schemas, where code makes tables and rows.
///
/// # Errors
/// One is given.
pub fn check_made_by_code(workload: &str, options: &InitOptions) -> Result<(), WorkloadError> {
    let refused = [
        (options.seed.is_some(), "--random-seed", "its rows depend on the scale alone"),
        (options.allows_files, "--allow-files", "it reads no files"),
        (!options.without_extensions.is_empty(), "--without-extension", "it has no schema of a user"),
        (!options.rows.is_empty(), "--rows", ROWS_OF_SCALE),
        (options.is_strict, "--strict", "it has no schema of a user"),
    ];
    refuse(workload, &refused)?;
    check_parameters(workload, &BTreeMap::new(), options)
}

/// Rejects values of parameters that the workload does not have.
///
/// # Errors
/// There is one.
pub(crate) fn check_parameters(
    workload: &str,
    known: &BTreeMap<String, String>,
    options: &InitOptions,
) -> Result<(), WorkloadError> {
    let Some(name) = options.parameters.keys().find(|name| !known.contains_key(*name)) else { return Ok(()) };
    let known: Vec<&str> = known.keys().map(String::as_str).collect();
    let known = match config::nearest(name, &known) {
        _ if known.is_empty() => "it has no parameters except scale".to_owned(),
        Some(nearest) => format!("did you mean {nearest}?"),
        None => format!("it has {}", known.join(", ")),
    };
    let workload = workload.to_owned();
    Err(WorkloadError::UnknownParameter { workload, name: name.clone(), known })
}
