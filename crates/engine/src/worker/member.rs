//! A client as a member of a population: when it is active, how old its session may get, how fast it reads. `slot` has it
//! beside the client, `run` acts on it.

use script::Random;
use stats::{ActivityWalk, Population, Timestamp};

use crate::load::Load;

/// A client as a member of the population.
pub(super) struct Member {
    pub(super) activity: Option<ActivityWalk>,
    pub(super) lifetime_draws: Random,
    /// When its session is too old.
    pub(super) expires: Option<Timestamp>,
    /// The storm in which its session ends.
    pub(super) storm: Option<usize>,
    /// Number of its connections that are made anew.
    pub(super) renewing: usize,
    /// How fast it reads, if it is slow, and when it reads again.
    pub(super) bytes_per_s: Option<f64>,
    pub(super) reads_at: Timestamp,
}

impl Member {
    /// A client before the run.
    pub(super) fn new(load: &Load<'_>, client: usize, start: Timestamp) -> Box<Self> {
        let Population { active, session_lifetime, slow_readers, .. } = &load.plan.population;
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let (number, clients) = (count(client), count(load.plan.clients));
        let mut lifetime_draws = load.lifetime_draws_of_client(client);
        let expires = session_lifetime
            .map(|lifetime| start + lifetime.draw_rest(lifetime_draws.next_f64(), lifetime_draws.next_f64()));
        let slow = slow_readers.filter(|slow| slow.includes(client, clients));
        Box::new(Self {
            activity: active.map(|active| ActivityWalk::new(active, number, clients, load.plan.seed)),
            lifetime_draws,
            expires,
            storm: None,
            renewing: 0,
            bytes_per_s: slow.map(|slow| slow.bytes_per_s),
            reads_at: Timestamp::ZERO,
        })
    }

    /// Whether its session must end before its next transaction.
    pub(super) fn must_renew(&self, now: Timestamp) -> bool {
        self.storm.is_some() || self.expires.is_some_and(|expires| now >= expires)
    }
}
