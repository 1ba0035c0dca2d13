//! The thread that samples the server. `run` starts it before the run, sends it the start of measuring, and takes the
//! observation at the end of the run.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

use connect::Target;
use results::{Missing, Observation, ObserveLevel};

use crate::account::{self, Ran};
use crate::backend_filter::BackendFilter;
use crate::clock;
use crate::probe::{READINESS_MAX, probe};
use crate::scripts::{Matcher, Script};
use crate::watch::{RecentWaits, Watch};

/// Options of the observer.
#[derive(Clone, Debug)]
pub struct ObserverOptions {
    /// Level of detail.
    pub level: ObserveLevel,
    /// The server, with a single address.
    pub target: Target,
    /// Condition for the benchmark's backends.
    pub filter: BackendFilter,
    /// The plan's scripts in order; those that run elsewhere have no commands and no weight.
    pub scripts: Vec<Script>,
    /// Each transaction has its own connection.
    pub reconnects: bool,
    /// Parts of the run on other servers, which are not observed.
    pub elsewhere: Vec<Missing>,
}

/// Messages to the observing thread.
enum Message {
    MeasureFrom(Instant),
    Finish(Ran),
}

/// Samples the server during a run.
#[derive(Debug)]
pub struct Observer {
    messages: Sender<Message>,
    thread: Option<JoinHandle<Option<Observation>>>,
    level: ObserveLevel,
    recent_waits: RecentWaits,
}

impl Observer {
    /// Connects and determines the available queries; returns when the observer is ready or has failed.
    pub fn start(options: ObserverOptions) -> Observer {
        let (messages, received) = channel();
        let (ready, is_ready) = channel();
        let level = options.level;
        let recent_waits = RecentWaits::default();
        let of_thread = recent_waits.clone();
        let thread = Builder::new()
            .name("observer".to_owned())
            .spawn(move || run(options, of_thread, &received, &ready))
            // Without a thread there is no observation; the observation names the reason.
            .ok();
        let _ = is_ready.recv_timeout(READINESS_MAX);
        Observer { messages, thread, level, recent_waits }
    }

    /// Activity in the last second, available until the end of the run.
    pub fn recent_waits(&self) -> RecentWaits {
        self.recent_waits.clone()
    }

    /// The first transactions start now; those from `origin` on are measured.
    pub fn measure_from(&self, origin: Instant) {
        // An observer that has failed names the reason in its observation.
        let _ = self.messages.send(Message::MeasureFrom(origin));
    }

    /// Current time on the clock of [`Observer::measure_from`].
    pub fn now() -> Instant {
        clock::now()
    }

    /// Takes the last reading and returns the observation.
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

    /// Closes the connection if the run needs it.
    pub fn disconnect(self) {
        let Observer { messages, thread, .. } = self;
        drop(messages);
        // The result is not needed any more.
        let _ = thread.map(JoinHandle::join);
    }
}

/// Main function of the thread. Returns `None` if the result is not needed.
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

/// Takes a sample at each tick until the end of the run.
fn sample_until_finished(mut watch: Watch, messages: &Receiver<Message>) -> Option<Observation> {
    watch.begin();
    loop {
        match messages.recv_timeout(clock::left_until(watch.next_look())) {
            Ok(Message::Finish(ran)) => {
                watch.finish(ran.measured_s);
                return Some(account::account(watch, ran));
            }
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
