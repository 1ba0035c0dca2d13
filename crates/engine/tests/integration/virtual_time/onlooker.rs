//! A tracer that records all events,
//! for every run of these tests.

use std::sync::{Arc, Mutex};

use pgmeter_engine::{ClientEvent, EndedTransaction, Tracer, WorkerIntro};
use stats::{Sample, Timestamp};

/// A transaction as the tracer received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub client: usize,
    pub number: u64,
    pub sample: Sample,
}

/// Events that one tracer received.
#[derive(Debug, Default)]
pub struct Testimony {
    pub intro: Option<WorkerIntro>,
    pub seen: Vec<Seen>,
    /// Other events, as text.
    pub events: Vec<String>,
    pub ended: Option<Timestamp>,
}

/// Records its events.
#[derive(Clone, Default)]
pub struct Onlooker(Arc<Mutex<Testimony>>);

impl Onlooker {
    /// The tracer of the only worker.
    pub fn attend(&self, intro: WorkerIntro) -> Box<dyn Tracer> {
        self.with(|testimony| testimony.intro = Some(intro));
        Box::new(self.clone())
    }

    /// The recorded events.
    pub fn testify(&self) -> Testimony {
        self.with(std::mem::take)
    }

    fn with<T>(&self, change: impl FnOnce(&mut Testimony) -> T) -> T {
        change(&mut self.0.lock().expect("nobody panicked"))
    }
}

impl Tracer for Onlooker {
    fn transaction(&mut self, ended: &EndedTransaction<'_>) {
        let EndedTransaction { client, number, sample } = *ended;
        self.with(|testimony| testimony.seen.push(Seen { client, number, sample: *sample }));
    }

    fn on_event(&mut self, event: &ClientEvent<'_>) {
        self.with(|testimony| testimony.events.push(format!("{event:?}")));
    }

    fn end(&mut self, now: Timestamp) {
        self.with(|testimony| testimony.ended = Some(now));
    }
}
