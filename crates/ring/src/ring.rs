//! The ring: sockets in numbered slots, batched sends, multishot receives, and one system call that submits and waits.
//! Invariant of the `unsafe` code: every address in a request is in the arena or the pool, and both outlive the
//! kernel's use of them.

use std::collections::VecDeque;
use std::io;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{CancelBuilder, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};

use crate::arena::{Arena, Piece};
use crate::pool::{Filled, Pool};
use crate::tag::{GENERATIONS, Kind, Tag};

/// Maximum requests per submission; further ones cause an earlier submission.
const REQUESTS: u32 = 256;
/// Maximum sends per batch. More would delay the first.
const SENDS_PER_BATCH: usize = 64;
/// Size of the completion queue.
const COMPLETIONS: u32 = 4096;
/// Buffer group of the only pool.
const POOL: u16 = 0;
/// The kernel's flag for processing completions (io_uring_enter(2)).
const ENTER_GETEVENTS: u32 = 1;
/// Submission attempts before the kernel counts as out of memory.
const SUBMISSIONS_MAX: usize = 1000;
/// Time limit of dropping, which waits for the kernel's last use of the memory.
const LET_GO: Duration = Duration::from_secs(1);

/// Sizes of a ring.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Number of sockets.
    pub slots: u32,
    /// Receive buffers, shared by all sockets; rounded up to a power of two.
    pub buffers: u16,
    /// Bytes per buffer.
    pub buffer_bytes: u32,
}

/// An event of the socket in a slot.
#[derive(Debug)]
pub enum Event {
    /// Data has arrived: see [`Ring::received`].
    Received,
    /// The end of the stream, or an error.
    Ended(Option<io::Error>),
    /// The socket is writable, or connecting has ended.
    Writable,
}

/// The send was not accepted: submit the queue, process the unsent data, and retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// A send that the socket did not accept completely. The rest is not sent automatically.
#[derive(Debug)]
pub struct Unsent<'a> {
    /// The slot of its socket.
    pub slot: u32,
    /// The unsent data.
    pub rest: &'a [u8],
    /// The socket's error; `None` if its buffer was full.
    pub error: Option<io::Error>,
}

/// State of a slot.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// Distinguishes the current socket from earlier ones.
    generation: u32,
    /// Batch of its latest send.
    batch: u64,
    attached: bool,
}

/// A send of the batch.
#[derive(Clone, Copy)]
struct Queued {
    slot: u32,
    generation: u32,
    piece: Piece,
}

enum News {
    Received(Filled),
    Ended(Option<i32>),
    Writable,
}

/// An io_uring with its sockets, for the thread that made it.
pub struct Ring {
    uring: ManuallyDrop<IoUring>,
    arena: ManuallyDrop<Arena>,
    pool: ManuallyDrop<Pool>,
    slots: Vec<Slot>,
    batch: Vec<Queued>,
    /// Counts from 1; no slot has sent in batch 0.
    batch_number: u64,
    /// Index and kernel result of the batch's sends that were not accepted.
    unsent: VecDeque<(usize, i32)>,
    /// Completions that have not been returned yet.
    ready: VecDeque<(Tag, News)>,
    /// The buffer of the current event.
    current: Option<Filled>,
    /// Sockets whose receive must be restarted when buffers are free.
    deaf: VecDeque<Tag>,
    own_thread: PhantomData<*const ()>,
}

impl Ring {
    /// Maximum length of a send.
    pub const SEND_BYTES_MAX: usize = Arena::SIZE;

    /// Makes a ring and allocates all its resources.
    ///
    /// # Errors
    /// The system has no io_uring, is older than Linux 6.1, forbids io_uring, or lacks memory.
    pub fn new(options: Options) -> io::Result<Self> {
        let mut builder = IoUring::builder();
        builder.setup_single_issuer().setup_defer_taskrun().setup_submit_all();
        builder.setup_clamp().setup_cqsize(COMPLETIONS.max(options.slots.saturating_mul(2)));
        let uring: IoUring = builder.build(REQUESTS)?;
        let has = uring.params();
        if !(has.is_feature_skip_cqe_on_success() && has.is_feature_nodrop() && has.is_feature_ext_arg()) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel's io_uring is too old"));
        }
        let ring = Self {
            uring: ManuallyDrop::new(uring),
            arena: ManuallyDrop::new(Arena::new()),
            pool: ManuallyDrop::new(Pool::new(options.buffers, options.buffer_bytes)),
            slots: vec![Slot::default(); options.slots as usize],
            batch: Vec::with_capacity(SENDS_PER_BATCH),
            batch_number: 1,
            unsent: VecDeque::new(),
            ready: VecDeque::new(),
            current: None,
            deaf: VecDeque::new(),
            own_thread: PhantomData,
        };
        let submitter = ring.uring.submitter();
        submitter.register_files_sparse(options.slots)?;
        // SAFETY: the pool holds so many entries, page-aligned and initialised, at this address, for as long as the
        // kernel may use them: it is dropped after the ring, and leaked where the kernel does not let go.
        unsafe { submitter.register_buf_ring_with_flags(ring.pool.address(), ring.pool.count(), POOL, 0) }?;
        Ok(ring)
    }

    /// Puts a connected or connecting non-blocking socket into a slot, and removes the previous one.
    ///
    /// # Errors
    /// The kernel refuses the socket.
    ///
    /// # Panics
    /// There is no such slot.
    pub fn attach(&mut self, slot: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.detach(slot)?;
        self.uring.submitter().register_files_update(slot, &[socket.as_raw_fd()])?;
        self.slots[slot as usize].attached = true;
        Ok(())
    }

    /// Removes the socket from its slot. Queued data is sent first, as far as the socket accepts it; pending events are
    /// discarded.
    ///
    /// # Errors
    /// The kernel accepts no requests.
    ///
    /// # Panics
    /// There is no such slot.
    pub fn detach(&mut self, slot: u32) -> io::Result<()> {
        let Slot { generation, attached, .. } = self.slots[slot as usize];
        if !attached {
            return Ok(());
        }
        // Cancelling by tag is a hash lookup; cancelling by socket would search all slots.
        let tag = |kind| Tag { kind, generation, slot }.to_bits();
        let mut queued = Ok(());
        for kind in [Kind::Receive, Kind::Writable] {
            let cancel = opcode::AsyncCancel2::new(CancelBuilder::user_data(tag(kind)).all()).build();
            let cancel = cancel.flags(Flags::SKIP_SUCCESS).user_data(tag(Kind::Cancel));
            queued = queued.and(self.push(cancel));
        }
        // This call completes the cancelled requests, which then release the socket.
        let entered = self.look();
        self.entered(entered)?;
        queued?;
        let state = &mut self.slots[slot as usize];
        state.attached = false;
        state.generation = (generation + 1) % GENERATIONS;
        self.uring.submitter().register_files_update(slot, &[-1])?;
        Ok(())
    }

    /// Receives from the socket until the end of the stream.
    ///
    /// # Errors
    /// The kernel accepts no requests.
    pub fn receive(&mut self, slot: u32) -> io::Result<()> {
        let tag = Tag { kind: Kind::Receive, generation: self.slots[slot as usize].generation, slot };
        let receive = opcode::RecvMulti::new(Fixed(slot), POOL).build();
        self.push(receive.user_data(tag.to_bits()))
    }

    /// Requests one event when the socket is writable or connected.
    ///
    /// # Errors
    /// The kernel accepts no requests.
    pub fn watch_writable(&mut self, slot: u32) -> io::Result<()> {
        let tag = Tag { kind: Kind::Writable, generation: self.slots[slot as usize].generation, slot };
        let events = u32::from(libc::POLLOUT.unsigned_abs());
        let watch = opcode::PollAdd::new(Fixed(slot), events).build();
        self.push(watch.user_data(tag.to_bits()))
    }

    /// Queues data for the next submission. Data that the socket does not accept then is [`Unsent`].
    ///
    /// # Errors
    /// [`Refused`] if the batch is full, or has a send of this slot, which may still fail; always for more than
    /// [`Ring::SEND_BYTES_MAX`].
    pub fn send(&mut self, slot: u32, bytes: &[u8]) -> Result<(), Refused> {
        let Slot { generation, batch, .. } = self.slots[slot as usize];
        let index = self.batch.len();
        if batch == self.batch_number || index == SENDS_PER_BATCH || self.uring.submission().is_full() {
            return Err(Refused);
        }
        let piece = self.arena.put(bytes).ok_or(Refused)?;
        let length = u32::try_from(piece.length).map_err(|_| Refused)?;
        // A complete send has no completion, and sends never wait: with DONTWAIT the kernel does not retry, and with
        // WAITALL it counts a short send as failed.
        let flags = libc::MSG_DONTWAIT | libc::MSG_WAITALL | libc::MSG_NOSIGNAL;
        let send = opcode::Send::new(Fixed(slot), self.arena.address(piece), length).flags(flags).build();
        let tag = Tag { kind: Kind::Send, generation: 0, slot: u32::try_from(index).map_err(|_| Refused)? };
        self.push(send.flags(Flags::SKIP_SUCCESS).user_data(tag.to_bits())).map_err(|_| Refused)?;
        self.batch.push(Queued { slot, generation, piece });
        self.slots[slot as usize].batch = self.batch_number;
        Ok(())
    }

    /// Whether the batch has a send of this slot that may still fail.
    pub fn has_queued(&self, slot: u32) -> bool {
        self.slots[slot as usize].batch == self.batch_number
    }

    /// Submits the queue. The caller must then call [`Ring::next_unsent`] until it returns `None`, after which a full
    /// batch has room.
    ///
    /// # Errors
    /// The kernel accepts no requests.
    pub fn submit(&mut self) -> io::Result<()> {
        let entered = self.uring.submit();
        self.entered(entered)?;
        for _ in 0..SUBMISSIONS_MAX {
            if self.is_handed_over() {
                return Ok(());
            }
            // The completion queue was full, or the kernel was temporarily out of memory.
            let entered = self.look();
            self.entered(entered)?;
        }
        Err(io::Error::new(io::ErrorKind::OutOfMemory, "the kernel has no memory for requests of io_uring"))
    }

    /// Submits the queue, and waits for an event or the timeout. Callers with sends must then call
    /// [`Ring::next_unsent`].
    ///
    /// # Errors
    /// The kernel accepts no requests.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        self.hear_again();
        let entered = if timeout.is_zero() || !self.ready.is_empty() || !self.deaf.is_empty() {
            self.look()
        } else {
            let timeout = Timespec::from(timeout);
            self.uring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timeout))
        };
        self.entered(entered)
    }

    /// Submits the queue and processes completions, without waiting.
    fn look(&mut self) -> io::Result<usize> {
        let queued = u32::try_from(self.uring.submission().len()).unwrap_or(REQUESTS);
        // SAFETY: no argument is passed, and waiting for 0 completions needs none.
        unsafe { self.uring.submitter().enter::<libc::sigset_t>(queued, 0, ENTER_GETEVENTS, None) }
    }

    /// The next event; invalidates the data of the previous one.
    pub fn next_event(&mut self) -> Option<(u32, Event)> {
        self.give_back();
        while let Some((tag, news)) = self.ready.pop_front() {
            let Slot { generation, attached, .. } = self.slots[tag.slot as usize];
            let is_old = !attached || generation != tag.generation;
            let event = match news {
                News::Received(filled) => {
                    self.current = Some(filled);
                    Event::Received
                }
                News::Ended(error) => Event::Ended(error.map(io::Error::from_raw_os_error)),
                News::Writable => Event::Writable,
            };
            if !is_old {
                return Some((tag.slot, event));
            }
            self.give_back();
        }
        None
    }

    /// Whether [`Ring::next_event`] has completions, which may be outdated.
    pub fn has_events(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The data of the current event, if it is [`Event::Received`].
    pub fn received(&self) -> &[u8] {
        self.current.as_ref().map_or(&[], |filled| self.pool.bytes(filled))
    }

    /// The unsent data of the last submissions, one send per call. All must be taken before the next batch.
    pub fn next_unsent(&mut self) -> Option<Unsent<'_>> {
        while let Some((index, result)) = self.unsent.pop_front() {
            let Some(&Queued { slot, generation, piece }) = self.batch.get(index) else { continue };
            let state = self.slots[slot as usize];
            if !state.attached || state.generation != generation {
                continue;
            }
            return Some(match usize::try_from(result) {
                Ok(sent) => Unsent { slot, rest: self.arena.rest(piece, sent), error: None },
                Err(_) if result == -libc::EAGAIN => {
                    Unsent { slot, rest: self.arena.rest(piece, 0), error: None }
                }
                Err(_) => Unsent { slot, rest: &[], error: Some(io::Error::from_raw_os_error(-result)) },
            });
        }
        self.begin_batch();
        None
    }

    /// Queues a request; submits the queue first if it is full.
    fn push(&mut self, entry: Entry) -> io::Result<()> {
        if self.uring.submission().is_full() {
            self.submit()?;
        }
        // SAFETY: only sends have an address; theirs is in the arena, which lives as long as the kernel may read it.
        let pushed = unsafe { self.uring.submission().push(&entry) };
        pushed.map_err(|_| io::Error::new(io::ErrorKind::WouldBlock, "the kernel takes no more requests"))
    }

    /// Processes completions after a system call.
    fn entered(&mut self, entered: io::Result<usize>) -> io::Result<()> {
        self.collect();
        match entered {
            Ok(_) => Ok(()),
            // Timeout, signal, or full completion queue; completions are collected now.
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)
                ) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Collects completions from the kernel.
    fn collect(&mut self) {
        let Self { uring, pool, unsent, ready, deaf, .. } = self;
        for completion in uring.completion() {
            let tag = Tag::from_bits(completion.user_data());
            let result = completion.result();
            let news = match tag.kind {
                Kind::Cancel => continue,
                Kind::Send => {
                    unsent.push_back((tag.slot as usize, result));
                    continue;
                }
                Kind::Writable => News::Writable,
                Kind::Receive => {
                    let filled = cqueue::buffer_select(completion.flags()).map(|buffer| {
                        // SAFETY: this completion says so, and is seen once.
                        unsafe { pool.take_over(buffer, usize::try_from(result).unwrap_or(0)) }
                    });
                    let goes_on = cqueue::more(completion.flags());
                    match (result, filled) {
                        (1.., Some(filled)) => {
                            if !goes_on {
                                deaf.push_back(tag);
                            }
                            News::Received(filled)
                        }
                        (_, filled) => {
                            filled.into_iter().for_each(|filled| pool.give_back(filled));
                            if result == -libc::ENOBUFS {
                                deaf.push_back(tag);
                                continue;
                            }
                            News::Ended((result < 0).then_some(-result))
                        }
                    }
                }
            };
            ready.push_back((tag, news));
        }
        self.begin_batch();
    }

    /// Starts a new batch when this one is finished. A full batch with unsent data is finished when the caller has
    /// taken all of it.
    fn begin_batch(&mut self) {
        // The kernel has processed all requests, so all sends are finished; failed ones are in `unsent`.
        if !self.batch.is_empty() && self.unsent.is_empty() && self.is_handed_over() {
            self.batch.clear();
            self.arena.clear();
            self.batch_number += 1;
        }
    }

    /// Whether the kernel has accepted all requests and has no completion left.
    fn is_handed_over(&mut self) -> bool {
        let submission = self.uring.submission();
        submission.is_empty() && !submission.cq_overflow()
    }

    /// Restarts receives that ended for lack of buffers or for other reasons.
    fn hear_again(&mut self) {
        for _ in 0..self.deaf.len().min(self.pool.free()) {
            let Some(tag) = self.deaf.pop_front() else { return };
            let Slot { generation, attached, .. } = self.slots[tag.slot as usize];
            if attached && generation == tag.generation && self.receive(tag.slot).is_err() {
                self.deaf.push_back(tag);
                return;
            }
        }
    }

    fn give_back(&mut self) {
        if let Some(filled) = self.current.take() {
            self.pool.give_back(filled);
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // Submits the queue; then the kernel must release the memory.
        let _ = self.uring.submit();
        let let_go =
            self.uring.submitter().register_sync_cancel(Some(Timespec::from(LET_GO)), CancelBuilder::any());
        let has_let_go = match let_go {
            Ok(()) => true,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        // SAFETY: not used after this.
        unsafe { ManuallyDrop::drop(&mut self.uring) };
        if has_let_go {
            // SAFETY: not used after this; no request is left that could reach it.
            unsafe { ManuallyDrop::drop(&mut self.arena) };
            // SAFETY: likewise.
            unsafe { ManuallyDrop::drop(&mut self.pool) };
        }
    }
}
