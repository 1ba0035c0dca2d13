//! The keys that describe a trial, as a table: what each is called, in which section it stands, and what it sets.
//! A key is a row here and a line in docs/experiments.md; sections, factors, levels and cases all use the same rows.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use crate::configuration::{
    Configuration, Length, Network, NetworkKind, Origin, ProtocolChoice, Restore, ScriptChoice, ScriptName,
    Workload,
};
use crate::document::{Complaint, Entry, Node, Place, Table, Value};
use crate::quantity;

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

/// A row of the table.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) section: Section,
    set: fn(&mut Configuration, &Node, &Path) -> Result<(), Complaint>,
}

const fn key(
    name: &'static str,
    section: Section,
    set: fn(&mut Configuration, &Node, &Path) -> Result<(), Complaint>,
) -> Key {
    Key { name, section, set }
}

/// All keys; `settings` and `variables` hold names of the server's and the scripts'.
pub(crate) const KEYS: &[Key] = &[
    key("version", Section::Server, |it, node, _| {
        it.server.origin = Origin::Version(version(node)?);
        Ok(())
    }),
    key("bin_dir", Section::Server, |it, node, folder| {
        it.server.origin = Origin::Programs(folder.join(node.text()?));
        Ok(())
    }),
    key("dsn", Section::Server, |it, node, _| {
        it.server.origin = Origin::Running(dsn(node)?);
        Ok(())
    }),
    key("settings", Section::Server, |it, node, _| pairs(&mut it.server.settings, node)),
    key("tablespaces", Section::Server, |it, node, _| {
        it.server.tablespaces = tablespaces(node)?;
        Ok(())
    }),
    key("instrumentation", Section::Server, |it, node, _| truth(&mut it.server.instrumentation, node)),
    key("workload", Section::Data, |it, node, _| {
        it.data.workload = node.one_of(&[("tpcb", Workload::Tpcb), ("none", Workload::Nothing)])?;
        Ok(())
    }),
    key("scale", Section::Data, |it, node, _| whole(&mut it.data.scale, node, 1, SCALE_MAX)),
    key("fillfactor", Section::Data, |it, node, _| whole(&mut it.data.fillfactor, node, 10, 100)),
    key("unlogged", Section::Data, |it, node, _| truth(&mut it.data.unlogged, node)),
    key("partitions", Section::Data, |it, node, _| whole(&mut it.data.partitions, node, 0, 100_000)),
    key("partition_method", Section::Data, |it, node, _| {
        it.data.partition_by_hash = node.one_of(&[("range", false), ("hash", true)])?;
        Ok(())
    }),
    key("foreign_keys", Section::Data, |it, node, _| truth(&mut it.data.foreign_keys, node)),
    key("tablespace", Section::Data, |it, node, _| text(&mut it.data.tablespace, node)),
    key("index_tablespace", Section::Data, |it, node, _| text(&mut it.data.index_tablespace, node)),
    key("init_steps", Section::Data, |it, node, _| {
        it.data.init_steps = init_steps(node)?;
        Ok(())
    }),
    key("data_setup", Section::Data, |it, node, folder| file(&mut it.data.setup, node, folder)),
    key("restore", Section::Data, |it, node, _| {
        let ways = [
            ("auto", Restore::Auto),
            ("template", Restore::Template),
            ("files", Restore::Files),
            ("reload", Restore::Reload),
            ("never", Restore::Never),
        ];
        it.data.restore = node.one_of(&ways)?;
        Ok(())
    }),
    key("checkpoint", Section::Data, |it, node, _| truth(&mut it.data.checkpoint, node)),
    key("vacuum", Section::Data, |it, node, _| truth(&mut it.data.vacuum, node)),
    key("script", Section::Load, |it, node, folder| {
        it.load.scripts = scripts(node, folder)?;
        Ok(())
    }),
    key("setup", Section::Load, |it, node, folder| file(&mut it.load.setup, node, folder)),
    key("clients", Section::Load, |it, node, _| whole(&mut it.load.clients, node, 1, 100_000)),
    key("threads", Section::Load, |it, node, _| whole(&mut it.load.threads, node, 1, 1_000)),
    key("duration", Section::Load, |it, node, _| {
        it.load.length = Length::Time(duration_above_zero(node)?);
        Ok(())
    }),
    key("transactions", Section::Load, |it, node, _| {
        it.load.length = Length::Transactions(node.whole(1, i64::MAX.unsigned_abs())?);
        Ok(())
    }),
    key("warmup", Section::Load, |it, node, _| {
        it.load.warmup = duration(node)?;
        Ok(())
    }),
    key("protocol", Section::Load, |it, node, _| {
        let ways = [
            ("simple", ProtocolChoice::Simple),
            ("extended", ProtocolChoice::Extended),
            ("prepared", ProtocolChoice::Prepared),
        ];
        it.load.protocol = node.one_of(&ways)?;
        Ok(())
    }),
    key("rate", Section::Load, |it, node, _| {
        it.load.rate_tps = if node.text() == Ok("none") {
            None
        } else {
            Some(node.positive().map_err(|_| node.expected("a number above 0, or \"none\""))?)
        };
        Ok(())
    }),
    key("latency_limit", Section::Load, |it, node, _| {
        it.load.latency_limit = Some(duration_above_zero(node)?);
        Ok(())
    }),
    key("max_tries", Section::Load, |it, node, _| whole(&mut it.load.max_tries, node, 0, 1_000_000)),
    key("reconnect", Section::Load, |it, node, _| truth(&mut it.load.reconnect, node)),
    key("grace", Section::Load, |it, node, _| {
        it.load.grace = if node.text() == Ok("auto") { None } else { Some(duration(node)?) };
        Ok(())
    }),
    key("operations", Section::Load, |it, node, _| whole(&mut it.load.operations, node, 1, 1_000_000_000)),
    key("network", Section::Load, |it, node, _| {
        it.network = network(node)?;
        Ok(())
    }),
    key("variables", Section::Load, |it, node, _| {
        let mut named = BTreeMap::new();
        pairs(&mut named, node)?;
        named.keys().try_for_each(|name| check_variable(name, node.place))?;
        it.load.variables.extend(named);
        Ok(())
    }),
];

/// The longest delay that a relay makes.
const NETWORK_DELAY_MAX: Duration = Duration::from_secs(3600);
/// The largest scale that pgbench takes.
const SCALE_MAX: u64 = i32::MAX.unsigned_abs() as u64;

/// Names of the keys of a section.
pub(crate) fn names_in(section: Section) -> Vec<&'static str> {
    KEYS.iter().filter(|key| key.section == section).map(|key| key.name).collect()
}

/// Names of all keys.
pub(crate) fn names() -> Vec<&'static str> {
    KEYS.iter().map(|key| key.name).collect()
}

/// Whether a name is that of a key, `settings.NAME` and `variables.NAME` included.
pub(crate) fn is_key(name: &str) -> bool {
    KEYS.iter().any(|key| key.name == name) || parent(name).is_some()
}

/// `settings` of `settings.wal_compression`.
fn parent(name: &str) -> Option<(&'static str, &str)> {
    let (parent, child) = name.split_once('.')?;
    let parent = ["settings", "variables"].into_iter().find(|known| *known == parent)?;
    (!child.is_empty()).then_some((parent, child))
}

/// Keys that do not go together in one table, and why. A level may still say something else than the section does.
const RIVALS: [(&[&str], &str); 3] = [
    (&["version", "bin_dir", "dsn"], "both say which server it is"),
    (&["dsn", "settings"], KEEPS_ITS_SETTINGS),
    (&["duration", "transactions"], "both say when a trial is over"),
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
        let values = if parent == "settings" {
            &mut configuration.server.settings
        } else {
            &mut configuration.load.variables
        };
        values.insert(child.to_owned(), node.scalar()?);
        return Ok(());
    }
    match KEYS.iter().find(|key| key.name == name) {
        Some(key) => (key.set)(configuration, node, folder),
        None => {
            Err(Complaint::at(node.place, crate::document::unknown_key(name, "the experiment", &names())))
        }
    }
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

fn whole<T: TryFrom<u64>>(target: &mut T, node: &Node, least: u64, most: u64) -> Result<(), Complaint> {
    let number = node.whole(least, most)?;
    *target = T::try_from(number).map_err(|_| node.expected("a smaller number"))?;
    Ok(())
}

fn truth(target: &mut bool, node: &Node) -> Result<(), Complaint> {
    *target = node.truth()?;
    Ok(())
}

fn text(target: &mut Option<String>, node: &Node) -> Result<(), Complaint> {
    *target = Some(node.text()?.to_owned());
    Ok(())
}

/// A file beside the experiment; `""` takes it away again.
fn file(target: &mut Option<PathBuf>, node: &Node, folder: &Path) -> Result<(), Complaint> {
    let name = node.text()?;
    *target = if name.is_empty() { None } else { Some(beside(name, node, folder)?) };
    Ok(())
}

/// A path that stays within the experiment's folder and is there.
pub(crate) fn beside(name: &str, node: &Node, folder: &Path) -> Result<PathBuf, Complaint> {
    let relative = Path::new(name);
    let stays = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !stays {
        return Err(node.expected("a file in the experiment's folder"));
    }
    let path = folder.join(relative);
    if !path.is_file() {
        let what = format!("there is no file {} (looked for at {})", name, path.display());
        return Err(Complaint::at(node.place, what));
    }
    // A link may lead anywhere; whoever gets the folder would not get what it leads to.
    let home = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let is_inside = match (path.canonicalize(), home.canonicalize()) {
        (Ok(real), Ok(home)) => real.starts_with(home),
        _ => false,
    };
    if is_inside {
        Ok(path)
    } else {
        Err(node.expected("a file in the experiment's folder, not a link out of it"))
    }
}

fn pairs(target: &mut BTreeMap<String, String>, node: &Node) -> Result<(), Complaint> {
    let Value::Table(entries) = &node.value else { return Err(node.expected("a table of names and values")) };
    for entry in entries {
        target.insert(entry.key.clone(), entry.node.scalar()?);
    }
    Ok(())
}

/// `"18"`, `"16.4"`, or the number 18; not 9.6 without quotation marks, since 9.10 would be 9.1.
fn version(node: &Node) -> Result<String, Complaint> {
    let text = match &node.value {
        Value::Integer(major) => major.to_string(),
        _ => {
            node.text().map_err(|_| node.expected("a version in quotation marks, such as \"18\""))?.to_owned()
        }
    };
    let is_version = !text.is_empty()
        && text.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    let oldest = |major: u32, minor: u32| (major, minor) >= (9, 6);
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(u32::MAX));
    if is_version && !oldest(parts.next().unwrap_or(0), parts.next().unwrap_or(u32::MAX)) {
        return Err(node.expected("a version from \"9.6\" on"));
    }
    if is_version { Ok(text) } else { Err(node.expected("a version such as \"18\", \"16.4\" or \"9.6\"")) }
}

/// `{ fast = "/dev/shm", disk = "" }`: names that need no quotes, and directories.
fn tablespaces(node: &Node) -> Result<BTreeMap<String, String>, Complaint> {
    let Value::Table(entries) = &node.value else {
        return Err(
            node.expected("a table of names and directories, such as { fast = \"/dev/shm\", disk = \"\" }")
        );
    };
    let mut tablespaces = BTreeMap::new();
    for entry in entries {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let named = entry.key.starts_with(|c: char| c.is_ascii_lowercase()) && entry.key.chars().all(plain);
        if !named || entry.key.starts_with("pg_") || entry.key.len() > 63 {
            let what =
                "the name of a tablespace is made of a to z, 0 to 9 and _, and does not begin with pg_";
            return Err(Complaint::at(entry.place, what));
        }
        let place = entry.node.text()?;
        if !place.is_empty() && !place.starts_with('/') {
            return Err(entry.node.expected("a directory from the root on, or \"\" for one beside the data"));
        }
        tablespaces.insert(entry.key.clone(), place.to_owned());
    }
    Ok(tablespaces)
}

/// A connection string without a password: experiments are files that are shared.
fn dsn(node: &Node) -> Result<String, Complaint> {
    let text = node.text()?;
    let lower = text.to_ascii_lowercase();
    let authority = lower.split_once("://").map(|(_, rest)| rest.split('?').next().unwrap_or_default());
    let in_uri = authority
        .and_then(|authority| authority.rsplit_once('@'))
        .is_some_and(|(user, _)| user.contains(':'));
    // `passwrd` too: what is misspelt would be told by whoever connects, when it stands in the store already.
    if in_uri || lower.replace("passfile", "").contains("pass") {
        return Err(Complaint::at(
            node.place,
            "a password does not belong into an experiment: set PGPASSWORD or use a password file",
        ));
    }
    Ok(text.to_owned())
}

fn init_steps(node: &Node) -> Result<String, Complaint> {
    let steps = node.text()?;
    let known = !steps.is_empty() && steps.chars().all(|step| "dtgGvpf".contains(step));
    if known {
        Ok(steps.to_owned())
    } else {
        Err(node.expected("steps among d, t, g, G, v, p and f, such as \"dtgvp\""))
    }
}

/// A built-in script, a file, or a list of such with weights: `["a.sql", { script = "select-only", weight = 9 }]`.
fn scripts(node: &Node, folder: &Path) -> Result<Vec<ScriptChoice>, Complaint> {
    let Value::List(nodes) = &node.value else { return Ok(vec![one_script(node, folder)?]) };
    let scripts: Vec<ScriptChoice> =
        nodes.iter().map(|node| one_script(node, folder)).collect::<Result<_, Complaint>>()?;
    if scripts.iter().all(|script| script.weight == 0) {
        return Err(Complaint::at(node.place, "at least one script has to have a weight above 0"));
    }
    Ok(scripts)
}

fn one_script(node: &Node, folder: &Path) -> Result<ScriptChoice, Complaint> {
    const BUILTINS: [&str; 3] = ["tpcb-like", "simple-update", "select-only"];
    if let Value::Table(entries) = &node.value {
        let mut table = Table { place: node.place, entries: entries.clone() };
        let script = table.take("script").ok_or_else(|| node.expected("a table with the key script"))?;
        let weight = table.take("weight").map_or(Ok(1), |weight| weight.whole(0, 1_000_000))?;
        table.finish("a script", &["script", "weight"])?;
        let chosen = one_script(&script, folder)?;
        return Ok(ScriptChoice { weight: u32::try_from(weight).unwrap_or(u32::MAX), ..chosen });
    }
    let name = node.text()?;
    let script = if BUILTINS.contains(&name) {
        ScriptName::Builtin(name.to_owned())
    } else if name.ends_with(".sql") {
        ScriptName::File(beside(name, node, folder)?)
    } else {
        return Err(
            node.expected("tpcb-like, simple-update, select-only, or the name of a file that ends in .sql")
        );
    };
    Ok(ScriptChoice { script, weight: 1 })
}

/// `"socket"`, `"tcp"`, `"tls"`, or `{ kind = "tcp", delay = "10ms", jitter = "1ms", bandwidth = "100Mbit" }`.
fn network(node: &Node) -> Result<Network, Complaint> {
    const KINDS: [(&str, NetworkKind); 3] =
        [("socket", NetworkKind::Socket), ("tcp", NetworkKind::Tcp), ("tls", NetworkKind::Tls)];
    let Value::Table(entries) = &node.value else {
        return Ok(Network { kind: node.one_of(&KINDS)?, ..Network::default() });
    };
    let mut table = Table { place: node.place, entries: entries.clone() };
    let network = Network {
        kind: table.take("kind").map_or(Ok(NetworkKind::Socket), |kind| kind.one_of(&KINDS))?,
        delay: table.take("delay").map_or(Ok(Duration::ZERO), |delay| duration(&delay))?,
        jitter: table.take("jitter").map_or(Ok(Duration::ZERO), |jitter| duration(&jitter))?,
        bandwidth_bits_per_s: table.take("bandwidth").map(|bandwidth| bits_per_s(&bandwidth)).transpose()?,
    };
    table.finish("a network", &["kind", "delay", "jitter", "bandwidth"])?;
    if network.jitter > network.delay {
        return Err(Complaint::at(
            node.place,
            "the jitter is more than the delay, which would be negative at times",
        ));
    }
    if network.delay > NETWORK_DELAY_MAX {
        return Err(Complaint::at(node.place, "the delay is more than an hour"));
    }
    Ok(network)
}

/// A time such as `"60s"`; zero is allowed.
pub(crate) fn duration(node: &Node) -> Result<Duration, Complaint> {
    let text = node.text().map_err(|_| node.expected(&quantity::expected_duration()))?;
    quantity::duration(text).map_err(|expected| node.expected(&expected))
}

pub(crate) fn duration_above_zero(node: &Node) -> Result<Duration, Complaint> {
    let time = duration(node)?;
    if time.is_zero() { Err(node.expected("a time above zero")) } else { Ok(time) }
}

fn bits_per_s(node: &Node) -> Result<f64, Complaint> {
    let text = node.text().map_err(|_| node.expected(&quantity::expected_bandwidth()))?;
    quantity::bits_per_s(text).map_err(|expected| node.expected(&expected))
}
