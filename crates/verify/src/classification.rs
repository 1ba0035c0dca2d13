//! What became of each commit: compares the sent commits of the journal with the tokens of the table. Pure, and linear in
//! their number but for sorting.

use results::{
    CommitExample, LostWindow, SafeText, TokenPlace, VERIFICATION_EXAMPLES_MAX, Verification,
    VerificationExamples, VerifiedScript,
};
use stats::Timestamp;

use crate::journal::{Attempt, Attempts, CommitOutcome, TokenKey};

/// The scripts of a run with the places of their tokens.
pub type Scripts = Vec<(String, TokenPlace)>;

/// Judges all commits. `attempts` are those of the journal, `tokens` those of the table; times are relative to the run's start.
pub fn classify(
    table: &str,
    scripts: &Scripts,
    attempts: Attempts,
    mut tokens: Vec<TokenKey>,
) -> Verification {
    let Attempts { mut attempts, torn } = attempts;
    attempts.sort_unstable_by_key(|attempt| attempt.key);
    tokens.sort_unstable();
    let script = |(name, tokens): &(String, TokenPlace)| VerifiedScript {
        script: SafeText::from(name.as_str()),
        tokens: *tokens,
    };
    let mut judgement = Judgement::default();
    judgement.merge(&attempts, &tokens);
    judgement.find_gaps(&attempts);
    let Judgement { verification, found, .. } = judgement;
    let lost_window = lost_window(&attempts, &found.is_lost);
    let examples = found.examples(&attempts);
    Verification {
        table: SafeText::from(table),
        scripts: scripts.iter().map(script).collect(),
        torn_files: torn,
        lost_window,
        examples,
        ..verification
    }
}

/// State of the comparison.
#[derive(Default)]
struct Judgement {
    verification: Verification,
    found: Found,
}

/// Indexes of attempts, or tokens of commits that were never sent.
#[derive(Default)]
struct Found {
    /// For each attempt, whether it is an acknowledged commit whose token is absent.
    is_lost: Vec<bool>,
    /// For each attempt, whether its token is there.
    is_present: Vec<bool>,
    reserved: Vec<usize>,
    phantom: Vec<usize>,
    never_sent: Vec<TokenKey>,
    unknown_applied: Vec<usize>,
    unknown_absent: Vec<usize>,
    doubled: Vec<TokenKey>,
}

impl Judgement {
    /// Walks through both in order of their keys.
    fn merge(&mut self, attempts: &[Attempt], tokens: &[TokenKey]) {
        let mut left = tokens;
        for (index, attempt) in attempts.iter().enumerate() {
            while let Some((token, rest)) = left.split_first().filter(|(token, _)| **token < attempt.key) {
                self.take_unsent(*token);
                left = rest;
            }
            let copies = left.iter().take_while(|token| **token == attempt.key).count();
            left = &left[copies..];
            self.judge(index, attempt, copies > 0);
        }
        left.iter().for_each(|token| self.take_unsent(*token));
        self.find_doubled(tokens);
    }

    /// A token of a commit that the journal does not have.
    fn take_unsent(&mut self, token: TokenKey) {
        self.verification.phantom += 1;
        self.found.never_sent.push(token);
    }

    fn judge(&mut self, index: usize, attempt: &Attempt, is_present: bool) {
        let Self { verification: counts, found, .. } = self;
        counts.sent += 1;
        let mut is_lost = false;
        match (attempt.ended.map(|(_, outcome)| outcome), is_present) {
            (Some(CommitOutcome::Acknowledged), _) => {
                counts.acknowledged += 1;
                is_lost = !is_present;
                counts.lost += u64::from(is_lost);
            }
            (Some(CommitOutcome::Reserved), _) => {
                counts.reserved += 1;
                counts.reserved_absent += u64::from(!is_present);
                found.reserved.push(index);
            }
            (Some(CommitOutcome::Refused(_)), _) => {
                counts.refused += 1;
                if is_present {
                    counts.phantom += 1;
                    found.phantom.push(index);
                }
            }
            (Some(CommitOutcome::Unknown(_)) | None, true) => {
                counts.unknown_applied += 1;
                found.unknown_applied.push(index);
            }
            (Some(CommitOutcome::Unknown(_)) | None, false) => {
                counts.unknown_absent += 1;
                found.unknown_absent.push(index);
            }
        }
        found.is_lost.push(is_lost);
        found.is_present.push(is_present);
    }

    /// Transactions with several tokens: of several tries, or several of one.
    fn find_doubled(&mut self, tokens: &[TokenKey]) {
        let same = |one: &TokenKey, other: &TokenKey| {
            (one.client, one.sequence, one.part) == (other.client, other.sequence, other.part)
        };
        for group in tokens.chunk_by(same).filter(|group| group.len() > 1) {
            self.verification.doubled += 1;
            self.found.doubled.extend(group.last());
        }
    }

    /// Counts lost commits that a later commit of the same client has outlived. The attempts are in order of the clients, and
    /// for one client in order of time.
    fn find_gaps(&mut self, attempts: &[Attempt]) {
        let mut later = None;
        for (index, attempt) in attempts.iter().enumerate().rev() {
            if later != Some(attempt.key.client) && self.found.is_present[index] {
                later = Some(attempt.key.client);
            }
            let is_gap = self.found.is_lost[index] && later == Some(attempt.key.client);
            self.verification.order_gaps += u64::from(is_gap);
        }
    }
}

/// When acknowledged commits were lost.
fn lost_window(attempts: &[Attempt], is_lost: &[bool]) -> Option<LostWindow> {
    let mut acknowledged: Vec<(Timestamp, bool)> = attempts
        .iter()
        .zip(is_lost)
        .filter_map(|(attempt, is_lost)| match attempt.ended {
            Some((at, CommitOutcome::Acknowledged)) => Some((at, *is_lost)),
            _ => None,
        })
        .collect();
    // Of commits that were acknowledged together, the lost ones come first: none of the others was kept before.
    acknowledged.sort_unstable_by_key(|(at, is_lost)| (*at, !is_lost));
    let first = acknowledged.iter().position(|(_, is_lost)| *is_lost)?;
    let last = acknowledged.iter().rposition(|(_, is_lost)| *is_lost)?;
    let kept_until = first.checked_sub(1).map(|before| acknowledged[before].0);
    let (first_lost, last_lost) = (acknowledged[first].0, acknowledged[last].0);
    let length = last_lost.since(kept_until.unwrap_or(first_lost));
    Some(LostWindow {
        kept_until_s: kept_until.map(seconds),
        first_lost_s: seconds(first_lost),
        last_lost_s: seconds(last_lost),
        length_ms: length.as_secs_f64() * 1e3,
        transactions: (last - first + 1) as u64,
    })
}

fn seconds(at: Timestamp) -> f64 {
    at.since(Timestamp::ZERO).as_secs_f64()
}

impl Found {
    fn examples(&self, attempts: &[Attempt]) -> VerificationExamples {
        let first = |indexes: &mut dyn Iterator<Item = usize>| {
            let mut found: Vec<&Attempt> = indexes.map(|index| &attempts[index]).collect();
            found.sort_by_key(|attempt| attempt.sent);
            found.into_iter().take(VERIFICATION_EXAMPLES_MAX).map(example).collect::<Vec<_>>()
        };
        let of = |indexes: &[usize]| first(&mut indexes.iter().copied());
        let by_key = |key: &TokenKey| {
            let place = attempts.binary_search_by_key(key, |attempt| attempt.key);
            place.map_or_else(|_| never_sent(key), |index| example(&attempts[index]))
        };
        let unsent = self.never_sent.iter().map(never_sent);
        let phantom = of(&self.phantom).into_iter().chain(unsent).take(VERIFICATION_EXAMPLES_MAX);
        VerificationExamples {
            lost: first(&mut (0..attempts.len()).filter(|index| self.is_lost[*index])),
            reserved: of(&self.reserved),
            phantom: phantom.collect(),
            unknown_applied: of(&self.unknown_applied),
            unknown_absent: of(&self.unknown_absent),
            doubled: self.doubled.iter().take(VERIFICATION_EXAMPLES_MAX).map(by_key).collect(),
        }
    }
}

fn example(attempt: &Attempt) -> CommitExample {
    let state = match attempt.ended {
        Some((_, CommitOutcome::Refused(state) | CommitOutcome::Unknown(Some(state)))) => Some(state),
        _ => None,
    };
    CommitExample {
        began_s: Some(seconds(attempt.began)),
        sent_s: Some(seconds(attempt.sent)),
        ended_s: attempt.ended.map(|(at, _)| seconds(at)),
        sqlstate: state.map(|state| state.iter().map(|byte| char::from(*byte)).collect()),
        ..never_sent(&attempt.key)
    }
}

fn never_sent(key: &TokenKey) -> CommitExample {
    let TokenKey { client, sequence, part, tries } = *key;
    CommitExample {
        client,
        sequence,
        part,
        tries,
        began_s: None,
        sent_s: None,
        ended_s: None,
        sqlstate: None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    const STATE: [u8; 5] = *b"40001";

    fn key(client: u32, sequence: u64, tries: u32) -> TokenKey {
        TokenKey { client, sequence, part: 1, tries }
    }

    fn attempt(key: TokenKey, sent_ms: u64, outcome: Option<CommitOutcome>) -> Attempt {
        let at = |ms: u64| Timestamp::from_nanos(ms * 1_000_000);
        let ended = outcome.map(|outcome| (at(sent_ms + 1), outcome));
        Attempt { key, began: at(sent_ms), sent: at(sent_ms), ended }
    }

    fn judge(attempts: &[Attempt], tokens: &[TokenKey]) -> Verification {
        let attempts = Attempts { attempts: attempts.to_vec(), torn: 0 };
        classify("t", &Vec::new(), attempts, tokens.to_vec())
    }

    #[test]
    fn a_lost_commit_has_a_window_and_a_gap() {
        let acknowledged = Some(CommitOutcome::Acknowledged);
        let found = judge(
            &[
                attempt(key(0, 1, 1), 10, acknowledged),
                attempt(key(0, 2, 1), 20, acknowledged),
                attempt(key(0, 3, 1), 30, acknowledged),
                attempt(key(1, 1, 1), 25, acknowledged),
                attempt(key(1, 2, 1), 40, acknowledged),
            ],
            &[key(0, 1, 1), key(0, 3, 1), key(1, 1, 1)],
        );
        assert_eq!((found.acknowledged, found.lost, found.order_gaps), (5, 2, 1));
        let window = found.lost_window.expect("there is a loss");
        assert_eq!(window.kept_until_s, Some(0.011));
        assert_eq!((window.first_lost_s, window.last_lost_s, window.transactions), (0.021, 0.041, 4));
        assert!((window.length_ms - 30.0).abs() < 1e-9);
        let lost: Vec<_> = found.examples.lost.iter().map(|it| (it.client, it.sequence)).collect();
        assert_eq!(lost, [(0, 2), (1, 2)]);
    }

    #[test]
    fn doubt_refusals_reservations_and_repetitions_are_told_apart() {
        let found = judge(
            &[
                attempt(key(0, 1, 1), 1, None),
                attempt(key(0, 1, 2), 2, Some(CommitOutcome::Acknowledged)),
                attempt(key(1, 1, 1), 3, Some(CommitOutcome::Unknown(None))),
                attempt(key(2, 1, 1), 4, Some(CommitOutcome::Refused(STATE))),
                attempt(key(2, 1, 2), 5, Some(CommitOutcome::Refused(STATE))),
                attempt(key(3, 1, 1), 6, Some(CommitOutcome::Reserved)),
                attempt(key(3, 2, 1), 7, Some(CommitOutcome::Reserved)),
            ],
            &[key(0, 1, 1), key(0, 1, 2), key(2, 1, 2), key(3, 1, 1), key(9, 1, 1)],
        );
        let Verification { sent, acknowledged, lost, reserved, reserved_absent, refused, .. } = found;
        assert_eq!((sent, acknowledged, lost, reserved, reserved_absent, refused), (7, 1, 0, 2, 1, 2));
        let Verification { unknown_applied, unknown_absent, phantom, doubled, .. } = found;
        assert_eq!((unknown_applied, unknown_absent, phantom, doubled), (1, 1, 2, 1));
        assert_eq!(found.examples.phantom[0].sqlstate.as_deref(), Some("40001"));
        assert_eq!((found.examples.phantom[1].client, found.examples.phantom[1].sent_s), (9, None));
        assert_eq!((found.examples.doubled[0].client, found.examples.doubled[0].tries), (0, 2));
        assert_eq!(found.lost_window, None);
    }

    /// Attempts with their outcomes, and whether the token of each is there.
    fn runs() -> impl Strategy<Value = (Vec<(Attempt, bool)>, BTreeSet<TokenKey>)> {
        let outcome = prop_oneof![
            Just(None),
            Just(Some(CommitOutcome::Acknowledged)),
            Just(Some(CommitOutcome::Reserved)),
            Just(Some(CommitOutcome::Refused(STATE))),
            Just(Some(CommitOutcome::Unknown(None))),
        ];
        let key =
            (0_u32..3, 1_u64..6, 1_u32..3).prop_map(|(client, sequence, tries)| key(client, sequence, tries));
        let attempts =
            proptest::collection::btree_map(key.clone(), (0_u64..50, outcome, any::<bool>()), 0..25);
        let strays = proptest::collection::btree_set(key, 0..4);
        (attempts, strays).prop_map(|(attempts, strays)| {
            let strays = strays.into_iter().filter(|stray| !attempts.contains_key(stray)).collect();
            let attempts = attempts.into_iter();
            let made = attempts.map(|(key, (at, outcome, is_there))| (attempt(key, at, outcome), is_there));
            (made.collect(), strays)
        })
    }

    proptest! {
        #[test]
        fn every_commit_and_every_token_counts_once((run, strays) in runs(), order in any::<u64>()) {
            let mut attempts: Vec<Attempt> = run.iter().map(|(attempt, _)| *attempt).collect();
            let shift = usize::try_from(order % (attempts.len() as u64 + 1)).unwrap();
            attempts.rotate_left(shift);
            let there = run.iter().filter(|(_, is_there)| *is_there).map(|(attempt, _)| attempt.key);
            let tokens: Vec<TokenKey> = there.chain(strays.iter().copied()).collect();
            let found = judge(&attempts, &tokens);
            let counted = |wanted: &dyn Fn(Option<CommitOutcome>, bool) -> bool| {
                let matches = |(attempt, is_there): &&(Attempt, bool)| {
                    wanted(attempt.ended.map(|(_, outcome)| outcome), *is_there)
                };
                run.iter().filter(matches).count() as u64
            };
            let acknowledged = |outcome: Option<CommitOutcome>| outcome == Some(CommitOutcome::Acknowledged);
            prop_assert_eq!(found.sent, run.len() as u64);
            prop_assert_eq!(found.acknowledged, counted(&|outcome, _| acknowledged(outcome)));
            prop_assert_eq!(found.lost, counted(&|outcome, there| acknowledged(outcome) && !there));
            let parts = [found.acknowledged, found.reserved, found.refused, found.unknown_applied, found.unknown_absent];
            prop_assert_eq!(parts.iter().sum::<u64>(), found.sent);
            let present = found.acknowledged - found.lost + found.reserved - found.reserved_absent
                + found.unknown_applied + found.phantom;
            prop_assert_eq!(present, tokens.len() as u64);
            prop_assert!(found.order_gaps <= found.lost);
            prop_assert_eq!(found.lost_window.is_some(), found.lost > 0);
            let mut tries: BTreeMap<(u32, u64), u32> = BTreeMap::new();
            tokens.iter().for_each(|token| *tries.entry((token.client, token.sequence)).or_default() += 1);
            prop_assert_eq!(found.doubled, tries.values().filter(|count| **count > 1).count() as u64);
        }
    }
}
