//! The null server's thread: one poll over the listener and all connections, each read in turns.
//! What a connection says is the session's business.

use std::collections::VecDeque;
use std::io;
use std::sync::PoisonError;
use std::time::Duration;

use mio::net::{TcpListener, UnixListener};
use mio::{Events, Interest, Poll, Token};

use super::connection::{Connection, Socket, Turn};
use super::{Heard, NullOptions};
use crate::session::{Fault, Manner, Received, Session};

/// Wakes the thread so that it ends.
pub(super) const WAKER: Token = Token(usize::MAX);
const LISTENER: Token = Token(usize::MAX - 1);
const EVENTS_PER_WAIT: usize = 1024;

/// A socket that accepts.
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// See the module.
pub(super) struct Service {
    poll: Poll,
    listener: Listener,
    options: NullOptions,
    manner: Manner,
    /// By token; those that are gone leave a hole.
    connections: Vec<Option<Connection>>,
    /// Connections that may have more to read.
    turns: VecDeque<usize>,
    buffer: Vec<u8>,
    log: Option<Heard>,
}

impl Service {
    pub(super) fn new(
        poll: Poll,
        mut listener: Listener,
        options: NullOptions,
        log: Option<Heard>,
    ) -> io::Result<Self> {
        match &mut listener {
            Listener::Tcp(listener) => poll.registry().register(listener, LISTENER, Interest::READABLE)?,
            Listener::Unix(listener) => poll.registry().register(listener, LISTENER, Interest::READABLE)?,
        }
        Ok(Self {
            poll,
            listener,
            manner: Manner::new(options.rows, None),
            connections: Vec::new(),
            turns: VecDeque::new(),
            buffer: vec![0; options.read_max.max(1)],
            options,
            log,
        })
    }

    /// Serves until woken.
    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS_PER_WAIT);
        loop {
            let timeout = (!self.turns.is_empty()).then_some(Duration::ZERO);
            match self.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return,
                _ => {}
            }
            for event in &events {
                match event.token() {
                    WAKER => return,
                    LISTENER => self.accept_all(),
                    Token(number) => {
                        if let Some(connection) = self.connections[number].as_mut() {
                            connection.has_news = true;
                            self.turns.push_back(number);
                        }
                    }
                }
            }
            for _ in 0..self.turns.len() {
                self.serve_next();
            }
        }
    }

    /// Takes in everybody who waits at the door.
    fn accept_all(&mut self) {
        while let Ok(socket) = self.accept() {
            let number = self.connections.len();
            let session = Session::new(
                u32::try_from(number).unwrap_or(u32::MAX),
                Fault::of(&self.options.faults, number),
            );
            let mut connection = Connection::new(socket, session);
            // A connection that cannot be watched is dropped, and so closed.
            if connection.watch(self.poll.registry(), Token(number)).is_ok() {
                self.connections.push(Some(connection));
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

    /// Gives the next connection its turn.
    fn serve_next(&mut self) {
        let Some(number) = self.turns.pop_front() else { return };
        let Self { connections, manner, buffer, log, turns, .. } = self;
        let Some(connection) = connections[number].as_mut().filter(|connection| connection.has_news) else {
            return;
        };
        let turn = connection.serve(manner, buffer, &mut |request| {
            if let Some(log) = log {
                let mut heard = log.lock().unwrap_or_else(PoisonError::into_inner);
                heard.push((number, Received::from(request)));
            }
        });
        match turn {
            Turn::Again => turns.push_back(number),
            Turn::Waits => connection.has_news = false,
            Turn::Over => connections[number] = None,
        }
    }
}
