//! Plans the time of a comparison: the number of sequences, or of server starts. Pure calculations; `comparison_run`
//! uses them.

use stats::comparison::{PAIRS_OF_SEQUENCE, Purpose};

/// Maximum number of pairs: the statistics need time and memory in proportion to the square of their sequences.
const PAIRS_MAX: f64 = 10_000.0;
/// Share of the sequences for the noise floor, and its minimum of twelve pairs. With less than four times that many
/// sequences there is no noise floor.
const NOISE_FLOOR_SHARE: f64 = 0.1;
const NOISE_FLOOR_MIN: f64 = 6.0;
/// Number of server starts: fewer than three allow no conclusion, more than ten leave too little time for measuring.
pub(super) const STARTS_MIN: u32 = 3;
const STARTS_MAX: f64 = 10.0;

/// Time plan if a draw is cheap compared with its blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SequencePlan {
    /// Blocks of each side in a pair.
    pub(super) blocks: usize,
    /// Time of a sequence.
    pub(super) sequence_s: f64,
    /// Number of sequences, including the first.
    pub(super) sequences: f64,
    /// Sequences for the noise floor, including the first.
    pub(super) noise_floor: f64,
}

impl SequencePlan {
    /// Plans from the time of the first sequence with this number of blocks. If there would be too many pairs, each
    /// gets more blocks and takes longer: a block has its connections to itself.
    pub(super) fn of(budget_s: f64, first_s: f64, blocks: usize) -> Self {
        let most = PAIRS_MAX / PAIRS_OF_SEQUENCE as f64;
        let left_s = (budget_s - first_s).max(0.0);
        let times = (left_s / first_s / (most - 1.0)).ceil().max(1.0);
        let sequence_s = first_s * times;
        let sequences = 1.0 + (left_s / sequence_s).floor();
        let is_shown = sequences >= 4.0 * NOISE_FLOOR_MIN;
        let noise_floor =
            if is_shown { (sequences * NOISE_FLOOR_SHARE).round().max(NOISE_FLOOR_MIN) } else { 1.0 };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, is above 0")]
        let times = times as usize;
        Self { blocks: blocks.saturating_mul(times), sequence_s, sequences, noise_floor }
    }

    /// Purpose of a sequence, numbered from 1; those for the noise floor are spread evenly.
    pub(super) fn purpose(&self, at: usize) -> Purpose {
        let share = self.noise_floor / self.sequences;
        // The first is for the noise floor.
        let is_due =
            self.noise_floor > 1.0 && (at as f64 * share).floor() > ((at as f64 - 1.0) * share).floor();
        if is_due { Purpose::NoiseFloor } else { Purpose::Comparison }
    }
}

/// Time plan if two servers are recreated for each pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ServerStarts {
    budget_s: f64,
    /// Number of starts, including the first, whose time does not count.
    pub(super) starts: f64,
}

impl ServerStarts {
    /// Plans from the time of the first start: as many starts as leave each at least as much time under load as it
    /// takes. A budget for fewer than three allows no verdict: one start is then under load as long as it takes.
    pub(super) fn of(budget_s: f64, starting_s: f64) -> Self {
        let starts = ((budget_s + starting_s) / (2.0 * starting_s)).floor().min(STARTS_MAX);
        if starts < f64::from(STARTS_MIN) {
            // The rest of the budget would not give an answer either.
            return Self { budget_s: budget_s.min(starting_s), starts: 1.0 };
        }
        Self { budget_s, starts }
    }

    /// The budget that an answer needs, if this one is too short for it.
    pub(super) fn budget_needed_s(&self, starting_s: f64) -> Option<f64> {
        (self.starts < f64::from(STARTS_MIN)).then(|| Self::budget_for_an_answer_s(starting_s))
    }

    /// Seconds of load after start number `start` (from 0), which begins now: an equal share of the time that the
    /// remaining starts leave, and at least the time of a start.
    pub(super) fn share_s(&self, at: usize, now_s: f64, starting_s: f64) -> f64 {
        let left = self.starts - at as f64;
        let left_s = self.budget_s - now_s - (left - 1.0) * starting_s;
        (left_s / left).max(starting_s.min(self.budget_s - now_s))
    }

    /// Whether there is time for another start with nearly as much time under load.
    pub(super) fn has_time_for_another(&self, now_s: f64, starting_s: f64) -> bool {
        const NEARLY: f64 = 0.9;
        now_s + (1.0 + NEARLY) * starting_s <= self.budget_s
    }

    /// Minimum budget for three starts like these.
    pub(super) fn budget_for_an_answer_s(starting_s: f64) -> f64 {
        // The first start does not count.
        (2.0 * f64::from(STARTS_MIN) - 1.0) * starting_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn much_time_has_more_blocks_in_a_pair_and_not_more_pairs_than_can_be_reckoned_with() {
        let spent = |budget_s, blocks| {
            let SequencePlan { blocks, sequences, .. } = SequencePlan::of(budget_s, 1.3, blocks);
            (blocks, sequences)
        };
        assert_eq!(spent(300.0, 1), (1, 230.0));
        assert_eq!(spent(300.0, 2), (2, 230.0));
        // 22,153 sequences otherwise.
        assert_eq!(spent(8.0 * 3_600.0, 1), (5, 4_431.0));
        assert_eq!(spent(0.5, 1), (1, 1.0), "the first took all of it");
        for hours in 1..200 {
            let budget_s = f64::from(hours) * 3_600.0;
            let SequencePlan { sequence_s, sequences, .. } = SequencePlan::of(budget_s, 1.3, 1);
            let takes_s = 1.3 + (sequences - 1.0) * sequence_s;
            assert!(2.0 * sequences <= PAIRS_MAX && takes_s < budget_s + 1e-6, "{hours} h: {sequences}");
        }
    }

    #[test]
    fn a_noise_floor_has_twelve_pairs_at_least_or_is_left_out() {
        for budget_s in 1..2_000 {
            let spending = SequencePlan::of(f64::from(budget_s), 1.3, 1);
            let mut made = 1;
            for at in (1_u16..).take_while(|at| f64::from(*at) < spending.sequences) {
                made += usize::from(spending.purpose(usize::from(at)) == Purpose::NoiseFloor);
            }
            assert!(made == 1 || made >= 6, "{budget_s} s: {made} of {spending:?}");
            assert!(made as f64 <= spending.noise_floor && spending.noise_floor <= spending.sequences);
        }
    }

    #[test]
    fn servers_are_under_load_for_at_least_as_long_as_it_takes_to_make_them() {
        for budget_s in [10.0, 30.0, 60.0, 120.0, 300.0, 1_200.0] {
            for starting_s in [0.5, 2.0, 9.0, 15.0, 23.0, 40.0] {
                let servers = ServerStarts::of(budget_s, starting_s);
                let (mut now_s, mut load_s, mut made) = (0.0, 0.0, 0);
                for at in 0..10 {
                    if at as f64 >= servers.starts
                        || at > 0 && !servers.has_time_for_another(now_s, starting_s)
                    {
                        break;
                    }
                    now_s += if at > 0 { starting_s } else { 0.0 };
                    let share_s = servers.share_s(at, now_s, starting_s);
                    assert!(
                        share_s >= 0.99 * starting_s.min(budget_s),
                        "{servers:?}, {starting_s} s: {share_s}"
                    );
                    now_s += share_s;
                    load_s += share_s;
                    made += 1;
                }
                assert!(now_s <= budget_s + 1e-6, "{servers:?}, {starting_s} s: {now_s}");
                let least_s = if servers.starts < 3.0 { starting_s.min(budget_s) } else { 0.5 * budget_s };
                assert!(load_s >= least_s && made >= 1, "{servers:?}, {starting_s} s: {load_s}");
            }
        }
        // Measured for versions 16 and 18: 1.5 s of load in 48 s.
        let servers = ServerStarts::of(30.0, 15.0);
        assert_eq!((servers.starts, servers.share_s(0, 0.0, 15.0)), (1.0, 15.0));
        assert_eq!(servers.budget_needed_s(15.0), Some(75.0));
        assert_eq!(ServerStarts::of(75.0, 15.0).budget_needed_s(15.0), None);
        assert_eq!(ServerStarts::of(ServerStarts::budget_for_an_answer_s(15.0), 15.0).starts, 3.0);
    }
}
