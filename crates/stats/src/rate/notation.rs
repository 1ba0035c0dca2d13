//! The notation of curves and stages: `ramp(100, 2000, 5min)`, `1min@500, 2min@500..2000`, and the rows of a CSV file.
//! An error is a sentence with the correct form.

use std::str::FromStr;
use std::time::Duration;

use super::curve::{RateCurve, RatePoint, order_problem, rate_problem};
use super::stage::{LoadStage, StageLoad};

/// The value of `--rate` as it was written.
#[derive(Clone, Debug, PartialEq)]
pub enum RateNotation {
    /// A number of transactions per second.
    Constant(f64),
    /// A curve.
    Curve(RateCurve),
    /// The name of a file with a curve, after `file:`.
    File(String),
}

const TIME_UNITS: [(&str, f64); 5] = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)];
const EXPECTED: &str = "expected a number above 0, or a curve: ramp(100, 2000, 5min), steps(100, 200, 400; 1min), sine(500, 300, 1min) \
                        or file:curve.csv";
const RAMP: &str = "a ramp has two rates and the time between them: write ramp(100, 2000, 5min)";
const STEPS: &str =
    "steps have rates, a semicolon, and the length of each step: write steps(100, 200, 400; 1min)";
const SINE: &str = "a sine has a mean rate, an amplitude and a period: write sine(500, 300, 1min)";
const STAGE: &str = "a stage is a time, @, and a rate, two rates or a number of clients: write 1min@500, 2min@500..2000, 1min@8c or \
                     2min@8..64c";
const ROW: &str = "a row has a time in seconds and a rate, such as 60,500";

impl FromStr for RateNotation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(file) = text.strip_prefix("file:") {
            let name = file.trim();
            let missing = || "a file with a curve has a name: write file:curve.csv".to_owned();
            return if name.is_empty() { Err(missing()) } else { Ok(Self::File(name.to_owned())) };
        }
        if let Some(rate) = number(text) {
            return if rate > 0.0 { Ok(Self::Constant(rate)) } else { Err(EXPECTED.to_owned()) };
        }
        let curve = curve(text)?;
        curve.problem().map_or(Ok(Self::Curve(curve)), Err)
    }
}

fn curve(text: &str) -> Result<RateCurve, String> {
    if let Some(arguments) = arguments(text, "ramp") {
        let [from, to, over] = arguments[..] else { return Err(RAMP.to_owned()) };
        let rates = number(from).zip(number(to)).zip(seconds(over));
        let ((from_tps, to_tps), over_s) = rates.ok_or(RAMP)?;
        return Ok(RateCurve::Ramp { from_tps, to_tps, over_s });
    }
    if let Some(inner) = inner(text, "steps") {
        let (rates, each) = inner.split_once(';').ok_or(STEPS)?;
        let rates_tps: Option<Vec<f64>> = rates.split(',').map(number).collect();
        let (rates_tps, each_s) = rates_tps.zip(seconds(each)).ok_or(STEPS)?;
        return Ok(RateCurve::Steps { rates_tps, each_s });
    }
    if let Some(arguments) = arguments(text, "sine") {
        let [base, amplitude, period] = arguments[..] else { return Err(SINE.to_owned()) };
        let rates = number(base).zip(number(amplitude)).zip(seconds(period));
        let ((base_tps, amplitude_tps), period_s) = rates.ok_or(SINE)?;
        return Ok(RateCurve::Sine { base_tps, amplitude_tps, period_s });
    }
    Err(EXPECTED.to_owned())
}

impl RateCurve {
    /// The curve in the text of a CSV file with the columns time, in seconds, and rate. A line of names may come first;
    /// `file` is the name in reports and messages.
    ///
    /// # Errors
    /// A sentence with the line that is wrong, and the correct form.
    pub fn from_csv(file: &str, text: &str) -> Result<RateCurve, String> {
        let mut points = Vec::new();
        let mut line_of_last = 0;
        for (line, row) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let (line, row) = (line + 1, row.trim());
            let is_names = points.is_empty() && row.starts_with(|c: char| c.is_alphabetic() || c == '"');
            if row.is_empty() || row.starts_with('#') || is_names {
                continue;
            }
            let wrong = |what: String| format!("{file}, line {line}: {what}");
            let cells: Vec<&str> = row.split(',').map(str::trim).collect();
            let [at, rate] = cells[..] else { return Err(wrong(ROW.to_owned())) };
            if rate.is_empty() {
                return Err(wrong(format!("the curve has a gap, because the time {at} has no rate: {ROW}")));
            }
            let (at_s, rate_tps) = number(at).zip(number(rate)).ok_or_else(|| wrong(ROW.to_owned()))?;
            let last = points.last().map_or(0.0, |last: &RatePoint| last.at_s);
            if points.is_empty() && at_s > 0.0 {
                return Err(wrong(format!(
                    "the curve has a gap before {at_s} s: begin with the time 0, such as 0,{rate_tps}"
                )));
            }
            let problem = rate_problem(rate_tps).or_else(|| order_problem(last, at_s));
            problem.map_or(Ok(()), |problem| Err(wrong(problem)))?;
            points.push(RatePoint { at_s, rate_tps });
            line_of_last = line;
        }
        if points.is_empty() {
            return Err(format!("{file} has no rows: {ROW}"));
        }
        let curve = RateCurve::Points { file: Some(file.to_owned()), points };
        curve.problem().map_or(Ok(curve), |problem| Err(format!("{file}, line {line_of_last}: {problem}")))
    }
}

impl LoadStage {
    /// Parses a list such as `1min@500, 2min@500..2000, 1min@500`.
    ///
    /// # Errors
    /// A sentence with the correct form.
    pub fn list(text: &str) -> Result<Vec<LoadStage>, String> {
        let stages: Vec<LoadStage> =
            text.split(',').map(|stage| stage.trim().parse()).collect::<Result<_, _>>()?;
        LoadStage::problem(&stages).map_or(Ok(stages), Err)
    }
}

impl FromStr for LoadStage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (time, load) = text.split_once('@').map_or((text, None), |(time, load)| (time, Some(load)));
        let wrong = || format!("\"{text}\" is not a stage: {STAGE}");
        let seconds = seconds(time).ok_or_else(wrong)?;
        let duration = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
        let load = load.map(|load| load.parse().map_err(|_: String| wrong())).transpose()?;
        Ok(LoadStage { load, ..LoadStage::new(duration) })
    }
}

impl FromStr for StageLoad {
    type Err = String;

    /// `500`, `500..2000`, `8c` or `8..64c`.
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong = || STAGE.to_owned();
        let (numbers, of_clients) = text.strip_suffix('c').map_or((text, false), |numbers| (numbers, true));
        let (from, to) = numbers.split_once("..").unwrap_or((numbers, numbers));
        if of_clients {
            let count = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
            return Ok(StageLoad::Clients { from: count(from)?, to: count(to)? });
        }
        let rate = |text: &str| number(text).ok_or_else(wrong);
        Ok(StageLoad::Rate { from_tps: rate(from)?, to_tps: rate(to)? })
    }
}

/// The text between the parentheses of `name(…)`.
fn inner<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.strip_prefix(name)?.trim_start().strip_prefix('(')?.strip_suffix(')')
}

/// The arguments of `name(…)`, separated by commas.
pub(crate) fn arguments<'a>(text: &'a str, name: &str) -> Option<Vec<&'a str>> {
    Some(inner(text, name)?.split(',').map(str::trim).collect())
}

/// A finite number.
pub(crate) fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|number| number.is_finite())
}

/// A time with a unit.
pub(crate) fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let (digits, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?);
    let factor = TIME_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)?;
    number(digits).filter(|count| *count >= 0.0).map(|count| count * factor)
}
