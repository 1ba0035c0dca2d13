//! The lists of a history: their versions, anomalies that need no cycle, and the dependencies that they show. The longest
//! read of a list is the order of its appends. Of a transaction with an unknown ending, the appends count if somebody
//! read them, its reads do not.

use std::collections::{HashMap, HashSet};

use crate::anomaly::{Anomaly, Dependency, Witness};
use crate::graph::Edge;
use crate::history::{Element, Ending, History, Key, Operation, Transaction};

/// The history cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// The order of the appends cannot be seen.
    #[error(
        "the history appends element {element} to list {key} more than once; elements must be unique in a list"
    )]
    RepeatedAppend {
        /// The list.
        key: Key,
        /// The element.
        element: Element,
    },
    /// Numbers of transactions have 31 bits.
    #[error("the history has {0} transactions; at most 1,000,000,000 can be checked")]
    TooLong(usize),
}

/// Limit of a history, so that two nodes for each transaction can be numbered.
const TRANSACTIONS_MAX: usize = 1_000_000_000;

#[derive(Copy, Clone, Debug)]
struct Append {
    transaction: u32,
    /// Whether it is the transaction's last append to the list.
    is_last: bool,
}

#[derive(Copy, Clone, Debug)]
struct Read<'a> {
    transaction: u32,
    elements: &'a [Element],
}

#[derive(Debug)]
struct List<'a> {
    key: Key,
    /// By committed transactions.
    reads: Vec<Read<'a>>,
    /// Acknowledged, each with its transaction.
    acknowledged: Vec<(u32, Element)>,
}

/// The lists of a history.
#[derive(Debug)]
pub(crate) struct Lists<'a> {
    history: &'a History,
    appends: HashMap<(Key, Element), Append>,
    lists: Vec<List<'a>>,
    pub(crate) steps: u64,
}

/// What the lists show.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) edges: Vec<Edge>,
    /// For each transaction with an unknown ending, whether one of its appends was read.
    pub(crate) is_applied: Vec<bool>,
}

fn number(index: usize) -> u32 {
    u32::try_from(index).expect("the history has been checked for its length")
}

impl<'a> Lists<'a> {
    pub(crate) fn new(history: &'a History) -> Result<Lists<'a>, HistoryError> {
        if history.transactions.len() > TRANSACTIONS_MAX {
            return Err(HistoryError::TooLong(history.transactions.len()));
        }
        let mut lists = Lists { history, appends: HashMap::new(), lists: Vec::new(), steps: 0 };
        let mut indices: HashMap<Key, usize> = HashMap::new();
        for (index, transaction) in history.transactions.iter().enumerate() {
            lists.register_appends(number(index), transaction)?;
            for operation in &transaction.operations {
                lists.steps += 1;
                let at = *indices.entry(operation.key()).or_insert(lists.lists.len());
                if at == lists.lists.len() {
                    let key = operation.key();
                    lists.lists.push(List { key, reads: Vec::new(), acknowledged: Vec::new() });
                }
                let list = &mut lists.lists[at];
                match operation {
                    _ if transaction.ending != Ending::Committed => {}
                    Operation::Append { element, .. } => list.acknowledged.push((number(index), *element)),
                    Operation::Read { elements: Some(elements), .. } => {
                        list.reads.push(Read { transaction: number(index), elements });
                    }
                    Operation::Read { elements: None, .. } => {}
                }
            }
        }
        Ok(lists)
    }

    fn register_appends(&mut self, index: u32, transaction: &Transaction) -> Result<(), HistoryError> {
        let mut last: Vec<Key> = Vec::new();
        for operation in transaction.operations.iter().rev() {
            let Operation::Append { key, element } = *operation else { continue };
            let is_last = !last.contains(&key);
            if is_last {
                last.push(key);
            }
            let append = Append { transaction: index, is_last };
            if self.appends.insert((key, element), append).is_some() {
                return Err(HistoryError::RepeatedAppend { key, element });
            }
        }
        Ok(())
    }

    /// Shows anomalies without a cycle to `see`, and returns the dependencies.
    pub(crate) fn show(&mut self, see: &mut dyn FnMut(Anomaly, Witness)) -> Shown {
        let mut shown = Shown { edges: Vec::new(), is_applied: vec![false; self.history.transactions.len()] };
        let mut orders = Vec::with_capacity(self.lists.len());
        for list in &self.lists {
            let mut reader = ListReader { lists: self, list, see, steps: 0 };
            orders.push(reader.order(&mut shown.is_applied));
            self.steps += reader.steps;
        }
        for (list, order) in self.lists.iter().zip(orders) {
            if let Some(order) = order {
                self.steps += (order.len() + list.reads.len()) as u64;
                self.dependencies(list, &order, &mut shown);
            }
        }
        shown
    }

    /// Adds the dependencies that a list shows.
    fn dependencies(&self, list: &List<'_>, order: &[Element], shown: &mut Shown) {
        let is_applied = &shown.is_applied;
        let is_node = |transaction: u32| match self.history.transactions[transaction as usize].ending {
            Ending::Committed => true,
            Ending::Unknown => is_applied[transaction as usize],
            Ending::Aborted => false,
        };
        let writer = |element: &Element| {
            let append = self.appends.get(&(list.key, *element))?;
            is_node(append.transaction).then_some(append.transaction)
        };
        let writers: Vec<Option<u32>> = order.iter().map(writer).collect();
        let mut add = |from: Option<u32>, to: Option<u32>, dependency: Dependency| {
            if let (Some(from), Some(to)) = (from, to)
                && from != to
            {
                shown.edges.push(Edge { from, to, dependency, key: list.key });
            }
        };
        writers.windows(2).for_each(|pair| add(pair[0], pair[1], Dependency::Ww));
        for read in &list.reads {
            let length = read.elements.len();
            if !order.starts_with(read.elements) {
                continue;
            }
            let own = Some(read.transaction);
            let last = length.checked_sub(1).and_then(|last| writers[last]);
            // A transaction that reads its own append has the version's place: its ww are enough.
            if last != own {
                add(last, own, Dependency::Wr);
                add(own, writers.get(length).copied().flatten(), Dependency::Rw);
            }
        }
    }
}

/// Looks at one list.
struct ListReader<'a, 'b> {
    lists: &'b Lists<'a>,
    list: &'b List<'a>,
    see: &'b mut dyn FnMut(Anomaly, Witness),
    steps: u64,
}

impl ListReader<'_, '_> {
    fn report(&mut self, anomaly: Anomaly, transactions: &[u32]) {
        let transactions = transactions.iter().map(|transaction| *transaction as usize).collect();
        (self.see)(anomaly, Witness { transactions, edges: Vec::new(), key: Some(self.list.key) });
    }

    /// The order of the appends; `None` if a read contains an element twice, because then no order explains it. Marks
    /// transactions with an unknown ending whose appends were read.
    fn order(&mut self, is_applied: &mut [bool]) -> Option<Vec<Element>> {
        let longest = self.list.reads.iter().max_by_key(|read| read.elements.len()).copied();
        let longest = longest.unwrap_or(Read { transaction: 0, elements: &[] });
        let mut seen = HashSet::with_capacity(longest.elements.len());
        let is_unique = self.elements_of(longest, &mut seen, is_applied);
        let reads: Vec<Read<'_>> = self.list.reads.clone();
        for read in reads {
            self.steps += read.elements.len() as u64 + 1;
            if longest.elements.starts_with(read.elements) {
                self.check_last(read);
            } else {
                self.report(Anomaly::IncompatibleOrder, &[longest.transaction, read.transaction]);
                self.elements_of(read, &mut seen, is_applied);
            }
        }
        self.lost(&seen);
        let mut order = longest.elements.to_vec();
        order.extend(self.unread(&seen));
        is_unique.then_some(order)
    }

    /// Checks the elements of a read that were not `seen` before. Returns whether each occurs once.
    fn elements_of(&mut self, read: Read<'_>, seen: &mut HashSet<Element>, is_applied: &mut [bool]) -> bool {
        let mut here = HashSet::with_capacity(read.elements.len());
        let mut is_unique = true;
        for element in read.elements {
            self.steps += 1;
            if !here.insert(*element) {
                is_unique = false;
                self.report(Anomaly::DuplicateElement, &[read.transaction]);
                continue;
            }
            if !seen.insert(*element) {
                continue;
            }
            let Some(append) = self.lists.appends.get(&(self.list.key, *element)) else {
                self.report(Anomaly::UnknownElement, &[read.transaction]);
                continue;
            };
            match self.lists.history.transactions[append.transaction as usize].ending {
                Ending::Committed => {}
                Ending::Unknown => is_applied[append.transaction as usize] = true,
                Ending::Aborted => {
                    self.report(Anomaly::AbortedRead, &[append.transaction, read.transaction]);
                }
            }
        }
        is_unique
    }

    /// Whether a list ends within the appends of another transaction.
    fn check_last(&mut self, read: Read<'_>) {
        let last = read.elements.last();
        let append = last.and_then(|last| self.lists.appends.get(&(self.list.key, *last)));
        if let Some(append) =
            append.filter(|append| !append.is_last && append.transaction != read.transaction)
        {
            let is_aborted =
                self.lists.history.transactions[append.transaction as usize].ending == Ending::Aborted;
            if !is_aborted {
                self.report(Anomaly::IntermediateRead, &[append.transaction, read.transaction]);
            }
        }
    }

    /// Reports acknowledged elements that the final read lacks.
    fn lost(&mut self, seen: &HashSet<Element>) {
        let is_final = |read: &&Read<'_>| self.lists.history.transactions[read.transaction as usize].is_final;
        let Some(last) = self.list.reads.iter().find(is_final).copied() else { return };
        let last_elements: HashSet<Element> = last.elements.iter().copied().collect();
        self.steps += last_elements.len() as u64;
        for (transaction, element) in &self.list.acknowledged {
            self.steps += 1;
            if !seen.contains(element) || !last_elements.contains(element) {
                self.report(Anomaly::LostAppend, &[*transaction, last.transaction]);
            }
        }
    }

    /// Acknowledged elements that nobody read, if their order is known: those of one transaction.
    fn unread(&self, seen: &HashSet<Element>) -> Vec<Element> {
        let mut unread = self.list.acknowledged.iter().filter(|(_, element)| !seen.contains(element));
        let Some(first) = unread.next() else { return Vec::new() };
        let rest: Vec<&(u32, Element)> = unread.collect();
        if rest.iter().any(|(transaction, _)| *transaction != first.0) {
            return Vec::new();
        }
        std::iter::once(first.1).chain(rest.into_iter().map(|(_, element)| *element)).collect()
    }
}
