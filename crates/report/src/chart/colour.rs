//! Colours and signs by their meaning: the variable of the page's style sheet, which has a light and a dark value, and
//! the light value for pictures. Shapes are painted with them.

use super::{Colour, Sign};

/// What a shape is painted with.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    Of(Colour),
    /// A shade of the heat map, from few to many.
    Heat(usize),
    Page,
    Text,
    Grid,
}

/// Of runs side by side, and of the lines and parts of experiments.
const RUNS: [u32; 8] =
    [0x1f_5fa6, 0xb3_4d12, 0x25_794b, 0x8a_4fa3, 0x85_6807, 0x1c_7a96, 0xb8_3f77, 0x6b_6f76];

/// Of percentiles: median, p95, p99, p99.9, max.
const QUANTILES: [(&str, u32); 5] =
    [("p50", 0x2f_8f83), ("p95", 0x2b_6cb8), ("p99", 0x6f_4ba8), ("p999", 0xb8_3a78), ("max", 0x8d_9097)];

/// From few to many.
const HEAT: [u32; 10] = [
    0xdc_e8f2, 0xc6_dcec, 0xa9_cbe3, 0x86_b5d8, 0x61_9bcb, 0x42_7fb9, 0x2d_64a0, 0x21_4b82, 0x1a_3463,
    0x13_2247,
];
/// How many shades there are.
pub(super) const SHADES: usize = HEAT.len();

/// Classes of wait events, each with three shades; the last one is of all others.
const WAITS: [(&str, [u32; 3]); 7] = [
    ("cpu", [0x5a_a469, 0x86_bf90, 0xb0_d7b6]),
    ("io", [0x3f_7fc4, 0x74_a5d9, 0xa9_c9ea]),
    ("lock", [0xc9_4f45, 0xdc_827a, 0xec_b3ae]),
    ("lwlock", [0xdf_9a3c, 0xea_b96f, 0xf3_d6a6]),
    ("client", [0x8f_86c9, 0xb0_a9da, 0xd0_cbe9]),
    ("ipc", [0x5f_a8a8, 0x8f_c4c4, 0xba_dcdc]),
    ("other", [0xa3_a6ab, 0xbd_bfc3, 0xd6_d8da]),
];

impl Colour {
    /// Of the wait events of a chart, given their types: those of one class have different shades, as far as there are.
    pub(crate) fn of_waits<'a>(event_types: impl IntoIterator<Item = &'a str>) -> Vec<Colour> {
        let mut seen: Vec<&'static str> = Vec::new();
        let mut colour = |event_type: &str| {
            let class = WAITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(event_type));
            let (class, shades) = class.unwrap_or(&WAITS[WAITS.len() - 1]);
            let nth = seen.iter().filter(|known| *known == class).count();
            seen.push(class);
            Colour::Wait(class, nth.min(shades.len() - 1))
        };
        event_types.into_iter().map(&mut colour).collect()
    }
}

impl Paint {
    /// The style sheet's variable, without its dashes.
    pub(super) fn variable(self) -> String {
        match self {
            Paint::Of(Colour::Run(number)) => format!("run-{}", number % RUNS.len()),
            Paint::Of(Colour::Quantile(number)) => QUANTILES[number % QUANTILES.len()].0.to_owned(),
            Paint::Of(Colour::Wait(class, shade)) => format!("wait-{class}-{shade}"),
            Paint::Of(Colour::Quiet) => "quiet".to_owned(),
            Paint::Of(Colour::Bad) => "bad".to_owned(),
            Paint::Of(Colour::Checkpoint) => "checkpoint".to_owned(),
            Paint::Of(Colour::Autovacuum) => "autovacuum".to_owned(),
            Paint::Of(Colour::LockQueue) => "lock-queue".to_owned(),
            Paint::Of(Colour::Stall) => "stall".to_owned(),
            Paint::Of(Colour::Action) => "action".to_owned(),
            Paint::Heat(shade) => format!("heat-{}", shade.min(SHADES - 1)),
            Paint::Page => "page".to_owned(),
            Paint::Text => "text".to_owned(),
            Paint::Grid => "line".to_owned(),
        }
    }

    /// Of pictures, which are light, since they end up in documents: 0xRRGGBB.
    pub(super) fn light(self) -> u32 {
        match self {
            Paint::Of(Colour::Run(number)) => RUNS[number % RUNS.len()],
            Paint::Of(Colour::Quantile(number)) => QUANTILES[number % QUANTILES.len()].1,
            Paint::Of(Colour::Wait(class, shade)) => {
                let shades = WAITS.iter().find(|(name, _)| *name == class).unwrap_or(&WAITS[WAITS.len() - 1]);
                shades.1[shade.min(2)]
            }
            Paint::Of(Colour::Quiet) => 0x62_666e,
            Paint::Of(Colour::Bad | Colour::Stall) => 0xb3_261e,
            Paint::Of(Colour::Checkpoint) => 0xd0_8a00,
            Paint::Of(Colour::Autovacuum) => 0x3d_8f4d,
            Paint::Of(Colour::LockQueue) => 0x6d_4326,
            Paint::Of(Colour::Action) => 0x00_9bc2,
            Paint::Heat(shade) => HEAT[shade.min(SHADES - 1)],
            Paint::Page => 0xff_ffff,
            Paint::Text => 0x1b_1d21,
            Paint::Grid => 0xe4_e4df,
        }
    }
}

impl Sign {
    /// All of them, in the order in which they are shown.
    pub(crate) const ALL: [Sign; 3] = [Sign::Up, Sign::Down, Sign::Diamond];

    pub(crate) fn character(self) -> char {
        match self {
            Sign::Up => '▲',
            Sign::Down => '▼',
            Sign::Diamond => '◆',
        }
    }

    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Sign::Up => "best throughput",
            Sign::Down => "lowest mean latency",
            Sign::Diamond => "compromise",
        }
    }

    /// The corners around its middle.
    pub(super) fn outline(self) -> Vec<(f32, f32)> {
        const SIZE: f32 = 4.8;
        match self {
            Sign::Up => vec![(0.0, -SIZE), (SIZE, SIZE * 0.8), (-SIZE, SIZE * 0.8)],
            Sign::Down => vec![(0.0, SIZE), (SIZE, -SIZE * 0.8), (-SIZE, -SIZE * 0.8)],
            Sign::Diamond => vec![(0.0, -SIZE), (SIZE, 0.0), (0.0, SIZE), (-SIZE, 0.0)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each colour has a variable in both styles of the page; those of the light one are the colours of pictures.
    #[test]
    fn the_page_has_the_colours_of_pictures() {
        let style = include_str!("../../assets/page.css");
        let mut paints: Vec<Paint> = (0..RUNS.len()).map(|run| Paint::Of(Colour::Run(run))).collect();
        paints.extend((0..QUANTILES.len()).map(|quantile| Paint::Of(Colour::Quantile(quantile))));
        paints.extend((0..SHADES).map(Paint::Heat));
        for (class, _) in WAITS {
            paints.extend(Colour::of_waits([class; 3]).into_iter().map(Paint::Of));
        }
        let single = [
            Colour::Quiet,
            Colour::Bad,
            Colour::Checkpoint,
            Colour::Autovacuum,
            Colour::LockQueue,
            Colour::Stall,
            Colour::Action,
        ];
        paints.extend(single.map(Paint::Of));
        paints.extend([Paint::Text, Paint::Grid]);
        for paint in paints {
            let name = paint.variable();
            let light = format!("--{name}: #{:06x};", paint.light());
            assert!(style.contains(&light), "the page has no {light}");
            assert_eq!(
                style.matches(&format!("--{name}: #")).count(),
                3,
                "{name}: light, dark, dark by choice"
            );
        }
    }

    #[test]
    fn wait_events_of_one_class_have_shades_and_unknown_types_are_one_class() {
        let colours = Colour::of_waits(["LWLock", "Timeout", "LWLock", "Extension", "LWLock", "LWLock"]);
        let classes =
            [("lwlock", 0), ("other", 0), ("lwlock", 1), ("other", 1), ("lwlock", 2), ("lwlock", 2)];
        assert_eq!(colours, classes.map(|(class, shade)| Colour::Wait(class, shade)));
    }
}
