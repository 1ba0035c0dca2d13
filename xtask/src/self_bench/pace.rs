//! The open loop's punctuality: whether what is scheduled starts when it should, beside a thread of a bare program that
//! only waits for such moments, once alone and once beside a load like the server's. What that thread has of lateness is
//! the machine's.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::bare::Late;
use super::lab::Lab;
use super::line::{Goal, Line};
use super::null_server::NullServer;
use super::programs::{EventLoop, Load, Until};
use super::rounds::{Better, Spread, alternate};
use super::steal::Ticks;

/// So many that some are idle even while the server has lost its core for a few milliseconds.
const CLIENTS: u32 = 256;
const RATE: u32 = 20_000;
/// Of the run for the drift.
const SECONDS: u32 = 60;
const ROUNDS: usize = 4;
/// Of the runs for the lags.
const ROUND_SECONDS: u32 = 10;
const LAG_P99_US: Goal = Goal::AtMost(100.0);
/// Transactions whose lag is looked at one by one; the record has only the mean and the maximum.
const LOGGED_SHARE: &str = "0.25";
/// Of the rate, in percent.
const DRIFT: Goal = Goal::AtMost(0.01);
/// Intervals at both ends whose lags are compared.
const ENDS: usize = 5;
const NANOS_PER_SECOND: f64 = 1e9;
const UNIT: &str = "µs";

/// What a run in a round came to.
#[derive(Clone, Copy)]
struct Seen {
    late: Late,
    stolen_percent: f64,
}

type Figure = fn(&Seen) -> f64;

/// The sides of a round, in its order.
const PGMETER: usize = 0;
const BESIDE_LOAD: usize = 1;
const ALONE: usize = 2;

/// From scheduled to started, at a rate that one thread can keep; then whether the rate is kept for long.
pub(super) fn punctuality(lab: &mut Lab) -> Result<Vec<Line>, String> {
    let bare = lab.bare()?;
    let server = lab.null_server()?;
    let seconds = lab.seconds(ROUND_SECONDS);
    // Of a core, as the server used it in the round's run of ours; the first round begins with that.
    let mut server_share = 0.0;
    let rounds = alternate::<3, Seen>(lab.rounds(ROUNDS), |side| {
        let ticks = Ticks::now();
        let late = match side {
            PGMETER => {
                let cpu_before_s = server.cpu_s().unwrap_or(0.0);
                let late = lags(lab, &server, seconds)?;
                server_share = (server.cpu_s().unwrap_or(0.0) - cpu_before_s) / f64::from(seconds);
                late
            }
            BESIDE_LOAD => bare.wait(RATE, seconds, server_share)?,
            _ => bare.wait(RATE, seconds, 0.0)?,
        };
        Ok(Seen { late, stolen_percent: ticks.stolen_percent() })
    })?;
    let mut found = lines(&rounds, server_share);
    found.push(drift(lab, &server)?);
    Ok(found)
}

fn load(server: &NullServer, seconds: u32) -> Load {
    Load { rate: Some(RATE), ..Load::select_only(server.conninfo(), CLIENTS, Until::Seconds(seconds)) }
}

/// The lags of a run of ours.
fn lags(lab: &Lab, server: &NullServer, seconds: u32) -> Result<Late, String> {
    let mut bench = lab.programs.bench(EventLoop::Auto, &load(server, seconds));
    let prefix = lab.folder.path().join("lags");
    bench.args(["--log", "--sampling-rate", LOGGED_SHARE, "--log-prefix"]).arg(&prefix);
    let (record, _) = lab.programs.record_of(&mut bench)?;
    let lags_us = lags_us(lab.folder.path(), "lags")?;
    let max = record["summary"]["lag_us"]["max"].as_f64().unwrap_or(f64::NAN);
    Ok(Late { p50: quantile(&lags_us, 0.5), p99: quantile(&lags_us, 0.99), max, queued_percent: None })
}

fn lines(rounds: &[[Seen; 3]], server_share: f64) -> Vec<Line> {
    let beside = |ours: usize, theirs: usize, figure: Figure| {
        let pairs: Vec<_> =
            rounds.iter().map(|round| (figure(&round[ours]), figure(&round[theirs]))).collect();
        Spread::of(&pairs, Better::Lower)
    };
    let figures: [(&str, &str, Figure); 3] = [
        ("p50", "p50", |seen| seen.late.p50),
        ("p99", "p99", |seen| seen.late.p99),
        ("max", "maximum", |seen| seen.late.max),
    ];
    let mut lines = Vec::new();
    for (name, part, figure) in figures {
        let what = format!(
            "{part} of started − scheduled, {RATE} starts per second, {CLIENTS} clients, null server"
        );
        let spread = beside(PGMETER, BESIDE_LOAD, figure);
        let line = Line::pair(&format!("pace-{name}"), &what, UNIT, "floor", spread);
        lines.push(if name == "p99" { line.goal(LAG_P99_US) } else { line });
    }
    let load = format!("beside it a load of {:.0} % of a core, as the null server was", server_share * 100.0);
    for (name, part, figure) in figures {
        let what = format!("floor: {part} of the lateness of a thread that only waits, beside a load");
        let spread = beside(BESIDE_LOAD, ALONE, figure);
        lines.push(Line::pair(&format!("pace-floor-{name}"), &what, UNIT, "alone", spread).note(&load));
    }
    let stolen = beside(PGMETER, BESIDE_LOAD, |seen| seen.stolen_percent);
    let what = "processor time stolen by the host of the virtual machine, in the calmest round";
    lines.push(Line::pair("pace-steal", what, "%", "floor", stolen).note(&by_round(rounds)));
    lines
}

/// Each round's figures, since what was stolen explains them round by round.
fn by_round(rounds: &[[Seen; 3]]) -> String {
    let side = |seen: &Seen| {
        let queued = seen.late.queued_percent.map(|queued| format!(" and {queued:.1} % queued"));
        format!("{:.0} µs with {:.1} %{}", seen.late.p99, seen.stolen_percent, queued.unwrap_or_default())
    };
    let rounds: Vec<_> = rounds
        .iter()
        .map(|round| {
            let [ours, floor, alone] = [PGMETER, BESIDE_LOAD, ALONE].map(|index| side(&round[index]));
            format!("{ours}, floor {floor}, alone {alone}")
        })
        .collect();
    format!(
        "p99 with what was stolen, and how long the floor waited for others of this machine, by round: {}",
        rounds.join("; ")
    )
}

/// Of a long run.
fn drift(lab: &Lab, server: &NullServer) -> Result<Line, String> {
    let (record, _) = lab.programs.record(EventLoop::Auto, &load(server, lab.seconds(SECONDS)))?;
    let drift = drift_percent(&record["intervals"]).ok_or("the record's intervals were not understood")?;
    let what = format!("drift of the rate from the schedule over a run of {} s", lab.seconds(SECONDS));
    Ok(Line::alone("pace-drift", &what, drift, "%").goal(DRIFT))
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
    fn a_round_says_what_was_stolen_of_each_side() {
        let seen = |p99: f64| Seen {
            late: Late { p50: 1.0, p99, max: 9.0, queued_percent: Some(2.0) },
            stolen_percent: p99 / 10.0,
        };
        let rounds = [[seen(80.0), seen(40.0), seen(20.0)], [seen(60.0), seen(50.0), seen(30.0)]];
        let lines = lines(&rounds, 0.5);
        let p99 = lines.iter().find(|line| line.name == "pace-p99").expect("a line");
        assert_eq!((p99.ours, p99.is_met()), (60.0, Some(true)));
        assert!(p99.ratio.is_some_and(|ratio| ratio.theirs == 40.0 && ratio.high == 2.0));
        let steal = lines.iter().find(|line| line.name == "pace-steal").expect("a line");
        assert!(steal.note.contains(
            "floor 40 µs with 4.0 % and 2.0 % queued, alone 20 µs with 2.0 % and 2.0 % queued; 60"
        ));
    }

    #[test]
    fn what_is_no_record_has_no_drift() {
        assert_eq!(drift_percent(&Value::Null), None);
        assert_eq!(drift_percent(&serde_json::json!([])), None);
    }
}
