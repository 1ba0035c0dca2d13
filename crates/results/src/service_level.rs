//! Whether a run kept its rate and its latency limit, decided once from its plan and its counts.
//! `Record::new` stores the answer; `report::wording` has the sentence. docs/reports.md explains the rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Counts;

use crate::verdict::MISSED_MAX;
use crate::{Plan, Status};

/// Whether a run kept the rate and the latency limit that it was asked for.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceLevel {
    /// Whether at most 1 % of the scheduled transactions missed it, and the run did not fail.
    pub kept: bool,
    /// Share of the scheduled transactions that were skipped, failed, unfinished, unknown or later than the
    /// limit.
    pub missed_share: f64,
}

impl ServiceLevel {
    /// `None` without a rate and a limit, or if no transaction was scheduled.
    ///
    /// The share is one of the transactions that were scheduled, not of rate × time: arrivals are a Poisson process,
    /// whose number varies from run to run although the server kept up with all of them.
    pub(crate) fn new(plan: &Plan, status: &Status, counts: &Counts) -> Option<ServiceLevel> {
        let is_asked = plan.rate_tps.is_some() || plan.latency_limit_us.is_some();
        if !is_asked || counts.scheduled == 0 {
            return None;
        }
        // An interruption cuts off one transaction of each client, which says nothing about the server.
        let cut_off = if *status == Status::Interrupted { u64::from(plan.clients) } else { 0 };
        let late = if plan.latency_limit_us.is_some() { counts.late } else { 0 };
        let Counts { skipped, failed, unfinished, unknown, .. } = *counts;
        let missed = [skipped, failed, unfinished.saturating_sub(cut_off), unknown, late];
        // Far below 2⁵³, where f64 begins to round integers.
        let missed_share = missed.map(|count| count as f64).iter().sum::<f64>() / counts.scheduled as f64;
        let kept = missed_share <= MISSED_MAX && !matches!(status, Status::Failed { .. });
        Some(ServiceLevel { kept, missed_share })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENTS: u32 = 8;

    fn plan(rate_tps: Option<f64>, latency_limit_us: Option<f64>) -> Plan {
        let connection =
            crate::Connection { host: "h".into(), port: 5432, user: "u".into(), database: "d".into() };
        Plan {
            workload: None,
            notice: None,
            per_minute: None,
            standard: None,
            scripts: Vec::new(),
            clients: CLIENTS,
            workers: 1,
            machines: 1,
            protocol: crate::Protocol::Simple,
            result_format: crate::ResultFormat::Text,
            parse_results: false,
            limit: crate::Limit::TransactionsPerClient(1),
            warmup_s: 0.0,
            until: None,
            rate_tps,
            curve: None,
            arrivals: stats::rate::GapLaw::Poisson,
            stages: Vec::new(),
            think: None,
            population: stats::Population::default(),
            goals: Vec::new(),
            stop_on_miss: false,
            latency_limit_us,
            max_tries: Some(1),
            reconnect: false,
            on_disconnect: stats::OnDisconnect::Abort,
            reconnect_policy: None,
            response_timeout_s: None,
            continue_on_error: false,
            seed: 1,
            connection,
            targets: Vec::new(),
            actions: Vec::new(),
            watch: None,
            variables: [].into(),
            relative: [].into(),
            command_line: None,
        }
    }

    fn kept(status: &Status, counts: Counts) -> bool {
        let rate_and_limit = plan(Some(1_000.0), Some(20_000.0));
        ServiceLevel::new(&rate_and_limit, status, &counts).expect("was asked for").kept
    }

    fn of_thousand(counts: Counts) -> Counts {
        let Counts { failed, skipped, unfinished, .. } = counts;
        Counts { scheduled: 1_000, succeeded: 1_000 - failed - skipped - unfinished, ..counts }
    }

    #[test]
    fn one_in_a_hundred_may_be_skipped_late_unfinished_or_failed() {
        let none = Counts::default();
        for (ten, eleven) in [
            (Counts { skipped: 10, ..none }, Counts { skipped: 11, ..none }),
            (Counts { late: 10, ..none }, Counts { late: 11, ..none }),
            (Counts { unfinished: 10, ..none }, Counts { unfinished: 11, ..none }),
            (Counts { failed: 10, ..none }, Counts { failed: 11, ..none }),
            (Counts { skipped: 5, late: 5, ..none }, Counts { skipped: 5, late: 6, ..none }),
        ] {
            assert!(kept(&Status::Complete, of_thousand(ten)), "{ten:?}");
            assert!(!kept(&Status::Complete, of_thousand(eleven)), "{eleven:?}");
        }
    }

    #[test]
    fn fewer_arrivals_than_the_rate_promises_are_chance_and_no_miss() {
        let counts = Counts { scheduled: 900, succeeded: 900, ..Counts::default() };
        assert!(kept(&Status::Complete, counts));
    }

    #[test]
    fn what_an_interruption_cut_off_is_not_counted_but_a_failed_run_never_kept_anything() {
        let cut_off = |unfinished| of_thousand(Counts { unfinished, ..Counts::default() });
        assert!(kept(&Status::Interrupted, cut_off(18)));
        assert!(!kept(&Status::Interrupted, cut_off(19)));
        assert!(!kept(&Status::Complete, cut_off(18)));
        assert!(!kept(&Status::Failed { reason: "killed".into() }, cut_off(0)));
    }

    #[test]
    fn without_a_rate_and_a_limit_or_without_transactions_there_is_no_answer() {
        let counts = of_thousand(Counts::default());
        assert_eq!(ServiceLevel::new(&plan(None, None), &Status::Complete, &counts), None);
        let nothing = Counts::default();
        assert_eq!(ServiceLevel::new(&plan(Some(1.0), None), &Status::Complete, &nothing), None);
        let level = ServiceLevel::new(&plan(None, Some(1.0)), &Status::Complete, &counts);
        assert_eq!(level, Some(ServiceLevel { kept: true, missed_share: 0.0 }));
    }
}
