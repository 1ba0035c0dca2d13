//! What the drop-in does in another way than pgbench on purpose, all of it on stderr. docs/pgbench.md tells the users;
//! used when the program beside pgbench is ours.

use crate::conformance::running::Ended;

/// `change` takes a difference out of both texts, pgbench's and the drop-in's, and tells whether it was there.
struct Deliberate {
    reason: &'static str,
    change: fn([&mut String; 2]) -> bool,
}

const DELIBERATE: &[Deliberate] = &[
    Deliberate { reason: "quirk 6: it is said why an empty variable cannot be used", change: empty_variable },
    Deliberate { reason: "the statements of -i have other blanks", change: blanks_of_init },
    Deliberate { reason: "the caret stands below the fault, whatever is before it", change: caret },
    Deliberate { reason: "connection strings are refused in other words", change: connection_strings },
    Deliberate { reason: "what a server says is told once", change: told_twice },
];

/// Takes them all out; says which there were.
pub(crate) fn take_out(pgbench: &mut Ended, dropin: &mut Ended) -> impl Iterator<Item = &'static str> {
    let (pgbench, dropin) = (&mut pgbench.stderr, &mut dropin.stderr);
    DELIBERATE.iter().filter(|one| (one.change)([pgbench, dropin])).map(|one| one.reason)
}

/// Keeps the lines for which `keep` says so; tells whether one went.
fn retain_lines(text: &mut String, keep: impl Fn(&str) -> bool) -> bool {
    let before = text.len();
    *text = text.split_inclusive('\n').filter(|line| keep(line.trim_end_matches('\n'))).collect();
    text.len() < before
}

fn empty_variable([_, dropin]: [&mut String; 2]) -> bool {
    retain_lines(dropin, |line| !line.ends_with("is empty, and an empty text has no value"))
}

fn blanks_of_init([pgbench, dropin]: [&mut String; 2]) -> bool {
    let mut changed = false;
    for text in [pgbench, dropin] {
        let line = |line: &str| {
            let Some((before, statement)) = line.split_once("Query was: create table ") else {
                return line.to_owned();
            };
            let words: Vec<&str> = statement.split_whitespace().collect();
            changed = true;
            format!("{before}Query was: create table {}\n", words.join(" ").replace(", ", ","))
        };
        *text = text.split_inclusive('\n').map(line).collect();
    }
    changed
}

const CARET: &str = "^ error found here";

/// pgbench counts bytes from the beginning of the command: below several lines, behind tabs or characters of several
/// bytes its caret stands somewhere else; a carriage return at the end counts too.
fn caret([pgbench, dropin]: [&mut String; 2]) -> bool {
    let is_odd = |text: &str| {
        let Some((before, _)) = text.split_once(CARET) else { return false };
        // The message, the command, and the blanks before the caret.
        let lines: Vec<&str> = before.lines().skip(1).collect();
        match lines[..] {
            [command, blanks] => {
                command.contains('\t') || !command.is_ascii() || blanks.len() > command.trim_end().len()
            }
            _ => lines.len() > 2,
        }
    };
    if pgbench == dropin || !is_odd(pgbench) {
        return false;
    }
    for text in [pgbench, dropin] {
        let line = |line: &str| {
            if line.trim_start().starts_with(CARET) { format!("{CARET}\n") } else { line.to_owned() }
        };
        *text = text.split_inclusive('\n').map(line).collect();
    }
    true
}

/// Both must refuse in one sentence before the last; which one, is a matter of taste.
fn connection_strings([pgbench, dropin]: [&mut String; 2]) -> bool {
    const WORDS: [&str; 6] = [
        "pgbench: error: invalid connection option ",
        "pgbench: error: invalid integer value ",
        "pgbench: error: invalid port number: ",
        "pgbench: error: unterminated quoted string in connection info string",
        "pgbench: error: end of string reached when looking for matching ",
        "pgbench: error: invalid URI query parameter: ",
    ];
    let of_dropin = ["the connection string ", "the connection URI ", " in the connection string: "];
    let is_refusal = |line: &str| WORDS.iter().any(|words| line.starts_with(words));
    let is_own = |line: &str| of_dropin.iter().any(|words| line.contains(words));
    let refuses = pgbench.lines().any(is_refusal) && dropin.lines().any(is_own);
    refuses && retain_lines(pgbench, |line| !is_refusal(line)) && retain_lines(dropin, |line| !is_own(line))
}

/// libpq tries to connect a second time in another way, and tells both errors even if they are one.
fn told_twice([pgbench, dropin]: [&mut String; 2]) -> bool {
    let again = "connection to server ";
    let is_once = |text: &str| text.matches(again).count() == 1;
    let first = pgbench.lines().find(|line| line.contains(again)).unwrap_or_default().to_owned();
    let repeated = first.strip_prefix("pgbench: error: ").unwrap_or_default().to_owned();
    !repeated.is_empty() && is_once(dropin) && retain_lines(pgbench, |line| line != repeated)
}
