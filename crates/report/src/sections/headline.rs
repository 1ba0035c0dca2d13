//! What one run comes to: throughput and how sure it is, the latencies that people quote, and who was the limit.
//! Used by the page and by Markdown.

use results::{Estimate, LimitedBy, Record};

use crate::figures::{TIE, UNKNOWN_SIZE, as_asked, latency, measured_seconds, plus_minus, rate};
use crate::prose::escaped_line;
use crate::wording;

/// The first thing that is read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Headline {
    /// `12,345`, in transactions per second.
    pub(crate) tps: String,
    /// Its 95 % interval, or why there is none.
    pub(crate) interval: String,
    /// `median response` and so on with a latency each; empty if nothing succeeded.
    pub(crate) quantiles: Vec<(&'static str, String)>,
    /// `The limit was the server.`
    pub(crate) limit: String,
    /// Why that is thought to be so.
    pub(crate) evidence: String,
    /// Whether what was measured is pgmeter rather than a server.
    pub(crate) client_limited: bool,
    /// Whether the run had settled, in a sentence; `None` if nobody looked.
    pub(crate) steady: Option<String>,
    /// Whether it is known not to have settled.
    pub(crate) unsettled: bool,
}

pub(crate) fn headline(record: &Record) -> Headline {
    let summary = &record.summary;
    let verdict = summary.generator.as_ref().map(|generator| &generator.verdict);
    let limited_by = verdict.map(|verdict| verdict.limit);
    let quantiles = summary.response_us.map(|response| {
        vec![
            ("median response", latency(response.p50)),
            ("p95", latency(response.p95)),
            ("p99", latency(response.p99)),
            ("p99.9", latency(response.p999)),
        ]
    });
    let steady = summary.steady_state.as_ref();
    Headline {
        tps: rate(summary.tps),
        interval: interval(record),
        quantiles: quantiles.unwrap_or_default(),
        limit: limit_sentence(limited_by).to_owned(),
        evidence: verdict.map(|verdict| capitalised(&escaped_line(&verdict.evidence))).unwrap_or_default(),
        client_limited: limited_by == Some(LimitedBy::Generator),
        steady: steady.map(wording::steady),
        unsettled: steady.is_some_and(|steady| steady.settled == Some(false)),
    }
}

fn limit_sentence(limit: Option<LimitedBy>) -> &'static str {
    match limit {
        Some(LimitedBy::Server) => "The server was the limit.",
        Some(LimitedBy::Generator) => {
            "pgmeter itself was the limit: the figures describe the load generator, not the server."
        }
        Some(LimitedBy::ClientCount) => "The number of clients was the limit.",
        Some(LimitedBy::Network) => "The network was the limit.",
        Some(LimitedBy::Undecided) => "The limit could not be determined.",
        None => "The limit was not determined.",
    }
}

/// `± 1.2 %: with 95 % confidence between 12,200 and 12,490, over 60.0 s`
fn interval(record: &Record) -> String {
    let summary = &record.summary;
    let of_rate = record.plan.rate_tps.map(|rate_tps| format!(" of {} scheduled", as_asked(rate_tps)));
    let of_rate = of_rate.unwrap_or_default();
    let over = format!("over {}", measured_seconds(summary.duration_s));
    match summary.confidence.tps {
        Some(Estimate { low, high, .. }) if summary.tps > 0.0 => {
            let half = plus_minus(summary.tps, low, high).unwrap_or_else(|| UNKNOWN_SIZE.to_owned());
            let (low, high) = (rate(low), rate(high));
            format!("{half}{of_rate}: with 95{TIE}% confidence between {low} and {high}, {over}")
        }
        _ if summary.duration_s > 0.0 => {
            let least = stats::INTERVALS_MIN;
            format!("{over}{of_rate}; too short for a confidence interval, which takes {least}{TIE}s")
        }
        _ => "nothing was measured".to_owned(),
    }
}

/// With a capital first letter and a full stop.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let Some(first) = letters.next() else { return String::new() };
    let stop = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    first.to_uppercase().chain(letters).collect::<String>() + stop
}
