//! A run from Rust: SELECT 1 for ten seconds on the server given by the PG* variables, and its 99th percentile.
//! `cargo run -p pgmeter-run --example p99`; the documentation of the crate shows it too.
#![allow(clippy::print_stdout)] // an example of a program

use pgmeter_run::{Control, RunError, RunSpec, Runner, ScriptSource, ScriptSpec};

fn main() -> Result<(), RunError> {
    let text = "SELECT 1;".to_owned();
    let spec = RunSpec {
        scripts: vec![ScriptSpec::new(ScriptSource::Text { name: "select 1".to_owned(), text })],
        clients: 8,
        limit: engine::Limit::Duration(std::time::Duration::from_secs(10)),
        ..RunSpec::default()
    };
    let record = Runner::new(spec)?.run(&Control::default())?.record;
    if let Some(latency) = &record.summary.response_us {
        println!("p99 {:.0} µs, {:.0} tps", latency.p99, record.summary.tps);
    }
    Ok(())
}
