//! PostgreSQL 18 and 9.6 with TLS.
//! Each has a certificate for ECDSA on P-256 that the test makes.

use pgmeter_tls_scan::{KeyExchange, Outcome, Version, Way, WeaknessKind};
use testkit::certificates::{Authority, Issued, SecuredCluster, Wanted};
use testkit::cluster::Cluster;

use crate::{BOTH, outcome, scanned, suites, versions};

fn issued(authority: &Authority, names: &[&str]) -> Issued {
    authority.issue(&Wanted { names, ..Wanted::default() })
}

fn by_name(server: &SecuredCluster) -> String {
    server.cluster.conninfo_tcp().replace("host=127.0.0.1", "host=localhost hostaddr=127.0.0.1")
}

#[test]
fn a_scan_finds_the_versions_and_suites_that_the_settings_allow_by_both_ways() {
    let authority = Authority::new("authority");
    let settings = [
        ("ssl_min_protocol_version", "TLSv1.2"),
        ("ssl_ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-SHA"),
        ("ssl_tls13_ciphers", "TLS_AES_256_GCM_SHA384"),
        ("ssl_groups", "secp384r1"),
    ];
    let server = SecuredCluster::start_with("18", &issued(&authority, &["localhost"]), &authority, &settings);
    let scan = scanned(&by_name(&server), &BOTH);
    assert_eq!(scan.ways.len(), 2);
    for way in &scan.ways {
        assert_eq!(versions(way), [Version::V12, Version::V13], "{:?}", way.way);
        assert_eq!(
            suites(way),
            [
                "TLS_AES_256_GCM_SHA384",
                "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
                "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
            ]
        );
        for (suite, accepted) in way.accepted_suites() {
            let expected = KeyExchange::Group { name: "secp384r1".to_owned(), bits: 384 };
            assert_eq!(accepted.key_exchange.as_ref(), Some(&expected), "{}", suite.name);
            assert_eq!(accepted.suite, suite.name);
        }
        assert_eq!(way.alpn.as_deref(), Some("postgresql"));
        for version in [Version::V10, Version::V11] {
            assert!(
                matches!(outcome(way, version), Outcome::Alert { alert: 70, .. }),
                "{:?}",
                outcome(way, version)
            );
        }
        // One connection for each version and suite, and one for the certificates.
        assert_eq!(way.connections as usize, 4 + way.suites.len() + 1);
        let others = way.suites.iter().filter(|finding| finding.outcome.accepted().is_none());
        for other in others {
            assert!(matches!(other.outcome, Outcome::Alert { alert: 40, .. }), "{other:?}");
        }
    }
    let kinds: Vec<WeaknessKind> = scan.weaknesses.iter().map(|weakness| weakness.kind).collect();
    assert_eq!(kinds, [WeaknessKind::Cbc]);
    let [chain] = scan.chains.as_slice() else { panic!("{:?}", scan.chains) };
    assert_eq!(chain.names_of_another_host, None);
    let own = chain.certificates[0].contents.as_ref().expect("a certificate");
    assert_eq!(own.names, ["localhost"]);
    assert_eq!(own.key.algorithm, "EC secp256r1");
    assert!(!own.self_issued);
}

#[test]
fn a_server_with_tls_1_3_alone_shows_its_certificate_and_refuses_older_versions() {
    let authority = Authority::new("authority");
    let settings = [("ssl_min_protocol_version", "TLSv1.3")];
    let server = SecuredCluster::start_with("18", &issued(&authority, &["other"]), &authority, &settings);
    let scan = scanned(&by_name(&server), &[Way::SslRequest]);
    let [way] = scan.ways.as_slice() else { panic!("one way") };
    assert_eq!(versions(way), [Version::V13]);
    assert!(way.alpn_is_known);
    assert!(suites(way).iter().all(|name| !name.contains("_WITH_")) && suites(way).len() >= 2, "{way:?}");
    assert_eq!(way.alpn.as_deref(), Some("postgresql"));
    let older = way.suites.iter().filter(|finding| finding.name.contains("_WITH_"));
    assert!(older.clone().count() > 300);
    older.for_each(|finding| assert_eq!(finding.outcome, Outcome::NotInVersions, "{}", finding.name));
    assert_eq!(scan.chains[0].names_of_another_host.as_deref(), Some(&["other".to_owned()][..]));
    assert!(scan.weaknesses.iter().any(|weakness| weakness.kind == WeaknessKind::OtherHost));
}

/// The old server accepts TLS 1.0 to 1.2 by default, if its OpenSSL does.
#[test]
fn an_old_server_closes_direct_connections_and_has_no_alpn() {
    let authority = Authority::new("authority");
    let server = SecuredCluster::start("9.6", &issued(&authority, &["localhost"]), &authority);
    let scan = scanned(&by_name(&server), &BOTH);
    let [by_request, direct] = scan.ways.as_slice() else { panic!("two ways") };
    assert!(versions(by_request).contains(&Version::V12));
    assert_eq!((by_request.alpn.as_deref(), by_request.alpn_is_known), (None, true));
    assert!(!direct.alpn_is_known);
    assert!(!suites(by_request).is_empty());
    assert_eq!(versions(direct), []);
    for (version, ..) in Version::ALL {
        assert_eq!(outcome(direct, version), &Outcome::Closed);
    }
    // No version, so no suite is asked for.
    assert_eq!((direct.connections, direct.suites.len()), (4, 0));
}

#[test]
fn a_server_without_tls_and_a_unix_socket_offer_none() {
    let cluster = Cluster::shared("18");
    for conninfo in [cluster.conninfo_tcp(), cluster.conninfo()] {
        let scan = scanned(&conninfo, &[Way::SslRequest]);
        let way = &scan.ways[0];
        for (version, ..) in Version::ALL {
            assert_eq!(outcome(way, version), &Outcome::NotOffered, "{conninfo}");
        }
        assert!(way.suites.is_empty() && scan.chains.is_empty() && scan.weaknesses.is_empty());
    }
}
