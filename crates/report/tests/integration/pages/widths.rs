//! Reports of every kind in terminals of 80 and 120 columns, with and without colour.
//! What they say is tested beside this.

use pgmeter_report::{Run, TextStyle};

use crate::pages::example::{self, Example};
use crate::pages::experiment as experiments;
use crate::pages::forms;

/// The text without its colours (ECMA-48, §8.3.117).
fn without_colours(text: &str) -> String {
    let mut pieces = text.split("\x1b[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |out, piece| out + piece.split_once('m').map_or(piece, |(_, rest)| rest))
}

#[track_caller]
fn check(kind: &str, text: impl Fn(&TextStyle) -> String) {
    for width in [80, 120] {
        let [plain, coloured] = [false, true].map(|colour| text(&TextStyle { colour, width }));
        let long = plain.lines().find(|line| line.chars().count() > width);
        assert_eq!(long, None, "{kind} in {width} columns:\n{plain}");
        assert!(coloured.contains('\x1b') && !plain.contains('\x1b'), "{kind}");
        assert_eq!(without_colours(&coloured), plain, "{kind}");
        assert!(!plain.contains('\u{a0}'), "{kind}: text search finds ordinary spaces only");
    }
}

#[test]
fn no_report_is_wider_than_its_terminal_and_colour_adds_nothing_to_it() {
    let one = example::full(&Example { seconds: 30, ..Example::default() });
    let other = example::full(&Example { seconds: 30, tps: 1_800.0, seed: 2, ..Example::default() });
    check("a run", |style| forms::text(&one, style));
    check("an empty run", |style| forms::text(&example::empty(), style));
    check("a run that failed", |style| forms::text(&example::fruitless(), style));
    for number in [2, 3, 5] {
        let names: Vec<String> = (1..=number).map(|number| format!("run {number}")).collect();
        let record = |at: usize| if at == 0 { &one } else { &other };
        let runs: Vec<Run> =
            names.iter().enumerate().map(|(at, name)| Run { name, record: record(at) }).collect();
        check(&format!("{number} runs"), |style| forms::text_of(&runs, style));
    }
    let overview = experiments::overview(experiments::stored());
    check("an experiment", |style| forms::experiment::text(&overview, style));
}
