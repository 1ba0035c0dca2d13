//! The tests of the public interface. They are one program: each further one takes seconds to link, and tens of
//! megabytes.

mod calibrations;
mod entries;
mod json_schema;
mod no_sentences;
mod query_sets;
mod ranks;
mod records;
mod rules;
mod searches;
mod steps;
mod store;
mod warnings;
