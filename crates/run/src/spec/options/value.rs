//! Values of options: parsing of command-line words and of values in experiment files. Pure, except that a rate on a
//! command line may be in a file. The options themselves are in `options`.

use std::path::Path;
use std::time::Duration;

use stats::Scale;
use stats::goals::Goal;
use stats::rate::{LoadStage, RateCurve, RateNotation};

use crate::spec::curve_file::read_curve;
use crate::spec::{ActionSpec, ScriptSpec};

/// Type of an option's value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number. A value above `most_in_file` in a file is rejected as a mistake.
    Count {
        /// Minimum.
        least: u64,
        /// Maximum.
        most: u64,
        /// Maximum in an experiment file.
        most_in_file: u64,
    },
    /// A whole number from 1, or a number per core of the server's host, such as `2/core`.
    CountOrPerCore {
        /// Maximum in an experiment file.
        most_in_file: u64,
    },
    /// A time: on a command line a number of seconds, or a number with a unit, as in files.
    Time {
        /// Whether zero is allowed.
        may_be_zero: bool,
    },
    /// A time above zero: on a command line a number of milliseconds, or a number with a unit.
    Milliseconds,
    /// A share above 0 and below 1, as a percentage.
    Percent,
    /// A number above zero.
    Positive,
    /// A number above zero, or a curve: a rate that changes.
    Rate,
    /// Stages of a load.
    Stages,
    /// A scale of tables: a number above zero, at most [`Scale::MAX`].
    Scale,
    /// A switch; `true` or `false` in files.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any text.
    Text,
    /// An option that may be repeated; the function converts all its words together.
    Words(fn(&[String]) -> Result<Value, String>),
}

/// Value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The option is not set.
    Unset,
    /// A whole number.
    Count(u64),
    /// A number per core of the server's host.
    PerCore(f64),
    /// A decimal number.
    Number(f64),
    /// A time.
    Time(Duration),
    /// Value of a switch.
    Truth(bool),
    /// A word of a choice.
    Choice(&'static str),
    /// Any text.
    Text(String),
    /// Names and their values.
    Pairs(Vec<(String, String)>),
    /// Scripts with their weights.
    Scripts(Vec<ScriptSpec>),
    /// Goals.
    Goals(Vec<Goal>),
    /// Actions.
    Actions(Vec<ActionSpec>),
    /// A rate that changes.
    Curve(RateCurve),
    /// Stages of a load.
    Stages(Vec<LoadStage>),
}

/// Longer than any real wait, short enough that sums of times do not overflow.
const SECONDS_MAX: f64 = 31_536_000.0;
/// Longest time in a file, one month; sums of such times do not overflow.
const LONGEST: Duration = Duration::from_secs(31 * 24 * 3600);
const MILLIS_PER_SECOND: f64 = 1000.0;
const TIME_UNITS: [(&str, f64); 5] = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)];
/// Example in messages.
const TIME_EXAMPLE: &str = "60s";

impl Kind {
    /// Whole numbers from 1 to `u32::MAX`, in a file at most `most_in_file`.
    pub(super) const fn count(most_in_file: u64) -> Self {
        Self::Count { least: 1, most: u32::MAX as u64, most_in_file }
    }

    /// Parses one word of a command line.
    ///
    /// # Errors
    /// A description of the expected value.
    pub fn word(self, word: &str) -> Result<Value, String> {
        match self {
            Kind::Count { least, most, .. } => {
                let count = word.parse().ok().filter(|count| (least..=most).contains(count));
                count.map(Value::Count).ok_or_else(|| expected_count(least, most))
            }
            Kind::CountOrPerCore { most_in_file } => match word.strip_suffix(PER_CORE) {
                None => Kind::count(most_in_file).word(word).map_err(|expected| {
                    format!("{expected}, or a number for each core of the server's host, such as 2{PER_CORE}")
                }),
                Some(number) => per_core(number).map(Value::PerCore),
            },
            Kind::Time { may_be_zero } => {
                let time = Duration::from_secs_f64(seconds(word)?);
                if time.is_zero() && !may_be_zero {
                    Err("must be more than 0".to_owned())
                } else {
                    Ok(Value::Time(time))
                }
            }
            Kind::Milliseconds => milliseconds(word).map(Value::Time),
            Kind::Percent => percent(word).map(Value::Number),
            Kind::Positive => {
                let number = word.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
                number.map(Value::Number).ok_or_else(|| "expected a positive number".to_owned())
            }
            Kind::Rate => rate_or_curve(word, |name| read_curve(name, Path::new(name))),
            Kind::Stages => LoadStage::list(word).map(Value::Stages),
            Kind::Scale => word.parse().map(|scale: Scale| Value::Number(scale.units())),
            Kind::Flag => match word {
                "true" | "on" => Ok(Value::Truth(true)),
                "false" | "off" => Ok(Value::Truth(false)),
                _ => Err("expected true or false".to_owned()),
            },
            Kind::Choice(words) => {
                let found = words.iter().find(|known| **known == word);
                found.map(|known| Value::Choice(known)).ok_or_else(|| expected_choice(words))
            }
            Kind::Text => Ok(Value::Text(word.to_owned())),
            Kind::Words(value) => value(&[word.to_owned()]),
        }
    }

    /// Parses a text from a file, where times have units.
    ///
    /// # Errors
    /// A description of the expected value, to follow "expected".
    pub fn text_in_file(self, text: &str) -> Result<Value, String> {
        match self {
            Kind::Time { may_be_zero: true } => duration(text).map(Value::Time),
            Kind::Time { may_be_zero: false } | Kind::Milliseconds => match duration(text)? {
                Duration::ZERO => Err("a time above zero".to_owned()),
                time => Ok(Value::Time(time)),
            },
            Kind::Choice(_) | Kind::Text | Kind::Percent => {
                self.word(text).map_err(|_| self.expected_in_file())
            }
            Kind::Stages => self.word(text),
            Kind::Count { .. }
            | Kind::CountOrPerCore { .. }
            | Kind::Positive
            | Kind::Rate
            | Kind::Scale
            | Kind::Flag
            | Kind::Words(_) => Err(self.expected_in_file()),
        }
    }

    /// Description of the value in a file, to follow "expected".
    pub fn expected_in_file(self) -> String {
        match self {
            Kind::Count { least, most_in_file, .. } => {
                format!("a whole number from {least} to {most_in_file}")
            }
            Kind::CountOrPerCore { most_in_file } => Kind::count(most_in_file).expected_in_file(),
            Kind::Time { .. } | Kind::Milliseconds => expected_time(),
            Kind::Percent => {
                "a percentage above 0% and below 100% in quotation marks, such as \"1%\"".to_owned()
            }
            Kind::Positive => "a number above 0".to_owned(),
            Kind::Rate => "a number above 0, or a curve such as \"ramp(100, 2000, 5min)\"".to_owned(),
            Kind::Stages => "stages such as \"1min@500, 2min@500..2000\"".to_owned(),
            Kind::Scale => format!("a number above 0, at most {}", Scale::MAX),
            Kind::Flag => "true or false".to_owned(),
            Kind::Choice(words) => {
                words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ")
            }
            Kind::Text => "text in quotation marks".to_owned(),
            Kind::Words(_) => "a table of names and values".to_owned(),
        }
    }
}

fn expected_count(least: u64, most: u64) -> String {
    format!("expected a whole number from {least} to {most}")
}

fn expected_choice(words: &[&str]) -> String {
    format!("expected {}", words.join(", "))
}

impl Value {
    /// The value as written on a command line; empty if it has no such form.
    pub fn on_command_line(&self) -> String {
        match self {
            Value::Count(count) => count.to_string(),
            Value::PerCore(number) => format!("{number}{PER_CORE}"),
            Value::Number(number) => number.to_string(),
            Value::Time(time) => time.as_secs_f64().to_string(),
            Value::Truth(truth) => truth.to_string(),
            Value::Choice(word) => (*word).to_owned(),
            Value::Text(text) => text.clone(),
            Value::Curve(curve) => curve.to_string(),
            Value::Stages(stages) => stages.iter().map(LoadStage::to_string).collect::<Vec<_>>().join(", "),
            Value::Unset | Value::Pairs(_) | Value::Scripts(_) | Value::Goals(_) | Value::Actions(_) => {
                String::new()
            }
        }
    }

    /// The value as written in a file, without quotation marks.
    pub fn in_file(&self) -> String {
        match self {
            Value::Time(time) => format!("{}s", time.as_secs_f64()),
            Value::Scripts(scripts) => {
                scripts.iter().map(|script| script.source.name()).collect::<Vec<_>>().join(" + ")
            }
            Value::Goals(goals) => goals.iter().map(Goal::to_string).collect::<Vec<_>>().join(", "),
            Value::Actions(actions) => {
                actions.iter().map(ActionSpec::to_string).collect::<Vec<_>>().join(", ")
            }
            other => other.on_command_line(),
        }
    }
}

/// Error for a value whose type differs from the option's: a bug in the table.
fn mistyped<T>(value: &Value) -> Result<T, String> {
    Err(format!("{value:?} is not a valid value of this option"))
}

macro_rules! from_value {
    ($($type:ty: $variant:ident($value:ident) => $result:expr),* $(,)?) => {
        $(impl TryFrom<Value> for $type {
            type Error = String;

            fn try_from(value: Value) -> Result<Self, String> {
                match value {
                    Value::$variant($value) => $result,
                    other => mistyped(&other),
                }
            }
        })*
    };
}

from_value! {
    u64: Count(count) => Ok(count),
    u32: Count(count) => u32::try_from(count).map_err(|_| "the number is too large".to_owned()),
    u8: Count(count) => u8::try_from(count).map_err(|_| "the number is too large".to_owned()),
    f64: Number(number) => Ok(number),
    Scale: Number(number) => Scale::new(number).ok_or_else(|| "the number is too large".to_owned()),
    Duration: Time(time) => Ok(time),
    bool: Truth(truth) => Ok(truth),
    String: Text(text) => Ok(text),
}

impl Value {
    /// `None` if unset.
    ///
    /// # Errors
    /// The value has another type.
    pub fn optional<T: TryFrom<Value, Error = String>>(self) -> Result<Option<T>, String> {
        if self == Value::Unset { Ok(None) } else { T::try_from(self).map(Some) }
    }

    /// The table's value for this word.
    ///
    /// # Errors
    /// The value has another type.
    pub fn one_of<T: Copy>(self, words: &[(&'static str, T)]) -> Result<T, String> {
        let meaning =
            |word: &str| words.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning);
        match &self {
            Value::Choice(word) => meaning(word).map_or_else(|| mistyped(&self), Ok),
            other => mistyped(other),
        }
    }
}

impl From<u32> for Value {
    fn from(count: u32) -> Self {
        Value::Count(count.into())
    }
}

impl From<Duration> for Value {
    fn from(time: Duration) -> Self {
        Value::Time(time)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Number(number)
    }
}

impl From<Scale> for Value {
    fn from(scale: Scale) -> Self {
        Value::Number(scale.units())
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Value::Truth(truth)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Unset, Into::into)
    }
}

/// The words of a table of choices.
pub const fn words<const N: usize, T: Copy>(choices: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut words = [""; N];
    let mut at = 0;
    while at < N {
        words[at] = choices[at].0;
        at += 1;
    }
    words
}

/// The word for a value of the table.
pub fn word_of<T: PartialEq>(choices: &[(&'static str, T)], meaning: &T) -> Value {
    let found = choices.iter().find(|(_, known)| known == meaning);
    found.map_or(Value::Unset, |(word, _)| Value::Choice(word))
}

/// Parses a rate: a number or a curve. `file` reads the curve of a file that it names.
///
/// # Errors
/// A sentence with the correct form.
pub fn rate_or_curve(
    text: &str,
    file: impl FnOnce(&str) -> Result<RateCurve, String>,
) -> Result<Value, String> {
    Ok(match text.parse()? {
        RateNotation::Constant(rate) => Value::Number(rate),
        RateNotation::Curve(curve) => Value::Curve(curve),
        RateNotation::File(name) => Value::Curve(file(&name)?),
    })
}

/// Parses a time such as `60s`, `20min` or `2h`; zero is allowed. A number without a unit is rejected, because `90`
/// could mean seconds or minutes.
///
/// # Errors
/// A description of the expected value, to follow "expected".
pub fn duration(text: &str) -> Result<Duration, String> {
    let seconds = with_unit(text, &TIME_UNITS, TIME_EXAMPLE)?;
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| *time <= LONGEST);
    time.ok_or_else(|| "a time of at most 744h, which is a month".to_owned())
}

fn expected_time() -> String {
    expected_unit(&TIME_UNITS, TIME_EXAMPLE)
}

/// Description of a number with a unit, for messages.
pub fn expected_unit(units: &[(&str, f64)], example: &str) -> String {
    let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
    format!("a number with a unit ({}), such as \"{example}\"", names.join(", "))
}

/// Parses a non-negative number and multiplies it by its unit from the table.
///
/// # Errors
/// A description of the expected value, to follow "expected".
pub fn with_unit(text: &str, units: &[(&str, f64)], example: &str) -> Result<f64, String> {
    let wrong = || expected_unit(units, example);
    let text = text.trim();
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(unit_at);
    let factor = units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor).ok_or_else(wrong)?;
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    if number.is_finite() && number >= 0.0 { Ok(number * factor) } else { Err(wrong()) }
}

/// Units of a delay in nanoseconds.
const DELAY_UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
/// Longer than any supported delay.
const DELAY_MAX_NS: f64 = 1e14;
/// Units of a bandwidth, in bits per second; upper and lower case are the same.
const BANDWIDTH_UNITS: [(&str, f64); 4] = [("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9), ("bit", 1.0)];
/// Faster than any link.
const BANDWIDTH_MAX: f64 = 1e15;

/// Parses a bandwidth of at least one bit per second, such as `100Mbit`.
///
/// # Errors
/// A description of the expected value, to follow "expected".
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 1 and a limit far below 2⁶³"
)]
pub fn bandwidth(text: &str) -> Result<u64, String> {
    match with_unit(&text.to_ascii_lowercase(), &BANDWIDTH_UNITS, "") {
        Ok(bits) if (1.0..=BANDWIDTH_MAX).contains(&bits) => Ok(bits as u64),
        _ => Err("a number with a unit (bits per second), such as 100Mbit, 1Gbit or 64kbit".to_owned()),
    }
}

/// Parses a delay of a network: 0, or a time with a unit, such as `10ms`, `500us` or `1.5s`.
///
/// # Errors
/// A message.
pub fn delay(text: &str) -> Result<Duration, String> {
    let ns = if text == "0" { Ok(0.0) } else { with_unit(text, &DELAY_UNITS, "") };
    match ns {
        Ok(ns) if ns <= DELAY_MAX_NS => Ok(Duration::from_secs_f64(ns / 1e9)),
        _ => Err("expected a time with a unit, such as 10ms, 500us or 1.5s".to_owned()),
    }
}

/// Parses a number of seconds of at least 0, such as `10` or `0.5`, or a time with a unit, such as `500ms` or `2min`.
///
/// # Errors
/// A message.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=SECONDS_MAX).contains(&seconds) => Ok(seconds),
        Ok(_) => Err(format!("expected a number of seconds from 0 to {SECONDS_MAX}, such as 10 or 0.5")),
        Err(_) => match duration(text) {
            Ok(time) => Ok(time.as_secs_f64()),
            Err(expected) => Err(format!("expected a number of seconds, or {expected}")),
        },
    }
}

/// Parses a number of whole seconds above 0, or a time with a unit that is such a number.
///
/// # Errors
/// A message.
pub fn whole_seconds(text: &str) -> Result<u32, String> {
    let time = Duration::try_from_secs_f64(seconds(text)?).unwrap_or_default();
    let whole = u32::try_from(time.as_secs()).ok().filter(|whole| *whole > 0 && time.subsec_nanos() == 0);
    whole.ok_or_else(|| "expected whole seconds above 0, such as 10 or 1min".to_owned())
}

/// Parses a number of milliseconds above 0, or a time with a unit.
fn milliseconds(text: &str) -> Result<Duration, String> {
    let Ok(number) = text.parse::<f64>() else {
        let time =
            duration(text).map_err(|expected| format!("expected a number of milliseconds, or {expected}"))?;
        return if time.is_zero() { Err("must be more than 0".to_owned()) } else { Ok(time) };
    };
    match number {
        // A time longer than any run has no effect, so it is cut to the maximum.
        number if number.is_finite() && number > 0.0 => {
            Ok(Duration::try_from_secs_f64(number / MILLIS_PER_SECOND).unwrap_or(Duration::MAX))
        }
        _ => Err("expected a positive number".to_owned()),
    }
}

/// The unit of values relative to the cores of the server's host.
pub const PER_CORE: &str = "/core";
/// Maximum number for each core.
pub const PER_CORE_MAX: f64 = 10_000.0;

/// Parses the number before `/core`.
fn per_core(text: &str) -> Result<f64, String> {
    let is_plain = |text: &&str| text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let number = Some(text.trim_end()).filter(is_plain).and_then(|text| text.parse::<f64>().ok());
    let number = number.filter(|number| *number > 0.0 && *number <= PER_CORE_MAX);
    number.ok_or_else(|| format!("expected a number above 0 and up to {PER_CORE_MAX} before {PER_CORE}"))
}

/// Parses a percentage such as `1%`, as a share.
///
/// # Errors
/// A message.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|number| number.trim_end().parse::<f64>().ok());
    match number {
        Some(number) if number > 0.0 && number < 100.0 => Ok(number / 100.0),
        _ => Err("expected a percentage above 0% and below 100%, such as 1%".to_owned()),
    }
}

/// Splits `NAME@WEIGHT` at the last `@`. `number` parses the weight, or returns a hint for the message.
///
/// # Errors
/// The weight is invalid or too large.
pub fn weighted(text: &str, number: fn(&str) -> Result<i64, &'static str>) -> Result<(&str, u32), String> {
    let Some((name, weight)) = text.rsplit_once('@') else { return Ok((text, 1)) };
    let number = number(weight).map_err(|hint| format!("invalid weight specification: @{weight}{hint}"))?;
    match u32::try_from(number).ok().filter(|weight| *weight <= i32::MAX.cast_unsigned()) {
        Some(weight) => Ok((name, weight)),
        None => Err(format!("weight specification out of range (0 .. {}): {number}", i32::MAX)),
    }
}

/// Parses the weight after `@` on pgmeter's own command lines.
///
/// # Errors
/// A hint for the message.
pub(super) fn weight(text: &str) -> Result<i64, &'static str> {
    text.parse().map_err(|_| " (after a file name that contains @, give a weight as well)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_has_a_unit() {
        for (text, us) in [("10ms", 10_000), ("500us", 500), ("1.5s", 1_500_000), ("0", 0), ("2000 ns", 2)] {
            assert_eq!(delay(text), Ok(Duration::from_micros(us)), "{text}");
        }
        for bad in ["10", "-1ms", "ms", "1e300s", "NaNms", "infs", "1 m"] {
            assert!(delay(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_bandwidth_has_a_unit_and_is_not_nothing() {
        for (text, bits) in
            [("100Mbit", 100_000_000), ("1gbit", 1_000_000_000), ("64 kbit", 64_000), ("9bit", 9)]
        {
            assert_eq!(bandwidth(text), Ok(bits), "{text}");
        }
        for bad in ["100", "0Mbit", "0.5bit", "-1Mbit", "Mbit", "100MB", "1e99Gbit"] {
            assert!(bandwidth(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_time_in_a_file_has_a_unit() {
        let seconds = |text| duration(text).map(|time| time.as_secs_f64());
        assert_eq!(seconds("90s"), Ok(90.0));
        assert_eq!(seconds(" 1.5 h "), Ok(5400.0));
        assert_eq!((seconds("20min"), seconds("0us")), (Ok(1200.0), Ok(0.0)));
        let expected = "a number with a unit (us, ms, s, min, h), such as \"60s\"";
        for wrong in ["90", "", "h", "2 hours", "-1s", "nans", "infs", "1e999s"] {
            assert_eq!(seconds(wrong), Err(expected.to_owned()), "{wrong}");
        }
        assert_eq!(seconds("744h"), Ok(744.0 * 3600.0));
        for wrong in ["745h", "99999999999999999999h"] {
            assert_eq!(seconds(wrong), Err("a time of at most 744h, which is a month".to_owned()), "{wrong}");
        }
    }

    #[test]
    fn a_time_on_a_command_line_is_in_seconds_or_has_a_unit() {
        let time = Kind::Time { may_be_zero: true };
        for (text, seconds) in [("0", 0.0), ("2.5s", 2.5), ("10", 10.0), ("2min", 120.0), ("250ms", 0.25)] {
            assert_eq!(time.word(text), Ok(Value::Time(Duration::from_secs_f64(seconds))), "{text}");
        }
        for wrong in ["-1", "NaN", "inf", "x", "", "1e9"] {
            assert!(time.word(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Kind::Time { may_be_zero: false }.word("0"), Err("must be more than 0".to_owned()));
    }

    #[test]
    fn a_weight_follows_the_last_at_sign() {
        assert_eq!(weighted("a.sql", weight), Ok(("a.sql", 1)));
        assert_eq!(weighted("a@b.sql@3", weight), Ok(("a@b.sql", 3)));
        assert!(
            weighted("a@b.sql", weight)
                .is_err_and(|why| why.starts_with("invalid weight specification: @b.sql"))
        );
        assert_eq!(
            weighted("a@-1", weight),
            Err("weight specification out of range (0 .. 2147483647): -1".to_owned())
        );
    }

    #[test]
    fn a_latency_limit_is_in_milliseconds_or_has_a_unit() {
        for (text, ms) in [("20", 20), ("20ms", 20), ("1.5s", 1500), ("1 min", 60_000)] {
            assert_eq!(Kind::Milliseconds.word(text), Ok(Value::Time(Duration::from_millis(ms))), "{text}");
        }
        for wrong in ["0", "0ms", "-1", "20 parsecs", "", "NaN", "ms"] {
            assert!(Kind::Milliseconds.word(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn clients_are_a_number_or_a_number_per_core() {
        let clients = Kind::CountOrPerCore { most_in_file: 100 };
        assert_eq!(clients.word("8"), Ok(Value::Count(8)));
        assert_eq!(clients.word("2/core"), Ok(Value::PerCore(2.0)));
        assert_eq!(clients.word("0.5 /core").map(|value| value.on_command_line()), Ok("0.5/core".to_owned()));
        for wrong in ["0", "2/cores", "/core", "0/core", "-1/core", "1e3/core", "inf/core", "10001/core", "x"]
        {
            assert!(clients.word(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn whole_seconds_may_have_a_unit() {
        assert_eq!(
            (whole_seconds("10"), whole_seconds("1min"), whole_seconds("2000ms")),
            (Ok(10), Ok(60), Ok(2))
        );
        for wrong in ["0", "1.5", "500ms", "-1", "x", ""] {
            assert!(whole_seconds(wrong).is_err(), "{wrong}");
        }
    }
}
