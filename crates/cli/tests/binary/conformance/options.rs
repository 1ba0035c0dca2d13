//! Command lines that are refused, or answered without a server: the same words and status, and which of several faults
//! is told. Those that are accepted fail at an address where nobody listens.

use crate::conformance::cases::{Bench, Case};
use crate::conformance::running::Ended;
use crate::conformance::shape;

/// Options in front of the connection; see also the pairs below.
const LINES: [&str; 120] = [
    "--nosuch",
    "-k",
    "-c",
    "--client",
    "--client=",
    "--clients=1",
    "--p",
    "--cl=x",
    "--trans=1",
    "--re",
    "--quiet=yes",
    "-c 0",
    "-c -1",
    "-c x",
    "-c 1x",
    "-c 1.5",
    "-c 99999999999",
    "-c 2147483648",
    "-j 0",
    "-j x",
    "-j 3 -c 2",
    "-t 0",
    "-t -5",
    "-t x",
    "-T 0",
    "-T 0.5",
    "-T x",
    "-t 1 -T 1",
    "-T 1 -t 1",
    "-P 0",
    "-P x",
    "-s 0",
    "-s x",
    "-s 5",
    "-F 9",
    "-F 101",
    "-F x",
    "-i -F 9",
    "-R 0",
    "-R x",
    "-R -5",
    "-R 10x",
    "-L 0",
    "-L -1",
    "-L x",
    "-L 10abc",
    "--max-tries=-1",
    "--max-tries=0",
    "--max-tries=x",
    "--max-tries=0 -T 1",
    "--max-tries=0 -L 5",
    "--sampling-rate=0",
    "--sampling-rate=2",
    "--sampling-rate=x",
    "--sampling-rate=0.5",
    "--sampling-rate=0.5 -l --aggregate-interval=1 -T 2",
    "--aggregate-interval=0 -l",
    "--aggregate-interval=x -l",
    "--aggregate-interval=1",
    "--aggregate-interval=5 -l -T 3",
    "--aggregate-interval=2 -l -T 3",
    "--aggregate-interval=2 -l",
    "--log-prefix=x",
    "--progress-timestamp",
    "-M nosuch",
    "-M Simple",
    "-M prep",
    "-D x",
    "-D =1",
    "-D x=",
    "-D 1x=1",
    "-D x!=1",
    "-D a=b=c",
    "-b nosuch",
    "-b s",
    "-b S",
    "-b list",
    "-b tpcb-like@x",
    "-b tpcb-like@-1",
    "-b tpcb-like@99999999999",
    "-b tpcb-like@1x",
    "-b tpcb-like@",
    "-b tpcb-like@0",
    "-b se@0 -b si@0",
    "-b @1",
    "-f nosuch.sql",
    "-f nosuch.sql@x",
    "-f nosuch@2.sql",
    "-f .",
    "--show-script=tpcb-like",
    "--show-script=se",
    "--show-script=nosuch",
    "--show-script=s",
    "--random-seed=x",
    "--random-seed=",
    "--random-seed=-1",
    "--random-seed=1x",
    "--random-seed=18446744073709551615",
    "--random-seed=18446744073709551616",
    "--random-seed=7",
    "--random-seed=7 --random-seed=8",
    "-i -c 2",
    "-i -S",
    "-i -t 1",
    "-i -D x=1",
    "-i -l",
    "-q",
    "-I dt",
    "-F 50",
    "--unlogged-tables",
    "--foreign-keys",
    "--partitions=2",
    "--tablespace=x",
    "-i -I x",
    "-i -I dtz",
    "-i -I ",
    "-i --partitions=-1",
    "-i --partitions=x",
    "-i --partition-method=list",
    "-i --partition-method=hash",
];

/// Which of several faults is told; both in one line.
const PAIRS: [&str; 12] = [
    "-c x --nosuch",
    "-f nosuch.sql -c x",
    "-b nosuch -f nosuch.sql",
    "-t 1 -T 1 --sampling-rate=0.5",
    "--sampling-rate=0.5 --log-prefix=x",
    "--aggregate-interval=3 --progress-timestamp -T 2 -l",
    "--progress-timestamp --max-tries=0",
    "-i -S --partition-method=hash",
    "-b se@0 -q",
    "-q -t 1 -T 1",
    "--show-script=se -c x",
    "-c x --show-script=se",
];

/// Where nobody listens.
const NOBODY: &str = "host=/nowhere port=1 user=nobody dbname=nothing";

fn case(line: &str) -> Case {
    let mut case = Case::new(line);
    case.arguments.push(NOBODY.to_owned());
    case
}

/// The words for the user are our own; the sections they come in are not.
fn sections(ended: &mut Ended) {
    let sections = ended.stdout.lines().filter(|line| !line.starts_with(' ') && line.ends_with(':'));
    ended.stdout = sections.map(|line| format!("{line}\n")).collect();
}

fn version(ended: &mut Ended) {
    let end = ended.stdout.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    ended.stdout.truncate(end);
    ended.stdout += "\n";
}

#[test]
fn command_lines_are_refused_in_the_same_words() {
    let Some(mut bench) = Bench::new("options") else { return };
    for line in LINES.iter().chain(&PAIRS) {
        bench.compare(&case(line), shape::exact);
    }
    for word in ["--help", "-?"] {
        bench.compare(&case(word), sections);
        bench.compare(&Case::new(&format!("-n {word}")), shape::exact);
    }
    for word in ["--version", "-V"] {
        bench.compare(&case(word), version);
        bench.compare(&Case::new(&format!("-n {word}")), shape::exact);
    }
    for seed in ["x", "", "12", "time1", "-3"] {
        let case = case("-n").named(format!("PGBENCH_RANDOM_SEED={seed}")).env("PGBENCH_RANDOM_SEED", seed);
        bench.compare(&case, shape::exact);
    }
    let both =
        case("-n --random-seed=5").named("a bad seed in the environment").env("PGBENCH_RANDOM_SEED", "x");
    bench.compare(&both, shape::exact);
    bench.compare(&case("one two three").named("too many arguments"), shape::exact);
    let many = "-b se ".repeat(129);
    bench.compare(&case(&many).named("129 scripts"), shape::exact);
    bench.compare(&case("-b se ").named("a permuted argument"), shape::exact);
    bench.tally.verdict();
}
