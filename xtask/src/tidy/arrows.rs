//! The dependency arrows printed in ARCHITECTURE.md are exactly those of the crates' Cargo.toml files: a new edge between
//! crates changes the document in the same commit. No crate depends on one of a higher layer of the code map. Test kits stay
//! out of products.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{Problem, Tree};

const MAP: &str = "ARCHITECTURE.md";
const ARROW: &str = "→";
/// A line of the code map from which on the crates are those of a layer.
const LAYER: &str = "| **layer ";
/// May be a dev-dependency of all, and a dependency of none.
const ONLY_FOR_TESTS: [&str; 3] = ["testkit", "fuzz", "power_loss"];

type Edges<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Compares arrows and manifests, in both directions.
pub fn check(tree: &Tree) -> Vec<Problem> {
    let Some(map) = tree.file(MAP) else {
        return vec![Problem::in_file(MAP, "is missing; it draws the map")];
    };
    let drawn = drawn_edges(&map.text);
    let layers = layers(&map.text);
    let names = tree.crates();
    let mut problems = Vec::new();
    for &name in &names {
        let path = format!("crates/{name}/Cargo.toml");
        let Some(manifest) = tree.file(&path) else {
            problems.push(Problem::in_file(&path, "is missing; each folder of crates/ is a crate"));
            continue;
        };
        let real = dependencies(&manifest.text, &names);
        let empty = BTreeSet::new();
        let arrows = drawn.get(name).unwrap_or(&empty);
        if !drawn.contains_key(name) {
            problems.push(Problem::in_file(
                MAP,
                format!("no line of arrows for `{name}`: add `{name} {ARROW} …`"),
            ));
        }
        for to in real.difference(arrows) {
            let text = format!(
                "uses `{to}`, and {MAP} has no arrow {name} {ARROW} {to}: draw it, or take another way"
            );
            problems.push(Problem::in_file(&path, text));
        }
        for to in arrows.difference(&real) {
            let text = format!("draws {name} {ARROW} {to}, which {path} does not have: remove the arrow");
            problems.push(Problem::in_file(MAP, text));
        }
        for to in real.iter().filter(|to| layers.get(*to) > layers.get(name) && layers.contains_key(name)) {
            let text = format!("uses `{to}` of a higher layer ({MAP}): move what both need down");
            problems.push(Problem::in_file(&path, text));
        }
        for kit in ONLY_FOR_TESTS.iter().filter(|kit| real.contains(*kit)) {
            problems.push(Problem::in_file(&path, format!("`{kit}` may only be a dev-dependency")));
        }
    }
    let gone = drawn.keys().filter(|name| !names.contains(*name));
    problems.extend(
        gone.map(|name| Problem::in_file(MAP, format!("draws arrows from `{name}`, which is no crate"))),
    );
    problems
}

/// The lines `name → name, name` (or `name → nothing`) of the fenced blocks.
fn drawn_edges(text: &str) -> Edges<'_> {
    let mut edges = Edges::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        let Some((from, to)) = line.split_once(ARROW) else { continue };
        let from = from.trim();
        let is_name =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        let to = to.split(',').map(str::trim).collect::<Vec<_>>();
        if in_block && is_name(from) && to.iter().all(|name| is_name(name)) {
            let names = to.into_iter().filter(|&name| name != "nothing");
            edges.entry(from).or_default().extend(names);
        }
    }
    edges
}

/// The layers of the crates in the code map.
fn layers(text: &str) -> BTreeMap<&str, u32> {
    let mut layers = BTreeMap::new();
    let mut layer = None;
    for line in text.lines() {
        if line.starts_with("| **") || line.starts_with("## ") {
            let number = line.strip_prefix(LAYER).and_then(|rest| rest.split(':').next());
            layer = number.and_then(|number| number.parse().ok());
        }
        let name = line.strip_prefix("| `crates/").and_then(|rest| rest.split('/').next());
        if let (Some(name), Some(layer)) = (name, layer) {
            layers.insert(name, layer);
        }
    }
    layers
}

/// Which of `ours` a manifest has under `[dependencies]` (also for one target, or for the build).
fn dependencies<'a>(manifest: &'a str, ours: &BTreeSet<&str>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut counts = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            counts = section.ends_with("dependencies") && !section.ends_with("dev-dependencies");
        } else if counts {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            if ours.contains(name) {
                found.insert(name);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::texts;

    const DRAWN: &str = "# Map\n```\nengine → wire, stats\nwire → nothing\nstats → nothing\n```\n";
    const ENGINE: &str =
        "[dependencies]\nwire.workspace = true\nmio = \"1\"\n[dev-dependencies]\ntestkit.workspace = true\n";

    fn check_tree(map: &str, engine: &str) -> Vec<String> {
        let mut problems = texts(&check(&Tree::from_texts(&[
            ("ARCHITECTURE.md", map),
            ("crates/engine/Cargo.toml", engine),
            ("crates/wire/Cargo.toml", "[dependencies]\n"),
            ("crates/stats/Cargo.toml", "[dependencies]\n"),
        ])));
        problems.sort();
        problems
    }

    #[test]
    fn arrows_that_equal_the_manifests_pass() {
        let both = format!("{ENGINE}[dependencies]\nstats = {{ workspace = true }}\n");
        assert_eq!(check_tree(DRAWN, &both), [""; 0]);
    }

    #[test]
    fn an_edge_that_is_not_drawn_is_a_problem() {
        let problems = check_tree("```\nengine → stats\nwire → nothing\nstats → nothing\n```", ENGINE);
        assert!(problems[1].starts_with("uses `wire`"), "{problems:?}");
    }

    #[test]
    fn an_arrow_without_an_edge_is_a_problem() {
        let problems = check_tree(DRAWN, ENGINE);
        assert!(problems[0].starts_with("draws engine → stats"), "{problems:?}");
    }

    #[test]
    fn a_crate_of_a_higher_layer_is_not_used() {
        let map = |engine: u32| {
            format!(
                "| **layer 1: a** | | |\n| `crates/wire/` | | |\n| `crates/stats/` | | |\n| **layer {engine}: b** | | |\n| `crates/engine/` | | |\n## B\n{DRAWN}"
            )
        };
        let manifest = "[dependencies]\nwire.workspace = true\nstats.workspace = true\n";
        assert_eq!(check_tree(&map(2), manifest), [""; 0]);
        assert!(check_tree(&map(0), manifest)[0].starts_with("uses `stats` of a higher layer"));
    }

    #[test]
    fn a_crate_without_a_line_and_a_line_without_a_crate_are_problems() {
        let problems = check_tree("```\nengine → wire\nwire → nothing\nlab → wire\n```", ENGINE);
        assert_eq!(
            problems,
            ["draws arrows from `lab`, which is no crate", "no line of arrows for `stats`: add `stats → …`"]
        );
    }

    #[test]
    fn the_test_kit_is_no_part_of_a_product() {
        let tree = Tree::from_texts(&[
            ("ARCHITECTURE.md", "```\nengine → testkit\ntestkit → nothing\n```"),
            ("crates/engine/Cargo.toml", "[dependencies]\ntestkit.workspace = true\n"),
            ("crates/testkit/Cargo.toml", ""),
        ]);
        assert_eq!(texts(&check(&tree)), ["`testkit` may only be a dev-dependency"]);
    }
}
