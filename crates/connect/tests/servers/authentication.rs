//! Password authentication: missing passwords, channel binding, and accepted methods. `wire` tests the exchanges byte
//! by byte; the prompt belongs to the command line.

use pgmeter_connect::{Password, Session};
use testkit::certificates::{Authority, SecuredCluster, Wanted};
use testkit::cluster::Cluster;

use crate::support::{refusal, session, target};

#[test]
fn a_password_is_added_once_the_server_has_asked_for_it() {
    let cluster = Cluster::start("18");
    cluster.execute("create role guest login password 'secret'");
    cluster.admit("host all all 127.0.0.1/32 scram-sha-256");
    let target = target(&cluster.conninfo_tcp().replace("user=postgres", "user=guest"));
    let failure = Session::connect(&target).unwrap_err();
    assert!(failure.is_password_needed(), "{failure}");
    let target = target.with_password(Password::new("secret"));
    for _ in 0..2 {
        Session::connect(&target).unwrap();
    }
    let failure = Session::connect(&target.with_password(Password::new("wrong"))).unwrap_err();
    assert!(!failure.is_password_needed() && failure.to_string().contains("password authentication failed"));
}

#[test]
fn scram_is_bound_to_tls_where_that_is_demanded() {
    let authority = Authority::new("authority");
    let shown = authority.issue(&Wanted { names: &["localhost"], ..Wanted::default() });
    let server = SecuredCluster::start("18", &shown, &authority);
    server.cluster.execute("create role guest login password 'secret'");
    server.cluster.execute("set password_encryption = 'md5'; create role old login password 'secret'");
    server.cluster.admit("host all guest 127.0.0.1/32 scram-sha-256\nhost all old 127.0.0.1/32 md5");
    let tcp = server.cluster.conninfo_tcp();
    let guest = format!("{} password=secret", tcp.replace("user=postgres", "user=guest"));
    for binding in ["disable", "prefer", "require"] {
        session(&format!("{guest} sslmode=require channel_binding={binding}"));
    }
    let plain = refusal(&format!("{guest} sslmode=disable channel_binding=require"));
    assert!(
        plain.contains("channel_binding=require cannot be satisfied: the connection does not use TLS"),
        "{plain}"
    );
    let old = format!("{} password=secret", tcp.replace("user=postgres", "user=old"));
    session(&format!("{old} sslmode=require"));
    let unbound = refusal(&format!("{old} sslmode=require channel_binding=require"));
    assert!(unbound.contains("authentication method without it"), "{unbound}");
    let demanded = refusal(&format!("{old} require_auth=scram-sha-256"));
    assert!(demanded.contains("requests MD5 authentication, which require_auth=scram-sha-256"), "{demanded}");
    session(&format!("{guest} require_auth=!md5,!password"));
    let trusting = refusal(&format!("{} require_auth=scram-sha-256", server.cluster.conninfo()));
    assert!(trusting.contains("the server requires no authentication"), "{trusting}");
}
