//! Scripts as options name them: built-in ones by prefix, files, stdin, each with a weight behind the last `@`.
//! What a script's text means is the affair of the crate `script`; called while options are acted on.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use run::{ScriptText, read_script};
use workload::{Script, WorkloadError, tpcb};

use crate::message::{Level, Stop};
use crate::numbers;
use crate::system_words::system_words;

/// Most scripts in a mix.
pub(crate) const SCRIPTS_MAX: usize = 128;

/// Splits `NAME@WEIGHT` at the last `@`.
pub(crate) fn weighted(text: &OsStr) -> Result<(OsString, u32), Stop> {
    let bytes = text.as_bytes();
    let Some(at) = bytes.iter().rposition(|byte| *byte == b'@') else { return Ok((text.to_owned(), 1)) };
    let (name, weight) = (&bytes[..at], &bytes[at + 1..]);
    let Some(number) = numbers::weight(weight) else {
        let weight = encoding::decode(weight);
        return Err(Stop::error(format_args!("invalid weight specification: @{weight}")));
    };
    match u32::try_from(number).ok().filter(|weight| *weight <= i32::MAX.cast_unsigned()) {
        Some(weight) => Ok((OsStr::from_bytes(name).to_owned(), weight)),
        None => {
            let limit = i32::MAX;
            let sentence = format!("weight specification out of range (0 .. {limit}): {number}");
            Err(Stop::error(sentence))
        }
    }
}

/// A built-in script by its name or a prefix of it.
pub(crate) fn builtin(name: &OsStr) -> Result<&'static Script, Stop> {
    let name = encoding::decode(name.as_bytes());
    tpcb::script(&name).map_err(|error| {
        let sentence = match error {
            WorkloadError::AmbiguousBuiltin { prefix, found } => {
                format!("ambiguous builtin name: {found} builtin scripts found for prefix \"{prefix}\"")
            }
            _ => format!("no builtin script found for name \"{name}\""),
        };
        Stop::error(sentence).and(Level::Bare, builtin_list())
    })
}

/// The built-in scripts, with an empty line behind.
pub(crate) fn builtin_list() -> String {
    format!("{}\n\n", tpcb::script_list())
}

/// What `--show-script` shows.
pub(crate) fn shown(builtin: &Script) -> String {
    format!("-- {}: {}\n{}\n", builtin.name, builtin.description, builtin.text)
}

/// Reads a script's file; `-` is stdin.
pub(crate) fn read(path: &OsStr, weight: u32) -> Result<ScriptText, Stop> {
    let name = encoding::decode(path.as_bytes()).into_owned();
    let fault = |what: &str, error: &io::Error| {
        Stop::error(format_args!("could not {what} file \"{name}\": {}", system_words(error)))
    };
    let text = if path == "-" {
        read_script(io::stdin().lock())
    } else {
        read_script(fs::File::open(Path::new(path)).map_err(|error| fault("open", &error))?)
    };
    let text = text.map_err(|error| fault("read", &error))?;
    Ok(ScriptText::of_file(name, text, weight))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_follows_the_last_at_sign() {
        let good = |text: &str| weighted(OsStr::new(text)).expect("it is right");
        assert_eq!(good("a.sql"), ("a.sql".into(), 1));
        assert_eq!(good("a@b.sql@3"), ("a@b.sql".into(), 3));
        let bad = |text: &str| weighted(OsStr::new(text)).expect_err("it is wrong").messages[0].text.clone();
        assert_eq!(bad("a@b.sql"), "invalid weight specification: @b.sql");
        assert_eq!(bad("a@-1"), "weight specification out of range (0 .. 2147483647): -1");
    }
}
