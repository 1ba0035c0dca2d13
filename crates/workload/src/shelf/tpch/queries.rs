//! The 22 queries: the templates of the crate `tpchgen` with their parameters, PostgreSQL's syntax and the row limits
//! of the specification. Two of them also in a version that is fast without indexes.

use tpchgen::q_and_a::queries;

use super::Tpch;
use super::parameters::{self, QUERIES};
use crate::WorkloadError;
use loading::contract::query_set::{Query, QueryChoice};

/// Versions of the texts.
pub(super) const TEXTS: [&str; 2] = [GIVEN, REWRITTEN];
const GIVEN: &str = "given";
/// Queries 17 and 20 without correlated subqueries, which take hours without indexes; the others as given.
const REWRITTEN: &str = "rewritten";

/// Queries with the number of rows that they return at most (clause 2.1.2.9 of the specification).
const LIMITS: [(usize, u32); 5] = [(2, 100), (3, 10), (10, 20), (18, 100), (21, 100)];

/// One pass through `lineitem`: the average of a part is calculated beside its line items.
const Q17_REWRITTEN: &str = "\
select
	sum(l_extendedprice) / 7.0 as avg_yearly
from
	(
		select
			l_extendedprice,
			l_quantity,
			0.2 * avg(l_quantity) over (partition by l_partkey) as small_quantity
		from
			lineitem,
			part
		where
			p_partkey = l_partkey
			and p_brand = ':1'
			and p_container = ':2'
	) as items
where
	l_quantity < small_quantity";

/// The shipped quantities are calculated once for all parts and suppliers.
const Q20_REWRITTEN: &str = "\
select
	s_name,
	s_address
from
	supplier,
	nation
where
	s_suppkey in (
		select
			ps_suppkey
		from
			partsupp,
			(
				select
					l_partkey,
					l_suppkey,
					0.5 * sum(l_quantity) as half_quantity
				from
					lineitem
				where
					l_shipdate >= date ':2'
					and l_shipdate < date ':2' + interval '1' year
					and l_partkey in (
						select
							p_partkey
						from
							part
						where
							p_name like ':1%'
					)
				group by
					l_partkey,
					l_suppkey
			) as shipped
		where
			ps_partkey = l_partkey
			and ps_suppkey = l_suppkey
			and ps_availqty > half_quantity
	)
	and s_nationkey = n_nationkey
	and n_name = ':3'
order by
	s_name";

/// All queries in their order.
///
/// # Errors
/// There is no such version of the texts.
pub(super) fn all(choice: &QueryChoice) -> Result<Vec<Query>, WorkloadError> {
    let is_rewritten = match choice.text.as_deref() {
        None | Some(GIVEN) => false,
        Some(REWRITTEN) => true,
        Some(other) => {
            return Err(WorkloadError::UnknownQueryText {
                workload: Tpch::NAME.to_owned(),
                name: other.to_owned(),
                known: TEXTS.join(", "),
            });
        }
    };
    Ok((1..=QUERIES).map(|number| query(number, is_rewritten, choice)).collect())
}

/// The name of a query in options and reports.
pub(super) fn name(number: usize) -> String {
    format!("q{number}")
}

fn query(number: usize, is_rewritten: bool, choice: &QueryChoice) -> Query {
    let values = match choice.seed {
        None => parameters::validation(number, choice.scale),
        Some(seed) => parameters::drawn(number, seed, choice.stream, choice.scale),
    };
    let template = match number {
        17 if is_rewritten => Q17_REWRITTEN,
        20 if is_rewritten => Q20_REWRITTEN,
        _ => i32::try_from(number).ok().and_then(queries::query).unwrap_or_default(),
    };
    let filled = fill(template, &values, choice.stream);
    let mut statements = filled.split(';').map(str::trim).filter(|sql| !sql.is_empty()).map(str::to_owned);
    let first = statements.next().unwrap_or_default();
    match (statements.next(), statements.next()) {
        // Query 15 creates a view, uses it and drops it.
        (Some(sql), Some(drop)) => {
            Query { name: name(number), before: vec![first], sql, after: vec![drop], has_ties: false }
        }
        _ => Query::new(name(number), limited(first, number)),
    }
}

fn limited(sql: String, number: usize) -> String {
    match LIMITS.iter().find(|(limited, _)| *limited == number) {
        Some((_, rows)) => format!("{sql}\nlimit {rows}"),
        None => sql,
    }
}

/// Replaces `:1`, `:2` and so on by the parameters, `:s` by the number of the stream. The view of query 15 becomes
/// a temporary one, so that no interrupted run leaves it behind.
fn fill(template: &str, values: &[String], stream: u32) -> String {
    let template = template.trim().replace("day (3)", "day").replace("create view", "create temporary view");
    let mut parts = template.split(':');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let value = part[..digits].parse().ok().and_then(|position: usize| values.get(position - 1));
        match value {
            Some(value) => {
                filled.push_str(value);
                filled.push_str(&part[digits..]);
            }
            None => {
                filled.push_str(&stream.to_string());
                filled.push_str(part.strip_prefix('s').unwrap_or(part));
            }
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Scale;
    use std::collections::BTreeMap;

    fn choice(text: &str, seed: Option<u64>, stream: u32) -> QueryChoice {
        let (text, parameters) = (Some(text.to_owned()), BTreeMap::new());
        QueryChoice { scale: Scale::ONE, text, seed, data_seed: None, stream, parameters }
    }

    fn all(choice: &QueryChoice) -> Vec<Query> {
        super::all(choice).expect("a known text")
    }

    #[test]
    fn every_parameter_is_filled_in() {
        for text in TEXTS {
            for seed in [None, Some(1)] {
                let all = all(&choice(text, seed, 3));
                assert_eq!(all.len(), QUERIES);
                for query in &all {
                    let statements =
                        [&query.before[..], std::slice::from_ref(&query.sql), &query.after].concat();
                    for sql in statements {
                        assert!(!sql.contains([':', ';']), "{}: {sql}", query.name);
                        assert!(!sql.is_empty(), "{}", query.name);
                    }
                }
            }
        }
    }

    #[test]
    fn the_templates_have_as_many_parameters_as_are_known() {
        for number in 1..=QUERIES {
            let count = |template: &str| {
                (1..=20).take_while(|position| template.contains(&format!(":{position}"))).count()
            };
            let template = queries::query(i32::try_from(number).expect("small")).expect("a template");
            for values in
                [parameters::validation(number, Scale::ONE), parameters::drawn(number, 1, 0, Scale::ONE)]
            {
                assert_eq!(values.len(), count(template), "query {number}");
            }
        }
    }

    #[test]
    fn the_view_of_query_15_has_the_number_of_its_stream() {
        let q15 = &all(&choice("given", None, 7))[14];
        assert!(q15.before[0].starts_with("create temporary view revenue7 (supplier_no"), "{q15:?}");
        assert!(
            q15.sql.contains("from\n\tsupplier,\n\trevenue7\n") && q15.sql.ends_with("s_suppkey"),
            "{q15:?}"
        );
        assert_eq!(q15.after, ["drop view revenue7"]);
    }

    #[test]
    fn five_queries_have_limits() {
        let all = all(&choice("given", None, 0));
        let limits: Vec<&str> =
            all.iter().filter_map(|query| query.sql.split_once("\nlimit ")).map(|it| it.1).collect();
        assert_eq!(limits, ["100", "10", "20", "100", "100"]);
        assert!(all[1].sql.ends_with("p_partkey\nlimit 100"));
    }

    #[test]
    fn parameters_with_two_digits_do_not_end_in_a_shorter_one() {
        let q16 = &all(&choice("given", None, 0))[15];
        assert!(q16.sql.contains("p_size in (49, 14, 23, 45, 19, 3, 36, 9)"), "{q16:?}");
    }

    #[test]
    fn an_unknown_text_is_refused_with_the_known_ones() {
        let error = super::all(&choice("givn", None, 0)).expect_err("unknown").to_string();
        assert_eq!(error, "the workload tpch has no query text \"givn\"; it has given, rewritten");
    }

    #[test]
    fn two_queries_are_rewritten() {
        let [given, rewritten] = TEXTS.map(|text| all(&choice(text, Some(5), 0)));
        let different: Vec<&str> = given
            .iter()
            .zip(&rewritten)
            .filter(|(given, rewritten)| given != rewritten)
            .map(|(given, _)| given.name.as_str())
            .collect();
        assert_eq!(different, ["q17", "q20"]);
    }
}
