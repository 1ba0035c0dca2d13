//! The same bad command lines to the installed pgbench 15 and to the binary: same words, same exit status. Differences
//! that the newer releases bring are put aside one by one, below. Without an installed pgbench nothing is compared.

use std::path::{Path, PathBuf};

use testkit::extent;

use crate::harness::{Bench, Finished, finish};

/// Where Debian puts it.
const INSTALLED: &str = "/usr/lib/postgresql/15/bin/pgbench";
/// Random command lines beside those that are written down.
const RANDOM_CASES: usize = 300;
/// The first of them, tried after a change.
const RANDOM_CASES_AFTER_CHANGE: usize = 40;

/// Values for options that take one. All are tried with all, or after a change every fourth value with each option, and
/// the others with the next options.
const VALUES: [&str; 22] = [
    "",
    " ",
    "0",
    "1",
    "-1",
    "+7",
    " 12 ",
    "4x",
    "x",
    "1.5",
    "1e3",
    "nan",
    "99999999999",
    "99999999999999999999",
    "se",
    "s",
    "se@2",
    "se@",
    "se@x",
    "a=b",
    "=",
    "dt g",
];
/// Options with a value; those that 15 does not have, or that name a server, are left out.
const WITH_VALUE: [&str; 25] = [
    "-b",
    "-c",
    "-D",
    "-f",
    "-F",
    "-I",
    "-j",
    "-L",
    "-P",
    "-M",
    "-R",
    "-s",
    "-T",
    "-t",
    "--sampling-rate",
    "--aggregate-interval",
    "--log-prefix",
    "--random-seed",
    "--show-script",
    "--partitions",
    "--partition-method",
    "--max-tries",
    "--tablespace",
    "--index-tablespace",
    "--time",
];
const ALONE: [&str; 17] = [
    "-C",
    "-i",
    "-l",
    "-n",
    "-q",
    "-r",
    "-S",
    "-N",
    "-v",
    "--unlogged-tables",
    "--progress-timestamp",
    "--foreign-keys",
    "--failures-detailed",
    "--verbose-errors",
    "-lCn",
    "-qn",
    "--rep",
];
/// What getopt itself has something to say about.
const ODD: [&[&str]; 20] = [
    &["-Z"],
    &["--nix"],
    &["--nix=1"],
    &["-c"],
    &["--client"],
    &["--quiet=1"],
    &["--f"],
    &["--r"],
    &["--s"],
    &["--t"],
    &["--i"],
    &["--l"],
    &["--v"],
    &["--u"],
    &["--p"],
    &["-lZ"],
    &["--", "-a", "b"],
    &["a", "-l", "b"],
    &["-i", "--help"],
    &["-i", "-V"],
];

/// The words, without what differs for a reason.
fn words(out: &Finished, program: &Path) -> String {
    let words = out.stderr.replace(&format!("{}:", program.display()), "PROGRAM:");
    // Seeds of the time are never the same.
    let words: Vec<&str> = words.lines().filter(|line| !line.contains("setting random seed")).collect();
    // 18 calls the option by its name.
    let words = words.join("\n").replace("-c/--clients", "-c/--client");
    // The hint about open files is in our own words.
    let words = words.split("\npgbench: hint: ").next().unwrap_or_default().to_owned();
    // What libpq says about a server that is not there is not compared here.
    match words.rfind("could not create connection for ") {
        Some(at) => words[at..].to_owned(),
        None => words,
    }
}

/// Command lines: each option with its values, in both modes; then random ones.
fn cases() -> Vec<Vec<String>> {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut cases: Vec<Vec<String>> = ODD.iter().map(|words| owned(words)).collect();
    for (number, option) in WITH_VALUE.into_iter().enumerate() {
        let (first, step) = extent::choose((number % 4, 4), (0, 1));
        cases.extend(VALUES.iter().skip(first).step_by(step).map(|value| owned(&[option, value])));
    }
    for option in ALONE {
        cases.extend([owned(&[option]), owned(&["-i", option]), owned(&[option, "db", "more"])]);
    }
    // A linear congruential generator (Knuth, MMIX): the same cases each time.
    let mut state = 42_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits fit") % below
    };
    for _ in 0..extent::choose(RANDOM_CASES_AFTER_CHANGE, RANDOM_CASES) {
        let mut case = Vec::new();
        for _ in 0..=draw(4) {
            match draw(3) {
                0 => case.push(ALONE[draw(ALONE.len())].to_owned()),
                _ => case.extend(owned(&[WITH_VALUE[draw(WITH_VALUE.len())], VALUES[draw(VALUES.len())]])),
            }
        }
        cases.push(case);
    }
    cases
}

#[test]
#[expect(clippy::print_stdout, reason = "it prints how many cases there were")]
fn bad_command_lines_are_told_as_the_installed_pgbench_tells_them() {
    let installed = PathBuf::from(INSTALLED);
    if !installed.exists() {
        println!("NOT COMPARED: there is no {INSTALLED}");
        return;
    }
    let bench = Bench::new();
    let ours = bench.path().join("pgbench");
    let mut differences = Vec::new();
    let cases = cases();
    for case in &cases {
        // Nobody listens there, so that nothing is run.
        let arguments: Vec<&str> =
            ["-h", "/nonexistent"].into_iter().chain(case.iter().map(String::as_str)).collect();
        let theirs = finish(&mut bench.program(&installed, &arguments));
        let mine = bench.run_pgbench(&arguments);
        let (expected, found) = (words(&theirs, &installed), words(&mine, &ours));
        let same =
            expected == found && theirs.status.code() == mine.status.code() && theirs.stdout == mine.stdout;
        if !same {
            differences.push(format!("{case:?}\n  pgbench: {expected}\n  ours:    {found}"));
        }
    }
    println!("{} of {} command lines agree", cases.len() - differences.len(), cases.len());
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}
