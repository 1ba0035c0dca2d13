//! Effects of small factorial experiments: exact values, missing cells, plots, levels with their own noise.
//! `tests/integration/effects.rs` simulates the coverage of intervals.

use super::*;

const NO: f64 = f64::NAN;

/// An experiment with these numbers of levels; a line of values for each cell, in the order of the levels, with a
/// column for each repeat. NaN: missing.
fn factorial(levels: &[usize], table: &[&[f64]], plots: Option<Vec<usize>>) -> Factorial {
    let mut cells = vec![Vec::new()];
    for count in levels {
        let with = |cell: &Vec<usize>| {
            (0..*count).map(|level| [cell.clone(), vec![level]].concat()).collect::<Vec<_>>()
        };
        cells = cells.iter().flat_map(with).collect();
    }
    assert_eq!(cells.len(), table.len(), "a line for each cell");
    let mut observations = Vec::new();
    for (cell, line) in table.iter().enumerate() {
        let values = line.iter().enumerate().filter(|(_, value)| !value.is_nan());
        observations.extend(values.map(|(block, value)| Observation { cell, block, value: *value }));
    }
    let plots = plots.unwrap_or_else(|| vec![0; cells.len()]);
    let measurements = Measurements::new(&observations, plots, true);
    Factorial::new(levels.to_vec(), vec![0; levels.len()], &cells, measurements)
}

fn check(averaged: Averaged, mean: f64, degrees_of_freedom: f64) {
    let effect = averaged.effect.expect("an effect");
    assert!((effect.mean - mean).abs() < 1e-9, "{effect:?}, expected {mean}");
    assert_eq!(effect.degrees_of_freedom, degrees_of_freedom, "{effect:?}");
}

#[test]
fn two_by_two_has_the_effects_of_its_cell_means() {
    // Cells 0, 1, 2, 5 and blocks 0, 10; the errors of the blocks cancel.
    let table: [&[f64]; 4] = [&[0.1, 9.9], &[0.9, 11.1], &[2.0, 12.0], &[5.0, 15.0]];
    let factorial = factorial(&[2, 2], &table, None);
    let effects = factorial.main_effects();
    check(effects[0].averaged, 3.0, 3.0);
    check(effects[1].averaged, 2.0, 3.0);
    let [interaction] = factorial.interactions()[..] else { panic!("one interaction") };
    check(interaction.averaged, 2.0, 3.0);
    check(factorial.simple_effect(effects[0].change, Change { factor: 1, level: 1 }), 4.0, 1.0);
    check(factorial.simple_effect(effects[0].change, Change { factor: 1, level: 0 }), 2.0, 1.0);
}

#[test]
fn a_factor_with_three_levels_has_two_effects_each_with_the_error_of_its_own_levels() {
    let noisy: [&[f64]; 3] = [&[0.0, 0.0, 0.0], &[1.0, 1.01, 0.99], &[5.0, 9.0, 1.0]];
    let effects = factorial(&[3], &noisy, None).main_effects();
    check(effects[0].averaged, 1.0, 2.0);
    check(effects[1].averaged, 5.0, 2.0);
    let width = |effect: &MainEffect| effect.averaged.effect.unwrap().variance.sqrt();
    assert!(width(&effects[0]) < 0.01 && width(&effects[1]) > 1.0, "{effects:?}");
}

#[test]
fn a_missing_cell_leaves_the_other_combinations_and_no_interaction() {
    // Two factors, the cell (1, 1) failed: each effect is that of the other factor's first level.
    let table: [&[f64]; 4] = [&[0.0, 0.2], &[1.0, 1.1], &[2.0, 2.3], &[NO, NO]];
    let factorial = factorial(&[2, 2], &table, None);
    let effects = factorial.main_effects();
    check(effects[0].averaged, 2.05, 1.0);
    assert_eq!((effects[0].averaged.combinations, effects[0].averaged.missing), (1, 1));
    let [interaction] = factorial.interactions()[..] else { panic!("one interaction") };
    assert_eq!((interaction.averaged.effect, interaction.averaged.missing), (None, 1));
}

#[test]
fn an_incomplete_repeat_counts_as_far_as_it_goes() {
    // The third repeat has two of four cells, which are low by 100 like everything in it.
    let table: [&[f64]; 4] = [&[0.0, 10.0, -100.0], &[1.0, 11.0, -99.0], &[3.0, 13.0, NO], &[4.0, 14.0, NO]];
    let factorial = factorial(&[2, 2], &table, None);
    let effects = factorial.main_effects();
    check(effects[0].averaged, 3.0, 4.0);
    check(effects[1].averaged, 1.0, 4.0);
}

#[test]
fn a_single_repeat_has_effects_without_intervals() {
    let effects = factorial(&[2, 2], &[&[0.0], &[1.0], &[2.0], &[3.0]], None).main_effects();
    check(effects[0].averaged, 2.0, 0.0);
    assert_eq!(effects[0].averaged.effect.unwrap().interval(0.95), None);
}

#[test]
fn factors_of_whole_plots_have_the_error_of_the_plots() {
    // The first factor selects the data set, whose cells run together: each plot has an error of its own in each
    // repeat. It is large for the first factor, and cancels from the second one and from the interaction.
    let table: [&[f64]; 4] = [&[0.0, 5.0, -4.0], &[1.0, 6.0, -3.0], &[2.0, -7.0, 9.0], &[3.0, -6.0, 10.0]];
    let factorial = factorial(&[2, 2], &table, Some(vec![0, 0, 1, 1]));
    let effects = factorial.main_effects();
    check(effects[0].averaged, 1.0, 2.0);
    check(effects[1].averaged, 1.0, 4.0);
    let widths = effects.iter().map(|effect| effect.averaged.effect.unwrap().variance.sqrt());
    let widths: Vec<f64> = widths.collect();
    assert!(widths[0] > 5.0 && widths[1] < 1e-9, "{widths:?}");
    check(factorial.interactions()[0].averaged, 0.0, 4.0);
}

#[test]
fn cells_with_a_plot_of_their_own_are_randomised_blocks() {
    let table: [&[f64]; 4] = [&[0.1, 9.9], &[0.9, 11.1], &[2.0, 12.0], &[5.0, 15.0]];
    let own = factorial(&[2, 2], &table, Some(vec![0, 1, 2, 3]));
    let one = factorial(&[2, 2], &table, None);
    for (own, one) in own.main_effects().iter().zip(one.main_effects()) {
        let (own, one) = (own.averaged.effect.unwrap(), one.averaged.effect.unwrap());
        assert!((own.mean - one.mean).abs() < 1e-9 && (own.variance - one.variance).abs() < 1e-9);
        assert_eq!(own.degrees_of_freedom, one.degrees_of_freedom);
    }
}

#[test]
fn several_tests_share_their_error_rate() {
    let effect = |mean: f64| Some(SampleMean { mean, variance: 1.0, degrees_of_freedom: 20.0 });
    // t = 2.2 is p = 0.04: alone found, among four not; t = 6 is found among any of them.
    assert_eq!(found(&[effect(2.2)], 0.95), [true]);
    assert_eq!(
        found(&[effect(2.2), effect(6.0), None, effect(0.1), effect(0.2)], 0.95),
        [false, true, false, false, false]
    );
    assert_eq!(found(&[effect(6.0), effect(-2.2)], 0.95), [true, true], "the second test has its own level");
}
