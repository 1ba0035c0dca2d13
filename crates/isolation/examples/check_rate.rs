//! Measures the check of a simulated history: `cargo run --release -p pgmeter-isolation --example check_rate -- 1000000`.
//! The simulated store is in `simulation`. Not a test: it prints a rate.

mod simulation;

use std::time::Instant;

use pgmeter_isolation::{Level, check};
use simulation::Simulation;

#[allow(clippy::print_stdout, reason = "its output")]
fn main() {
    let transactions = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100_000);
    for level in [Level::Serializable, Level::RepeatableRead, Level::ReadCommitted] {
        let history = Simulation::new(level, 1, transactions).history();
        let start = Instant::now();
        let found = check(&history, level).expect("elements are unique");
        let seconds = start.elapsed().as_secs_f64();
        let dependencies = found.sizes.ww + found.sizes.wr + found.sizes.rw;
        println!(
            "{}: {} transactions, {dependencies} dependencies, {} steps in {seconds:.2} s: {:.0} transactions/s, \
             {:.0} dependencies/s; kept: {}",
            level.sql(),
            found.endings.total,
            found.steps,
            found.endings.total as f64 / seconds,
            dependencies as f64 / seconds,
            found.is_kept()
        );
    }
}
