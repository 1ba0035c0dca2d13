//! Whether a machine can measure: what `pgmeter self-test` found, and a grade for each part. The thresholds are here;
//! `report` makes the sentences.

use serde::{Deserialize, Serialize};

use crate::{Calibration, Conditions, EventLoop, EventLoopName, PgmeterBuild, ProcessorShares};

/// What `pgmeter self-test` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfTest {
    /// How pgmeter was built.
    pub build: PgmeterBuild,
    /// Clocks and CPUs of the host; the use of the CPUs is that during the calibration.
    pub conditions: Conditions,
    /// Use of the CPUs while pgmeter did nothing; `null` if unknown.
    pub at_rest: Option<ProcessorShares>,
    /// The monotonic clock.
    pub clock: ClockFigures,
    /// Hard limit of open files; `null` if there is none.
    pub open_files: Option<u64>,
    /// The event loop that ran.
    pub event_loop: EventLoop,
    /// A worker against a server that takes no time.
    pub calibration: Calibration,
}

/// The monotonic clock, read many times in a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockFigures {
    /// Time of a read.
    pub read_ns: f64,
    /// Reads that gave an earlier time than the read before.
    pub backwards: u32,
}

/// A part of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// How pgmeter was built.
    Build,
    /// The interface that waits for sockets.
    EventLoop,
    /// The monotonic clock.
    Clock,
    /// The CPU frequency governor.
    Governor,
    /// CPUs available to pgmeter.
    Cores,
    /// CPU time taken by a hypervisor or by other programs.
    OtherLoad,
    /// Open files, which limit the clients.
    OpenFiles,
    /// Lateness of timed wake-ups.
    Lateness,
    /// Highest rate of one worker.
    Rate,
}

/// How well a part serves measurements, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Good.
    Good,
    /// The system does not tell.
    Unknown,
    /// Results need care.
    Caution,
    /// Results cannot be trusted.
    Bad,
}

/// A clock that the kernel reads without a system call takes some 25 ns; one of the chipset takes over 1 µs.
const CLOCK_READ_NS: [f64; 2] = [200.0, 1_000.0];
/// Below two, the server and pgmeter share a CPU on one host. Below one, the kernel stops pgmeter in each period.
const CORES: [f64; 2] = [2.0, 1.0];
/// Shares of CPU time that others took.
const OTHER_LOAD: [f64; 2] = [0.1, 0.3];
/// Enough for a thousand clients; and for the default of a hundred.
const OPEN_FILES: [u64; 2] = [1_100, 200];
/// The 99th percentile of late wake-ups, which adds to the start delay of an open loop.
const LATENESS_US: [f64; 2] = [1_000.0, 10_000.0];
/// Round trips per second of one worker. A PostgreSQL server answers some 20,000 simple statements per second and core.
const RATE: [f64; 2] = [40_000.0, 10_000.0];

impl SelfTest {
    /// All parts with their grades.
    pub fn checks(&self) -> [(Check, Grade); 9] {
        [
            (Check::Build, self.build_grade()),
            (Check::EventLoop, self.event_loop_grade()),
            (Check::Clock, self.clock_grade()),
            (Check::Governor, self.governor_grade()),
            (Check::Cores, grade_of(self.calibration.host.cpus_allowed.map(|cores| at_least(cores, CORES)))),
            (Check::OtherLoad, grade_of(self.other_load().map(|share| at_most(share, OTHER_LOAD)))),
            (Check::OpenFiles, self.open_files.map_or(Grade::Good, |limit| at_least(limit, OPEN_FILES))),
            (Check::Lateness, grade_of(self.lateness_us().map(|late| at_most(late, LATENESS_US)))),
            (Check::Rate, at_least(self.calibration.best_rate(), RATE)),
        ]
    }

    /// The worst grade of all parts; what the system does not tell is not bad.
    pub fn grade(&self) -> Grade {
        let worst = self.checks().into_iter().map(|(_, grade)| grade).max().unwrap_or(Grade::Good);
        if worst == Grade::Unknown { Grade::Good } else { worst }
    }

    /// Share of CPU time that other programs took while pgmeter did nothing, and the hypervisor then or later; `None` if
    /// the system does not tell.
    pub fn other_load(&self) -> Option<f64> {
        let at_rest = self.at_rest?;
        let stolen = self.conditions.processors.map_or(0.0, |shares| shares.stolen).max(at_rest.stolen);
        Some((at_rest.busy - at_rest.own).max(0.0) + stolen)
    }

    /// The 99th percentile of late wake-ups.
    pub fn lateness_us(&self) -> Option<f64> {
        Some(self.calibration.wakeup_lateness_us?.p99)
    }

    fn build_grade(&self) -> Grade {
        match self.build {
            PgmeterBuild::Release => Grade::Good,
            PgmeterBuild::Debug => Grade::Bad,
        }
    }

    fn event_loop_grade(&self) -> Grade {
        match (self.event_loop.name, &self.event_loop.because) {
            (EventLoopName::IoUring | EventLoopName::Other, _) | (EventLoopName::Epoll, None) => Grade::Good,
            (EventLoopName::Epoll, Some(_)) => Grade::Caution,
        }
    }

    fn clock_grade(&self) -> Grade {
        if self.clock.backwards > 0 { Grade::Bad } else { at_most(self.clock.read_ns, CLOCK_READ_NS) }
    }

    fn governor_grade(&self) -> Grade {
        match self.conditions.governor.as_deref() {
            None => Grade::Unknown,
            Some("performance") => Grade::Good,
            Some(_) => Grade::Caution,
        }
    }
}

fn grade_of(grade: Option<Grade>) -> Grade {
    grade.unwrap_or(Grade::Unknown)
}

fn at_least<T: PartialOrd>(value: T, [good, usable]: [T; 2]) -> Grade {
    match value {
        value if value >= good => Grade::Good,
        value if value >= usable => Grade::Caution,
        _ => Grade::Bad,
    }
}

fn at_most<T: PartialOrd>(value: T, [good, usable]: [T; 2]) -> Grade {
    match value {
        value if value <= good => Grade::Good,
        value if value <= usable => Grade::Caution,
        _ => Grade::Bad,
    }
}

#[cfg(test)]
mod tests {
    use stats::Distribution;

    use super::*;
    use crate::{Host, Level, ProcessorShares, UtcTime};

    fn good() -> SelfTest {
        let level = Level {
            clients: 64,
            round_trips_per_s: 150_000.0,
            cpu_us_per_round_trip: 6.0,
            round_trip_us_p50: 400.0,
            run_queue_share: Some(0.01),
        };
        let host = Host { cpus_allowed: Some(8.0), ..Host::detect() };
        let mut lateness = Distribution::new();
        lateness.record(std::time::Duration::from_micros(60));
        SelfTest {
            build: PgmeterBuild::Release,
            conditions: Conditions { governor: Some("performance".to_owned()), ..Conditions::default() },
            at_rest: Some(ProcessorShares { busy: 0.02, own: 0.0, stolen: 0.0 }),
            clock: ClockFigures { read_ns: 25.0, backwards: 0 },
            open_files: Some(524_288),
            event_loop: EventLoop { name: EventLoopName::IoUring, because: None },
            calibration: Calibration::new(
                UtcTime::now(),
                host,
                EventLoopName::IoUring,
                vec![level],
                &lateness,
            ),
        }
    }

    fn check(change: impl FnOnce(&mut SelfTest), part: Check, expected: Grade) {
        let mut test = good();
        change(&mut test);
        let found: Vec<_> = test.checks().into_iter().filter(|(_, grade)| *grade != Grade::Good).collect();
        assert_eq!(found, if expected == Grade::Good { vec![] } else { vec![(part, expected)] });
        let overall = if expected == Grade::Unknown { Grade::Good } else { expected };
        assert_eq!(test.grade(), overall);
    }

    #[test]
    fn a_good_machine_can_measure_and_each_part_can_spoil_it() {
        assert_eq!(good().grade(), Grade::Good);
        check(|test| test.build = PgmeterBuild::Debug, Check::Build, Grade::Bad);
        check(|test| test.clock.read_ns = 700.0, Check::Clock, Grade::Caution);
        check(|test| test.clock.backwards = 1, Check::Clock, Grade::Bad);
        check(|test| test.conditions.governor = None, Check::Governor, Grade::Unknown);
        check(
            |test| test.conditions.governor = Some("powersave".to_owned()),
            Check::Governor,
            Grade::Caution,
        );
        check(|test| test.calibration.host.cpus_allowed = Some(0.5), Check::Cores, Grade::Bad);
        check(|test| test.calibration.host.cpus_allowed = None, Check::Cores, Grade::Unknown);
        check(|test| test.open_files = Some(1_024), Check::OpenFiles, Grade::Caution);
        check(|test| test.calibration.levels[0].round_trips_per_s = 9_000.0, Check::Rate, Grade::Bad);
        let busy = ProcessorShares { busy: 0.2, own: 0.1, stolen: 0.0 };
        check(|test| test.at_rest = Some(busy), Check::OtherLoad, Grade::Good);
        let stolen = ProcessorShares { stolen: 0.4, ..busy };
        check(|test| test.conditions.processors = Some(stolen), Check::OtherLoad, Grade::Bad);
        let epoll =
            EventLoop { name: EventLoopName::Epoll, because: Some("not permitted".to_owned().into()) };
        check(|test| test.event_loop = epoll, Check::EventLoop, Grade::Caution);
    }
}
