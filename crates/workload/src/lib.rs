//! Built-in scripts, schemas, loaders, and the checks that a workload's data is sound.
