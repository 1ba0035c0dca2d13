//! The report of a complete run: parameters, numbers of transactions, latencies, rates. Its lines depend on the plan's
//! options and on [`Presentation`]. The banner is not here, because pgbench prints it before the run.

use results::{Counts, Limit, Plan, Record};

use super::c_numbers::{fixed, milliseconds, plain, thousandths};
use super::counts::{average_and_deviation, ended, endings, percent};
use super::{Columns, Presentation, script_report};

/// The report: several lines, each with its line end.
pub fn final_report(record: &Record, presentation: &Presentation) -> String {
    let Record { plan, summary, .. } = record;
    let columns = Columns::of(plan, presentation.failures_detailed);
    let mut out = asked(record);
    if ended(&summary.counts) == 0 {
        return out;
    }
    out += &endings("", &summary.counts, &columns);
    if let Some(limit_us) = plan.latency_limit_us {
        let Counts { late, succeeded, .. } = summary.counts;
        let share = if succeeded > 0 { percent(late, succeeded) } else { thousandths(0.0) };
        let limit_ms = fixed(limit_us * MILLISECONDS_PER_MICROSECOND, 1);
        out += &format!(
            "number of transactions above the {limit_ms} ms latency limit: {late}/{succeeded} ({share}%)\n"
        );
    }
    out += &latency(record, presentation, &columns);
    out += &speed(record);
    out + &script_report::scripts(record, presentation, &columns)
}

const MILLISECONDS_PER_MICROSECOND: f64 = 0.001;
const MILLISECONDS_PER_SECOND: f64 = 1e3;

/// The parameters, up to the number of transactions.
fn asked(record: &Record) -> String {
    let Record { plan, tables, summary, .. } = record;
    let Plan { scripts, clients, workers, protocol, limit, max_tries, .. } = plan;
    let what = match &scripts[..] {
        [only] => &only.description,
        _ => "multiple scripts",
    };
    let mut out = format!("transaction type: {what}\nscaling factor: {}\n", tables.scale.unwrap_or_default());
    if let (Some(method), Some(partitions)) = (tables.partition_method, tables.partitions) {
        out += &format!("partition method: {}\npartitions: {partitions}\n", method.name());
    }
    out += &format!("query mode: {}\n", protocol.name());
    out += &format!("number of clients: {clients}\nnumber of threads: {workers}\n");
    if let Some(tries) = max_tries {
        out += &format!("maximum number of tries: {tries}\n");
    }
    let succeeded = summary.counts.succeeded;
    out += &match limit {
        Limit::TransactionsPerClient(transactions) => {
            // pgbench multiplies in 32 bits.
            let asked = u128::from(*transactions) * u128::from(*clients);
            format!(
                "number of transactions per client: {transactions}\n\
                 number of transactions actually processed: {succeeded}/{asked}\n"
            )
        }
        Limit::Duration(time) => {
            let seconds = time.as_secs_f64();
            format!("duration: {seconds} s\nnumber of transactions actually processed: {succeeded}\n")
        }
    };
    out
}

/// The latency lines. Without an option that requires latencies, the average is computed from the total time of all
/// clients.
fn latency(record: &Record, presentation: &Presentation, columns: &Columns) -> String {
    let Record { plan, summary, .. } = record;
    let measured = presentation.progress || columns.lag || columns.latency_limit;
    let mut out = match &summary.response_us {
        Some(response_us) if measured => average_and_deviation("", response_us),
        _ => {
            let clients_ms = summary.elapsed_s * MILLISECONDS_PER_SECOND * f64::from(plan.clients);
            let average_ms = thousandths(clients_ms / ended(&summary.counts) as f64);
            let of_what = if summary.counts.failed > 0 { " (including failures)" } else { "" };
            format!("latency average = {average_ms} ms{of_what}\n")
        }
    };
    if columns.lag {
        // Without a succeeded transaction, pgbench divides zero by zero.
        let (mean_us, max_us) = summary.lag_us.map_or((f64::NAN, 0.0), |lag| (lag.mean, lag.max));
        let (average, max) = (milliseconds(mean_us), milliseconds(max_us));
        out += &format!("rate limit schedule lag: avg {average} (max {max}) ms\n");
    }
    out
}

/// Connection time, and the rate with or without it.
fn speed(record: &Record) -> String {
    let Record { plan, summary, connection_time_s, .. } = record;
    let tps = plain(summary.counts.succeeded as f64 / summary.elapsed_s);
    if plan.reconnect {
        let total_s = summary.connecting.map_or(0.0, |connecting| connecting.total_s);
        let transactions = summary.counts.succeeded + summary.counts.failed;
        let average_ms = thousandths(total_s * MILLISECONDS_PER_SECOND / transactions as f64);
        format!("average connection time = {average_ms} ms\ntps = {tps} (including reconnection times)\n")
    } else {
        let initial_ms = thousandths(connection_time_s.unwrap_or(0.0) * MILLISECONDS_PER_SECOND);
        format!("initial connection time = {initial_ms} ms\ntps = {tps} (without initial connection time)\n")
    }
}
