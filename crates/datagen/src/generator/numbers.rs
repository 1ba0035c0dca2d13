//! From settings to draws, lengths and times: the parameters that several generators have in common.
//! Used by `compile` alone.

use std::sync::Arc;

use super::calendar::{DAY_S, DAYS, read_date, read_time, read_timestamp};
use super::draw::{Draw, Lengths, SUBS, Sub, gcd};
use super::node::Kind;
use super::random_bits::{key_of, mix};
use super::target::Target;
use super::weighted::Weighted;
use crate::directive::Settings;
use crate::error::{Checked, nearest};
use crate::schema::Type;

/// Longest text, and most repetitions, that a directive may ask for.
const LENGTH_MAX: i64 = 10_000_000;

/// The last day before which dates without `start` and `end` lie: fixed, so that a seed gives the same data every day.
const DEFAULT_END: &str = "2026-01-01";

/// Values of a draw without `size` and `mult`, and the largest number that they may have.
#[derive(Clone, Copy)]
pub(crate) struct Space {
    pub size: u64,
    pub offset: i64,
    /// `size` is the number of all values, not a default.
    pub complete: bool,
}

/// The draw that the settings describe.
pub(crate) fn draw(settings: &Settings, target: &Target<'_>, key: u64, space: Space) -> Checked<Draw> {
    let given = match (settings.integer("size"), settings.number("mult")) {
        (Some(_), Some(_)) => {
            return Err(settings.fault("mult", "size and mult exclude each other; remove one"));
        }
        (Some(size), None) => Some(u64::try_from(size).unwrap_or(0)),
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of the rows; saturates"
        )]
        (None, Some(mult)) => Some((mult * target.rows as f64) as u64),
        (None, None) => None,
    };
    let name = if settings.has("size") { "size" } else { "mult" };
    if given == Some(0) && target.rows > 0 {
        return Err(settings.fault(name, format!("{name} leaves no values; it must give at least one")));
    }
    if let Some(size) = given.filter(|size| space.complete && *size > space.size) {
        return Err(
            settings.fault(name, format!("{size} values are asked for, and there are only {}", space.size))
        );
    }
    let size = given.unwrap_or(space.size).clamp(1, i64::MAX.cast_unsigned());
    let mut draw = Draw {
        key,
        size,
        sub: sub(settings, target, key, size)?,
        xor: settings.integer("xor").unwrap_or(0).unsigned_abs(),
        step: settings.integer("step").unwrap_or(1).rem_euclid(size.cast_signed()).unsigned_abs(),
        shift: settings.integer("shift").unwrap_or(0).rem_euclid(size.cast_signed()).unsigned_abs(),
        offset: settings.integer("offset").unwrap_or(space.offset),
    };
    if settings.has("mangle") {
        draw.step = 1_230_000_001 + mix(key_of(key, "step")) % 600_000_000;
        draw.shift = mix(key_of(key, "shift")) % size;
        draw.xor = mix(key_of(key, "xor")) % size;
    }
    // A step that divides the size would reach only some of the values: the next one that does not is taken.
    while gcd(draw.step, size) != 1 {
        draw.step += 1;
    }
    if draw.offset.checked_add_unsigned(size - 1).is_none() {
        return Err(settings.fault("offset", "offset + size is larger than any integer"));
    }
    Ok(draw)
}

fn sub(settings: &Settings, target: &Target<'_>, key: u64, size: u64) -> Checked<Sub> {
    let name =
        settings.text("sub").unwrap_or(if target.unique && target.serial { "serial" } else { "uniform" });
    let used: &[&str] = match name {
        "power" | "scale" => &["alpha", "rate"],
        "zipfian" | "gaussian" | "exponential" => &["parameter"],
        "growth" => &["growth"],
        "drift" => &["width"],
        "weighted" => &["weights", "correlation"],
        "serial" | "uniform" | "serand" => &[],
        _ => {
            let message = format!("unknown distribution sub={name}{}", nearest(name, SUBS));
            return Err(settings.fault("sub", message));
        }
    };
    for key in ["alpha", "rate", "parameter", "growth", "width", "weights", "correlation"] {
        if settings.has(key) && !used.contains(&key) {
            return Err(settings.fault(key, format!("the directive {key} is not used by sub={name}")));
        }
    }
    let repeats = if name == "weighted" { settings.has("weights") } else { !used.is_empty() };
    if target.unique && repeats {
        let message =
            format!("sub={name} repeats values, and the column is unique; use serial, uniform or serand");
        return Err(settings.fault("sub", message));
    }
    let bounded =
        |key: &str, default: Option<f64>, low: f64, high: f64| match settings.number(key).or(default) {
            Some(value) if (low..=high).contains(&value) => Ok(value),
            _ => Err(settings.fault(key, format!("sub={name} needs {key} from {low} to {high}"))),
        };
    #[expect(clippy::cast_precision_loss, reason = "a parameter of a distribution")]
    let count = size as f64;
    let least = 1e-9;
    Ok(match name {
        "serial" => Sub::Serial,
        "serand" => Sub::Serand,
        "power" | "scale" => {
            let alpha = match (settings.has("rate"), settings.has("alpha")) {
                (true, true) => {
                    return Err(settings.fault("rate", "rate and alpha exclude each other; remove one"));
                }
                (true, false) => {
                    let rate = bounded("rate", None, least, 1.0 - least)?;
                    if name == "power" {
                        -count.ln() / rate.ln()
                    } else {
                        rate * (count - 1.0) / (1.0 - rate)
                    }
                }
                (false, _) => bounded("alpha", Some(1.0), least, 1e9)?,
            };
            let alpha = alpha.max(least);
            if name == "power" { Sub::Power { alpha } } else { Sub::Scale { alpha } }
        }
        // The limits of pgbench.
        "zipfian" => Sub::Zipfian { parameter: bounded("parameter", None, 1.001, 1000.0)? },
        "gaussian" => Sub::Gaussian { parameter: bounded("parameter", None, 2.0, 1000.0)? },
        "exponential" => Sub::Exponential { parameter: bounded("parameter", None, least, 1000.0)? },
        "growth" => Sub::Growth { factor: bounded("growth", Some(2.0), 1e-6, 1e6)? },
        "weighted" => Sub::Weighted(Arc::new(Weighted::read(settings, size, target.rows, key)?)),
        "drift" => Sub::Drift { width: bounded("width", Some(0.01), 0.0, 1.0)? },
        _ => Sub::Uniform,
    })
}

/// A draw of as many values as rows, whatever the type.
pub(crate) fn plain(settings: &Settings, target: Target<'_>, key: u64) -> Checked<Draw> {
    draw(settings, &target, key, Space { size: target.rows, offset: 1, complete: false })
}

/// The draw of `int`: within the type and the bounds of the column.
pub(crate) fn int(settings: &Settings, target: Target<'_>, key: u64) -> Checked<Draw> {
    let number = |limit: &Option<crate::schema::Limit>, inward: i64| {
        let limit = limit.as_ref()?;
        let number = limit.text.parse::<i64>().ok()?;
        Some(if limit.included { number } else { number.saturating_add(inward) })
    };
    let (min, max) = (number(&target.bounds.min, 1), number(&target.bounds.max, -1));
    let type_max = if let Type::Integer { max } = target.kind { *max } else { i64::MAX };
    let sized = settings.has("size") || settings.has("mult");
    let own_offset = settings.integer("offset");
    let offset = own_offset.unwrap_or(match (min, max) {
        (Some(min), _) if !sized => target.offset.max(min).min(max.unwrap_or(i64::MAX)).max(min),
        (None, Some(max)) if max < target.offset => max,
        _ => target.offset,
    });
    // Both bounds: all values between them.
    let offset = if own_offset.is_none() && !sized && max.is_some() { min.unwrap_or(offset) } else { offset };
    let top = max.unwrap_or(type_max).min(type_max);
    let possible = u64::try_from(i128::from(top) - i128::from(offset) + 1).unwrap_or(0);
    let size =
        if min.is_some() && max.is_some() && !target.unique { possible } else { target.rows.min(possible) };
    let draw = draw(settings, &target, key, Space { size, offset, complete: false })?;
    if draw.offset.saturating_add_unsigned(draw.size - 1) > type_max {
        let message = format!(
            "the numbers reach {}, and {} holds at most {type_max}",
            draw.offset.saturating_add_unsigned(draw.size - 1),
            target.type_name
        );
        return Err(settings.fault("size", message));
    }
    Ok(draw)
}

/// `int` with a distance or decimals: the bounds of the column do not limit its number.
pub(crate) fn decimal(settings: &Settings, target: Target<'_>, key: u64) -> Checked<Kind> {
    let decimals = u32::try_from(settings.integer("decimals").unwrap_or(0)).unwrap_or(u32::MAX);
    if decimals > 18 {
        return Err(settings.fault("decimals", "decimals is from 0 to 18"));
    }
    let step = settings.integer("prec").unwrap_or(1);
    let draw = plain(settings, target, key)?;
    let last = i128::from(draw.offset) + i128::from(step) * i128::from(draw.size - 1);
    let type_max = if let Type::Integer { max } = target.kind { *max } else { i64::MAX };
    if step < 1 || last > i128::from(type_max) {
        let message =
            format!("prec is at least 1, and the numbers reach {last}; at most {type_max} is possible");
        return Err(settings.fault("prec", message));
    }
    Ok(Kind::Decimal { draw, step, decimals })
}

/// Lengths from `length`, `lenvar`, `lenmin` and `lenmax`.
pub(crate) fn lengths(settings: &Settings, default: Lengths) -> Checked<Lengths> {
    let get = |key: &str| match settings.integer(key) {
        Some(length) if !(0..=LENGTH_MAX).contains(&length) => {
            Err(settings.fault(key, format!("{key} must be from 0 to {LENGTH_MAX}")))
        }
        length => Ok(length.and_then(|length| u32::try_from(length).ok())),
    };
    let (length, var) = (get("length")?, get("lenvar")?);
    let (min, max) = (get("lenmin")?, get("lenmax")?);
    if (length.is_some() || var.is_some()) && (min.is_some() || max.is_some()) {
        let key = if length.is_some() { "length" } else { "lenvar" };
        return Err(settings.fault(key, "length and lenvar exclude lenmin and lenmax"));
    }
    let lengths = match (length, var) {
        (None, None) => {
            let min = min.unwrap_or(default.min.min(max.unwrap_or(default.min)));
            Lengths { min, max: max.unwrap_or(default.max.max(min)) }
        }
        (length, var) => {
            let middle = length.unwrap_or(u32::midpoint(default.min, default.max));
            let var = var.unwrap_or(0);
            Lengths { min: middle.saturating_sub(var), max: middle + var }
        }
    };
    if lengths.min > lengths.max {
        return Err(
            settings.fault("lenmin", format!("lenmin {} is more than lenmax {}", lengths.min, lengths.max))
        );
    }
    Ok(lengths)
}

/// First value, distance of values (negative: backwards), and their number if both ends are known.
pub(crate) struct Span {
    pub start: i64,
    pub step: i64,
    pub count: Option<u64>,
}

/// Units of time generators.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Day,
    Second,
    SecondOfDay,
}

impl TimeUnit {
    fn read(self, text: &str) -> Option<i64> {
        match self {
            Self::Day => {
                read_timestamp(text).map(|second| second.div_euclid(DAY_S)).or_else(|| read_date(text))
            }
            Self::Second => read_timestamp(text),
            Self::SecondOfDay => read_time(text),
        }
    }

    fn form(self) -> &'static str {
        match self {
            Self::Day => "YYYY-MM-DD",
            Self::Second => "'YYYY-MM-DD HH:MM:SS'",
            Self::SecondOfDay => "HH:MM:SS",
        }
    }
}

/// From `start`, `end` and `prec`; without them from the bounds of the column.
pub(crate) fn span(settings: &Settings, target: &Target<'_>, unit: TimeUnit) -> Checked<Span> {
    let prec = settings.integer("prec").unwrap_or(if unit == TimeUnit::Day { 1 } else { 60 });
    if !(1..=1_000_000_000).contains(&prec) {
        return Err(settings.fault("prec", "prec must be from 1 to 1000000000"));
    }
    let read = |key: &str| match settings.text(key) {
        None => Ok(None),
        Some(text) => unit.read(text).map(Some).ok_or_else(|| {
            settings.fault(key, format!("{key} must have the form {}, not {text}", unit.form()))
        }),
    };
    let bounds = target.bounds;
    let limit = |limit: &Option<crate::schema::Limit>, inward: i64| {
        let limit = limit.as_ref()?;
        Some(unit.read(&limit.text)? + if limit.included { 0 } else { inward })
    };
    let start = read("start")?.or_else(|| limit(&bounds.min, 1));
    let end = read("end")?.or_else(|| limit(&bounds.max, -1));
    let whole_day = unit == TimeUnit::SecondOfDay;
    let (start, end) = if whole_day { (start.or(Some(0)), end.or(Some(DAY_S - 1))) } else { (start, end) };
    match (start, end) {
        (Some(start), Some(end)) if start > end => Err(settings.fault("end", "end is before start")),
        (Some(start), Some(end)) => Ok(Span {
            start,
            step: prec,
            count: Some((end - start).unsigned_abs() / prec.unsigned_abs() + 1),
        }),
        (Some(start), None) => Ok(Span { start, step: prec, count: None }),
        (None, end) => {
            let default = unit.read(DEFAULT_END).unwrap_or(0);
            Ok(Span { start: end.unwrap_or(default), step: -prec, count: None })
        }
    }
}

impl Span {
    /// Fails if a value would be outside of the years 1 to 9999.
    pub fn check(&self, draw: &Draw, unit: TimeUnit, settings: &Settings) -> Checked<()> {
        let scale = if unit == TimeUnit::Day { 1 } else { DAY_S };
        let first = draw.offset;
        let last = first.saturating_add_unsigned(draw.size - 1);
        let inside = |number: i64| {
            let value = number.checked_mul(self.step).and_then(|distance| distance.checked_add(self.start));
            value.is_some_and(|value| DAYS.contains(&value.div_euclid(scale)))
        };
        if inside(first) && inside(last) {
            return Ok(());
        }
        let message = format!("{} values with this start, end and prec leave the years 1 to 9999", draw.size);
        Err(settings.fault("size", message))
    }
}
