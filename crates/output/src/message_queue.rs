//! A queue for messages on stderr during a measurement. A separate thread writes them, so that a full pipe or a
//! stopped terminal delays neither workers nor the end of the run. Messages that do not fit are dropped and counted.
//! At other times messages are written immediately. Called by `cli`, which formats and writes them.

use std::collections::VecDeque;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Limit of queued bytes: many seconds of messages for a slow reader.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Time after a run to write the last messages.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);

/// Output for stderr.
#[derive(Debug)]
pub enum Message {
    /// Lines that stay.
    Lines(String),
    /// Lines that the next message replaces, and their number.
    View(String, usize),
}

impl Message {
    fn bytes(&self) -> usize {
        match self {
            Self::Lines(text) | Self::View(text, _) => text.len(),
        }
    }
}

/// Shows a message; returns false if that is impossible at the moment.
pub type Show = fn(&Message) -> bool;

/// Messages waiting for the writer.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<Message>,
    bytes: usize,
    dropped: u64,
    /// Number of loads being measured.
    loads: usize,
    has_writer: bool,
    /// Whether the writer is writing a message.
    is_writing: bool,
    /// Whether the writer did not respond in time. Other threads must then not use stderr, because they would block
    /// too.
    is_stuck: bool,
}

static QUEUE: LazyLock<Mutex<Queue>> = LazyLock::new(Mutex::default);
/// Notified when a message was queued or written.
static CHANGED: Condvar = Condvar::new();

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    fn is_in_use(&self) -> bool {
        self.has_writer && (self.loads > 0 || self.is_stuck)
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && !self.is_writing
    }

    fn add(&mut self, message: Message) {
        // A view that was not shown yet is obsolete.
        if matches!((self.waiting.back(), &message), (Some(Message::View(..)), Message::View(..)))
            && let Some(old) = self.waiting.pop_back()
        {
            self.bytes -= old.bytes();
        }
        if self.bytes + message.bytes() > WAITING_BYTES_MAX {
            self.dropped += 1;
            return;
        }
        self.bytes += message.bytes();
        self.waiting.push_back(message);
    }
}

/// A load being measured, until this is dropped: messages are queued.
pub struct Measuring(());

impl Measuring {
    /// Starts a thread that shows messages through `show`. If no thread can be started, messages are written
    /// immediately as before.
    pub fn begin(show: Show) -> Self {
        let mut queue = queue();
        queue.loads += 1;
        if !queue.has_writer {
            let writer = thread::Builder::new().name("stderr".to_owned()).spawn(move || write_all(show));
            queue.has_writer = writer.is_ok();
        }
        Self(())
    }

    /// The load is over; returns how many messages and progress lines were not shown.
    pub fn end(self) -> u64 {
        drop(self);
        let mut queue = queue();
        let unwritten = if queue.is_stuck { queue.waiting.len() + usize::from(queue.is_writing) } else { 0 };
        std::mem::take(&mut queue.dropped) + unwritten as u64
    }
}

impl Drop for Measuring {
    fn drop(&mut self) {
        queue().loads -= 1;
        flush();
    }
}

/// Waits a short time for queued messages to be written, for example before the process exits.
pub fn flush() {
    let mut queue = queue();
    if queue.is_stuck && queue.bytes >= WAITING_BYTES_MAX / 2 {
        return;
    }
    if queue.has_writer {
        let flushed = CHANGED.wait_timeout_while(queue, FLUSH_LIMIT, |queue| !queue.is_empty());
        queue = flushed.unwrap_or_else(PoisonError::into_inner).0;
        queue.is_stuck = !queue.is_empty();
    }
}

/// Queues a message during a measurement; otherwise returns it, to be shown immediately.
pub fn add(message: Message) -> Option<Message> {
    let mut queue = queue();
    if !queue.is_in_use() {
        return Some(message);
    }
    queue.add(message);
    CHANGED.notify_all();
    None
}

/// Main loop of the writer.
fn write_all(show: Show) {
    let mut queue = queue();
    loop {
        while let Some(message) = queue.waiting.pop_front() {
            queue.bytes -= message.bytes();
            queue.is_writing = true;
            drop(queue);
            let is_shown = show(&message);
            queue = self::queue();
            queue.is_writing = false;
            queue.dropped += u64::from(!is_shown);
            CHANGED.notify_all();
        }
        queue = CHANGED.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(length: usize) -> Message {
        Message::Lines("x".repeat(length))
    }

    #[test]
    fn what_does_not_fit_is_dropped_and_counted_and_there_is_room_again_later() {
        let mut queue = Queue::default();
        queue.add(lines(WAITING_BYTES_MAX));
        queue.add(lines(1));
        queue.add(Message::View("view\n".to_owned(), 1));
        assert_eq!((queue.waiting.len(), queue.dropped), (1, 2));
        let first = queue.waiting.pop_front().expect("a message");
        queue.bytes -= first.bytes();
        queue.add(lines(1));
        assert_eq!((queue.waiting.len(), queue.bytes, queue.dropped), (1, 1, 2));
    }

    #[test]
    fn a_view_takes_the_place_of_one_that_nobody_has_seen_yet() {
        let mut queue = Queue::default();
        for number in 0..1000 {
            queue.add(Message::View(format!("view {number}\n"), 1));
        }
        assert!(matches!(queue.waiting.make_contiguous(), [Message::View(text, 1)] if text == "view 999\n"));
        queue.add(lines(5));
        queue.add(Message::View("after\n".to_owned(), 1));
        assert_eq!((queue.waiting.len(), queue.dropped), (3, 0));
        assert_eq!(queue.bytes, "view 999\n".len() + 5 + "after\n".len());
    }
}
