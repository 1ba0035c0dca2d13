//! The rows of the workload `tpcb2`: branches, their tellers and their accounts, with the sizes and ratios of TPC-B's
//! specification. The SQL files beside it have the tables, the transaction and the checks; docs/tpc.md describes them.

use std::io::Write as _;

use stats::Scale;

use super::computed::table;
use loading::loader::execution::LoadTable;
use loading::loader::generated::{OwnCode, OwnRows};

/// For each branch.
const TELLERS: u64 = 10;
const ACCOUNTS: u64 = 100_000;

/// More accounts than their type can number.
const BRANCHES_MAX: u32 = 20_000;

/// Its code.
pub(super) const CODE: OwnCode =
    OwnCode { rows: Some(OwnRows { refused, ..OwnRows::new(tables) }), queries: None };

/// The largest table comes first, so that its key is built while the others are loaded.
fn tables(scale: Scale, _seed: u64) -> Vec<LoadTable> {
    let branches = u64::from(scale.whole().unwrap_or_default());
    vec![
        table("tpcb2_accounts", branches * ACCOUNTS, |unit, out| of_branch(unit, ACCOUNTS, out)),
        table("tpcb2_tellers", branches * TELLERS, |unit, out| of_branch(unit, TELLERS, out)),
        table("tpcb2_branches", branches, branch),
        table("tpcb2_history", 0, branch),
    ]
}

fn refused(scale: Scale) -> Option<&'static str> {
    let is_supported = scale.whole().is_some_and(|branches| (1..=BRANCHES_MAX).contains(&branches));
    (!is_supported).then_some("the scale is the number of branches; use a whole number from 1 to 20000")
}

/// Identifier, balance and filler. All balances begin at 0.
fn branch(unit: u64, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = write!(out, "{}\t0\t", unit + 1);
}

fn of_branch(unit: u64, per_branch: u64, out: &mut Vec<u8>) {
    let _ = write!(out, "{}\t{}\t0\t", unit + 1, unit / per_branch + 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shelf::computed::tests::text;

    #[test]
    fn branches_have_ten_tellers_and_a_hundred_thousand_accounts() {
        let texts: Vec<String> = tables(2.into(), 1).iter().map(|table| text(table, 3)).collect();
        let rows: Vec<usize> = texts.iter().map(|text| text.lines().count()).collect();
        assert_eq!(rows, [200_000, 20, 2, 0]);
        let of_first = |text: &str| text.lines().filter(|line| line.split('\t').nth(1) == Some("1")).count();
        assert_eq!([of_first(&texts[0]), of_first(&texts[1])], [100_000, 10]);
        assert!(texts[0].ends_with("200000\t2\t0\t\n"), "the last account");
    }

    #[test]
    fn only_whole_numbers_of_branches_are_scales() {
        for (scale, is_refused) in [("1", false), ("20000", false), ("20001", true), ("0.5", true)] {
            assert_eq!(refused(scale.parse().expect("a scale")).is_some(), is_refused, "{scale}");
        }
    }
}
