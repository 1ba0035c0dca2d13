//! Crates that can stand alone: `cargo package` accepts them with those that they need, builds what it packed, and their
//! examples run. `ci --all` and `cargo xtask libraries` show the result.

use std::process::{Command, Output, Stdio};

/// The crates that can stand alone, each with an example; `None` if the example needs a server.
const LIBRARIES: [(&str, Option<&str>); 6] = [
    ("pgmeter-datagen", Some("rows")),
    ("pgmeter-isolation", Some("write_skew")),
    ("pgmeter-relay", Some("delay")),
    ("pgmeter-ring", Some("two_sockets")),
    ("pgmeter-tls-scan", None),
    ("pgmeter-wire", Some("query")),
];
/// What they need of this project.
const NEEDED: [&str; 7] = [
    "pgmeter-calendar",
    "pgmeter-connect",
    "pgmeter-encoding",
    "pgmeter-script",
    "pgmeter-sockets",
    "pgmeter-sql",
    "pgmeter-stats",
];

/// Packs the crates and runs the examples.
///
/// # Errors
/// What cargo says, or an example that fails or prints nothing.
pub fn check(cargo: impl Fn(&[&str]) -> Command) -> Result<String, String> {
    let mut words = vec!["package", "--allow-dirty", "--quiet"];
    for name in LIBRARIES.iter().map(|(name, _)| name).chain(&NEEDED) {
        words.extend(["--package", name]);
    }
    run(cargo(&words))?;
    for (name, example) in LIBRARIES {
        let Some(example) = example else { continue };
        let output = run(cargo(&["run", "--quiet", "--package", name, "--example", example]))?;
        if output.stdout.is_empty() {
            return Err(format!("the example {example} of {name} printed nothing"));
        }
    }
    Ok(format!("{} libraries can be packed alone, with {} that they need", LIBRARIES.len(), NEEDED.len()))
}

fn run(mut command: Command) -> Result<Output, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let said = || format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(output) } else { Err(said()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said if cargo is this script.
    fn checked(script: &'static str) -> Result<String, String> {
        check(|words| {
            let mut shell = Command::new("sh");
            shell.args(["-c", script, "cargo"]).args(words);
            shell
        })
    }

    #[test]
    fn a_crate_that_cannot_be_packed_and_an_example_without_output_are_errors() {
        assert!(checked("echo done").is_ok_and(|note| note.starts_with("6 libraries")));
        assert!(checked("[ $1 = run ] || { echo why >&2; exit 1; }").is_err_and(|text| text.contains("why")));
        assert!(checked("true").is_err_and(|text| text.contains("rows of pgmeter-datagen printed nothing")));
    }
}
