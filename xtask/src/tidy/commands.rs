//! What the documents tell a reader to type, and what the manifests run, exists: each `pgmeter` command and option is
//! in the program's own help, each `cargo xtask` command is one of ours. Asks the program; knows no list of its own.

use std::collections::BTreeMap;

use super::tree::{Problem, Tree};

/// Tells of the past, so it may name what is gone.
const HISTORIES: [&str; 2] = ["CHANGELOG.md", "docs/decisions/"];
/// How a document calls the program, and how it calls it from a clone.
const PROGRAM_CALLS: [&str; 2] = ["pgmeter", "cargo run --release --"];
const XTASK_CALL: &str = "cargo xtask";

/// Looks at each line of shell in the Markdown files, and at each command in the YAML files. `help` returns what the
/// program says about a command when asked for help, or nothing if there is no such command; `chores` are xtask's own
/// commands.
pub fn check(tree: &Tree, chores: &[&str], help: &mut dyn FnMut(&[&str]) -> Option<String>) -> Vec<Problem> {
    let mut known = BTreeMap::new();
    let mut problems = Vec::new();
    for file in tree.ending(".md").filter(|file| !HISTORIES.iter().any(|path| file.path.starts_with(path))) {
        for (line, command) in shell_lines(&file.text) {
            let wrong = match after(command, XTASK_CALL) {
                Some(rest) => wrong_chore(rest, chores),
                None => PROGRAM_CALLS
                    .iter()
                    .find_map(|call| after(command, call))
                    .and_then(|rest| wrong_call(rest, &mut known, help)),
            };
            problems.extend(wrong.map(|text| Problem::at_line(&file.path, line, text)));
        }
    }
    for file in tree.ending(".yaml") {
        for (line, words) in manifest_commands(&file.text) {
            let Some(words) = words else {
                problems.push(Problem::at_line(
                    &file.path,
                    line,
                    "write one word of a command per line, as `- word`",
                ));
                continue;
            };
            let call = words.iter().position(|word| *word == PROGRAM_CALLS[0]);
            let wrong = call.and_then(|at| wrong_call(words[at + 1..].to_vec(), &mut known, help));
            problems.extend(wrong.map(|text| Problem::at_line(&file.path, line, text)));
        }
    }
    problems
}

/// The words of each `command:` and `args:` of a Kubernetes manifest, with the line of the key; `None` if they do not
/// stand below it, one on a line. Lines that are no items, such as comments and lines of a script, are no words.
fn manifest_commands(text: &str) -> Vec<(usize, Option<Vec<&str>>)> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = text.lines().collect();
    let keys = lines.iter().enumerate().filter_map(|(index, line)| {
        let key = line.trim_start().trim_start_matches("- ");
        let value = key.strip_prefix("command:").or_else(|| key.strip_prefix("args:"))?;
        Some((index, value.trim()))
    });
    let is_empty = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let command = |(index, value): (usize, &str)| {
        let below = || lines[index + 1..].iter().filter(|line| !is_empty(line));
        let first = below().next().filter(|line| value.is_empty() && line.trim_start().starts_with("- "));
        let words = first.map(|first| {
            let items = below().take_while(|line| indent(line) >= indent(first));
            let items = items.filter(|line| indent(line) == indent(first));
            items.map_while(|line| line.trim_start().strip_prefix("- ")).map(unquoted).collect()
        });
        (index + 1, words)
    };
    keys.map(command).collect()
}

fn unquoted(word: &str) -> &str {
    let word = word.trim();
    let inner = |quote| word.strip_prefix(quote).and_then(|word| word.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(word)
}

/// Lines after a `$ ` prompt, or all lines of blocks marked `sh` or `bash`.
fn shell_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut block: Option<&str> = None;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            block = if block.is_some() { None } else { Some(kind.trim()) };
            return None;
        }
        let prompted = line.trim_start().strip_prefix("$ ");
        match block? {
            "sh" | "bash" => Some((index + 1, prompted.unwrap_or(line.trim()))),
            _ => Some((index + 1, prompted?)),
        }
    })
}

/// The words after `call`, if the command begins with it; `NAME=value` before it is skipped.
fn after<'a>(command: &'a str, call: &str) -> Option<Vec<&'a str>> {
    let mut words = command.split_whitespace().skip_while(|word| word.contains('='));
    if !call.split_whitespace().all(|expected| words.next() == Some(expected)) {
        return None;
    }
    let ends = |word: &&str| matches!(*word, "|" | "&&" | ";" | ">" | "&") || word.starts_with('#');
    Some(words.take_while(|word| !ends(word)).collect())
}

fn wrong_chore(rest: Vec<&str>, chores: &[&str]) -> Option<String> {
    let chore = rest.first().copied().unwrap_or_default();
    (!chores.contains(&chore)).then(|| format!("`{XTASK_CALL} {chore}`: there is no such chore"))
}

/// What is wrong with the words after the program's name: its commands first, then their options.
fn wrong_call(
    rest: Vec<&str>,
    known: &mut BTreeMap<String, Option<String>>,
    help: &mut dyn FnMut(&[&str]) -> Option<String>,
) -> Option<String> {
    let commands = rest.iter().take_while(|word| is_command(word)).copied().collect::<Vec<_>>();
    let mut ask = |words: &[&str]| known.entry(words.join(" ")).or_insert_with(|| help(words)).clone();
    // `server start` is a command of two words, `init postgres` one with an argument: the longest wins.
    let found = (0..=commands.len()).rev().find_map(|n| Some((n, ask(&commands[..n])?)));
    let Some((taken, text)) = found else { return Some("the program gave no help at all".to_owned()) };
    if taken == 0 && !commands.is_empty() {
        return Some(format!("`pgmeter {}`: the program has no such command", commands[0]));
    }
    let options = rest.iter().filter(|word| word.starts_with('-')).map(|word| word.split('=').next());
    let unknown = options.flatten().find(|option| !has_option(&text, option))?;
    Some(format!("`pgmeter {} {unknown}`: the program has no such option", commands[..taken].join(" ")))
}

fn is_command(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

/// Whether a help text lists an option: the word itself, or the letter that a value is joined to (`-c8`).
fn has_option(help: &str, option: &str) -> bool {
    let mut words = help.split(|c: char| c.is_whitespace() || matches!(c, ',' | '=' | '[' | ']' | '<' | '`'));
    let is_joined = !option.starts_with("--") && option.len() > 2 && option.is_char_boundary(2);
    words.any(|word| word == option || is_joined && word == &option[..2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::texts;

    fn check_text(text: &str) -> Vec<String> {
        let mut help = |words: &[&str]| match words {
            [] => Some("Usage: pgmeter <COMMAND>  -V, --version".to_owned()),
            ["bench"] => Some("  -c, --client <N>  --pg-version <V>".to_owned()),
            ["server"] => Some("Commands: start".to_owned()),
            ["server", "start"] => Some("  --keep".to_owned()),
            _ => None,
        };
        texts(&check(&Tree::from_texts(&[("README.md", text)]), &["ci", "tidy"], &mut help))
    }

    #[test]
    fn commands_that_exist_pass() {
        for line in [
            "pgmeter --version",
            "PGPORT=1 pgmeter bench postgres -c8 --pg-version=18 # a word",
            "cargo run --release -- server start --keep | tee --unknown",
            "cargo xtask ci",
            "ls --unknown",
        ] {
            assert_eq!(check_text(&format!("```sh\n{line}\n```\n")), [""; 0], "{line}");
            assert_eq!(check_text(&format!("```console\n$ {line}\n")), [""; 0], "{line}");
        }
    }

    #[test]
    fn a_command_that_does_not_exist_is_a_problem() {
        assert_eq!(
            check_text("```sh\npgmeter lab run x.toml\n```"),
            ["`pgmeter lab`: the program has no such command"]
        );
        assert_eq!(
            check_text("```sh\ncargo xtask bench\n```"),
            ["`cargo xtask bench`: there is no such chore"]
        );
    }

    #[test]
    fn an_option_that_does_not_exist_is_a_problem() {
        for line in ["pgmeter bench --rate 5", "pgmeter bench -x", "cargo run --release -- server start -c 1"]
        {
            assert_eq!(check_text(&format!("```console\n$ {line}\n```")).len(), 1, "{line}");
        }
    }

    fn check_manifest(text: &str) -> Vec<String> {
        let mut help = |words: &[&str]| match words {
            [] => Some("Usage: pgmeter <COMMAND>".to_owned()),
            ["bench"] => Some("  -c, --clients <N>  -T <TIME>".to_owned()),
            _ => None,
        };
        texts(&check(&Tree::from_texts(&[("examples/job.yaml", text)]), &[], &mut help))
    }

    #[test]
    fn a_command_of_a_manifest_is_checked() {
        let job = "  - name: a\n    command:\n      - mpiexec\n      - -n\n      # why\n      - pgmeter\n      - bench\n\
                   \x20     - --clients\n      - \"4\"\n    env:\n      - --unknown\n";
        assert_eq!(check_manifest(job), [""; 0]);
        assert_eq!(
            check_manifest(&job.replace("--clients", "--client")),
            ["`pgmeter bench --client`: the program has no such option"]
        );
        assert_eq!(
            check_manifest(&job.replace("- bench", "- 'benches'")),
            ["`pgmeter benches`: the program has no such command"]
        );
        let script = "command:\n- sh\n- |\n  for i in 1\n  - --x\n- pgmeter\nargs:\n  - -T\n";
        assert_eq!(check_manifest(script), [""; 0]);
    }

    #[test]
    fn a_command_of_a_manifest_in_another_form_is_a_problem() {
        for line in [
            "args: [pgmeter, bench]",
            "- command: [\"sh\"]",
            "args: |",
            "command:",
            "args:\n  pgmeter x\n- a",
        ] {
            assert_eq!(check_manifest(line), ["write one word of a command per line, as `- word`"], "{line}");
        }
    }

    #[test]
    fn output_and_prose_are_no_commands() {
        assert_eq!(check_text("pgmeter lab\n```console\npgmeter lab\n```\n```\npgmeter lab\n```\n"), [""; 0]);
    }

    #[test]
    fn the_past_may_name_what_is_gone() {
        let tree = Tree::from_texts(&[("CHANGELOG.md", "```sh\npgmeter gone\n```")]);
        assert_eq!(check(&tree, &[], &mut |_| None), []);
    }
}
