//! The standbys of an experiment's server, as its file defines them: names, modes, networks and cascades. Parses and
//! checks them; `standby_set` makes them.

use std::fmt;
use std::time::Duration;

use config::{Complaint, Node, Value};
use server::SynchronousMethod;

use crate::configuration::{Network, NetworkKind, ServerSpec};
use crate::schema;
use crate::settings::check_name;
use crate::values::{bits_per_s, duration, network};

/// The target that means all standbys, one of which each connection selects.
pub(crate) const ALL: &str = "standbys";
/// Standbys of one server; each is a complete server of its own.
const STANDBYS_MAX: usize = 8;

/// A standby of an embedded server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StandbySpec {
    /// Its name, as in `synchronous_standby_names`; also the name of the target for scripts.
    pub name: String,
    /// Whether commits wait for it.
    pub mode: StandbyMode,
    /// The network between it and its upstream server; `None`: that of all standbys.
    pub network: Option<StandbyNetwork>,
    /// The standby that it receives WAL from; `None`: the primary.
    pub upstream: Option<String>,
    /// Settings that override those of the primary, by name.
    pub settings: Vec<(String, String)>,
}

/// Whether commits wait for a standby.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum StandbyMode {
    /// Never.
    #[default]
    Asynchronous,
    /// As the setting `synchronous_commit` says.
    Synchronous,
}

/// The network between a standby and its upstream server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StandbyNetwork {
    /// One-way delay.
    pub delay: Duration,
    /// Variation of the delay.
    pub jitter: Duration,
    /// Bandwidth in each direction; `None`: unlimited.
    pub bandwidth_bits_per_s: Option<u64>,
}

/// Number of synchronous standbys that a commit waits for, and how they are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Synchronous {
    /// How they are chosen.
    pub method: SynchronousMethod,
    /// Their number.
    pub number: usize,
}

impl StandbyNetwork {
    /// As a network between clients and a server.
    pub(crate) fn network(&self) -> Network {
        #[expect(clippy::cast_precision_loss, reason = "a bandwidth of 2^53 bits per second does not exist")]
        let bandwidth_bits_per_s = self.bandwidth_bits_per_s.map(|bits| bits as f64);
        let kind = NetworkKind::Tcp;
        Network { kind, delay: self.delay, jitter: self.jitter, bandwidth_bits_per_s, has_faults: false }
    }
}

impl fmt::Display for StandbyNetwork {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network = self.network();
        if !network.needs_relay() {
            return formatter.write_str("beside its upstream server");
        }
        let mut words = vec![format!("{:?} each way", self.delay)];
        words.extend((!self.jitter.is_zero()).then(|| format!("± {:?}", self.jitter)));
        words.extend(self.bandwidth_bits_per_s.map(|bits| format!("{} kbit/s", bits / 1000)));
        formatter.write_str(&words.join(", "))
    }
}

impl ServerSpec {
    /// The network of one of its standbys.
    pub(crate) fn network_of(&self, standby: &StandbySpec) -> StandbyNetwork {
        standby.network.unwrap_or(self.standby_network)
    }

    /// Names of the standbys that commits wait for.
    pub(crate) fn synchronous_names(&self) -> Vec<String> {
        let synchronous = self.standbys.iter().filter(|it| it.mode == StandbyMode::Synchronous);
        synchronous.map(|it| it.name.clone()).collect()
    }

    /// The number of standbys that commits wait for, and how they are chosen: by default all, in order.
    pub(crate) fn synchronous(&self) -> Option<Synchronous> {
        let number = self.synchronous_names().len();
        let all = Synchronous { method: SynchronousMethod::First, number };
        (number > 0).then(|| self.synchronous_standbys.unwrap_or(all))
    }

    /// Checks that the standbys are possible; the error is a sentence.
    pub(crate) fn check_standbys(&self) -> Result<(), String> {
        if self.standbys.is_empty() {
            return Ok(());
        }
        if self.origin.dsn().is_some() {
            return Err(
                "standbys are made of embedded servers only: remove [[standby]], or dsn from [server]"
                    .to_owned(),
            );
        }
        for (at, standby) in self.standbys.iter().enumerate() {
            let (name, before) = (&standby.name, &self.standbys[..at]);
            if before.iter().any(|other| other.name == *name) {
                return Err(format!("there are two standbys {name}: give each its own name"));
            }
            let Some(upstream) = &standby.upstream else { continue };
            if before.iter().all(|other| other.name != *upstream) {
                return Err(format!(
                    "the standby {name} receives WAL from {upstream}, which is no standby before it: define {upstream} first"
                ));
            }
            if standby.mode == StandbyMode::Synchronous {
                return Err(format!(
                    "the standby {name} cannot be synchronous: a commit waits only for standbys of the primary itself, \
                     and it receives WAL from {upstream}"
                ));
            }
        }
        if self.settings.contains_key("synchronous_standby_names") {
            return Err(
                "synchronous_standby_names follows from mode = \"synchronous\" of each standby: remove it \
                        from the settings"
                    .to_owned(),
            );
        }
        let names = self.synchronous_names().len();
        match self.synchronous_standbys {
            Some(Synchronous { number, .. }) if number > names => Err(format!(
                "synchronous_standbys waits for {number}, and mode = \"synchronous\" is set for {names}"
            )),
            _ => Ok(()),
        }
    }
}

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
    table.check_keys("[[standby]]", &schema::names(schema::STANDBY))?;
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
    let is_name = !name.is_empty() && name.len() <= 40 && name.chars().all(plain) && name != ALL;
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
