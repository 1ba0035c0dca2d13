//! The log of a worker as text for another process of the same run: what [`Outages::new`](super::Outages::new) needs of
//! it, in the unit of the worker's clock.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{AFFECTED_MAX, Affected, Attempts, CLIENT_OUTAGES_MAX, ClientOutage, LossCause, OutageLog};
use super::{WRITE_GAPS_MAX, WriteGaps};
use crate::encoded::COUNT_MAX;
use crate::{DecodeError, Ending, Failure, Gap, Timestamp};

#[derive(Serialize, Deserialize)]
struct EncodedLog {
    outages: Vec<ClientOutage>,
    more_losses: u64,
    attempts: Attempts,
    causes: Vec<(LossCause, u64)>,
    /// Scheduled start, time until the end, and index of the ending.
    affected: Vec<(u64, u64, u8)>,
    more_affected: u64,
    last_write: Timestamp,
    /// Begin and length of each gap.
    write_gaps: Vec<(u64, u64)>,
}

/// The endings by their indexes.
const ENDINGS: [Ending; 8] = [
    Ending::Succeeded,
    Ending::Failed(Failure::Serialization),
    Ending::Failed(Failure::Deadlock),
    Ending::Failed(Failure::Connection),
    Ending::Failed(Failure::Other),
    Ending::Skipped,
    Ending::Unfinished,
    Ending::Unknown,
];

fn index_of(ending: Ending) -> u8 {
    match ending {
        Ending::Succeeded => 0,
        Ending::Failed(Failure::Serialization) => 1,
        Ending::Failed(Failure::Deadlock) => 2,
        Ending::Failed(Failure::Connection) => 3,
        Ending::Failed(Failure::Other) => 4,
        Ending::Skipped => 5,
        Ending::Unfinished => 6,
        Ending::Unknown => 7,
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Serialize for OutageLog {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let affected = self.affected.iter().map(|Affected { scheduled, finished, ending }| {
            (scheduled.as_nanos(), nanos(finished.since(*scheduled)), index_of(*ending))
        });
        EncodedLog {
            outages: self.outages.clone(),
            more_losses: self.more_losses,
            attempts: self.attempts.clone(),
            causes: self.causes.iter().map(|(cause, number)| (*cause, *number)).collect(),
            affected: affected.collect(),
            more_affected: self.more_affected,
            last_write: self.writes.last,
            write_gaps: self.writes.gaps.iter().map(|gap| (nanos(gap.start), nanos(gap.length()))).collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OutageLog {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OutageLog, D::Error> {
        let EncodedLog {
            outages,
            more_losses,
            attempts,
            causes,
            affected,
            more_affected,
            last_write,
            write_gaps,
        } = EncodedLog::deserialize(deserializer)?;
        let causes: BTreeMap<_, _> = causes.into_iter().collect();
        let counts = causes.values().chain(&attempts.counts).chain([&more_losses, &more_affected]);
        let of_outages = outages.iter().flat_map(|outage| &outage.attempts.counts);
        let too_many = counts.chain(of_outages).any(|count| *count > COUNT_MAX);
        let too_long = outages.len() > CLIENT_OUTAGES_MAX
            || affected.len() > AFFECTED_MAX
            || write_gaps.len() > WRITE_GAPS_MAX;
        if too_many || too_long {
            return Err(de::Error::custom(DecodeError::Corrupt));
        }
        let transaction = |(scheduled_ns, took_ns, ending): (u64, u64, u8)| {
            let ending = *ENDINGS.get(usize::from(ending))?;
            let scheduled = Timestamp::from_nanos(scheduled_ns);
            Some(Affected { scheduled, finished: scheduled + Duration::from_nanos(took_ns), ending })
        };
        let affected: Option<Vec<_>> = affected.into_iter().map(transaction).collect();
        let gap = |(start_ns, length_ns): (u64, u64)| Gap {
            start: Duration::from_nanos(start_ns),
            end: Duration::from_nanos(start_ns.saturating_add(length_ns)),
        };
        let gaps = write_gaps.into_iter().map(gap).collect();
        Ok(OutageLog {
            outages,
            more_losses,
            attempts,
            causes,
            affected: affected.ok_or_else(|| de::Error::custom(DecodeError::Corrupt))?,
            more_affected,
            writes: WriteGaps { gaps, ..OutageLog::new(0, last_write).writes },
            ..OutageLog::new(0, last_write)
        })
    }
}

impl OutageLog {
    /// The same log of an ended run, with the times of a clock that shows `to` when the worker's shows `from`.
    #[must_use]
    pub fn moved(mut self, from: Timestamp, to: Timestamp) -> OutageLog {
        let moved = |at: &mut Timestamp| *at = at.moved(from, to);
        let of_attempts = |attempts: &mut Attempts| {
            let Attempts { counts: _, first, last } = attempts;
            first.iter_mut().chain(last).for_each(|(at, _)| moved(at));
        };
        for outage in &mut self.outages {
            let ClientOutage {
                client: _,
                last_success,
                lost,
                cause: _,
                attempts,
                connected,
                first_read,
                first_write,
            } = outage;
            [last_success, connected, first_read, first_write].into_iter().flatten().for_each(moved);
            moved(lost);
            of_attempts(attempts);
        }
        of_attempts(&mut self.attempts);
        for affected in &mut self.affected {
            moved(&mut affected.scheduled);
            moved(&mut affected.finished);
        }
        let span = |at: Duration| super::span(Timestamp::from_nanos(nanos(at)).moved(from, to));
        for gap in &mut self.writes.gaps {
            (gap.start, gap.end) = (span(gap.start), span(gap.end));
        }
        moved(&mut self.writes.last);
        self
    }

    /// The clients of its outages.
    pub fn clients(&self) -> impl Iterator<Item = u64> {
        self.outages.iter().map(|outage| outage.client)
    }
}
