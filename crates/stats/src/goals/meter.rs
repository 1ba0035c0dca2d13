//! Collects the seconds of a run for its goals, evaluates them at the end, and notices during the run that a goal
//! cannot be met any more.

use std::borrow::Cow;
use std::time::Duration;

use crate::{CONFIDENCE, INTERVALS_MIN, Interval, ScriptStats};

use super::estimate::{Blocks, GoalEstimate};
use super::goal::{Goal, GoalFigure, GoalSide, LatencyStatistic};
use super::result::{GoalMethod, GoalResult, GoalStop, GoalVerdict, StopBasis, recorded};
use super::series::{GoalBlock, uncompleted};

/// Maximum number of goals of a run; each takes some kilobytes for each second.
pub const GOALS_MAX: usize = 32;
/// Shortest block; a remainder at the end that is shorter than half of it belongs to the block before.
const BLOCK_S: f64 = 1.0;
/// A shorter piece at the end of a run changes no figure.
const SHORTEST_PIECE: Duration = Duration::from_micros(1);
/// Rounding of the times of intervals.
const BLOCK_TOLERANCE: f64 = 0.999;
/// Maximum number of blocks: an hour of seconds. Above it, neighbours are merged.
const BLOCKS_MAX: usize = 3600;
/// First check of the sequential test: with fewer blocks it knows no variance worth the name.
const BLOCKS_OF_FIRST_LOOK: usize = 3;
/// Probability that the sequential test ends a run whose goal is met.
const STOP_ERROR: f64 = 0.01;
/// A run that would have to be longer by this factor is no advice.
const GROWTH_MAX: f64 = 1000.0;
/// Standard deviations of a Poisson count above which a run has no more arrivals: 3 in 10 million runs.
const ARRIVALS_DEVIATIONS: f64 = 5.0;

/// The goals of a run and what was measured for them.
#[derive(Clone, Debug)]
pub struct GoalMeter {
    goals: Vec<MeasuredGoal>,
    /// Length of each block in seconds.
    blocks_s: Vec<f64>,
    /// Length at which a block is complete.
    block_s: f64,
    /// Everything so far, by script and together.
    scripts: Vec<ScriptStats>,
    total: ScriptStats,
    /// Whether the run ends once a goal cannot be met any more.
    stops: bool,
    /// Maximum number of transactions of the run; `None` if unknown.
    transactions_max: Option<f64>,
    /// Rate at which transactions are scheduled; `None` in a closed loop.
    rate_tps: Option<f64>,
    /// Number of checks of the sequential test so far, and the number of blocks of the next one.
    looks: u32,
    next_look: usize,
    stop: Option<GoalStop>,
}

/// A goal and its blocks.
#[derive(Clone, Debug)]
struct MeasuredGoal {
    goal: Goal,
    /// Index of its script; `None`: all.
    script: Option<usize>,
    blocks: Vec<GoalBlock>,
}

impl GoalMeter {
    /// For these goals, each with the index of its script, if it is about a single one.
    pub fn new(goals: impl IntoIterator<Item = (Goal, Option<usize>)>) -> GoalMeter {
        let measured = |(goal, script)| MeasuredGoal { goal, script, blocks: Vec::new() };
        GoalMeter {
            goals: goals.into_iter().map(measured).collect(),
            blocks_s: Vec::new(),
            block_s: BLOCK_S,
            scripts: Vec::new(),
            total: ScriptStats::new(),
            stops: false,
            transactions_max: None,
            rate_tps: None,
            looks: 0,
            next_look: BLOCKS_OF_FIRST_LOOK,
            stop: None,
        }
    }

    /// Ends the run early once a goal cannot be met any more.
    pub fn stopping(self) -> GoalMeter {
        GoalMeter { stops: true, ..self }
    }

    /// The run has this number of transactions.
    pub fn of_transactions(self, transactions: u64) -> GoalMeter {
        GoalMeter { transactions_max: Some(transactions as f64), ..self }
    }

    /// Transactions arrive at random at this mean rate for so many seconds.
    pub fn of_arrivals(self, rate_tps: f64, seconds: f64) -> GoalMeter {
        let mean = rate_tps * seconds;
        GoalMeter { transactions_max: Some(mean + ARRIVALS_DEVIATIONS * mean.sqrt()), ..self }
    }

    /// Transactions are scheduled at this rate, and no more can succeed.
    pub fn of_rate(self, rate_tps: Option<f64>) -> GoalMeter {
        GoalMeter { rate_tps, ..self }
    }

    /// Whether there are no goals.
    pub fn is_empty(&self) -> bool {
        self.goals.is_empty()
    }

    /// Adds the next measured interval; true if the run should end.
    pub fn take(&mut self, interval: &Interval) -> bool {
        if self.is_empty() {
            return false;
        }
        let more = interval.scripts.len().saturating_sub(self.scripts.len());
        self.scripts.extend(std::iter::repeat_with(ScriptStats::new).take(more));
        for (script, of_interval) in self.scripts.iter_mut().zip(&interval.scripts) {
            script.merge(of_interval);
            self.total.merge(of_interval);
        }
        let seconds = interval.end.since(interval.start).as_secs_f64();
        let is_new = self.blocks_s.last().is_none_or(|last| *last >= BLOCK_TOLERANCE * self.block_s);
        if is_new {
            self.blocks_s.push(seconds);
        } else if let Some(last) = self.blocks_s.last_mut() {
            *last += seconds;
        }
        for measured in &mut self.goals {
            let block = measured.block(interval, seconds);
            match measured.blocks.last_mut() {
                Some(last) if !is_new => last.add(&block),
                _ => measured.blocks.push(block),
            }
        }
        if self.blocks_s.len() > BLOCKS_MAX {
            self.merge_neighbours();
        }
        self.look();
        self.stop.is_some()
    }

    /// The run is over and has this length. A run with a low rate ends when no further transaction is due, and the time
    /// until its planned end counts, too. The last transactions may have finished after it, which does not count.
    pub fn close(&mut self, duration: Duration) {
        let duration_s = duration.as_secs_f64();
        self.stops = false;
        while self.seconds() < duration_s && !self.is_empty() {
            let missing = Duration::from_secs_f64((duration_s - self.seconds()).min(BLOCK_S));
            if missing < SHORTEST_PIECE {
                break;
            }
            let mut nothing = Interval::new(self.scripts.len());
            nothing.end = nothing.start + missing;
            self.take(&nothing);
        }
        let mut excess_s = (self.seconds() - duration_s).max(0.0);
        // The tail belongs to the last block of the measured time.
        let shortest_s = SHORTEST_PIECE.as_secs_f64();
        while self.blocks_s.len() > 1
            && self.blocks_s.last().is_some_and(|last_s| *last_s <= excess_s + shortest_s)
        {
            excess_s = (excess_s - self.blocks_s.pop().unwrap_or_default()).max(0.0);
            self.goals.iter_mut().for_each(MeasuredGoal::merge_tail);
        }
        let Some(last_s) = self.blocks_s.last_mut() else { return };
        let excess_s = excess_s.min((*last_s - SHORTEST_PIECE.as_secs_f64()).max(0.0));
        *last_s -= excess_s;
        for measured in self.goals.iter_mut().filter(|measured| measured.goal.figure == GoalFigure::Tps) {
            if let Some(last) = measured.blocks.last_mut() {
                last.of -= excess_s;
            }
        }
    }

    /// Why the run was ended early, if it was.
    pub fn stop(&self) -> Option<GoalStop> {
        self.stop
    }

    /// The goals with their figures and verdicts, in the given order.
    pub fn evaluate(&self) -> Vec<GoalResult> {
        let result = |(at, measured): (usize, &MeasuredGoal)| self.result(at, measured);
        self.goals.iter().enumerate().map(result).collect()
    }

    /// The statistics that a goal is about.
    fn stats(&self, measured: &MeasuredGoal) -> &ScriptStats {
        measured.script.and_then(|script| self.scripts.get(script)).unwrap_or(&self.total)
    }

    /// Makes each block from two.
    fn merge_neighbours(&mut self) {
        self.block_s *= 2.0;
        self.next_look /= 2;
        self.blocks_s = self.blocks_s.chunks(2).map(|pair| pair.iter().sum()).collect();
        for measured in &mut self.goals {
            let merged = measured.blocks.chunks(2).map(|pair| {
                let mut first = pair[0].clone();
                pair[1..].iter().for_each(|second| first.add(second));
                first
            });
            measured.blocks = merged.collect();
        }
    }

    /// The measured time.
    pub fn seconds(&self) -> f64 {
        self.blocks_s.iter().sum()
    }

    /// Checks after each block whether a goal cannot be met any more.
    fn look(&mut self) {
        let is_complete = self.blocks_s.last().is_some_and(|last| *last >= BLOCK_TOLERANCE * self.block_s);
        if !self.stops || self.stop.is_some() || !is_complete {
            return;
        }
        let has_variance = self.blocks_s.len() >= self.next_look;
        if has_variance {
            self.looks += 1;
            self.next_look = next_look(self.blocks_s.len());
        }
        let looks = f64::from(self.looks);
        let after_s = self.seconds();
        let basis = |measured: &MeasuredGoal| {
            if self.is_lost(measured) {
                return Some(StopBasis::Exact);
            }
            // The errors 1/(1·2) + 1/(2·3) + … of all looks add up to 1.
            let error = 2.0 * STOP_ERROR / (looks * (looks + 1.0));
            if !has_variance {
                return None;
            }
            // One bad second must not end a run, so its transactions are never taken as independent.
            let blocks = Blocks { blocks: &self.blocks(measured), seconds: after_s, is_short: false };
            let estimate = blocks.estimate(&measured.goal, self.stats(measured), error)?;
            let Goal { side, limit, .. } = measured.goal;
            (estimate.verdict(side, limit) == GoalVerdict::Missed).then_some(StopBasis::Sequential)
        };
        let found = self.goals.iter().zip(0..).find_map(|(measured, goal)| Some((goal, basis(measured)?)));
        self.stop = found.map(|(goal, basis)| GoalStop { goal, basis, after_s });
    }

    /// Whether the goal is missed whatever the remaining transactions of the run do.
    fn is_lost(&self, measured: &MeasuredGoal) -> bool {
        let Goal { figure, side, limit, .. } = measured.goal;
        let over: f64 = measured.blocks.iter().map(|block| block.sum).sum();
        let allowed_share = match figure {
            GoalFigure::Latency(_, LatencyStatistic::Max) => return side == GoalSide::Below && over > 0.0,
            GoalFigure::Latency(_, LatencyStatistic::Percentile(percent)) => 1.0 - percent / 100.0,
            GoalFigure::Over(..) | GoalFigure::Failed | GoalFigure::Skipped | GoalFigure::Late => limit,
            GoalFigure::Latency(_, LatencyStatistic::Mean) | GoalFigure::Tps => return false,
        };
        side == GoalSide::Below && self.transactions_max.is_some_and(|most| over > allowed_share * most)
    }

    /// The blocks of a goal, with a short remainder at the end added to the one before.
    fn blocks<'a>(&self, measured: &'a MeasuredGoal) -> Cow<'a, [GoalBlock]> {
        let has_remainder = self.blocks_s.last().is_some_and(|last| *last < self.block_s / 2.0);
        match measured.blocks.split_last() {
            Some((remainder, others)) if has_remainder && !others.is_empty() => {
                let mut blocks = others.to_vec();
                blocks.iter_mut().next_back().into_iter().for_each(|last| last.add(remainder));
                Cow::Owned(blocks)
            }
            _ => Cow::Borrowed(&measured.blocks),
        }
    }

    fn result(&self, at: usize, measured: &MeasuredGoal) -> GoalResult {
        let stats = self.stats(measured);
        let error = 1.0 - CONFIDENCE;
        let goal = &measured.goal;
        let blocks = self.blocks(measured);
        let is_short = blocks.len() < INTERVALS_MIN;
        let blocks = Blocks { blocks: &blocks, seconds: self.seconds(), is_short };
        let mut estimate = blocks.estimate(goal, stats, error);
        if let (GoalFigure::Tps, Some(rate_tps), Some(estimate)) = (goal.figure, self.rate_tps, &mut estimate)
        {
            let most = rate_tps.max(estimate.value.unwrap_or(0.0));
            estimate.high = estimate.high.map(|high| high.min(most));
        }
        let is_stopped = self.stop.is_some_and(|stop| usize::try_from(stop.goal) == Ok(at));
        let verdict = match &estimate {
            _ if is_stopped => GoalVerdict::Missed,
            Some(estimate) => estimate.verdict(goal.side, goal.limit),
            None => GoalVerdict::Undecided,
        };
        let needed = |estimate: GoalEstimate| {
            let factor = blocks.growth(goal, &estimate, error, GROWTH_MAX)?;
            Some(self.seconds() * factor)
        };
        let in_record = |value: Option<f64>| value.map(|value| recorded(goal.figure, value));
        GoalResult {
            goal: goal.clone(),
            stage: None,
            verdict,
            value: in_record(estimate.and_then(|estimate| estimate.value)),
            low: in_record(estimate.and_then(|estimate| estimate.low)),
            high: in_record(estimate.and_then(|estimate| estimate.high)),
            method: estimate.map_or(GoalMethod::Independent, |estimate| estimate.method),
            transactions: stats.counts.scheduled,
            uncompleted: uncompleted(stats),
            needed_s: estimate.filter(|_| verdict == GoalVerdict::Undecided).and_then(needed),
        }
    }
}

/// The next check after one with so many blocks: 5 % more, because each check makes the others stricter.
fn next_look(blocks: usize) -> usize {
    blocks + 1 + blocks / 20
}

impl MeasuredGoal {
    /// Adds the last block, which is one of the tail, to the one before.
    fn merge_tail(&mut self) {
        let Some(tail) = self.blocks.pop() else { return };
        if let Some(last) = self.blocks.last_mut() {
            let of = last.of;
            last.add(&tail);
            last.of = if self.goal.figure == GoalFigure::Tps { of } else { last.of };
        }
    }

    fn block(&self, interval: &Interval, seconds: f64) -> GoalBlock {
        let Goal { figure, limit, .. } = self.goal;
        let of = |stats: &ScriptStats| GoalBlock::new(figure, limit, stats, seconds);
        if let Some(script) = self.script.and_then(|script| interval.scripts.get(script)) {
            return of(script);
        }
        let mut blocks = interval.scripts.iter().map(of);
        let mut all = blocks.next().unwrap_or_default();
        for block in blocks {
            // Seconds are those of all scripts, not of each.
            let seconds = all.of;
            all.add(&block);
            all.of = if figure == GoalFigure::Tps { seconds } else { all.of };
        }
        all
    }
}
