//! Simulates thousands of comparisons: error rates, power, and duration. Source of the tables in docs/statistics.md:
//! `cargo run --release -p pgmeter-stats --example comparisons`. The output depends on the seed only; takes a minute
//! or two.

#![allow(clippy::print_stdout, reason = "its purpose")]

use pgmeter_stats::comparison::{ComparedMetric, ComparisonDecision, Purpose, SequentialTest, order};
use simulation::{SimulatedMachine, SimulatedRun};

#[path = "../tests/integration/simulation/mod.rs"]
mod simulation;

const ERROR_RATE: f64 = 0.05;
/// Share of time for the noise floor; and seconds to connect both sides of a pair.
const NOISE_FLOOR_SHARE: f64 = 0.1;
const PAIR_S: f64 = 0.1;

fn machines() -> [(&'static str, SimulatedMachine); 6] {
    let measured = SimulatedMachine::as_measured();
    let quiet = SimulatedMachine { unlucky_share: 0.0, ..measured };
    let fine = SimulatedMachine { block_deviation: 0.015, ..measured };
    [
        ("as measured", measured),
        ("without bad luck", quiet),
        ("sides in turns of 50 ms", fine),
        ("piled up, luck 2 %", piled_up(0.02)),
        ("piled up, luck 5 %", piled_up(0.05)),
        ("piled up, luck 9 %", piled_up(0.09)),
    ]
}

/// The machine as measured, with all kinds of noise: random effects of draws, 9 % from block to block, and one draw
/// (not pair) in eight is 17 % off.
fn piled_up(pair_luck: f64) -> SimulatedMachine {
    let of_each = std::f64::consts::FRAC_1_SQRT_2;
    SimulatedMachine {
        draw_deviation: pair_luck * of_each,
        unlucky_share: 1.0 / 8.0,
        block_deviation: 0.09 * of_each,
        ..SimulatedMachine::as_measured()
    }
}

/// One comparison: its verdict, and the number of sequences.
struct Ending {
    decision: ComparisonDecision,
    different: Option<bool>,
    sequences: usize,
    test: SequentialTest,
}

/// One observation for each sequence of two pairs, A B B A or B A A B.
fn ln_ratios(machine: SimulatedMachine, effect: f64, seed: u64) -> impl Iterator<Item = f64> {
    let mut run = SimulatedRun::new(machine, seed);
    (0..).map(move |sequence| {
        let mut ln_ratio = |pair| {
            let pair = run.pair(Purpose::Comparison, effect.ln_1p(), &order(seed, pair, 1));
            pair.ln_ratio(ComparedMetric::Tps).expect("simulated blocks have figures")
        };
        f64::midpoint(ln_ratio(2 * sequence), ln_ratio(2 * sequence + 1))
    })
}

fn compare(unused: &SequentialTest, machine: SimulatedMachine, effect: f64, seed: u64) -> Ending {
    let mut test = unused.clone();
    for ln_ratio in ln_ratios(machine, effect, seed).take(test.pairs_planned()) {
        test.add(ln_ratio);
        if test.is_settled() {
            break;
        }
    }
    Ending { decision: test.decision(), different: test.different(), sequences: test.pairs(), test }
}

fn sequences_in(minutes: f64, block_s: f64) -> usize {
    let pairs = minutes * 60.0 * (1.0 - NOISE_FLOOR_SHARE) / (PAIR_S + 2.0 * block_s);
    let sequences = pairs / 2.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few thousand")]
    (sequences as usize)
}

fn percent(count: usize, all: u64) -> f64 {
    100.0 * count as f64 / all as f64
}

fn median(mut numbers: Vec<usize>) -> usize {
    numbers.sort_unstable();
    numbers.get(numbers.len() / 2).copied().unwrap_or(0)
}

/// B is A: how often a difference is claimed at any look.
fn false_alarms(experiments: u64) {
    println!("## False alarms: B is A, a look after every sequence, tolerance 2 %");
    println!("| machine | pairs planned | some difference | worse than tolerance | looking at t each time |");
    println!("|---|---|---|---|---|");
    for (name, machine) in machines() {
        for pairs in [60, 150, 600] {
            let sequences = pairs / 2;
            let unused = SequentialTest::new(ERROR_RATE, 0.02, sequences);
            let (mut different, mut worse, mut naive) = (0, 0, 0);
            for seed in 0..experiments {
                let mut test = unused.clone();
                let mut student = Student::default();
                for ln_ratio in ln_ratios(machine, 0.0, seed).take(sequences) {
                    test.add(ln_ratio);
                    student.add(ln_ratio);
                }
                different += usize::from(test.different().is_some());
                worse += usize::from(test.decision() == ComparisonDecision::WorseThanTolerance);
                naive += usize::from(student.ever);
            }
            let [different, worse, naive] =
                [different, worse, naive].map(|count| percent(count, experiments));
            println!("| {name} | {pairs} | {different:.1} % | {worse:.2} % | {naive:.0} % |");
        }
    }
}

/// An invalid procedure for contrast: a look at |t| > 2 after each sequence, from the tenth on.
#[derive(Default)]
struct Student {
    count: f64,
    sum: f64,
    squares: f64,
    ever: bool,
}

impl Student {
    fn add(&mut self, number: f64) {
        self.count += 1.0;
        self.sum += number;
        self.squares += number * number;
        let mean = self.sum / self.count;
        let variance = (self.squares - self.sum * mean) / (self.count - 1.0);
        self.ever |= self.count >= 10.0 && mean.abs() > 2.0 * (variance / self.count).sqrt();
    }
}

/// B is faster by this much: how often and when it is found.
fn power(experiments: u64) {
    println!("\n## Found within the time (median minutes until then)");
    println!("| machine | block | difference | 2 minutes | 5 minutes | 20 minutes |");
    println!("|---|---|---|---|---|---|");
    for (name, machine) in machines() {
        for block_s in [1.0, 0.5, 0.25] {
            for difference in [0.01, 0.02, 0.05] {
                let cells = [2.0, 5.0, 20.0].map(|minutes| {
                    let sequences = sequences_in(minutes, block_s);
                    let experiments = (experiments * 75 / sequences as u64).clamp(200, experiments);
                    let unused = SequentialTest::new(ERROR_RATE, 0.0, sequences);
                    let endings =
                        (0..experiments).map(|seed| compare(&unused, machine, difference, seed + 1_000_000));
                    let found: Vec<usize> = endings
                        .filter(|ending| ending.different == Some(true))
                        .map(|ending| ending.sequences)
                        .collect();
                    let share = percent(found.len(), experiments);
                    let until = minutes * median(found) as f64 / sequences as f64;
                    format!("{share:.0} % ({until:.1})")
                });
                println!("| {name} | {block_s} s | {:.0} % | {} |", difference * 100.0, cells.join(" | "));
            }
        }
    }
}

/// B is A, within the tolerance: when this is established.
fn equivalence(experiments: u64) {
    println!("\n## No difference: B is A, within 5 minutes of 1-second blocks");
    println!("| machine | tolerance | no worse | no difference either way | median minutes until then |");
    println!("|---|---|---|---|---|");
    for (name, machine) in machines() {
        for tolerance in [0.02, 0.03, 0.05] {
            let sequences = sequences_in(5.0, 1.0);
            let unused = SequentialTest::new(ERROR_RATE, tolerance, sequences);
            let endings: Vec<Ending> =
                (0..experiments).map(|seed| compare(&unused, machine, 0.0, seed)).collect();
            let no_worse = endings.iter().filter(|ending| {
                matches!(
                    ending.decision,
                    ComparisonDecision::Better | ComparisonDecision::Equivalent | ComparisonDecision::NoWorse
                )
            });
            let no_worse = percent(no_worse.count(), experiments);
            let equivalent: Vec<usize> = endings
                .iter()
                .filter(|ending| ending.decision == ComparisonDecision::Equivalent)
                .map(|ending| ending.sequences)
                .collect();
            let share = percent(equivalent.len(), experiments);
            let until = 5.0 * median(equivalent) as f64 / sequences as f64;
            let tolerance = tolerance * 100.0;
            println!("| {name} | {tolerance:.0} % | {no_worse:.0} % | {share:.0} % | {until:.1} |");
        }
    }
}

/// Coverage of the displayed interval if the test stops as early as possible.
fn coverage(experiments: u64) {
    println!("\n## Intervals that hold the truth, stopped as soon as settled, 150 pairs, tolerance 2 %");
    println!(
        "| machine | difference | interval told | width | at all looks | width | plain, ignoring the stop | bias |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let unused = SequentialTest::new(ERROR_RATE, 0.02, 75);
    for (name, machine) in machines() {
        for difference in [-0.1, -0.03, 0.0, 0.01, 0.02, 0.05, 0.1, 0.4] {
            let truth = f64::ln_1p(difference);
            let mut told = (0, 0.0);
            let mut wide = (0, 0.0);
            let (mut plain, mut bias) = (0, 0.0);
            for seed in 0..experiments {
                let ending = compare(&unused, machine, difference, seed + 2_000_000);
                let known = ending.test.estimate().expect("pairs enough");
                for (sums, interval) in [(&mut told, known.interval), (&mut wide, known.at_all_looks)] {
                    let (low, high) = interval.expect("pairs enough");
                    sums.0 += usize::from(low <= truth && truth <= high);
                    sums.1 += (high - low) / experiments as f64 * 100.0;
                }
                let error = known.centre - truth;
                bias += error / experiments as f64 * 100.0;
                plain += usize::from(error.abs() <= 1.96 * known.deviation / (known.numbers as f64).sqrt());
            }
            let [inside, at_all, plain] = [told.0, wide.0, plain].map(|count| percent(count, experiments));
            println!(
                "| {name} | {:.0} % | {inside:.1} % | {:.1} % | {at_all:.1} % | {:.1} % | {plain:.1} % | {bias:+.2} % |",
                difference * 100.0,
                told.1,
                wide.1
            );
        }
    }
}

/// Several estimates of a centre from 60 pairs, to justify ranks.
fn estimates(experiments: u64) {
    println!("\n## Standard deviation of an estimate from 60 pairs");
    println!("| machine | mean | 20 % trimmed | Huber | median | Hodges–Lehmann |");
    println!("|---|---|---|---|---|---|");
    for (name, machine) in machines() {
        let mut squares = [0.0; 5];
        for seed in 0..experiments {
            let mut numbers: Vec<f64> = ln_ratios(machine, 0.0, seed + 3_000_000).take(30).collect();
            numbers.sort_unstable_by(f64::total_cmp);
            let mut averages: Vec<f64> = (0..30)
                .flat_map(|at| (0..=at).map(move |other| (at, other)))
                .map(|(at, other)| f64::midpoint(numbers[at], numbers[other]))
                .collect();
            averages.sort_unstable_by(f64::total_cmp);
            let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len() as f64;
            let median = f64::midpoint(numbers[14], numbers[15]);
            let all = [
                mean(&numbers),
                mean(&numbers[6..24]),
                huber(&numbers, median),
                median,
                averages[averages.len() / 2],
            ];
            for (sum, estimate) in squares.iter_mut().zip(all) {
                *sum += estimate * estimate;
            }
        }
        let deviations = squares.map(|sum| format!("{:.2} %", 100.0 * (sum / experiments as f64).sqrt()));
        println!("| {name} | {} |", deviations.join(" | "));
    }
}

/// Huber's M-estimate, k = 1.345, scale from the median of the distances (Huber 1964).
fn huber(numbers: &[f64], median: f64) -> f64 {
    let mut distances: Vec<f64> = numbers.iter().map(|number| (number - median).abs()).collect();
    distances.sort_unstable_by(f64::total_cmp);
    let limit = 1.345 * 1.4826 * distances[distances.len() / 2];
    (0..20).fold(median, |centre, _| {
        let pulled = numbers.iter().map(|number| centre + (number - centre).clamp(-limit, limit));
        pulled.sum::<f64>() / numbers.len() as f64
    })
}

/// The order of the blocks: first all of A and then all of B, compared with pairs, by the apparent difference of
/// equal sides.
fn orders(experiments: u64) {
    println!("\n## 120 blocks of one second, B is A: standard deviation of the ratio of means");
    println!("| machine | all of A, then all of B | pairs |");
    println!("|---|---|---|");
    for (name, machine) in machines() {
        let (mut apart, mut paired) = (0.0, 0.0);
        for seed in 0..experiments {
            let mut run = SimulatedRun::new(machine, seed);
            let mut blocks = Vec::new();
            let mut ratios = 0.0;
            for at in 0..60 {
                let pair = run.pair(Purpose::Comparison, 0.0, &order(seed, at, 1));
                ratios += pair.ln_ratio(ComparedMetric::Tps).expect("simulated blocks have figures") / 60.0;
                blocks.extend(
                    [pair.base, pair.candidate].map(|draw| draw.blocks[0].tps.expect("as simulated").ln()),
                );
            }
            let mean = |blocks: &[f64]| blocks.iter().sum::<f64>() / 60.0;
            apart += (mean(&blocks[60..]) - mean(&blocks[..60])).powi(2);
            paired += f64::powi(ratios, 2);
        }
        let [apart, paired] = [apart, paired].map(|sum| 100.0 * (sum / experiments as f64).sqrt());
        println!("| {name} | {apart:.1} % | {paired:.1} % |");
    }
    // Version independent, to keep outputs comparable.
    println!("\nFirst bits of seed 0: {:016x}", pgmeter_stats::SplitMix64::new(0).bits());
}

fn main() {
    false_alarms(4_000);
    orders(1_000);
    estimates(2_000);
    coverage(1_000);
    equivalence(500);
    power(1_000);
}
