//! The final report and the logs of runs of a known number of transactions, in many combinations of options. What is
//! counted must be equal, what is measured must look alike.

use testkit::extent;

use crate::conformance::cases::{Bench, Case, DATABASE};
use crate::conformance::expressions::Dice;
use crate::conformance::running::Ended;
use crate::conformance::shape;
use crate::harness::sql_of_tables_of_pgbench;

/// Enough for every option with most others.
const COMBINATIONS: u64 = 75;
/// Enough for every option with several others.
const COMBINATIONS_AFTER_CHANGE: u64 = 20;

/// Tables for the built-in scripts with no more rows than their names need, and a function that fails now and then.
pub(crate) fn small_tables(bench: &mut Bench) {
    let stumble = "
         create sequence tries;
         create function stumble(every int) returns int language plpgsql as $$
         begin
           if nextval('tries') % every <> 0 then raise exception 'stumbled' using errcode = '40001'; end if;
           return 1;
         end $$";
    bench.execute(&(sql_of_tables_of_pgbench(2) + stumble));
}

/// What can be in a command line, each chosen or not.
const OPTIONS: [&str; 11] = [
    "-C",
    "-r",
    "--failures-detailed",
    "--max-tries=3",
    "-L 100000",
    "-R 3000",
    "-l",
    "-P 60",
    "-M extended",
    "-M prepared",
    "-D scale=7",
];

const SCRIPTS: [&str; 7] = [
    "",
    "-S",
    "-N",
    "-b tpcb@2 -b se@3",
    "-f one.sql",
    "-f one.sql@3 -f stumbling.sql -f never.sql@0",
    "-f stumbling.sql",
];

const CLIENTS: [&str; 4] = ["-t 8", "-t 1", "-c 3 -t 6", "-c 4 -j 4 -t 5"];

fn with_files(options: &str) -> Case {
    let mut case = Case::new(&format!("{options} --random-seed 21"))
        .file("one.sql", "\\set a random(1, 10)\nselect :a,\n  2;\n\\sleep 10 us\n")
        .file("stumbling.sql", "select stumble(3);\nselect 'a line that is longer than all columns of a terminal, and longer than what pgbench keeps of it, which is one hundred and twenty-seven bytes';\n")
        .file("never.sql", "select 1/0;\n");
    case.arguments.push(DATABASE.to_owned());
    case
}

fn combination(dice: &mut Dice) -> Case {
    let mut line = format!("{} {}", dice.pick(&CLIENTS), dice.pick(&SCRIPTS));
    for option in OPTIONS {
        if dice.roll(3) == 0 {
            line += " ";
            line += option;
        }
    }
    // Which client stumbles depends on who comes first, and so does which thread's script it is.
    if line.contains("stumbling") && line.contains("-c ") {
        line = line.replace("-c 3", "").replace("-c 4 -j 4", "");
    }
    with_files(&line)
}

fn view(case: &Case) -> fn(&mut Ended) {
    if case.name.contains("-R ") { shape::times_and_lags } else { shape::times }
}

/// The script that each client gets next is up to the thread: with several clients it depends on who is ready first. And
/// pgbench's threads count the transactions of each of several scripts without a lock, so that it may lose one.
fn is_determined(case: &Case) -> bool {
    let several_scripts = case.name.contains("-b se@3") || case.name.contains("one.sql@3");
    !(several_scripts && ["-c 3", "-c 4"].iter().any(|clients| case.name.contains(clients)))
}

#[test]
fn reports_and_logs_have_the_same_lines() {
    let Some(mut bench) = Bench::with_databases("output") else { return };
    small_tables(&mut bench);
    let mut dice = Dice::new(3);
    for _ in 0..extent::choose(COMBINATIONS_AFTER_CHANGE, COMBINATIONS) {
        let case = combination(&mut dice);
        if is_determined(&case) {
            bench.execute("alter sequence tries restart");
            bench.compare(&case, view(&case));
        }
    }
    let single = [
        "-t 40 -S -l --sampling-rate=0.3",
        "-t 40 -f one.sql -l --sampling-rate=0.01",
        "-t 5 -S -l --log-prefix=own_log",
        "-c 3 -j 3 -t 5 -S -l --log-prefix=own_log",
        "-c 5 -j 2 -t 5 -S -l -n",
        "-t 3 -S -v",
        "-t 3 -S -s 2",
        "-t 3 -f one.sql -s 2",
        "-t 3 -S -j 4",
        "-t 3 -f never.sql",
        "-c 2 -t 3 -f never.sql -r -l",
        "-t 3 -f never.sql -f one.sql@0 -r",
        "-t 3 -C -f never.sql",
        "-t 0000003 -S",
        "-t 3 -S -L 0.0001",
        "-t 3 -S -L 0.001 -l",
        "-t 30 -f one.sql --show-script=se",
    ];
    for line in single {
        bench.compare(&with_files(line), shape::times_in_any_order);
    }
    bench.tally.verdict();
}

#[test]
fn partitioned_tables_are_reported() {
    let Some(mut bench) = Bench::with_databases("partitions") else { return };
    small_tables(&mut bench);
    for (method, bounds) in
        [("range", "from (minvalue) to (maxvalue)"), ("hash", "with (modulus 1, remainder 0)")]
    {
        bench.execute(&format!(
            "drop table pgbench_accounts;
             create table pgbench_accounts (aid int, bid int, abalance int, filler char(84)) partition by {method} (aid);
             create table pgbench_accounts_1 partition of pgbench_accounts for values {bounds}"
        ));
        for options in ["-t 2", "-t 2 -S -M prepared", "-t 2 -n -N -r", "-t 2 -n -f one.sql"] {
            bench.compare(&with_files(options), shape::times);
        }
    }
    bench.execute("drop table pgbench_accounts; create table pgbench_accounts (aid int, bid int, abalance int, filler char(84)) partition by list (aid)");
    bench.compare(&with_files("-t 2 -S").named("partitions by list"), shape::times);
    bench.execute("drop table pgbench_accounts");
    bench.compare(&with_files("-t 2 -S").named("without accounts"), shape::times);
    bench.execute("truncate pgbench_branches");
    bench.compare(&with_files("-t 2 -f one.sql").named("scripts of one's own"), shape::times);
    bench.execute("create schema other; create table other.pgbench_accounts (aid int, bid int, abalance int); insert into pgbench_branches values (1)");
    let hidden = with_files("-t 2 -S").named("accounts outside the search path");
    bench.compare(&hidden, shape::times);
    let shown =
        with_files("-t 2 -S").named("accounts inside it").env("PGOPTIONS", "-c search_path=other,public");
    bench.compare(&shown, shape::times);
    bench.tally.verdict();
}
