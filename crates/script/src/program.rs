//! A parsed script: commands in order, immutable, shared by all workers. `parse` splits the text into SQL with `scan`
//! and meta commands with `meta`; `blocks` sets the jumps. The engine executes the commands.

use std::sync::Arc;

use crate::blocks;
use crate::command::{Command, CommandKind};
use crate::contention::ContendedRows;
use crate::copy::CopySource;
use crate::dialect::Dialect;
use crate::error::{ParseError, ParseErrorKind, shown};
use crate::meta::{Meta, MetaText};
use crate::scan::{Stop, scan};
use crate::sql::{Attached, Sql};
use crate::symbols::Symbols;

/// Maximum length of the display text of an SQL command, in bytes.
const DISPLAY_MAX: usize = 127;

/// Parses a script, which need not be UTF-8. `file` is the name in messages. The time is linear.
pub fn parse(
    file: &str,
    text: &[u8],
    symbols: &mut Symbols,
    dialect: Dialect,
) -> Result<Program, ParseError> {
    let mut reader = Reader {
        file,
        text,
        dialect,
        lines: Lines { text, counted: 0, line: 1 },
        commands: Vec::new(),
        target: None,
        contention: None,
    };
    if let Some(at) = text.iter().position(|&byte| byte == 0) {
        let line = reader.lines.line_of(at);
        let kind = "the script contains a NUL byte, which cannot be sent; check that it is a text file";
        return Err(script_error(file, line, kind));
    }
    let mut from = 0;
    loop {
        let piece = scan(text, from);
        if !piece.sql.is_empty() {
            let (line, display) = (reader.lines.line_of(piece.start), first_line(&piece.sql));
            reader.look_for_contention(&text[from..piece.start])?;
            reader.commands.push(Command {
                line,
                display,
                name: "SQL".into(),
                kind: CommandKind::Sql(Sql::new(piece.sql, symbols)),
            });
        }
        from = piece.end;
        match piece.stop {
            Stop::Semicolon => {}
            Stop::Backslash => from = reader.meta(from, symbols)?,
            Stop::End => break,
        }
    }
    if dialect == Dialect::Extended {
        reader.check_copies()?;
    }
    reader.finish()
}

/// State of parsing a script.
struct Reader<'a> {
    file: &'a str,
    text: &'a [u8],
    dialect: Dialect,
    lines: Lines<'a>,
    commands: Vec<Command>,
    target: Option<Box<str>>,
    contention: Option<(usize, ContendedRows)>,
}

impl Reader<'_> {
    /// Parses declarations of contended rows in the comments before an SQL command. pgbench's dialect ignores invalid
    /// ones, since its scripts may contain any comments.
    fn look_for_contention(&mut self, comments: &[u8]) -> Result<(), ParseError> {
        let found = match ContendedRows::find(comments) {
            Err(_) if self.dialect == Dialect::Pgbench => return Ok(()),
            found => found,
        };
        let found = match found {
            Ok(Some(_)) if self.contention.is_some() && self.dialect == Dialect::Extended => {
                Err("a script must declare its contended rows only once, above the command that locks them \
                     first".into())
            }
            Ok(found) => Ok(found),
            Err(comment) => Err(format!(
                "\"{comment}\" is not a directive; the only directive is \"-- pgmeter: contended rows = 10\", \
                 \"= :scale\" or \"= 10 * :scale\""
            )
            .into()),
        };
        let found = found.map_err(|kind: ParseErrorKind| script_error(self.file, self.lines.line, kind))?;
        self.contention = found.map(|rows| (self.commands.len(), rows)).or(self.contention.take());
        Ok(())
    }

    /// Parses the meta command whose backslash is byte `at`; returns the position after it.
    fn meta(&mut self, at: usize, symbols: &mut Symbols) -> Result<usize, ParseError> {
        let text = MetaText::at(self.text, at);
        let line = self.lines.line_of(at);
        let error = |fault| text.error(self.file, line, fault);
        match text.read(self.dialect, symbols).map_err(error)? {
            None => {}
            Some(Meta::Command(kind)) => {
                let name = text.name().unwrap_or_default();
                self.commands.push(Command { line, display: text.display(), name, kind });
            }
            Some(Meta::Attached(mut attached)) => {
                if let Attached::Copy(CopySource::File(file)) = &mut attached {
                    file.line = line;
                }
                let name = text.name().unwrap_or_default();
                self.attach(attached, &name).map_err(|kind| script_error(self.file, line, kind))?
            }
            Some(Meta::Target(_)) if self.target.is_some() || !self.commands.is_empty() => {
                let kind = "a script can have only one \\target, before its first command";
                return Err(ParseError { command: None, ..error(kind.into()) });
            }
            Some(Meta::Target(name)) => self.target = Some(name),
        }
        Ok(at + text.length())
    }

    /// `\gset`, `\copy_rows` or a similar command, which belongs to the preceding command.
    fn attach(&mut self, attached: Attached, name: &str) -> Result<(), ParseErrorKind> {
        let is_copy = matches!(attached, Attached::Copy(_));
        // pgbench names \gset, also for \aset.
        let rule = if is_copy {
            format!("\\{name} must follow a COPY … FROM STDIN")
        } else {
            "\\gset must follow an SQL command".to_owned()
        };
        match self.commands.last_mut() {
            Some(Command { kind: CommandKind::Sql(sql), .. })
                if sql.attached.is_none()
                    && (!is_copy || sql::copies_from_stdin(sql.text_as_written()) > 0) =>
            {
                sql.attached = Some(attached);
                Ok(())
            }
            Some(Command { kind: CommandKind::Sql(_), .. }) | None => Err(rule.into()),
            Some(command) => Err(format!("{rule} ({})", command.display).into()),
        }
    }

    /// Refuses a `COPY … FROM STDIN` without rows, or several with the same rows. pgbench's dialect leaves that to the
    /// server's response.
    fn check_copies(&self) -> Result<(), ParseError> {
        for command in &self.commands {
            let CommandKind::Sql(sql) = &command.kind else { continue };
            let text = sql.text_as_written();
            let kind = match (sql::copies_from_stdin(text), sql.copy_source()) {
                (0, _) | (1, Some(_)) => continue,
                (1, None) => {
                    "COPY … FROM STDIN needs rows; write \\copy_rows NUMBER (VALUE, …) or \\copy_file NAME below it"
                }
                _ => {
                    "only one COPY … FROM STDIN can be sent at once; end each with a semicolon without a backslash"
                }
            };
            return Err(ParseError::in_statement(self.file, command.line, text, None, kind));
        }
        Ok(())
    }

    fn finish(self) -> Result<Program, ParseError> {
        let Self { file, mut commands, target, contention, .. } = self;
        if commands.is_empty() {
            return Err(script_error(file, 1, ParseErrorKind::EmptyScript(file.into())));
        }
        blocks::join(&mut commands).map_err(|(index, kind)| {
            let command = commands.get(index).or(commands.last());
            let error = script_error(file, command.map_or(1, |command| command.line), kind);
            match (&error.kind, command) {
                (ParseErrorKind::Condition { .. }, _) | (_, None) => error,
                (_, Some(command)) => {
                    ParseError { column: Some(1), source: command.display.clone(), ..error }
                }
            }
        })?;
        Ok(Program { name: file.into(), target, contention, commands: commands.into() })
    }
}

/// An error without a position inside a command.
fn script_error(file: &str, line: u32, kind: impl Into<ParseErrorKind>) -> ParseError {
    let kind = kind.into();
    ParseError { file: file.into(), line, column: None, kind, command: None, source: Box::default() }
}

/// The first line of an SQL command, truncated to the maximum length.
fn first_line(sql: &[u8]) -> Box<str> {
    /// Maximum number of continuation bytes of a character.
    const CHARACTER_REST_MAX: usize = 3;
    let line = sql.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    // Some more bytes, so that the last character is complete.
    let text = shown(&line[..line.len().min(DISPLAY_MAX + CHARACTER_REST_MAX)]);
    text[..text.floor_char_boundary(DISPLAY_MAX)].into()
}

/// Counts lines up to increasing positions.
struct Lines<'a> {
    text: &'a [u8],
    counted: usize,
    line: u32,
}

impl Lines<'_> {
    fn line_of(&mut self, offset: usize) -> u32 {
        let newlines = self.text[self.counted..offset].iter().filter(|&&byte| byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(newlines).unwrap_or(u32::MAX));
        self.counted = offset;
        self.line
    }
}

/// A script, parsed.
#[derive(Debug)]
pub struct Program {
    name: Box<str>,
    target: Option<Box<str>>,
    contention: Option<(usize, ContendedRows)>,
    commands: Box<[Command]>,
}

impl Program {
    /// The file name as given to [`parse`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name after `\target`, if the script has one: the target of its transactions.
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// Index of the command that locks one of several contended rows until the end of the transaction, and their
    /// number, if the script declares them.
    pub fn contention(&self) -> Option<(usize, &ContendedRows)> {
        self.contention.as_ref().map(|(command, rows)| (*command, rows))
    }

    /// The commands in order; never empty.
    pub fn commands(&self) -> &[Command] {
        &self.commands
    }

    /// Reads the files of `\copy_file` by their names; `read` is called once for each command. Must be called before a run.
    ///
    /// # Errors
    /// The first error of `read`, with the line of the command.
    pub fn read_files<E>(
        &mut self,
        mut read: impl FnMut(&str) -> Result<Arc<[u8]>, E>,
    ) -> Result<(), (u32, E)> {
        for command in &mut self.commands {
            if let CommandKind::Sql(sql) = &mut command.kind
                && let Some(Attached::Copy(CopySource::File(file))) = &mut sql.attached
            {
                file.content = read(&file.name).map_err(|error| (file.line, error))?;
            }
        }
        Ok(())
    }

    /// Checks that every SQL command has at most this number of parameters, a limit of the extended and prepared protocols.
    /// Simple queries need no check.
    pub fn check_parameter_counts(&self, parameters_max: usize) -> Result<(), ParseError> {
        for command in &self.commands {
            if let CommandKind::Sql(sql) = &command.kind
                && sql.parameters().len() > parameters_max
            {
                let kind = format!("statement has too many arguments (maximum is {parameters_max})");
                let error = script_error(&self.name, command.line, kind);
                return Err(ParseError { source: command.display.clone(), ..error });
            }
        }
        Ok(())
    }
}
