//! Several hosts: unreachable and unsuitable ones are skipped, and the load is distributed. Parsing of host lists is
//! tested in `src/resolve/tests.rs`.

use pgmeter_connect::{HostOrder, Session};
use testkit::closed_port::ClosedPort;
use testkit::cluster::Cluster;

use crate::support::{ask, refusal, session, target};

/// The port of a server.
fn port(cluster: &Cluster) -> String {
    ask(&mut session(&cluster.conninfo()), "show port")
}

#[test]
fn a_dead_host_is_passed_over_and_named_if_all_are_dead() {
    let (closed, alive) = (ClosedPort::take(), port(Cluster::shared("18")));
    let dead = closed.number();
    let password = Cluster::shared("18").password();
    let hosts = format!("host=127.0.0.1,127.0.0.1 user=postgres dbname=postgres password={password}");
    let mut found = session(&format!("{hosts} port={dead},{alive}"));
    assert_eq!(ask(&mut found, "show port"), alive);
    let why = refusal(&format!("{hosts} port={dead}"));
    assert_eq!(why.matches("connection refused").count(), 2, "{why}");
}

#[test]
fn a_server_that_will_not_do_is_left_for_the_next() {
    let (new, old) = (Cluster::shared("18"), Cluster::shared("9.6"));
    for (reluctant, willing) in [(new, old), (old, new)] {
        // One server of each pair is read-only for this role.
        for cluster in [reluctant, willing] {
            cluster.execute(
                "do $$ begin if not exists (select from pg_roles where rolname = 'reader') then \
                 create role reader login superuser password 'secret'; end if; end $$",
            );
        }
        reluctant.execute("alter role reader set default_transaction_read_only = on");
        willing.execute("alter role reader reset default_transaction_read_only");
        let hosts = format!(
            "host=127.0.0.1,127.0.0.1 port={},{} user=reader password=secret dbname=postgres",
            port(reluctant),
            port(willing)
        );
        let found = |wanted: &str| {
            let text = format!("{hosts} target_session_attrs={wanted}");
            ask(&mut session(&text), "show port")
        };
        assert_eq!(found("any"), port(reluctant));
        assert_eq!(found("read-write"), port(willing));
        assert_eq!(found("read-only"), port(reluctant));
        assert_eq!(found("primary"), port(reluctant));
        assert_eq!(found("prefer-standby"), port(reluctant));
        let why = refusal(&format!("{hosts} target_session_attrs=standby"));
        assert_eq!(why.matches("it is not a standby").count(), 2, "{why}");
        assert!(why.ends_with("target_session_attrs selects the acceptable servers"), "{why}");
    }
}

#[test]
fn sessions_are_spread_over_hosts_in_an_order_that_can_be_repeated() {
    let ports = ["18", "9.6"].map(|version| {
        let cluster = Cluster::shared(version);
        cluster.execute("create role wanderer login password 'secret'");
        port(cluster)
    });
    let mut target = target(&format!(
        "host=127.0.0.1,127.0.0.1 port={},{} user=wanderer password=secret dbname=postgres",
        ports[0], ports[1]
    ));
    let mut found = |seed: u64| {
        target.host_order = HostOrder::Seeded(seed);
        ask(&mut Session::connect(&target).unwrap(), "show port")
    };
    let drawn: Vec<_> = (0..16).map(&mut found).collect();
    assert!(ports.iter().all(|port| drawn.contains(port)), "{drawn:?}");
    assert_eq!((0..16).map(&mut found).collect::<Vec<_>>(), drawn);
}
