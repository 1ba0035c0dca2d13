//! A command that repeats the run, for the record: the original command line quoted for a shell, with the seed if
//! none was given and with the variables that select the server. The record's own type masks passwords.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use results::SafeText;

/// The program's name, regardless of the path that started it.
const PROGRAM: &str = "pgmeter";

/// Commands that run a load.
const COMMANDS: [&str; 3] = ["bench", "quickstart", DROP_IN];
/// The command that is implied by a link of this name.
const DROP_IN: &str = "pgbench";

/// Environment variables that change the meaning of the command; none of them contains a password.
const VARIABLES: [&str; 12] = [
    "PGHOST",
    "PGHOSTADDR",
    "PGPORT",
    "PGUSER",
    "PGDATABASE",
    "PGSERVICE",
    "PGSSLMODE",
    "PGOPTIONS",
    "PGTARGETSESSIONATTRS",
    "PGLOADBALANCEHOSTS",
    "PGTZ",
    "PGMETER_EVENT_LOOP",
];

/// This process's command, with the seed.
pub fn command_line(seed_drawn: Option<u64>) -> SafeText {
    let variable = |name: &&str| std::env::var_os(name).map(|value| ((*name).to_owned(), value));
    let variables = VARIABLES.iter().filter_map(variable).collect();
    let mut arguments = std::env::args_os();
    let program = arguments.next().map(PathBuf::from).unwrap_or_default();
    let implied = (program.file_name() == Some(OsStr::new(DROP_IN))).then(|| OsString::from(DROP_IN));
    compose(variables, implied.into_iter().chain(arguments).collect(), seed_drawn)
}

fn compose(variables: Vec<(String, OsString)>, arguments: Vec<OsString>, seed: Option<u64>) -> SafeText {
    let mut words: Vec<String> = variables
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| {
            let value = SafeText::from(&*value.to_string_lossy());
            format!("{name}={}", quoted(value.as_str()))
        })
        .collect();
    words.push(PROGRAM.to_owned());
    let mut seed = seed.map(|seed| format!("--random-seed {seed}"));
    let mut option = None;
    for argument in arguments {
        let argument = argument.to_string_lossy();
        words.push(quoted(&safe_argument(option.as_deref(), &argument)));
        option = Some(argument.to_string());
        // Not at the end, because `--` may have ended the options.
        if COMMANDS.contains(&&*argument) {
            words.extend(seed.take());
        }
    }
    words.extend(seed);
    SafeText::from(words.join(" "))
}

/// Options that define something by name.
const DEFINITIONS: [&str; 5] = ["-D", "--define", "--key", "--set", "--factor"];

/// Masks secrets in an argument. In a definition with a secret name the whole value is masked, including spaces.
fn safe_argument(option: Option<&str>, argument: &str) -> String {
    let is_value = option
        .is_some_and(|option| DEFINITIONS.contains(&option) || cluster_with_definition(option) == Some(""));
    let attached = DEFINITIONS.iter().find_map(|option| argument.strip_prefix(option));
    let attached = attached.or_else(|| cluster_with_definition(argument));
    let definition = if is_value { Some(argument) } else { attached };
    match definition.and_then(|definition| definition.trim_start_matches('=').split_once('=')) {
        Some((name, value)) => {
            let before = &argument[..argument.len() - value.len()];
            format!("{before}{}", SafeText::named(name, value))
        }
        None => SafeText::from(argument).into(),
    }
}

/// The part after `D` in `-SDname=value`: one word can contain several short options.
fn cluster_with_definition(argument: &str) -> Option<&str> {
    let (flags, definition) = argument.strip_prefix('-')?.split_once('D')?;
    flags.bytes().all(|flag| flag.is_ascii_alphanumeric()).then_some(definition)
}

/// Quotes a word for a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &[&str], seed: Option<u64>, expected: &str) {
        let arguments = arguments.iter().map(OsString::from).collect();
        assert_eq!(compose(Vec::new(), arguments, seed).as_str(), expected);
    }

    #[test]
    fn a_seed_that_was_drawn_follows_the_command() {
        check(&["bench", "-c", "8", "db"], Some(7), "pgmeter bench --random-seed 7 -c 8 db");
        check(
            &["--color=never", "bench", "--", "db"],
            Some(7),
            "pgmeter --color=never bench --random-seed 7 -- db",
        );
        check(&["bench", "--random-seed", "5"], None, "pgmeter bench --random-seed 5");
    }

    #[test]
    fn words_are_quoted_so_that_a_shell_reads_them_back() {
        let arguments = ["bench", "-f", "my script.sql", "-D", "a='b'", ""];
        check(&arguments, None, r"pgmeter bench -f 'my script.sql' -D 'a='\''b'\''' ''");
    }

    #[test]
    fn a_password_in_a_connection_string_is_masked() {
        let uri = "postgresql://me:hunter2@host/db";
        check(&["bench", uri], None, "pgmeter bench 'postgresql://me:***@host/db'");
        let conninfo = "host=a password=hunter2";
        check(&["bench", conninfo, "-S"], None, "pgmeter bench 'host=a password=***' -S");
    }

    #[test]
    fn a_definition_with_a_secret_name_is_masked_as_a_whole() {
        let masked = [
            (vec!["-D", "token=a b"], "-D 'token=***'"),
            (vec!["-Dapi_key=a b"], "'-Dapi_key=***'"),
            (vec!["-SD", "token=a b"], "-SD 'token=***'"),
            (vec!["-SDtoken=a b"], "'-SDtoken=***'"),
            (vec!["--define=pwd=a=b", "-S"], "'--define=pwd=***' -S"),
            (vec!["--set", "app.secret=a b"], "--set 'app.secret=***'"),
            (vec!["-D", "keys=1000"], "-D keys=1000"),
            (vec!["-D", "dsn=host=h password=abc"], "-D 'dsn=host=h password=***'"),
        ];
        for (arguments, expected) in masked {
            check(&[&["bench"], arguments.as_slice()].concat(), None, &format!("pgmeter bench {expected}"));
        }
    }

    #[test]
    fn variables_that_say_where_the_server_is_come_first() {
        let variables = vec![("PGHOST".to_owned(), "/tmp/a b".into()), ("PGPORT".to_owned(), "".into())];
        let command = compose(variables, vec!["bench".into()], None);
        assert_eq!(command.as_str(), "PGHOST='/tmp/a b' pgmeter bench");
    }
}
