//! The state of a search as metric families, for Prometheus and compatible systems.
//! `metrics_server` serves them over HTTP.

use report::OpenMetrics;
use results::SearchState;

/// The complete text, `# EOF` included.
pub fn search_metrics(state: &SearchState) -> String {
    let SearchState { side, rate_tps, bounds, last_tps, is_kept, trials, clients, passed_s, budget_s } =
        *state;
    let side = side.trim_end_matches(": ");
    let labels: &[(&str, &str)] = if side.is_empty() { &[] } else { &[("side", side)] };
    let mut out = OpenMetrics::default();
    let mut gauge = |name: &str, help: &str, value: Option<f64>| {
        if let Some(value) = value {
            out.family(name, "gauge", help);
            out.sample(name, labels, value);
        }
    };
    gauge(
        "pgmeter_search_rate",
        "Transactions per second that keep the goals, as far as it is known.",
        rate_tps,
    );
    gauge("pgmeter_search_rate_low", "Lower end of the interval of the rate.", bounds.map(|it| it.low));
    gauge("pgmeter_search_rate_high", "Upper end of the interval of the rate.", bounds.map(|it| it.high));
    gauge("pgmeter_search_last_rate", "Rate of the newest trial.", Some(last_tps));
    gauge(
        "pgmeter_search_last_kept",
        "1 if the newest trial kept the goals, otherwise 0.",
        Some(f64::from(u8::from(is_kept))),
    );
    gauge("pgmeter_search_trials", "Trials so far.", Some(trials as f64));
    gauge("pgmeter_clients", "Simulated users, each with its own connection.", Some(f64::from(clients)));
    gauge("pgmeter_search_passed_seconds", "Time that the search has taken.", Some(passed_s));
    gauge("pgmeter_search_budget_seconds", "Time for the whole search.", Some(budget_s));
    out.text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::RateInterval;

    #[test]
    fn unknown_figures_are_left_out_and_sides_are_labels() {
        let state = SearchState {
            side: "B: ",
            rate_tps: Some(4148.5),
            bounds: Some(RateInterval { low: 4000.0, high: 4280.0 }),
            last_tps: 4300.0,
            is_kept: false,
            trials: 17,
            clients: 16,
            passed_s: 42.0,
            budget_s: 300.0,
        };
        let text = search_metrics(&state);
        assert!(text.contains("\npgmeter_search_rate{side=\"B\"} 4148.5\n"), "{text}");
        assert!(
            text.contains("\n# UNIT pgmeter_search_passed_seconds seconds\n") && text.ends_with("# EOF\n"),
            "{text}"
        );
        let early = search_metrics(&SearchState { side: "", rate_tps: None, bounds: None, ..state });
        assert!(!early.contains("search_rate ") && early.contains("\npgmeter_search_trials 17\n"), "{early}");
    }
}
