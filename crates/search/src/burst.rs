//! Short closed loops before the search: the highest throughput, which is the upper end of the rates, and the number of
//! clients that it needs.

/// A closed loop that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// Clients, all of them busy.
    pub clients: u32,
    /// Throughput.
    pub tps: f64,
}

/// Growth of the throughput below which more clients do not help.
const GROWTH_MIN: f64 = 1.05;
/// An open loop needs more clients than the closed loop at the peak, because arrivals come in groups.
const HEADROOM: f64 = 2.0;
/// Clients of the first burst.
const FIRST: u32 = 4;

/// Bursts with a growing number of clients.
#[derive(Clone, Debug)]
pub struct Bursts {
    /// The number of clients that the user asked for.
    given: Option<u32>,
    /// The largest number that the server accepts.
    clients_max: u32,
    done: Vec<Burst>,
}

impl Bursts {
    /// With a given number of clients, one burst suffices.
    pub fn new(given: Option<u32>, clients_max: u32) -> Bursts {
        Bursts { given, clients_max: clients_max.max(1), done: Vec::new() }
    }

    /// Clients of the next burst; `None` if the peak is found.
    pub fn next_clients(&self) -> Option<u32> {
        let Some(last) = self.done.last() else {
            return Some(self.given.unwrap_or(FIRST.min(self.clients_max)));
        };
        let before = self.done.iter().rev().nth(1);
        let grows = before.is_none_or(|before| last.tps > GROWTH_MIN * before.tps);
        let more = (last.clients * 2).min(self.clients_max);
        (self.given.is_none() && grows && more > last.clients).then_some(more)
    }

    /// Adds the burst that has ended.
    pub fn add(&mut self, burst: Burst) {
        self.done.push(burst);
    }

    /// The highest throughput; 0 without a burst.
    pub fn top_tps(&self) -> f64 {
        self.done.iter().map(|burst| burst.tps).fold(0.0, f64::max)
    }

    /// Clients of the open loop.
    pub fn clients(&self) -> u32 {
        let enough = self.top_tps() / GROWTH_MIN;
        let smallest =
            self.done.iter().find(|burst| burst.tps >= enough).map_or(FIRST, |burst| burst.clients);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of clients")]
        let with_headroom = (f64::from(smallest) * HEADROOM) as u32;
        self.given.unwrap_or(with_headroom.min(self.clients_max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bursts(given: Option<u32>, clients_max: u32, capacity: f64) -> (Bursts, Vec<u32>) {
        let (mut bursts, mut tried) = (Bursts::new(given, clients_max), Vec::new());
        while let Some(clients) = bursts.next_clients() {
            tried.push(clients);
            bursts.add(Burst { clients, tps: (f64::from(clients) * 100.0).min(capacity) });
        }
        (bursts, tried)
    }

    #[test]
    fn clients_double_until_the_throughput_no_longer_grows() {
        let (done, tried) = bursts(None, 90, 1500.0);
        assert_eq!(tried, [4, 8, 16, 32]);
        assert_eq!((done.top_tps(), done.clients()), (1500.0, 32));
    }

    #[test]
    fn there_are_never_more_clients_than_the_server_accepts_nor_others_than_the_user_gave() {
        let (done, tried) = bursts(None, 10, 1e9);
        assert_eq!((tried, done.clients()), (vec![4, 8, 10], 10));
        let (done, tried) = bursts(Some(5), 90, 1e9);
        assert_eq!((tried, done.clients()), (vec![5], 5));
    }
}
