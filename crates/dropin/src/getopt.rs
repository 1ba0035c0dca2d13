//! Splits a command line like GNU getopt_long: bundled letters, permuted arguments, abbreviated long names. The table
//! and the actions of options are in `options`. Pure.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Spelling of one option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spelling {
    /// Without the two dashes.
    pub(crate) long: &'static str,
    /// The letter, if it has one.
    pub(crate) letter: Option<u8>,
    pub(crate) argument: Argument,
}

/// Whether an option has an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    None,
    Required,
}

/// An element of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Index of the option in the table, and its argument (empty if it has none).
    Option(usize, OsString),
    /// The end of the options; the other arguments in order.
    Rest(Vec<OsString>),
}

/// Whether options may follow other arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Permuted,
    /// `POSIXLY_CORRECT`: the first other argument ends the options.
    Posix,
}

/// A command line during parsing. It is parsed option by option, because pgbench processes each at once.
pub(crate) struct CommandLine<'t> {
    table: &'t [Spelling],
    arguments: VecDeque<OsString>,
    /// The rest of a bundle of letters.
    bundle: VecDeque<u8>,
    others: Vec<OsString>,
    order: Order,
}

impl<'t> CommandLine<'t> {
    pub(crate) fn new(table: &'t [Spelling], arguments: Vec<OsString>, order: Order) -> Self {
        Self { table, arguments: arguments.into(), bundle: VecDeque::new(), others: Vec::new(), order }
    }

    /// The next option, or the remaining arguments.
    ///
    /// # Errors
    /// getopt's message, without the program's name.
    pub(crate) fn next(&mut self) -> Result<Found, String> {
        if let Some(letter) = self.bundle.pop_front() {
            return self.letter(letter);
        }
        while let Some(argument) = self.arguments.pop_front() {
            let bytes = argument.as_bytes();
            match bytes {
                b"--" => break,
                [b'-', b'-', long @ ..] => return self.long(long),
                [b'-', letter, more @ ..] => {
                    self.bundle = more.iter().copied().collect();
                    return self.letter(*letter);
                }
                _ => {
                    self.others.push(argument);
                    if self.order == Order::Posix {
                        break;
                    }
                }
            }
        }
        let mut others = std::mem::take(&mut self.others);
        others.extend(self.arguments.drain(..));
        Ok(Found::Rest(others))
    }

    fn letter(&mut self, letter: u8) -> Result<Found, String> {
        let shown = || encoding::decode(&[letter]).into_owned();
        let Some(row) = self.table.iter().position(|spelling| spelling.letter == Some(letter)) else {
            return Err(format!("invalid option -- '{}'", shown()));
        };
        if self.table[row].argument == Argument::None {
            return Ok(Found::Option(row, OsString::new()));
        }
        // The rest of the bundle, otherwise the next word, even if it looks like an option.
        let argument = if self.bundle.is_empty() {
            self.arguments.pop_front()
        } else {
            Some(OsString::from_vec(self.bundle.drain(..).collect()))
        };
        match argument {
            Some(argument) => Ok(Found::Option(row, argument)),
            None => Err(format!("option requires an argument -- '{}'", shown())),
        }
    }

    fn long(&mut self, typed: &[u8]) -> Result<Found, String> {
        let equals = typed.iter().position(|byte| *byte == b'=');
        let name = &typed[..equals.unwrap_or(typed.len())];
        let value = equals.map(|at| OsStr::from_bytes(&typed[at + 1..]).to_owned());
        let shown = encoding::decode(typed);
        let exact = self.table.iter().position(|spelling| spelling.long.as_bytes() == name);
        let row = match exact {
            Some(row) => row,
            None => {
                let begins = |spelling: &Spelling| spelling.long.as_bytes().starts_with(name);
                let rows: Vec<usize> =
                    (0..self.table.len()).filter(|row| begins(&self.table[*row])).collect();
                match rows.as_slice() {
                    [] => return Err(format!("unrecognized option '--{shown}'")),
                    [row] => *row,
                    several => {
                        let names: String =
                            several.iter().map(|row| format!(" '--{}'", self.table[*row].long)).collect();
                        return Err(format!("option '--{shown}' is ambiguous; possibilities:{names}"));
                    }
                }
            }
        };
        let Spelling { long, argument, .. } = self.table[row];
        match (argument, value) {
            (Argument::None, None) => Ok(Found::Option(row, OsString::new())),
            (Argument::None, Some(_)) => Err(format!("option '--{long}' doesn't allow an argument")),
            (Argument::Required, Some(value)) => Ok(Found::Option(row, value)),
            (Argument::Required, None) => match self.arguments.pop_front() {
                Some(value) => Ok(Found::Option(row, value)),
                None => Err(format!("option '--{long}' requires an argument")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: [Spelling; 4] = [
        Spelling { long: "client", letter: Some(b'c'), argument: Argument::Required },
        Spelling { long: "connect", letter: Some(b'C'), argument: Argument::None },
        Spelling { long: "log", letter: Some(b'l'), argument: Argument::None },
        Spelling { long: "log-prefix", letter: None, argument: Argument::Required },
    ];

    /// Compares the result, in the form `c=4 C | rest`, or the error after it.
    fn check_in(order: Order, words: &[&str], expected: &str) {
        let words = words.iter().map(OsString::from).collect();
        let mut line = CommandLine::new(&TABLE, words, order);
        let mut seen = Vec::new();
        loop {
            match line.next() {
                Ok(Found::Option(row, argument)) => {
                    let name = TABLE[row].long;
                    let argument = encoding::decode(argument.as_bytes());
                    let equals = if argument.is_empty() { "" } else { "=" };
                    seen.push(format!("{name}{equals}{argument}"));
                }
                Ok(Found::Rest(others)) => {
                    seen.push("|".to_owned());
                    seen.extend(others.iter().map(|other| encoding::decode(other.as_bytes()).into_owned()));
                    break;
                }
                Err(sentence) => {
                    seen.push(sentence);
                    break;
                }
            }
        }
        assert_eq!(seen.join(" "), expected, "{order:?}");
    }

    fn check(words: &[&str], expected: &str) {
        check_in(Order::Permuted, words, expected);
    }

    #[test]
    fn letters_may_be_bundled_and_carry_their_argument() {
        check(&["-lCc4", "-c", "-C"], "log connect client=4 client=-C |");
        check(&["-Zl"], "invalid option -- 'Z'");
        check(&["-lc"], "log option requires an argument -- 'c'");
    }

    #[test]
    fn options_may_follow_other_arguments() {
        check(&["db", "-l", "--", "-C", "x"], "log | db -C x");
        check(&["-", "-l"], "log | -");
        check_in(Order::Posix, &["-l", "db", "-C"], "log | db -C");
    }

    #[test]
    fn long_names_may_be_shortened_as_long_as_they_are_clear() {
        check(&["--cl=3", "--conn", "--log", "--log-p", "x"], "client=3 connect log log-prefix=x |");
        check(&["--c=3"], "option '--c=3' is ambiguous; possibilities: '--client' '--connect'");
        check(&["--lo"], "option '--lo' is ambiguous; possibilities: '--log' '--log-prefix'");
        check(&["--nix=1"], "unrecognized option '--nix=1'");
    }

    #[test]
    fn long_names_say_what_is_wrong_with_their_argument() {
        check(&["--conn=1"], "option '--connect' doesn't allow an argument");
        check(&["--cli"], "option '--client' requires an argument");
        check(&["--client="], "client |");
    }

    #[test]
    fn bytes_that_are_no_text_pass_through() {
        let words = vec![OsString::from_vec(b"-c\xff".to_vec()), OsString::from_vec(b"--\xff".to_vec())];
        let mut line = CommandLine::new(&TABLE, words, Order::Permuted);
        assert_eq!(line.next(), Ok(Found::Option(0, OsString::from_vec(vec![0xff]))));
        assert!(line.next().unwrap_err().starts_with("unrecognized option"));
    }
}
