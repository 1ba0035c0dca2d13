//! The build of all that the tests, the fuzzer and `tidy` need, so that no later step of `ci` builds it again with other
//! features or another profile. Finds the programs in cargo's messages; `ci` runs the build and the programs.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// What cargo is asked to build: the targets of `cargo test`, and the programs that it does not need.
pub const BUILD: [&str; 12] = [
    "build",
    "--workspace",
    "--locked",
    "--quiet",
    "--tests",
    "--examples",
    "--benches",
    "--bin",
    PGMETER,
    "--bin",
    FUZZER,
    "--message-format=json",
];

const PGMETER: &str = "pgmeter";
const FUZZER: &str = "pgmeter-fuzz";

/// What the compiler and clippy have to say, as they show it: warnings and errors of this project. Cargo's own warnings, such as
/// that of a slow network, are none.
pub fn diagnostics(messages: &str) -> String {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let of_compiler = messages.filter(|message| message["reason"] == "compiler-message");
    let is_counted = |message: &Value| matches!(message["level"].as_str(), Some("warning" | "error"));
    let found = of_compiler.map(|message| message["message"].clone()).filter(is_counted);
    found.filter_map(|message| message["rendered"].as_str().map(str::to_owned)).collect()
}

/// Paths of programs that steps of `ci` start.
#[derive(Debug, PartialEq, Eq)]
pub struct Programs {
    /// The product.
    pub pgmeter: PathBuf,
    /// The fuzzer.
    pub fuzzer: PathBuf,
    /// The programs with tests.
    pub tests: Vec<TestProgram>,
}

/// A program with the tests of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestProgram {
    /// Package and target, as `pgmeter-stats/simulations`.
    pub name: String,
    /// The executable.
    pub path: PathBuf,
    /// The folder of the package, in which cargo runs the tests.
    pub folder: PathBuf,
}

impl TestProgram {
    /// From a message of cargo about a target; `None` if the target has no tests.
    fn parse(message: &Value) -> Option<TestProgram> {
        if message["profile"]["test"] != true || message["target"]["kind"][0] == "bench" {
            return None;
        }
        let path = PathBuf::from(message["executable"].as_str()?);
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
        // As path+file:///…/crates/stats#pgmeter-stats@0.1.0
        let package = message["package_id"].as_str()?.rsplit(['/', '#']).next()?.split('@').next()?;
        let target = message["target"]["name"].as_str()?;
        Some(TestProgram { name: format!("{package}/{target}"), path, folder })
    }
}

impl Programs {
    /// The programs in cargo's messages, a JSON object in each line; `None` if one is missing.
    pub fn parse(messages: &str) -> Option<Programs> {
        let messages: Vec<Value> =
            messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let path_of = |name: &str| {
            // The unit tests of a program have its name.
            let is_program = |message: &&Value| {
                message["target"]["name"] == name
                    && message["target"]["kind"][0] == "bin"
                    && message["profile"]["test"] == false
            };
            messages.iter().filter(is_program).find_map(|message| message["executable"].as_str())
        };
        let (pgmeter, fuzzer) = (path_of(PGMETER)?.into(), path_of(FUZZER)?.into());
        Some(Programs { pgmeter, fuzzer, tests: messages.iter().filter_map(TestProgram::parse).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(name: &str, kind: &str, is_test: bool, executable: &str) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","package_id":"path+file:///w/crates/a#pgmeter-a@0.1.0","manifest_path":"/w/crates/a/Cargo.toml","target":{{"kind":["{kind}"],"name":"{name}"}},"profile":{{"test":{is_test}}},"executable":"{executable}"}}"#
        )
    }

    #[test]
    fn programs_are_found_beside_their_unit_tests_and_libraries() {
        let messages = [
            message("pgmeter", "bin", true, "/t/deps/pgmeter-1"),
            message("rows", "bench", true, "/t/deps/rows-1"),
            r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"pgmeter"},"profile":{"test":false},"executable":null}"#.to_owned(),
            message("pgmeter", "bin", false, "/t/pgmeter"),
            message("pgmeter-fuzz", "bin", false, "/t/pgmeter-fuzz"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let found = Programs::parse(&messages.join("\n")).unwrap();
        assert_eq!((found.pgmeter, found.fuzzer), ("/t/pgmeter".into(), "/t/pgmeter-fuzz".into()));
        let name = "pgmeter-a/pgmeter".to_owned();
        let folder = "/w/crates/a".into();
        assert_eq!(found.tests, [TestProgram { name, path: "/t/deps/pgmeter-1".into(), folder }]);
    }

    #[test]
    fn warnings_and_errors_of_the_compiler_are_shown_and_nothing_else() {
        let message = |level: &str, text: &str| {
            format!(
                r#"{{"reason":"compiler-message","message":{{"level":"{level}","rendered":"{text}\n"}}}}"#
            )
        };
        let messages = [
            message("warning", "warning: unused"),
            message("note", "note: a warning"),
            message("error", "error: no such type"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
            "warning: spurious network error".to_owned(),
        ];
        assert_eq!(diagnostics(&messages.join("\n")), "warning: unused\nerror: no such type\n");
    }

    #[test]
    fn a_build_without_one_of_the_programs_has_none() {
        assert_eq!(Programs::parse(&message("pgmeter", "bin", false, "/t/pgmeter")), None);
        assert_eq!(Programs::parse(""), None);
    }
}
