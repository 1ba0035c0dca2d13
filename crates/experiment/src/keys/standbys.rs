//! The values of the keys of standbys: `[[standby]]`, their network, and those that a commit waits for. Errors carry
//! the position in the file.

use config::{Complaint, Node, Value};
use server::SynchronousMethod;

use crate::fields;
use crate::network::Network;
use crate::settings::check_name;
use crate::standbys::{ALL_STANDBYS, StandbyMode, StandbyNetwork, StandbySpec, Synchronous};
use crate::values::{bits_per_s, duration, network};

/// Standbys of one server; each is a complete server of its own.
const STANDBYS_MAX: usize = 8;

/// A table of a standby, or a list of them.
pub(crate) fn standbys(node: &Node) -> Result<Vec<StandbySpec>, Complaint> {
    let nodes = match &node.value {
        Value::List(nodes) => nodes.as_slice(),
        _ => std::slice::from_ref(node),
    };
    if nodes.len() > STANDBYS_MAX {
        let what = format!("a server can have at most {STANDBYS_MAX} standbys here");
        return Err(Complaint::at(node.place, what));
    }
    nodes.iter().map(standby).collect()
}

fn standby(node: &Node) -> Result<StandbySpec, Complaint> {
    const MODES: [(&str, StandbyMode); 2] =
        [("asynchronous", StandbyMode::Asynchronous), ("synchronous", StandbyMode::Synchronous)];
    let place = node.place;
    let mut table = node.clone().into_table()?;
    table.check_keys("[[standby]]", &fields::names(fields::STANDBY))?;
    let needs_name = || Complaint::at(place, "a standby requires a name, such as name = \"near\"");
    let mut settings = Vec::new();
    for entry in table.table("settings")?.entries {
        check_name(&entry.key).map_err(|what| Complaint::at(entry.place, what))?;
        settings.push((entry.key, entry.node.scalar()?));
    }
    Ok(StandbySpec {
        name: table.read("name", name)?.ok_or_else(needs_name)?,
        mode: table.read("mode", |mode| mode.one_of(&MODES))?.unwrap_or_default(),
        network: table.read("network", standby_network)?,
        upstream: table.read("from", name)?,
        settings,
    })
}

fn name(node: &Node) -> Result<String, Complaint> {
    let name = node.text()?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_name = !name.is_empty() && name.len() <= 40 && name.chars().all(plain) && name != ALL_STANDBYS;
    let expected = "the name of a standby: at most 40 lower-case letters, digits and underscores, and not \
                    \"standbys\", which means all of them";
    if is_name { Ok(name.to_owned()) } else { Err(node.expected(expected)) }
}

/// `"10ms"`, or `{ delay = "10ms", jitter = "1ms", bandwidth = "100Mbit" }`.
pub(crate) fn standby_network(node: &Node) -> Result<StandbyNetwork, Complaint> {
    if let Value::Text(_) = &node.value {
        return Ok(StandbyNetwork { delay: duration(node)?, ..StandbyNetwork::default() });
    }
    let mut table = node.clone().into_table()?;
    if let Some(kind) = table.take("kind") {
        let what = "a standby is always connected over TCP or a Unix socket: remove kind";
        return Err(Complaint::at(kind.place, what));
    }
    let bandwidth = table.read("bandwidth", bits_per_s)?;
    let Network { delay, jitter, .. } = network(node)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a bandwidth is positive")]
    let bandwidth_bits_per_s = bandwidth.map(|bits| bits.round() as u64);
    Ok(StandbyNetwork { delay, jitter, bandwidth_bits_per_s })
}

/// `"first 1"` or `"any 2"`.
pub(crate) fn synchronous(node: &Node) -> Result<Option<Synchronous>, Complaint> {
    let text = node.text()?.trim().to_ascii_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let parsed = match words.as_slice() {
        ["first", number] => Some((SynchronousMethod::First, number)),
        ["any", number] => Some((SynchronousMethod::Any, number)),
        _ => None,
    };
    let number = |(method, number): (SynchronousMethod, &&str)| {
        let number = number.parse().ok().filter(|number| (1..=STANDBYS_MAX).contains(number))?;
        Some(Synchronous { method, number })
    };
    parsed.and_then(number).map(Some).ok_or_else(|| {
        node.expected("the standbys that a commit waits for, such as \"first 1\" or \"any 2\"")
    })
}
