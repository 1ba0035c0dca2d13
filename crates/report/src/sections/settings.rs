//! The server's settings, of one run or of several side by side; of several also what differs of their plans.
//! Used by the page and by Markdown.

use super::load::plan;
use crate::prose::escaped_line;
use crate::run::Run;

/// A setting that at least one run had not at its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) name: String,
    /// In each run; `None` at the default.
    pub(crate) values: Vec<Option<String>>,
    /// Whether the runs do not agree.
    pub(crate) differs: bool,
}

/// What of the plan is held side by side.
const OF_THE_PLAN: [&str; 9] =
    ["scripts", "clients", "workers", "length", "warm-up", "protocol", "rate", "latency limit", "tries"];

/// Settings that say where a server is: two servers always differ in them, and nothing follows from that.
const PLACES: [&str; 4] = ["port", "unix_socket_directories", "data_directory", "listen_addresses"];

/// What the runs were asked for and how closely they were observed, as far as they do not agree.
fn of_the_plan(runs: &[Run<'_>]) -> Vec<Setting> {
    let observed = |run: &Run<'_>| {
        let level = run.record.observation.as_ref().map(|observation| observation.level.name());
        Some(level.unwrap_or("off").to_owned())
    };
    let plans: Vec<_> = runs.iter().map(|run| plan(run.record)).collect();
    let in_plan = |name: &'static str| {
        let value = |facts: &Vec<super::Fact>| {
            let fact = facts.iter().find(|fact| fact.label == name);
            Some(fact.map_or("none".to_owned(), |fact| fact.value.clone()))
        };
        (name, plans.iter().map(value).collect::<Vec<_>>())
    };
    let all = OF_THE_PLAN.into_iter().map(in_plan);
    let all = all.chain([("observed", runs.iter().map(observed).collect())]);
    let differing = all.filter(|(_, values)| values.windows(2).any(|pair| pair[0] != pair[1]));
    differing.map(|(name, values)| Setting { name: name.to_owned(), values, differs: true }).collect()
}

/// All of them, those that differ first, else by name; before them what differs of the plan.
pub(crate) fn settings(runs: &[Run<'_>]) -> Vec<Setting> {
    // Of one run what its administrator chose; of several also what matters most, which may differ by version.
    let of_run = |run: &Run<'_>| {
        run.record
            .environment
            .server
            .as_ref()
            .map(|server| server.non_default_settings.clone())
            .unwrap_or_default()
    };
    let each: Vec<_> = runs.iter().map(of_run).collect();
    let mut names: Vec<&str> =
        each.iter().flat_map(|settings| settings.iter().map(|(name, _)| name)).collect();
    names.sort_unstable();
    names.dedup();
    let setting = |name: &str| {
        let values: Vec<Option<String>> =
            each.iter().map(|settings| settings.get(name).map(escaped_line)).collect();
        let differs = values.windows(2).any(|pair| pair[0] != pair[1]);
        Setting { name: escaped_line(name), values, differs }
    };
    let mut settings: Vec<Setting> = names.into_iter().map(setting).collect();
    settings.retain(|setting| !(setting.differs && PLACES.contains(&setting.name.as_str())));
    settings.sort_by_key(|setting| !setting.differs);
    of_the_plan(runs).into_iter().chain(settings).collect()
}
