//! One load from several machines. A process manager (MPICH's `mpiexec`, Slurm's `srun`) starts this program on each,
//! and they become the ranks of a job. Rank 0 prepares runs, observes the server and stores the records; it orders a
//! part of the load from each other rank. `order` describes this part, `message` defines the messages, `exchange` is
//! the thread that sends and receives them, `leading` is the side of rank 0 and `load` the load that it runs;
//! `serving` is the side of the other ranks, `job` joins and leaves the job, `timing` has the clock.

mod exchange;
mod job;
mod leading;
mod load;
mod message;
mod order;
mod serving;
mod timing;

pub use job::Machines;
pub use leading::RankAbout;
pub use load::Load;

pub(crate) use exchange::Exchange;
pub(crate) use load::machines;
pub(crate) use order::Order;
