//! The tests of real sockets over io_uring, or what stands in for it where that is refused. They are the same for each event
//! loop and stand in `sockets`.

use pgmeter_engine::EventLoopChoice;

#[path = "sockets/over_tls.rs"]
mod over_tls;
#[path = "sockets/pressure.rs"]
mod pressure;
#[path = "sockets/real_sockets.rs"]
mod real_sockets;

/// What they run over.
const EVENT_LOOP: EventLoopChoice = EventLoopChoice::Auto;
