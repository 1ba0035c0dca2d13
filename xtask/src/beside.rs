//! `cargo xtask beside`: two programs that take the same arguments and print pgbench's report, such as pgbench itself and
//! `pgmeter pgbench`, or one build of pgmeter and another, run in turns on one machine. Prints the ratios of what they
//! used and reached, with intervals. `pgmeter compare` compares servers and loads; this compares the clients.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::Instant;

const USAGE: &str = "usage: cargo xtask beside [--rounds=10] OLD NEW -- ARGUMENTS\n\
    OLD and NEW are programs with their first words in one argument, such as \"target/release/pgmeter pgbench\" or\n\
    \"PGMETER_EVENT_LOOP=epoll pgmeter pgbench\"; ARGUMENTS are added to both, such as -n -S -c 64 -T 5 \"host=/tmp\"";

const ROUNDS: usize = 10;
/// The median of fewer has no interval of 95 %.
const ROUNDS_MIN: usize = 6;
const CONFIDENCE_MIN: f64 = 0.95;

/// The unit of CPU times in proc(5): the kernel's `USER_HZ`, which is 100 on all architectures that Linux still has.
const TICKS_PER_SECOND: f64 = 100.0;

/// The options of the command line.
#[derive(Debug, PartialEq, Eq)]
struct Options<'a> {
    rounds: usize,
    sides: [&'a str; 2],
    arguments: &'a [&'a str],
}

/// One run of one side.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    wall_s: f64,
    /// User and system time of the whole process, and of those that it waited for.
    cpu_s: f64,
    /// None if it printed another report, as loading does.
    report: Option<Report>,
}

/// The figures of pgbench's report.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Report {
    tps: f64,
    transactions: f64,
    /// None if each transaction has a connection of its own.
    connecting_s: Option<f64>,
}

/// A row of the table: name and unit, and its figure of a run.
type Figure = (&'static str, fn(&Run) -> Option<f64>);

const FIGURES: [Figure; 5] = [
    ("client CPU, µs/transaction", |run| Some(run.cpu_s * 1e6 / run.report?.transactions)),
    ("throughput, tps", |run| Some(run.report?.tps)),
    ("connecting, s", |run| run.report?.connecting_s),
    ("client CPU, s", |run| Some(run.cpu_s)),
    ("elapsed, s", |run| Some(run.wall_s)),
];

/// Runs both sides in turns and prints the table; false if a run fails.
pub fn run(arguments: &[&str]) -> bool {
    let Some(options) = Options::parse(arguments) else {
        eprintln!("{USAGE}");
        return false;
    };
    match measure(&options) {
        Ok(rounds) => print!("{}", table(&rounds)),
        Err(ref error) => {
            eprintln!("beside: {error}");
            return false;
        }
    }
    true
}

impl<'a> Options<'a> {
    fn parse(words: &'a [&'a str]) -> Option<Self> {
        let separator = words.iter().position(|word| *word == "--")?;
        let (mut rounds, mut sides) = (ROUNDS, Vec::new());
        for word in &words[..separator] {
            match word.strip_prefix("--rounds=") {
                Some(count) => rounds = count.parse().ok().filter(|count| *count >= ROUNDS_MIN)?,
                None if word.starts_with('-') => return None,
                None => sides.push(*word),
            }
        }
        Some(Self { rounds, sides: sides.try_into().ok()?, arguments: &words[separator + 1..] })
    }

    fn command(&self, side: usize) -> Command {
        let mut words = self.sides[side].split_whitespace().peekable();
        let mut variables = Vec::new();
        while let Some(variable) = words.peek().and_then(|word| word.split_once('=')) {
            variables.push(variable);
            words.next();
        }
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).args(self.arguments).envs(variables).stdin(Stdio::null());
        command
    }
}

/// Each round is a run of OLD and a run of NEW; which comes first alternates.
fn measure(options: &Options<'_>) -> Result<Vec<[Run; 2]>, String> {
    let mut rounds = Vec::new();
    for round in 0..options.rounds {
        let first = round % 2;
        let one = measure_run(&mut options.command(first))?;
        let other = measure_run(&mut options.command(1 - first))?;
        rounds.push(if first == 0 { [one, other] } else { [other, one] });
        eprintln!("round {} of {}", round + 1, options.rounds);
    }
    Ok(rounds)
}

fn measure_run(command: &mut Command) -> Result<Run, String> {
    let (cpu_before, started) = (children_cpu_s()?, Instant::now());
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let (wall_s, cpu_s) = (started.elapsed().as_secs_f64(), children_cpu_s()? - cpu_before);
    if !output.status.success() {
        return Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(Run { wall_s, cpu_s, report: Report::parse(&String::from_utf8_lossy(&output.stdout)) })
}

/// CPU time of all children that have ended, in seconds.
fn children_cpu_s() -> Result<f64, String> {
    const STAT: &str = "/proc/self/stat";
    let stat = std::fs::read_to_string(STAT).map_err(|error| format!("{STAT}: {error}"))?;
    ticks_of_children(&stat)
        .map(|ticks| ticks / TICKS_PER_SECOND)
        .ok_or_else(|| format!("{STAT} has no CPU times"))
}

/// `cutime` and `cstime`, fields 16 and 17 of proc(5)'s `stat`. The second field may hold blanks and ends with the last `)`.
fn ticks_of_children(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(13);
    Some(fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?)
}

impl Report {
    fn parse(text: &str) -> Option<Self> {
        let number = |start: &str| {
            let rest = text.lines().find_map(|line| line.strip_prefix(start))?;
            rest.trim().split([' ', '/']).next()?.parse::<f64>().ok()
        };
        Some(Self {
            tps: number("tps = ")?,
            transactions: number("number of transactions actually processed: ")?,
            connecting_s: number("initial connection time = ").map(|ms| ms / 1e3),
        })
    }
}

fn table(rounds: &[[Run; 2]]) -> String {
    let mut out = String::new();
    for (name, figure) in FIGURES {
        let figures: Option<Vec<[f64; 2]>> =
            rounds.iter().map(|[old, new]| Some([figure(old)?, figure(new)?])).collect();
        let Some(figures) = figures else { continue };
        let [old, new] = [0, 1].map(|side| median(figures.iter().map(|both| both[side]).collect()));
        if out.is_empty() {
            let _ = writeln!(out, "{:<28} {:>10} {:>10}  NEW ÷ OLD (interval)", "median", "OLD", "NEW");
        }
        let shown =
            |figure: f64| if figure < 1000.0 { format!("{figure:.3}") } else { format!("{figure:.0}") };
        let _ = write!(out, "{name:<28} {:>10} {:>10}  ", shown(old), shown(new));
        if figures.iter().any(|[old, _]| *old <= 0.0) {
            out.push_str("too short to be measured\n");
            continue;
        }
        let (ratio, low, high) = median_interval(figures.iter().map(|[old, new]| new / old).collect());
        let _ = writeln!(out, "{ratio:.3} ({low:.3} … {high:.3})");
    }
    let (count, (rank, confidence)) = (rounds.len(), interval_rank(rounds.len()));
    let _ = writeln!(
        out,
        "{count} rounds; ratios are medians, intervals go from ratio {rank} to {} in order: {:.1} % confidence",
        count + 1 - rank,
        confidence * 100.0
    );
    out
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

/// The median, and the order statistics that enclose the true one with at least 95 % confidence.
fn median_interval(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_unstable_by(f64::total_cmp);
    let (rank, _) = interval_rank(values.len());
    (median(values.clone()), values[rank - 1], values[values.len() - rank])
}

/// Which smallest and which largest of `count` values enclose the median of their distribution, and the confidence: the
/// sign test turned round (Conover, Practical Nonparametric Statistics, 3rd edition, 1999, section 3.2). No assumption about
/// the distribution is needed.
fn interval_rank(count: usize) -> (usize, f64) {
    let (mut choose, mut below) = (1.0, 0.0);
    let all = 2_f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let (mut rank, mut confidence) = (1, 1.0 - 2.0 / all);
    for next in 1..=count / 2 {
        // The probability that fewer than `next` of the values are below the median.
        below += choose / all;
        choose *= (count - next + 1) as f64 / next as f64;
        if 1.0 - 2.0 * below < CONFIDENCE_MIN {
            break;
        }
        (rank, confidence) = (next, 1.0 - 2.0 * below);
    }
    (rank, confidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "transaction type: <builtin: select only>\nscaling factor: 1\n\
        number of transactions actually processed: 400/400\nnumber of failed transactions: 0 (0.000%)\n\
        latency average = 0.135 ms\ninitial connection time = 1.520 ms\n\
        tps = 29706.646862 (without initial connection time)\n";

    #[test]
    fn both_sides_get_the_same_arguments_and_their_own_variables() {
        let words = ["pgbench", "PGMETER_EVENT_LOOP=epoll target/release/pgmeter pgbench", "--", "-c", "64"];
        let options = Options::parse(&words).expect("two sides");
        assert_eq!((options.rounds, options.arguments), (ROUNDS, &["-c", "64"][..]));
        assert_eq!(format!("{:?}", options.command(0)), r#""pgbench" "-c" "64""#);
        let other = format!("{:?}", options.command(1));
        assert_eq!(other, r#"PGMETER_EVENT_LOOP="epoll" "target/release/pgmeter" "pgbench" "-c" "64""#);
    }

    #[test]
    fn one_side_too_few_rounds_and_unknown_options_are_refused() {
        for wrong in [
            &["a", "b"][..],
            &["a", "--"],
            &["a", "b", "c", "--"],
            &["--rounds=5", "a", "b", "--"],
            &["--rounds=x", "a", "b", "--"],
            &["--quick", "a", "b", "--"],
        ] {
            assert_eq!(Options::parse(wrong), None, "{wrong:?}");
        }
        assert_eq!(Options::parse(&["--rounds=6", "a", "b", "--"]).map(|options| options.rounds), Some(6));
    }

    #[test]
    fn the_report_of_pgbench_is_read() {
        let report = Report { tps: 29_706.646_862, transactions: 400.0, connecting_s: Some(0.001_52) };
        assert_eq!(Report::parse(REPORT), Some(report));
        let reconnecting =
            REPORT.replace("initial connection time = 1.520 ms\n", "").replace("400/400", "4711");
        assert_eq!(
            Report::parse(&reconnecting),
            Some(Report { transactions: 4711.0, connecting_s: None, ..report })
        );
        assert_eq!(Report::parse("done in 0.12 s"), None);
    }

    #[test]
    fn the_interval_of_a_median_is_as_in_the_printed_tables() {
        for (count, rank, confidence) in
            [(6, 1, 0.969), (8, 1, 0.992), (10, 2, 0.979), (15, 4, 0.965), (20, 6, 0.959)]
        {
            let found = interval_rank(count);
            assert!(found.0 == rank && (found.1 - confidence).abs() < 5e-4, "{count}: {found:?}");
        }
        let values: Vec<f64> = (1_u8..=10).rev().map(f64::from).collect();
        assert_eq!(median_interval(values), (5.5, 2.0, 9.0));
    }

    #[test]
    fn the_table_has_a_ratio_of_all_that_both_sides_have() {
        let run = |cpu_s: f64, report| Run { wall_s: 2.0, cpu_s, report };
        let report = Some(Report { tps: 50.0, transactions: 1000.0, connecting_s: None });
        let rounds = vec![[run(0.5, report), run(0.25, report)]; ROUNDS_MIN];
        let text = table(&rounds);
        assert!(
            text.contains("client CPU, µs/transaction      500.000    250.000  0.500 (0.500 … 0.500)\n"),
            "{text}"
        );
        assert!(text.contains("throughput, tps") && !text.contains("connecting"), "{text}");
        let loading = table(&vec![[run(0.5, report), run(0.25, None)]; ROUNDS_MIN]);
        assert!(!loading.contains("tps") && loading.contains("elapsed, s"), "{loading}");
        let short = table(&vec![[run(0.0, None), run(0.01, None)]; ROUNDS_MIN]);
        assert!(short.contains("too short to be measured\n") && !short.contains("inf"), "{short}");
    }

    #[test]
    fn cpu_time_of_children_is_read_after_a_name_with_blanks_and_brackets() {
        let stat = "7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 70 30 250 50 20 0 1";
        assert_eq!(ticks_of_children(stat), Some(300.0));
        assert_eq!(ticks_of_children("7 (a) S 1"), None);
    }

    #[test]
    fn a_run_has_its_own_cpu_time_and_a_failed_one_its_words() {
        let mut busy = Command::new("sh");
        busy.args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]);
        assert!(
            measure_run(&mut busy)
                .is_ok_and(|run| run.cpu_s > 0.0 && run.wall_s > 0.0 && run.report.is_none())
        );
        let failed = measure_run(Command::new("sh").args(["-c", "echo words >&2; exit 3"]));
        assert!(failed.is_err_and(|text| text.contains("words")));
    }
}
