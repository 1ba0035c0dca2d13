//! What the loader makes on real servers: by itself, on every version that counts, and beside an installed
//! `pgbench`. One program, so that all its tests share one server of each version.

mod acting_on_all;
mod any_schema;
mod beside_pgbench;
mod dependents;
mod dry_run;
mod existing_tables;
mod folder;
mod generated;
mod harmless_steps;
mod harness;
mod hidden_changes;
mod hidden_definitions;
mod init;
mod interrupted;
mod lasting;
mod learn;
mod lock_waits;
mod measuring;
mod pooler;
mod prepare;
mod random_schemas;
mod replaced;
mod restored;
mod versions;
