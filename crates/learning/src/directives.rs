//! Directives of a learnt column: the generator whose values have the statistics of the column. Pure.
//!
//! Without the values of the table, the most common values become the first values of the generator, and all values have
//! the order of their numbers, so `sub=weighted` reproduces shares, number and correlation.

use std::fmt::Write as _;

use datagen::{Permitted, correlation_directive};

use crate::facts::{ColumnFacts, Family, Statistics};

/// What the directives of a column depend on, apart from its statistics.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setting<'a> {
    /// `table.column`, the name of its macros.
    pub path: String,
    /// Of the table.
    pub rows: u64,
    /// No two rows have the same value.
    pub unique: bool,
    /// Part of a compound key, which enumerates its values.
    pub in_compound_key: bool,
    /// Values that a compound key needs in this column, at least.
    pub least_size: u64,
    /// Rows of the referenced table, of a foreign key to a learnt table.
    pub referenced_rows: Option<u64>,
    pub permitted: Permitted,
    /// Whether rows may have NULL in it.
    pub is_nullable: bool,
    /// Whether values of the table may be used.
    pub values: bool,
    pub column: Option<&'a ColumnFacts>,
}

/// Directives behind the column, and macros before the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Directives {
    pub column: String,
    pub macros: Vec<String>,
}

/// Bytes of a jsonb object `{"id": 1, "text": ""}`.
const JSONB_OBJECT: u32 = 36;
/// Bytes of an array without elements, with a short header.
const ARRAY_HEADER: u32 = 21;
/// Bytes of an element of an array without fixed size: texts of 8 to 16 characters, with their header and alignment.
const TEXT_ELEMENT: u32 = 18;
/// First value of dates and timestamps.
const EPOCH: &str = "2020-01-01";
/// Seconds of about five years: the span of learnt timestamps.
const SPAN_S: u64 = 5 * 365 * 86_400;
const DAY_S: u64 = 86_400;

/// The directives of a column with statistics.
pub(crate) fn directives(setting: &Setting<'_>) -> Directives {
    let (Some(column), rows) = (setting.column, setting.rows) else { return Directives::default() };
    let mut made = match &column.statistics {
        Some(statistics) => with_statistics(setting, column, statistics),
        None => Directives::default(),
    };
    if setting.is_nullable {
        let share = column.statistics.as_ref().map_or(0.0, |statistics| statistics.null_share);
        // A column of NULLs alone needs no generator.
        let null = if share >= 1.0 || (rows > 0 && column.statistics.is_none()) {
            made = Directives::default();
            "isnull".to_owned()
        } else {
            format!("null={}", number(share))
        };
        made.column = format!("{} {null}", made.column).trim().to_owned();
    }
    made
}

fn with_statistics(setting: &Setting<'_>, column: &ColumnFacts, statistics: &Statistics) -> Directives {
    let plain = |column: String| Directives { column: column.trim().to_owned(), macros: Vec::new() };
    let draw = Draw::new(setting, column, statistics);
    if setting.referenced_rows.is_some() {
        return plain(draw.text());
    }
    if setting.values
        && let Some(directives) = from_values(setting, column, statistics, &draw)
    {
        return directives;
    }
    let labels = setting.permitted.values.as_deref();
    if (labels.is_some() || matches!(column.family, Family::Bool | Family::Enum))
        && statistics.common_values.len() as u64 >= statistics.distinct_values(setting.rows)
        && statistics.common_values.iter().all(|(_, text)| labels.is_none_or(|labels| labels.contains(text)))
    {
        return plain(list(setting, statistics, &draw));
    }
    if labels.is_some() || column.family == Family::Enum {
        return plain(draw.text());
    }
    // The generators of these types know the bounds.
    let is_bounded = setting.permitted.min.is_some() || setting.permitted.max.is_some();
    if is_bounded && !matches!(column.family, Family::Integer | Family::Numeric { .. }) {
        return plain(draw.text());
    }
    if let Family::Array { element, is_text, max } = column.family {
        return array(setting, statistics, &draw, element, is_text.then_some(max));
    }
    match generator(setting, column, statistics, &draw) {
        Generator::Drawn(generator) => plain(format!("{generator} {}", draw.text())),
        Generator::Alone(generator) => plain(generator),
        Generator::Shared(generator) => {
            if draw.is_unique {
                return plain(generator);
            }
            let name = format!("{}.number", setting.path);
            let macros = vec![format!("{name}: int {}", draw.text())];
            Directives { column: format!("{generator} share={name}").trim().to_owned(), macros }
        }
    }
}

/// A generator as directives.
enum Generator {
    /// The parameters of the draw follow.
    Drawn(String),
    /// It needs no draw.
    Alone(String),
    /// It draws nothing itself: a macro draws its number.
    Shared(String),
}

/// Synthetic values of the type, in the order of their numbers where the generator can do that.
fn generator(setting: &Setting<'_>, column: &ColumnFacts, statistics: &Statistics, draw: &Draw) -> Generator {
    let size = draw.size;
    match column.family {
        Family::Bool => Generator::Drawn("word=:f,t".to_owned()),
        Family::Integer => Generator::Drawn(match integer_offset(setting, size) {
            None => "int".to_owned(),
            Some(offset) => match between(column.family, &setting.permitted).map(|count| count / size.max(1))
            {
                // All partitions get values.
                Some(prec) if prec > 1 && !setting.unique => format!("int offset={offset} prec={prec}"),
                _ => format!("int offset={offset}"),
            },
        }),
        Family::Float => Generator::Drawn("int".to_owned()),
        Family::Numeric { scale, precision } => {
            let offset = numeric_offset(setting, statistics.average_width, scale, precision, size);
            let decimals = if scale == 0 { String::new() } else { format!(" decimals={scale}") };
            Generator::Drawn(format!("int offset={offset}{decimals}"))
        }
        Family::Text { max } => text(statistics, draw, setting.permitted.length.or(max)),
        Family::Date => Generator::Drawn(format!("date start={EPOCH}")),
        Family::Timestamp => {
            let prec = (SPAN_S / size.max(1)).clamp(1, DAY_S);
            Generator::Drawn(format!("timestamp start={EPOCH} prec={prec}"))
        }
        Family::Time => Generator::Drawn("time prec=1".to_owned()),
        Family::Interval => Generator::Drawn("interval".to_owned()),
        Family::Uuid if draw.is_random() => Generator::Alone("uuid".to_owned()),
        Family::Uuid => Generator::Drawn("uuid ordered".to_owned()),
        Family::Bytes => {
            let length = content_bytes(statistics.average_width).max(digits(size, 256));
            Generator::Drawn(format!("blob ordered length={length}"))
        }
        // An IPv4 address takes 7 bytes, an IPv6 address 19.
        Family::Inet if statistics.average_width > 12 => Generator::Drawn("inet=fd00::/64".to_owned()),
        Family::Inet => Generator::Drawn("inet=10.0.0.0/8".to_owned()),
        Family::Json | Family::Jsonb => {
            let object = if column.family == Family::Jsonb { JSONB_OBJECT } else { 28 };
            let length = content_bytes(statistics.average_width).saturating_sub(object).min(10_000);
            Generator::Shared(match length {
                0 => r#"pattern='\{"id": [:count:]\}'"#.to_owned(),
                length => format!(r#"pattern='\{{"id": [:count:], "text": "[a-z]{{{length}}}"\}}'"#),
            })
        }
        Family::Array { .. } | Family::Enum | Family::Other => Generator::Shared(String::new()),
    }
}

/// Arrays with the numbers of elements of `elem_count_histogram`, or a number estimated from the average width. The
/// elements that are texts have the average length, at most the limit in `text`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn array(
    setting: &Setting<'_>,
    statistics: &Statistics,
    draw: &Draw,
    element: Option<u32>,
    text: Option<Option<u32>>,
) -> Directives {
    let content = statistics.average_width.saturating_sub(ARRAY_HEADER);
    let (least, average, most) = match statistics.element_counts.as_slice() {
        [least, .., most, average] => (*least, *average, *most),
        _ => {
            let count = f64::from(content) / f64::from(element.unwrap_or(TEXT_ELEMENT).max(1));
            let count = if content > 0 { count.round().max(1.0) } else { 0.0 };
            (count, count, count)
        }
    };
    // Lengths are uniform: their range is symmetric around the average.
    let reach = (average - least).min(most - average).max(0.0);
    let (least, most) = ((average - reach).round() as u32, (average + reach).round() as u32);
    let mut column = format!("lenmin={least} lenmax={most}");
    let mut macros = Vec::new();
    if let Some(max) = text
        && average > 0.0
    {
        // A text has a header of 4 bytes, and its end is aligned to 4 bytes: about 2 bytes are unused.
        let length = (f64::from(content) / average - 6.0).round().clamp(1.0, 1000.0) as u32;
        let name = format!("{}.element", setting.path);
        column = format!("array={name} {column}");
        macros.push(format!("{name}: chars='a-z0-9' length={}", length.min(max.unwrap_or(u32::MAX)).max(1)));
    }
    if !draw.is_unique {
        let name = format!("{}.number", setting.path);
        macros.push(format!("{name}: int {}", draw.text()));
        column = format!("{column} share={name}");
    }
    Directives { column, macros }
}

/// Texts of the average length. Many texts without common ones vary in length.
fn text(statistics: &Statistics, draw: &Draw, max: Option<u32>) -> Generator {
    let limit = max.unwrap_or(u32::MAX);
    let length = content_bytes(statistics.average_width).clamp(1, limit);
    let (ordered, least) = match digits(draw.size, 36) {
        least if least <= limit => (" ordered", least),
        least => ("", least.min(limit)),
    };
    let length = length.max(least);
    let var = (length / 4).min(length - least).min(limit - length);
    let lengths = if draw.weights.is_empty() && draw.size >= 1000 && var > 0 {
        format!("length={length} lenvar={var}")
    } else {
        format!("length={length}")
    };
    Generator::Drawn(format!("string{ordered} {lengths}"))
}

/// Bytes of a value without its header, which has one byte for short values and four for others.
fn content_bytes(width: u32) -> u32 {
    if width <= 127 { width.saturating_sub(1) } else { width - 4 }
}

/// Digits of the numbers below `size`.
fn digits(size: u64, base: u64) -> u32 {
    size.saturating_sub(1).checked_ilog(base).unwrap_or(0) + 1
}

/// The first integer: within the bounds of CHECK constraints.
fn integer_offset(setting: &Setting<'_>, size: u64) -> Option<i64> {
    let read = |limit: &Option<String>| limit.as_ref()?.parse::<i64>().ok();
    match (read(&setting.permitted.min), read(&setting.permitted.max)) {
        // A bound may be excluded.
        (Some(min), _) if min >= 1 => Some(min.saturating_add(1)),
        (_, Some(max)) => Some(max.saturating_sub_unsigned(size).min(1)),
        _ => None,
    }
}

/// The first number, without its point, so that the numbers have the average width.
fn numeric_offset(setting: &Setting<'_>, width: u32, scale: u32, precision: Option<u32>, size: u64) -> i64 {
    let unit = 10_f64.powi(scale.min(18).cast_signed());
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    let read = |limit: &Option<String>| {
        limit.as_ref().and_then(|limit| limit.parse::<f64>().ok()).map(|limit| (limit * unit) as i64)
    };
    let low = read(&setting.permitted.min).map_or(1, |min| min.saturating_add(1));
    let top = 10_i64.saturating_pow(precision.unwrap_or(18).min(18)) - 1;
    let high = read(&setting.permitted.max).map_or(top, |max| (max - 1).min(top));
    let count = i64::try_from(size).unwrap_or(i64::MAX);
    // Numbers around the ends of groups of four digits have an average between two widths.
    let ends = (1..5_u32).map(|group| 10_i64.saturating_pow(4 * group + scale));
    let starts = ends.flat_map(|end| [0, 1, 2, 3, 4].map(|quarter| end.saturating_sub(count / 4 * quarter)));
    let candidates = [low]
        .into_iter()
        .chain(starts)
        .filter(|start| *start >= low && start.checked_add(count - 1).is_some_and(|last| last <= high));
    let wanted = f64::from(width);
    let error = |start: i64| (average_numeric_width(start, count, scale) - wanted).abs();
    candidates.min_by(|a, b| error(*a).total_cmp(&error(*b))).unwrap_or(low)
}

/// Average bytes of numeric values: a header of 3, and 2 for each group of four digits.
fn average_numeric_width(start: i64, count: i64, scale: u32) -> f64 {
    const SAMPLES: i64 = 1000;
    let samples = count.clamp(1, SAMPLES);
    let unit = 10_i64.saturating_pow(scale.min(18));
    let width = |sample: i64| {
        let number = start.saturating_add(
            i64::try_from(i128::from(count) * i128::from(sample) / i128::from(samples)).unwrap_or(0),
        );
        let (whole, mut fraction) = (number / unit, number % unit);
        let whole_groups = if whole == 0 { 0 } else { whole.ilog10() / 4 + 1 };
        // Groups behind the point, without trailing zeros.
        let mut places = scale;
        while places > 0 && fraction % 10 == 0 {
            fraction /= 10;
            places -= 1;
        }
        f64::from(3 + 2 * (whole_groups + places.div_ceil(4)))
    };
    #[expect(clippy::cast_precision_loss, reason = "at most 1000")]
    let count = samples as f64;
    (0..samples).map(width).sum::<f64>() / count
}

/// Shares of the common values, in the order of the values.
fn common_weights(statistics: &Statistics) -> Vec<f64> {
    let weights = statistics.weights();
    statistics.common_values.iter().filter_map(|(at, _)| weights.get(*at).copied()).collect()
}

/// A list of the common values with their shares.
fn list(setting: &Setting<'_>, statistics: &Statistics, draw: &Draw) -> String {
    let texts: Vec<String> = statistics.common_values.iter().map(|(_, text)| escaped(text)).collect();
    let own = Draw { size: texts.len() as u64, weights: common_weights(statistics), ..draw.clone() };
    format!("list='{}' {}", texts.join(","), own.with_correlation(setting.rows).text())
}

/// A list of the common values, and a range for the others. `None` if the type or its values have no such directives.
fn from_values(
    setting: &Setting<'_>,
    column: &ColumnFacts,
    statistics: &Statistics,
    draw: &Draw,
) -> Option<Directives> {
    let complete = statistics.common_values.len() as u64 >= draw.size;
    let texts = &statistics.common_values[..];
    if complete && !texts.is_empty() {
        return Some(Directives { column: list(setting, statistics, draw), macros: Vec::new() });
    }
    // Common values that are not more frequent than the others are part of the range.
    let texts = if draw.weights.is_empty() { &[] } else { texts };
    let others = Draw { size: draw.size - texts.len() as u64, weights: Vec::new(), ..draw.clone() };
    let range = match &statistics.bounds {
        Some((low, high)) => range(column.family, low, high, others.size)?,
        None if texts.is_empty() => return None,
        None => match generator(setting, column, statistics, &others) {
            Generator::Drawn(generator) => generator,
            Generator::Alone(_) | Generator::Shared(_) => return None,
        },
    };
    let range = format!("{range} {}", others.text());
    if texts.is_empty() {
        return Some(Directives { column: range, macros: Vec::new() });
    }
    let sum: f64 = common_weights(statistics).iter().sum::<f64>().clamp(0.0, 0.999_999);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 1,000,000")]
    let part = |share: f64| ((share * 1e6).round() as u64).max(1);
    let (common, rest) = (format!("{}.common", setting.path), format!("{}.rest", setting.path));
    let column = format!("alt={common}:{},{rest}:{}", part(sum), part(1.0 - sum));
    Some(Directives {
        column,
        macros: vec![format!("{common}: {}", list(setting, statistics, draw)), format!("{rest}: {range}")],
    })
}

/// So many values between the bounds of the histogram.
fn range(family: Family, low: &str, high: &str, size: u64) -> Option<String> {
    let integers = |low: i64, high: i64| {
        let distance = high.checked_sub(low)?.unsigned_abs() / size.saturating_sub(1).max(1);
        Some((low, distance.max(1)))
    };
    match family {
        Family::Integer => {
            let (low, prec) = integers(low.parse().ok()?, high.parse().ok()?)?;
            let prec = if prec == 1 { String::new() } else { format!(" prec={prec}") };
            Some(format!("int offset={low}{prec}"))
        }
        Family::Numeric { scale, .. } => {
            let unit = 10_f64.powi(scale.min(18).cast_signed());
            #[expect(clippy::cast_possible_truncation, reason = "saturates")]
            let read = |text: &str| text.parse::<f64>().ok().map(|number| (number * unit).round() as i64);
            let (low, prec) = integers(read(low)?, read(high)?)?;
            let decimals = if scale == 0 { String::new() } else { format!(" decimals={scale}") };
            Some(format!("int offset={low} prec={prec}{decimals}"))
        }
        Family::Date | Family::Timestamp => {
            // Infinite and years before 1 or after 9999 have other forms.
            let is_date = |text: &str| text.get(4..5) == Some("-") && !text.ends_with("BC");
            (is_date(low) && is_date(high)).then_some(())?;
            let seconds = family == Family::Timestamp;
            let word = if seconds { "timestamp" } else { "date" };
            let cut = |text: &str| text.get(..if seconds { 19 } else { 10 }).unwrap_or(text).to_owned();
            let (low, high) = (cut(low), cut(high));
            Some(format!("{word} start='{low}' prec={}", distance(&low, &high, seconds, size)?))
        }
        _ => None,
    }
}

/// Days or seconds between `size` values from `low` to `high`.
fn distance(low: &str, high: &str, seconds: bool, size: u64) -> Option<u64> {
    let number = |text: &str| -> Option<i64> {
        let part = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
        let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
        // Days of the Gregorian calendar from a fixed day (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
        let year = if month <= 2 { year - 1 } else { year };
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let days =
            year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year;
        if !seconds {
            return Some(days);
        }
        let clock =
            part(11, 13).unwrap_or(0) * 3600 + part(14, 16).unwrap_or(0) * 60 + part(17, 19).unwrap_or(0);
        Some(days * 86_400 + clock)
    };
    let length = number(high)?.checked_sub(number(low)?)?.unsigned_abs();
    Some((length / size.saturating_sub(1).max(1)).clamp(1, 1_000_000_000))
}

/// A value of `list`: separators and quotes as hexadecimal sequences.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            ',' | '\'' | '\\' | '\u{0}'..='\u{1f}' | '\u{7f}' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\x{:02x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out
}

/// The parameters of a draw.
#[derive(Clone, Debug)]
struct Draw {
    /// Different values.
    size: u64,
    /// The size is the default of the generator.
    is_unique: bool,
    in_compound_key: bool,
    /// Of the first values.
    weights: Vec<f64>,
    /// As PostgreSQL measures it.
    statistic: f64,
    /// As the directive says it.
    correlation: f64,
}

impl Draw {
    fn new(setting: &Setting<'_>, column: &ColumnFacts, statistics: &Statistics) -> Self {
        let (rows, is_unique) = (setting.rows, setting.unique);
        let mut size = if is_unique { rows } else { statistics.distinct_values(rows) };
        let mut weights =
            if is_unique || setting.in_compound_key { Vec::new() } else { statistics.weights() };
        let limits = [
            setting.referenced_rows,
            setting.permitted.values.as_ref().map(|values| values.len() as u64),
            match column.family {
                Family::Bool => Some(2),
                Family::Time => Some(DAY_S),
                _ => between(column.family, &setting.permitted),
            },
        ];
        let limit = limits.into_iter().flatten().min().unwrap_or(u64::MAX).max(1);
        if setting.is_nullable && !is_unique {
            size = before_nulls(size, rows, statistics.null_share);
        }
        if !is_unique {
            size = size.max(setting.least_size).min(limit);
        }
        if are_noise(&weights, size, rows) {
            weights.clear();
        }
        weights.truncate(usize::try_from(size).unwrap_or(usize::MAX));
        let (sum, all): (f64, bool) = (weights.iter().sum(), weights.len() as u64 == size);
        // The shares are estimates: each of the other values has at least one row.
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let most = 1.0 - (size - weights.len() as u64) as f64 / rows.max(1) as f64;
        if !all && sum > most.max(0.0) {
            weights.iter_mut().for_each(|weight| *weight *= most.max(0.0) / sum);
        }
        let weights = weights.iter().map(|weight| (weight * 1e6).floor() / 1e6).collect();
        let statistic = statistics.correlation.unwrap_or(0.0);
        let in_compound_key = setting.in_compound_key;
        let draw = Self { size, is_unique, in_compound_key, weights, statistic, correlation: 0.0 };
        draw.with_correlation(rows)
    }

    fn with_correlation(self, rows: u64) -> Self {
        let correlation = correlation_directive(&self.weights, self.size, rows, self.statistic);
        Self { correlation, ..self }
    }

    /// Unique values in random order.
    fn is_random(&self) -> bool {
        self.is_unique && self.correlation.abs() < 0.1
    }

    fn text(&self) -> String {
        let Self { size, is_unique, in_compound_key, weights, correlation, .. } = self;
        if *is_unique && *correlation >= 0.999 {
            return "sub=serial".to_owned();
        }
        let mut text =
            if *is_unique { "sub=weighted".to_owned() } else { format!("size={size} sub=weighted") };
        if !weights.is_empty() && !in_compound_key {
            let weights: Vec<String> = weights.iter().map(|weight| number(*weight)).collect();
            text.push_str(&format!(" weights={}", weights.join(",")));
        }
        if *correlation != 0.0 {
            text.push_str(&format!(" correlation={}", number(*correlation)));
        }
        text
    }
}

/// Integers that constraints with two bounds permit.
fn between(family: Family, permitted: &Permitted) -> Option<u64> {
    let read = |limit: &Option<String>| limit.as_ref()?.parse::<i64>().ok();
    let (min, max) = (read(&permitted.min)?, read(&permitted.max)?);
    // Both may be excluded.
    (family == Family::Integer).then(|| u64::try_from(max.saturating_sub(min) - 1).unwrap_or(1))
}

/// NULL takes the place of some values: so many must be drawn that the rest has `distinct` different ones. A value of
/// n rows remains with the probability 1 − nullⁿ.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate between two numbers of rows"
)]
fn before_nulls(distinct: u64, rows: u64, null_share: f64) -> u64 {
    let (mut low, mut high) = (distinct as f64, rows.max(distinct) as f64);
    let remaining = |size: f64| size * (1.0 - null_share.powf(rows as f64 / size));
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if remaining(middle) < distinct as f64 { low = middle } else { high = middle }
    }
    (high.round() as u64).max(distinct)
}

/// Whether values that all have the same share could have given these shares: ANALYZE counts a sample of 30,000 rows, and
/// the greatest of many counts is some standard deviations above the average.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn are_noise(weights: &[f64], size: u64, rows: u64) -> bool {
    const SAMPLE: f64 = 30_000.0;
    const DEVIATIONS: f64 = 3.5;
    let share = 1.0 / size as f64;
    let deviation = (share / SAMPLE.min(rows.max(1) as f64)).sqrt();
    weights.first().is_some_and(|first| *first <= share + DEVIATIONS * deviation)
}

/// A number with at most six decimals.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
