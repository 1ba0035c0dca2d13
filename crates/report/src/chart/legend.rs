//! The entries of a chart's legend: colours, dashes, bands and signs with their names. The page and the pictures lay
//! them out.

use super::{Axis, Band, BarGroup, Chart, Colour, Form, Plot, Sign};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) name: String,
    pub(super) colour: Colour,
    pub(super) kind: Kind,
    /// The number of its series, which the page can switch.
    pub(super) series: Option<usize>,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Solid,
    Dashed,
    Band,
    Sign(Sign),
    Form(Form),
}

pub(super) fn items(chart: &Chart) -> Vec<Item> {
    let mut items = Vec::new();
    let mut signs: Vec<Sign> = Vec::new();
    match &chart.plot {
        Plot::Lines { y, series, bands, .. } => {
            let named = series.iter().enumerate().filter(|(_, series)| !series.label.is_empty());
            items.extend(named.map(|(number, series)| Item {
                name: series.label.clone(),
                colour: series.colour,
                kind: match series.is_dashed {
                    true => Kind::Dashed,
                    false if series.has_no_line || series.has_dots => Kind::Form(series.form),
                    false if series.has_band => Kind::Band,
                    false => Kind::Solid,
                },
                series: Some(number),
            }));
            add_thresholds(&mut items, y);
            add_bands(&mut items, bands);
            signs.extend(series.iter().flat_map(|series| &series.points).flat_map(|point| &point.signs));
        }
        Plot::Heat { y, bands, .. } => {
            add_thresholds(&mut items, y);
            add_bands(&mut items, bands);
        }
        Plot::Bars { axis, groups, legend } => {
            let item = |(name, colour): &(String, Colour)| Item {
                name: name.clone(),
                colour: *colour,
                kind: if axis.is_logarithmic { Kind::Form(form_of(groups, *colour)) } else { Kind::Solid },
                series: None,
            };
            items.extend(legend.iter().map(item));
            signs.extend(groups.iter().flat_map(|group| &group.bars).flat_map(|bar| &bar.signs));
        }
    }
    let present = Sign::ALL.into_iter().filter(|sign| signs.contains(sign));
    items.extend(present.map(|sign| Item {
        name: sign.meaning().to_owned(),
        colour: Colour::Quiet,
        kind: Kind::Sign(sign),
        series: None,
    }));
    items
}

/// The form of the dots of a colour.
fn form_of(groups: &[BarGroup], colour: Colour) -> Form {
    let mut bars = groups.iter().flat_map(|group| &group.bars);
    let is_of_colour = |parts: &[(f64, Colour)]| parts.iter().any(|(_, it)| *it == colour);
    bars.find(|bar| is_of_colour(&bar.parts)).map_or(Form::Dot, |bar| bar.form)
}

fn add_thresholds(items: &mut Vec<Item>, y: &Axis) {
    let named = y.thresholds.iter().filter(|threshold| !threshold.label.is_empty());
    items.extend(named.map(|threshold| Item {
        name: threshold.label.clone(),
        colour: Colour::Bad,
        kind: Kind::Dashed,
        series: None,
    }));
}

/// A kind of event once.
fn add_bands(items: &mut Vec<Item>, bands: &[Band]) {
    for band in bands.iter().filter(|band| band.has_words) {
        let item = Item { name: band.kind.clone(), colour: band.colour, kind: Kind::Band, series: None };
        if !items.contains(&item) {
            items.push(item);
        }
    }
}
