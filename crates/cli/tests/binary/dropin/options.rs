//! Every option of pgbench: a value that is taken, a value that is refused and the words for it. No server is needed:
//! a last option that does not exist ends each command line.

use crate::harness::Bench;

/// What ends each command line that is right so far.
const END: &str = "--nosuch";
const ENDED: &str = "unrecognized option '--nosuch'";

/// The option's long name, its letter, and values: one that is taken (`None`: it takes none), those that are refused
/// with what is said.
type Row = (&'static str, &'static str, Option<&'static str>, &'static [(&'static str, &'static str)]);

const COUNT: &str = "must be in range 1..2147483647";

const ROWS: [Row; 45] = [
    (
        "builtin",
        "b",
        Some("se@2"),
        &[
            ("s", "error: ambiguous builtin name: 2 builtin scripts found for prefix \"s\""),
            ("x", "error: no builtin script found for name \"x\""),
            ("se@x", "error: invalid weight specification: @x"),
            ("se@-1", "error: weight specification out of range (0 .. 2147483647): -1"),
        ],
    ),
    (
        "client",
        "c",
        Some(" 3 "),
        &[("x", "invalid value \"x\" for option -c/--client"), ("0", COUNT), ("", COUNT)],
    ),
    ("connect", "C", None, &[]),
    ("dbname", "d", Some("db"), &[]),
    (
        "define",
        "D",
        Some("a=b=c"),
        &[
            ("a", "error: invalid variable definition: \"a\""),
            ("a=", "error: invalid variable definition: \"a=\""),
            ("1=2", "error: option: invalid variable name: \"1\""),
        ],
    ),
    (
        "file",
        "f",
        Some("good.sql"),
        &[("no.sql", "error: could not open file \"no.sql\": No such file or directory")],
    ),
    (
        "fillfactor",
        "F",
        Some("10"),
        &[("9", "-F/--fillfactor must be in range 10..100"), ("x", "option -F/--fillfactor")],
    ),
    ("host", "h", Some("/x"), &[]),
    ("initialize", "i", None, &[]),
    (
        "init-steps",
        "I",
        Some("d t"),
        &[
            (
                "dx",
                "error: unrecognized initialization step \"x\"\npgbench: detail: Allowed step characters are: \"dtgGvpf\".",
            ),
            ("", "error: no initialization steps specified"),
        ],
    ),
    ("jobs", "j", Some("2"), &[("x", "invalid value \"x\" for option -j/--jobs"), ("0", COUNT)]),
    ("log", "l", None, &[]),
    (
        "latency-limit",
        "L",
        Some("10abc"),
        &[("x", "error: invalid latency limit: \"x\""), ("-1", "latency limit")],
    ),
    ("no-vacuum", "n", None, &[]),
    ("port", "p", Some("1"), &[]),
    ("progress", "P", Some("1"), &[("x", "invalid value \"x\" for option -P/--progress"), ("0", COUNT)]),
    ("protocol", "M", Some("prepared"), &[("Simple", "error: invalid query mode (-M): \"Simple\"")]),
    ("quiet", "q", None, &[]),
    ("report-per-command", "r", None, &[]),
    ("rate", "R", Some("1.5tps"), &[("0", "error: invalid rate limit: \"0\"")]),
    ("scale", "s", Some("3"), &[("x", "invalid value \"x\" for option -s/--scale"), ("0", COUNT)]),
    ("select-only", "S", None, &[]),
    ("skip-some-updates", "N", None, &[]),
    ("time", "T", Some("3"), &[("x", "invalid value \"x\" for option -T/--time"), ("0", COUNT)]),
    (
        "transactions",
        "t",
        Some("3"),
        &[("x", "invalid value \"x\" for option -t/--transactions"), ("0", COUNT)],
    ),
    ("username", "U", Some("ana"), &[]),
    ("vacuum-all", "v", None, &[]),
    ("unlogged-tables", "", None, &[]),
    ("tablespace", "", Some("t"), &[]),
    ("index-tablespace", "", Some("t"), &[]),
    (
        "sampling-rate",
        "",
        Some("1"),
        &[("0", "error: invalid sampling rate: \"0\""), ("1.1", "sampling rate")],
    ),
    ("aggregate-interval", "", Some("1"), &[("x", "for option --aggregate-interval"), ("0", COUNT)]),
    ("progress-timestamp", "", None, &[]),
    ("log-prefix", "", Some("x"), &[]),
    ("foreign-keys", "", None, &[]),
    (
        "random-seed",
        "",
        Some("42"),
        &[(
            "x",
            "error: unrecognized random seed option \"x\"\n\
                 pgbench: detail: Expecting an unsigned integer, \"time\" or \"rand\".\n\
                 pgbench: error: error while setting random seed from --random-seed option",
        )],
    ),
    ("show-script", "", Some(""), &[("x", "error: no builtin script found for name \"x\"")]),
    ("partitions", "", Some("0"), &[("-1", "--partitions must be in range 0..2147483647")]),
    (
        "partition-method",
        "",
        Some("HASH"),
        &[("list", "error: invalid partition method, expecting \"range\" or \"hash\", got: \"list\"")],
    ),
    ("failures-detailed", "", None, &[]),
    ("max-tries", "", Some("x"), &[("-1", "error: invalid number of maximum tries: \"-1\"")]),
    ("verbose-errors", "", None, &[]),
    ("exit-on-abort", "", None, &[]),
    ("debug", "", None, &[]),
    ("continue-on-error", "", None, &[]),
];

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("good.sql", "SELECT 1;");
    bench
}

/// The command line fails with these words, without a word on stdout.
#[track_caller]
fn check(bench: &Bench, arguments: &[&str], words: &str) {
    let out = bench.run_pgbench(arguments).exits(1).says(&[words]);
    assert_eq!(out.stdout, "", "{arguments:?}");
}

#[test]
#[expect(clippy::print_stdout, reason = "it prints how many cases there were")]
fn every_option_takes_what_is_right_and_refuses_what_is_wrong() {
    let bench = bench();
    let mut checked = 0;
    for (long, letter, good, bad) in ROWS {
        let mut spelled: Vec<Vec<String>> = Vec::new();
        let with = |value: &str| {
            let mut ways =
                vec![vec![format!("--{long}={value}")], vec![format!("--{long}"), value.to_owned()]];
            if !letter.is_empty() {
                ways.push(vec![format!("-{letter}"), value.to_owned()]);
            }
            ways
        };
        match good {
            None if letter.is_empty() => spelled.push(vec![format!("--{long}")]),
            None => spelled.extend([vec![format!("--{long}")], vec![format!("-{letter}")]]),
            // It prints and ends, so it has a test of its own.
            Some("") => {}
            Some(value) => spelled.extend(with(value)),
        }
        for words in spelled {
            let words: Vec<&str> = words.iter().map(String::as_str).chain([END]).collect();
            check(&bench, &words, ENDED);
            checked += 1;
        }
        for (value, expected) in bad {
            for words in with(value) {
                let words: Vec<&str> = words.iter().map(String::as_str).chain([END]).collect();
                check(&bench, &words, expected);
                checked += 1;
            }
        }
    }
    println!("{} options, {checked} command lines", ROWS.len());
}

#[test]
fn help_lists_the_options_of_this_table_and_no_other() {
    let help = bench().run_pgbench(["--help"]).exits(0).stdout;
    let mut listed: Vec<&str> = help
        .split("--")
        .skip(1)
        .map(|text| text.split(|c: char| !(c.is_ascii_lowercase() || c == '-')).next().unwrap_or_default())
        .collect();
    listed.sort_unstable();
    listed.dedup();
    let mut known: Vec<&str> = ROWS.iter().map(|(long, ..)| *long).chain(["help", "version"]).collect();
    known.sort_unstable();
    assert_eq!(listed, known);
}

#[test]
fn help_and_version_answer_only_as_the_first_argument() {
    let bench = bench();
    for word in ["--version", "-V"] {
        let out = bench.run_pgbench([word, "whatever"]).exits(0);
        assert!(out.stdout.starts_with("pgbench (PostgreSQL) 19 (pgmeter "), "{}", out.stdout);
        assert_eq!(out.stderr, "");
    }
    let help = bench.run_pgbench(["-?"]).exits(0);
    assert_eq!((help.stdout.contains("Usage:"), help.stderr.as_str()), (true, ""));
    check(&bench, &["-i", "--version"], "unrecognized option '--version'");
    check(&bench, &["-i", "-V"], "invalid option -- 'V'");
    check(&bench, &["-i", "--help"], "Try \"pgbench --help\" for more information.");
}

#[test]
fn scripts_are_listed_and_shown_on_stderr() {
    let bench = bench();
    let list = bench.run_pgbench(["-b", "list", END]).exits(0);
    assert_eq!(list.stdout, "");
    assert!(list.stderr.starts_with("Available builtin scripts:\n      tpcb-like: "), "{}", list.stderr);
    let shown = bench.run_pgbench(["--show-script", "se", END]).exits(0).stderr;
    assert!(shown.starts_with("-- select-only: <builtin: select only>\n\\set aid random"), "{shown}");
    assert!(shown.ends_with("WHERE aid = :aid;\n\n"), "{shown}");
}

#[test]
fn of_several_mistakes_the_first_in_pgbenchs_order_is_told() {
    let bench = bench();
    let both = "specify either a number of transactions (-t) or a duration (-T), not both";
    for (arguments, words) in [
        (&["-f", "good.sql@0", "a", "b"][..], "total script weight must not be zero"),
        (&["-q", "a", "b"], "too many command-line arguments (first is \"b\")"),
        (&["-d", "x", "a"], "too many command-line arguments (first is \"a\")"),
        (&["-i", "-c", "2", "--partition-method=hash"], "cannot be used in initialization (-i) mode"),
        (&["-i", "--partition-method=hash"], "--partition-method requires greater than zero --partitions"),
        (&["-q", "-t", "1", "-T", "1"], "cannot be used in benchmarking mode"),
        (&["-t", "1", "-T", "1", "--sampling-rate=1"], both),
        (
            &["--sampling-rate=1", "--aggregate-interval=1"],
            "log sampling (--sampling-rate) is allowed only when",
        ),
        (&["-l", "--sampling-rate=1", "--aggregate-interval=1"], "cannot be used at the same time"),
        (&["--aggregate-interval=1", "--log-prefix=x"], "log aggregation is allowed only when"),
        (&["--log-prefix=x", "--progress-timestamp"], "log file prefix (--log-prefix) is allowed only when"),
        (
            &["-l", "-T5", "--aggregate-interval=9"],
            "aggregation (9) must not be higher than test duration (5)",
        ),
        (
            &["-l", "-T5", "--aggregate-interval=2"],
            "duration (5) must be a multiple of aggregation interval (2)",
        ),
        (&["--progress-timestamp", "--max-tries=0"], "--progress-timestamp is allowed only under --progress"),
        (&["--max-tries=0"], "an unlimited number of transaction tries can only be used with"),
    ] {
        check(&bench, arguments, words);
    }
}

#[test]
fn bytes_that_are_no_text_are_no_reason_to_panic() {
    use std::os::unix::ffi::OsStringExt;
    let bench = bench();
    let odd = |text: &[u8]| std::ffi::OsString::from_vec(text.to_vec());
    for words in [
        vec![b"-f\xff".as_slice()],
        vec![b"--\xff=\xfe"],
        vec![b"-\xff"],
        vec![b"-D", b"a\xff=\xfe", b"-Z"],
        vec![b"-d\xff", b"\xff"],
    ] {
        let output = bench.pgbench(words.iter().map(|word| odd(word))).output().expect("it can be started");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("pgbench: ") && !said.contains("panicked"), "{said}");
    }
    let mut named = bench.pgbench(["-Z"]);
    let output = named.env("PGBENCH_RANDOM_SEED", odd(b"\xff")).output().expect("it can be started");
    assert_eq!(output.status.code(), Some(1));
    let words = b"pgbench: error: unrecognized random seed option \"\xff\"";
    assert!(output.stderr.starts_with(words), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn more_scripts_or_clients_than_there_can_be_are_refused() {
    let bench = bench();
    check(&bench, &["-S"; 129], "pgbench: error: at most 128 SQL scripts are allowed");
    check(
        &bench,
        &["-c", "2000000000"],
        "pgbench: error: need at least 2000000003 open files, but system limit is ",
    );
}
