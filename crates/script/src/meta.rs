//! Meta commands: their extent, their table and their words. Called by `program` at every backslash; a new meta command
//! is a row of the table and a parser. Other modules check combinations (`\if` and `\endif`, SQL and `\gset`).

use std::sync::Arc;

use crate::array::SetArray;
use crate::batch::Batch;
use crate::command::{CommandKind, Set};
use crate::condition::{Condition, Else};
use crate::copy::{CopyFile, CopyRows, CopySource};
use crate::dialect::Dialect;
use crate::error::{Fault, ParseError, ParseErrorKind, shown};
use crate::expression::{self, ARRAY, ARRAY_NOT_ALONE, Expression};
use crate::number::is_c_space;
use crate::repeat::{EndRepeat, Repeat};
use crate::shell::{SetShell, Shell};
use crate::sleep::{Sleep, Time, Unit};
use crate::sql::{Attached, Capture, CaptureKind};
use crate::string::{SetString, StringValue};
use crate::symbols::{Symbols, is_name_byte};

/// Maximum number of words after the name of a meta command (pgbench's limit).
const ARGUMENTS_MAX: usize = 255;

const TOO_MANY_ARGUMENTS: &str = "too many arguments";
const MISSING_ARGUMENT: &str = "missing argument";

/// Kind of a meta command.
#[derive(Debug)]
pub(crate) enum Meta {
    /// A command by itself.
    Command(CommandKind),
    /// Part of the preceding SQL command.
    Attached(Attached),
    /// `\target` with this name; applies to the whole script.
    Target(Box<str>),
}

/// One meta command in a script's text.
#[derive(Debug)]
pub(crate) struct MetaText<'a> {
    /// From the backslash to the end of the line, or of its last continuation line; without the newline.
    text: &'a [u8],
    /// Whether a newline follows.
    newline: bool,
    /// The name as typed, if there is one.
    name: Option<Word<'a>>,
}

/// Consecutive bytes without white space.
#[derive(Copy, Clone, Debug)]
struct Word<'a> {
    text: &'a [u8],
    /// Offset in the meta command.
    offset: usize,
}

impl Word<'_> {
    fn end(self) -> usize {
        self.offset + self.text.len()
    }

    /// A fault at this word.
    fn fault(self, kind: impl Into<ParseErrorKind>) -> Fault {
        Fault { kind: kind.into(), offset: Some(self.offset) }
    }
}

/// Input of a parser.
struct Reading<'t, 'a> {
    meta: &'t MetaText<'a>,
    /// The name as typed.
    name: Word<'a>,
    /// The words after the name; empty if the rest is an expression or one text.
    arguments: &'t [Word<'a>],
    dialect: Dialect,
}

type Reader = fn(&Reading<'_, '_>, &mut Symbols) -> Result<Meta, Fault>;

/// The part after the name.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Behind {
    Words,
    Expression,
    /// One text that may contain spaces.
    Rest,
}

/// The table: name, dialect, arguments and parser.
static META_COMMANDS: [(&str, Dialect, Behind, Reader); 21] = [
    ("aset", Dialect::Pgbench, Behind::Words, |reading, _| reading.capture(CaptureKind::Aset, false)),
    ("aset_null", Dialect::Extended, Behind::Words, |reading, _| reading.capture(CaptureKind::Aset, true)),
    ("batch", Dialect::Extended, Behind::Expression, |reading, symbols| {
        let expression = reading.expression(reading.name.end(), symbols)?;
        command(CommandKind::Batch(Batch { expression }))
    }),
    ("copy_file", Dialect::Extended, Behind::Rest, read_copy_file),
    ("copy_rows", Dialect::Extended, Behind::Expression, read_copy_rows),
    ("elif", Dialect::Pgbench, Behind::Expression, |reading, symbols| {
        let expression = reading.expression(reading.name.end(), symbols)?;
        command(CommandKind::Elif(Condition::new(expression)))
    }),
    ("else", Dialect::Pgbench, Behind::Words, |reading, _| {
        reading.alone(CommandKind::Else(Else { end: usize::MAX }))
    }),
    ("endif", Dialect::Pgbench, Behind::Words, |reading, _| reading.alone(CommandKind::EndIf)),
    ("endpipeline", Dialect::Pgbench, Behind::Words, |reading, _| reading.alone(CommandKind::EndPipeline)),
    ("endrepeat", Dialect::Extended, Behind::Words, |reading, _| {
        reading.alone(CommandKind::EndRepeat(EndRepeat { start: usize::MAX }))
    }),
    ("gset", Dialect::Pgbench, Behind::Words, |reading, _| reading.capture(CaptureKind::Gset, false)),
    ("gset_null", Dialect::Extended, Behind::Words, |reading, _| reading.capture(CaptureKind::Gset, true)),
    ("if", Dialect::Pgbench, Behind::Expression, |reading, symbols| {
        let expression = reading.expression(reading.name.end(), symbols)?;
        command(CommandKind::If(Condition::new(expression)))
    }),
    ("repeat", Dialect::Extended, Behind::Expression, |reading, symbols| {
        let expression = reading.expression(reading.name.end(), symbols)?;
        command(CommandKind::Repeat(Repeat::new(expression)))
    }),
    ("set", Dialect::Pgbench, Behind::Expression, read_set),
    ("setshell", Dialect::Pgbench, Behind::Words, read_set_shell),
    ("shell", Dialect::Pgbench, Behind::Words, read_shell),
    ("sleep", Dialect::Pgbench, Behind::Words, read_sleep),
    ("startpipeline", Dialect::Pgbench, Behind::Words, |reading, _| {
        reading.alone(CommandKind::StartPipeline)
    }),
    ("syncpipeline", Dialect::Pgbench, Behind::Words, |reading, _| reading.alone(CommandKind::SyncPipeline)),
    ("target", Dialect::Extended, Behind::Words, read_target),
];

#[expect(clippy::unnecessary_wraps, reason = "it ends the readers")]
fn command(kind: CommandKind) -> Result<Meta, Fault> {
    Ok(Meta::Command(kind))
}

impl<'a> MetaText<'a> {
    /// The meta command whose backslash is byte `start` of the script.
    pub(crate) fn at(script: &'a [u8], start: usize) -> Self {
        let rest = &script[start..];
        let newlines = rest.iter().enumerate().filter(|&(_, &byte)| byte == b'\n').map(|(at, _)| at);
        let newline = newlines.into_iter().find(|&at| !goes_on(&rest[1..at]));
        let text = &rest[..newline.unwrap_or(rest.len())];
        let mut meta = Self { text, newline: newline.is_some(), name: None };
        meta.name = meta.word(1);
        meta
    }

    /// Length in the script in bytes, including the newline.
    pub(crate) fn length(&self) -> usize {
        self.text.len() + usize::from(self.newline)
    }

    /// Its name as typed, if it has one.
    pub(crate) fn name(&self) -> Option<Box<str>> {
        self.name.map(|name| shown(name.text))
    }

    /// Its text for messages and reports.
    pub(crate) fn display(&self) -> Box<str> {
        shown(self.displayed())
    }

    fn displayed(&self) -> &'a [u8] {
        let end = self.text.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n'));
        &self.text[..end.map_or(0, |last| last + 1)]
    }

    /// Parses the command. A backslash without a name is ignored.
    pub(crate) fn read(&self, dialect: Dialect, symbols: &mut Symbols) -> Result<Option<Meta>, Fault> {
        let Some(name) = self.name else { return Ok(None) };
        let row = META_COMMANDS.iter().find(|(command, since, ..)| {
            name.text.eq_ignore_ascii_case(command.as_bytes())
                && (*since == Dialect::Pgbench || dialect == Dialect::Extended)
        });
        let mut arguments = Vec::new();
        if !matches!(row, Some((.., Behind::Expression | Behind::Rest, _))) {
            let mut end = name.end();
            while let Some(word) = self.word(end) {
                end = word.end();
                arguments.push(word);
                if arguments.len() > ARGUMENTS_MAX {
                    return Err(ParseErrorKind::WithoutText(TOO_MANY_ARGUMENTS).into());
                }
            }
        }
        let Some((.., read)) = row else { return Err("invalid command".into()) };
        read(&Reading { meta: self, name, arguments: &arguments, dialect }, symbols).map(Some)
    }

    /// The complete error for a fault.
    pub(crate) fn error(&self, file: &str, line: u32, fault: Fault) -> ParseError {
        let Fault { kind, offset } = fault;
        let command = self.name();
        if matches!(kind, ParseErrorKind::WithoutText(_)) {
            return ParseError {
                file: file.into(),
                line,
                column: None,
                kind,
                command,
                source: Box::default(),
            };
        }
        let displayed = self.displayed();
        let source = self.display();
        // The end of the line may be after a carriage return, which is not shown.
        let column = offset.map(|offset| {
            let before = &displayed[..offset.min(displayed.len())];
            let as_shown = str::from_utf8(displayed).map_or_else(|_| shown(before).len(), |_| before.len());
            as_shown.min(source.len()) + 1
        });
        ParseError { file: file.into(), line, column, kind, command, source }
    }

    /// The first word from byte `from` on.
    fn word(&self, from: usize) -> Option<Word<'a>> {
        let mut offset = from;
        while let Some(length) = blank_length(&self.text[offset..]) {
            offset += length;
        }
        let rest = &self.text[offset..];
        let length = (0..rest.len()).find(|&at| blank_length(&rest[at..]).is_some());
        let text = &rest[..length.unwrap_or(rest.len())];
        (!text.is_empty()).then_some(Word { text, offset })
    }
}

/// Whether the next line continues the line that ends after `text`.
fn goes_on(text: &[u8]) -> bool {
    text.strip_suffix(b"\r").unwrap_or(text).ends_with(b"\\")
}

/// Length of a white-space character, or of a backslash with its newline, at the start of the text.
fn blank_length(text: &[u8]) -> Option<usize> {
    match text {
        [b'\\', b'\n', ..] => Some(2),
        [b'\\', b'\r', b'\n', ..] => Some(3),
        [byte, ..] if is_c_space(*byte) => Some(1),
        _ => None,
    }
}

impl Reading<'_, '_> {
    /// A command without arguments.
    fn alone(&self, kind: CommandKind) -> Result<Meta, Fault> {
        if self.arguments.is_empty() { command(kind) } else { Err("unexpected argument".into()) }
    }

    /// The expression from byte `from` to the end.
    fn expression(&self, from: usize, symbols: &mut Symbols) -> Result<Expression, Fault> {
        let MetaText { text, newline, .. } = *self.meta;
        expression::parse(text, from, newline, self.dialect, symbols).map_err(|mut fault| {
            if self.dialect == Dialect::Extended {
                fault.kind = match fault.kind {
                    ParseErrorKind::UnknownFunction(name) if name.eq_ignore_ascii_case(ARRAY) => {
                        ARRAY_NOT_ALONE.into()
                    }
                    kind => expression::explain_string(kind),
                };
            }
            fault
        })
    }

    /// The value of `\set` from byte `from` to the end.
    fn extended_value(&self, from: usize, symbols: &mut Symbols) -> Result<Assigned, Fault> {
        let MetaText { text, newline, .. } = *self.meta;
        if let Some((length, element)) = expression::parse_array(text, from, newline, symbols)? {
            return Ok(Assigned::Array(length, element));
        }
        match expression::parse_string(text, from, newline, symbols)? {
            Some(value) => Ok(Assigned::String(value)),
            None => self.expression(from, symbols).map(Assigned::Expression),
        }
    }

    /// `\gset [prefix]`, `\aset [prefix]`; with `keeps_null` `\gset_null [prefix]` and `\aset_null [prefix]`.
    fn capture(&self, kind: CaptureKind, keeps_null: bool) -> Result<Meta, Fault> {
        match self.arguments {
            [] => Ok(Meta::Attached(Attached::Capture(Capture { kind, prefix: Box::default(), keeps_null }))),
            [prefix] => Ok(Meta::Attached(Attached::Capture(Capture {
                kind,
                prefix: prefix.text.into(),
                keeps_null,
            }))),
            _ => Err(TOO_MANY_ARGUMENTS.into()),
        }
    }
}

/// `\set name expression`, and in the extended dialect `\set name array(number, expression)` and `\set name string`
fn read_set(reading: &Reading<'_, '_>, symbols: &mut Symbols) -> Result<Meta, Fault> {
    let meta = reading.meta;
    let Some(variable) = meta.word(reading.name.end()) else {
        return Err(ParseErrorKind::WithoutText(MISSING_ARGUMENT).into());
    };
    let value = match reading.dialect {
        Dialect::Pgbench => Assigned::Expression(reading.expression(variable.end(), symbols)?),
        Dialect::Extended => reading.extended_value(variable.end(), symbols)?,
    };
    let valid = Symbols::is_valid_name(variable.text);
    if !valid && reading.dialect == Dialect::Extended {
        return Err(variable.fault(format!("invalid variable name: \"{}\"", shown(variable.text))));
    }
    let slot = symbols.intern(variable.text);
    command(match value {
        Assigned::Array(length, element) => CommandKind::SetArray(SetArray { slot, length, element }),
        Assigned::String(value) => CommandKind::SetString(SetString { slot, value }),
        Assigned::Expression(expression) if valid => CommandKind::Set(Set { slot, expression }),
        Assigned::Expression(expression) => {
            CommandKind::Set(Set { slot, expression: expression.refusing_name(slot) })
        }
    })
}

/// The value after `\set name`.
enum Assigned {
    Expression(Expression),
    /// Length and element.
    Array(Expression, Expression),
    String(StringValue),
}

/// `\copy_rows number (value, …)`
fn read_copy_rows(reading: &Reading<'_, '_>, symbols: &mut Symbols) -> Result<Meta, Fault> {
    let MetaText { text, newline, .. } = *reading.meta;
    let (number, values) = expression::parse_rows(text, reading.name.end(), newline, symbols)?;
    let rows = CopyRows::new(number, values, symbols);
    Ok(Meta::Attached(Attached::Copy(CopySource::Rows(rows))))
}

/// `\copy_file name`; quotes around the name are optional.
fn read_copy_file(reading: &Reading<'_, '_>, _: &mut Symbols) -> Result<Meta, Fault> {
    let start = reading.name.end();
    let name = reading.meta.text[start..].trim_ascii();
    let unquoted = name.strip_prefix(b"'").and_then(|name| name.strip_suffix(b"'"));
    match str::from_utf8(unquoted.unwrap_or(name)) {
        Ok("") => Err("the name of a file is missing, such as \\copy_file rows.tsv".into()),
        Ok(name) => {
            let file = CopyFile { name: name.into(), line: 0, content: Arc::default() };
            Ok(Meta::Attached(Attached::Copy(CopySource::File(file))))
        }
        Err(_) => Err("the name of a file must be UTF-8 text".into()),
    }
}

/// `\setshell name command argument …`
fn read_set_shell(reading: &Reading<'_, '_>, symbols: &mut Symbols) -> Result<Meta, Fault> {
    let [variable, words @ ..] = reading.arguments else {
        return Err(MISSING_ARGUMENT.into());
    };
    if words.is_empty() {
        return Err(MISSING_ARGUMENT.into());
    }
    let shell = Shell::new(words.iter().map(|word| word.text), symbols);
    command(CommandKind::SetShell(SetShell::new(variable.text, shell, symbols, reading.dialect)))
}

/// `\shell command argument …`
fn read_shell(reading: &Reading<'_, '_>, symbols: &mut Symbols) -> Result<Meta, Fault> {
    if reading.arguments.is_empty() {
        return Err("missing command".into());
    }
    let words = reading.arguments.iter().map(|word| word.text);
    command(CommandKind::Shell(Shell::new(words, symbols)))
}

/// `\sleep number[unit]`, `\sleep number unit`, `\sleep :variable [unit]`
fn read_sleep(reading: &Reading<'_, '_>, symbols: &mut Symbols) -> Result<Meta, Fault> {
    let (time, unit) = match *reading.arguments {
        [] => return Err(MISSING_ARGUMENT.into()),
        [time] => (time, None),
        [time, unit] => (time, Some(unit)),
        [_, _, third, ..] => return Err(third.fault(TOO_MANY_ARGUMENTS)),
    };
    let invalid = || time.fault(format!("invalid sleep time, must be an integer ({})", shown(time.text)));
    if let [b':', name @ ..] = time.text {
        // pgbench checks this when it reads the value.
        let possible = !name.is_empty() && name.iter().all(|&byte| is_name_byte(byte));
        if !possible && reading.dialect == Dialect::Extended {
            return Err(invalid());
        }
        let slot = symbols.intern(name);
        return command(CommandKind::Sleep(Sleep { time: Time::Variable(slot), unit: read_unit(unit)? }));
    }
    let sign = usize::from(matches!(time.text, [b'+' | b'-', ..]));
    let digits = time.text[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, glued) = time.text.split_at(sign + digits);
    if digits == 0 || (unit.is_some() && !glued.is_empty()) {
        return Err(invalid());
    }
    let glued = (!glued.is_empty()).then_some(Word { text: glued, offset: time.offset + number.len() });
    command(CommandKind::Sleep(Sleep::of_number(number, read_unit(unit.or(glued))?)))
}

fn read_unit(word: Option<Word<'_>>) -> Result<Unit, Fault> {
    let Some(word) = word else { return Ok(Unit::default()) };
    let unknown =
        || word.fault(format!("unrecognized time unit, must be us, ms or s ({})", shown(word.text)));
    Unit::from_name(word.text).ok_or_else(unknown)
}

/// `\target name`
fn read_target(reading: &Reading<'_, '_>, _: &mut Symbols) -> Result<Meta, Fault> {
    match reading.arguments {
        [] => Err(MISSING_ARGUMENT.into()),
        [name] => match str::from_utf8(name.text) {
            Ok(text) => Ok(Meta::Target(text.into())),
            Err(_) => Err(name.fault("the name of a target must be UTF-8 text")),
        },
        [_, second, ..] => Err(second.fault(TOO_MANY_ARGUMENTS)),
    }
}
