//! The options of a population: what clients do beside their transactions.
//! They are rows of the table in `options`.

use std::fmt;
use std::str::FromStr;

use stats::ReconnectStorm;

use super::value::{Kind, Value};
use super::{RunOption, long, of_load, put};
use crate::spec::RunSpec;

/// An option with a text, which may be unset.
const fn text(
    name: &'static str,
    flag: (&'static str, &'static str),
    help: &'static str,
    get: fn(&RunSpec) -> Value,
    set: fn(&mut RunSpec, Value) -> Result<(), String>,
) -> RunOption {
    RunOption {
        is_key: true,
        flag: long(flag.0, flag.1),
        unset: Some("none"),
        default_in_words: Some("none"),
        ..of_load(name, Kind::Text, help).sets(get, set)
    }
}

pub(super) const ACTIVE_CLIENTS: RunOption = text(
    "active_clients",
    ("active-clients", "N|SHARE[,TIME]"),
    "Number or share of the clients that work at the same time, such as 16 or 2%; another one takes the place of each after \
     this time on average (exponential; 10s unless it is given): '2%, 30s'",
    |spec| shown(spec.population.active),
    |spec, value| put(&mut spec.population.active, read(value)),
);

pub(super) const IDLE_IN_TRANSACTION: RunOption = text(
    "idle_in_transaction",
    ("idle-in-transaction", "N|SHARE[,TIME]"),
    "Sessions beside the clients that hold a transaction with a snapshot open, as a number or a share of the clients, and the \
     time of each transaction on average (exponential; 10s unless it is given): '1%, 30s'",
    |spec| shown(spec.population.idle_in_transaction),
    |spec, value| put(&mut spec.population.idle_in_transaction, read(value)),
);

pub(super) const SESSION_LIFETIME: RunOption = text(
    "session_lifetime",
    ("session-lifetime", "TIME[,SHARE]"),
    "A client connects again when its session is this old, between two transactions, with this largest deviation (10% unless it is \
     given): '5min, 20%'",
    |spec| shown(spec.population.session_lifetime),
    |spec, value| put(&mut spec.population.session_lifetime, read(value)),
);

pub(super) const RECONNECT_STORM: RunOption = text(
    "reconnect_storm",
    ("reconnect-storm", "TIME[,SHARE]"),
    "At this time since measuring began, all clients (or this share) end their sessions and connect again at once: 30s or '30s, \
     50%'; several are separated by semicolons",
    |spec| match &spec.population.storms[..] {
        [] => Value::Unset,
        storms => Value::Text(ReconnectStorm::list_text(storms)),
    },
    |spec, value| {
        let text: Option<String> = value.optional()?;
        put(&mut spec.population.storms, text.map_or(Ok(Vec::new()), |text| ReconnectStorm::list(&text)))
    },
);

pub(super) const SLOW_READERS: RunOption = text(
    "slow_readers",
    ("slow-readers", "N|SHARE,RATE"),
    "Number or share of the clients that read the results no faster than this: '1%, 64kB/s'",
    |spec| shown(spec.population.slow_readers),
    |spec, value| put(&mut spec.population.slow_readers, read(value)),
);

fn shown<T: fmt::Display>(part: Option<T>) -> Value {
    part.map_or(Value::Unset, |part| Value::Text(part.to_string()))
}

fn read<T: FromStr<Err = String>>(value: Value) -> Result<Option<T>, String> {
    let text: Option<String> = value.optional()?;
    text.map(|text| text.parse()).transpose()
}
