//! One history for each anomaly, and histories that only look like one.
//! Each has two or three transactions, and the witness is compared.

use pgmeter_isolation::{HistoryError, Level, check};

use crate::notation::{found, history};

const ALL: [Level; 3] = [Level::ReadCommitted, Level::RepeatableRead, Level::Serializable];

/// Checks what is found at SERIALIZABLE, and which levels forbid it.
#[track_caller]
fn check_found(text: &str, expected: &[&str], forbidden_at: &[Level]) {
    assert_eq!(found(text, Level::Serializable), expected);
    for level in ALL {
        let is_forbidden = !check(&history(text), level).unwrap().is_kept();
        assert_eq!(is_forbidden, forbidden_at.contains(&level), "{level:?}");
    }
}

#[test]
fn a_serial_history_has_no_anomaly() {
    check_found("c r1[] a1:1 \n c r1[1] a1:2 a2:3 \n c r2[3] r1[1,2] \n f r1[1,2] r2[3]", &[], &[]);
}

#[test]
fn g0_is_found_where_two_transactions_overwrite_each_other() {
    check_found(
        "c a1:1 a2:2 \n c a1:3 a2:4 \n c r1[1,3] \n c r2[4,2]",
        &["write cycle! 1: 0 -ww(1)-> 1 -ww(2)-> 0"],
        &ALL,
    );
}

#[test]
fn g1a_is_found_where_an_aborted_append_is_read() {
    check_found("a a1:1 \n c r1[1]", &["aborted read! 1: 0 1"], &ALL);
}

#[test]
fn g1b_is_found_where_a_list_ends_within_a_transaction() {
    check_found(
        "c a1:1 a1:2 \n c r1[1] \n c r1[1,2]",
        &["intermediate read! 1: 0 1", "read skew! 1: 0 -wr(1)-> 1 -rw(1)-> 0"],
        &ALL,
    );
}

#[test]
fn g1c_is_found_where_two_transactions_read_each_other() {
    check_found(
        "c a1:1 r2[2] \n c a2:2 r1[1]",
        &["circular information flow! 1: 0 -wr(1)-> 1 -wr(2)-> 0"],
        &ALL,
    );
}

#[test]
fn a_lost_update_is_found_where_two_transactions_append_to_the_version_they_read() {
    check_found(
        "c r1[] a1:1 \n c r1[] a1:2 \n f r1[1,2]",
        &["lost update! 1: 0 -ww(1)-> 1 -rw(1)-> 0"],
        &ALL[1..],
    );
}

#[test]
fn g_single_is_found_where_one_effect_is_seen_and_another_one_is_missed() {
    check_found(
        "c a1:1 a2:2 \n c r1[1] r2[] \n f r1[1] r2[2]",
        &["read skew! 1: 0 -wr(1)-> 1 -rw(2)-> 0"],
        &ALL[1..],
    );
}

#[test]
fn a_second_read_that_differs_is_read_skew() {
    check_found("c a1:1 \n c r1[] r1[1]", &["read skew! 1: 0 -wr(1)-> 1 -rw(1)-> 0"], &ALL[1..]);
}

#[test]
fn a_longer_cycle_with_one_rw_is_read_skew() {
    check_found(
        "c a1:1 a3:9 \n c r1[1] a2:2 \n c r2[2] r3[] \n f r1[1] r2[2] r3[9]",
        &["read skew! 1: 0 -wr(1)-> 1 -wr(2)-> 2 -rw(3)-> 0"],
        &ALL[1..],
    );
}

#[test]
fn a_long_fork_is_found_where_two_readers_disagree_on_the_order_of_writers() {
    check_found(
        "c a1:1 \n c a2:2 \n c r1[1] r2[] \n c r1[] r2[2]",
        &["long fork! 1: 0 -wr(1)-> 2 -rw(2)-> 1 -wr(2)-> 3 -rw(1)-> 0"],
        &ALL[1..],
    );
}

#[test]
fn g2_is_found_where_each_transaction_misses_the_write_of_the_other() {
    check_found(
        "c r1[] a2:2 \n c r2[] a1:1 \n f r1[1] r2[2]",
        &["write skew! 1: 0 -rw(1)-> 1 -rw(2)-> 0"],
        &[Level::Serializable],
    );
}

#[test]
fn g2_is_found_without_a_final_read_if_the_unread_append_is_the_only_one() {
    let text = "c r1[] a2:2 \n c r2[] a1:1";
    check_found(text, &["write skew! 1: 0 -rw(1)-> 1 -rw(2)-> 0"], &[Level::Serializable]);
    // The order of two unread appends is unknown, so it shows nothing.
    check_found(&format!("{text} \n c a1:7"), &[], &[]);
}

#[test]
fn a_cycle_of_three_transactions_that_all_miss_a_write_is_g2() {
    check_found(
        "c r1[] a2:2 \n c r2[] a3:3 \n c r3[] a1:1 \n f r1[1] r2[2] r3[3]",
        &["write skew! 1: 0 -rw(1)-> 2 -rw(3)-> 1 -rw(2)-> 0"],
        &[Level::Serializable],
    );
}

#[test]
fn g2_with_a_reader_on_a_replica_is_permitted_and_a_long_fork_is_not() {
    // The anomaly of a read-only transaction (Fekete, O'Neil, O'Neil, SIGMOD Record 33(3), 2004).
    let text = "c r1[] r2[] a1:1 \n c a2:2 \n Rc r2[2] r1[] \n f r1[1] r2[2]";
    assert_eq!(found(text, Level::Serializable), ["write skew 1: 0 -rw(2)-> 1 -wr(2)-> 2 -rw(1)-> 0"]);
    let text = text.replace('R', "");
    assert_eq!(found(&text, Level::Serializable), ["write skew! 1: 0 -rw(2)-> 1 -wr(2)-> 2 -rw(1)-> 0"]);
    let fork = "c a1:1 \n c a2:2 \n c r1[1] r2[] \n Rc r1[] r2[2]";
    for level in [Level::RepeatableRead, Level::Serializable] {
        let found = found(fork, level);
        assert_eq!(found, ["long fork! 1: 0 -wr(1)-> 2 -rw(2)-> 1 -wr(2)-> 3 -rw(1)-> 0"]);
    }
}

#[test]
fn a_stale_replica_is_no_anomaly() {
    check_found("c a1:1 \n c r1[1] a1:2 \n Rc r1[] \n Rc r1[1] \n f r1[1,2]", &[], &[]);
}

#[test]
fn a_cycle_on_the_primary_is_found_beside_one_with_a_replica() {
    let text = "c r1[] a2:2 \n Rc r2[] r1[1] \n c r2[] a1:1 \n f r1[1] r2[2]";
    let findings = check(&history(text), Level::Serializable).unwrap();
    assert!(!findings.is_kept(), "{findings:?}");
}

#[test]
fn an_acknowledged_append_that_the_final_read_lacks_is_lost() {
    check_found("c a1:1 \n c a1:2 \n f r1[1]", &["lost append! 1: 1 2"], &ALL);
}

#[test]
fn an_append_that_was_read_and_then_disappeared_is_lost() {
    check_found("c a1:1 \n c r1[1] \n f r1[]", &["lost append! 1: 0 2"], &ALL);
}

#[test]
fn an_element_twice_is_a_duplicate() {
    check_found("c a1:1 \n c r1[1,1]", &["duplicate element! 1: 1"], &ALL);
}

#[test]
fn an_element_of_nobody_is_unknown() {
    check_found("c r1[7]", &["unknown element! 1: 0"], &ALL);
}

#[test]
fn lists_of_which_none_begins_with_the_other_are_incompatible() {
    check_found("c a1:1 \n c a1:2 \n c r1[1,2] \n c r1[2]", &["incompatible order! 1: 2 3"], &ALL);
}

#[test]
fn a_transaction_that_does_not_see_its_own_append_is_inconsistent() {
    check_found("c a1:1 r1[]", &["internal inconsistency! 1: 0"], &ALL);
    check_found(
        "c a1:1 \n c a1:2 \n c r1[1,2] r1[1]",
        &["internal inconsistency! 1: 2", "read skew! 1: 1 -wr(1)-> 2 -rw(1)-> 1"],
        &ALL,
    );
}

#[test]
fn a_transaction_that_sees_its_own_appends_is_consistent() {
    check_found("c a1:1 r1[1] a1:2 r1[1,2] \n c r1[1,2] a1:3 r1[1,2,3]", &[], &[]);
}

#[test]
fn unknown_endings_count_as_committed_only_if_they_were_read() {
    let unseen = check(&history("u a1:1 \n f r1[]"), Level::Serializable).unwrap();
    assert!(unseen.is_kept());
    assert_eq!((unseen.endings.unknown_applied, unseen.endings.unknown_unseen), (0, 1));
    let applied =
        check(&history("u a1:1 a2:2 \n c r1[1] r2[] \n f r1[1] r2[2]"), Level::Serializable).unwrap();
    assert_eq!((applied.endings.unknown_applied, applied.endings.unknown_unseen), (1, 0));
    assert!(!applied.is_kept(), "one effect was seen, the other one missed");
    // Its reads do not count: the answers may not be those of the transaction that was applied.
    check_found("u r2[] a1:1 \n c r1[] a2:2 \n f r1[1] r2[2]", &[], &[]);
}

#[test]
fn aborted_transactions_show_nothing() {
    check_found("a r1[] a2:2 \n c r2[] a1:1 \n f r1[1] r2[]", &[], &[]);
}

#[test]
fn an_element_that_is_appended_twice_is_refused() {
    let error = check(&history("c a1:1 \n c a1:1"), Level::Serializable).unwrap_err();
    assert_eq!(error, HistoryError::RepeatedAppend { key: 1, element: 1 });
    assert!(error.to_string().contains("element 1 to list 1"), "{error}");
    assert!(check(&history("c a1:1 \n c a2:1"), Level::Serializable).is_ok());
}

#[test]
fn an_empty_history_has_no_anomaly() {
    let findings = check(&history(""), Level::Serializable).unwrap();
    assert!(findings.is_kept());
    assert_eq!(findings.endings.total, 0);
}
