//! Parses `workload.toml` and the files that it names, and reports errors with their position. `folder` executes
//! them.

mod before_rows;
mod generated_rows;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use config::{Complaint, Entry, Node, Place, Table, Value};
use script::{Dialect, Symbols};
use stats::Scale;

pub(crate) use self::before_rows::BeforeRows;
pub(crate) use self::generated_rows::GeneratedRows;
use crate::WorkloadError;
use crate::contract::about::About;
use crate::contract::archives::{self, NamedArchive};
use crate::contract::check::Check;
use crate::contract::names::{NAME_LENGTH_MAX, ReservedNames, short_name};
use crate::contract::query_files;
use crate::contract::scripts::{PerMinute, Script};
use crate::contract::sql_file::{LoadStep, SqlFile, is_comment};
use crate::contract::standard::Standard;
use crate::contract::user_files::{self, FILE_LENGTH_MAX, Files, SCHEMA};

/// The most rows of a unit of scale.
const ROWS_PER_SCALE_MAX: u64 = 1_000_000_000;
/// The most bytes of a unit of scale: a terabyte.
const BYTES_PER_SCALE_MAX: u64 = 1 << 40;
/// The greatest weight of a script, as in experiments.
const WEIGHT_MAX: u64 = 1_000_000;
/// Variables of every script, which cannot be parameters.
const OWN_VARIABLES: [&str; 4] = ["scale", "client_id", "random_seed", "default_seed"];

const KEYS: [&str; 22] = [
    "name",
    "title",
    "source",
    "licence",
    "notice",
    "needs",
    "per_minute",
    "standard",
    "bytes_per_scale",
    "parameters",
    "tables",
    "load",
    "scripts",
    "checks",
    "queries",
    "size",
    "scale_min",
    "seed",
    "archives",
    "before_rows",
    "columns",
    "rows",
];

/// The greatest seed: TOML has signed numbers.
const SEED_MAX: u64 = i64::MAX.unsigned_abs();

/// The content of a workload.toml.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    /// The name of the file in messages.
    pub(crate) file: String,
    pub(crate) about: About,
    pub(crate) per_minute: Option<PerMinute>,
    pub(crate) standard: Option<Standard>,
    pub(crate) bytes_per_scale: Option<u64>,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) tables: Vec<TableEntry>,
    pub(crate) load: Vec<LoadStep>,
    pub(crate) scripts: Vec<Script>,
    pub(crate) checks: Vec<Check>,
    /// The schema, if there are no load steps: its rows are generated.
    pub(crate) schema: Option<SqlFile>,
    /// Alternative index sets for `schema`.
    pub(crate) indexes: Vec<SqlFile>,
    pub(crate) before_rows: BeforeRows,
    pub(crate) generated: GeneratedRows,
    pub(crate) queries: Vec<SqlFile>,
    /// Rows of each table of the schema at scale 1.
    pub(crate) size: Option<f64>,
    /// The smallest scale that can be loaded.
    pub(crate) scale_min: Option<Scale>,
    pub(crate) seed: Option<u64>,
    pub(crate) archives: Vec<NamedArchive>,
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

impl Manifest {
    /// Reads `text`, the workload.toml; `file` is what messages call it.
    pub(crate) fn parse(
        text: &str,
        file: &str,
        files: Files<'_>,
        reserved: ReservedNames,
    ) -> Result<Manifest, WorkloadError> {
        let mut reader = Reader { files, reserved, archives: Vec::new(), read: Vec::new() };
        let top = config::read(text).map_err(|complaint| complaint.in_file(file))?;
        reader.manifest(top, file).map_err(|error| match error {
            Problem::InManifest(complaint) => complaint.in_file(file).into(),
            Problem::InFile(message) => WorkloadError::UnlistedFile(message),
        })
    }
}

/// An error in a workload's directory.
#[derive(Debug)]
enum Problem {
    /// In workload.toml.
    InManifest(Complaint),
    /// In a file that workload.toml does not name; a complete message.
    InFile(String),
}

impl From<Complaint> for Problem {
    fn from(complaint: Complaint) -> Problem {
        Problem::InManifest(complaint)
    }
}

/// The place of files that workload.toml does not name.
const UNLISTED: Place = Place { line: 0, column: 0 };

/// The files that were read so far.
const STEPS_NEEDED: &str = "a file schema.sql, or load steps, such as load = [\"rows.sql\"]";
const SCHEMA_NEEDED: &str =
    "a schema.sql without load steps for the key size, the number of rows of its tables";

struct Reader<'a> {
    files: Files<'a>,
    reserved: ReservedNames,
    archives: Vec<NamedArchive>,
    read: Vec<(PathBuf, String)>,
}

impl Reader<'_> {
    fn manifest(&mut self, mut top: Table, file: &str) -> Result<Manifest, Problem> {
        let place = top.place;
        top.check_keys("a workload", &KEYS)?;
        let needed = |what: &str| Complaint::at(place, format!("a workload requires {what}"));
        let name = top.read("name", |node| self.workload_name(node))?;
        let name = name.ok_or_else(|| needed("a name, such as name = \"shop\""))?;
        let title = top.text("title")?.unwrap_or_else(|| name.clone());
        let folder = if let Files::Folder(folder) = self.files { Some(folder) } else { None };
        self.archives = archives::read(top.list("archives")?, folder)?;
        let mut text = |key| Ok::<_, Complaint>(top.text(key)?.map(Cow::Owned));
        let (source, licence) = (text("source")?, text("licence")?);
        let (notice, needs) = (text("notice")?, text("needs")?);
        let bytes_per_scale = top.read("bytes_per_scale", |node| node.whole(1, BYTES_PER_SCALE_MAX))?;
        let parameters = parameters(top.table("parameters")?)?;
        let (mut generated, listed) = GeneratedRows::take(&mut top)?;
        let tables = tables(listed, &mut generated)?;
        let load = self.load_steps(top.list("load")?)?;
        let schema = if load.is_empty() { self.schema()? } else { None };
        generated.check(schema.is_some())?;
        let at_scripts = top.entries.iter().find(|entry| entry.key == "scripts");
        let at_scripts = at_scripts.map_or(place, |entry| entry.node.place);
        let scripts = self.scripts(&name, self.listed(&mut top, "scripts")?)?;
        check_weights(&scripts, at_scripts)?;
        let per_minute = top.take("per_minute").map(|it| PerMinute::read(it, &scripts)).transpose()?;
        let checks = self.checks(self.listed(&mut top, "checks")?)?;
        let mut sql = |node: &Node| Ok(self.sql(node)?.1);
        let standard = top.take("standard");
        let standard = standard.map(|it| Standard::read(it, &scripts, &checks, &mut sql)).transpose()?;
        let queries = self.sql_files(self.listed(&mut top, "queries")?, Self::sql)?;
        query_files::check(&queries).map_err(Problem::InFile)?;
        let indexes = self.sql_files(self.folder_entries("indexes")?, Self::index_set)?;
        let before_rows = BeforeRows::read(&top.list("before_rows")?, &indexes)?;
        let size = top.read("size", Node::positive)?;
        let scale_min = top.read("scale_min", Node::positive)?.and_then(Scale::new);
        let seed = top.read("seed", |node| node.whole(0, SEED_MAX))?;
        if schema.is_none() && (load.is_empty() || size.is_some()) {
            return Err(needed(if load.is_empty() { STEPS_NEEDED } else { SCHEMA_NEEDED }).into());
        }
        let files = std::mem::take(&mut self.read);
        Ok(Manifest {
            file: file.to_owned(),
            about: About { name: name.into(), title: title.into(), source, licence, needs, notice },
            per_minute,
            standard,
            bytes_per_scale,
            parameters,
            tables,
            load,
            scripts,
            checks,
            schema,
            indexes,
            before_rows,
            generated,
            queries,
            size,
            scale_min,
            seed,
            archives: std::mem::take(&mut self.archives),
            files,
        })
    }

    fn workload_name(&self, node: &Node) -> Result<String, Complaint> {
        let name = short_name(node)?;
        if self.reserved.has(&name) {
            let what = format!("\"{name}\" is the name of a built-in workload: choose another name");
            return Err(Complaint::at(node.place, what));
        }
        Ok(name)
    }

    /// The text of the file that `node` names.
    fn text_of(&mut self, node: &Node) -> Result<(String, String), Complaint> {
        let name = node.text()?;
        let text_of = |path: &Path| {
            let unreadable = |error| Complaint::at(node.place, format!("cannot read {name}: {error}"));
            let bytes = config::bytes_of(path, FILE_LENGTH_MAX);
            bytes.and_then(user_files::sql_text).map_err(unreadable)
        };
        let (path, text) = match self.files {
            Files::Folder(folder) => {
                if let Some((archive, rest)) = archives::containing(&self.archives, name) {
                    let tree = archive
                        .tree(&folder.display().to_string())
                        .map_err(|what| Complaint::at(node.place, what))?;
                    let inside = Node { place: node.place, value: Value::Text(rest.to_owned()) };
                    let path = config::Folder::Disk(&tree).file(&inside, "the archive")?;
                    // Not among the files that were read: the checksum of the archive stands for it.
                    return Ok((name.to_owned(), text_of(&path)?));
                }
                let path = config::Folder::Disk(folder).file(node, "the workload")?;
                let text = text_of(&path)?;
                (path, text)
            }
            Files::Schema(path) => (path.to_owned(), text_of(path)?),
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

    /// A script that can be parsed.
    fn script(&mut self, node: &Node) -> Result<(String, String), Complaint> {
        let (file, text) = self.text_of(node)?;
        script::parse(&file, text.as_bytes(), &mut Symbols::new(), Dialect::Extended)
            .map_err(|error| Complaint::at(node.place, first_line(&error.to_string())))?;
        Ok((file, text))
    }

    /// SQL without meta commands.
    fn sql(&mut self, node: &Node) -> Result<(String, String), Complaint> {
        let (file, sql) = self.text_of(node)?;
        let readable = script::statements(&file, &sql, &BTreeMap::new());
        readable.map_err(|error| Complaint::at(node.place, first_line(&error.to_string())))?;
        Ok((file, sql))
    }

    /// A file of an index set, which may have comments alone.
    fn index_set(&mut self, node: &Node) -> Result<(String, String), Complaint> {
        let (file, sql) = self.text_of(node)?;
        if is_comment(&sql) { Ok((file, sql)) } else { self.sql(node) }
    }

    /// The entries of a list; if the manifest does not have it, the SQL files of the folder with its name.
    fn listed(&self, top: &mut Table, key: &str) -> Result<Vec<Node>, Problem> {
        if top.entries.iter().any(|entry| entry.key == key) {
            return Ok(top.list(key)?);
        }
        self.folder_entries(key)
    }

    /// Reads each entry of a list.
    fn each<T>(
        &mut self,
        nodes: Vec<Node>,
        mut read: impl FnMut(&mut Self, Node) -> Result<T, Complaint>,
    ) -> Result<Vec<T>, Problem> {
        let read = |node: Node| {
            let unlisted = node.text().ok().filter(|_| node.place == UNLISTED).map(|name| self.path(name));
            read(self, node).map_err(|complaint| match unlisted {
                Some(file) if complaint.what.starts_with(&file) => Problem::InFile(complaint.what),
                Some(file) => Problem::InFile(format!("{file}: {}", complaint.what)),
                None => Problem::InManifest(complaint),
            })
        };
        nodes.into_iter().map(read).collect()
    }

    /// The name of a file in messages.
    fn path(&self, name: &str) -> String {
        match self.files {
            Files::Folder(folder) => folder.join(name).display().to_string(),
            Files::Schema(path) => path.display().to_string(),
            Files::Embedded(_) => name.to_owned(),
        }
    }

    /// The SQL files of a folder: `q2.sql` comes before `q10.sql`.
    fn folder_entries(&self, folder: &str) -> Result<Vec<Node>, Problem> {
        let mut names: Vec<String> = match self.files {
            Files::Embedded(files) => {
                let is_inside = |name: &&str| name.split_once('/').is_some_and(|(first, _)| first == folder);
                files.iter().map(|(name, _)| *name).filter(is_inside).map(str::to_owned).collect()
            }
            Files::Schema(_) => Vec::new(),
            Files::Folder(root) => match fs::read_dir(root.join(folder)) {
                Ok(entries) => {
                    let name = |entry: fs::DirEntry| entry.file_name().to_str().map(str::to_owned);
                    entries
                        .filter_map(|entry| name(entry.ok()?))
                        .map(|name| format!("{folder}/{name}"))
                        .collect()
                }
                Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
                Err(error) => {
                    let folder = self.path(folder);
                    return Err(Problem::InFile(format!("cannot read the directory {folder}: {error}")));
                }
            },
        };
        names.retain(|name| name.ends_with(".sql"));
        names.sort_by_key(|name| natural_key(name));
        Ok(names.into_iter().map(unlisted).collect())
    }

    /// The schema of a workload whose rows are generated, if there is one.
    fn schema(&mut self) -> Result<Option<SqlFile>, Problem> {
        let is_there = match self.files {
            Files::Folder(folder) => folder.join(SCHEMA).is_file(),
            Files::Schema(_) => true,
            Files::Embedded(files) => files.iter().any(|(name, _)| *name == SCHEMA),
        };
        if !is_there {
            return Ok(None);
        }
        let is_on_disk = !matches!(self.files, Files::Embedded(_));
        if let Some(what) = user_files::not_sql_file(&self.path(SCHEMA)).filter(|_| is_on_disk) {
            return Err(Problem::InFile(what));
        }
        let schema = self.each(vec![unlisted(SCHEMA.to_owned())], |reader, node| {
            let (file, sql) = reader.text_of(&node)?;
            Ok(SqlFile { name: SCHEMA.to_owned(), file, sql })
        })?;
        Ok(schema.into_iter().next())
    }

    /// The entries of a list of files, each with a name that no other one has. `text` reads the file, `entry` the other keys.
    fn named<T>(
        &mut self,
        nodes: Vec<Node>,
        keys: &[&str],
        text: impl Fn(&mut Self, &Node) -> Result<(String, String), Complaint>,
        entry: impl Fn(SqlFile, &mut Table) -> Result<T, Complaint>,
    ) -> Result<Vec<T>, Problem> {
        let mut names = Names::default();
        self.each(nodes, |reader, node| {
            let (mut table, node) = file_entry(node, keys)?;
            let (file, sql) = text(reader, &node)?;
            let name = names.take(&mut table, &node)?;
            entry(SqlFile { name, file, sql }, &mut table)
        })
    }

    fn sql_files(
        &mut self,
        nodes: Vec<Node>,
        text: impl Fn(&mut Self, &Node) -> Result<(String, String), Complaint>,
    ) -> Result<Vec<SqlFile>, Problem> {
        self.named(nodes, &["file", "name"], text, |file, _| Ok(file))
    }

    fn load_steps(&mut self, nodes: Vec<Node>) -> Result<Vec<LoadStep>, Problem> {
        self.named(
            nodes,
            &["file", "name", "transaction"],
            Self::sql,
            |SqlFile { name, file, sql }, table| {
                let is_transaction = table.read("transaction", Node::truth)?.unwrap_or(true);
                Ok(LoadStep { name, file, sql, is_transaction })
            },
        )
    }

    fn scripts(&mut self, workload: &str, nodes: Vec<Node>) -> Result<Vec<Script>, Problem> {
        let keys = ["file", "name", "weight", "only_reads"];
        self.named(nodes, &keys, Self::script, |SqlFile { name, sql, .. }, table| {
            Ok(Script {
                description: Cow::Owned(format!("<{workload}: {name}>")),
                name: Cow::Owned(name),
                text: Cow::Owned(sql),
                weight: table.read("weight", |node| node.whole(0, WEIGHT_MAX))?.unwrap_or(1),
                only_reads: table.read("only_reads", Node::truth)?.unwrap_or(false),
                contended: None,
            })
        })
    }

    fn checks(&mut self, nodes: Vec<Node>) -> Result<Vec<Check>, Problem> {
        self.named(nodes, &["file", "name"], Self::sql, |SqlFile { name, sql, .. }, _| {
            Ok(Check { name, sql })
        })
    }
}

const BEFORE_RUN: [(&str, BeforeRun); 4] = [
    ("nothing", BeforeRun::Nothing),
    ("vacuum", BeforeRun::Vacuum),
    ("vacuum analyze", BeforeRun::VacuumAnalyze),
    ("truncate", BeforeRun::Truncate),
];

fn tables(nodes: Vec<Node>, generated: &mut GeneratedRows) -> Result<Vec<TableEntry>, Complaint> {
    let mut tables: Vec<TableEntry> = Vec::new();
    for node in nodes {
        let mut table = entry(node, "name", &["name", "rows_per_scale", "before_run", "directives"])?;
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
        if let Some(node) = table.take("directives") {
            generated.add(name.clone(), false, (node.place, &node))?;
        }
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

/// Refuses a mix of scripts that never runs.
fn check_weights(scripts: &[Script], place: Place) -> Result<(), Complaint> {
    if scripts.is_empty() || scripts.iter().any(|script| script.weight > 0) {
        return Ok(());
    }
    let what = "a workload requires scripts, at least one of them with a weight above 0, such as scripts = \
                [\"a.sql\"]";
    Err(Complaint::at(place, what))
}

/// Orders names with numbers in them: texts and numbers in turns.
fn natural_key(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (head, tail) = rest.split_at(text);
        let digits = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (number, tail) = tail.split_at(digits);
        parts.push((head.to_owned(), number.parse().unwrap_or(u64::MAX)));
        rest = tail;
    }
    parts
}

/// The entry of a file that workload.toml does not name.
fn unlisted(name: String) -> Node {
    Node { place: UNLISTED, value: Value::Text(name) }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
