//! The tests of the public interface. They are one program: each further one takes seconds to link, and tens of
//! megabytes.

mod one_stream;
mod over_epoll;
mod over_io_uring;
mod ranks;
mod real_servers;
mod virtual_time;
