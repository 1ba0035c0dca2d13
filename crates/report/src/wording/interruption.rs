//! The sentence that names an outage or a long stall: the first line of a report, and the list of runs. `results` finds
//! both; the sections of outages and the warnings have the details.

use results::{Outages, Stall, Summary};

use crate::figures::{TIE, latency, measured_seconds};

/// A shorter stall is in the warnings and the table only.
const STALL_MIN_S: f64 = 1.0;
const MICROSECONDS_PER_SECOND: f64 = 1e6;

/// `OUTAGE: no write for 3.52 s, from 4.73 s on.` `None` without an outage and without a stall of more than a second.
pub(crate) fn interruption(summary: &Summary) -> Option<String> {
    if let Some(outages) = outages(summary) {
        return Some(match longest_window(outages) {
            Some((length_s, start_s, is_over)) => {
                let what = if outages.of_writes { "write" } else { "succeeded transaction" };
                let open = if is_over { "" } else { ", until the end of the run" };
                let of_all = of_all(outages.count, "outages");
                format!(
                    "OUTAGE: no {what} for {}, from {}{TIE}on{open}{of_all}.",
                    time(length_s),
                    time(start_s)
                )
            }
            None => {
                let first_s = outages.outages.first().map(|outage| outage.first_error_s);
                let from =
                    first_s.map(|first_s| format!(", from {}{TIE}on", time(first_s))).unwrap_or_default();
                format!("OUTAGE: clients lost their connections{from}. Other clients went on.")
            }
        });
    }
    let (stall, stalls) = longest_stall(summary)?;
    let of_all = of_all(stalls, "stalls");
    let (length, start) = (time(stall.length_s()), time(stall.start_s));
    Some(format!("STALL: no transaction completed for {length}, from {start}{TIE}on{of_all}."))
}

/// The longest time without a write or without a transaction, in seconds, if it is named.
pub(crate) fn longest_interruption_s(summary: &Summary) -> Option<f64> {
    match outages(summary) {
        Some(outages) => longest_window(outages).map(|(length_s, ..)| length_s),
        None => longest_stall(summary).map(|(stall, _)| stall.length_s()),
    }
}

/// In a column of a list: `outage of 3.52 s`, `stall of 3.00 s`.
pub(super) fn interruption_in_short(summary: &Summary) -> Option<String> {
    if let Some(outages) = outages(summary) {
        let length = longest_window(outages).map(|(length_s, ..)| format!(" of {}", time(length_s)));
        return Some(format!("outage{}", length.unwrap_or_default()));
    }
    longest_stall(summary).map(|(stall, _)| format!("stall of {}", time(stall.length_s())))
}

fn outages(summary: &Summary) -> Option<&Outages> {
    summary.outages.as_ref().filter(|outages| outages.losses > 0)
}

/// Length and start of the longest time without a write, and whether it ended in the run.
fn longest_window(outages: &Outages) -> Option<(f64, f64, bool)> {
    let windows = outages.outages.iter().filter_map(|outage| outage.window.as_ref());
    let longest = windows.max_by(|a, b| a.length_s().total_cmp(&b.length_s()))?;
    Some((longest.length_s(), longest.start_s, longest.is_over))
}

/// The longest stall, and how many there were.
fn longest_stall(summary: &Summary) -> Option<(&Stall, u64)> {
    let stalls = summary.stalls.as_ref()?;
    let longest = stalls.longest.iter().max_by(|a, b| a.length_s().total_cmp(&b.length_s()))?;
    (longest.length_s() > STALL_MIN_S).then_some((longest, stalls.count))
}

fn of_all(number: u64, what: &str) -> String {
    if number > 1 { format!("; it is the longest of {number} {what}") } else { String::new() }
}

fn time(seconds: f64) -> String {
    if seconds < 0.0 { measured_seconds(seconds) } else { latency(seconds * MICROSECONDS_PER_SECOND) }
}

#[cfg(test)]
mod tests {
    use results::{Outage, OutageWindow, Stalls};
    use serde_json::json;

    use super::*;
    use crate::figures::with_ordinary_spaces;

    fn summary(stalls: &[(f64, f64)], outages: Option<Outages>) -> Summary {
        let nothing = json!({
            "duration_s": 10.0, "elapsed_s": 10.0, "tps": 0.0, "counts": results::Counts::default(),
            "other_endings": {}, "confidence": {}, "scripts": [],
        });
        let longest: Vec<Stall> = stalls.iter().map(|&(start_s, end_s)| Stall { start_s, end_s }).collect();
        let total_s = longest.iter().map(Stall::length_s).sum();
        let stalls = Stalls { threshold_us: 1_000.0, count: longest.len() as u64, total_s, longest };
        let summary: Summary = serde_json::from_value(nothing).expect("a summary of nothing");
        Summary { stalls: Some(stalls), outages, ..summary }
    }

    fn outage(window: Option<(f64, f64)>) -> Outages {
        let window = window.map(|(start_s, end_s)| OutageWindow {
            start_s,
            end_s,
            is_over: true,
            arrivals: 0,
            succeeded: 0,
            failed: 0,
            skipped: 0,
            unfinished: 0,
            unknown: 0,
            response_us: None,
        });
        let outage = Outage {
            first_error_s: 4.0,
            first_connect_s: None,
            last_connect_s: None,
            first_read_s: None,
            first_write_s: None,
            window,
            clients: 2,
            hung: 0,
            never: 0,
            without_success_us: None,
            attempts: Vec::new(),
            former_tps: None,
            recovered_s: None,
            connections: Vec::new(),
        };
        Outages { losses: 2, of_writes: true, count: 1, outages: vec![outage], ..Outages::default() }
    }

    fn check(summary: &Summary, sentence: Option<&str>, short: Option<&str>) {
        let plain = |text: Option<String>| text.map(|text| with_ordinary_spaces(&text));
        assert_eq!(plain(interruption(summary)).as_deref(), sentence);
        assert_eq!(plain(interruption_in_short(summary)).as_deref(), short);
    }

    #[test]
    fn an_outage_or_a_long_stall_is_named_and_a_short_one_is_not() {
        check(&summary(&[], None), None, None);
        check(&summary(&[(1.0, 1.9)], None), None, None);
        check(
            &summary(&[(1.0, 1.9), (4.73, 7.73)], None),
            Some(
                "STALL: no transaction completed for 3.00 s, from 4.73 s on; it is the longest of 2 stalls.",
            ),
            Some("stall of 3.00 s"),
        );
        check(
            &summary(&[(4.0, 7.5)], Some(outage(Some((4.0, 7.52))))),
            Some("OUTAGE: no write for 3.52 s, from 4.00 s on."),
            Some("outage of 3.52 s"),
        );
        check(
            &summary(&[], Some(outage(None))),
            Some("OUTAGE: clients lost their connections, from 4.00 s on. Other clients went on."),
            Some("outage"),
        );
    }
}
