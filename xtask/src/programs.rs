//! The build of all that the tests, the fuzzer and `tidy` need, so that no later step of `ci` builds it again with other
//! features or another profile. Finds the programs in cargo's messages; `ci` runs the build and the programs.

use std::path::PathBuf;

use serde_json::Value;

/// What cargo is asked to build: the targets of `cargo test`, and the programs that it does not need.
pub const BUILD: [&str; 11] = [
    "build",
    "--workspace",
    "--locked",
    "--quiet",
    "--tests",
    "--examples",
    "--bin",
    PGMETER,
    "--bin",
    FUZZER,
    "--message-format=json-render-diagnostics",
];

const PGMETER: &str = "pgmeter";
const FUZZER: &str = "pgmeter-fuzz";

/// Paths of programs that steps of `ci` start.
#[derive(Debug, PartialEq, Eq)]
pub struct Programs {
    /// The product.
    pub pgmeter: PathBuf,
    /// The fuzzer.
    pub fuzzer: PathBuf,
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
        Some(Programs { pgmeter: path_of(PGMETER)?.into(), fuzzer: path_of(FUZZER)?.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(name: &str, kind: &str, is_test: bool, executable: &str) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","target":{{"kind":["{kind}"],"name":"{name}"}},"profile":{{"test":{is_test}}},"executable":"{executable}"}}"#
        )
    }

    #[test]
    fn programs_are_found_beside_their_unit_tests_and_libraries() {
        let messages = [
            message("pgmeter", "bin", true, "/t/deps/pgmeter-1"),
            r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"pgmeter"},"profile":{"test":false},"executable":null}"#.to_owned(),
            message("pgmeter", "bin", false, "/t/pgmeter"),
            message("pgmeter-fuzz", "bin", false, "/t/pgmeter-fuzz"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let found = Programs { pgmeter: "/t/pgmeter".into(), fuzzer: "/t/pgmeter-fuzz".into() };
        assert_eq!(Programs::parse(&messages.join("\n")), Some(found));
    }

    #[test]
    fn a_build_without_one_of_the_programs_has_none() {
        assert_eq!(Programs::parse(&message("pgmeter", "bin", false, "/t/pgmeter")), None);
        assert_eq!(Programs::parse(""), None);
    }
}
