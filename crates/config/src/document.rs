//! A TOML file with the positions of its values. Tables are read key by key, so that an unknown key is an error with
//! its line. The caller interprets the keys.

use toml_edit::{Document, Item, TableLike, Value as TomlValue};

use crate::FileError;

/// Position in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
}

/// A value and its position.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // the names say it
pub struct Node {
    pub place: Place,
    pub value: Value,
}

/// A value of a key; dates are not supported.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // as TOML calls them
pub enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // the names say it
pub struct Entry {
    pub key: String,
    pub place: Place,
    pub node: Node,
}

/// A message about a position in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub struct Complaint {
    pub place: Place,
    pub what: String,
}

impl Complaint {
    /// A message about the value or key at this position.
    pub fn at(place: Place, what: impl Into<String>) -> Self {
        Self { place, what: what.into() }
    }

    /// Adds the name of the file.
    pub fn in_file(self, file: &str) -> FileError {
        let Place { line, column } = self.place;
        FileError { file: file.to_owned(), line, column, what: in_one_line(&self.what) }
    }
}

/// Escapes characters that would end the line or control the terminal, such as `\n` or `\u{1b}`: a message may quote
/// names from the file.
fn in_one_line(what: &str) -> String {
    let mut shown = String::with_capacity(what.len());
    for character in what.chars() {
        if character.is_control() || turns_direction(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Marks, embeddings and isolates of the bidirectional algorithm (Unicode Standard Annex 9).
pub fn turns_direction(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Parses the text of a file into its top-level table.
///
/// # Errors
/// If it is not TOML, or has a value of an unsupported type.
pub fn read(text: &str) -> Result<Table, Complaint> {
    let document = Document::parse(text).map_err(|error| {
        let place = error.span().map_or(Place { line: 1, column: 1 }, |span| place(text, span.start));
        let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
        Complaint::at(place, format!("invalid TOML: {message}"))
    })?;
    let entries = entries(text, document.as_table())?;
    Ok(Table { place: Place { line: 1, column: 1 }, entries })
}

fn place(text: &str, offset: usize) -> Place {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Place { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
}

fn entries(text: &str, table: &dyn TableLike) -> Result<Vec<Entry>, Complaint> {
    table
        .iter()
        .filter(|(_, item)| !item.is_none())
        .map(|(key, item)| {
            let span = table.key(key).and_then(toml_edit::Key::span).or_else(|| item.span());
            let place = span.map_or(Place { line: 1, column: 1 }, |span| place(text, span.start));
            Ok(Entry { key: key.to_owned(), place, node: node(text, item, place)? })
        })
        .collect()
}

fn node(text: &str, item: &Item, of_key: Place) -> Result<Node, Complaint> {
    let at = item.span().map_or(of_key, |span| place(text, span.start));
    let value = match item {
        Item::Value(value) => return value_node(text, value, of_key),
        Item::Table(table) => Value::Table(entries(text, table)?),
        Item::ArrayOfTables(tables) => {
            let tables = tables.iter().map(|table| {
                let at = table.span().map_or(of_key, |span| place(text, span.start));
                Ok(Node { place: at, value: Value::Table(entries(text, table)?) })
            });
            Value::List(tables.collect::<Result<_, _>>()?)
        }
        Item::None => Value::Table(Vec::new()),
    };
    Ok(Node { place: at, value })
}

fn value_node(text: &str, value: &TomlValue, of_key: Place) -> Result<Node, Complaint> {
    let at = value.span().map_or(of_key, |span| place(text, span.start));
    let value = match value {
        TomlValue::String(text) => Value::Text(text.value().clone()),
        TomlValue::Integer(number) => Value::Integer(*number.value()),
        TomlValue::Float(number) if !number.value().is_finite() => {
            return Err(Complaint::at(at, format!("expected a finite number, found {}", number.value())));
        }
        TomlValue::Float(number) => Value::Float(*number.value()),
        TomlValue::Boolean(truth) => Value::Boolean(*truth.value()),
        TomlValue::Datetime(_) => return Err(Complaint::at(at, "no key accepts a date")),
        TomlValue::Array(list) => {
            Value::List(list.iter().map(|item| value_node(text, item, at)).collect::<Result<_, _>>()?)
        }
        TomlValue::InlineTable(table) => Value::Table(entries(text, table)?),
    };
    Ok(Node { place: at, value })
}

/// A table that is read key by key.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // the names say it
pub struct Table {
    pub place: Place,
    pub entries: Vec<Entry>,
}

impl Table {
    /// The value of a key, which counts as read.
    pub fn take(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at).node)
    }

    /// Applies `read` to the value of a key; `None` without the key.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&Node) -> Result<T, Complaint>,
    ) -> Result<Option<T>, Complaint> {
        self.take(key).map(|node| read(&node)).transpose()
    }

    /// The text of a key; `None` without the key.
    ///
    /// # Errors
    /// If the value is not a text.
    pub fn text(&mut self, key: &str) -> Result<Option<String>, Complaint> {
        self.read(key, |node| node.text().map(str::to_owned))
    }

    /// The table of a key; empty without the key.
    ///
    /// # Errors
    /// If the value is not a table.
    pub fn table(&mut self, key: &str) -> Result<Table, Complaint> {
        self.take(key).map_or(Ok(Table { place: self.place, entries: Vec::new() }), Node::into_table)
    }

    /// The list of a key; empty without the key.
    ///
    /// # Errors
    /// If the value is not a list.
    pub fn list(&mut self, key: &str) -> Result<Vec<Node>, Complaint> {
        self.take(key).map_or(Ok(Vec::new()), Node::into_list)
    }

    /// The values of a key that accepts one value or a list.
    pub fn one_or_more(&mut self, key: &str) -> Vec<Node> {
        match self.take(key) {
            None => Vec::new(),
            Some(Node { value: Value::List(nodes), .. }) => nodes,
            Some(node) => vec![node],
        }
    }

    /// Rejects unknown keys.
    ///
    /// # Errors
    /// The first unknown key, with the most similar known one.
    pub fn check_keys(&self, what: &str, known: &[&str]) -> Result<(), Complaint> {
        match self.entries.iter().find(|entry| !known.contains(&entry.key.as_str())) {
            Some(entry) => Err(Complaint::at(entry.place, unknown_key(&entry.key, what, known))),
            None => Ok(()),
        }
    }
}

/// `unknown key "durration" in [load]; did you mean "duration"?`
pub fn unknown_key(key: &str, what: &str, known: &[&str]) -> String {
    let help = match nearest(key, known) {
        Some(nearest) => format!("did you mean \"{nearest}\"?"),
        None => format!("known are {}", known.join(", ")),
    };
    format!("unknown key \"{key}\" in {what}; {help}")
}

/// The most similar name: the minimum number of edits (Damerau–Levenshtein), at most a third of the length.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |name: &&str| strsim::damerau_levenshtein(word, name);
    let nearest = known.iter().copied().min_by_key(distance)?;
    (distance(&nearest) * 3 <= nearest.len().max(word.len())).then_some(nearest)
}

impl Node {
    /// # Errors
    /// If it is not a table.
    pub fn into_table(self) -> Result<Table, Complaint> {
        match self.value {
            Value::Table(entries) => Ok(Table { place: self.place, entries }),
            _ => Err(self.expected("a table of keys")),
        }
    }

    /// # Errors
    /// If it is not a list.
    pub fn into_list(self) -> Result<Vec<Node>, Complaint> {
        match self.value {
            Value::List(nodes) => Ok(nodes),
            _ => Err(self.expected("a list in brackets")),
        }
    }

    /// # Errors
    /// If it is not a text.
    pub fn text(&self) -> Result<&str, Complaint> {
        match &self.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.expected("text in quotation marks")),
        }
    }

    /// # Errors
    /// If it is neither true nor false.
    pub fn truth(&self) -> Result<bool, Complaint> {
        match self.value {
            Value::Boolean(truth) => Ok(truth),
            _ => Err(self.expected("true or false")),
        }
    }

    /// An integer within these bounds.
    ///
    /// # Errors
    /// For any other value.
    pub fn whole<T: TryFrom<i64>>(&self, least: u64, most: u64) -> Result<T, Complaint> {
        let number = match self.value {
            Value::Integer(number) if u64::try_from(number).is_ok_and(|it| (least..=most).contains(&it)) => {
                T::try_from(number).ok()
            }
            _ => None,
        };
        number.ok_or_else(|| self.expected(&format!("a whole number from {least} to {most}")))
    }

    /// A finite number above zero.
    ///
    /// # Errors
    /// For any other value.
    pub fn positive(&self) -> Result<f64, Complaint> {
        let number = match self.value {
            Value::Integer(number) => number as f64,
            Value::Float(number) => number,
            _ => f64::NAN,
        };
        if number.is_finite() && number > 0.0 { Ok(number) } else { Err(self.expected("a number above 0")) }
    }

    /// Text, number or boolean, in the format of postgresql.conf.
    ///
    /// # Errors
    /// If it is a list or a table.
    pub fn scalar(&self) -> Result<String, Complaint> {
        match &self.value {
            Value::Text(text) => Ok(text.clone()),
            Value::Integer(number) => Ok(number.to_string()),
            Value::Float(number) => Ok(number.to_string()),
            Value::Boolean(truth) => Ok(if *truth { "on" } else { "off" }.to_owned()),
            Value::List(_) | Value::Table(_) => Err(self.expected("text, a number, true or false")),
        }
    }

    /// The value for one of these names.
    ///
    /// # Errors
    /// For any other name.
    pub fn one_of<T: Clone>(&self, names: &[(&str, T)]) -> Result<T, Complaint> {
        let found = names.iter().find(|(name, _)| self.text() == Ok(name));
        let listed: Vec<String> = names.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        found.map(|(_, value)| value.clone()).ok_or_else(|| self.expected(&listed.join(" or ")))
    }

    /// `expected WHAT, found VALUE`
    pub fn expected(&self, what: &str) -> Complaint {
        Complaint::at(self.place, format!("expected {what}, found {}", self.shown()))
    }

    /// The value for messages, shortened.
    fn shown(&self) -> String {
        const SHOWN_MAX: usize = 40;
        match &self.value {
            Value::Text(text) => {
                let cut: String = text.chars().take(SHOWN_MAX).collect();
                let more = if cut.len() < text.len() { "…" } else { "" };
                format!("\"{}{more}\"", cut.escape_debug())
            }
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Boolean(truth) => truth.to_string(),
            Value::List(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
        }
    }
}
