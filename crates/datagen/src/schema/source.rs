//! The text of a schema with the files that `\i` and `\ir` of psql include, and the directives of other files. All is one
//! text here, and each of its lines knows its file, so that every message has the place that the user can edit.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Name, split};
use crate::error::{Checked, Error, Fault, Place};

/// Most files that are included within each other.
const INCLUDE_DEPTH_MAX: usize = 50;
/// Most included files: empty ones that include each other twice would not reach the limit of bytes.
const INCLUDES_MAX: usize = 10_000;
/// Longest text with all included files: it is in memory several times.
const TEXT_BYTES_MAX: usize = 64 << 20;
/// Names of psql's commands that a message shows.
const NAMES_SHOWN: usize = 5;

/// A file that a schema includes.
#[derive(Clone, Debug)]
pub struct Included {
    /// Its name for messages.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// Why a file cannot be included.
#[derive(Clone, Debug)]
pub struct Unreadable {
    /// A sentence.
    pub message: String,
    /// Whether it may only be read with permission. Then the other files are read without it.
    pub is_refused: bool,
}

/// Reads a file by its name, which is relative to the folder of the schema.
pub type ReadIncluded<'a> = dyn FnMut(&str) -> Result<Included, Unreadable> + 'a;

/// A directive that stands in another file than the schema.
#[derive(Clone, Debug)]
pub struct OwnDirective {
    /// The name of the table, or `table.column`.
    pub object: String,
    /// Whether the object is a column.
    pub is_column: bool,
    /// As after `-- df:`.
    pub text: String,
    /// Line and column in its file.
    pub line: u32,
    /// From 1.
    pub column: u32,
    /// The key in its file, for messages.
    pub key: String,
}

/// A text with the files of its lines.
#[derive(Clone, Debug)]
pub struct Source {
    text: String,
    origins: Origins,
    skipped: Vec<String>,
    refused: Option<Error>,
    /// The lines where statements begin whose directives have no object, and the names of tables that they would create.
    left_out: (BTreeSet<u32>, Vec<String>),
    /// Their lines are behind those of the text.
    pub(crate) directives: Vec<OwnDirective>,
}

/// The files of lines: each entry counts up to the next one.
#[derive(Clone, Debug)]
pub(crate) struct Origins(Vec<Origin>);

#[derive(Clone, Debug)]
struct Origin {
    first: u32,
    file: Arc<str>,
    /// The line of `first` in the file.
    line: u32,
}

impl Source {
    /// The text of one file. `file` is its name for messages.
    pub fn new(text: &str, file: &str) -> Source {
        let origins = Origins(vec![Origin { first: 1, file: file.into(), line: 1 }]);
        let (text, skipped, directives) = (without_mark(text).to_owned(), Vec::new(), Vec::new());
        Source { text, origins, skipped, refused: None, left_out: Default::default(), directives }
    }

    /// The same with the files that it includes.
    ///
    /// # Errors
    /// A command of psql that `init` does not execute; a file that cannot be read, or that includes itself.
    pub fn with_included(text: &str, file: &str, read: &mut ReadIncluded<'_>) -> Result<Source, Error> {
        let mut source = Source { origins: Origins(Vec::new()), ..Source::new("", file) };
        let mut reader = Reader { read, line: 1, open: Vec::new(), count: 0, source: &mut source };
        reader.add(text, &file.into())?;
        Ok(source)
    }

    /// With directives of the file of this name. They replace those of the schema for the same object.
    #[must_use]
    pub fn with_directives(mut self, file: &str, directives: &[OwnDirective]) -> Source {
        let first = small(self.text.lines().count()).saturating_add(1);
        self.origins.0.push(Origin { first, file: file.into(), line: 0 });
        let moved = |own: &OwnDirective| OwnDirective { line: own.line.saturating_add(first), ..own.clone() };
        self.directives.extend(directives.iter().map(moved));
        self
    }

    /// Without the directives of statements that begin in these lines, and of tables with these names.
    #[must_use]
    pub fn without(self, lines: BTreeSet<u32>, tables: Vec<String>) -> Source {
        Source { left_out: (lines, tables), ..self }
    }

    pub(crate) fn leaves_out_line(&self, line: u32) -> bool {
        self.left_out.0.contains(&line)
    }

    pub(crate) fn leaves_out_table(&self, name: &str) -> bool {
        let wanted = Name::read(name);
        self.left_out.1.iter().any(|own| Name::read(own).matches(&wanted))
    }

    /// With another text in the same lines.
    #[must_use]
    pub fn with_text(self, text: String) -> Source {
        Source { text, ..self }
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name of the schema in messages.
    pub fn file(&self) -> &str {
        self.origins.file()
    }

    /// The error of the first file that may only be read with permission, and that the text lacks.
    pub fn refused(&self) -> Option<&Error> {
        self.refused.as_ref()
    }

    /// The file and the line of a line of the text.
    pub fn place(&self, line: u32) -> (Arc<str>, u32) {
        self.origins.place(line)
    }

    /// A sentence about the commands of psql that are skipped, if there are any.
    pub fn note(&self) -> Option<String> {
        let mut names: Vec<&str> = Vec::new();
        for name in &self.skipped {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let count = match self.skipped.len() {
            0 => return None,
            1 => "1 command of psql is".to_owned(),
            count => format!("{count} commands of psql are"),
        };
        let shown: Vec<String> = names.iter().take(NAMES_SHOWN).map(|name| format!("\\{name}")).collect();
        let more = if names.len() > NAMES_SHOWN { ", …" } else { "" };
        Some(format!("{}: {count} skipped ({}{more}); no row depends on it", self.file(), shown.join(", ")))
    }

    pub(crate) fn origins(&self) -> &Origins {
        &self.origins
    }

    /// The result of work with the places of its errors.
    pub(crate) fn placed<T>(&self, done: Checked<T>) -> Result<T, Error> {
        done.map_err(|fault| self.origins.error(fault))
    }
}

impl Origins {
    fn at(&self, line: u32) -> &Origin {
        // The first entry begins with the text.
        &self.0[self.0.partition_point(|origin| origin.first <= line).saturating_sub(1)]
    }

    fn place(&self, line: u32) -> (Arc<str>, u32) {
        let Origin { first, file, line: own } = self.at(line);
        (Arc::clone(file), own + line.saturating_sub(*first))
    }

    /// The name of the schema.
    pub fn file(&self) -> &str {
        &self.0[0].file
    }

    /// The line where the part of a file that has this line begins.
    pub fn start_of(&self, line: u32) -> u32 {
        self.at(line).first
    }

    pub fn error(&self, fault: Fault) -> Error {
        let Place { line, column } = fault.place;
        let more = fault.more.into_iter().map(|other| self.error(other)).collect();
        let (file, line) = if line == 0 { (self.file().into(), 0) } else { self.place(line) };
        Error { file: file.to_string(), line, column, message: fault.message, more }
    }
}

/// Puts the texts of all files together.
struct Reader<'a, 'r> {
    read: &'a mut ReadIncluded<'r>,
    /// The line where the next text begins.
    line: u32,
    /// The names of the included files whose end is not reached.
    open: Vec<String>,
    count: usize,
    source: &'a mut Source,
}

impl Reader<'_, '_> {
    /// Adds a file and all that it includes.
    fn add(&mut self, text: &str, file: &Arc<str>) -> Result<(), Error> {
        let text = without_mark(text);
        let own = Origins(vec![Origin { first: 1, file: Arc::clone(file), line: 1 }]);
        let pieces = split::split_with_includes(text).map_err(|fault| own.error(fault))?;
        let (mut next, mut line, mut end) = (0, 1, text.len());
        for command in &pieces.commands {
            if command.is_end() {
                end = command.start;
            } else if command.includes() {
                self.push(&text[next..command.start], file, line);
                let fault = |message: String| own.error(Fault::new(command.place, message));
                match self.include(command.argument, command.is_relative()) {
                    Ok(()) => {}
                    Err(Problem::Refused(message)) => {
                        self.source.refused.get_or_insert(fault(message));
                    }
                    Err(Problem::Here(message)) => return Err(fault(message)),
                    Err(Problem::There(error)) => return Err(error),
                }
                (next, line) = (command.end, command.place.line);
                continue;
            }
            self.source.skipped.push(command.name.to_owned());
        }
        self.push(&text[next..end], file, line);
        Ok(())
    }

    fn include(&mut self, argument: &str, is_relative: bool) -> Result<(), Problem> {
        let here = |message: String| Err(Problem::Here(message));
        let including = self.open.last().filter(|_| is_relative).map_or("", String::as_str);
        let path = joined(including.rsplit_once('/').map_or("", |(folder, _)| folder), argument);
        if path.is_empty() {
            return here("the name of the included file is missing".to_owned());
        }
        if self.open.contains(&path) {
            return here(format!("the file {path} includes itself; remove one of the commands \\i or \\ir"));
        }
        if self.open.len() >= INCLUDE_DEPTH_MAX {
            return here(format!("more than {INCLUDE_DEPTH_MAX} files are included within each other"));
        }
        self.count += 1;
        if self.count > INCLUDES_MAX {
            return here(format!("more than {INCLUDES_MAX} files are included"));
        }
        let Included { file, text } = (self.read)(&path).map_err(|error| match error.is_refused {
            true => Problem::Refused(error.message),
            false => Problem::Here(error.message),
        })?;
        if self.source.text.len() + text.len() > TEXT_BYTES_MAX {
            let limit = TEXT_BYTES_MAX >> 20;
            return here(format!("the schema with its included files is larger than {limit} MiB"));
        }
        self.open.push(path);
        self.add(&text, &file.into()).map_err(Problem::There)?;
        self.open.pop();
        Ok(())
    }

    /// Adds a part of a file that begins in this line. As in psql, the end of a file ends its last statement.
    fn push(&mut self, text: &str, file: &Arc<str>, line: u32) {
        self.source.origins.0.push(Origin { first: self.line, file: Arc::clone(file), line });
        self.source.text.push_str(text);
        self.source.text.push_str("\n;\n");
        self.line += small(text.matches('\n').count()) + 2;
    }
}

/// Where an included file cannot be used.
enum Problem {
    /// At the command that includes it.
    Here(String),
    /// The same, and it may be read with permission.
    Refused(String),
    /// Within it.
    There(Error),
}

/// A path relative to a folder, without `.` and with `..` only at its beginning.
fn joined(folder: &str, path: &str) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    let root = if folder.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// Without a byte order mark, as psql does.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn small(lines: usize) -> u32 {
    u32::try_from(lines).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a schema with these files, and the names that were read.
    fn read(schema: &str, files: &[(&str, &str)]) -> Result<(Source, Vec<String>), String> {
        let mut names = Vec::new();
        let mut read = |name: &str| {
            names.push(name.to_owned());
            let found = files.iter().find(|(own, _)| *own == name);
            let (file, text) = found.ok_or_else(|| Unreadable {
                message: format!("there is no file {name}"),
                is_refused: name.starts_with(".."),
            })?;
            Ok(Included { file: (*file).to_owned(), text: (*text).to_owned() })
        };
        let source = Source::with_included(schema, "schema.sql", &mut read);
        source.map(|source| (source, names)).map_err(|error| error.to_string())
    }

    #[test]
    fn each_statement_has_the_file_and_the_line_where_it_stands() {
        let files = [
            ("types.sql", "\u{feff}-- types\ncreate type a as enum ();"),
            ("tables/all.sql", "\\ir one.sql\ncreate table b (c int)"),
            (
                "tables/one.sql",
                "create table one (c int);\n\\ir ../more/views.sql\n\\i types.sql\n\\q\nno SQL",
            ),
            ("more/views.sql", "create view v as select 1 -- no end"),
        ];
        let schema = "\\set ON_ERROR_STOP on\n\\i './types.sql'\n\nselect 1; \\include tables/all.sql\ncreate table z (c int);\n";
        let (source, names) = read(schema, &files).expect("files");
        assert_eq!(names, ["types.sql", "tables/all.sql", "tables/one.sql", "more/views.sql", "types.sql"]);
        let statements = super::super::statements(&source).expect("statements");
        let places: Vec<String> = statements
            .iter()
            .map(|own| {
                let (file, line) = source.place(own.line);
                format!("{file}:{line} {}", own.text.split(' ').nth(2).unwrap_or_default())
            })
            .collect();
        let expected = [
            "types.sql:2 a",
            "schema.sql:4 ",
            "tables/one.sql:1 one",
            "more/views.sql:1 v",
            "types.sql:2 a",
            "tables/all.sql:2 b",
            "schema.sql:5 z",
        ];
        assert_eq!(places, expected);
        assert_eq!(
            source.note().expect("commands"),
            "schema.sql: 2 commands of psql are skipped (\\set, \\q); no row depends on it"
        );
        assert!(read("create table a (b int);", &[]).expect("a text").0.note().is_none());
    }

    #[test]
    fn errors_name_the_included_file_and_its_line() {
        let check = |schema: &str, files: &[(&str, &str)], expected: &str| {
            let found = read(schema, files).and_then(|(source, _)| {
                super::super::statements(&source).map(drop).map_err(|error| error.to_string())
            });
            assert_eq!(found.expect_err(schema), expected);
        };
        let word = "unknown directive wrod; the nearest known name is word";
        check("\n\\i a.sql", &[("a.sql", "--\n-- df: wrod=x")], &format!("a.sql:2:8: {word}"));
        check("\n\\i a.sql", &[], "schema.sql:2:1: there is no file a.sql");
        check("\\ir x/a.sql", &[("x/a.sql", "\n\\ir b.sql")], "x/a.sql:2:1: there is no file x/b.sql");
        check("\\i a.sql", &[("a.sql", "select ';")], "a.sql:1:8: the quote ' is not closed");
        check("\\i a.sql", &[("a.sql", ";\n\\! ls")], &{
            let what =
                "psql's command \\! is not executed here: write SQL statements instead, or remove the line";
            format!("a.sql:2:1: {what}")
        });
        check("\\i", &[], "schema.sql:1:1: the name of the included file is missing");
        let itself = "includes itself; remove one of the commands \\i or \\ir";
        check(
            "\\i a.sql",
            &[("a.sql", "\\i b.sql"), ("b.sql", "--\n\\ir ./a.sql")],
            &format!("b.sql:2:1: the file a.sql {itself}"),
        );
    }

    #[test]
    fn a_refused_file_is_left_out_and_its_error_is_kept() {
        let (source, _) =
            read("\\i a.sql\n\\i ../b.sql\nselect 1;", &[("a.sql", "\n\\i ../c.sql")]).expect("a text");
        assert_eq!(super::super::statements(&source).expect("statements").len(), 1);
        let refused = source.refused().expect("two files").to_string();
        assert_eq!(refused, "a.sql:2:1: there is no file ../c.sql");
    }

    #[test]
    fn includes_have_limits() {
        let deep: Vec<(String, String)> =
            (0..60).map(|at| (format!("{at}"), format!("\\i {}", at + 1))).collect();
        let deep: Vec<(&str, &str)> =
            deep.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let error = read("\\i 0", &deep).expect_err("too deep");
        assert_eq!(error, "49:1:1: more than 50 files are included within each other");
        let twice: Vec<(String, String)> =
            (0..30).map(|at| (format!("{at}"), format!("\\i {0}\n\\i {0}", at + 1))).collect();
        let twice: Vec<(&str, &str)> =
            twice.iter().map(|(name, text)| (name.as_str(), text.as_str())).chain([("30", "")]).collect();
        let error = read("\\i 0", &twice).expect_err("too many");
        assert!(error.ends_with("more than 10000 files are included"), "{error}");
    }

    #[test]
    fn paths_are_relative_to_their_folder() {
        for (folder, path, expected) in [
            ("", "a.sql", "a.sql"),
            ("", "./b/../a.sql", "a.sql"),
            ("x/y", "../a.sql", "x/a.sql"),
            ("x", "../../a.sql", "../a.sql"),
            ("../x", "a.sql", "../x/a.sql"),
            ("x", "/y/a.sql", "/y/a.sql"),
            ("/x/y", "../a.sql", "/x/a.sql"),
        ] {
            assert_eq!(joined(folder, path), expected);
        }
    }
}
