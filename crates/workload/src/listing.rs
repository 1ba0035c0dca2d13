//! Texts about workloads for people: the list of built-in ones, and the description of one. `pgmeter workload` prints them,
//! and other commands print what checks of a workload are running.

use stats::Scale;

use crate::{Query, QueryChoice, Workload, WorkloadError, WorkloadName};
use loading::contract::archives::NamedArchive;
use loading::contract::text_table::table;

pub use sql::size_pretty as size;

/// Most names of queries in a description.
const NAMES_MAX: usize = 200;
/// Names of more queries.
const NAMES_SHOWN: usize = 10;

/// The built-in workloads, a line for each: name, title, whether it is prepared, and the size of a unit of scale.
///
/// # Errors
/// A built-in workload cannot be read.
pub fn list() -> Result<String, WorkloadError> {
    let mut lines = vec![["name", "title", "prepared", "size per unit of scale"].map(str::to_owned)];
    for name in WorkloadName::shipped() {
        let workload = WorkloadName::Shipped(name).open()?;
        let bytes = workload.bytes_per_scale().map_or("unknown".to_owned(), size);
        let is_prepared = workload.archives().iter().all(NamedArchive::is_unpacked);
        let prepared = if is_prepared { "yes" } else { "no" };
        lines.push([name.to_owned(), workload.title().to_owned(), prepared.to_owned(), bytes]);
    }
    Ok(table(&lines))
}

/// The message that the checks of a workload are running.
pub fn checks_running(workload: &dyn Workload) -> String {
    let checks = workload.checks().len();
    let noun = if checks == 1 { "check" } else { "checks" };
    format!("running {checks} {noun} of the workload …")
}

/// The message that all checks of a workload have passed.
pub fn checks_passed(checks: usize, workload: &dyn Workload) -> String {
    let noun = if checks == 1 { "check" } else { "checks" };
    format!("{checks} {noun} of the workload {} passed", workload.name())
}

/// The description of a workload.
///
/// # Errors
/// Its queries cannot be read.
pub fn show(workload: &dyn Workload) -> Result<String, WorkloadError> {
    let mut lines = vec![["name".to_owned(), workload.name().to_owned()]];
    let mut line = |key: &str, value: Option<String>| {
        lines.extend(value.filter(|value| !value.is_empty()).map(|value| [key.to_owned(), value]));
    };
    let own = |text: &str| Some(text.to_owned());
    line("title", own(workload.title()));
    line("source", workload.source().map(str::to_owned));
    line("licence", workload.licence().map(str::to_owned));
    line("notice", workload.notice().map(str::to_owned));
    line("needs", workload.needs().map(str::to_owned));
    let standard = workload.standard().map(|it| format!("{}, {} rules", it.name, it.rules().len()));
    line("standard", standard);
    line("size per unit of scale", workload.bytes_per_scale().map(size));
    let parameters = workload.parameters().iter().map(|(name, value)| format!("{name} = {value}"));
    line("parameters", Some(parameters.collect::<Vec<_>>().join(", ")));
    for (number, archive) in workload.archives().iter().enumerate() {
        line(if number == 0 { "archives" } else { "" }, Some(archive.state()));
    }
    line("tables", Some(workload.table_names().join(", ")));
    for (number, set) in workload.index_sets().iter().enumerate() {
        let default = if number == 0 { " (default)" } else { "" };
        line(
            if number == 0 { "index sets" } else { "" },
            Some(format!("{}{default}: {}", set.name, set.title)),
        );
    }
    for (number, script) in workload.scripts().iter().enumerate() {
        let text = format!("{}, weight {}", script.name, script.weight);
        line(if number == 0 { "scripts" } else { "" }, Some(text));
    }
    let choice = QueryChoice::new(Scale::ONE);
    let is_prepared = workload.archives().iter().all(NamedArchive::is_unpacked);
    // The texts may be in an archive.
    let queries = if is_prepared { workload.queries(&choice)? } else { Vec::new() };
    line("queries", Some(names(&queries)));
    line("query texts", Some(workload.query_texts().join(", ")));
    let checks: Vec<&str> = workload.checks().iter().map(|check| check.name.as_str()).collect();
    line("checks", Some(checks.join(", ")));
    Ok(table(&lines))
}

/// The names of the queries; of many, their number and the first names.
fn names(queries: &[Query]) -> String {
    let names =
        |count| queries.iter().take(count).map(|query| query.name.as_str()).collect::<Vec<_>>().join(" ");
    match queries.len() {
        ..=NAMES_MAX => names(NAMES_MAX),
        many => format!("{many}, the first are {}", names(NAMES_SHOWN)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tpcb;

    #[test]
    fn the_list_has_all_built_in_workloads() {
        let list = list().expect("a list");
        for name in WorkloadName::shipped() {
            assert!(list.lines().any(|line| line.starts_with(name)), "{list}");
        }
        assert!(list.contains(" 15 MB"), "{list}");
    }

    #[test]
    fn a_description_has_scripts_and_checks() {
        let text = show(&Tpcb).expect("a text");
        assert!(text.starts_with("name                    tpcb\n"), "{text}");
        assert!(text.contains("tpcb-like, weight 1") && text.contains("pgbench_accounts"), "{text}");
    }
}
