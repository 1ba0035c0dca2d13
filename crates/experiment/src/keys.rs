//! The keys of a trial as a table: name, section, type, help and effect. Adding a key takes a row here and a line in
//! docs/experiments.md. Sections, factors, levels and cases all use these rows.

mod key;
mod pooler;
mod queries;
mod search;
mod standbys;

use std::collections::BTreeMap;

use config::{Complaint, Entry, Folder, Node, Place, Value, nearest, unknown_key};
use run::options::{self, Kind, RunOption, Value as OptionValue, word_of, words};
use run::rules::RULES;
use workload::{PartitionMethod, WorkloadName};

use crate::configuration::{CLIENTS, Configuration, Origin, Restore};
use crate::fields::count;
use crate::relative;
use crate::settings;
use crate::values::{
    actions, ddl, dsn, file, hosts, init_steps, network, pairs, rate, scripts, stages, tablespaces, value_of,
    version, workload,
};
use key::put;
pub(crate) use key::{Key, Section, Takes};
pub(crate) use queries::refused_key;

/// Getter and setter of a field with the type of the value.
macro_rules! field {
    ($($field:ident).+) => {
        (|it| it.$($field).+.into(), |it, value| put(&mut it.$($field).+, value.try_into()))
    };
}

/// The same for an optional field.
macro_rules! optional {
    ($($field:ident).+) => {
        (|_| OptionValue::Unset, |it, value| put(&mut it.$($field).+, value.optional()))
    };
}

/// The same for a field with named values.
macro_rules! choice {
    ($words:expr, $($field:ident).+) => {
        (|it| word_of(&$words, &it.$($field).+), |it, value| put(&mut it.$($field).+, value.one_of(&$words)))
    };
}

const PARTITION_METHODS: [(&str, PartitionMethod); 2] =
    [("range", PartitionMethod::Range), ("hash", PartitionMethod::Hash)];
const RESTORES: [(&str, Restore); 5] = [
    ("auto", Restore::Template),
    ("template", Restore::Template),
    ("files", Restore::Files),
    ("reload", Restore::Reload),
    ("never", Restore::Never),
];
const BALANCES: [(&str, Option<bool>); 2] = [("disable", Some(false)), ("random", Some(true))];

/// The keys of each section; keys of `[load]` that are options of every run are in `run::options`.
pub(crate) const KEYS: [(Section, &[Key]); 6] = [
    (Section::Server, &SERVER),
    (Section::Data, &DATA),
    (Section::Load, &LOAD),
    (Section::Queries, &queries::KEYS),
    (Section::Search, &search::KEYS),
    (Section::Pooler, &pooler::KEYS),
];

const SERVER: [Key; 10] = [
    Key::other(
        "version",
        "version",
        |it, node, _| put(&mut it.server.origin, version(node).map(Origin::Version)),
        "Embedded PostgreSQL of this version, such as \"18\", \"16.4\" or \"9.6\"",
    )
    .default(|it| match &it.server.origin {
        Origin::Version(version) => OptionValue::Text(version.clone()),
        Origin::Programs(_) | Origin::Running(_) => OptionValue::Unset,
    }),
    Key::other(
        "bin_dir",
        "text",
        |it, node, folder| {
            put(&mut it.server.origin, node.text().map(|dir| Origin::Programs(folder.path(dir))))
        },
        "Directory with the programs of an installed PostgreSQL; relative to the experiment file",
    ),
    Key::other(
        "dsn",
        "text",
        |it, node, _| put(&mut it.server.origin, dsn(node).map(Origin::Running)),
        "Connection string of a running server; without a password, which PGPASSWORD or a password file provides",
    ),
    Key::other(
        "settings",
        "settings",
        |it, node, _| pairs(&mut it.server.settings, node),
        "Settings as in postgresql.conf; settings.NAME sets a single one. Those that differ between combinations and that a session can set are set by each connection, and so are all settings of a running server",
    ),
    Key::other(
        "tablespaces",
        "tablespaces",
        |it, node, _| put(&mut it.server.tablespaces, tablespaces(node)),
        "Names and directories, such as { fast = \"/dev/shm\", disk = \"\" }. A private directory is created in each, owned by the \
         server's user and removed with the server; \"\": next to the data directory",
    ),
    Key::new(
        "instrumentation",
        Kind::Flag,
        field!(server.instrumentation),
        "Load pg_stat_statements and set track_io_timing on an embedded server; this has a small cost",
    ),
    Key::new(
        "in_place",
        Kind::Flag,
        (|it| it.server.in_place.into(), set_in_place),
        "Use the database of the dsn as it is: without a copy, tables of pgmeter's own, vacuum or checkpoints",
    ),
    Key::other(
        "standby",
        "standbys",
        |it, node, _| put(&mut it.server.standbys, standbys::standbys(node)),
        "Standbys of an embedded server, such as { name = \"near\", mode = \"synchronous\" }; [[standby]] at the top of the file means the same",
    ),
    Key::other(
        "standby_network",
        "standby_network",
        |it, node, _| put(&mut it.server.standby_network, standbys::standby_network(node)),
        "Network between each standby and its upstream server: a one-way delay, or { delay, jitter, bandwidth }",
    ),
    Key::other(
        "synchronous_standbys",
        "synchronous",
        |it, node, _| put(&mut it.server.synchronous_standbys, standbys::synchronous(node)),
        "Synchronous standbys that a commit waits for: \"first N\" in the order of the file, or \"any N\" (a quorum, \
         since version 10). Default: all",
    ),
];

/// In place, a vacuum or a checkpoint needs a key of its own, which follows in the section of the data.
fn set_in_place(configuration: &mut Configuration, value: OptionValue) -> Result<(), String> {
    let in_place = value.try_into()?;
    let Configuration { server, data, .. } = configuration;
    if in_place && !server.in_place {
        (data.vacuum, data.checkpoint) = (false, false);
    }
    server.in_place = in_place;
    Ok(())
}

const DATA: [Key; 20] = [
    Key::other(
        "workload",
        "text",
        |it, node, folder| put(&mut it.data.workload, workload(node, folder)),
        "Name of a workload that `pgmeter workload list` shows, or its directory, relative to the experiment file; \"none\": only \
         the tables that data_setup creates. Default: \"tpcb\" (pgbench's tables)",
    )
    .default(|it| OptionValue::Text(it.data.workload.clone().unwrap_or_default().to_string())),
    Key::other(
        "parameters",
        "settings",
        |it, node, _| pairs(&mut it.data.parameters, node),
        "Values of the workload's parameters; parameters.NAME sets a single one",
    ),
    Key::new(
        "scale",
        Kind::Scale,
        (
            |it| it.data.scale.into(),
            |it, value| {
                it.data.scale_is_set = true;
                put(&mut it.data.scale, value.try_into())
            },
        ),
        "Scale factor; for tpcb one unit is 100,000 accounts. \"50% of memory\": the scale whose data take this share of the \
         memory of the server's host",
    ),
    Key::new(
        "fillfactor",
        count(10, 100),
        (
            |it| u32::from(it.data.fillfactor).into(),
            |it, value| put(&mut it.data.fillfactor, value.try_into()),
        ),
        "Fillfactor of the tables, in percent; only for tpcb",
    ),
    Key::new("unlogged", Kind::Flag, field!(data.unlogged), "Create unlogged tables; only for tpcb"),
    Key::new(
        "partitions",
        count(0, PARTITIONS_MAX),
        field!(data.partitions),
        "Number of partitions of the accounts table; 0: not partitioned; only for tpcb",
    ),
    Key::new(
        "partition_method",
        Kind::Choice(&words(&PARTITION_METHODS)),
        choice!(PARTITION_METHODS, data.partition_method),
        "Partitioning method of the accounts table; only for tpcb",
    ),
    Key::new("foreign_keys", Kind::Flag, field!(data.foreign_keys), "Create foreign keys between the tables; only for tpcb (other workloads have index sets)"),
    Key::new("tablespace", Kind::Text, optional!(data.tablespace), "Tablespace of the tables; only for tpcb"),
    Key::new("index_tablespace", Kind::Text, optional!(data.index_tablespace), "Tablespace of the indexes; only for tpcb"),
    Key::new(
        "indexes",
        Kind::Text,
        optional!(data.indexes),
        "Index set of the workload, one of those that `pgmeter workload show` lists",
    ),
    Key::new(
        "data_seed",
        count(0, u32::MAX as u64),
        optional!(data.data_seed),
        "Seed of generated rows; the same seed gives the same data",
    ),
    Key::other(
        "init_steps",
        "init_steps",
        |it, node, _| put(&mut it.data.init_steps, init_steps(node)),
        "Initialization steps of tpcb, in order: d drop, t create tables, g or G generate data, v vacuum, p primary keys, f foreign keys",
    )
    .default(|it| OptionValue::Text(it.data.init_steps.clone())),
    Key::other(
        "data_setup",
        "text",
        |it, node, folder| put(&mut it.data.setup, file(node, folder)),
        "SQL file that is run after loading, relative to the experiment file; \"\": none",
    ),
    Key::other(
        "ddl",
        "text",
        |it, node, folder| put(&mut it.ddl, ddl(node, folder)),
        "With in_place and allow_ddl: SQL, or the name of an .sql file, that changes the schema for the time of a trial, such as \
         CREATE INDEX; \"\": none",
    ),
    Key::other(
        "ddl_undo",
        "text",
        |it, node, folder| put(&mut it.ddl_undo, ddl(node, folder)),
        "SQL, or the name of an .sql file, that undoes ddl; for CREATE INDEX with a name, the default is DROP INDEX",
    ),
    Key::new("allow_ddl", Kind::Flag, field!(allow_ddl), "Allow ddl to change the schema of the database in place"),
    Key::new(
        "restore",
        Kind::Choice(&words(&RESTORES)),
        choice!(RESTORES, data.restore),
        "How the data are restored before a trial: \"template\" copies a database that was loaded once; \"files\" copies all \
         files of the stopped server; \"reload\" loads again; \"never\" leaves the data unchanged; \"auto\" is \"template\"",
    ),
    Key::new("checkpoint", Kind::Flag, field!(data.checkpoint), "Run a checkpoint before each trial"),
    Key::new("vacuum", Kind::Flag, field!(data.vacuum), "Vacuum the small tables before each trial"),
];

const LOAD: [Key; 7] = [
    Key::other(
        "setup",
        "text",
        |it, node, folder| put(&mut it.setup, file(node, folder)),
        "SQL file that is run before the trial, for example to create functions that the script calls; \"\": none",
    ),
    Key::new(
        "operations",
        count(1, OPERATIONS_MAX),
        field!(operations),
        "Number of user operations in one transaction of the script, for example 1000 for a batch of 1000 rows",
    ),
    Key::other(
        "network",
        "network",
        |it, node, _| put(&mut it.network, network(node)),
        "Connection of clients to the server: \"socket\", \"tcp\", \"tls\", or { kind, delay, jitter, bandwidth }",
    ),
    Key::other(
        "hosts",
        "hosts",
        |it, node, _| put(&mut it.hosts, hosts(node)),
        "Hosts for clients instead of those of the dsn, each HOST or HOST:PORT",
    ),
    Key::new(
        "load_balance_hosts",
        Kind::Choice(&words(&BALANCES)),
        choice!(BALANCES, load_balance),
        "\"random\": each connection selects one of the hosts at random; default: the setting of the dsn",
    ),
    Key::new(
        "staleness",
        Kind::Flag,
        field!(staleness),
        "Measure the staleness of standbys as clients see it: a session commits a number on the primary about 100 times a second, \
         and others read it from the standbys",
    ),
    Key::new(
        "metrics",
        Kind::Text,
        (|_| OptionValue::Unset, |it, value| put(&mut it.metrics, address(value))),
        "HOST:PORT where live metrics of the running trial are served in OpenMetrics format",
    ),
];

/// Parses an optional `HOST:PORT`.
fn address(value: OptionValue) -> Result<Option<String>, String> {
    let address: Option<String> = value.optional()?;
    let has_port =
        |address: &String| address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if address.as_ref().is_none_or(has_port) {
        return Ok(address);
    }
    Err("expected HOST:PORT, such as \"127.0.0.1:9187\"; port 0 is a free one".to_owned())
}

/// Maximum of partitions, and of operations per transaction.
const PARTITIONS_MAX: u64 = 100_000;
const OPERATIONS_MAX: u64 = 1_000_000_000;

/// Names of the keys of a section.
pub(crate) fn names_in(section: Section) -> Vec<&'static str> {
    let of_runs = options::keys().filter(|_| section == Section::Load).map(|option| option.name);
    let own = KEYS.iter().filter(|(it, _)| *it == section).flat_map(|(_, keys)| *keys);
    of_runs.chain(own.map(|key| key.name)).collect()
}

/// Names of all keys.
pub(crate) fn names() -> Vec<&'static str> {
    KEYS.iter().flat_map(|(section, _)| names_in(*section)).collect()
}

/// The key, or else the setting, whose name is most similar to this one.
pub(crate) fn near(name: &str) -> Option<&'static str> {
    let keys = [names().as_slice(), &PARENTS_SHOWN].concat();
    nearest(name, &keys).or_else(|| nearest(name, &settings::names().collect::<Vec<_>>()))
}

/// The sentence about an unknown key, with the most similar key or setting; `more` are further known words.
pub(crate) fn unknown(name: &str, what: &str, more: &[&str]) -> String {
    match near(name).filter(|_| nearest(name, more).is_none()) {
        Some(near) => format!("unknown key \"{name}\" in {what}; did you mean \"{near}\"?"),
        None => unknown_key(name, what, &[names().as_slice(), more].concat()),
    }
}

fn key(name: &str) -> Option<(Section, &'static Key)> {
    let keys = KEYS.iter().flat_map(|(section, keys)| keys.iter().map(|key| (*section, key)));
    keys.into_iter().find(|(_, key)| key.name == name)
}

/// The section of a key.
pub(crate) fn section_of(name: &str) -> Option<Section> {
    options::key(name).map(|_| Section::Load).or_else(|| key(name).map(|(section, _)| section))
}

/// The name of a key's section in a file; `None` of an unknown key.
pub fn section_name(key: &str) -> Option<&'static str> {
    section_of(key).map(Section::name)
}

/// Keys with user-defined subkeys; a single one is written with a dot, such as `settings.NAME`.
pub(crate) const PARENTS: [&str; 3] = ["settings", "parameters", "variables"];
/// Their subkeys in messages.
const PARENTS_SHOWN: [&str; 3] = ["settings.NAME", "parameters.NAME", "variables.NAME"];

/// Whether a name is a key, including `settings.NAME` and the like.
pub(crate) fn is_key(name: &str) -> bool {
    section_of(name).is_some() || parent(name).is_some()
}

/// Splits `settings.wal_compression` into `settings` and `wal_compression`; a name that is no key but a setting of
/// PostgreSQL means the same.
fn parent(name: &str) -> Option<(&'static str, &str)> {
    let Some((parent, child)) = name.split_once('.') else {
        let is_setting = section_of(name).is_none() && settings::scope(name).is_some();
        return is_setting.then_some(("settings", name));
    };
    let parent = PARENTS.into_iter().find(|known| *known == parent)?;
    (!child.is_empty()).then_some((parent, child))
}

/// The complete name of a key: a setting without its parent gets it.
pub(crate) fn canonical(name: &str) -> String {
    parent(name).map_or_else(|| name.to_owned(), |(parent, child)| format!("{parent}.{child}"))
}

/// Keys that select the server.
pub(crate) const SERVER_CHOICES: [&str; 3] = ["version", "bin_dir", "dsn"];

/// Keys that exclude each other in one table beside those of the rules of runs, with the reason. A level may still
/// override the section's key.
const EXCLUSIVE: [(&[&str], &str); 2] = [
    (&SERVER_CHOICES, "both select the server"),
    (&["workers", "threads"], "both are the number of threads"),
];

/// Rejects the second of two keys that exclude each other.
pub(crate) fn check_exclusive<'a>(keys: impl Iterator<Item = (&'a str, Place)>) -> Result<(), Complaint> {
    let keys: Vec<_> =
        keys.map(|(name, place)| (parent(name).map_or(name, |(parent, _)| parent), place)).collect();
    let of_runs = RULES.iter().filter_map(|rule| Some((rule.exclusive()?.to_vec(), rule.reason)));
    let own = EXCLUSIVE.iter().map(|(keys, why)| (keys.to_vec(), *why));
    for (exclusive, why) in own.chain(of_runs) {
        let mut found = keys.iter().filter(|(name, _)| exclusive.contains(name));
        let Some((first, at)) = found.next() else { continue };
        if let Some((second, place)) = found.find(|(name, _)| name != first) {
            let what = format!("\"{second}\" cannot be combined with \"{first}\" of line {}: {why}", at.line);
            return Err(Complaint::at(*place, what));
        }
    }
    Ok(())
}

/// The keys of a table with their positions.
pub(crate) fn places(entries: &[Entry]) -> impl Iterator<Item = (&str, Place)> {
    entries.iter().map(|entry| (entry.key.as_str(), entry.place))
}

/// Sets one key; `folder` is the experiment's directory, for relative paths.
pub(crate) fn set(
    configuration: &mut Configuration,
    name: &str,
    node: &Node,
    folder: Folder<'_>,
) -> Result<(), Complaint> {
    if let Some((parent, child)) = parent(name) {
        if parent == "variables" {
            check_variable(child, node.place)?;
        }
        let values = match parent {
            "settings" => &mut configuration.server.settings,
            "parameters" => &mut configuration.data.parameters,
            _ => &mut configuration.load.variables,
        };
        values.insert(child.to_owned(), node.scalar()?);
        return Ok(());
    }
    if name == CLIENTS {
        configuration.places.insert(CLIENTS, node.place);
    }
    configuration.relative.remove(name);
    if let Some((key, relative)) = relative::read(name, node)? {
        configuration.relative.insert(key, relative);
        return Ok(());
    }
    if let Some(option) = options::key(name) {
        let value = option_value(option, node, folder, configuration.data.workload.as_ref())?;
        return (option.set)(&mut configuration.load, value).map_err(|what| Complaint::at(node.place, what));
    }
    if let Some((section, key)) = key(name)
        && (section == Section::Queries || key.name == "workload")
    {
        configuration.places.insert(key.name, node.place);
    }
    match key(name).map(|(_, key)| &key.takes) {
        Some(Takes::Node(_, set)) => set(configuration, node, folder),
        Some(Takes::Value(kind, set)) => {
            let value = value_of(*kind, None, node)?;
            set(configuration, value).map_err(|what| Complaint::at(node.place, what))
        }
        None => Err(Complaint::at(node.place, unknown(name, "the experiment", &[]))),
    }
}

/// Parses the value of an option of a run.
fn option_value(
    option: &RunOption,
    node: &Node,
    folder: Folder<'_>,
    workload: Option<&WorkloadName>,
) -> Result<OptionValue, Complaint> {
    match option.name {
        "script" => Ok(OptionValue::Scripts(scripts(node, folder, workload)?)),
        "variables" => {
            let mut named = BTreeMap::new();
            pairs(&mut named, node)?;
            named.keys().try_for_each(|name| check_variable(name, node.place))?;
            Ok(OptionValue::Pairs(named.into_iter().collect()))
        }
        "targets" => {
            let table = node.clone().into_table()?;
            let targets = table.entries.iter().map(|entry| Ok((entry.key.clone(), dsn(&entry.node)?)));
            Ok(OptionValue::Pairs(targets.collect::<Result<_, Complaint>>()?))
        }
        "action" => Ok(OptionValue::Actions(actions(node)?)),
        "rate" => rate(option, node, folder),
        "stages" => stages(option, node),
        "goal" => {
            let texts = match &node.value {
                Value::List(nodes) => nodes.iter().map(Node::text).collect::<Result<Vec<_>, _>>()?,
                _ => vec![node.text()?],
            };
            let texts: Vec<String> = texts.into_iter().map(str::to_owned).collect();
            let Kind::Words(goals) = option.kind else { return value_of(option.kind, option.unset, node) };
            goals(&texts).map_err(|what| Complaint::at(node.place, what))
        }
        _ => value_of(option.kind, option.unset, node),
    }
}

fn check_variable(name: &str, place: Place) -> Result<(), Complaint> {
    if script::Symbols::is_valid_name(name) {
        return Ok(());
    }
    let what = format!(
        "\"{name}\" is not a valid variable name: use letters, digits and _, and do not begin \
                        with a digit"
    );
    Err(Complaint::at(place, what))
}
