//! Clients as the plan's population has them: most are idle for a time, sessions end when they are old or in a storm, and
//! some clients read slowly. A session ends between two transactions.

use std::collections::BTreeSet;
use std::time::Duration;

use sockets::Timers;
use stats::{LossCause, Population, ReconnectStorm, SessionLifetime, Spell, Timestamp};

use super::Run;
use super::receiving::Received;
use crate::driver::Driver;
use crate::renewals::SessionRenewals;
use crate::timeline::Timeline;
use crate::worker::member::Member;
use crate::worker::sessions::Sessions;

/// Longer than any run, in seconds.
const FAR_S: f64 = 1e9;

/// What a worker knows of the population.
pub(super) struct PopulationCourse {
    lifetime: Option<SessionLifetime>,
    /// The storms to come, the next one last: time, place in the plan, and which clients take part.
    to_come: Vec<(Timestamp, usize, ReconnectStorm)>,
    /// When storms begin, in the order of the plan.
    storms: Vec<Timestamp>,
    /// Connections of slow readers that may be read again, each at most once.
    slow_reads: Timers<usize>,
    waiting: BTreeSet<usize>,
    pub(super) renewals: SessionRenewals,
}

impl PopulationCourse {
    /// `None`: the plan has no population. Makes the clients its members.
    pub(super) fn new<D: Driver>(sessions: &mut Sessions<'_, D>, timeline: Timeline) -> Option<Box<Self>> {
        let load = sessions.load;
        let Population { session_lifetime, storms, .. } = &load.plan.population;
        if load.plan.population.is_plain() {
            return None;
        }
        for slot in &mut sessions.slots {
            slot.member = Some(Member::new(load, slot.client.number, timeline.start));
        }
        // In a storm, the server gets all clients at once.
        sessions.connecting.is_limited = storms.is_empty();
        let storms: Vec<_> = storms
            .iter()
            .zip(0..)
            .map(|(storm, place)| (timeline.measure + storm.at, place, *storm))
            .collect();
        let begins = storms.iter().map(|(at, ..)| *at).collect();
        let mut to_come = storms;
        to_come.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
        Some(Box::new(Self {
            lifetime: *session_lifetime,
            renewals: SessionRenewals::new(to_come.len()),
            to_come,
            storms: begins,
            slow_reads: Timers::default(),
            waiting: BTreeSet::new(),
        }))
    }

    /// When something is due that is not a client's own timer.
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        let storm = self.to_come.last().map(|(at, ..)| *at);
        storm.into_iter().chain(self.slow_reads.earliest()).min()
    }

    /// The storm that begins by now.
    fn next_storm(&mut self, now: Timestamp) -> Option<(usize, ReconnectStorm)> {
        let (_, place, storm) = self.to_come.pop_if(|(at, ..)| now >= *at)?;
        Some((place, storm))
    }
}

impl<'r, 'p: 'r, D: Driver> Run<'r, 'p, D> {
    /// Begins the storms that are due, and lets slow readers read.
    #[cold]
    pub(super) fn attend_population(&mut self, now: Timestamp) {
        let is_over = self.stopping.timeline.is_over(now);
        while let Some((place, storm)) = self.population.as_mut().and_then(|it| it.next_storm(now)) {
            if !is_over {
                self.begin_storm(place, storm, now);
            }
        }
        while let Some((_, connection)) = self.population.as_mut().and_then(|it| it.slow_reads.pop_due(now)) {
            self.population.as_mut().map(|it| it.waiting.remove(&connection));
            let (slot, link) = self.sessions.load.slot_and_link(connection);
            let own = &self.sessions.slots[slot];
            if own.active && own.connecting_since.is_none() {
                self.read_slowly(slot, link, now);
            }
        }
    }

    /// The sessions of these clients end: of a free client now, of another one after its transaction.
    fn begin_storm(&mut self, place: usize, storm: ReconnectStorm, now: Timestamp) {
        for slot in 0..self.sessions.slots.len() {
            let own = &mut self.sessions.slots[slot];
            if !own.active || own.connecting_since.is_some() || !storm.includes(own.client.number) {
                continue;
            }
            // Of one that has not left an earlier storm yet, that one counts.
            let Some(member) = own.member.as_mut().filter(|member| member.storm.is_none()) else { continue };
            member.storm = Some(place);
            let (has_timer, is_free) = (own.timer.is_some(), !own.client.in_transaction);
            if let Some(population) = &mut self.population {
                population.renewals.storms[place].clients += 1;
            }
            // Others that are free get their turn in this pass.
            if is_free && has_timer {
                let own = &mut self.sessions.slots[slot];
                (own.timer, own.is_resting, own.has_thought) = (None, false, false);
                self.reassign(slot, now);
                self.renew(slot, now);
            }
        }
    }

    /// A free client ends its session, or is idle for a time; false if it can begin a transaction.
    #[cold]
    pub(super) fn is_kept_from_work(&mut self, slot: usize, now: Timestamp) -> bool {
        let timeline = self.stopping.timeline;
        let own = &mut self.sessions.slots[slot];
        if timeline.is_over(now) || self.pacing.has_reached_limit(own) {
            return false;
        }
        let Some(member) = &mut own.member else { return false };
        if member.must_renew(now) {
            self.renew(slot, now);
            return true;
        }
        let Some(walk) = &mut member.activity else { return false };
        let Spell::IdleUntil(at_s) = walk.at(now.since(timeline.start).as_secs_f64()) else { return false };
        // Rounded up, so that the client is active when it looks again.
        let begin = timeline.start + Duration::from_secs_f64(at_s.min(FAR_S)) + Duration::from_nanos(1);
        let until = member.expires.into_iter().chain(timeline.end).fold(begin, Timestamp::min);
        own.is_resting = true;
        self.set_timer(slot, until);
        true
    }

    /// Closes the connections of a free client, and makes them anew.
    fn renew(&mut self, slot: usize, now: Timestamp) {
        for link in 0..self.sessions.load.links.len() {
            self.sessions.terminate(slot, link);
            self.sessions.connecting.add(self.sessions.load.connection(slot, link));
        }
        let own = &mut self.sessions.slots[slot];
        own.connecting_since = Some(now);
        if let Some(member) = &mut own.member {
            member.renewing = self.sessions.load.links.len();
        }
        self.start_connects(now);
    }

    /// A connection is made anew; the client continues once it has all of them.
    pub(super) fn renewed(&mut self, slot: usize, now: Timestamp) {
        let own = &mut self.sessions.slots[slot];
        let Some(member) = &mut own.member else { return };
        member.renewing -= 1;
        if member.renewing > 0 {
            return;
        }
        let since = own.connecting_since.take().unwrap_or(now);
        if let Some(population) = &mut self.population
            && since >= self.stopping.timeline.measure
        {
            population.renewals.connecting.record(now.since(since));
        }
        self.has_new_session(slot, now);
        if self.stopping.timeline.is_over(now) {
            self.end_client(slot, now);
        } else {
            self.release(slot, now);
        }
    }

    /// The client has a session again, which it made anew or which replaces a lost one.
    pub(super) fn has_new_session(&mut self, slot: usize, now: Timestamp) {
        let Some(population) = &mut self.population else { return };
        let Some(member) = &mut self.sessions.slots[slot].member else { return };
        if let Some(place) = member.storm.take() {
            let storm = &mut population.renewals.storms[place];
            storm.connected += 1;
            storm.lasted = storm.lasted.max(now.since(population.storms[place]));
        }
        let drawn = population.lifetime.map(|lifetime| lifetime.draw(member.lifetime_draws.next_f64()));
        member.expires = drawn.map(|lifetime| now + lifetime);
    }

    /// A client could not connect anew: true if it goes on by the plan's policy, as after a lost connection.
    pub(super) fn renewal_failed(&mut self, slot: usize, cause: LossCause, now: Timestamp) -> bool {
        let own = &mut self.sessions.slots[slot];
        let (client, member) = (own.client.number, own.member.as_mut());
        if member.is_none_or(|member| std::mem::take(&mut member.renewing) == 0) {
            return false;
        }
        if let Some(population) = &mut self.population {
            population.renewals.failed += 1;
        }
        let Some(reconnecting) = &mut self.reconnecting else { return false };
        self.sessions.abandon(slot);
        reconnecting.log.lost(slot, client as u64, cause, now);
        self.sessions.slots[slot].connecting_since = Some(now);
        for link in 0..self.sessions.load.links.len() {
            reconnecting.begin(&mut self.sessions, slot, link, now);
        }
        true
    }

    /// After the end of starts, clients that connect anew are done.
    pub(super) fn stop_renewing(&mut self, now: Timestamp) {
        for slot in 0..self.sessions.slots.len() {
            let own = &mut self.sessions.slots[slot];
            let is_renewing = own.member.as_mut().is_some_and(|it| std::mem::take(&mut it.renewing) > 0);
            if own.active && is_renewing {
                own.connecting_since = None;
                self.sessions.abandon(slot);
                self.end_client(slot, now);
            }
        }
    }

    /// Whether the client's connections are made anew.
    pub(super) fn is_renewing(&self, slot: usize) -> bool {
        self.sessions.slots[slot].member.as_ref().is_some_and(|member| member.renewing > 0)
    }

    /// Whether the client reads slowly.
    #[inline]
    pub(super) fn is_slow_reader(&self, slot: usize) -> bool {
        // The first condition is one that most runs need not look further than.
        self.population.is_some()
            && self.sessions.slots[slot].member.as_ref().is_some_and(|member| member.bytes_per_s.is_some())
    }

    /// There may be bytes for a slow reader: reads some of them, unless it is too early.
    #[cold]
    pub(super) fn read_slowly(&mut self, slot: usize, link: usize, now: Timestamp) {
        let read_at = |run: &Self| run.sessions.slots[slot].member.as_ref().map(|member| member.reads_at);
        if read_at(self).is_some_and(|at| now >= at) {
            let Received::Bytes(count) = self.receive_once(slot, link, now) else { return };
            if let Some(member) = &mut self.sessions.slots[slot].member {
                let rate = member.bytes_per_s.unwrap_or(f64::INFINITY);
                member.reads_at = now + Duration::from_secs_f64((count as f64 / rate).min(FAR_S));
            }
        }
        let connection = self.sessions.load.connection(slot, link);
        let at = read_at(self).unwrap_or(now);
        if let Some(population) = &mut self.population
            && population.waiting.insert(connection)
        {
            population.slow_reads.set(at, connection);
        }
    }
}
