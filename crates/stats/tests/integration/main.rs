//! The tests of the public interface, in one program: each program that is linked takes seconds and tens of megabytes.

mod allocation;
mod comparison;
mod effects;
mod goals;
mod properties;
mod regressions;
mod simulation;
mod simulations;
