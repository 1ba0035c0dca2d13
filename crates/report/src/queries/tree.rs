//! Plans as PostgreSQL's EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) returns them, read with care: the text is from a server
//! or a file. What cannot be read is left out; depth and number of nodes are limited.

use serde_json::Value;

use crate::figures::{count, fixed};
use crate::prose::{cut, escaped_line};

/// Nodes of a plan that are read.
const NODES_MAX: usize = 1_000;
/// Levels below the root; serde_json refuses deeper documents than 128 levels, which are 62 nodes.
const DEPTH_MAX: usize = 64;
/// Longest name of a node.
const NAME_LEN_MAX: usize = 72;

/// A part of a node that belongs to the shape of its plan.
pub(super) struct Aspect {
    pub(super) name: &'static str,
    key: &'static str,
    /// The usual value, which old versions leave out.
    usual: &'static str,
}

const fn aspect(name: &'static str, key: &'static str, usual: &'static str) -> Aspect {
    Aspect { name, key, usual }
}

/// Names of sub-plans and aliases are not among them: versions differ in these for the same plan.
pub(super) const ASPECTS: [Aspect; 10] = [
    aspect("type", "Node Type", ""),
    aspect("join type", "Join Type", "Inner"),
    aspect("strategy", "Strategy", ""),
    aspect("partial mode", "Partial Mode", "Simple"),
    aspect("parallel execution", "Parallel Aware", "false"),
    aspect("relation", "Relation Name", ""),
    aspect("index", "Index Name", ""),
    aspect("CTE", "CTE Name", ""),
    aspect("function", "Function Name", ""),
    aspect("place below its parent", "Parent Relationship", ""),
];

/// A node with its depth; a plan is a list of them, each before its children.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) depth: usize,
    /// Such as `Index Scan using orders_pkey on orders`.
    pub(super) name: String,
    /// The values of [`ASPECTS`].
    pub(super) aspects: [String; ASPECTS.len()],
    /// Estimated rows of one execution of the node.
    pub(super) estimate: Option<f64>,
    /// Of all executions of the node together; `None` without an execution.
    pub(super) rows: Option<f64>,
    /// In ms, of one process; with the time of its children. `None` without an execution.
    pub(super) time_ms: Option<f64>,
    /// Without that of its children; `None` without an execution.
    pub(super) own_ms: Option<f64>,
    pub(super) loops: f64,
    pub(super) blocks_hit: Option<f64>,
    pub(super) blocks_read: Option<f64>,
    pub(super) temp_blocks: Option<f64>,
    /// Whether the plan was not executed, such as that of a query at its limit.
    pub(super) is_only_estimated: bool,
}

/// A plan, or those of several statements one after the other; `None` if the text has no plan that can be read.
pub(super) fn read(text: &str) -> Option<Vec<Node>> {
    let document: Value = serde_json::from_str(text).ok()?;
    let statements = match &document {
        Value::Array(statements) => statements.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut nodes = Vec::new();
    for statement in statements {
        // A document of documents, such as one for each statement.
        let inner = statement.as_array().map_or(std::slice::from_ref(statement), Vec::as_slice);
        inner.iter().filter_map(|statement| statement.get("Plan")).for_each(|plan| {
            add(&mut nodes, plan, 0, 1.0);
        });
    }
    (!nodes.is_empty()).then_some(nodes)
}

/// `processes` execute the node together, each in some of its loops.
fn add(nodes: &mut Vec<Node>, plan: &Value, depth: usize, processes: f64) -> Option<f64> {
    if nodes.len() >= NODES_MAX || depth > DEPTH_MAX || !plan.is_object() {
        return None;
    }
    let number = |key: &str| plan.get(key).and_then(Value::as_f64).filter(|number| *number >= 0.0);
    let loops = number("Actual Loops").unwrap_or(0.0);
    let all = |figure: Option<f64>, times: f64| figure.filter(|_| loops > 0.0).map(|figure| figure * times);
    let blocks = |names: [&str; 2]| {
        let known: Vec<f64> = names.into_iter().filter_map(number).collect();
        (!known.is_empty()).then(|| known.iter().sum())
    };
    // Loops of parallel processes happen at the same time.
    let time_ms = all(number("Actual Total Time"), (loops / processes).max(1.0));
    let at = nodes.len();
    nodes.push(Node {
        depth,
        name: name(plan),
        aspects: ASPECTS.each_ref().map(|aspect| aspect.value(plan)),
        estimate: number("Plan Rows"),
        rows: all(number("Actual Rows"), loops),
        time_ms,
        own_ms: time_ms,
        loops,
        blocks_hit: blocks(["Shared Hit Blocks", "Local Hit Blocks"]),
        blocks_read: blocks(["Shared Read Blocks", "Local Read Blocks"]),
        temp_blocks: blocks(["Temp Read Blocks", "Temp Written Blocks"]),
        is_only_estimated: plan.get("Actual Loops").is_none(),
    });
    let processes = processes.max(number("Workers Launched").map_or(1.0, |workers| workers + 1.0));
    let children = plan.get("Plans").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let below: f64 = children.iter().filter_map(|child| add(nodes, child, depth + 1, processes)).sum();
    nodes[at].own_ms = time_ms.map(|time| (time - below).max(0.0));
    time_ms
}

impl Aspect {
    fn value(&self, plan: &Value) -> String {
        let value = match plan.get(self.key) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Bool(flag)) => flag.to_string(),
            _ => String::new(),
        };
        if value == self.usual { String::new() } else { value }
    }
}

/// Node type with what identifies it, as in PostgreSQL's text format.
fn name(plan: &Value) -> String {
    let text = |key: &str| plan.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut name = match (text("Node Type"), text("Strategy"), text("Join Type")) {
        ("", ..) => "unknown node".to_owned(),
        ("Aggregate", "Hashed", _) => "HashAggregate".to_owned(),
        ("Aggregate", "Sorted", _) => "GroupAggregate".to_owned(),
        ("Aggregate", "Mixed", _) => "MixedAggregate".to_owned(),
        ("Nested Loop", _, join) if !matches!(join, "" | "Inner") => format!("Nested Loop {join} Join"),
        (kind, _, join) if !matches!(join, "" | "Inner") => {
            format!("{} {join} Join", kind.trim_end_matches(" Join"))
        }
        (kind, ..) => kind.to_owned(),
    };
    if !matches!(text("Partial Mode"), "" | "Simple") {
        name = format!("{} {name}", text("Partial Mode"));
    }
    if plan.get("Parallel Aware").and_then(Value::as_bool) == Some(true) {
        name = format!("Parallel {name}");
    }
    for (word, key) in
        [("using", "Index Name"), ("on", "Relation Name"), ("on", "CTE Name"), ("on", "Function Name")]
    {
        if !text(key).is_empty() {
            name += &format!(" {word} {}", text(key));
        }
    }
    // Before version 17: `InitPlan 1 (returns $0)`.
    let subplan = text("Subplan Name");
    let subplan = subplan.split_once(" (returns ").map_or(subplan, |(subplan, _)| subplan);
    if !subplan.is_empty() {
        name = format!("{subplan}: {name}");
    }
    cut(&escaped_line(&name), NAME_LEN_MAX)
}

impl Node {
    /// `Hash Join  rows 1,234  time 45.6 ms  hit 12  read 34`
    fn line(&self) -> String {
        let arrow =
            if self.depth == 0 { String::new() } else { format!("{}-> ", "  ".repeat(self.depth - 1)) };
        let mut line = format!("{arrow}{}", self.name);
        let (Some(rows), Some(time_ms)) = (self.rows, self.time_ms) else {
            let estimate = self.estimate.filter(|_| self.is_only_estimated);
            let estimated = estimate.map(|rows| format!("{} rows estimated", whole(rows)));
            return format!("{line}  ({})", estimated.as_deref().unwrap_or("never executed"));
        };
        line += &format!("  {} ms, {} rows", shown_ms(time_ms), whole(rows));
        if let Some(estimate) = self.estimate {
            line += &format!(" (estimated {})", whole(estimate));
        }
        if self.loops > 1.0 {
            line += &format!(", {} loops", whole(self.loops));
        }
        for (word, blocks) in
            [("hit", self.blocks_hit), ("read", self.blocks_read), ("temp", self.temp_blocks)]
        {
            if let Some(blocks) = blocks.filter(|blocks| *blocks > 0.0) {
                line += &format!(", {word} {}", whole(blocks));
            }
        }
        line
    }
}

pub(super) fn shown_ms(ms: f64) -> String {
    fixed(ms, if ms < 10.0 { 2 } else { usize::from(ms < 100.0) })
}

// Figures of a server, made finite and within 10¹⁵.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(super) fn whole(figure: f64) -> String {
    count(figure.round().clamp(0.0, 1e15) as u64)
}

/// The beginning of the line of a marked node.
pub(super) const MARK: &str = "≠ ";

/// The tree, a line for each node; those at `marked` begin with [`MARK`].
pub(super) fn text(nodes: &[Node], marked: &[usize]) -> String {
    let line = |(at, node): (usize, &Node)| match (marked.is_empty(), marked.contains(&at)) {
        (true, _) => node.line(),
        (_, true) => format!("{MARK}{}", node.line()),
        (_, false) => format!("  {}", node.line()),
    };
    nodes.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARALLEL: &str = r#"[{"Plan": {"Node Type": "Gather", "Actual Total Time": 100.0, "Actual Rows": 30,
        "Actual Loops": 1, "Workers Planned": 2, "Workers Launched": 2, "Shared Hit Blocks": 7, "Plans": [
          {"Node Type": "Seq Scan", "Parallel Aware": true, "Relation Name": "lineitem",
           "Actual Total Time": 90.0, "Actual Rows": 10.0, "Actual Loops": 3, "Shared Read Blocks": 1234},
          {"Node Type": "Index Scan", "Index Name": "orders_pkey", "Relation Name": "orders",
           "Actual Total Time": 0.0, "Actual Rows": 0, "Actual Loops": 0}]}}]"#;

    #[test]
    fn loops_of_parallel_processes_happen_at_the_same_time() {
        let nodes = read(PARALLEL).unwrap();
        assert_eq!((nodes[1].time_ms, nodes[1].rows, nodes[0].own_ms), (Some(90.0), Some(30.0), Some(10.0)));
        assert_eq!(
            text(&nodes, &[]),
            "Gather  100 ms, 30 rows, hit 7\n\
             -> Parallel Seq Scan on lineitem  90.0 ms, 30 rows, 3 loops, read 1,234\n\
             -> Index Scan using orders_pkey on orders  (never executed)"
        );
    }

    #[test]
    fn a_plan_that_was_not_executed_has_estimates() {
        let plan = r#"[{"Plan": {"Node Type": "Seq Scan", "Relation Name": "orders", "Plan Rows": 15000}}]"#;
        assert_eq!(text(&read(plan).unwrap(), &[]), "Seq Scan on orders  (15,000 rows estimated)");
    }

    #[test]
    fn repeated_loops_of_one_process_add_up() {
        let plan = r#"[{"Plan": {"Node Type": "Nested Loop", "Join Type": "Left", "Actual Total Time": 60.0,
            "Actual Rows": 1, "Actual Loops": 1, "Plans": [{"Node Type": "Limit", "Actual Total Time": 0.5,
            "Actual Rows": 2, "Actual Loops": 100}]}}]"#;
        let nodes = read(plan).unwrap();
        assert_eq!((nodes[1].time_ms, nodes[1].rows, nodes[0].own_ms), (Some(50.0), Some(200.0), Some(10.0)));
        assert_eq!(nodes[0].name, "Nested Loop Left Join");
    }

    #[test]
    fn text_that_is_no_plan_has_no_nodes_and_strange_plans_are_read_as_far_as_they_go() {
        for text in ["", "{", "[]", "7", "[[[]]]", "[{\"Plan\": 7}]", "[{\"Plan\": null}]"] {
            assert_eq!(read(text), None, "{text}");
        }
        let deep = "{\"Plan\":{\"Plans\":[".to_owned() + &"{\"Plans\":[".repeat(10_000);
        assert_eq!(read(&deep), None);
        let depth = 50;
        let nested = format!(
            "[{{\"Plan\":{}{{}}{}}}]",
            "{\"Node Type\":\"\\u001b[2J\",\"Actual Loops\":-1,\"Plans\":[7,".repeat(depth),
            "]}".repeat(depth)
        );
        let nodes = read(&nested).unwrap();
        assert_eq!((nodes.len(), nodes[0].name.as_str()), (51, "\\x1b[2J"));
        let wide = format!("[{{\"Plan\":{{\"Plans\":[{}{{}}]}}}}]", "{},".repeat(5_000));
        assert_eq!(read(&wide).unwrap().len(), NODES_MAX);
        let huge = r#"[{"Plan": {"Actual Rows": 1e300, "Actual Total Time": 1e300, "Actual Loops": 1e300}}]"#;
        assert!(text(&read(huge).unwrap(), &[]).contains("unknown node"));
    }
}
