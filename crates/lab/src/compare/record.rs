//! The record of a comparison,
//! built by `compare` after the run and displayed by `report`.

use experiment::{Cell, counted, protocol};
use results::{
    Annotation, COMPARISON_SCHEMA, ComparedMetric, ComparedPair, ComparedSide, ComparisonDecision,
    ComparisonMethod, ComparisonNote, ComparisonRecord, ComparisonStatus, Conditions, DrawnAnew, Host,
    MetricFinding, MetricNoise, PgmeterBuild, UnjudgedMetric, UtcTime, Warning,
};
use stats::comparison::{Block, ComparedFigure};
use stats::goals::{GoalMeter, GoalResult};

use super::comparison_run::ERROR_RATE;
use super::layout::ServerLayout;
use super::relevance::{self, Measured};
use super::state::ComparisonRun;
use super::time_plan::{STARTS_MIN, ServerStarts};
use crate::schema_change::SchemaCost;

/// WAL per second beside scripts that only read, above which a note tells it; records of running transactions and of
/// idle background processes are below.
const WAL_OF_OTHERS_MIN: f64 = 4096.0;

/// Facts from before the first pair.
pub(super) struct Setup<'a> {
    pub(super) started_at: UtcTime,
    pub(super) name: String,
    pub(super) annotation: Annotation,
    pub(super) cells: &'a [Cell; 2],
    pub(super) layout: ServerLayout,
    pub(super) draws: DrawnAnew,
    /// Version strings of the servers.
    pub(super) versions: [String; 2],
    /// Facts about this host, including its CPU time during the comparison.
    pub(super) conditions: Conditions,
}

/// Builds the record.
pub(super) fn record(setup: Setup<'_>, run: ComparisonRun) -> ComparisonRecord {
    let findings: Vec<_> = run.comparison.figures().filter_map(|figure| finding(figure, &run)).collect();
    let of_all_scripts = run.comparison.figures().filter(|figure| figure.script.is_none());
    let noise_floor: Vec<_> =
        of_all_scripts.filter_map(|figure| run.comparison.noise_floor(figure.metric)).collect();
    let notes = notes(&setup, &run, &findings, &noise_floor);
    let deciding = findings.iter().find(|finding| finding.figure() == run.options.decisive.into());
    let decided = deciding.map_or(ComparisonDecision::Undecided, |finding| finding.decision);
    let tps_low = deciding.filter(|it| it.metric == ComparedMetric::Tps).and_then(|finding| finding.low);
    let Setup {
        started_at, name, annotation, cells, layout, draws, versions: [version_a, version_b], ..
    } = setup;
    let level = |cell: &Cell| cell.levels.first().cloned().unwrap_or_default();
    let [goals_a, goals_b] = run.goals.each_ref().map(|meter| goals(meter, run.elapsed_s));
    let side = |cell: &Cell, server_version, goals| ComparedSide {
        label: level(cell).1,
        server_version,
        load: load(cell),
        goals,
    };
    ComparisonRecord {
        schema_version: COMPARISON_SCHEMA,
        pgmeter_version: env!("CARGO_PKG_VERSION").to_owned(),
        annotation,
        started_at,
        hostname: Host::detect().hostname,
        name,
        factor: level(&cells[0]).0,
        sides: [side(&cells[0], version_a, goals_a), side(&cells[1], version_b, goals_b)],
        method: ComparisonMethod {
            draws,
            session_settings: layout.session_settings(),
            block_s: run.lengths.block_s,
            warmup_s: run.lengths.warmup_s,
            blocks: run.options.blocks,
            pairs_planned: run.pairs_planned,
            budget_s: run.options.budget_s,
            tolerance: run.options.tolerance,
            error_rate: ERROR_RATE,
            error_rate_of_others: Some(ERROR_RATE),
            decisive: run.options.decisive,
            scripts: run.mix.names.clone(),
            seed: run.options.seed,
            checkpoints: run.checkpoints,
            setup_s: Some(run.setup_s),
        },
        status: run.status,
        elapsed_s: run.elapsed_s,
        difference_found_after_s: run.found_after_s,
        unjudged: unjudged(&run, &findings),
        decision: EmptyBlocks::of(&run.pairs).leaves(decided, run.options.tolerance, tps_low),
        findings,
        noise_floor,
        notes,
        pairs: run.pairs,
    }
}

/// `select-only, 8 clients, prepared`.
fn load(cell: &Cell) -> String {
    let load = &cell.configuration.load;
    let scripts: Vec<String> = load.scripts.iter().map(|script| script.source.name()).collect();
    let clients = counted(load.clients as usize, "client", "clients");
    format!("{}, {clients}, {}", scripts.join(" + "), protocol(&cell.configuration))
}

/// The goals of a side. What would decide an undecided one is the length of a comparison, which measures both sides.
fn goals(meter: &GoalMeter, elapsed_s: f64) -> Vec<GoalResult> {
    let share = elapsed_s / meter.seconds();
    let of_comparison = |result: GoalResult| GoalResult {
        needed_s: result.needed_s.map(|needed_s| needed_s * share).filter(|needed_s| needed_s.is_finite()),
        ..result
    };
    meter.evaluate().into_iter().map(of_comparison).collect()
}

fn finding(figure: ComparedFigure, run: &ComparisonRun) -> Option<MetricFinding> {
    let found = run.comparison.finding(figure)?;
    let is_whole = run.status == ComparisonStatus::Complete;
    Some(MetricFinding { smallest_difference: found.smallest_difference.filter(|_| is_whole), ..found })
}

/// The figures of the metrics without a finding.
fn unjudged(run: &ComparisonRun, findings: &[MetricFinding]) -> Vec<UnjudgedMetric> {
    let is_unjudged = |figure: &ComparedFigure| findings.iter().all(|finding| finding.figure() != *figure);
    let figures = |figure: ComparedFigure| {
        let [a, b] = match figure.metric.percentile() {
            Some(_) => run.latencies.of_sides(figure),
            None => run.blocks_of_sides.each_ref().map(|blocks| mean_ln(figure.metric, blocks).map(f64::exp)),
        };
        let ComparedFigure { metric, script } = figure;
        let pairs = pairs_with(figure, &run.pairs);
        (a.is_some() || b.is_some()).then_some(UnjudgedMetric { metric, script, a, b, pairs })
    };
    run.comparison.figures().filter(is_unjudged).filter_map(figures).collect()
}

/// Pairs of A and B with a value.
fn pairs_with(figure: ComparedFigure, pairs: &[ComparedPair]) -> usize {
    let compared = pairs.iter().filter(|pair| !pair.is_noise_floor);
    let number = |pair: &ComparedPair| match pair.merged.iter().find(|merged| merged.figure() == figure) {
        Some(merged) => merged.pairs,
        None => usize::from(pair.pair().ln_ratio(figure).is_some()),
    };
    compared.map(number).sum()
}

/// Means of the logarithms of a metric over the blocks of A and of B.
fn mean_lns(metric: ComparedMetric, pairs: &[ComparedPair]) -> [Option<f64>; 2] {
    [false, true].map(|is_candidate| {
        let blocks = pairs.iter().filter(|pair| !pair.is_noise_floor).flat_map(|pair| &pair.blocks);
        let of_side = blocks.filter(|block| block.is_candidate == is_candidate);
        mean_ln(metric, of_side.map(|block| &block.figures))
    })
}

/// The mean of the logarithms of a metric: the logarithm of its geometric mean.
fn mean_ln<'a>(metric: ComparedMetric, blocks: impl IntoIterator<Item = &'a Block>) -> Option<f64> {
    let lns = blocks.into_iter().filter_map(|block| block.figure(metric).map(f64::ln));
    let lns: Vec<f64> = lns.filter(|ln| ln.is_finite()).collect();
    (!lns.is_empty()).then(|| lns.iter().sum::<f64>() / lns.len() as f64)
}

/// Warns if outlying blocks make the plain means disagree with the estimated change.
fn means_differ(finding: &MetricFinding, pairs: &[ComparedPair]) -> Option<ComparisonNote> {
    let [a, b] = mean_lns(finding.metric, pairs);
    let ratio_of_means = (b? - a?).exp();
    let MetricFinding { metric, ratio, low, high, .. } = *finding;
    let is_inside = low.zip(high).is_none_or(|(low, high)| (low..=high).contains(&ratio_of_means));
    // JSON has no infinity.
    (!is_inside && ratio_of_means.is_finite()).then_some(ComparisonNote::MeansDiffer {
        metric,
        ratio_of_means,
        ratio,
    })
}

/// Warnings about the validity of the result.
fn notes(
    setup: &Setup<'_>,
    run: &ComparisonRun,
    findings: &[MetricFinding],
    noise_floor: &[MetricNoise],
) -> Vec<ComparisonNote> {
    let decisive = run.options.decisive;
    let is_biased = noise_floor.iter().any(|noise| noise.metric == decisive && noise.is_biased);
    let ComparisonRun { pairs, checkpoints, .. } = run;
    let ended_early =
        run.ended_early.as_ref().map(|reason| ComparisonNote::EndedEarly { reason: reason.as_str().into() });
    let mut notes = Vec::from_iter(ended_early);
    let not_undone = run.not_undone.as_ref().map(|reason| reason.as_str().into());
    notes.extend(not_undone.map(|reason| ComparisonNote::SchemaNotRestored { reason }));
    notes.extend(is_biased.then_some(ComparisonNote::BiasedNoiseFloor));
    let only_reads = run.only_reads;
    notes.extend(relevance::notes(&Measured {
        cells: setup.cells,
        pairs,
        checkpoints: *checkpoints,
        only_reads,
    }));
    let (bytes, seconds) = run.wal_of_others;
    let bytes_per_s = bytes / seconds;
    notes.extend((bytes_per_s > WAL_OF_OTHERS_MIN).then_some(ComparisonNote::WalOfOthers { bytes_per_s }));
    notes.extend(EmptyBlocks::of(pairs).note(run.options.tolerance));
    let of_all_scripts = findings.iter().filter(|finding| finding.script.is_none());
    notes.extend(of_all_scripts.filter_map(|finding| means_differ(finding, pairs)));
    notes.extend(host_warnings(&setup.conditions).map(ComparisonNote::Run));
    notes.extend(layout_note(setup, run));
    let SchemaCost { switches, waits, .. } = run.schema_changes;
    notes.extend((switches > 0).then(|| ComparisonNote::SchemaChanged {
        switches: switches.into(),
        switch_s: run.schema_changes.mean_s(),
        tries: waits.tries,
        longest_wait_s: waits.longest.as_secs_f64(),
    }));
    notes
}

fn layout_note(setup: &Setup<'_>, run: &ComparisonRun) -> Option<ComparisonNote> {
    let setups = run.pairs.iter().filter(|pair| !pair.is_noise_floor).count() as u64;
    match (setup.draws, &setup.layout) {
        (DrawnAnew::Servers, _) if setups < STARTS_MIN.into() => Some(ComparisonNote::TooFewSetups {
            setups,
            setup_s: run.setup_s,
            setups_needed: STARTS_MIN.into(),
            budget_needed_s: ServerStarts::budget_for_an_answer_s(run.setup_s),
        }),
        (DrawnAnew::Servers, _) => Some(ComparisonNote::ServersSetUp { setups }),
        (DrawnAnew::Connections, ServerLayout::Apart) => Some(ComparisonNote::ServersNotRestarted),
        (DrawnAnew::Connections, ServerLayout::Shared(_)) => None,
    }
}

/// Warnings about effects that increase the variation of all pairs, or the generator's share.
fn host_warnings(conditions: &Conditions) -> impl Iterator<Item = Warning> {
    let cpus = std::thread::available_parallelism().ok().and_then(|number| u32::try_from(number.get()).ok());
    let busy_before = cpus.and_then(|cpus| conditions.busy_before(cpus));
    [PgmeterBuild::of_this().warning(), busy_before, conditions.stolen()].into_iter().flatten()
}

/// Blocks of either side without a transaction. They have no metrics and no logarithm, so omitting them would flatter
/// the side that stalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EmptyBlocks {
    a: usize,
    b: usize,
    /// Blocks of each side, including these.
    of_each: usize,
}

impl EmptyBlocks {
    fn of(pairs: &[ComparedPair]) -> Self {
        let blocks = || pairs.iter().filter(|pair| !pair.is_noise_floor).flat_map(|pair| &pair.blocks);
        let of_each = blocks().filter(|block| block.is_candidate).count();
        let mut empty = Self { a: 0, b: 0, of_each };
        for block in blocks().filter(|block| block.figure(ComparedMetric::Tps).is_none_or(|tps| tps <= 0.0)) {
            *(if block.is_candidate { &mut empty.b } else { &mut empty.a }) += 1;
        }
        empty
    }

    /// Whether omitting them overestimates B relative to A by more than the tolerance.
    fn favor_b(self, tolerance: f64) -> bool {
        self.b > self.a && (self.b - self.a) as f64 > tolerance * self.of_each as f64
    }

    /// Revises a verdict that omitted blocks flatter, so that it does not favour B. `tps_low` is the lower end of B ÷
    /// A if throughput decides: B stays better if it is still above 1 when these blocks count as zero.
    fn leaves(
        self,
        decision: ComparisonDecision,
        tolerance: f64,
        tps_low: Option<f64>,
    ) -> ComparisonDecision {
        let lost = self.b.saturating_sub(self.a) as f64 / self.of_each.max(1) as f64;
        let is_far_better = tps_low.is_some_and(|low| low * (1.0 - lost) > 1.0);
        match decision {
            ComparisonDecision::Better if is_far_better => decision,
            ComparisonDecision::Better | ComparisonDecision::Equivalent | ComparisonDecision::NoWorse
                if self.favor_b(tolerance) =>
            {
                ComparisonDecision::Undecided
            }
            _ => decision,
        }
    }

    fn note(self, tolerance: f64) -> Option<ComparisonNote> {
        let (of_a, of_b) = (self.a as u64, self.b as u64);
        (of_a + of_b > 0).then(|| ComparisonNote::EmptyBlocks {
            of_a,
            of_b,
            favor_b: self.favor_b(tolerance),
        })
    }
}

#[cfg(test)]
mod tests {
    use results::ComparedBlock;
    use stats::comparison::Block;

    use super::*;

    /// Pairs of blocks with and without transactions; noise floor or not, A, then B.
    fn pairs(of: &[(bool, Option<f64>, Option<f64>)]) -> Vec<ComparedPair> {
        let block = |is_candidate, tps| ComparedBlock::new(is_candidate, &Block { tps, ..Block::default() });
        let pair = |(is_noise_floor, a, b): &(bool, Option<f64>, Option<f64>)| ComparedPair {
            is_noise_floor: *is_noise_floor,
            start_s: 0.0,
            blocks: vec![block(false, *a), block(true, *b)],
            merged: Vec::new(),
        };
        of.iter().map(pair).collect()
    }

    #[test]
    fn nothing_good_is_said_of_a_side_that_stalls_more() {
        use ComparisonDecision::{Better, Equivalent, NoWorse, Undecided, WorseThanTolerance};
        for good in [Better, Equivalent, NoWorse] {
            // Of 100 blocks each, at a tolerance of 2 %.
            for (a, b, left) in [(0, 0, good), (0, 2, good), (0, 3, Undecided), (2, 4, good), (9, 0, good)] {
                let empty = EmptyBlocks { a, b, of_each: 100 };
                assert_eq!(empty.leaves(good, 0.02, None), left, "{a} blocks of A, {b} of B");
            }
        }
        let empty = EmptyBlocks { a: 0, b: 9, of_each: 9 };
        assert_eq!(empty.leaves(WorseThanTolerance, 0.02, None), WorseThanTolerance);
        let empty = EmptyBlocks { a: 0, b: 1, of_each: 13 };
        assert_eq!(empty.leaves(Better, 0.02, Some(8.5)), Better, "far better, whatever that block had");
        assert_eq!(empty.leaves(Better, 0.02, Some(1.05)), Undecided);
    }

    #[test]
    fn blocks_without_a_transaction_are_counted_but_for_those_of_the_noise_floor() {
        let one = Some(1.0);
        let pairs = pairs(&[(false, one, one), (false, one, None), (false, None, None), (true, None, None)]);
        let empty = EmptyBlocks::of(&pairs);
        assert_eq!(empty, EmptyBlocks { a: 1, b: 2, of_each: 3 });
        let note = ComparisonNote::EmptyBlocks { of_a: 1, of_b: 2, favor_b: true };
        assert_eq!(empty.note(0.02), Some(note));
        assert_eq!(EmptyBlocks::of(&pairs[..1]).note(0.02), None);
    }
}
