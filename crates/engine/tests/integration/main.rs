//! The tests of the public interface, in one program: each program that is linked takes seconds and tens of megabytes.

mod one_stream;
mod over_epoll;
mod over_io_uring;
mod ranks;
mod real_servers;
mod virtual_time;
