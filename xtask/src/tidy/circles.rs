//! Modules of a crate import each other in one direction: there is no circle of imports, except between a module and
//! those that it is part of. A name counts for the module that defines it, wherever it is imported from.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::source;
use super::tree::{File, Problem, Tree};

/// The names of a module from the crate's root on; the root has none.
type Module = Vec<String>;
/// The modules that a module imports from, each with one of the names.
type Edges = BTreeMap<Module, BTreeMap<Module, String>>;

/// Re-exports are followed so far: one may lead to itself.
const REEXPORTS_MAX: usize = 12;

/// One problem for each set of modules that import each other.
pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut crates: BTreeMap<&str, Modules<'_>> = BTreeMap::new();
    for file in &tree.files {
        let Some((root, path)) = file.path.split_once("/src/").filter(|_| !file.production.is_empty()) else {
            continue;
        };
        crates.entry(root).or_default().files.insert(module_of(path), file);
    }
    crates.into_values().flat_map(Modules::circles).collect()
}

/// The module of a file: `a/b.rs` and `a/b/mod.rs` are `a::b`.
fn module_of(path: &str) -> Module {
    let mut names: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str())) {
        names.pop();
    }
    names
}

/// The modules of a crate.
#[derive(Default)]
struct Modules<'a> {
    files: BTreeMap<Module, &'a File>,
    /// What each module imports, by the name that it has there.
    imports: BTreeMap<Module, BTreeMap<String, Module>>,
}

impl<'a> Modules<'a> {
    fn circles(mut self) -> Vec<Problem> {
        for (module, file) in &self.files {
            let names = imports(&file.production).into_iter().map(|(path, name)| (name, path));
            self.imports.insert(module.clone(), names.collect());
        }
        let edges: Edges =
            self.files.iter().map(|(module, file)| (module.clone(), self.edges(module, file))).collect();
        let mut known = BTreeSet::new();
        let mut problems = Vec::new();
        for (module, file) in &self.files {
            if known.contains(module) {
                continue;
            }
            let Some(circle) = circle(&edges, module) else { continue };
            let together = reached(&edges, module);
            known.extend(together.into_iter().filter(|other| reached(&edges, other).contains(module)));
            let text = format!(
                "imports in a circle: {}; move what both need into a module below them, or pass values",
                sentence(&edges, &circle)
            );
            problems.push(Problem::in_file(&file.path, text));
        }
        problems
    }

    /// The modules that a module imports from. Those above it and below it do not count.
    fn edges(&self, module: &Module, file: &File) -> BTreeMap<Module, String> {
        let imported = imports(&file.production).into_iter().map(|(path, _)| path);
        let mut edges = BTreeMap::new();
        for path in imported.chain(paths(&file.production)) {
            let Some(target) = self.resolve(module, &path, 0) else { continue };
            if !module.starts_with(&target) && !target.starts_with(module) {
                edges.entry(target).or_insert_with(|| path.last().cloned().unwrap_or_default());
            }
        }
        edges
    }

    /// The module that defines what a path in a module names.
    fn resolve(&self, module: &Module, path: &[String], depth: usize) -> Option<Module> {
        let mut place = module.clone();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => (place, rest) = (Module::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    place.pop();
                    rest = &rest[1..];
                }
            }
            name if self.child(module, name).is_some() => {}
            _ => return None,
        }
        while let Some(name) = rest.first() {
            if let Some(child) = self.child(&place, name) {
                (place, rest) = (child, &rest[1..]);
                continue;
            }
            let import = self.imports.get(&place).and_then(|names| names.get(name));
            let Some(import) = import.filter(|_| depth < REEXPORTS_MAX) else { break };
            let whole: Module = import.iter().chain(&rest[1..]).cloned().collect();
            // Otherwise it is a name of another crate.
            return self.resolve(&place, &whole, depth + 1);
        }
        Some(place)
    }

    fn child(&self, module: &Module, name: &str) -> Option<Module> {
        let child: Module = module.iter().map(String::as_str).chain([name]).map(str::to_owned).collect();
        self.files.contains_key(&child).then_some(child)
    }
}

/// The modules that imports lead to from a module.
fn reached(edges: &Edges, from: &Module) -> BTreeSet<Module> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for next in edges.get(module).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    reached
}

/// A shortest circle through a module, which stands at its end too.
fn circle(edges: &Edges, start: &Module) -> Option<Vec<Module>> {
    let mut before: BTreeMap<&Module, &Module> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(module) = open.pop_front() {
        for next in edges.get(module).into_iter().flat_map(BTreeMap::keys) {
            if before.contains_key(next) {
                continue;
            }
            before.insert(next, module);
            if next != start {
                open.push_back(next);
                continue;
            }
            let mut circle = vec![start.clone()];
            let mut at = start;
            while circle.len() == 1 || at != start {
                at = before[at];
                circle.insert(0, at.clone());
            }
            return Some(circle);
        }
    }
    None
}

fn sentence(edges: &Edges, circle: &[Module]) -> String {
    let step = |pair: &[Module]| {
        let (from, to) = (pair[0].join("::"), pair[1].join("::"));
        format!("{from} uses {} of {to}", edges[&pair[0]][&pair[1]])
    };
    circle.windows(2).map(step).collect::<Vec<_>>().join(", ")
}

/// What `use` declarations of masked text import: each path, and the name that it has here.
fn imports(text: &str) -> Vec<(Module, String)> {
    let mut found = Vec::new();
    for (start, end) in declarations(text) {
        for path in expanded(text[start..end].trim()) {
            let (path, name) = path.split_once(" as ").unwrap_or((&path, ""));
            let mut names: Module = path.split("::").map(|name| name.trim().to_owned()).collect();
            if names.last().is_some_and(|name| name == "self") {
                names.pop();
            }
            let own = names.last().cloned().unwrap_or_default();
            found.push((names, if name.is_empty() { own } else { name.trim().to_owned() }));
        }
    }
    found
}

/// Where the trees of `use` declarations are: after the word, and before the semicolon.
fn declarations(text: &str) -> Vec<(usize, usize)> {
    let words = text.match_indices("use ").filter(|(at, _)| starts_word(text, *at));
    words
        .filter_map(|(at, word)| {
            let start = at + word.len();
            Some((start, start + text[start..].find(';')?))
        })
        .collect()
}

/// The paths of a tree: `a::{b, c::{d, e}}` has three.
fn expanded(tree: &str) -> Vec<String> {
    let Some((prefix, list)) = tree.split_once('{') else {
        return vec![tree.trim().to_owned()];
    };
    let list = list.trim_end().strip_suffix('}').unwrap_or(list);
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(expanded).map(|path| format!("{}{path}", prefix.trim())).collect()
}

/// Paths of the own crate in masked text outside of `use` declarations.
fn paths(text: &str) -> Vec<Module> {
    let blanked: Vec<_> = declarations(text).into_iter().map(|(start, end)| start..end).collect();
    let text = source::without_parts(text, &blanked);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for first in ["crate", "super", "self"] {
        for (at, _) in text.match_indices(&format!("{first}::")) {
            // `pub(in crate::a)` imports nothing.
            let is_visibility = text[..at].ends_with("(in ");
            if is_visibility || !starts_word(&text, at) || text[..at].ends_with("::") {
                continue;
            }
            let end = text[at..].find(|c: char| !is_word(c) && c != ':').map_or(text.len(), |end| at + end);
            let names = text[at..end].split("::").filter(|name| !name.is_empty());
            found.push(names.map(|name| name.trim_end_matches(':').to_owned()).collect());
        }
    }
    found
}

fn starts_word(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::texts;

    fn checked(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| (format!("crates/a/src/{path}"), *text)).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        texts(&check(&Tree::from_texts(&files)))
    }

    #[test]
    fn imports_in_one_direction_pass() {
        let found = checked(&[
            ("lib.rs", "mod b;\nmod c;\npub use b::B;"),
            ("b.rs", "use crate::c::{self, C as D};\nfn f() { crate::c::g() }"),
            ("c.rs", "use std::fmt;\n#[cfg(test)]\nmod tests { use crate::b::B; }"),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn modules_that_import_each_other_are_a_problem() {
        let found = checked(&[
            ("lib.rs", "mod b;\nmod c;\nmod d;"),
            ("b.rs", "use crate::{c::C, d};"),
            ("c.rs", "use super::d::{E, F};"),
            ("d.rs", "fn f(_: crate::b::B) {}"),
        ]);
        let sentence = "imports in a circle: b uses d of d, d uses B of b; move what both need into a module below them, or pass values";
        assert_eq!(found, [sentence]);
    }

    #[test]
    fn a_name_belongs_to_the_module_that_defines_it() {
        let found = checked(&[
            ("lib.rs", "mod b;\nmod c;\npub use c::C;"),
            ("b.rs", "use crate::C;"),
            ("c/mod.rs", "mod e;\npub use e::C;"),
            ("c/e.rs", "use crate::b::B;"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("b uses C of c::e, c::e uses B of b"), "{found:?}");
    }

    #[test]
    fn a_module_and_its_parts_may_import_each_other() {
        let found = checked(&[
            ("lib.rs", "mod b;\npub struct A;"),
            ("b/mod.rs", "mod c;\nuse c::C;\nuse crate::A;\npub struct B;"),
            ("b/c.rs", "use super::B;\nuse crate::A;"),
        ]);
        assert_eq!(found, [""; 0]);
    }
}
