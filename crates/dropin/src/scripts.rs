//! Scripts given by options: built-in ones by prefix, files, stdin, each with a weight after the last `@`. Called while
//! options are processed; the crate `script` parses them.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;

use run::{ScriptText, read_script};
use workload::{Script, WorkloadError, tpcb};

use crate::message::{Level, Stop};
use crate::numbers;
use crate::system_words::system_words;

/// Splits `NAME@WEIGHT` at the last `@`.
pub(crate) fn weighted(text: &str) -> Result<(&str, u32), Stop> {
    let number = |weight: &str| numbers::weight(weight.as_bytes()).ok_or("");
    run::options::weighted(text, number).map_err(Stop::error)
}

/// A built-in script by its name or a prefix of it.
pub(crate) fn builtin(name: &str) -> Result<&'static Script, Stop> {
    tpcb::script(name).map_err(|error| {
        let sentence = match error {
            WorkloadError::AmbiguousBuiltin { prefix, found, .. } => {
                format!("ambiguous builtin name: {found} builtin scripts found for prefix \"{prefix}\"")
            }
            _ => format!("no builtin script found for name \"{name}\""),
        };
        Stop::error(sentence).and(Level::Bare, builtin_list())
    })
}

/// The built-in scripts, followed by an empty line.
pub(crate) fn builtin_list() -> String {
    format!("{}\n\n", tpcb::script_list())
}

/// The output of `--show-script`.
pub(crate) fn shown(builtin: &Script) -> String {
    format!("-- {}: {}\n{}\n", builtin.name, builtin.description, builtin.text)
}

/// Reads a script's file; `-` is stdin.
pub(crate) fn read(name: &str, weight: u32) -> Result<ScriptText, Stop> {
    let fault = |what: &str, error: &io::Error| {
        Stop::error(format_args!("could not {what} file \"{name}\": {}", system_words(error)))
    };
    let text = if name == "-" {
        read_script(io::stdin().lock())
    } else {
        let path = OsStr::from_bytes(&encoding::encode(name)).to_owned();
        read_script(fs::File::open(path).map_err(|error| fault("open", &error))?)
    };
    let text = text.map_err(|error| fault("read", &error))?;
    Ok(ScriptText::of_file(name.to_owned(), text, weight))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_follows_the_last_at_sign() {
        let good = |text: &'static str| weighted(text).expect("it is right");
        assert_eq!(good("a.sql"), ("a.sql", 1));
        assert_eq!(good("a@b.sql@3"), ("a@b.sql", 3));
        let bad = |text: &str| weighted(text).expect_err("it is wrong").messages[0].text.clone();
        assert_eq!(bad("a@b.sql"), "invalid weight specification: @b.sql");
        assert_eq!(bad("a@-1"), "weight specification out of range (0 .. 2147483647): -1");
    }
}
