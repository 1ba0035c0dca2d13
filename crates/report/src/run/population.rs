//! The population of a run: what was asked for, and what its clients did beside transactions. Used by the lists of facts
//! of the page and the terminal, by the command that repeats the run, and by the charts.

use results::{IdleInTransaction, Latency, Plan, PopulationSummary, Record, StormSummary};
use stats::{Population, ReconnectStorm};

use crate::figures::{TIE, count, counted, latency, measured_seconds};
use crate::prose::escaped_line;

/// What was asked for: name, flag and text of each part.
fn parts(population: &Population) -> [(&'static str, &'static str, Option<String>); 5] {
    let Population { active, idle_in_transaction, session_lifetime, storms, slow_readers } = population;
    let storms = (!storms.is_empty()).then(|| ReconnectStorm::list_text(storms));
    [
        ("active clients", "--active-clients", active.map(|part| part.to_string())),
        ("idle in transaction", "--idle-in-transaction", idle_in_transaction.map(|part| part.to_string())),
        ("session lifetime", "--session-lifetime", session_lifetime.map(|part| part.to_string())),
        ("reconnect storms", "--reconnect-storm", storms),
        ("slow readers", "--slow-readers", slow_readers.map(|part| part.to_string())),
    ]
}

/// The names and texts of what was asked for.
pub(super) fn asked(plan: &Plan) -> [(&'static str, Option<String>); 5] {
    parts(&plan.population).map(|(name, _, text)| (name, text))
}

/// The flags of what was asked for.
pub(super) fn flags(plan: &Plan) -> impl Iterator<Item = (&'static str, String)> {
    parts(&plan.population).into_iter().filter_map(|(_, flag, text)| Some((flag, text?)))
}

/// `1,204 made anew; connecting took 2.1 ms (p50), 9.8 ms (p99), 12.0 ms at most`
pub(super) fn sessions(record: &Record) -> Option<String> {
    let PopulationSummary { renewed_sessions, failed_renewals, connecting_us, .. } =
        record.summary.population.as_ref()?;
    let failed = || format!("{} to connect failed", counted(*failed_renewals, "attempt", "attempts"));
    let Some(Latency { p50, p99, max, .. }) = connecting_us else {
        return (*failed_renewals > 0).then(failed);
    };
    let failed = if *failed_renewals > 0 { format!("; {}", failed()) } else { String::new() };
    Some(format!(
        "{} made anew; connecting took {} (p50), {} (p99), {} at most{failed}",
        count(*renewed_sessions),
        latency(*p50),
        latency(*p99),
        latency(*max)
    ))
}

/// One sentence for each storm.
pub(super) fn storms(record: &Record) -> Option<String> {
    let storms = &record.summary.population.as_ref()?.storms;
    let told: Vec<String> = storms.iter().map(storm).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// `at 30 s, 10,000 clients connected again within 4.21 s`
fn storm(storm: &StormSummary) -> String {
    let StormSummary { at_s, clients, connected, lasted_s } = *storm;
    let at = measured_seconds(at_s);
    let lasted = latency(lasted_s * 1e6);
    match clients - connected {
        0 if clients == 0 => format!("at {at}, no client was there"),
        0 => format!("at {at}, {} connected again within {lasted}", counted(clients, "client", "clients")),
        _ if connected == 0 => {
            format!("at {at}, none of {} connected again", counted(clients, "client", "clients"))
        }
        _ => format!(
            "at {at}, {} of {} clients connected again, the last one after {lasted}",
            count(connected),
            count(clients)
        ),
    }
}

/// `100 sessions, 300 transactions`
pub(super) fn idle(record: &Record) -> Option<String> {
    let IdleInTransaction { sessions, transactions, lost, error } =
        record.summary.population.as_ref()?.idle_in_transaction.as_ref()?;
    let why = error.as_ref().map_or(String::new(), |error| format!(": {}", escaped_line(error.as_str())));
    let lost = if *lost == 0 { String::new() } else { format!("; {}{TIE}ended early{why}", count(*lost)) };
    let (sessions, transactions) =
        (counted(*sessions, "session", "sessions"), counted(*transactions, "transaction", "transactions"));
    Some(format!("{sessions}, {transactions}{lost}"))
}

/// The storms for the charts: their name, a detail, begin and end.
pub(crate) fn storm_phases(population: &PopulationSummary) -> Vec<(&'static str, String, f64, Option<f64>)> {
    let phase = |it: &StormSummary| ("reconnecting", storm(it), it.at_s, Some(it.at_s + it.lasted_s));
    population.storms.iter().map(phase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::with_ordinary_spaces;

    fn told(clients: u64, connected: u64) -> String {
        with_ordinary_spaces(&storm(&StormSummary { at_s: 30.0, clients, connected, lasted_s: 4.214 }))
    }

    #[test]
    fn a_storm_says_who_connected_again_and_how_long_it_took() {
        assert_eq!(told(10_000, 10_000), "at 30.0 s, 10,000 clients connected again within 4.21 s");
        assert_eq!(told(1, 1), "at 30.0 s, 1 client connected again within 4.21 s");
        assert_eq!(told(100, 98), "at 30.0 s, 98 of 100 clients connected again, the last one after 4.21 s");
        assert_eq!(told(5, 0), "at 30.0 s, none of 5 clients connected again");
    }
}
