//! Quirks of log files: what their lines hold and which lines are missing. The report has its own tests beside this
//! file.

use crate::quirks::harness::{Desk, Who};

#[test]
fn quirk_03_skipped_transactions_have_no_lag_and_numbers_begin_at_1() {
    let desk = Desk::new("quirk_03");
    // A thousand are due in each second, and each takes a fiftieth: nearly all come too late.
    let script = "\\sleep 20 ms\nselect 1;\n";
    desk.run(Who::Pgbench, "-t 60 -R 1000 -L 5 -l --random-seed 1", script).exits(0);
    let logs = desk.logs();
    let lines: Vec<Vec<&str>> = logs[0].1.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines.len(), 60);
    let numbers: Vec<&str> = lines.iter().map(|fields| fields[1]).collect();
    assert_eq!(numbers, (1..=60).map(|number: u32| number.to_string()).collect::<Vec<_>>());
    let skipped: Vec<&Vec<&str>> = lines.iter().filter(|fields| fields[2] == "skipped").collect();
    assert!(!skipped.is_empty(), "{}", logs[0].1);
    assert!(skipped.iter().all(|fields| fields[6] == "0"), "{}", logs[0].1);
}

#[test]
fn quirk_11_the_last_interval_is_lost_and_each_thread_has_a_file() {
    let desk = Desk::new("quirk_11");
    // The first interval is not over when the run is.
    let run = desk.run(Who::Pgbench, "-c 2 -j 2 -t 5 -l --aggregate-interval=3600", "select 1;\n").exits(0);
    run.says(&["number of transactions actually processed: 10/10"]);
    let logs = desk.logs();
    let names: Vec<&str> = logs.iter().map(|(thread, _)| thread.as_str()).collect();
    assert_eq!(names, ["0", "1"]);
    assert!(logs.iter().all(|(_, contents)| contents.is_empty()), "{logs:?}");
}
