//! The engine with TLS, against PostgreSQL: many clients on one and two workers, channel binding, replies and
//! statements larger than a record, and a new connection for each transaction.

use std::sync::atomic::AtomicBool;

use connect::{Environment, Overrides, Session, resolve};
use pgmeter_engine::{HostPlan, Limit, Outcome, Plan, Protocol, ScriptPlan, TargetPlan, no_tracer, run};
use script::{Dialect, Symbols};
use testkit::certificates::{Authority, SecuredCluster, Wanted};
use testkit::cluster::Cluster;

const CLIENTS: usize = 8;

/// Each client runs the script ten times, with the parameters that a control session determined.
fn plan(conninfo: &str, script: &str) -> Plan {
    let target = resolve(Some(conninfo), &Overrides::default(), &Environment::default()).expect("a target");
    let session = Session::connect(&target).unwrap_or_else(|error| panic!("{error}"));
    let mut symbols = Symbols::new();
    let program = script::parse("script.sql", script.as_bytes(), &mut symbols, Dialect::Extended);
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    Plan {
        clients: CLIENTS,
        seed: 42,
        event_loop: super::EVENT_LOOP,
        ..Plan::new(
            vec![TargetPlan {
                name: String::new(),
                hosts: vec![HostPlan {
                    address: session.address().clone(),
                    transport: session.transport().clone(),
                    startup: target.startup_parameters(target.host_of(session.address())),
                }],
            }],
            vec![ScriptPlan { program, weight: 1, target: 0 }],
            symbols,
        )
    }
}

fn complete(plan: &Plan) -> Outcome {
    let outcome = run(plan, &AtomicBool::new(false), &mut |_| {}, &no_tracer);
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.aborted, []);
    let Limit::TransactionsPerClient(count) = plan.limit else { panic!("a number was asked for") };
    assert_eq!(outcome.summary.total.counts.succeeded, count * CLIENTS as u64);
    outcome
}

/// Fails unless the connection is encrypted.
const ENCRYPTED: &str = "SELECT 1 / ssl::int FROM pg_stat_ssl WHERE pid = pg_backend_pid();\n";

#[test]
fn clients_run_through_tls_with_passwords_bound_to_it_in_every_protocol() {
    let authority = Authority::new("authority");
    let shown = authority.issue(&Wanted { names: &["localhost"], ..Wanted::default() });
    for major in Cluster::versions(["18", "9.6"]) {
        let server = SecuredCluster::start(major, &shown, &authority);
        let root = server.write("root.crt", &authority.certificate());
        server.cluster.execute("create role guest login password 'secret'");
        let method = if major == "18" { "scram-sha-256" } else { "md5" };
        server.cluster.admit(&format!("hostssl all all 127.0.0.1/32 {method}"));
        let binding = if major == "18" { "require" } else { "prefer" };
        let conninfo = format!(
            "{} password=secret sslmode=verify-full sslrootcert={} channel_binding={binding}",
            server
                .cluster
                .conninfo_tcp()
                .replace("host=127.0.0.1", "host=localhost hostaddr=127.0.0.1")
                .replace("user=postgres", "user=guest"),
            root.display()
        );
        for (protocol, workers) in [(Protocol::Simple, 1), (Protocol::Extended, 2), (Protocol::Prepared, 1)] {
            complete(&Plan { protocol, workers, ..plan(&conninfo, ENCRYPTED) });
        }
        complete(&Plan { reconnect: true, ..plan(&conninfo, ENCRYPTED) });
        let large = format!(
            "{ENCRYPTED}SELECT repeat('x', 100000) FROM generate_series(1, 4);\n\
             SELECT length('{}');\n",
            "y".repeat(300_000)
        );
        for protocol in [Protocol::Simple, Protocol::Extended] {
            complete(&Plan { protocol, limit: Limit::TransactionsPerClient(2), ..plan(&conninfo, &large) });
        }
    }
}

#[test]
fn a_server_that_no_longer_can_be_believed_is_told_by_name() {
    let authority = Authority::new("authority");
    let shown = authority.issue(&Wanted { names: &["localhost"], ..Wanted::default() });
    let server = SecuredCluster::start("18", &shown, &authority);
    let conninfo = format!("{} sslmode=require", server.cluster.conninfo_tcp());
    let mut plan = plan(&conninfo, ENCRYPTED);
    let root = server.write("root.crt", &Authority::new("other").certificate());
    let doubting = format!("{conninfo} sslrootcert={}", root.display());
    let target = resolve(Some(&doubting), &Overrides::default(), &Environment::default()).expect("a target");
    plan.targets[0].hosts[0].transport.tls = Some(connect::Tls::new(&target.tls).expect("files"));
    let error = run(&plan, &AtomicBool::new(false), &mut |_| {}, &no_tracer).expect_err("nobody is believed");
    assert!(error.to_string().contains("the server's certificate is not trusted"), "{error}");
    // No TLS at the other end.
    server.cluster.execute("alter system set ssl = off");
    server.cluster.execute("select pg_reload_conf()");
    let target = resolve(Some(&conninfo), &Overrides::default(), &Environment::default()).expect("a target");
    while Session::connect(&target).is_ok() {
        testkit::condition::pause();
    }
    let error =
        run(&plan, &AtomicBool::new(false), &mut |_| {}, &no_tracer).expect_err("does not support TLS");
    assert!(error.to_string().contains("the server does not support TLS"), "{error}");
}
