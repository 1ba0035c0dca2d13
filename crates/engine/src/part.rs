//! The part of a run that one process executes, and the numbers of its clients. Client i and arrival i of a run belong
//! to rank i mod n, so that the transactions of a run do not depend on the number of its processes.

/// One of the processes that execute a run together, usually each on its own machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Number of this process, from 0. Rank 0 merges the results of all.
    pub rank: usize,
    /// Number of processes.
    pub ranks: usize,
}

impl Default for Part {
    /// A process alone.
    fn default() -> Self {
        Self { rank: 0, ranks: 1 }
    }
}

impl Part {
    /// Maximum number of ranks of a run. Each worker generates the arrivals of all ranks, and rank 0 merges the intervals
    /// of all.
    pub const RANKS_MAX: usize = 1024;

    /// Whether other processes take part in the run.
    pub fn is_distributed(self) -> bool {
        self.ranks > 1
    }

    /// How many of the run's `clients` belong to this rank.
    pub fn clients(self, clients: usize) -> usize {
        clients.saturating_sub(self.rank).div_ceil(self.ranks.max(1))
    }

    /// The parts of all ranks.
    pub(crate) fn all(self) -> impl Iterator<Item = Part> {
        (0..self.ranks).map(move |rank| Part { rank, ..self })
    }
}

/// Numbers of the clients of a worker: `first`, `first + step`, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientNumbers {
    first: usize,
    step: usize,
    count: usize,
}

impl ClientNumbers {
    /// The clients of a rank with these numbers within the rank.
    pub(crate) fn new(part: Part, within: std::ops::Range<usize>) -> Self {
        let Part { rank, ranks } = part;
        Self { first: rank + within.start * ranks, step: ranks, count: within.len() }
    }

    /// How many they are.
    #[expect(clippy::len_without_is_empty, reason = "a worker has at least one client")]
    pub fn len(&self) -> usize {
        self.count
    }

    /// The lowest one.
    pub fn first(&self) -> usize {
        self.first
    }

    /// The index of a client among them, from 0; `None` if it is not one of them.
    pub fn index_of(&self, client: usize) -> Option<usize> {
        let distance = client.checked_sub(self.first)?;
        let index = distance / self.step;
        (distance.is_multiple_of(self.step) && index < self.count).then_some(index)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = usize> + use<> {
        let Self { first, step, count } = *self;
        (0..count).map(move |index| first + index * step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_belongs_to_one_rank() {
        for (clients, ranks) in [(1, 1), (7, 1), (7, 3), (4, 4), (64, 5)] {
            let parts = Part { rank: 0, ranks }.all();
            let mut all: Vec<_> =
                parts.flat_map(|part| ClientNumbers::new(part, 0..part.clients(clients)).iter()).collect();
            all.sort_unstable();
            assert_eq!(all, (0..clients).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_numbers_of_a_block_of_a_rank_s_clients_are_as_far_apart_as_there_are_ranks() {
        let numbers = ClientNumbers::new(Part { rank: 2, ranks: 3 }, 1..4);
        assert_eq!(numbers.iter().collect::<Vec<_>>(), [5, 8, 11]);
        assert_eq!((numbers.first(), numbers.len()), (5, 3));
        let indexes = [2, 5, 6, 8, 11, 14].map(|client| numbers.index_of(client));
        assert_eq!(indexes, [None, Some(0), None, Some(1), Some(2), None]);
    }
}
