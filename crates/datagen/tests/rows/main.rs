//! Rows of whole schemas, by the crate's public interface: generators, keys, determinism, errors.
//! No server: the binary's tests load such rows into one.

mod conditions;
mod described;
mod determinism;
mod errors;
mod generators;
mod keys;
mod places;
mod properties;
mod random_schemas;
mod schemas;
mod sizes;
mod table;
mod text;
