//! Which clients are active at a time. The clients are divided into as many groups as clients are active. In each group
//! one client is active at a time, until a random other one takes its place. So the number of active clients is exact, and
//! each client knows its times from the seed alone, on any worker or machine.

use super::ActiveClients;
use crate::SplitMix64;

/// Distinguishes the streams of groups from others of a seed.
const GROUPS: u64 = u64::from_be_bytes(*b"\0\0active");

/// Steps that are looked ahead for a client's next time. In a large group it may be later, and the client asks again.
const STEPS_AHEAD: usize = 128;

/// The times at which a client is active, as far as they were asked for. Times never go back.
#[derive(Clone, Debug)]
pub struct ActivityWalk {
    random: SplitMix64,
    /// Number of clients of the group, and the place of this one.
    members: u64,
    own: u64,
    /// The active one, since when and how long, in seconds.
    active: u64,
    since_s: f64,
    until_s: f64,
    mean_s: f64,
}

/// Whether a client is active.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spell {
    /// Until this time, in seconds.
    Active(f64),
    /// It becomes active at this time, in seconds, or must ask again then.
    IdleUntil(f64),
}

impl ActivityWalk {
    /// The walk of one of these clients, by its number.
    pub fn new(plan: ActiveClients, client: u32, clients: u32, seed: u64) -> Self {
        let groups = u64::from(plan.clients.of(clients).min(clients).max(1));
        let (client, clients) = (u64::from(client), u64::from(clients.max(1)));
        let group = client * groups / clients;
        // The first client of a group is the first whose product reaches it.
        let first = |group: u64| (group * clients).div_ceil(groups);
        let members = first(group + 1) - first(group);
        let mut random = SplitMix64::new(SplitMix64::new(seed ^ GROUPS).bits().wrapping_add(group));
        let active = random.bits() % members;
        let mean_s = plan.spell.as_secs_f64();
        let until_s = exponential(&mut random, mean_s);
        Self { random, members, own: client - first(group), active, since_s: 0.0, until_s, mean_s }
    }

    /// Whether the client is active at a time since the begin of the run.
    pub fn at(&mut self, at_s: f64) -> Spell {
        if self.members == 1 {
            return Spell::Active(f64::INFINITY);
        }
        while self.until_s <= at_s {
            self.next();
        }
        for _ in 0..STEPS_AHEAD {
            if self.active == self.own {
                break;
            }
            self.next();
        }
        if self.active == self.own && self.since_s <= at_s {
            Spell::Active(self.until_s)
        } else {
            Spell::IdleUntil(self.since_s)
        }
    }

    /// Another member becomes active.
    fn next(&mut self) {
        let other = self.random.bits() % (self.members - 1);
        self.active = if other < self.active { other } else { other + 1 };
        self.since_s = self.until_s;
        self.until_s += exponential(&mut self.random, self.mean_s);
    }
}

fn exponential(random: &mut SplitMix64, mean_s: f64) -> f64 {
    -random.share().ln() * mean_s
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walks(plan: &str, clients: u32) -> Vec<ActivityWalk> {
        let plan: ActiveClients = plan.parse().expect("active clients");
        (0..clients).map(|client| ActivityWalk::new(plan, client, clients, 7)).collect()
    }

    fn active_at(walks: &mut [ActivityWalk], at_s: f64) -> Vec<usize> {
        let is_active = |walk: &mut ActivityWalk| matches!(walk.at(at_s), Spell::Active(_));
        walks.iter_mut().enumerate().filter_map(|(client, walk)| is_active(walk).then_some(client)).collect()
    }

    #[test]
    fn exactly_as_many_clients_are_active_at_each_time() {
        for (plan, clients, active) in
            [("2%, 1s", 1_000, 20), ("3, 100ms", 10, 3), ("100%", 7, 7), ("1, 1s", 1, 1), ("20, 1s", 10, 10)]
        {
            let mut walks = walks(plan, clients);
            for step in 0..200 {
                assert_eq!(active_at(&mut walks, f64::from(step) * 0.05).len(), active, "{plan}");
            }
        }
    }

    #[test]
    fn each_client_is_active_as_often_as_the_others_and_as_long_as_the_law_says() {
        let mut walks = walks("10%, 1s", 100);
        let (mut times, mut spells, mut ends) = (vec![0_u32; 100], 0_u32, vec![0.0; 100]);
        for step in 0..40_000 {
            let at_s = f64::from(step) * 0.1;
            for (client, walk) in walks.iter_mut().enumerate() {
                if let Spell::Active(until_s) = walk.at(at_s) {
                    times[client] += 1;
                    spells += u32::from(until_s != ends[client]);
                    ends[client] = until_s;
                }
            }
        }
        // 4,000 s with 10 active clients: 400 s each.
        assert!(times.iter().all(|count| (3_000..5_200).contains(count)), "{times:?}");
        let mean_s = 4_000.0 * 10.0 / f64::from(spells);
        // Spells between two looks are not seen: exp(−0.1) of them are.
        assert!((1.0..1.2).contains(&mean_s), "{mean_s}");
    }

    #[test]
    fn an_idle_client_is_active_from_the_time_that_it_was_told() {
        let mut walks = walks("10, 2s", 60);
        for walk in &mut walks {
            let Spell::IdleUntil(at_s) = walk.at(0.0) else { continue };
            assert_eq!(walk.at(at_s - 1e-6), Spell::IdleUntil(at_s));
            assert!(matches!(walk.at(at_s), Spell::Active(until_s) if until_s > at_s));
        }
    }

    #[test]
    fn a_client_of_a_large_group_asks_again_and_is_active_only_when_it_is_its_turn() {
        let clients = 3_000;
        let mut walks = walks("1, 1s", clients);
        // Each client looks at the times that it was told, and at a grid that all share.
        let mut active = vec![0; 400];
        let mut asked_again = 0;
        for walk in &mut walks {
            let mut at_s = 0.0;
            for (second, count) in active.iter_mut().enumerate() {
                while at_s <= second as f64 {
                    let Spell::IdleUntil(next_s) = walk.at(at_s) else { break };
                    asked_again += usize::from(!matches!(walk.clone().at(next_s), Spell::Active(_)));
                    at_s = next_s;
                }
                if at_s <= second as f64 {
                    at_s = second as f64;
                    *count += usize::from(matches!(walk.at(at_s), Spell::Active(_)));
                }
            }
        }
        assert!(active.iter().all(|count| *count == 1), "{active:?}");
        assert!(asked_again > 0);
    }
}
