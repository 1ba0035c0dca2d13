//! How much the tests look at: after a change, the cases that differ in kind; with `cargo xtask ci --all`, all of them.
//! [`Cluster::versions`](crate::cluster::Cluster::versions) uses it for versions, and tests for rows, rounds and cases.

use std::env::var_os;

/// `all` has the tests look at everything.
const EXTENT: &str = "PGMETER_TEST_EXTENT";

/// Whether the tests look at everything: the variable `PGMETER_TEST_EXTENT` is `all`.
pub fn is_all() -> bool {
    var_os(EXTENT).is_some_and(|extent| extent == "all")
}

/// A number of rows, rounds or cases: `after_change`, or `all` where the tests look at everything.
pub fn choose<T>(after_change: T, all: T) -> T {
    if is_all() { all } else { after_change }
}
