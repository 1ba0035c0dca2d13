//! The thread that looks on: when it looks, and at what. `cli` starts it before the run, tells it when measuring
//! begins, and has its observation when the run is over.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use connect::Target;
use results::{Missing, Observation, ObserveLevel, WaitMean};

use crate::account;
use crate::clock;
use crate::probe::{missing, probe};
use crate::scripts::{Matcher, Script};
use crate::watch::Watch;
use crate::whose::Whose;

/// A server that is silent for so long is not asked again.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// The run waits no longer for its observer to be ready.
pub(crate) const READINESS_MAX: Duration = Duration::from_secs(10);

/// What is to be observed.
#[derive(Clone, Debug)]
pub struct Wish {
    /// How closely.
    pub level: ObserveLevel,
    /// The server, at the one address where it is looked at.
    pub target: Target,
    /// How to know the benchmark's backends.
    pub whose: Whose,
    /// The plan's scripts in order; those that run elsewhere without commands and weight.
    pub scripts: Vec<Script>,
    /// Each transaction has a connection of its own.
    pub reconnects: bool,
    /// What of the run goes elsewhere and is not seen.
    pub elsewhere: Vec<Missing>,
}

/// What the run came to, which the cost of a transaction is computed from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ran {
    /// Measured seconds.
    pub measured_s: f64,
    /// Transactions that succeeded or failed in them.
    pub transactions: u64,
    /// Transactions of the warm-up.
    pub warmup_transactions: u64,
}

/// What the observing thread is told.
enum Word {
    MeasureFrom(Instant),
    Finish(Ran),
}

/// What the backends were doing lately, for whoever watches the run.
#[derive(Clone, Debug, Default)]
pub struct Lately(Arc<Mutex<Vec<WaitMean>>>);

impl Lately {
    /// Of the newest second: backends that were not idle, by what they did, on average.
    pub fn waits(&self) -> Vec<WaitMean> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A second is over.
    pub(crate) fn is(&self, waits: &[WaitMean]) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = waits.to_vec();
    }
}

/// Looks on while a run goes on.
#[derive(Debug)]
pub struct Observer {
    words: Sender<Word>,
    thread: Option<JoinHandle<Option<Observation>>>,
    level: ObserveLevel,
    lately: Lately,
}

impl Observer {
    /// Connects, looks around, and is ready when this returns, or will never be.
    pub fn start(wish: Wish) -> Observer {
        let (words, told) = channel();
        let (ready, is_ready) = channel();
        let level = wish.level;
        let lately = Lately::default();
        let told_of = lately.clone();
        let thread = Builder::new()
            .name("observer".to_owned())
            .spawn(move || attend(wish, told_of, &told, &ready))
            // Without a thread there is no observation, which is said when it is asked for.
            .ok();
        let _ = is_ready.recv_timeout(READINESS_MAX);
        Observer { words, thread, level, lately }
    }

    /// What it saw lately, at any time until it is over.
    pub fn lately(&self) -> Lately {
        self.lately.clone()
    }

    /// The first transactions start now, and those from `origin` on are measured.
    pub fn measure_from(&self, origin: Instant) {
        // An observer that has given up has said why in its observation.
        let _ = self.words.send(Word::MeasureFrom(origin));
    }

    /// Now, on the clock that [`Observer::measure_from`] takes.
    pub fn now() -> Instant {
        clock::now()
    }

    /// The run is over: the last reading, and what came of it all.
    pub fn finish(mut self, ran: Ran) -> Observation {
        let _ = self.words.send(Word::Finish(ran));
        let seen = self.thread.take().and_then(|thread| thread.join().ok()).flatten();
        seen.unwrap_or_else(|| {
            account::nothing(self.level, vec![missing("everything", "the observing thread could not run")])
        })
    }

    /// Lets its connection go, because there are too few for the run.
    pub fn give_way(self) {
        let Observer { words, thread, .. } = self;
        drop(words);
        // Whether it had a result does not matter any more.
        let _ = thread.map(JoinHandle::join);
    }
}

/// The thread's life. Nothing is returned if nobody wants to know any more.
fn attend(wish: Wish, lately: Lately, words: &Receiver<Word>, ready: &Sender<()>) -> Option<Observation> {
    let matcher = Matcher::new(&wish.scripts);
    let probed = probe(&wish.target, &wish.whose, &matcher);
    let _ = ready.send(());
    let origin = match words.recv().ok()? {
        Word::MeasureFrom(origin) => origin,
        Word::Finish(_) => return Some(account::nothing(wish.level, wish.elsewhere)),
    };
    let mut server = match probed {
        Ok(server) => server,
        Err(failure) => {
            wait_for_the_end(words)?;
            return Some(account::nothing(wish.level, vec![failure]));
        }
    };
    server.missing.extend(wish.elsewhere);
    let watch = Watch::new(server, matcher, wish.level, origin, wish.reconnects, lately);
    look_on(watch, words)
}

/// Looks at each tick until the run is over.
fn look_on(mut watch: Watch, words: &Receiver<Word>) -> Option<Observation> {
    watch.begin();
    loop {
        match words.recv_timeout(clock::left_until(watch.next_look())) {
            Ok(Word::Finish(ran)) => return Some(watch.finish(ran)),
            Ok(Word::MeasureFrom(_)) => {}
            Err(RecvTimeoutError::Timeout) => watch.look(),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

fn wait_for_the_end(words: &Receiver<Word>) -> Option<()> {
    loop {
        if let Word::Finish(_) = words.recv().ok()? {
            return Some(());
        }
    }
}
