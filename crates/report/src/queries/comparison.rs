//! Several query sets side by side: the names that tell them apart, totals over the queries that all of them have, and the
//! ratio of each query to the first set. One query set is the same without ratios.

use std::collections::{HashMap, HashSet};

use results::{QueryRegression, RegressionSide, Regressions, StepsRecord};
use stats::{CONFIDENCE, RegressionVerdict, SampleMean};

use super::QueryRun;
use super::figures::{Durations, Figure, QueryFigures, SetFigures, geometric_mean, total};
use crate::experiment::{ln_mean, quotient};
use crate::prose::escaped_line;
use crate::run::of_servers;

/// Settings in the name of a query set, if nothing else tells them apart.
const SETTINGS_MAX: usize = 2;

/// Query sets side by side.
#[derive(Clone, Debug)]
pub(crate) struct Compared<'a> {
    /// At least one; the first is the base.
    pub(crate) sets: Vec<ComparedSet<'a>>,
    /// Names of all queries in the order of the first set, those of other sets behind them, refresh functions last.
    pub(crate) names: Vec<String>,
    /// Whether durations are those of the later executions; otherwise a set executed each query once.
    pub(crate) is_warm: bool,
    /// Which queries are slower on B, if these are the sides A and B that were executed in turns.
    pub(crate) regressions: Option<Regressions>,
    /// Queries without a duration in some set, which no total contains.
    pub(crate) left_out: Vec<String>,
}

/// A query set beside others.
#[derive(Clone, Debug)]
pub(crate) struct ComparedSet<'a> {
    pub(crate) name: String,
    /// In what it differs from the others, such as `PostgreSQL 18.1`.
    pub(crate) label: String,
    pub(crate) figures: SetFigures<'a>,
    /// Sum of the queries' durations in µs, and their geometric mean.
    pub(crate) total: Option<Figure>,
    pub(crate) geometric_mean: Option<Figure>,
    /// Of each name, to the first set; empty for the first set itself.
    pub(crate) ratios: Vec<Option<QueryRatio>>,
    /// The geometric mean of the queries' ratios.
    pub(crate) ratio: Option<QueryRatio>,
    /// Whether that leaves out queries at their limit, because some reached it in one set and some in the other.
    pub(crate) is_without_limited: bool,
}

/// Whether a ratio is exact, or a bound because of an execution at its limit.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    Exact,
    AtLeast,
    AtMost,
}

/// The duration of a query ÷ its duration in the base.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct QueryRatio {
    pub(crate) value: f64,
    /// At 95 %; `None` for a bound, and with fewer than three executions in one of the sets.
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) certainty: Certainty,
    /// Whether the query is slower on B by more than the limit, if both sets were executed in turns.
    pub(crate) regression: Option<RegressionVerdict>,
}

/// What a ratio says.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Slower,
    Faster,
    /// Not by more than the limit, where there is one.
    NotSlower,
    /// The interval contains 1; where there is a limit, neither is established.
    Inconclusive,
    /// There is no interval.
    NotJudged,
}

impl Certainty {
    /// Of a ratio; `None` if both durations are bounds, so that nothing is known of their ratio.
    pub(crate) fn of(base_is_bound: bool, other_is_bound: bool) -> Option<Certainty> {
        match (base_is_bound, other_is_bound) {
            (false, false) => Some(Certainty::Exact),
            (false, true) => Some(Certainty::AtLeast),
            (true, false) => Some(Certainty::AtMost),
            (true, true) => None,
        }
    }

    /// In JSON and CSV.
    pub(super) fn bound_name(self) -> Option<&'static str> {
        match self {
            Certainty::Exact => None,
            Certainty::AtLeast => Some("at_least"),
            Certainty::AtMost => Some("at_most"),
        }
    }
}

impl QueryRatio {
    /// The quotient of the means, which are shown. `None` if executions of both reached the limit, or a duration is 0.
    pub(crate) fn of(base: &Durations, other: &Durations) -> Option<QueryRatio> {
        let certainty = Certainty::of(base.limited > 0, other.limited > 0)?;
        let ratio = quotient(&base.us, &other.us, false)?;
        let interval = ratio.interval.filter(|_| base.has_interval() && other.has_interval());
        Some(QueryRatio { value: ratio.value, interval, certainty, regression: None })
    }

    /// Of a query whose sets were executed in turns; `None` without a sequence, or if both sides reached the limit.
    pub(super) fn in_turns(query: &QueryRegression) -> Option<QueryRatio> {
        let [a, b] = query.is_limited;
        let (value, interval) = (query.result.ratio?, query.result.interval);
        let regression = Some(query.result.verdict);
        Some(QueryRatio { value, interval, certainty: Certainty::of(a, b)?, regression })
    }

    pub(crate) fn verdict(&self) -> Verdict {
        match self.regression {
            None => {}
            Some(RegressionVerdict::Slower) => return Verdict::Slower,
            Some(RegressionVerdict::NotSlower) => return Verdict::NotSlower,
            Some(RegressionVerdict::Undecided) => return Verdict::Inconclusive,
        }
        match (self.certainty, self.interval) {
            (Certainty::AtLeast, _) if self.value > 1.0 => Verdict::Slower,
            (Certainty::AtMost, _) if self.value < 1.0 => Verdict::Faster,
            (Certainty::AtLeast | Certainty::AtMost, _) => Verdict::NotJudged,
            (Certainty::Exact, Some((low, _))) if low > 1.0 => Verdict::Slower,
            (Certainty::Exact, Some((_, high))) if high < 1.0 => Verdict::Faster,
            (Certainty::Exact, Some(_)) => Verdict::Inconclusive,
            (Certainty::Exact, None) => Verdict::NotJudged,
        }
    }
}

impl<'a> Compared<'a> {
    pub(crate) fn new(runs: &[QueryRun<'a>]) -> Compared<'a> {
        let labels = labels(runs);
        let set = |(run, label): (&QueryRun<'a>, String)| ComparedSet {
            name: escaped_line(run.name),
            label,
            figures: SetFigures::new(run.record),
            total: None,
            geometric_mean: None,
            ratios: Vec::new(),
            ratio: None,
            is_without_limited: false,
        };
        let sets: Vec<ComparedSet<'a>> = runs.iter().zip(labels).map(set).collect();
        let is_warm = !sets.is_empty() && sets.iter().all(|set| set.figures.is_repeated());
        let regressions = match runs {
            [a, b] => Regressions::of(a.record, b.record),
            _ => None,
        };
        let names = names(&sets);
        let mut compared = Compared { names, sets, is_warm, regressions, left_out: Vec::new() };
        compared.estimate_in_turns();
        compared.add_totals();
        compared.add_ratios();
        compared
    }

    /// The durations that are compared: where a set executed each query only once, the first ones of all.
    pub(crate) fn durations<'q>(&self, query: &'q QueryFigures) -> Option<&'q Durations> {
        if self.is_warm { query.durations() } else { query.first.as_ref() }
    }

    /// The ratios of a set by the names of its queries.
    pub(super) fn ratios_of(&self, set: &ComparedSet<'_>) -> HashMap<&str, QueryRatio> {
        let pairs = self.names.iter().zip(&set.ratios);
        pairs.filter_map(|(name, ratio)| Some((name.as_str(), (*ratio)?))).collect()
    }

    /// The same with these queries alone, in this order; totals and ratios of totals are still those of all queries.
    pub(super) fn only(&self, names: &[&str]) -> Compared<'a> {
        let of_set = |set: &ComparedSet<'a>| {
            let all = self.ratios_of(set);
            let ratios = match set.ratios.is_empty() {
                true => Vec::new(),
                false => names.iter().map(|name| all.get(name).copied()).collect(),
            };
            let (name, label, figures) = (set.name.clone(), set.label.clone(), set.figures.only(names));
            let ComparedSet { total, geometric_mean, ratio, is_without_limited, .. } = *set;
            ComparedSet { name, label, figures, total, geometric_mean, ratios, ratio, is_without_limited }
        };
        Compared {
            sets: self.sets.iter().map(of_set).collect(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            is_warm: self.is_warm,
            regressions: self.regressions.clone(),
            left_out: self.left_out.clone(),
        }
    }

    /// Of two sets that were executed in turns, B ÷ A is estimated from sequences. Durations follow from it: their quotient
    /// is B ÷ A, and their geometric mean that of all executions of both sides. So no place of a report has another ratio.
    fn estimate_in_turns(&mut self) {
        let Some(regressions) = &self.regressions else { return };
        let [a, b] = self.sets.as_mut_slice() else { return };
        for query in &regressions.queries {
            let ratio = QueryRatio::in_turns(query).filter(|ratio| ratio.certainty == Certainty::Exact);
            let sides = a.figures.later_mut(&query.query).zip(b.figures.later_mut(&query.query));
            let Some((ratio, (of_a, of_b))) = ratio.zip(sides) else { continue };
            let Some((ln_a, ln_b)) = ln_mean(&of_a.us).zip(ln_mean(&of_b.us)) else { continue };
            let middle = f64::midpoint(ln_a.mean, ln_b.mean).exp();
            (of_a.us.mean, of_a.us.interval) = (middle / ratio.value.sqrt(), None);
            (of_b.us.mean, of_b.us.interval) = (middle * ratio.value.sqrt(), None);
        }
    }

    fn add_totals(&mut self) {
        let mut left_out = Vec::new();
        let mut figures: Vec<Vec<Figure>> = vec![Vec::new(); self.sets.len()];
        for name in &self.names {
            let queries: Vec<Option<&QueryFigures>> =
                self.sets.iter().map(|set| set.figures.query(name)).collect();
            if queries.iter().flatten().any(|query| query.is_refresh) {
                continue;
            }
            let means: Option<Vec<Figure>> =
                queries.iter().map(|query| Some(self.durations((*query)?)?.mean())).collect();
            match means {
                Some(means) => figures.iter_mut().zip(means).for_each(|(all, mean)| all.push(mean)),
                None => left_out.push(name.clone()),
            }
        }
        for (set, figures) in self.sets.iter_mut().zip(figures) {
            set.total = total(&figures);
            set.geometric_mean = geometric_mean(&figures);
        }
        self.left_out = left_out;
    }

    fn add_ratios(&mut self) {
        if self.regressions.is_some() {
            return self.add_ratios_in_turns();
        }
        let Some((base, others)) = self.sets.split_first() else { return };
        let left_out: HashSet<&str> = self.left_out.iter().map(String::as_str).collect();
        let of_set = |other: &ComparedSet<'_>| {
            let pair = |name: &String| {
                let (base, other) = (base.figures.query(name)?, other.figures.query(name)?);
                Some((self.durations(base)?, self.durations(other)?))
            };
            let pairs: Vec<Option<(&Durations, &Durations)>> = self.names.iter().map(pair).collect();
            let ratios: Vec<Option<QueryRatio>> =
                pairs.iter().map(|pair| pair.and_then(|(base, other)| QueryRatio::of(base, other))).collect();
            // Of the same queries as the geometric means.
            let is_query = |name: &String| {
                let is_query = base.figures.query(name).is_some_and(|query| !query.is_refresh);
                is_query && !left_out.contains(name.as_str())
            };
            let of_queries: Vec<_> = self
                .names
                .iter()
                .zip(pairs)
                .filter(|(name, _)| is_query(name))
                .filter_map(|(_, it)| it)
                .collect();
            let mean = mean_ratio(&of_queries);
            let is_exact = |(base, other): &&(&Durations, &Durations)| base.limited + other.limited == 0;
            let exact: Vec<_> = of_queries.iter().filter(is_exact).copied().collect();
            let of_exact = || mean_ratio(&exact);
            (ratios, mean.or_else(of_exact), mean.is_none())
        };
        let all: Vec<_> = others.iter().map(of_set).collect();
        for (set, (ratios, mean, is_without_limited)) in self.sets.iter_mut().skip(1).zip(all) {
            (set.ratios, set.ratio, set.is_without_limited) = (ratios, mean, is_without_limited);
        }
    }

    /// The ratios of `regressions`. Their geometric mean has the interval of the variation between rounds, each of which has
    /// a sequence of every query.
    fn add_ratios_in_turns(&mut self) {
        let (Some(regressions), [_, b]) = (&self.regressions, self.sets.as_mut_slice()) else { return };
        let find = |name: &String| regressions.queries.iter().find(|query| query.query == *name);
        b.ratios = self.names.iter().map(|name| find(name).and_then(QueryRatio::in_turns)).collect();
        // Of the same queries as the geometric means.
        let counted: Vec<&QueryRegression> =
            self.names.iter().filter(|name| !self.left_out.contains(name)).filter_map(find).collect();
        let is_limited = |side: usize| counted.iter().any(|query| query.is_limited[side]);
        let certainty = Certainty::of(is_limited(0), is_limited(1));
        let is_counted = |ratio: &QueryRatio| certainty.is_some() || ratio.certainty == Certainty::Exact;
        let of_queries: Vec<_> = counted
            .iter()
            .filter_map(|query| Some((*query, QueryRatio::in_turns(query).filter(is_counted)?)))
            .collect();
        b.is_without_limited = certainty.is_none();
        b.ratio = mean_in_turns(&of_queries, certainty.unwrap_or(Certainty::Exact));
    }
}

/// The geometric mean of these ratios, estimated from sequences.
fn mean_in_turns(queries: &[(&QueryRegression, QueryRatio)], certainty: Certainty) -> Option<QueryRatio> {
    let rounds = queries.first()?.0.ln_ratios.len();
    let count = queries.len() as f64;
    let mean = queries.iter().map(|(_, ratio)| ratio.value.ln()).sum::<f64>() / count;
    let is_whole = queries.iter().all(|(query, _)| query.ln_ratios.len() == rounds);
    let of_round = |at: usize| queries.iter().map(|(query, _)| query.ln_ratios[at]).sum::<f64>() / count;
    let rounds: Vec<f64> = (0..rounds).filter(|_| is_whole).map(of_round).collect();
    let variation = SampleMean::of(&rounds).filter(|_| certainty == Certainty::Exact);
    let interval = variation.and_then(|it| SampleMean { mean, ..it }.interval(CONFIDENCE));
    let interval = interval.map(|(low, high)| (low.exp(), high.exp()));
    mean.is_finite().then(|| QueryRatio { value: mean.exp(), interval, certainty, regression: None })
}

/// The geometric mean of the ratios of all pairs: the quotient of their geometric means. Its interval is that of the
/// executions: another set of queries would have another mean.
fn mean_ratio(pairs: &[(&Durations, &Durations)]) -> Option<QueryRatio> {
    let is_bound = |of: fn(&(&Durations, &Durations)) -> usize| pairs.iter().any(|pair| of(pair) > 0);
    let certainty = Certainty::of(is_bound(|(base, _)| base.limited), is_bound(|(_, other)| other.limited))?;
    let logarithm =
        |(base, other): &(&Durations, &Durations)| Some(ln_mean(&other.us)?.minus(&ln_mean(&base.us)?));
    let logarithms: Vec<SampleMean> = pairs.iter().map(logarithm).collect::<Option<_>>()?;
    let mean = mean_of_means(&logarithms)?;
    let has_interval = pairs.iter().all(|(base, other)| base.has_interval() && other.has_interval());
    let interval = mean.interval(CONFIDENCE).filter(|_| has_interval);
    let interval = interval.map(|(low, high)| (low.exp(), high.exp()));
    Some(QueryRatio { value: mean.mean.exp(), interval, certainty, regression: None })
}

/// The mean of independent means, with the degrees of freedom of Welch and Satterthwaite.
fn mean_of_means(means: &[SampleMean]) -> Option<SampleMean> {
    let count = means.len() as f64;
    let mean = means.iter().map(|it| it.mean).sum::<f64>() / count;
    let variances: f64 = means.iter().map(|it| it.variance).sum();
    let squares: f64 = means
        .iter()
        .filter(|it| it.variance > 0.0)
        .map(|it| it.variance.powi(2) / it.degrees_of_freedom)
        .sum();
    let degrees_of_freedom = if squares > 0.0 {
        variances.powi(2) / squares
    } else {
        means.iter().map(|it| it.degrees_of_freedom).sum()
    };
    mean.is_finite().then(|| SampleMean { mean, variance: variances / count.powi(2), degrees_of_freedom })
}

fn names(sets: &[ComparedSet<'_>]) -> Vec<String> {
    let mut names: Vec<(bool, String)> = Vec::new();
    let mut known: HashSet<&str> = HashSet::new();
    for query in sets.iter().flat_map(|set| &set.figures.queries) {
        if known.insert(&query.name) {
            names.push((query.is_refresh, query.name.clone()));
        }
    }
    names.sort_by_key(|(is_refresh, _)| *is_refresh);
    names.into_iter().map(|(_, name)| name).collect()
}

/// `PostgreSQL 18.1`; `None` if the record has no version of the server.
pub(crate) fn version(record: &StepsRecord) -> Option<String> {
    let version = &record.environment.server.as_ref()?.version;
    // Without the packager: `15.18 (Debian 15.18-0+deb12u1)`.
    Some(format!("PostgreSQL {}", escaped_line(version).split(' ').next().unwrap_or_default()))
}

/// What tells query sets apart in their names.
type Aspect = fn(&StepsRecord) -> Option<String>;
const ASPECTS: [Aspect; 7] = [
    |record| match record.query_set.as_ref()?.regression.as_ref()?.side {
        RegressionSide::A => Some("A".to_owned()),
        RegressionSide::B => Some("B".to_owned()),
    },
    version,
    |record| Some(escaped_line(&record.query_set.as_ref()?.workload)),
    |record| Some(format!("scale {}", record.query_set.as_ref()?.scale)),
    |record| Some(format!("indexes {}", escaped_line(record.query_set.as_ref()?.indexes.as_ref()?))),
    |record| Some(format!("text {}", escaped_line(record.query_set.as_ref()?.text.as_ref()?))),
    |record| match record.query_set.as_ref()?.streams {
        1 => Some("1 stream".to_owned()),
        several => Some(format!("{several} streams")),
    },
];

/// The user's labels, if all have one of their own.
fn labels_of_user(runs: &[QueryRun<'_>]) -> Option<Vec<String>> {
    let label = |run: &QueryRun<'_>| Some(escaped_line(run.record.annotation.label.as_ref()?.as_str()));
    let labels: Vec<String> = runs.iter().map(label).collect::<Option<_>>()?;
    let is_unique = |label: &String| labels.iter().filter(|other| *other == label).count() == 1;
    labels.iter().all(is_unique).then_some(labels)
}

/// The user's labels, or in what each differs from the others; its name, if it differs in nothing or is not the only one.
fn labels(runs: &[QueryRun<'_>]) -> Vec<String> {
    if let [only] = runs {
        return vec![version(only.record).unwrap_or_else(|| escaped_line(only.name))];
    }
    if let Some(labels) = labels_of_user(runs) {
        return labels;
    }
    let mut labels: Vec<Vec<String>> = vec![Vec::new(); runs.len()];
    for aspect in ASPECTS {
        let values: Vec<Option<String>> = runs.iter().map(|run| aspect(run.record)).collect();
        if values.windows(2).any(|pair| pair[0] != pair[1]) {
            labels.iter_mut().zip(values).for_each(|(label, value)| label.extend(value));
        }
    }
    if labels.iter().all(Vec::is_empty) {
        let environments: Vec<_> = runs.iter().map(|run| &run.record.environment).collect();
        let differing = of_servers(&environments).into_iter().filter(|setting| setting.differs);
        for setting in differing.take(SETTINGS_MAX) {
            for (label, value) in labels.iter_mut().zip(&setting.values) {
                label.push(format!("{} {}", setting.name, value.as_deref().unwrap_or("default")));
            }
        }
    }
    let labels: Vec<String> = labels.iter().map(|label| label.join(", ")).collect();
    let is_unique = |label: &String| labels.iter().filter(|other| *other == label).count() == 1;
    let named = |(label, run): (&String, &QueryRun<'_>)| match label.as_str() {
        "" => escaped_line(run.name),
        _ if is_unique(label) => label.clone(),
        label => format!("{label} ({})", escaped_line(run.name)),
    };
    labels.iter().zip(runs).map(named).collect()
}
