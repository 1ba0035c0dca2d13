//! The drop-in beside the real pgbench: the same command line and seed for both, then what they printed, wrote, asked
//! of the server and ended with is compared. What may differ stands in `versions`, with its reason; all else fails.
//!
//! pgbench is what PGBENCH names, else a program of the path, else one of Debian's folders. Without one
//! these tests say so and compare nothing. PGMETER_TEST_DROPIN names a program to compare in place of ours: with
//! another pgbench it checks these tests themselves.

mod bad_scripts;
mod cases;
mod draws;
mod expressions;
mod failing_servers;
mod initialization;
mod messages;
mod options;
mod output;
mod programs;
mod running;
mod shape;
mod statements;
mod tally;
mod timed;
mod versions;
