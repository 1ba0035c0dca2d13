//! How far standbys are behind. While nothing is written, the server does not hear of a standby that has caught up until
//! the standby's next status message, and it never hears that a standby has stopped replaying.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use connect::{Row, Session};

use super::in_transaction;

/// Longest time after which a new status message of a standby is seen: the default of `wal_receiver_status_interval`, and 2 s
/// for its way and for the interval of the checks.
const STATUS_INTERVAL: Duration = Duration::from_secs(12);

/// The standbys of a server.
pub(super) struct Lag {
    pub(super) standbys: u64,
    /// The greatest lag in seconds.
    pub(super) lag_s: f64,
}

/// The last messages of the standbys, by the process that sends WAL to each.
#[derive(Debug, Default)]
pub(super) struct StandbyReplies(BTreeMap<String, Reply>);

/// A message of a standby.
#[derive(Clone, Debug, PartialEq)]
struct Reply {
    /// The time that the standby has written into it. Only its changes count: the clocks may differ.
    written: String,
    /// When it was first seen.
    seen: Instant,
}

/// What the server knows of a standby.
#[derive(Clone, Debug, PartialEq)]
struct Standby {
    process: String,
    /// Whether it has replayed everything that is written.
    is_caught_up: bool,
    replay_lag_s: f64,
    /// Empty before version 12, and for a program that receives WAL and replays none.
    reply_written: String,
}

impl StandbyReplies {
    /// The lag of the server's standbys, and on a standby its own.
    ///
    /// # Errors
    /// The server does not answer, or hides the standbys from the role.
    pub(super) fn lag(&mut self, session: &mut Session, now: Instant) -> Result<Lag, String> {
        let sql = "select '', false, pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn(), \
                   extract(epoch from now() - pg_last_xact_replay_timestamp()), null where pg_is_in_recovery() \
                   union all select pid::text, state is null, replay_lsn >= pg_current_wal_flush_lsn(), \
                   extract(epoch from replay_lag), \
                   case when replay_lsn is not null then to_jsonb(r)->>'reply_time' end from pg_stat_replication r \
                   where not pg_is_in_recovery() and (state is null or state <> 'backup')";
        let rows = in_transaction(session, |session| session.query_catalogs(sql))?;
        if rows.iter().any(|row| row.get(1) == Some("t")) {
            return Err("the role may not see the lag of standbys; grant pg_monitor to it".to_owned());
        }
        let standbys: Vec<Standby> = rows.iter().map(Standby::of).collect();
        let lags = standbys.iter().map(|standby| self.lag_of(standby, now));
        let lag_s = lags.fold(0.0, f64::max);
        self.0.retain(|process, _| standbys.iter().any(|standby| standby.process == *process));
        Ok(Lag { standbys: standbys.len() as u64, lag_s })
    }

    /// The lag of a standby in seconds. One that is behind and sends no message is as far behind as it is silent.
    fn lag_of(&mut self, standby: &Standby, now: Instant) -> f64 {
        let Standby { process, is_caught_up, replay_lag_s, reply_written } = standby;
        let written = reply_written.clone();
        let reply = self.0.entry(process.clone()).or_insert_with(|| Reply { written, seen: now });
        if reply.written != *reply_written {
            *reply = Reply { written: reply_written.clone(), seen: now };
        }
        if *is_caught_up {
            return 0.0;
        }
        let silent = now.saturating_duration_since(reply.seen).saturating_sub(STATUS_INTERVAL);
        let silent_s = if reply_written.is_empty() { 0.0 } else { silent.as_secs_f64() };
        replay_lag_s.max(silent_s)
    }
}

impl Standby {
    fn of(row: &Row) -> Self {
        Self {
            process: row.get(0).unwrap_or_default().to_owned(),
            is_caught_up: row.get(2) == Some("t"),
            replay_lag_s: row.get(3).and_then(|text| text.parse().ok()).unwrap_or(0.0),
            reply_written: row.get(4).unwrap_or_default().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::Observer;

    fn standby(reply_written: &str) -> Standby {
        Standby {
            process: "7".to_owned(),
            is_caught_up: false,
            replay_lag_s: 0.5,
            reply_written: reply_written.to_owned(),
        }
    }

    #[test]
    fn a_standby_that_is_silent_and_behind_lags() {
        let (mut replies, origin) = (StandbyReplies::default(), Observer::now());
        let at = |s: u64| origin + Duration::from_secs(s);
        let lags = [(0, "a"), (11, "a"), (16, "a"), (17, "b"), (28, "b"), (44, "b")]
            .map(|(second, written)| replies.lag_of(&standby(written), at(second)));
        assert_eq!(lags, [0.5, 0.5, 4.0, 0.5, 0.5, 15.0]);
    }

    #[test]
    fn a_standby_that_has_caught_up_does_not_lag() {
        let (mut replies, origin) = (StandbyReplies::default(), Observer::now());
        let caught_up = Standby { is_caught_up: true, ..standby("a") };
        assert_eq!(replies.lag_of(&caught_up, origin), 0.0);
        assert_eq!(replies.lag_of(&caught_up, origin + Duration::from_secs(60)), 0.0, "nothing is written");
    }

    #[test]
    fn before_version_12_silence_says_nothing() {
        let (mut replies, origin) = (StandbyReplies::default(), Observer::now());
        assert_eq!(replies.lag_of(&standby(""), origin), 0.5);
        assert_eq!(replies.lag_of(&standby(""), origin + Duration::from_secs(60)), 0.5);
    }
}
