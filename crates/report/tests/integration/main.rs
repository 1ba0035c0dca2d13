//! The tests of the public interface. They are one program: each further one takes seconds to link, and tens of
//! megabytes.

mod gallery;
mod pages;
mod texts;
