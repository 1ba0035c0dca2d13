//! Calibrations as documents: the best rate of round trips that this machine can make, for each number of clients.
//! Used by `cli` for `pgmeter calibrate`.

use std::collections::BTreeSet;

use results::{Calibration, Lateness, Level};

use crate::chart::{Axis, Chart, Colour, Plot, Point, Series};
use crate::document::{Audience, Block, Cell, Column, Document, Section, Table, Tone};
use crate::figures::{latency, rate};
use crate::metrics::Quantity;
use crate::prose::{escaped_line, moment};
use crate::values::ValueTable;

/// The document of calibrations, such as one for each event loop.
pub fn calibration(calibrations: &[Calibration]) -> Document {
    let title = match calibrations {
        [only] => title(only),
        several => format!("{} calibrations", several.len()),
    };
    let of_one = |calibration: &Calibration| {
        let section_title = if calibrations.len() == 1 { String::new() } else { self::title(calibration) };
        let id = calibration.event_loop.name();
        let mut blocks = vec![Block::Paragraph(Tone::Plain, machine(calibration))];
        blocks.push(Block::Table(table(&calibration.levels)));
        blocks.extend(late_wakeups(calibration).map(|text| Block::Paragraph(Tone::Plain, text)));
        Section::new(id, section_title, "", Audience::All, blocks)
    };
    let first = vec![Block::Answer(Tone::Strong, answer(calibrations)), picture(calibrations)];
    let first = Section::new("answer", "", "", Audience::Documents, first);
    let sections = std::iter::once(first).chain(calibrations.iter().map(of_one));
    Document { title, sections: sections.collect(), ..Document::default() }
}

/// `One worker makes at most 212,000 round trips per second with io_uring, 150,000 with epoll.`
fn answer(calibrations: &[Calibration]) -> String {
    let best = |it: &Calibration| format!("{} with {}", rate(it.best_rate()), it.event_loop.name());
    let all: Vec<String> = calibrations.iter().map(best).collect();
    format!("Round trips per second of one worker, at most: {}.", all.join(", "))
}

fn title(calibration: &Calibration) -> String {
    let event_loop = calibration.event_loop.name();
    format!("One worker, event loop {event_loop}, against a server that takes no time")
}

fn machine(calibration: &Calibration) -> String {
    let Calibration { measured_at, host, .. } = calibration;
    let kernel = escaped_line(&host.kernel);
    match &host.cpu_model {
        Some(model) => format!("{}, {kernel}, measured {}", escaped_line(model), moment(*measured_at)),
        None => format!("{kernel}, measured {}", moment(*measured_at)),
    }
}

fn late_wakeups(calibration: &Calibration) -> Option<String> {
    let Lateness { p50, p99, max } = calibration.wakeup_lateness_us?;
    Some(format!("late wake-ups: {} (p50), {} (p99), {} (max)", latency(p50), latency(p99), latency(max)))
}

fn table(levels: &[Level]) -> Table {
    Table::of(
        levels,
        &[
            (Column::figures("clients"), &|it| Cell::figure(Quantity::Count, it.clients.into())),
            (Column::figures("round trips/s"), &|it| Cell::figure(Quantity::PerSecond, it.round_trips_per_s)),
            (Column::figures("CPU each"), &|it| {
                Cell::figure(Quantity::Microseconds, it.cpu_us_per_round_trip)
            }),
            (Column::figures("p50"), &|it| Cell::figure(Quantity::Microseconds, it.round_trip_us_p50)),
            (Column::figures("waited for a core"), &|it| {
                Cell::figure_if(Quantity::Share, it.run_queue_share)
            }),
        ],
    )
}

/// The round trips of all calibrations by number of clients.
pub(crate) fn picture(calibrations: &[Calibration]) -> Block {
    let series = |(number, it): (usize, &Calibration)| {
        let point = |level: &Level| Point::new(level.clients.into(), level.round_trips_per_s);
        let label = if calibrations.len() > 1 { it.event_loop.name() } else { "" };
        let points = it.levels.iter().map(point).collect();
        Series { has_dots: true, ..Series::new(label, Colour::Run(number), points) }
    };
    let series = calibrations.iter().enumerate().map(series).collect();
    let levels: BTreeSet<u32> =
        calibrations.iter().flat_map(|it| &it.levels).map(|level| level.clients).collect();
    let marks = levels.into_iter().map(|clients| (clients.into(), clients.to_string())).collect();
    let x = Axis::new("clients", Quantity::Count).logarithmic(true).with_marks(marks);
    let y = Axis::new("round trips per second", Quantity::PerSecond);
    let plot = Plot::lines(x, y, series);
    Block::chart(Chart::new("Round trips", "per second, by number of clients", plot))
}

/// A row for each number of clients.
pub(crate) fn calibration_rows(calibrations: &[Calibration]) -> ValueTable<'_> {
    const COLUMNS: &str =
        "event_loop,clients,round_trips_per_s,cpu_us_per_round_trip,round_trip_us_p50,run_queue_share";
    let row = |(calibration, level): (&'_ Calibration, &Level)| {
        vec![
            calibration.event_loop.name().into(),
            level.clients.into(),
            level.round_trips_per_s.into(),
            level.cpu_us_per_round_trip.into(),
            level.round_trip_us_p50.into(),
            level.run_queue_share.into(),
        ]
    };
    let levels = calibrations.iter().flat_map(|it| it.levels.iter().map(move |level| (it, level)));
    ValueTable::new(COLUMNS, levels.map(row).collect())
}
