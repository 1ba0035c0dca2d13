//! Describes a plan as text for the user: servers, data, trials in order, and time.
//! `cli` prints it.

use std::fmt::Write as _;
use std::time::Duration;

use config::turns_direction;
use results::TrialOrder;
use server::SynchronousMethod;
use workload::WorkloadName;

use crate::configuration::{DataSpec, Origin, Restore, ServerSpec};
use crate::data_size::data_bytes;
use crate::experiment::Experiment;
use crate::load_words::{counted, levels_in_words, load_in_words, queries_in_words, search_in_words};
use crate::memory::Arrangement;
use crate::plan::Plan;
use crate::relative;
use crate::standbys::{StandbyMode, StandbyNetwork, Synchronous};
use crate::steps::{Step, StepSql, StepWork};

/// Maximum number of listed trials.
const TRIALS_SHOWN_MAX: usize = 40;
/// Maximum length of a step's SQL.
const SQL_SHOWN_MAX: usize = 60;

/// The plan as several lines of text.
pub fn outline(experiment: &Experiment, plan: &Plan) -> String {
    let mut out = experiment.name.clone();
    if experiment.title != experiment.name {
        let _ = write!(out, ": {}", experiment.title);
    }
    out.push('\n');
    if let Some(source) = &experiment.source {
        let _ = writeln!(out, "  source      {source}");
    }
    let combinations = counted(plan.cells.len(), "combination", "combinations");
    let repeats = counted(experiment.design.repeats as usize, "repeat", "repeats");
    let trials = counted(plan.trials.len(), "trial", "trials");
    let order = match experiment.design.order {
        _ if plan.trials.len() == 1 || plan.cells.len() == 1 => "",
        TrialOrder::Interleaved if experiment.design.repeats == 1 => ", in random order",
        TrialOrder::Interleaved => ", in a different order for each repeat",
        TrialOrder::Sequential => ", in the order of the file",
    };
    let _ = writeln!(out, "  trials      {combinations} × {repeats} = {trials}{order}");
    let estimate = plan.estimate();
    let _ = writeln!(
        out,
        "  time        about {}, estimated: {} of trials, {} of starting, loading and restoring",
        rough(estimate.total()),
        rough(estimate.trials),
        rough(estimate.preparing)
    );
    for factor in &experiment.factors {
        let levels: Vec<&str> = factor.levels.iter().map(|level| level.label.as_str()).collect();
        let _ = writeln!(out, "  factor      {}: {}", factor.name, levels.join(" | "));
        for line in levels_in_words(factor) {
            let _ = writeln!(out, "                {line}");
        }
    }
    if let Some(load) = load_in_words(plan) {
        let _ = writeln!(out, "  load        {load}");
    }
    if let Some(resolved) = relative::in_words(plan.cells.iter().map(|cell| &cell.configuration)) {
        let _ = writeln!(out, "  resolved    {resolved}");
    }
    for step in &experiment.base.steps {
        let _ = writeln!(out, "  step        {}", step_in_words(step));
    }
    if let Some(words) = queries_in_words(plan) {
        let _ = writeln!(out, "  queries     {words}");
    }
    if let Some(words) = search_in_words(plan) {
        let _ = writeln!(out, "  search      {words}");
    }
    for (number, server) in plan.servers.iter().enumerate() {
        let _ = writeln!(out, "  server {:<4} {}", number + 1, server_in_words(server));
    }
    let is_unknown = |data: &DataSpec| data.workload.is_some() && data.bytes_per_scale.is_none();
    let is_estimated = plan.data.iter().any(|(_, data)| is_unknown(data));
    if let Some(words) = arrangement_in_words(plan.arrangement, experiment.design.order, is_estimated) {
        let _ = writeln!(out, "  servers     {words}");
    }
    for (number, (server, data)) in plan.data.iter().enumerate() {
        if plan.servers[*server].in_place {
            let _ = writeln!(out, "  data {:<6} on server {}: the database as it is", number + 1, server + 1);
            continue;
        }
        let _ = writeln!(out, "  data {:<6} on server {}: {}", number + 1, server + 1, data_in_words(data));
        let _ = writeln!(out, "              {}", restore_in_words(plan, number, data));
    }
    out.push('\n');
    out += &trials_in_words(plan);
    // Text from a file must not contain control or bidirectional characters.
    out.retain(|character| character == '\n' || !(character.is_control() || turns_direction(character)));
    out
}

fn step_in_words(step: &Step) -> String {
    let work = match &step.work {
        StepWork::Init => "each initialization step, on an empty database".to_owned(),
        StepWork::Sql(StepSql::Here(sql)) => one_line(sql),
        StepWork::Sql(StepSql::File(path)) => path.display().to_string(),
    };
    let times = (step.times > 1).then(|| format!(", {} times", step.times));
    let limit = step.limit.map(|limit| format!(", cancelled after {limit:?}"));
    let counted = step.limit.and(step.at_limit).map(|counted| format!(" and counted as {counted:?}"));
    let rest: String = [times, limit, counted].into_iter().flatten().collect();
    format!("{}: {work}{rest}", step.name)
}

/// SQL on one line, shortened.
fn one_line(sql: &str) -> String {
    let words = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = words.chars().take(SQL_SHOWN_MAX).collect();
    if cut.len() < words.len() { format!("{cut}…") } else { words }
}

fn trials_in_words(plan: &Plan) -> String {
    let mut out = String::new();
    let width = plan.trials.len().to_string().len();
    for (number, trial) in plan.trials.iter().take(TRIALS_SHOWN_MAX).enumerate() {
        let levels: Vec<String> =
            plan.cells[trial.cell].levels.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
        let levels = if levels.is_empty() { "as the file says".to_owned() } else { levels.join(", ") };
        let _ = writeln!(out, "  {:>width$}  repeat {}  {levels}", number + 1, trial.repeat);
    }
    if plan.trials.len() > TRIALS_SHOWN_MAX {
        let _ = writeln!(out, "  … and {} more", plan.trials.len() - TRIALS_SHOWN_MAX);
    }
    out
}

fn server_in_words(server: &ServerSpec) -> String {
    let origin = match &server.origin {
        Origin::Version(version) => format!("PostgreSQL {version}, embedded"),
        Origin::Programs(directory) => format!("PostgreSQL of {}", directory.display()),
        Origin::Running(dsn) if dsn.is_empty() => "running server of the PG variables".to_owned(),
        Origin::Running(dsn) => format!("running server at {dsn}"),
    };
    let mut words = vec![origin];
    words.extend(server.in_place.then(|| "in place".to_owned()));
    words.extend(server.settings.iter().map(|(name, value)| format!("{name} = {value}")));
    words.extend(server.tablespaces.iter().map(|(name, directory)| {
        format!("tablespace {name} {}", if directory.is_empty() { "beside its data" } else { directory })
    }));
    words.extend((!server.instrumentation).then(|| "without instrumentation".to_owned()));
    words.extend(server.standbys.iter().map(|standby| {
        let mode = match standby.mode {
            StandbyMode::Asynchronous => "asynchronous standby",
            StandbyMode::Synchronous => "synchronous standby",
        };
        let from = standby.upstream.as_ref().map_or(String::new(), |name| format!(" from {name}"));
        let network = server.network_of(standby);
        if network == StandbyNetwork::default() {
            return format!("{mode} {}{from}", standby.name);
        }
        format!("{mode} {}{from} ({network})", standby.name)
    }));
    words.extend(server.synchronous_standbys.map(|Synchronous { method, number }| {
        let method = match method {
            SynchronousMethod::First => "first",
            SynchronousMethod::Any => "any",
        };
        format!("commits wait for {method} {number}")
    }));
    words.join(", ")
}

fn data_in_words(data: &DataSpec) -> String {
    let plain = DataSpec::default();
    let tables = match (&data.workload, data.bytes_per_scale) {
        (None, _) => "no tables".to_owned(),
        (Some(name), None) => format!("the workload {name} at scale {}", data.scale),
        (Some(name), Some(_)) => {
            let about = WorkloadName::about().find(|(shipped, _)| *shipped == name.to_string());
            let tables = about.map_or_else(|| format!("the workload {name}"), |(_, about)| about.to_owned());
            format!("{tables} at scale {}, about {}", data.scale, sql::size_pretty(data_bytes(data)))
        }
    };
    let mut words = vec![tables];
    words.extend(data.parameters.iter().map(|(name, value)| format!("{name} = {value}")));
    words.extend((data.fillfactor != plain.fillfactor).then(|| format!("fillfactor {}", data.fillfactor)));
    words.extend(data.unlogged.then(|| "unlogged".to_owned()));
    let partitions = || format!("{} {} partitions", data.partitions, data.partition_method);
    words.extend((data.partitions > 0).then(partitions));
    words.extend(data.foreign_keys.then(|| "foreign keys".to_owned()));
    words.extend((data.init_steps != plain.init_steps).then(|| format!("steps {}", data.init_steps)));
    words.extend(data.indexes.iter().map(|set| format!("indexes {set}")));
    words.extend(data.data_seed.map(|seed| format!("seed {seed}")));
    words.extend(data.tablespace.iter().map(|place| format!("tables in {place}")));
    words.extend(data.index_tablespace.iter().map(|place| format!("indexes in {place}")));
    words.extend(data.setup.iter().map(|setup| format!("then {}", setup.display())));
    words.join(", ")
}

/// The arrangement of the servers, with its reason; empty for a single server. `is_estimated`: the size of a workload is
/// unknown.
fn arrangement_in_words(arrangement: Arrangement, order: TrialOrder, is_estimated: bool) -> Option<String> {
    let needed = |bytes| format!("with data and connections they need about {}", sql::size_pretty(bytes));
    let in_turns = match order {
        TrialOrder::Interleaved => {
            ["used in turns within each repeat", "all repeats on one server before the next"]
        }
        TrialOrder::Sequential => ["in the order of the file"; 2],
    };
    match arrangement {
        Arrangement::Single => None,
        Arrangement::SideBySide { needed_bytes, available_bytes } => Some(format!(
            "side by side, {}: {} of the {} there are",
            in_turns[0],
            needed(needed_bytes),
            sql::size_pretty(available_bytes)
        )),
        Arrangement::OneAtATime { needed_bytes, available_bytes } => Some(format!(
            "one at a time, {}: {}, too much for {}{}",
            in_turns[1],
            needed(needed_bytes),
            available_bytes.map_or_else(|| "a machine with unknown memory".to_owned(), sql::size_pretty),
            if is_estimated {
                " (the size of a workload is unknown: add bytes_per_scale to its workload.toml)"
            } else {
                ""
            }
        )),
    }
}

/// How the data of trials are restored, with the reason.
fn restore_in_words(plan: &Plan, number: usize, data: &DataSpec) -> &'static str {
    if data.workload.is_none() && data.setup.is_none() {
        return "trials load no data";
    }
    let on_it = plan.cells.iter().zip(&plan.data_of).filter(|(_, data)| **data == number);
    let reads: Vec<bool> = on_it.map(|(cell, _)| cell.configuration.only_reads()).collect();
    match data.restore {
        Restore::Template if reads.iter().all(|only_reads| *only_reads) => {
            "loaded once; all trials share a copy, because they only read"
        }
        Restore::Template if reads.contains(&true) => {
            "loaded once; trials that write get their own copies (template database), trials that only read \
             share one"
        }
        Restore::Template => {
            "loaded once; each trial writes and gets its own copy (template database), because copying is \
             faster than loading"
        }
        Restore::Files => {
            "loaded once; if the data were changed, the server is stopped and its files are restored before a \
             trial, as configured"
        }
        Restore::Reload => "loaded again before a trial if the data were changed, as configured",
        Restore::Never => {
            "loaded once and never restored, as configured: trials see the changes of earlier trials"
        }
    }
}

/// `40 s`, `4 min`, `2 h 10 min`: rounded up, with a precision that an estimate can have.
pub fn rough(time: Duration) -> String {
    const FIVE: u64 = 5;
    let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    let minutes = seconds.div_ceil(60);
    match minutes {
        0..=1 => format!("{} s", seconds.div_ceil(FIVE) * FIVE),
        2..60 => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}
