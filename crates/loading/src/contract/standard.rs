//! The standard of a workload: the rules of its runs, as the key `standard` of a workload.toml states them. `results` judges
//! a run by them; the queries of drawn shares are executed here, with the checks.

use std::collections::BTreeMap;
use std::path::Path;

use config::{Complaint, Node, Table};
use connect::Session;
use script::Statement;
use stats::rules::{Rule, StandardRule};

use crate::WorkloadError;
use crate::contract::check::Check;
use crate::contract::load;
use crate::contract::scripts::{Script, known_name};

/// The longest name of a standard.
const NAME_LENGTH_MAX: usize = 60;
/// The longest number of a clause.
const CLAUSE_LENGTH_MAX: usize = 20;

/// A standard and its rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Standard {
    /// Its name for readers, such as `TPC-B 2.0`.
    pub name: String,
    rules: Vec<StandardRule>,
    /// The queries of the drawn shares.
    queries: Vec<Check>,
}

/// The rows that the query of a drawn share counted: its name, rows that were drawn, and all rows.
pub type DrawnRows = (String, u64, u64);

/// A kind of rule in a workload.toml: its name, its keys, and how to read them.
struct Kind {
    name: &'static str,
    keys: &'static [&'static str],
    read: fn(&mut Reader<'_>, &mut Table) -> Result<Rule, Complaint>,
}

const KINDS: [Kind; 8] = [
    Kind { name: "response_time", keys: &["share", "below_s", "script"], read: response_time },
    Kind { name: "steady_state", keys: &[], read: |_, _| Ok(Rule::SteadyState) },
    Kind { name: "measured_time", keys: &["min_s", "max_s"], read: measured_time },
    Kind { name: "tps_per_scale", keys: &["max", "script"], read: tps_per_scale },
    Kind { name: "mix_share", keys: &["script", "min"], read: mix_share },
    Kind { name: "drawn_share", keys: &["query", "share"], read: drawn_share },
    Kind { name: "checks", keys: &["names"], read: checks },
    Kind { name: "durability", keys: &[], read: |_, _| Ok(Rule::Durability) },
];

/// The names that rules refer to.
struct Reader<'a> {
    scripts: &'a [Script],
    checks: &'a [Check],
    sql: &'a mut dyn FnMut(&Node) -> Result<String, Complaint>,
    queries: Vec<Check>,
}

impl Standard {
    /// Reads the key of a workload.toml. `sql` reads a file of the workload.
    pub(crate) fn read(
        node: Node,
        scripts: &[Script],
        checks: &[Check],
        sql: &mut dyn FnMut(&Node) -> Result<String, Complaint>,
    ) -> Result<Standard, Complaint> {
        let mut table = node.into_table()?;
        table.check_keys("standard", &["name", "rules"])?;
        let name = table.read("name", |node| plain(node, NAME_LENGTH_MAX))?;
        let name = name.ok_or_else(|| Complaint::at(table.place, "a standard requires a name"))?;
        let mut reader = Reader { scripts, checks, sql, queries: Vec::new() };
        let rules = table.list("rules")?.into_iter().map(|node| rule(&mut reader, node));
        let rules = rules.collect::<Result<_, _>>()?;
        Ok(Standard { name, rules, queries: reader.queries })
    }

    /// Its rules.
    pub fn rules(&self) -> &[StandardRule] {
        &self.rules
    }

    /// Executes the queries of the drawn shares. A query without a row has nothing to count.
    ///
    /// # Errors
    /// A query fails, or returns no two numbers.
    pub fn count_drawn(
        &self,
        session: &mut Session,
        variables: &BTreeMap<String, String>,
    ) -> Result<Vec<DrawnRows>, WorkloadError> {
        let mut counted = Vec::new();
        for Check { name, sql } in &self.queries {
            for Statement { sql, .. } in script::statements(name, sql, variables)? {
                let rows = session.patiently(|session| session.query(&sql)).map_err(load::failed(&sql))?;
                let Some(row) = rows.first() else { continue };
                let number = |column| row.get(column).and_then(|text| text.parse().ok());
                let (Some(count), Some(of)) = (number(0), number(1)) else {
                    return Err(WorkloadError::NoShare { query: name.clone() });
                };
                counted.push((name.clone(), count, of));
            }
        }
        Ok(counted)
    }
}

fn rule(reader: &mut Reader<'_>, node: Node) -> Result<StandardRule, Complaint> {
    let mut table = node.into_table()?;
    let kinds: Vec<(&str, &Kind)> = KINDS.iter().map(|kind| (kind.name, kind)).collect();
    let kind = table.read("kind", |node| node.one_of(&kinds))?;
    let kind = kind.ok_or_else(|| Complaint::at(table.place, "a rule requires a kind"))?;
    let known: Vec<&str> = kind.keys.iter().copied().chain(["clause"]).collect();
    table.check_keys(&format!("a rule of the kind {}", kind.name), &known)?;
    let clause = table.read("clause", |node| plain(node, CLAUSE_LENGTH_MAX))?;
    Ok(StandardRule { clause, rule: (kind.read)(reader, &mut table)? })
}

fn response_time(reader: &mut Reader<'_>, table: &mut Table) -> Result<Rule, Complaint> {
    let (share, below_s) = (required(table, "share", share)?, required(table, "below_s", Node::positive)?);
    Ok(Rule::ResponseTime { script: reader.script(table)?, share, below_s })
}

fn measured_time(_: &mut Reader<'_>, table: &mut Table) -> Result<Rule, Complaint> {
    let place = table.place;
    let min_s = required(table, "min_s", Node::positive)?;
    let max_s = table.read("max_s", Node::positive)?;
    match max_s.filter(|max_s| *max_s < min_s) {
        Some(_) => Err(Complaint::at(place, "max_s must be at least min_s")),
        None => Ok(Rule::MeasuredTime { min_s, max_s }),
    }
}

fn tps_per_scale(reader: &mut Reader<'_>, table: &mut Table) -> Result<Rule, Complaint> {
    let max = required(table, "max", Node::positive)?;
    Ok(Rule::TpsPerScale { script: reader.script(table)?, max })
}

fn mix_share(reader: &mut Reader<'_>, table: &mut Table) -> Result<Rule, Complaint> {
    let min = required(table, "min", share)?;
    let place = table.place;
    let script = reader.script(table)?;
    Ok(Rule::MixShare { script: script.ok_or_else(|| missing(place, "script"))?, min })
}

fn drawn_share(reader: &mut Reader<'_>, table: &mut Table) -> Result<Rule, Complaint> {
    let share = required(table, "share", share)?;
    let place = table.place;
    let node = table.take("query").ok_or_else(|| missing(place, "query"))?;
    let sql = (reader.sql)(&node)?;
    let stem = Path::new(node.text()?).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let query = stem.to_owned();
    if reader.queries.iter().any(|known| known.name == query) {
        return Err(Complaint::at(node.place, format!("two rules have a query \"{query}\"")));
    }
    reader.queries.push(Check { name: query.clone(), sql });
    Ok(Rule::DrawnShare { query, share })
}

fn checks(reader: &mut Reader<'_>, table: &mut Table) -> Result<Rule, Complaint> {
    let place = table.place;
    let nodes = table.list("names")?;
    let known = |node: Node| known_name(&node, "check", reader.checks.iter().map(|check| &*check.name));
    let names: Vec<String> = nodes.into_iter().map(known).collect::<Result<_, _>>()?;
    if names.is_empty() { Err(missing(place, "names")) } else { Ok(Rule::Checks { names }) }
}

impl Reader<'_> {
    fn script(&self, table: &mut Table) -> Result<Option<String>, Complaint> {
        let known = || self.scripts.iter().map(|script| &*script.name);
        table.take("script").map(|node| known_name(&node, "script", known())).transpose()
    }
}

fn required<T>(
    table: &mut Table,
    key: &str,
    read: impl FnOnce(&Node) -> Result<T, Complaint>,
) -> Result<T, Complaint> {
    let place = table.place;
    table.read(key, read)?.ok_or_else(|| missing(place, key))
}

fn missing(place: config::Place, key: &str) -> Complaint {
    Complaint::at(place, format!("this rule requires {key}"))
}

/// Above 0, at most 1.
fn share(node: &Node) -> Result<f64, Complaint> {
    let share = node.positive().ok().filter(|share| *share <= 1.0);
    share.ok_or_else(|| node.expected("a share above 0, at most 1"))
}

/// A short text of one line.
fn plain(node: &Node, length_max: usize) -> Result<String, Complaint> {
    let text = node.text()?;
    let is_plain = !text.is_empty() && text.len() <= length_max && text.chars().all(|c| !c.is_control());
    if is_plain { Ok(text.to_owned()) } else { Err(node.expected("a short text of one line")) }
}
