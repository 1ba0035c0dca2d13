//! Measures the punctuality of the open loop on this machine: one worker against a null server on a Unix socket.
//! Prints the start delay of transactions and the lateness of wake-ups. Not a test.
//!
//! `punctuality <socket> [clients] [starts per second] [seconds]`

#![allow(clippy::print_stdout, reason = "its purpose")]

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use connect::{Address, Transport};
use pgmeter_engine::{HostPlan, Limit, Plan, Protocol, ScriptPlan, TargetPlan, no_tracer, run};
use script::{Dialect, Symbols};
use stats::Distribution;
use wire::StartupParameters;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let socket =
        arguments.next().ok_or("usage: punctuality <socket> [clients] [starts per second] [seconds]")?;
    let clients = arguments.next().map_or(Ok(64), |text| text.parse())?;
    let mut number = |default: f64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (rate_per_s, seconds) = (number(20_000.0)?, number(10.0)?);
    let mut symbols = Symbols::new();
    let text = b"\\set aid random(1, 100000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";
    let program = script::parse("select-only", text, &mut symbols, Dialect::Extended)?;
    let startup = StartupParameters { user: "tester".to_owned(), ..StartupParameters::default() };
    let address = Address::Unix(PathBuf::from(socket));
    let host = HostPlan { address, transport: Transport::default(), startup };
    let target = TargetPlan { name: String::new(), hosts: vec![host] };
    let plan = Plan {
        clients,
        protocol: Protocol::Prepared,
        rate_per_s: Some(rate_per_s),
        limit: Limit::Duration(Duration::from_secs_f64(seconds)),
        warmup: Duration::from_secs(1),
        seed: 42,
        ..Plan::new(vec![target], vec![ScriptPlan { program, weight: 1, target: 0 }], symbols)
    };
    let outcome = run(&plan, &AtomicBool::new(false), &mut |_| {}, &no_tracer)?;
    let (total, health) = (&outcome.summary.total, &outcome.health[0]);
    let us = |ns: Option<u64>| ns.unwrap_or(0) as f64 / 1e3;
    let lag = |q: f64| us(total.lag_quantile_ns(q));
    println!("loop {:?}", outcome.event_loop);
    println!("scheduled {} succeeded {}", total.counts.scheduled, total.counts.succeeded);
    println!(
        "lag µs: p50 {:.1} p90 {:.1} p99 {:.1} p99.9 {:.1} max {:.1}",
        lag(0.5),
        lag(0.9),
        lag(0.99),
        lag(0.999),
        lag(1.0)
    );
    let late = |distribution: &Distribution, q: f64| us(distribution.quantile_ns(q));
    let lateness = &health.wakeup_lateness;
    println!(
        "late wake-ups µs: p50 {:.1} p99 {:.1} of {}",
        late(lateness, 0.5),
        late(lateness, 0.99),
        lateness.count()
    );
    println!("service µs: p50 {:.1} p99 {:.1}", late(&total.service, 0.5), late(&total.service, 0.99));
    let share = |ns: u64| ns as f64 / health.span_ns as f64 * 100.0;
    println!("CPU {:.1} % run queue {:.1} %", share(health.cpu_ns), share(health.run_queue_ns.unwrap_or(0)));
    println!(
        "wake-ups {} CPU per transaction {:.2} µs",
        health.wakeups,
        health.cpu_ns as f64 / 1e3 / total.counts.scheduled as f64
    );
    Ok(())
}
