//! Stores in memory that keep an isolation level, with clients whose steps alternate at random: histories for tests of the
//! checker and for its benchmark.

use std::collections::{BTreeMap, BTreeSet};

use pgmeter_isolation::{
    Element, Ending, History, Key, Level, Operation, Place, ReadMethod, Step, Transaction, Workload,
};
use stats::SplitMix64;

/// A store.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Simulation {
    pub level: Level,
    pub seed: u64,
    pub transactions: u32,
    pub clients: usize,
    /// Whether readers at a replica see commits of different lists in another order.
    pub has_replica: bool,
    /// One in so many commits gets no answer; 0: none.
    pub unknown_one_in: u64,
}

/// A running transaction.
struct Running {
    /// Commits that its snapshot has.
    snapshot: usize,
    steps: std::vec::IntoIter<Step>,
    operations: Vec<Operation>,
    begun: u64,
    place: Place,
}

/// Committed lists. An element has the number of its commit.
#[derive(Default)]
struct Store {
    lists: BTreeMap<Key, Vec<(usize, Element)>>,
    commits: usize,
    locks: BTreeMap<Key, usize>,
}

impl Store {
    fn read(&self, key: Key, snapshot: usize) -> Vec<Element> {
        let list = self.lists.get(&key).into_iter().flatten();
        list.filter(|(commit, _)| *commit <= snapshot).map(|(_, element)| *element).collect()
    }

    fn last_commit(&self, key: Key) -> usize {
        self.lists.get(&key).and_then(|list| list.last()).map_or(0, |(commit, _)| *commit)
    }
}

impl Simulation {
    pub fn new(level: Level, seed: u64, transactions: u32) -> Simulation {
        Simulation { level, seed, transactions, clients: 8, has_replica: false, unknown_one_in: 0 }
    }

    /// Runs the clients.
    pub fn history(&self) -> History {
        let workload = Workload {
            seed: self.seed,
            transactions: self.transactions,
            reads: ReadMethod::Select,
            has_readers: self.has_replica,
        };
        let mut random = SplitMix64::new(!self.seed);
        let mut store = Store::default();
        let mut history = History::default();
        let mut clients: Vec<Option<Running>> = (0..self.clients).map(|_| None).collect();
        let (mut next, mut events) = (0, 0);
        loop {
            let client = usize::try_from(random.bits() % self.clients as u64).unwrap();
            events += 1;
            match clients[client].take() {
                None if next == self.transactions => {
                    if clients.iter().all(Option::is_none) {
                        break;
                    }
                }
                None => {
                    let is_reader = self.has_replica && client == 0;
                    let place = if is_reader { Place::Replica(1) } else { Place::Primary };
                    let steps = if is_reader { workload.reader(next) } else { workload.transaction(next) };
                    // Other lists are appended to on the way, so readers do not take numbers.
                    next += u32::from(!is_reader);
                    clients[client] = Some(Running {
                        snapshot: store.commits,
                        steps: steps.into_iter(),
                        operations: Vec::new(),
                        begun: events,
                        place,
                    });
                }
                Some(running) => {
                    clients[client] =
                        self.step(running, client, &mut store, &mut history, events, &mut random);
                }
            }
        }
        history.transactions.push(final_read(&store, self.clients, events));
        history
    }

    /// Executes a step; returns the transaction if it goes on.
    fn step(
        &self,
        mut running: Running,
        client: usize,
        store: &mut Store,
        history: &mut History,
        now: u64,
        random: &mut SplitMix64,
    ) -> Option<Running> {
        let mut ending = None;
        match running.steps.as_slice().first().copied() {
            Some(Step::Append(key, element)) => match store.locks.get(&key) {
                // It waits.
                Some(owner) if *owner != client => return Some(running),
                _ if self.level != Level::ReadCommitted && store.last_commit(key) > running.snapshot => {
                    ending = Some(Ending::Aborted);
                }
                _ => {
                    store.locks.insert(key, client);
                    running.operations.push(Operation::Append { key, element });
                }
            },
            Some(Step::Read(key)) => {
                let snapshot = match (self.level, running.place) {
                    (Level::ReadCommitted, Place::Primary) => store.commits,
                    _ => running.snapshot,
                };
                let mut elements = store.read(key, snapshot);
                if running.place != Place::Primary && key / 1_000 % 2 == 0 {
                    // The replica receives commits of every second slot late.
                    elements = store.read(key, snapshot.saturating_sub(3));
                }
                elements.extend(running.operations.iter().filter_map(|operation| match operation {
                    Operation::Append { key: appended, element } if *appended == key => Some(*element),
                    _ => None,
                }));
                running.operations.push(Operation::Read { key, elements: Some(elements) });
            }
            None => ending = Some(self.commit(&running, store, random)),
        }
        running.steps.next();
        let Some(ending) = ending else { return Some(running) };
        store.locks.retain(|_, owner| *owner != client);
        history.transactions.push(Transaction {
            client: u32::try_from(client).unwrap(),
            place: running.place,
            operations: running.operations,
            ending,
            begun: running.begun,
            ended: now,
            is_final: false,
        });
        None
    }

    fn commit(&self, running: &Running, store: &mut Store, random: &mut SplitMix64) -> Ending {
        let keys: BTreeSet<Key> = running.operations.iter().map(Operation::key).collect();
        let is_valid = self.level != Level::Serializable
            || running.place != Place::Primary
            || keys.iter().all(|key| store.last_commit(*key) <= running.snapshot);
        if !is_valid {
            return Ending::Aborted;
        }
        let is_unknown = self.unknown_one_in > 0 && random.bits().is_multiple_of(self.unknown_one_in);
        // Half of the unknown ones are not applied.
        if is_unknown && random.chance(0.5) {
            return Ending::Unknown;
        }
        store.commits += 1;
        for operation in &running.operations {
            if let Operation::Append { key, element } = *operation {
                store.lists.entry(key).or_default().push((store.commits, element));
            }
        }
        if is_unknown { Ending::Unknown } else { Ending::Committed }
    }
}

fn final_read(store: &Store, clients: usize, now: u64) -> Transaction {
    let read = |(key, list): (&Key, &Vec<(usize, Element)>)| Operation::Read {
        key: *key,
        elements: Some(list.iter().map(|(_, element)| *element).collect()),
    };
    Transaction {
        client: u32::try_from(clients).unwrap(),
        place: Place::Primary,
        operations: store.lists.iter().map(read).collect(),
        ending: Ending::Committed,
        begun: now + 1,
        ended: now + 2,
        is_final: true,
    }
}
