//! One connection through the relay: a socket on either side, a delay line in either direction. It is opened as TCP's
//! would be: the client's request travels to the server, the answer back, and only then the client's first byte begins
//! its way. The service, which has the clock, the links and the schedule, tells it what to do.

use std::io;

use mio::{Interest, Registry, Token};
use sockets::Socket;
use stats::Timestamp;

use crate::config::Network;
use crate::delay_line::{DelayLine, End};
use crate::delays::Delays;
use crate::link::Link;
use crate::statistics::Statistics;

/// The side of the client, and the direction that begins there.
pub(crate) const CLIENT: usize = 0;
/// The side of the server, and the direction that begins there.
pub(crate) const SERVER: usize = 1;

/// How far the opening has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The request to connect is on its way, or the server's side has no room for it yet.
    Requested,
    /// The server's side is being connected.
    Connecting,
    /// It is; the news is on its way back.
    Confirming,
    /// Both sides know.
    Open,
    /// The server is not to be reached; that news is on its way back.
    Refused,
}

/// One direction: what is under way, who sends it, who takes it.
struct Direction {
    line: DelayLine,
    /// Its sender has more to say, or may have.
    sends: bool,
    /// Its receiver takes what comes, or will.
    takes: bool,
    /// The receiver's socket is full.
    blocked: bool,
    /// When it was found to take bytes again. What was due before that is not late by our fault.
    unblocked_at: Timestamp,
    /// So much is under way that its sender is not read.
    full: bool,
    /// The forwarding of the next piece stands in the schedule.
    scheduled: bool,
    /// Its sender is in the queue of those that are read.
    has_turn: bool,
}

/// How a turn of reading ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// There may be more to read.
    Again,
    /// Nothing to read until there is news.
    Waits,
}

/// How forwarding ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forwarded {
    /// So far so good; the sender should be read again if so.
    Goes {
        /// There is room for more.
        resume: bool,
        /// The receiver takes nothing at present.
        blocked: bool,
    },
    /// The connection is over.
    Over,
}

/// See the module.
pub(crate) struct Connection {
    /// In the order in which they were let in.
    pub(crate) number: u64,
    pub(crate) phase: Phase,
    /// When the client's request reached the server's side.
    pub(crate) asked_at: Option<Timestamp>,
    pub(crate) sockets: [Option<Socket>; 2],
    /// The peer has closed that side: reading goes on up to the end, which is no news any more.
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

    /// How long a signal without bytes takes in this direction.
    pub(crate) fn control_delay(&mut self, direction: usize) -> std::time::Duration {
        self.directions[direction].line.control_delay()
    }

    /// Whether the server's side is connected by now.
    pub(crate) fn is_server_connected(&self) -> io::Result<bool> {
        self.sockets[SERVER].as_ref().map_or(Ok(false), Socket::is_connected)
    }

    /// The server cannot be reached, as is seen now.
    pub(crate) fn refuse(&mut self, now: Timestamp) {
        self.phase = Phase::Refused;
        self.sockets[SERVER] = None;
        self.directions[SERVER].sends = false;
        self.directions[SERVER].line.end(End::Reset, now);
    }

    /// Wants to hear when this side has something to read, and, if so asked, when it takes bytes again. Not of the latter
    /// all the time: a Unix socket has that news each time its peer has read something.
    pub(crate) fn listen_to(&self, side: usize, writable: bool, registry: &Registry, token: Token) -> bool {
        let news = if writable { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        self.sockets[side].as_ref().is_none_or(|socket| socket.reregister(registry, token, news).is_ok())
    }

    /// Whether this side is to be read, and is not in the queue for that yet; it is then.
    pub(crate) fn wants_turn(&mut self, side: usize) -> bool {
        !self.directions[side].full
            && self.may_read(side)
            && !std::mem::replace(&mut self.directions[side].has_turn, true)
    }

    /// Its turn has come; says whether it is still to be read.
    pub(crate) fn begin_turn(&mut self, side: usize) -> bool {
        self.directions[side].has_turn = false;
        self.may_read(side)
    }

    /// What was sent before a connection is open stays in its sender's socket.
    fn may_read(&self, side: usize) -> bool {
        let state = &self.directions[side];
        let open = match side {
            CLIENT => self.phase == Phase::Open,
            _ => matches!(self.phase, Phase::Confirming | Phase::Open),
        };
        open && state.sends && state.takes
    }

    /// Reads once, no more than may be under way.
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
                // A read that was not filled has emptied the socket (epoll(7), questions and answers).
                return if count == most || self.ends[side] { Turn::Again } else { Turn::Waits };
            }
            Err(_) => End::Reset,
        };
        state.sends = false;
        state.line.end(end, now());
        Turn::Waits
    }

    /// When this direction is to be forwarded next, if that does not stand in the schedule yet; it does then.
    pub(crate) fn schedule_next(&mut self, direction: usize) -> Option<Timestamp> {
        let state = &mut self.directions[direction];
        if state.scheduled || state.blocked {
            return None;
        }
        let due = state.line.next_due()?;
        state.scheduled = true;
        Some(due)
    }

    /// What stood in the schedule has come.
    pub(crate) fn no_longer_scheduled(&mut self, direction: usize) {
        self.directions[direction].scheduled = false;
    }

    /// The socket of this side takes bytes again; says whether some wait for that.
    pub(crate) fn unblock(&mut self, side: usize, now: Timestamp) -> bool {
        let state = &mut self.directions[1 - side];
        let was_blocked = std::mem::replace(&mut state.blocked, false);
        if was_blocked {
            state.unblocked_at = now;
        }
        was_blocked
    }

    /// Hands on what is due in one direction, the end of the stream included.
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
                    *statistics.bytes_in(direction) += count as u64;
                }
                Ok(None) => {
                    state.blocked = true;
                    break;
                }
                // Its other direction will tell how it ended, and its sender will hear of that.
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
