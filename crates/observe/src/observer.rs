//! The thread that samples the server: when, and what. `run` starts it before the run, tells it when measuring
//! begins, and has its observation when the run is over.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use connect::Target;
use results::{Missing, Observation, ObserveLevel, WaitMean};

use crate::account;
use crate::backend_filter::BackendFilter;
use crate::clock;
use crate::probe::probe;
use crate::scripts::{Matcher, Script};
use crate::watch::Watch;

/// A server that is silent for so long is not asked again.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// The run waits no longer for its observer to be ready.
pub(crate) const READINESS_MAX: Duration = Duration::from_secs(10);

/// What is to be observed.
#[derive(Clone, Debug)]
pub struct ObserverOptions {
    /// How closely.
    pub level: ObserveLevel,
    /// The server, at the one address where it is looked at.
    pub target: Target,
    /// How to know the benchmark's backends.
    pub filter: BackendFilter,
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

/// What the observing thread receives.
enum Message {
    MeasureFrom(Instant),
    Finish(Ran),
}

/// What the backends were doing in the newest second, for those who watch the run.
#[derive(Clone, Debug, Default)]
pub struct RecentWaits(Arc<Mutex<Vec<WaitMean>>>);

impl RecentWaits {
    /// Of the newest second: backends that were not idle, by what they did, on average.
    pub fn waits(&self) -> Vec<WaitMean> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A second is over.
    pub(crate) fn replace(&self, waits: &[WaitMean]) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = waits.to_vec();
    }
}

/// Samples the server while a run goes on.
#[derive(Debug)]
pub struct Observer {
    messages: Sender<Message>,
    thread: Option<JoinHandle<Option<Observation>>>,
    level: ObserveLevel,
    recent_waits: RecentWaits,
}

impl Observer {
    /// Connects, looks around, and is ready when this returns, or will never be.
    pub fn start(options: ObserverOptions) -> Observer {
        let (messages, received) = channel();
        let (ready, is_ready) = channel();
        let level = options.level;
        let recent_waits = RecentWaits::default();
        let of_thread = recent_waits.clone();
        let thread = Builder::new()
            .name("observer".to_owned())
            .spawn(move || run(options, of_thread, &received, &ready))
            // Without a thread there is no observation, which is said when it is asked for.
            .ok();
        let _ = is_ready.recv_timeout(READINESS_MAX);
        Observer { messages, thread, level, recent_waits }
    }

    /// What it saw in the newest second, at any time until it is over.
    pub fn recent_waits(&self) -> RecentWaits {
        self.recent_waits.clone()
    }

    /// The first transactions start now, and those from `origin` on are measured.
    pub fn measure_from(&self, origin: Instant) {
        // An observer that has given up has said why in its observation.
        let _ = self.messages.send(Message::MeasureFrom(origin));
    }

    /// Now, on the clock that [`Observer::measure_from`] takes.
    pub fn now() -> Instant {
        clock::now()
    }

    /// The run is over: the last reading, and what came of it all.
    pub fn finish(mut self, ran: Ran) -> Observation {
        let _ = self.messages.send(Message::Finish(ran));
        let seen = self.thread.take().and_then(|thread| thread.join().ok()).flatten();
        seen.unwrap_or_else(|| {
            account::nothing(
                self.level,
                vec![Missing::new("everything", "the observing thread could not run")],
            )
        })
    }

    /// Lets its connection go, because there are too few for the run.
    pub fn disconnect(self) {
        let Observer { messages, thread, .. } = self;
        drop(messages);
        // Whether it had a result does not matter any more.
        let _ = thread.map(JoinHandle::join);
    }
}

/// The thread's life. Nothing is returned if nobody wants to know any more.
fn run(
    options: ObserverOptions,
    recent_waits: RecentWaits,
    messages: &Receiver<Message>,
    ready: &Sender<()>,
) -> Option<Observation> {
    let matcher = Matcher::new(&options.scripts);
    let probed = probe(&options.target, &options.filter, &matcher);
    let _ = ready.send(());
    let origin = match messages.recv().ok()? {
        Message::MeasureFrom(origin) => origin,
        Message::Finish(_) => return Some(account::nothing(options.level, options.elsewhere)),
    };
    let mut server = match probed {
        Ok(server) => server,
        Err(failure) => {
            wait_until_finished(messages)?;
            return Some(account::nothing(options.level, vec![failure]));
        }
    };
    server.missing.extend(options.elsewhere);
    let watch = Watch::new(server, matcher, options.level, origin, options.reconnects, recent_waits);
    sample_until_finished(watch, messages)
}

/// Looks at each tick until the run is over.
fn sample_until_finished(mut watch: Watch, messages: &Receiver<Message>) -> Option<Observation> {
    watch.begin();
    loop {
        match messages.recv_timeout(clock::left_until(watch.next_look())) {
            Ok(Message::Finish(ran)) => return Some(watch.finish(ran)),
            Ok(Message::MeasureFrom(_)) => {}
            Err(RecvTimeoutError::Timeout) => watch.look(),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

fn wait_until_finished(messages: &Receiver<Message>) -> Option<()> {
    loop {
        if let Message::Finish(_) = messages.recv().ok()? {
            return Some(());
        }
    }
}
