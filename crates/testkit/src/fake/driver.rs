//! The driver between the engine and the fake server's sessions, with the virtual clock. The clock advances in `wait`,
//! to the next event or the deadline, and by a tick per reading. As with edge-triggered sockets, an event means new
//! data: unread data causes no further event.

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, ErrorKind};
use std::time::Duration;

use connect::{Address, Transport};
use engine::{Driver, DriverUsage, Event, IsOver, Receive, ShellAnswer};
use script::Random;
use stats::Timestamp;

use super::event_queue::EventQueue;
use super::line::{End, Line};
use super::log::{Entry, Log};
use super::{FakeServer, Pieces, Reach, Refusal, Sends};
use crate::request_log::Received;
use crate::session::{Fault, FaultEffect, FaultTrigger, Session, SessionConfig, Step};

/// Virtual time between two checks for the end of a shell command.
const SHELL_LOOK: Duration = Duration::from_millis(100);

/// Driver of the engine for a fake server.
pub struct FakeDriver {
    server: FakeServer,
    config: SessionConfig,
    now: Timestamp,
    event_queue: EventQueue<ScheduledEvent>,
    /// Connections by the worker's numbers.
    lines: Vec<Option<Line>>,
    events: VecDeque<Event>,
    /// Events of the last wait; later events are for the next wait.
    ready: VecDeque<Event>,
    log: Log,
    /// Number of connections started; faults refer to these numbers.
    generations: u64,
    sends: u64,
    /// Sends that were not accepted completely at once.
    held_back: u64,
    /// Connections with data that their sockets have not accepted.
    holding: BTreeSet<usize>,
    /// Seeds of the connections' random numbers.
    seeds: Random,
}

/// A future event of a connection; ignored if the connection has ended.
#[derive(Debug)]
struct ScheduledEvent {
    connection: usize,
    generation: u64,
    kind: EventKind,
}

#[derive(Debug)]
enum EventKind {
    Connected,
    Refused(ErrorKind),
    /// The client's socket accepts more of the waiting data.
    SocketTakes,
    /// The client's data arrives at the server.
    AtServer(Vec<u8>),
    /// A fault is injected into the session.
    Fault(FaultEffect),
    /// The server sends a response, and possibly ends the connection.
    Answer(Vec<u8>, Option<End>),
    /// The server's data arrives at the client.
    AtClient(Vec<u8>),
    Ended(End),
}

impl FakeDriver {
    pub(super) fn new(server: FakeServer) -> Self {
        Self {
            config: SessionConfig::new(server.rows, server.password.clone()),
            now: Timestamp::ZERO,
            event_queue: EventQueue::new(),
            lines: Vec::new(),
            events: VecDeque::new(),
            ready: VecDeque::new(),
            log: Log::default(),
            generations: 0,
            sends: 0,
            held_back: 0,
            holding: BTreeSet::new(),
            seeds: Random::from_seed(server.seed),
            server,
        }
    }

    /// The log of messages to the server.
    pub fn log(&self) -> Log {
        self.log.clone()
    }

    fn enter(&mut self, at: Timestamp, connection: usize, generation: u64, kind: EventKind) {
        self.event_queue.enter(at, ScheduledEvent { connection, generation, kind });
    }

    /// Processes all events due by `now`.
    fn catch_up(&mut self) {
        while let Some((at, event)) = self.event_queue.take_due(self.now) {
            self.happen(at, event);
        }
    }

    fn happen(&mut self, at: Timestamp, event: ScheduledEvent) {
        let ScheduledEvent { connection, generation, kind } = event;
        let Some(line) = self.lines.get_mut(connection).and_then(Option::as_mut) else { return };
        if line.generation != generation {
            return;
        }
        match kind {
            EventKind::Connected => self.events.push_back(Event::Connected(connection)),
            EventKind::Refused(kind) => {
                line.ended = Some(End::Broken(kind));
                self.signal(connection);
            }
            EventKind::SocketTakes => self.take_piece(at, connection),
            EventKind::AtServer(bytes) => self.reach(at, connection, &bytes),
            EventKind::Fault(effect) if line.server_open => {
                let mut out = Vec::new();
                let step = line.session.inject(&effect, &mut out);
                // The end of the session cancels work in progress.
                self.leave(at, connection, out, end_of(step));
            }
            EventKind::Answer(bytes, end) if line.server_open => self.leave(at, connection, bytes, end),
            EventKind::Fault(_) | EventKind::Answer(..) => {}
            EventKind::AtClient(bytes) => {
                line.inbox.push_back(bytes);
                self.signal(connection);
            }
            EventKind::Ended(end) => {
                line.ended = Some(end);
                self.signal(connection);
            }
        }
    }

    /// The client's socket accepts a piece of the waiting data; schedules the next one.
    fn take_piece(&mut self, at: Timestamp, connection: usize) {
        let Self { server, lines, event_queue, holding, .. } = self;
        let Some(line) = lines[connection].as_mut() else { return };
        let generation = line.generation;
        let (length, gap) = match server.sends {
            Sends::Whole => (line.unsent.len(), Duration::ZERO),
            Sends::Short { longest, gap } => {
                let drawn = 1 + line.random.range(longest.saturating_sub(1));
                (usize::try_from(drawn).map_or(line.unsent.len(), |drawn| drawn.min(line.unsent.len())), gap)
            }
        };
        let piece = line.unsent.drain(..length).collect();
        let reaches = at + server.network_delay;
        event_queue
            .enter(reaches, ScheduledEvent { connection, generation, kind: EventKind::AtServer(piece) });
        if line.unsent.is_empty() {
            if holding.remove(&connection) {
                self.events.push_back(Event::Drained(connection));
            }
        } else {
            holding.insert(connection);
            let next = (at + gap).max(line.free_at);
            event_queue.enter(next, ScheduledEvent { connection, generation, kind: EventKind::SocketTakes });
        }
    }

    /// Sends one event to the worker.
    fn signal(&mut self, connection: usize) {
        if let Some(line) = self.lines[connection].as_mut()
            && !std::mem::replace(&mut line.signalled, true)
        {
            self.events.push_back(Event::Readable(connection));
        }
    }

    /// Processes the client's data at the server; schedules the responses.
    fn reach(&mut self, at: Timestamp, connection: usize, bytes: &[u8]) {
        let Self { server, config, lines, log, event_queue, .. } = self;
        let Some(line) = lines[connection].as_mut().filter(|line| line.server_open) else { return };
        let mut bytes = bytes;
        loop {
            let mut answer = Vec::new();
            let step = line.session.next(&mut bytes, config, &mut answer, &mut |request| {
                log.add(Entry { at, connection, message: Received::from(request) });
            });
            if step == Step::Idle {
                return;
            }
            let mut done = at.max(line.free_at);
            if step != Step::Told {
                done = done + server.service.draw(&mut line.random);
            }
            line.free_at = server.after_stalls(done);
            let kind = EventKind::Answer(answer, end_of(step));
            event_queue.enter(line.free_at, ScheduledEvent { connection, generation: line.generation, kind });
        }
    }

    /// Sends a response in pieces, and possibly closes the connection.
    fn leave(&mut self, at: Timestamp, connection: usize, bytes: Vec<u8>, end: Option<End>) {
        let Self { server, lines, event_queue, .. } = self;
        let Some(line) = lines[connection].as_mut() else { return };
        let generation = line.generation;
        let mut arrival = line.last_arrival.max(at + server.network_delay);
        for piece in pieces(server.pieces, bytes, &mut line.random) {
            event_queue
                .enter(arrival, ScheduledEvent { connection, generation, kind: EventKind::AtClient(piece) });
            line.last_arrival = arrival;
            arrival = arrival + server.pieces.gap();
        }
        if let Some(end) = end {
            line.server_open = false;
            event_queue
                .enter(arrival, ScheduledEvent { connection, generation, kind: EventKind::Ended(end) });
            line.last_arrival = arrival;
        }
    }

    /// Delivers data in transit to the client immediately.
    fn hurry(&mut self, connection: usize) {
        let of_line = |event: &ScheduledEvent| {
            event.connection == connection
                && matches!(event.kind, EventKind::AtClient(_) | EventKind::Ended(_))
        };
        for (at, event) in self.event_queue.take_all(of_line) {
            self.happen(at, event);
        }
    }
}

impl Driver for FakeDriver {
    fn now(&mut self) -> Timestamp {
        self.now = self.now + self.server.tick;
        self.now
    }

    /// The thread runs for a quarter of the time, and waits for a core for an eighth. For a
    /// sixteenth of the time there is something held back; with whole sends it is said of each.
    fn usage(&mut self) -> DriverUsage {
        let elapsed = self.now.since(Timestamp::ZERO);
        DriverUsage {
            thread_cpu: elapsed / 4,
            run_queue: Some(elapsed / 8),
            sends_held_back: if self.server.sends == Sends::Whole { self.sends } else { self.held_back },
            held_back: elapsed / 16,
            shortest_connect: (self.generations > 0).then_some(self.server.network_delay),
        }
    }

    fn connect(&mut self, connection: usize, _address: &Address, _transport: &Transport) -> io::Result<()> {
        match &mut self.server.reach {
            Reach::Busy(times) if *times > 0 => {
                *times -= 1;
                return Err(ErrorKind::WouldBlock.into());
            }
            Reach::RefusedAtOnce(kind) => return Err((*kind).into()),
            _ => {}
        }
        let generation = self.generations;
        self.generations += 1;
        let mut faults = Fault::of(&self.server.faults, usize::try_from(generation).unwrap_or(usize::MAX));
        let mut refused = None;
        for down in &self.server.downs {
            match &down.refusal {
                _ if self.now < down.from => {
                    faults.push((FaultTrigger::Time(down.from), down.effect.clone()));
                }
                _ if self.now >= down.until => {}
                Refusal::Refused => refused = Some(ErrorKind::ConnectionRefused),
                Refusal::StartUp(effect) => faults.push((FaultTrigger::StartUp, effect.clone())),
            }
        }
        for (trigger, effect) in &faults {
            if let FaultTrigger::Time(at) = trigger {
                self.enter(*at, connection, generation, EventKind::Fault(effect.clone()));
            }
        }
        let process_id = u32::try_from(generation).unwrap_or(u32::MAX);
        let random = Random::from_seed(self.seeds.next_u64());
        let line = Line::new(generation, Session::new(process_id, faults), random, self.now);
        if self.lines.len() <= connection {
            self.lines.resize_with(connection + 1, || None);
        }
        self.lines[connection] = Some(line);
        let kind = match self.server.reach {
            Reach::RefusedLater(kind) => EventKind::Refused(kind),
            _ => refused.map_or(EventKind::Connected, EventKind::Refused),
        };
        self.enter(self.now + self.server.network_delay, connection, generation, kind);
        Ok(())
    }

    /// Fails after the server has closed, as on a Unix-domain socket; earlier data of the server can then be read.
    fn send(&mut self, connection: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        let bytes = std::mem::take(bytes);
        self.sends += 1;
        self.catch_up();
        let Some(line) = self.lines.get_mut(connection).and_then(Option::as_mut) else {
            return Err(ErrorKind::NotConnected.into());
        };
        if !line.server_open {
            self.hurry(connection);
            return Err(ErrorKind::BrokenPipe.into());
        }
        let waits_already = !line.unsent.is_empty();
        line.unsent.extend(bytes);
        self.log.held_back(line.unsent.len());
        if !waits_already {
            self.take_piece(self.now, connection);
        }
        self.held_back += u64::from(self.holding.contains(&connection));
        Ok(())
    }

    fn holds_back(&self, connection: usize) -> bool {
        self.lines.get(connection).and_then(Option::as_ref).is_some_and(|line| !line.unsent.is_empty())
    }

    fn receive(&mut self, connection: usize) -> Receive<'_> {
        let Some(line) = self.lines.get_mut(connection).and_then(Option::as_mut) else {
            return Receive::Empty;
        };
        if let Some(bytes) = line.inbox.pop_front() {
            line.reading = bytes;
            return Receive::Bytes(&line.reading);
        }
        match line.ended {
            None => Receive::Empty,
            Some(End::Closed) => Receive::Closed(None),
            Some(End::Broken(kind)) => Receive::Closed(Some(kind.into())),
        }
    }

    /// The server still receives data sent before.
    fn close(&mut self, connection: usize) {
        let sent = |event: &ScheduledEvent| {
            event.connection == connection && matches!(event.kind, EventKind::AtServer(_))
        };
        for (at, event) in self.event_queue.take_all(sent) {
            self.happen(at, event);
        }
        // Data that the socket has not accepted is lost, as with real sockets.
        self.holding.remove(&connection);
        if let Some(line) = self.lines.get_mut(connection) {
            *line = None;
        }
    }

    fn wait(&mut self, deadline: Timestamp) -> io::Result<Timestamp> {
        loop {
            self.catch_up();
            let next = self.event_queue.next_at().filter(|at| self.events.is_empty() && *at <= deadline);
            match next {
                Some(at) => self.now = at,
                None => break,
            }
        }
        if self.events.is_empty() && deadline > self.now {
            self.now = deadline + self.server.wakes_late_by;
            self.catch_up();
        }
        if self.now.since(Timestamp::ZERO) > self.server.patience {
            let sentence = "the run hangs: virtual time has passed the fake server's patience";
            return Err(io::Error::new(ErrorKind::TimedOut, sentence));
        }
        self.ready.append(&mut self.events);
        Ok(self.now)
    }

    fn next_event(&mut self) -> Option<Event> {
        let event = self.ready.pop_front()?;
        if let Event::Readable(connection) = event
            && let Some(line) = self.lines.get_mut(connection).and_then(Option::as_mut)
        {
            line.signalled = false;
        }
        Some(event)
    }

    fn run_shell(
        &mut self,
        command: &[u8],
        _capture: bool,
        is_over: Option<IsOver<'_>>,
    ) -> io::Result<Option<ShellAnswer>> {
        let end = self.now + self.server.shell_time;
        while self.now < end {
            if is_over.is_some_and(|is_over| is_over(self.now)) {
                return Ok(None);
            }
            self.now = end.min(self.now + SHELL_LOOK);
        }
        (self.server.shell)(command).map(Some)
    }
}

fn end_of(step: Step) -> Option<End> {
    match step {
        Step::Closed => Some(End::Closed),
        Step::Reset => Some(End::Broken(ErrorKind::ConnectionReset)),
        Step::Idle | Step::Told | Step::Answered => None,
    }
}

/// The pieces of a response; none if it is empty.
fn pieces(how: Pieces, bytes: Vec<u8>, random: &mut Random) -> Vec<Vec<u8>> {
    if bytes.is_empty() { Vec::new() } else { how.cut(bytes, random) }
}
