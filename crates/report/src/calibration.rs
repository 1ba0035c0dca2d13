//! Calibrations as documents: the best rate of round trips that this machine can make, for each number of clients.
//! Used by `cli` for `pgmeter calibrate`.

use results::{Calibration, Lateness, Level};

use crate::chart::{Axis, Chart, Colour, Plot, Point, Series};
use crate::csv::quoted;
use crate::document::{Audience, Block, Cell, Column, Document, Section, Table, Tone};
use crate::figures::latency;
use crate::metrics::Quantity;
use crate::prose::escaped_line;

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
        blocks.push(Block::Chart(Box::new(chart(&calibration.levels))));
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
    let row = |level: &Level| {
        vec![
            Cell::figure(Quantity::Count, level.clients.into()),
            Cell::figure(Quantity::PerSecond, level.round_trips_per_s),
            Cell::figure(Quantity::Microseconds, level.cpu_us_per_round_trip),
            Cell::figure(Quantity::Microseconds, level.round_trip_us_p50),
            Cell::figure_if(Quantity::Share, level.run_queue_share),
        ]
    };
    let columns = ["clients", "round trips/s", "CPU each", "p50", "waited for a core"].map(Column::figures);
    Table { columns: columns.to_vec(), rows: levels.iter().map(row).collect(), ..Table::default() }
}

fn chart(levels: &[Level]) -> Chart {
    let points: Vec<Point> =
        levels.iter().map(|level| Point::new(level.clients.into(), level.round_trips_per_s)).collect();
    let marks = levels.iter().map(|level| (level.clients.into(), level.clients.to_string())).collect();
    let series = vec![Series { has_dots: true, ..Series::new("", Colour::Run(0), points) }];
    let x = Axis::new("clients", Quantity::Count).logarithmic(true).with_marks(marks);
    let y = Axis::new("round trips per second", Quantity::PerSecond);
    let plot = Plot::Lines { x, y, series, is_stacked: false, bands: Vec::new() };
    Chart::new("Round trips", "per second, by number of clients", plot)
}

/// The calibrations as they are kept, in a list.
pub fn calibration_json(calibrations: &[Calibration]) -> String {
    let mut json = serde_json::to_string_pretty(calibrations).expect("a calibration has string keys only");
    json.push('\n');
    results::escaped_json(json)
}

const COLUMNS: [&str; 6] = [
    "event_loop",
    "clients",
    "round_trips_per_s",
    "cpu_us_per_round_trip",
    "round_trip_us_p50",
    "run_queue_share",
];

/// A line for each number of clients.
pub fn calibration_csv(calibrations: &[Calibration]) -> String {
    let line = |(calibration, level): (&Calibration, &Level)| {
        let cells = [
            calibration.event_loop.name().to_owned(),
            level.clients.to_string(),
            level.round_trips_per_s.to_string(),
            level.cpu_us_per_round_trip.to_string(),
            level.round_trip_us_p50.to_string(),
            level.run_queue_share.map_or(String::new(), |share| share.to_string()),
        ];
        cells.map(|cell| quoted(&cell)).join(",") + "\n"
    };
    let levels = calibrations.iter().flat_map(|it| it.levels.iter().map(move |level| (it, level)));
    COLUMNS.join(",") + "\n" + &levels.map(line).collect::<String>()
}
