//! Parses `workload.toml` and the files that it names, and reports errors with their position. `folder` executes
//! them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use config::{Complaint, Entry, FileError, Node, Table, Value};
use script::{Dialect, Symbols};

use crate::registry;
use crate::workload::{Check, Script};

/// The file that defines a workload's directory.
pub(crate) const MANIFEST: &str = "workload.toml";

/// Maximum length of a file: SQL that generates rows is short, and the rows themselves do not belong in it.
pub(crate) const FILE_LENGTH_MAX: u64 = 16 << 20;
/// Most characters of a name.
const NAME_LENGTH_MAX: usize = 63;
/// The most rows of a unit of scale.
const ROWS_PER_SCALE_MAX: u64 = 1_000_000_000;
/// The most bytes of a unit of scale: a terabyte.
const BYTES_PER_SCALE_MAX: u64 = 1 << 40;
/// The greatest weight of a script, as in experiments.
const WEIGHT_MAX: u64 = 1_000_000;
/// Variables of every script, which cannot be parameters.
const OWN_VARIABLES: [&str; 4] = ["scale", "client_id", "random_seed", "default_seed"];

const KEYS: [&str; 10] = [
    "name",
    "title",
    "source",
    "licence",
    "bytes_per_scale",
    "parameters",
    "tables",
    "load",
    "scripts",
    "checks",
];

/// Location of a workload's files.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Files<'a> {
    /// A directory on disk.
    Folder(&'a Path),
    /// Built in, by name.
    Embedded(&'a [(&'a str, &'a str)]),
}

/// The content of a workload.toml.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) source: Option<String>,
    pub(crate) licence: Option<String>,
    pub(crate) bytes_per_scale: Option<u64>,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) tables: Vec<TableEntry>,
    pub(crate) load: Vec<LoadStep>,
    pub(crate) scripts: Vec<Script>,
    pub(crate) checks: Vec<Check>,
    /// All files that were read, from the folder.
    pub(crate) files: Vec<(PathBuf, String)>,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableEntry {
    /// Name as in the catalog, with its schema if given.
    pub(crate) name: String,
    /// Rows per unit of scale, if it determines the scale.
    pub(crate) rows_per_scale: Option<u64>,
    pub(crate) before_run: BeforeRun,
}

/// Preparation of a table before each run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum BeforeRun {
    Nothing,
    Vacuum,
    VacuumAnalyze,
    Truncate,
}

/// SQL that makes or fills tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadStep {
    pub(crate) name: String,
    /// What messages call the file.
    pub(crate) file: String,
    pub(crate) sql: String,
    /// Whether all its statements are one transaction.
    pub(crate) is_transaction: bool,
}

impl Manifest {
    /// Reads `text`, the workload.toml; `file` is what messages call it.
    pub(crate) fn parse(text: &str, file: &str, files: Files<'_>) -> Result<Manifest, FileError> {
        let mut reader = Reader { files, read: Vec::new() };
        let read = config::read(text).and_then(|top| reader.manifest(top));
        read.map_err(|complaint| complaint.in_file(file))
    }
}

/// The files that were read so far.
struct Reader<'a> {
    files: Files<'a>,
    read: Vec<(PathBuf, String)>,
}

impl Reader<'_> {
    fn manifest(&mut self, mut top: Table) -> Result<Manifest, Complaint> {
        let place = top.place;
        top.check_keys("a workload", &KEYS)?;
        let needed = |what: &str| Complaint::at(place, format!("a workload requires {what}"));
        let name = top.read("name", |node| self.workload_name(node))?;
        let name = name.ok_or_else(|| needed("a name, such as name = \"shop\""))?;
        let title = top.text("title")?.unwrap_or_else(|| name.clone());
        let (source, licence) = (top.text("source")?, top.text("licence")?);
        let bytes_per_scale = top.read("bytes_per_scale", |node| node.whole(1, BYTES_PER_SCALE_MAX))?;
        let parameters = parameters(top.table("parameters")?)?;
        let tables = tables(top.list("tables")?)?;
        let load = self.load_steps(top.list("load")?)?;
        let at_scripts = top.entries.iter().find(|entry| entry.key == "scripts");
        let at_scripts = at_scripts.map_or(place, |entry| entry.node.place);
        let scripts = self.scripts(&name, top.list("scripts")?)?;
        let checks = self.checks(top.list("checks")?)?;
        if load.is_empty() {
            return Err(needed("load steps, such as load = [\"schema.sql\"]"));
        }
        if scripts.iter().all(|script| script.weight == 0) {
            let what = "a workload requires scripts, at least one of them with a weight above 0, such as scripts = \
                 [\"a.sql\"]";
            return Err(Complaint::at(at_scripts, what));
        }
        let files = std::mem::take(&mut self.read);
        Ok(Manifest {
            name,
            title,
            source,
            licence,
            bytes_per_scale,
            parameters,
            tables,
            load,
            scripts,
            checks,
            files,
        })
    }

    fn workload_name(&self, node: &Node) -> Result<String, Complaint> {
        let name = short_name(node)?;
        match self.files {
            Files::Folder(_) if !registry::is_free(&name) => Err(Complaint::at(
                node.place,
                format!(
                    "\"{name}\" is the name of a built-in workload: choose \
                                                       another name"
                ),
            )),
            _ => Ok(name),
        }
    }

    /// The text of the file that `node` names.
    fn text_of(&mut self, node: &Node) -> Result<(String, String), Complaint> {
        let name = node.text()?;
        let (path, text) = match self.files {
            Files::Folder(folder) => {
                let path = config::Folder::Disk(folder).file(node, "the workload")?;
                let text = config::text_of(&path, FILE_LENGTH_MAX)
                    .map_err(|error| Complaint::at(node.place, format!("cannot read {name}: {error}")))?;
                (path, text)
            }
            Files::Embedded(files) => {
                let found = files.iter().find(|(file, _)| *file == name);
                let missing = || Complaint::at(node.place, format!("there is no file {name}"));
                let (_, text) = found.ok_or_else(missing)?;
                (PathBuf::from(name), (*text).to_owned())
            }
        };
        if !self.read.iter().any(|(read, _)| *read == path) {
            self.read.push((path.clone(), text.clone()));
        }
        Ok((path.display().to_string(), text))
    }

    /// SQL without meta commands.
    fn sql(&mut self, node: &Node) -> Result<(String, String), Complaint> {
        let (file, sql) = self.text_of(node)?;
        let readable = script::statements(&file, &sql, &BTreeMap::new());
        readable.map_err(|error| Complaint::at(node.place, first_line(&error.to_string())))?;
        Ok((file, sql))
    }

    fn load_steps(&mut self, nodes: Vec<Node>) -> Result<Vec<LoadStep>, Complaint> {
        let mut names = Names::default();
        let step = |node: Node| {
            let (mut table, node) = file_entry(node, &["file", "name", "transaction"])?;
            let (file, sql) = self.sql(&node)?;
            let name = names.take(&mut table, &node)?;
            let is_transaction = table.read("transaction", Node::truth)?.unwrap_or(true);
            Ok(LoadStep { name, file, sql, is_transaction })
        };
        nodes.into_iter().map(step).collect()
    }

    fn scripts(&mut self, workload: &str, nodes: Vec<Node>) -> Result<Vec<Script>, Complaint> {
        let mut names = Names::default();
        let script = |node: Node| {
            let (mut table, node) = file_entry(node, &["file", "name", "weight", "only_reads"])?;
            let (file, text) = self.text_of(&node)?;
            script::parse(&file, text.as_bytes(), &mut Symbols::new(), Dialect::Extended)
                .map_err(|error| Complaint::at(node.place, first_line(&error.to_string())))?;
            let name = names.take(&mut table, &node)?;
            Ok(Script {
                description: Cow::Owned(format!("<{workload}: {name}>")),
                name: Cow::Owned(name),
                text: Cow::Owned(text),
                weight: table.read("weight", |node| node.whole(0, WEIGHT_MAX))?.unwrap_or(1),
                only_reads: table.read("only_reads", Node::truth)?.unwrap_or(false),
                contended: None,
            })
        };
        nodes.into_iter().map(script).collect()
    }

    fn checks(&mut self, nodes: Vec<Node>) -> Result<Vec<Check>, Complaint> {
        let mut names = Names::default();
        let check = |node: Node| {
            let (mut table, node) = file_entry(node, &["file", "name"])?;
            let (_, sql) = self.sql(&node)?;
            Ok(Check { name: names.take(&mut table, &node)?, sql })
        };
        nodes.into_iter().map(check).collect()
    }
}

const BEFORE_RUN: [(&str, BeforeRun); 4] = [
    ("nothing", BeforeRun::Nothing),
    ("vacuum", BeforeRun::Vacuum),
    ("vacuum analyze", BeforeRun::VacuumAnalyze),
    ("truncate", BeforeRun::Truncate),
];

fn tables(nodes: Vec<Node>) -> Result<Vec<TableEntry>, Complaint> {
    let mut tables: Vec<TableEntry> = Vec::new();
    for node in nodes {
        let mut table = entry(node, "name", &["name", "rows_per_scale", "before_run"])?;
        let name = table.take("name").ok_or_else(|| Complaint::at(table.place, "a table requires a name"))?;
        let rows_per_scale = table.read("rows_per_scale", |node| {
            match tables.iter().find(|table| table.rows_per_scale.is_some()) {
                None => node.whole(1, ROWS_PER_SCALE_MAX),
                Some(TableEntry { name, .. }) => {
                    let what =
                        format!("the table {name} already determines the scale: only one table can do so");
                    Err(Complaint::at(node.place, what))
                }
            }
        })?;
        let before_run = table.read("before_run", |node| node.one_of(&BEFORE_RUN))?;
        let before_run = before_run.unwrap_or(BeforeRun::Nothing);
        let (at, name) = (name.place, table_name(&name)?);
        if tables.iter().any(|table| table.name == name) {
            return Err(Complaint::at(at, format!("the table {name} is defined twice")));
        }
        tables.push(TableEntry { name, rows_per_scale, before_run });
    }
    Ok(tables)
}

/// A name as the catalog has it, or two with a dot between them.
fn table_name(node: &Node) -> Result<String, Complaint> {
    let name = node.text()?;
    let is_part = |part: &str| {
        !part.is_empty()
            && part.len() <= NAME_LENGTH_MAX
            && !part.contains(|c: char| c.is_control() || c == '"')
    };
    let is_name = name.split('.').count() <= 2 && name.split('.').all(is_part);
    if is_name { Ok(name.to_owned()) } else { Err(node.expected("the name of a table, or schema.table")) }
}

fn parameters(table: Table) -> Result<BTreeMap<String, String>, Complaint> {
    let mut parameters = BTreeMap::new();
    for Entry { key, place, node } in table.entries {
        if OWN_VARIABLES.contains(&key.as_str()) {
            return Err(Complaint::at(
                place,
                format!("{key} is a variable of every workload and cannot be a parameter"),
            ));
        }
        if !Symbols::is_valid_name(&key) {
            let what = format!(
                "\"{key}\" is not a valid variable name: use letters, digits and _, and do not begin with a digit"
            );
            return Err(Complaint::at(place, what));
        }
        parameters.insert(key, node.scalar()?);
    }
    Ok(parameters)
}

/// The names of a list, each once.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    /// The name given, or that of the file without its ending.
    fn take(&mut self, table: &mut Table, file: &Node) -> Result<String, Complaint> {
        let of_file = || {
            let stem = Path::new(file.text()?).file_stem().and_then(|stem| stem.to_str());
            Ok(Node { place: file.place, value: Value::Text(stem.unwrap_or_default().to_owned()) })
        };
        let node = table.take("name").map_or_else(of_file, Ok)?;
        let name = short_name(&node)?;
        if self.0.insert(name.clone()) {
            return Ok(name);
        }
        Err(Complaint::at(node.place, format!("\"{name}\" is defined twice: rename one of them")))
    }
}

/// Letters, digits, `-`, `_` and `.`: what needs no quotation marks on a command line.
fn short_name(node: &Node) -> Result<String, Complaint> {
    let name = node.text()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_name = !name.is_empty() && name.len() <= NAME_LENGTH_MAX && name.chars().all(plain);
    if is_name {
        Ok(name.to_owned())
    } else {
        Err(node.expected("a name of letters, digits, \"-\", \"_\" and \".\""))
    }
}

/// An entry of a list: the text of its main key alone, or a table.
fn entry(node: Node, main: &str, known: &[&str]) -> Result<Table, Complaint> {
    let place = node.place;
    let table = match node.value {
        Value::Text(_) => Table { place, entries: vec![Entry { key: main.to_owned(), place, node }] },
        Value::Table(_) => node.into_table()?,
        _ => {
            let what = format!("a {main} in quotation marks, or a table with the key {main}");
            return Err(node.expected(&what));
        }
    };
    table.check_keys("this list", known)?;
    Ok(table)
}

/// The same of a list of files, and the name of the file.
fn file_entry(node: Node, known: &[&str]) -> Result<(Table, Node), Complaint> {
    let mut table = entry(node, "file", known)?;
    let file = table.take("file");
    let place = table.place;
    let file = file.ok_or_else(|| Complaint::at(place, "this requires a file, such as file = \"a.sql\""))?;
    Ok((table, file))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [(&str, &str); 4] = [
        ("schema.sql", "CREATE TABLE t (a int);"),
        ("sub/run.sql", "\\set a random(1, :scale)\nSELECT :a;"),
        ("empty.sql", "-- nothing\n"),
        ("meta.sql", "SELECT 1;\n\\set a 1\n"),
    ];
    const LEAST: &str = "name = \"shop\"\nload = [\"schema.sql\"]\nscripts = [\"sub/run.sql\"]\n";

    fn parse(text: &str) -> Result<Manifest, String> {
        Manifest::parse(text, "w.toml", Files::Embedded(&FILES)).map_err(|error| error.to_string())
    }

    /// The refusal of a sound manifest with these lines more.
    #[track_caller]
    fn check(more: &str, expected: &str) {
        assert_eq!(parse(&format!("{LEAST}{more}")).expect_err(more), expected);
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        let manifest = parse(LEAST).expect("it is sound");
        assert_eq!((manifest.title.as_str(), manifest.source, manifest.licence), ("shop", None, None));
        assert!(manifest.parameters.is_empty() && manifest.tables.is_empty() && manifest.checks.is_empty());
        assert_eq!((manifest.load[0].name.as_str(), manifest.load[0].is_transaction), ("schema", true));
        let script = &manifest.scripts[0];
        assert_eq!((&*script.name, &*script.description, script.weight), ("run", "<shop: run>", 1));
        assert!(!script.only_reads);
        assert_eq!(manifest.files.len(), 2, "each file once");
    }

    #[test]
    fn all_keys_are_understood() {
        let manifest = parse(
            "name = \"shop\"\ntitle = \"A shop\"\nsource = \"me\"\nlicence = \"CC0-1.0\"\nbytes_per_scale = 150000\n\
             load = [{ file = \"schema.sql\", name = \"tables\", transaction = false }]\n\
             scripts = [\"sub/run.sql\", { file = \"sub/run.sql\", name = \"again\", weight = 0, only_reads = true }]\n\
             checks = [{ file = \"schema.sql\", name = \"sound\" }]\n\
             [parameters]\nitems = 5\nword = \"a b\"\n\
             [[tables]]\nname = \"app.t\"\nrows_per_scale = 1000\n\
             [[tables]]\nname = \"Orders\"\nbefore_run = \"vacuum analyze\"\n",
        )
        .expect("it is sound");
        assert_eq!((manifest.title.as_str(), manifest.licence.as_deref()), ("A shop", Some("CC0-1.0")));
        assert_eq!(manifest.bytes_per_scale, Some(150_000));
        assert_eq!((manifest.load[0].name.as_str(), manifest.load[0].is_transaction), ("tables", false));
        assert_eq!((&*manifest.scripts[1].name, manifest.scripts[1].weight), ("again", 0));
        assert!(manifest.scripts[1].only_reads);
        assert_eq!(manifest.checks[0].name, "sound");
        assert_eq!(manifest.parameters["items"], "5");
        assert_eq!(manifest.tables[0].rows_per_scale, Some(1000));
        assert_eq!(manifest.tables[1].before_run, BeforeRun::VacuumAnalyze);
    }

    #[test]
    fn a_mistake_is_one_line_with_its_place() {
        check("titel = \"x\"\n", "w.toml:4:1: unknown key \"titel\" in a workload; did you mean \"title\"?");
        check(
            "tables = [{ name = \"t\", rows = 1 }]\n",
            "w.toml:4:25: unknown key \"rows\" in this list; known are name, rows_per_scale, before_run",
        );
        check(
            "bytes_per_scale = 0\n",
            "w.toml:4:19: expected a whole number from 1 to 1099511627776, found 0",
        );
        check("checks = [\"none.sql\"]\n", "w.toml:4:11: there is no file none.sql");
        check(
            "checks = [7]\n",
            "w.toml:4:11: expected a file in quotation marks, or a table with the key file, found 7",
        );
        check("checks = [{ name = \"x\" }]\n", "w.toml:4:11: this requires a file, such as file = \"a.sql\"");
        check("checks = [\"empty.sql\"]\n", "w.toml:4:11: empty command list for script \"empty.sql\"");
        check(
            "checks = [\"meta.sql\"]\n",
            "w.toml:4:11: meta.sql:2: load steps, checks and timed steps must be plain SQL, without meta \
             commands: \\set a 1",
        );
        check("tables = [\"t\", \"t\"]\n", "w.toml:4:16: the table t is defined twice");
        check(
            "tables = [\"a.b.c\"]\n",
            "w.toml:4:11: expected the name of a table, or schema.table, found \"a.b.c\"",
        );
        check(
            "tables = [{ name = \"t\", before_run = \"drop\" }]\n",
            "w.toml:4:38: expected \"nothing\" or \"vacuum\" or \"vacuum analyze\" or \"truncate\", found \"drop\"",
        );
        check(
            "tables = [{ name = \"a\", rows_per_scale = 1 }, { name = \"b\", rows_per_scale = 2 }]\n",
            "w.toml:4:78: the table a already determines the scale: only one table can do so",
        );
        check(
            "[parameters]\nscale = 3\n",
            "w.toml:5:1: scale is a variable of every workload and cannot be a parameter",
        );
        check(
            "[parameters]\n1x = 3\n",
            "w.toml:5:1: \"1x\" is not a valid variable name: use letters, digits and _, and do not begin with a digit",
        );
        check(
            "checks = [\"schema.sql\", \"schema.sql\"]\n",
            "w.toml:4:25: \"schema\" is defined twice: rename one of them",
        );
    }

    #[test]
    fn a_name_load_steps_and_scripts_are_needed() {
        let refusal = |text: &str| parse(text).expect_err(text);
        assert_eq!(refusal(""), "w.toml:1:1: a workload requires a name, such as name = \"shop\"");
        assert_eq!(
            refusal("name = \"a b\""),
            "w.toml:1:8: expected a name of letters, digits, \"-\", \"_\" and \".\", found \"a b\""
        );
        assert_eq!(
            refusal("name = \"a\"\nscripts = [\"sub/run.sql\"]"),
            "w.toml:1:1: a workload requires load steps, such as load = [\"schema.sql\"]"
        );
        assert_eq!(
            refusal(
                "name = \"a\"\nload = [\"schema.sql\"]\nscripts = [{ file = \"sub/run.sql\", weight = 0 }]"
            ),
            "w.toml:3:11: a workload requires scripts, at least one of them with a weight above 0, such as \
             scripts = [\"a.sql\"]"
        );
    }

    #[test]
    fn a_folder_may_not_take_the_name_of_a_shipped_workload() {
        let folder = Path::new("/nonexistent");
        for name in ["tpcb", "none"] {
            let text = format!("name = \"{name}\"");
            let refusal =
                Manifest::parse(&text, "w.toml", Files::Folder(folder)).expect_err(name).to_string();
            assert_eq!(
                refusal,
                format!(
                    "w.toml:1:8: \"{name}\" is the name of a built-in workload: choose \
                                         another name"
                )
            );
        }
    }
}
