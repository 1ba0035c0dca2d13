//! Sockets over Linux's io_uring: many of them sent to, and heard, with one system call. The one crate with `unsafe`.
//!
//! Safe to use because the ring owns all memory that the kernel may touch: what is sent is copied into its arena, what
//! comes lies in its pool and is lent out one piece at a time, and the memory is freed only when the kernel has let go
//! of it. Knows nothing of PostgreSQL; used by the engine's driver. Empty on other systems than Linux.
//! [`become_real_time`], for the relay, [`take_inherited`], for the ranks of a job, and [`check_stdout`] are here because
//! they need `unsafe` too.

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
