//! Simulations of factorial experiments and of screenings: how often intervals contain the true effect, and which
//! effects a screening finds. Seeded, so that the counts are reproducible; docs/statistics.md has the tables, which
//! `cargo test --release -p pgmeter-stats --test integration effects -- --nocapture` prints.

#![allow(clippy::print_stdout, reason = "the tables of the manual")]

use pgmeter_stats::{
    CONFIDENCE, Factorial, Measurements, Observation, SampleMean, Screening, SplitMix64, found, in_stretches,
    screening_design,
};
use testkit::extent::choose;

/// Fewer without optimisation, so that the tests do not take minutes.
const SIMULATIONS: usize = if cfg!(debug_assertions) { 300 } else { 4000 };

/// Disturbances of trials, as logarithms.
#[derive(Clone, Copy)]
struct Machine {
    /// Of each trial.
    noise: f64,
    /// How often a trial is 17 % slow.
    slow: f64,
    /// Of a plot in a repeat.
    plot: f64,
    /// Of each trial of the last factor's last level.
    noisier: f64,
    /// The change from each trial to the next, as a random walk and as a trend.
    walk: f64,
    trend: f64,
    /// Share of trials that fail.
    failures: f64,
}

const QUIET: Machine =
    Machine { noise: 0.03, slow: 0.0, plot: 0.0, noisier: 0.0, walk: 0.0, trend: 0.0, failures: 0.0 };

/// The cells of an experiment with these numbers of levels.
fn cells(levels: &[usize]) -> Vec<Vec<usize>> {
    levels.iter().fold(vec![Vec::new()], |cells: Vec<Vec<usize>>, count| {
        let with =
            |cell: &Vec<usize>| (0..*count).map(|level| [cell.clone(), vec![level]].concat()).collect();
        cells.iter().flat_map(|cell| -> Vec<Vec<usize>> { with(cell) }).collect()
    })
}

/// Trials of all cells in each repeat, in random order, those of a plot together.
fn measure(
    machine: Machine,
    levels: &[usize],
    plots: &[usize],
    repeats: usize,
    truth: impl Fn(&[usize]) -> f64,
    random: &mut SplitMix64,
) -> Vec<Observation> {
    let cells = cells(levels);
    let (mut observations, mut state) = (Vec::new(), 0.0);
    for block in 0..repeats {
        let mut order: Vec<Vec<usize>> = (0..=plots.iter().copied().max().unwrap_or(0))
            .map(|plot| (0..cells.len()).filter(|cell| plots[*cell] == plot).collect())
            .collect();
        random.shuffle(&mut order);
        for mut of_plot in order {
            let of_this_plot = machine.plot * random.normal();
            random.shuffle(&mut of_plot);
            for cell in of_plot {
                state += machine.trend + machine.walk * random.normal();
                let is_noisy = cells[cell].last() == levels.last().map(|count| count - 1).as_ref();
                let noise = if is_noisy && machine.noisier > 0.0 { machine.noisier } else { machine.noise };
                let slow = if random.chance(machine.slow) { 0.83_f64.ln() } else { 0.0 };
                let value = truth(&cells[cell]) + state + of_this_plot + noise * random.normal() + slow;
                if !random.chance(machine.failures) {
                    observations.push(Observation { cell, block, value });
                }
            }
        }
    }
    observations
}

fn holds(effect: &SampleMean, truth: f64, confidence: f64) -> Option<bool> {
    effect.interval(confidence).map(|(low, high)| (low..=high).contains(&truth))
}

/// Coverage in percent of the intervals of main effects and of interactions; the true effects are those of a table.
fn coverage(machine: Machine, levels: &[usize], whole_plots: bool, repeats: usize) -> (f64, f64) {
    let cells = cells(levels);
    let plots: Vec<usize> = cells.iter().map(|cell| if whole_plots { cell[0] } else { 0 }).collect();
    let main = |factor: usize, level: usize| [0.3, -0.05, 0.0][factor % 3] * level as f64;
    // The first two factors interact: the effects of both are averages.
    let both = |cell: &[usize]| 0.1 * (cell[0] * cell[1]) as f64;
    let truth = |cell: &[usize]| -> f64 {
        cell.iter().enumerate().map(|(factor, level)| main(factor, *level)).sum::<f64>() + both(cell)
    };
    let mut random = SplitMix64::new(3);
    let (mut of_main, mut of_interactions) = ([0_u32; 2], [0_u32; 2]);
    for _ in 0..SIMULATIONS {
        let observations = measure(machine, levels, &plots, repeats, truth, &mut random);
        let measurements = Measurements::new(&observations, plots.clone(), true);
        let factorial = Factorial::new(levels.to_vec(), vec![0; levels.len()], &cells, measurements);
        for effect in factorial.main_effects() {
            let change = effect.change;
            // With a failed cell the average is over the other combinations, which have another true value.
            if effect.averaged.missing > 0 {
                continue;
            }
            let other = 1 - change.factor.min(1);
            let average = (0..levels[other]).map(|level| 0.1 * (change.level * level) as f64).sum::<f64>()
                / levels[other] as f64;
            let truth = main(change.factor, change.level) + if change.factor < 2 { average } else { 0.0 };
            let held = effect.averaged.effect.and_then(|effect| holds(&effect, truth, CONFIDENCE));
            held.iter().for_each(|held| of_main[usize::from(*held)] += 1);
        }
        for interaction in factorial.interactions() {
            let [a, b] = interaction.changes;
            let truth = if b.factor == 1 { 0.1 * (a.level * b.level) as f64 } else { 0.0 };
            let held = interaction.averaged.effect.and_then(|effect| holds(&effect, truth, CONFIDENCE));
            held.iter().for_each(|held| of_interactions[usize::from(*held)] += 1);
        }
    }
    let percent = |[missed, held]: [u32; 2]| 100.0 * f64::from(held) / f64::from(held + missed);
    (percent(of_main), percent(of_interactions))
}

#[track_caller]
fn check_coverage(what: &str, (main, interactions): (f64, f64), least: f64) {
    println!("| {what} | {main:.1} % | {interactions:.1} % |");
    assert!((least - 1.5..=98.5).contains(&main) && (least..=98.5).contains(&interactions), "{what}");
}

#[test]
fn intervals_of_effects_hold_the_true_effect_in_95_of_100_experiments() {
    println!("| experiment | main effects | interactions |");
    for (levels, repeats) in [(&[2, 2][..], 2), (&[2, 2], 3), (&[2, 2], 10), (&[3, 4], 3), (&[2, 2, 2], 3)] {
        let what = format!("{levels:?}, {repeats} repeats, normal noise");
        check_coverage(&what, coverage(QUIET, levels, false, repeats), 94.0);
    }
    let machine = Machine { slow: 0.125, ..QUIET };
    check_coverage(
        "[2, 2, 2], 3 repeats, one trial of eight 17 % slow",
        coverage(machine, &[2, 2, 2], false, 3),
        94.0,
    );
    let machine = Machine { walk: 0.01, trend: 0.005, ..QUIET };
    check_coverage("[2, 2, 2], 3 repeats, drift", coverage(machine, &[2, 2, 2], false, 3), 93.0);
    let machine = Machine { noisier: 0.15, ..QUIET };
    check_coverage(
        "[2, 3], 3 repeats, last level five times as noisy",
        coverage(machine, &[2, 3], false, 3),
        92.0,
    );
    let machine = Machine { failures: 0.1, ..QUIET };
    check_coverage(
        "[2, 2, 2], 4 repeats, a tenth of the trials failed",
        coverage(machine, &[2, 2, 2], false, 4),
        94.0,
    );
    let machine = Machine { plot: 0.05, ..QUIET };
    check_coverage("[2, 3], 4 repeats, first factor by plots", coverage(machine, &[2, 3], true, 4), 94.0);
}

#[test]
fn interactions_that_are_not_there_are_found_in_at_most_5_of_100_experiments() {
    let levels = [2, 2, 2, 2];
    let (cells, mut random) = (cells(&levels), SplitMix64::new(5));
    let plots = vec![0; cells.len()];
    let mut wrong = 0;
    for _ in 0..SIMULATIONS {
        let observations = measure(QUIET, &levels, &plots, 3, |cell| 0.2 * cell[0] as f64, &mut random);
        let measurements = Measurements::new(&observations, plots.clone(), true);
        let factorial = Factorial::new(levels.to_vec(), vec![0; levels.len()], &cells, measurements);
        let effects: Vec<_> = factorial.interactions().iter().map(|it| it.averaged.effect).collect();
        wrong += usize::from(found(&effects, CONFIDENCE).contains(&true));
    }
    let percent = 100.0 * wrong as f64 / SIMULATIONS as f64;
    println!("six interactions, none real: one or more found in {percent:.1} % of experiments");
    assert!((2.0..=7.5).contains(&percent), "{percent} %");
}

/// Five settings that matter, by the ratio of their levels; the other seven do not.
const RATIOS: [f64; 5] = [2.0, 1.3, 1.1, 0.95, 1.03];
/// Differences below this do not matter.
const TOLERANCE: f64 = 0.05;

/// Shares of screenings, in percent.
#[derive(Default)]
struct Found {
    /// That find each of the effects.
    effects: [f64; 5],
    /// With one or more effects found that are not there.
    false_effect: f64,
    /// With an effect of at least the tolerance that is said not to matter.
    false_no_effect: f64,
    /// All of whose intervals hold.
    all_hold: f64,
    /// Settings without an effect that are said not to matter.
    no_effect: f64,
}

/// Screenings of twelve settings. The first setting restarts the server and has no effect; two others
/// interact by `interaction`.
fn screenings(machine: Machine, repeats: usize, interaction: f64) -> Found {
    let design = screening_design(12).expect("a design");
    let mut random = SplitMix64::new(9);
    // The one that restarts the server has no effect, which drift must not turn into one.
    let truth: Vec<f64> = std::iter::repeat_n(0.0, 7).chain(RATIOS.map(f64::ln)).collect();
    let sign = |is_second: bool| if is_second { 1.0 } else { -1.0 };
    let mut result = Found::default();
    let simulations = SIMULATIONS / choose(2, 1);
    for _ in 0..simulations {
        let (mut observations, mut state) = (Vec::new(), 0.0);
        for block in 0..repeats {
            let (second, first) = (0..design.len()).partition(|cell| design[*cell][0]);
            for cell in in_stretches(vec![first, second], &mut random) {
                state += machine.trend + machine.walk * random.normal();
                let main: f64 =
                    design[cell].iter().zip(&truth).map(|(it, effect)| sign(*it) * effect / 2.0).sum();
                let both = interaction / 2.0 * sign(design[cell][7]) * sign(design[cell][8]);
                let slow = if random.chance(machine.slow) { 0.83_f64.ln() } else { 0.0 };
                let value = main + both + state + machine.noise * random.normal() + slow;
                observations.push(Observation { cell, block, value });
            }
        }
        let measurements = Measurements::new(&observations, vec![0; design.len()], true);
        let screening = Screening::of(&design, &measurements, CONFIDENCE).expect("a screening");
        let interval =
            |effect: &SampleMean| effect.interval(screening.confidence_of_each).expect("an interval");
        let intervals: Vec<(f64, f64)> = screening.effects.iter().map(interval).collect();
        let is_found = |(low, high): &(f64, f64)| *low > 0.0 || *high < 0.0;
        let is_small = |(low, high): &(f64, f64)| *low > -TOLERANCE.ln_1p() && *high < TOLERANCE.ln_1p();
        let matters = |truth: f64| truth.abs() >= TOLERANCE.ln_1p();
        let pairs = || intervals.iter().zip(&truth);
        let share = |is: bool| if is { 100.0 / simulations as f64 } else { 0.0 };
        for (sum, interval) in result.effects.iter_mut().zip(&intervals[7..]) {
            *sum += share(is_found(interval));
        }
        result.false_effect += share(pairs().any(|(it, truth)| *truth == 0.0 && is_found(it)));
        result.false_no_effect += share(pairs().any(|(it, truth)| matters(*truth) && is_small(it)));
        result.all_hold += share(pairs().all(|((low, high), truth)| (low..=high).contains(&truth)));
        let small = intervals[..7].iter().filter(|it| is_small(it)).count();
        result.no_effect += small as f64 / 7.0 * share(true);
    }
    result
}

#[test]
fn a_screening_finds_large_effects_and_hardly_any_that_are_not_there() {
    println!(
        "| machine | repeats | ×2 | +30 % | +10 % | −5 % | +3 % | false effect | false “no effect” | “no effect” of 0 | all hold |"
    );
    let drift = Machine { walk: 0.01, trend: 0.003, ..QUIET };
    let all = [
        ("noise 3 %", QUIET, 0.1),
        ("noise 8 %", Machine { noise: 0.08, ..QUIET }, 0.1),
        ("noise 3 %, one of eight 17 % slow", Machine { slow: 0.125, ..QUIET }, 0.1),
        ("noise 3 %, drift", drift, 0.1),
    ];
    // After a change, without the machine that differs from the first one in the size of its noise only.
    let (machines, repeats) = choose((&[0, 2, 3][..], &[1, 4][..]), (&[0, 1, 2, 3][..], &[1, 2, 4][..]));
    for (name, machine, interaction) in machines.iter().map(|machine| all[*machine]) {
        for &repeats in repeats {
            let found = screenings(machine, repeats, interaction);
            let effects: Vec<String> = found.effects.iter().map(|it| format!("{it:.0} %")).collect();
            let Found { false_effect, false_no_effect, all_hold, no_effect, .. } = found;
            println!(
                "| {name} | {repeats} | {} | {false_effect:.1} % | {false_no_effect:.1} % | {no_effect:.0} % | {all_hold:.1} % |",
                effects.join(" | ")
            );
            assert!(found.effects[0] > 99.0, "{name}, {repeats}: an effect of × 2 is found");
            assert!(false_effect < 7.0 && false_no_effect < 3.0 && all_hold > 92.0, "{name}, {repeats}");
        }
    }
}
