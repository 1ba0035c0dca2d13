//! Messages with commits, which wait until the tracer has noted them: one note for all commits of a pass of the worker's loop.
//! Used by the worker's loop in runs with tokens only.

use crate::client::Sent;

/// Buffers kept for later messages.
const SPARES_MAX: usize = 1024;
/// Capacity of a kept buffer.
const SPARE_BYTES_MAX: usize = 16 * 1024;

/// The waiting messages, in order.
#[derive(Debug, Default)]
pub(super) struct WaitingCommits {
    messages: Vec<(usize, Vec<u8>)>,
    spares: Vec<Vec<u8>>,
}

impl WaitingCommits {
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Whether a message of this client waits; later ones must not overtake it.
    pub(super) fn has(&self, slot: usize) -> bool {
        self.messages.iter().any(|(waiting, _)| *waiting == slot)
    }

    /// Whether a client's messages were sent, if its connection is lost now.
    pub(super) fn sent(&self, slot: usize) -> Sent {
        match self.has(slot) {
            true => Sent::No,
            false => Sent::Perhaps,
        }
    }

    /// Takes the bytes of a client's message.
    pub(super) fn add(&mut self, slot: usize, bytes: &mut Vec<u8>) {
        let spare = self.spares.pop().unwrap_or_default();
        self.messages.push((slot, std::mem::replace(bytes, spare)));
    }

    /// The client's connection is lost: its messages are not sent.
    pub(super) fn forget(&mut self, slot: usize) {
        self.messages.retain(|(waiting, _)| *waiting != slot);
    }

    /// All waiting messages.
    pub(super) fn take(&mut self) -> Vec<(usize, Vec<u8>)> {
        std::mem::take(&mut self.messages)
    }

    /// Gives back what [`WaitingCommits::take`] returned, after sending.
    pub(super) fn give_back(&mut self, mut messages: Vec<(usize, Vec<u8>)>) {
        for (_, mut bytes) in messages.drain(..) {
            bytes.clear();
            if self.spares.len() < SPARES_MAX && bytes.capacity() <= SPARE_BYTES_MAX {
                self.spares.push(bytes);
            }
        }
        if self.messages.is_empty() {
            self.messages = messages;
        }
    }
}
