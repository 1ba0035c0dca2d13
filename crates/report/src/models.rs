//! Models of throughput over clients beside the measured curve, with their assumptions: of runs side by side and of
//! experiments. `stats::scalability` fits them; a model that the data do not support is a sentence. docs/models.md
//! explains them.

use stats::scalability::{
    AsymptoticBounds, ClosedLoop, LittlesLaw, ModelEstimate, ScalabilityLaw, Unsupported, UtilizationLaw,
    asymptotic_bounds, littles_law, scalability_law, utilization_law,
};

use results::{Environment, Plan, Summary};

use crate::chart::{Axis, Band, Chart, Colour, Plot, Point, Series};
use crate::document::{Block, Fact};
use crate::figures::{TIE, as_asked, counted, known_to, latency, percent, rate_known_to};
use crate::metrics::Quantity;

/// Numbers of clients that make a curve.
const LEVELS_MIN: usize = 3;
/// Curves that are modelled; of more, each has its own report.
const CURVES_MAX: usize = 4;
/// A share of the clients' time above which Little's law leaves nothing to explain.
const BUSY_MIN: f64 = 0.95;
/// A share above which the figures contradict each other.
const BUSY_MAX: f64 = 1.05;
const MICROS_PER_SECOND: f64 = 1e6;

/// The measurements of a closed loop with several numbers of clients, all else the same.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelledCurve {
    /// What else it is; empty if it is the only curve.
    pub(crate) name: String,
    pub(crate) points: Vec<ClosedLoop>,
}

/// The figures of a run as a measurement, with the CPU time of the server per transaction; `None` if it is of no closed
/// loop.
pub(crate) fn measurement(
    plan: &Plan,
    summary: &Summary,
    environment: Option<&Environment>,
    cpu_us: Option<f64>,
) -> Option<ClosedLoop> {
    // The CPUs of a server on another host are unknown.
    let is_here = |it: &&Environment| it.connection.as_ref().is_some_and(|connection| connection.same_host);
    let processors = environment.filter(is_here).and_then(|it| it.host.cpu_count).filter(|count| *count > 0);
    // The models are of clients that all work all the time.
    let is_always_busy = plan.think.is_none() && !plan.is_changing();
    let is_closed = plan.rate_tps.is_none() && is_always_busy && summary.tps > 0.0;
    is_closed.then(|| ClosedLoop {
        clients: f64::from(plan.working_clients()),
        tps: summary.tps,
        response_s: summary.response_of_all_us().map(|us| us.mean / MICROS_PER_SECOND),
        demand_s: cpu_us
            .zip(processors)
            .map(|(us, processors)| us / MICROS_PER_SECOND / f64::from(processors)),
    })
}

/// Adds a measurement to the curve of its name.
pub(crate) fn add(curves: &mut Vec<ModelledCurve>, name: String, point: ClosedLoop) {
    match curves.iter_mut().find(|curve| curve.name == name) {
        Some(curve) => curve.points.push(point),
        None => curves.push(ModelledCurve { name, points: vec![point] }),
    }
}

/// The models of each curve: a picture and a table. Nothing without enough numbers of clients.
pub(crate) fn blocks(curves: Vec<ModelledCurve>) -> Vec<Block> {
    let mut curves: Vec<ModelledCurve> =
        curves.into_iter().filter(|curve| levels(curve) >= LEVELS_MIN).collect();
    let more = curves.len().saturating_sub(CURVES_MAX);
    curves.truncate(CURVES_MAX);
    let is_only = curves.len() == 1;
    let mut blocks: Vec<Block> = curves.iter().flat_map(|curve| of_curve(curve, is_only)).collect();
    if !blocks.is_empty() {
        let more = (more > 0)
            .then(|| format!("{} more are not modelled here.", counted(more as u64, "curve", "curves")));
        blocks.extend(more.map(Block::quiet));
        blocks.push(Block::quiet(METHOD));
    }
    blocks
}

const METHOD: &str = "Models are not measurements: each holds only under its assumptions, and says nothing about more clients \
    than were measured. Intervals are of 95 %.";

fn levels(curve: &ModelledCurve) -> usize {
    let mut clients: Vec<f64> = curve.points.iter().map(|point| point.clients).collect();
    clients.sort_by(f64::total_cmp);
    clients.dedup();
    clients.len()
}

/// All models of a curve.
struct Models {
    little: Option<LittlesLaw>,
    utilization: Result<UtilizationLaw, Unsupported>,
    bounds: Result<AsymptoticBounds, Unsupported>,
    scalability: Result<ScalabilityLaw, Unsupported>,
}

fn of_curve(curve: &ModelledCurve, is_only: bool) -> Vec<Block> {
    let points = &curve.points;
    let models = Models {
        little: littles_law(points),
        utilization: utilization_law(points),
        bounds: asymptotic_bounds(points),
        scalability: scalability_law(points),
    };
    let heading = (!is_only && !curve.name.is_empty()).then(|| Block::Heading(curve.name.clone()));
    let blocks = [Block::chart(chart(points, &models)), Block::Facts(facts(&models))];
    heading.into_iter().chain(blocks).collect()
}

/// A line for each model: what it says, and what it takes for granted.
fn facts(models: &Models) -> Vec<Fact> {
    let little =
        models.little.as_ref().map_or("the response times were not measured".to_owned(), little_in_words);
    let utilization = models.utilization.as_ref().map_or_else(unsupported, utilization_in_words);
    let bounds = models.bounds.as_ref().map_or_else(unsupported, bounds_in_words);
    let scalability = models.scalability.as_ref().map_or_else(unsupported, scalability_in_words);
    let rows = [
        ("Little's law", little, "a steady load"),
        (
            "utilization law",
            utilization,
            "that CPU time per transaction does not depend on the clients, and that nothing else runs on the server's CPUs",
        ),
        ("asymptotic bounds", bounds, "that a transaction takes no less time beside others than alone"),
        (
            "Universal Scalability Law",
            scalability,
            "that delays depend on the number of clients alone, and that no queue is in front of the server",
        ),
    ];
    let fact =
        |(name, says, assumes): (&str, String, &str)| Fact::new(name, format!("{says}. Assumes {assumes}."));
    rows.into_iter().map(fact).collect()
}

fn little_in_words(LittlesLaw { busy_shares }: &LittlesLaw) -> String {
    let least = busy_shares.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0.0, 1.0));
    let most = busy_shares.iter().map(|(_, share)| *share).fold(0.0, f64::max);
    let (clients, share) = (clients_in_words(least.0), percent(least.1, 1.0));
    match (least.1 < BUSY_MIN, most > BUSY_MAX) {
        (_, true) => format!(
            "not supported: throughput × response time is {} of the clients, so the figures contradict each other",
            percent(most, 1.0)
        ),
        (true, _) => format!(
            "{clients} {} {share} of the time in transactions; for the rest no transaction was open",
            if least.0 == 1.0 { "spends" } else { "spend" }
        ),
        (false, _) => format!("holds: throughput × response time is {share} of the clients or more"),
    }
}

fn utilization_in_words(law: &UtilizationLaw) -> String {
    let UtilizationLaw { demand_s, tps_max, uses } = law;
    let highest = uses.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0.0, 0.0));
    format!(
        "the CPUs are fully used at {}, with {} of CPU time of each; with {} they are used to {}",
        rate_in_words(*tps_max),
        latency(demand_s.value * MICROS_PER_SECOND),
        clients_in_words(highest.0),
        percent(highest.1, 1.0)
    )
}

fn bounds_in_words(bounds: &AsymptoticBounds) -> String {
    let alone = latency(bounds.alone_s.value * MICROS_PER_SECOND);
    let alone = format!("at most clients ÷ {alone}, the time of a transaction alone");
    match bounds.tps_max {
        Some(tps_max) => format!("{alone}, and at most {}", rate_in_words(tps_max)),
        None => format!("{alone}; the bound by the CPUs is unknown"),
    }
}

fn scalability_in_words(law: &ScalabilityLaw) -> String {
    let share = |estimate: ModelEstimate| {
        let interval =
            estimate.interval.map(|(low, high)| format!(" ({} … {})", percent(low, 1.0), percent(high, 1.0)));
        format!("{}{}", percent(estimate.value, 1.0), interval.unwrap_or_default())
    };
    let parameters = format!("contention {}, coherency {}", share(law.sigma), share(law.kappa));
    // The mark on the picture has an interval, too.
    let peak = law.peak.and_then(|peak| peak.clients.interval);
    match peak {
        Some((low, high)) => {
            let ends = [low, high].map(|it| as_asked(it.round()));
            let ends = if ends[0] == ends[1] { ends[0].clone() } else { ends.join(" … ") };
            format!("{parameters}; the throughput is highest with {ends}{TIE}clients")
        }
        None => {
            format!("{parameters}; the data show no number of clients at which the throughput is highest")
        }
    }
}

/// Why the data do not support a model.
fn unsupported(why: &Unsupported) -> String {
    let why = match *why {
        Unsupported::FewLevels(levels, needed) => {
            format!("it needs {needed} numbers of clients, and {levels} were measured")
        }
        Unsupported::NarrowRange(range) => {
            format!(
                "the largest number of clients is only {} times the smallest",
                as_asked((range * 10.0).round() / 10.0)
            )
        }
        Unsupported::NoSingleClient(smallest) => {
            format!("a single client was not measured, only {} and more", as_asked(smallest))
        }
        Unsupported::NotMeasured => "the CPU time of the server was not measured".to_owned(),
        Unsupported::BadFit(clients, share) => format!(
            "with {} the throughput is {} {} than the best curve, which is more than chance",
            clients_in_words(clients),
            percent(share.abs(), 1.0),
            if share > 0.0 { "higher" } else { "lower" }
        ),
    };
    format!("not supported: {why}")
}

fn clients_in_words(clients: f64) -> String {
    format!("{}{TIE}{}", as_asked(clients), if clients == 1.0 { "client" } else { "clients" })
}

/// `4,150 tps (4,000 … 4,280)`
fn rate_in_words(estimate: ModelEstimate) -> String {
    match estimate.interval {
        Some((low, high)) if low > 0.0 => {
            let half = (high - low) / 2.0 / estimate.value;
            let [value, low, high] =
                [estimate.value, low, high].map(|tps| rate_known_to(tps, half.max(0.001)));
            // Data without scatter: all have the same digits.
            let range = if low == high { String::new() } else { format!(" ({low} … {high})") };
            format!("{value}{TIE}tps{range}")
        }
        _ => format!("about {}{TIE}tps", as_asked(known_to(estimate.value, 0.05).0)),
    }
}

/// The measurements, the bounds and the fitted curve over the clients; the peak is a mark with its interval.
fn chart(points: &[ClosedLoop], models: &Models) -> Chart {
    let measured = Series {
        has_dots: true,
        has_no_line: true,
        ..Series::new(
            "measured",
            Colour::Run(0),
            points.iter().map(|it| Point::new(it.clients, it.tps)).collect(),
        )
    };
    let fitted = models.scalability.as_ref().ok().map(|law| {
        let point = |it: &stats::scalability::CurvePoint| Point {
            interval: it.tps.interval,
            ..Point::new(it.clients, it.tps.value)
        };
        let points = law.curve.iter().map(point).collect();
        Series { has_band: true, ..Series::new("Universal Scalability Law", Colour::Run(1), points) }
    });
    let bounds = models.bounds.as_ref().ok().map(|bounds| bound(points, bounds));
    let peak = models.scalability.as_ref().ok().and_then(|law| law.peak?.clients.interval);
    let bands = peak.map(|(low, high)| Band {
        colour: Colour::Run(1),
        kind: "highest throughput".to_owned(),
        detail: format!("{} … {} clients", as_asked(low.round()), as_asked(high.round())),
        start: low,
        end: Some(high),
        is_shaded: true,
        has_words: true,
    });
    let x = Axis::new("clients", Quantity::Count);
    let y = Axis::new("throughput, tps", Quantity::PerSecond);
    let series = [Some(measured), fitted, bounds].into_iter().flatten().collect();
    let plot = Plot::Lines { x, y, series, is_stacked: false, bands: bands.into_iter().collect() };
    Chart::new("Models of the throughput", "throughput over clients; a dot for each measurement", plot)
}

/// The lower of both bounds, not far above what was measured.
fn bound(points: &[ClosedLoop], bounds: &AsymptoticBounds) -> Series {
    const STEPS: usize = 60;
    let largest = points.iter().map(|it| it.clients).fold(1.0, f64::max);
    let highest = points.iter().map(|it| it.tps).fold(0.0, f64::max);
    let at = |clients: f64| {
        let by_clients = clients / bounds.alone_s.value;
        bounds.tps_max.map_or(by_clients, |tps_max| by_clients.min(tps_max.value))
    };
    let position = |step: usize| 1.0 + (largest - 1.0) * step as f64 / STEPS as f64;
    let drawn = (0..=STEPS).map(position).map(|clients| (clients, at(clients)));
    let points =
        drawn.map(|(clients, tps)| Point::new(clients, if tps > 1.5 * highest { f64::NAN } else { tps }));
    Series { is_dashed: true, ..Series::new("asymptotic bounds", Colour::Run(2), points.collect()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Audience, Document, Section};
    use crate::{TextStyle, text};

    fn curve(tps: impl Fn(f64) -> f64) -> ModelledCurve {
        let point = |clients: f64| ClosedLoop {
            clients,
            tps: tps(clients),
            response_s: Some(clients / tps(clients)),
            demand_s: Some(0.000_2),
        };
        let repeats = |clients| [point(clients), point(clients)];
        ModelledCurve { name: String::new(), points: [1.0, 2.0, 4.0, 8.0, 16.0].map(repeats).concat() }
    }

    fn shown(curves: Vec<ModelledCurve>) -> String {
        let sections = vec![Section::new("models", "Models", "", Audience::All, blocks(curves))];
        let document =
            Document { banners: Vec::new(), title: String::new(), subtitle: String::new(), sections };
        text(&document, &TextStyle { colour: false, width: 100 }).replace(TIE, " ")
    }

    #[test]
    fn each_model_says_what_it_finds_and_what_it_assumes() {
        let text = shown(vec![curve(|clients| {
            1_000.0 * clients / (1.0 + 0.1 * (clients - 1.0) + 0.01 * clients * (clients - 1.0))
        })]);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [
            "Little's law holds: throughput × response time is ",
            "Assumes a steady load.",
            "utilization law the CPUs are fully used at 5,000 tps, with 200 µs of CPU time of each; with 8 clients",
            "asymptotic bounds at most clients ÷ 1.00 ms, the time of a transaction alone, and at most 5,000 tps",
            "Universal Scalability Law contention 10 % (10 % … 10 %), coherency 1.0 % (1.0 % … 1.0 %); the throughput is highest with 9 clients.",
            "no queue is in front of the server.",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }

    #[test]
    fn what_the_data_do_not_support_is_a_sentence() {
        let pool = curve(|clients| 1_000.0 * clients.min(4.0));
        let few = ModelledCurve {
            points: pool.points[2..6]
                .iter()
                .chain(&pool.points[8..9])
                .map(|it| ClosedLoop { demand_s: None, ..*it })
                .collect(),
            ..pool.clone()
        };
        let text = shown(vec![pool]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("not supported: with 8 clients the throughput is 15 % lower than the best curve"),
            "{text}"
        );
        let text = shown(vec![few]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("not supported: it needs 4 numbers of clients, and 3 were measured"), "{text}");
        assert!(text.contains("not supported: a single client was not measured"), "{text}");
        assert!(text.contains("not supported: the CPU time of the server was not measured"), "{text}");
        assert_eq!(
            blocks(vec![ModelledCurve { name: String::new(), points: curve(|it| it).points[..4].to_vec() }]),
            []
        );
    }
}
