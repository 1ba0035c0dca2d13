//! For tests only: servers that are not PostgreSQL and one that is.
//!
//! [`fake`] runs the null server's sessions in virtual time, from a seed and with faults, as a driver for the
//! engine; [`null`] runs them over real sockets and answers at once; [`request_log`] keeps what they were asked.
//! [`cluster`] is a real PostgreSQL, thrown away after the test; [`certificates`] are for its TLS; [`pgbench`] is where
//! the original is, if it is installed; [`pooler`] is PgBouncer, if it is. [`fault_proxy`] damages the traffic of a real
//! server; [`closed_port`] has no server; [`small_disk`] fills up; [`process_manager`] starts the ranks of a job;
//! [`condition`] waits for the processes of a test; [`extent`] is how much the tests look at; [`records`] and
//! [`search_record`] are results to start from.

pub mod certificates;
pub mod closed_port;
pub mod cluster;
pub mod condition;
pub mod extent;
pub mod fake;
pub mod fault_proxy;
pub mod null;
pub mod pgbench;
pub mod pooler;
pub mod process_manager;
pub mod records;
pub mod request_log;
pub mod search_record;
pub mod small_disk;

pub use ::null::session;
