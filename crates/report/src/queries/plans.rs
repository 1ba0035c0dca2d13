//! Plans of queries that became slower, beside each other with the nodes that differ marked, and in sentences what changed:
//! the shape of the plan or its rows, nodes that only one of the plans has, and where most of the added time is spent.

use std::ops::Add;

use super::comparison::{Compared, ComparedSet, QueryRatio, Verdict};
use super::figures::QueryFigures;
use super::plan_difference::{PlanDifference, RowDifference, difference};
use super::regressions::slower_on_b;
use super::said::{bounds, ratio};
use super::tree::{self, MARK, Node, shown_ms, whole};
use crate::document::{Block, Tone};
use crate::figures::TIE;
use crate::prose::enumerate;

/// Nodes of each plan that the sentence names.
const NODES_NAMED_MAX: usize = 3;
/// Slower queries in a list of the terminal.
const LISTED_MAX: usize = 12;

/// A query that became slower, with both plans.
struct Slower<'a> {
    query: &'a str,
    base: &'a str,
    other: &'a str,
    ratio: QueryRatio,
    plans: [Vec<Node>; 2],
}

fn slower<'a>(compared: &'a Compared<'_>) -> Vec<Slower<'a>> {
    let Some((base, others)) = compared.sets.split_first() else { return Vec::new() };
    let of_set = |other: &'a ComparedSet<'_>| {
        let pairs = compared.names.iter().zip(&other.ratios);
        pairs.filter_map(move |(name, ratio)| {
            let ratio = match &compared.regressions {
                Some(regressions) => slower_on_b(regressions, name)?,
                None => (*ratio).filter(|ratio| ratio.verdict() == Verdict::Slower)?,
            };
            let plan = |set: &ComparedSet<'_>| tree::read(set.figures.query(name)?.plan.as_deref()?);
            let plans = [plan(base)?, plan(other)?];
            Some(Slower { query: name, base: &base.label, other: &other.label, ratio, plans })
        })
    };
    let mut all: Vec<Slower<'a>> = others.iter().flat_map(of_set).collect();
    all.sort_by(|a, b| b.ratio.value.total_cmp(&a.ratio.value));
    all
}

/// In what the plans of a query differ, for programs; `None` unless both have one.
pub(super) fn change_name(base: &QueryFigures, other: &QueryFigures) -> Option<&'static str> {
    let plan = |query: &QueryFigures| tree::read(query.plan.as_deref()?);
    Some(difference(&plan(base)?, &plan(other)?).name())
}

/// For the terminal and Markdown.
pub(super) fn summaries(compared: &Compared<'_>) -> Vec<Block> {
    let slower = slower(compared);
    if slower.is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<String> = slower.iter().take(LISTED_MAX).map(Slower::summary).collect();
    if slower.len() > LISTED_MAX {
        lines.push(format!("… and {} more; the page has all plans.", slower.len() - LISTED_MAX));
    }
    vec![Block::List(Tone::Plain, lines)]
}

/// For the page: the plans themselves.
pub(super) fn side_by_side(compared: &Compared<'_>) -> Vec<Block> {
    let side = |label: &str, plan: &[Node], marked: &[usize]| {
        vec![Block::Heading(label.to_owned()), Block::Preformatted(tree::text(plan, marked))]
    };
    let of_one = |it: Slower<'_>| {
        let [base, other] = &it.plans;
        let [base_marked, other_marked] = difference(base, other).marked();
        let marks = (!(base_marked.is_empty() && other_marked.is_empty()))
            .then(|| Block::quiet(format!("{MARK}marks {}.", it.marked())));
        let columns =
            Block::Columns(vec![side(it.base, base, &base_marked), side(it.other, other, &other_marked)]);
        let blocks = marks.into_iter().chain([columns]).collect();
        Block::folded(it.title(), blocks)
    };
    slower(compared).into_iter().map(of_one).collect()
}

impl Slower<'_> {
    fn title(&self) -> String {
        let title = format!("{}, {}: {} {}", self.query, self.other, ratio(&self.ratio), bounds(&self.ratio));
        title.trim_end().to_owned()
    }

    fn summary(&self) -> String {
        format!("{}. {}", self.title(), self.change())
    }

    /// What the page marks in the plans.
    fn marked(&self) -> &'static str {
        let [base, other] = &self.plans;
        match difference(base, other) {
            PlanDifference::Shape { .. } => "the first node in which the shapes of the plans differ",
            PlanDifference::Rows { .. } => "the nodes whose estimated and actual rows differ most",
        }
    }

    /// The shape or the rows, nodes that only one plan has, and the node that takes more time.
    fn change(&self) -> String {
        let [base, other] = &self.plans;
        let mut told = match difference(base, other) {
            PlanDifference::Shape { nodes, aspect } => self.shape(nodes, aspect),
            PlanDifference::Rows { estimated, actual } => self.rows(estimated, actual),
        };
        told.extend(self.most_added());
        told.join(" ")
    }

    fn shape(&self, nodes: [Option<usize>; 2], aspect: Option<&str>) -> Vec<String> {
        let [base, other] = &self.plans;
        let named = [nodes[0].map(|at| base[at].name.as_str()), nodes[1].map(|at| other[at].name.as_str())];
        let at = match (named, aspect) {
            ([Some(first), Some(second)], aspect) => {
                let aspect = aspect.map_or(String::new(), |aspect| format!(" ({aspect})"));
                format!("{aspect}: {first} in {}; {second} in {}", self.base, self.other)
            }
            ([Some(first), None], _) => format!(": {first}, only in {}", self.base),
            ([None, second], _) => format!(": {}, only in {}", second.unwrap_or_default(), self.other),
        };
        let mut told = vec![format!("The plan has another shape. First node that differs{at}.")];
        let known: Vec<&str> = named.into_iter().flatten().collect();
        for (label, mut only) in [(self.base, only_in(base, other)), (self.other, only_in(other, base))] {
            let is_more = only.iter().any(|name| !known.contains(name));
            only.retain(|name| !known.contains(name));
            if is_more {
                told.push(format!("Also only in {label}: {}.", listed(&only)));
            }
        }
        told
    }

    fn rows(&self, estimated: Option<RowDifference>, actual: Option<RowDifference>) -> Vec<String> {
        let [base, _] = &self.plans;
        let most = |RowDifference { node, rows: [before, after] }: RowDifference| {
            format!("{}: {} instead of {}", base[node].name, whole(after), whole(before))
        };
        let has_estimates = base.iter().any(|node| node.estimate.is_some());
        let mut told = vec![match estimated {
            Some(estimated) => {
                format!(
                    "The plan has the same shape; its row estimates changed, most in {}.",
                    most(estimated)
                )
            }
            None if has_estimates => "The plan has the same shape and the same row estimates.".to_owned(),
            None => "The plan has the same shape.".to_owned(),
        }];
        told.extend(actual.map(|actual| format!("Actual rows changed most in {}.", most(actual))));
        told
    }

    /// The node of the same name whose own time grew most.
    fn most_added(&self) -> Option<String> {
        let [base, other] = &self.plans;
        let own = |nodes: &[Node], name: &str| -> f64 {
            nodes.iter().filter(|node| node.name == name).filter_map(|node| node.own_ms).fold(0.0, f64::add)
        };
        let added = |node: &Node| own(other, &node.name) - own(base, &node.name);
        let most = other.iter().max_by(|a, b| added(a).total_cmp(&added(b)))?;
        let (before, after) = (own(base, &most.name), own(other, &most.name));
        let instead =
            if before > 0.0 { format!(" instead of {}{TIE}ms", shown_ms(before)) } else { String::new() };
        (after > before)
            .then(|| format!("Most time was added in {}: {}{TIE}ms{instead}.", most.name, shown_ms(after)))
    }
}

/// Names of nodes that `nodes` has more often than `others`, those with the most time of their own first.
fn only_in<'n>(nodes: &'n [Node], others: &[Node]) -> Vec<&'n str> {
    let mut left: Vec<&str> = others.iter().map(|node| node.name.as_str()).collect();
    let mut only: Vec<&Node> = Vec::new();
    for node in nodes {
        match left.iter().position(|name| *name == node.name) {
            Some(at) => {
                left.swap_remove(at);
            }
            None => only.push(node),
        }
    }
    only.sort_by(|a, b| b.own_ms.unwrap_or(0.0).total_cmp(&a.own_ms.unwrap_or(0.0)));
    let mut names: Vec<&str> = Vec::new();
    for node in only {
        if !names.contains(&node.name.as_str()) {
            names.push(&node.name);
        }
    }
    names
}

fn listed(names: &[&str]) -> String {
    let mut shown: Vec<String> = names.iter().take(NODES_NAMED_MAX).map(|name| (*name).to_owned()).collect();
    if names.len() > NODES_NAMED_MAX {
        shown.push(format!("{} more", names.len() - NODES_NAMED_MAX));
    }
    enumerate(&shown)
}
