//! The tables of the proof: false alarms by metric, effects of the order, and how often a known difference was found.
//! Made from the lines of the results file alone.

use std::fmt::Write as _;

use serde_json::Value;

use super::Case;
use crate::proofs::of_case;

/// Metrics: those with a promised rate of false alarms first.
const METRICS: [(&str, &str); 7] = [
    ("tps", "tps"),
    ("p50", "p50"),
    ("p99", "p99"),
    ("server_cpu", "server CPU"),
    ("wal", "WAL"),
    ("client_cpu", "client CPU"),
    ("full_page_images", "full pages"),
];
/// How many of them have a promised rate.
const PROMISED: usize = 5;

/// One comparison as a line of text.
pub(super) fn summary_line(line: &Value) -> String {
    let figures = METRICS.iter().filter_map(|(metric, name)| {
        let finding = finding(line, metric)?;
        let mark = match finding["different"].as_bool() {
            Some(true) => " better",
            Some(false) => " worse",
            None => "",
        };
        Some(format!("{name} {:+.1} %{mark}", (finding["ratio"].as_f64()? - 1.0) * 100.0))
    });
    let figures: Vec<String> = figures.collect();
    let seconds = line["seconds"].as_f64().unwrap_or(f64::NAN);
    format!("{}; {} pairs, {seconds:.0} s with loading", figures.join(", "), line["pairs"])
}

fn finding<'a>(line: &'a Value, metric: &str) -> Option<&'a Value> {
    line["findings"].as_array()?.iter().find(|finding| finding["metric"] == metric)
}

pub(super) fn tables(cases: &[Case], lines: &[Value]) -> String {
    let mut out = String::new();
    for case in cases {
        let lines: Vec<&Value> = of_case(lines, case.name).collect();
        if lines.is_empty() {
            continue;
        }
        let pairs: Vec<f64> = lines.iter().filter_map(|line| line["pairs"].as_f64()).collect();
        let _ = writeln!(
            out,
            "\n{}: {}; {} comparisons, {:.0} pairs on average\n",
            case.name,
            case.what,
            lines.len(),
            mean(&pairs)
        );
        out += &if case.more_work > 0.0 { found(case, &lines) } else { false_alarms(&lines) };
        out.push('\n');
        out += &order(&lines);
    }
    out
}

/// How often each metric was called different though it is not.
fn false_alarms(lines: &[&Value]) -> String {
    let mut out =
        "| metric | comparisons | false alarms | share | 95 % (Clopper and Pearson) | detectable (median) |\n"
            .to_owned();
    out += "|---|---|---|---|---|---|\n";
    let mut all = (0, 0);
    for (at, (metric, name)) in METRICS.iter().enumerate() {
        let findings: Vec<&Value> = lines.iter().filter_map(|line| finding(line, metric)).collect();
        let alarms = findings.iter().filter(|finding| finding["different"].is_boolean()).count();
        let mut smallest: Vec<f64> =
            findings.iter().filter_map(|finding| finding["smallest_difference"].as_f64()).collect();
        smallest.sort_unstable_by(f64::total_cmp);
        let smallest = smallest.get(smallest.len() / 2).map_or("—".to_owned(), |it| percent(*it));
        out += &row(name, findings.len(), alarms, &smallest);
        if at < PROMISED {
            all = (all.0 + findings.len(), all.1 + alarms);
        }
    }
    out + &row("the first five", all.0, all.1, "")
}

fn row(name: &str, comparisons: usize, alarms: usize, smallest: &str) -> String {
    let (low, high) = clopper_pearson(alarms, comparisons);
    let share = percent(alarms as f64 / comparisons.max(1) as f64);
    format!(
        "| {name} | {comparisons} | {alarms} | {share} | {} … {} | {smallest} |\n",
        percent(low),
        percent(high)
    )
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// What was found where B does more work.
fn found(case: &Case, lines: &[&Value]) -> String {
    let mut out =
        "| metric | B ÷ A, geometric mean | standard error | found worse | found better | inconclusive | true |\n\
         |---|---|---|---|---|---|---|\n"
            .to_owned();
    for (metric, name) in METRICS {
        let findings: Vec<&Value> = lines.iter().filter_map(|line| finding(line, metric)).collect();
        let count = |found: Option<bool>| {
            findings.iter().filter(|finding| finding["different"].as_bool() == found).count()
        };
        let lns: Vec<f64> =
            findings.iter().filter_map(|finding| Some(finding["ratio"].as_f64()?.ln())).collect();
        let work = 1.0 + case.more_work;
        let truth = match metric {
            "tps" => format!("{:.3}", 1.0 / work),
            "server_cpu" | "client_cpu" | "wal" | "full_page_images" => format!("about {work:.3}"),
            _ => "—".to_owned(),
        };
        let _ = writeln!(
            out,
            "| {name} | {:.4} | {:.4} | {} | {} | {} | {truth} |",
            mean(&lns).exp(),
            standard_error(&lns),
            count(Some(false)),
            count(Some(true)),
            count(None),
        );
    }
    out
}

/// What the order of the blocks does, over all comparisons: means of logarithms, with the standard error from their
/// scatter.
fn order(lines: &[&Value]) -> String {
    let mut out = "| metric | second ÷ first block | standard error | in standard errors | after B ÷ after A | standard error | in standard errors |\n".to_owned();
    out += "|---|---|---|---|---|---|---|\n";
    for (metric, name) in METRICS {
        let lns = |effect: &str| -> Vec<f64> {
            let ratios = lines.iter().filter_map(|line| finding(line, metric)?[effect]["ratio"].as_f64());
            ratios.map(f64::ln).collect()
        };
        let cells = |lns: Vec<f64>| {
            if lns.len() < 2 {
                return "— | — | —".to_owned();
            }
            let (mean, error) = (mean(&lns), standard_error(&lns));
            format!("{:+.2} % | {:.2} % | {:+.1}", mean.exp_m1() * 100.0, error * 100.0, mean / error)
        };
        let _ = writeln!(out, "| {name} | {} | {} |", cells(lns("order_effect")), cells(lns("carry_over")));
    }
    out
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

fn standard_error(numbers: &[f64]) -> f64 {
    let (count, mean) = (numbers.len() as f64, mean(numbers));
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    (squares / (count - 1.0) / count).sqrt()
}

/// The 95 % interval of a share (Clopper and Pearson, The use of confidence or fiducial limits illustrated in the case of
/// the binomial, Biometrika 26, 1934): the shares under which so many or more, and so many or fewer, are not too
/// improbable.
fn clopper_pearson(hits: usize, all: usize) -> (f64, f64) {
    const TAIL: f64 = 0.025;
    let bisect = |is_below: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            *(if is_below(middle) { &mut low } else { &mut high }) = middle;
        }
        low
    };
    let low = if hits == 0 { 0.0 } else { bisect(&|share| 1.0 - at_most(hits - 1, all, share) < TAIL) };
    let high = if hits >= all { 1.0 } else { bisect(&|share| at_most(hits, all, share) > TAIL) };
    (low, high)
}

/// The probability of so many hits or fewer.
fn at_most(hits: usize, all: usize, share: f64) -> f64 {
    let mut ln_choose = 0.0;
    let mut sum = 0.0;
    for count in 0..=hits {
        if count > 0 {
            ln_choose += ((all - count + 1) as f64 / count as f64).ln();
        }
        sum += (ln_choose + count as f64 * share.ln() + (all - count) as f64 * (-share).ln_1p()).exp();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_shares_are_as_in_the_printed_tables() {
        for (hits, all, low, high) in
            [(0, 60, 0.0, 0.0596), (3, 60, 0.0104, 0.1392), (7, 60, 0.0482, 0.2257), (10, 10, 0.6915, 1.0)]
        {
            let interval = clopper_pearson(hits, all);
            assert!((interval.0 - low).abs() < 2e-4 && (interval.1 - high).abs() < 2e-4, "{interval:?}");
        }
    }
}
