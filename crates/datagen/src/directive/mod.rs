//! Directives: `-- df: …` comments of a schema, with the object that each belongs to. This module reads and attaches
//! them, and `elsewhere` those of other places; `keys` lists the words; `generator` gives them their meaning.

mod elsewhere;
pub(crate) mod keys;

use std::collections::BTreeMap;

use crate::error::{Checked, Fault, Faults, Place, nearest};
use crate::schema::{Comment, Pieces, Scope, Source, Table};
pub(crate) use elsewhere::table;
use keys::ValueKind;

/// One key with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setting {
    pub key: &'static str,
    /// Empty for a key alone.
    pub value: String,
    pub place: Place,
}

/// Settings of one object or macro, in their order; the later of two with the same key counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Settings {
    pub list: Vec<Setting>,
    /// Where the object or macro stands, for errors without a setting.
    pub place: Place,
}

/// All directives of a schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directives {
    pub macros: BTreeMap<String, Settings>,
    pub schema: Settings,
    pub tables: Vec<Settings>,
    pub columns: Vec<Vec<Settings>>,
    /// Of directives that cannot be read.
    pub faults: Faults,
}

/// Settings that `use` may multiply: each copy doubles the list at most.
const SETTINGS_MAX: usize = 1_000;

impl Settings {
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.list.iter().rev().find(|setting| setting.key == key)
    }

    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).map(|setting| setting.value.as_str())
    }

    /// Was checked when it was read.
    pub fn integer(&self, key: &str) -> Option<i64> {
        self.text(key)?.parse().ok()
    }

    /// Was checked when it was read.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.text(key)?.parse().ok()
    }

    /// Where the key stands, or the object.
    pub fn place_of(&self, key: &str) -> Place {
        self.get(key).map_or(self.place, |setting| setting.place)
    }

    pub fn fault(&self, key: &str, message: impl Into<String>) -> Fault {
        Fault::new(self.place_of(key), message)
    }

    /// A probability.
    pub fn rate(&self, key: &str) -> Checked<Option<f64>> {
        match self.number(key) {
            Some(rate) if !(0.0..=1.0).contains(&rate) => {
                Err(self.fault(key, format!("{key} is a share from 0 to 1, not {rate}")))
            }
            rate => Ok(rate),
        }
    }

    /// Whether they say nothing about the values of a column but their share of NULL and their seed.
    pub fn leave_a_guess(&self) -> bool {
        self.list.iter().all(|setting| matches!(setting.key, "null" | "nogen" | "seed"))
    }

    /// The generator that they select.
    pub fn generator(&self) -> Checked<Option<&'static keys::GeneratorRow>> {
        let mut selected: Option<&'static keys::GeneratorRow> = None;
        for setting in &self.list {
            let Some(row) = keys::generator(setting.key) else { continue };
            if let Some(other) = selected.filter(|other| other.name != row.name) {
                let message =
                    format!("two generators for one column: {} and {}; remove one", other.name, row.name);
                return Err(Fault::new(setting.place, message));
            }
            selected = Some(row);
        }
        Ok(selected)
    }
}

/// Reads the directives of all places and gives each to its object. Faults are kept.
pub(crate) fn attach(
    pieces: &Pieces<'_>,
    source: &Source,
    scopes: &[(Place, Scope)],
    tables: &[Table],
) -> Directives {
    let of_column = |column: &crate::schema::Column| Settings { list: Vec::new(), place: column.place };
    let mut directives = Directives {
        tables: tables.iter().map(|table| Settings { list: Vec::new(), place: table.place }).collect(),
        columns: tables.iter().map(|table| table.columns.iter().map(of_column).collect()).collect(),
        ..Directives::default()
    };
    for comment in &pieces.comments {
        let read = directives.comment(comment, source, scopes, tables);
        directives.faults.take(read);
    }
    elsewhere::add(&mut directives, pieces, source, tables);
    directives
}

/// Reads the directives without their objects, whose tables are not known yet.
pub(crate) fn check(pieces: &Pieces<'_>, source: &Source) -> Checked<()> {
    let (mut macros, mut faults) = (BTreeMap::new(), Faults::default());
    for comment in &pieces.comments {
        let place = comment.place;
        let Some((head, body, offset)) = header(comment.text) else { continue };
        let body_place = Place { line: place.line, column: place.column.saturating_add(offset) };
        let list = faults.take(read(body, body_place, &macros)).unwrap_or_default();
        if let Head::Macro(name) = head {
            macros.insert(name.to_owned(), Settings { list, place });
        }
    }
    faults.take(elsewhere::check(source, &macros));
    faults.all()
}

impl Directives {
    /// Reads a comment, which may be a directive.
    fn comment(
        &mut self,
        comment: &Comment<'_>,
        source: &Source,
        scopes: &[(Place, Scope)],
        tables: &[Table],
    ) -> Checked<()> {
        let place = comment.place;
        let Some((head, body, offset)) = header(comment.text) else { return Ok(()) };
        let body_place = Place { line: place.line, column: place.column.saturating_add(offset) };
        let settings = read(body, body_place, &self.macros)?;
        let scope = match head {
            Head::Here => {
                let last = scopes[..scopes.partition_point(|(start, _)| *start < place)].last();
                // A file begins with directives of the schema.
                let own = last.filter(|(start, _)| start.line >= source.origins().start_of(place.line));
                own.map_or(Scope::Schema, |(_, scope)| *scope)
            }
            Head::Object { table, .. } if source.leaves_out_table(table) => Scope::LeftOut,
            Head::Object { table, column } => object(table, column, tables, place)?,
            Head::Macro(name) => {
                if keys::generator(name).is_some() {
                    let message =
                        format!("{name} is the name of a generator; choose another name for the macro");
                    return Err(Fault::new(place, message));
                }
                let used =
                    keys::TABLE.iter().filter(|key| **key != "size" && **key != "mult" && **key != "null");
                refuse(&settings, &used.copied().collect::<Vec<_>>(), "a macro")?;
                self.macros.insert(name.to_owned(), Settings { list: settings, place });
                return Ok(());
            }
        };
        if scope == Scope::LeftOut { Ok(()) } else { self.add(scope, settings) }
    }

    fn settings(&mut self, scope: Scope) -> &mut Settings {
        match scope {
            Scope::Schema | Scope::LeftOut => &mut self.schema,
            Scope::Table(table) => &mut self.tables[table],
            Scope::Column(table, column) => &mut self.columns[table][column],
        }
    }

    fn add(&mut self, scope: Scope, settings: Vec<Setting>) -> Checked<()> {
        let (known, name) = match scope {
            Scope::Schema | Scope::LeftOut => (Some(keys::SCHEMA), "the schema"),
            Scope::Table(_) => (Some(keys::TABLE), "a table"),
            Scope::Column(..) => (None, "a column"),
        };
        let object = self.settings(scope);
        match known {
            Some(known) => only(&settings, known, name)?,
            None => refuse(&settings, &["skip"], name)?,
        }
        object.list.extend(settings);
        if object.list.len() > SETTINGS_MAX {
            return Err(Fault::new(
                object.place,
                format!("more than {SETTINGS_MAX} directives for one object"),
            ));
        }
        Ok(())
    }
}

fn only(settings: &[Setting], known: &[&str], object: &str) -> Checked<()> {
    match settings.iter().find(|setting| !known.contains(&setting.key)) {
        None => Ok(()),
        Some(setting) => {
            let message = format!(
                "the directive {} is not for {object}, which takes {}; write it behind its column",
                setting.key,
                known.join(", ")
            );
            Err(Fault::new(setting.place, message))
        }
    }
}

fn refuse(settings: &[Setting], refused: &[&str], object: &str) -> Checked<()> {
    match settings.iter().find(|setting| refused.contains(&setting.key)) {
        None => Ok(()),
        Some(setting) => {
            Err(Fault::new(setting.place, format!("the directive {} is not for {object}", setting.key)))
        }
    }
}

/// Text before the colon.
enum Head<'a> {
    Here,
    Macro(&'a str),
    Object { table: &'a str, column: Option<&'a str> },
}

/// Head and body of a directive, and the column of the body from the first dash on. `None` for an ordinary comment, and
/// for a directive that another dash comments out.
fn header(comment: &str) -> Option<(Head<'_>, &str, u32)> {
    let start = comment.trim_start().strip_prefix("df")?;
    let (head, body) = start.split_once(':')?;
    if !(head.is_empty() || head.starts_with(char::is_whitespace)) {
        return None;
    }
    let words: Vec<&str> = head.split_whitespace().collect();
    let (mut table, mut column) = (None, None);
    for word in words.iter().filter_map(|word| word.split_once('=')) {
        match word.0.to_ascii_lowercase().as_str() {
            "t" | "table" => table = Some(word.1),
            "a" | "att" | "attribute" => column = Some(word.1),
            _ => return None,
        }
    }
    let is_name = |word: &str| word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    let head = match (words[..].as_ref(), table) {
        ([], _) => Head::Here,
        ([name], None) if is_name(name) => Head::Macro(name),
        (words, Some(table)) if words.iter().all(|word| word.contains('=')) => Head::Object { table, column },
        _ => return None,
    };
    let offset = comment[..comment.len() - body.len()].chars().count() + 2;
    Some((head, body, u32::try_from(offset).unwrap_or(u32::MAX)))
}

fn object(table: &str, column: Option<&str>, tables: &[Table], place: Place) -> Checked<Scope> {
    let fault = |message| Fault::new(place, message);
    let index = elsewhere::table(table, tables).map_err(fault)?;
    let Some(column) = column else { return Ok(Scope::Table(index)) };
    elsewhere::column(&tables[index], column, index).map_err(fault)
}

/// Reads `key=value …`, and replaces `use=NAME` by the settings of the macro.
pub(crate) fn read(body: &str, start: Place, macros: &BTreeMap<String, Settings>) -> Checked<Vec<Setting>> {
    let mut settings: Vec<Setting> = Vec::new();
    let mut rest = body;
    while let Some(at) = rest.find(|c: char| !c.is_whitespace()) {
        rest = &rest[at..];
        let passed = body[..body.len() - rest.len()].chars().count();
        let column = start.column.saturating_add(u32::try_from(passed).unwrap_or(u32::MAX));
        let place = Place { line: start.line, column };
        let end = rest.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(rest.len());
        let word = &rest[..end];
        rest = &rest[end..];
        let value = match rest.strip_prefix('=') {
            None => None,
            Some(after) => {
                let (value, left) = value(after, place)?;
                rest = left;
                Some(value)
            }
        };
        let setting = setting(word, value, place)?;
        if setting.key == "use" {
            let hint = || nearest(&setting.value, macros.keys().map(String::as_str));
            let used = macros.get(&setting.value).ok_or_else(|| {
                Fault::new(
                    place,
                    format!("use={} names no macro that is defined above{}", setting.value, hint()),
                )
            })?;
            settings.extend(used.list.iter().cloned());
        } else {
            settings.push(setting);
        }
        if settings.len() > SETTINGS_MAX {
            return Err(Fault::new(place, format!("more than {SETTINGS_MAX} directives in one comment")));
        }
    }
    Ok(settings)
}

/// A value and the text after it.
fn value(text: &str, place: Place) -> Checked<(&str, &str)> {
    let Some(quoted) = text.strip_prefix('\'') else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        return Ok((&text[..end], &text[end..]));
    };
    let Some((value, left)) = quoted.split_once('\'') else {
        return Err(Fault::new(place, "the quote ' is not closed"));
    };
    if !(left.is_empty() || left.starts_with(char::is_whitespace)) {
        return Err(Fault::new(
            place,
            "a space is missing after the closing quote; a value cannot contain a quote",
        ));
    }
    Ok((value, left))
}

fn setting(word: &str, value: Option<&str>, place: Place) -> Checked<Setting> {
    let Some((key, kind)) = keys::key(word) else {
        let message = if word.starts_with("--") {
            "a directive ends with its line; write the comment on another line".to_owned()
        } else {
            format!("unknown directive {word}{}", nearest(word, keys::words()))
        };
        return Err(Fault::new(place, message));
    };
    let wrong = |expected: &str| {
        let given = value.map_or("it has none".to_owned(), |value| format!("not \"{value}\""));
        Err(Fault::new(place, format!("the directive {key} takes {expected}; {given}")))
    };
    match (kind, value) {
        (ValueKind::Flag, Some(value)) => {
            return Err(Fault::new(place, format!("the directive {key} takes no value; remove ={value}")));
        }
        (ValueKind::Integer, value) if value.is_none_or(|value| value.parse::<i64>().is_err()) => {
            return wrong("an integer");
        }
        (ValueKind::Number, value)
            if !value.and_then(|value| value.parse::<f64>().ok()).is_some_and(f64::is_finite) =>
        {
            return wrong("a number");
        }
        (ValueKind::Text, None) => return wrong("a value"),
        _ => {}
    }
    Ok(Setting { key, value: value.unwrap_or_default().to_owned(), place })
}
