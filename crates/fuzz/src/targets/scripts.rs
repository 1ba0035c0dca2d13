//! Scripts: any bytes, in both dialects, are commands or an error with a place. Of the commands everything is asked for
//! that a run would ask for, the loops of arrays excepted.

use script::{
    CommandKind, CopyRows, CopySource, Dialect, EvaluationError, PARAMETERS_MAX, Program, Random, Scope,
    Symbols, Value, Variables,
};

use super::digest::{Digest, sentence};
use super::{Attempt, SHORT, Target, allowance};

pub const TARGET: Target = Target {
    name: "scripts",
    words: &[
        b"\\set ",
        b"\\setshell ",
        b"\\shell ",
        b"\\sleep ",
        b"\\if ",
        b"\\elif ",
        b"\\else",
        b"\\endif",
        b"\\gset",
        b"\\aset ",
        b"\\gset_null ",
        b"\\repeat ",
        b"\\endrepeat",
        b"\\startpipeline",
        b"\\syncpipeline",
        b"\\endpipeline",
        b"\\batch ",
        b"\\target ",
        b"\\;",
        b"\\:",
        b"\\\n",
        b"\n",
        b"\r\n",
        b";",
        b"::",
        b":a",
        b":'a'",
        b":\"a\"",
        b"$1",
        b"$$",
        b"$tag$",
        b"'",
        b"E'",
        b"U&'",
        b"\"",
        b"--",
        b"/*",
        b"*/",
        b"(",
        b")",
        b"CREATE FUNCTION f() ",
        b"CREATE OR REPLACE PROCEDURE p() ",
        b"BEGIN ATOMIC ",
        b"BEGIN",
        b"END",
        b"CASE ",
        b"SELECT ",
        b"COPY t FROM STDIN;",
        b"\\copy_rows ",
        b"\\copy_rows 2 (:copy_row, :a, 'b')",
        b"\\copy_file ",
        b"random(1, 10)",
        b"random_hot(1, 9, 0.5, 0.2, 1)",
        b"random_latest(1, 9, 1.5)",
        b"array(3, 1)",
        b"random_string(1, 2, 'a')",
        b"random_element('a,b')",
        b" us",
        b" ms",
        b" s",
        b"true",
        b"false",
        b"null",
        b"\xef\xbb\xbf",
        b"\xc3\xa9",
        b"\xff",
        b"a",
        b"1",
    ],
    generate: None,
    reshape: None,
    length_max: SHORT,
    short_round_divisor: 1,
    memory,
    prepare: || Ok(Box::new(attempt) as Attempt),
};

/// A value of a row may be a random string of a megabyte; some of them are written.
fn memory(input: &[u8]) -> u64 {
    let has = |word: &[u8]| input.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word));
    let strings = if has(b"copy_rows") && has(b"random_string") { 32 * 1024 } else { 0 };
    allowance(1024 + strings, 512, input)
}

fn attempt(input: &[u8]) -> Result<u64, String> {
    let mut outcome = Digest::new();
    for dialect in [Dialect::Pgbench, Dialect::Extended] {
        let mut symbols = Symbols::new();
        match script::parse("a script", input, &mut symbols, dialect) {
            Ok(program) => walk(&program, &mut symbols, &mut outcome)?,
            Err(error) => {
                if error.line == 0 {
                    return Err(format!("an error without a line: {error}"));
                }
                outcome.show(&sentence(&error.kind));
                Digest::new().show(&error);
            }
        }
    }
    Ok(outcome.value())
}

/// Writes some rows of a COPY; each has all its values.
fn write_rows(
    rows: &CopyRows,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) -> Result<Option<EvaluationError>, String> {
    const PIECES: usize = 4;
    out.clear();
    let written = rows.begin(scope).and_then(|mut position| {
        let Scope { variables, symbols, .. } = scope;
        let mut write = |out: &mut Vec<u8>| rows.write_piece(&mut position, 64, variables, symbols, out);
        (0..PIECES).try_for_each(|_| write(out).map(|_| ()))
    });
    let lines: Vec<_> = out.split(|byte| *byte == b'\n').collect();
    let whole = lines.iter().take(lines.len().saturating_sub(1));
    for line in whole {
        let values = line.split(|byte| *byte == b'\t').count();
        if values != rows.columns() {
            return Err(format!("a row of {values} values instead of {}", rows.columns()));
        }
    }
    Ok(written.err())
}

/// The variables of a client: one is defined, and the time of the transaction is set if a command uses it.
fn variables(symbols: &mut Symbols) -> Variables {
    let defined = symbols.intern("a");
    let mut variables = Variables::new(symbols);
    variables.set_text(defined, "12");
    if let Some(time) = symbols.transaction_time() {
        variables.set(time, Value::Int(7_000_000_000));
    }
    variables
}

/// Asks of each command what a run asks.
fn walk(program: &Program, symbols: &mut Symbols, outcome: &mut Digest) -> Result<(), String> {
    if program.commands().is_empty() {
        return Err("a program without commands".to_owned());
    }
    if let Err(error) = program.check_parameter_counts(PARAMETERS_MAX) {
        outcome.show(&sentence(&error.kind));
        Digest::new().show(&error);
    }
    let mut variables = variables(symbols);
    let mut random = Random::from_seed(1);
    let mut out = Vec::new();
    let count = program.commands().len();
    for (index, command) in program.commands().iter().enumerate() {
        let mut scope = Scope::new(&mut variables, &mut random, symbols);
        let failed = match &command.kind {
            CommandKind::Sql(sql) => {
                out.clear();
                sql.write_simple(scope.variables, &mut out);
                let numbered = sql.numbered_text().iter().filter(|&&byte| byte == b'$').count();
                if numbered < sql.parameters().len() {
                    return Err(format!("command {index} has parameters that its text does not name"));
                }
                match sql.copy_source() {
                    Some(CopySource::Rows(rows)) => write_rows(rows, &mut scope, &mut out)
                        .map_err(|error| format!("command {index}: {error}"))?,
                    Some(CopySource::File(_)) | None => None,
                }
            }
            CommandKind::Set(set) => set.execute(&mut scope).err(),
            CommandKind::If(condition) | CommandKind::Elif(condition) => {
                let (next, end) = (condition.next, condition.end);
                if !(index < next && next <= end && end < count) {
                    return Err(format!("command {index} of {count} goes on at {next}, ends at {end}"));
                }
                condition.holds(&mut scope).err()
            }
            CommandKind::Else(other) if !(index < other.end && other.end < count) => {
                return Err(format!("command {index} of {count} ends at {}", other.end));
            }
            CommandKind::Repeat(repeat) => {
                if !(index < repeat.end && repeat.end < count) {
                    return Err(format!("command {index} of {count} repeats up to {}", repeat.end));
                }
                repeat.count(&mut scope).err()
            }
            CommandKind::EndRepeat(end) if end.start >= index => {
                return Err(format!("command {index} repeats from {}", end.start));
            }
            CommandKind::Sleep(sleep) => sleep.duration(&variables, symbols).err(),
            CommandKind::Shell(shell) => shell.command_line(&variables, symbols).err(),
            CommandKind::SetShell(set) => {
                set.shell.command_line(&variables, symbols).err().or(set.read_output(b"12\n").err())
            }
            CommandKind::Batch(batch) => batch.size(&mut scope).err(),
            _ => None,
        };
        // A short history of what the script is made of tells scripts apart; counts would never end.
        if index < 4 {
            outcome.show(&command.name);
        }
        if let Some(error) = failed {
            outcome.show(&sentence(&error));
            Digest::new().show(&error);
        }
    }
    Ok(())
}
