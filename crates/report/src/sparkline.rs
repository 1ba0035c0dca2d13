//! A curve of block characters, one for each value, from 0 to the highest. For lines on the terminal: the live view of a
//! run and the list of runs.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The curve; an unknown value leaves a blank.
pub fn sparkline(values: &[Option<f64>]) -> String {
    let highest = values.iter().flatten().copied().fold(0.0, f64::max);
    let block = |value: &Option<f64>| {
        let Some(value) = value else { return ' ' };
        let steps = BLOCKS.iter().skip(1).filter(|_| highest > 0.0);
        let reached = steps.enumerate().filter(|(at, _)| value / highest > (*at as f64 + 0.5) / 7.5).count();
        BLOCKS[reached.min(BLOCKS.len() - 1)]
    };
    values.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_as_high_as_its_value_beside_the_highest() {
        let of = |values: &[f64]| sparkline(&values.iter().copied().map(Some).collect::<Vec<_>>());
        assert_eq!(of(&[0.0, 50.0, 100.0, 100.0]), "▁▅██");
        assert_eq!(of(&[0.0, 0.0]), "▁▁");
        assert_eq!(of(&[]), "");
        assert_eq!(sparkline(&[Some(1.0), None, Some(1.0)]), "█ █");
    }
}
