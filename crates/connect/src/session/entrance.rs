//! Connecting: the order of addresses, TLS or plain, and the check of `target_session_attrs`. The result is a session
//! or the errors of all attempts.
//!
//! Manual: libpq, "Specifying Multiple Hosts", `sslmode` and `target_session_attrs`.

use std::cell::OnceCell;
use std::sync::Arc;

use wire::{Decoder, Message, Startup, StartupError};

use super::limits::{StatementLimit, Waiting};
use super::repeated::RepeatedQueries;
use super::results::Asides;
use super::stream::{ReadPatience, Stream};
use super::{ENCODING, INPUT_LENGTH, Session};
use crate::address::Address;
use crate::error::{Attempt, Cause, ConnectError};
use crate::target::{HostOrder, SessionAttributes, Target};
use crate::tls::{Tls, TlsError, TlsMode};
use crate::transport::Transport;

/// Tries the target's addresses in order; the first with a suitable server.
pub(super) fn connect(target: &Target) -> Result<Session, ConnectError> {
    let mut found = enter(target, Extent::First, |session| session)?;
    Ok(found.swap_remove(0))
}

/// Tries all addresses in the given order; returns those with a suitable server. Other addresses are skipped if at
/// least one is suitable.
pub(super) fn survey(target: &Target) -> Result<Vec<(Address, Transport)>, ConnectError> {
    let target = Target { host_order: HostOrder::Given, ..target.clone() };
    enter(&target, Extent::All, |session| (session.address.clone(), session.transport.clone()))
}

/// Whether to stop at the first suitable server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    First,
    All,
}

/// Applies `keep` to sessions with suitable servers; at least one.
fn enter<T>(target: &Target, extent: Extent, keep: fn(Session) -> T) -> Result<Vec<T>, ConnectError> {
    let entrance = Entrance { target, tls: OnceCell::new() };
    let mut wanted = target.session_attributes;
    if wanted == SessionAttributes::PreferStandby {
        match entrance.search(SessionAttributes::Standby, extent, keep) {
            // A final refusal makes a second search pointless.
            Err(attempts) if !attempts.last().is_some_and(Attempt::ends_the_search) => {
                wanted = SessionAttributes::Any;
            }
            found => {
                return found
                    .map_err(|attempts| ConnectError::of_attempts(&target.user, &target.database, attempts));
            }
        }
    }
    let found = entrance.search(wanted, extent, keep);
    found.map_err(|attempts| ConnectError::of_attempts(&target.user, &target.database, attempts))
}

/// Encryption of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Plain,
    /// Through TLS.
    Tls,
    /// Through TLS if the server supports it, otherwise plain on the same connection.
    TlsOrPlain,
}

/// A target during connecting; its certificates are read once, on first use.
struct Entrance<'a> {
    target: &'a Target,
    tls: OnceCell<Result<Tls, TlsError>>,
}

impl Entrance<'_> {
    /// The suitable servers, or the errors of all attempts. A refusal is final.
    fn search<T>(
        &self,
        wanted: SessionAttributes,
        extent: Extent,
        keep: fn(Session) -> T,
    ) -> Result<Vec<T>, Vec<Attempt>> {
        let (mut found, mut attempts) = (Vec::new(), Vec::new());
        for place in self.target.places() {
            match place.and_then(|address| self.enter(&address, wanted)) {
                Ok(session) => found.push(keep(session)),
                // A refusal ends the search, and only its error is reported.
                Err(attempt) if attempt.ends_the_search() && extent == Extent::All => {
                    return Err(vec![attempt]);
                }
                Err(attempt) => attempts.push(attempt),
            }
            let is_over = !found.is_empty() || attempts.last().is_some_and(Attempt::ends_the_search);
            if is_over && extent == Extent::First {
                break;
            }
        }
        if found.is_empty() { Err(attempts) } else { Ok(found) }
    }

    /// Tries one address with the modes that `sslmode` allows. As in libpq, Unix sockets do not use TLS.
    fn enter(&self, address: &Address, wanted: SessionAttributes) -> Result<Session, Attempt> {
        let (first, second) = match (address, self.target.tls.mode) {
            (Address::Unix(_), _) | (_, TlsMode::Disable) => (Way::Plain, None),
            (_, TlsMode::Allow) => (Way::Plain, Some(Way::Tls)),
            (_, TlsMode::Prefer) => (Way::TlsOrPlain, Some(Way::Plain)),
            (_, TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull) => (Way::Tls, None),
        };
        let attempt = |cause| Attempt::new(self.target, address, cause);
        let cause = match self.try_way(address, first) {
            Ok(session) => return self.check(session, wanted),
            Err(cause) => cause,
        };
        match second.filter(|_| is_worth_another_way(&cause)) {
            None => Err(attempt(cause)),
            Some(second) => match self.try_way(address, second) {
                Ok(session) => self.check(session, wanted),
                // Without an alternative, the first refusal is reported.
                Err(Cause::Tls(error)) if error.is_not_offered() => Err(attempt(cause)),
                Err(other) if second == Way::Tls => Err(attempt(other).after(attempt(cause), "without TLS")),
                Err(other) => Err(attempt(other).after(attempt(cause), "with TLS")),
            },
        }
    }

    /// Connects to one address with one mode and authenticates.
    fn try_way(&self, address: &Address, way: Way) -> Result<Session, Cause> {
        let patience = ReadPatience::of(self.target.connect_timeout.or(self.target.control_timeout));
        let mut stream = Stream::connect(address, patience)?;
        self.target.keep_alive.prepare_socket(address, &stream).map_err(Cause::Io)?;
        let mut tls = None;
        if way != Way::Plain {
            let config = self.tls()?;
            match stream.encrypt(config, address, patience) {
                Ok(()) => tls = Some(config.clone()),
                Err(Cause::Tls(error)) if way == Way::TlsOrPlain && error.is_not_offered() => {}
                Err(cause) => return Err(cause),
            }
        }
        let transport = Transport { tls, keep_alive: self.target.keep_alive };
        log_in(self.target, address, stream, patience, transport)
    }

    fn tls(&self) -> Result<&Tls, Cause> {
        let made = self.tls.get_or_init(|| Tls::new(&self.target.tls));
        made.as_ref().map_err(|error| Cause::Tls(error.clone()))
    }

    /// Closes the session if the server is not suitable.
    fn check(&self, mut session: Session, wanted: SessionAttributes) -> Result<Session, Attempt> {
        if let Some(limit) = self.target.connect_timeout {
            session.set_statement_limit(StatementLimit::Within(limit));
        }
        let objection = session.objection(wanted);
        session.set_statement_limit(StatementLimit::of(self.target));
        match objection {
            Ok(None) => Ok(session),
            Ok(Some(why)) => Err(Attempt::unsuitable(&session.address, why.to_owned())),
            Err(error) => Err(Attempt::unsuitable(&session.address, error.to_string())),
        }
    }
}

/// True if the server might accept the connection with the other mode, TLS or plain.
fn is_worth_another_way(cause: &Cause) -> bool {
    match cause {
        Cause::Tls(_) => true,
        Cause::Startup(StartupError::Server(error)) => error.sqlstate.class() == "28",
        _ => false,
    }
}

/// Starts up and authenticates over a connection.
fn log_in(
    target: &Target,
    address: &Address,
    mut stream: Stream,
    patience: ReadPatience,
    transport: Transport,
) -> Result<Session, Cause> {
    let mut out = Vec::new();
    let mut parameters = target.startup_parameters(target.host_of(address));
    // Statements and answers are UTF-8, whatever the database and the user's settings; this wins over `options`.
    parameters.extra.retain(|(name, _)| name != ENCODING.0);
    parameters.extra.push((ENCODING.0.to_owned(), ENCODING.1.to_owned()));
    let mut startup = Startup::new(&parameters, &mut out).map_err(Cause::Startup)?;
    if let Some(end_point) = stream.end_point() {
        startup.bind(end_point);
    }
    let mut asides = Asides::default();
    let mut decoder = Decoder::new();
    let mut input = vec![0; INPUT_LENGTH].into_boxed_slice();
    loop {
        let written = stream.write_all(&out, patience);
        out.clear();
        // A server that closed the connection may have sent an error before.
        let length = match (stream.read(&mut input, patience), written) {
            (Ok(0), _) => return Err(Cause::Closed),
            (Ok(length), _) => length,
            (Err(_), Err(cause)) | (Err(cause), Ok(())) => return Err(cause),
        };
        let mut aside = |message: &Message<'_>| asides.take(message);
        match startup.receive(&mut decoder, &input[..length], &mut out, &mut aside) {
            Ok(None) => {}
            Err(StartupError::Protocol(error)) => return Err(Cause::Protocol(error)),
            Err(error) => return Err(Cause::Startup(error)),
            Ok(Some(key)) => {
                return Ok(Session {
                    stream,
                    address: address.clone(),
                    transport,
                    decoder,
                    input,
                    out,
                    asides,
                    key,
                    target: Box::new(target.clone()),
                    waiting: Waiting::new(StatementLimit::of(target)),
                    closed_because: Arc::default(),
                    ended: None,
                    is_pooled: None,
                    state: None,
                    repeated: RepeatedQueries::default(),
                });
            }
        }
    }
}

impl Session {
    /// Why the server does not meet the requirement; `None` if it does. Servers since 14 report the required
    /// parameters; others, and poolers, are queried.
    fn objection(&mut self, wanted: SessionAttributes) -> Result<Option<&'static str>, ConnectError> {
        let (will_do, objection) = match wanted {
            SessionAttributes::Any | SessionAttributes::PreferStandby => return Ok(None),
            SessionAttributes::ReadWrite => {
                (!self.is_read_only()?, "it does not accept writing transactions")
            }
            SessionAttributes::ReadOnly => (self.is_read_only()?, "it accepts writing transactions"),
            SessionAttributes::Primary => (!self.is_standby()?, "it is a standby"),
            SessionAttributes::Standby => (self.is_standby()?, "it is not a standby"),
        };
        Ok((!will_do).then_some(objection))
    }

    fn is_read_only(&mut self) -> Result<bool, ConnectError> {
        let reported = |name| self.parameter(name).map(|value| value == "on");
        match (reported("default_transaction_read_only"), reported("in_hot_standby")) {
            (Some(is_default), Some(is_standby)) => Ok(is_default || is_standby),
            _ => Ok(self.answer("SHOW transaction_read_only")?.as_deref() == Some("on")),
        }
    }

    fn is_standby(&mut self) -> Result<bool, ConnectError> {
        match self.parameter("in_hot_standby") {
            Some(value) => Ok(value == "on"),
            None => Ok(self.answer("SELECT pg_catalog.pg_is_in_recovery()")?.as_deref() == Some("t")),
        }
    }

    fn answer(&mut self, question: &str) -> Result<Option<String>, ConnectError> {
        let rows = self.query(question)?;
        Ok(rows.first().and_then(|row| row.get(0)).map(str::to_owned))
    }
}
