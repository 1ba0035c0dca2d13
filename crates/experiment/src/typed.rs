//! An experiment defined by keys and one factor on the command line instead of a file, parsed by the same tables.
//! Used by `pgmeter compare`; the command line maps options to keys.

use config::{Complaint, Folder, Node, Place, Value};
use run::options::{RunOption, Value as OptionValue};
use run::{RunSpec, ScriptSpec, Surface};

use crate::configuration::{Configuration, Origin};
use crate::experiment::{Experiment, Profile};
use crate::factors::{Factor, Level, add_level};
use crate::{ExperimentError, keys};

/// Keys and a factor from a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    /// Keys of a trial with their values; the last one wins.
    pub keys: Vec<(String, String)>,
    /// Scripts of the workload and of the user; empty: those of the keys, or the default.
    pub scripts: Vec<ScriptSpec>,
    /// Goals, as texts.
    pub goals: Vec<String>,
    /// `KEY=LEVEL,LEVEL`.
    pub factor: String,
    /// Instead of a factor, changes of the schema: those of A and of B.
    pub ddl: [TypedDdl; 2],
    /// Instead of a factor, connections to the servers of A and of B.
    pub servers: Option<[String; 2]>,
}

/// A change of the schema on a command line: SQL or the names of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypedDdl {
    /// The change; `None`: the database as it is.
    pub sql: Option<String>,
    /// Its undo.
    pub undo: Option<String>,
}

impl TypedDdl {
    /// The label of this side.
    fn label(&self) -> String {
        const LENGTH_MAX: usize = 60;
        let Some(sql) = &self.sql else { return "as it is".to_owned() };
        let words = sql.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown: String = words.chars().take(LENGTH_MAX).collect();
        if shown.len() < words.len() { format!("{shown}…") } else { words }
    }

    fn level(&self) -> Level {
        let keys = [("ddl", &self.sql), ("ddl_undo", &self.undo)];
        let node = |text: &String| at_no_place(Value::Text(text.clone()));
        let sets = keys.iter().filter_map(|(key, text)| Some(((*key).to_owned(), node(text.as_ref()?))));
        Level { label: self.label(), sets: sets.collect() }
    }
}

impl Typed {
    /// Adds options of a run: those with a key of the same name, and scripts.
    ///
    /// # Errors
    /// A value is invalid.
    pub fn add_options(
        &mut self,
        options: impl IntoIterator<Item = (&'static RunOption, OptionValue)>,
    ) -> Result<(), String> {
        let mut scripts = RunSpec { scripts: Vec::new(), ..RunSpec::default() };
        for (option, value) in options {
            match value {
                OptionValue::Pairs(pairs) => {
                    let named = |(name, value)| (format!("{}.{name}", option.name), value);
                    self.keys.extend(pairs.into_iter().map(named));
                }
                OptionValue::Goals(goals) => self.goals = goals.iter().map(ToString::to_string).collect(),
                OptionValue::Actions(_) => {
                    return Err(
                        "actions require runs of their own: use pgmeter bench or pgmeter lab".to_owned()
                    );
                }
                value if keys::is_key(option.name) => {
                    self.keys.push((option.name.to_owned(), value.in_file()))
                }
                value => (option.set)(&mut scripts, value)?,
            }
        }
        for script in scripts.scripts {
            self.scripts.push(run::read_standard_input(script).map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    /// Adds the `NAME=VALUE` of an option, as keys with this prefix.
    ///
    /// # Errors
    /// One has no name or no value.
    pub fn add_pairs(&mut self, option: &str, prefix: &str, pairs: &[String]) -> Result<(), ExperimentError> {
        for pair in pairs {
            let named = pair.split_once('=').filter(|(name, _)| !name.is_empty());
            let (name, value) =
                named.ok_or_else(|| typed(&format!("{option} {pair}"), "expected NAME=VALUE".to_owned()))?;
            self.keys.push((format!("{prefix}{name}"), value.to_owned()));
        }
        Ok(())
    }

    /// The equivalent experiment of a file.
    ///
    /// # Errors
    /// A key or a value is invalid; the error quotes it.
    pub fn experiment(&self, name: &str) -> Result<Experiment, ExperimentError> {
        self.check_beside_factor()?;
        let empty = format!("name = \"{name}\"");
        let mut experiment = Experiment::parse(&empty, name, Folder::Typed, Profile::Full)?;
        experiment.base.surface = Surface::Flags;
        let is = |key: &str| self.keys.iter().any(|(name, _)| name == key);
        if is("in_place") && !is("dsn") && self.factor_key() != "dsn" && self.servers.is_none() {
            experiment.base.server.origin = Origin::Running(String::new());
        }
        for (key, text) in &self.keys {
            set_key(&mut experiment.base, key, text).map_err(|what| typed(&shown(key, text), what))?;
        }
        if !self.scripts.is_empty() {
            experiment.base.load.scripts = self.scripts.clone();
        }
        if !self.goals.is_empty() {
            let node = at_no_place(Value::List(
                self.goals.iter().map(|text| at_no_place(Value::Text(text.clone()))).collect(),
            ));
            let set = keys::set(&mut experiment.base, "goal", &node, Folder::Typed);
            set.map_err(|complaint| typed("--goal", complaint.what))?;
        }
        experiment.factors = vec![self.factor(&experiment.base)?];
        Ok(experiment)
    }

    /// The complete key of the factor.
    fn factor_key(&self) -> String {
        let name = self.factor.split_once('=').map_or(self.factor.as_str(), |(name, _)| name);
        run::options::key(name).map_or_else(|| keys::canonical(name), |option| option.name.to_owned())
    }

    /// Rejects keys that the factor's levels would silently override.
    fn check_beside_factor(&self) -> Result<(), ExperimentError> {
        let factor = self.factor_key();
        let why = |key: &str| {
            if keys::canonical(key) == factor {
                Some("each level sets it for its side")
            } else if keys::SERVER_CHOICES.contains(&key) && keys::SERVER_CHOICES.contains(&factor.as_str()) {
                Some("both select the server")
            } else if factor == "dsn" && key.starts_with("settings.") {
                Some("the settings of a running server stay unchanged")
            } else {
                None
            }
        };
        let scripts = self.scripts.iter().map(|script| ("script", script.source.name()));
        let keys = self.keys.iter().map(|(key, value)| (key.as_str(), value.clone()));
        match keys.chain(scripts).find_map(|(key, value)| Some((shown(key, &value), why(key)?))) {
            None => Ok(()),
            Some((beside, why)) => {
                let option = format!("{beside} cannot be combined with --factor {factor}");
                Err(typed(&option, why.to_owned()))
            }
        }
    }

    /// The factor of the changes of the schema.
    fn schemas(&self, base: &Configuration) -> Result<Factor, ExperimentError> {
        let mut factor = Factor { name: "ddl".to_owned(), levels: Vec::new() };
        let options = [["--a-sql", "--a-undo"], ["--b-sql", "--b-undo"]];
        for (ddl, [option, undo_option]) in self.ddl.iter().zip(options) {
            for (text, option) in [(&ddl.sql, option), (&ddl.undo, undo_option)] {
                if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
                    let what = "it is empty: give SQL or the name of an .sql file, or leave the option out";
                    return Err(typed(option, what.to_owned()));
                }
            }
            let level = ddl.level();
            for (key, node) in &level.sets {
                let tried = keys::set(&mut base.clone(), key, node, Folder::Typed);
                tried.map_err(|complaint| typed(option, complaint.what))?;
            }
            add_level(&mut factor.levels, level, Place::default()).map_err(|it| typed(option, it.what))?;
        }
        Ok(factor)
    }

    fn factor(&self, base: &Configuration) -> Result<Factor, ExperimentError> {
        if self.factor.is_empty() && self.ddl.iter().any(|ddl| ddl.sql.is_some()) {
            return self.schemas(base);
        }
        if let Some(servers) = &self.servers {
            let mut factor = Factor { name: "dsn".to_owned(), levels: Vec::new() };
            for (text, option) in servers.iter().zip(["--a", "--b"]) {
                add_text(&mut factor, text, base).map_err(|what| typed(option, what))?;
            }
            return Ok(factor);
        }
        let (key, text) = self.factor.split_once('=').unwrap_or((&self.factor, ""));
        let complain = |what: String| typed(&format!("--factor {}", shown(key, text)), what);
        let Some((name, levels)) = self.factor.split_once('=') else {
            return Err(complain("expected KEY=A,B, such as settings.wal_compression=off,pglz".to_owned()));
        };
        if !keys::is_key(name) {
            return Err(complain(keys::unknown(name, "an experiment", &[])));
        }
        let mut factor = Factor { name: name.to_owned(), levels: Vec::new() };
        for text in split(levels) {
            let label = text.trim();
            if label.is_empty() {
                return Err(complain("a level is empty".to_owned()));
            }
            add_text(&mut factor, label, base).map_err(complain)?;
        }
        Ok(factor)
    }
}

/// Adds a level of the factor's own key, which is its label.
fn add_text(factor: &mut Factor, label: &str, base: &Configuration) -> Result<(), String> {
    let name = factor.name.clone();
    let node = set_key(&mut base.clone(), &name, label)?;
    let level = Level { label: label.to_owned(), sets: vec![(name, node)] };
    add_level(&mut factor.levels, level, Place::default()).map_err(|complaint| complaint.what)
}

/// The quoted input in messages; a connection string is not shown, because it may contain a password.
fn shown(key: &str, text: &str) -> String {
    if key == "dsn" || text.is_empty() { key.to_owned() } else { format!("{key}={text}") }
}

fn typed(option: &str, what: String) -> ExperimentError {
    ExperimentError::Typed { option: option.to_owned(), what }
}

/// Sets a key, first with the text parsed as a value of a file, otherwise with the text itself, so that strings need
/// no quotation marks.
pub fn set_key(configuration: &mut Configuration, key: &str, text: &str) -> Result<Node, String> {
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
    use run::ScriptSource;

    use super::*;
    use crate::{NetworkKind, Plan};

    fn read(factor: &str, keys: &[(&str, &str)]) -> Result<Experiment, String> {
        let keys = keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let select_only = ScriptSpec::new(ScriptSource::OfWorkload("select-only".to_owned()));
        let scripts = if factor.starts_with("script=") { Vec::new() } else { vec![select_only] };
        let typed = Typed { keys, scripts, factor: factor.to_owned(), ..Typed::default() };
        typed.experiment("compare").map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_typed_is_what_a_file_would_say() {
        let typed =
            read("settings.wal_compression=off,pglz", &[("clients", "8"), ("version", "16.4")]).unwrap();
        let file = "name = \"compare\"\n[server]\nversion = \"16.4\"\n[load]\nclients = 8\nscript = \"select-only\"\n\
                    [factors]\n\"settings.wal_compression\" = [\"off\", \"pglz\"]\n";
        let mut file = Experiment::parse(file, "f", std::path::Path::new("."), Profile::Full).unwrap();
        assert_eq!((typed.base.surface, file.base.surface), (Surface::Flags, Surface::Keys));
        file.base.surface = Surface::Flags;
        let plan = |experiment: &Experiment| Plan::of(experiment, "f", Folder::Typed).unwrap().cells;
        assert_eq!(plan(&typed), plan(&file));
    }

    #[test]
    fn the_name_of_a_setting_is_enough_and_means_the_key() {
        let short = read("wal_compression=off,pglz", &[("work_mem", "1MB")]).unwrap();
        let long = read("settings.wal_compression=off,pglz", &[("settings.work_mem", "1MB")]).unwrap();
        let configurations = |experiment: &Experiment| {
            let cells = Plan::of(experiment, "f", Folder::Typed).unwrap().cells.into_iter();
            cells.map(|cell| cell.configuration).collect::<Vec<_>>()
        };
        assert_eq!(configurations(&short), configurations(&long));
        let twice = read("wal_compression=off,pglz", &[("settings.wal_compression", "on")]).unwrap_err();
        assert!(twice.ends_with("each level sets it for its side"), "{twice}");
    }

    #[test]
    fn in_place_is_on_the_server_of_the_environment_if_no_other_is_given() {
        let cells = |keys: &[(&str, &str)]| {
            Plan::of(&read("work_mem=1MB,2MB", keys).unwrap(), "f", Folder::Typed).unwrap().cells
        };
        let environment = cells(&[("in_place", "true")]).swap_remove(0).configuration;
        assert_eq!(environment.server.origin, Origin::Running(String::new()));
        assert!(environment.server.in_place && !environment.data.vacuum && !environment.data.checkpoint);
        let named = cells(&[("in_place", "true"), ("dsn", "host=a")]).swap_remove(1).configuration;
        assert_eq!(named.server.origin, Origin::Running("host=a".to_owned()));
        assert_eq!((named.server.settings.len(), named.session["work_mem"].as_str()), (0, "2MB"));
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
    fn two_servers_are_the_levels_of_their_connections() {
        let typed =
            |a: &str, b: &str| Typed { servers: Some([a.to_owned(), b.to_owned()]), ..Typed::default() };
        let experiment = typed("host=a dbname=x,y", "host=b").experiment("compare").unwrap();
        let cells = Plan::of(&experiment, "f", Folder::Typed).unwrap().cells;
        let origins: Vec<_> = cells.into_iter().map(|cell| cell.configuration.server.origin).collect();
        assert_eq!(origins, ["host=a dbname=x,y", "host=b"].map(|dsn| Origin::Running(dsn.to_owned())));
        let refused =
            typed("host=a password=geheim", "host=b").experiment("compare").unwrap_err().to_string();
        assert!(refused.starts_with("--a: ") && !refused.contains("geheim"), "{refused}");
    }

    #[test]
    fn a_connection_replaces_the_server_of_a_file_unless_a_factor_selects_it() {
        let connected = |text: &str| {
            let file = std::path::Path::new(".");
            let mut experiment = Experiment::parse(text, "f", file, Profile::Full).unwrap();
            let done = experiment.connect_to(Some("host=b"));
            done.map(|()| experiment.base.server.origin).map_err(|error| error.to_string())
        };
        let file = "name = \"x\"\n[server]\nversion = \"16\"\n[factors]\n";
        assert_eq!(connected(&format!("{file}clients = [1, 2]\n")), Ok(Origin::Running("host=b".to_owned())));
        let refused = connected(&format!("{file}version = [\"16\", \"18\"]\n")).unwrap_err();
        assert!(refused.contains("the factor version of the file selects the server"), "{refused}");
    }

    #[test]
    fn what_is_wrong_is_said_with_what_was_typed() {
        let sentence = |factor: &str, keys: &[(&str, &str)]| read(factor, keys).unwrap_err();
        assert_eq!(
            sentence("client=1,2", &[]),
            "--factor client=1,2: unknown key \"client\" in an experiment; did you mean \"clients\"?"
        );
        assert_eq!(
            sentence("wrk_mem=1MB,2MB", &[]),
            "--factor wrk_mem=1MB,2MB: unknown key \"wrk_mem\" in an experiment; did you mean \"work_mem\"?"
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
            "scale=0: expected a number above 0, at most 2147483647, found 0"
        );
        assert_eq!(sentence("clients=1,1", &[]), "--factor clients=1,1: the level 1 is defined twice");
        assert!(sentence("clients", &[]).contains("expected KEY=A,B"));
        assert!(sentence("script=select-only,none.sql", &[]).contains("there is no file "));
        let injected = sentence("clients=1,2", &[("clients", "1\nscale = 2")]);
        assert!(injected.starts_with("clients=1"), "{injected}");
        let twice = sentence("clients=1,2", &[("clients", "3")]);
        assert_eq!(
            twice,
            "clients=3 cannot be combined with --factor clients: each level sets it for its side"
        );
    }
}
