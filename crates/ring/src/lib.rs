//! Sockets over Linux's io_uring: many are read and written with one system call.
//!
//! Safe to use because the ring owns all memory that the kernel may touch: what is sent is copied into its arena, what
//! comes lies in its pool and is lent out one piece at a time, and the memory is freed only when the kernel has let go
//! of it. Knows no protocol. Empty on other systems than Linux.
//! [`become_real_time`], [`take_inherited`] and [`check_stdout`] are here because they need `unsafe` too.

#![cfg(target_os = "linux")]

mod arena;
mod inherited;
mod pool;
mod ring;
mod scheduling;
mod tag;

pub use inherited::{INHERITED_VARIABLES, check_stdout, take_inherited};
pub use ring::{Event, Options, Refused, Ring, Unsent};
pub use scheduling::become_real_time;
