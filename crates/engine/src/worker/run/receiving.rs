//! What clients of a worker receive: bytes go to the client, and its step is carried out. Also the last message of a
//! server whose connection was lost while sending.

use std::io;

use stats::Timestamp;

use super::Run;
use crate::client::{Sent, Step};
use crate::driver::{Driver, Receive};
use crate::worker::sessions::Sessions;
use crate::worker::slot::ClientSlot;

/// What a call of the driver has received.
pub(super) enum Received {
    Nothing,
    /// The number of bytes; 0 for the end of the connection.
    Bytes(usize),
}

impl<'r, 'p: 'r, D: Driver> Run<'r, 'p, D> {
    /// Processes all received bytes of a client.
    #[inline(always)]
    pub(super) fn receive(&mut self, slot: usize, link: usize, mut now: Timestamp) {
        while self.sessions.slots[slot].active {
            now = now.max(self.latest);
            if let Received::Nothing = self.receive_once(slot, link, now) {
                return;
            }
        }
    }

    /// Processes the bytes of one call of the driver.
    #[inline(always)]
    pub(super) fn receive_once(&mut self, slot: usize, link: usize, now: Timestamp) -> Received {
        let connection = self.sessions.load.connection(slot, link);
        let Sessions { driver, slots, context, .. } = &mut self.sessions;
        let ClientSlot { client, warmup, .. } = &mut slots[slot];
        let (step, received) = match driver.receive(connection) {
            Receive::Empty => return Received::Nothing,
            Receive::Bytes(bytes) => {
                let step = client.receive(link, bytes, &mut context.turn(now, *warmup));
                (step, Received::Bytes(bytes.len()))
            }
            Receive::Closed(cause) => {
                let turn = &mut context.turn(now, *warmup);
                let step = client.lose_connection(link, cause.as_ref(), self.commits.sent(slot), turn);
                (Some(step), Received::Bytes(0))
            }
        };
        if let Some(step) = step
            && self.act(slot, step, now)
        {
            self.release(slot, now);
        }
        received
    }

    /// The connection was lost while sending. The server's last message is still unread, and is more specific than
    /// the error.
    pub(super) fn last_words(&mut self, slot: usize, link: usize, error: &io::Error, now: Timestamp) -> Step {
        let Sessions { load, driver, slots, context, .. } = &mut self.sessions;
        let connection = load.connection(slot, link);
        let ClientSlot { client, warmup, .. } = &mut slots[slot];
        while let Receive::Bytes(bytes) = driver.receive(connection) {
            let step = client.receive(link, bytes, &mut context.turn(now, *warmup));
            if let Some(step @ (Step::Aborted(_) | Step::Lost(_))) = step {
                return step;
            }
        }
        context.out.clear();
        client.lose_connection(link, Some(error), Sent::of_failed(error), &mut context.turn(now, *warmup))
    }
}
