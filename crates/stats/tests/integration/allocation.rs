//! The recorder does not allocate after its creation,
//! and handing over reuses intervals.

use std::time::Duration;

use pgmeter_stats::{Ending, Failure, Interval, Recorder, Sample, Timestamp};

#[test]
fn recording_and_handing_over_allocate_nothing() {
    let mut recorder = Recorder::new(2, Some(Duration::from_millis(5)));
    let mut spare = Some(Interval::new(2));
    let mut recorded = 0;
    let allocations = allocation_counter::measure(|| {
        for second in 0..3 {
            for nanos in (0..1_000_000_000).step_by(99_991) {
                let scheduled = Timestamp::from_nanos(nanos);
                let started = scheduled + Duration::from_nanos(nanos / 3);
                let finished = started + Duration::from_nanos(nanos * nanos);
                let script = usize::from(nanos % 2 == 0);
                let ending = match recorded % 50 {
                    7 => Ending::Failed(Failure::Deadlock),
                    8 => Ending::Skipped,
                    9 => Ending::Unfinished,
                    _ => Ending::Succeeded,
                };
                recorder.record(&Sample {
                    script,
                    scheduled,
                    started,
                    finished,
                    tries: 1,
                    business: 1,
                    ending,
                    traffic: pgmeter_stats::Traffic::default(),
                });
                recorded += 1;
            }
            let (start, end) = (Timestamp::from_nanos(second), Timestamp::from_nanos(second + 1));
            spare = spare.take().map(|spare| recorder.hand_over(start, end, spare));
        }
    });
    assert_eq!(allocations.count_total, 0);
    let last = spare.expect("an interval comes back for each spare");
    let in_last: u64 = last.scripts.iter().map(|script| script.counts.scheduled).sum();
    assert_eq!(in_last, recorded / 3);
}
