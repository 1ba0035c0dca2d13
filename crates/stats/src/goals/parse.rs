//! The grammar of goals.
//! An invalid goal is answered with the nearest valid one.

use std::str::FromStr;

use thiserror::Error;

use super::goal::{Goal, GoalFigure, GoalSide, LatencyKind, LatencyStatistic};

/// Why a text is not a goal.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("\"{}\" is not a goal: {reason}; the nearest is \"{nearest}\"", text.escape_debug())]
pub struct GoalError {
    text: String,
    reason: &'static str,
    nearest: String,
}

/// A reason, and the corrected part of the text.
type Wrong = (&'static str, String);

const PREFIX: &str = "script=";
const TIME_EXAMPLE: &str = "20ms";
const TIME_UNITS: [(&str, f64); 5] = [("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)];
/// A year; longer latencies are typing errors.
const TIME_NS_MAX: f64 = 31_536_000e9;

const KINDS: [(&str, LatencyKind); 3] =
    [("response", LatencyKind::Response), ("service", LatencyKind::Service), ("lag", LatencyKind::Lag)];

/// Common words for figures, and the name of the figure.
const SYNONYMS: [(&str, &str); 16] = [
    ("average", "mean"),
    ("avg", "mean"),
    ("maximum", "max"),
    ("median", "p50"),
    ("latency", "p99"),
    ("response", "p99"),
    ("service", "service p99"),
    ("lag", "lag p99"),
    ("error", "failed"),
    ("errors", "failed"),
    ("failures", "failed"),
    ("skip", "skipped"),
    ("throughput", "tps"),
    ("rate", "tps"),
    ("over", "over(20ms)"),
    ("limit", "late"),
];

impl FromStr for Goal {
    type Err = GoalError;

    fn from_str(text: &str) -> Result<Goal, GoalError> {
        let (script, rest) = match text.trim().strip_prefix(PREFIX) {
            Some(scripted) => match scripted.rsplit_once(':') {
                Some((script, rest)) if !script.trim().is_empty() => (Some(script.trim()), rest),
                _ => {
                    let nearest = format!("{PREFIX}NAME: p99 < {TIME_EXAMPLE}");
                    let reason = "a script's name is followed by a colon";
                    return Err(GoalError { text: text.to_owned(), reason, nearest });
                }
            },
            None => (None, text),
        };
        let parsed = condition(rest.trim()).map_err(|(reason, nearest)| {
            let script = script.map_or(String::new(), |script| format!("{PREFIX}{script}: "));
            GoalError { text: text.to_owned(), reason, nearest: script + &nearest }
        })?;
        Ok(Goal { script: script.map(str::to_owned), ..parsed })
    }
}

impl TryFrom<String> for Goal {
    type Error = GoalError;

    fn try_from(text: String) -> Result<Goal, GoalError> {
        text.parse()
    }
}

/// Parses `FIGURE <|> VALUE`.
fn condition(text: &str) -> Result<Goal, Wrong> {
    let Some(at) = text.find(['<', '>']) else { return Err(without_sign(text)) };
    let (left, right) = (text[..at].trim(), &text[at + 1..]);
    let side = if text[at..].starts_with('<') { GoalSide::Below } else { GoalSide::Above };
    let figure = figure(left).map_err(|(reason, nearest)| {
        let corrected = figure(&nearest).ok();
        (reason, corrected.map_or(nearest, |figure| corrected_goal(figure, side, right)))
    })?;
    if let Some(right) = right.strip_prefix('=') {
        return Err((
            "the sign is < or >, because a measured figure is never exactly a value",
            corrected_goal(figure, side, right),
        ));
    }
    let limit = value(figure, right.trim())
        .map_err(|(reason, nearest)| (reason, corrected_goal(figure, side, &nearest)))?;
    Ok(Goal { script: None, figure, side, limit })
}

/// The text of a goal with this value, or with its correction.
fn corrected_goal(figure: GoalFigure, side: GoalSide, right: &str) -> String {
    let right = right.trim();
    let limit = value(figure, right).or_else(|(_, nearest)| value(figure, &nearest));
    let limit = limit.unwrap_or(1.0);
    Goal { script: None, figure, side, limit }.to_string()
}

/// A text without `<` and `>`.
fn without_sign(text: &str) -> Wrong {
    let reason = "there is no < or > in it";
    let words: Vec<&str> = text.split(['=', ' ', '\t']).filter(|word| !word.is_empty()).collect();
    let (right, left) =
        words.split_last().map_or(("", ""), |(last, rest)| (*last, rest.last().copied().unwrap_or(last)));
    let figure = figure(left).or_else(|(_, nearest)| figure(&nearest));
    let figure =
        figure.unwrap_or(GoalFigure::Latency(LatencyKind::Response, LatencyStatistic::Percentile(99.0)));
    let side = if figure == GoalFigure::Tps { GoalSide::Above } else { GoalSide::Below };
    (reason, corrected_goal(figure, side, right))
}

fn figure(text: &str) -> Result<GoalFigure, Wrong> {
    let kind = |text: &str| KINDS.iter().find(|(word, _)| *word == text).map(|(_, kind)| *kind);
    let (kind, name) = match text.split_once(char::is_whitespace) {
        Some((first, rest)) => match kind(first) {
            Some(kind) => (Some(kind), rest.trim()),
            None => return Err(unknown_figure(text)),
        },
        None => (None, text),
    };
    let of = kind.unwrap_or_default();
    let figure = match (name, kind) {
        ("mean", _) => GoalFigure::Latency(of, LatencyStatistic::Mean),
        ("max", _) => GoalFigure::Latency(of, LatencyStatistic::Max),
        ("failed", None) => GoalFigure::Failed,
        ("skipped", None) => GoalFigure::Skipped,
        ("late", None) => GoalFigure::Late,
        ("tps", None) => GoalFigure::Tps,
        _ => match (name.strip_prefix("over("), name.strip_prefix('p')) {
            (Some(rest), _) => over(of, rest)?,
            (None, Some(digits)) => {
                GoalFigure::Latency(of, LatencyStatistic::Percentile(percentile(digits, text)?))
            }
            (None, None) => return Err(unknown_figure(text)),
        },
    };
    Ok(figure)
}

fn percentile(digits: &str, text: &str) -> Result<f64, Wrong> {
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(unknown_figure(text));
    }
    let number = digits.parse::<f64>().ok();
    match number {
        Some(percent) if percent > 0.0 && percent < 100.0 => Ok(percent),
        Some(100.0) => Err(("p100 is max", "max".to_owned())),
        _ => Err(("a percentile is a number above 0 and below 100", "p99.9".to_owned())),
    }
}

/// The rest of `over(20ms)`.
fn over(kind: LatencyKind, rest: &str) -> Result<GoalFigure, Wrong> {
    let limit = rest.strip_suffix(')').unwrap_or(rest).trim();
    let with = |ns: f64| GoalFigure::Over(kind, whole_ns(ns));
    match (time(limit), rest.ends_with(')')) {
        (Ok(ns), true) => Ok(with(ns)),
        (Ok(ns), false) => Err(("the parenthesis is not closed", with(ns).to_string())),
        (Err((reason, nearest)), _) => Err((reason, with(time(&nearest).unwrap_or(20e6)).to_string())),
    }
}

fn unknown_figure(text: &str) -> Wrong {
    let reason = "figures are pNN, mean, max (after lag, service or response), over(TIME), failed, skipped, late and tps";
    let last = text.split_whitespace().next_back().unwrap_or_default().to_ascii_lowercase();
    let digits = last
        .trim_start_matches(|c: char| !c.is_ascii_digit())
        .trim_end_matches(|c: char| !c.is_ascii_digit());
    let known = SYNONYMS.iter().find(|(word, _)| *word == last).map(|(_, name)| (*name).to_owned());
    let names = ["mean", "max", "failed", "skipped", "late", "tps"];
    let spelt = || names.iter().find(|name| last.get(..2) == name.get(..2)).map(|name| (*name).to_owned());
    let is_percentile = |percent: f64| percent > 0.0 && percent < 100.0;
    let numbered = || {
        digits
            .parse()
            .ok()
            .filter(|percent| is_percentile(*percent))
            .map(|percent: f64| format!("p{percent}"))
    };
    (reason, known.or_else(spelt).or_else(numbered).unwrap_or_else(|| "p99".to_owned()))
}

/// Parses the value of a goal on this figure.
fn value(figure: GoalFigure, text: &str) -> Result<f64, Wrong> {
    match figure {
        GoalFigure::Latency(..) => time(text),
        GoalFigure::Tps => tps(text),
        GoalFigure::Over(..) | GoalFigure::Failed | GoalFigure::Skipped | GoalFigure::Late => share(text),
    }
}

/// A number at the start of a text, and the rest.
fn number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number = text[..end].parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0)?;
    Some((number, text[end..].trim()))
}

/// Parses a time, as nanoseconds.
fn time(text: &str) -> Result<f64, Wrong> {
    let Some((number, unit)) = number(text) else {
        return Err(("a latency is a number above 0 with a unit (us, ms, s)", TIME_EXAMPLE.to_owned()));
    };
    let known = TIME_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, ns)| (number * ns).round());
    match known {
        Some(ns) if (1.0..=TIME_NS_MAX).contains(&ns) => Ok(ns),
        Some(_) => Err(("a latency is between a nanosecond and a year", TIME_EXAMPLE.to_owned())),
        None => Err(("a latency has a unit (us, ms, s)", format!("{number}ms"))),
    }
}

/// Parses a percentage, as a share.
fn share(text: &str) -> Result<f64, Wrong> {
    const EXAMPLE: &str = "1%";
    const REASON: &str = "a share is a percentage above 0% and below 100%";
    match number(text) {
        Some((number, "%")) if number < 100.0 => Ok(number / 100.0),
        Some((number, "")) if number < 1.0 => Err((REASON, format!("{}%", (number * 1e12).round() / 1e10))),
        Some((number, _)) if number < 100.0 => Err((REASON, format!("{number}%"))),
        _ => Err((REASON, EXAMPLE.to_owned())),
    }
}

/// Parses a throughput.
fn tps(text: &str) -> Result<f64, Wrong> {
    match number(text) {
        Some((number, "")) => Ok(number),
        Some((number, _)) => {
            Err(("a throughput is a number of transactions per second, without a unit", number.to_string()))
        }
        None => Err(("a throughput is a number above 0", "1000".to_owned())),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 1 and at most a year")]
fn whole_ns(ns: f64) -> u64 {
    ns as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, written: &str) {
        let goal: Goal = text.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(goal.to_string(), written);
        assert_eq!(written.parse(), Ok(goal), "{written}");
    }

    #[test]
    fn a_goal_is_written_as_it_is_read() {
        check("p99 < 20ms", "p99 < 20ms");
        check(" p99.9<1.1ms ", "p99.9 < 1.1ms");
        check("response mean < 1500us", "mean < 1.5ms");
        check("service max < 2 s", "service max < 2s");
        check("lag p99 < 5ms", "lag p99 < 5ms");
        check("over(20ms) < 1%", "over(20ms) < 1%");
        check("lag over( 700us )<0.07 %", "lag over(700us) < 0.07%");
        check("failed < 0.1%", "failed < 0.1%");
        check("skipped<7%", "skipped < 7%");
        check("late < 12.5%", "late < 12.5%");
        check("tps > 5000", "tps > 5000");
        check("script=transfer: p95 < 50ms", "script=transfer: p95 < 50ms");
        check("script=C:/a b.sql:tps>1", "script=C:/a b.sql: tps > 1");
    }

    #[test]
    fn the_parts_of_a_goal_are_in_its_fields() {
        let goal: Goal = "script=a: lag p99.9 < 20ms".parse().unwrap();
        let figure = GoalFigure::Latency(LatencyKind::Lag, LatencyStatistic::Percentile(99.9));
        assert_eq!(goal, Goal { script: Some("a".to_owned()), figure, side: GoalSide::Below, limit: 20e6 });
        let goal: Goal = "over(1ms) > 2%".parse().unwrap();
        let figure = GoalFigure::Over(LatencyKind::Response, 1_000_000);
        assert_eq!(goal, Goal { script: None, figure, side: GoalSide::Above, limit: 0.02 });
        assert_eq!(goal.latency_limit_ns(), Some(1e6));
    }

    fn check_nearest(text: &str, nearest: &str) {
        let error = text.parse::<Goal>().expect_err(text);
        assert_eq!(error.nearest, nearest, "{error}");
        assert!(nearest.contains("NAME") || nearest.parse::<Goal>().is_ok(), "{nearest}");
    }

    #[test]
    fn an_invalid_goal_is_answered_with_the_nearest_valid_one() {
        check_nearest("p99 < 20", "p99 < 20ms");
        check_nearest("p99 <= 20ms", "p99 < 20ms");
        check_nearest("p99 = 20ms", "p99 < 20ms");
        check_nearest("p99 20ms", "p99 < 20ms");
        check_nearest("P99 < 20ms", "p99 < 20ms");
        check_nearest("99 < 20ms", "p99 < 20ms");
        check_nearest("99% < 20ms", "p99 < 20ms");
        check_nearest("p100 < 20ms", "max < 20ms");
        check_nearest("p0 < 20ms", "p99.9 < 20ms");
        check_nearest("p99 < 20 msec", "p99 < 20ms");
        check_nearest("p99 < -1ms", "p99 < 20ms");
        check_nearest("average < 3ms", "mean < 3ms");
        check_nearest("errors < 1%", "failed < 1%");
        check_nearest("faild < 1%", "failed < 1%");
        check_nearest("failed < 0", "failed < 1%");
        check_nearest("failed < 0.001", "failed < 0.1%");
        check_nearest("failed < 1", "failed < 1%");
        check_nearest("over(20) < 1%", "over(20ms) < 1%");
        check_nearest("over(20ms < 1%", "over(20ms) < 1%");
        check_nearest("over < 1%", "over(20ms) < 1%");
        check_nearest("throughput > 5000", "tps > 5000");
        check_nearest("tps > 5000/s", "tps > 5000");
        check_nearest("tps 5000", "tps > 5000");
        check_nearest("lag tps > 5", "tps > 5");
        check_nearest("", "p99 < 20ms");
        check_nearest("script=a p99 < 20ms", "script=NAME: p99 < 20ms");
        check_nearest("script=a: p99 < 20", "script=a: p99 < 20ms");
    }

    #[test]
    fn no_text_is_a_panic() {
        for text in
            ["<", ">", "<<", "p", "pé < 1ms", "script=:", "over()", "over( < %", "é", "p1e999 < 1ms", "\u{0}"]
        {
            let error = text.parse::<Goal>().expect_err(text);
            assert!(error.nearest.contains("NAME") || error.nearest.parse::<Goal>().is_ok(), "{error}");
        }
    }
}
