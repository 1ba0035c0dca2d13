//! Consistency checks of a record from a file: every transaction has one ending, and the parts add up to the whole.
//! Called when a record is read; `stats` asserts the same when it is written. Histograms are checked when they are
//! decoded.

use serde::Serialize;
use serde_json::Value;
use stats::goals::{GoalResult, GoalStop};
use stats::rate::{LoadStage, RateCurve};

use crate::{
    ActionOutcome, ActionResult, CommandSummary, Confidence, Counts, EncodedDistribution, Estimate, Failures,
    Generator, Interval, IntervalScript, Latency, Lateness, LimitedBy, LoadPauses, OtherEndings,
    OutageWindow, Outages, Plan, PoolerFigures, PopulationSummary, ProcessorShares, Rank, RankClock, Record,
    Rule, RuleResult, ScriptSummary, StageSummary, Stall, Stalls, SteadyState, Summary, TimesOfAll,
    TrafficPerTransaction, TransactionError, TransactionErrors, Verification,
};

/// `Err` names the contradictory figures in a phrase.
pub(crate) fn check(record: &Record) -> Result<(), String> {
    let Record { plan, environment, summary, intervals, observation, warnings, .. } = record;
    if let Some(ProcessorShares { busy, own, stolen }) = environment.conditions.processors {
        require(
            [busy, own, stolen].into_iter().all(is_share),
            "the environment: a share that is not between 0 and 1",
        )?;
    }
    check_figures(&(environment, summary, &plan.actions, observation, warnings))?;
    check_actions(&summary.actions, plan)?;
    record.verification.as_ref().map_or(Ok(()), Verification::check)?;
    check_summary(summary, plan.scripts.len())?;
    check_changes(plan, summary)?;
    check_ranks(summary, plan)?;
    let is_precision = |share: f64| 0.0 < share && share < 1.0;
    require(plan.until.is_none_or(is_precision), "a precision that is not between 0 and 1")?;
    let known = summary.until_reached.is_none() || plan.until.is_some();
    require(known, "an end that was reached and not asked for")?;
    for (number, interval) in intervals.iter().enumerate() {
        check_interval(interval, plan.scripts.len()).map_err(|what| format!("interval {number}: {what}"))?;
    }
    if !intervals.is_empty() {
        let all = sum(intervals.iter().map(|interval| &interval.counts));
        require(all == Some(summary.counts), "the intervals have other transactions than the summary")?;
    }
    Ok(())
}

// Long because: one requirement after the other.
fn check_summary(summary: &Summary, script_count: usize) -> Result<(), String> {
    let Summary {
        duration_s,
        tail_s,
        elapsed_s,
        tps,
        counts,
        response_us,
        service_us,
        lag_us,
        late_or_skipped_share,
        other_endings,
        stalls,
        response_with_stalls_us,
        connecting: _,
        client_cpu_us_per_transaction: _,
        traffic_per_transaction,
        generator,
        ranks: _,
        confidence,
        steady_state,
        until_reached: _,
        service_level,
        errors,
        goals,
        goal_stop,
        pauses,
        watch_stop,
        pooler,
        population,
        outages,
        actions: _,
        rules,
        stages,
        scripts,
    } = summary;
    check_counts(counts)?;
    let figures = pooler.as_ref().and_then(|pooler| pooler.figures.as_ref());
    require(
        figures.is_none_or(PoolerFigures::is_consistent),
        "a pooler whose figures contradict each other",
    )?;
    require(*duration_s >= 0.0 && *tail_s >= 0.0 && *tps >= 0.0, "a negative duration or rate")?;
    generator.as_ref().map_or(Ok(()), check_generator).map_err(|what| format!("the generator: {what}"))?;
    check_traffic(*traffic_per_transaction)?;
    let measured = counts.succeeded > 0;
    require(*elapsed_s >= 0.0, "a negative elapsed time")?;
    let on_time = lag_us.is_none_or(|lag| 0.0 <= lag.mean && lag.mean <= lag.max);
    require(on_time, "a lag that is negative, or whose mean is above its maximum")?;
    require(
        *tps <= MOST && *duration_s <= MOST && *tail_s <= MOST && *elapsed_s <= MOST,
        AN_IMPOSSIBLE_FIGURE,
    )?;
    check_latencies([*response_us, *service_us])?;
    require(late_or_skipped_share.is_none_or(is_share), A_SHARE)?;
    require(service_level.is_none_or(|level| is_share(level.missed_share)), A_SHARE)?;
    check_latencies([*response_with_stalls_us, None])?;
    check_other_endings(other_endings, counts)?;
    stalls.as_ref().map_or(Ok(()), check_stalls)?;
    let latencies = response_us.is_some() == measured && service_us.is_some() == measured;
    require(latencies, "latencies without transactions, or transactions without latencies")?;
    errors.as_ref().map_or(Ok(()), |errors| check_errors(errors, counts.failed, script_count))?;
    check_confidence(confidence, *tps, *response_us, *service_us)?;
    steady_state.as_ref().map_or(Ok(()), check_steady_state)?;
    outages.as_ref().map_or(Ok(()), check_outages)?;
    population.as_ref().map_or(Ok(()), PopulationSummary::check)?;
    goals.iter().try_for_each(check_goal)?;
    rules.iter().try_for_each(check_rule)?;
    stages.iter().try_for_each(check_stage)?;
    let is_goal = |stop: &GoalStop| usize::try_from(stop.goal).is_ok_and(|goal| goal < goals.len());
    require(goal_stop.is_none_or(|stop| is_goal(&stop)), "an end for a goal that is not there")?;
    let is_paused = pauses.as_ref().is_none_or(LoadPauses::is_consistent);
    require(is_paused, "pauses whose times or number contradict each other")?;
    require(watch_stop.as_ref().is_none_or(|stop| stop.at_s >= 0.0), "an end before the start")?;
    if scripts.is_empty() {
        return require(counts.scheduled == 0, "transactions of no script");
    }
    require(scripts.len() == script_count, "the summary is of other scripts than the plan")?;
    for script in scripts {
        check_script(script).map_err(|what| format!("script {}: {what}", script.name))?;
    }
    let all = sum(scripts.iter().map(|script| &script.counts));
    require(all == Some(*counts), "the scripts have other transactions than the whole")
}

/// A load that changes is possible, and has no more stages than were planned.
fn check_changes(plan: &Plan, summary: &Summary) -> Result<(), String> {
    let problem = plan.curve.as_ref().and_then(RateCurve::problem);
    let of_stages = (!plan.stages.is_empty()).then(|| LoadStage::problem(&plan.stages)).flatten();
    problem.or(of_stages).map_or(Ok(()), |problem| Err(format!("the load: {problem}")))?;
    require(summary.stages.len() <= plan.stages.len(), "more stages than the plan has")?;
    let is_stage = |goal: &GoalResult| {
        goal.stage.is_none_or(|stage| usize::try_from(stage).is_ok_and(|stage| stage < plan.stages.len()))
    };
    require(summary.goals.iter().all(is_stage), "a goal of a stage that is not there")
}

fn check_stage(stage: &StageSummary) -> Result<(), String> {
    let StageSummary {
        start_s,
        duration_s,
        scheduled_tps,
        tps,
        counts,
        response_us,
        service_us,
        all_us,
        late_or_skipped_share,
        confidence,
    } = stage;
    check_counts(counts)?;
    let figures = [*start_s, *duration_s, *tps, scheduled_tps.unwrap_or(0.0)];
    require(figures.iter().all(|figure| (0.0..=MOST).contains(figure)), AN_IMPOSSIBLE_FIGURE)?;
    check_latencies([*response_us, *service_us])?;
    check_times_of_all(*all_us)?;
    require(late_or_skipped_share.is_none_or(is_share), A_SHARE)?;
    check_confidence(confidence, *tps, *response_us, *service_us)
}

/// A distributed run has an entry for each load generator, and these add up to the whole. A run that failed before its
/// start has none.
fn check_ranks(summary: &Summary, plan: &Plan) -> Result<(), String> {
    let ranks = &summary.ranks;
    require(plan.machines > 0, "a load of no load generator")?;
    if ranks.is_empty() {
        return Ok(());
    }
    for rank in ranks {
        check_rank(rank).map_err(|what| format!("rank {}: {what}", rank.rank))?;
    }
    let is_each = ranks.len() > 1 && ranks.len() as u64 == u64::from(plan.machines);
    let is_in_order = (0..plan.machines).eq(ranks.iter().map(|rank| rank.rank));
    require(is_each && is_in_order, "other ranks than the plan has")?;
    let clients: Vec<u64> = ranks.iter().map(|rank| u64::from(rank.clients)).collect();
    require(sum_of(&clients) == u128::from(plan.clients), "the ranks have other clients than the plan")?;
    let all = sum(ranks.iter().map(|rank| &rank.counts));
    require(all == Some(summary.counts), "the ranks have other transactions than the summary")?;
    let Some(generator) = &summary.generator else { return Ok(()) };
    let is_limited = generator.verdict.limit == LimitedBy::Generator;
    let is_any = ranks.iter().any(Rank::is_client_limited);
    let is_judged = ranks.iter().any(|rank| rank.generator.is_some());
    require(!is_judged || is_limited == is_any, "a verdict that is not the worst one of the ranks")
}

fn check_rank(rank: &Rank) -> Result<(), String> {
    let Rank {
        rank: number,
        host: _,
        clients: _,
        workers,
        tps,
        counts,
        response_us,
        lag_us,
        client_cpu_us_per_transaction,
        clock,
        generator,
    } = rank;
    check_counts(counts)?;
    check_latencies([*response_us, None])?;
    let measured = counts.succeeded > 0;
    let latencies = response_us.is_some() == measured && lag_us.is_some() == measured;
    require(latencies, "latencies without transactions, or transactions without latencies")?;
    let on_time = lag_us.is_none_or(|lag| 0.0 <= lag.mean && lag.mean <= lag.max);
    require(on_time, "a lag that is negative, or whose mean is above its maximum")?;
    require(*tps >= 0.0 && client_cpu_us_per_transaction.is_none_or(|us| us >= 0.0), A_NEGATIVE)?;
    let is_possible = |clock: &RankClock| clock.offset_error_ms >= 0.0 && clock.start_skew_error_us >= 0.0;
    require(clock.as_ref().is_none_or(is_possible), "a clock with a negative error")?;
    require(*number > 0 || clock.is_none(), "a clock compared with itself")?;
    let Some(generator) = generator else { return Ok(()) };
    check_generator(generator)?;
    require(generator.workers.len() as u64 == u64::from(*workers), "other workers than it measured")
}

fn check_errors(errors: &TransactionErrors, failed: u64, script_count: usize) -> Result<(), String> {
    require(errors.failed() == Some(failed), "the errors failed other transactions than the summary has")?;
    let is_known = |error: &TransactionError| usize::try_from(error.script).is_ok_and(|at| at < script_count);
    require(errors.kinds.iter().all(is_known), "an error in a script that the plan does not have")
}

fn check_traffic(traffic: Option<TrafficPerTransaction>) -> Result<(), String> {
    let is_possible = |TrafficPerTransaction { round_trips, sent_bytes, received_bytes }| {
        [round_trips, sent_bytes, received_bytes].into_iter().all(|figure| figure >= 0.0)
    };
    require(traffic.is_none_or(is_possible), "a negative number of bytes or round trips")
}

/// All actions of the plan or none: a record of a run that did not begin has no results.
fn check_actions(actions: &[ActionResult], plan: &Plan) -> Result<(), String> {
    let planned = actions.iter().map(|result| &result.action).eq(&plan.actions);
    require(planned || actions.is_empty(), "actions that the plan does not have")?;
    require(plan.actions.iter().all(|action| action.at_s >= 0.0), "an action at a negative time")?;
    let is_consistent = |result: &ActionResult| match (result.begin_s, result.end_s) {
        (Some(begin_s), Some(end_s)) => begin_s <= end_s && result.outcome != ActionOutcome::NotStarted,
        (None, None) => result.outcome == ActionOutcome::NotStarted,
        _ => false,
    };
    require(actions.iter().all(is_consistent), "an action whose times and ending contradict each other")
}

fn check_outages(outages: &Outages) -> Result<(), String> {
    let losses: Vec<u64> = outages.causes.iter().map(|losses| losses.count).collect();
    require(sum_of(&losses) == u128::from(outages.losses), "lost connections of no cause")?;
    require(outages.outages.len() as u64 <= outages.count, "more outages than there were")?;
    for outage in &outages.outages {
        let parts = [outage.hung, outage.never].into_iter().all(|part| part <= outage.clients);
        require(parts, "an outage with more clients than it has")?;
        check_latencies([outage.without_success_us, None])?;
        let Some(window) = &outage.window else { continue };
        let OutageWindow { arrivals, succeeded, failed, skipped, unfinished, unknown, .. } = *window;
        let endings = sum_of(&[succeeded, failed, skipped, unfinished, unknown]);
        require(endings == u128::from(arrivals), "arrivals of an outage without an ending")?;
        require(window.start_s <= window.end_s, "an outage that ends before it begins")?;
        require(window.response_us.is_some() == (succeeded > 0), "response times of no transaction")?;
        check_latencies([window.response_us, None])?;
    }
    Ok(())
}

fn check_goal(result: &GoalResult) -> Result<(), String> {
    let GoalResult { value, low, high, transactions, uncompleted, needed_s, .. } = result;
    let figures = [value, low, high, needed_s].into_iter().flatten();
    require(figures.into_iter().all(|figure| *figure >= 0.0), "a goal: a negative figure")?;
    let is_ordered = low.zip(*high).is_none_or(|(low, high)| low <= high);
    require(is_ordered && uncompleted <= transactions, "a goal: figures that contradict each other")
}

fn check_rule(result: &RuleResult) -> Result<(), String> {
    let is_positive = |figure: f64| figure > 0.0 && figure <= MOST;
    let is_sound = match result.rule {
        Rule::ResponseTime { share, below_s, .. } => is_share(share) && is_positive(below_s),
        Rule::MeasuredTime { min_s, max_s } => is_positive(min_s) && max_s.is_none_or(is_positive),
        Rule::TpsPerScale { max, .. } => is_positive(max),
        Rule::MixShare { min: share, .. } | Rule::DrawnShare { share, .. } => is_share(share),
        Rule::SteadyState | Rule::Checks { .. } | Rule::Durability => true,
    };
    let is_of_a_whole = result.of.is_none() || result.figure.is_some_and(is_share);
    let is_figure = result.figure.is_none_or(|figure| figure >= 0.0);
    require(is_sound && is_of_a_whole && is_figure, "a rule with a figure that is none")
}

/// Upper bound of any figure of a run: a century has 3 × 10¹⁵ microseconds.
const MOST: f64 = 1e16;
const AN_IMPOSSIBLE_FIGURE: &str = "a figure that no run can have";

/// Lower bound of any figure above zero: a rate or share computed from a smaller one could be infinite.
const LEAST: f64 = 1e-100;

/// Checks the bounds of all measured figures; sums and ratios of larger ones could be infinite.
fn check_figures(measured: &impl Serialize) -> Result<(), String> {
    let is_any_impossible = serde_json::to_value(measured).is_ok_and(|value| is_impossible(&value));
    require(!is_any_impossible, AN_IMPOSSIBLE_FIGURE)
}

/// Whether a measured figure is out of bounds. Integer counts have no bound.
fn is_impossible(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            let figure = number.as_f64().map_or(f64::INFINITY, f64::abs);
            number.is_f64() && (figure > MOST || (figure > 0.0 && figure < LEAST))
        }
        Value::Array(values) => values.iter().any(is_impossible),
        Value::Object(values) => values.values().any(is_impossible),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// Quantiles ascend from the minimum to the maximum, and the mean lies between these, within the precision of three
/// digits.
fn check_latencies(latencies: [Option<Latency>; 2]) -> Result<(), String> {
    const TOLERANCE: f64 = 1.002;
    for Latency { mean, stddev, min, p50, p90, p95, p99, p999, max } in latencies.into_iter().flatten() {
        require(min >= 0.0 && stddev >= 0.0, "a negative latency")?;
        require(max <= MOST && stddev <= MOST, AN_IMPOSSIBLE_FIGURE)?;
        let rising = [min, p50, p90, p95, p99, p999, max];
        require(
            rising.windows(2).all(|pair| pair[0] <= pair[1] * TOLERANCE),
            "latencies whose quantiles do not rise from the minimum to the maximum",
        )?;
        require(
            min <= mean * TOLERANCE && mean <= max * TOLERANCE,
            "a mean latency that is not between the shortest and the longest",
        )?;
    }
    Ok(())
}

/// Transactions that did not succeed have a latency if and only if there are any.
fn check_other_endings(others: &OtherEndings, counts: &Counts) -> Result<(), String> {
    let OtherEndings { failed_us, skipped_us, unfinished_us, unknown_us, all_us } = others;
    check_latencies([*failed_us, *skipped_us])?;
    check_latencies([*unfinished_us, *unknown_us])?;
    let there = [
        (failed_us, counts.failed),
        (skipped_us, counts.skipped),
        (unfinished_us, counts.unfinished),
        (unknown_us, counts.unknown),
    ];
    require(
        there.into_iter().all(|(latency, count)| latency.is_some() == (count > 0))
            && all_us.is_some() == (counts.succeeded < counts.scheduled),
        "latencies of an ending that no transaction had, or the other way round",
    )?;
    check_times_of_all(*all_us)
}

fn check_times_of_all(all_us: Option<TimesOfAll>) -> Result<(), String> {
    let Some(all) = all_us else { return Ok(()) };
    let values = all.values();
    let figures = values.into_iter().chain(all.mean).chain(all.stddev);
    require(
        figures.into_iter().all(|value| (0.0..=MOST).contains(&value))
            && values.windows(2).all(|pair| pair[0] <= pair[1]),
        "percentiles of all transactions that do not rise",
    )
}

/// Stalls are in order, longer than the threshold, and in total not longer than their stored sum.
fn check_stalls(stalls: &Stalls) -> Result<(), String> {
    // Rounding of stored times, in seconds.
    const ROUNDING_S: f64 = 1e-6;
    let Stalls { threshold_us, count, total_s, longest } = stalls;
    let listed_s: f64 = longest.iter().map(Stall::length_s).sum();
    let right = (0.0..=MOST).contains(threshold_us)
        && (0.0..=MOST).contains(total_s)
        && longest.len() as u64 <= *count
        && longest.iter().all(|it| 0.0 <= it.start_s && threshold_us / 1e6 <= it.length_s() + ROUNDING_S)
        && longest.windows(2).all(|pair| pair[0].end_s <= pair[1].start_s + ROUNDING_S)
        && listed_s <= total_s * (1.0 + ROUNDING_S) + ROUNDING_S;
    require(right, "stalls that contradict each other")
}

/// Each interval contains its figure.
fn check_confidence(
    confidence: &Confidence,
    tps: f64,
    response: Option<Latency>,
    service: Option<Latency>,
) -> Result<(), String> {
    let Confidence { tps: tps_estimate, response_mean_us, service_mean_us } = confidence;
    let mean = |latency: Option<Latency>| latency.map(|latency| latency.mean);
    let estimates =
        [(tps_estimate, Some(tps)), (response_mean_us, mean(response)), (service_mean_us, mean(service))];
    let holds = |estimate: Estimate, figure: Option<f64>| {
        let Estimate { low, high, degrees_of_freedom, autocorrelation } = estimate;
        figure.is_some_and(|figure| low <= figure && figure <= high)
            && degrees_of_freedom > 0
            && autocorrelation.abs() <= 1.0
    };
    let right = estimates.into_iter().all(|(estimate, figure)| estimate.is_none_or(|e| holds(e, figure)));
    require(right, "a confidence interval without the figure that it is about")
}

fn check_steady_state(steady_state: &SteadyState) -> Result<(), String> {
    let SteadyState { settled, steady_from_s, evidence: _ } = steady_state;
    let right = match settled {
        Some(true) => *steady_from_s == Some(0.0),
        Some(false) => steady_from_s.is_none_or(|from| from > 0.0),
        None => steady_from_s.is_none(),
    };
    require(right, "a steady state that contradicts itself")
}

/// Shares are from 0 to 1; times and rates are not negative.
fn check_generator(generator: &Generator) -> Result<(), String> {
    let Generator { workers, wakeup_lateness_us, .. } = generator;
    require(!workers.is_empty(), "it had no worker")?;
    let mut of_workers = workers.iter().map(|worker| worker.wakeup_lateness_us);
    require(of_workers.all(is_ordered) && is_ordered(*wakeup_lateness_us), A_LATENESS)?;
    check_amounts("", &serde_json::to_value(generator).unwrap_or_default())
}

/// Checks a figure of this name, or all figures in a list or an object.
fn check_amounts(name: &str, value: &Value) -> Result<(), String> {
    match value {
        // A run may exceed the calibrated maximum.
        Value::Number(number) if name.ends_with("share") && name != "reached_share" => {
            require(number.as_f64().is_some_and(is_share), A_SHARE)
        }
        Value::Number(number) => require(number.as_f64().is_some_and(|amount| amount >= 0.0), A_NEGATIVE),
        Value::Array(values) => values.iter().try_for_each(|value| check_amounts(name, value)),
        Value::Object(values) => values.iter().try_for_each(|(name, value)| check_amounts(name, value)),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

const A_SHARE: &str = "a share that is not between 0 and 1";
const A_NEGATIVE: &str = "a negative time or rate";
const A_LATENESS: &str = "a lateness whose quantiles are not in order";

fn is_share(share: f64) -> bool {
    (0.0..=1.0).contains(&share)
}

fn is_ordered(lateness: Option<Lateness>) -> bool {
    lateness.is_none_or(|Lateness { p50, p99, max }| 0.0 <= p50 && p50 <= p99 && p99 <= max)
}

/// Each failed transaction has at most one failing command, and each retry at most one cause; transactions unfinished
/// at the end may have been counted, too.
fn check_script(script: &ScriptSummary) -> Result<(), String> {
    let ScriptSummary {
        name: _,
        tps,
        counts,
        response_us,
        service_us,
        all_us,
        confidence,
        traffic_per_transaction,
        commands,
    } = script;
    check_traffic(*traffic_per_transaction)?;
    check_counts(counts)?;
    require(0.0 <= *tps && *tps <= MOST, "a rate that is negative, or beyond all rates")?;
    check_latencies([*response_us, *service_us])?;
    check_times_of_all(*all_us)?;
    require(
        all_us.is_none() || counts.succeeded < counts.scheduled,
        "times of an ending that no transaction had",
    )?;
    check_confidence(confidence, *tps, *response_us, *service_us)?;
    commands.iter().try_for_each(check_command)?;
    let all =
        |of: fn(&CommandSummary) -> u64| commands.iter().map(|command| u128::from(of(command))).sum::<u128>();
    let at_most = |of_all: u64| sum_of(&[of_all, counts.unfinished, counts.unknown]);
    require(
        all(|command| command.failures) <= at_most(counts.failed),
        "more commands than transactions failed",
    )?;
    require(
        all(|command| command.retries) <= at_most(counts.retries),
        "more commands than transactions were retried",
    )
}

fn check_command(command: &CommandSummary) -> Result<(), String> {
    let CommandSummary { executions, mean_us, stddev_us, min_us, max_us, latency_us, copied, .. } = command;
    let figures = [mean_us, stddev_us, min_us, max_us];
    require(
        figures.iter().all(|figure| figure.is_some() == (*executions > 0)),
        "a command with executions but no latencies, or the other way round",
    )?;
    require(copied.is_none() || *executions > 0, "a command that copied rows without an execution")?;
    check_latencies([*latency_us, None])?;
    let possible = figures.into_iter().flatten().all(|&figure| (0.0..=MOST).contains(&figure));
    require(possible, "a command's latency that is negative, or longer than anything takes")?;
    require(min_us <= mean_us && mean_us <= max_us, "a command's mean latency beyond its extremes")?;
    let same = latency_us.is_none_or(|latency| {
        (Some(latency.mean), Some(latency.min), Some(latency.max)) == (*mean_us, *min_us, *max_us)
    });
    require(same, "a command's latencies are not those of its executions")
}

fn check_interval(interval: &Interval, script_count: usize) -> Result<(), String> {
    let Interval { start_s, end_s, counts, scripts } = interval;
    require(0.0 <= *start_s && start_s <= end_s, "it ends before it begins")?;
    require(*end_s <= MOST, AN_IMPOSSIBLE_FIGURE)?;
    require(scripts.len() == script_count, "it is of other scripts than the plan")?;
    for script in scripts {
        check_counts(&script.counts)?;
        let same = |distribution: &EncodedDistribution| distribution.count == script.counts.succeeded;
        require(
            same(&script.response) && script.service.as_ref().is_none_or(same),
            "succeeded transactions without a latency",
        )?;
        let IntervalScript { counts, failed, skipped, unfinished, unknown, .. } = script;
        let others = [
            (failed, counts.failed),
            (skipped, counts.skipped),
            (unfinished, counts.unfinished),
            (unknown, counts.unknown),
        ];
        require(
            others.iter().all(|(latencies, count)| latencies.as_ref().is_none_or(|it| it.count == *count)),
            "transactions that did not succeed, without a latency",
        )?;
    }
    let all = sum(scripts.iter().map(|script| &script.counts));
    require(all == Some(*counts), "the scripts have other transactions than the whole")
}

fn check_counts(counts: &Counts) -> Result<(), String> {
    let Counts {
        scheduled,
        succeeded,
        failed,
        skipped,
        unfinished,
        unknown,
        reserved: _,
        late: _,
        retried: _,
        retries: _,
        business,
        head_billionths: _,
        tail: _,
        tail_billionths: _,
        failures: Failures { serialization, deadlock, connection, other },
    } = *counts;
    if business < succeeded || (business > 0) != (succeeded > 0) {
        return Err(format!(
            "{succeeded} transactions succeeded, but stand for {business} business transactions"
        ));
    }
    if sum_of(&[serialization, deadlock, connection, other]) != u128::from(failed) {
        return Err(format!(
            "{failed} transactions failed, but by kind {serialization} serialization, {deadlock} deadlock, \
             {connection} connection, {other} other"
        ));
    }
    if sum_of(&[succeeded, failed, skipped, unfinished, unknown]) != u128::from(scheduled) {
        return Err(format!(
            "{scheduled} transactions were scheduled, but {succeeded} succeeded, {failed} failed, \
             {skipped} were skipped, {unfinished} unfinished, {unknown} unknown"
        ));
    }
    require(counts.is_balanced(), "more transactions were late, reserved or retried than there were")
}

/// A sum that cannot overflow.
fn sum_of(counts: &[u64]) -> u128 {
    counts.iter().map(|&count| u128::from(count)).sum()
}

/// `None` on overflow.
fn sum<'a>(mut counts: impl Iterator<Item = &'a Counts>) -> Option<Counts> {
    counts.try_fold(Counts::default(), |sum, counts| sum.checked_add(counts))
}

fn require(condition: bool, what: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(what.to_owned()) }
}
