//! Arrivals of a rate that changes, by inversion of its integral: a gap of the law, in units of its mean, is the increase
//! of the integral until the next arrival (Çinlar, "Introduction to Stochastic Processes", 1975, section 4.7).

use super::curve::{Piece, RateCurve};
use super::gap_law::GapLaw;

/// The rate over time, in phases with and without arrivals if the law has them.
#[derive(Clone, Debug)]
pub struct Intensity {
    pieces: Vec<Piece>,
    phases: Option<Phases>,
}

/// Phases with and without arrivals, in turns.
#[derive(Clone, Copy, Debug)]
struct Phases {
    on_s: f64,
    cycle_s: f64,
    /// Begin of a phase with arrivals, 0 or before.
    origin_s: f64,
}

/// A place in an intensity.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    piece: usize,
    /// Index of the phase; even: with arrivals.
    phase: u64,
    at_s: f64,
}

impl Phases {
    fn end_s(&self, phase: u64) -> f64 {
        let cycles = (phase / 2) as f64;
        let within_s = if phase.is_multiple_of(2) { self.on_s } else { self.cycle_s };
        self.origin_s + cycles * self.cycle_s + within_s
    }

    /// By how much the rate is higher in a phase with arrivals, so that the mean rate is unchanged.
    fn factor(&self, phase: u64) -> f64 {
        if phase.is_multiple_of(2) { self.cycle_s / self.on_s } else { 0.0 }
    }

    /// The phase at a time from 0 on.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative; of a run's time"
    )]
    fn at(&self, at_s: f64) -> u64 {
        let cycles = ((at_s - self.origin_s) / self.cycle_s).floor().max(0.0) as u64;
        let mut phase = 2 * cycles;
        while self.end_s(phase) <= at_s {
            phase += 1;
        }
        phase
    }
}

impl Intensity {
    /// The rate of a run whose warm-up lasts `before_s`; times count from the begin of the warm-up.
    pub fn new(curve: &RateCurve, law: GapLaw, before_s: f64) -> Intensity {
        let phases = match law {
            GapLaw::OnOff { on_s, off_s } => {
                let cycle_s = on_s + off_s;
                let origin_s = before_s - (before_s / cycle_s).ceil() * cycle_s;
                Some(Phases { on_s, cycle_s, origin_s })
            }
            GapLaw::Poisson | GapLaw::Fixed | GapLaw::Gamma(_) => None,
        };
        Intensity { pieces: curve.pieces(before_s), phases }
    }

    /// Mean number of arrivals between two times.
    pub fn between(&self, from_s: f64, to_s: f64) -> f64 {
        let mut cursor = self.cursor(from_s);
        let mut arrivals = 0.0;
        while cursor.at_s < to_s
            && let Some(piece) = self.pieces.get(cursor.piece)
        {
            let until_s = self.end_s(cursor).min(to_s);
            arrivals += self.factor(cursor) * piece.integral(cursor.at_s, until_s);
            self.proceed(&mut cursor, until_s);
        }
        arrivals
    }

    fn cursor(&self, at_s: f64) -> Cursor {
        let at_s = at_s.max(0.0);
        let piece = self.pieces.iter().position(|piece| at_s < piece.end_s).unwrap_or(self.pieces.len());
        let phase = self.phases.map_or(0, |phases| phases.at(at_s));
        Cursor { piece, phase, at_s }
    }

    /// The end of the piece or of the phase at this place.
    fn end_s(&self, cursor: Cursor) -> f64 {
        let piece_s = self.pieces.get(cursor.piece).map_or(f64::INFINITY, |piece| piece.end_s);
        self.phases.map_or(piece_s, |phases| phases.end_s(cursor.phase).min(piece_s))
    }

    fn factor(&self, cursor: Cursor) -> f64 {
        self.phases.map_or(1.0, |phases| phases.factor(cursor.phase))
    }

    /// Moves the place to a time up to [`Intensity::end_s`].
    fn proceed(&self, cursor: &mut Cursor, at_s: f64) {
        if self.pieces.get(cursor.piece).is_some_and(|piece| piece.end_s <= at_s) {
            cursor.piece += 1;
        }
        if self.phases.is_some_and(|phases| phases.end_s(cursor.phase) <= at_s) {
            cursor.phase += 1;
        }
        cursor.at_s = at_s;
    }

    /// Moves the place until so many arrivals have come on average; `None` if they never do.
    fn advance(&self, cursor: &mut Cursor, mut arrivals: f64) -> Option<f64> {
        loop {
            let piece = self.pieces.get(cursor.piece).filter(|piece| !piece.is_silence())?;
            let (end_s, factor) = (self.end_s(*cursor), self.factor(*cursor));
            // In a phase without arrivals an endless piece has an end.
            let here = if factor > 0.0 { factor * piece.integral(cursor.at_s, end_s) } else { 0.0 };
            if here > arrivals {
                let at_s = piece.inverse(cursor.at_s, arrivals / factor);
                cursor.at_s = at_s.clamp(cursor.at_s, end_s);
                return Some(cursor.at_s);
            }
            arrivals -= here;
            self.proceed(cursor, end_s);
        }
    }
}

/// The times of arrivals, in order.
#[derive(Clone, Debug)]
pub struct ArrivalTimes {
    intensity: Intensity,
    law: GapLaw,
    cursor: Cursor,
    has_begun: bool,
}

impl ArrivalTimes {
    /// Arrivals from the begin of a warm-up of this length on.
    pub fn new(curve: &RateCurve, law: GapLaw, before_s: f64) -> ArrivalTimes {
        let intensity = Intensity::new(curve, law, before_s);
        let cursor = intensity.cursor(0.0);
        ArrivalTimes { intensity, law, cursor, has_begun: false }
    }

    /// The next arrival in seconds since the begin of the warm-up, from uniform numbers in [0, 1); `None` if none comes any
    /// more.
    pub fn next_s(&mut self, uniform: &mut dyn FnMut() -> f64) -> Option<f64> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let gap = if is_first { self.law.first_gap(uniform) } else { self.law.gap(uniform) };
        self.intensity.advance(&mut self.cursor, gap)
    }
}
