//! Cycles of dependencies. All cycles of two transactions are counted. Each component without one, where longer cycles
//! exist, counts as one case. So a class of anomalies has no case exactly if the graph has no cycle of the class, and the
//! work is linear in the graph.

use crate::anomaly::{Anomaly, Dependency, Witness, WitnessEdge};
use crate::components::{Components, CycleSearch, Digraph, components};
use crate::graph::{Edge, Graph, UpTo, WithoutAdjacentRw};

/// A class of cycles, the worst first. A cycle of a class is also one of each later class.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Ww,
    WwWr,
    WithoutAdjacentRw,
    AllOnPrimary,
    All,
}

/// A cycle.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    pub(crate) anomaly: Anomaly,
    /// Whether all of its transactions ran on the primary.
    pub(crate) on_primary: bool,
    /// Each edge ends where the next one begins; the last one ends at the start of the first.
    edges: Vec<Edge>,
}

impl Cycle {
    pub(crate) fn witness(&self) -> Witness {
        let length = self.edges.len();
        let edge = |(index, edge): (usize, &Edge)| WitnessEdge {
            from: index,
            to: (index + 1) % length,
            dependency: edge.dependency,
            key: edge.key,
        };
        Witness {
            transactions: self.edges.iter().map(|edge| edge.from as usize).collect(),
            edges: self.edges.iter().enumerate().map(edge).collect(),
            key: None,
        }
    }

    fn class(&self) -> Class {
        match self.anomaly {
            Anomaly::WriteCycle => Class::Ww,
            Anomaly::CircularInformationFlow => Class::WwWr,
            Anomaly::LostUpdate | Anomaly::ReadSkew | Anomaly::LongFork => Class::WithoutAdjacentRw,
            Anomaly::WriteSkew if self.on_primary => Class::AllOnPrimary,
            Anomaly::WriteSkew => Class::All,
            Anomaly::LostAppend
            | Anomaly::UnknownElement
            | Anomaly::DuplicateElement
            | Anomaly::IncompatibleOrder
            | Anomaly::InternalInconsistency
            | Anomaly::AbortedRead
            | Anomaly::IntermediateRead => unreachable!("no cycle"),
        }
    }
}

/// The anomaly that a cycle of edges is.
fn anomaly(edges: &[Edge]) -> Anomaly {
    let is_rw = |index: usize| edges[index % edges.len()].dependency == Dependency::Rw;
    let rws = (0..edges.len()).filter(|index| is_rw(*index)).count();
    let is_on_one_key = edges.iter().all(|edge| edge.key == edges[0].key);
    let has_wr = edges.iter().any(|edge| edge.dependency == Dependency::Wr);
    match rws {
        0 if has_wr => Anomaly::CircularInformationFlow,
        0 => Anomaly::WriteCycle,
        1 if is_on_one_key && !has_wr => Anomaly::LostUpdate,
        1 => Anomaly::ReadSkew,
        _ if (0..edges.len()).any(|index| is_rw(index) && is_rw(index + 1)) => Anomaly::WriteSkew,
        _ => Anomaly::LongFork,
    }
}

/// Finds the cycles of a graph. `on_primary` tells it for each node.
pub(crate) struct Finder<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) on_primary: &'a [bool],
    pub(crate) steps: u64,
    /// The class of each counted case, and two of its nodes.
    cases: Vec<(Class, [u32; 2])>,
}

impl<'a> Finder<'a> {
    pub(crate) fn new(graph: &'a Graph, on_primary: &'a [bool]) -> Finder<'a> {
        Finder { graph, on_primary, steps: 0, cases: Vec::new() }
    }

    /// Shows each case to `see`.
    pub(crate) fn find(&mut self, see: &mut dyn FnMut(Cycle)) {
        self.pairs(see);
        let graph = self.graph;
        let up_to = |weakest| UpTo { graph, weakest, admitted: None };
        self.longer(Class::Ww, &up_to(Dependency::Ww), see);
        self.longer(Class::WwWr, &up_to(Dependency::Wr), see);
        self.longer(Class::WithoutAdjacentRw, &WithoutAdjacentRw(graph), see);
        if self.on_primary.contains(&false) {
            let on_primary = UpTo { admitted: Some(self.on_primary), ..up_to(Dependency::Rw) };
            self.longer(Class::AllOnPrimary, &on_primary, see);
        }
        self.longer(Class::All, &up_to(Dependency::Rw), see);
    }

    /// A cycle; it begins with its first transaction in the history.
    fn cycle(&self, mut edges: Vec<Edge>) -> Cycle {
        let first = edges.iter().enumerate().min_by_key(|(_, edge)| edge.from).map_or(0, |(index, _)| index);
        edges.rotate_left(first);
        let on_primary = edges.iter().all(|edge| self.on_primary[edge.from as usize]);
        Cycle { anomaly: anomaly(&edges), on_primary, edges }
    }

    /// Cycles of two transactions.
    fn pairs(&mut self, see: &mut dyn FnMut(Cycle)) {
        for node in 0..self.graph.nodes() {
            let mut steps = 0;
            let mut found = Vec::new();
            self.graph.mutual(node, &mut steps, &mut |other, there| {
                let back = self.graph.between(other, node);
                found.push(self.cycle(strongest(there, back)));
            });
            self.steps += steps;
            for cycle in found {
                self.cases.push((cycle.class(), [cycle.edges[0].from, cycle.edges[0].to]));
                see(cycle);
            }
        }
    }

    /// A cycle for each component of a class that has no case yet.
    fn longer(&mut self, class: Class, part: &impl Digraph, see: &mut dyn FnMut(Cycle)) {
        let found = components(part, &mut self.steps);
        let mut has_case = vec![false; found.nodes.len()];
        for (_, nodes) in self.cases.iter().filter(|(known, _)| *known <= class) {
            for component in common_components(class, &found, *nodes).into_iter().flatten() {
                has_case[component as usize] = true;
            }
        }
        let mut search = CycleSearch::new(part);
        for (component, _) in has_case.iter().enumerate().filter(|(_, has_case)| !**has_case) {
            let component = u32::try_from(component).expect("fewer components than nodes");
            let walk = search.shortest(part, &found, component, &mut self.steps);
            let walk = if class == Class::WithoutAdjacentRw { WithoutAdjacentRw::simple(walk) } else { walk };
            let cycle = self.cycle(walk.iter().map(|(_, edge)| self.graph.edges[*edge]).collect());
            self.cases.push((cycle.class(), [cycle.edges[0].from, cycle.edges[0].to]));
            see(cycle);
        }
    }
}

/// The components that contain both transactions of a case.
fn common_components(class: Class, found: &Components, nodes: [u32; 2]) -> [Option<u32>; 2] {
    let of = |transaction: u32| match class {
        Class::WithoutAdjacentRw => WithoutAdjacentRw::nodes_of(transaction),
        Class::Ww | Class::WwWr | Class::AllOnPrimary | Class::All => [transaction, transaction],
    };
    let components = nodes.map(|node| of(node).map(|node| found.of_node[node as usize]));
    components[0]
        .map(|component| (component != u32::MAX && components[1].contains(&component)).then_some(component))
}

/// The worst cycle of the edges between two transactions: few rw, then one key, then few wr.
fn strongest(there: &[Edge], back: &[Edge]) -> Vec<Edge> {
    // Sorted by kind, so the first edge is the strongest.
    let (first, second) = (there[0], back[0]);
    let of_key = |edges: &[Edge], wanted: Edge| {
        let kinds = edges.iter().filter(|edge| edge.dependency == wanted.dependency);
        kinds.copied().collect::<Vec<_>>()
    };
    let (firsts, seconds) = (of_key(there, first), of_key(back, second));
    let keys: std::collections::HashSet<u32> = firsts.iter().map(|edge| edge.key).collect();
    match seconds.iter().find(|edge| keys.contains(&edge.key)) {
        Some(second) => {
            let first = firsts.iter().find(|edge| edge.key == second.key).copied().unwrap_or(first);
            vec![first, *second]
        }
        None => vec![first, second],
    }
}
