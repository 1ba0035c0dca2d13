//! One rank's side of a job. A round publishes the rank's message in pieces, waits in a barrier, reads the messages,
//! and withdraws the message of the previous round, which all ranks have read by then. So the process manager keeps two
//! messages of each rank, however long the job runs. All ranks call the same methods in the same order.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::SIGUSR1;
use signal_hook::{SigId, flag, low_level};

use crate::clocks::{
    ClockPair, Moment, Offset, Passage, Start, Timeout, offset, offsets_from_bytes, offsets_to_bytes,
    passages_from_bytes, passages_to_bytes,
};
use crate::connection::{Connection, Received};
use crate::environment::place;
use crate::error::{Evidence, RanksError};
use crate::protocol::{MESSAGE_BYTES_MAX, Reply, Request, join, piece_count, split};

/// Barriers of a measurement of offsets: more do not fit well into a message and do not narrow the interval.
pub const BARRIERS_MAX: usize = 1000;
/// Barriers of a measurement that [`Job::common_start`] makes if there was none.
const BARRIERS_OF_START: usize = 20;
/// A request that looks for the cause of a late barrier has this part of the patience as its limit. If it has no reply,
/// no further one is sent.
const PROBES_PER_PATIENCE: u32 = 4;

/// A rank of a job. Dropped without [`Job::finalize`], it closes the connection at once, and the process manager counts
/// the process as failed.
#[derive(Debug)]
pub struct Job {
    connection: Connection,
    rank: usize,
    size: usize,
    patience: Duration,
    /// Name of the job, by the process manager.
    name: String,
    /// Number of rounds that were begun.
    rounds: u64,
    /// Pieces that this rank published in the last round.
    published: usize,
    clocks: ClockPair,
    /// This rank's offset to rank 0, once measured.
    offset: Option<Offset>,
    barrier: Barrier,
    /// Whether an error ended the exchange.
    has_failed: bool,
    signal: DeathSignal,
}

/// Where this rank is.
#[derive(Copy, Clone, Debug)]
enum Barrier {
    Outside,
    /// It waits for the other ranks.
    Entered,
    /// The process manager reported that all ranks have entered the barrier.
    Left(Moment),
}

/// When a rank was in a barrier.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// Before it entered.
    pub entered: Instant,
    /// After it left.
    pub left: Instant,
}

/// A completed round.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Round {
    /// When this rank was in the round's barrier.
    pub crossing: Crossing,
    /// On rank 0 the messages of all ranks in their order, its own included; on the others the message of rank 0 alone.
    pub messages: Vec<Vec<u8>>,
}

impl Job {
    /// This process as a rank, if a process manager started it as one. It must be called before the process opens files
    /// without close-on-exec, and once. `patience` limits each wait for the process manager or for other ranks.
    ///
    /// # Errors
    /// The environment is contradictory or of a launcher without PMI-1, or the process manager does not answer.
    pub fn from_environment(patience: Duration) -> Result<Option<Job>, RanksError> {
        let Some(place) = place(|name| std::env::var(name).ok())? else { return Ok(None) };
        let unusable = |error: io::Error| RanksError::Variable {
            name: "PMI_FD",
            value: Some(place.descriptor.to_string()),
            problem: format!("this descriptor was not inherited from a process manager ({error})"),
        };
        let descriptor = inherited_socket(place.descriptor).map_err(unusable)?;
        Job::new(descriptor, place.rank, place.size, patience).map(Some)
    }

    /// A rank whose connection to the process manager is open.
    ///
    /// # Errors
    /// The process manager does not answer as PMI-1 requires.
    pub fn new(descriptor: OwnedFd, rank: usize, size: usize, patience: Duration) -> Result<Job, RanksError> {
        let mut job = Job {
            connection: Connection::new(descriptor),
            rank,
            size,
            patience,
            name: String::new(),
            rounds: 0,
            published: 0,
            clocks: ClockPair::read(),
            offset: None,
            barrier: Barrier::Outside,
            has_failed: false,
            signal: DeathSignal::register(),
        };
        job.request(&Request::Init)?;
        job.name = job.request(&Request::JobName)?.require("kvsname", "get_my_kvsname")?.to_owned();
        Ok(job)
    }

    /// This rank's number, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Changes the time limit of each wait.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Exchanges messages: rank 0 gets those of all ranks, the others get rank 0's.
    ///
    /// # Errors
    /// [`RanksError::Silent`] if a rank does not answer in time; [`RanksError::Gone`] if the process manager ended.
    /// After an error, only [`Job::abort`] has an effect.
    pub fn round(&mut self, own: &[u8]) -> Result<Round, RanksError> {
        if own.len() > MESSAGE_BYTES_MAX {
            return Err(RanksError::TooLong { bytes: own.len(), most: MESSAGE_BYTES_MAX });
        }
        self.attempt(|job| {
            let (entered, left) = job.meet(own)?;
            let crossing = Crossing { entered: entered.instant, left: left.instant };
            let mut messages = Vec::new();
            for rank in if job.rank == 0 { 0..job.size } else { 0..1 } {
                messages.push(if rank == job.rank { own.to_vec() } else { job.message(rank)? });
            }
            Ok(Round { crossing, messages })
        })
    }

    /// Measures the offsets of the ranks' clocks to those of rank 0 by this number of barriers, at least one. Each rank
    /// gets the offsets of all ranks in their order.
    ///
    /// # Errors
    /// As [`Job::round`]; [`RanksError::Clocks`] if a monotonic clock jumped.
    pub fn measure_offsets(&mut self, barriers: usize) -> Result<Vec<Offset>, RanksError> {
        let count = barriers.clamp(1, BARRIERS_MAX);
        let mut own = Vec::with_capacity(count);
        for _ in 0..count {
            let (entered, left) = self.attempt(|job| job.meet(&[]))?;
            own.push(self.clocks.passage(entered, left));
        }
        let passages = self.round(&passages_to_bytes(&own))?;
        let all = if self.rank == 0 { self.attempt(|_| offsets_of(&own, &passages))? } else { Vec::new() };
        let reply = self.round(&offsets_to_bytes(&all))?;
        let size = self.size;
        let unreadable = |problem| RanksError::Message { rank: 0, problem };
        let offsets = self.attempt(|_| offsets_from_bytes(&reply.messages[0], size).map_err(unreadable))?;
        self.offset = offsets.get(self.rank).copied();
        Ok(offsets)
    }

    /// Agrees on a moment, `ahead` after rank 0 called this. Uses the last measured offsets, or measures them.
    ///
    /// # Errors
    /// As [`Job::measure_offsets`].
    pub fn common_start(&mut self, ahead: Duration) -> Result<Start, RanksError> {
        let offset = match self.offset {
            Some(offset) => offset,
            None => self.measure_offsets(BARRIERS_OF_START)?[self.rank],
        };
        let planned = self.clocks.nanos(Moment::now().instant + ahead);
        let own = if self.rank == 0 { planned.to_le_bytes().to_vec() } else { Vec::new() };
        let reply = self.round(&own)?;
        let clocks = self.clocks;
        self.attempt(|_| {
            let unreadable = |problem: &str| RanksError::Message { rank: 0, problem: problem.to_owned() };
            let bytes = reply.messages[0].as_slice().try_into();
            let start = i64::from_le_bytes(bytes.map_err(|_| unreadable("it is no moment"))?);
            let at = clocks.instant(start.saturating_add(offset.monotonic.nanos));
            Ok(Start {
                at: at.ok_or_else(|| unreadable("its moment is out of range"))?,
                error: Duration::from_nanos(offset.monotonic.error_nanos),
            })
        })
    }

    /// Ends the whole job: the process manager kills all processes of all ranks, this one included, and mpiexec returns
    /// this exit status (Slurm's srun returns its own). PMI-1 has no place for a reason: show it before.
    ///
    /// # Errors
    /// The request cannot be sent.
    pub fn abort(self, exit_status: u8) -> Result<(), RanksError> {
        let request = Request::Abort { exit_status };
        if self.connection.send(&request)? { Ok(()) } else { Err(self.stuck(self.patience)) }
    }

    /// Leaves the job: from now on, the end of this process does not count as a failure.
    ///
    /// # Errors
    /// The process manager does not answer.
    pub fn finalize(mut self) -> Result<(), RanksError> {
        self.attempt(|job| job.request(&Request::Finalize).map(|_| ()))
    }

    /// An operation that ends the exchange if it fails.
    fn attempt<T>(
        &mut self,
        operation: impl FnOnce(&mut Job) -> Result<T, RanksError>,
    ) -> Result<T, RanksError> {
        if self.has_failed {
            return Err(RanksError::Ended);
        }
        let result = operation(self);
        self.has_failed = result.is_err();
        result
    }

    /// Publishes a message, waits for all ranks, and withdraws the message of the previous round.
    fn meet(&mut self, own: &[u8]) -> Result<(Moment, Moment), RanksError> {
        let (previous, withdrawn) = (self.rounds, self.published);
        self.rounds += 1;
        let pieces = split(own);
        for (index, piece) in pieces.iter().enumerate() {
            let name = self.piece_name(self.rounds, self.rank, index);
            self.request(&Request::Publish { name: &name, value: piece })?;
        }
        self.published = pieces.len();
        let crossing = self.cross()?;
        for index in 0..withdrawn {
            let name = self.piece_name(previous, self.rank, index);
            self.request(&Request::Unpublish { name: &name })?;
        }
        Ok(crossing)
    }

    /// The message that a rank published in this round.
    fn message(&mut self, rank: usize) -> Result<Vec<u8>, RanksError> {
        let unreadable = |problem| RanksError::Message { rank, problem };
        let first = self.piece(rank, 0)?;
        let (count, text) = piece_count(&first).map_err(unreadable)?;
        let mut text = text.to_owned();
        for index in 1..count {
            text += &self.piece(rank, index)?;
        }
        join(&text).map_err(unreadable)
    }

    fn piece(&mut self, rank: usize, index: usize) -> Result<String, RanksError> {
        let name = self.piece_name(self.rounds, rank, index);
        let reply = self.request(&Request::Lookup { name: &name })?;
        Ok(reply.require("port", "lookup_name")?.to_owned())
    }

    /// The name of a piece. It begins with a hash of the job's name (FNV-1a), because jobs may share a name server.
    fn piece_name(&self, round: u64, rank: usize, index: usize) -> String {
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let job = self.name.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
        format!("{job:x}.{round:x}.{rank:x}.{index:x}")
    }

    /// Waits until all ranks are in the barrier.
    fn cross(&mut self) -> Result<(Moment, Moment), RanksError> {
        let timeout = Timeout::after(self.patience);
        let entered = Moment::now();
        if !self.connection.send(&Request::Barrier)? {
            return Err(self.stuck(timeout.waited()));
        }
        self.barrier = Barrier::Entered;
        loop {
            if let Barrier::Left(left) = self.barrier {
                self.barrier = Barrier::Outside;
                return Ok((entered, left));
            }
            if timeout.remaining().is_none() {
                self.find_absent(&timeout)?;
            } else if self.signal.came() {
                self.find_ended(&timeout)?;
            } else if let Received::Reply(reply, at) = self.connection.receive(&timeout, "barrier_in")? {
                reply.expect(&Request::Barrier)?;
                self.barrier = Barrier::Left(at);
            }
        }
    }

    /// Looks for the cause of a barrier that takes too long. Returns if the barrier ended meanwhile.
    ///
    /// # Errors
    /// The ranks that ended or did not publish their message; all other ranks if neither is known.
    fn find_absent(&mut self, barrier: &Timeout) -> Result<(), RanksError> {
        self.find_ended(barrier)?;
        let mut absent = Vec::new();
        for rank in self.others() {
            let name = self.piece_name(self.rounds, rank, 0);
            let request = Request::Lookup { name: &name };
            let reply = self.reply_to(&request, self.patience / PROBES_PER_PATIENCE, barrier)?;
            if matches!(self.barrier, Barrier::Left(_)) {
                return Ok(());
            }
            if !reply.is_success() {
                absent.push(rank);
            }
        }
        if absent.is_empty() {
            return Err(self.stuck(barrier.waited()));
        }
        Err(RanksError::Silent { ranks: absent, evidence: Evidence::Absent, waited: barrier.waited() })
    }

    /// # Errors
    /// The process manager knows that ranks ended.
    fn find_ended(&mut self, barrier: &Timeout) -> Result<(), RanksError> {
        let name = self.name.clone();
        let request = Request::EndedProcesses { job_name: &name };
        let reply = self.reply_to(&request, self.patience / PROBES_PER_PATIENCE, barrier)?;
        // A process manager without this list refuses, or replies with an empty value.
        let list = reply.field("value").filter(|_| reply.is_success()).unwrap_or_default();
        let ended: BTreeSet<usize> = list.split(',').filter_map(|word| word.parse().ok()).collect();
        let ranks: Vec<usize> = self.others().filter(|rank| ended.contains(rank)).collect();
        if ranks.is_empty() {
            return Ok(());
        }
        Err(RanksError::Silent { ranks, evidence: Evidence::Ended, waited: barrier.waited() })
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.rank;
        (0..self.size).filter(move |rank| *rank != own)
    }

    /// The error if the cause is unknown: each other rank, or the process manager, may be the cause.
    fn stuck(&self, waited: Duration) -> RanksError {
        RanksError::Silent { ranks: self.others().collect(), evidence: Evidence::Unknown, waited }
    }

    /// Sends a request and waits for its success.
    fn request(&mut self, request: &Request<'_>) -> Result<Reply, RanksError> {
        let reply = self.reply_to(request, self.patience, &Timeout::after(self.patience))?;
        reply.expect(request)?;
        Ok(reply)
    }

    /// Sends a request and waits for its reply. The end of a barrier may come before it. `since` is the beginning of
    /// the wait that a failure reports.
    fn reply_to(
        &mut self,
        request: &Request<'_>,
        limit: Duration,
        since: &Timeout,
    ) -> Result<Reply, RanksError> {
        let timeout = Timeout::after(limit);
        if !self.connection.send(request)? {
            return Err(self.stuck(since.waited()));
        }
        while timeout.remaining().is_some() {
            match self.connection.receive(&timeout, request.command())? {
                Received::Reply(reply, at) if matches!(self.barrier, Barrier::Entered) => {
                    if Some(reply.command()) != Request::Barrier.reply() {
                        return Ok(reply);
                    }
                    self.barrier = Barrier::Left(at);
                }
                Received::Reply(reply, _) => return Ok(reply),
                Received::Nothing => {}
            }
        }
        Err(self.stuck(since.waited()))
    }
}

/// Offsets of all ranks, from rank 0's own passages and the messages with those of the others.
fn offsets_of(own: &[Passage], passages: &Round) -> Result<Vec<Offset>, RanksError> {
    let others = passages.messages.iter().enumerate().skip(1).map(|(rank, message)| {
        let unreadable = |problem| RanksError::Message { rank, problem };
        let passages = passages_from_bytes(message, own.len()).map_err(unreadable)?;
        offset(&passages, own).ok_or(RanksError::Clocks { rank })
    });
    std::iter::once(Ok(Offset::ZERO)).chain(others).collect()
}

/// SIGUSR1, by which Hydra with -disable-auto-cleanup tells the other processes that one ended. Its default action
/// would end this process too. Registered until it is dropped.
#[derive(Debug)]
struct DeathSignal {
    came: Arc<AtomicBool>,
    registration: Option<SigId>,
}

impl DeathSignal {
    /// If the system does not allow a handler, ended ranks are detected by the time limit.
    fn register() -> DeathSignal {
        let came = Arc::new(AtomicBool::new(false));
        let registration = flag::register(SIGUSR1, Arc::clone(&came)).ok();
        DeathSignal { came, registration }
    }

    /// Whether the signal has arrived since the last call.
    fn came(&self) -> bool {
        self.came.swap(false, Ordering::SeqCst)
    }
}

impl Drop for DeathSignal {
    fn drop(&mut self) {
        self.registration.take().map(low_level::unregister);
    }
}

/// An inherited descriptor, if it is a socket. All process managers pass a socket; a request written to a file would
/// damage the file.
#[cfg(target_os = "linux")]
fn inherited_socket(descriptor: RawFd) -> io::Result<OwnedFd> {
    use rustix::fs::{FileType, fstat};
    let owned = ring::take_inherited(descriptor)?;
    let kind = FileType::from_raw_mode(fstat(&owned)?.st_mode);
    if kind.is_socket() {
        Ok(owned)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no socket"))
    }
}

#[cfg(not(target_os = "linux"))]
fn inherited_socket(_: RawFd) -> io::Result<OwnedFd> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "several ranks need Linux"))
}
