//! The ranks of a job: processes of one run that a process manager (MPICH's `mpiexec`, Slurm's `srun`) started on
//! several machines, and their messages through it. They open no socket of their own.
//!
//! [`environment`] finds out whether this process is such a rank; [`protocol`] is PMI-1, the protocol of the process
//! manager, and pure; [`clocks`] compares the clocks of the ranks; [`Job`] is one rank of the job. Used by
//! `run`, which distributes a load. docs/decisions/0028-pmi-1.md gives the reasons.

pub mod clocks;
mod connection;
pub mod environment;
mod error;
mod job;
pub mod protocol;

pub use clocks::{Estimate, Offset, Start};
pub use error::{Evidence, RanksError};
pub use job::{BARRIERS_MAX, Crossing, Job, Round};
