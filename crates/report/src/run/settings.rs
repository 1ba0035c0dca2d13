//! The server's settings, of one run or of several side by side; of several also what differs of their plans.
//! Used by `document`.

use results::Environment;

use super::labels::{PLACES, labels};
use super::load::plan;
use super::{Run, relations};
use crate::document::{Block, Fact, Table, TableOf, Tone};
use crate::prose::{enumerate, escaped_line};

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

/// What the runs were asked for and how closely they were observed, as far as they do not agree.
fn of_the_plan(runs: &[Run<'_>]) -> Vec<Setting> {
    let observed = |run: &Run<'_>| {
        let level = run.record.observation.as_ref().map(|observation| observation.level.name());
        Some(level.unwrap_or("off").to_owned())
    };
    let plans: Vec<_> = runs.iter().map(|run| plan(run.record)).collect();
    let in_plan = |name: &'static str| {
        let value = |facts: &Vec<Fact>| {
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
    let environments: Vec<&Environment> = runs.iter().map(|run| &run.record.environment).collect();
    let settings = of_servers(&environments);
    let of_tables = relations::differences(runs).into_iter().map(|(name, values)| Setting {
        name,
        values: values.into_iter().map(Some).collect(),
        differs: true,
    });
    of_the_plan(runs).into_iter().chain(of_tables).chain(settings).collect()
}

/// Those of the servers alone.
pub(crate) fn of_servers(environments: &[&Environment]) -> Vec<Setting> {
    let of_server = |environment: &&Environment| {
        environment.server.as_ref().map(|server| server.non_default_settings.clone()).unwrap_or_default()
    };
    let each: Vec<_> = environments.iter().map(of_server).collect();
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
    settings
}

/// Runs whose settings have a column each; of more, equal values stand together.
const COLUMNS_MAX: usize = 4;

/// Of one run, the settings that are not at their default.
pub(super) fn of_run(run: Run<'_>) -> Block {
    let value = |setting: Setting| {
        let value = setting.values.into_iter().flatten().next().unwrap_or_default();
        Fact::new(setting.name, value)
    };
    let facts: Vec<Fact> = settings(&[run]).into_iter().map(value).collect();
    if facts.is_empty() {
        return Block::quiet("None are known.");
    }
    Block::Facts(facts)
}

/// Of several, those that differ, then those that are the same in all.
pub(super) fn of_runs(runs: &[Run<'_>]) -> Vec<Block> {
    let (differing, same): (Vec<Setting>, Vec<Setting>) =
        settings(runs).into_iter().partition(|setting| setting.differs);
    let mut blocks = match differing.is_empty() {
        true => vec![Block::quiet("No known setting differs.")],
        false => {
            vec![Block::Heading("Differences".to_owned()), Block::Table(table(&differing, &labels(runs)))]
        }
    };
    if !same.is_empty() {
        let value = |setting: Setting| {
            let value = setting.values.into_iter().flatten().next().unwrap_or_default();
            Fact::new(setting.name, value)
        };
        let title = format!("{} settings that are the same in all runs", same.len());
        let facts = Block::Facts(same.into_iter().map(value).collect());
        blocks.push(Block::folded(title, vec![facts]));
    }
    blocks
}

/// Settings that the terminal shows.
const TERMINAL_MAX: usize = 20;

/// Of several, those that differ, for the terminal.
pub(super) fn of_terminal(runs: &[Run<'_>]) -> Vec<Block> {
    let settings: Vec<Setting> = settings(runs).into_iter().filter(|setting| setting.differs).collect();
    let labels = labels(runs);
    let line = |setting: &Setting| {
        let value = |(label, value): (&String, &Option<String>)| {
            format!("{} in {label}", value.as_deref().unwrap_or("default"))
        };
        let values: Vec<String> = labels.iter().zip(&setting.values).map(value).collect();
        format!("{}: {}", setting.name, enumerate(&values))
    };
    let mut lines: Vec<String> = settings.iter().take(TERMINAL_MAX).map(line).collect();
    if settings.len() > TERMINAL_MAX {
        let more = settings.len() - TERMINAL_MAX;
        lines.push(format!("… and {more} more settings differ; the page (--format html) has all"));
    }
    if lines.is_empty() { Vec::new() } else { vec![Block::List(Tone::Plain, lines)] }
}

fn table(differing: &[Setting], labels: &[String]) -> Table {
    let mut table = TableOf::new(differing);
    table.text("setting", |setting| setting.name.clone());
    if labels.len() > COLUMNS_MAX {
        table.text("values", |setting| grouped(setting, labels));
        return table.table;
    }
    for (at, label) in labels.iter().enumerate() {
        let value = |setting: &Setting| setting.values.get(at).cloned().flatten();
        table.text(label, |setting| value(setting).unwrap_or_else(|| "default".to_owned()));
    }
    table.table
}

/// `64MB in A, C; default in B`
fn grouped(setting: &Setting, labels: &[String]) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (label, value) in labels.iter().zip(&setting.values) {
        let value = value.as_deref().unwrap_or("default");
        match groups.iter_mut().find(|(other, _)| *other == value) {
            Some((_, labels)) => labels.push(label),
            None => groups.push((value, vec![label])),
        }
    }
    let groups: Vec<_> =
        groups.iter().map(|(value, labels)| format!("{value} in {}", labels.join(", "))).collect();
    groups.join("; ")
}
