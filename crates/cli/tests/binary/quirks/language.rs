//! Quirks of scripts and options: expressions, variables, what is sent in place of them, random states. Each test runs
//! against a real server.

use crate::quirks::harness::{BOTH, Desk, Who};

#[test]
fn quirk_01_a_retry_restores_the_random_state_and_not_the_variables() {
    for who in BOTH {
        let desk = Desk::new("quirk_01").with_stumbling();
        desk.execute("create table seen (step serial, kept int, drawn int)");
        // The insert commits by itself, so what a failed try had is seen.
        let script = "\\set kept :kept + 1\n\\set drawn random(1, 1000000000)\n\
                      insert into seen (kept, drawn) values (:kept, :drawn);\nselect stumble(3, '40001');\n";
        desk.run(who, "-t 1 --max-tries 5 -D kept=0", script).exits(0);
        let kept =
            desk.ask("select string_agg(kept::text, ' ' order by step), count(distinct drawn) from seen");
        assert_eq!(kept, ["1 2 3|1"], "{who:?}");
    }
}

#[test]
fn quirk_02_numbers_are_no_truth_values_and_truth_values_cannot_be_compared() {
    for who in BOTH {
        let desk = Desk::new("quirk_02");
        let one = |script: &str, words: &str| desk.run(who, "-t 1", script).fails().says(&[words]);
        one("\\set x 5 or 0\n", "cannot coerce int to boolean");
        one("\\set x true = true\n", "cannot coerce boolean to int");
    }
}

#[test]
fn quirk_06_null_from_a_query_is_empty_text_that_no_expression_takes() {
    for who in BOTH {
        let desk = Desk::new("quirk_06");
        desk.execute("create table seen (word text)");
        for capture in ["gset", "aset"] {
            let script =
                format!("select null as x \\{capture}\ninsert into seen values (':x');\n\\set y :x + 1\n");
            // pgbench says only that the evaluation failed.
            desk.run(who, "-t 1", &script).fails().says(&["variable \"x\" is empty", "aborted in command 2"]);
        }
        assert_eq!(desk.ask("select count(*), min(length(word)), max(length(word)) from seen"), ["2|0|0"]);
    }
}

#[test]
fn quirk_21_a_name_that_ends_the_script_ends_there() {
    for who in BOTH {
        let desk = Desk::new("quirk_21");
        desk.execute("create function seen(int) returns int language sql as 'select $1'");
        // pgbench sends a byte more than the script has, and the server refuses what it is sent.
        for protocol in ["simple", "extended", "prepared"] {
            desk.run(who, &format!("-t 2 -D x=7 -M {protocol}"), "select :x").exits(0);
            desk.run(who, &format!("-t 1 -D x=7 -M {protocol}"), "select seen(:x)\nwhere 7 = :x").exits(0);
        }
    }
}

#[test]
fn quirk_07_a_name_inside_a_string_literal_is_replaced_in_simple_mode_and_a_parameter_in_others() {
    for who in BOTH {
        let desk = Desk::new("quirk_07");
        desk.execute("create table seen (word text)");
        let script = "insert into seen values ('a:bc');\n";
        desk.run(who, "-t 1 -D bc=XY", script).exits(0);
        assert_eq!(desk.ask("select * from seen"), ["aXY"]);
        for protocol in ["extended", "prepared"] {
            let run = desk.run(who, &format!("-t 1 -D bc=XY -M {protocol}"), script).fails();
            run.says(&["bind message supplies 1 parameters", "requires 0"]);
        }
        assert_eq!(desk.ask("select * from seen"), ["aXY"]);
    }
}

#[test]
fn quirk_08_as_a_parameter_a_null_variable_is_a_word_and_an_undefined_one_is_null_or_refused_by_bench() {
    for who in BOTH {
        let desk = Desk::new("quirk_08");
        desk.execute("create table seen (undefined text, nothing text)");
        let script = "\\set nothing null\ninsert into seen values (:undefined, :nothing);\n";
        for protocol in ["extended", "prepared"] {
            let options = format!("-t 1 -M {protocol}");
            match who {
                Who::Pgbench => drop(desk.run(who, &options, script).exits(0)),
                Who::Bench => drop(desk.run(who, &options, script).fails().says(&["undefined variable"])),
            }
            let script = "\\set nothing null\ninsert into seen values (null, :nothing);\n";
            desk.run(who, &options, script).exits(0);
        }
        let expected = match who {
            Who::Pgbench => vec!["(null)|NULL"; 4],
            Who::Bench => vec!["(null)|NULL"; 2],
        };
        assert_eq!(desk.ask("select * from seen"), expected);
    }
}

#[test]
fn quirk_12_some_options_take_what_is_no_number() {
    let desk = Desk::new("quirk_12").with_stumbling();
    let script = "select stumble(5, '40001');\n";
    let unlimited = desk.run(Who::Pgbench, "-t 1 -L 100000 --max-tries=x", script).exits(0);
    unlimited.says(&["total number of retries: 4"]).says_not(&["maximum number of tries"]);
    let numeric_part = desk.run(Who::Pgbench, "-t 1 -L 10abc", "select 1;\n").exits(0);
    numeric_part.says(&["above the 10.0 ms latency limit"]);
    for words in ["--max-tries=x", "-L 10abc"] {
        desk.run(Who::Bench, &format!("-t 1 {words}"), "select 1;\n").fails().says(&["invalid value"]);
    }
}

#[test]
fn quirk_13_long_sleeps_are_slept_and_the_drop_in_cuts_numbers_from_the_shell_to_32_bits() {
    for (who, kept) in [(Who::Pgbench, "2"), (Who::Bench, "4294967298")] {
        let desk = Desk::new("quirk_13");
        desk.execute("create table seen (word text)");
        desk.run(who, "-t 1", "\\setshell x echo 4294967298\ninsert into seen values (':x');\n").exits(0);
        assert_eq!(desk.ask("select * from seen"), [kept]);

        // 2148 s do not fit into 32 bits of microseconds.
        let script =
            "insert into seen values ('before');\n\\sleep 2148 s\ninsert into seen values ('behind');\n";
        let mut child = crate::quirks::harness::start(&mut desk.prepare(who, "-t 1", script));
        while desk.ask("select 1 from seen where word = 'before'").is_empty() {
            assert!(child.try_wait().expect("the child is ours").is_none(), "it ended too soon");
            testkit::condition::pause();
        }
        // Whoever does not sleep needs less than this.
        desk.ask("select pg_sleep(0.3)");
        let behind = desk.ask("select 1 from seen where word = 'behind'");
        child.kill().expect("the child is ours");
        child.wait().expect("it is dead now");
        assert!(behind.is_empty(), "it did not sleep");
    }
}

#[test]
fn quirk_17_each_client_has_a_random_state_of_its_own() {
    for who in BOTH {
        let desk = Desk::new("quirk_17");
        desk.execute("create table seen (step serial, client int, drawn int)");
        let script = "\\set drawn random(1, 1000000000)\ninsert into seen (client, drawn) values (:client_id, :drawn);\n";
        let drawn = |jobs: u32| {
            desk.run(who, &format!("-c 4 -j {jobs} -t 5 --random-seed 42"), script).exits(0);
            let rows = desk.ask("select client, drawn from seen order by client, step");
            desk.execute("truncate seen");
            rows
        };
        let (one, two, four) = (drawn(1), drawn(2), drawn(4));
        assert_eq!(one.len(), 20);
        assert_eq!(one, two);
        assert_eq!(one, four);
    }
}
