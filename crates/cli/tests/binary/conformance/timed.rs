//! Runs whose counts depend on time: progress, aggregated logs, rates with limits. Only what the lines look like is
//! compared, and each kind of line once.

use crate::conformance::cases::{Bench, Case, DATABASE};
use crate::conformance::shape;

/// One second each, two where a second interval matters. The scripts sleep, so that nobody has to be fast.
const LINES: [&str; 10] = [
    "-T 2 -P 1 -f nap.sql",
    "-T 2 -P 1 --progress-timestamp -R 100 -f nap.sql",
    "-T 2 -P 1 -c 2 -j 2 -R 400 -L 8 -l --max-tries=2 -f long.sql",
    "-T 2 -P 1 -c 2 --max-tries=0 --failures-detailed -l -r -f failing.sql -f nap.sql@3",
    "-T 3 -l --aggregate-interval=1 -f nap.sql",
    "-T 3 -l --aggregate-interval=1 -R 100 -L 50 --max-tries=3 --failures-detailed -f nap.sql -f failing.sql",
    "-T 2 -l --aggregate-interval=1 -c 2 -j 2 -C -f slow.sql",
    "-T 1 -C -c 2 -f slow.sql",
    "-T 1 -c 2 -f broken.sql",
    "-T 1 -R 100 -L 0.001 -l -f nap.sql -r",
];

#[test]
fn progress_and_aggregated_logs_have_the_same_shapes() {
    let Some(mut bench) = Bench::with_databases("timed") else { return };
    bench.execute(
        "create sequence tries;
         create function stumble(every int) returns int language plpgsql as $$
         begin
           if nextval('tries') % every <> 0 then raise exception 'stumbled' using errcode = '40001'; end if;
           return 1;
         end $$",
    );
    for line in LINES {
        let mut case = Case::new(&format!("-n {line}"))
            .file("nap.sql", "\\sleep 5 ms\nselect 1;\n")
            .file("long.sql", "\\sleep 20 ms\nselect 1;\n")
            .file("slow.sql", "\\sleep 50 ms\nselect 1;\n")
            .file("failing.sql", "\\sleep 5 ms\nselect stumble(2);\n")
            .file("broken.sql", "\\sleep 5 ms\n\\if :client_id = 1\nselect 1/0;\n\\endif\n");
        case.arguments.push(DATABASE.to_owned());
        bench.compare(&case, shape::all);
    }
    bench.tally.verdict();
}
