//! The words for the rules of a workload's standard: what each asks, what the run had, and how many were kept.
//! `results` has the verdicts.

use results::{Rule, RuleResult, RuleVerdict};

use crate::figures::{TIE, as_asked, asked_seconds, count, counted, fixed, measured_seconds, rate};
use crate::prose::{enumerate, escaped_line};

/// Checks that a rule names; of more it names the first one.
const NAMED_MAX: usize = 2;

/// `7 of 9 rules of TPC-B 2.0 were kept, 1 was broken, 1 was not judged.`
pub(crate) fn rules_in_short(standard: &str, results: &[RuleResult]) -> String {
    let number = |is: fn(RuleVerdict) -> bool| results.iter().filter(|it| is(it.verdict)).count();
    let were = |number: usize, what: &str| match number {
        0 => None,
        1 => Some(format!("1 was {what}")),
        number => Some(format!("{number} were {what}")),
    };
    let kept = number(|verdict| verdict == RuleVerdict::Kept);
    let broken = number(|verdict| verdict == RuleVerdict::Broken);
    let open = [were(broken, "broken"), were(results.len() - kept - broken, "not judged")];
    let rest: String = open.into_iter().flatten().map(|part| format!(", {part}")).collect();
    let kept_are = if kept == 1 { "was" } else { "were" };
    let rules = counted(results.len() as u64, "rule", "rules");
    format!("{kept} of {rules} of {} {kept_are} kept{rest}.", escaped_line(standard))
}

/// What a rule asks.
pub(crate) fn rule(rule: &Rule) -> String {
    let of = |script: &Option<String>| {
        script.as_ref().map_or(String::new(), |script| format!(" of {}", escaped_line(script)))
    };
    match rule {
        Rule::ResponseTime { script, share, below_s } => {
            format!(
                "{} of the transactions{} within {}",
                percent(*share),
                of(script),
                asked_seconds(*below_s)
            )
        }
        Rule::SteadyState => "a steady state".to_owned(),
        Rule::MeasuredTime { min_s, max_s } => {
            let most = max_s.map_or(String::new(), |max_s| format!(", at most {}", asked_seconds(max_s)));
            format!("measured for at least {}{most}", asked_seconds(*min_s))
        }
        Rule::TpsPerScale { script, max } => {
            format!("at most {}{TIE}tps{} for each unit of scale", as_asked(*max), of(script))
        }
        Rule::MixShare { script, min } => {
            format!("{}: at least {} of the transactions", escaped_line(script), percent(*min))
        }
        Rule::DrawnShare { query, share } => format!("{}: {}", escaped_line(query), percent(*share)),
        Rule::Checks { names } => match &escaped(names)[..] {
            [only] => format!("check {only}"),
            [first, others @ ..] if others.len() >= NAMED_MAX => {
                format!("checks {first} and {} more", others.len())
            }
            several => format!("checks {}", enumerate(several)),
        },
        Rule::Durability => "committed transactions survive a crash".to_owned(),
    }
}

/// `kept`
pub(crate) fn rule_verdict(verdict: RuleVerdict) -> &'static str {
    match verdict {
        RuleVerdict::Kept => "kept",
        RuleVerdict::Broken => "broken",
        RuleVerdict::NotMeasured | RuleVerdict::NotChecked | RuleVerdict::NotTestable => "not judged",
    }
}

/// What the run had, or why the rule was not judged.
pub(crate) fn rule_finding(result: &RuleResult) -> String {
    let RuleResult { rule, verdict, figure, of, names, .. } = result;
    match verdict {
        RuleVerdict::NotChecked => return "the checks did not run: use --check".to_owned(),
        RuleVerdict::NotTestable => return "a run does not crash the server".to_owned(),
        RuleVerdict::Kept | RuleVerdict::Broken | RuleVerdict::NotMeasured => {}
    }
    let is_kept = *verdict == RuleVerdict::Kept;
    let of = |one, many| of.map_or(String::new(), |of| format!(" of {}", counted(of, one, many)));
    match (rule, figure) {
        (Rule::SteadyState, Some(from_s)) if is_kept && *from_s <= 0.0 => "steady from the start".to_owned(),
        (Rule::SteadyState, Some(from_s)) => {
            format!("steady only after {}: use a longer --warmup", measured_seconds(*from_s))
        }
        (Rule::SteadyState, None) if *verdict == RuleVerdict::Broken => "never steady".to_owned(),
        (Rule::SteadyState, None) => "too short or too variable to decide".to_owned(),
        (Rule::Checks { .. }, _) if is_kept => "passed".to_owned(),
        (Rule::Checks { .. }, _) => format!("failed: {}", enumerate(&escaped(names))),
        (Rule::Durability, _) => enumerate(&escaped(names)),
        (Rule::DrawnShare { .. }, None) => "nothing to count".to_owned(),
        (Rule::TpsPerScale { .. }, None) => "the scale is unknown".to_owned(),
        (_, None) => "no transactions".to_owned(),
        (Rule::MeasuredTime { .. }, Some(seconds)) => measured_seconds(*seconds),
        (Rule::TpsPerScale { .. }, Some(per_unit)) => format!("{}{TIE}tps", rate(*per_unit)),
        (Rule::ResponseTime { .. } | Rule::MixShare { .. }, Some(share)) => {
            format!("{}{}", percent(*share), of("transaction", "transactions"))
        }
        (Rule::DrawnShare { .. }, Some(share)) => format!("{}{}", percent(*share), of("row", "rows")),
    }
}

/// With one decimal, and without one if the share is whole: `85 %`, `99.9 %`.
fn percent(share: f64) -> String {
    const POINTS: f64 = 100.0;
    let points = share * POINTS;
    // A share below 1 is not called 100 %.
    let points = if share < 1.0 { points.min(99.9) } else { points };
    format!("{}{TIE}%", fixed(points, 1).trim_end_matches('0').trim_end_matches('.'))
}

fn escaped(names: &[String]) -> Vec<String> {
    names.iter().map(|name| escaped_line(name)).collect()
}

/// How many of a standard's rules are kept in a run, for a table of runs: `7 of 9`.
pub(crate) fn rules_kept(results: &[RuleResult]) -> String {
    let kept = results.iter().filter(|it| it.verdict == RuleVerdict::Kept).count() as u64;
    format!("{} of {}", count(kept), count(results.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::with_ordinary_spaces;
    use RuleVerdict::{Broken, Kept, NotChecked, NotMeasured, NotTestable};

    fn result(rule: Rule, verdict: RuleVerdict, figure: Option<f64>) -> RuleResult {
        RuleResult { clause: None, rule, verdict, figure, of: None, names: Vec::new() }
    }

    #[track_caller]
    fn check(result: &RuleResult, asks: &str, finding: &str) {
        let shown = [rule(&result.rule), rule_finding(result)].map(|text| with_ordinary_spaces(&text));
        assert_eq!(shown, [asks.to_owned(), finding.to_owned()]);
    }

    #[test]
    fn a_rule_and_its_finding_are_short_texts() {
        let time = Rule::ResponseTime { script: None, share: 0.9, below_s: 2.0 };
        let asks = "90 % of the transactions within 2 s";
        let of_12 = RuleResult { of: Some(12_345), ..result(time.clone(), Kept, Some(0.99996)) };
        check(&of_12, asks, "99.9 % of 12,345 transactions");
        check(&result(time, NotMeasured, None), asks, "no transactions");
        let steady = |verdict, figure| result(Rule::SteadyState, verdict, figure);
        check(&steady(Kept, Some(0.0)), "a steady state", "steady from the start");
        check(
            &steady(Broken, Some(12.0)),
            "a steady state",
            "steady only after 12.0 s: use a longer --warmup",
        );
        check(&steady(Broken, None), "a steady state", "never steady");
        check(&steady(NotMeasured, None), "a steady state", "too short or too variable to decide");
        let measured = Rule::MeasuredTime { min_s: 900.0, max_s: Some(3600.0) };
        check(
            &result(measured, Broken, Some(60.0)),
            "measured for at least 900 s, at most 3,600 s",
            "60.0 s",
        );
        let per_scale = Rule::TpsPerScale { script: Some("new_order".to_owned()), max: 0.25 };
        check(
            &result(per_scale, Broken, Some(85.2)),
            "at most 0.25 tps of new_order for each unit of scale",
            "85.20 tps",
        );
        let drawn = Rule::DrawnShare { query: "accounts_of_the_branch".to_owned(), share: 0.85 };
        let of_rows = RuleResult { of: Some(1), ..result(drawn.clone(), Broken, Some(1.0)) };
        check(&of_rows, "accounts_of_the_branch: 85 %", "100 % of 1 row");
        check(
            &result(drawn, NotChecked, None),
            "accounts_of_the_branch: 85 %",
            "the checks did not run: use --check",
        );
        let checks = Rule::Checks { names: vec!["totals".to_owned(), "a\u{1b}".to_owned()] };
        let failed = RuleResult { names: vec!["a\u{1b}".to_owned()], ..result(checks.clone(), Broken, None) };
        check(&failed, "checks totals and a\\x1b", "failed: a\\x1b");
        check(&result(checks, Kept, None), "checks totals and a\\x1b", "passed");
        let three = Rule::Checks { names: ["a", "b", "c"].map(str::to_owned).to_vec() };
        check(&result(three, Kept, None), "checks a and 2 more", "passed");
        let durability = result(Rule::Durability, NotTestable, None);
        check(&durability, "committed transactions survive a crash", "a run does not crash the server");
    }

    #[test]
    fn the_number_of_kept_rules_adds_up() {
        let results = [Kept, Kept, Broken, NotChecked, NotTestable]
            .map(|verdict| result(Rule::SteadyState, verdict, None));
        let short = |results: &[RuleResult]| with_ordinary_spaces(&rules_in_short("TPC-B 2.0", results));
        assert_eq!(short(&results), "2 of 5 rules of TPC-B 2.0 were kept, 1 was broken, 2 were not judged.");
        assert_eq!(short(&results[..1]), "1 of 1 rule of TPC-B 2.0 was kept.");
        assert_eq!(rules_kept(&results), "2 of 5");
    }
}
