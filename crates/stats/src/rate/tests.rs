//! Goodness of fit of the arrivals of each curve and law, with fixed seeds and integrals that are computed here; the
//! notation with its errors; the clients of stages.

use std::f64::consts::PI;

use super::*;
use crate::SplitMix64;

/// A curve, and its integral from 0, written by hand.
type Case = (RateCurve, fn(f64) -> f64);

fn cases() -> Vec<Case> {
    let point = |at_s: f64, rate_tps: f64| RatePoint { at_s, rate_tps };
    let points = vec![point(0.0, 800.0), point(10.0, 200.0), point(10.0, 1_000.0), point(30.0, 0.0)];
    vec![
        (RateCurve::constant(500.0), |t| 500.0 * t),
        (RateCurve::Ramp { from_tps: 100.0, to_tps: 2_000.0, over_s: 20.0 }, |t| {
            let ramp = t.min(20.0);
            100.0 * ramp + 47.5 * ramp * ramp + 2_000.0 * (t - ramp)
        }),
        (RateCurve::Steps { rates_tps: vec![100.0, 900.0, 400.0], each_s: 8.0 }, |t| {
            100.0 * t.min(8.0) + 900.0 * (t - 8.0).clamp(0.0, 8.0) + 400.0 * (t - 16.0).max(0.0)
        }),
        (RateCurve::Sine { base_tps: 500.0, amplitude_tps: 500.0, period_s: 7.0 }, |t| {
            500.0 * t + 500.0 * 7.0 / (2.0 * PI) * (1.0 - (2.0 * PI * t / 7.0).cos())
        }),
        (RateCurve::Points { file: None, points }, |t| {
            let first = t.min(10.0);
            let second = (t - 10.0).clamp(0.0, 20.0);
            800.0 * first - 30.0 * first * first + 1_000.0 * second - 25.0 * second * second
        }),
    ]
}

const UNTIL_S: f64 = 30.0;

fn arrivals(curve: &RateCurve, law: GapLaw, before_s: f64, until_s: f64, seed: u64) -> Vec<f64> {
    let mut random = SplitMix64::new(seed);
    let mut uniform = || random.share();
    let mut times = ArrivalTimes::new(curve, law, before_s);
    std::iter::from_fn(|| times.next_s(&mut uniform)).take_while(|at| *at < until_s).collect()
}

/// Kolmogorov's distance between values and a distribution, in units of its critical value at 0.1 %.
fn distance(mut values: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let number = values.len() as f64;
    let step = |(at, value): (usize, &f64)| {
        let share = cdf(*value);
        (share - at as f64 / number).abs().max((share - (at + 1) as f64 / number).abs())
    };
    values.iter().enumerate().map(step).fold(0.0, f64::max) * number.sqrt() / 1.95
}

fn gaps(times: &[f64], integral: impl Fn(f64) -> f64) -> Vec<f64> {
    let passed: Vec<f64> = std::iter::once(0.0).chain(times.iter().map(|at| integral(*at))).collect();
    passed.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn exponential(x: f64) -> f64 {
    1.0 - (-x).exp()
}

/// Abramowitz and Stegun, 7.1.26; the error is below 1.5 · 10⁻⁷.
fn erf(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let terms = [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    1.0 - terms.iter().rev().fold(0.0, |sum, term| (sum + term) * t) * (-x * x).exp()
}

#[test]
fn gaps_follow_their_law_on_each_curve() {
    type Distribution = fn(f64) -> f64;
    let laws: [(GapLaw, Distribution); 3] = [
        (GapLaw::Poisson, exponential),
        // Shape ½ and mean 1: chi-square with one degree of freedom.
        (GapLaw::Gamma(0.5), |x| erf((x / 2.0).sqrt())),
        // Shape 4: Erlang's distribution.
        (GapLaw::Gamma(4.0), |x| {
            let y = 4.0 * x;
            1.0 - (-y).exp() * (1.0 + y + y * y / 2.0 + y * y * y / 6.0)
        }),
    ];
    for (curve, integral) in cases() {
        for (law, cdf) in laws {
            for seed in [1, 2, 3] {
                let times = arrivals(&curve, law, 0.0, UNTIL_S, seed);
                let distance = distance(gaps(&times, integral), cdf);
                assert!(distance < 1.0, "{curve}, {law}, seed {seed}: {distance} of the critical value");
            }
        }
    }
}

#[test]
fn a_wrong_law_or_rate_would_be_found() {
    let times = arrivals(&RateCurve::constant(500.0), GapLaw::Poisson, 0.0, UNTIL_S, 1);
    let with = |integral: fn(f64) -> f64| distance(gaps(&times, integral), exponential);
    assert!(with(|t| 500.0 * t) < 1.0);
    assert!(with(|t| 560.0 * t) > 1.0, "a rate that is wrong by 12 %");
    let regular = arrivals(&RateCurve::constant(500.0), GapLaw::Gamma(1.4), 0.0, UNTIL_S, 1);
    assert!(distance(gaps(&regular, |t| 500.0 * t), exponential) > 1.0);
}

#[test]
fn fixed_gaps_are_equal_in_units_of_the_rate() {
    for (curve, integral) in cases() {
        let times = arrivals(&curve, GapLaw::Fixed, 0.0, UNTIL_S, 1);
        for (number, at) in times.iter().enumerate() {
            let passed = integral(*at);
            assert!((passed - number as f64 - 0.5).abs() < 1e-5, "{curve}: arrival {number} at {passed}");
        }
        assert_eq!(times.len() as f64, (integral(UNTIL_S) + 0.5 - 1e-6).floor(), "{curve}");
    }
}

#[test]
fn counts_of_each_curve_fit_its_integral() {
    for (curve, integral) in cases() {
        let times = arrivals(&curve, GapLaw::Poisson, 0.0, UNTIL_S, 11);
        let intensity = Intensity::new(&curve, GapLaw::Poisson, 0.0);
        let (bins, length_s) = (30_u32, 1.0);
        let mut chi_square = 0.0;
        for bin in 0..bins {
            let (from, to) = (f64::from(bin) * length_s, f64::from(bin + 1) * length_s);
            let expected = integral(to) - integral(from);
            assert!((intensity.between(from, to) - expected).abs() < 1e-6, "{curve}, {from} s");
            let counted = times.iter().filter(|at| (from..to).contains(*at)).count() as f64;
            chi_square += (counted - expected).powi(2) / expected;
        }
        // 59.7 is exceeded with a probability of 0.1 %.
        assert!(chi_square < 59.7, "{curve}: chi-square {chi_square}");
    }
}

#[test]
fn phases_without_arrivals_have_none_and_the_mean_rate_is_unchanged() {
    let law = GapLaw::OnOff { on_s: 0.2, off_s: 0.8 };
    for (curve, integral) in cases() {
        let times = arrivals(&curve, law, 0.0, UNTIL_S, 5);
        assert!(times.iter().all(|at| at.fract() < 0.2), "{curve}");
        let intensity = Intensity::new(&curve, law, 0.0);
        let between = |from: f64, to: f64| {
            // The rate is five times as high for a fifth of each second.
            let whole = |t: f64| {
                let seconds = (0..30_u32).map(f64::from).take_while(|second| *second < t);
                let part = |second: f64| integral(t.min(second + 0.2)) - integral(second);
                seconds.map(part).sum::<f64>() * 5.0
            };
            whole(to) - whole(from)
        };
        for from in [0.0, 3.1, 9.5, 20.0] {
            let expected = between(from, from + 4.0);
            let found = intensity.between(from, from + 4.0);
            assert!((found - expected).abs() < 1e-6, "{curve}, from {from}: {found}, not {expected}");
        }
        let distance = distance(gaps(&times, |t| between(0.0, t)), exponential);
        assert!(distance < 1.0, "{curve}: {distance} of the critical value");
        // A constant rate keeps its mean in each cycle.
        if curve == RateCurve::constant(500.0) {
            assert!((intensity.between(7.0, 8.0) - 500.0).abs() < 1e-6);
        }
    }
}

#[test]
fn before_measuring_the_rate_is_that_of_the_beginning_and_phases_begin_with_measuring() {
    let ramp = RateCurve::Ramp { from_tps: 100.0, to_tps: 2_000.0, over_s: 20.0 };
    let intensity = Intensity::new(&ramp, GapLaw::Poisson, 5.0);
    assert!((intensity.between(0.0, 5.0) - 500.0).abs() < 1e-9);
    assert!((intensity.between(5.0, 25.0) - 21_000.0).abs() < 1e-6);
    let law = GapLaw::OnOff { on_s: 0.3, off_s: 0.4 };
    for before_s in [0.0, 0.5, 0.7, 5.0] {
        let intensity = Intensity::new(&RateCurve::constant(70.0), law, before_s);
        let on = intensity.between(before_s, before_s + 0.3);
        assert!((on - 49.0).abs() < 1e-6, "{before_s}: {on}");
        assert!(intensity.between(before_s + 0.3, before_s + 0.7).abs() < 1e-6);
    }
}

#[test]
fn after_the_last_arrival_there_is_none_also_with_phases() {
    let steps = RateCurve::Steps { rates_tps: vec![100.0, 0.0], each_s: 2.0 };
    for law in [GapLaw::Poisson, GapLaw::Fixed, GapLaw::OnOff { on_s: 0.1, off_s: 0.1 }] {
        let times = arrivals(&steps, law, 0.0, f64::INFINITY, 3);
        assert!((100..300).contains(&times.len()) && times.iter().all(|at| *at <= 2.0), "{law}: {times:?}");
        assert!(times.is_sorted());
    }
    let pause = RateCurve::Steps { rates_tps: vec![100.0, 0.0, 100.0], each_s: 2.0 };
    let times = arrivals(&pause, GapLaw::Poisson, 0.0, 6.0, 3);
    assert!(times.iter().all(|at| !(2.0..4.0).contains(at)) && times.iter().any(|at| *at > 4.0));
}

fn told<T: std::fmt::Display>(read: Result<T, String>) -> String {
    read.map_or_else(|why| why, |read| read.to_string())
}

fn curve(text: &str) -> String {
    told(text.parse().map(|notation| match notation {
        RateNotation::Constant(rate) => rate.to_string(),
        RateNotation::Curve(curve) => curve.to_string(),
        RateNotation::File(name) => format!("the file {name}"),
    }))
}

#[test]
fn a_curve_is_shown_as_it_was_written() {
    for text in [
        "500",
        "0.5",
        "ramp(100, 2000, 5min)",
        "ramp(2000, 0, 90s)",
        "steps(100, 200, 400; 1min)",
        "sine(500, 300, 1h)",
        "sine(5.5, 5.5, 500ms)",
    ] {
        assert_eq!(curve(text), text);
    }
    assert_eq!(curve(" ramp( 1,2 ,3s) "), "ramp(1, 2, 3s)");
    assert_eq!(curve("file: curve.csv"), "the file curve.csv");
    for text in ["poisson", "fixed", "gamma(0.5)", "onoff(200ms, 800ms)", "onoff(1s, 1min)"] {
        assert_eq!(told(text.parse::<GapLaw>()), text);
    }
}

#[test]
fn a_wrong_curve_is_answered_with_the_correct_form() {
    let expected = "expected a number above 0, or a curve: ramp(100, 2000, 5min), steps(100, 200, 400; 1min), sine(500, \
                    300, 1min) or file:curve.csv";
    for text in ["", "0", "-5", "fast", "ramp", "ramp 1 2 3s", "saw(1, 2, 3s)"] {
        assert_eq!(curve(text), expected, "{text}");
    }
    let ramp = "a ramp has two rates and the time between them: write ramp(100, 2000, 5min)";
    for text in ["ramp()", "ramp(1, 2)", "ramp(1, 2, 3)", "ramp(1, x, 3s)"] {
        assert_eq!(curve(text), ramp, "{text}");
    }
    let rate = "a rate must be from 0 to 1000000000 transactions per second, not -5";
    assert_eq!(curve("ramp(-5, 100, 1min)"), rate);
    assert_eq!(curve("steps(100, -5; 1min)"), rate);
    assert_eq!(curve("ramp(1, 2, 0s)"), "the time of a curve must be above 0, at most a year");
    assert_eq!(curve("ramp(0, 0, 1s)"), "a curve needs a rate above 0, or nothing would run");
    assert_eq!(
        curve("steps(100, 200, 1min)"),
        "steps have rates, a semicolon, and the length of each step: write steps(100, 200, 400; 1min)"
    );
    assert_eq!(
        curve("sine(100, 200, 1min)"),
        "sine(100, 200, 1min) would fall below 0: the amplitude may be at most the base, as in sine(100, 100, 1min)"
    );
    assert_eq!(curve("file:"), "a file with a curve has a name: write file:curve.csv");
    let law = "gaps between arrivals are poisson, fixed, gamma(SHAPE) such as gamma(0.5), or onoff(ON, OFF) such as \
               onoff(200ms, 800ms)";
    assert_eq!(told("exponential".parse::<GapLaw>()), law);
    for text in ["gamma(0)", "gamma()", "gamma(x)", "gamma(1, 2)"] {
        let expected = "gamma takes a shape from 0.01 to 1000, below 1 for bursts: write gamma(0.5)";
        assert_eq!(told(text.parse::<GapLaw>()), expected);
    }
    for text in ["onoff(1s)", "onoff(0s, 1s)", "onoff(1, 2)"] {
        let expected =
            "onoff takes two times from 1ms to 24h, with and without arrivals: write onoff(200ms, 800ms)";
        assert_eq!(told(text.parse::<GapLaw>()), expected);
    }
}

#[test]
fn a_file_has_a_curve_or_a_line_that_is_wrong() {
    let read = |text: &str| RateCurve::from_csv("c.csv", text);
    let curve = read("time,rate\n0,100\n60,500\n60,200\n# end\n\n120, 200\n").unwrap();
    assert_eq!((curve.rate_at(30.0), curve.rate_at(90.0), curve.rate_at(500.0)), (300.0, 200.0, 200.0));
    assert_eq!((curve.to_string().as_str(), curve.end_of_file_s()), ("file:c.csv", Some(120.0)));
    assert_eq!(curve.mean_tps(120.0), 250.0);
    let wrong = |text: &str| read(text).expect_err(text);
    assert_eq!(
        wrong("time,rate\n0,100\n30,\n60,100\n"),
        "c.csv, line 3: the curve has a gap, because the time 30 has no rate: a row has a time in seconds and a rate, such as \
         60,500"
    );
    assert_eq!(
        wrong("10,100\n20,200\n"),
        "c.csv, line 1: the curve has a gap before 10 s: begin with the time 0, such as 0,100"
    );
    assert_eq!(
        wrong("0,100\n20,200\n10,5\n"),
        "c.csv, line 3: the times of a curve must not go back, and must be at most a year: 10 follows 20"
    );
    assert_eq!(
        wrong("0,100\n20,-1\n"),
        "c.csv, line 2: a rate must be from 0 to 1000000000 transactions per second, not -1"
    );
    assert_eq!(wrong("0,0\n20,0\n"), "c.csv, line 2: a curve needs a rate above 0, or nothing would run");
    for text in ["0;100\n", "0,1,2\n", "0,fast\n"] {
        assert_eq!(
            wrong(text),
            "c.csv, line 1: a row has a time in seconds and a rate, such as 60,500",
            "{text}"
        );
    }
    assert_eq!(
        wrong("time,rate\n"),
        "c.csv has no rows: a row has a time in seconds and a rate, such as 60,500"
    );
}

fn stages(text: &str) -> String {
    told(
        LoadStage::list(text)
            .map(|stages| stages.iter().map(LoadStage::to_string).collect::<Vec<_>>().join(", ")),
    )
}

#[test]
fn stages_are_shown_as_they_were_written() {
    for text in ["1min@500, 2min@500..2000, 1min@500", "1min@8c, 90s@8..64c", "1min, 2min"] {
        assert_eq!(stages(text), text);
    }
    let list = LoadStage::list("1min@500, 2min@500..2000, 1min@500").unwrap();
    let curve = LoadStage::rate_curve(&list).unwrap();
    assert_eq!(
        [0.0, 59.0, 120.0, 200.0, 900.0].map(|at| curve.rate_at(at)),
        [500.0, 500.0, 1250.0, 500.0, 500.0]
    );
    assert_eq!(curve.mean_tps(240.0), 875.0);
    assert_eq!(LoadStage::total(&list).as_secs(), 240);
}

#[test]
fn wrong_stages_are_answered_with_the_correct_form() {
    assert_eq!(stages("0s@500"), "the stage 0s@500 has no length: write a time above 0, such as 1min@500");
    assert_eq!(
        stages("1500ms@500"),
        "a stage lasts whole seconds, because its figures are counted by the second: write 2s@500 instead of 1.5s@500"
    );
    let form = "a stage is a time, @, and a rate, two rates or a number of clients: write 1min@500, 2min@500..2000, 1min@8c or \
                2min@8..64c";
    for text in ["500", "1min@", "1min@x", "60@500", "1min@8.5c", ""] {
        assert_eq!(stages(text), format!("\"{text}\" is not a stage: {form}"));
    }
    let mixed = "either all stages have rates, or all have clients, or none has either: write 1min@500, 2min@500..2000, or \
                 1min@8c, 2min@8..64c";
    for text in ["1min@500, 1min@8c", "1min@500, 1min"] {
        assert_eq!(stages(text), mixed);
    }
    assert_eq!(stages("1min@0..8c"), "the stage 1min@0..8c has a moment without a client: write 1c at least");
    assert_eq!(stages("1min@-5"), "a rate must be from 0 to 1000000000 transactions per second, not -5");
}

#[test]
fn clients_of_stages_begin_and_end_in_their_order() {
    let stages = LoadStage::list("10s@2c, 10s@2..12c, 10s@12..2c").unwrap();
    assert_eq!(
        [-5.0, 0.0, 15.0, 20.0, 29.0, 99.0].map(|at| clients_at(&stages, at)),
        [Some(2.0), Some(2.0), Some(7.0), Some(12.0), Some(3.0), Some(2.0),]
    );
    let starts = |place, at_s| client_starts_s(&stages, place, at_s);
    assert_eq!((starts(0, -5.0), starts(1, 3.0)), (Some(-5.0), Some(3.0)));
    // The third client begins when there are 2.5 clients.
    assert_eq!((starts(2, 0.0), starts(11, 0.0), starts(12, 0.0)), (Some(10.5), Some(19.5), None));
    assert_eq!((starts(2, 29.4), starts(2, 29.6)), (Some(29.4), None));
    // While it works, the number of clients is above its place.
    for tenth in 0..300_u32 {
        let at_s = f64::from(tenth) / 10.0;
        let working = (0..20).filter(|place| starts(*place, at_s) == Some(at_s)).count() as f64;
        let planned = clients_at(&stages, at_s).unwrap();
        assert!((working - planned).abs() <= 0.5 + 1e-9, "{at_s} s: {working} of {planned}");
    }
}

#[test]
fn json_keeps_curves_laws_and_stages() {
    let stages = LoadStage::list("1min@500, 2min@500..2000").unwrap();
    let text = serde_json::to_string(&(cases().remove(3).0, GapLaw::Gamma(0.5), &stages)).unwrap();
    let expected = r#"[{"sine":{"base_tps":500.0,"amplitude_tps":500.0,"period_s":7.0}},"gamma(0.5)",[{"duration_s":60.0,"load":{"rate":{"from_tps":500.0,"to_tps":500.0}}},{"duration_s":120.0,"load":{"rate":{"from_tps":500.0,"to_tps":2000.0}}}]]"#;
    assert_eq!(text, expected);
    let read: (RateCurve, GapLaw, Vec<LoadStage>) = serde_json::from_str(&text).unwrap();
    assert_eq!((read.1, read.2), (GapLaw::Gamma(0.5), stages));
}
