//! Runs PostgreSQL's programs for one home: initdb once, and the server at each start, until it accepts connections
//! or says why not. Used by `running` and `named`; what happens to the server afterwards is their business.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use connect::quote::short_connection_value;
use connect::{Environment, Overrides, Session, resolve};

use crate::access::{self, SUPERUSER};
use crate::account::Account;
use crate::files::{create, open_to_append};
use crate::home::{self, Description, Home, Upstream, remove_file};
use crate::patience::{StopFlag, wait_for};
use crate::process::{IMMEDIATE_SHUTDOWN, end_child};
use crate::{ServerError, Setting, recovery, settings};

/// How long initdb may take; it takes 1 to 3 s.
const INITDB_LIMIT: Duration = Duration::from_secs(180);
/// How long a server may take to accept connections; recovery after a crash may need some time.
const START_LIMIT: Duration = Duration::from_secs(60);
/// What the log says where the programs come without the library.
const NO_STATEMENTS: &str = "could not access file \"pg_stat_statements\"";
pub(crate) const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// How often another port is tried when somebody took the one that was free a moment ago.
const PORT_ATTEMPTS: u32 = 10;
/// How much of a log is searched for lines to show, and how many are shown. A server that does not become ready logs
/// two lines for each of our attempts.
const LOG_TAIL_BYTES: u64 = 2 * 1024 * 1024;
const LOG_TAIL_LINES: usize = 12;
const INITIAL_MEGABYTES: u64 = 60;

/// What the log says, and what to do about it.
const HINTS: [(&str, &str); 7] = [
    ("could not create semaphores", ": the system has too few semaphores; lower max_connections with --set"),
    (
        "could not map anonymous shared memory",
        ": it requested more memory than is available; lower shared_buffers or max_connections with --set",
    ),
    (
        "could not create shared memory segment",
        ": it requested more shared memory than the system allows; lower shared_buffers or max_connections with \
         --set",
    ),
    ("could not resize shared memory segment", ": /dev/shm is too small; lower shared_buffers with --set"),
    ("unrecognized configuration parameter", ": this version has no such setting"),
    ("invalid value for parameter", ": a setting has a value that is not allowed"),
    ("Address already in use", ": the port is already in use; choose another, or none"),
];

/// Makes the data directory of a home, owned by the server's user.
pub(crate) fn initdb(home: &Home, about: &Description, account: &Account) -> Result<(), ServerError> {
    let data = home.data();
    fs::create_dir(&data).map_err(ServerError::io("create the directory", &data))?;
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).map_err(ServerError::io("close", &data))?;
    account.give_directory(&data)?;
    check_reach(home, about, account)?;
    let password = access::make_password(home, account)?;
    let mut command = account.command(&about.bin_dir.join("initdb"), &home.directory);
    command
        .args(["--encoding=UTF8", "--locale=C", "-N", "-U", SUPERUSER])
        // Its own rules say the same as ours, which are used instead. The method also decides how the password is kept.
        .args(["--auth-local=peer", &format!("--auth-host={}", access::password_method(about))])
        .arg("--pwfile")
        .arg(&password)
        .arg("-D")
        .arg(&data)
        .stdin(Stdio::null())
        // A Ctrl-C at the terminal would make it leave shared memory; it is done in a moment.
        .process_group(0);
    let failed = |reason: String, hint: &str| {
        if home_is_full(&reason) {
            return disk_full(home);
        }
        let (version, hint) = (about.version.clone(), hint.to_owned());
        ServerError::InitdbFailed { version, reason, hint }
    };
    let status = run(with_log(&mut command, &home.file(home::LOG))?, INITDB_LIMIT);
    match status {
        Ok(Some(status)) if status.success() => Ok(()),
        Ok(Some(status)) => {
            let log = tail(&home.file(home::LOG));
            let hint = hint(&log).unwrap_or_default();
            Err(failed(if log.is_empty() { status.to_string() } else { log }, hint))
        }
        Ok(None) => Err(failed(format!("it did not finish within {} s", INITDB_LIMIT.as_secs()), "")),
        Err(error) => Err(failed(error.to_string(), "")),
    }
}

/// The server's user must get at the programs and at the data; PostgreSQL's own words for it help nobody.
fn check_reach(home: &Home, about: &Description, account: &Account) -> Result<(), ServerError> {
    let programs = "put the programs into a directory that all users can read (PGMETER_CACHE_DIR sets the cache directory)";
    let state = "set PGMETER_STATE_DIR to a directory elsewhere";
    for (path, way_out) in [(&about.bin_dir, programs), (&home.directory, state)] {
        if let Some(barrier) = account.barrier(path) {
            let user = account.name.clone();
            return Err(ServerError::OutOfReach { user, path: path.clone(), barrier, way_out });
        }
    }
    Ok(())
}

/// Waits for a program to end; `None` if it does not within the limit, and is killed.
pub(crate) fn run(command: &mut Command, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let mut child = command.spawn()?;
    if let Some(ended) = wait_for(limit, || child.try_wait().transpose()) {
        return ended.map(Some);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

fn with_log<'a>(command: &'a mut Command, log: &Path) -> Result<&'a mut Command, ServerError> {
    let files = open_to_append(log).and_then(|file| Ok((file.try_clone()?, file)));
    let (out, err) = files.map_err(ServerError::io("open", log))?;
    Ok(command.stdout(out).stderr(err))
}

fn configured(about: &Description) -> Vec<Setting> {
    about.settings.iter().cloned().chain(recovery::configuration(about)).collect()
}

/// Writes the configuration file, which first takes in what initdb found out about the system.
pub(crate) fn configure(home: &Home, about: &Description, account: &Account) -> Result<(), ServerError> {
    let path = home.file(home::CONFIGURATION);
    let quoted = |path: PathBuf| path.display().to_string().replace('\'', "''");
    let text = format!(
        "include '{}'\nhba_file = '{}'\nident_file = '{}'\n{}",
        quoted(home.data().join("postgresql.conf")),
        quoted(home.file(home::HBA_FILE)),
        quoted(home.file(home::IDENT_FILE)),
        settings::lines(&configured(about), about.tcp)
    );
    remove_file(&path)?;
    let file = create(&path, 0o600, &text)?;
    account.give(&file, &path)
}

/// The port of a server that has none among its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PortChoice {
    /// That of the last start if it is free, else any free one.
    Any,
    /// That of the last start, because clients know it.
    Same,
}

/// Starts the server as a child of this process and waits until it accepts connections. The port is the one among
/// the settings, else the choice; it is noted in the description.
pub(crate) fn launch(
    home: &Home,
    about: &mut Description,
    account: &Account,
    stop: &StopFlag,
    port: PortChoice,
) -> Result<Child, ServerError> {
    let same = (port == PortChoice::Same).then_some(about.port);
    let fixed = settings::fixed_port(&about.settings)?.or(same);
    check_reach(home, about, account)?;
    if about.tcp && !home.file(home::PASSWORD_FILE).exists() {
        return Err(ServerError::NoPassword { name: home.name.clone() });
    }
    access::write_rules(home, about, account)?;
    configure(home, about, account)?;
    let log = home.file(home::LOG);
    for attempt in 1.. {
        about.port = match fixed {
            Some(port) => port,
            None => free_port(about.port)?,
        };
        // What is in the log of earlier starts is not the reason for this one's failure.
        let from = fs::metadata(&log).map_or(0, |about| about.len());
        let mut child = spawn(home, about, account)?;
        match await_connections(&mut child, about, stop) {
            Ok(()) => return Ok(child),
            Err(wait) => {
                end_child(&mut child, &IMMEDIATE_SHUTDOWN);
                let log = tail_from(&log, from);
                if log.contains(NO_STATEMENTS) && settings::load_nothing(&mut about.settings) {
                    // PostgreSQL's packages may leave contrib out; then statements are not counted.
                    configure(home, about, account)?;
                    continue;
                }
                if fixed.is_none() && attempt < PORT_ATTEMPTS && log.contains("Address already in use") {
                    continue;
                }
                return Err(why_not(home, about, wait, log));
            }
        }
    }
    unreachable!("attempts are counted")
}

fn spawn(home: &Home, about: &Description, account: &Account) -> Result<Child, ServerError> {
    let mut command = account.command(&about.bin_dir.join("postgres"), &home.directory);
    command
        .arg("-D")
        .arg(home.data())
        .arg("-k")
        .arg(&about.socket_directory)
        .args(["-p", &about.port.to_string()])
        .arg("-c")
        .arg(format!("config_file={}", home.file(home::CONFIGURATION).display()))
        .stdin(Stdio::null())
        // Ctrl-C at the terminal is for this process, which stops the server in its own time.
        .process_group(0);
    let path = about.bin_dir.join("postgres");
    with_log(&mut command, &home.file(home::LOG))?.spawn().map_err(ServerError::io("run", &path))
}

/// A session is the proof: a server that has not finished starting answers too, but only to say so.
fn accepts(about: &Description) -> bool {
    let connection = format!("{} connect_timeout={}", conninfo(about), CONNECT_LIMIT.as_secs());
    resolve(Some(&connection), &Overrides::default(), &Environment::default())
        .and_then(|target| Session::connect(&target))
        .is_ok()
}

/// Why a server that was started does not accept connections.
enum NotReady {
    Ended,
    TooLong,
    Interrupted,
}

/// A standby accepts connections only after it has received some WAL.
fn start_limit(about: &Description) -> Duration {
    about.upstream.as_ref().map_or(START_LIMIT, |upstream| upstream.limit)
}

fn await_connections(child: &mut Child, about: &Description, stop: &StopFlag) -> Result<(), NotReady> {
    let outcome = wait_for(start_limit(about), || match child.try_wait() {
        Ok(None) if stop.is_set() => Some(Err(NotReady::Interrupted)),
        Ok(None) => accepts(about).then_some(Ok(())),
        Ok(Some(_)) | Err(_) => Some(Err(NotReady::Ended)),
    });
    outcome.unwrap_or(Err(NotReady::TooLong))
}

fn why_not(home: &Home, about: &Description, wait: NotReady, log: String) -> ServerError {
    let version = about.version.clone();
    match wait {
        NotReady::Interrupted => ServerError::Interrupted,
        NotReady::TooLong => match &about.upstream {
            Some(upstream) => not_attached(upstream, log),
            None => ServerError::StartTooSlow { version, seconds: START_LIMIT.as_secs(), log },
        },
        NotReady::Ended if home_is_full(&log) => disk_full(home),
        NotReady::Ended => {
            let hint = hint(&log).unwrap_or_default().to_owned();
            ServerError::StartFailed { version, hint, log }
        }
    }
}

/// The error of a standby that does not stream in time.
pub(crate) fn not_attached(upstream: &Upstream, log: String) -> ServerError {
    let (name, seconds) = (upstream.name.clone(), upstream.limit.as_secs());
    ServerError::NotAttached { name, seconds, log }
}

/// Too few semaphores and too little shared memory are reported in the same words.
fn home_is_full(log: &str) -> bool {
    log.lines().any(|line| {
        line.contains("No space left on device")
            && !line.contains("semaphores")
            && !line.contains("shared memory")
    })
}

fn disk_full(home: &Home) -> ServerError {
    ServerError::DiskFull {
        path: home.directory.clone(),
        purpose: "the files of a new server",
        megabytes: INITIAL_MEGABYTES,
        variable: "PGMETER_STATE_DIR",
    }
}

fn hint(log: &str) -> Option<&'static str> {
    HINTS.iter().find(|(said, _)| log.contains(said)).map(|&(_, hint)| hint)
}

/// A port nobody listens on: the preferred one, or one that the system picks. Somebody may take it before the server
/// does; then another is tried.
fn free_port(preferred: u16) -> Result<u16, ServerError> {
    let listen = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let listener = if preferred == 0 { listen(0) } else { listen(preferred).or_else(|_| listen(0)) };
    let port = listener.and_then(|listener| listener.local_addr()).map(|address| address.port());
    port.map_err(ServerError::io("find a free port on", Path::new("127.0.0.1")))
}

/// The last lines of a log.
pub(crate) fn tail(log: &Path) -> String {
    tail_from(log, 0)
}

fn tail_from(log: &Path, from: u64) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let start = from.max(file.metadata()?.len().saturating_sub(LOG_TAIL_BYTES));
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(LOG_TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.trim().is_empty() && !is_our_attempt(line)).collect();
    lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
}

/// Whether a line of a log is only the refusal of a connection attempt of [`await_connections`].
fn is_our_attempt(line: &str) -> bool {
    const REFUSALS: [&str; 3] = [
        "the database system is starting up",
        "the database system is not yet accepting connections",
        "Consistent recovery state has not been yet reached",
    ];
    REFUSALS.iter().any(|refusal| line.contains(refusal))
}

/// How to connect over the Unix socket.
pub(crate) fn conninfo(about: &Description) -> String {
    let host = about.socket_directory.display().to_string();
    format!("host={} port={} user={SUPERUSER} dbname={SUPERUSER}", short_connection_value(&host), about.port)
}

/// How to connect over TCP from this machine; the password is in a file. For a server that listens on TCP.
pub(crate) fn conninfo_tcp(home: &Home, about: &Description) -> String {
    let password_file = short_connection_value(&home.file(home::PASSWORD_FILE).display().to_string());
    format!("host=127.0.0.1 port={} user={SUPERUSER} dbname={SUPERUSER} passfile={password_file}", about.port)
}

/// The same, encrypted, and only to the server with its certificate.
pub(crate) fn conninfo_tls(home: &Home, about: &Description) -> String {
    let certificate = short_connection_value(&home.file(home::CERTIFICATE).display().to_string());
    format!("{} sslmode=verify-ca sslrootcert={certificate}", conninfo_tcp(home, about))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_of_a_log_are_shown_and_only_the_new_ones() {
        let base = tempfile::tempdir().unwrap();
        let log = base.path().join("log");
        assert_eq!(tail(&log), "");
        let refused = "FATAL:  the database system is starting up\n";
        let old: String = (0..1000).map(|line| format!("old line {line}\n{refused}")).collect();
        fs::write(&log, &old).unwrap();
        assert_eq!(tail(&log).lines().count(), LOG_TAIL_LINES);
        assert!(tail(&log).ends_with("old line 999"));
        let from = old.len() as u64;
        fs::write(&log, [old.as_bytes(), b"\nnew\n\xff\n"].concat()).unwrap();
        assert!(tail_from(&log, from).starts_with("new\n"));
    }

    #[test]
    fn a_taken_port_is_exchanged_for_a_free_one() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let other = free_port(port).unwrap();
        assert!(other != port && other != 0);
    }

    #[test]
    fn too_few_semaphores_are_not_taken_for_a_full_disk() {
        let log = "FATAL:  could not create semaphores: No space left on device";
        assert!(!home_is_full(log));
        assert!(hint(log).unwrap().contains("max_connections"));
        let log = "selecting dynamic shared memory … posix\nFATAL:  could not extend file: No space left on device\n";
        assert!(home_is_full(log));
        assert_eq!(hint("nothing we know"), None);
    }
}
