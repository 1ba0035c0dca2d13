//! Tests of the public interface: experiment files, their plans, and the generated reference.
//! Nothing is run; that is tested with the binary.

mod experiments;
mod loads;
mod plans;
mod schema;
mod shipped;
mod steps;
