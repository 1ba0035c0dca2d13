//! The open loop while the server is silent: whether any sample is lost of those that were scheduled then.
//! The null server falls silent by itself.

use super::lab::Lab;
use super::line::{Goal, Line};
use super::null_server::NullServer;
use super::programs::{EventLoop, Load, Until};

const CLIENTS: u32 = 64;
const RATE: u32 = 5000;
const SECONDS: u32 = 9;
/// A server that falls silent for two seconds in the middle of the run.
const STALL: [&str; 4] = ["--stall-every", "4", "--stall-for", "2"];
/// Shorter than the silence by what the clients and the server need besides.
const LONGEST_AT_LEAST_US: f64 = 1_900_000.0;

/// Samples that are lost when the server stalls.
pub(super) fn stall(lab: &mut Lab) -> Result<Vec<Line>, String> {
    let server = NullServer::on_unix_socket(&lab.programs.pgmeter, &STALL)?;
    let until = Until::Seconds(SECONDS);
    let load = Load { rate: Some(RATE), ..Load::select_only(server.conninfo(), CLIENTS, until) };
    let (record, _) = lab.programs.record(EventLoop::Auto, &load)?;
    let summary = &record["summary"];
    let count = |name: &str| summary["counts"][name].as_f64().unwrap_or(f64::NAN);
    let longest_us = summary["response_us"]["max"].as_f64().unwrap_or(f64::NAN);
    if longest_us < LONGEST_AT_LEAST_US {
        return Err(format!("the run missed the server's silence: the longest answer took {longest_us} µs"));
    }
    let lost = count("scheduled") - count("succeeded");
    let what = "samples lost in a run in which the server is silent for 2 s";
    let note = format!("{:.0} scheduled, longest response {:.2} s", count("scheduled"), longest_us / 1e6);
    Ok(vec![Line::alone("stall", what, lost, "samples").goal(Goal::AtMost(0.0)).note(&note)])
}
