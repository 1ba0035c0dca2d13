//! What a run decides, through the crate's public interface: which specifications it refuses, how it ends, and what is in its
//! record. The server is the null server, so a test takes milliseconds.

mod changing_loads;
mod ends;
mod goals;
mod loads;
mod on_null;
mod refusals;
