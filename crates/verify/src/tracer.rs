//! Writes the journal during a run: a tracer around the caller's own, one for each worker.
//! A failure to write ends the run.

use std::io;

use engine::{ClientEvent, CommitEvent, CommitReply, EndedTransaction, Token, Tracer};
use stats::Timestamp;

use crate::journal::{CommitOutcome, Entry, JournalFile, TokenKey};

/// Journal of a worker's commits; everything else goes to the inner tracer.
pub struct CommitTracer<'a> {
    inner: Box<dyn Tracer + 'a>,
    file: JournalFile,
    /// Times in the journal are relative to this.
    start: Timestamp,
}

impl<'a> CommitTracer<'a> {
    /// A journal in this file, for a run that starts at `start`.
    pub fn new(inner: Box<dyn Tracer + 'a>, file: JournalFile, start: Timestamp) -> Self {
        Self { inner, file, start }
    }

    fn since_start(&self, at: Timestamp) -> Timestamp {
        Timestamp::ZERO + at.since(self.start)
    }
}

fn key(token: Token) -> TokenKey {
    let Token { client, sequence, part, tries } = token;
    // A client's number is below the maximum number of clients, which has 32 bits.
    TokenKey { client: u32::try_from(client).unwrap_or(u32::MAX), sequence, part, tries }
}

impl Tracer for CommitTracer<'_> {
    fn wants_transactions(&self) -> bool {
        self.inner.wants_transactions()
    }

    fn wants_steps(&self) -> bool {
        self.inner.wants_steps()
    }

    fn transaction(&mut self, ended: &EndedTransaction<'_>) {
        self.inner.transaction(ended);
    }

    fn on_event(&mut self, event: &ClientEvent<'_>) {
        self.inner.on_event(event);
    }

    fn commit(&mut self, event: &CommitEvent) {
        let entry = match *event {
            CommitEvent::Sending { token, began, now } => {
                Entry::Sent { key: key(token), began: self.since_start(began), at: self.since_start(now) }
            }
            CommitEvent::Ended { token, now, reply } => {
                let outcome = match reply {
                    CommitReply::Acknowledged => CommitOutcome::Acknowledged,
                    CommitReply::Reserved => CommitOutcome::Reserved,
                    CommitReply::Refused(state) => CommitOutcome::Refused(state.bytes()),
                    CommitReply::Unknown(state) => CommitOutcome::Unknown(state.map(|state| state.bytes())),
                };
                Entry::Ended { key: key(token), at: self.since_start(now), outcome }
            }
        };
        self.file.add(&entry);
        self.inner.commit(event);
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.inner.flush()
    }

    fn end(&mut self, now: Timestamp) {
        // The outcomes since the last commit was sent. Without them these commits are in doubt, as after a kill.
        let _ = self.file.flush();
        self.inner.end(now);
    }
}
