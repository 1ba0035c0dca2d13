//! The kinds of actions as a table: name, what reads the detail that follows, and help. Experiments, their JSON Schema
//! and the manual have the same kinds.

use std::time::Duration;

use results::{Fault, FaultCourse, FaultKind, ShutdownMode};

use crate::spec::ActionKind;
use crate::spec::options::{bandwidth, duration, seconds};

/// A kind of action.
pub(crate) struct KnownAction {
    /// Its name in options and experiments.
    pub(crate) name: &'static str,
    /// Reads the detail.
    pub(super) read: fn(&str) -> Result<ActionKind, String>,
    /// Form of the detail; empty for kinds without one.
    pub(crate) form: &'static str,
    /// What is done.
    pub(crate) help: &'static str,
}

pub(crate) const KINDS: [KnownAction; 15] = [
    KnownAction {
        name: "sql",
        read: sql,
        form: "STATEMENTS",
        help: "SQL to execute on a connection of its own: one or more statements",
    },
    KnownAction {
        name: "stop",
        read: |detail| with_mode("stop", detail, |mode| FaultKind::Stop { mode }),
        form: "smart|fast|immediate[,TIME]",
        help: "Shut the server down, and start it after this time or by an action start",
    },
    KnownAction {
        name: "start",
        read: |detail| bare(FaultKind::Start, detail),
        form: "",
        help: "Start the server that is down",
    },
    KnownAction {
        name: "restart",
        read: |detail| with_mode("restart", detail, |mode| FaultKind::Restart { mode }),
        form: "smart|fast|immediate",
        help: "Shut the server down and start it",
    },
    KnownAction {
        name: "kill",
        read: |detail| lasting(FaultKind::Kill, detail),
        form: "[TIME]",
        help: "SIGKILL to the postmaster; start the server after this time or by an action start",
    },
    KnownAction {
        name: "kill_backend",
        read: |detail| bare(FaultKind::KillBackend, detail),
        form: "",
        help: "SIGKILL to a backend of the load, after which the server restarts by itself",
    },
    KnownAction {
        name: "pause",
        read: |detail| lasting(FaultKind::Pause, detail),
        form: "TIME",
        help: "SIGSTOP to all processes of the server, and SIGCONT after this time",
    },
    KnownAction {
        name: "promote",
        read: |detail| of_standby("promote", detail, |standby| FaultKind::Promote { standby }),
        form: "STANDBY",
        help: "Promote this standby",
    },
    KnownAction {
        name: "switchover",
        read: |detail| of_standby("switchover", detail, |standby| FaultKind::Switchover { standby }),
        form: "STANDBY",
        help: "Shut the primary down (fast), then promote this standby",
    },
    KnownAction {
        name: "cut",
        read: |detail| lasting(FaultKind::Cut, detail),
        form: "[TIME]",
        help: "Reset all connections, and new ones for this time or until an action heal",
    },
    KnownAction {
        name: "blackhole",
        read: |detail| lasting(FaultKind::Blackhole, detail),
        form: "[TIME]",
        help: "Lose all data of the network without a reset, for this time or until an action heal",
    },
    KnownAction {
        name: "blackhole_to_server",
        read: |detail| lasting(FaultKind::BlackholeToServer, detail),
        form: "[TIME]",
        help: "The same for data to the server alone",
    },
    KnownAction {
        name: "blackhole_to_client",
        read: |detail| lasting(FaultKind::BlackholeToClient, detail),
        form: "[TIME]",
        help: "The same for data to the clients alone",
    },
    KnownAction {
        name: "slow",
        read: slow,
        form: "DELAY[,BANDWIDTH][,TIME]",
        help: "Delay all data by this much more, and limit the bandwidth of each direction, for this time or until an action \
               heal",
    },
    KnownAction {
        name: "heal",
        read: |detail| bare(FaultKind::Heal, detail),
        form: "",
        help: "End all faults of the network",
    },
];

fn sql(text: &str) -> Result<ActionKind, String> {
    if text.contains('\0') {
        return Err("the SQL contains a zero byte".to_owned());
    }
    match text.trim_matches(|character: char| character.is_whitespace() || character == ';') {
        "" => Err("the SQL is empty: give one or more statements".to_owned()),
        _ => Ok(ActionKind::Sql(text.trim().to_owned())),
    }
}

/// A fault without detail.
fn bare(kind: FaultKind, detail: &str) -> Result<ActionKind, String> {
    match detail.trim() {
        "" => Ok(ActionKind::Fault(Fault { kind, lasts: None })),
        _ => Err(format!("{} has no detail: write it without \"=\" and what follows", kind.name())),
    }
}

/// A fault with a time.
fn lasting(kind: FaultKind, detail: &str) -> Result<ActionKind, String> {
    let detail = detail.trim();
    if detail.is_empty() {
        return match kind.course() {
            FaultCourse::Time => Err(format!("{0} requires a time, such as {0}=5s", kind.name())),
            FaultCourse::Done | FaultCourse::TimeOrEnd => Ok(ActionKind::Fault(Fault { kind, lasts: None })),
        };
    }
    let lasts =
        seconds(detail).map_err(|why| format!("{}: \"{}\": {why}", kind.name(), detail.escape_debug()))?;
    Ok(ActionKind::Fault(Fault { kind, lasts: Some(Duration::from_secs_f64(lasts)) }))
}

/// The first of two parts, and the second, which may be missing.
fn parts(detail: &str) -> (&str, &str) {
    let (first, second) = detail.split_once(',').unwrap_or((detail, ""));
    (first.trim(), second)
}

/// A fault with a shutdown mode, and a time if it has one.
fn with_mode(name: &str, detail: &str, kind: fn(ShutdownMode) -> FaultKind) -> Result<ActionKind, String> {
    let (word, time) = parts(detail);
    let mode = ShutdownMode::ALL.into_iter().find(|mode| mode.name() == word);
    let expected = || format!("{name} requires a mode: {name}=smart, {name}=fast or {name}=immediate");
    let kind = kind(mode.ok_or_else(expected)?);
    match kind.course() {
        FaultCourse::Done if !time.is_empty() => Err(format!("{name} has no time: write {name}={word}")),
        _ => lasting(kind, time),
    }
}

fn of_standby(
    name: &str,
    detail: &str,
    kind: fn(results::SafeText) -> FaultKind,
) -> Result<ActionKind, String> {
    match detail.trim() {
        "" => Err(format!("{name} requires the name of a standby, such as {name}=NAME")),
        standby => Ok(ActionKind::Fault(Fault { kind: kind(standby.into()), lasts: None })),
    }
}

fn slow(detail: &str) -> Result<ActionKind, String> {
    let (word, rest) = parts(detail);
    let (second, after) = parts(rest);
    let (bandwidth_bits_per_s, time) = match second.to_ascii_lowercase().ends_with("bit") {
        true => {
            let read = bandwidth(second)
                .map_err(|expected| format!("slow: \"{}\": expected {expected}", second.escape_debug()))?;
            (Some(read), after)
        }
        false => (None, rest),
    };
    let is_possible =
        |delay: &Duration| *delay <= SLOW_MAX && (!delay.is_zero() || bandwidth_bits_per_s.is_some());
    let delay = duration(word).ok().filter(is_possible);
    let expected = || {
        format!(
            "slow requires a delay of at most {} s, such as slow=50ms or slow=50ms,10Mbit; a delay of 0ms requires a \
             bandwidth",
            SLOW_MAX.as_secs()
        )
    };
    lasting(FaultKind::Slow { delay: delay.ok_or_else(expected)?, bandwidth_bits_per_s }, time)
}

/// Longer than any network.
const SLOW_MAX: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use crate::ActionSpec;

    fn check(word: &str, shown: &str) {
        let action: ActionSpec = format!("3s:{word}").parse().unwrap();
        assert_eq!(action.to_string(), format!("3s:{shown}"));
        assert_eq!(action.to_string().parse::<ActionSpec>().unwrap(), action);
        assert_eq!(ActionSpec::from(&results::Action::from(&action)), action);
    }

    #[test]
    fn a_fault_is_shown_as_it_is_written() {
        check("stop=fast", "stop=fast");
        check("stop=immediate, 500ms", "stop=immediate,0.5s");
        check("restart=smart", "restart=smart");
        check("kill", "kill");
        check("kill=5", "kill=5s");
        check("kill-backend", "kill_backend");
        check("pause=2min", "pause=120s");
        check("promote=east", "promote=east");
        check("switchover= west ", "switchover=west");
        check("cut=0", "cut=0s");
        check("blackhole=10s", "blackhole=10s");
        check("blackhole-to-server", "blackhole_to_server");
        check("blackhole_to_client=1", "blackhole_to_client=1s");
        check("slow=50ms", "slow=0.05s");
        check("slow=50ms,10s", "slow=0.05s,10s");
        check("slow=50ms, 10mbit", "slow=0.05s,10Mbit");
        check("slow=0ms,1500kbit,10s", "slow=0s,1500kbit,10s");
        check("heal", "heal");
        check("start", "start");
    }

    #[test]
    fn a_fault_with_a_wrong_detail_is_refused_with_the_right_form() {
        for (word, reason) in [
            ("stop", "stop requires a mode: stop=smart, stop=fast or stop=immediate"),
            ("stop=quick", "stop requires a mode: stop=smart, stop=fast or stop=immediate"),
            ("restart=fast,5s", "restart has no time: write restart=fast"),
            ("pause", "pause requires a time, such as pause=5s"),
            ("kill=soon", "kill: \"soon\": expected a number of seconds"),
            ("promote=", "promote requires the name of a standby, such as promote=NAME"),
            ("heal=5s", "heal has no detail: write it without \"=\" and what follows"),
            ("slow=5", "slow requires a delay of at most 60 s, such as slow=50ms"),
            ("slow=2min", "slow requires a delay of at most 60 s, such as slow=50ms"),
            ("slow=0ms", "slow requires a delay of at most 60 s, such as slow=50ms"),
            ("slow=0ms,0bit", "slow: \"0bit\": expected a number with a unit"),
            ("slow=5ms,1Mbit,soon", "slow: \"soon\": expected a number of seconds"),
            ("slow=5ms,1s,1Mbit", "slow: \"1s,1Mbit\": expected a number of seconds"),
        ] {
            let refused = format!("3s:{word}").parse::<ActionSpec>().unwrap_err();
            assert!(refused.starts_with(reason), "{word}: {refused}");
        }
    }
}
