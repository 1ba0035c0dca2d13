//! The guarantees of `comparison` on simulated machines: error rate, power, and coverage of intervals. Seeded, so
//! that each run sees the same experiments; `examples/comparisons.rs` runs many more.

use pgmeter_stats::SplitMix64;
use pgmeter_stats::comparison::{
    Block, ComparedFigure, ComparedMetric, Comparison, ComparisonDecision, Components, Draw, Pair, Purpose,
    Question, ScriptLatencies, SequentialTest, Side, order,
};
use testkit::extent::choose;

use crate::simulation::{SimulatedMachine, SimulatedRun};

const ERROR_RATE: f64 = 0.05;
const TOLERANCE: f64 = 0.02;

/// One observation for each sequence of two pairs.
fn ln_ratios(machine: SimulatedMachine, difference: f64, seed: u64) -> impl Iterator<Item = f64> {
    let mut run = SimulatedRun::new(machine, seed);
    (0..).map(move |sequence| {
        let mut ln_ratio = |pair| {
            let pair = run.pair(Purpose::Comparison, difference.ln_1p(), &order(seed, pair, 1));
            pair.ln_ratio(ComparedMetric::Tps).expect("simulated blocks have figures")
        };
        f64::midpoint(ln_ratio(2 * sequence), ln_ratio(2 * sequence + 1))
    })
}

/// Comparisons of a machine with B faster by this share, each stopped as soon as it is settled.
fn compare(
    machine: SimulatedMachine,
    difference: f64,
    planned: &SequentialTest,
    experiments: u64,
) -> Vec<SequentialTest> {
    let compared = (0..experiments).map(|seed| {
        let mut test = planned.clone();
        for ln_ratio in ln_ratios(machine, difference, seed).take(test.pairs_planned()) {
            test.add(ln_ratio);
            if test.is_settled() {
                break;
            }
        }
        test
    });
    compared.collect()
}

fn share(tests: &[SequentialTest], holds: impl Fn(&SequentialTest) -> bool) -> f64 {
    tests.iter().filter(|test| holds(test)).count() as f64 / tests.len() as f64
}

fn planned(tolerance: f64, pairs: usize) -> SequentialTest {
    SequentialTest::new(ERROR_RATE, tolerance, pairs)
}

/// The machine as measured, one whose disturbances last two blocks, and one whose noise is nearly all between draws.
fn machines() -> [SimulatedMachine; 3] {
    let measured = SimulatedMachine::as_measured();
    let forgetful = SimulatedMachine { wander_deviation: 0.08, wander_memory: 0.5, ..measured };
    [measured, forgetful, SimulatedMachine { block_deviation: 0.01, ..measured }]
}

#[test]
fn a_server_is_called_different_from_itself_in_at_most_one_comparison_of_twenty() {
    for machine in machines() {
        // Without tolerance it ends only when a difference is found, and is checked after every pair.
        let tests = compare(machine, 0.0, &planned(0.0, 80), choose(400, 1_000));
        let wrong = share(&tests, |test| test.different().is_some());
        assert!((0.02..=ERROR_RATE).contains(&wrong), "{wrong} of {machine:?}");
    }
}

#[test]
fn running_out_of_time_costs_no_error_rate_and_finds_as_much_as_a_smaller_plan() {
    let unused = planned(0.0, 60);
    let closed_half_way = |difference: f64, experiments: u64| {
        let mut tests: Vec<SequentialTest> = (0..experiments)
            .map(|seed| {
                let mut test = unused.clone();
                ln_ratios(SimulatedMachine::as_measured(), difference, seed)
                    .take(30)
                    .for_each(|ln_ratio| test.add(ln_ratio));
                test
            })
            .collect();
        let before = share(&tests, |test| test.different().is_some());
        tests.iter_mut().for_each(SequentialTest::close);
        (before, share(&tests, |test| test.different().is_some()))
    };
    let (_, wrong) = closed_half_way(0.0, 1_000);
    assert!((0.02..=ERROR_RATE).contains(&wrong), "{wrong}");
    let (before, found) = closed_half_way(0.04, 200);
    assert!(found >= 0.85 && before < found - 0.2, "{before} {found}");
}

#[test]
fn what_is_just_as_much_worse_as_tolerated_is_called_neither_fine_nor_too_bad() {
    let tests = compare(
        SimulatedMachine::as_measured(),
        -1.0 + 1.0 / (1.0 + TOLERANCE),
        &planned(TOLERANCE, 120),
        choose(250, 600),
    );
    let fine = share(&tests, |test| {
        matches!(
            test.decision(),
            ComparisonDecision::Better | ComparisonDecision::Equivalent | ComparisonDecision::NoWorse
        )
    });
    let bad = share(&tests, |test| test.decision() == ComparisonDecision::WorseThanTolerance);
    assert!(fine <= ERROR_RATE / 2.0 && bad <= ERROR_RATE / 2.0, "{fine} {bad}");
}

#[test]
fn two_per_cent_are_found_in_nine_comparisons_of_ten_within_five_minutes_of_half_second_blocks() {
    // 245 pairs, two to a sequence: 300 s ÷ (2 blocks of 0.5 s and 0.1 s to connect), a tenth of it for the noise floor.
    for difference in [0.02, -0.02] {
        let tests = compare(SimulatedMachine::as_measured(), difference, &planned(0.0, 122), 150);
        let found = share(&tests, |test| test.different() == Some(difference > 0.0));
        assert!(found >= 0.9, "{found}");
    }
}

#[test]
fn intervals_hold_the_truth_wherever_the_comparison_stopped() {
    let planned = planned(TOLERANCE, 100);
    for difference in [-0.08, 0.0, 0.03, 0.2] {
        let tests = compare(SimulatedMachine::as_measured(), difference, &planned, choose(100, 250));
        let truth = f64::ln_1p(difference);
        let held =
            |interval: Option<(f64, f64)>| interval.is_some_and(|(low, high)| low <= truth && truth <= high);
        let at_this_look = share(&tests, |test| held(test.estimate().unwrap().interval));
        let at_all_looks = share(&tests, |test| held(test.estimate().unwrap().at_all_looks));
        // A standard error less where there are fewer comparisons.
        assert!(at_this_look >= choose(0.92, 0.94), "{difference}: {at_this_look}");
        assert!(at_all_looks >= choose(0.94, 0.96), "{difference}: {at_all_looks}");
    }
}

#[test]
fn what_is_the_same_is_known_to_be_so_long_before_the_time_is_over() {
    let tests = compare(SimulatedMachine::as_measured(), 0.0, &planned(0.05, 200), 200);
    let same = share(&tests, |test| test.decision() == ComparisonDecision::Equivalent);
    assert!(same >= 0.95, "{same}");
    let early = share(&tests, |test| test.pairs() < 100);
    assert!(early >= 0.5, "{early}");
}

#[test]
fn a_large_difference_needs_thirteen_pairs_and_a_factor_of_two_a_few() {
    for test in compare(SimulatedMachine::as_measured(), 0.4, &planned(TOLERANCE, 1_000), 20) {
        assert_eq!((test.decision(), test.pairs()), (ComparisonDecision::Better, 13));
    }
    let tests = compare(SimulatedMachine::as_measured(), 1.0, &planned(TOLERANCE, 1_000), 250);
    for test in &tests {
        assert_eq!(test.decision(), ComparisonDecision::Better);
        assert!((4..=13).contains(&test.pairs()), "{}", test.pairs());
    }
    assert!(share(&tests, |test| test.pairs() <= 8) > 0.9);
    let held = |(low, high): (f64, f64)| low <= f64::ln_1p(1.0) && f64::ln_1p(1.0) <= high;
    let covered = share(&tests, |test| test.estimate().unwrap().interval.is_some_and(held));
    assert!(covered >= 0.92, "{covered}");
}

#[test]
fn draws_with_bad_luck_hardly_move_the_estimate() {
    let lucky = SimulatedMachine {
        unlucky_share: 0.0,
        block_deviation: 0.01,
        wander_deviation: 0.0,
        ..SimulatedMachine::as_measured()
    };
    let error = |machine: SimulatedMachine| {
        let squares: f64 = (0..100)
            .map(|seed| {
                let mut test = planned(0.0, 60);
                ln_ratios(machine, 0.0, seed).take(60).for_each(|ln_ratio| test.add(ln_ratio));
                test.estimate().unwrap().centre.powi(2)
            })
            .sum();
        (squares / 100.0).sqrt()
    };
    let (with, without) = (error(SimulatedMachine { unlucky_share: 1.0 / 8.0, ..lucky }), error(lucky));
    // The mean would be off by 0.17 × √(2 × 1/8 × 7/8 ÷ 60) = 0.010, five times as much as without.
    assert!(with < 2.2 * without, "{with} {without}");
}

fn question(numbers: usize, decisive: ComparedMetric) -> Question {
    Question { error_rate: ERROR_RATE, tolerance: TOLERANCE, numbers, decisive, scripts: 0 }
}

/// A whole comparison, B 30 % faster, every fourth sequence for the noise floor, three pairs without CPU times.
fn whole() -> Comparison {
    let mut comparison = Comparison::new(&question(30, ComparedMetric::Tps));
    let mut run = SimulatedRun::new(SimulatedMachine::as_measured(), 4);
    for at in 0..60 {
        let purpose = if at / 2 % 4 == 3 { Purpose::NoiseFloor } else { Purpose::Comparison };
        let mut pair = run.pair(purpose, 1.3f64.ln(), &order(4, at, 1));
        if at < 3 {
            pair.base.blocks.iter_mut().for_each(|block| block.cpu_ns_per_transaction = None);
        }
        comparison.add(pair);
    }
    comparison
}

/// A comparison whose pairs have these throughputs, ln(second ÷ first) and ln(B ÷ A), and only the small noise of all
/// simulated blocks.
fn with_order_effect(pairs: usize, second: f64, difference: f64) -> Comparison {
    let mut comparison = Comparison::new(&question(pairs / 2, ComparedMetric::Tps));
    let quiet = SimulatedMachine {
        draw_deviation: 0.0,
        unlucky_share: 0.0,
        wander_deviation: 0.0,
        block_deviation: 0.01,
        ..SimulatedMachine::as_measured()
    };
    let mut run = SimulatedRun::new(quiet, 8);
    for at in 0..pairs {
        let mut pair = run.pair(Purpose::Comparison, difference, &order(8, at, 1));
        let later = match pair.order[0] {
            Side::A => &mut pair.candidate,
            Side::B => &mut pair.base,
        };
        later.blocks.iter_mut().for_each(|block| block.tps = block.tps.map(|tps| tps * second.exp()));
        comparison.add(pair);
    }
    comparison
}

#[test]
fn the_block_that_goes_first_may_pay_for_the_second_and_neither_side_gains_by_it() {
    // 24 pairs as once measured: 4 % either way, by the order alone.
    for (second, difference) in [(-0.04, 0.0), (0.3, 0.0), (1.9, 0.05)] {
        let finding = with_order_effect(24, second, difference).finding(ComparedMetric::Tps).unwrap();
        let [low, high] = [finding.low, finding.high].map(|end| end.unwrap().ln());
        assert!((finding.ratio.ln() - difference).abs() < 0.01, "{second}: {finding:?}");
        assert!(low <= difference && difference <= high, "{second}: {finding:?}");
        // The order does not count as noise either.
        assert!(finding.pair_deviation < 0.03, "{second}: {finding:?}");
        let order = finding.order_effect.unwrap();
        assert!((order.ratio.ln() - second).abs() < 0.01 && !order.is_negligible, "{order:?}");
    }
    let finding = with_order_effect(24, 0.0, 0.0).finding(ComparedMetric::Tps).unwrap();
    assert!(finding.order_effect.unwrap().is_negligible && finding.carry_over.unwrap().is_negligible);
}

#[test]
fn no_metric_is_better_or_worse_by_an_interval_that_holds_no_change() {
    let (mut claimed, mut held_back) = (0, 0);
    for seed in 0..choose(25, 400) {
        // Closed after a few: the boundary of a final look is the lowest.
        for numbers in [7, 11, 20] {
            let mut comparison = Comparison::new(&question(40, ComparedMetric::Tps));
            let mut run = SimulatedRun::new(SimulatedMachine::as_measured(), seed);
            for at in 0..2 * numbers {
                comparison.add(run.pair(Purpose::Comparison, 0.05, &order(seed, at, 1)));
            }
            comparison.close();
            for metric in ComparedMetric::ALL {
                let Some(finding) = comparison.finding(metric) else { continue };
                let ends = finding.low.zip(finding.high);
                let holds = ends.is_none_or(|(low, high)| low <= 1.0 && 1.0 <= high);
                assert_eq!(finding.different.is_none(), holds, "{seed} {metric:?}: {finding:?}");
                let is_worse = finding.decision == ComparisonDecision::WorseThanTolerance;
                assert!(!holds || finding.decision != ComparisonDecision::Better && !is_worse, "{finding:?}");
                claimed += usize::from(!holds);
                held_back += usize::from(holds);
            }
        }
    }
    let least = choose(40, 100);
    assert!(claimed > least && held_back > least, "{claimed} {held_back}");
}

#[test]
fn a_comparison_of_few_pairs_claims_nothing_that_it_could_have_seen() {
    let smallest = |pairs: usize| {
        with_order_effect(pairs, 0.0, 0.0).finding(ComparedMetric::Tps).unwrap().smallest_difference
    };
    assert_eq!((smallest(4), smallest(18)), (None, None));
    assert!(smallest(20).is_some_and(|smallest| smallest < 0.05));
}

#[test]
fn a_comparison_tells_all_metrics_in_their_own_direction() {
    let comparison = whole();
    assert_eq!(comparison.decision(), ComparisonDecision::Better);
    assert!(comparison.is_settled());
    let finding = |metric| comparison.finding(metric).unwrap();
    for (metric, truth) in
        [(ComparedMetric::Tps, 30.0), (ComparedMetric::P50, -23.1), (ComparedMetric::P99, -23.1)]
    {
        let finding = finding(metric);
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let [low, high] = [finding.low, finding.high].map(|end| percent(end.unwrap()));
        let change = percent(finding.ratio);
        assert!(low < truth && truth < high && low < change && change < high, "{finding:?}");
        assert!((change - truth).abs() < 5.0, "{finding:?}");
        assert!((finding.b / finding.a - finding.ratio).abs() < 1e-9, "{finding:?}");
        assert_eq!(
            (finding.decision, finding.different, finding.pairs),
            (ComparisonDecision::Better, Some(true), 46)
        );
        assert!((0.02..0.1).contains(&finding.smallest_difference.unwrap()), "{finding:?}");
        assert!(finding.smallest_difference_so_far > finding.smallest_difference);
    }
    assert_eq!(finding(ComparedMetric::ServerCpu).pairs, 42);
}

#[test]
fn what_does_not_vary_is_known_exactly() {
    let wal = whole().finding(ComparedMetric::Wal).unwrap();
    assert_eq!((wal.ratio, wal.low, wal.high), (1.0, Some(1.0), Some(1.0)));
    assert_eq!((wal.decision, wal.no_difference_above), (ComparisonDecision::Equivalent, Some(0.0)));
    assert_eq!((wal.smallest_difference, wal.outlying), (Some(0.0), (0, 0)));
}

#[test]
fn the_noise_floor_is_told_beside_it() {
    let floor = whole().noise_floor(ComparedMetric::Tps).unwrap();
    assert_eq!((floor.pairs, floor.is_biased), (14, false));
    assert!(floor.low < 1.0 && 1.0 < floor.high && floor.pair_deviation > 0.01, "{floor:?}");
}

/// A comparison with this number of pairs for the noise floor, whose second side is faster by this.
fn noise_floor(pairs: usize, difference: f64) -> Comparison {
    let mut comparison = Comparison::new(&question(60, ComparedMetric::Tps));
    let mut run = SimulatedRun::new(SimulatedMachine::as_measured(), 4);
    for at in 0..pairs {
        let pair = run.pair(Purpose::Comparison, difference, &order(4, at, 1));
        comparison.add(Pair { purpose: Purpose::NoiseFloor, ..pair });
    }
    comparison
}

#[test]
fn a_noise_floor_that_favours_one_side_is_found_out() {
    // As if the second of two equal sets of connections were always faster.
    let comparison = noise_floor(30, 0.2);
    assert!(comparison.noise_floor(ComparedMetric::Tps).unwrap().is_biased);
    assert_eq!(comparison.finding(ComparedMetric::Tps), None, "nothing was compared");
}

#[test]
fn a_noise_floor_comes_from_twelve_pairs_and_has_an_interval() {
    for pairs in 0..12 {
        assert_eq!(noise_floor(pairs, 0.0).noise_floor(ComparedMetric::Tps), None, "{pairs}");
    }
    let floor = noise_floor(12, 0.0).noise_floor(ComparedMetric::Tps).unwrap();
    assert_eq!((floor.pairs, floor.is_biased), (12, false));
    assert!(floor.low < floor.ratio && floor.ratio < floor.high, "{floor:?}");
}

#[test]
fn bad_luck_of_one_side_alone_is_counted() {
    let mut comparison = Comparison::new(&question(40, ComparedMetric::P99));
    let steady = SimulatedMachine { unlucky_share: 0.0, ..SimulatedMachine::as_measured() };
    let mut run = SimulatedRun::new(steady, 4);
    for at in 0..80 {
        let stalled = if at % 16 < 2 { -1.0 } else { 0.0 };
        comparison.add(run.pair(Purpose::Comparison, stalled, &order(4, at, 1)));
    }
    assert_eq!(comparison.finding(ComparedMetric::Tps).unwrap().outlying, (0, 5));
    assert_eq!(comparison.finding(ComparedMetric::P50).unwrap().outlying, (5, 0));
}

#[test]
fn pairs_beyond_the_plan_change_nothing_and_what_was_said_stays_said() {
    let mut test = planned(TOLERANCE, 20);
    (0..20).for_each(|_| test.add(0.1));
    assert_eq!(test.decision(), ComparisonDecision::Better);
    (0..500).for_each(|_| test.add(-1.0));
    assert_eq!((test.pairs(), test.decision()), (20, ComparisonDecision::Better));
    test.close();
    assert_eq!(test.different(), Some(true));
    let mut turned = planned(TOLERANCE, 100);
    (0..20).for_each(|_| turned.add(0.1));
    (0..60).for_each(|_| turned.add(-0.001));
    assert_eq!(turned.decision(), ComparisonDecision::Better);
}

#[test]
fn a_close_is_for_time_that_is_over_and_not_for_answers_that_are_there() {
    let mut settled = whole();
    let before = settled.finding(ComparedMetric::P99);
    settled.close();
    assert_eq!(settled.finding(ComparedMetric::P99), before);

    let mut open = planned(0.0, 100);
    (0..12).for_each(|_| open.add(0.1));
    assert_eq!(open.decision(), ComparisonDecision::Undecided);
    open.close();
    open.add(0.1);
    let known = open.estimate().unwrap();
    assert_eq!((open.decision(), open.pairs()), (ComparisonDecision::Better, 12));
    assert_eq!(known.smallest_of_all_planned, known.smallest_so_far);
}

/// A machine with this noise only.
fn machine(draw_deviation: f64, block_deviation: f64) -> SimulatedMachine {
    let rest = SimulatedMachine {
        unlucky_share: 0.0,
        wander_deviation: 0.0,
        drift_per_block: 0.0,
        ..SimulatedMachine::as_measured()
    };
    SimulatedMachine { draw_deviation, block_deviation, ..rest }
}

fn pairs(machine: SimulatedMachine, count: usize, blocks: usize) -> Vec<Pair> {
    let mut run = SimulatedRun::new(machine, 7);
    (0..count).map(|at| run.pair(Purpose::Comparison, 0.0, &order(7, at, blocks))).collect()
}

#[test]
fn components_are_those_that_the_machine_was_made_of() {
    let seen = Components::of(&pairs(machine(0.04, 0.06), 400, 4), ComparedMetric::Tps).unwrap();
    assert!((seen.block_variance.sqrt() - 0.06).abs() < 0.005, "{seen:?}");
    // The ratio of two draws has √2 times the standard deviation of one.
    assert!((seen.draw_variance.sqrt() - 0.04 * 2f64.sqrt()).abs() < 0.008, "{seen:?}");
}

#[test]
fn a_few_bad_draws_are_not_taken_for_noise_of_all() {
    let unlucky = SimulatedMachine { unlucky_share: 1.0 / 16.0, ..machine(0.01, 0.02) };
    let seen = Components::of(&pairs(unlucky, 400, 4), ComparedMetric::Tps).unwrap();
    assert!(seen.draw_variance.sqrt() < 0.04, "{seen:?}, while a pair scatters by 0.06");
}

#[test]
fn nothing_is_said_of_too_few_pairs_or_of_single_blocks() {
    assert_eq!(Components::of(&pairs(machine(0.02, 0.02), 5, 2), ComparedMetric::Tps), None);
    assert_eq!(Components::of(&pairs(machine(0.02, 0.02), 50, 1), ComparedMetric::Tps), None);
}

/// Scripts of a mix.
const SCRIPTS: usize = 3;

/// A comparison of a server with itself whose metrics vary independently, or whose WAL differs by this factor. The time
/// is over after all planned sequences.
fn of_itself(empty: Comparison, sequences: usize, wal: f64, random: &mut SplitMix64) -> Comparison {
    let mut comparison = empty;
    for at in 0..2 * sequences {
        if comparison.is_settled() {
            break;
        }
        let mut figure = || -> Option<f64> { Some((0.1 * random.normal()).exp()) };
        let mut block = |is_candidate: bool| Block {
            tps: figure(),
            p50_ns: figure(),
            p99_ns: figure(),
            cpu_ns_per_transaction: figure(),
            client_cpu_ns_per_transaction: figure(),
            wal_bytes_per_transaction: figure().map(|bytes| if is_candidate { wal * bytes } else { bytes }),
            full_page_images_per_transaction: figure(),
            blocks_read_per_transaction: figure(),
            percentile_ns: None,
            scripts: Vec::new(),
        };
        let (mut base, mut candidate) = (block(false), block(true));
        for block in [&mut base, &mut candidate] {
            let latencies = |_| ScriptLatencies { p50_ns: figure(), tail_ns: figure() };
            block.scripts = (0..SCRIPTS).map(latencies).collect();
        }
        comparison.add(Pair {
            purpose: Purpose::Comparison,
            order: order(1, at, 1),
            base: Draw { blocks: vec![base] },
            candidate: Draw { blocks: vec![candidate] },
            merged: Vec::new(),
        });
    }
    comparison.close();
    comparison
}

#[test]
fn one_of_the_metrics_that_do_not_decide_differs_by_chance_in_at_most_one_comparison_of_twenty() {
    let comparisons = choose(40, 400);
    let mut random = SplitMix64::new(3);
    // Three standard errors of a share of 5 %.
    let limit = ERROR_RATE + 3.0 * (ERROR_RATE * (1.0 - ERROR_RATE) / f64::from(comparisons)).sqrt();
    for (sequences, empty, scripts) in [
        (6, Comparison::of_few_sequences as fn(&Question) -> Comparison, 0),
        (9, Comparison::new, 0),
        (24, Comparison::new, 0),
        (9, Comparison::new, SCRIPTS),
        (24, Comparison::new, SCRIPTS),
    ] {
        let empty = empty(&Question { scripts, ..question(sequences, ComparedMetric::Tps) });
        let others: Vec<_> = empty.figures().filter(|figure| *figure != ComparedMetric::Tps.into()).collect();
        let is_found = |comparison: &Comparison, figure: ComparedFigure| {
            comparison.finding(figure).is_some_and(|finding| finding.different.is_some())
        };
        let mut alarms = 0;
        for _ in 0..comparisons {
            let comparison = of_itself(empty.clone(), sequences, 1.0, &mut random);
            alarms += u32::from(others.iter().any(|figure| is_found(&comparison, *figure)));
        }
        let share = f64::from(alarms) / f64::from(comparisons);
        assert!(share <= limit, "{share} of the comparisons of {sequences} sequences, {scripts} scripts");
        // The correction leaves differences to be found.
        let found = (0..20).filter(|_| {
            let comparison = of_itself(empty.clone(), sequences, 2.0, &mut random);
            is_found(&comparison, ComparedMetric::Wal.into())
        });
        assert!(found.count() >= 18, "{sequences} sequences");
    }
}
