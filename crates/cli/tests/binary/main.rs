//! The binary as users run it: against real servers, from the outside, by its output, its records and its
//! exit status.

mod at_a_terminal;
mod bad_input;
mod bad_luck;
mod bench;
mod compare;
mod connections;
mod dropin;
mod ends;
mod faults;
mod foreign_databases;
mod front_ends;
mod generator;
mod harness;
mod hostile_objects;
mod lab;
mod lab_kills;
mod lab_networks;
mod null_server;
mod observing;
mod processes;
mod quickstart;
mod relay;
mod runs;
mod secrets;
mod servers;
mod statistics;
mod steps;
mod watching;
mod workloads;
