//! The null server's thread: one poll over the listener and all connections, each read in turns.
//! What a connection says is the session's business.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mio::event::Event;
use mio::net::{TcpListener, UnixListener};
use mio::{Events, Interest, Poll, Token};

use super::connection::{Connection, Desk, Socket, Turn};
use super::server::{Heard, NullOptions};
use crate::session::{Fault, Manner, Received, Session};
use crate::stall::{Calendar, Mood};

/// Wakes the thread so that it ends.
pub(super) const WAKER: Token = Token(usize::MAX);
const LISTENER: Token = Token(usize::MAX - 1);
const EVENTS_PER_WAIT: usize = 1024;
/// How long those at the door wait when the system has no descriptor for them.
const DOOR_PAUSE: Duration = Duration::from_millis(10);

/// A socket that accepts.
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// The last thing that went wrong, until somebody asks.
#[derive(Clone, Debug, Default)]
pub(super) struct Trouble(Arc<Mutex<Option<String>>>);

impl Trouble {
    fn tell(&self, sentence: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sentence);
    }

    pub(super) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// See the module.
pub(super) struct Service {
    poll: Poll,
    listener: Listener,
    options: NullOptions,
    desk: Desk,
    /// By token; those that are gone leave a hole.
    connections: Vec<Option<Connection>>,
    holes: Vec<usize>,
    /// Connections accepted so far, which numbers them.
    accepted: usize,
    /// Somebody is at the door who could not be let in.
    door_waits: bool,
    /// That has been told.
    door_waits_said: bool,
    trouble: Trouble,
    /// Tokens of connections that may have more to read.
    turns: VecDeque<usize>,
    log: Option<Heard>,
    calendar: Option<Calendar>,
}

impl Service {
    pub(super) fn new(
        poll: Poll,
        mut listener: Listener,
        options: NullOptions,
        log: Option<Heard>,
        trouble: Trouble,
    ) -> io::Result<Self> {
        match &mut listener {
            Listener::Tcp(listener) => poll.registry().register(listener, LISTENER, Interest::READABLE)?,
            Listener::Unix(listener) => poll.registry().register(listener, LISTENER, Interest::READABLE)?,
        }
        let desk = Desk {
            manner: Manner::new(options.rows, None),
            input: vec![0; options.read_max.max(1)],
            output: Vec::new(),
        };
        Ok(Self {
            poll,
            listener,
            desk,
            connections: Vec::new(),
            holes: Vec::new(),
            accepted: 0,
            door_waits: false,
            door_waits_said: false,
            trouble,
            turns: VecDeque::new(),
            log,
            calendar: options.stalls.map(Calendar::new),
            options,
        })
    }

    /// Serves until woken.
    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS_PER_WAIT);
        loop {
            let mood = self.calendar.as_ref().map(Calendar::mood);
            let silent = matches!(mood, Some(Mood::Silent(_)));
            match self.poll.poll(&mut events, self.patience(mood)) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    return self
                        .trouble
                        .tell(format!("the null server cannot wait for its sockets: {error}"));
                }
                _ => {}
            }
            for event in &events {
                match event.token() {
                    WAKER => return,
                    LISTENER => self.door_waits = true,
                    Token(token) => self.hear_of(token, event),
                }
            }
            if silent {
                continue;
            }
            if self.door_waits {
                self.accept_all();
            }
            for _ in 0..self.turns.len() {
                self.serve_next();
            }
        }
    }

    /// How long to wait for news.
    fn patience(&self, mood: Option<Mood>) -> Option<Duration> {
        match mood {
            Some(Mood::Silent(left)) => Some(left),
            _ if !self.turns.is_empty() => Some(Duration::ZERO),
            _ if self.door_waits => Some(DOOR_PAUSE),
            // A silence in which somebody speaks begins when it is looked for, which is after each wait.
            Some(Mood::Answers(left)) => Some(left),
            None => None,
        }
    }

    fn hear_of(&mut self, token: usize, event: &Event) {
        if let Some(connection) = self.connections[token].as_mut() {
            connection.ends |= event.is_read_closed();
            if !std::mem::replace(&mut connection.has_news, true) {
                self.turns.push_back(token);
            }
        }
    }

    /// Takes in everybody who waits at the door.
    fn accept_all(&mut self) {
        loop {
            match self.accept() {
                Ok(socket) => {
                    self.door_waits_said = false;
                    self.let_in(socket);
                }
                Err(error) => {
                    self.door_waits = error.kind() != io::ErrorKind::WouldBlock;
                    if self.door_waits && !std::mem::replace(&mut self.door_waits_said, true) {
                        self.trouble.tell(format!(
                            "the null server cannot accept a client ({error}); clients wait until it can"
                        ));
                    }
                    return;
                }
            }
        }
    }

    fn accept(&self) -> io::Result<Socket> {
        match &self.listener {
            Listener::Unix(listener) => Ok(Socket::Unix(listener.accept()?.0)),
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(stream))
            }
        }
    }

    fn let_in(&mut self, socket: Socket) {
        let number = self.accepted;
        self.accepted += 1;
        let process_id = u32::try_from(number).unwrap_or(u32::MAX);
        let session = Session::new(process_id, Fault::of(&self.options.faults, number));
        let mut connection = Connection::new(number, socket, session);
        let token = self.holes.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        // A connection that cannot be watched is dropped, and so closed.
        match connection.watch(self.poll.registry(), Token(token)) {
            Ok(()) => self.connections[token] = Some(connection),
            Err(_) => self.holes.push(token),
        }
    }

    /// Gives the next connection its turn.
    fn serve_next(&mut self) {
        let Some(token) = self.turns.pop_front() else { return };
        let Self { connections, desk, log, turns, .. } = self;
        let Some(connection) = connections[token].as_mut() else { return };
        let number = connection.number;
        let turn = connection.serve(desk, &mut |request| {
            if let Some(log) = log {
                let mut heard = log.lock().unwrap_or_else(PoisonError::into_inner);
                heard.push((number, Received::from(request)));
            }
        });
        match turn {
            Turn::Again => turns.push_back(token),
            Turn::Waits => connection.has_news = false,
            Turn::Over => {
                connections[token] = None;
                self.holes.push(token);
            }
        }
    }
}
