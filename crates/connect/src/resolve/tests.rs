//! Connection parameters from strings, flags and variables. Precedence and defaults are those of libpq and pgbench; the
//! tests do not read the process environment.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;

use super::*;
use crate::tls::{TlsFile, TlsMode, TlsNegotiation, TlsSettings, TlsVersion, TrustedRoots};
use wire::ChannelBinding;

/// An environment with these variables and the operating system user `alice`.
fn environment(variables: &[(&str, &str)]) -> Environment {
    Environment {
        variables: variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect(),
        home: None,
        os_user: Some("alice".to_owned()),
    }
}

fn flags(host: &str, port: &str, user: &str, dbname: &str) -> Overrides {
    let given = |text: &str| (text != "-").then(|| text.to_owned());
    Overrides {
        host: given(host),
        port: given(port),
        user: given(user),
        dbname: given(dbname),
        ..Overrides::default()
    }
}

fn refusal(connection: &str, variables: &[(&str, &str)]) -> String {
    let resolved = resolve(Some(connection), &Overrides::default(), &environment(variables));
    resolved.expect_err(connection).to_string()
}

fn resolved(connection: &str, variables: &[(&str, &str)]) -> Target {
    resolve(Some(connection), &Overrides::default(), &environment(variables)).unwrap()
}

#[test]
fn without_any_word_everything_has_its_default() {
    let target = resolve(None, &Overrides::default(), &environment(&[])).unwrap();
    let host = Host { name: HostName::Usual, hostaddr: None, port: 5432, password: None };
    assert_eq!(target.hosts, [host]);
    assert_eq!((target.user.as_str(), target.database.as_str()), ("alice", "alice"));
    assert_eq!(target.application_name.as_deref(), Some("pgmeter"));
    assert_eq!((target.password, target.options, target.connect_timeout), (None, None, None));
    assert!(target.keep_alive.is_on && target.extra.is_empty());
}

#[test]
fn the_string_wins_over_flags_and_flags_over_variables() {
    let variables = [("PGHOST", "v"), ("PGPORT", "1"), ("PGUSER", "vu"), ("PGDATABASE", "vd")];
    let check = |connection: Option<&str>, flags: Overrides, expected: &str| {
        let target = resolve(connection, &flags, &environment(&variables)).unwrap();
        assert_eq!(target.to_string(), expected);
    };
    check(None, Overrides::default(), "host=v port=1 user=vu dbname=vd");
    check(None, flags("f", "2", "fu", "fd"), "host=f port=2 user=fu dbname=fd");
    check(Some("name"), flags("f", "2", "fu", "-"), "host=f port=2 user=fu dbname=name");
    check(Some("host=s user=su"), flags("f", "2", "fu", "-"), "host=s port=2 user=su dbname=vd");
    check(Some("postgres://su@s:3/sd"), flags("f", "2", "fu", "-"), "host=s port=3 user=su dbname=sd");
    check(Some("host=s"), flags("-", "", "-", "fd"), "host=s port=1 user=vu dbname=fd");
    check(None, flags("-", "-", "-", "host=s dbname=sd"), "host=s port=1 user=vu dbname=sd");
}

#[test]
fn the_default_database_is_named_like_the_role() {
    let check = |connection: Option<&str>, user: &str, variables: &[(&str, &str)], expected: &str| {
        let target = resolve(connection, &flags("-", "-", user, "-"), &environment(variables)).unwrap();
        assert_eq!(target.database, expected, "{connection:?} {user} {variables:?}");
    };
    check(None, "-", &[("PGDATABASE", "d"), ("PGUSER", "u")], "d");
    check(None, "-", &[("PGDATABASE", ""), ("PGUSER", "u")], "u");
    check(None, "-", &[("PGUSER", "")], "alice");
    check(None, "bob", &[], "bob");
    check(None, "bob", &[("PGUSER", "u")], "bob");
    check(Some("host=h"), "bob", &[], "bob");
    check(Some("host=h user=carol"), "bob", &[], "carol");
    check(Some("host=h"), "-", &[("PGDATABASE", "d")], "d");
    check(Some(""), "bob", &[], "bob");
    check(None, "-", &[("PGDATABASE", "host=h dbname=inside")], "inside");
}

#[test]
fn a_value_that_is_empty_on_purpose_hides_the_variable() {
    let variables = [("PGHOST", "v"), ("PGPASSWORD", "secret"), ("PGAPPNAME", "v")];
    let target = resolved("host='' password='' application_name=''", &variables);
    assert_eq!(target.hosts[0].name, HostName::Usual);
    assert_eq!((target.password, target.application_name), (None, None));
}

#[test]
fn a_database_named_twice_is_refused() {
    let both = |connection, flag| resolve(Some(connection), &flags("-", "-", "-", flag), &environment(&[]));
    assert!(both("one", "two").unwrap_err().to_string().contains("\"one\" and \"two\""));
    assert!(both("host=h dbname=one", "two").is_err());
    assert!(both("host=h", "host=i").unwrap_err().to_string().contains("two connection strings"));
    assert_eq!(both("one", "one").unwrap().database, "one");
}

#[test]
fn every_variable_has_its_effect() {
    let variables = [
        ("PGHOSTADDR", "::1"),
        ("PGPASSWORD", "secret"),
        ("PGAPPNAME", "app"),
        ("PGOPTIONS", "-c geqo=off"),
        ("PGCONNECT_TIMEOUT", "7"),
        ("PGCLIENTENCODING", "LATIN1"),
        ("PGTZ", "UTC"),
        ("PGGEQO", "Default"),
        ("PGSSLMODE", "prefer"),
        ("PGTARGETSESSIONATTRS", "any"),
        ("PGDATA", "ignored"),
    ];
    let target = resolved("d", &variables);
    assert_eq!(target.hosts[0].hostaddr, Some("::1".parse().unwrap()));
    assert_eq!(target.hosts[0].name, HostName::Network("::1".to_owned()));
    let parameters = target.startup_parameters(&target.hosts[0]);
    assert_eq!(parameters.password, Some(Password::new("secret")));
    assert_eq!(parameters.application_name.as_deref(), Some("app"));
    assert_eq!(parameters.options.as_deref(), Some("-c geqo=off"));
    assert_eq!(target.connect_timeout, Some(Duration::from_secs(7)));
    let extra: Vec<_> = parameters.extra.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(extra, ["client_encoding=LATIN1", "timezone=UTC"]);
}

#[test]
fn hosts_addresses_and_ports_are_lists_that_belong_together() {
    let shown = |text: &str| resolved(text, &[]).to_string();
    assert_eq!(shown("host=a,b port=1,2"), "host=a,b port=1,2 user=alice dbname=alice");
    assert_eq!(shown("host=a,b port=1"), "host=a,b port=1,1 user=alice dbname=alice");
    assert_eq!(shown("host=a,/run port=,2"), "host=a,/run port=5432,2 user=alice dbname=alice");
    assert_eq!(shown("hostaddr=::1,10.0.0.1"), {
        "host=::1,10.0.0.1 hostaddr=::1,10.0.0.1 port=5432,5432 user=alice dbname=alice"
    });
    assert!(refusal("host=a,b,c port=1,2", &[]).contains("equal the number of hosts, 3"));
    assert!(
        refusal("host=a,b hostaddr=::1", &[])
            .contains("the number of addresses must equal the number of hosts, 2")
    );
}

#[test]
fn values_that_make_no_sense_are_refused_and_so_is_the_place_that_said_them() {
    assert_eq!(
        refusal("host=h port=70000", &[]),
        "port=70000 in the connection string: a port must be a number from 1 to 65535"
    );
    assert!(refusal("d", &[("PGPORT", "none")]).starts_with("PGPORT=none in the environment: "));
    let flag = resolve(None, &flags("-", "0", "-", "-"), &environment(&[]));
    assert!(flag.unwrap_err().to_string().starts_with("-p 0: "));
    assert!(refusal("host=h hostaddr=name", &[]).contains("an IP address"));
    assert!(refusal("host=h connect_timeout=soon", &[]).contains("whole number"));
    assert!(refusal("host=@abstract", &[]).contains("abstract"));
    assert!(refusal("a\0b", &[]).contains("zero byte"));
    let mut broken = environment(&[]);
    let not_text = std::os::unix::ffi::OsStringExt::from_vec(vec![0xff]);
    broken.variables.insert("PGHOST".to_owned(), not_text);
    let refused = resolve(None, &Overrides::default(), &broken).unwrap_err().to_string();
    assert!(refused.contains("PGHOST is not valid UTF-8"), "{refused}");
    let nameless = resolve(None, &Overrides::default(), &Environment::default()).unwrap_err().to_string();
    assert!(nameless.contains("-U"), "{nameless}");
}

#[test]
fn what_is_said_about_tls_is_read_as_libpq_reads_it() {
    let tls = |text: &str| resolved(text, &[]).tls;
    let by_default = TlsSettings {
        mode: TlsMode::Prefer,
        negotiation: TlsNegotiation::Postgres,
        roots: TrustedRoots::File(TlsFile::Nowhere),
        revoked: TlsFile::Nowhere,
        revoked_directory: None,
        certificate: TlsFile::Nowhere,
        key: TlsFile::Nowhere,
        sends_name: true,
        version_min: TlsVersion::V12,
        version_max: TlsVersion::V13,
    };
    assert_eq!(tls("host=h"), by_default);
    for (name, mode) in TlsMode::NAMES {
        assert_eq!(tls(&format!("sslmode={name}")).mode, mode);
        assert_eq!(resolved("d", &[("PGSSLMODE", name)]).tls.mode, mode);
    }
    assert_eq!(tls("sslmode=").mode, TlsMode::Prefer);
    assert_eq!(tls("postgres://h?ssl=true").mode, TlsMode::Require);
    let system = tls("sslrootcert=system");
    assert_eq!((system.mode, system.roots), (TlsMode::VerifyFull, TrustedRoots::System));
    assert_eq!(tls("sslnegotiation=direct sslmode=require").negotiation, TlsNegotiation::Direct);
    assert!(!tls("sslsni=0").sends_name);
    assert_eq!(tls("ssl_min_protocol_version=tlsv1.3").version_min, TlsVersion::V13);
    assert_eq!(tls("ssl_min_protocol_version=TLSv1").version_min, TlsVersion::V12);
    assert_eq!(tls("ssl_max_protocol_version=TLSv1.2").version_max, TlsVersion::V12);
}

#[test]
fn certificates_have_their_usual_places_at_home() {
    let mut around = environment(&[]);
    around.home = Some(PathBuf::from("/home/alice"));
    let tls = |text: &str| resolve(Some(text), &Overrides::default(), &around).unwrap().tls;
    let usual = |name: &str| TlsFile::Usual(PathBuf::from("/home/alice/.postgresql").join(name));
    let named = |name: &str| TlsFile::Named(PathBuf::from(name));
    let found = tls("host=h");
    assert_eq!(found.roots, TrustedRoots::File(usual("root.crt")));
    assert_eq!((found.revoked, found.revoked_directory), (usual("root.crl"), None));
    assert_eq!((found.certificate, found.key), (usual("postgresql.crt"), usual("postgresql.key")));
    let found = tls("sslrootcert=r sslcert=c sslkey=k sslcrldir=d");
    assert_eq!(found.roots, TrustedRoots::File(named("r")));
    assert_eq!((found.certificate, found.key), (named("c"), named("k")));
    assert_eq!((found.revoked, found.revoked_directory), (TlsFile::Nowhere, Some(PathBuf::from("d"))));
    assert_eq!(tls("sslcertmode=disable").certificate, TlsFile::Nowhere);
}

#[test]
fn what_makes_no_sense_about_tls_is_refused() {
    for (text, expected) in [
        ("sslmode=on", "invalid value; allowed are disable, allow, prefer"),
        ("sslmode=require sslrootcert=system", "requires sslmode=verify-full"),
        ("sslnegotiation=direct", "sslmode=require"),
        ("sslnegotiation=direct sslmode=prefer", "sslmode=require"),
        ("sslcertmode=require", "allowed are allow, disable"),
        ("sslkey=engine:x", "hardware"),
        ("ssl_max_protocol_version=TLSv1.1", "versions below TLSv1.2"),
        ("ssl_min_protocol_version=TLSv1.3 ssl_max_protocol_version=TLSv1.2", "lower than ssl_min"),
        ("ssl_min_protocol_version=SSLv3", "invalid value"),
        ("sslsni=maybe", "allowed are 1, 0"),
        ("channel_binding=yes", "allowed are disable, prefer, require"),
        ("require_auth=ident", "unknown method \"ident\""),
        ("target_session_attrs=master", "allowed are any, read-write"),
        ("load_balance_hosts=on", "allowed are disable, random"),
    ] {
        assert!(refusal(text, &[]).contains(expected), "{text}: {}", refusal(text, &[]));
    }
}

#[test]
fn demands_on_server_and_authentication_are_read() {
    let target = resolved(
        "channel_binding=require require_auth=scram-sha-256 target_session_attrs=prefer-standby \
         load_balance_hosts=random",
        &[],
    );
    assert_eq!(target.session_attributes, SessionAttributes::PreferStandby);
    assert_eq!(target.host_order, HostOrder::Random);
    let parameters = target.startup_parameters(&target.hosts[0]);
    assert_eq!(parameters.channel_binding, ChannelBinding::Require);
    assert_eq!(parameters.required_methods.to_string(), "scram-sha-256");
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    for (text, variable) in [
        ("requirepeer=postgres", "PGREQUIREPEER"),
        ("gssencmode=require", "PGGSSENCMODE"),
        ("min_protocol_version=3.2", "PGMINPROTOCOLVERSION"),
        ("sslcertmode=require", "PGSSLCERTMODE"),
    ] {
        let (name, value) = text.split_once('=').unwrap();
        assert!(
            refusal(text, &[]).starts_with(&format!("{name}={value} in the connection string: ")),
            "{text}"
        );
        assert!(refusal("d", &[(variable, value)]).starts_with(&format!("{variable}={value} in the env")));
        resolved("d", &[(variable, "")]);
    }
}

#[test]
fn a_service_comes_after_the_string_and_the_flags_and_before_the_variables() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("services");
    fs::write(&file, "[s]\nhost=service\nport=7\ndbname=of_service\nsslmode=disable\n[bad]\nport=x\n")
        .unwrap();
    let file = file.to_str().unwrap();
    let around =
        environment(&[("PGSERVICEFILE", file), ("PGPORT", "9"), ("PGSSLMODE", "require"), ("PGUSER", "u")]);
    let shown = |text: Option<&str>, flags: &Overrides, around: &Environment| {
        resolve(text, flags, around).map(|target| target.to_string()).map_err(|error| error.to_string())
    };
    let none = Overrides::default();
    let all = "host=service port=7 user=u dbname=of_service sslmode=disable";
    assert_eq!(shown(Some("service=s"), &none, &around).as_deref(), Ok(all));
    assert_eq!(shown(Some("postgres://?service=s"), &none, &around).as_deref(), Ok(all));
    let mine = "host=mine port=8 user=u dbname=of_service sslmode=disable";
    assert_eq!(shown(Some("service=s host=mine"), &flags("f", "8", "-", "-"), &around).as_deref(), Ok(mine));
    let mut by_variable = around.clone();
    by_variable.variables.insert("PGSERVICE".to_owned(), "s".into());
    assert_eq!(shown(None, &none, &by_variable).as_deref(), Ok(all));
    let named = "host=service port=7 user=u dbname=named sslmode=disable";
    assert_eq!(shown(Some("named"), &none, &by_variable).as_deref(), Ok(named));
    by_variable.variables.insert("PGDATABASE".to_owned(), "named".into());
    assert_eq!(shown(None, &none, &by_variable).as_deref(), Ok(named), "pgbench's rule");
    let refused = shown(Some("service=bad"), &none, &around).unwrap_err();
    assert!(refused.starts_with(&format!("port=x in the service file {file}, line 7: a port")), "{refused}");
    let refused = shown(Some("service=none"), &none, &around).unwrap_err();
    assert!(refused.starts_with("the service \"none\" is not defined: it is not in "), "{refused}");
}

#[test]
fn the_password_file_is_asked_for_each_host() {
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, mode, content: &str| {
        let path = home.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    write(
        ".pgpass",
        0o600,
        "db1:5432:*:alice:one\nlocalhost:*:d:*:here\n/run/x:7:*:*:there\n\\:\\:1:*:*:*:six\n",
    );
    let named = write("named", 0o600, "*:*:*:*:named\n");
    let open = write("open", 0o644, "*:*:*:*:open\n");
    let mut around = environment(&[]);
    around.home = Some(home.path().to_owned());
    let passwords = |text: &str, around: &Environment| {
        let target = resolve(Some(text), &Overrides::default(), around).unwrap();
        let password = |host: &Host| {
            let found = target.startup_parameters(host).password?;
            Some(String::from_utf8(found.as_bytes().to_vec()).unwrap())
        };
        target.hosts.iter().map(|host| password(host).unwrap_or_default()).collect::<Vec<_>>().join(",")
    };
    assert_eq!(passwords("host=db1,db2", &around), "one,");
    assert_eq!(passwords("d", &around), "here");
    assert_eq!(passwords("host=/tmp dbname=d", &around), "here", "a usual directory goes by localhost");
    assert_eq!(passwords("host=/run/x port=7", &around), "there");
    assert_eq!(passwords("hostaddr=::1", &around), "six");
    assert_eq!(passwords("host=db1 password=given", &around), "given");
    let passfile = format!("host=db1 passfile={}", named.display());
    assert_eq!(passwords(&passfile, &around), "named");
    around.variables.insert("PGPASSFILE".to_owned(), open.clone().into_os_string());
    let target = resolve(Some("host=db1"), &Overrides::default(), &around).unwrap();
    assert_eq!(target.hosts[0].password, None);
    let reason = target.password_file_unused.unwrap();
    assert!(reason.contains("0644") && reason.contains(open.to_str().unwrap()), "{reason}");
    let two = resolve(Some("host=db1,db2"), &Overrides::default(), &around).unwrap();
    let warning = two.password_file_warning.clone().unwrap();
    assert_eq!(warning.lines().count(), 2, "libpq looks once for each host: {warning}");
    assert_eq!(two.with_password(Password::new("typed")).password_file_warning, None);
    around.variables.insert("PGPASSWORD".to_owned(), "variable".into());
    assert_eq!(passwords("host=db1", &around), "variable");
}

#[test]
fn a_password_shows_in_no_debug_display_or_message() {
    let flags = flags("-", "-", "-", "postgres://u:secret@h/d");
    let target = resolve(None, &flags, &environment(&[])).unwrap();
    assert_eq!(target.password, Some(Password::new("secret")));
    let shown = format!("{target:?} {target} {flags:?} {:?}", target.startup_parameters(&target.hosts[0]));
    assert!(!shown.contains("secret"), "{shown}");
    for text in [
        "u:secret@h/d",
        "mysql://u:secret@h/d",
        "postgres://u:secret@h/d?sslmode=on",
        "postgres://u:secret@h:port/d",
        "password=secret port=x",
        "password='secret",
        "scram_client_key=secret",
        "host=h password=\u{0}secret",
    ] {
        assert!(!refusal(text, &[]).contains("secret"), "{text}");
    }
}

#[test]
fn keep_alive_is_as_libpq_has_it() {
    let text =
        "keepalives=0 keepalives_idle=5 keepalives_interval=-1 keepalives_count=3 tcp_user_timeout=250";
    let KeepAlive { is_on, idle, interval, count, user_timeout_ms } = resolved(text, &[]).keep_alive;
    assert_eq!((is_on, idle, interval), (false, Some(Duration::from_secs(5)), None));
    assert_eq!((count, user_timeout_ms), (Some(3), Some(250)));
    assert_eq!(resolved("connect_timeout=0", &[]).connect_timeout, None);
    assert_eq!(resolved("connect_timeout=-1", &[]).connect_timeout, None);
}

/// A value, quoted for a connection string.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', r"\\").replace('\'', r"\'"))
}

fn percent_encoded(value: &str) -> String {
    value.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

proptest! {
    #[test]
    fn any_value_survives_quoting_and_percent_encoding(
        user in "[^\0]{1,20}",
        password in "[^\0]{1,20}",
        database in "[^\0]{1,20}",
    ) {
        let pairs =
            format!("user={} password={} dbname={}", quoted(&user), quoted(&password), quoted(&database));
        let encoded = [&user, &password, &database].map(|value| percent_encoded(value));
        let uri = format!("postgresql://{}:{}@/{}", encoded[0], encoded[1], encoded[2]);
        for text in [pairs, uri] {
            let target = resolved(&text, &[]);
            prop_assert_eq!(&target.user, &user);
            prop_assert_eq!(&target.database, &database);
            prop_assert_eq!(&target.password, &Some(Password::new(password.as_str())));
            for string in [target.to_string(), target.connection_string()] {
                let again = resolved(&string, &[("PGPASSWORD", &password)]);
                prop_assert_eq!(Target { given: target.given.clone(), ..again }, target.clone());
            }
        }
    }

    #[test]
    fn any_text_is_a_target_or_an_error(text in "\\PC{0,60}", tail in ".{0,30}") {
        let around = environment(&[]);
        for text in [text.clone(), format!("host={text} {tail}"), format!("postgres://{text}/{tail}")] {
            // Success and error are both valid; a panic is not.
            let _ = resolve(Some(&text), &Overrides::default(), &around);
        }
    }

    #[test]
    fn any_value_of_any_keyword_is_taken_or_refused(
        keyword in proptest::sample::select(keywords::KEYWORDS),
        value in ".{0,30}",
    ) {
        let around = environment(&[]);
        let _ = resolve(Some(&format!("{}={}", keyword.name, quoted(&value))), &Overrides::default(), &around);
        let uri = format!("postgresql://?{}={}", keyword.name, percent_encoded(&value));
        let _ = resolve(Some(&uri), &Overrides::default(), &around);
        if let Some(variable) = keyword.variable {
            let _ = resolve(Some("d"), &Overrides::default(), &environment(&[(variable, value.as_str())]));
        }
    }
}

#[test]
fn the_programs_name_wins_over_a_fallback_in_the_string_where_there_is_one() {
    let name = |text: &str, program: Option<&str>| {
        let overrides =
            Overrides { fallback_application_name: program.map(str::to_owned), ..Overrides::default() };
        resolve(Some(text), &overrides, &environment(&[])).unwrap().application_name
    };
    let with_fallback = "host=h fallback_application_name=string";
    assert_eq!(name(with_fallback, Some("pgbench")).as_deref(), Some("pgbench"));
    assert_eq!(name(with_fallback, None).as_deref(), Some("string"));
    assert_eq!(name("host=h", None).as_deref(), Some("pgmeter"));
    let named = "host=h application_name=mine fallback_application_name=string";
    assert_eq!(name(named, Some("pgbench")).as_deref(), Some("mine"));
}

#[test]
fn parameters_for_oauth_are_refused_by_name() {
    for name in ["oauth_issuer", "oauth_client_id", "oauth_client_secret", "oauth_scope", "oauth_ca_file"] {
        let text = format!("host=h {name}=/etc/some");
        let sentence =
            resolve(Some(&text), &Overrides::default(), &environment(&[])).unwrap_err().to_string();
        assert!(
            sentence.starts_with(&format!("{name}=")) && sentence.contains("OAuth is not supported"),
            "{sentence}"
        );
    }
}

#[test]
fn the_name_of_a_certificate_needs_a_host_beside_its_address() {
    let refusal = |text: &str| resolve(Some(text), &Overrides::default(), &environment(&[])).err();
    for text in ["hostaddr=127.0.0.1", "host=a, hostaddr=127.0.0.1,127.0.0.2"] {
        let sentence = refusal(&format!("{text} sslmode=verify-full")).unwrap().to_string();
        assert!(sentence.starts_with("hostaddr=") && sentence.contains("also requires host"), "{sentence}");
        assert!(refusal(&format!("{text} sslmode=verify-ca")).is_none(), "{text}");
    }
    assert!(refusal("host=a hostaddr=127.0.0.1 sslmode=verify-full").is_none());
}

#[test]
fn a_connection_string_and_flags_become_one_string() {
    let text = |connection, flags: &Overrides| connection_text(connection, flags).unwrap();
    let none = Overrides::default();
    assert_eq!(text(None, &none), None);
    assert_eq!(text(Some("shop"), &none), Some("shop".to_owned()));
    assert_eq!(text(None, &flags("-", "-", "-", "host=b")), Some("host=b".to_owned()));
    for (connection, given, host, port, user, database) in [
        (None, flags("h", "5433", "u", "d b"), "h", 5433, "u", "d b"),
        (Some("postgresql://v@a/x"), flags("-", "5433", "u", "-"), "a", 5433, "v", "x"),
        (Some("host='a b'"), flags("h", "5433", "-", "d"), "a b", 5433, "alice", "d"),
    ] {
        let text = text(connection, &given).unwrap();
        let target = resolved(&text, &[]);
        assert_eq!((target.hosts[0].name.to_string().as_str(), target.hosts[0].port), (host, port), "{text}");
        assert_eq!((target.user.as_str(), target.database.as_str()), (user, database), "{text}");
    }
    let both = connection_text(Some("host=a"), &flags("-", "-", "-", "host=b")).unwrap_err().to_string();
    assert!(both.contains("two connection strings"), "{both}");
}
