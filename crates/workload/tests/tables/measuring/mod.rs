//! Tests that measure how long statements wait. `cargo xtask ci` runs them after all others: their limits are a few
//! hundred milliseconds.

mod locked_tables;
