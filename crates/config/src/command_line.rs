//! Mistakes on a command line, answered with the command that was probably meant. Pure: what was typed and what is wrong
//! with it go in, the corrected command comes out.

use crate::shell_word;

/// What is wrong with a command line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Mistake<'a> {
    /// An option or a command that does not exist, and one that is similar.
    Unknown {
        /// As typed.
        given: &'a str,
        /// The similar one.
        similar: Option<&'a str>,
    },
    /// The value of an option is missing or wrong.
    Value {
        /// The option as help shows it: `--clients <N>`.
        option: &'a str,
        /// The value as typed; empty if it is missing.
        given: &'a str,
    },
}

/// Values that options take, for examples: the long and the short name, and a value.
const EXAMPLES: [(&str, &str, &str); 8] = [
    ("--clients", "-c", "8"),
    ("--workers", "-j", "2"),
    ("--duration", "-T", "60"),
    ("--transactions", "-t", "1000"),
    ("--rate", "-R", "500"),
    ("--scale", "-s", "10"),
    ("--port", "-p", "5432"),
    ("--file", "-f", "script.sql"),
];
/// pgbench's option that creates its tables, which is a command here.
const INITIALIZE: [&str; 2] = ["-i", "--initialize"];

/// `did you mean: pgmeter bench --duration 60`; `None` if nothing is known that was meant. `words` are those after the
/// name of the program.
#[must_use]
pub fn corrected_command(words: &[String], mistake: Mistake<'_>) -> Option<String> {
    let (lead, words) = match mistake {
        Mistake::Unknown { given, similar } => ("did you mean", known(words, given, similar)?),
        Mistake::Value { option, given } => ("for example", with_value(words, option, given)?),
    };
    let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
    Some(format!("{lead}: pgmeter {}", words.join(" ")))
}

fn known(words: &[String], given: &str, similar: Option<&str>) -> Option<Vec<String>> {
    let is_option = |word: &String| word.starts_with('-') && word.len() > 1;
    let first = words.first()?;
    let initializes =
        INITIALIZE.contains(&given) || is_option(first) && words.iter().any(|word| is_initialize(word));
    if initializes && (is_option(first) || first == "bench") {
        let others = words.iter().filter(|word| !is_initialize(word) && *word != "bench").cloned();
        return Some(std::iter::once("init".to_owned()).chain(others).collect());
    }
    match similar {
        Some(similar) => replaced(words, given, similar),
        None if is_option(first) => Some(std::iter::once("bench".to_owned()).chain(words.to_vec()).collect()),
        None => None,
    }
}

fn is_initialize(word: &str) -> bool {
    INITIALIZE.contains(&word)
}

/// The words with one name for the other; a value after `=` stays.
fn replaced(words: &[String], given: &str, name: &str) -> Option<Vec<String>> {
    let mut words = words.to_vec();
    let at = words.iter().position(|word| after_name(word, given).is_some())?;
    words[at] = format!("{name}{}", after_name(&words[at], given).unwrap_or_default());
    Some(words)
}

fn after_name<'w>(word: &'w str, name: &str) -> Option<&'w str> {
    let rest = word.strip_prefix(name)?;
    (rest.is_empty() || rest.starts_with('=')).then_some(rest)
}

/// The words with a value for the option that lacks one.
fn with_value(words: &[String], option: &str, given: &str) -> Option<Vec<String>> {
    let long = option.split([' ', '=']).next()?;
    let (long, short, value) = EXAMPLES.into_iter().find(|(name, ..)| *name == long)?;
    let mut words = words.to_vec();
    let at = words.iter().position(|word| {
        word == long
            || word == short
            || *word == format!("{long}={given}")
            || *word == format!("{short}{given}")
    })?;
    if words[at] != long && words[at] != short {
        words[at] =
            if words[at].starts_with("--") { format!("{long}={value}") } else { format!("{short}{value}") };
    } else if !given.is_empty() && words.get(at + 1).is_some_and(|next| next == given) {
        value.clone_into(&mut words[at + 1]);
    } else {
        words.insert(at + 1, value.to_owned());
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mistake_is_answered_with_the_command_that_was_meant() {
        let unknown = |given, similar| Mistake::Unknown { given, similar };
        let value = |option, given| Mistake::Value { option, given };
        for (typed, mistake, expected) in [
            (
                "bench --durations 60 db",
                unknown("--durations", Some("--duration")),
                Some("bench --duration 60 db"),
            ),
            (
                "bench --durations=60 db",
                unknown("--durations", Some("--duration")),
                Some("bench --duration=60 db"),
            ),
            ("initt -s 10", unknown("initt", Some("init")), Some("init -s 10")),
            ("--verison", unknown("--verison", Some("--version")), Some("--version")),
            ("bench -i -s 10 db", unknown("-i", None), Some("init -s 10 db")),
            ("-i -s 10 db", unknown("-i", None), Some("init -s 10 db")),
            ("-s 10 --initialize db", unknown("-s", None), Some("init -s 10 db")),
            ("-c 4 -T 10 db", unknown("-c", None), Some("bench -c 4 -T 10 db")),
            ("bench --strange db", unknown("--strange", None), None),
            ("lab -i", unknown("-i", None), None),
            ("bench db -c", value("--clients <N>", ""), Some("bench db -c 8")),
            ("bench -c ten db", value("--clients <N>", "ten"), Some("bench -c 8 db")),
            ("bench -cten db", value("--clients <N>", "ten"), Some("bench -c8 db")),
            ("bench --duration=abc db", value("--duration <TIME>", "abc"), Some("bench --duration=60 db")),
            ("bench --seed x", value("--seed <N>", "x"), None),
        ] {
            let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            let corrected = corrected_command(&words, mistake);
            let shown = corrected.as_deref().map(|it| it.split_once(": pgmeter ").expect("a command").1);
            assert_eq!(shown, expected, "{typed}");
        }
    }
}
