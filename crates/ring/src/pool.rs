//! The buffers into which the kernel puts what arrives: a ring of provided buffers (io_uring_register_buf_ring(3)).
//! Few and used in turn, so that they stay in the cache; each belongs either to the kernel or to us.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;

/// The kernel wants the entries at the begin of a page.
const PAGE: usize = 4096;
/// Between two buffers, so that the first bytes of all do not fall on the same few lines of the cache.
const GAP: usize = 64;

/// A buffer that the kernel has filled and given to us. Cannot be copied: given back once.
#[derive(Debug)]
pub(crate) struct Filled {
    buffer: u16,
    length: usize,
}

/// See the module.
pub(crate) struct Pool {
    entries: NonNull<BufRingEntry>,
    memory: NonNull<u8>,
    /// A power of two.
    count: u16,
    buffer_bytes: u32,
    tail: u16,
    /// How many are ours.
    taken: u16,
}

fn allocate(layout: Layout) -> NonNull<u8> {
    assert!(layout.size() > 0, "a pool has at least one buffer");
    // SAFETY: the size is above 0.
    let memory = unsafe { alloc_zeroed(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

impl Pool {
    /// `count` buffers, rounded up to a power of two, of so many bytes each, all of them the kernel's as soon as it
    /// is told of [`Pool::address`].
    pub(crate) fn new(count: u16, buffer_bytes: u32) -> Self {
        let count = count.clamp(1, 1 << 15).next_power_of_two();
        let buffer_bytes = buffer_bytes.max(1);
        let (entries, memory) = layouts(count, buffer_bytes);
        let mut pool = Self {
            entries: allocate(entries).cast(),
            memory: allocate(memory),
            count,
            buffer_bytes,
            tail: 0,
            taken: count,
        };
        for buffer in 0..count {
            pool.give_back(Filled { buffer, length: 0 });
        }
        pool
    }

    /// Where the kernel finds the entries.
    pub(crate) fn address(&self) -> u64 {
        self.entries.as_ptr() as u64
    }

    pub(crate) fn count(&self) -> u16 {
        self.count
    }

    /// Takes over a buffer from the kernel.
    ///
    /// # Safety
    /// A completion must have said that the kernel has put `length` bytes into this buffer, and each such completion
    /// be told once: from now on the buffer is ours until it is given back.
    pub(crate) unsafe fn take_over(&mut self, buffer: u16, length: usize) -> Filled {
        assert!(buffer < self.count, "the kernel hands out buffers of this pool");
        self.taken += 1;
        Filled { buffer, length: length.min(self.buffer_bytes as usize) }
    }

    /// How many are the kernel's.
    pub(crate) fn free(&self) -> usize {
        usize::from(self.count - self.taken)
    }

    /// What is in a buffer.
    pub(crate) fn bytes(&self, filled: &Filled) -> &[u8] {
        let address = self.buffer_address(filled.buffer);
        // SAFETY: all memory was initialised when made; the buffer is within it, and so is the length, which
        // `take_over` has limited. As there is a `Filled`, the kernel does not write here, and nobody else does.
        unsafe { std::slice::from_raw_parts(address, filled.length) }
    }

    /// Lets the kernel use a buffer again.
    pub(crate) fn give_back(&mut self, filled: Filled) {
        let Filled { buffer, length: _ } = filled;
        let address = self.buffer_address(buffer) as u64;
        let index = usize::from(self.tail & (self.count - 1));
        // SAFETY: the index is below the count, so the entry is within the allocation.
        let mut entry = unsafe { self.entries.add(index) };
        // SAFETY: the entry was initialised with zeroes. The kernel reads entries only up to the tail, which has not
        // come here yet: as many are beyond it as are ours.
        let entry = unsafe { entry.as_mut() };
        entry.set_addr(address);
        entry.set_len(self.buffer_bytes);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
        self.taken -= 1;
        self.publish();
    }

    /// Tells the kernel how far the entries are valid.
    fn publish(&self) {
        // SAFETY: the first entry exists as long as the pool does.
        let tail = unsafe { BufRingEntry::tail(self.entries.as_ptr()) };
        // SAFETY: two bytes within the first entry, aligned; kernel and we both use them atomically.
        let tail = unsafe { AtomicU16::from_ptr(tail.cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    fn buffer_address(&self, buffer: u16) -> *mut u8 {
        assert!(buffer < self.count, "a buffer of this pool");
        // SAFETY: there are `count` buffers at this distance.
        unsafe { self.memory.add(usize::from(buffer) * (self.buffer_bytes as usize + GAP)) }.as_ptr()
    }
}

fn layouts(count: u16, buffer_bytes: u32) -> (Layout, Layout) {
    let count = usize::from(count);
    let entries = Layout::from_size_align(count * size_of::<BufRingEntry>(), PAGE);
    let memory = Layout::from_size_align(count * (buffer_bytes as usize + GAP), 64);
    let fits = "a pool is smaller than the address space";
    (entries.expect(fits), memory.expect(fits))
}

impl Drop for Pool {
    fn drop(&mut self) {
        let (entries, memory) = layouts(self.count, self.buffer_bytes);
        // SAFETY: allocated with this layout, and dropped once.
        unsafe { dealloc(self.entries.as_ptr().cast(), entries) };
        // SAFETY: likewise.
        unsafe { dealloc(self.memory.as_ptr(), memory) };
    }
}
