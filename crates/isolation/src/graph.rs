//! The graph of dependencies between transactions, and the parts of it in which a cycle is an anomaly of a class.
//! Pure; built by `check` from a history.

use std::collections::HashMap;
use std::ops::Range;

use crate::anomaly::Dependency;
use crate::components::Digraph;
use crate::history::Key;

/// A dependency between two transactions.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) dependency: Dependency,
    pub(crate) key: Key,
}

/// Dependencies, sorted by their start, then by their end, then by their kind. A node is a transaction of the history.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) edges: Vec<Edge>,
    /// For each node, its first edge; one more at the end.
    first: Vec<usize>,
    /// For each node, the nodes with an edge to it, sorted; and where they begin.
    sources: Vec<u32>,
    first_source: Vec<usize>,
}

impl Graph {
    pub(crate) fn new(nodes: usize, edges: Vec<Edge>) -> Graph {
        // Stable counting sorts, so that the work is linear.
        let by_kind = sorted(edges, Dependency::ALL.len(), |edge| edge.dependency as usize).0;
        let by_end = sorted(by_kind, nodes, |edge| edge.to as usize).0;
        let (edges, first) = sorted(by_end, nodes, |edge| edge.from as usize);
        // The edges are sorted by their start, so the sources of each node are too.
        let ends: Vec<(u32, u32)> = edges.iter().map(|edge| (edge.from, edge.to)).collect();
        let (ends, first_source) = sorted(ends, nodes, |(_, to)| *to as usize);
        Graph { edges, first, sources: ends.into_iter().map(|(from, _)| from).collect(), first_source }
    }

    pub(crate) fn nodes(&self) -> u32 {
        u32::try_from(self.first.len() - 1).expect("the history has fewer transactions")
    }

    /// Numbers of the edges that leave a node.
    pub(crate) fn leaving(&self, node: u32) -> Range<usize> {
        self.first[node as usize]..self.first[node as usize + 1]
    }

    /// The nodes that have edges to a node and from it, each after the node itself, with the edges to them.
    pub(crate) fn mutual(&self, node: u32, steps: &mut u64, see: &mut dyn FnMut(u32, &[Edge])) {
        let sources = &self.sources[self.first_source[node as usize]..self.first_source[node as usize + 1]];
        let leaving = &self.edges[self.leaving(node)];
        *steps += (sources.len() + leaving.len()) as u64;
        let mut sources = sources.iter().copied().peekable();
        for group in leaving.chunk_by(|one, other| one.to == other.to) {
            let to = group[0].to;
            while sources.next_if(|source| *source < to).is_some() {}
            if to > node && sources.peek() == Some(&to) {
                see(to, group);
            }
        }
    }

    /// The edges from one node to another.
    pub(crate) fn between(&self, from: u32, to: u32) -> &[Edge] {
        let leaving = &self.edges[self.leaving(from)];
        let start = leaving.partition_point(|edge| edge.to < to);
        let end = leaving.partition_point(|edge| edge.to <= to);
        &leaving[start..end]
    }
}

/// Items by their number below `groups`, and where each group begins.
fn sorted<T: Clone>(items: Vec<T>, groups: usize, number: impl Fn(&T) -> usize) -> (Vec<T>, Vec<usize>) {
    let mut first = vec![0; groups + 1];
    items.iter().for_each(|item| first[number(item) + 1] += 1);
    (0..groups).for_each(|group| first[group + 1] += first[group]);
    let mut next = first.clone();
    let mut order = vec![0; items.len()];
    for (index, item) in items.iter().enumerate() {
        let place = &mut next[number(item)];
        order[*place] = index;
        *place += 1;
    }
    (order.into_iter().map(|index| items[index].clone()).collect(), first)
}

/// The edges of the graph up to a kind, in which any cycle is an anomaly; between the nodes that a mark admits.
pub(crate) struct UpTo<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) weakest: Dependency,
    /// For each node, whether it belongs to this part.
    pub(crate) admitted: Option<&'a [bool]>,
}

impl UpTo<'_> {
    fn admits(&self, node: u32) -> bool {
        self.admitted.is_none_or(|admitted| admitted[node as usize])
    }
}

impl Digraph for UpTo<'_> {
    fn nodes(&self) -> u32 {
        self.graph.nodes()
    }

    fn edges(&self, node: u32) -> Range<usize> {
        self.graph.leaving(node)
    }

    fn target(&self, node: u32, edge: usize) -> Option<u32> {
        let edge = &self.graph.edges[edge];
        let is_part = edge.dependency <= self.weakest && self.admits(node) && self.admits(edge.to);
        is_part.then_some(edge.to)
    }
}

/// Each transaction twice: as reached by ww or wr, and as reached by rw. From the second one no rw leaves, so a cycle of
/// this graph is a cycle of dependencies without two rw in succession. Snapshot isolation forbids exactly these.
pub(crate) struct WithoutAdjacentRw<'a>(pub(crate) &'a Graph);

impl WithoutAdjacentRw<'_> {
    /// The nodes of a transaction.
    pub(crate) fn nodes_of(transaction: u32) -> [u32; 2] {
        [transaction * 2, transaction * 2 + 1]
    }

    /// The transaction of a node.
    pub(crate) fn transaction(node: u32) -> u32 {
        node / 2
    }

    /// Whether a node stands for a transaction reached by rw.
    fn is_reached_by_rw(node: u32) -> bool {
        node % 2 == 1
    }

    /// A cycle in which each transaction occurs once. Where a walk visits a transaction twice, at least one of the two
    /// rounds ends with ww or wr, and is a cycle of its own.
    pub(crate) fn simple(mut walk: Vec<(u32, usize)>) -> Vec<(u32, usize)> {
        loop {
            let mut seen = HashMap::new();
            let mut nodes = walk.iter().enumerate();
            let repeated = nodes.find_map(|(second, (node, _))| {
                seen.insert(Self::transaction(*node), second).map(|first| (first, second))
            });
            let Some((first, second)) = repeated else { return walk };
            if Self::is_reached_by_rw(walk[second].0) {
                // The round from the second visit to the first one ends with ww or wr.
                walk.drain(first..second);
            } else {
                walk = walk[first..second].to_vec();
            }
        }
    }
}

impl Digraph for WithoutAdjacentRw<'_> {
    fn nodes(&self) -> u32 {
        self.0.nodes() * 2
    }

    fn edges(&self, node: u32) -> Range<usize> {
        self.0.leaving(Self::transaction(node))
    }

    fn target(&self, node: u32, edge: usize) -> Option<u32> {
        let edge = &self.0.edges[edge];
        match edge.dependency {
            Dependency::Ww | Dependency::Wr => Some(edge.to * 2),
            Dependency::Rw if Self::is_reached_by_rw(node) => None,
            Dependency::Rw => Some(edge.to * 2 + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_within_a_walk_is_cut_out() {
        // 0 -rw-> 1 -ww-> 0' … : nodes 0 (dep) and 1 (rw) belong to transaction 0, 2 and 3 to transaction 1.
        let simple = |nodes: &[u32]| {
            let walk = nodes.iter().map(|node| (*node, 0)).collect();
            WithoutAdjacentRw::simple(walk).into_iter().map(|(node, _)| node).collect::<Vec<_>>()
        };
        assert_eq!(simple(&[0, 3]), [0, 3]);
        assert_eq!(simple(&[1, 2, 0, 5]), [1, 2]);
        assert_eq!(simple(&[0, 5, 1, 2]), [1, 2]);
    }
}
