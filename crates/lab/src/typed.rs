//! An experiment defined by keys and one factor on the command line instead of a file, parsed by the same tables.
//! Used by `pgmeter compare`; the command line maps options to keys.

use config::{Complaint, Entry, Folder, Node, Place, Value, nearest, unknown_key};

use crate::configuration::Configuration;
use crate::experiment::{Experiment, Factor, Level, Profile, add_level};
use crate::{LabError, keys};

/// Keys and a factor from a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    /// Keys of a trial with their values; the last one wins.
    pub keys: Vec<(String, String)>,
    /// Built-in scripts and files with weights; empty: those of the keys, or the default.
    pub scripts: Vec<(String, u32)>,
    /// `KEY=LEVEL,LEVEL`.
    pub factor: String,
}

impl Typed {
    /// The equivalent experiment of a file.
    ///
    /// # Errors
    /// A key or a value is invalid; the error quotes it.
    pub fn experiment(&self, name: &str) -> Result<Experiment, LabError> {
        let empty = format!("name = \"{name}\"");
        let mut experiment = Experiment::parse(&empty, name, Folder::Typed, Profile::Full)?;
        for (key, text) in &self.keys {
            set(&mut experiment.base, key, text).map_err(|what| typed(&shown(key, text), what))?;
        }
        if !self.scripts.is_empty() {
            let node = at_no_place(Value::List(self.scripts.iter().map(script).collect()));
            let set = keys::set(&mut experiment.base, "script", &node, Folder::Typed);
            set.map_err(|complaint| typed("the script", complaint.what))?;
        }
        experiment.factors = vec![self.factor(&experiment.base)?];
        Ok(experiment)
    }

    fn factor(&self, base: &Configuration) -> Result<Factor, LabError> {
        let (key, text) = self.factor.split_once('=').unwrap_or((&self.factor, ""));
        let complain = |what: String| typed(&format!("--factor {}", shown(key, text)), what);
        let Some((name, levels)) = self.factor.split_once('=') else {
            return Err(complain("expected KEY=A,B, such as settings.wal_compression=off,pglz".to_owned()));
        };
        if !keys::is_key(name) {
            let known = keys::proposals();
            let what = unknown_key(name, "an experiment", &known);
            return Err(complain(if nearest(name, &known).is_some() {
                what
            } else {
                format!("{what}; to set a parameter of the server, write settings.{name}")
            }));
        }
        let mut factor = Factor { name: name.to_owned(), levels: Vec::new() };
        for text in split(levels) {
            let label = text.trim();
            if label.is_empty() {
                return Err(complain("a level is empty".to_owned()));
            }
            let node = set(&mut base.clone(), name, label).map_err(complain)?;
            let level = Level { label: label.to_owned(), sets: vec![(name.to_owned(), node)] };
            add_level(&mut factor.levels, level, Place::default()).map_err(|it| complain(it.what))?;
        }
        Ok(factor)
    }
}

/// The quoted input in messages; a connection string is not shown, because it may contain a password.
fn shown(key: &str, text: &str) -> String {
    if key == "dsn" || text.is_empty() { key.to_owned() } else { format!("{key}={text}") }
}

fn typed(option: &str, what: String) -> LabError {
    LabError::Typed { option: option.to_owned(), what }
}

/// Sets a key, first with the text parsed as a value of a file, otherwise with the text itself, so that strings need
/// no quotation marks.
fn set(configuration: &mut Configuration, key: &str, text: &str) -> Result<Node, String> {
    let plain = at_no_place(Value::Text(text.to_owned()));
    let first = value(text).unwrap_or_else(|| plain.clone());
    let mut try_it = |node: Node| -> Result<Node, Complaint> {
        keys::set(configuration, key, &node, Folder::Typed)?;
        Ok(node)
    };
    try_it(first).or_else(|complaint| try_it(plain).map_err(|_| complaint.what))
}

/// Parses a value as in a file; `None` if it is invalid.
fn value(text: &str) -> Option<Node> {
    if text.contains(['\n', '\r']) {
        return None;
    }
    let mut top = config::read(&format!("v = {text}")).ok()?;
    let node = top.take("v")?;
    Some(at_no_place(node.value)).filter(|_| top.entries.is_empty())
}

fn at_no_place(value: Value) -> Node {
    Node { place: Place::default(), value }
}

fn script((name, weight): &(String, u32)) -> Node {
    let entry =
        |key: &str, value| Entry { key: key.to_owned(), place: Place::default(), node: at_no_place(value) };
    let weight = entry("weight", Value::Integer(i64::from(*weight)));
    at_no_place(Value::Table(vec![entry("script", Value::Text(name.clone())), weight]))
}

/// Splits at commas outside of brackets and quotation marks.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth, mut quoted) = (Vec::new(), 0, 0_u32, false);
    for (at, character) in text.char_indices() {
        match character {
            '"' => quoted = !quoted,
            '[' | '{' | '(' if !quoted => depth += 1,
            ']' | '}' | ')' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NetworkKind, Origin, Plan};

    fn read(factor: &str, keys: &[(&str, &str)]) -> Result<Experiment, String> {
        let keys = keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let typed = Typed { keys, scripts: vec![("select-only".to_owned(), 1)], factor: factor.to_owned() };
        typed.experiment("compare").map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_typed_is_what_a_file_would_say() {
        let typed =
            read("settings.wal_compression=off,pglz", &[("clients", "8"), ("version", "16.4")]).unwrap();
        let file = "name = \"compare\"\n[server]\nversion = \"16.4\"\n[load]\nclients = 8\nscript = \"select-only\"\n\
                    [factors]\n\"settings.wal_compression\" = [\"off\", \"pglz\"]\n";
        let file = Experiment::parse(file, "f", std::path::Path::new("."), Profile::Full).unwrap();
        let plan = |experiment: &Experiment| Plan::of(experiment, "f", Folder::Typed).unwrap().cells;
        assert_eq!(plan(&typed), plan(&file));
    }

    #[test]
    fn levels_may_be_tables_and_text_needs_no_quotation_marks() {
        let typed = read("network=socket,{ kind = \"tcp\", delay = \"1ms\" }", &[]).unwrap();
        let cells = Plan::of(&typed, "f", Folder::Typed).unwrap().cells;
        assert_eq!(cells[1].configuration.network.kind, NetworkKind::Tcp);
        let typed = read("version=9.6,18", &[]).unwrap();
        let cells = Plan::of(&typed, "f", Folder::Typed).unwrap().cells;
        assert_eq!(cells[0].configuration.server.origin, Origin::Version("9.6".to_owned()));
    }

    #[test]
    fn a_password_that_was_typed_is_refused_and_not_repeated() {
        for dsn in ["postgresql://me:geheim@host/x", "host=a password=geheim", "host=a passwrd=geheim"] {
            let refused = read("clients=1,2", &[("dsn", dsn)]).unwrap_err();
            assert!(refused.contains("set PGPASSWORD") && !refused.contains("geheim"), "{refused}");
            let refused = read(&format!("dsn={dsn},host=b"), &[]).unwrap_err();
            assert!(refused.contains("set PGPASSWORD") && !refused.contains("geheim"), "{refused}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_what_was_typed() {
        let sentence = |factor: &str, keys: &[(&str, &str)]| read(factor, keys).unwrap_err();
        assert_eq!(
            sentence("client=1,2", &[]),
            "--factor client=1,2: unknown key \"client\" in an experiment; did you mean \"clients\"?"
        );
        let setting = sentence("work_mem=1MB,2MB", &[]);
        assert!(
            setting.ends_with("; to set a parameter of the server, write settings.work_mem"),
            "{setting}"
        );
        let variable = sentence("clients=1,2", &[("variables.1x", "3")]);
        assert!(variable.contains("\"1x\" is not a valid variable name"), "{variable}");
        assert_eq!(
            sentence("clients=1,many", &[]),
            "--factor clients=1,many: expected a whole number from 1 to 100000, or up to 10000 clients per core of the server's \
             host, such as \"2/core\", found \"many\""
        );
        assert_eq!(
            sentence("clients=1,2", &[("scale", "0")]),
            "scale=0: expected a whole number from 1 to 2147483647, found 0"
        );
        assert_eq!(sentence("clients=1,1", &[]), "--factor clients=1,1: the level 1 is defined twice");
        assert!(sentence("clients", &[]).contains("expected KEY=A,B"));
        assert!(sentence("script=select-only,none.sql", &[]).contains("there is no file "));
        let injected = sentence("clients=1,2", &[("clients", "1\nscale = 2")]);
        assert!(injected.starts_with("clients=1"), "{injected}");
    }
}
