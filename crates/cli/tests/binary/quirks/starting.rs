//! Quirks of beginning and end: databases, tables, connecting, preparing, interrupting. Some wait for the server to say
//! what a program does.

use std::process::Command;

use testkit::cluster::Cluster;
use testkit::condition::pause;

use crate::quirks::harness::{BOTH, Desk, Finished, Who, finish, let_children_be_interrupted, start};

/// Where the shared server listens, as options.
fn address(desk: &Desk) -> String {
    let value = |key: &str| {
        let word = desk.conninfo.split_whitespace().find_map(|word| word.strip_prefix(key));
        word.expect("it is in the connection string").to_owned()
    };
    format!("-h {} -p {}", value("host="), value("port="))
}

#[test]
fn quirk_04_the_role_does_not_choose_the_database() {
    let desk = Desk::new("quirk_04");
    let output = Command::new("id").arg("-un").output().expect("there is id");
    let user = String::from_utf8(output.stdout).expect("names are text").trim().to_owned();
    let cluster = Cluster::shared("18");
    cluster.execute("create role quirk_04 superuser login");
    for database in [&user, "quirk_04"] {
        let exists = desk.ask(&format!("select 1 from pg_database where datname = '{database}'"));
        if exists.is_empty() {
            cluster.execute(&format!("create database \"{database}\""));
        }
    }
    for (who, database) in [(Who::Pgbench, user.as_str()), (Who::Bench, "quirk_04")] {
        let script =
            format!("do $$ begin assert current_database() = '{database}', current_database(); end $$;\n");
        std::fs::write(desk.path().join("where.sql"), script).expect("a file can be written");
        let arguments = format!("-n -t 1 -f where.sql -U quirk_04 {}", address(&desk));
        finish(&mut desk.command(who, &arguments)).exits(0);
    }
}

#[test]
fn quirk_05_only_the_partitions_are_unlogged() {
    let desk = Desk::new("quirk_05");
    let kinds = "select relpersistence, string_agg(relname, ' ' order by relname) from pg_class
                 where relname like 'pgbench%' and relkind = 'r' group by 1 order by 1";
    let mut command = desk.command(Who::Pgbench, "-i -I dt --unlogged-tables --partitions=2");
    finish(command.arg(&desk.conninfo)).exits(0);
    let logged = "p|pgbench_branches pgbench_history pgbench_tellers";
    assert_eq!(desk.ask(kinds), [logged, "u|pgbench_accounts_1 pgbench_accounts_2"]);

    desk.pgmeter("init -I dt --unlogged-tables --partitions=2").exits(0);
    let all = "u|pgbench_accounts_1 pgbench_accounts_2 pgbench_branches pgbench_history pgbench_tellers";
    assert_eq!(desk.ask(kinds), [all]);
}

/// A script that tells when its session began and when it ran.
const WHEN: &str = "insert into seen select backend_start, clock_timestamp() from pg_stat_activity \
                    where pid = pg_backend_pid();\n";

#[test]
fn quirk_09_the_time_counts_from_before_connecting_and_a_connect_stops_nobody() {
    let desk = Desk::new("quirk_09");
    // Every connection that asks for it takes longer than the run. A signal would end post_auth_delay early.
    desk.execute(
        "create table seen (began timestamptz, ran timestamptz);
         create function wait() returns event_trigger language plpgsql as
           $$ begin perform pg_sleep(current_setting('quirk.delay', true)::float); end $$;
         create event trigger wait on login execute function wait()",
    );
    let run = |who: Who, arguments: &str| {
        let mut command = desk.prepare(who, arguments, WHEN);
        finish(command.env("PGOPTIONS", "-c quirk.delay=1.1")).exits(0)
    };
    run(Who::Pgbench, "-T 1").says(&["number of transactions actually processed: 0\n"]);
    assert_eq!(desk.ask("select count(*) from seen"), ["0"]);
    run(Who::Bench, "-T 1");
    assert_eq!(desk.ask("select count(*) > 0 from seen"), ["t"]);

    for who in BOTH {
        desk.execute("truncate seen");
        run(who, "-C -c 3 -t 1");
        let apart = "select count(*) from seen a, seen b where a.ran < b.began";
        assert_eq!(
            desk.ask(apart),
            ["0"],
            "{who:?}: a client began to connect only when another was through"
        );
    }
}

#[test]
fn quirk_10_a_failed_prepare_is_taken_as_done_and_preparing_stops_nobody() {
    for who in BOTH {
        let desk = Desk::new("quirk_10");
        let failed = desk.run(who, "-t 1 -M prepared", "select nosuch;\n").fails();
        failed.says(&["column \"nosuch\" does not exist"]);

        // The first client cannot even prepare its statement until the second is through.
        desk.execute("create table locked (x int); create table seen (client int)");
        let script = "\\if :client_id = 0\nselect count(*) from locked;\n\\else\n\
                      insert into seen values (:client_id);\n\\endif\n";
        let mut holder = desk.session();
        holder.execute("begin; lock table locked").expect("nobody else has it");
        let mut child = start(&mut desk.prepare(who, "-c 2 -t 1 -M prepared", script));
        while desk.ask("select * from seen").is_empty() {
            assert!(child.try_wait().expect("the child is ours").is_none(), "it ended while one had to wait");
            pause();
        }
        holder.execute("commit").expect("it is ours");
        Finished::of(child).exits(0);
    }
}

#[test]
fn quirk_20_ctrl_c_ends_the_drop_in_at_once_and_bench_cancels_and_reports() {
    let_children_be_interrupted();
    let script = "select 'quirk 20', pg_sleep(600);\n";
    let asleep = "select pid from pg_stat_activity where state = 'active' and query like 'select ''quirk 20%'
                  and datname = current_database()";
    for who in BOTH {
        let desk = Desk::new("quirk_20");
        let child = start(&mut desk.prepare(who, "-t 1", script));
        while desk.ask(asleep).is_empty() {
            pause();
        }
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("the child is still ours");
        let ended = Finished::of(child);
        match who {
            Who::Pgbench => {
                use std::os::unix::process::ExitStatusExt;
                assert_eq!(ended.status.signal(), Some(2), "{ended:?}");
                assert!(!ended.stdout.contains("transaction type"), "{}", ended.stdout);
                assert_eq!(desk.ask(asleep).len(), 1, "its query does not go on");
                desk.execute(&asleep.replace("select pid", "select pg_terminate_backend(pid)"));
            }
            Who::Bench => {
                assert_eq!(ended.status.code(), Some(130), "{ended:?}");
                assert!(ended.stdout.contains("0 succeeded"), "{}", ended.stdout);
                while !desk.ask(asleep).is_empty() {
                    pause();
                }
            }
        }
    }
}
