//! The same values from the same seed: scripts from a generator print what they draw through `debug()`, or insert it
//! into a table together with the client; scripts are chosen by weight, paced by a rate, and tried again.

use std::fmt::Write as _;

use testkit::extent;

use crate::conformance::cases::{Bench, Case, DATABASE};
use crate::conformance::expressions::{DEFINED, Dice};
use crate::conformance::running::Ended;
use crate::conformance::shape;

const AREA: &str = "draws";
/// Enough to meet every function with every kind of argument many times.
const SCRIPTS: u64 = 110;
/// Enough to meet every function with several kinds of argument.
const SCRIPTS_AFTER_CHANGE: u64 = 24;
const SETS_IN_SCRIPT: u64 = 24;
/// Every client has an expression of its own and may be aborted by it.
const WILD_SCRIPTS: u64 = 24;
const WILD_SCRIPTS_AFTER_CHANGE: u64 = 6;
const WILD_CLIENTS: u64 = 24;
/// Microseconds that an arrival may seem to differ, at the median, because a processor was busy. Another stream of
/// delays would differ by more than the mean, 20,000.
const ARRIVAL_NOISE_US: u64 = 5000;

fn script(dice: &mut Dice) -> String {
    let mut script = String::new();
    for number in 0..SETS_IN_SCRIPT {
        let expression = match dice.roll(8) {
            0 => dice.fraction(3),
            1 => dice.truth(2),
            2 if number > 0 => format!(":v{} + {}", number - 1, dice.whole(2)),
            _ => dice.whole(3),
        };
        // Later uses of the value want an integer.
        writeln!(script, "\\set d debug({expression})\n\\set v{number} {}", dice.roll(1000))
            .expect("a string");
        if dice.roll(6) == 0 {
            let (one, other, draw) = (dice.truth(1), dice.wild(0), dice.whole(1));
            writeln!(
                script,
                "\\if {one}\n\\set d debug({draw})\n\\elif {other}\n\\set d debug(1)\n\\else\n\\set d debug(0)\n\\endif"
            )
            .expect("a string");
        }
    }
    script
}

/// One branch for every client: what ends one says nothing about another.
fn wild_script(dice: &mut Dice) -> String {
    let branch = |client: u64| {
        let word = if client == 0 { "if" } else { "elif" };
        format!("\\{word} :client_id = {client}\n\\set d debug({})\n\\set d debug(:d)\n", dice.wild(3))
    };
    (0..WILD_CLIENTS).map(branch).collect::<String>() + "\\endif\n"
}

fn defines() -> impl Iterator<Item = String> {
    DEFINED.into_iter().flat_map(|variable| ["-D".to_owned(), variable.to_owned()])
}

/// A case that sends nothing; its variables are those that the expressions expect.
fn silent(name: String, options: &str, script: String) -> Case {
    let mut case = Case::new(options).named(name).file("script.sql", script);
    case.arguments.extend(defines());
    case.arguments.extend(["-n", "-f", "script.sql", DATABASE].map(str::to_owned));
    case
}

fn compare_scripts(bench: &mut Bench) {
    for seed in 0..extent::choose(SCRIPTS_AFTER_CHANGE, SCRIPTS) {
        let text = script(&mut Dice::new(seed));
        let case = silent(format!("script {seed}\n{text}"), &format!("-t 2 --random-seed {seed}"), text);
        bench.compare_without_database(&case, shape::times);
    }
    for seed in 0..extent::choose(WILD_SCRIPTS_AFTER_CHANGE, WILD_SCRIPTS) {
        let text = wild_script(&mut Dice::new(1_000_000 + seed));
        let options = format!("-t 1 -c {WILD_CLIENTS} --random-seed {seed}");
        bench.compare_without_database(
            &silent(format!("wild script {seed}\n{text}"), &options, text),
            shape::times_in_any_order,
        );
    }
}

/// Values that clients inserted, in the order of each client.
fn compare_inserts(bench: &mut Bench) {
    bench.execute("create table drawn (step serial, client int, script text, one text, two text)");
    let mut dice = Dice::new(77);
    let drawn = "select client, script, one, two from drawn order by client, step";
    let protocols = ["simple", "extended", "prepared"];
    for (number, (clients, threads)) in [(1, 1), (3, 1), (5, 2), (4, 4)].into_iter().enumerate() {
        // What is drawn does not depend on the protocol.
        for &protocol in extent::choose(&protocols[number % 3..][..1], &protocols[..]) {
            let script = |name: &str, dice: &mut Dice| {
                let (one, two) = (dice.whole(3), dice.whole(2));
                format!(
                    "\\set one {one}\n\\set two {two}\n\
                     insert into drawn (client, script, one, two) values (:client_id, '{name}', (:one)::text, (:two)::text);\n"
                )
            };
            let mut case =
                Case::new(&format!("-c {clients} -j {threads} -M {protocol} -t 12 --random-seed 4711"));
            case.arguments.extend(["-n".to_owned(), "-f".to_owned(), "a.sql@5".to_owned()]);
            case.arguments.extend(defines());
            case = case.file("a.sql", script("a", &mut dice));
            // The choice is the thread's: with one client on each it depends on nothing else.
            if clients == threads {
                case = case.file("b.sql", script("b", &mut dice)).file("c.sql", script("c", &mut dice));
                case.arguments.extend(["-f", "b.sql@3", "-f", "c.sql@0", "-f", "b.sql"].map(str::to_owned));
            }
            case.arguments.push(DATABASE.to_owned());
            // Several threads mix what they print; what they draw is in the table.
            bench.compare(&case, shape::report_only);
            let name = format!("what {} inserts", case.name);
            let rows = bench.query(drawn);
            assert_eq!(rows[0].lines().count(), clients * 12, "{name}:\n{}", rows[0]);
            bench.compare_texts(&name, &rows);
            bench.execute("truncate drawn");
        }
    }
}

/// A transaction that fails on its first tries draws the same again, and its variables keep what they have.
fn compare_retries(bench: &mut Bench) {
    bench.execute(
        "create sequence tries;
         create function stumble(every int) returns int language plpgsql as $$
         begin
           if nextval('tries') % every <> 0 then
             raise exception 'stumbled' using errcode = '40001';
           end if;
           return 1;
         end $$",
    );
    let text = "\\set kept :kept + 1\n\\set d debug(:kept)\n\\set one debug(random(1, 1000000))\n\
                begin;\n\\set two debug(random_gaussian(1, 1000, 2.5))\nselect stumble(4) \\gset\n\
                \\set three debug(random(1, :two))\nend;\n";
    for (number, protocol) in ["simple", "extended", "prepared"].into_iter().enumerate() {
        // Fewer tries than the transaction needs, and enough.
        for &tries in extent::choose(&[[2, 4], [1, 7], [2, 7]][number][..], &[1, 2, 4, 7][..]) {
            bench.execute("alter sequence tries restart");
            let options =
                format!("-M {protocol} --max-tries {tries} -t 6 -l --failures-detailed -r -D kept=0");
            let case = silent(
                options.clone(),
                &format!("{options} --random-seed 99 --verbose-errors"),
                text.to_owned(),
            );
            bench.compare(&case, shape::times);
        }
    }
}

/// A rate with several scripts: their order and their values, and the moments at which they were due.
fn compare_rate(bench: &mut Bench) {
    let script = |name: &str| format!("\\set d debug(random(1, 1000000))\nselect '{name}';\n");
    let options = "-n -t 25 -R 50 -l --random-seed 42 -f a.sql@3 -f b.sql@2";
    let mut case = Case::new(options).file("a.sql", script("a")).file("b.sql", script("b"));
    case.arguments.push(DATABASE.to_owned());
    let ended = bench.compare(&case, shape::times_and_lags);
    let [expected, actual] = ended.each_ref().map(arrivals);
    let mut noise: Vec<u64> = expected.iter().zip(&actual).map(|(one, other)| one.abs_diff(*other)).collect();
    noise.sort_unstable();
    let median = noise[noise.len() / 2];
    let verdict = if median < ARRIVAL_NOISE_US { String::new() } else { format!("{expected:?}\n{actual:?}") };
    bench.compare_texts("the delays between arrivals", &[String::new(), verdict]);
}

/// Microseconds between one arrival and the next, by a log: the end less the latency.
fn arrivals(ended: &Ended) -> Vec<u64> {
    let (_, log) = ended.logs.first().expect("there is a log");
    let due = |line: &str| {
        let fields: Vec<u64> = line.split(' ').map(|field| field.parse().unwrap_or(0)).collect();
        fields[4] * 1_000_000 + fields[5] - fields[2]
    };
    let due: Vec<u64> = log.lines().map(due).collect();
    assert_eq!(due.len(), 25, "{log}");
    due.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
}

#[test]
fn the_same_seed_draws_what_pgbench_draws() {
    let Some(mut bench) = Bench::with_databases(AREA) else { return };
    compare_scripts(&mut bench);
    compare_inserts(&mut bench);
    compare_retries(&mut bench);
    compare_rate(&mut bench);
    bench.tally.verdict();
}
