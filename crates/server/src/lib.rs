//! PostgreSQL as a thing we manage: find or fetch, initdb, configure, start, stop.
