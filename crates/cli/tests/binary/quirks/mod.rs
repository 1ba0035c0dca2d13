//! The quirks of pgbench, one test for each with its number in the table of docs/pgbench.md: that the drop-in is the
//! same, or in which way it is better on purpose, and what `pgmeter bench` does. No pgbench is needed.

mod harness;
mod language;
mod measuring;
mod output;
mod starting;
