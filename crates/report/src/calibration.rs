//! Calibrations as documents: the best rate of round trips that this machine can make, for each number of clients.
//! Used by `cli` for `pgmeter calibrate`.

use results::{Calibration, Lateness, Level};

use crate::chart::{Axis, Chart, Colour, Plot, Point, Series};
use crate::document::{Audience, Block, Cell, Column, Document, Section, Table, Tone};
use crate::figures::latency;
use crate::metrics::Quantity;
use crate::prose::escaped_line;
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
        blocks.push(Block::chart(chart(&calibration.levels)));
        Section::new(id, section_title, "", Audience::All, blocks)
    };
    Document { title, sections: calibrations.iter().map(of_one).collect(), ..Document::default() }
}

fn title(calibration: &Calibration) -> String {
    let event_loop = calibration.event_loop.name();
    format!("One worker, event loop {event_loop}, against a server that takes no time")
}

fn machine(calibration: &Calibration) -> String {
    let Calibration { measured_at, host, .. } = calibration;
    let kernel = escaped_line(&host.kernel);
    match &host.cpu_model {
        Some(model) => format!("{}, {kernel}, measured {measured_at}", escaped_line(model)),
        None => format!("{kernel}, measured {measured_at}"),
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

fn chart(levels: &[Level]) -> Chart {
    let points: Vec<Point> =
        levels.iter().map(|level| Point::new(level.clients.into(), level.round_trips_per_s)).collect();
    let marks = levels.iter().map(|level| (level.clients.into(), level.clients.to_string())).collect();
    let series = vec![Series { has_dots: true, ..Series::new("", Colour::Run(0), points) }];
    let x = Axis::new("clients", Quantity::Count).logarithmic(true).with_marks(marks);
    let y = Axis::new("round trips per second", Quantity::PerSecond);
    let plot = Plot::lines(x, y, series);
    Chart::new("Round trips", "per second, by number of clients", plot)
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
