//! The verification of a run: what became of the commits that its clients sent. `verify` compares the clients' journal with
//! the tokens in the database; `report` shows the result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SafeText;

/// Maximum number of examples of each kind.
pub const VERIFICATION_EXAMPLES_MAX: usize = 100;

/// What became of the commits of transactions that wrote, the warm-up's included. Each try of a commit counts:
/// `sent = acknowledged + reserved + refused + unknown_applied + unknown_absent`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// The table of the tokens.
    pub table: SafeText,
    /// What happens to the transactions of each script, in the plan's order.
    pub scripts: Vec<VerifiedScript>,
    /// Commits that were sent.
    pub sent: u64,
    /// Commits that the server confirmed without reservation.
    pub acknowledged: u64,
    /// Acknowledged commits whose work is not there.
    pub lost: u64,
    /// Commits that the server confirmed with the warning that they may not have been replicated.
    pub reserved: u64,
    /// Of these, those whose work is not there.
    pub reserved_absent: u64,
    /// Commits that the server refused.
    pub refused: u64,
    /// Commits whose work is there although they were refused, or never sent.
    pub phantom: u64,
    /// Commits without an outcome, because the connection was lost or the run ended, whose work is there.
    pub unknown_applied: u64,
    /// Commits without an outcome whose work is not there.
    pub unknown_absent: u64,
    /// Transactions of which several tries are there, because the client repeated one that had been applied.
    pub doubled: u64,
    /// Lost commits with a later commit of the same client that is there.
    pub order_gaps: u64,
    /// When acknowledged commits were lost; `null` if none was.
    pub lost_window: Option<LostWindow>,
    /// The table itself is not there any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub table_missing: bool,
    /// Files of the journal whose end was torn, because pgmeter was killed or the disk was full.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub torn_files: u32,
    /// The first hundred of each kind.
    pub examples: VerificationExamples,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A script and the tokens of its transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifiedScript {
    /// The script's name.
    pub script: SafeText,
    /// Where its tokens are written.
    pub tokens: TokenPlace,
}

/// Where the tokens of a script are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenPlace {
    /// In its transaction blocks, in one message with COMMIT.
    WithCommit,
    /// It has no transaction blocks: each statement that writes is wrapped into one transaction with its token.
    WithStatement,
    /// Both: in its transaction blocks, and with each statement outside of them that writes.
    WithBoth,
    /// It only reads, or it is not executed.
    Nowhere,
}

/// When acknowledged commits were lost: from the last one before them that was kept to the last lost one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LostWindow {
    /// Acknowledgement of the last kept commit before the first lost one, in seconds since the run's start; `null` if none was
    /// kept before.
    pub kept_until_s: Option<f64>,
    /// Acknowledgement of the first lost commit.
    pub first_lost_s: f64,
    /// Acknowledgement of the last lost commit.
    pub last_lost_s: f64,
    /// From the last kept commit before, or the first lost one, to the last lost one.
    pub length_ms: f64,
    /// Commits that were acknowledged in it, lost or kept.
    pub transactions: u64,
}

/// Examples, in order of sending.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerificationExamples {
    /// Of `lost`.
    pub lost: Vec<CommitExample>,
    /// Of `reserved`.
    pub reserved: Vec<CommitExample>,
    /// Of `phantom`.
    pub phantom: Vec<CommitExample>,
    /// Of `unknown_applied`.
    pub unknown_applied: Vec<CommitExample>,
    /// Of `unknown_absent`.
    pub unknown_absent: Vec<CommitExample>,
    /// Of `doubled`: the last try that is there.
    pub doubled: Vec<CommitExample>,
}

/// One try of one commit. Times are in seconds since the run's start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommitExample {
    /// Number of the client, from 0.
    pub client: u32,
    /// Number of the pass through a script within the client, from 1.
    pub sequence: u64,
    /// Number of the commit within the pass, from 1.
    pub part: u32,
    /// Number of the try, from 1.
    #[serde(rename = "try")]
    pub tries: u32,
    /// Start of the pass; `null` if it was never sent.
    pub began_s: Option<f64>,
    /// Time of sending.
    pub sent_s: Option<f64>,
    /// Time of the reply, or of the loss of the connection; `null` if there was none.
    pub ended_s: Option<f64>,
    /// The SQLSTATE of the refusal or of the doubt.
    pub sqlstate: Option<String>,
}

impl Verification {
    /// Whether the server lost what it had acknowledged.
    pub fn lost_work(&self) -> bool {
        self.lost > 0
    }

    /// Checks that the counts add up; `Err` is a phrase.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let Self { sent, acknowledged, lost, reserved, reserved_absent, refused, .. } = *self;
        let Self { unknown_applied, unknown_absent, order_gaps, .. } = *self;
        let parts = [acknowledged, reserved, refused, unknown_applied, unknown_absent];
        let sum = parts.into_iter().try_fold(0_u64, u64::checked_add);
        let is_sum = sum == Some(sent) && lost <= acknowledged && reserved_absent <= reserved;
        let is_window = self.lost_window.is_some() == (lost > 0) && order_gaps <= lost;
        match (is_sum, is_window) {
            (false, _) => Err("the verification: its counts do not add up to the sent commits"),
            (_, false) => Err("the verification: a window of lost commits without any, or the reverse"),
            (true, true) => self.check_examples(),
        }
    }

    fn check_examples(&self) -> Result<(), &'static str> {
        let VerificationExamples { lost, reserved, phantom, unknown_applied, unknown_absent, doubled } =
            &self.examples;
        let pairs = [
            (lost, self.lost),
            (reserved, self.reserved),
            (phantom, self.phantom),
            (unknown_applied, self.unknown_applied),
            (unknown_absent, self.unknown_absent),
            (doubled, self.doubled),
        ];
        let is_right = |(examples, count): (&Vec<CommitExample>, u64)| {
            examples.len() as u64 == count.min(VERIFICATION_EXAMPLES_MAX as u64)
        };
        match pairs.into_iter().all(is_right) {
            true => Ok(()),
            false => Err("the verification: another number of examples than its counts have"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_do_not_add_up_are_found() {
        let right = Verification { sent: 3, acknowledged: 2, refused: 1, ..Verification::default() };
        assert_eq!(right.check(), Ok(()));
        assert!(Verification { sent: 4, ..right.clone() }.check().is_err());
        assert!(Verification { lost: 1, ..right.clone() }.check().is_err(), "a loss has a time");
        assert!(Verification { unknown_absent: u64::MAX, ..right.clone() }.check().is_err());
        assert!(Verification { phantom: 1, ..right }.check().is_err(), "and an example");
    }
}
