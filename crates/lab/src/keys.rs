//! The keys that describe a trial, as a table: what each is called, in which section it stands, and what it sets.
//! A key is a row here and a line in docs/experiments.md; sections, factors, levels and cases all use the same rows.

use std::collections::BTreeMap;
use std::path::Path;

use config::{Complaint, Entry, Node, Place};
use run::options::{self, Kind, RunOption, Value as OptionValue, word_of, words};
use workload::WorkloadName;

use crate::configuration::{Configuration, Origin, Restore};
use crate::values::{
    dsn, file, hosts, init_steps, network, pairs, scripts, tablespaces, value_of, version, workload,
};

/// Where a key stands if it is not a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Server,
    Data,
    Load,
}

impl Section {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Section::Server => "server",
            Section::Data => "data",
            Section::Load => "load",
        }
    }
}

/// A row of the table: a key that is no option of every run. Those are in `run::options`.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) section: Section,
    /// One sentence, for editors and the manual.
    pub(crate) help: &'static str,
    pub(crate) takes: Takes,
    /// The value in a configuration, for its default.
    pub(crate) get: fn(&Configuration) -> OptionValue,
}

/// What a key takes, and what that sets.
pub(crate) enum Takes {
    /// A value of one of the kinds that options have.
    Value(Kind, fn(&mut Configuration, OptionValue) -> Result<(), String>),
    /// Anything else; its rule in the JSON Schema has this name.
    Node(&'static str, fn(&mut Configuration, &Node, &Path) -> Result<(), Complaint>),
}

const fn value(
    name: &'static str,
    section: Section,
    kind: Kind,
    help: &'static str,
    get: fn(&Configuration) -> OptionValue,
    set: fn(&mut Configuration, OptionValue) -> Result<(), String>,
) -> Key {
    Key { name, section, help, takes: Takes::Value(kind, set), get }
}

const fn node(
    name: &'static str,
    section: Section,
    rule: &'static str,
    help: &'static str,
    set: fn(&mut Configuration, &Node, &Path) -> Result<(), Complaint>,
) -> Key {
    Key { name, section, help, takes: Takes::Node(rule, set), get: |_| OptionValue::Unset }
}

const PARTITION_METHODS: [(&str, bool); 2] = [("range", false), ("hash", true)];
const PARTITION_METHOD_WORDS: [&str; 2] = words(&PARTITION_METHODS);
const RESTORES: [(&str, Restore); 5] = [
    ("auto", Restore::Auto),
    ("template", Restore::Template),
    ("files", Restore::Files),
    ("reload", Restore::Reload),
    ("never", Restore::Never),
];
const RESTORE_WORDS: [&str; 5] = words(&RESTORES);
const BALANCES: [(&str, bool); 2] = [("disable", false), ("random", true)];
const BALANCE_WORDS: [&str; 2] = words(&BALANCES);

/// The keys of `[server]` and `[data]`, and those of `[load]` that are an experiment's alone; `settings` holds names of the
/// server's.
pub(crate) const KEYS: &[Key] = &[
    Key {
        get: |it| match &it.server.origin {
            Origin::Version(version) => OptionValue::Text(version.clone()),
            Origin::Programs(_) | Origin::Running(_) => OptionValue::Unset,
        },
        ..node(
            "version",
            Section::Server,
            "version",
            "Embedded PostgreSQL of this version, such as \"18\", \"16.4\" or \"9.6\"",
            |it, node, _| put(&mut it.server.origin, version(node).map(Origin::Version)),
        )
    },
    node(
        "bin_dir",
        Section::Server,
        "text",
        "The programs of a PostgreSQL installed here; relative to the experiment",
        |it, node, folder| {
            put(&mut it.server.origin, node.text().map(|dir| Origin::Programs(folder.join(dir))))
        },
    ),
    node(
        "dsn",
        Section::Server,
        "text",
        "A server that runs already, by its connection string; without password: PGPASSWORD or a password file has it",
        |it, node, _| put(&mut it.server.origin, dsn(node).map(Origin::Running)),
    ),
    node(
        "settings",
        Section::Server,
        "settings",
        "Settings as in postgresql.conf; one alone as settings.NAME",
        |it, node, _| pairs(&mut it.server.settings, node),
    ),
    node(
        "tablespaces",
        Section::Server,
        "tablespaces",
        "Names and directories: in each a private directory is made, owned by the server's user and removed with the \
         server; \"\": beside its data, such as { fast = \"/dev/shm\", disk = \"\" }",
        |it, node, _| put(&mut it.server.tablespaces, tablespaces(node)),
    ),
    value(
        "instrumentation",
        Section::Server,
        Kind::Flag,
        "An embedded server loads pg_stat_statements and sets track_io_timing, which costs a little",
        |it| it.server.instrumentation.into(),
        |it, value| put(&mut it.server.instrumentation, value.try_into()),
    ),
    Key {
        get: |it| OptionValue::Text(it.data.workload.clone().unwrap_or_default().to_string()),
        ..node(
            "workload",
            Section::Data,
            "text",
            "\"tpcb\": the tables of the built-in scripts; the folder of a workload of your own, relative to the \
             experiment; \"none\": only what data_setup makes",
            |it, node, folder| put(&mut it.data.workload, workload(node, folder)),
        )
    },
    node(
        "parameters",
        Section::Data,
        "settings",
        "Values of the workload's parameters; one alone as parameters.NAME",
        |it, node, _| pairs(&mut it.data.parameters, node),
    ),
    value(
        "scale",
        Section::Data,
        Kind::Count { least: 1, most: SCALE_MAX, most_in_file: SCALE_MAX },
        "100,000 accounts each, or the unit of the workload",
        |it| it.data.scale.into(),
        |it, value| put(&mut it.data.scale, value.try_into()),
    ),
    value(
        "fillfactor",
        Section::Data,
        Kind::Count { least: 10, most: 100, most_in_file: 100 },
        "How full pages are packed, in percent",
        |it| u32::from(it.data.fillfactor).into(),
        |it, value| put(&mut it.data.fillfactor, value.try_into()),
    ),
    value(
        "unlogged",
        Section::Data,
        Kind::Flag,
        "Tables without write-ahead log",
        |it| it.data.unlogged.into(),
        |it, value| put(&mut it.data.unlogged, value.try_into()),
    ),
    value(
        "partitions",
        Section::Data,
        Kind::Count { least: 0, most: PARTITIONS_MAX, most_in_file: PARTITIONS_MAX },
        "Partitions of the accounts; 0: not partitioned",
        |it| it.data.partitions.into(),
        |it, value| put(&mut it.data.partitions, value.try_into()),
    ),
    value(
        "partition_method",
        Section::Data,
        Kind::Choice(&PARTITION_METHOD_WORDS),
        "How accounts are partitioned",
        |it| word_of(&PARTITION_METHODS, &it.data.partition_by_hash),
        |it, value| put(&mut it.data.partition_by_hash, value.one_of(&PARTITION_METHODS)),
    ),
    value(
        "foreign_keys",
        Section::Data,
        Kind::Flag,
        "Foreign keys between the tables",
        |it| it.data.foreign_keys.into(),
        |it, value| put(&mut it.data.foreign_keys, value.try_into()),
    ),
    value(
        "tablespace",
        Section::Data,
        Kind::Text,
        "The tablespace of tables",
        |_| OptionValue::Unset,
        |it, value| put(&mut it.data.tablespace, value.optional()),
    ),
    value(
        "index_tablespace",
        Section::Data,
        Kind::Text,
        "The tablespace of indexes",
        |_| OptionValue::Unset,
        |it, value| put(&mut it.data.index_tablespace, value.optional()),
    ),
    Key {
        get: |it| OptionValue::Text(it.data.init_steps.clone()),
        ..node(
            "init_steps",
            Section::Data,
            "init_steps",
            "Order of the loading steps: d drop, t tables, g or G data, v vacuum, p primary keys, f foreign keys",
            |it, node, _| put(&mut it.data.init_steps, init_steps(node)),
        )
    },
    node(
        "data_setup",
        Section::Data,
        "text",
        "SQL file beside the experiment that is run after loading; \"\": none",
        |it, node, folder| put(&mut it.data.setup, file(node, folder)),
    ),
    value(
        "restore",
        Section::Data,
        Kind::Choice(&RESTORE_WORDS),
        "How data are restored before a trial: \"template\", a copy of a database that was loaded once; \"files\", a copy \
         of all files of the server, which is stopped for it; \"reload\"; \"never\"; \"auto\": as \"template\"",
        |it| word_of(&RESTORES, &it.data.restore),
        |it, value| put(&mut it.data.restore, value.one_of(&RESTORES)),
    ),
    value(
        "checkpoint",
        Section::Data,
        Kind::Flag,
        "A checkpoint before each trial",
        |it| it.data.checkpoint.into(),
        |it, value| put(&mut it.data.checkpoint, value.try_into()),
    ),
    value(
        "vacuum",
        Section::Data,
        Kind::Flag,
        "A vacuum of the small tables before each trial",
        |it| it.data.vacuum.into(),
        |it, value| put(&mut it.data.vacuum, value.try_into()),
    ),
    node(
        "setup",
        Section::Load,
        "text",
        "SQL file that is run before the trial, such as functions that the script calls; \"\": none",
        |it, node, folder| put(&mut it.setup, file(node, folder)),
    ),
    value(
        "operations",
        Section::Load,
        Kind::Count { least: 1, most: OPERATIONS_MAX, most_in_file: OPERATIONS_MAX },
        "Operations of the users that one transaction of the script does: 1000 for a batch of so many",
        |it| it.operations.into(),
        |it, value| put(&mut it.operations, value.try_into()),
    ),
    node(
        "network",
        Section::Load,
        "network",
        "How clients reach the server: \"socket\", \"tcp\", \"tls\", or { kind, delay, jitter, bandwidth }",
        |it, node, _| put(&mut it.network, network(node)),
    ),
    node(
        "hosts",
        Section::Load,
        "hosts",
        "Hosts that clients connect to instead of those of the dsn, each HOST or HOST:PORT",
        |it, node, _| put(&mut it.hosts, hosts(node)),
    ),
    value(
        "load_balance_hosts",
        Section::Load,
        Kind::Choice(&BALANCE_WORDS),
        "Whether each connection goes to one of the hosts at random; if not given, as the dsn says",
        |_| OptionValue::Unset,
        |it, value| put(&mut it.load_balance, value.one_of(&BALANCES).map(Some)),
    ),
    value(
        "metrics",
        Section::Load,
        Kind::Text,
        "HOST:PORT at which the figures of the trial that runs are served as OpenMetrics",
        |_| OptionValue::Unset,
        |it, value| {
            let address: Option<String> = value.optional()?;
            let port = |address: &String| {
                address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
            };
            match address.as_ref().is_none_or(port) {
                true => put(&mut it.metrics, Ok(address)),
                false => {
                    Err("expected HOST:PORT, such as \"127.0.0.1:9187\"; port 0 is a free one".to_owned())
                }
            }
        },
    ),
];

/// Most partitions, and most operations of a transaction.
const PARTITIONS_MAX: u64 = 100_000;
const OPERATIONS_MAX: u64 = 1_000_000_000;
/// The largest scale that pgbench takes.
const SCALE_MAX: u64 = i32::MAX.unsigned_abs() as u64;

/// Names of the keys of a section.
pub(crate) fn names_in(section: Section) -> Vec<&'static str> {
    let of_runs = options::keys().filter(|_| section == Section::Load).map(|option| option.name);
    of_runs.chain(KEYS.iter().filter(|key| key.section == section).map(|key| key.name)).collect()
}

/// Names of all keys.
pub(crate) fn names() -> Vec<&'static str> {
    [Section::Server, Section::Data, Section::Load].into_iter().flat_map(names_in).collect()
}

/// The section in which a key stands if it is not a factor.
pub(crate) fn section_of(name: &str) -> Option<Section> {
    let of_runs = options::key(name).map(|_| Section::Load);
    of_runs.or_else(|| KEYS.iter().find(|key| key.name == name).map(|key| key.section))
}

/// Keys that hold names of the user's; one alone is written with a dot, such as `settings.NAME`.
pub(crate) const PARENTS: [&str; 3] = ["settings", "parameters", "variables"];

/// Whether a name is that of a key, `settings.NAME` and the like included.
pub fn is_key(name: &str) -> bool {
    section_of(name).is_some() || parent(name).is_some()
}

/// `settings` of `settings.wal_compression`.
fn parent(name: &str) -> Option<(&'static str, &str)> {
    let (parent, child) = name.split_once('.')?;
    let parent = PARENTS.into_iter().find(|known| *known == parent)?;
    (!child.is_empty()).then_some((parent, child))
}

/// Keys that do not go together in one table, and why. A level may still say something else than the section does.
const RIVALS: [(&[&str], &str); 4] = [
    (&["version", "bin_dir", "dsn"], "both say which server it is"),
    (&["dsn", "settings"], KEEPS_ITS_SETTINGS),
    (&["duration", "transactions"], "both say when a trial is over"),
    (&["workers", "threads"], "both are the number of threads"),
];

/// Why a server that runs already gets no settings.
pub(crate) const KEEPS_ITS_SETTINGS: &str = "a server that runs already keeps its own settings";

/// Complains of the second of two keys that do not go together.
pub(crate) fn check_rivals<'a>(keys: impl Iterator<Item = (&'a str, Place)>) -> Result<(), Complaint> {
    let keys: Vec<_> =
        keys.map(|(name, place)| (parent(name).map_or(name, |(parent, _)| parent), place)).collect();
    for (rivals, why) in RIVALS {
        let mut found = keys.iter().filter(|(name, _)| rivals.contains(name));
        let Some((first, at)) = found.next() else { continue };
        if let Some((second, place)) = found.find(|(name, _)| name != first) {
            let what = format!("\"{second}\" does not go with \"{first}\" of line {}: {why}", at.line);
            return Err(Complaint::at(*place, what));
        }
    }
    Ok(())
}

/// The keys of a table with the places where they stand.
pub(crate) fn places(entries: &[Entry]) -> impl Iterator<Item = (&str, Place)> {
    entries.iter().map(|entry| (entry.key.as_str(), entry.place))
}

/// Sets one key; `folder` is the experiment's, from where files are looked for.
pub(crate) fn set(
    configuration: &mut Configuration,
    name: &str,
    node: &Node,
    folder: &Path,
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
    if let Some(option) = options::key(name) {
        let value = option_value(option, node, folder, configuration.data.workload.as_ref())?;
        return (option.set)(&mut configuration.load, value).map_err(|what| Complaint::at(node.place, what));
    }
    match KEYS.iter().find(|key| key.name == name).map(|key| &key.takes) {
        Some(Takes::Node(_, set)) => set(configuration, node, folder),
        Some(Takes::Value(kind, set)) => {
            let value = value_of(*kind, None, node)?;
            set(configuration, value).map_err(|what| Complaint::at(node.place, what))
        }
        None => Err(Complaint::at(node.place, config::unknown_key(name, "the experiment", &names()))),
    }
}

/// The value of an option of a run.
fn option_value(
    option: &RunOption,
    node: &Node,
    folder: &Path,
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
        _ => value_of(option.kind, option.unset, node),
    }
}

fn put<T, E>(field: &mut T, value: Result<T, E>) -> Result<(), E> {
    *field = value?;
    Ok(())
}

/// What scripts can call by `:name`: letters, digits and underscores, and no digit first; anything beyond ASCII is a
/// letter (pgbench.c, valid_variable_name).
fn check_variable(name: &str, place: Place) -> Result<(), Complaint> {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    let is_name = name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit());
    let what =
        || format!("no script can call a variable \"{name}\": letters, digits and _, and no digit first");
    if is_name { Ok(()) } else { Err(Complaint::at(place, what())) }
}
