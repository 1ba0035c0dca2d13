//! Memory per idle client, and whether ten thousand clients connect and run. Against the null server: a real
//! one would need a process for each of them.

use super::lab::Lab;
use super::line::{Goal, Line};
use super::processes::run_for_memory;
use super::programs::{EventLoop, Load, Until};

const FEW: u32 = 100;
const MANY: u32 = 10_000;
/// Idle clients: that few start per second, of all.
const RATE: u32 = 100;
const SECONDS: u32 = 4;
const KIB_PER_CLIENT: Goal = Goal::AtMost(16.0);
/// Of each client, when all run.
const TRANSACTIONS: u32 = 10;

/// What a run with many idle clients has resident more than one with few; then a run in which all are busy.
pub(super) fn memory(lab: &mut Lab) -> Result<Vec<Line>, String> {
    lab.provide_for(u64::from(MANY))?;
    let server = lab.null_server()?;
    let resident_kib = |clients| {
        let until = Until::Seconds(SECONDS);
        let load = Load { rate: Some(RATE), ..Load::select_only(server.conninfo(), clients, until) };
        let most = run_for_memory(&mut lab.programs.bench(EventLoop::Auto, &load));
        // The record is not needed.
        std::fs::remove_dir_all(&lab.programs.records)
            .map_err(|error| format!("{}: {error}", lab.programs.records.display()))?;
        most
    };
    let (few, many) = (resident_kib(FEW)?, resident_kib(MANY)?);
    let per_client = (many - few) / f64::from(MANY - FEW);
    let load = Load::select_only(server.conninfo(), MANY, Until::Transactions(TRANSACTIONS));
    let (record, _) = lab.programs.record(EventLoop::Auto, &load)?;
    let succeeded = record["summary"]["counts"]["succeeded"].as_f64().unwrap_or(0.0);
    let missing = f64::from(MANY * TRANSACTIONS) - succeeded;
    let connecting_s = record["connection_time_s"].as_f64().unwrap_or(f64::NAN);
    Ok(vec![
        Line::alone("memory", "memory per idle client at 10,000 clients", per_client, "KiB")
            .goal(KIB_PER_CLIENT)
            .note(&format!(
                "{:.1} MiB resident in all; {:.1} MiB with {FEW} clients",
                many / 1024.0,
                few / 1024.0
            )),
        Line::alone("many", "transactions missing when 10,000 clients run 10 each", missing, "tx")
            .goal(Goal::AtMost(0.0))
            .note(&format!("all were connected after {connecting_s:.2} s")),
    ])
}
