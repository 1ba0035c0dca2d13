//! The checker: hand-made histories of each anomaly, simulated stores of each level, and the work of a check.
//! No server takes part; `servers` has the checks of real ones.

mod elle;
mod handmade;
mod notation;
mod simulated;
#[path = "../../examples/simulation/mod.rs"]
mod simulation;
