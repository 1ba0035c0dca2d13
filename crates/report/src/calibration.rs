//! What a machine can do at best, as a small table: one line for each number of clients.
//! Called by `cli` for a calibration that was just made or is kept.

use results::{Calibration, Lateness, Level};

use crate::TextStyle;
use crate::figures::{count, latency, percent, rate, with_ordinary_spaces};
use crate::prose::{Emphasis, emphasise, escaped_line};
use crate::table::{Cells, fitted, titled};

/// Blanks before everything below the title.
const INDENT: usize = 2;

/// The calibration, several lines, the last with its line end.
pub fn calibration(calibration: &Calibration, style: &TextStyle) -> String {
    let Calibration { measured_at, host, event_loop, levels, wakeup_lateness_us, .. } = calibration;
    let title = format!("one worker, event loop {}, against a server that takes no time", event_loop.name());
    let machine = match &host.cpu_model {
        Some(model) => {
            format!("{}, {}, measured {measured_at}", escaped_line(model), escaped_line(&host.kernel))
        }
        None => format!("{}, measured {measured_at}", escaped_line(&host.kernel)),
    };
    let mut out = format!("{}\n", emphasise(&title, Emphasis::Strong, style));
    out += &format!("{}{machine}\n\n", " ".repeat(INDENT));
    out += &fitted(|_| columns(levels), 0, INDENT, style);
    if let Some(Lateness { p50, p99, max }) = wakeup_lateness_us {
        let (p50, p99, max) = (latency(*p50), latency(*p99), latency(*max));
        out += &format!("\n{}woken late by {p50} (p50), {p99} (p99), {max} (max)\n", " ".repeat(INDENT));
    }
    with_ordinary_spaces(&out)
}

fn columns(levels: &[Level]) -> Vec<Cells> {
    let column = |title: &str, of: &dyn Fn(&Level) -> String| titled(title, levels.iter().map(of).collect());
    let waited = |level: &Level| level.run_queue_share.map_or("-".to_owned(), |share| percent(share, 1.0));
    vec![
        column("clients", &|level| count(u64::from(level.clients))),
        column("round trips/s", &|level| rate(level.round_trips_per_s)),
        column("CPU each", &|level| latency(level.cpu_us_per_round_trip)),
        column("p50", &|level| latency(level.round_trip_us_p50)),
        column("waited for a core", &waited),
    ]
}
