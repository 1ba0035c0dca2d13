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

/// Of runs side by side, and of the lines and parts of experiments. These palettes, and those of the page's dark style, are
/// told apart without the difference of red and green, and words on them have enough contrast: the tests say how much.
const RUNS: [u32; 8] =
    [0x1f_5fc4, 0xc0_4c10, 0x0c_6a38, 0x54_0884, 0x54_460a, 0x08_78b0, 0x8a_0f50, 0x6c_6f74];

/// Of percentiles: median, p95, p99, p99.9, max.
const QUANTILES: [(&str, u32); 5] =
    [("p50", 0x15_866a), ("p95", 0x20_6ed7), ("p99", 0x60_22df), ("p999", 0xdd_65b4), ("max", 0x3c_3e42)];

/// From few to many.
const HEAT: [u32; 10] = [
    0xdc_e8f2, 0xc6_dcec, 0xa9_cbe3, 0x86_b5d8, 0x61_9bcb, 0x42_7fb9, 0x2d_64a0, 0x21_4b82, 0x1a_3463,
    0x13_2247,
];
/// How many shades there are.
pub(super) const SHADES: usize = HEAT.len();

/// Classes of wait events, each with three shades; the last one is of all others.
const WAITS: [(&str, [u32; 3]); 7] = [
    ("cpu", [0x62_d84a, 0x95_e484, 0xc1_eeb7]),
    ("io", [0xa1_aeed, 0xbf_c8f1, 0xd9_def5]),
    ("lock", [0xda_6848, 0xe5_9983, 0xef_c4b6]),
    ("lwlock", [0xe7_d692, 0xee_e3b4, 0xf4_eed2]),
    ("client", [0xac_6ae6, 0xc6_9aed, 0xde_c5f2]),
    ("ipc", [0x83_e6de, 0xab_ede7, 0xce_f4ef]),
    ("other", [0x8b_8b8b, 0xb0_b0b0, 0xd1_d1d0]),
];

impl Colour {
    /// Of the wait events of a chart, given their types: those of one class have different shades, in turns.
    pub(crate) fn of_waits<'a>(event_types: impl IntoIterator<Item = &'a str>) -> Vec<Colour> {
        let mut seen: Vec<&'static str> = Vec::new();
        let mut colour = |event_type: &str| {
            let class = WAITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(event_type));
            let (class, shades) = class.unwrap_or(&WAITS[WAITS.len() - 1]);
            let nth = seen.iter().filter(|known| *known == class).count();
            seen.push(class);
            Colour::Wait(class, nth % shades.len())
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
            [("lwlock", 0), ("other", 0), ("lwlock", 1), ("other", 1), ("lwlock", 2), ("lwlock", 0)];
        assert_eq!(colours, classes.map(|(class, shade)| Colour::Wait(class, shade)));
    }

    type Rgb = [f64; 3];

    /// Linear light from 0 to 1 (IEC 61966-2-1).
    fn linear(colour: u32) -> Rgb {
        let channel = |shift: u32| {
            let value = f64::from((colour >> shift) & 0xff) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        [channel(16), channel(8), channel(0)]
    }

    /// As someone without green cones sees it (Machado, Oliveira and Fernandes, A Physiologically-based Model for
    /// Simulation of Color Vision Deficiency, IEEE TVCG 15, 2009, severity 1).
    fn without_green_cones(light: Rgb) -> Rgb {
        const MATRIX: [Rgb; 3] = [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ];
        MATRIX.map(|row| row.iter().zip(light).map(|(a, b)| a * b).sum::<f64>().clamp(0.0, 1.0))
    }

    /// CIELAB with the white of sRGB (CIE 15:2004, §8.2.1).
    fn lab([red, green, blue]: Rgb) -> Rgb {
        let f = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let x = f((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505);
        let y = f(0.2126 * red + 0.7152 * green + 0.0722 * blue);
        let z = f((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    fn distance(a: u32, b: u32) -> f64 {
        let [a, b] = [a, b].map(|colour| lab(without_green_cones(linear(colour))));
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    /// Of relative luminances (Web Content Accessibility Guidelines 2.2, contrast ratio).
    fn contrast(a: u32, b: u32) -> f64 {
        let luminance = |colour| {
            let [red, green, blue] = linear(colour);
            0.2126 * red + 0.7152 * green + 0.0722 * blue
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// A variable of the page's style sheet, in the light style and in the dark one.
    fn of_page(name: &str) -> [u32; 2] {
        let style = include_str!("../../assets/page.css");
        let sought = format!("--{name}: #");
        let mut values = style.match_indices(&sought).map(|(at, found)| {
            let digits = &style[at + found.len()..];
            u32::from_str_radix(&digits[..6], 16).expect("six hexadecimal digits")
        });
        [values.next().expect("a light value"), values.next().expect("a dark value")]
    }

    fn variables(paints: impl IntoIterator<Item = Colour>) -> Vec<[u32; 2]> {
        paints.into_iter().map(|colour| of_page(&Paint::Of(colour).variable())).collect()
    }

    fn assert_apart(colours: &[[u32; 2]], least: f64) {
        for style in [0, 1] {
            for (at, a) in colours.iter().enumerate() {
                for b in &colours[..at] {
                    let apart = distance(a[style], b[style]);
                    assert!(apart >= least, "{:06x} and {:06x}: {apart:.1}", a[style], b[style]);
                }
            }
        }
    }

    #[test]
    fn colours_are_told_apart_without_red_and_green() {
        assert_apart(&variables(WAITS.map(|(class, _)| Colour::Wait(class, 0))), 15.0);
        for (class, _) in WAITS {
            assert_apart(&variables([0, 1, 2].map(|shade| Colour::Wait(class, shade))), 5.0);
        }
        assert_apart(&variables((0..RUNS.len()).map(Colour::Run)), 9.0);
        assert_apart(&variables((0..QUANTILES.len()).map(Colour::Quantile)), 12.0);
        // Slower, faster, undecided.
        assert_apart(&variables([Colour::Bad, Colour::Run(0)]), 20.0);
    }

    #[test]
    fn words_have_the_contrast_of_wcag_aa_in_both_styles() {
        const AA: f64 = 4.5;
        const AA_OF_GRAPHICS: f64 = 3.0;
        let assert_contrast = |name: &str, on: &str, least: f64| {
            for (word, ground) in of_page(name).into_iter().zip(of_page(on)) {
                let ratio = contrast(word, ground);
                assert!(ratio >= least, "{name} {word:06x} on {on} {ground:06x}: {ratio:.2}");
            }
        };
        for name in ["text", "quiet", "accent", "good", "bad", "caution"] {
            assert_contrast(name, "page", AA);
            assert_contrast(name, "raised", AA);
        }
        assert_contrast("caution", "caution-page", AA);
        assert_contrast("text", "caution-page", AA);
        for (class, _) in WAITS {
            (0..3).for_each(|shade| assert_contrast("text", &format!("wait-{class}-{shade}"), AA));
        }
        (0..RUNS.len()).for_each(|run| assert_contrast("page", &format!("run-{run}"), AA));
        for name in ["p50", "p95", "p99", "p999", "max", "stall", "lock-queue", "bad"] {
            assert_contrast(name, "page", AA_OF_GRAPHICS);
        }
    }
}
