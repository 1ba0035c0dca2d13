//! Faults as actions of a run: what is done to a server that pgmeter manages, or to the simulated network before it.
//! `run` reads their texts and executes them.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::load::seconds;

use crate::SafeText;

/// A fault and its duration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// What is done.
    #[serde(flatten)]
    pub kind: FaultKind,
    /// How long it lasts, in seconds; without it, a fault that lasts does so until `start` or `heal`, or until the end of
    /// the run.
    #[serde(
        default,
        rename = "lasts_s",
        with = "seconds::optional",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<f64>")]
    pub lasts: Option<Duration>,
}

/// Kinds of faults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum FaultKind {
    /// The server is shut down, and stays down.
    Stop {
        /// How.
        mode: ShutdownMode,
    },
    /// A server that is down is started.
    Start,
    /// The server is shut down and started.
    Restart {
        /// How it is shut down.
        mode: ShutdownMode,
    },
    /// The postmaster gets SIGKILL, and the server stays down.
    Kill,
    /// A backend of the load gets SIGKILL, and the server restarts by itself.
    KillBackend,
    /// All processes of the server get SIGSTOP, and SIGCONT at the end.
    Pause,
    /// A standby becomes a primary.
    Promote {
        /// Its name.
        standby: SafeText,
    },
    /// The primary is shut down, and then a standby is promoted.
    Switchover {
        /// Its name.
        standby: SafeText,
    },
    /// All connections are reset, and new ones until the end.
    Cut,
    /// Nothing arrives in either direction, and no connection is reset.
    Blackhole,
    /// The same for data to the server alone.
    BlackholeToServer,
    /// The same for data to the clients alone.
    BlackholeToClient,
    /// The network is slower.
    Slow {
        /// Additional delay in each direction, in seconds.
        #[serde(rename = "delay_s", with = "seconds")]
        #[schemars(with = "f64")]
        delay: Duration,
        /// Bandwidth of each direction, if it is limited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bandwidth_bits_per_s: Option<u64>,
    },
    /// All faults of the network end.
    Heal,
}

/// PostgreSQL's ways to shut down a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShutdownMode {
    /// SIGTERM: waits until all sessions have ended.
    Smart,
    /// SIGINT: ends all sessions, and writes a checkpoint.
    Fast,
    /// SIGQUIT: ends all processes at once; the next start recovers.
    Immediate,
}

impl ShutdownMode {
    /// All of them.
    pub const ALL: [ShutdownMode; 3] = [ShutdownMode::Smart, ShutdownMode::Fast, ShutdownMode::Immediate];

    /// The name in options and records.
    pub fn name(self) -> &'static str {
        match self {
            ShutdownMode::Smart => "smart",
            ShutdownMode::Fast => "fast",
            ShutdownMode::Immediate => "immediate",
        }
    }
}

/// How long a fault takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultCourse {
    /// Until it is done.
    Done,
    /// For a set time.
    Time,
    /// For a set time, or until another action or the end of the run ends it.
    TimeOrEnd,
}

impl FaultKind {
    /// The name of the kind in options, experiments and records.
    pub fn name(&self) -> &'static str {
        match self {
            FaultKind::Stop { .. } => "stop",
            FaultKind::Start => "start",
            FaultKind::Restart { .. } => "restart",
            FaultKind::Kill => "kill",
            FaultKind::KillBackend => "kill_backend",
            FaultKind::Pause => "pause",
            FaultKind::Promote { .. } => "promote",
            FaultKind::Switchover { .. } => "switchover",
            FaultKind::Cut => "cut",
            FaultKind::Blackhole => "blackhole",
            FaultKind::BlackholeToServer => "blackhole_to_server",
            FaultKind::BlackholeToClient => "blackhole_to_client",
            FaultKind::Slow { .. } => "slow",
            FaultKind::Heal => "heal",
        }
    }

    /// Whether it is a fault of the network, not of a server.
    pub fn is_of_network(&self) -> bool {
        match self {
            FaultKind::Cut
            | FaultKind::Blackhole
            | FaultKind::BlackholeToServer
            | FaultKind::BlackholeToClient
            | FaultKind::Slow { .. }
            | FaultKind::Heal => true,
            FaultKind::Stop { .. }
            | FaultKind::Start
            | FaultKind::Restart { .. }
            | FaultKind::Kill
            | FaultKind::KillBackend
            | FaultKind::Pause
            | FaultKind::Promote { .. }
            | FaultKind::Switchover { .. } => false,
        }
    }

    /// How long it takes.
    pub fn course(&self) -> FaultCourse {
        match self {
            FaultKind::Start
            | FaultKind::Restart { .. }
            | FaultKind::KillBackend
            | FaultKind::Promote { .. }
            | FaultKind::Switchover { .. }
            | FaultKind::Heal => FaultCourse::Done,
            FaultKind::Pause => FaultCourse::Time,
            FaultKind::Stop { .. }
            | FaultKind::Kill
            | FaultKind::Cut
            | FaultKind::Blackhole
            | FaultKind::BlackholeToServer
            | FaultKind::BlackholeToClient
            | FaultKind::Slow { .. } => FaultCourse::TimeOrEnd,
        }
    }

    /// The standby that it names.
    pub fn standby(&self) -> Option<&SafeText> {
        match self {
            FaultKind::Promote { standby } | FaultKind::Switchover { standby } => Some(standby),
            _ => None,
        }
    }
}

impl Fault {
    /// The details after the kind, as in options; empty without any.
    pub fn detail(&self) -> String {
        let text = |time: Duration| format!("{}s", time.as_secs_f64());
        let own = match &self.kind {
            FaultKind::Stop { mode } | FaultKind::Restart { mode } => Some(mode.name().to_owned()),
            FaultKind::Promote { standby } | FaultKind::Switchover { standby } => Some(standby.to_string()),
            FaultKind::Slow { delay, bandwidth_bits_per_s } => {
                let bandwidth = bandwidth_bits_per_s.map(bandwidth);
                Some(std::iter::once(text(*delay)).chain(bandwidth).collect::<Vec<_>>().join(","))
            }
            FaultKind::Start
            | FaultKind::Kill
            | FaultKind::KillBackend
            | FaultKind::Pause
            | FaultKind::Cut
            | FaultKind::Blackhole
            | FaultKind::BlackholeToServer
            | FaultKind::BlackholeToClient
            | FaultKind::Heal => None,
        };
        own.into_iter().chain(self.lasts.map(text)).collect::<Vec<_>>().join(",")
    }
}

/// In the largest unit that leaves a whole number.
fn bandwidth(bits_per_s: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("Gbit", 1_000_000_000), ("Mbit", 1_000_000), ("kbit", 1_000)];
    let whole = |(_, factor): &&(&str, u64)| bits_per_s > 0 && bits_per_s.is_multiple_of(*factor);
    let (unit, factor) = UNITS.iter().find(whole).copied().unwrap_or(("bit", 1));
    format!("{}{unit}", bits_per_s / factor)
}

/// `kill=5s`, as in options.
impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.detail().as_str() {
            "" => formatter.write_str(self.kind.name()),
            detail => write!(formatter, "{}={detail}", self.kind.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_in_json_has_its_kind_and_its_details_side_by_side() {
        let fault = |kind, lasts| Fault { kind, lasts };
        let lasts = Some(Duration::from_millis(2500));
        for (fault, json, text) in [
            (fault(FaultKind::Kill, lasts), r#"{"fault":"kill","lasts_s":2.5}"#, "kill=2.5s"),
            (fault(FaultKind::Heal, None), r#"{"fault":"heal"}"#, "heal"),
            (
                fault(FaultKind::Stop { mode: ShutdownMode::Fast }, None),
                r#"{"fault":"stop","mode":"fast"}"#,
                "stop=fast",
            ),
            (
                fault(
                    FaultKind::Slow { delay: Duration::from_millis(50), bandwidth_bits_per_s: None },
                    lasts,
                ),
                r#"{"fault":"slow","delay_s":0.05,"lasts_s":2.5}"#,
                "slow=0.05s,2.5s",
            ),
            (
                fault(
                    FaultKind::Slow { delay: Duration::ZERO, bandwidth_bits_per_s: Some(1_500_000) },
                    lasts,
                ),
                r#"{"fault":"slow","delay_s":0.0,"bandwidth_bits_per_s":1500000,"lasts_s":2.5}"#,
                "slow=0s,1500kbit,2.5s",
            ),
            (
                fault(FaultKind::Promote { standby: "b".into() }, None),
                r#"{"fault":"promote","standby":"b"}"#,
                "promote=b",
            ),
        ] {
            assert_eq!(serde_json::to_string(&fault).unwrap(), json);
            assert_eq!(serde_json::from_str::<Fault>(json).unwrap(), fault);
            assert_eq!(fault.to_string(), text);
        }
    }
}
