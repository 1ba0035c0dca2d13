//! Tests that measure. `cargo xtask ci` runs them after all others, one at a time: their figures need processors that
//! nothing else uses. What they assert must hold on a busy machine all the same.

mod compare;
mod generator;
mod goals;
mod observing;
mod statistics;
