//! The relay's thread: one wait over the listener, all sockets and the schedule. Sockets are read in turns, and due
//! tasks run between two reads. Connections, delay lines and links decide about times and limits.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::Duration;

use mio::event::Event;
use mio::{Interest, Poll, Token};
use sockets::{Clock, Listener, Socket, TimedPoll, Timers, Wakeups};

use crate::config::Config;
use crate::connection::{CLIENT, Connection, Forwarded, Phase, SERVER, Turn};
use crate::error::RelayError;
use crate::error_reports::ErrorReports;
use crate::faults::{Fault, Faults};
use crate::link::Link;
use crate::statistics::{Statistics, ThreadTime};

/// Wakes the thread for a request, or to end it.
pub(crate) const WAKER: Token = Token(usize::MAX - 1);
const LISTENER: Token = Token(usize::MAX - 2);
const EVENTS_PER_WAIT: usize = 1024;
/// Maximum bytes per read of one connection, before the next one's turn.
const READ_BYTES: usize = 64 << 10;
/// Delay before a retry after a lack of resources: descriptors, or room in the server's accept queue.
const RETRY_PAUSE: Duration = Duration::from_millis(5);
/// Time after which a server with a full accept queue counts as unreachable.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);

/// Scheduled tasks. A connection is identified by its slot, a delay line by twice the slot plus the direction. The
/// connection's number detects tasks of connections that have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    /// Forward the first piece of a delay line.
    Forward {
        /// The delay line.
        line: usize,
        /// The connection's number.
        number: u64,
    },
    /// The client's request to connect has arrived at the server's side.
    Connect {
        /// The connection's slot.
        slot: usize,
        /// The connection's number.
        number: u64,
    },
    /// The response of the server has arrived at the client's side.
    Open {
        /// The connection's slot.
        slot: usize,
        /// The connection's number.
        number: u64,
    },
    /// The queue before the link of this direction has room.
    Room(usize),
    /// Clients may be waiting in the accept queue.
    Accept,
}

/// A poll event of one socket.
#[derive(Clone, Copy, Debug)]
struct SocketEvent {
    token: Token,
    readable: bool,
    writable: bool,
    /// The peer has closed its side: data until the end of the stream may remain, and no further event announces the
    /// end.
    ends: bool,
}

impl From<&Event> for SocketEvent {
    fn from(event: &Event) -> Self {
        Self {
            token: event.token(),
            readable: event.is_readable() || event.is_error(),
            writable: event.is_writable() || event.is_error(),
            ends: event.is_read_closed() || event.is_error(),
        }
    }
}

/// A request, with the channel for the response.
pub(crate) enum Request {
    /// Statistics since the previous request.
    Statistics(Sender<Statistics>),
    /// Begins a fault; its number is the response.
    Begin(Fault, Sender<Result<u64, RelayError>>),
    /// Ends a fault; whether it was active.
    End(u64, Sender<bool>),
    /// Ends all faults; their number.
    Heal(Sender<usize>),
}

/// State of the relay's thread.
pub(crate) struct Service {
    clock: Clock,
    poll: TimedPoll,
    listener: Listener,
    config: Config,
    schedule: Timers<Task>,
    faults: Faults,
    /// Due tasks of a direction in which nothing arrives; they are done after the fault.
    held: Vec<Task>,
    /// Connections by slot; `None` for a free slot.
    connections: Vec<Option<Connection>>,
    holes: Vec<usize>,
    links: [Option<Link>; 2],
    /// That of the links.
    bandwidth_bits_per_s: Option<u64>,
    /// Sides waiting for room before the link of their direction.
    before_links: [VecDeque<usize>; 2],
    /// Sides that may be readable: twice the slot plus the side.
    read_queue: VecDeque<usize>,
    buffer: Vec<u8>,
    /// Number of accepted clients.
    admitted: u64,
    /// Statistics since the previous request.
    statistics: Statistics,
    /// Thread time and polling time at the previous request.
    told: (ThreadTime, Duration),
    reports: ErrorReports,
    /// Spare descriptor, closed temporarily to refuse a client when no descriptor is left.
    spare: Option<File>,
    requests: Receiver<Request>,
}

impl Service {
    pub(crate) fn new(
        poll: Poll,
        listener: Listener,
        config: Config,
        requests: Receiver<Request>,
        reports: ErrorReports,
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
            faults: Faults::default(),
            held: Vec::new(),
            connections: Vec::new(),
            holes: Vec::new(),
            before_links: [VecDeque::new(), VecDeque::new()],
            read_queue: VecDeque::new(),
            buffer: vec![0; if link.is_some() { READ_BYTES.min(config.queue_bytes) } else { READ_BYTES }],
            links: [link.clone(), link],
            bandwidth_bits_per_s: config.network.bandwidth_bits_per_s,
            admitted: 0,
            statistics: Statistics::default(),
            told: Default::default(),
            reports,
            spare: spare(),
            requests,
            config,
        })
    }

    /// Relays until the handle is dropped.
    pub(crate) fn run(mut self) -> io::Result<Statistics> {
        raise_priority();
        let mut news = Vec::new();
        loop {
            self.do_due();
            let until =
                if self.read_queue.is_empty() { self.schedule.earliest() } else { Some(self.clock.now()) };
            news.clear();
            self.poll.wait(until, |_, _, ready| {
                news.extend(ready.map(SocketEvent::from));
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
                    Token(side) => self.on_event(side, one),
                }
            }
            for _ in 0..self.read_queue.len() {
                self.read_next();
                self.do_due();
            }
        }
    }

    /// Answers all requests; returns whether the thread should end.
    fn answer(&mut self) -> bool {
        loop {
            match self.requests.try_recv() {
                Ok(request) => self.execute(request),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => return true,
            }
        }
    }

    /// The requester may have gone, so responses may fail.
    fn execute(&mut self, request: Request) {
        match request {
            Request::Statistics(answer) => {
                let _ = answer.send(self.take_statistics());
            }
            Request::Begin(fault, answer) => {
                let begun = self.faults.begin(fault);
                if begun.is_ok() && fault == Fault::Cut {
                    self.reset_all();
                }
                self.heed_faults();
                let _ = answer.send(begun);
            }
            Request::End(number, answer) => {
                let was_active = self.faults.end(number);
                self.heed_faults();
                let _ = answer.send(was_active);
            }
            Request::Heal(answer) => {
                let ended = self.faults.heal();
                self.heed_faults();
                let _ = answer.send(ended);
            }
        }
    }

    /// Takes changed faults into account: the additional delay, the bandwidth, and tasks that need not be held any more.
    fn heed_faults(&mut self) {
        self.heed_bandwidth();
        let slow = self.faults.slow();
        self.connections.iter_mut().flatten().for_each(|connection| connection.slow_down(slow));
        let now = self.clock.now();
        for task in std::mem::take(&mut self.held) {
            if let Task::Forward { line, number } = task
                && let Some(connection) = self.same(line / 2, number)
            {
                connection.count_lateness_from(line % 2, now);
            }
            self.schedule.set(now, task);
        }
    }

    /// Gives the links the smaller bandwidth of the network and of the faults.
    fn heed_bandwidth(&mut self) {
        let of_network = self.config.network.bandwidth_bits_per_s;
        let bandwidth = of_network.into_iter().chain(self.faults.bandwidth_bits_per_s()).min();
        if bandwidth == self.bandwidth_bits_per_s {
            return;
        }
        self.bandwidth_bits_per_s = bandwidth;
        let queue_bytes = self.config.queue_bytes;
        for direction in [CLIENT, SERVER] {
            let link = self.links[direction].take();
            self.links[direction] = bandwidth.map(|bits| match link {
                Some(link) => link.with_bandwidth(bits, queue_bytes),
                None => Link::new(bits, queue_bytes),
            });
            // A side that waits for room asks again; a task for them then finds none.
            self.read_queue.extend(self.before_links[direction].drain(..));
        }
    }

    /// Resets all connections.
    fn reset_all(&mut self) {
        for slot in 0..self.connections.len() {
            if let Some(connection) = self.connections[slot].as_mut() {
                connection.reset();
                self.statistics.cut += 1;
                self.close(slot);
            }
        }
    }

    /// Whether a fault delays a task.
    fn is_held(&self, task: Task) -> bool {
        match task {
            Task::Forward { line, .. } => self.faults.is_silent(line % 2),
            Task::Connect { .. } => self.faults.is_silent(CLIENT),
            Task::Open { .. } => self.faults.is_silent(SERVER),
            Task::Room(_) | Task::Accept => false,
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

    /// Accepts all waiting clients.
    fn accept_all(&mut self) {
        loop {
            match self.listener.accept() {
                Ok(client) => self.add_client(client),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    self.report_error(&error);
                    // No further event announces the clients that still wait.
                    if !self.refuse_client() {
                        return self.schedule.set(self.clock.now() + RETRY_PAUSE, Task::Accept);
                    }
                }
            }
        }
    }

    /// Accepts a client with the spare descriptor and closes it immediately; otherwise it would wait forever. Returns
    /// whether a client was waiting.
    fn refuse_client(&mut self) -> bool {
        self.spare = None;
        let turned_away = self.listener.accept().is_ok();
        self.spare = spare();
        self.statistics.connections += u64::from(turned_away);
        self.statistics.refused += u64::from(turned_away);
        turned_away
    }

    fn report_error(&mut self, error: &io::Error) {
        let (now, open) = (self.clock.now(), self.statistics.open);
        self.reports.client_refused(error, &self.config.to, open, now);
    }

    fn add_client(&mut self, client: Socket) {
        if self.faults.is_cut() {
            self.statistics.connections += 1;
            self.statistics.cut += 1;
            return client.reset();
        }
        let number = self.admitted;
        let slot = self.holes.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        // Dropping a client that cannot be registered closes it.
        if client.register(self.poll.registry(), Token(2 * slot + CLIENT), Interest::READABLE).is_err() {
            return self.holes.push(slot);
        }
        self.admitted += 1;
        self.statistics.connections += 1;
        self.statistics.open += 1;
        let mut connection = Connection::new(number, client, &self.config.network);
        connection.slow_down(self.faults.slow());
        let arrives = self.clock.now() + connection.control_delay(CLIENT);
        self.schedule.set(arrives, Task::Connect { slot, number });
        self.connections[slot] = Some(connection);
    }

    fn on_event(&mut self, side: usize, news: &SocketEvent) {
        let (slot, own) = (side / 2, side % 2);
        let Some(connection) = self.connections.get_mut(slot).and_then(Option::as_mut) else { return };
        if news.ends {
            connection.ends[own] = true;
        }
        if own == SERVER && connection.phase == Phase::Connecting {
            self.check_connected(slot);
        } else if news.writable && connection.unblock(own, self.clock.now()) {
            self.listen_to(slot, own, false);
            self.forward(2 * slot + (1 - own));
        }
        if news.readable {
            self.queue_read(side);
        }
    }

    fn check_connected(&mut self, slot: usize) {
        let Some(connection) = self.connections[slot].as_mut() else { return };
        match connection.is_server_connected() {
            Ok(true) => {
                connection.phase = Phase::Confirming;
                let known = self.clock.now() + connection.control_delay(SERVER);
                self.schedule.set(known, Task::Open { slot, number: connection.number });
                self.listen_to(slot, SERVER, false);
                self.queue_read(2 * slot + SERVER);
            }
            Ok(false) => {}
            Err(error) => self.refuse(slot, &error),
        }
    }

    fn queue_read(&mut self, side: usize) {
        let connection = self.connections[side / 2].as_mut();
        if connection.is_some_and(|connection| connection.wants_turn(side % 2)) {
            self.read_queue.push_back(side);
        }
    }

    /// Reads the next side in the queue, unless the link of its direction is full.
    fn read_next(&mut self) {
        let Some(side) = self.read_queue.pop_front() else { return };
        let direction = side % 2;
        if let Some(room_at) = self.links[direction].as_ref().map(Link::room_at)
            && (room_at > self.clock.now() || !self.before_links[direction].is_empty())
        {
            if self.before_links[direction].is_empty() {
                self.schedule.set(room_at, Task::Room(direction));
            }
            // Its turn is kept, so the side waits here only once.
            return self.before_links[direction].push_back(side);
        }
        if self.read(side) {
            self.read_queue.push_back(side);
        }
    }

    /// Reads a side; returns whether it stays in the queue.
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
        self.schedule_line(side);
        again
    }

    /// Reads the sides waiting for a link until the link is full.
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
            // Each side was read once; due tasks precede the next round.
            self.schedule.set(self.clock.now(), Task::Room(direction));
        }
    }

    fn schedule_line(&mut self, line: usize) {
        let Some(connection) = self.connections[line / 2].as_mut() else { return };
        if let Some(due) = connection.schedule_next(line % 2) {
            self.schedule.set(due, Task::Forward { line, number: connection.number });
        }
    }

    /// Runs all due tasks.
    fn do_due(&mut self) {
        while let Some((_, task)) = self.schedule.pop_due(self.clock.now()) {
            if self.is_held(task) {
                self.held.push(task);
                continue;
            }
            match task {
                Task::Forward { line, number } => {
                    if let Some(connection) = self.same(line / 2, number) {
                        connection.no_longer_scheduled(line % 2);
                        self.forward(line);
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
                        self.queue_read(2 * slot + CLIENT);
                    }
                }
                Task::Room(direction) => self.fill_link(direction),
                Task::Accept => self.accept_all(),
            }
        }
    }

    /// The connection in this slot, if its number matches.
    fn same(&mut self, slot: usize, number: u64) -> Option<&mut Connection> {
        self.connections[slot].as_mut().filter(|connection| connection.number == number)
    }

    fn connect(&mut self, slot: usize) {
        let Some(connection) = self.connections[slot].as_mut() else { return };
        let now = self.clock.now();
        let asked_at = *connection.asked_at.get_or_insert(now);
        let connected = Socket::connect(&self.config.to).and_then(|server| {
            // A connecting socket becomes writable when it is connected.
            let news = Interest::READABLE | Interest::WRITABLE;
            server.register(self.poll.registry(), Token(2 * slot + SERVER), news)?;
            Ok(server)
        });
        match connected {
            Ok(server) => {
                connection.phase = Phase::Connecting;
                connection.sockets[SERVER] = Some(server);
            }
            Err(error)
                if may_pass(&error) && !connection.ends[CLIENT] && now.since(asked_at) < CONNECT_LIMIT =>
            {
                self.schedule.set(now + RETRY_PAUSE, Task::Connect { slot, number: connection.number });
            }
            Err(error) => self.refuse(slot, &error),
        }
    }

    fn refuse(&mut self, slot: usize, error: &io::Error) {
        self.report_error(error);
        let Some(connection) = self.connections[slot].as_mut() else { return };
        self.statistics.refused += 1;
        connection.refuse(self.clock.now());
        self.schedule_line(2 * slot + SERVER);
    }

    fn close(&mut self, slot: usize) {
        if self.connections[slot].take().is_some() {
            self.holes.push(slot);
            self.statistics.open -= 1;
        }
    }

    /// See [`Connection::listen_to`]; closes a connection that cannot be registered.
    fn listen_to(&mut self, slot: usize, side: usize, writable: bool) {
        let (registry, token) = (self.poll.registry(), Token(2 * slot + side));
        let connection = self.connections[slot].as_ref();
        if connection.is_some_and(|connection| !connection.listen_to(side, writable, registry, token)) {
            self.close(slot);
        }
    }

    /// Forwards the due data of a delay line.
    fn forward(&mut self, line: usize) {
        let (slot, direction) = (line / 2, line % 2);
        if self.faults.is_silent(direction) {
            return self.schedule_line(line);
        }
        let Some(connection) = self.connections[slot].as_mut() else { return };
        let now = self.clock.now();
        match connection.forward(direction, self.config.buffer_bytes, now, &mut self.statistics) {
            Forwarded::Over => self.close(slot),
            Forwarded::Goes { resume, blocked } => {
                if blocked {
                    self.listen_to(slot, 1 - direction, true);
                }
                self.schedule_line(line);
                if resume {
                    self.queue_read(line);
                }
            }
        }
    }
}

/// Whether a retry may succeed: the accept queue of a Unix-domain socket was full.
fn may_pass(error: &io::Error) -> bool {
    rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::AGAIN)
}

/// A descriptor of `/dev/null`; `None` if no descriptor is left.
fn spare() -> Option<File> {
    File::open("/dev/null").ok()
}

/// Minimizes the wait of the relay's thread for a core, because a network has no such wait. If permitted (root,
/// CAP_SYS_NICE or ulimit -r), the thread gets the lowest real-time priority, sched(7), and precedes all ordinary
/// threads. Otherwise it requests nice −20. The remaining wait is counted (`Statistics::waited`).
#[cfg(target_os = "linux")]
pub(crate) fn raise_priority() {
    const LEAST_NICE: i32 = -20;
    if ring::become_real_time().is_err() {
        // On Linux, setpriority(2) applies to a single thread.
        let _ = rustix::process::setpriority_process(None, LEAST_NICE);
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn raise_priority() {}
