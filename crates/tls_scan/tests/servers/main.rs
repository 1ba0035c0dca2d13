//! Scans of real servers, whose settings say what must be found, and of servers that do not answer as they should.
//! The parts without a socket are tested in their modules.

mod postgres;
mod silent;

use std::time::Duration;

use pgmeter_tls_scan::{Outcome, Scan, ScanOptions, Version, Way, WayScan, scan};

const BOTH: [Way; 2] = [Way::SslRequest, Way::Direct];

/// A scan of the server with this connection string.
fn scanned(conninfo: &str, ways: &[Way]) -> Scan {
    let environment = connect::Environment::default();
    let target =
        connect::resolve(Some(conninfo), &connect::Overrides::default(), &environment).expect(conninfo);
    let options = ScanOptions { ways: ways.to_vec(), pause: Duration::ZERO, limit: Duration::from_secs(20) };
    scan(&target, &options, &mut |_| {}).expect(conninfo)
}

fn versions(way: &WayScan) -> Vec<Version> {
    let mut versions: Vec<Version> = way.accepted_versions().collect();
    versions.sort();
    versions
}

fn suites(way: &WayScan) -> Vec<String> {
    way.accepted_suites().map(|(suite, _)| suite.name).collect()
}

fn outcome(way: &WayScan, version: Version) -> &Outcome {
    let found = way.versions.iter().find(|finding| finding.version == version);
    &found.expect("each version has an outcome").outcome
}
