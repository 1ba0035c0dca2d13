//! The ring: sockets in numbered slots, sends gathered into batches, receives that go on by themselves, one call that
//! hands all over and waits. What must hold for the `unsafe` here: every address in a request is in the arena or the
//! pool, and both outlive the kernel's use of them.

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

/// Requests that are handed over together; when there are more, they are handed over earlier.
const REQUESTS: u32 = 256;
/// Sends of one batch. More of them would keep the first waiting for the last.
const SENDS_PER_BATCH: usize = 64;
/// Completions that the kernel can keep for us before it has to make do.
const COMPLETIONS: u32 = 4096;
/// The group of our only pool.
const POOL: u16 = 0;
/// The kernel's flag for "look for completions" (io_uring_enter(2)).
const ENTER_GETEVENTS: u32 = 1;
/// How often handing over is tried before the kernel counts as having no memory.
const SUBMISSIONS_MAX: usize = 1000;
/// How long dropping waits for the kernel to let go of the memory.
const LET_GO: Duration = Duration::from_secs(1);

/// How large a ring is.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Sockets.
    pub slots: u32,
    /// Buffers for what arrives, for all sockets together; rounded up to a power of two.
    pub buffers: u16,
    /// Bytes of each.
    pub buffer_bytes: u32,
}

/// What happened to the socket in a slot.
#[derive(Debug)]
pub enum Event {
    /// Bytes came: see [`Ring::received`].
    Received,
    /// Nothing more will come, because the peer has closed or because of an error.
    Ended(Option<io::Error>),
    /// It takes bytes, or is connected, or cannot be.
    Writable,
}

/// A send that cannot be taken now: submit what is queued, look at what is unsent, and try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// A send that the socket did not take, or not all of it. Nothing of its bytes is sent later by itself.
#[derive(Debug)]
pub struct Unsent<'a> {
    /// Whose it was.
    pub slot: u32,
    /// What is still to be sent.
    pub rest: &'a [u8],
    /// The socket is broken; `None`: it is full.
    pub error: Option<io::Error>,
}

/// What is known of a slot.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// Tells the socket that is there from those before.
    generation: u32,
    /// The batch in which it has sent.
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

/// An io_uring with its sockets. Belongs to the thread that made it.
pub struct Ring {
    uring: ManuallyDrop<IoUring>,
    arena: ManuallyDrop<Arena>,
    pool: ManuallyDrop<Pool>,
    slots: Vec<Slot>,
    batch: Vec<Queued>,
    /// Counts from 1; no slot has sent in batch 0.
    batch_number: u64,
    /// Sends of the batch that were not taken: which, and what the kernel said.
    unsent: VecDeque<(usize, i32)>,
    /// Completions that nobody has seen yet.
    ready: VecDeque<(Tag, News)>,
    /// Lent out.
    current: Option<Filled>,
    /// Sockets to be heard again, when there are buffers for them.
    deaf: VecDeque<Tag>,
    own_thread: PhantomData<*const ()>,
}

impl Ring {
    /// The longest send.
    pub const SEND_BYTES_MAX: usize = Arena::SIZE;

    /// Makes a ring, with all that it will use, so that it fails now or never.
    ///
    /// # Errors
    /// When the system has no io_uring, is too old (before Linux 6.1), forbids it, or has no memory for it.
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

    /// Puts a connected or connecting socket, which does not block, into a slot, and what was there away.
    ///
    /// # Errors
    /// When the kernel refuses the socket.
    ///
    /// # Panics
    /// When there is no such slot.
    pub fn attach(&mut self, slot: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.detach(slot)?;
        self.uring.submitter().register_files_update(slot, &[socket.as_raw_fd()])?;
        self.slots[slot as usize].attached = true;
        Ok(())
    }

    /// Takes the socket out of its slot. What was sent goes out first, as far as the socket takes it; what is still
    /// to be seen of it is not seen any more.
    ///
    /// # Errors
    /// When the kernel takes no requests.
    ///
    /// # Panics
    /// When there is no such slot.
    pub fn detach(&mut self, slot: u32) -> io::Result<()> {
        let Slot { generation, attached, .. } = self.slots[slot as usize];
        if !attached {
            return Ok(());
        }
        // By their tags, which the kernel finds at once; by the socket it would look through those of all slots.
        let tag = |kind| Tag { kind, generation, slot }.to_bits();
        let mut queued = Ok(());
        for kind in [Kind::Receive, Kind::Writable] {
            let cancel = opcode::AsyncCancel2::new(CancelBuilder::user_data(tag(kind)).all()).build();
            let cancel = cancel.flags(Flags::SKIP_SUCCESS).user_data(tag(Kind::Cancel));
            queued = queued.and(self.push(cancel));
        }
        // The cancelled requests end now, and with them their hold on the socket.
        let entered = self.look();
        self.entered(entered)?;
        queued?;
        let state = &mut self.slots[slot as usize];
        state.attached = false;
        state.generation = (generation + 1) % GENERATIONS;
        self.uring.submitter().register_files_update(slot, &[-1])?;
        Ok(())
    }

    /// Hears the socket from now on, until it has ended.
    ///
    /// # Errors
    /// When the kernel takes no requests.
    pub fn receive(&mut self, slot: u32) -> io::Result<()> {
        let tag = Tag { kind: Kind::Receive, generation: self.slots[slot as usize].generation, slot };
        let receive = opcode::RecvMulti::new(Fixed(slot), POOL).build();
        self.push(receive.user_data(tag.to_bits()))
    }

    /// Tells, once, when the socket takes bytes or is connected.
    ///
    /// # Errors
    /// When the kernel takes no requests.
    pub fn watch_writable(&mut self, slot: u32) -> io::Result<()> {
        let tag = Tag { kind: Kind::Writable, generation: self.slots[slot as usize].generation, slot };
        let events = u32::from(libc::POLLOUT.unsigned_abs());
        let watch = opcode::PollAdd::new(Fixed(slot), events).build();
        self.push(watch.user_data(tag.to_bits()))
    }

    /// Queues bytes to be sent when next submitted. What the socket does not take then is [`Unsent`].
    ///
    /// # Errors
    /// [`Refused`] when the batch is full, or has a send of this slot already, which may yet turn out to be unsent;
    /// always for more than [`Ring::SEND_BYTES_MAX`].
    pub fn send(&mut self, slot: u32, bytes: &[u8]) -> Result<(), Refused> {
        let Slot { generation, batch, .. } = self.slots[slot as usize];
        let index = self.batch.len();
        if batch == self.batch_number || index == SENDS_PER_BATCH || self.uring.submission().is_full() {
            return Err(Refused);
        }
        let piece = self.arena.put(bytes).ok_or(Refused)?;
        let length = u32::try_from(piece.length).map_err(|_| Refused)?;
        // Nothing is told of a send that the socket takes whole, which it does at once or not: with DONTWAIT the
        // kernel never goes on by itself, with WAITALL it counts a short send as failed.
        let flags = libc::MSG_DONTWAIT | libc::MSG_WAITALL | libc::MSG_NOSIGNAL;
        let send = opcode::Send::new(Fixed(slot), self.arena.address(piece), length).flags(flags).build();
        let tag = Tag { kind: Kind::Send, generation: 0, slot: u32::try_from(index).map_err(|_| Refused)? };
        self.push(send.flags(Flags::SKIP_SUCCESS).user_data(tag.to_bits())).map_err(|_| Refused)?;
        self.batch.push(Queued { slot, generation, piece });
        self.slots[slot as usize].batch = self.batch_number;
        Ok(())
    }

    /// True when the batch has a send of this slot that may yet turn out to be unsent.
    pub fn has_queued(&self, slot: u32) -> bool {
        self.slots[slot as usize].batch == self.batch_number
    }

    /// Hands over what is queued, all of it. After that the caller looks at [`Ring::next_unsent`] until there is no
    /// more; then there is room for a whole batch.
    ///
    /// # Errors
    /// When the kernel takes no requests.
    pub fn submit(&mut self) -> io::Result<()> {
        let entered = self.uring.submit();
        self.entered(entered)?;
        for _ in 0..SUBMISSIONS_MAX {
            if self.is_handed_over() {
                return Ok(());
            }
            // Completions were in the way, or the kernel was short of memory for a moment.
            let entered = self.look();
            self.entered(entered)?;
        }
        Err(io::Error::new(io::ErrorKind::OutOfMemory, "the kernel has no memory for requests of io_uring"))
    }

    /// Hands over what is queued, and waits until something has happened or the time is over. Whoever sends looks at
    /// [`Ring::next_unsent`] then.
    ///
    /// # Errors
    /// When the kernel takes no requests.
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

    /// Hands over what is queued, and lets the kernel tell what has happened, without waiting.
    fn look(&mut self) -> io::Result<usize> {
        let queued = u32::try_from(self.uring.submission().len()).unwrap_or(REQUESTS);
        // SAFETY: no argument is passed, and waiting for 0 completions needs none.
        unsafe { self.uring.submitter().enter::<libc::sigset_t>(queued, 0, ENTER_GETEVENTS, None) }
    }

    /// What happened, one by one; the bytes that the last one brought are gone then.
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

    /// True when [`Ring::next_event`] has something, which may however be out of date.
    pub fn has_events(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The bytes of the event that was just told, if it was [`Event::Received`].
    pub fn received(&self) -> &[u8] {
        self.current.as_ref().map_or(&[], |filled| self.pool.bytes(filled))
    }

    /// The sends that the last submissions did not get rid of, one by one. All must be seen before there is room for
    /// another batch.
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

    /// Queues a request, after those that are queued have been handed over if there is no room.
    fn push(&mut self, entry: Entry) -> io::Result<()> {
        if self.uring.submission().is_full() {
            self.submit()?;
        }
        // SAFETY: only sends have an address; theirs is in the arena, which lives as long as the kernel may read it.
        let pushed = unsafe { self.uring.submission().push(&entry) };
        pushed.map_err(|_| io::Error::new(io::ErrorKind::WouldBlock, "the kernel takes no more requests"))
    }

    /// After a call of the kernel.
    fn entered(&mut self, entered: io::Result<usize>) -> io::Result<()> {
        self.collect();
        match entered {
            Ok(_) => Ok(()),
            // The time is over, a signal came, or completions were in the way, which are collected now.
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

    /// Takes the completions from the kernel.
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

    /// Makes room for another batch once this one is done with. A full batch whose sends were not all taken is done
    /// with when these have been seen, whatever their sockets take.
    fn begin_batch(&mut self) {
        // All that was queued is with the kernel, so all sends are done with: those that were not are in `unsent`.
        if !self.batch.is_empty() && self.unsent.is_empty() && self.is_handed_over() {
            self.batch.clear();
            self.arena.clear();
            self.batch_number += 1;
        }
    }

    /// The kernel has taken every request, and has no completion left.
    fn is_handed_over(&mut self) -> bool {
        let submission = self.uring.submission();
        submission.is_empty() && !submission.cq_overflow()
    }

    /// Receives again where the kernel had no buffer left, or had other reasons to stop.
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
        // What is queued is still to go out; then the kernel must let go of the memory.
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
