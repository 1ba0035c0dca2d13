//! The parts of the record that `run` knows: the plan, the environment, the load generator, and errors of transactions.
//! `results` defines their form; `prepared` puts the record together.

pub(crate) mod environment;
pub(crate) mod generator;
pub(crate) mod plan_record;
pub(crate) mod transaction_errors;
