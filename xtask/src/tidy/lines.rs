//! `cargo xtask lines`: how much product there is to read, by crate, and a cap for crates that must stay small.
//!
//! A product line is a line of Rust below `crates/` or `xtask/` that holds code or a part of a text in quotes. Not counted
//! are blank lines, comments (doc comments too), items under `#[cfg(test)]`, modules in files of their own that are
//! declared so, `tests.rs`, and everything below `tests/`, `examples/` and `benches/`. Crates for developers are
//! listed, and are not part of the product.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::tree::{File, Problem, Tree};

/// Crates that no user gets.
const FOR_DEVELOPERS: [&str; 4] = ["testkit", "fuzz", "power_loss", "xtask"];

/// A crate, the most product lines that it may have, and why.
const CAPS: [(&str, usize, &str); 1] = [(
    "cli",
    4_000,
    "the program reads options, owns the terminal and returns an exit status; what it executes belongs into a library",
)];

const USAGE: &str = "usage: cargo xtask lines [REVISION]\n\
    REVISION is a commit, such as HEAD~1, to compare with.";

/// Product lines by crate.
#[derive(Debug, Default, PartialEq, Eq)]
struct Lines(BTreeMap<String, usize>);

impl Lines {
    fn new(tree: &Tree) -> Lines {
        let mut lines = Lines::default();
        for file in tree.ending(".rs") {
            if let Some(name) = crate_of(file) {
                *lines.0.entry(name.to_owned()).or_default() += file.product_lines();
            }
        }
        lines
    }

    fn of_crate(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or(0)
    }

    fn total(&self) -> usize {
        let product = self.0.iter().filter(|(name, _)| !FOR_DEVELOPERS.contains(&name.as_str()));
        product.map(|(_, lines)| lines).sum()
    }
}

fn crate_of(file: &File) -> Option<&str> {
    file.crate_name().or_else(|| file.path.starts_with("xtask/").then_some("xtask"))
}

/// Prints the table, beside that of a revision if one is named; false if it cannot be read.
pub fn run(arguments: &[&str], root: &Path) -> bool {
    let table = match arguments {
        [] => read(root).map(|now| table(&now, None)),
        [revision] if !revision.starts_with('-') => {
            read(root).and_then(|now| Ok(table(&now, Some(&read_revision(root, revision)?))))
        }
        _ => Err(USAGE.to_owned()),
    };
    match table {
        Ok(ref table) => print!("{table}"),
        Err(ref error) => eprintln!("{error}"),
    }
    table.is_ok()
}

fn read(root: &Path) -> Result<Lines, String> {
    let tree = Tree::read(root).map_err(|error| format!("could not read {}: {error}", root.display()))?;
    Ok(Lines::new(&tree))
}

/// The lines of a commit, by way of a temporary folder.
fn read_revision(root: &Path, revision: &str) -> Result<Lines, String> {
    let complain = |error| format!("could not unpack {revision}: {error}");
    let folder = tempfile::tempdir().map_err(complain)?;
    let mut archive = Command::new("git")
        .current_dir(root)
        .args(["archive", "--format=tar", revision, "crates", "xtask"])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(complain)?;
    let mut unpack = Command::new("tar");
    unpack.args(["-x", "-C"]).arg(folder.path());
    let unpacked = unpack
        .stderr(Stdio::null())
        .stdin(archive.stdout.take().map_or_else(Stdio::null, Stdio::from))
        .status();
    let is_archived = archive.wait().map_err(complain)?.success();
    if !is_archived || !unpacked.map_err(complain)?.success() {
        return Err(format!("could not unpack {revision}: name a commit of this repository"));
    }
    read(folder.path())
}

/// A line for each crate, the sum of the product, and the crates for developers.
fn table(now: &Lines, before: Option<&Lines>) -> String {
    let mut names: Vec<&str> =
        now.0.keys().chain(before.iter().flat_map(|it| it.0.keys())).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let (developers, product): (Vec<&str>, Vec<&str>) =
        names.into_iter().partition(|name| FOR_DEVELOPERS.contains(name));
    let mut out = String::new();
    let mut row = |name: &str, count: &dyn Fn(&Lines) -> usize| {
        let now = count(now);
        let _ = match before.map(count) {
            None => writeln!(out, "{name:<15} {now:>7}"),
            Some(before) => {
                writeln!(
                    out,
                    "{name:<15} {before:>7} {now:>7} {:>+7}",
                    now.cast_signed() - before.cast_signed()
                )
            }
        };
    };
    for name in product {
        row(name, &|lines| lines.of_crate(name));
    }
    row("product", &Lines::total);
    for name in developers {
        row(&format!("({name})"), &|lines| lines.of_crate(name));
    }
    out
}

/// Looks for crates above their caps.
pub fn check(tree: &Tree) -> Vec<Problem> {
    over(&Lines::new(tree), &CAPS)
}

fn over(lines: &Lines, caps: &[(&str, usize, &str)]) -> Vec<Problem> {
    let over = caps.iter().map(|cap| (cap, lines.of_crate(cap.0))).filter(|(cap, count)| *count > cap.1);
    over.map(|((name, most, why), count)| {
        Problem::in_file(&format!("crates/{name}"), format!("{count} product lines, more than {most}: {why}"))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::texts;

    fn check_text(path: &str, text: &str, expected: usize) {
        let lines = Lines::new(&Tree::from_texts(&[(path, text)]));
        assert_eq!(lines.0.values().sum::<usize>(), expected, "{path}: {text}");
    }

    #[test]
    fn code_and_texts_count_and_comments_and_blank_lines_do_not() {
        check_text(
            "crates/a/src/b.rs",
            "//! What.\n\n/// Says.\nfn f() { // why\n    /* more\n       more */\n}\n",
            2,
        );
        check_text("crates/a/src/b.rs", "const TEXT: &str = \"one\n\n// two\n\";\n", 3);
        check_text("crates/a/src/b.rs", "const URL: &str = \"http://a\"; // why\n", 1);
    }

    #[test]
    fn items_under_cfg_test_do_not_count() {
        let text = "fn f() {}\n#[cfg(test)]\n#[allow(x)]\nmod tests {\n    fn g() { \"}\"; }\n}\n#[cfg(test)]\nuse a;\nfn h() {}\n";
        check_text("crates/a/src/b.rs", text, 2);
    }

    #[test]
    fn files_of_tests_examples_and_benches_do_not_count() {
        for path in ["tests/b.rs", "examples/b.rs", "benches/b.rs", "src/b/tests.rs", "src/tests/b.rs"] {
            check_text(&format!("crates/a/{path}"), "fn f() {}\n", 0);
        }
        check_text("crates/a/src/b.rs", "fn f() {}\n", 1);
        check_text("xtask/src/b.rs", "fn f() {}\n", 1);
        check_text("docs/b.rs", "fn f() {}\n", 0);
    }

    #[test]
    fn a_module_declared_for_tests_does_not_count_in_its_own_file_either() {
        let count = |declared_in: &str, files: &[&str]| {
            let mut tree = vec![(declared_in, "#[cfg(test)]\nmod attacks;\nmod attack;\n")];
            tree.extend(files.iter().map(|path| (*path, "fn f() {}\n")));
            Lines::new(&Tree::from_texts(&tree)).total()
        };
        assert_eq!(
            count("crates/a/src/lib.rs", &["crates/a/src/attacks.rs", "crates/a/src/attacks/b.rs"]),
            1
        );
        assert_eq!(count("crates/a/src/b.rs", &["crates/a/src/b/attacks.rs"]), 1);
        assert_eq!(count("crates/a/src/b/mod.rs", &["crates/a/src/b/attacks.rs"]), 1);
        assert_eq!(count("crates/a/src/lib.rs", &["crates/a/src/attack.rs", "crates/a/src/b/attacks.rs"]), 3);
    }

    #[test]
    fn the_table_sums_the_product_and_shows_what_changed() {
        let lines = |counts: &[(&str, usize)]| {
            Lines(counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect())
        };
        let now = lines(&[("cli", 40), ("run", 70), ("testkit", 5), ("xtask", 9)]);
        assert_eq!(
            table(&now, None),
            "cli                  40\nrun                  70\nproduct             110\n(testkit)             5\n(xtask)               9\n"
        );
        let table = table(&now, Some(&lines(&[("cli", 130), ("testkit", 5)])));
        assert!(table.contains("cli                 130      40     -90\n"), "{table}");
        assert!(table.contains("run                   0      70     +70\n"), "{table}");
        assert!(table.contains("product             130     110     -20\n"), "{table}");
    }

    #[test]
    fn a_crate_above_its_cap_is_a_problem() {
        let lines = Lines::new(&Tree::from_texts(&[("crates/cli/src/a.rs", "fn f() {}\nfn g() {}\n")]));
        assert_eq!(over(&lines, &[("cli", 2, "it is thin")]), []);
        assert_eq!(
            texts(&over(&lines, &[("cli", 1, "it is thin")])),
            ["2 product lines, more than 1: it is thin"]
        );
    }
}
