//! The open loop: whether what is scheduled starts when it should, and whether anything is lost when the server
//! falls silent.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::lab::Lab;
use super::line::{Goal, Line};
use super::null_server::NullServer;
use super::programs::{EventLoop, Load, Until};

const CLIENTS: u32 = 64;
const RATE: u32 = 20_000;
const SECONDS: u32 = 60;
const LAG_P99_US: Goal = Goal::AtMost(100.0);
/// Transactions whose lag is looked at one by one; the record has only the mean and the maximum.
const LOGGED_SHARE: &str = "0.05";
/// Of the rate, in percent.
const DRIFT: Goal = Goal::AtMost(0.01);
/// Intervals at both ends whose lags are compared.
const ENDS: usize = 5;
const NANOS_PER_SECOND: f64 = 1e9;

/// A server that falls silent for two seconds in the middle of the run.
const STALL: [&str; 4] = ["--stall-every", "4", "--stall-for", "2"];
const STALL_RATE: u32 = 5000;
const STALL_SECONDS: u32 = 9;
/// Shorter than the silence by what the clients and the server need besides.
const LONGEST_AT_LEAST_US: f64 = 1_900_000.0;

/// From scheduled to started, at a rate that one thread can keep.
pub(super) fn punctuality(lab: &mut Lab) -> Result<Vec<Line>, String> {
    let server = lab.null_server()?;
    let until = Until::Seconds(lab.seconds(SECONDS));
    let load = Load { rate: Some(RATE), ..Load::select_only(server.conninfo(), CLIENTS, until) };
    let prefix = lab.folder.path().join("lags");
    let mut bench = lab.programs.bench(EventLoop::Auto, &load);
    bench.args(["--log", "--sampling-rate", LOGGED_SHARE, "--log-prefix"]).arg(&prefix);
    let (record, _) = lab.programs.record_of(&mut bench)?;
    let lags_us = lags_us(lab.folder.path(), "lags")?;
    let max_us = record["summary"]["lag_us"]["max"].as_f64().unwrap_or(f64::NAN);
    let drift = drift_percent(&record["intervals"]).ok_or("the record's intervals were not understood")?;
    let what = |part: &str| format!("{part} of started − scheduled, {RATE} starts per second, null server");
    Ok(vec![
        Line::alone("pace-p50", &what("p50"), quantile(&lags_us, 0.5), "µs"),
        Line::alone("pace-p99", &what("p99"), quantile(&lags_us, 0.99), "µs").goal(LAG_P99_US),
        Line::alone("pace-max", &what("maximum"), max_us, "µs"),
        Line::alone("pace-drift", "drift of the rate from the schedule over the run", drift, "%").goal(DRIFT),
    ])
}

/// Samples that are lost when the server stalls.
pub(super) fn stall(lab: &mut Lab) -> Result<Vec<Line>, String> {
    let server = NullServer::on_unix_socket(&lab.programs.pgmeter, &STALL)?;
    let until = Until::Seconds(STALL_SECONDS);
    let load = Load { rate: Some(STALL_RATE), ..Load::select_only(server.conninfo(), CLIENTS, until) };
    let (record, _) = lab.programs.record(EventLoop::Auto, &load)?;
    let summary = &record["summary"];
    let count = |name: &str| summary["counts"][name].as_f64().unwrap_or(f64::NAN);
    let longest_us = summary["response_us"]["max"].as_f64().unwrap_or(f64::NAN);
    if longest_us < LONGEST_AT_LEAST_US {
        return Err(format!("the run missed the server's silence: the longest answer took {longest_us} µs"));
    }
    let lost = count("scheduled") - count("succeeded");
    let what = "samples lost in a run in which the server is silent for 2 s";
    let note = format!("{:.0} scheduled, longest response {:.2} s", count("scheduled"), longest_us / 1e6);
    Ok(vec![Line::alone("stall", what, lost, "samples").goal(Goal::AtMost(0.0)).note(&note)])
}

/// The lags in the log files of this prefix, sorted; each file is removed.
fn lags_us(folder: &Path, prefix: &str) -> Result<Vec<f64>, String> {
    let complain = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut lags = Vec::new();
    for entry in fs::read_dir(folder).map_err(complain)? {
        let entry = entry.map_err(complain)?;
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            lags.extend(fs::read_to_string(entry.path()).map_err(complain)?.lines().filter_map(lag_us));
            fs::remove_file(entry.path()).map_err(complain)?;
        }
    }
    lags.sort_by(f64::total_cmp);
    Ok(lags)
}

/// The last of seven columns: client, transaction, latency, script, two of time, lag.
fn lag_us(line: &str) -> Option<f64> {
    line.split(' ').nth(6)?.parse().ok()
}

/// Of sorted values, by the nearest rank.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index"
    )]
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
}

/// How much later than scheduled the last intervals' transactions start than the first ones', as a share of the
/// time in between: a rate that is kept has 0. In percent, without a sign.
fn drift_percent(intervals: &Value) -> Option<f64> {
    let intervals = intervals.as_array()?;
    let ends = ENDS.min(intervals.len() / 2).max(1);
    let lag_s = |intervals: &[Value]| {
        let sums: Option<Vec<(f64, f64)>> = intervals.iter().map(lag).collect();
        let (total_s, count) = sums?.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        Some(total_s / count)
    };
    let (first, last) =
        (&intervals[..ends.min(intervals.len())], &intervals[intervals.len().saturating_sub(ends)..]);
    let time_s = last.first()?["start_s"].as_f64()? - first.first()?["start_s"].as_f64()?;
    Some(((lag_s(last)? - lag_s(first)?) / time_s * 100.0).abs())
}

/// All lags of an interval in seconds, and how many there are.
fn lag(interval: &Value) -> Option<(f64, f64)> {
    let mut all = (0.0, 0.0);
    for script in interval["scripts"].as_array()? {
        let (response, service) = (&script["response"], &script["service"]);
        if service.is_null() {
            continue;
        }
        all.0 += (number(&response["sum_ns"])? - number(&service["sum_ns"])?) / NANOS_PER_SECOND;
        all.1 += number(&response["count"])?;
    }
    Some(all)
}

/// Large ones are strings.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(start_s: f64, lag_us: u64) -> Value {
        let (service, response) = (1_000_000_u64, 1_000_000 + lag_us * 1000 * 100);
        serde_json::json!({
            "start_s": start_s,
            "scripts": [{
                "response": {"count": 100, "sum_ns": response.to_string()},
                "service": {"count": 100, "sum_ns": service}
            }]
        })
    }

    #[test]
    fn a_lag_that_grows_is_a_drift_of_the_rate() {
        let steady: Vec<_> = (0_u8..60).map(|second| interval(second.into(), 50)).collect();
        assert!(drift_percent(&steady.into()).is_some_and(|drift| drift < 1e-9));
        // 1 ms later each second: a thousandth.
        let slow: Vec<_> =
            (0_u8..60).map(|second| interval(second.into(), 1000 * u64::from(second))).collect();
        assert!(drift_percent(&slow.into()).is_some_and(|drift| (drift - 0.1).abs() < 1e-9));
    }

    #[test]
    fn quantiles_are_values_of_the_log() {
        assert_eq!(lag_us("3 17 512 0 1700000000 123456 42"), Some(42.0));
        assert_eq!(lag_us("3 17 512 0 1700000000 123456"), None);
        let lags: Vec<f64> = (1_u8..=100).map(f64::from).collect();
        assert_eq!((quantile(&lags, 0.5), quantile(&lags, 0.99)), (50.0, 99.0));
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn what_is_no_record_has_no_drift() {
        assert_eq!(drift_percent(&Value::Null), None);
        assert_eq!(drift_percent(&serde_json::json!([])), None);
    }
}
