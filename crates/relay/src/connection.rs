//! One connection through the relay: a socket and a delay line per side. Opening takes as long as with TCP: the
//! client's request travels to the server, the response travels back, and only then the client's first byte is sent.
//! The service has the clock, the links and the schedule, and calls these methods.

use std::io;

use mio::{Interest, Registry, Token};
use sockets::Socket;
use stats::Timestamp;

use crate::config::Network;
use crate::delay_line::{DelayLine, End};
use crate::delays::Delays;
use crate::link::Link;
use crate::statistics::Statistics;

/// Index of the client's side, and of the direction from client to server.
pub(crate) const CLIENT: usize = 0;
/// Index of the server's side, and of the direction from server to client.
pub(crate) const SERVER: usize = 1;

/// State of the opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The request to connect is in transit, or the server's accept queue is full.
    Requested,
    /// The relay is connecting to the server.
    Connecting,
    /// The relay is connected; the response is in transit to the client.
    Confirming,
    /// Open on both sides.
    Open,
    /// The server is unreachable; the response is in transit to the client.
    Refused,
}

/// State of one direction.
struct Direction {
    line: DelayLine,
    /// The sender may send more data.
    sends: bool,
    /// The receiver accepts data.
    takes: bool,
    /// The receiver's socket buffer is full.
    blocked: bool,
    /// Time at which the socket became writable again, or a fault ended. The relay did not cause delays before it.
    unblocked_at: Timestamp,
    /// The limit of bytes in transit is reached, so the sender is not read.
    full: bool,
    /// The forwarding of the next piece is scheduled.
    scheduled: bool,
    /// The sender is in the read queue.
    has_turn: bool,
}

/// Result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// More data may be available.
    Again,
    /// No data until the next event.
    Waits,
}

/// Result of forwarding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forwarded {
    /// The connection continues.
    Goes {
        /// Whether the sender should be read again.
        resume: bool,
        /// Whether the receiver's socket is full.
        blocked: bool,
    },
    /// The connection has ended.
    Over,
}

/// A connection through the relay.
pub(crate) struct Connection {
    /// Number in the order of acceptance.
    pub(crate) number: u64,
    pub(crate) phase: Phase,
    /// Arrival of the client's request at the server's side.
    pub(crate) asked_at: Option<Timestamp>,
    pub(crate) sockets: [Option<Socket>; 2],
    /// The peer has closed this side; data until the end of the stream may remain, and no further event announces the
    /// end.
    pub(crate) ends: [bool; 2],
    directions: [Direction; 2],
}

impl Direction {
    fn new(delays: Delays) -> Self {
        Self {
            line: DelayLine::new(delays),
            sends: true,
            takes: true,
            blocked: false,
            unblocked_at: Timestamp::ZERO,
            full: false,
            scheduled: false,
            has_turn: false,
        }
    }
}

impl Connection {
    pub(crate) fn new(number: u64, client: Socket, network: &Network) -> Self {
        Self {
            number,
            phase: Phase::Requested,
            asked_at: None,
            sockets: [Some(client), None],
            ends: [false; 2],
            directions: [CLIENT, SERVER]
                .map(|direction| Direction::new(Delays::new(network, number, direction))),
        }
    }

    /// Delays further data by this much more.
    pub(crate) fn slow_down(&mut self, slow: std::time::Duration) {
        self.directions.iter_mut().for_each(|direction| direction.line.slow_down(slow));
    }

    /// Delays of this direction before `now` were caused by a fault.
    pub(crate) fn count_lateness_from(&mut self, direction: usize, now: Timestamp) {
        self.directions[direction].unblocked_at = now;
    }

    /// Resets both sides.
    pub(crate) fn reset(&mut self) {
        self.sockets.iter_mut().filter_map(Option::take).for_each(Socket::reset);
    }

    /// Delay of a signal without data in this direction.
    pub(crate) fn control_delay(&mut self, direction: usize) -> std::time::Duration {
        self.directions[direction].line.control_delay()
    }

    /// Whether the connection to the server is established.
    pub(crate) fn is_server_connected(&self) -> io::Result<bool> {
        self.sockets[SERVER].as_ref().map_or(Ok(false), Socket::is_connected)
    }

    /// Marks the server as unreachable, as of `now`.
    pub(crate) fn refuse(&mut self, now: Timestamp) {
        self.phase = Phase::Refused;
        self.sockets[SERVER] = None;
        self.directions[SERVER].sends = false;
        self.directions[SERVER].line.end(End::Reset, now);
    }

    /// Registers interest in readability of this side, and with `writable` in writability. Writability is not
    /// permanent, because a Unix-domain socket reports it after each read of its peer.
    pub(crate) fn listen_to(&self, side: usize, writable: bool, registry: &Registry, token: Token) -> bool {
        let news = if writable { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        self.sockets[side].as_ref().is_none_or(|socket| socket.reregister(registry, token, news).is_ok())
    }

    /// Whether this side is to be read and is not in the read queue yet; marks it as queued.
    pub(crate) fn wants_turn(&mut self, side: usize) -> bool {
        !self.directions[side].full
            && self.may_read(side)
            && !std::mem::replace(&mut self.directions[side].has_turn, true)
    }

    /// Removes this side from the read queue; returns whether it is still to be read.
    pub(crate) fn begin_turn(&mut self, side: usize) -> bool {
        self.directions[side].has_turn = false;
        self.may_read(side)
    }

    /// Data sent before the connection is open stays in the sender's socket.
    fn may_read(&self, side: usize) -> bool {
        let state = &self.directions[side];
        let open = match side {
            CLIENT => self.phase == Phase::Open,
            _ => matches!(self.phase, Phase::Confirming | Phase::Open),
        };
        open && state.sends && state.takes
    }

    /// Reads once, within the limit of bytes in transit.
    pub(crate) fn read(
        &mut self,
        side: usize,
        buffer: &mut [u8],
        buffer_bytes: usize,
        now: impl FnOnce() -> Timestamp,
        link: Option<&mut Link>,
    ) -> Turn {
        let (Some(socket), state) = (&self.sockets[side], &mut self.directions[side]) else {
            return Turn::Waits;
        };
        let room = buffer_bytes.saturating_sub(state.line.len());
        if room == 0 {
            state.full = true;
            return Turn::Waits;
        }
        let most = buffer.len().min(room);
        let end = match socket.read(&mut buffer[..most]) {
            Ok(None) => return Turn::Waits,
            Ok(Some(0)) => End::Closed,
            Ok(Some(count)) => {
                state.line.put(&buffer[..count], now(), link);
                // A short read has emptied the socket (epoll(7), questions and answers).
                return if count == most || self.ends[side] { Turn::Again } else { Turn::Waits };
            }
            Err(_) => End::Reset,
        };
        state.sends = false;
        state.line.end(end, now());
        Turn::Waits
    }

    /// Time of the next forwarding in this direction, if it is not scheduled yet; marks it as scheduled.
    pub(crate) fn schedule_next(&mut self, direction: usize) -> Option<Timestamp> {
        let state = &mut self.directions[direction];
        if state.scheduled || state.blocked {
            return None;
        }
        let due = state.line.next_due()?;
        state.scheduled = true;
        Some(due)
    }

    /// Marks the next forwarding as not scheduled.
    pub(crate) fn no_longer_scheduled(&mut self, direction: usize) {
        self.directions[direction].scheduled = false;
    }

    /// Marks this side's socket as writable; returns whether data waits for it.
    pub(crate) fn unblock(&mut self, side: usize, now: Timestamp) -> bool {
        let state = &mut self.directions[1 - side];
        let was_blocked = std::mem::replace(&mut state.blocked, false);
        if was_blocked {
            state.unblocked_at = now;
        }
        was_blocked
    }

    /// Forwards the due data of one direction, and the end of the stream.
    pub(crate) fn forward(
        &mut self,
        direction: usize,
        buffer_bytes: usize,
        now: Timestamp,
        statistics: &mut Statistics,
    ) -> Forwarded {
        let receiver = 1 - direction;
        let state = &mut self.directions[direction];
        let Some(socket) = &self.sockets[receiver] else {
            return Forwarded::Goes { resume: false, blocked: false };
        };
        loop {
            let bytes = state.line.due(now);
            if bytes[0].is_empty() {
                break;
            }
            match socket.write_vectored(&bytes) {
                Ok(Some(count)) => {
                    let counts_from = state.unblocked_at;
                    state.line.take(count, |due| {
                        if due >= counts_from {
                            statistics.late.record(now.since(due));
                        }
                    });
                    let forwarded = match direction {
                        CLIENT => &mut statistics.bytes_to_server,
                        _ => &mut statistics.bytes_to_client,
                    };
                    *forwarded += count as u64;
                }
                Ok(None) => {
                    state.blocked = true;
                    break;
                }
                // The other direction detects how the connection ended and reports it to the sender.
                Err(_) => {
                    state.line.abandon();
                    state.takes = false;
                    break;
                }
            }
        }
        match state.line.due_end(now) {
            Some(End::Reset) => {
                if let Some(socket) = self.sockets[receiver].take() {
                    socket.reset();
                }
                return Forwarded::Over;
            }
            Some(End::Closed) => {
                socket.close_writing();
                state.line.abandon();
                state.takes = false;
            }
            None => {}
        }
        if self.directions.iter().all(|state| !state.takes) {
            return Forwarded::Over;
        }
        let state = &mut self.directions[direction];
        let resume = state.full && state.line.len() <= buffer_bytes / 2;
        state.full &= !resume;
        Forwarded::Goes { resume, blocked: state.blocked }
    }
}
