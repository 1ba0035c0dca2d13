//! TLS: every mode with servers that support it and servers that do not, trusted certificates, client certificates,
//! negotiation. Workloads over TLS are tested with the engine.

use testkit::certificates::{Authority, Issued, SecuredCluster, Wanted};
use testkit::cluster::Cluster;

use crate::support::{ask, enter, is_encrypted, refusal, session};

const MODES: [&str; 6] = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];
const MAJORS: [&str; 2] = ["18", "9.6"];

/// A certificate for `localhost`.
fn local(authority: &Authority) -> Issued {
    authority.issue(&Wanted { names: &["localhost"], ..Wanted::default() })
}

/// Connection string with the host name `localhost`.
fn by_name(server: &SecuredCluster) -> String {
    server.cluster.conninfo_tcp().replace("host=127.0.0.1", "host=localhost hostaddr=127.0.0.1")
}

#[test]
fn a_server_without_tls_is_entered_unless_tls_is_asked_for() {
    for major in Cluster::versions(MAJORS) {
        let conninfo = Cluster::shared(major).conninfo_tcp();
        for mode in MODES {
            let text = format!("{conninfo} sslmode={mode} sslrootcert=");
            if matches!(mode, "disable" | "allow" | "prefer") {
                assert!(!is_encrypted(&mut session(&text)), "{major} {mode}");
            } else if mode == "require" {
                assert!(refusal(&text).contains("the server does not support TLS, which sslmode requires"));
            } else {
                assert!(refusal(&text).contains("no file of trusted certificates"), "{}", refusal(&text));
            }
        }
        let unix = format!("{} sslmode=verify-full", Cluster::shared(major).conninfo());
        assert!(!is_encrypted(&mut session(&unix)), "Unix sockets need no TLS");
    }
}

#[test]
fn a_server_with_tls_is_entered_in_every_mode_and_believed_by_its_certificate() {
    for major in Cluster::versions(MAJORS) {
        let authority = Authority::new("authority");
        let server = SecuredCluster::start(major, &local(&authority), &authority);
        let root = server.write("root.crt", &authority.certificate());
        let wrong = server.write("wrong.crt", &Authority::new("authority").certificate());
        let (name, address) = (by_name(&server), server.cluster.conninfo_tcp());
        for mode in MODES {
            let text = format!("{name} sslmode={mode}");
            let trusting = format!("{text} sslrootcert={}", root.display());
            let is_plain = matches!(mode, "disable" | "allow");
            assert_eq!(is_encrypted(&mut session(&trusting)), !is_plain, "{major} {mode}");
            let doubting = format!("{text} sslrootcert={}", wrong.display());
            match mode {
                // As in libpq, an untrusted server counts as unencrypted in these modes.
                "disable" | "allow" | "prefer" => {
                    assert!(!is_encrypted(&mut session(&doubting)), "{major} {mode}")
                }
                _ => {
                    let why = refusal(&doubting);
                    assert!(why.contains("the server's certificate is not trusted"), "{major} {mode}: {why}");
                }
            }
            let by_address = format!("{address} sslmode={mode} sslrootcert={}", root.display());
            if mode == "verify-full" {
                let why = refusal(&by_address);
                assert!(why.contains("is not for the host \"127.0.0.1\": it is for localhost"), "{why}");
            } else {
                assert_eq!(is_encrypted(&mut session(&by_address)), !is_plain, "{major} {mode}");
            }
        }
        assert!(is_encrypted(&mut session(&format!("{address} sslmode=require"))), "nobody is asked for");
        let missing = refusal(&format!("{name} sslmode=require sslrootcert=/nowhere/root.crt"));
        assert!(
            missing.contains("the file of trusted certificates /nowhere/root.crt does not exist"),
            "{missing}"
        );
        large_answers_and_copies_pass(&format!("{name} sslmode=require"));
        server.cluster.admit("hostssl all all 127.0.0.1/32 trust");
        assert!(is_encrypted(&mut session(&format!("{address} sslmode=allow"))), "{major}: plain is refused");
        server.cluster.admit("hostnossl all all 127.0.0.1/32 trust");
        assert!(!is_encrypted(&mut session(&format!("{address} sslmode=prefer"))), "{major}: TLS is refused");
        assert!(refusal(&format!("{address} sslmode=require")).contains("pg_hba.conf"));
    }
}

/// Larger than all buffers of the connection, in both directions, and a cancel request.
fn large_answers_and_copies_pass(conninfo: &str) {
    use std::io::Write;
    let mut session = session(conninfo);
    let rows = session.query("select repeat('x', 1000) from generate_series(1, 3000)").unwrap();
    assert_eq!(rows.len(), 3000);
    session.execute("create temp table t (x text)").unwrap();
    let mut copy = session.copy_in("copy t from stdin").unwrap();
    for _ in 0..3000 {
        writeln!(copy, "{}", "y".repeat(1000)).unwrap();
    }
    assert_eq!(copy.finish().unwrap(), 3000);
    assert_eq!(ask(&mut session, "select sum(length(x)) from t"), "3000000");
    let (address, transport, key) =
        (session.address().clone(), session.transport().clone(), session.cancel_key());
    let cancelled = std::thread::spawn(move || session.execute("select pg_sleep(600)").unwrap_err());
    // A request may arrive before the statement starts.
    while !cancelled.is_finished() {
        pgmeter_connect::cancel(&address, &transport, &key).unwrap();
        testkit::condition::pause();
    }
    assert_eq!(cancelled.join().unwrap().sqlstate().unwrap().as_str(), "57014");
}

#[test]
fn certificates_that_are_no_good_are_told_apart() {
    let authority = Authority::new("authority");
    let check = |shown: &Issued, mode: &str, revoked: Option<String>, expected: &str| {
        let server = SecuredCluster::start("18", shown, &authority);
        let root = server.write("root.crt", &format!("{}{}", authority.certificate(), shown.certificate));
        let mut text = format!("{} sslmode={mode} sslrootcert={}", by_name(&server), root.display());
        if let Some(list) = revoked {
            let list = server.write("root.crl", &list);
            text = format!("{text} sslcrl={}", list.display());
        }
        match expected {
            "" => assert!(is_encrypted(&mut session(&text))),
            expected => assert!(refusal(&text).contains(expected), "{}", refusal(&text)),
        }
    };
    let expired = authority.issue(&Wanted { names: &["localhost"], until: 2001, ..Wanted::default() });
    check(&expired, "verify-full", None, "certificate has expired");
    let by_common_name = authority.issue(&Wanted { common_name: "localhost", ..Wanted::default() });
    check(&by_common_name, "verify-full", None, "");
    // A self-signed certificate is trusted if it is in the root file.
    check(&Authority::new("localhost").as_issued(), "verify-full", None, "");
    let good = local(&authority);
    check(&good, "verify-ca", Some(authority.revoke(&[])), "");
    check(&good, "verify-ca", Some(authority.revoke(&[&good])), "certificate is revoked");
}

#[test]
fn a_client_shows_its_certificate_and_the_server_takes_its_name() {
    let (authority, clients) = (Authority::new("authority"), Authority::new("clients"));
    let server = SecuredCluster::start("18", &local(&authority), &clients);
    server.cluster.execute("create role guest login");
    server.cluster.admit("hostssl all all 127.0.0.1/32 cert");
    let conninfo =
        format!("{} sslmode=require", server.cluster.conninfo_tcp().replace("user=postgres", "user=guest"));
    let guest = clients.issue(&Wanted { common_name: "guest", ..Wanted::default() });
    let certificate = server.write("guest.crt", &guest.certificate);
    let key = server.write("guest.key", &guest.key);
    let shown = format!("{conninfo} sslcert={} sslkey={}", certificate.display(), key.display());
    assert_eq!(ask(&mut session(&shown), "select current_user"), "guest");
    assert!(refusal(&conninfo).contains("valid client certificate"), "{}", refusal(&conninfo));
    let hidden = refusal(&format!("{shown} sslcertmode=disable"));
    assert!(hidden.contains("valid client certificate"), "{hidden}");
    let stranger = Authority::new("stranger").issue(&Wanted { common_name: "guest", ..Wanted::default() });
    let strange = format!(
        "{conninfo} sslcert={} sslkey={}",
        server.write("strange.crt", &stranger.certificate).display(),
        server.write("strange.key", &stranger.key).display()
    );
    assert!(refusal(&strange).contains("does not trust the client's certificate"), "{}", refusal(&strange));
    // A key that others can read is refused.
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(&key, permissions).unwrap();
    let open = refusal(&shown);
    assert!(open.contains("other users can read it (mode 0644)") && open.contains("chmod 600"), "{open}");
    for (sslkey, expected) in [
        ("/nowhere/key".to_owned(), "the private key /nowhere/key, given by sslkey, does not exist"),
        (certificate.display().to_string(), "contains no private key"),
        (
            server.write("locked.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n").display().to_string(),
            "is encrypted, which is not supported (nor is sslpassword)",
        ),
    ] {
        let why = refusal(&format!("{conninfo} sslcert={} sslkey={sslkey}", certificate.display()));
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn tls_begins_at_once_where_the_server_knows_how() {
    let authority = Authority::new("authority");
    let server = SecuredCluster::start("18", &local(&authority), &authority);
    let root = server.write("root.crt", &authority.certificate());
    let text = format!("{} sslmode=verify-full sslrootcert={}", by_name(&server), root.display());
    let direct = format!("{text} sslnegotiation=direct");
    assert!(is_encrypted(&mut session(&direct)));
    let version =
        |text: &str| ask(&mut session(text), "select version from pg_stat_ssl where pid = pg_backend_pid()");
    assert_eq!(version(&direct), "TLSv1.3");
    assert_eq!(version(&format!("{text} ssl_max_protocol_version=TLSv1.2")), "TLSv1.2");
    let plain = format!("{} sslmode=require sslnegotiation=direct", Cluster::shared("9.6").conninfo_tcp());
    assert!(enter(&plain).is_err_and(|why| why.contains("TLS")), "{:?}", enter(&plain).err());
}
