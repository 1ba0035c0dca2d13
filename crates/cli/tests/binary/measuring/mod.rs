//! Tests whose figures need processors that are mostly idle. `cargo xtask ci` runs them after all others, three at a time.
//! Tests of the same commands that hold whatever else runs are in modules of the same names beside this folder.

mod compare;
mod generator;
mod goals;
mod observing;
mod statistics;
