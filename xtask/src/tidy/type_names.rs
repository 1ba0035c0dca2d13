//! A type that other modules can name has a name of its own within its crate: who reads it need not look at the imports.
//! Names in different crates may be the same; they are written with their crate.

use std::collections::BTreeMap;

use super::tree::{Problem, Tree};

const KINDS: [&str; 5] = ["struct", "enum", "trait", "type", "union"];

/// Compares the names of all types with a visibility, by crate.
pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut known: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut problems = Vec::new();
    for file in &tree.files {
        let Some((root, _)) = file.path.split_once("/src/") else { continue };
        for (index, line) in file.production.lines().enumerate() {
            let Some(name) = visible_type(line) else { continue };
            if let Some(other) = known.insert((root, name), &file.path) {
                let text =
                    format!("{name} is the name of a type in {other} too: say in the name what it is of");
                problems.push(Problem::at_line(&file.path, index + 1, text));
            }
        }
    }
    problems
}

/// The name of the type that a line defines for other modules. A type within a module of a file stands further in.
fn visible_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub")?;
    let rest = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest);
    let (kind, rest) = rest.trim_start().split_once(' ')?;
    let name = rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
    KINDS.contains(&kind).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::texts;

    #[test]
    fn a_name_stands_once_in_a_crate() {
        let found = texts(&check(&Tree::from_texts(&[
            (
                "crates/a/src/b.rs",
                "pub struct Plan;\nstruct Row;\n#[cfg(test)]\nmod tests { pub struct Plan; }",
            ),
            ("crates/a/src/c.rs", "pub(crate) enum Plan<T> {}\nstruct Row;\npub fn plan() -> Plan {}"),
            ("crates/d/src/c.rs", "pub trait Plan {}"),
        ])));
        assert_eq!(
            found,
            ["Plan is the name of a type in crates/a/src/b.rs too: say in the name what it is of"]
        );
    }
}
