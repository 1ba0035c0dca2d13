//! What the loader makes on real servers: by itself, on every version that counts, and beside an installed
//! `pgbench`. One program, so that all its tests share one server of each version.

mod beside_pgbench;
mod folder;
mod harness;
mod init;
mod lasting;
mod pooler;
mod prepare;
mod versions;
