//! The relay's thread: one wait over the listener and all sockets, and over what is due next. Everybody is read in
//! turns, and between any two of them it is seen whether something is due. What is read when and for how long
//! it is under way is the business of connections, lanes and links.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::Duration;

use mio::event::Event;
use mio::{Interest, Poll, Token};
use sockets::{Clock, Listener, Socket, TimedPoll, Timers, Wakeups};

use crate::complaints::Complaints;
use crate::config::Config;
use crate::connection::{CLIENT, Connection, Forwarded, Phase, SERVER, Turn};
use crate::link::Link;
use crate::statistics::{Statistics, ThreadTime};
use crate::urgency::go_first;

/// Wakes the thread: a request has come, or it should end.
pub(crate) const WAKER: Token = Token(usize::MAX - 1);
const LISTENER: Token = Token(usize::MAX - 2);
const EVENTS_PER_WAIT: usize = 1024;
/// What is read of one connection at once; others get their turn then.
const READ_BYTES: usize = 64 << 10;
/// When to try again what the system had no room for: a descriptor, a place in the server's queue.
const PAUSE: Duration = Duration::from_millis(5);
/// After so long a server that has no place for a connection counts as one that cannot be reached.
const PATIENCE: Duration = Duration::from_secs(30);

/// What can be due. Connections are named by their slot, lanes by twice that and the direction. An entry of a connection
/// that is gone meanwhile is recognised by the connection's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    /// The front of a lane goes to its socket.
    Forward {
        /// Which lane.
        lane: usize,
        /// Of which connection.
        number: u64,
    },
    /// The client's request to connect has come to the server's side.
    Connect {
        /// Where the connection is kept.
        slot: usize,
        /// Which one it is.
        number: u64,
    },
    /// The news that the server was reached has come to the client's side.
    Open {
        /// Where the connection is kept.
        slot: usize,
        /// Which one it is.
        number: u64,
    },
    /// There is room before the link of this direction.
    Room(usize),
    /// Clients may still wait to be accepted.
    Accept,
}

/// What the poll told of one socket.
#[derive(Clone, Copy, Debug)]
struct News {
    token: Token,
    readable: bool,
    writable: bool,
    /// The peer has closed its side: what is read next goes up to the end, which is no news any more.
    ends: bool,
}

impl From<&Event> for News {
    fn from(event: &Event) -> Self {
        Self {
            token: event.token(),
            readable: event.is_readable() || event.is_error(),
            writable: event.is_writable() || event.is_error(),
            ends: event.is_read_closed() || event.is_error(),
        }
    }
}

/// A request for the statistics: where they are to be sent.
pub(crate) type StatisticsRequest = Sender<Statistics>;

/// See the module.
pub(crate) struct Service {
    clock: Clock,
    poll: TimedPoll,
    listener: Listener,
    config: Config,
    schedule: Timers<Task>,
    /// By slot; those that are gone leave a hole.
    connections: Vec<Option<Connection>>,
    holes: Vec<usize>,
    links: [Option<Link>; 2],
    /// Sides that are to be read when there is room before the link of their direction.
    before_links: [VecDeque<usize>; 2],
    /// Sides that may have something to read: twice the slot, and the side.
    turns: VecDeque<usize>,
    buffer: Vec<u8>,
    /// Clients that were let in, ever.
    admitted: u64,
    /// Since it was last asked for.
    statistics: Statistics,
    /// How things were when it was last asked for: the thread's time, and what of it was polling.
    told: (ThreadTime, Duration),
    complaints: Complaints,
    /// Given up for a moment to turn somebody away when no descriptor is left.
    spare: Option<File>,
    requests: Receiver<StatisticsRequest>,
}

impl Service {
    pub(crate) fn new(
        poll: Poll,
        listener: Listener,
        config: Config,
        requests: Receiver<StatisticsRequest>,
        complaints: Complaints,
    ) -> io::Result<Self> {
        listener.register(poll.registry(), LISTENER)?;
        let clock = Clock::start();
        let poll = TimedPoll::new(poll, clock, EVENTS_PER_WAIT, Wakeups::with_budget(clock.now()))?;
        let link = config.network.bandwidth_bits_per_s.map(|bits| Link::new(bits, config.queue_bytes));
        Ok(Self {
            clock,
            poll,
            listener,
            schedule: Timers::default(),
            connections: Vec::new(),
            holes: Vec::new(),
            before_links: [VecDeque::new(), VecDeque::new()],
            turns: VecDeque::new(),
            buffer: vec![0; if link.is_some() { READ_BYTES.min(config.queue_bytes) } else { READ_BYTES }],
            links: [link.clone(), link],
            admitted: 0,
            statistics: Statistics::default(),
            told: Default::default(),
            complaints,
            spare: spare(),
            requests,
            config,
        })
    }

    /// Relays until nobody can ask any more.
    pub(crate) fn run(mut self) -> io::Result<Statistics> {
        go_first();
        let mut news = Vec::new();
        loop {
            self.do_due();
            let until = if self.turns.is_empty() { self.schedule.earliest() } else { Some(self.clock.now()) };
            news.clear();
            self.poll.wait(until, |_, _, ready| {
                news.extend(ready.map(News::from));
                !news.is_empty()
            })?;
            for one in &news {
                match one.token {
                    WAKER => {
                        if self.answer() {
                            return Ok(self.take_statistics());
                        }
                    }
                    LISTENER => self.accept_all(),
                    Token(side) => self.hear_of(side, one),
                }
            }
            for _ in 0..self.turns.len() {
                self.read_next();
                self.do_due();
            }
        }
    }

    /// Answers all requests; says whether it is time to end.
    fn answer(&mut self) -> bool {
        loop {
            match self.requests.try_recv() {
                // Who asked and has gone needs no answer.
                Ok(request) => drop(request.send(self.take_statistics())),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => return true,
            }
        }
    }

    fn take_statistics(&mut self) -> Statistics {
        let open = self.statistics.open;
        let statistics = std::mem::take(&mut self.statistics);
        self.statistics.open = open;
        let (time, polled) = (ThreadTime::now(), self.poll.polled());
        let (time_before, polled_before) = std::mem::replace(&mut self.told, (time, polled));
        let ThreadTime { cpu, waited } = time.since(time_before);
        Statistics { cpu_time: cpu, waited, polled: polled.saturating_sub(polled_before), ..statistics }
    }

    /// Lets in everybody who is at the door.
    fn accept_all(&mut self) {
        loop {
            match self.listener.accept() {
                Ok(client) => self.let_in(client),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    self.complain(&error);
                    // There will be no other news of those who are still at the door.
                    if !self.turn_away() {
                        return self.schedule.set(self.clock.now() + PAUSE, Task::Accept);
                    }
                }
            }
        }
    }

    /// Lets somebody in with the descriptor that was kept for it, to close the door at once: whoever is kept waiting
    /// waits forever. Says whether there was one.
    fn turn_away(&mut self) -> bool {
        self.spare = None;
        let turned_away = self.listener.accept().is_ok();
        self.spare = spare();
        self.statistics.connections += u64::from(turned_away);
        self.statistics.refused += u64::from(turned_away);
        turned_away
    }

    fn complain(&mut self, error: &io::Error) {
        let (now, open) = (self.clock.now(), self.statistics.open);
        self.complaints.turned_away(error, &self.config.to, open, now);
    }

    fn let_in(&mut self, client: Socket) {
        let number = self.admitted;
        let slot = self.holes.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        // A client that cannot be watched is dropped, and so closed.
        if client.register(self.poll.registry(), Token(2 * slot + CLIENT), Interest::READABLE).is_err() {
            return self.holes.push(slot);
        }
        self.admitted += 1;
        self.statistics.connections += 1;
        self.statistics.open += 1;
        let mut connection = Connection::new(number, client, &self.config.network);
        let arrives = self.clock.now() + connection.sign(CLIENT);
        self.schedule.set(arrives, Task::Connect { slot, number });
        self.connections[slot] = Some(connection);
    }

    fn hear_of(&mut self, side: usize, news: &News) {
        let (slot, own) = (side / 2, side % 2);
        let Some(connection) = self.connections.get_mut(slot).and_then(Option::as_mut) else { return };
        if news.ends {
            connection.will_end(own);
        }
        if own == SERVER && connection.phase == Phase::Reaching {
            self.see_whether_reached(slot);
        } else if news.writable && connection.unblock(own, self.clock.now()) {
            self.listen_to(slot, own, false);
            self.forward(2 * slot + (1 - own));
        }
        if news.readable {
            self.give_turn(side);
        }
    }

    fn see_whether_reached(&mut self, slot: usize) {
        let Some(connection) = self.connections[slot].as_mut() else { return };
        match connection.is_reached() {
            Ok(true) => {
                connection.phase = Phase::Answering;
                let known = self.clock.now() + connection.sign(SERVER);
                self.schedule.set(known, Task::Open { slot, number: connection.number });
                self.listen_to(slot, SERVER, false);
                self.give_turn(2 * slot + SERVER);
            }
            Ok(false) => {}
            Err(error) => self.refuse(slot, &error),
        }
    }

    fn give_turn(&mut self, side: usize) {
        let connection = self.connections[side / 2].as_mut();
        if connection.is_some_and(|connection| connection.wants_turn(side % 2)) {
            self.turns.push_back(side);
        }
    }

    /// Reads whoever is next, unless the link of that direction is full.
    fn read_next(&mut self) {
        let Some(side) = self.turns.pop_front() else { return };
        let direction = side % 2;
        if let Some(room_at) = self.links[direction].as_ref().map(Link::room_at)
            && (room_at > self.clock.now() || !self.before_links[direction].is_empty())
        {
            if self.before_links[direction].is_empty() {
                self.schedule.set(room_at, Task::Room(direction));
            }
            // Its turn has not been taken, so that it waits here once only.
            return self.before_links[direction].push_back(side);
        }
        if self.read(side) {
            self.turns.push_back(side);
        }
    }

    /// Reads a side whose turn it is; says whether it has another turn.
    fn read(&mut self, side: usize) -> bool {
        let (slot, own) = (side / 2, side % 2);
        let Some(connection) = self.connections[slot].as_mut() else { return false };
        if !connection.begin_turn(own) {
            return false;
        }
        let clock = self.clock;
        let link = self.links[own].as_mut();
        let turn = connection.read(own, &mut self.buffer, self.config.buffer_bytes, || clock.now(), link);
        let again = turn == Turn::Again && connection.wants_turn(own);
        self.schedule_lane(side);
        again
    }

    /// Reads those that wait before a link, until it is full again.
    fn fill_link(&mut self, direction: usize) {
        for _ in 0..self.before_links[direction].len() {
            let room_at = self.links[direction].as_ref().map(Link::room_at);
            if let Some(room_at) = room_at.filter(|room_at| *room_at > self.clock.now()) {
                return self.schedule.set(room_at, Task::Room(direction));
            }
            let Some(side) = self.before_links[direction].pop_front() else { return };
            if self.read(side) {
                self.before_links[direction].push_back(side);
            }
        }
        if !self.before_links[direction].is_empty() {
            // Each was read once; what is due comes before the next round.
            self.schedule.set(self.clock.now(), Task::Room(direction));
        }
    }

    fn schedule_lane(&mut self, lane: usize) {
        let Some(connection) = self.connections[lane / 2].as_mut() else { return };
        if let Some(due) = connection.schedule_next(lane % 2) {
            self.schedule.set(due, Task::Forward { lane, number: connection.number });
        }
    }

    /// Does what is due, all of it.
    fn do_due(&mut self) {
        while let Some((_, task)) = self.schedule.pop_due(self.clock.now()) {
            match task {
                Task::Forward { lane, number } => {
                    if let Some(connection) = self.same(lane / 2, number) {
                        connection.no_longer_scheduled(lane % 2);
                        self.forward(lane);
                    }
                }
                Task::Connect { slot, number } => {
                    if self.same(slot, number).is_some() {
                        self.connect(slot);
                    }
                }
                Task::Open { slot, number } => {
                    if let Some(connection) = self.same(slot, number) {
                        connection.phase = Phase::Open;
                        self.give_turn(2 * slot + CLIENT);
                    }
                }
                Task::Room(direction) => self.fill_link(direction),
                Task::Accept => self.accept_all(),
            }
        }
    }

    /// The connection in this slot, if it is still that one.
    fn same(&mut self, slot: usize, number: u64) -> Option<&mut Connection> {
        self.connections[slot].as_mut().filter(|connection| connection.number == number)
    }

    fn connect(&mut self, slot: usize) {
        let Some(connection) = self.connections[slot].as_mut() else { return };
        let now = self.clock.now();
        let asked_at = *connection.asked_at.get_or_insert(now);
        let connected = Socket::connect(&self.config.to).and_then(|server| {
            // It is writable when it is connected.
            let news = Interest::READABLE | Interest::WRITABLE;
            server.register(self.poll.registry(), Token(2 * slot + SERVER), news)?;
            Ok(server)
        });
        match connected {
            Ok(server) => connection.reach(server),
            Err(error) if may_pass(&error) && !connection.is_left() && now.since(asked_at) < PATIENCE => {
                self.schedule.set(now + PAUSE, Task::Connect { slot, number: connection.number });
            }
            Err(error) => self.refuse(slot, &error),
        }
    }

    fn refuse(&mut self, slot: usize, error: &io::Error) {
        self.complain(error);
        let Some(connection) = self.connections[slot].as_mut() else { return };
        self.statistics.refused += 1;
        connection.refuse(self.clock.now());
        self.schedule_lane(2 * slot + SERVER);
    }

    fn close(&mut self, slot: usize) {
        if self.connections[slot].take().is_some() {
            self.holes.push(slot);
            self.statistics.open -= 1;
        }
    }

    /// See [`Connection::listen_to`]; a connection of which nothing would be heard any more is closed.
    fn listen_to(&mut self, slot: usize, side: usize, writable: bool) {
        let (registry, token) = (self.poll.registry(), Token(2 * slot + side));
        let connection = self.connections[slot].as_ref();
        if connection.is_some_and(|connection| !connection.listen_to(side, writable, registry, token)) {
            self.close(slot);
        }
    }

    /// Hands on what is due in a lane.
    fn forward(&mut self, lane: usize) {
        let (slot, direction) = (lane / 2, lane % 2);
        let Some(connection) = self.connections[slot].as_mut() else { return };
        let now = self.clock.now();
        match connection.forward(direction, self.config.buffer_bytes, now, &mut self.statistics) {
            Forwarded::Over => self.close(slot),
            Forwarded::Goes { resume, blocked } => {
                if blocked {
                    self.listen_to(slot, 1 - direction, true);
                }
                self.schedule_lane(lane);
                if resume {
                    self.give_turn(lane);
                }
            }
        }
    }
}

/// Whether there may be room a little later: a full queue of a Unix socket.
fn may_pass(error: &io::Error) -> bool {
    rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::AGAIN)
}

/// A descriptor for nothing; none if the system has none.
fn spare() -> Option<File> {
    File::open("/dev/null").ok()
}
