//! Compares two plans of one query: the first node in which their shapes differ, or, if the shapes are equal, the nodes
//! whose estimated and actual rows differ most. Pure; `tree` reads the plans, `plans` makes sentences of the result.

use super::tree::{ASPECTS, Node};

/// Estimates are made from random samples of rows, so they vary a little after each ANALYZE. Smaller factors count as
/// equal.
const FACTOR_MIN: f64 = 1.1;

/// In what two plans differ. Numbers of nodes are positions in the lists of the plans.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum PlanDifference {
    /// The shape: at the first node that differs, before which all nodes are equal.
    Shape {
        /// The node of each plan; `None`: that plan has no such node.
        nodes: [Option<usize>; 2],
        /// In what they differ, such as `index`; `None` if only one of the plans has the node.
        aspect: Option<&'static str>,
    },
    /// The shapes are equal.
    Rows {
        /// The node whose estimated rows differ most.
        estimated: Option<RowDifference>,
        /// The node whose actual rows differ most, of all executions of the node together.
        actual: Option<RowDifference>,
    },
}

/// Rows of a node in both plans.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct RowDifference {
    pub(super) node: usize,
    pub(super) rows: [f64; 2],
}

/// Compares the nodes in the order in which EXPLAIN shows them.
pub(super) fn difference(base: &[Node], other: &[Node]) -> PlanDifference {
    for at in 0..base.len().max(other.len()) {
        let (first, second) = match (base.get(at), other.get(at)) {
            (Some(first), Some(second)) => (first, second),
            (first, _) => return only_in_one(at, first.is_some()),
        };
        // All earlier nodes are equal, so the deeper node is a child that the other plan does not have.
        if first.depth != second.depth {
            return only_in_one(at, first.depth > second.depth);
        }
        let mut aspects = ASPECTS.iter().zip(first.aspects.iter().zip(&second.aspects));
        if let Some((aspect, _)) = aspects.find(|(_, (first, second))| first != second) {
            return PlanDifference::Shape { nodes: [Some(at); 2], aspect: Some(aspect.name) };
        }
    }
    let most = |rows: fn(&Node) -> Option<f64>, rounding: fn(&Node) -> f64| {
        let pairs = base.iter().zip(other).enumerate();
        let pairs = pairs.filter_map(|(node, (base, other))| {
            let rows = [rows(base)?, rows(other)?];
            let is_certain = (rows[0] - rows[1]).abs() > rounding(base).max(rounding(other));
            is_certain.then_some(RowDifference { node, rows })
        });
        let most = pairs.reduce(|most, next| if next.factor() > most.factor() { next } else { most });
        most.filter(|most| most.factor() >= FACTOR_MIN)
    };
    // Before version 18, the mean of the rows of several loops is rounded to a whole number.
    let rounded = |node: &Node| if node.loops > 1.0 { node.loops / 2.0 } else { 0.0 };
    PlanDifference::Rows {
        estimated: most(|node| node.estimate, |_| 0.0),
        actual: most(|node| node.rows, rounded),
    }
}

fn only_in_one(node: usize, is_in_base: bool) -> PlanDifference {
    let nodes = if is_in_base { [Some(node), None] } else { [None, Some(node)] };
    PlanDifference::Shape { nodes, aspect: None }
}

impl RowDifference {
    /// The larger number ÷ the smaller one. The planner estimates at least one row, so no row counts as one.
    fn factor(&self) -> f64 {
        let [base, other] = self.rows.map(|rows| rows.max(1.0));
        (base / other).max(other / base)
    }
}

impl PlanDifference {
    /// The nodes that are marked in each plan.
    pub(super) fn marked(&self) -> [Vec<usize>; 2] {
        match self {
            PlanDifference::Shape { nodes, .. } => nodes.map(|node| node.into_iter().collect()),
            PlanDifference::Rows { estimated, actual } => {
                let nodes: Vec<usize> = [estimated, actual].into_iter().flatten().map(|it| it.node).collect();
                [nodes.clone(), nodes]
            }
        }
    }

    /// In JSON.
    pub(super) fn name(&self) -> &'static str {
        match self {
            PlanDifference::Shape { .. } => "shape",
            PlanDifference::Rows { estimated: Some(_), .. } => "row_estimates",
            PlanDifference::Rows { actual: Some(_), .. } => "actual_rows",
            PlanDifference::Rows { .. } => "nothing",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::read;
    use super::*;

    /// Plans of PostgreSQL 11 and 18. The query `cte` has a WITH clause, which version 12 and later join to the query.
    /// `city` joins 20,000 orders to the customers of a city; then a quarter of the customers moved to that city; then
    /// the table was analyzed.
    const CTE_11: &str = include_str!("plans_of_versions/cte_11.json");
    const CTE_18: &str = include_str!("plans_of_versions/cte_18.json");
    const CITY_11: &str = include_str!("plans_of_versions/city_11.json");
    const CITY_18: &str = include_str!("plans_of_versions/city_18.json");
    const CITY_UPDATED: &str = include_str!("plans_of_versions/city_updated_18.json");
    const CITY_ANALYZED: &str = include_str!("plans_of_versions/city_analyzed_18.json");

    fn plan(text: &str) -> Vec<Node> {
        read(text).expect("it is a plan")
    }

    fn of(base: &str, other: &str) -> PlanDifference {
        difference(&plan(base), &plan(other))
    }

    #[test]
    fn another_shape_has_the_first_node_that_only_one_version_has() {
        let expected = PlanDifference::Shape { nodes: [Some(1); 2], aspect: Some("type") };
        assert_eq!(of(CTE_11, CTE_18), expected);
        assert_eq!(plan(CTE_11)[1].name, "CTE recent: Seq Scan on orders");
        assert_eq!(plan(CTE_18)[1].name, "Index Scan using orders_pkey on orders");
        assert_eq!(expected.marked(), [vec![1], vec![1]]);
    }

    #[test]
    fn the_same_plan_of_two_versions_does_not_differ() {
        let same = PlanDifference::Rows { estimated: None, actual: None };
        for (base, other) in [(CITY_11, CITY_18), (CITY_18, CITY_11), (CTE_11, CTE_11), (CTE_18, CTE_18)] {
            assert_eq!(of(base, other), same);
        }
        assert_eq!(same.name(), "nothing");
    }

    #[test]
    fn rows_of_equal_shapes_are_those_of_the_node_that_differs_most() {
        // Hash Join: 400 and 5,400 rows; Hash and Seq Scan on customer: 40 and 540 of 2,000.
        let actual = Some(RowDifference { node: 1, rows: [400.0, 5_400.0] });
        let estimated = Some(RowDifference { node: 1, rows: [400.0, 5_400.0] });
        assert_eq!(of(CITY_11, CITY_ANALYZED), PlanDifference::Rows { estimated, actual });
        // Without ANALYZE, the planner knew only that the table had become larger.
        let estimated = Some(RowDifference { node: 3, rows: [40.0, 51.0] });
        assert_eq!(of(CITY_18, CITY_UPDATED), PlanDifference::Rows { estimated, actual });
        let only_estimates = of(CITY_UPDATED, CITY_ANALYZED);
        assert!(matches!(only_estimates, PlanDifference::Rows { estimated: Some(_), actual: None }));
        assert_eq!(only_estimates.name(), "row_estimates");
    }

    #[test]
    fn rows_that_an_old_version_rounds_do_not_differ() {
        let of_183_loops = |rows: f64| {
            format!(
                r#"[{{"Plan": {{"Node Type": "Index Scan", "Actual Rows": {rows}, "Actual Loops": 400,
                "Actual Total Time": 1.0}}}}]"#
            )
        };
        assert_eq!(of(&of_183_loops(0.4575), &of_183_loops(0.0)).name(), "nothing");
        assert_eq!(of(&of_183_loops(0.4575), &of_183_loops(2.0)).name(), "actual_rows");
    }

    #[test]
    fn each_aspect_of_a_node_is_part_of_the_shape() {
        let with = |part: &str| format!(r#"[{{"Plan": {{"Node Type": "Index Scan"{part}}}}}]"#);
        for (one, other, aspect) in [
            (r#", "Index Name": "a""#, r#", "Index Name": "b""#, "index"),
            (r#", "Relation Name": "a""#, r#", "Relation Name": "b""#, "relation"),
            (r#", "Join Type": "Inner""#, r#", "Join Type": "Left""#, "join type"),
            (r#", "Strategy": "Sorted""#, r#", "Strategy": "Hashed""#, "strategy"),
            (r#", "Parallel Aware": true"#, r#", "Parallel Aware": false"#, "parallel execution"),
        ] {
            let expected = PlanDifference::Shape { nodes: [Some(0); 2], aspect: Some(aspect) };
            assert_eq!(of(&with(one), &with(other)), expected);
            assert!(matches!(of(&with(one), &with(one)), PlanDifference::Rows { .. }));
        }
        // Old versions leave out what new ones say.
        assert_eq!(
            of(&with(""), &with(r#", "Parallel Aware": false, "Partial Mode": "Simple""#)).name(),
            "nothing"
        );
    }

    #[test]
    fn a_child_of_one_plan_is_found_wherever_it_is() {
        let leaf = r#"{"Node Type": "Seq Scan"}"#;
        let nested = |inner: &str| {
            format!(
                r#"[{{"Plan": {{"Node Type": "Hash Join", "Plans": [{{"Node Type": "Sort", "Plans": [{inner}]}},
                {leaf}]}}}}]"#
            )
        };
        let (one, two) = (nested(leaf), nested(&format!("{leaf}, {leaf}")));
        let of_two = |nodes| PlanDifference::Shape { nodes, aspect: None };
        assert_eq!(of(&one, &two), of_two([None, Some(3)]));
        assert_eq!(of(&two, &one), of_two([Some(3), None]));
        let last = r#"[{"Plan": {"Node Type": "Hash Join"}}]"#;
        assert_eq!(of(last, &one), of_two([None, Some(1)]));
        assert_eq!(of(&one, last), of_two([Some(1), None]));
    }
}
