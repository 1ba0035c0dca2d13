//! The tests of the public interface, in one program: each program that is linked takes seconds and tens of megabytes.

mod calibrations;
mod entries;
mod json_schema;
mod no_sentences;
mod query_sets;
mod ranks;
mod records;
mod rules;
mod steps;
mod store;
mod warnings;
