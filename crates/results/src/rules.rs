//! Whether a run kept the rules of its workload's standard. Judged once, when the run and its checks are over;
//! `report::wording` has the sentences.

use stats::rules::{Rule, RuleResult, RuleVerdict, StandardRule, is_drawn_with, share_within};

use crate::warnings::volatile_settings;
use crate::{Counts, Record};

/// What the checks after a run found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckFindings {
    /// Names of the checks that returned rows.
    pub failed: Vec<String>,
    /// By query of a drawn share: the rows that were counted, and of how many.
    pub shares: Vec<DrawnRows>,
}

/// The rows that a query of a drawn share counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnRows {
    /// The name of the query.
    pub query: String,
    /// Rows that were drawn.
    pub count: u64,
    /// All rows.
    pub of: u64,
}

/// What a rule found: its verdict, the figure, and of how many transactions or rows.
type Finding = (RuleVerdict, Option<f64>, Option<u64>);

const UNKNOWN: Finding = (RuleVerdict::NotMeasured, None, None);

fn kept(is_kept: bool) -> RuleVerdict {
    if is_kept { RuleVerdict::Kept } else { RuleVerdict::Broken }
}

impl Record {
    /// Judges the run by these rules. `stats` are those of the run; `findings` those of its checks, `None` if they did not
    /// run.
    pub fn judge(
        &mut self,
        rules: &[StandardRule],
        stats: &stats::Summary,
        findings: Option<&CheckFindings>,
    ) {
        let judged = |StandardRule { clause, rule }: &StandardRule| {
            let ((verdict, figure, of), names) = self.finding(rule, stats, findings);
            RuleResult { clause: clause.clone(), rule: rule.clone(), verdict, figure, of, names }
        };
        self.summary.rules = rules.iter().map(judged).collect();
    }

    fn finding(
        &self,
        rule: &Rule,
        stats: &stats::Summary,
        findings: Option<&CheckFindings>,
    ) -> (Finding, Vec<String>) {
        let summary = &self.summary;
        let finding = match rule {
            Rule::ResponseTime { script, share, below_s } => {
                let of_script = self.script(script.as_deref()).and_then(|at| stats.scripts.get(at));
                let stats = if script.is_some() { of_script } else { Some(&stats.total) };
                let within = stats.and_then(|stats| Some((share_within(stats, *below_s)?, stats)));
                within.map_or(UNKNOWN, |(within, stats)| {
                    (kept(within >= *share), Some(within), Some(stats.counts.scheduled))
                })
            }
            Rule::SteadyState => match &summary.steady_state {
                Some(state) => {
                    (state.settled.map_or(RuleVerdict::NotMeasured, kept), state.steady_from_s, None)
                }
                None => UNKNOWN,
            },
            Rule::MeasuredTime { min_s, max_s } => {
                // A run ends with the last transaction that was due, within a second of its planned end.
                let seconds = summary.duration_s;
                let is_kept = seconds >= min_s - END_TOLERANCE_S
                    && max_s.is_none_or(|max_s| seconds <= max_s + END_TOLERANCE_S);
                (kept(is_kept), Some(seconds), None)
            }
            Rule::TpsPerScale { script, max } => {
                let of_script = self.script(script.as_deref()).and_then(|at| summary.scripts.get(at));
                let tps = if script.is_some() { of_script.map(|it| it.tps) } else { Some(summary.tps) };
                let units = self.tables.scale.map(stats::Scale::units).filter(|units| *units > 0.0);
                tps.zip(units)
                    .map_or(UNKNOWN, |(tps, units)| (kept(tps <= max * units), Some(tps / units), None))
            }
            Rule::MixShare { script, min } => {
                let ended = |counts: &Counts| counts.succeeded.saturating_add(counts.failed);
                let of_script = self.script(Some(script)).and_then(|at| summary.scripts.get(at));
                let (count, all) = (of_script.map(|it| ended(&it.counts)), ended(&summary.counts));
                let share = count.filter(|_| all > 0).map(|count| count as f64 / all as f64);
                share.map_or(UNKNOWN, |share| (kept(share >= *min), Some(share), Some(all)))
            }
            Rule::DrawnShare { query, share } => match findings {
                None => (RuleVerdict::NotChecked, None, None),
                Some(findings) => {
                    let rows = findings.shares.iter().find(|rows| rows.query == *query && rows.of > 0);
                    rows.map_or(UNKNOWN, |DrawnRows { count, of, .. }| {
                        let drawn = *count as f64 / *of as f64;
                        (kept(is_drawn_with(*share, *count, *of)), Some(drawn), Some(*of))
                    })
                }
            },
            Rule::Checks { names } => match findings {
                None => (RuleVerdict::NotChecked, None, None),
                Some(CheckFindings { failed, .. }) => {
                    let failed: Vec<String> =
                        failed.iter().filter(|failed| names.contains(failed)).cloned().collect();
                    return ((kept(failed.is_empty()), None, None), failed);
                }
            },
            Rule::Durability => {
                let settings = volatile_settings(self);
                let verdict =
                    if settings.is_empty() { RuleVerdict::NotTestable } else { RuleVerdict::Broken };
                return ((verdict, None, None), settings);
            }
        };
        (finding, Vec::new())
    }

    /// The place of a script in the plan.
    fn script(&self, name: Option<&str>) -> Option<usize> {
        self.plan.scripts.iter().position(|script| Some(script.name.as_str()) == name)
    }
}

/// How far the measured time may be from the planned one.
const END_TOLERANCE_S: f64 = 1.0;
