//! The tests of the public interface, in one program: each program that is linked takes seconds and tens of megabytes.

mod faults;
mod relay;
