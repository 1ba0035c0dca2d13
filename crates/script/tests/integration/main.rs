//! The tests of the public interface. They are one program: each further one takes seconds to link, and tens of
//! megabytes.

mod allocation;
mod conditions;
mod copying;
mod extensions;
mod keys;
mod messages;
mod robustness;
mod scripts;
mod vectors;
