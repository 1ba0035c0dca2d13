//! Searches on simulated servers whose answer is known. `examples/coverage.rs` does the same with more servers and more
//! searches; docs/decisions/0041-search.md has its output.

mod servers;

use pgmeter_search::Answer;
use servers::{Law, SimulatedServer};

#[test]
fn the_intervals_of_most_searches_contain_the_rate_that_the_server_keeps() {
    let fixed = SimulatedServer {
        law: Law::Fixed,
        servers: 1,
        service_s: 0.002,
        spread: 0.03,
        pause: None,
        limit_s: 0.02,
        share: 0.01,
    };
    let exponential = SimulatedServer { law: Law::Exponential, service_s: 0.001, ..fixed };
    let (mut covered, mut answers) = (0, Vec::new());
    for (server, seeds) in [(fixed, 0..6), (exponential, 6..12)] {
        let truth = server.truth(1000);
        for seed in seeds {
            let (answer, cost_s, trials) = server.search(0.05, 300.0, seed);
            let Answer::Sustains(estimate) = answer else { panic!("{answer:?}") };
            covered += usize::from((estimate.low_tps..=estimate.high_tps).contains(&truth));
            assert!((estimate.rate_tps / truth - 1.0).abs() < 0.15, "{truth} {estimate:?}");
            assert!(cost_s <= 300.0 && trials > 10, "{cost_s} {trials}");
            answers.push((truth, estimate));
        }
    }
    assert!(covered >= 10, "{covered} of 12 intervals contain the true rate: {answers:?}");
}
