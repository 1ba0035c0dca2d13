//! Strongly connected components (Tarjan, Depth-first search and linear graph algorithms, SIAM J. Comput. 1(2), 1972)
//! without recursion, and short cycles in them. Both take a number of steps that is linear in the graph.

use std::ops::Range;

/// Cycles are searched from at most this many nodes of a component, so that the work stays linear in its edges. The
/// cycle is the shortest one in components of up to this size.
const STARTS_MAX: usize = 16;
const NONE: u32 = u32::MAX;

/// A directed graph; its edges are numbered, and the edges of a node are neighbours.
pub(crate) trait Digraph {
    /// Number of nodes.
    fn nodes(&self) -> u32;
    /// Numbers of the edges that may leave a node.
    fn edges(&self, node: u32) -> Range<usize>;
    /// The end of an edge that leaves a node; `None` if this graph does not contain it.
    fn target(&self, node: u32, edge: usize) -> Option<u32>;
}

/// Components with more than one node.
#[derive(Debug, Default)]
pub(crate) struct Components {
    /// For each node, the component; `u32::MAX` if it is alone.
    pub(crate) of_node: Vec<u32>,
    /// For each component, its nodes.
    pub(crate) nodes: Vec<Vec<u32>>,
}

/// The components of a graph; adds the visited nodes and edges to `steps`.
pub(crate) fn components(graph: &impl Digraph, steps: &mut u64) -> Components {
    let nodes = graph.nodes() as usize;
    let mut found = Components { of_node: vec![NONE; nodes], nodes: Vec::new() };
    // 0: not visited; otherwise the number of the visit.
    let mut visit = vec![0_u32; nodes];
    let mut low = vec![0_u32; nodes];
    let mut is_open = vec![false; nodes];
    let (mut open, mut path): (Vec<u32>, Vec<(u32, usize)>) = (Vec::new(), Vec::new());
    let mut visits = 0;
    for root in 0..graph.nodes() {
        if visit[root as usize] > 0 {
            continue;
        }
        path.push((root, graph.edges(root).start));
        while let Some((node, edge)) = path.last_mut() {
            let (at, node_number) = (*node as usize, *node);
            *steps += 1;
            if visit[at] == 0 {
                visits += 1;
                (visit[at], low[at], is_open[at]) = (visits, visits, true);
                open.push(node_number);
            }
            if *edge < graph.edges(node_number).end {
                let target = graph.target(node_number, *edge);
                *edge += 1;
                match target {
                    Some(next) if visit[next as usize] == 0 => path.push((next, graph.edges(next).start)),
                    Some(next) if is_open[next as usize] => low[at] = low[at].min(visit[next as usize]),
                    _ => {}
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                low[*parent as usize] = low[*parent as usize].min(low[at]);
            }
            if low[at] == visit[at] {
                close(node_number, &mut open, &mut is_open, &mut found);
            }
        }
    }
    found
}

/// Takes the component of its first visited node from the open nodes.
fn close(first: u32, open: &mut Vec<u32>, is_open: &mut [bool], found: &mut Components) {
    let start = open.iter().rposition(|node| *node == first).unwrap_or(0);
    let members = open.split_off(start);
    members.iter().for_each(|node| is_open[*node as usize] = false);
    if members.len() > 1 {
        #[expect(clippy::cast_possible_truncation, reason = "fewer components than nodes")]
        let number = found.nodes.len() as u32;
        members.iter().for_each(|node| found.of_node[*node as usize] = number);
        found.nodes.push(members);
    }
}

/// Searches short cycles in components of one graph; keeps its memory for the next component.
#[derive(Debug)]
pub(crate) struct CycleSearch {
    /// For each node: the node before it and the edge between them. Valid if `round` is the current one.
    came_from: Vec<(u32, usize)>,
    round: Vec<u32>,
    rounds: u32,
}

impl CycleSearch {
    pub(crate) fn new(graph: &impl Digraph) -> CycleSearch {
        let nodes = graph.nodes() as usize;
        CycleSearch { came_from: vec![(0, 0); nodes], round: vec![0; nodes], rounds: 0 }
    }

    /// A short cycle of a component: each node with the edge that leaves it.
    pub(crate) fn shortest(
        &mut self,
        graph: &impl Digraph,
        components: &Components,
        component: u32,
        steps: &mut u64,
    ) -> Vec<(u32, usize)> {
        let nodes = &components.nodes[component as usize];
        let stride = nodes.len().div_ceil(STARTS_MAX);
        let mut best: Vec<(u32, usize)> = Vec::new();
        for start in nodes.iter().step_by(stride) {
            let is_inside = |node: u32| components.of_node[node as usize] == component;
            let cycle = self.through(graph, *start, is_inside, steps);
            if best.is_empty() || cycle.len() < best.len() {
                best = cycle;
            }
            if best.len() == 2 {
                break;
            }
        }
        best
    }

    /// A shortest cycle through a node, breadth first.
    fn through(
        &mut self,
        graph: &impl Digraph,
        start: u32,
        is_inside: impl Fn(u32) -> bool,
        steps: &mut u64,
    ) -> Vec<(u32, usize)> {
        self.rounds += 1;
        let mut queue = vec![start];
        let mut next = 0;
        while next < queue.len() {
            let node = queue[next];
            next += 1;
            *steps += 1;
            for edge in graph.edges(node) {
                *steps += 1;
                let Some(target) = graph.target(node, edge).filter(|target| is_inside(*target)) else {
                    continue;
                };
                if target == start {
                    return self.path(start, (node, edge));
                }
                if self.round[target as usize] != self.rounds {
                    self.round[target as usize] = self.rounds;
                    self.came_from[target as usize] = (node, edge);
                    queue.push(target);
                }
            }
        }
        Vec::new()
    }

    fn path(&self, start: u32, last: (u32, usize)) -> Vec<(u32, usize)> {
        let mut path = vec![last];
        let mut node = last.0;
        while node != start {
            path.push(self.came_from[node as usize]);
            node = self.came_from[node as usize].0;
        }
        path.reverse();
        path
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Targets of each node.
    struct Lists(Vec<Vec<u32>>);

    impl Digraph for Lists {
        fn nodes(&self) -> u32 {
            u32::try_from(self.0.len()).unwrap()
        }

        fn edges(&self, node: u32) -> Range<usize> {
            0..self.0[node as usize].len()
        }

        fn target(&self, node: u32, edge: usize) -> Option<u32> {
            Some(self.0[node as usize][edge])
        }
    }

    /// The nodes that a node reaches.
    fn reached(graph: &Lists, from: u32) -> Vec<bool> {
        let mut seen = vec![false; graph.0.len()];
        let mut todo = vec![from];
        while let Some(node) = todo.pop() {
            for next in &graph.0[node as usize] {
                if !std::mem::replace(&mut seen[*next as usize], true) {
                    todo.push(*next);
                }
            }
        }
        seen
    }

    proptest! {
        #[test]
        fn nodes_that_reach_each_other_are_a_component_and_have_a_cycle(
            lists in (1_u32..24).prop_flat_map(|nodes| {
                proptest::collection::vec(proptest::collection::vec(0..nodes, 0..4), nodes as usize)
            })
        ) {
            let graph = Lists(lists);
            let mut steps = 0;
            let found = components(&graph, &mut steps);
            let reached: Vec<Vec<bool>> = (0..graph.nodes()).map(|node| reached(&graph, node)).collect();
            for (a, of_a) in reached.iter().enumerate() {
                for (b, of_b) in reached.iter().enumerate().filter(|(b, _)| *b != a) {
                    let expected = of_a[b] && of_b[a];
                    let together = found.of_node[a] != NONE && found.of_node[a] == found.of_node[b];
                    prop_assert_eq!(together, expected, "{} and {}", a, b);
                }
            }
            let mut search = CycleSearch::new(&graph);
            for component in 0..u32::try_from(found.nodes.len()).unwrap() {
                let cycle = search.shortest(&graph, &found, component, &mut steps);
                prop_assert!(!cycle.is_empty());
                for (index, (node, edge)) in cycle.iter().enumerate() {
                    let next = cycle[(index + 1) % cycle.len()].0;
                    prop_assert_eq!(graph.0[*node as usize][*edge], next);
                }
            }
        }
    }

    #[test]
    fn a_path_of_a_million_nodes_needs_no_stack() {
        let nodes = 1_000_000;
        let graph = Lists((0..nodes).map(|node| vec![(node + 1) % nodes]).collect());
        let mut steps = 0;
        let found = components(&graph, &mut steps);
        assert_eq!(found.nodes.len(), 1);
        assert_eq!(found.nodes[0].len(), 1_000_000);
        assert!(steps <= 4 * u64::from(nodes), "{steps}");
    }
}
