//! Links between the Markdown files lead somewhere: the file exists, and so does the heading.
//! Links into the web are not followed.

use super::tree::{Problem, Tree};

/// Follows each link of each Markdown file.
pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.ending(".md") {
        for (line, target) in links(&file.text) {
            if let Some(why) = broken(tree, &file.path, target) {
                problems.push(Problem::at_line(&file.path, line, format!("link to `{target}`: {why}")));
            }
        }
    }
    problems
}

/// What is wrong with a link, if anything.
fn broken(tree: &Tree, from: &str, target: &str) -> Option<&'static str> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { from.to_owned() } else { resolve(from, path) };
    let Some(file) = tree.file(&path) else {
        return (!tree.folders().contains(path.as_str())).then_some("no such file or folder");
    };
    let is_there = anchor.is_empty() || headings(&file.text).any(|heading| anchor_of(heading) == anchor);
    (!is_there).then_some("the file has no such heading")
}

/// A path written in the file `from`, seen from the root.
pub fn resolve(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The targets of the links outside fenced blocks, with their lines.
pub fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).flat_map(|(number, line)| {
        line.match_indices("](").filter_map(move |(at, _)| {
            let target = line[at + 2..].split(')').next()?;
            Some((number, target.split_whitespace().next().unwrap_or_default()))
        })
    })
}

fn headings(text: &str) -> impl Iterator<Item = &str> {
    prose(text).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| line.trim_start_matches('#').trim())
}

/// The lines outside fenced blocks, counted from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_block = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        in_block ^= fence;
        (!in_block && !fence).then_some((index + 1, line))
    })
}

/// What a heading's anchor is called: small letters and digits, blanks as hyphens, nothing else.
fn anchor_of(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::texts;

    fn check_link(target: &str) -> Vec<String> {
        texts(&check(&Tree::from_texts(&[
            ("docs/a.md", &format!("# A title, *really*\n\nSee [it]({target}).\n")),
            ("docs/b.md", "## The `b` side\n```\n# no heading\n```\n"),
            ("README.md", ""),
            ("crates/wire/src/lib.rs", ""),
        ])))
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        for target in [
            "b.md",
            "./b.md#the-b-side",
            "../README.md",
            "../crates/wire/",
            "#a-title-really",
            "https://a.example/b",
        ] {
            assert_eq!(check_link(target), [""; 0], "{target}");
        }
    }

    #[test]
    fn a_link_to_nowhere_is_a_problem() {
        for target in ["c.md", "README.md", "../crates/lab/", "b.md#no-heading", "#b"] {
            assert_eq!(check_link(target).len(), 1, "{target}");
        }
    }

    #[test]
    fn what_looks_like_a_link_in_a_block_is_none() {
        assert_eq!(check(&Tree::from_texts(&[("a.md", "```\n[x](nowhere.md)\n```\n")])), []);
    }
}
