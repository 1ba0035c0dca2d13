//! For tests only: the fake server in virtual time, throw-away clusters.

pub mod cluster;
