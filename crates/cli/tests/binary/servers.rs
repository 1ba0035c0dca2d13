//! `pgmeter server …`: the life of a named server.
//! What the server crate does when processes are killed is tested there.

use crate::harness::Bench;

#[test]
fn a_named_server_is_made_started_listed_stopped_and_removed() {
    let bench = Bench::new();
    bench.run(["server", "status", "blue"]).exits(1).says(&["blue", "server list"]);
    bench.run(["server", "install", "blue", "--set", "work_mem=7MB"]).exits(0).says(&["server start blue"]);
    bench.run(["server", "install", "blue"]).exits(1).says(&["blue"]);
    let conninfo = bench.run(["server", "start", "blue"]).exits(0).stdout;
    let script = bench.file("one.sql", "SELECT 1;");
    bench.run(["bench", "-n", "-t", "3", "-f", script, conninfo.trim()]).exits(0);
    let settings = bench.record().environment.server.expect("the server was asked").non_default_settings;
    assert_eq!(settings.get("work_mem"), Some("7MB"));
    let status = bench.run(["server", "status", "blue"]).exits(0).stdout;
    assert!(status.contains("running (pid"), "{status}");
    bench.run(["server", "stop", "blue"]).exits(0);
    let list = bench.run(["server", "list"]).exits(0).stdout;
    assert!(list.contains("blue") && list.contains("stopped"), "{list}");
    // Its data have stayed. TCP is there only when asked for, and its password is in a file, not in what is printed.
    let over_tcp = bench.run(["server", "start", "--tcp", "blue"]).exits(0).stdout;
    let file = over_tcp.trim().split(" passfile=").nth(1).expect("the password file is named");
    let line = std::fs::read_to_string(file).expect("it can be read");
    let password = line.trim().rsplit(':').next().expect("it has fields");
    assert!(password.len() >= 32 && !over_tcp.contains(password), "{over_tcp}");
    bench.run(["bench", "-n", "-t", "3", "-f", script, over_tcp.trim()]).exits(0);
    let without = over_tcp.trim().split(" passfile=").next().expect("the rest");
    bench.run(["bench", "-n", "-t", "3", "-f", script, without]).exits(1).says(&["password"]);
    bench.run(["server", "stop", "blue"]).exits(0);
    bench.run(["server", "start", "blue"]).exits(0);
    bench.run(["server", "start", "--tcp", "blue"]).exits(1).says(&["without TCP", "server stop blue"]);
    bench.run(["server", "stop", "--remove", "blue"]).exits(0);
    assert!(bench.servers_left().is_empty());
}
