//! What continuous integration judges: a suite of cases for each run, with a case for its end and one for each goal; a
//! suite for an experiment, a comparison, or a check. `values` writes them as JUnit's XML.

use ::isolation::{ANOMALIES, AnomalyRow, IsolationReport};
use results::{
    AnswerCheck, Check, ComparedFigure, ComparisonDecision, ComparisonRecord, ComparisonStatus, Grade,
    MetricFinding, QueryRegression, Record, Regressions, SearchAnswer, SearchGoal, SearchRecord, SelfTest,
    Status, StepResult, StepsRecord,
};
use stats::RegressionVerdict;
use stats::goals::{GoalResult, GoalVerdict};
use tls_scan::{Level, Scan};

use crate::comparison;
use crate::experiment::{Overview, Standing, Trial};
use crate::figures::percent;
use crate::prose::escaped_line;
use crate::queries::verdict_name;
use crate::search;
use crate::self_test;
use crate::subject::{Subject, document};
use crate::values::{Case, CaseOutcome, Suite, junit};
use crate::wording::Measurement;
use crate::{QueryRun, Run, TextStyle, isolation, tls, wording};

const STYLE: TextStyle = TextStyle { colour: false, width: 100 };

/// The suites of a subject. A calibration has no cases.
pub(crate) fn suites(subject: Subject<'_>) -> Vec<Suite> {
    let suite = match subject {
        Subject::Runs(runs) => {
            return runs.iter().map(|(name, record)| of_run(&Run { name, record })).collect();
        }
        Subject::Queries(runs) => {
            let suites = runs.iter().map(|(name, record)| of_queries(name, record));
            return suites.chain(of_regressions(runs)).collect();
        }
        Subject::Calibrations(_) => return Vec::new(),
        Subject::Experiment(overview) => of_experiment(overview),
        Subject::Comparison(record) => of_comparison(record),
        Subject::Search(record) => of_search(record),
        Subject::SelfTest(test) => of_self_test(test),
        Subject::Tls(scan) => of_tls(scan),
        Subject::Isolation(report) => of_isolation(report),
    };
    vec![Suite { summary: crate::text(&document(subject), &STYLE), ..suite }]
}

/// A command that measured nothing, because of this failure: a suite with one error. Continuous integration would
/// otherwise read the file of an earlier run.
pub fn junit_of_failure(command: &str, failure: &str) -> String {
    let outcome = CaseOutcome::Error("not started", escaped_line(failure));
    junit(&[Suite {
        name: command.to_owned(),
        class: command.to_owned(),
        cases: vec![Case::new("the run is complete", outcome)],
        ..Suite::default()
    }])
}

fn of_run(run: &Run<'_>) -> Suite {
    let record = run.record;
    let scripts = run.scripts();
    Suite {
        name: format!("{}: {scripts}", escaped_line(run.name)),
        class: scripts,
        cases: std::iter::once(end(record)).chain(goals(&record.summary.goals, Measurement::Run)).collect(),
        seconds: record.summary.duration_s,
        started_at: record.started_at.to_string(),
        hostname: record.environment.host.hostname.clone(),
        summary: crate::text(&crate::summary(record, false), &STYLE),
    }
}

/// A case for the end, and one for each query: an error fails it, and so does an answer that is not the expected one.
fn of_queries(name: &str, record: &StepsRecord) -> Suite {
    let case = |step: &StepResult| {
        let error = step.times.iter().find_map(|time| time.error.as_ref());
        let outcome = match (error, &step.answer) {
            (Some(error), _) => CaseOutcome::Error("failed", escaped_line(error.as_str())),
            (None, Some(AnswerCheck::Different { expected_rows, .. })) => {
                let rows = step.times.iter().find_map(|time| time.rows);
                let rows = rows.map_or("an unknown number of".to_owned(), |rows| rows.to_string());
                CaseOutcome::Failure(format!(
                    "the answer differs from the expected one: {rows} rows, expected {expected_rows}"
                ))
            }
            (None, _) if step.limited() > 0 => CaseOutcome::Error(
                "limit",
                format!("{} of {} executions reached the limit", step.limited(), step.times.len()),
            ),
            (None, _) => CaseOutcome::Passed,
        };
        let executed_us: f64 = step.times.iter().map(|time| time.measured_us as f64).sum();
        Case { name: escaped_line(&step.name), outcome, seconds: Some(executed_us / 1e6) }
    };
    let end = Case::new("the run is complete", of_status(&record.status));
    let run = QueryRun { name, record };
    let ended_us = record.streams.iter().map(|it| it.started_us.saturating_add(it.duration_us)).max();
    let class = record.query_set.as_ref().map_or(String::new(), |plan| escaped_line(&plan.workload));
    Suite {
        name: format!("{}: {class}", escaped_line(name)),
        class,
        cases: std::iter::once(end).chain(record.steps.iter().map(case)).collect(),
        seconds: ended_us.unwrap_or(0) as f64 / 1e6,
        started_at: record.started_at.to_string(),
        hostname: record.environment.host.hostname.clone(),
        summary: crate::text(&crate::queries_document(&[run]), &STYLE),
    }
}

/// A case for each query of two sets that were executed in turns: a slower one fails.
fn of_regressions(runs: &[(String, StepsRecord)]) -> Option<Suite> {
    let [(_, a), (_, b)] = runs else { return None };
    let regressions = Regressions::of(a, b)?;
    let case = |query: &QueryRegression| {
        let sentence = crate::queries::regression_sentence(&regressions, query);
        let outcome = match query.result.verdict {
            RegressionVerdict::NotSlower => CaseOutcome::Passed,
            RegressionVerdict::Slower => CaseOutcome::Failure(sentence),
            verdict @ RegressionVerdict::Undecided => CaseOutcome::Error(verdict_name(verdict), sentence),
        };
        Case::new(escaped_line(&query.query), outcome)
    };
    let cases = regressions.queries.iter().map(case).collect();
    let class = a.query_set.as_ref().map_or(String::new(), |plan| escaped_line(&plan.workload));
    Some(Suite { name: format!("B beside A: {class}"), cases, ..of_queries("", b) })
}

/// A case for each trial, with its goals.
fn of_experiment(overview: &Overview) -> Suite {
    let case = |trial: &Trial| {
        let outcome = match &trial.standing {
            Standing::Complete => {
                let unmet = wording::goals(trial.goals(), Measurement::Run);
                unmet.map_or(CaseOutcome::Passed, |(verdict, text)| of_verdict(verdict, || text.clone()))
            }
            Standing::Failed(reason) => CaseOutcome::Error("failed", reason.clone()),
            Standing::Running | Standing::Planned => {
                CaseOutcome::Error("missing", format!("the trial is {}", trial.standing.name()))
            }
        };
        let name = format!("{}, repeat {}", overview.description_of(trial.cell), trial.repeat);
        Case::new(name, outcome)
    };
    Suite {
        name: escaped_line(&overview.name),
        class: escaped_line(&overview.name),
        cases: overview.trials.iter().map(case).collect(),
        started_at: overview.started_at.clone(),
        ..Suite::default()
    }
}

/// A case for each metric, then a case for each goal of B.
fn of_comparison(record: &ComparisonRecord) -> Suite {
    let [a, b] = &record.sides;
    let between = format!("A is {}, B is {}", escaped_line(&a.label), escaped_line(&b.label));
    let tolerance = percent(record.method.tolerance, 1.0);
    let decisive = record.finding(record.method.decisive).map(|finding| comparison::change(record, finding));
    let figure = decisive.map_or(String::new(), |change| format!("{change}, tolerance {tolerance}; "));
    let outcome = match record.decision {
        _ if record.status == ComparisonStatus::EndedEarly => {
            CaseOutcome::Error("ended early", format!("ended early: {figure}{between}"))
        }
        ComparisonDecision::Better | ComparisonDecision::Equivalent | ComparisonDecision::NoWorse => {
            CaseOutcome::Passed
        }
        ComparisonDecision::WorseThanTolerance => CaseOutcome::Failure(format!("{figure}{between}")),
        ComparisonDecision::Undecided => {
            CaseOutcome::Error("undecided", format!("undecided: {figure}{between}"))
        }
    };
    let decisive = ComparedFigure::from(record.method.decisive);
    let name = |figure: ComparedFigure| comparison::names::of_figure(record, figure);
    let others = record.findings.iter().filter(|finding| finding.figure() != decisive);
    let judged = |finding: &MetricFinding| {
        let outcome = match finding.decision {
            ComparisonDecision::WorseThanTolerance => {
                let decisive = name(decisive);
                let change = comparison::change(record, finding);
                CaseOutcome::Failure(format!(
                    "{change}, tolerance {tolerance}; {decisive} determines the exit status; {between}"
                ))
            }
            ComparisonDecision::Better
            | ComparisonDecision::Equivalent
            | ComparisonDecision::NoWorse
            | ComparisonDecision::Undecided => CaseOutcome::Passed,
        };
        Case::new(name(finding.figure()), outcome)
    };
    let unjudged = record.unjudged.iter().filter(|unjudged| unjudged.figure() != decisive);
    let unjudged = unjudged.map(|unjudged| Case::new(name(unjudged.figure()), CaseOutcome::Passed));
    Suite {
        name: escaped_line(&record.name),
        class: escaped_line(&record.factor),
        cases: std::iter::once(Case::new(name(decisive), outcome))
            .chain(others.map(judged))
            .chain(unjudged)
            .chain(goals(&b.goals, Measurement::Comparison))
            .collect(),
        seconds: record.elapsed_s,
        started_at: record.started_at.to_string(),
        hostname: record.hostname.clone(),
        ..Suite::default()
    }
}

/// A case for the end, and one for each goal: that a rate keeps it.
fn of_search(record: &SearchRecord) -> Suite {
    let outcome = || match record.search.answer {
        SearchAnswer::Sustains | SearchAnswer::Corrected | SearchAnswer::KeptAtHighest => CaseOutcome::Passed,
        SearchAnswer::BrokenAtLowest => CaseOutcome::Failure(search::search_sentence(record)),
        SearchAnswer::Unconfirmed
        | SearchAnswer::Between
        | SearchAnswer::GeneratorLimited
        | SearchAnswer::Nothing => CaseOutcome::Error("undecided", search::search_sentence(record)),
    };
    let case = |goal: &SearchGoal| Case::new(escaped_line(&goal.goal.to_string()), outcome());
    let of_sides = record.comparison.as_ref().map(|comparison| {
        let sentence = search::search_sentence(record);
        let outcome = match comparison.decision {
            ComparisonDecision::Better | ComparisonDecision::Equivalent | ComparisonDecision::NoWorse => {
                CaseOutcome::Passed
            }
            ComparisonDecision::WorseThanTolerance => CaseOutcome::Failure(sentence),
            ComparisonDecision::Undecided => CaseOutcome::Error("undecided", sentence),
        };
        Case::new("highest rate of B beside A", outcome)
    });
    let is_alone = of_sides.is_none();
    let goals = record.search.goals.iter().filter(|_| is_alone).map(case);
    let end = Case::new("the search is complete", of_status(&record.status));
    let expected = record.search.expected.map(|expected| {
        let outcome = of_verdict(expected.verdict, || search::search_sentence(record));
        Case::new(format!("search.rate_tps > {}", expected.rate_tps), outcome)
    });
    let name = escaped_line(&record.name());
    Suite {
        name: format!("search: {name}"),
        class: name,
        cases: std::iter::once(end).chain(goals).chain(of_sides).chain(expected).collect(),
        seconds: record.search.elapsed_s,
        started_at: record.started_at.to_string(),
        hostname: record.environment.host.hostname.clone(),
        ..Suite::default()
    }
}

/// A case for each part of the machine.
fn of_self_test(test: &SelfTest) -> Suite {
    let case = |(check, grade): (Check, Grade)| {
        let outcome = match grade {
            Grade::Good | Grade::Unknown | Grade::Caution => CaseOutcome::Passed,
            Grade::Bad => CaseOutcome::Failure(self_test::finding(check, test)),
        };
        Case::new(self_test::name(check), outcome)
    };
    Suite {
        name: "self-test".to_owned(),
        class: "self-test".to_owned(),
        cases: test.checks().into_iter().map(case).collect(),
        started_at: test.calibration.measured_at.to_string(),
        hostname: test.calibration.host.hostname.clone(),
        ..Suite::default()
    }
}

/// A case for each weakness, of which those against a MUST fail; one that passes if there is none.
fn of_tls(scan: &Scan) -> Suite {
    let weaknesses = scan.weaknesses.iter().map(|weakness| {
        let outcome = match weakness.level {
            Level::Must => CaseOutcome::Failure(tls::sentence(weakness)),
            Level::Should | Level::Advice => CaseOutcome::Passed,
        };
        Case::new(tls::weakness_name(weakness.kind), outcome)
    });
    let none = match tls::unanswered(scan) {
        0 => CaseOutcome::Passed,
        open => CaseOutcome::Error("incomplete", format!("the server did not answer {open} questions")),
    };
    let none = Case::new("no weakness", none);
    let mut cases: Vec<Case> = weaknesses.collect();
    if cases.is_empty() {
        cases.push(none);
    }
    Suite {
        name: "tls".to_owned(),
        class: "tls".to_owned(),
        cases,
        started_at: scan.measured_at.to_string(),
        ..Suite::default()
    }
}

/// A case for each kind of anomaly that the level forbids, and one for the end.
fn of_isolation(report: &IsolationReport) -> Suite {
    let findings = &report.findings;
    let forbidden = ANOMALIES.iter().filter(|row| row.anomaly.is_forbidden_at(findings.level));
    let case = |row: &AnomalyRow| {
        let found = findings.anomalies.iter();
        let mut found = found.filter(|finding| finding.anomaly == row.anomaly && finding.is_forbidden);
        let outcome = found.next().map_or(CaseOutcome::Passed, |finding| {
            CaseOutcome::Failure(format!("{}; cases: {}", row.meaning, finding.cases))
        });
        Case::new(format!("no {}", isolation::anomaly_name(row)), outcome)
    };
    let outcome = isolation::incomplete(report)
        .map_or(CaseOutcome::Passed, |why| CaseOutcome::Error("incomplete", why));
    let end = Case::new("the check is complete", outcome);
    Suite {
        name: format!("isolation: {}", findings.level.sql()),
        class: "isolation".to_owned(),
        cases: std::iter::once(end).chain(forbidden.map(case)).collect(),
        ..Suite::default()
    }
}

/// The case of the run itself: it came to its end, or a goal ended it.
fn end(record: &Record) -> Case {
    let outcome = match &record.status {
        Status::Complete if record.everything_failed() => {
            let failed = record.summary.counts.failed;
            CaseOutcome::Error("incomplete", wording::everything_failed(failed))
        }
        status => of_status(status),
    };
    Case::new("the run is complete", outcome)
}

fn of_status(status: &Status) -> CaseOutcome {
    match status {
        Status::Complete => CaseOutcome::Passed,
        Status::Interrupted => CaseOutcome::Error("incomplete", "the run was interrupted".to_owned()),
        Status::Failed { reason } => CaseOutcome::Error("incomplete", escaped_line(reason.as_str())),
    }
}

fn goals(results: &[GoalResult], measurement: Measurement) -> impl Iterator<Item = Case> + '_ {
    results.iter().map(move |result| {
        let text = || wording::goal(result, measurement);
        let outcome = of_verdict(result.verdict, text);
        Case::new(wording::named_goal(result), outcome)
    })
}

fn of_verdict(verdict: GoalVerdict, text: impl Fn() -> String) -> CaseOutcome {
    match verdict {
        GoalVerdict::Met => CaseOutcome::Passed,
        GoalVerdict::Missed => CaseOutcome::Failure(text()),
        GoalVerdict::Undecided => CaseOutcome::Error("undecided", text()),
    }
}
