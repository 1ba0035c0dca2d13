//! Tests that measure how long statements wait. `cargo xtask ci` runs them after all others, one at a time: their limits
//! are a few hundred milliseconds.

mod locked_tables;
