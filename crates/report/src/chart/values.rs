//! The values of a chart for the page's script, which shows them at the pointer, by the arrow keys and as a table:
//! compact JSON, numbers with as many digits as a screen can show. `assets/pointer.js` reads it.

use serde::{Serialize, Serializer};

use super::plot::Drawn;
use super::scale::Scale;
use super::{Axis, Band, Bar, BarGroup, Colour, Heat, Plot, Point, Series};
use crate::figures::with_ordinary_spaces;

/// Five digits; not a number is `null`.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Number(pub(crate) f64);

pub(crate) fn numbers(values: impl IntoIterator<Item = f64>) -> Vec<Number> {
    values.into_iter().map(Number).collect()
}

impl Serialize for Number {
    // Whole numbers below 10¹⁵.
    #[allow(clippy::cast_possible_truncation)]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const DIGITS_AFTER_FIRST: usize = 4;
        if !self.0.is_finite() {
            return serializer.serialize_none();
        }
        let rounded: f64 = format!("{:.DIGITS_AFTER_FIRST$e}", self.0).parse().unwrap_or(self.0);
        if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

#[derive(Serialize)]
struct Values<'a> {
    x: AxisValues<'a>,
    y: AxisValues<'a>,
    /// Lists of positions on the x axis; series that share one name it by its number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    positions: Vec<Vec<Number>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    series: Vec<SeriesValues<'a>>,
    stacked: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bands: Vec<BandValues<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    heat: Option<HeatValues>,
}

#[derive(Serialize)]
struct AxisValues<'a> {
    name: &'a str,
    quantity: &'static str,
    suffix: &'static str,
    low: Number,
    high: Number,
    log: bool,
    /// Positions that have names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    marks: Vec<(Number, &'a str)>,
}

#[derive(Serialize)]
struct SeriesValues<'a> {
    label: &'a str,
    colour: String,
    positions: usize,
    values: Vec<Number>,
    /// Whether no line joins its points.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    scattered: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    intervals: Vec<Option<(Number, Number)>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    signs: Vec<String>,
}

#[derive(Serialize)]
struct BandValues<'a> {
    kind: &'a str,
    colour: String,
    start: Number,
    end: Option<Number>,
    detail: String,
}

#[derive(Serialize)]
struct HeatValues {
    starts: Vec<Number>,
    ends: Vec<Number>,
    edges: Vec<Number>,
    /// Of each column: row, count, row, count …, without the empty ones.
    cells: Vec<Vec<u64>>,
}

#[derive(Serialize)]
struct BarsValues<'a> {
    y: BarAxisValues<'a>,
    bars: Vec<BarValues>,
}

#[derive(Serialize)]
struct BarAxisValues<'a> {
    quantity: &'static str,
    suffix: &'a str,
}

#[derive(Serialize)]
struct BarValues {
    name: String,
    shown: String,
    /// Name, colour and value of the parts, of bars that have several.
    parts: Vec<(String, String, Number)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<(Number, Number)>,
}

/// The values of bars: the parts of those that have several, and intervals. Their figures stand beside them.
pub(super) fn json_of_bars(axis: &Axis, groups: &[BarGroup], legend: &[(String, Colour)]) -> String {
    let bar = |group: &str, bar: &Bar| {
        let name = |at: usize, colour: Colour| match bar.names.get(at) {
            Some(name) => name.as_str(),
            None => legend.iter().find(|(_, known)| *known == colour).map_or("", |(name, _)| name.as_str()),
        };
        let part = |(at, (value, colour)): (usize, &(f64, Colour))| {
            (name(at, *colour).to_owned(), super::colour::Paint::Of(*colour).variable(), Number(*value))
        };
        let parts =
            bar.parts.iter().enumerate().filter(|(_, (value, _))| bar.parts.len() > 1 && *value > 0.0);
        let parts = parts.map(part).collect();
        let name = [group, bar.label.as_str()].join(" ");
        let interval = bar.interval.map(|(low, high)| (Number(low), Number(high)));
        let name = name.trim().to_owned();
        BarValues { name, shown: with_ordinary_spaces(&bar.shown), parts, interval }
    };
    let all = groups.iter().flat_map(|group| group.bars.iter().map(move |it| (group, it)));
    let y = BarAxisValues { quantity: axis.quantity.name(), suffix: axis.suffix };
    let bars = all.map(|(group, it)| bar(&group.name, it)).collect();
    let values = BarsValues { y, bars };
    safe_in_script(&serde_json::to_string(&values).expect("numbers, strings and lists"))
}

/// The values of a plot that was drawn; `None` of bars.
pub(super) fn json(plot: &Plot, drawn: &Drawn) -> Option<String> {
    let values = match plot {
        Plot::Bars { .. } => return None,
        Plot::Lines { x, y, series, is_stacked, bands } => {
            let (positions, of_series) = positions(series);
            let series = series.iter().zip(of_series).map(|(it, at)| SeriesValues::new(it, at));
            Values {
                x: AxisValues::new(x, &drawn.x),
                y: AxisValues::new(y, &drawn.y),
                positions,
                series: series.collect(),
                stacked: *is_stacked,
                bands: bands.iter().map(BandValues::from).collect(),
                heat: None,
            }
        }
        Plot::Heat { x, y, heat, bands } => Values {
            x: AxisValues::new(x, &drawn.x),
            y: AxisValues::new(y, &drawn.y),
            positions: Vec::new(),
            series: Vec::new(),
            stacked: false,
            bands: bands.iter().map(BandValues::from).collect(),
            heat: Some(HeatValues::from(heat)),
        },
    };
    Some(safe_in_script(&serde_json::to_string(&values).expect("numbers, strings and lists")))
}

/// Lists of positions without repetition, and which of them each series has.
fn positions(series: &[Series]) -> (Vec<Vec<Number>>, Vec<usize>) {
    let mut lists: Vec<Vec<Number>> = Vec::new();
    let of_series = series.iter().map(|series| {
        let list = numbers(series.points.iter().map(|point| point.x));
        lists.iter().position(|known| *known == list).unwrap_or_else(|| {
            lists.push(list);
            lists.len() - 1
        })
    });
    let of_series = of_series.collect();
    (lists, of_series)
}

impl<'a> AxisValues<'a> {
    fn new(axis: &'a Axis, scale: &Scale) -> AxisValues<'a> {
        let (low, high, log) = scale.ends();
        AxisValues {
            name: &axis.name,
            quantity: axis.quantity.name(),
            suffix: axis.suffix,
            low: Number(low),
            high: Number(high),
            log,
            marks: axis
                .marks
                .iter()
                .chain(&axis.names)
                .map(|(position, name)| (Number(*position), name.as_str()))
                .collect(),
        }
    }
}

impl<'a> SeriesValues<'a> {
    fn new(series: &'a Series, positions: usize) -> SeriesValues<'a> {
        let Series { label, colour, points, .. } = series;
        let has = |of: fn(&Point) -> bool| points.iter().any(of);
        let interval = |point: &Point| point.interval.map(|(low, high)| (Number(low), Number(high)));
        let signs = |point: &Point| {
            let signs: String = point.signs.iter().map(|sign| sign.character()).collect();
            let label = if point.label.is_empty() { String::new() } else { format!("at {}", point.label) };
            if signs.is_empty() || label.is_empty() { label + &signs } else { format!("{label} {signs}") }
        };
        SeriesValues {
            label,
            colour: super::colour::Paint::Of(*colour).variable(),
            positions,
            values: numbers(points.iter().map(|point| point.y)),
            scattered: series.has_no_line,
            intervals: if has(|it| it.interval.is_some()) {
                points.iter().map(interval).collect()
            } else {
                Vec::new()
            },
            signs: if has(|it| !it.signs.is_empty() || !it.label.is_empty()) {
                points.iter().map(signs).collect()
            } else {
                Vec::new()
            },
        }
    }
}

impl<'a> From<&'a Band> for BandValues<'a> {
    fn from(band: &'a Band) -> BandValues<'a> {
        BandValues {
            kind: &band.kind,
            colour: super::colour::Paint::Of(band.colour).variable(),
            start: Number(band.start),
            end: band.end.map(Number),
            detail: with_ordinary_spaces(&band.detail),
        }
    }
}

impl From<&Heat> for HeatValues {
    fn from(heat: &Heat) -> HeatValues {
        let cells = heat.columns.iter().map(|(_, _, counts)| {
            let filled = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            filled.flat_map(|(row, count)| [row as u64, *count]).collect()
        });
        HeatValues {
            starts: numbers(heat.columns.iter().map(|(start, ..)| *start)),
            ends: numbers(heat.columns.iter().map(|(_, end, _)| *end)),
            edges: numbers(heat.edges.iter().copied()),
            cells: cells.collect(),
        }
    }
}

/// JSON that cannot end the script that it stands in, nor open a comment in it (HTML Living Standard, §4.12.1.3).
/// Inside of JSON a `<` can only be in a string, where it may be written so.
fn safe_in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_five_digits_and_no_more_characters_than_they_need() {
        let json = serde_json::to_string(&numbers([12_345.678, 0.000_123_456, 2.0, f64::NAN, -0.5])).unwrap();
        assert_eq!(json, "[12346,0.00012346,2,null,-0.5]");
    }

    #[test]
    fn values_cannot_end_their_script() {
        let json = serde_json::to_string("</script><!--\u{2028}").unwrap();
        let safe = safe_in_script(&json);
        assert!(!safe.contains('<') && !safe.contains('\u{2028}'), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "</script><!--\u{2028}");
    }

    #[test]
    fn series_with_the_same_positions_share_one_list() {
        let series = |positions: &[f64]| {
            let points = positions.iter().map(|x| Point::new(*x, 1.0)).collect();
            Series::new("", Colour::Run(0), points)
        };
        let (lists, of_series) = positions(&[series(&[1.0, 2.0]), series(&[1.5]), series(&[1.0, 2.0])]);
        assert_eq!((lists.len(), of_series), (2, vec![0, 1, 0]));
    }
}
