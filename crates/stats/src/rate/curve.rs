//! A rate as a function of the time since measuring began,
//! and its pieces with their integrals and inverses.

use std::f64::consts::PI;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Higher rates are typing errors; a worker makes at most a million arrivals per second.
pub const TPS_MAX: f64 = 1e9;
/// Longest time of a curve: a year.
const SECONDS_MAX: f64 = 31_536_000.0;
/// Iterations of the inversion of a sine; each halves the interval at least.
const ITERATIONS_MAX: u32 = 100;
/// Precision of the inversion, as a share of a second: far below a nanosecond.
const PRECISION_S: f64 = 1e-13;

/// A rate that changes with the time since measuring began. During the warm-up it is that of the beginning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateCurve {
    /// Changes steadily, and then stays.
    Ramp {
        /// Rate at the beginning.
        from_tps: f64,
        /// Rate at the end.
        to_tps: f64,
        /// Seconds from the one to the other.
        over_s: f64,
    },
    /// One rate after the other; the last one stays.
    Steps {
        /// The rates.
        rates_tps: Vec<f64>,
        /// Length of each step in seconds.
        each_s: f64,
    },
    /// Oscillates around a mean.
    Sine {
        /// The mean.
        base_tps: f64,
        /// Largest difference from it.
        amplitude_tps: f64,
        /// Seconds from one maximum to the next.
        period_s: f64,
    },
    /// Changes steadily from point to point. Two points of one time are a jump. The last rate stays.
    Points {
        /// The file that had them; absent if they were not read from a file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// At least one; the first at 0 s, in the order of their times.
        points: Vec<RatePoint>,
    },
}

/// The rate at a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RatePoint {
    /// Seconds since measuring began.
    pub at_s: f64,
    /// The rate then.
    pub rate_tps: f64,
}

/// A part of a curve. The last one has no end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) start_s: f64,
    pub(super) end_s: f64,
    shape: PieceShape,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PieceShape {
    Line { from_tps: f64, to_tps: f64 },
    Sine { base_tps: f64, amplitude_tps: f64, period_s: f64 },
}

impl RateCurve {
    /// A rate that does not change.
    pub fn constant(rate_tps: f64) -> RateCurve {
        RateCurve::Points { file: None, points: vec![RatePoint { at_s: 0.0, rate_tps }] }
    }

    /// The rate at a time; later than the end of the curve, its last rate.
    pub fn rate_at(&self, at_s: f64) -> f64 {
        let pieces = self.pieces(0.0);
        let piece = pieces.iter().find(|piece| at_s < piece.end_s).or(pieces.last());
        piece.map_or(0.0, |piece| piece.rate_at(at_s.max(piece.start_s)))
    }

    /// The highest rate.
    pub fn peak_tps(&self) -> f64 {
        match self {
            RateCurve::Ramp { from_tps, to_tps, .. } => from_tps.max(*to_tps),
            RateCurve::Steps { rates_tps, .. } => rates_tps.iter().copied().fold(0.0, f64::max),
            RateCurve::Sine { base_tps, amplitude_tps, .. } => base_tps + amplitude_tps,
            RateCurve::Points { points, .. } => points.iter().map(|point| point.rate_tps).fold(0.0, f64::max),
        }
    }

    /// The mean rate of the first `seconds`.
    pub fn mean_tps(&self, seconds: f64) -> f64 {
        let parts = self.pieces(0.0).into_iter().filter(|piece| piece.start_s < seconds);
        let arrivals: f64 = parts.map(|piece| piece.integral(piece.start_s, piece.end_s.min(seconds))).sum();
        if seconds > 0.0 { arrivals / seconds } else { self.rate_at(0.0) }
    }

    /// What contradicts a curve, as a sentence with the correct form.
    pub fn problem(&self) -> Option<String> {
        let is_time = |seconds: f64| seconds > 0.0 && seconds <= SECONDS_MAX;
        let (rates, times): (Vec<f64>, Vec<f64>) = match self {
            RateCurve::Ramp { from_tps, to_tps, over_s } => (vec![*from_tps, *to_tps], vec![*over_s]),
            RateCurve::Steps { rates_tps, each_s } => (rates_tps.clone(), vec![*each_s]),
            RateCurve::Sine { base_tps, amplitude_tps, period_s } => {
                (vec![*base_tps, *amplitude_tps], vec![*period_s])
            }
            RateCurve::Points { points, .. } => {
                (points.iter().map(|point| point.rate_tps).collect(), Vec::new())
            }
        };
        if let Some(problem) = rates.iter().find_map(|rate| rate_problem(*rate)) {
            return Some(problem);
        }
        if rates.iter().all(|rate| *rate == 0.0) {
            return Some("a curve needs a rate above 0, or nothing would run".to_owned());
        }
        if !times.iter().all(|seconds| is_time(*seconds)) {
            return Some("the time of a curve must be above 0, at most a year".to_owned());
        }
        match self {
            RateCurve::Sine { base_tps, amplitude_tps, period_s } if amplitude_tps > base_tps => {
                let corrected =
                    RateCurve::Sine { base_tps: *base_tps, amplitude_tps: *base_tps, period_s: *period_s };
                Some(format!(
                    "{self} would fall below 0: the amplitude may be at most the base, as in {corrected}"
                ))
            }
            RateCurve::Points { points, .. } => points_problem(points),
            RateCurve::Ramp { .. } | RateCurve::Steps { .. } | RateCurve::Sine { .. } => None,
        }
    }

    /// The end of a curve that must cover the whole run: that of a file.
    pub fn end_of_file_s(&self) -> Option<f64> {
        match self {
            RateCurve::Points { file: Some(_), points } => points.last().map(|point| point.at_s),
            RateCurve::Points { .. }
            | RateCurve::Ramp { .. }
            | RateCurve::Steps { .. }
            | RateCurve::Sine { .. } => None,
        }
    }

    /// The curve in pieces, `before_s` later: until then the rate is that of the beginning.
    pub(super) fn pieces(&self, before_s: f64) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut line = |start_s: f64, end_s: f64, from_tps: f64, to_tps: f64| {
            if end_s > start_s {
                let (start_s, end_s) = (start_s + before_s, end_s + before_s);
                pieces.push(Piece { start_s, end_s, shape: PieceShape::Line { from_tps, to_tps } });
            }
        };
        match self {
            RateCurve::Ramp { from_tps, to_tps, over_s } => {
                line(-before_s, 0.0, *from_tps, *from_tps);
                line(0.0, *over_s, *from_tps, *to_tps);
                line(*over_s, f64::INFINITY, *to_tps, *to_tps);
            }
            RateCurve::Steps { rates_tps, each_s } => {
                let mut start_s = -before_s;
                for (at, rate) in rates_tps.iter().enumerate() {
                    let is_last = at + 1 == rates_tps.len();
                    let end_s = if is_last { f64::INFINITY } else { (at + 1) as f64 * each_s };
                    line(start_s, end_s, *rate, *rate);
                    start_s = end_s;
                }
            }
            RateCurve::Points { points, .. } => {
                let ends =
                    |of: Option<&RatePoint>| of.map_or((0.0, 0.0), |point| (point.at_s, point.rate_tps));
                let (_, first_tps) = ends(points.first());
                line(-before_s, 0.0, first_tps, first_tps);
                for pair in points.windows(2) {
                    line(pair[0].at_s, pair[1].at_s, pair[0].rate_tps, pair[1].rate_tps);
                }
                let (last_s, last_tps) = ends(points.last());
                line(last_s, f64::INFINITY, last_tps, last_tps);
            }
            RateCurve::Sine { base_tps, amplitude_tps, period_s } => {
                line(-before_s, 0.0, *base_tps, *base_tps);
                let shape = PieceShape::Sine {
                    base_tps: *base_tps,
                    amplitude_tps: *amplitude_tps,
                    period_s: *period_s,
                };
                pieces.push(Piece { start_s: before_s, end_s: f64::INFINITY, shape });
            }
        }
        pieces
    }
}

/// What is wrong with the times of points: they must begin at 0, and not go back.
fn points_problem(points: &[RatePoint]) -> Option<String> {
    let Some(first) = points.first() else { return Some("a curve needs at least one point".to_owned()) };
    if first.at_s != 0.0 {
        return Some(format!("a curve begins at 0 s, not at {} s", first.at_s));
    }
    points.windows(2).find_map(|pair| order_problem(pair[0].at_s, pair[1].at_s))
}

/// What is wrong with a time after another one: it is earlier, too large, or not a number.
pub(super) fn order_problem(before_s: f64, at_s: f64) -> Option<String> {
    let is_in_order = before_s <= at_s && at_s <= SECONDS_MAX;
    (!is_in_order).then(|| {
        format!(
            "the times of a curve must not go back, and must be at most a year: {at_s} follows {before_s}"
        )
    })
}

/// What is wrong with a rate: it is negative, too large, or not a number.
pub(super) fn rate_problem(rate_tps: f64) -> Option<String> {
    (!(0.0..=TPS_MAX).contains(&rate_tps))
        .then(|| format!("a rate must be from 0 to {TPS_MAX} transactions per second, not {rate_tps}"))
}

impl Piece {
    pub(super) fn rate_at(&self, at_s: f64) -> f64 {
        match self.shape {
            PieceShape::Line { from_tps, to_tps } if self.end_s.is_infinite() || from_tps == to_tps => {
                from_tps
            }
            PieceShape::Line { from_tps, to_tps } => {
                let share = (at_s - self.start_s) / (self.end_s - self.start_s);
                from_tps + (to_tps - from_tps) * share
            }
            PieceShape::Sine { base_tps, amplitude_tps, period_s } => {
                base_tps + amplitude_tps * (2.0 * PI * (at_s - self.start_s) / period_s).sin()
            }
        }
    }

    /// Whether nothing comes any more.
    pub(super) fn is_silence(&self) -> bool {
        self.end_s.is_infinite() && matches!(self.shape, PieceShape::Line { from_tps: 0.0, .. })
    }

    /// Mean number of arrivals between two times of the piece.
    pub(super) fn integral(&self, from_s: f64, to_s: f64) -> f64 {
        if to_s.is_infinite() {
            return if self.is_silence() { 0.0 } else { f64::INFINITY };
        }
        let length_s = to_s - from_s;
        match self.shape {
            PieceShape::Line { .. } => (self.rate_at(from_s) + self.rate_at(to_s)) / 2.0 * length_s,
            PieceShape::Sine { base_tps, amplitude_tps, period_s } => {
                let angle = |at_s: f64| 2.0 * PI * (at_s - self.start_s) / period_s;
                let swing = amplitude_tps * period_s / (2.0 * PI);
                base_tps * length_s + swing * (angle(from_s).cos() - angle(to_s).cos())
            }
        }
    }

    /// The time at which so many arrivals have come since `from_s`, on average.
    pub(super) fn inverse(&self, from_s: f64, arrivals: f64) -> f64 {
        match self.shape {
            PieceShape::Line { from_tps, to_tps } => {
                let rate = self.rate_at(from_s);
                let length_s = self.end_s - self.start_s;
                let slope = if length_s.is_infinite() { 0.0 } else { (to_tps - from_tps) / length_s };
                // The root of a quadratic equation, in the form that loses no digits if the slope is small.
                from_s + 2.0 * arrivals / (rate + (rate * rate + 2.0 * slope * arrivals).max(0.0).sqrt())
            }
            PieceShape::Sine { base_tps, period_s, .. } => {
                let periods = (arrivals / (base_tps * period_s)).floor();
                let start_s = from_s + periods * period_s;
                self.inverse_in_period(start_s, period_s, arrivals - periods * base_tps * period_s)
            }
        }
    }

    /// Newton's method; where it leaves the interval, bisection.
    fn inverse_in_period(&self, start_s: f64, period_s: f64, arrivals: f64) -> f64 {
        let (mut low_s, mut high_s) = (start_s, start_s + period_s);
        let mut at_s = start_s + arrivals / self.rate_at(start_s).max(f64::MIN_POSITIVE);
        for _ in 0..ITERATIONS_MAX {
            if !(low_s < at_s && at_s < high_s) {
                at_s = f64::midpoint(low_s, high_s);
            }
            let missing = arrivals - self.integral(start_s, at_s);
            if missing > 0.0 {
                low_s = at_s;
            } else {
                high_s = at_s;
            }
            let step_s = missing / self.rate_at(at_s);
            if step_s.abs() < PRECISION_S || high_s - low_s < PRECISION_S {
                return (at_s + step_s).clamp(low_s, high_s);
            }
            at_s += step_s;
        }
        f64::midpoint(low_s, high_s)
    }
}

impl fmt::Display for RateCurve {
    /// As on the command line; points that were not read from a file as a list.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RateCurve::Ramp { from_tps, to_tps, over_s } => {
                write!(out, "ramp({from_tps}, {to_tps}, {})", Seconds(*over_s))
            }
            RateCurve::Steps { rates_tps, each_s } => {
                let rates: Vec<String> = rates_tps.iter().map(ToString::to_string).collect();
                write!(out, "steps({}; {})", rates.join(", "), Seconds(*each_s))
            }
            RateCurve::Sine { base_tps, amplitude_tps, period_s } => {
                write!(out, "sine({base_tps}, {amplitude_tps}, {})", Seconds(*period_s))
            }
            RateCurve::Points { file: Some(file), .. } => write!(out, "file:{file}"),
            RateCurve::Points { file: None, points } => {
                let point = |point: &RatePoint| format!("{} at {}", point.rate_tps, Seconds(point.at_s));
                out.write_str(&points.iter().map(point).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// A number of seconds in the notation of times, such as `5min`.
pub(crate) struct Seconds(pub(crate) f64);

impl fmt::Display for Seconds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seconds(seconds) = *self;
        match seconds {
            _ if seconds >= 3600.0 && seconds % 3600.0 == 0.0 => write!(out, "{}h", seconds / 3600.0),
            _ if seconds >= 60.0 && seconds % 60.0 == 0.0 => write!(out, "{}min", seconds / 60.0),
            _ if seconds < 1.0 && seconds > 0.0 => write!(out, "{}ms", (seconds * 1e9).round() / 1e6),
            _ => write!(out, "{seconds}s"),
        }
    }
}
