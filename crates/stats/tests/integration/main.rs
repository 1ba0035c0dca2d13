//! The tests of the public interface. They are one program: each further one takes seconds to link, and tens of
//! megabytes.

mod allocation;
mod comparison;
mod effects;
mod goals;
mod merged_percentiles;
mod properties;
mod regressions;
mod simulation;
mod simulations;
