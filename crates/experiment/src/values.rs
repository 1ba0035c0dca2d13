//! Parses the values of an experiment's keys: options, paths, servers, scripts, networks. Called by `keys` and
//! `steps`. Errors carry the position in the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use config::{Complaint, Entry, Folder, Node, Value};
use run::options::{Kind, RunOption, Value as OptionValue, expected_unit, with_unit};
use run::{ActionSpec, ScriptSource, ScriptSpec};
use stats::Scale;
use stats::rate::{LoadStage, RateCurve, StageLoad};
use workload::WorkloadName;

use crate::fields;
use crate::network::{Network, NetworkKind};
use crate::steps::StepSql;

/// Longest delay that a relay supports.
const NETWORK_DELAY_MAX: Duration = Duration::from_secs(3600);
/// Parses a value of this kind; `unset` is the word that leaves the option unset.
pub(crate) fn value_of(kind: Kind, unset: Option<&str>, node: &Node) -> Result<OptionValue, Complaint> {
    if unset.is_some_and(|word| node.text() == Ok(word)) {
        return Ok(OptionValue::Unset);
    }
    let or_unset = unset.map_or(String::new(), |word| format!(", or \"{word}\""));
    let expected = |what: String| node.expected(&format!("{what}{or_unset}"));
    match (kind, &node.value) {
        (Kind::Count { least, most_in_file, .. }, _) => {
            node.whole(least, most_in_file).map(OptionValue::Count)
        }
        (Kind::CountOrPerCore { most_in_file }, _) => node.whole(1, most_in_file).map(OptionValue::Count),
        (Kind::Flag, _) => node.truth().map(OptionValue::Truth),
        (Kind::Rate | Kind::Positive, Value::Integer(_) | Value::Float(_)) => {
            node.positive().map(OptionValue::Number).map_err(|_| expected(kind.expected_in_file()))
        }
        (Kind::Scale, Value::Text(_)) => Err(expected(kind.expected_in_file())),
        (Kind::Scale, _) => node
            .positive()
            .ok()
            .filter(|units| Scale::new(*units).is_some())
            .map(OptionValue::Number)
            .ok_or_else(|| expected(kind.expected_in_file())),
        (_, Value::Text(text)) => kind.text_in_file(text).map_err(expected),
        _ => Err(expected(kind.expected_in_file())),
    }
}

/// A number, a curve, or a curve in a file relative to the experiment file.
pub(crate) fn rate(option: &RunOption, node: &Node, folder: Folder<'_>) -> Result<OptionValue, Complaint> {
    let Ok(text) = node.text() else { return value_of(option.kind, option.unset, node) };
    if option.unset == Some(text) {
        return Ok(OptionValue::Unset);
    }
    let read = |name: &str| {
        let named = Node { value: Value::Text(name.to_owned()), ..node.clone() };
        let path = beside(&named, folder).map_err(|complaint| complaint.what)?;
        match folder {
            Folder::Stored(files) => {
                let text = files.get(&*path.to_string_lossy()).map_or("", String::as_str);
                RateCurve::from_csv(name, text)
            }
            Folder::Disk(_) | Folder::Typed => run::read_curve(name, &path),
        }
    };
    run::options::rate_or_curve(text, read).map_err(|what| Complaint::at(node.place, what))
}

/// Stages as text, a table of a stage, or a list of tables.
pub(crate) fn stages(option: &RunOption, node: &Node) -> Result<OptionValue, Complaint> {
    let stages: Vec<LoadStage> = match &node.value {
        Value::Text(text) if option.unset == Some(text.as_str()) => return Ok(OptionValue::Unset),
        Value::Text(text) => {
            return option.kind.word(text).map_err(|what| Complaint::at(node.place, what));
        }
        Value::List(nodes) => nodes.iter().map(stage).collect::<Result<_, _>>()?,
        _ => vec![stage(node)?],
    };
    let problem = LoadStage::problem(&stages);
    problem.map_or(Ok(OptionValue::Stages(stages)), |what| Err(Complaint::at(node.place, what)))
}

fn stage(node: &Node) -> Result<LoadStage, Complaint> {
    let place = node.place;
    let mut table = node.clone().into_table()?;
    table.check_keys("[[stage]]", &fields::names(fields::STAGE))?;
    let needs_time = || Complaint::at(place, "a stage requires a duration, such as duration = \"1min\"");
    let duration = table.read("duration", |node| time(node, false))?.ok_or_else(needs_time)?;
    let load = |node: &Node, suffix: &str| {
        let text = format!("{}{suffix}", node.scalar()?);
        text.parse::<StageLoad>().map_err(|_| {
            node.expected(if suffix.is_empty() {
                "a rate, or two such as \"500..2000\""
            } else {
                "a number of clients, or two such as \"8..64\""
            })
        })
    };
    let rate = table.read("rate", |node| load(node, ""))?;
    let clients = table.read("clients", |node| load(node, "c"))?;
    if rate.is_some() && clients.is_some() {
        let what = "a stage has either a rate or clients: with a rate, clients belongs into [load]";
        return Err(Complaint::at(place, what));
    }
    let mut weights = BTreeMap::new();
    if let Some(node) = table.take("weights") {
        let Value::Table(entries) = &node.value else {
            return Err(node.expected("a table of scripts and weights, such as { \"read.sql\" = 9 }"));
        };
        for Entry { key, node, .. } in entries {
            weights.insert(key.clone(), node.whole(0, fields::WEIGHT_MAX)?);
        }
    }
    Ok(LoadStage { load: rate.or(clients), weights, ..LoadStage::new(duration) })
}

/// A file, relative to the experiment file; `""` unsets it.
pub(crate) fn file(node: &Node, folder: Folder<'_>) -> Result<Option<PathBuf>, Complaint> {
    let name = node.text()?;
    if name.is_empty() { Ok(None) } else { beside(node, folder).map(Some) }
}

/// A table of an action, or a list of them.
pub(crate) fn actions(node: &Node) -> Result<Vec<ActionSpec>, Complaint> {
    match &node.value {
        Value::List(nodes) => nodes.iter().map(action).collect(),
        _ => Ok(vec![action(node)?]),
    }
}

fn action(node: &Node) -> Result<ActionSpec, Complaint> {
    let place = node.place;
    let mut table = node.clone().into_table()?;
    table.check_keys("[[action]]", &fields::names(&fields::action_fields()))?;
    let needs_time = || Complaint::at(place, "an action requires a time, such as at = \"30s\"");
    let at = table.read("at", |node| time(node, true))?.ok_or_else(needs_time)?;
    let mut kinds = ActionSpec::kinds().into_iter().filter_map(|kind| Some((kind, table.take(kind)?)));
    let Some((kind, detail)) = kinds.next() else {
        let what = format!("an action requires what to do: {}", ActionSpec::kinds_in_words());
        return Err(Complaint::at(place, what));
    };
    if let Some((other, node)) = kinds.next() {
        let what = format!("{kind} and {other} cannot be combined: write two actions");
        return Err(Complaint::at(node.place, what));
    }
    // `heal = true`: a kind without detail, or without the detail that it may have.
    let text = if detail.value == Value::Boolean(true) { "" } else { detail.text()? };
    ActionSpec::new(at, kind, text).map_err(|what| Complaint::at(detail.place, what))
}

/// SQL, or the name of a file that ends in `.sql`.
pub(crate) fn ddl(node: &Node, folder: Folder<'_>) -> Result<Option<StepSql>, Complaint> {
    match node.text()?.trim() {
        "" => Ok(None),
        name if name.ends_with(".sql") => beside(node, folder).map(|path| Some(StepSql::File(path))),
        sql if sql.contains('\0') => Err(node.expected("SQL")),
        sql => Ok(Some(StepSql::Here(sql.to_owned()))),
    }
}

/// A file in the experiment's directory.
pub(crate) fn beside(node: &Node, folder: Folder<'_>) -> Result<PathBuf, Complaint> {
    folder.file(node, "the experiment")
}

/// Whether a file has this name.
fn is_beside(node: &Node, folder: Folder<'_>) -> bool {
    beside(node, folder).is_ok_and(|path| path.is_file())
}

pub(crate) fn pairs(target: &mut BTreeMap<String, String>, node: &Node) -> Result<(), Complaint> {
    let Value::Table(entries) = &node.value else { return Err(node.expected("a table of names and values")) };
    for entry in entries {
        target.insert(entry.key.clone(), entry.node.scalar()?);
    }
    Ok(())
}

/// `"18"`, `"16.4"`, or the number 18. The number 9.6 is rejected without quotation marks, because 9.10 would be read
/// as 9.1.
pub(crate) fn version(node: &Node) -> Result<String, Complaint> {
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
        return Err(node.expected("a version, \"9.6\" or newer"));
    }
    if is_version { Ok(text) } else { Err(node.expected("a version such as \"18\", \"16.4\" or \"9.6\"")) }
}

/// `{ fast = "/dev/shm", disk = "" }`: names without special characters, and directories.
pub(crate) fn tablespaces(node: &Node) -> Result<BTreeMap<String, String>, Complaint> {
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
                "the name of a tablespace must consist of a to z, 0 to 9 and _, and must not begin with pg_";
            return Err(Complaint::at(entry.place, what));
        }
        let place = entry.node.text()?;
        if !place.is_empty() && !place.starts_with('/') {
            return Err(entry
                .node
                .expected("an absolute directory, or \"\" for one next to the data directory"));
        }
        tablespaces.insert(entry.key.clone(), place.to_owned());
    }
    Ok(tablespaces)
}

/// A connection string without a password, because experiment files are shared.
pub(crate) fn dsn(node: &Node) -> Result<String, Complaint> {
    let text = node.text()?;
    let lower = text.to_ascii_lowercase();
    let authority = lower.split_once("://").map(|(_, rest)| rest.split('?').next().unwrap_or_default());
    let user = authority.and_then(|authority| authority.rsplit_once('@'));
    let in_uri = user.is_some_and(|(user, _)| user.contains(':'));
    // Also rejects `passwrd`: a misspelt keyword would be rejected only when connecting, when it is already in the
    // store.
    if in_uri || lower.replace("passfile", "").contains("pass") {
        let what = "an experiment file must not contain a password: set PGPASSWORD or use a password file";
        return Err(Complaint::at(node.place, what));
    }
    Ok(text.to_owned())
}

pub(crate) fn init_steps(node: &Node) -> Result<String, Complaint> {
    let steps = node.text()?;
    let known = !steps.is_empty() && steps.chars().all(|step| "dtgGvpf".contains(step));
    if known {
        Ok(steps.to_owned())
    } else {
        Err(node.expected("steps among d, t, g, G, v, p and f, such as \"dtgvp\""))
    }
}

/// A built-in script, a file, or a list of these with weights: `["a.sql@3", { script = "select-only", weight = 9 }]`.
pub(crate) fn scripts(
    node: &Node,
    folder: Folder<'_>,
    workload: Option<&WorkloadName>,
) -> Result<Vec<ScriptSpec>, Complaint> {
    let one_script = |node: &Node| one_script(node, folder, workload);
    let Value::List(nodes) = &node.value else { return Ok(vec![one_script(node)?]) };
    let scripts: Vec<ScriptSpec> = nodes.iter().map(one_script).collect::<Result<_, Complaint>>()?;
    if scripts.iter().all(|script| script.weight == 0) {
        return Err(Complaint::at(node.place, "at least one script must have a weight above 0"));
    }
    Ok(scripts)
}

fn one_script(
    node: &Node,
    folder: Folder<'_>,
    workload: Option<&WorkloadName>,
) -> Result<ScriptSpec, Complaint> {
    if let Value::Table(_) = &node.value {
        let mut table = node.clone().into_table()?;
        table.check_keys("a script", &fields::names(fields::SCRIPT))?;
        let script = table.take("script").ok_or_else(|| node.expected("a table with the key script"))?;
        let weight = table.read("weight", |weight| weight.whole(0, fields::WEIGHT_MAX))?;
        let chosen = one_script(&script, folder, workload)?;
        let weight = weight.unwrap_or(chosen.weight);
        return Ok(ScriptSpec { weight, ..chosen });
    }
    let (name, weight) = with_weight(node)?;
    let node = &name;
    let name = node.text()?;
    let source = match workload {
        // No script of a workload has such a name.
        _ if name.contains(['/', '.']) => ScriptSource::File(beside(node, folder)?),
        // The scripts of a directory's workload are looked up when it is read.
        Some(WorkloadName::Folder(_)) => ScriptSource::OfWorkload(name.to_owned()),
        Some(WorkloadName::Shipped(_)) | None => {
            let workload = workload.cloned().unwrap_or_default().open();
            let workload = workload.map_err(|error| Complaint::at(node.place, error.to_string()))?;
            match workload.script(name) {
                Ok(script) => ScriptSource::OfWorkload(script.name.to_string()),
                Err(_) if is_beside(node, folder) => ScriptSource::File(beside(node, folder)?),
                Err(_) => {
                    let names: Vec<&str> = workload.scripts().iter().map(|script| &*script.name).collect();
                    return Err(node.expected(&format!("{}, or the name of a file", names.join(", "))));
                }
            }
        }
    };
    Ok(ScriptSpec { weight, ..ScriptSpec::new(source) })
}

/// The name of a script and its weight: 9 in `a.sql@9`, as on the command line; 1 without `@`.
fn with_weight(node: &Node) -> Result<(Node, u32), Complaint> {
    let text = node.text()?;
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let Some((name, digits)) = text.rsplit_once('@').filter(|(_, digits)| is_number(digits)) else {
        return Ok((node.clone(), 1));
    };
    let weight = digits.parse().ok().filter(|weight| u64::from(*weight) <= fields::WEIGHT_MAX);
    let weight =
        weight.ok_or_else(|| node.expected(&format!("a weight of at most {}", fields::WEIGHT_MAX)))?;
    Ok((Node { value: Value::Text(name.to_owned()), ..node.clone() }, weight))
}

/// The name of a built-in workload, a directory relative to the experiment file, or "none". A directory is read
/// later, once.
pub(crate) fn workload(node: &Node, folder: Folder<'_>) -> Result<Option<WorkloadName>, Complaint> {
    match node.text()? {
        "none" => Ok(None),
        name => {
            let base = match folder {
                Folder::Disk(base) => base,
                Folder::Typed => Path::new(""),
                Folder::Stored(_) => return Ok(Some(WorkloadName::stored(name))),
            };
            let found = WorkloadName::find(name, base);
            let found = found.map_err(|error| Complaint::at(node.place, error.to_string()))?;
            Ok(Some(match found {
                WorkloadName::Folder(_) => WorkloadName::Folder(folder.path(name)),
                shipped @ WorkloadName::Shipped(_) => shipped,
            }))
        }
    }
}

/// `"socket"`, `"tcp"`, `"tls"`, or `{ kind = "tcp", delay = "10ms", jitter = "1ms", bandwidth = "100Mbit" }`.
pub(crate) fn network(node: &Node) -> Result<Network, Complaint> {
    const KINDS: [(&str, NetworkKind); 3] =
        [("socket", NetworkKind::Socket), ("tcp", NetworkKind::Tcp), ("tls", NetworkKind::Tls)];
    let Value::Table(_) = &node.value else {
        return Ok(Network { kind: node.one_of(&KINDS)?, ..Network::default() });
    };
    let mut table = node.clone().into_table()?;
    table.check_keys("a network", &fields::names(fields::NETWORK))?;
    let network = Network {
        kind: table.read("kind", |kind| kind.one_of(&KINDS))?.unwrap_or_default(),
        delay: table.read("delay", duration)?.unwrap_or_default(),
        jitter: table.read("jitter", duration)?.unwrap_or_default(),
        bandwidth_bits_per_s: table.read("bandwidth", bits_per_s)?,
        has_faults: false,
    };
    if network.jitter > network.delay {
        let what = "the jitter must not exceed the delay, because delays cannot be negative";
        return Err(Complaint::at(node.place, what));
    }
    if network.delay > NETWORK_DELAY_MAX {
        return Err(Complaint::at(node.place, "the delay must not exceed one hour"));
    }
    Ok(network)
}

/// `["10.0.0.1", "db2:6432", "[::1]:5432"]`, or one of these.
pub(crate) fn hosts(node: &Node) -> Result<Vec<(String, Option<u16>)>, Complaint> {
    let one = |node: &Node| {
        let text = node.text()?.trim();
        let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, rest)) => (address, rest.strip_prefix(':').or((!rest.is_empty()).then_some(rest))),
            None => match text.rsplit_once(':') {
                Some((name, port)) if !name.contains(':') => (name, Some(port)),
                _ => (text, None),
            },
        };
        let port = port.map(|port| port.parse().ok().filter(|port| *port > 0));
        let is_name =
            !name.is_empty() && !name.contains(|c: char| c == ',' || c.is_whitespace() || c.is_control());
        match port {
            Some(None) => Err(node.expected("a host with a port from 1 to 65535, such as \"db2:6432\"")),
            _ if !is_name => Err(node.expected("a host, such as \"db2\" or \"db2:6432\"")),
            port => Ok((name.to_owned(), port.flatten())),
        }
    };
    match &node.value {
        Value::List(nodes) if !nodes.is_empty() => nodes.iter().map(one).collect(),
        Value::Text(_) => Ok(vec![one(node)?]),
        _ => Err(node.expected("a host, or a list of hosts")),
    }
}

/// A time such as `"60s"`; zero is allowed.
pub(crate) fn duration(node: &Node) -> Result<Duration, Complaint> {
    time(node, true)
}

pub(crate) fn time(node: &Node, may_be_zero: bool) -> Result<Duration, Complaint> {
    let value = value_of(Kind::Time { may_be_zero }, None, node)?;
    value.try_into().map_err(|what: String| Complaint::at(node.place, what))
}

const BIT_RATES: [(&str, f64); 3] = [("kbit", 1e3), ("Mbit", 1e6), ("Gbit", 1e9)];
const BIT_RATE_EXAMPLE: &str = "100Mbit";

pub(crate) fn bits_per_s(node: &Node) -> Result<f64, Complaint> {
    let text = node.text().map_err(|_| node.expected(&expected_unit(&BIT_RATES, BIT_RATE_EXAMPLE)))?;
    let bits = with_unit(text, &BIT_RATES, BIT_RATE_EXAMPLE).map_err(|expected| node.expected(&expected))?;
    if bits >= 1.0 { Ok(bits) } else { Err(node.expected("a bandwidth above zero")) }
}
