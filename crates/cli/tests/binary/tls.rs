//! `pgmeter tls`: its document in several formats, and what it says of servers that cannot be scanned. What it finds is
//! tested in its own crate.

use serde_json::Value;
use testkit::certificates::{Authority, SecuredCluster, Wanted};
use testkit::cluster::Cluster;

use crate::harness::Bench;

#[test]
fn a_scan_is_shown_as_text_and_written_as_json_csv_and_junit() {
    let bench = Bench::new();
    let authority = Authority::new("authority");
    let issued = authority.issue(&Wanted { names: &["localhost"], ..Wanted::default() });
    let settings = [("ssl_ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256")];
    let server = SecuredCluster::start_with("18", &issued, &authority, &settings);
    let conninfo = server.cluster.conninfo_tcp();
    let scan = |format: &str| {
        let file = format!("tls.{format}");
        let shown = bench.run(["tls", &conninfo, "--negotiation", "direct", "-o", &file]).exits(0);
        assert!(shown.stdout.contains("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"), "{}", shown.stdout);
        assert!(shown.stdout.contains("sslmode=verify-full fails"), "{}", shown.stdout);
        std::fs::read_to_string(bench.path().join(file)).expect("the report")
    };
    let json: Value = serde_json::from_str(&scan("json")).expect("JSON");
    let way = &json["ways"][0];
    assert_eq!(
        (&json["schema_version"], &way["way"], &way["alpn"]),
        (&1.into(), &"direct".into(), &"postgresql".into())
    );
    let suites = way["suites"].as_array().expect("suites");
    let accepted = |suite: &&Value| suite["outcome"] == "accepted" && suite["chosen_version"] == "TLSv1.2";
    let accepted: Vec<&Value> = suites.iter().filter(accepted).map(|suite| &suite["name"]).collect();
    assert_eq!(accepted, ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"]);
    assert_eq!(json["chains"][0]["certificates"][0]["contents"]["names"][0], "localhost");
    // An address is not the name of the certificate.
    assert_eq!(json["weaknesses"][0]["kind"], "other_host");
    assert!(scan("csv").contains("direct,TLSv1.3,accepted,TLSv1.3,"));
    assert!(scan("xml").contains("tests=\"1\" failures=\"0\""));
}

#[test]
fn a_server_without_tls_is_said_to_have_none() {
    let bench = Bench::new();
    let cluster = Cluster::shared("18");
    for conninfo in [cluster.conninfo_tcp(), cluster.conninfo()] {
        let shown = bench.run(["tls", &conninfo]).exits(0);
        assert!(shown.stdout.starts_with("The server does not offer TLS here:"), "{}", shown.stdout);
        assert!(shown.stdout.contains("TLS not offered"), "{}", shown.stdout);
    }
}

#[test]
fn what_cannot_be_scanned_is_said_before_anything_is_asked() {
    let bench = Bench::new();
    bench.run(["tls", "host=127.0.0.1 port=1"]).exits(1).says(&["127.0.0.1", "port 1"]);
    bench.run(["tls", "host=127.0.0.1", "--timeout", "0"]).exits(1).says(&["--timeout", "more than 0"]);
    bench.run(["tls", "host=127.0.0.1", "--pause", "soon"]).exits(1).says(&["--pause", "soon"]);
    bench.run(["tls", "host=127.0.0.1", "--negotiation", "x"]).exits(1).says(&["postgres", "direct", "both"]);
    bench.run(["tls", "host=127.0.0.1", "-o", "missing/tls.json"]).exits(1).says(&["missing/tls.json"]);
}
