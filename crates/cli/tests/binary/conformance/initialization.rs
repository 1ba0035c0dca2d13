//! What `-i` says on its way. What it makes is not looked at: that is compared where it is made, in the tests of
//! `workload`.

use testkit::extent;

use crate::conformance::cases::{Bench, Case, DATABASE};
use crate::conformance::running::Ended;
use crate::conformance::shape;

const LINES: [&str; 16] = [
    "-i",
    "-i -I dt",
    "-i -I dtGvpf -n",
    "-i -I dtpf",
    "-i -I f",
    "-i -I t",
    "-i -I ttt",
    "-i -I dtv --foreign-keys",
    "-i -I dtp --foreign-keys",
    "-i -I dtp --partitions=3",
    "-i -I dtGp --partitions=2 --partition-method=HASH -F 50",
    "-i -I dtp --unlogged-tables",
    "-i -I dt --tablespace=nosuch",
    "-i -I dtp --index-tablespace=nosuch",
    "-i -I dd",
    "-i -I g",
];

/// Lines that load rows as some of [`LINES`] do.
const MORE_LINES: [&str; 5] = ["-i -q", "-i -q -s 2", "-i -n", "-i -I dtGv", "-i -I dtg"];

/// How long each took, and in which seconds the loading was seen, is measured.
fn view(ended: &mut Ended) {
    ended.stderr = ended.stderr.lines().map(|line| shape::shape(line, false) + "\n").collect();
}

#[test]
fn initialization_says_the_same() {
    let Some(mut bench) = Bench::with_databases("initialization") else { return };
    let more: &[&str] = extent::choose(&[], &MORE_LINES);
    for line in more.iter().chain(&LINES) {
        let mut case = Case::new(line);
        case.arguments.push(DATABASE.to_owned());
        bench.compare(&case, view);
    }
    let mut case = Case::new("-i -I").named("steps with blanks");
    case.arguments.extend([" d t ".to_owned(), DATABASE.to_owned()]);
    bench.compare(&case, view);
    let mut case = Case::new("-i -I").named("no steps");
    case.arguments.extend([String::new(), DATABASE.to_owned()]);
    bench.compare(&case, view);
    bench.tally.verdict();
}
