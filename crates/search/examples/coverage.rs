//! Searches on simulated servers: how often the interval contains the true rate, and what a search costs.
//! `cargo run --release -p pgmeter-search --example coverage -- 200`

#[path = "servers/mod.rs"]
mod servers;

use pgmeter_search::Answer;
use servers::{Law, SimulatedServer};

/// Other seeds than those that the constants of the search were chosen with.
const FIRST_SEED: u64 = 10_000;

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn main() {
    let searches: u64 = std::env::args().nth(1).and_then(|number| number.parse().ok()).unwrap_or(200);
    let base = SimulatedServer {
        law: Law::Exponential,
        servers: 2,
        service_s: 0.002,
        spread: 0.064,
        pause: None,
        limit_s: 0.02,
        share: 0.01,
    };
    let fixed = SimulatedServer { law: Law::Fixed, servers: 1, service_s: 0.001, ..base };
    let pause = Some((0.03, 5.0));
    // Those of `cargo xtask queue-proof`, with its budget.
    let slow = SimulatedServer { service_s: 0.005, spread: 0.0, limit_s: 0.06, share: 0.05, ..base };
    let cases = [
        ("M/M/2, sets ± 1 %", SimulatedServer { spread: 0.01, ..base }),
        ("M/D/1, sets ± 1 %", SimulatedServer { spread: 0.01, ..fixed }),
        ("M/M/2, sets ± 6.4 %", base),
        ("M/D/1, sets ± 6.4 %", fixed),
        ("M/M/2, sets ± 1 %, pauses", SimulatedServer { spread: 0.01, pause, ..base }),
        ("M/D/1, sets ± 3 %, pauses", SimulatedServer { spread: 0.03, pause, ..fixed }),
        ("M/M/2, sets ± 6.4 %, pauses", SimulatedServer { pause, ..base }),
        ("M/D/1, sets ± 6.4 %, pauses", SimulatedServer { pause, ..fixed }),
        ("M/M/1, short", SimulatedServer { servers: 1, ..slow }),
        ("M/M/4, short", SimulatedServer { servers: 4, service_s: 0.01, ..slow }),
        ("M/D/1, short", SimulatedServer { law: Law::Fixed, servers: 1, ..slow }),
        ("M/M/1, pauses, short", SimulatedServer { servers: 1, pause: Some((0.1, 5.1)), ..slow }),
    ];
    println!(
        "{:32} {:>8} {:>9} {:>9} {:>9} {:>8} {:>8}",
        "server", "truth", "coverage", "bias", "half", "cost s", "trials"
    );
    let only = std::env::args().nth(2).and_then(|number| number.parse::<usize>().ok());
    for (name, server) in
        cases.into_iter().enumerate().filter(|(at, _)| only.is_none_or(|only| only == *at)).map(|(_, it)| it)
    {
        let budget_s = if name.ends_with("short") { 150.0 } else { 600.0 };
        let truth = (server.truth(400, 1) * server.truth(400, 2)).sqrt();
        let (mut covered, mut costs, mut ratios, mut halves, mut numbers) =
            (0, vec![], vec![], vec![], vec![]);
        for seed in 0..searches {
            let (answer, cost_s, trials) = server.search(0.03, budget_s, FIRST_SEED + seed);
            if let Answer::Sustains(estimate) = answer {
                covered += u64::from((estimate.low_tps..=estimate.high_tps).contains(&truth));
                ratios.push(estimate.rate_tps / truth);
                halves.push(estimate.half_width());
            }
            costs.push(cost_s);
            numbers.push(trials as f64);
        }
        println!(
            "{name:32} {truth:8.1} {:7.1} % {:7.2} % {:7.2} % {:8.0} {:8.0}",
            covered as f64 / searches as f64 * 100.0,
            (median(ratios) - 1.0) * 100.0,
            median(halves) * 100.0,
            median(costs),
            median(numbers)
        );
    }
}
