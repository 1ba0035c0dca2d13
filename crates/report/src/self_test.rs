//! The self-test as a document: whether this machine can measure, then each part with its figure. Used by `cli` for
//! `pgmeter self-test`.

use results::{Check, Grade, SelfTest};
use serde::Serialize;

use crate::document::{Audience, Banner, Block, Cell, Column, Document, Section, Table, Tone};
use crate::figures::{count, latency, percent, rate};
use crate::prose::{enumerate, escaped_line};
use crate::values::{Value, ValueTable};

/// The document of a self-test: its answer, the parts, and the calibration.
pub fn self_test(test: &SelfTest) -> Document {
    let (tone, answer) = answer(test);
    let notes = advice(test);
    let mut blocks = vec![Block::Table(parts(test))];
    if !notes.is_empty() {
        blocks.push(Block::List(Tone::Caution, notes));
    }
    let calibrations = std::slice::from_ref(&test.calibration);
    let mut document = crate::calibration(calibrations);
    let first = vec![Block::Answer(tone, answer.clone()), crate::calibration::picture(calibrations)];
    // Instead of the answer of the calibration.
    document.sections[0] = Section::new("answer", "", "", Audience::Documents, first);
    document.sections.insert(1, Section::new("self-test", "", "", Audience::All, blocks));
    let banners = vec![Banner::new(tone, answer).for_terminal()];
    Document { banners, title: "Self-test of pgmeter on this machine".to_owned(), ..document }
}

/// Parts that the answer names.
const NAMED_MAX: usize = 3;

/// Whether the machine can measure, and the parts that are in its way.
fn answer(test: &SelfTest) -> (Tone, String) {
    let grade = test.grade();
    let of_grade = test.checks().into_iter().filter(|(_, it)| *it == grade).map(|(check, _)| trouble(check));
    let names: Vec<String> = of_grade.map(str::to_owned).collect();
    let more = names.len().saturating_sub(NAMED_MAX);
    let named = names.into_iter().take(NAMED_MAX).chain((more > 0).then(|| format!("{more} more")));
    let named = enumerate(&named.collect::<Vec<_>>());
    match grade {
        Grade::Good | Grade::Unknown => (Tone::Good, "This machine can measure.".to_owned()),
        Grade::Caution => {
            (Tone::Caution, format!("This machine can measure, with reservations because of {named}."))
        }
        Grade::Bad => (Tone::Bad, format!("This machine cannot measure reliably because of {named}.")),
    }
}

/// A part that is not good, in the answer.
fn trouble(check: Check) -> &'static str {
    match check {
        Check::Build => "pgmeter's debug build",
        Check::EventLoop => "the event loop",
        Check::Clock => "the clock",
        Check::Governor => "the CPU governor",
        Check::Cores => "few CPUs",
        Check::OtherLoad => "other load",
        Check::OpenFiles => "few open files",
        Check::Lateness => "late wake-ups",
        Check::Rate => "a slow worker",
    }
}

fn parts(test: &SelfTest) -> Table {
    Table::of(
        test.checks(),
        &[
            (Column::text("part"), &|(check, _)| Cell::text(name(*check))),
            (Column::text("found"), &|(check, _)| Cell::text(finding(*check, test))),
            (Column::text("grade"), &|(_, grade)| Cell::text(grade_word(*grade))),
        ],
    )
}

pub(crate) fn name(check: Check) -> &'static str {
    match check {
        Check::Build => "build",
        Check::EventLoop => "event loop",
        Check::Clock => "clock",
        Check::Governor => "CPU governor",
        Check::Cores => "CPUs",
        Check::OtherLoad => "other load",
        Check::OpenFiles => "open files",
        Check::Lateness => "late wake-ups",
        Check::Rate => "rate of a worker",
    }
}

fn grade_word(grade: Grade) -> &'static str {
    match grade {
        Grade::Good => "good",
        Grade::Unknown => "unknown",
        Grade::Caution => "caution",
        Grade::Bad => "bad",
    }
}

/// The figure of a part.
pub(crate) fn finding(check: Check, test: &SelfTest) -> String {
    let unknown = || "not visible here".to_owned();
    let SelfTest { conditions, clock, calibration, .. } = test;
    match check {
        Check::Build => match test.build {
            results::PgmeterBuild::Release => "release".to_owned(),
            results::PgmeterBuild::Debug => "debug, several times as slow as a release".to_owned(),
        },
        Check::EventLoop => match &test.event_loop.because {
            None => test.event_loop.name.name().to_owned(),
            Some(why) => format!("{}; {}", test.event_loop.name.name(), escaped_line(why.as_str())),
        },
        Check::Clock => {
            let source = conditions.clock_source.as_deref().map(escaped_line);
            let source = source.unwrap_or_else(|| "unknown source".into());
            match clock.backwards {
                0 => format!("{source}, {} a read", latency(clock.read_ns / 1e3)),
                times => format!("{source}, went backwards {times} times"),
            }
        }
        Check::Governor => match &conditions.governor {
            Some(governor) => escaped_line(governor).to_string(),
            None => unknown(),
        },
        Check::Cores => match calibration.host.cpus_allowed {
            Some(cores) => format!("{} available to pgmeter", crate::figures::number(cores)),
            None => unknown(),
        },
        Check::OtherLoad => match test.other_load() {
            Some(share) => format!("{} of CPU time", percent(share, 1.0)),
            None => unknown(),
        },
        Check::OpenFiles => match test.open_files {
            Some(limit) => format!("at most {}", count(limit)),
            None => "no limit".to_owned(),
        },
        Check::Lateness => match calibration.wakeup_lateness_us {
            Some(late) => {
                format!(
                    "{} (p50), {} (p99), {} (max)",
                    latency(late.p50),
                    latency(late.p99),
                    latency(late.max)
                )
            }
            None => unknown(),
        },
        Check::Rate => format!("{} round trips/s at most", rate(calibration.best_rate())),
    }
}

/// What to do about the parts that are not good.
fn advice(test: &SelfTest) -> Vec<String> {
    let doubtful = test.checks().into_iter().filter(|(_, grade)| *grade >= Grade::Caution);
    doubtful.map(|(check, _)| remedy(check).to_owned()).collect()
}

fn remedy(check: Check) -> &'static str {
    match check {
        Check::Build => "Use a release build: cargo build --release.",
        Check::EventLoop => {
            "io_uring is not available, so pgmeter uses epoll, which takes more CPU time per transaction. Containers \
             often forbid io_uring: allow it in their seccomp profile, and set kernel.io_uring_disabled to 0."
        }
        Check::Clock => {
            "Reading the clock is slow or unreliable, which distorts short latencies. Select another source, such as \
             tsc, in /sys/devices/system/clocksource/clocksource0/current_clocksource."
        }
        Check::Governor => {
            "The CPU frequency changes with the load, so latencies at low rates are higher. Select the governor \
             performance: cpupower frequency-set -g performance."
        }
        Check::Cores => {
            "pgmeter has few CPUs. Run it on another host than the server, or raise the CPU quota of its container."
        }
        Check::OtherLoad => {
            "Other programs or virtual machines use the CPUs. Stop them, or repeat the test later."
        }
        Check::OpenFiles => {
            "The limit of open files is low, and each client needs one. Raise the limit with ulimit -n."
        }
        Check::Lateness => {
            "Timers fire late, so transactions of an open loop (-R) start late. The usual causes are other programs, \
             too few CPUs, and virtual machines."
        }
        Check::Rate => {
            "One worker sends few transactions. Use several workers (-j) and watch the line \"limit\" of the reports."
        }
    }
}

/// The self-test with its grades.
pub(crate) fn graded(test: &SelfTest) -> impl Serialize {
    #[derive(Serialize)]
    struct Graded<'a> {
        grade: Grade,
        checks: [(Check, Grade); 9],
        #[serde(flatten)]
        test: &'a SelfTest,
    }
    Graded { grade: test.grade(), checks: test.checks(), test }
}

/// A row for each part.
pub(crate) fn self_test_rows(test: &SelfTest) -> ValueTable<'_> {
    let row = |(check, grade): (Check, Grade)| {
        vec![name(check).into(), Value::Words(finding(check, test)), grade_word(grade).into()]
    };
    ValueTable::new("part,found,grade", test.checks().into_iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use results::{
        Calibration, ClockFigures, Conditions, EventLoop, EventLoopName, Host, Level, PgmeterBuild, UtcTime,
    };

    use super::*;
    use crate::subject::{Subject, csv};

    fn poor() -> SelfTest {
        let level = |clients, run_queue_share| Level {
            clients,
            round_trips_per_s: 150_000.5,
            cpu_us_per_round_trip: 6.0,
            round_trip_us_p50: 400.25,
            run_queue_share,
        };
        let host = Host { cpus_allowed: Some(1.5), ..Host::detect() };
        let (measured_at, levels) =
            (UtcTime::from_unix_millis(0), vec![level(1, None), level(64, Some(0.5))]);
        let lateness = stats::Distribution::new();
        SelfTest {
            build: PgmeterBuild::Debug,
            conditions: Conditions { governor: Some("a, b".to_owned()), ..Conditions::default() },
            at_rest: None,
            clock: ClockFigures { read_ns: 25.0, backwards: 2 },
            open_files: Some(1_024),
            event_loop: EventLoop { name: EventLoopName::Epoll, because: None },
            calibration: Calibration::new(measured_at, host, EventLoopName::Epoll, levels, &lateness),
        }
    }

    #[test]
    fn programs_get_a_row_for_each_part_and_for_each_number_of_clients() {
        let test = poor();
        insta::assert_snapshot!(csv(Subject::SelfTest(&test)), @r#"
        part,found,grade
        build,"debug, several times as slow as a release",bad
        event loop,epoll,good
        clock,"unknown source, went backwards 2 times",bad
        CPU governor,"a, b",caution
        CPUs,1.50 available to pgmeter,caution
        other load,not visible here,unknown
        open files,"at most 1,024",caution
        late wake-ups,not visible here,unknown
        rate of a worker,"150,000 round trips/s at most",good
        "#);
        insta::assert_snapshot!(csv(Subject::Calibrations(std::slice::from_ref(&test.calibration))), @r"
        event_loop,clients,round_trips_per_s,cpu_us_per_round_trip,round_trip_us_p50,run_queue_share
        epoll,1,150000.5,6,400.25,
        epoll,64,150000.5,6,400.25,0.5
        ");
    }
}
