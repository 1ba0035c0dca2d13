//! The output of `cargo test`, as counts and as the text of the failures.
//! Runs nothing and judges nothing; `ci` does both.

/// The tests of all test programs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCounts {
    /// Test programs that printed a result.
    pub programs: usize,
    /// Tests that passed.
    pub passed: usize,
    /// Tests that failed.
    pub failed: usize,
    /// Tests that did not run.
    pub ignored: usize,
}

impl TestCounts {
    /// Sums the lines `test result: …` of the whole output.
    pub fn parse(stdout: &str) -> TestCounts {
        let mut counts = TestCounts::default();
        for line in stdout.lines().filter_map(|line| line.strip_prefix("test result: ")) {
            let counted = |what: &str| {
                let part = line.split(['.', ';']).map(str::trim).find_map(|part| part.strip_suffix(what));
                part.and_then(|number| number.trim().parse::<usize>().ok()).unwrap_or(0)
            };
            counts.programs += 1;
            counts.passed += counted("passed");
            counts.failed += counted("failed");
            counts.ignored += counted("ignored");
        }
        counts
    }
}

/// The output of the tests that failed, whole, and the names of those that did not run.
pub fn failures(stdout: &str) -> String {
    let mut text = String::new();
    let mut in_failures = false;
    for line in stdout.lines() {
        in_failures |= line == "failures:";
        if in_failures || line.starts_with("test ") && line.contains("... ignored") {
            text.push_str(line);
            text.push('\n');
        }
        in_failures &= !line.starts_with("test result: ");
    }
    text
}

/// The names of tests that ran for long and did not end, a line each.
pub fn unfinished(stdout: &str) -> String {
    const LONG: &str = " has been running for over 60 seconds";
    let long = stdout.lines().filter_map(|line| line.strip_suffix(LONG));
    let has_ended = |test: &&str| stdout.lines().any(|line| line.starts_with(&format!("{test} ... ")));
    long.filter(|test| !has_ended(test)).map(|test| format!("{test} did not end\n")).collect()
}

/// The names of the tests that failed, in the output of the failures.
pub fn failed_names(failures: &str) -> impl Iterator<Item = &str> {
    failures.lines().filter_map(|line| line.strip_prefix("    ")).filter(|name| {
        !name.is_empty()
            && name.chars().all(|character| character.is_alphanumeric() || "_:".contains(character))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_ran_for_long_and_did_not_end_is_named() {
        let output = "test a::b has been running for over 60 seconds\ntest c has been running for over 60 seconds\n\
                      test c ... ok\n";
        assert_eq!(unfinished(output), "test a::b did not end\n");
    }

    const OUTPUT: &str = "\
running 3 tests
test a ... ok
test b ... FAILED
test c ... ignored, too slow

failures:

---- b stdout ----
why b failed

failures:
    b

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

running 2 tests
test d ... ok
test e ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.27s
";

    #[test]
    fn tests_are_summed_over_all_programs() {
        assert_eq!(TestCounts::parse(OUTPUT), TestCounts { programs: 2, passed: 3, failed: 1, ignored: 1 });
        assert_eq!(TestCounts::parse("error: could not compile"), TestCounts::default());
    }

    #[test]
    fn failures_are_shown_in_full_and_passed_tests_are_not() {
        let text = failures(OUTPUT);
        assert!(text.contains("---- b stdout ----\nwhy b failed\n"));
        assert!(text.contains("test c ... ignored"));
        assert!(!text.contains("test a") && !text.contains("test d"));
    }

    #[test]
    fn failed_tests_are_named() {
        let text = failures(OUTPUT) + "    at a.rs:3\n    not a name\n";
        assert_eq!(failed_names(&text).collect::<Vec<_>>(), ["b"]);
    }
}
