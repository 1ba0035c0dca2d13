//! The bytes to be sent, one batch at a time, where the kernel reads them. Raw memory, because the kernel may look at
//! it while there is a `&mut Ring`; bounds are checked here, so `ring` handles no pointer arithmetic.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

const LAYOUT: Layout = match Layout::from_size_align(Arena::SIZE, 64) {
    Ok(layout) => layout,
    Err(_) => panic!("a size and an alignment that fit each other"),
};

/// A piece of an arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    start: usize,
    pub(crate) length: usize,
}

/// Pieces are laid one behind the other until it is cleared.
pub(crate) struct Arena {
    memory: NonNull<u8>,
    used: usize,
}

impl Arena {
    /// Bytes of one batch.
    pub(crate) const SIZE: usize = 64 * 1024;

    pub(crate) fn new() -> Self {
        // SAFETY: the layout has a size above 0.
        let memory = unsafe { alloc_zeroed(LAYOUT) };
        let Some(memory) = NonNull::new(memory) else { handle_alloc_error(LAYOUT) };
        Self { memory, used: 0 }
    }

    /// Copies bytes behind those that are there; `None` if they do not fit.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Option<Piece> {
        if bytes.len() > Self::SIZE - self.used {
            return None;
        }
        let piece = Piece { start: self.used, length: bytes.len() };
        let target = self.address(piece).cast_mut();
        // SAFETY: `address` has checked that the whole piece is within the memory, which is ours alone, so that nothing
        // overlaps. A slice of it is lent out only while the arena is borrowed, and it is borrowed mutably here.
        unsafe { target.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.used += bytes.len();
        Some(piece)
    }

    /// Where the kernel finds a piece. It is valid as long as the arena is, moved or not.
    pub(crate) fn address(&self, piece: Piece) -> *const u8 {
        assert!(piece.start + piece.length <= Self::SIZE, "a piece is within its arena");
        // SAFETY: within the memory, as was just checked.
        unsafe { self.memory.add(piece.start) }.as_ptr()
    }

    /// A piece without its first bytes.
    pub(crate) fn rest(&self, piece: Piece, without: usize) -> &[u8] {
        let without = without.min(piece.length);
        let address = self.address(piece);
        // SAFETY: the whole memory was initialised when made, the piece is within it (`address` checks that), and only
        // `put` writes, which borrows the arena mutably. The kernel only reads it.
        let piece = unsafe { std::slice::from_raw_parts(address, piece.length) };
        &piece[without..]
    }

    /// Forgets all pieces.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and dropped once.
        unsafe { dealloc(self.memory.as_ptr(), LAYOUT) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_lie_behind_each_other_until_it_is_full() {
        let mut arena = Arena::new();
        let first = arena.put(b"first").expect("room");
        let second = arena.put(b"second").expect("room");
        assert_eq!(arena.rest(first, 0), b"first");
        assert_eq!(arena.rest(second, 3), b"ond");
        assert_eq!(arena.rest(second, 99), b"");
        assert!(arena.put(&[1; Arena::SIZE]).is_none());
        arena.clear();
        let all = arena.put(&[1; Arena::SIZE]).expect("room for all");
        assert_eq!(arena.rest(all, 0), [1; Arena::SIZE]);
        assert!(arena.put(b"x").is_none());
    }
}
