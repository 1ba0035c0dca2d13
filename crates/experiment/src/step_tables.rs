//! `[[step]]` in an experiment file: reads the steps, and checks which other keys apply to them. Called by `experiment`;
//! errors carry the position in the file.

use config::{Complaint, Folder, Node, Place, Table};

use crate::configuration::Configuration;
use crate::fields::TIMES_MAX;
use crate::steps::{Step, StepSql, StepWork};
use crate::{fields, keys, values};

/// Keys of `[load]` that also apply to steps; the first two also to queries.
const LOAD_KEYS: [&str; 3] = ["setup", "network", "variables"];
/// Limits of steps and of the length of a name; more are a mistake.
const STEPS_MAX: usize = 1_000;
const NAME_LENGTH_MAX: usize = 80;

/// Reads all `[[step]]`s.
pub(crate) fn steps(nodes: Vec<Node>, folder: Folder<'_>) -> Result<Vec<Step>, Complaint> {
    if let Some(node) = nodes.get(STEPS_MAX) {
        return Err(Complaint::at(node.place, format!("an experiment has at most {STEPS_MAX} steps")));
    }
    let mut steps: Vec<Step> = Vec::new();
    for node in nodes {
        let place = node.place;
        let step = step(node, folder)?;
        if steps.iter().any(|other| other.name == step.name) {
            return Err(Complaint::at(place, format!("two steps have the name \"{}\"", step.name)));
        }
        steps.push(step);
    }
    Ok(steps)
}

fn step(node: Node, folder: Folder<'_>) -> Result<Step, Complaint> {
    let place = node.place;
    let mut table = node.into_table()?;
    table.check_keys("[[step]]", &fields::names(fields::STEP))?;
    let work = work(&mut table, place, folder)?;
    let name = match (table.read("name", name)?, &work) {
        (Some(name), _) => name,
        (None, StepWork::Init) => "init".to_owned(),
        (None, StepWork::Sql(_)) => return Err(Complaint::at(place, "a step requires a name")),
    };
    let before = one_sql(&mut table, ("before", "before_file"), folder)?;
    let times = table.read("times", times)?.unwrap_or(1);
    let limit = table.read("limit", |node| values::time(node, false))?;
    let at_limit = table.read("at_limit", |node| match values::time(node, false)? {
        time if limit.is_some_and(|limit| time >= limit) => Ok(time),
        _ => Err(node.expected("a time of at least limit, which is required as well")),
    })?;
    if work == StepWork::Init && (before.is_some() || times > 1) {
        let what =
            "init cannot be combined with before or times: it starts with an empty database, once per repeat";
        return Err(Complaint::at(place, what));
    }
    Ok(Step { name, work, before, times, limit, at_limit })
}

fn work(table: &mut Table, place: Place, folder: Folder<'_>) -> Result<StepWork, Complaint> {
    let init = table.take("init");
    let sql = one_sql(table, ("sql", "file"), folder)?;
    match (sql, init) {
        (Some(sql), None) => Ok(StepWork::Sql(sql)),
        (None, Some(init)) => init.one_of(&[("all", StepWork::Init)]),
        (Some(_), Some(init)) => Err(Complaint::at(init.place, "a step cannot have both init and SQL")),
        (None, None) => Err(Complaint::at(place, "a step requires one of sql, file and init")),
    }
}

/// SQL in one key, or in the file given by the other.
fn one_sql(table: &mut Table, names: (&str, &str), folder: Folder<'_>) -> Result<Option<StepSql>, Complaint> {
    match (table.take(names.0), table.take(names.1)) {
        (None, None) => Ok(None),
        (Some(node), None) => match node.text()? {
            sql if !sql.trim().is_empty() && !sql.contains('\0') => Ok(Some(StepSql::Here(sql.to_owned()))),
            _ => Err(node.expected("SQL")),
        },
        (None, Some(file)) => Ok(Some(StepSql::File(values::beside(&file, folder)?))),
        (Some(_), Some(file)) => {
            let what = format!("{} and {} cannot be combined: give one of them", names.0, names.1);
            Err(Complaint::at(file.place, what))
        }
    }
}

fn name(node: &Node) -> Result<String, Complaint> {
    let name = node.text()?.trim();
    let is_good = !name.is_empty() && name.len() <= NAME_LENGTH_MAX && !name.contains(char::is_control);
    if is_good { Ok(name.to_owned()) } else { Err(node.expected("a short name")) }
}

/// Number of executions.
pub(crate) fn times(node: &Node) -> Result<u32, Complaint> {
    node.whole(1, TIMES_MAX)
}

/// Rejects a key that does not apply to the kind of trial.
pub(crate) fn check_key(base: &Configuration, name: &str, place: Place) -> Result<(), Complaint> {
    let (kind, taken) = match (base.steps.is_empty(), &base.queries) {
        (false, _) => ("[[step]]", LOAD_KEYS.as_slice()),
        (true, Some(_)) => ("[queries]", &LOAD_KEYS[..2]),
        (true, None) => ("", [].as_slice()),
    };
    let what = match keys::section_of(name) {
        Some(keys::Section::Load) if !base.is_load() && !taken.contains(&name) => {
            let (last, others) = taken.split_last().unwrap_or((&"", &[]));
            format!(
                "\"{name}\" has no effect in an experiment with {kind}, which uses only {} and {last} of [load]: remove \
                 \"{name}\" or {kind}",
                others.join(", ")
            )
        }
        Some(keys::Section::Queries) if base.queries.is_none() => {
            format!("\"{name}\" requires a section [queries]")
        }
        Some(keys::Section::Search) if base.search.is_none() => {
            format!("\"{name}\" requires a section [search]")
        }
        _ => return Ok(()),
    };
    Err(Complaint::at(place, what))
}
