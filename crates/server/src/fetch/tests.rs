//! Tests of fetching, against web servers of their own on loopback: which release is chosen, what is checked, tried
//! again and refused, and what the messages say. None needs a network.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sha2::{Digest, Sha512};
use ureq::tls::Certificate;

use super::client::{Client, Network, Request, proxy};
use super::*;
use crate::digests::hexadecimal;
use crate::unpack::unpack;

/// Longer than any answer takes; only what never comes lasts so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A web server that answers each request from a function of its first line and its number, from 0.
struct WebServer {
    address: SocketAddr,
    /// The first lines of the requests.
    heard: Arc<Mutex<Vec<String>>>,
}

/// What is sent, after which the connection is closed; without it the connection stays open in silence.
type Answer = Option<Vec<u8>>;

impl WebServer {
    fn start(answer: impl Fn(&str, usize) -> Answer + Send + 'static) -> WebServer {
        WebServer::behind(Ok, answer)
    }

    /// One whose connections something else, such as TLS, wraps first.
    fn behind<S: Read + Write + Send + 'static>(
        wrap: impl Fn(TcpStream) -> std::io::Result<S> + Send + 'static,
        answer: impl Fn(&str, usize) -> Answer + Send + 'static,
    ) -> WebServer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hearing = Arc::clone(&heard);
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for connection in listener.incoming() {
                let Ok(mut stream) = wrap(connection.unwrap()) else { continue };
                let mut lines = BufReader::new(&mut stream).lines().map_while(Result::ok);
                let Some(first) = lines.next() else { continue };
                lines.find(String::is_empty);
                let mut heard = hearing.lock().unwrap();
                let number = heard.len();
                heard.push(first.clone());
                drop(heard);
                match answer(&first, number) {
                    // A client that has heard enough has gone.
                    Some(bytes) => drop(stream.write_all(&bytes)),
                    None => silent.push(stream),
                }
            }
        });
        WebServer { address, heard }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn requests(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

fn answer(status: &str, body: &[u8]) -> Answer {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    Some([head.as_bytes(), body].concat())
}

fn network() -> Network {
    Network { proxy: None, roots: Vec::new(), only_https: false, stall_limit: PATIENCE }
}

fn get(network: Network, url: &str) -> Result<Vec<u8>, Failure> {
    let request = Request { url, limit_bytes: 1000, limit: None };
    Client::new(network).get(&request, &mut |_, _| {})
}

fn list(numbers: &[&str]) -> Vec<u8> {
    let versions: String = numbers.iter().map(|number| format!("<version>{number}</version>\n")).collect();
    format!("<metadata><versioning><latest>1.2.3</latest><versions>\n{versions}</versions></versioning></metadata>")
        .into_bytes()
}

fn newest(numbers: &[&str], wanted: &str) -> Result<String, Missing> {
    let list = list(numbers);
    let server = WebServer::start(move |_, _| answer("200 OK", &list));
    let release = Repository::at(&server.url(), network()).newest(&Wanted::parse(wanted).unwrap())?;
    Ok(format!("{} {}", release.version, release.number))
}

#[test]
fn the_newest_release_that_fits_is_chosen() {
    let numbers =
        ["9.6.3", "9.6.24", "10.5.0-1", "11.22.0", "11.22.1", "18.9.0", "18.10.0", "19.0.0-rc.1", "odd"];
    let check = |wanted: &str, expected: &str| assert_eq!(newest(&numbers, wanted).unwrap(), expected);
    check("18", "18.10 18.10.0");
    check("18.9", "18.9 18.9.0");
    check("9.6", "9.6.24 9.6.24");
    // PostgreSQL 11.22 was built twice.
    check("11", "11.22 11.22.1");
    for wanted in ["10", "17", "18.11", "19"] {
        assert!(matches!(newest(&numbers, wanted), Err(Missing::NoRelease)), "{wanted}");
    }
}

#[test]
fn a_platform_without_an_archive_has_no_release() {
    let server = WebServer::start(|_, _| answer("404 Not Found", b""));
    let missing = Repository::at(&server.url(), network()).newest(&Wanted::parse("18").unwrap());
    assert!(matches!(missing, Err(Missing::NoRelease)));
    assert_eq!(server.requests().len(), 1, "a file that is not there is not asked for again");
}

/// A jar as the repository has them, with files of these names and modes, and a link.
fn jar(files: &[(&str, u32)], link: (&str, &str)) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for &(name, mode) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(mode);
        header.set_size(name.len() as u64);
        // As an attacker would: `set_path` refuses names that lead out.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        tar.append(&header, name.as_bytes()).unwrap();
    }
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    tar.append_link(&mut header, link.0, link.1).unwrap();
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    xz.write_all(&tar.into_inner().unwrap()).unwrap();
    zip(&[("META-INF/MANIFEST.MF", b"nothing"), ("postgres-linux-x86_64.txz", &xz.finish().unwrap())])
}

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut zip = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (name, content) in files {
        let file = zip.new_file(name).compression_method(rawzip::CompressionMethod::DEFLATE);
        let (mut entry, config) = file.start().unwrap();
        let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::default());
        let mut writer = config.wrap(encoder);
        writer.write_all(content).unwrap();
        let (encoder, descriptor) = writer.finish().unwrap();
        encoder.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    zip.finish().unwrap();
    bytes
}

fn programs() -> Vec<u8> {
    jar(
        &[("bin/initdb", 0o755), ("bin/postgres", 0o755), ("share/postgres.bki", 0o644)],
        ("lib/libpq.so", "libpq.so.5"),
    )
}

/// A repository with one release, 18.99.0, whose archive has this published sum.
fn repository_of(archive: Vec<u8>, sum: String) -> WebServer {
    let list = list(&["18.99.0"]);
    WebServer::start(move |line, _| match line {
        line if line.contains("/maven-metadata.xml ") => answer("200 OK", &list),
        line if line.contains("-18.99.0.jar.sha512 ") => answer("200 OK", sum.as_bytes()),
        line if line.contains("-18.99.0.jar ") => answer("200 OK", &archive),
        _ => answer("404 Not Found", b""),
    })
}

fn sum_of(archive: &[u8]) -> String {
    hexadecimal(&Sha512::digest(archive))
}

#[test]
fn a_release_is_downloaded_checked_and_unpacked_with_progress_in_bytes() {
    let archive = programs();
    let server = repository_of(archive.clone(), format!("{}  file.jar\n", sum_of(&archive).to_uppercase()));
    let repository = Repository::at(&server.url(), network());
    let (base, mut told) = (tempfile::tempdir().unwrap(), Vec::new());
    let cache = Cache::new(base.path());
    let locked = cache.lock(&mut |_| {}).unwrap();
    let release = repository.newest(&Wanted::parse("18").unwrap()).unwrap();
    let bytes = download(&repository, &release, &mut |progress| told.push(progress)).unwrap();
    let bin = keep(&locked, &release, &bytes, None, &mut |progress| told.push(progress)).unwrap();
    let tree = bin.parent().unwrap();
    assert_eq!(std::fs::read_to_string(tree.join("share/postgres.bki")).unwrap(), "share/postgres.bki");
    assert_eq!(std::fs::read_link(tree.join("lib/libpq.so")).unwrap(), Path::new("libpq.so.5"));
    let mode = |name: &str| {
        let about = std::fs::metadata(tree.join(name)).unwrap();
        std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o777
    };
    assert_eq!((mode("bin/postgres"), mode("share/postgres.bki")), (0o755, 0o644));
    let (what, size) = ("PostgreSQL 18.99".to_owned(), archive.len() as u64);
    let downloading = |bytes, total| FetchProgress::Downloading { what: what.clone(), bytes, total };
    assert_eq!(told.first(), Some(&downloading(0, None)));
    assert_eq!(told[told.len() - 2], downloading(size, Some(size)));
    assert_eq!(told.last(), Some(&FetchProgress::Unpacking { what: what.clone() }));
}

#[test]
fn an_archive_with_another_sum_than_the_published_is_damaged() {
    let server = repository_of(programs(), sum_of(b"another"));
    let repository = Repository::at(&server.url(), network());
    let release = repository.newest(&Wanted::parse("18").unwrap()).unwrap();
    let damaged = download(&repository, &release, &mut |_| {});
    assert!(matches!(damaged, Err(Missing::Damaged)), "{damaged:?}");
}

#[test]
fn an_archive_with_another_sum_leaves_nothing_in_the_cache() {
    let base = tempfile::tempdir().unwrap();
    let cache = Cache::new(base.path());
    let (release, archive) = (Release::parse("18.99.0").unwrap(), b"no archive");
    let kept = |checksum: &str| {
        let locked = cache.lock(&mut |_| {}).unwrap();
        let checksum = checksum.parse().unwrap();
        let kept = keep(&locked, &release, archive, Some(&checksum), &mut |_| {});
        let left = std::fs::read_dir(cache.directory()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(left.collect::<Vec<_>>(), [".lock"]);
        kept.unwrap_err()
    };
    let other = kept(&"0".repeat(64));
    assert!(matches!(other, ServerError::OtherChecksum { .. }), "{other}");
    let ours = kept(&digests::sum_of(archive));
    assert!(matches!(ours, ServerError::ArchiveDamaged { .. }), "it was unpacked: {ours}");
}

#[test]
fn no_file_of_an_archive_gets_out_of_its_directory() {
    let base = tempfile::tempdir().unwrap();
    let files = [("../evil", 0o644), ("/evil", 0o644), ("link/evil", 0o644), ("good", 0o644)];
    let tree = base.path().join("tree");
    // It may be refused as a whole; what counts is where files are.
    let _ = unpack(&jar(&files, ("link", "..")), &tree);
    let names = std::fs::read_dir(base.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["tree"]);
    assert!(!Path::new("/evil").exists());
}

#[test]
fn what_is_no_archive_of_programs_is_refused_in_words() {
    let base = tempfile::tempdir().unwrap();
    let reason = |jar: &[u8]| unpack(jar, &base.path().join("tree")).unwrap_err().to_string();
    assert!(reason(&zip(&[("a.txt", b"text")])).contains(".txz"), "{}", reason(&zip(&[("a.txt", b"text")])));
    let whole = programs();
    for broken in [&b""[..], b"text", &whole[..whole.len() / 2], &zip(&[("a.txz", b"text")])] {
        assert!(!reason(broken).is_empty() && !reason(broken).contains('\n'), "{}", reason(broken));
    }
}

#[test]
fn a_failure_of_the_moment_is_tried_again() {
    let server = WebServer::start(|_, number| match number {
        0 => answer("503 Service Unavailable", b""),
        // Cut short.
        1 => Some(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour".to_vec()),
        _ => answer("200 OK", b"nine nine"),
    });
    assert_eq!(get(network(), &server.url()).unwrap(), b"nine nine");
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_status_that_stays_is_told_at_once() {
    let server = WebServer::start(|_, _| answer("403 Forbidden", b""));
    assert!(matches!(get(network(), &server.url()), Err(Failure::Status(403))));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn silence_ends_a_download_and_a_lookup() {
    let short = Duration::from_millis(50);
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour";
    let server = WebServer::behind(
        |mut stream| {
            // The answer begins, and then nothing more comes.
            stream.write_all(head)?;
            Ok(stream)
        },
        |_, _| None,
    );
    let stalled = get(Network { stall_limit: short, ..network() }, &server.url());
    assert!(matches!(stalled, Err(Failure::Silent(limit)) if limit == short), "{stalled:?}");
    let request = Request { url: &server.url(), limit_bytes: 1000, limit: Some(short) };
    let stalled = Client::new(network()).get(&request, &mut |_, _| {});
    assert!(matches!(stalled, Err(Failure::Silent(limit)) if limit == short), "{stalled:?}");
}

#[test]
fn an_answer_that_is_too_long_is_refused() {
    let server = WebServer::start(|_, _| answer("200 OK", &[b'x'; 1001]));
    let refused = get(network(), &server.url());
    assert!(matches!(&refused, Err(Failure::Unreachable(reason)) if reason.contains("1000")), "{refused:?}");
}

#[test]
fn the_proxy_is_that_of_the_environment() {
    let named = |host: &str, variables: &[(&str, &str)]| {
        let value = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        match proxy(host, value) {
            Ok(proxy) => {
                proxy.map_or("none".to_owned(), |proxy| format!("{}:{}", proxy.host(), proxy.port()))
            }
            Err(Failure::NotAsked(reason)) => reason,
            Err(other) => panic!("{other:?}"),
        }
    };
    let host = "repo.example.org";
    assert_eq!(named(host, &[]), "none");
    assert_eq!(named(host, &[("HTTPS_PROXY", "http://one:3128"), ("ALL_PROXY", "http://two:1")]), "one:3128");
    assert_eq!(named(host, &[("https_proxy", "one:3128")]), "one:3128");
    assert_eq!(named(host, &[("HTTPS_PROXY", ""), ("all_proxy", "https://u:p@two")]), "two:443");
    // That one is for addresses without TLS.
    assert_eq!(named(host, &[("HTTP_PROXY", "http://three:1")]), "none");
    for (list, expected) in [
        ("example.org", "none"),
        ("a.org, .EXAMPLE.org", "none"),
        ("repo.example.org", "none"),
        ("*", "none"),
        ("ample.org", "one:1"),
        ("other.org,,", "one:1"),
    ] {
        assert_eq!(named(host, &[("HTTPS_PROXY", "http://one:1"), ("no_proxy", list)]), expected, "{list}");
    }
    for wrong in ["socks5://u:secret@one:1", "http://", "u:secret@:x"] {
        let reason = named(host, &[("ALL_PROXY", wrong)]);
        assert!(reason.contains("ALL_PROXY") && reason.contains("http://HOST:PORT"), "{reason}");
        assert!(!reason.contains("secret"), "{reason}");
    }
}

#[test]
fn a_request_goes_through_the_proxy() {
    let server = WebServer::start(|_, _| answer("403 Forbidden", b""));
    let proxy = ureq::Proxy::new(&server.url()).unwrap();
    let refused = get(Network { proxy: Some(proxy), ..network() }, "https://repo.example.org/file");
    assert!(matches!(refused, Err(Failure::Unreachable(_))), "{refused:?}");
    assert_eq!(server.requests(), ["CONNECT repo.example.org:443 HTTP/1.1"]);
}

/// A web server with a certificate for 127.0.0.1, and that certificate.
fn tls_server() -> (WebServer, Certificate<'static>) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let certificate = Certificate::from_der(made.cert.der()).to_owned();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.into()], key.into())
        .unwrap();
    let config = Arc::new(config);
    let wrap = move |mut stream: TcpStream| {
        let mut connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
        while connection.is_handshaking() {
            connection.complete_io(&mut stream)?;
        }
        Ok(rustls::StreamOwned::new(connection, stream))
    };
    (WebServer::behind(wrap, |_, _| answer("200 OK", b"secret")), certificate)
}

#[test]
fn only_a_server_whose_certificate_is_trusted_is_asked() {
    let (server, certificate) = tls_server();
    let (_, other) = tls_server();
    let url = format!("https://{}/", server.address);
    let refused = get(Network { roots: vec![other], only_https: true, ..network() }, &url);
    assert!(
        matches!(&refused, Err(Failure::Unreachable(reason)) if reason.contains("SSL_CERT_FILE") && reason.contains("certificate")),
        "{refused:?}"
    );
    assert!(server.requests().is_empty());
    let trusted = get(Network { roots: vec![certificate], only_https: true, ..network() }, &url);
    assert_eq!(trusted.unwrap(), b"secret");
    let without_tls = WebServer::start(|_, _| answer("200 OK", b"x"));
    let refused = get(Network { only_https: true, ..network() }, &without_tls.url());
    assert!(matches!(refused, Err(Failure::Unreachable(_))) && without_tls.requests().is_empty());
}

#[test]
fn each_way_to_fail_is_one_sentence_that_names_the_way_out() {
    let cache = Cache::new(Path::new("/somewhere"));
    let explained = |missing| explain(&Wanted::parse("18").unwrap(), &cache, missing).to_string();
    for missing in [
        Missing::NoRelease,
        Missing::Damaged,
        Missing::NotFetched(Failure::Unreachable("no route".into())),
        Missing::NotFetched(Failure::Status(503)),
        Missing::NotFetched(Failure::Silent(Duration::from_secs(30))),
        Missing::NotFetched(Failure::NotAsked("what".into())),
    ] {
        let sentence = explained(missing);
        assert!(sentence.contains("PostgreSQL 18") && sentence.contains("--bin-dir"), "{sentence}");
        assert!(!sentence.contains('\n'), "{sentence}");
    }
    assert!(explained(Missing::NotFetched(Failure::Silent(Duration::from_secs(30)))).contains("30 s"));
    assert!(explained(Missing::NotFetched(Failure::Unreachable("no route".into()))).contains("no route"));
}
