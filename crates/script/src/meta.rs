//! Meta commands: their extent, their table and their words. `\set` and `\sleep` are read here; those that cannot
//! run yet are known by name and refused. Called by `program` at every backslash; a new meta command is a row of
//! the table and a reader.

use crate::error::{Fault, ParseError, ParseErrorKind};
use crate::expression;
use crate::number::is_c_space;
use crate::program::{CommandKind, Set};
use crate::sleep::{Sleep, Unit};
use crate::symbols::{Symbols, is_name_byte};

/// One meta command in a script's text.
#[derive(Debug)]
pub(crate) struct MetaText<'a> {
    /// From the backslash to the end of the line, or of the last line that goes on from it; without the newline.
    text: &'a str,
    /// What stands in front of it on its line is the end of this.
    before: &'a str,
    /// Whether a newline follows.
    newline: bool,
    /// The name as typed, if there is one.
    name: Option<Word<'a>>,
}

/// A run of bytes without white space.
#[derive(Copy, Clone, Debug)]
struct Word<'a> {
    text: &'a str,
    /// Where it begins in the meta command.
    offset: usize,
}

impl Word<'_> {
    fn end(self) -> usize {
        self.offset + self.text.len()
    }
}

type Read = fn(&MetaText<'_>, Word<'_>, &mut Symbols) -> Result<CommandKind, Fault>;

/// The table. Without a reader a meta command cannot run yet.
static META_COMMANDS: [(&str, Option<Read>); 13] = [
    ("aset", None),
    ("elif", None),
    ("else", None),
    ("endif", None),
    ("endpipeline", None),
    ("gset", None),
    ("if", None),
    ("set", Some(read_set)),
    ("setshell", None),
    ("shell", None),
    ("sleep", Some(read_sleep)),
    ("startpipeline", None),
    ("syncpipeline", None),
];

impl<'a> MetaText<'a> {
    /// The meta command whose backslash is byte `start` of the script.
    pub(crate) fn at(script: &'a str, start: usize) -> Self {
        let (before, rest) = script.split_at(start);
        let newline = rest.match_indices('\n').map(|(at, _)| at).find(|&at| !goes_on(&rest[1..at]));
        let text = &rest[..newline.unwrap_or(rest.len())];
        let mut meta = Self { text, before, newline: newline.is_some(), name: None };
        meta.name = meta.word(1);
        meta
    }

    /// The bytes it takes in the script, newline included.
    pub(crate) fn length(&self) -> usize {
        self.text.len() + usize::from(self.newline)
    }

    /// Its text as messages and reports show it.
    pub(crate) fn display(&self) -> &'a str {
        self.text.trim_end_matches(['\r', '\n'])
    }

    /// What it says. A backslash without a name is nothing.
    pub(crate) fn read(&self, symbols: &mut Symbols) -> Result<Option<CommandKind>, Fault> {
        let Some(name) = self.name else { return Ok(None) };
        match META_COMMANDS.iter().find(|(command, _)| name.text.eq_ignore_ascii_case(command)) {
            Some((_, Some(read))) => read(self, name, symbols).map(Some),
            Some((command, None)) => {
                Err(Fault { kind: ParseErrorKind::NotSupportedYet { name: command }, offset: Some(0) })
            }
            None => Err(Fault { kind: ParseErrorKind::InvalidCommand, offset: None }),
        }
    }

    /// The whole error of a fault in here.
    pub(crate) fn error(&self, file: &str, line: u32, fault: Fault) -> ParseError {
        let Fault { kind, offset } = fault;
        let (command, source) = (self.name.map(|name| name.text.into()), Box::<str>::from(self.display()));
        // The end of the line may lie behind a carriage return, which is not shown.
        let column = offset.map(|offset| offset.min(source.len()) + 1);
        let error = ParseError { file: file.into(), line, column, kind, command, source };
        if !matches!(error.kind, ParseErrorKind::NotSupportedYet { .. }) {
            return error;
        }
        // This sentence has the name in it already, and is not one of pgbench's.
        let indent = &self.before[self.before.rfind('\n').map_or(0, |newline| newline + 1)..];
        let source = format!("{indent}{}", error.source).into();
        ParseError { column: column.map(|column| column + indent.len()), command: None, source, ..error }
    }

    /// The first word behind byte `from`.
    fn word(&self, from: usize) -> Option<Word<'a>> {
        let mut offset = from;
        while let Some(length) = blank_length(&self.text[offset..]) {
            offset += length;
        }
        let rest = &self.text[offset..];
        let length = rest.char_indices().find(|&(at, _)| blank_length(&rest[at..]).is_some());
        let text = &rest[..length.map_or(rest.len(), |(at, _)| at)];
        (!text.is_empty()).then_some(Word { text, offset })
    }
}

/// Whether the line that ends behind `text` goes on in the next one.
fn goes_on(text: &str) -> bool {
    text.strip_suffix('\r').unwrap_or(text).ends_with('\\')
}

/// The length of a white-space character or of a backslash with its newline, if the text begins with one.
fn blank_length(text: &str) -> Option<usize> {
    match text.as_bytes() {
        [b'\\', b'\n', ..] => Some(2),
        [b'\\', b'\r', b'\n', ..] => Some(3),
        [byte, ..] if is_c_space(char::from(*byte)) => Some(1),
        _ => None,
    }
}

/// `\set name expression`
fn read_set(meta: &MetaText<'_>, command: Word<'_>, symbols: &mut Symbols) -> Result<CommandKind, Fault> {
    let Some(variable) = meta.word(command.end()) else {
        return Err(Fault { kind: ParseErrorKind::MissingArgument, offset: None });
    };
    let expression = expression::parse(meta.text, variable.end(), meta.newline, symbols)?;
    if !Symbols::is_valid_name(variable.text) {
        let kind = ParseErrorKind::InvalidVariableName { name: variable.text.into() };
        return Err(Fault { kind, offset: Some(variable.offset) });
    }
    Ok(CommandKind::Set(Set { slot: symbols.intern(variable.text), expression }))
}

/// `\sleep number[unit]`, `\sleep number unit`, `\sleep :variable [unit]`
fn read_sleep(meta: &MetaText<'_>, command: Word<'_>, symbols: &mut Symbols) -> Result<CommandKind, Fault> {
    let Some(time) = meta.word(command.end()) else {
        return Err(Fault { kind: ParseErrorKind::MissingArgument, offset: None });
    };
    let unit = meta.word(time.end());
    if let Some(third) = unit.and_then(|unit| meta.word(unit.end())) {
        return Err(Fault { kind: ParseErrorKind::TooManyArguments, offset: Some(third.offset) });
    }
    let invalid = || Fault {
        kind: ParseErrorKind::InvalidSleepTime { text: time.text.into() },
        offset: Some(time.offset),
    };
    if let Some(name) = time.text.strip_prefix(':') {
        if name.is_empty() || !name.bytes().all(is_name_byte) {
            return Err(invalid());
        }
        let slot = symbols.intern(name);
        return Ok(CommandKind::Sleep(Sleep::of_variable(slot, read_unit(unit)?)));
    }
    let sign = usize::from(time.text.starts_with(['+', '-']));
    let digits = time.text.bytes().skip(sign).take_while(u8::is_ascii_digit).count();
    let (number, glued) = time.text.split_at(sign + digits);
    if digits == 0 || (unit.is_some() && !glued.is_empty()) {
        return Err(invalid());
    }
    let glued = (!glued.is_empty()).then_some(Word { text: glued, offset: time.offset + number.len() });
    Ok(CommandKind::Sleep(Sleep::of_number(number, read_unit(unit.or(glued))?)))
}

fn read_unit(word: Option<Word<'_>>) -> Result<Unit, Fault> {
    let Some(word) = word else { return Ok(Unit::default()) };
    Unit::from_name(word.text).ok_or_else(|| Fault {
        kind: ParseErrorKind::UnknownTimeUnit { text: word.text.into() },
        offset: Some(word.offset),
    })
}
