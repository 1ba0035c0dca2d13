//! Prints the table of metrics for docs/reports.md.
#![allow(clippy::print_stdout)] // its only purpose

fn main() {
    print!("{}", pgmeter_report::metrics_reference());
}
