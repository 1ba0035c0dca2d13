//! The versions and cipher suites of TLS that a PostgreSQL server accepts, and what is weak:
//! `cargo run -p pgmeter-tls-scan --example versions -- "host=localhost port=5432"`.
#![allow(clippy::print_stdout, reason = "its output")]

use std::error::Error;
use std::time::Duration;

use connect::{Environment, Overrides, resolve};
use pgmeter_tls_scan::{ScanOptions, Way, scan};

fn main() -> Result<(), Box<dyn Error>> {
    let conninfo = std::env::args().nth(1).ok_or("the connection string of a server is missing")?;
    let target = resolve(Some(&conninfo), &Overrides::default(), &Environment::of_process())?;
    let options =
        ScanOptions { ways: vec![Way::SslRequest], pause: Duration::ZERO, limit: Duration::from_secs(5) };
    let found = scan(&target, &options, &mut |_| {})?;
    for way in &found.ways {
        println!("versions: {:?}", way.accepted_versions().collect::<Vec<_>>());
        way.accepted_suites().for_each(|(suite, _)| println!("suite: {}", suite.name));
    }
    found.weaknesses.iter().for_each(|weakness| println!("weak: {:?}", weakness.kind));
    Ok(())
}
