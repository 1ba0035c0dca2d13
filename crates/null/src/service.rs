//! The null server's thread: one poll for the listener and all connections, which are served in turns. The session
//! handles the protocol.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mio::event::Event;
use mio::{Events, Interest, Poll, Token};
use sockets::{Alarm, Clock, Listener, Socket};

use super::connection::{Connection, Shared, Turn};
use crate::options::NullOptions;
use crate::service_time::ServiceQueue;
use crate::session::{Fault, Session, SessionConfig};
use crate::stall::{StallPhase, StallSchedule};

/// Wakes the thread in order to stop it.
pub(super) const WAKER: Token = Token(usize::MAX);
const LISTENER: Token = Token(usize::MAX - 1);
const ALARM: Token = Token(usize::MAX - 2);
const EVENTS_PER_WAIT: usize = 1024;
/// Pause before accepting again if the system has no free descriptor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// The last error, until it is read.
#[derive(Clone, Debug, Default)]
pub(super) struct LastError(Arc<Mutex<Option<String>>>);

impl LastError {
    fn report(&self, sentence: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sentence);
    }

    pub(super) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Statements that are served, the clock, and what wakes the thread when one is done.
struct Delays {
    queue: ServiceQueue,
    clock: Clock,
    alarm: Alarm,
}

/// State of the thread.
pub(super) struct Service {
    poll: Poll,
    listener: Listener,
    options: NullOptions,
    shared: Shared,
    /// By token; `None` for closed connections.
    connections: Vec<Option<Connection>>,
    holes: Vec<usize>,
    /// Number of accepted connections, also the number of the next one.
    accepted: usize,
    /// Clients are waiting to be accepted.
    clients_wait: bool,
    /// The failure to accept them has been reported.
    waiting_reported: bool,
    error: LastError,
    /// Tokens of connections that may have more to read.
    turns: VecDeque<usize>,
    stalls: Option<StallSchedule>,
    /// Statements that are served.
    delays: Option<Delays>,
}

impl Service {
    pub(super) fn new(
        poll: Poll,
        listener: Listener,
        options: NullOptions,
        error: LastError,
    ) -> io::Result<Self> {
        listener.register(poll.registry(), LISTENER)?;
        let shared = Shared {
            config: SessionConfig::new(options.rows, None),
            input: vec![0; options.read_max.max(1)],
            output: Vec::new(),
            holds: options.service_time.is_some(),
        };
        let delays = options.service_time.map(|plan| {
            let alarm = Alarm::new(poll.registry(), ALARM)?;
            Ok::<_, io::Error>(Delays { queue: ServiceQueue::new(plan), clock: Clock::start(), alarm })
        });
        Ok(Self {
            poll,
            listener,
            shared,
            connections: Vec::new(),
            holes: Vec::new(),
            accepted: 0,
            clients_wait: false,
            waiting_reported: false,
            error,
            turns: VecDeque::new(),
            stalls: options.stalls.map(StallSchedule::new),
            delays: delays.transpose()?,
            options,
        })
    }

    /// Serves until it is woken.
    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS_PER_WAIT);
        loop {
            let phase = self.stalls.as_ref().map(StallSchedule::phase);
            let silent = matches!(phase, Some(StallPhase::Silent(_)));
            let limit = self.wait_limit(phase);
            match self.poll.poll(&mut events, limit) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    return self
                        .error
                        .report(format!("the null server cannot wait for its sockets: {error}"));
                }
                _ => {}
            }
            for event in &events {
                match event.token() {
                    WAKER => return,
                    ALARM => {}
                    LISTENER => self.clients_wait = true,
                    Token(token) => self.on_event(token, event),
                }
            }
            if silent {
                continue;
            }
            if self.clients_wait {
                self.accept_all();
            }
            for _ in 0..self.turns.len() {
                self.serve_next();
            }
            self.answer_due();
        }
    }

    /// Maximum wait for events.
    fn wait_limit(&mut self, phase: Option<StallPhase>) -> Option<Duration> {
        let due = self.delays.as_mut().and_then(|Delays { queue, clock, alarm }| {
            let (at, now) = (queue.earliest()?, clock.now());
            Some(alarm.set(at, now).unwrap_or_else(|_| at.since(now)))
        });
        let limit = match phase {
            Some(StallPhase::Silent(left)) => Some(left),
            _ if !self.turns.is_empty() => Some(Duration::ZERO),
            _ if self.clients_wait => Some(ACCEPT_PAUSE),
            // The start of a silence is detected after each wait.
            Some(StallPhase::Answers(left)) => Some(left),
            None => None,
        };
        match phase {
            Some(StallPhase::Silent(_)) => limit,
            _ => limit.into_iter().chain(due).min(),
        }
    }

    /// Sends the answers that are due.
    fn answer_due(&mut self) {
        let next = |delays: &mut Delays| delays.queue.pop_due(delays.clock.now());
        while let Some((token, number)) = self.delays.as_mut().and_then(next) {
            let Some(connection) = self.connections[token].as_mut().filter(|it| it.number == number) else {
                continue;
            };
            if !connection.answer() {
                self.connections[token] = None;
                self.holes.push(token);
            }
        }
    }

    fn on_event(&mut self, token: usize, event: &Event) {
        if let Some(connection) = self.connections[token].as_mut() {
            connection.ends |= event.is_read_closed();
            if !std::mem::replace(&mut connection.has_news, true) {
                self.turns.push_back(token);
            }
        }
    }

    /// Accepts all waiting clients.
    fn accept_all(&mut self) {
        loop {
            match self.listener.accept() {
                Ok(socket) => {
                    self.waiting_reported = false;
                    self.add(socket);
                }
                Err(error) => {
                    self.clients_wait = error.kind() != io::ErrorKind::WouldBlock;
                    if self.clients_wait && !std::mem::replace(&mut self.waiting_reported, true) {
                        self.error.report(format!(
                            "the null server cannot accept a client ({error}); clients wait"
                        ));
                    }
                    return;
                }
            }
        }
    }

    fn add(&mut self, socket: Socket) {
        let number = self.accepted;
        self.accepted += 1;
        let process_id = u32::try_from(number).unwrap_or(u32::MAX);
        let session = Session::new(process_id, Fault::of(&self.options.faults, number));
        let interest = Interest::READABLE | Interest::WRITABLE;
        let token = self.holes.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        // A connection that cannot be registered is closed.
        match socket.register(self.poll.registry(), Token(token), interest) {
            Ok(()) => self.connections[token] = Some(Connection::new(number, socket, session)),
            Err(_) => self.holes.push(token),
        }
    }

    /// Serves the next connection.
    fn serve_next(&mut self) {
        let Some(token) = self.turns.pop_front() else { return };
        let Self { connections, shared, options, turns, .. } = self;
        let Some(connection) = connections[token].as_mut() else { return };
        let number = connection.number;
        let turn = connection.serve(shared, &mut |request| {
            if let Some(on_request) = &options.on_request {
                on_request(number, request);
            }
        });
        match turn {
            Turn::Again => turns.push_back(token),
            Turn::Waits => connection.has_news = false,
            Turn::Asked(statements) => {
                turns.push_back(token);
                if let Some(Delays { queue, clock, .. }) = &mut self.delays {
                    queue.arrive(statements, (token, number), clock.now());
                }
            }
            Turn::Over => {
                connections[token] = None;
                self.holes.push(token);
            }
        }
    }
}
