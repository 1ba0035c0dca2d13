//! Models of throughput over clients in a closed loop: Little's law, the utilization law, asymptotic bounds and the
//! Universal Scalability Law. Each is an estimate with intervals, or says why the data do not support it.
//!
//! The laws are those of operational analysis (Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance,
//! 1984, chapters 3 and 5); the Universal Scalability Law is Gunther's (Guerrilla Capacity Planning, 2007, chapters 4 to
//! 6). docs/models.md explains them to users.

use crate::quantiles::two_sided_t;
use crate::sample_mean::{CONFIDENCE, SampleMean};
use crate::splitmix::SplitMix64;

/// A measurement of a closed loop in which no client waits between its transactions.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct ClosedLoop {
    /// Clients.
    pub clients: f64,
    /// Throughput per second.
    pub tps: f64,
    /// Mean response time in seconds; `None` if unknown.
    pub response_s: Option<f64>,
    /// CPU time of the server per transaction, divided by the number of its CPUs, in seconds; `None` if unknown.
    pub demand_s: Option<f64>,
}

/// An estimate of a model.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct ModelEstimate {
    /// The estimate.
    pub value: f64,
    /// Its 95 % interval; `None` from a single measurement.
    pub interval: Option<(f64, f64)>,
}

/// Little's law: clients = throughput × time per transaction. What is missing is time that clients spent outside of their
/// transactions.
#[derive(Clone, Debug, PartialEq)]
pub struct LittlesLaw {
    /// For each number of clients, from the lowest: throughput × mean response time ÷ clients.
    pub busy_shares: Vec<(f64, f64)>,
}

/// The utilization law: use of the CPUs = throughput × CPU time per transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct UtilizationLaw {
    /// CPU time of the server per transaction, divided by the number of CPUs, in seconds.
    pub demand_s: ModelEstimate,
    /// The throughput at which the CPUs are fully used: 1 ÷ demand.
    pub tps_max: ModelEstimate,
    /// For each number of clients, from the lowest: the use that follows from the demand there.
    pub uses: Vec<(f64, f64)>,
}

/// Asymptotic bounds: throughput is at most clients ÷ response time of one client, and at most 1 ÷ demand.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct AsymptoticBounds {
    /// Response time of a single client, in seconds.
    pub alone_s: ModelEstimate,
    /// The throughput at which the CPUs are fully used; `None` if their use is unknown.
    pub tps_max: Option<ModelEstimate>,
}

/// The Universal Scalability Law: throughput = λ N ÷ (1 + σ (N − 1) + κ N (N − 1)) with N clients.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalabilityLaw {
    /// λ: throughput of one client.
    pub lambda: ModelEstimate,
    /// σ: contention, the share of a transaction that only one client can do at a time.
    pub sigma: ModelEstimate,
    /// κ: coherency, the cost of each pair of clients.
    pub kappa: ModelEstimate,
    /// The number of clients with the highest throughput, and that throughput; `None` if the data do not show one.
    pub peak: Option<Peak>,
    /// The curve, from one client to the largest number that was measured.
    pub curve: Vec<CurvePoint>,
    /// Typical deviation of a measurement from the curve, as a share.
    pub scatter: f64,
}

/// Where a curve is highest.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Peak {
    /// Number of clients.
    pub clients: ModelEstimate,
    /// Throughput.
    pub tps: ModelEstimate,
}

/// A point of a curve.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct CurvePoint {
    /// Number of clients.
    pub clients: f64,
    /// Throughput.
    pub tps: ModelEstimate,
}

/// Why the data do not support a model.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Unsupported {
    /// So many numbers of clients were measured, and it needs more.
    FewLevels(usize, usize),
    /// The measured numbers of clients are too close: the largest is so many times the smallest.
    NarrowRange(f64),
    /// The smallest number of clients that was measured; the model needs a single client.
    NoSingleClient(f64),
    /// The figure that the model needs was not measured.
    NotMeasured,
    /// With so many clients the throughput is this share above or below the model, which is more than chance.
    BadFit(f64, f64),
}

/// Numbers of clients that a fit of three parameters needs.
pub const LEVELS_MIN: usize = 4;
/// Ratio of the largest to the smallest number of clients that a fit needs.
const RANGE_MIN: f64 = 4.0;
/// A deviation of the mean of a level from the curve that is too large for a fit, if it is also more than chance.
const DEVIATION_MAX: f64 = 0.10;
/// Standard errors from which a deviation is more than chance: 1 % of a normal distribution, with a correction for about
/// ten levels.
const DEVIATIONS_MAX: f64 = 3.3;
/// Draws of the bootstrap, and their seed: the same data always have the same intervals.
const DRAWS: usize = 600;
const SEED: u64 = 0x05ca_1ab1;
/// Points of a curve.
const POINTS: usize = 64;
/// A peak further away than this many times the largest measured number of clients is not one that the data show.
const PEAK_BEYOND_MAX: f64 = 4.0;

/// Checks Little's law; `None` without response times.
pub fn littles_law(points: &[ClosedLoop]) -> Option<LittlesLaw> {
    let busy = |point: &ClosedLoop| Some((point.clients, point.tps * point.response_s? / point.clients));
    let busy_shares = means(points.iter().filter_map(busy));
    (!busy_shares.is_empty()).then_some(LittlesLaw { busy_shares })
}

/// Applies the utilization law to the CPUs of the server.
///
/// # Errors
/// The CPU time was not measured.
pub fn utilization_law(points: &[ClosedLoop]) -> Result<UtilizationLaw, Unsupported> {
    let use_of = |point: &ClosedLoop| Some((point.clients, point.tps * point.demand_s?));
    let uses = means(points.iter().filter_map(use_of));
    // The demand near the highest use counts: below it, CPUs wake up and slow down.
    let top = uses.iter().map(|(_, it)| *it).fold(0.0, f64::max);
    let is_near = |clients: f64| uses.iter().any(|(at, it)| *at == clients && *it >= top / 2.0);
    let near = points.iter().filter(|point| is_near(point.clients));
    let demands: Vec<f64> = near.filter_map(|point| point.demand_s).filter(|demand| *demand > 0.0).collect();
    let demand_s = mean_estimate(&demands).ok_or(Unsupported::NotMeasured)?;
    let tps_max = ModelEstimate {
        value: 1.0 / demand_s.value,
        interval: demand_s.interval.map(|(low, high)| (1.0 / high, 1.0 / low)),
    };
    Ok(UtilizationLaw { demand_s, tps_max, uses })
}

/// The asymptotic bounds of a closed loop.
///
/// # Errors
/// A single client was not measured.
pub fn asymptotic_bounds(points: &[ClosedLoop]) -> Result<AsymptoticBounds, Unsupported> {
    let smallest = points.iter().map(|point| point.clients).fold(f64::INFINITY, f64::min);
    let alone = points.iter().filter(|point| point.clients == 1.0 && point.tps > 0.0);
    let times: Vec<f64> = alone.map(|point| 1.0 / point.tps).collect();
    let alone_s = mean_estimate(&times).ok_or(Unsupported::NoSingleClient(smallest))?;
    Ok(AsymptoticBounds { alone_s, tps_max: utilization_law(points).ok().map(|law| law.tps_max) })
}

/// Fits the Universal Scalability Law.
///
/// # Errors
/// There are too few numbers of clients, or the data do not follow the law.
pub fn scalability_law(points: &[ClosedLoop]) -> Result<ScalabilityLaw, Unsupported> {
    let points: Vec<(f64, f64)> = (points.iter().map(|point| (point.clients, point.tps)))
        .filter(|(clients, tps)| *clients >= 1.0 && *tps > 0.0)
        .collect();
    let levels = means(points.iter().copied());
    if levels.len() < LEVELS_MIN {
        return Err(Unsupported::FewLevels(levels.len(), LEVELS_MIN));
    }
    let (smallest, largest) = (levels[0].0, levels[levels.len() - 1].0);
    if largest < RANGE_MIN * smallest {
        return Err(Unsupported::NarrowRange(largest / smallest));
    }
    let fitted = Curve::fit(&points);
    // Relative deviations, which have about the same size at each level.
    let residuals: Vec<f64> = points.iter().map(|(clients, tps)| tps / fitted.tps(*clients) - 1.0).collect();
    let freedom = (points.len() - PARAMETERS).max(1);
    let scatter = (residuals.iter().map(|it| it * it).sum::<f64>() / freedom as f64).sqrt();
    check_fit(&points, &levels, &fitted)?;
    // Few measurements: the intervals are as wide as Student's distribution makes them.
    let widened = two_sided_t(CONFIDENCE, freedom as f64) / NORMAL;
    let draws = bootstrap(&points, &fitted, scatter * widened);
    Ok(law(&fitted, &draws, (largest, scatter)))
}

/// Parameters of the law.
const PARAMETERS: usize = 3;
/// Standard errors of a normal distribution that contain 95 %.
const NORMAL: f64 = 1.959_964;

/// The law as 1 ÷ throughput per client = a + b (N − 1) + c N (N − 1), with λ = 1 ÷ a, σ = b ÷ a and κ = c ÷ a.
#[derive(Copy, Clone, Debug)]
struct Curve([f64; PARAMETERS]);

impl Curve {
    /// Least squares of relative deviations, without negative parameters: of all choices of parameters that are 0, the one
    /// with the smallest sum.
    fn fit(points: &[(f64, f64)]) -> Curve {
        let choices = [[true, true], [true, false], [false, true], [false, false]];
        let fits = choices.into_iter().filter_map(|used| solve(points, used));
        let sum = |curve: &Curve| -> f64 {
            points.iter().map(|(clients, tps)| (clients / tps / curve.time(*clients)).ln().powi(2)).sum()
        };
        let best = fits.min_by(|a, b| sum(a).total_cmp(&sum(b)));
        best.unwrap_or(Curve([points[0].0 / points[0].1, 0.0, 0.0]))
    }

    /// Clients ÷ throughput.
    fn time(&self, clients: f64) -> f64 {
        let [a, b, c] = self.0;
        a + b * (clients - 1.0) + c * clients * (clients - 1.0)
    }

    fn tps(&self, clients: f64) -> f64 {
        clients / self.time(clients)
    }

    fn lambda(&self) -> f64 {
        1.0 / self.0[0]
    }

    fn sigma(&self) -> f64 {
        self.0[1] / self.0[0]
    }

    fn kappa(&self) -> f64 {
        self.0[2] / self.0[0]
    }

    /// The number of clients with the highest throughput; infinite without coherency.
    fn peak(&self) -> f64 {
        if self.kappa() > 0.0 {
            ((1.0 - self.sigma()).max(0.0) / self.kappa()).sqrt().max(1.0)
        } else {
            f64::INFINITY
        }
    }
}

/// The columns of the fit.
fn columns(clients: f64) -> [f64; PARAMETERS] {
    [1.0, clients - 1.0, clients * (clients - 1.0)]
}

/// Least squares with these of the last two parameters; `None` if one would be negative.
fn solve(points: &[(f64, f64)], used: [bool; 2]) -> Option<Curve> {
    let is_used = [true, used[0], used[1]];
    let mut matrix = [[0.0; PARAMETERS + 1]; PARAMETERS];
    for (clients, tps) in points {
        let time = clients / tps;
        let row = columns(*clients).map(|it| it / time);
        for at in 0..PARAMETERS {
            for other in 0..PARAMETERS {
                matrix[at][other] += row[at] * row[other];
            }
            matrix[at][PARAMETERS] += row[at];
        }
    }
    for at in 0..PARAMETERS {
        if !is_used[at] {
            matrix[at] = [0.0; PARAMETERS + 1];
            matrix.iter_mut().for_each(|row| row[at] = 0.0);
            matrix[at][at] = 1.0;
        }
    }
    let solved = eliminate(matrix)?;
    let is_valid = solved[0] > 0.0 && solved.iter().all(|it| *it >= 0.0 && it.is_finite());
    is_valid.then_some(Curve(solved))
}

/// Gauss–Jordan elimination with the largest pivot of each column.
fn eliminate(mut matrix: [[f64; PARAMETERS + 1]; PARAMETERS]) -> Option<[f64; PARAMETERS]> {
    for at in 0..PARAMETERS {
        let pivot = (at..PARAMETERS).max_by(|a, b| matrix[*a][at].abs().total_cmp(&matrix[*b][at].abs()))?;
        matrix.swap(at, pivot);
        if matrix[at][at].abs() < f64::MIN_POSITIVE {
            return None;
        }
        let row = matrix[at].map(|it| it / matrix[at][at]);
        matrix[at] = row;
        for (_, values) in matrix.iter_mut().enumerate().filter(|(other, _)| *other != at) {
            let factor = values[at];
            values.iter_mut().zip(row).for_each(|(value, it)| *value -= factor * it);
        }
    }
    Some(matrix.map(|row| row[PARAMETERS]))
}

/// Whether a level is further from the curve than chance and this share allow.
fn check_fit(points: &[(f64, f64)], levels: &[(f64, f64)], fitted: &Curve) -> Result<(), Unsupported> {
    // The scatter within levels; without repeats, only the share decides.
    let within: Vec<f64> = (points.iter())
        .filter_map(|(clients, tps)| {
            let (_, mean) = levels.iter().find(|(level, _)| level == clients)?;
            Some(tps / mean - 1.0)
        })
        .collect();
    let freedom = points.len() - levels.len();
    let deviation = (within.iter().map(|it| it * it).sum::<f64>() / freedom.max(1) as f64).sqrt();
    let worst = levels.iter().map(|(clients, tps)| {
        let number = points.iter().filter(|(it, _)| it == clients).count() as f64;
        (*clients, tps / fitted.tps(*clients) - 1.0, deviation / number.sqrt())
    });
    let worst = worst.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    match worst {
        Some((clients, share, error))
            if share.abs() > DEVIATION_MAX && (freedom == 0 || share.abs() > DEVIATIONS_MAX * error) =>
        {
            Err(Unsupported::BadFit(clients, share))
        }
        _ => Ok(()),
    }
}

/// Fits of data as the curve and its scatter would make them.
fn bootstrap(points: &[(f64, f64)], fitted: &Curve, scatter: f64) -> Vec<Curve> {
    let mut random = SplitMix64::new(SEED);
    let draw = |_| {
        let drawn = points.iter().map(|(clients, _)| {
            let deviation = (scatter * random.normal()).max(-0.9);
            (*clients, fitted.tps(*clients) * (1.0 + deviation))
        });
        Curve::fit(&drawn.collect::<Vec<_>>())
    };
    (0..DRAWS).map(draw).collect()
}

fn law(fitted: &Curve, draws: &[Curve], (largest, scatter): (f64, f64)) -> ScalabilityLaw {
    let estimate = |of: &dyn Fn(&Curve) -> f64| quantiles(of(fitted), draws.iter().map(of).collect());
    let clients = estimate(&Curve::peak);
    let is_shown = clients.interval.is_some_and(|(_, high)| high <= PEAK_BEYOND_MAX * largest);
    let peak = is_shown.then(|| Peak { clients, tps: estimate(&|curve| curve.tps(curve.peak())) });
    let position = |step: usize| 1.0 + (largest - 1.0) * step as f64 / (POINTS - 1) as f64;
    let point = |clients: f64| CurvePoint { clients, tps: estimate(&|curve| curve.tps(clients)) };
    ScalabilityLaw {
        lambda: estimate(&Curve::lambda),
        sigma: estimate(&Curve::sigma),
        kappa: estimate(&Curve::kappa),
        peak,
        curve: (0..POINTS).map(position).map(point).collect(),
        scatter,
    }
}

/// The estimate with the quantiles of its draws that contain 95 %.
fn quantiles(value: f64, mut draws: Vec<f64>) -> ModelEstimate {
    draws.sort_by(f64::total_cmp);
    // Between 0 and the last place.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let at = |share: f64| draws[((draws.len() - 1) as f64 * share).round() as usize];
    ModelEstimate { value, interval: Some((at(0.025).min(value), at(0.975).max(value))) }
}

/// The mean with its interval by Student's distribution; `None` without numbers.
fn mean_estimate(numbers: &[f64]) -> Option<ModelEstimate> {
    let mean = SampleMean::of(numbers)?;
    // None of these numbers can be 0 or less.
    let floor = mean.mean / 10.0;
    let interval = mean.interval(CONFIDENCE).map(|(low, high)| (low.max(floor), high));
    Some(ModelEstimate { value: mean.mean, interval })
}

/// The mean of each number of clients, from the lowest.
fn means(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut sorted: Vec<(f64, f64)> = points.collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut levels: Vec<(f64, f64, f64)> = Vec::new();
    for (clients, value) in sorted {
        match levels.last_mut() {
            Some((at, sum, number)) if *at == clients => (*sum, *number) = (*sum + value, *number + 1.0),
            _ => levels.push((clients, value, 1.0)),
        }
    }
    levels.into_iter().map(|(clients, sum, number)| (clients, sum / number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

    fn law_of(lambda: f64, sigma: f64, kappa: f64) -> impl Fn(f64) -> f64 {
        move |clients| lambda * clients / (1.0 + sigma * (clients - 1.0) + kappa * clients * (clients - 1.0))
    }

    /// Three repeats of each level with a relative scatter.
    fn measured(tps: impl Fn(f64) -> f64, scatter: f64, seed: u64) -> Vec<ClosedLoop> {
        let mut random = SplitMix64::new(seed);
        let mut point = |clients: f64| {
            let tps = tps(clients) * (1.0 + scatter * random.normal());
            ClosedLoop { clients, tps, response_s: Some(clients / tps), demand_s: Some(0.0005) }
        };
        (0..3).flat_map(|_| LEVELS).map(&mut point).collect()
    }

    fn contains(estimate: ModelEstimate, truth: f64) -> bool {
        estimate.interval.is_some_and(|(low, high)| (low..=high).contains(&truth))
    }

    #[test]
    fn a_curve_without_scatter_gives_its_parameters_and_its_peak() {
        let law = scalability_law(&measured(law_of(1_000.0, 0.05, 0.002), 0.0, 1)).unwrap();
        let near = |estimate: ModelEstimate, truth: f64| (estimate.value / truth - 1.0).abs() < 1e-6;
        assert!(near(law.lambda, 1_000.0) && near(law.sigma, 0.05) && near(law.kappa, 0.002), "{law:?}");
        let peak = law.peak.unwrap();
        assert!(near(peak.clients, (0.95f64 / 0.002).sqrt()), "{peak:?}");
        assert_eq!(law.curve.len(), POINTS);
        assert!((law.curve[0].tps.value - 1_000.0).abs() < 1e-3 && law.curve[POINTS - 1].clients == 32.0);
    }

    #[test]
    fn intervals_contain_the_true_parameters_in_most_simulated_experiments() {
        let (lambda, sigma, kappa) = (1_000.0, 0.05f64, 0.002f64);
        let peak = ((1.0 - sigma) / kappa).sqrt();
        let mut hits = [0; 4];
        const EXPERIMENTS: u64 = 40;
        for seed in 0..EXPERIMENTS {
            let law = scalability_law(&measured(law_of(lambda, sigma, kappa), 0.04, seed + 10)).unwrap();
            let found = [
                contains(law.lambda, lambda),
                contains(law.sigma, sigma),
                contains(law.kappa, kappa),
                law.peak.is_some_and(|it| contains(it.clients, peak)),
            ];
            hits.iter_mut().zip(found).for_each(|(hits, found)| *hits += i32::from(found));
        }
        assert!(hits.iter().all(|hits| *hits >= 34), "{hits:?} of {EXPERIMENTS}");
    }

    #[test]
    fn no_peak_is_named_where_the_throughput_only_flattens() {
        for truth in [law_of(1_000.0, 0.0, 0.0), law_of(1_000.0, 0.2, 0.0)] {
            let law = scalability_law(&measured(truth, 0.03, 3)).unwrap();
            assert_eq!(law.peak, None, "{:?}", law.kappa);
            assert!(contains(law.kappa, 0.0), "{law:?}");
        }
    }

    #[test]
    fn data_that_do_not_support_a_fit_say_why() {
        let truth = law_of(1_000.0, 0.05, 0.002);
        let all = measured(&truth, 0.01, 4);
        let only = |levels: &[f64]| -> Vec<ClosedLoop> {
            all.iter().filter(|point| levels.contains(&point.clients)).copied().collect()
        };
        assert_eq!(scalability_law(&only(&[1.0, 4.0, 8.0])), Err(Unsupported::FewLevels(3, LEVELS_MIN)));
        let close: Vec<ClosedLoop> =
            [10.0, 12.0, 14.0, 16.0].iter().map(|it| ClosedLoop { clients: *it, ..all[0] }).collect();
        assert_eq!(scalability_law(&close), Err(Unsupported::NarrowRange(1.6)));
        // A pool of eight connections: linear up to there, then constant, is not such a curve.
        let pool = measured(|clients| 1_000.0 * clients.min(8.0), 0.01, 5);
        assert!(matches!(scalability_law(&pool), Err(Unsupported::BadFit(_, share)) if share.abs() > 0.1));
        assert_eq!(asymptotic_bounds(&only(&[4.0, 8.0])), Err(Unsupported::NoSingleClient(4.0)));
        let unknown: Vec<ClosedLoop> =
            all.iter().map(|point| ClosedLoop { demand_s: None, response_s: None, ..*point }).collect();
        assert_eq!(utilization_law(&unknown), Err(Unsupported::NotMeasured));
        assert_eq!(littles_law(&unknown), None);
    }

    #[test]
    fn the_laws_of_operational_analysis_hold_where_nothing_is_missing() {
        let points = measured(|clients| (1_000.0 * clients).min(1_800.0), 0.01, 6);
        let little = littles_law(&points).unwrap();
        assert!(little.busy_shares.iter().all(|(_, share)| (share - 1.0).abs() < 1e-9), "{little:?}");
        let law = utilization_law(&points).unwrap();
        assert!((law.tps_max.value - 2_000.0).abs() < 1e-6 && (law.uses[5].1 - 0.9).abs() < 0.02, "{law:?}");
        let bounds = asymptotic_bounds(&points).unwrap();
        assert!(
            (bounds.alone_s.value - 0.001).abs() < 3e-5 && bounds.alone_s.interval.is_some(),
            "{bounds:?}"
        );
        assert_eq!(bounds.tps_max, Some(law.tps_max));
    }
}
