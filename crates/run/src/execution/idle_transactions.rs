//! Sessions beside the clients that hold a transaction open, as applications do that forget to commit. Each has a snapshot,
//! so VACUUM cannot remove rows that it may still see. One thread serves them all.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use connect::{Session, Target};
use observe::Observer;
use results::IdleInTransaction;
use sockets::Timers;
use stats::{IdleTransactions, SplitMix64, Timestamp};

use crate::error::RunError;

/// Name of the sessions, which distinguishes them from those of the load.
const APPLICATION_NAME: &str = "pgmeter idle in transaction";
/// Distinguishes the stream of their times from others of a seed.
const TIMES: u64 = u64::from_be_bytes(*b"\0\0\0\0idle");
/// A snapshot that lasts until the commit.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1";

/// The sessions and their thread.
pub(crate) struct IdleSessions {
    /// Without it, the run is over.
    running: Option<Sender<()>>,
    thread: Option<JoinHandle<IdleInTransaction>>,
}

impl IdleSessions {
    /// Connects this number of sessions; `None` without a plan for them.
    pub(crate) fn start(
        plan: Option<IdleTransactions>,
        number: u32,
        target: &Target,
        seed: u64,
    ) -> Result<Option<Self>, RunError> {
        let Some(plan) = plan else { return Ok(None) };
        let mut target = target.clone();
        target.application_name = Some(APPLICATION_NAME.to_owned());
        let sessions = (0..number).map(|_| {
            let mut session = Session::connect(&target)?;
            session.execute(BEGIN)?;
            Ok(session)
        });
        let sessions: Vec<Session> = sessions.collect::<Result<_, connect::ConnectError>>()?;
        let (running, over) = channel();
        let random = SplitMix64::new(seed ^ TIMES);
        let holding = Holding {
            mean: plan.lasts,
            begun: Observer::now(),
            result: IdleInTransaction {
                sessions: sessions.len() as u64,
                transactions: sessions.len() as u64,
                lost: 0,
                error: None,
            },
            sessions: sessions.into_iter().map(Some).collect(),
            due: Timers::default(),
            random,
        };
        let thread = thread::Builder::new().name("idle".to_owned()).spawn(move || holding.until(&over));
        let thread = thread.map_err(|error| RunError::System { what: "start a thread".to_owned(), error })?;
        Ok(Some(Self { running: Some(running), thread: Some(thread) }))
    }

    /// Ends the sessions and returns what they did.
    pub(crate) fn finish(mut self) -> Option<IdleInTransaction> {
        self.running = None;
        self.thread.take()?.join().ok()
    }
}

/// Ends the sessions also if the run fails.
impl Drop for IdleSessions {
    fn drop(&mut self) {
        self.running = None;
        self.thread.take().map(JoinHandle::join);
    }
}

/// State of the thread.
struct Holding {
    mean: Duration,
    begun: Instant,
    /// `None`: lost.
    sessions: Vec<Option<Session>>,
    /// When a session's transaction ends, since the begin.
    due: Timers<usize>,
    random: SplitMix64,
    result: IdleInTransaction,
}

impl Holding {
    fn until(mut self, over: &Receiver<()>) -> IdleInTransaction {
        for number in 0..self.sessions.len() {
            self.hold(number, Timestamp::ZERO);
        }
        loop {
            let now = self.now();
            while let Some((_, number)) = self.due.pop_due(now) {
                self.renew(number);
                let now = self.now();
                self.hold(number, now);
            }
            let wait = self.due.earliest().map_or(Duration::MAX, |at| at.since(self.now()));
            if over.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                return self.result;
            }
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp::ZERO + Observer::now().saturating_duration_since(self.begun)
    }

    /// The session's transaction lasts for a random time from now on.
    fn hold(&mut self, number: usize, now: Timestamp) {
        if self.sessions[number].is_some() {
            self.due.set(now + self.mean.mul_f64(-self.random.share().ln()), number);
        }
    }

    /// Commits the session's transaction and begins another one.
    fn renew(&mut self, number: usize) {
        let Some(session) = &mut self.sessions[number] else { return };
        match session.execute("COMMIT").and_then(|_| session.execute(BEGIN)) {
            Ok(_) => self.result.transactions += 1,
            Err(error) => {
                self.sessions[number] = None;
                self.result.lost += 1;
                self.result.error.get_or_insert_with(|| error.to_string().into());
            }
        }
    }
}
