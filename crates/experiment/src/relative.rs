//! Values relative to the server's host: `clients = "2/core"`, `scale = "50% of memory"`. `keys` reads them; `matrix`
//! replaces them by numbers when a combination is complete. `lab::server_host` examines the host, only if it is needed.

use std::collections::BTreeMap;

use config::{Complaint, Node, Value};
use run::options::{PER_CORE, PER_CORE_MAX};
use stats::Scale;

use crate::configuration::{Configuration, DataSpec, Origin, Relative, START};
use crate::data_size::data_bytes;

/// The resources of a server's host; `None` if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ServerHost {
    /// Processors available to the server, according to its affinity and the CPU quotas of its control groups.
    pub cores: Option<f64>,
    /// Memory available to the server in bytes: that of the host, or the limit of a control group if it is lower.
    pub memory_bytes: Option<u64>,
}

impl ServerHost {
    /// The number of clients for a number per core.
    fn per_core(&self, per_core: f64) -> Result<u64, Unresolved> {
        let cores = self
            .cores
            .ok_or("the number of cores of the server's host is unknown; give a number of clients")?;
        Ok(rounded_up(per_core * cores))
    }
}

/// Clients for a number per core of the server's host, and a sentence about them.
///
/// # Errors
/// The number of cores is unknown, or the number of clients is too large; a complete sentence.
pub fn clients_per_core(per_core: f64, host: ServerHost) -> Result<(u32, String), String> {
    match host.per_core(per_core).and_then(|number| within(number, &KEYS[0])) {
        Ok(clients) => {
            let cores = (host.cores.unwrap_or_default() * 100.0).round() / 100.0;
            Ok((
                clients,
                format!("clients: {per_core}{PER_CORE} = {clients} ({cores} cores on the server's host)"),
            ))
        }
        Err(why) => Err(format!("-c {per_core}{PER_CORE}: {why}")),
    }
}

/// A key that accepts relative values.
struct RelativeKey {
    name: &'static str,
    /// The text after the number.
    unit: &'static str,
    /// Maximum of the number.
    most: f64,
    expected: &'static str,
    resolve: fn(f64, &Configuration, &ServerHost) -> Result<u64, Unresolved>,
    set: fn(&mut Configuration, u32),
    /// Maximum of the resulting value.
    most_resolved: u64,
}

/// Error if the value cannot be calculated, with the remedy.
type Unresolved = String;

const KEYS: [RelativeKey; 2] = [
    RelativeKey {
        name: "clients",
        unit: PER_CORE,
        most: PER_CORE_MAX,
        expected: "a whole number from 1 to 100000, or up to 10000 clients per core of the server's host, such as \"2/core\"",
        resolve: |per_core, _, host| host.per_core(per_core),
        set: |it, clients| it.load.clients = clients,
        most_resolved: 100_000,
    },
    RelativeKey {
        name: "scale",
        unit: "% of memory",
        most: 400.0,
        expected: "a number above 0, at most 2147483647, or up to 400% of the memory of the server's host, such as \
                   \"50% of memory\"",
        resolve: |percent, it, host| {
            let memory_bytes =
                host.memory_bytes.ok_or("the memory of the server's host is unknown; give a number")?;
            let unit_bytes = unit_bytes(&it.data)?;
            Ok(rounded_down(percent / 100.0 * memory_bytes as f64 / unit_bytes as f64))
        },
        set: |it, scale| it.data.scale = scale.into(),
        most_resolved: i32::MAX.unsigned_abs() as u64,
    },
];

fn key(name: &str) -> Option<&'static RelativeKey> {
    KEYS.iter().find(|key| key.name == name)
}

/// A regular expression for relative values of this key; `None` if it accepts none.
pub(crate) fn pattern(name: &str) -> Option<String> {
    key(name).map(|key| format!("^[0-9.]+ *{}$", key.unit))
}

/// Reads a relative value, if the key accepts them and the value is text.
pub(crate) fn read(name: &str, node: &Node) -> Result<Option<(&'static str, Relative)>, Complaint> {
    let (Some(key), Value::Text(words)) = (key(name), &node.value) else { return Ok(None) };
    let amount = words.strip_suffix(key.unit).map(str::trim_end).and_then(number);
    let amount = amount.filter(|amount| *amount > 0.0 && *amount <= key.most);
    let amount = amount.ok_or_else(|| node.expected(key.expected))?;
    Ok(Some((key.name, Relative { words: words.clone(), number: None, amount, place: node.place })))
}

/// Accepts digits with at most one point; `f64` alone would also accept `inf` and `1e9`.
fn number(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|_| is_plain)
}

/// Rounds up, to at least 1. The tolerance is for products such as 0.1 × 30.
fn rounded_up(clients: f64) -> u64 {
    const TOLERANCE: f64 = 1e-9;
    rounded_down((clients - TOLERANCE).ceil())
}

/// Rounds down, to at least 1.
fn rounded_down(number: f64) -> u64 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // not below 0, and `as` saturates
    let whole = number.floor() as u64;
    whole.max(1)
}

/// Approximate size of the tables at scale 1.
fn unit_bytes(data: &DataSpec) -> Result<u64, Unresolved> {
    let at_one = data_bytes(&DataSpec { scale: Scale::ONE, ..data.clone() });
    match &data.workload {
        Some(_) if at_one > 0 => Ok(at_one),
        Some(name) => Err(format!(
            "the size of the workload {name} is unknown; add bytes_per_scale to its workload.toml"
        )),
        None => Err("a relative scale requires a workload of known size; give a number".to_owned()),
    }
}

/// Examines the host of a server; the error is a complete sentence.
pub type FindHost<'a> = &'a dyn Fn(&Origin) -> Result<ServerHost, String>;

/// Hosts of servers, each examined once.
pub(crate) struct Hosts<'a> {
    find: FindHost<'a>,
    found: BTreeMap<Origin, Result<ServerHost, String>>,
}

impl<'a> Hosts<'a> {
    pub(crate) fn new(find: FindHost<'a>) -> Self {
        Self { find, found: BTreeMap::new() }
    }

    /// Replaces relative values by numbers.
    pub(crate) fn resolve(&mut self, configuration: &mut Configuration) -> Result<(), Complaint> {
        for key in &KEYS {
            let Some(relative) = configuration.relative.get(key.name).cloned() else { continue };
            let origin = &configuration.server.origin;
            let host = self.found.entry(origin.clone()).or_insert_with(|| (self.find)(origin));
            let number = host
                .clone()
                .and_then(|host| (key.resolve)(relative.amount, configuration, &host))
                .and_then(|number| within(number, key));
            let number = number.map_err(|why| {
                let what = format!("{} = \"{}\": {why}", key.name, relative.words);
                Complaint::at(relative.place.max(START), what)
            })?;
            (key.set)(configuration, number);
            configuration.relative.insert(key.name, Relative { number: Some(number), ..relative });
        }
        Ok(())
    }
}

fn within(number: u64, key: &RelativeKey) -> Result<u32, Unresolved> {
    let fits = u32::try_from(number).ok().filter(|_| number <= key.most_resolved);
    fits.ok_or_else(|| {
        format!(
            "this is {number} on this host, more than the limit of {}; use a smaller \
                                value",
            key.most_resolved
        )
    })
}

/// `clients 2/core = 8, scale 50% of memory = 782`: the distinct relative values of these configurations.
pub(crate) fn in_words<'a>(
    configurations: impl Iterator<Item = &'a Configuration> + Clone,
) -> Option<String> {
    let mut told: Vec<String> = Vec::new();
    for key in &KEYS {
        for relative in configurations.clone().filter_map(|it| it.relative.get(key.name)) {
            let number = relative.number.map_or_else(|| "?".to_owned(), |number| number.to_string());
            let words = format!("{} {} = {number}", key.name, relative.words);
            if !told.contains(&words) {
                told.push(words);
            }
        }
    }
    (!told.is_empty()).then(|| told.join(", "))
}

#[cfg(test)]
mod tests {
    use config::Place;

    use super::*;

    const GB: u64 = 1_000_000_000;

    fn node(value: Value) -> Node {
        Node { place: Place { line: 3, column: 7 }, value }
    }

    fn configuration(name: &str, words: &str) -> Configuration {
        let mut configuration = Configuration::default();
        configuration.data.bytes_per_scale = Some(10_000_000);
        configuration.relative.extend(read(name, &node(Value::Text(words.to_owned()))).unwrap());
        configuration
    }

    /// The result of a value on a host with this number of cores and this amount of memory.
    fn check(name: &str, words: &str, cores: Option<f64>, memory_bytes: Option<u64>) -> Result<u32, String> {
        let mut configuration = configuration(name, words);
        let find = |_: &Origin| Ok(ServerHost { cores, memory_bytes });
        Hosts::new(&find).resolve(&mut configuration).map_err(|complaint| complaint.what)?;
        let number = configuration.relative[name].number.unwrap();
        let set =
            if name == "clients" { configuration.load.clients.into() } else { configuration.data.scale };
        assert_eq!(Scale::from(number), set);
        Ok(number)
    }

    #[test]
    fn clients_per_core_are_rounded_up_and_are_at_least_one() {
        let clients = |words, cores| check("clients", words, Some(cores), None);
        assert_eq!((clients("2/core", 4.0), clients("1 /core", 1.5)), (Ok(8), Ok(2)));
        assert_eq!((clients("0.1/core", 30.0), clients("0.01/core", 0.5)), (Ok(3), Ok(1)));
        assert_eq!(
            clients("10000/core", 64.0),
            Err("clients = \"10000/core\": this is 640000 on this host, more than the limit of 100000; use a smaller value".to_owned())
        );
    }

    #[test]
    fn clients_per_core_of_a_command_line_are_explained() {
        let host = |cores| ServerHost { cores, memory_bytes: None };
        let (clients, sentence) = clients_per_core(2.0, host(Some(4.0))).unwrap();
        assert_eq!((clients, &*sentence), (8, "clients: 2/core = 8 (4 cores on the server's host)"));
        let error = clients_per_core(2.0, host(None)).unwrap_err();
        assert!(error.starts_with("-c 2/core: the number of cores"), "{error}");
        let error = clients_per_core(9000.0, host(Some(100.0))).unwrap_err();
        assert!(error.starts_with("-c 9000/core: this is 900000 on this host"), "{error}");
    }

    #[test]
    fn a_share_of_memory_is_rounded_down_and_is_at_least_scale_one() {
        let scale = |words, bytes| check("scale", words, None, Some(bytes));
        assert_eq!((scale("50% of memory", 16 * GB), scale("400 % of memory", GB)), (Ok(800), Ok(400)));
        assert_eq!((scale("33.3% of memory", GB), scale("1% of memory", 1)), (Ok(33), Ok(1)));
    }

    #[test]
    fn rows_that_fill_half_of_a_page_take_twice_the_memory() {
        let mut half = configuration("scale", "50% of memory");
        half.data.fillfactor = 50;
        let find = |_: &Origin| Ok(ServerHost { cores: None, memory_bytes: Some(16 * GB) });
        Hosts::new(&find).resolve(&mut half).unwrap();
        assert_eq!(half.data.scale, 400);
    }

    #[test]
    fn other_texts_are_refused_with_their_place() {
        for (name, words) in [
            ("clients", "2/cores"),
            ("clients", "0/core"),
            ("clients", "-1/core"),
            ("clients", "1e3/core"),
            ("clients", "inf/core"),
            ("clients", "/core"),
            ("clients", "10001/core"),
            ("clients", "50% of memory"),
            ("scale", "500% of memory"),
            ("scale", "0% of memory"),
            ("scale", "50%"),
            ("scale", "1.2.3% of memory"),
        ] {
            let refused = read(name, &node(Value::Text(words.to_owned()))).unwrap_err();
            let found = format!(", found \"{words}\"");
            assert_eq!(refused.place, Place { line: 3, column: 7 });
            let number =
                if name == "scale" { "expected a number above 0" } else { "expected a whole number" };
            assert!(refused.what.starts_with(number), "{}", refused.what);
            assert!(refused.what.ends_with(&found), "{}", refused.what);
        }
        assert_eq!(read("workers", &node(Value::Text("2/core".to_owned()))), Ok(None));
        assert_eq!(read("clients", &node(Value::Integer(2))), Ok(None));
    }

    #[test]
    fn where_the_host_or_the_size_is_unknown_the_sentence_says_what_to_write() {
        assert_eq!(
            check("clients", "2/core", None, None),
            Err(
                "clients = \"2/core\": the number of cores of the server's host is unknown; give a number of \
                 clients"
                    .to_owned()
            )
        );
        assert_eq!(
            check("scale", "50% of memory", None, None),
            Err("scale = \"50% of memory\": the memory of the server's host is unknown; give a number"
                .to_owned())
        );
        let find = |_: &Origin| Ok(ServerHost { cores: Some(1.0), memory_bytes: Some(GB) });
        let mut unknown = configuration("scale", "50% of memory");
        unknown.data.bytes_per_scale = None;
        let complaint = Hosts::new(&find).resolve(&mut unknown).unwrap_err();
        assert_eq!(complaint.place, Place { line: 3, column: 7 });
        assert!(complaint.what.ends_with("add bytes_per_scale to its workload.toml"), "{}", complaint.what);
        let find = |_: &Origin| Err("no way".to_owned());
        let complaint = Hosts::new(&find).resolve(&mut configuration("clients", "1/core")).unwrap_err();
        assert_eq!(complaint.what, "clients = \"1/core\": no way");
    }
}
