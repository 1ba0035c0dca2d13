//! The tests of the public interface, in one program: each program that is linked takes seconds and tens of megabytes.

mod allocation;
mod conditions;
mod copying;
mod extensions;
mod messages;
mod robustness;
mod scripts;
mod vectors;
