//! `[[step]]`: what a trial of timed steps executes, how often, and what is done at a limit. Read here and checked; the
//! SQL is not looked into. Variables are put in, and the clock is read, by whoever runs the trial.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use config::{Complaint, Node, Place, Table, Value};

use crate::configuration::Configuration;
use crate::experiment::text;
use crate::{keys, schema, values};

/// A step of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// By which its results are found.
    pub name: String,
    /// What is timed.
    pub work: StepWork,
    /// What is executed before each time and not timed.
    pub before: Option<StepSql>,
    /// How often it is taken in a trial.
    pub times: u32,
    /// After this long it is cancelled.
    pub limit: Option<Duration>,
    /// What a time that was cancelled counts as; `None`: as the limit.
    pub at_limit: Option<Duration>,
}

/// What is timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepWork {
    /// SQL, all of it together.
    Sql(StepSql),
    /// The loader's steps in the order of `init_steps`, each of them by itself, into an empty database.
    Init,
}

/// SQL with variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepSql {
    /// In the experiment itself.
    Here(String),
    /// In a file beside it.
    File(PathBuf),
}

/// Keys of `[load]` that mean something to steps too.
const LOAD_KEYS: [&str; 3] = ["setup", "network", "variables"];
/// Most times of one step, most steps, and the longest name: beyond that a file is a mistake.
pub(crate) const TIMES_MAX: u64 = 10_000;
const STEPS_MAX: usize = 1_000;
const NAME_LENGTH_MAX: usize = 80;
/// What a time without limit is taken to last, for the estimate alone.
const ROUGHLY: Duration = Duration::from_secs(5);

impl Step {
    /// How long all its times together will take, roughly.
    pub fn estimate(&self) -> Duration {
        self.limit.map_or(ROUGHLY, |limit| limit.min(ROUGHLY)).saturating_mul(self.times)
    }
}

impl Configuration {
    /// Whether its trials load the tables step by step: then they begin on an empty database.
    pub(crate) fn times_loading(&self) -> bool {
        self.steps.iter().any(|step| step.work == StepWork::Init)
    }
}

/// All `[[step]]`s.
pub(crate) fn steps(node: Option<Node>, folder: &Path) -> Result<Vec<Step>, Complaint> {
    let Some(node) = node else { return Ok(Vec::new()) };
    let nodes = match node.value {
        Value::List(nodes) => nodes,
        _ => vec![node],
    };
    if nodes.len() > STEPS_MAX {
        let place = nodes[STEPS_MAX].place;
        return Err(Complaint::at(place, format!("an experiment has at most {STEPS_MAX} steps")));
    }
    let mut names = BTreeSet::new();
    let mut steps = Vec::new();
    for node in nodes {
        let place = node.place;
        let step = step(node, folder)?;
        if !names.insert(step.name.clone()) {
            return Err(Complaint::at(place, format!("there are two steps called \"{}\"", step.name)));
        }
        steps.push(step);
    }
    Ok(steps)
}

fn step(node: Node, folder: &Path) -> Result<Step, Complaint> {
    let place = node.place;
    let mut table = node.into_table()?;
    // What nobody knows is told first: it may be what is missing.
    let known = schema::names(schema::STEP);
    if let Some(entry) = table.entries.iter().find(|entry| !known.contains(&entry.key.as_str())) {
        let what = config::unknown_key(&entry.key, "[[step]]", &known);
        return Err(Complaint::at(entry.place, what));
    }
    let work = work(&mut table, place, folder)?;
    let name = match (table.take("name"), &work) {
        (Some(node), _) => name(&node)?,
        (None, StepWork::Init) => "init".to_owned(),
        (None, StepWork::Sql(_)) => return Err(Complaint::at(place, "a step needs a name")),
    };
    let before = one_sql(&mut table, ("before", "before_file"), folder)?;
    let times = table.take("times").map_or(Ok(1), |node| times(&node))?;
    let limit = table.take("limit").map(|node| values::duration_above_zero(&node)).transpose()?;
    let at_limit = match table.take("at_limit") {
        None => None,
        Some(node) => {
            let time = values::duration_above_zero(&node)?;
            if limit.is_none_or(|limit| time < limit) {
                return Err(node.expected("a time no shorter than limit, which must be there too"));
            }
            Some(time)
        }
    };
    if work == StepWork::Init && (before.is_some() || times > 1) {
        let what =
            "init has neither before nor times: it begins on an empty database, as often as repeats says";
        return Err(Complaint::at(place, what));
    }
    Ok(Step { name, work, before, times, limit, at_limit })
}

fn work(table: &mut Table, place: Place, folder: &Path) -> Result<StepWork, Complaint> {
    let init = table.take("init");
    let sql = one_sql(table, ("sql", "file"), folder)?;
    match (sql, init) {
        (Some(sql), None) => Ok(StepWork::Sql(sql)),
        (None, Some(init)) => init.one_of(&[("all", ())]).map(|()| StepWork::Init),
        (Some(_), Some(init)) => Err(Complaint::at(init.place, "a step is init or SQL, not both")),
        (None, None) => Err(Complaint::at(place, "a step needs sql, file or init: what is timed")),
    }
}

/// SQL in one key, or in the file that the other names.
fn one_sql(table: &mut Table, names: (&str, &str), folder: &Path) -> Result<Option<StepSql>, Complaint> {
    let (here, file) = (table.take(names.0), table.take(names.1));
    if let (Some(_), Some(file)) = (&here, &file) {
        let what = format!("{} and {} do not go together: either says what is executed", names.0, names.1);
        return Err(Complaint::at(file.place, what));
    }
    if let Some(node) = here {
        let sql = text(Some(node.clone()))?.unwrap_or_default();
        let is_there = !sql.trim().is_empty() && !sql.contains('\0');
        return if is_there { Ok(Some(StepSql::Here(sql))) } else { Err(node.expected("SQL")) };
    }
    file.map(|node| Ok(StepSql::File(values::beside(&node, folder)?))).transpose()
}

fn name(node: &Node) -> Result<String, Complaint> {
    let name = node.text()?.trim();
    let is_good = !name.is_empty() && name.len() <= NAME_LENGTH_MAX && !name.contains(char::is_control);
    if is_good { Ok(name.to_owned()) } else { Err(node.expected("a short name")) }
}

/// No SQL is timed more often than this.
pub(crate) fn shorten(steps: &mut [Step], times: u32) {
    for step in steps {
        step.times = step.times.min(times);
    }
}

/// How often a step is taken.
pub(crate) fn times(node: &Node) -> Result<u32, Complaint> {
    Ok(u32::try_from(node.whole(1, TIMES_MAX)?).unwrap_or(u32::MAX))
}

/// Complains of a key that means nothing to steps.
pub(crate) fn check_key(name: &str, place: Place) -> Result<(), Complaint> {
    let is_of_load = keys::section_of(name) == Some(keys::Section::Load);
    if !is_of_load || LOAD_KEYS.contains(&name) {
        return Ok(());
    }
    let what = format!(
        "\"{name}\" is for trials of load, and this experiment has steps, which take {} of [load]: leave it out, \
         or the steps",
        LOAD_KEYS.join(", ")
    );
    Err(Complaint::at(place, what))
}
