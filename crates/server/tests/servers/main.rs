//! Real servers, started and stopped for real: the newest and the oldest major version that can be
//! fetched, and those between at which replication changed.
//! Needs the network once, to fill the cache; a test that cannot have its server fails and says why.

mod bad_luck;
mod facts;
mod faults;
mod harness;
mod intruders;
mod lifecycle;
mod named;
mod orphans;
mod poolers;
mod standbys;
