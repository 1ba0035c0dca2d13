//! Prints the table of metrics for docs/reports.md.
//! Run it after a change of the table; a test compares both.
#![allow(clippy::print_stdout)] // its only purpose

fn main() {
    print!("{}", pgmeter_report::metrics_reference());
}
