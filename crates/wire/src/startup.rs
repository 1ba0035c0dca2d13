//! How a session begins: start-up and authentication as a state machine without a socket.
//! It answers the server's demands into a send buffer until the server is ready for queries.
//! Driven by the engine's clients and by control sessions alike, so both log in the same way.

use std::fmt;

use md5::{Digest, Md5};

use crate::backend::{Authentication, Decoder, Message, Names, ServerError};
use crate::frontend;
use crate::password::Password;
use crate::protocol_error::ProtocolError;

pub use policy::{ChannelBinding, Method, RequiredMethods};
pub(crate) use scram::SaltedPassword;
use scram::{Begun, Binding, Proved, SCRAM_SHA_256, SCRAM_SHA_256_PLUS};

mod policy;
mod scram;

/// What the client tells about itself, and the password should the server ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartupParameters {
    /// The role.
    pub user: String,
    /// The database; without it the server takes the one named like the user.
    pub database: Option<String>,
    /// Shown in `pg_stat_activity`.
    pub application_name: Option<String>,
    /// Server options, as in `-c geqo=off`.
    pub options: Option<String>,
    /// Sent only if the server asks, in the form that it asks for. An empty one counts as none.
    pub password: Option<Password>,
    /// Further parameters, such as `client_encoding`, in order.
    pub extra: Vec<(String, String)>,
    /// Whether SCRAM is tied to TLS; see [`Startup::bind`].
    pub channel_binding: ChannelBinding,
    /// The ways of authentication that are accepted.
    pub required_methods: RequiredMethods,
}

/// What a cancel request must show.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CancelKey {
    /// The server process.
    pub process_id: u32,
    /// The key as the server gave it; 4 bytes in protocol 3.0.
    pub secret_key: Vec<u8>,
}

/// Anyone who knows the key may cancel, so it is not shown.
impl fmt::Debug for CancelKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CancelKey").field("process_id", &self.process_id).finish_non_exhaustive()
    }
}

/// How far a start-up has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Send what was written, and hand over the next message.
    NeedMore,
    /// The server is ready for queries; its session can be cancelled with this.
    Ready(CancelKey),
}

/// Why a session could not begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartupError {
    /// The server refused, in its own words.
    #[error("{0}")]
    Server(Box<ServerError>),
    /// The server asks for a password and none is known.
    #[error("the server requires a password, but none is given")]
    PasswordNeeded,
    /// The server asks for a way of authentication that is not spoken here.
    #[error("the server requires {name} authentication, which is not supported")]
    UnsupportedAuthentication {
        /// GSSAPI, SSPI, …
        name: String,
    },
    /// The server asks for a way of authentication that the user does not accept.
    #[error("{what}, which require_auth={required} does not allow")]
    MethodNotAccepted {
        /// What the server does.
        what: &'static str,
        /// What the user wrote.
        required: String,
    },
    /// The user demands channel binding, and there is none.
    #[error("channel_binding=require cannot be satisfied: {why}")]
    NotBound {
        /// What is missing.
        why: &'static str,
    },
    /// The SCRAM exchange did not hold: among others, a server that does not know the password.
    #[error("SCRAM-SHA-256 authentication failed: {reason}")]
    Scram {
        /// What did not hold.
        reason: String,
    },
    /// The server does not know protocol options that were asked for.
    #[error("the server does not support the protocol options {}", names.join(", "))]
    OptionsRejected {
        /// Their names.
        names: Vec<String>,
    },
    /// A message that has no place in a start-up.
    #[error("the server sent {name} during startup")]
    UnexpectedMessage {
        /// The message's name in the protocol manual.
        name: &'static str,
    },
    /// The server's bytes are not PostgreSQL's protocol.
    #[error("{0}")]
    Protocol(#[from] ProtocolError),
}

/// A start-up under way.
#[derive(Debug)]
pub struct Startup {
    user: String,
    password: Option<Password>,
    exchange: Exchange,
    key: CancelKey,
    channel_binding: ChannelBinding,
    required_methods: RequiredMethods,
    /// What identifies the TLS connection; `None` without TLS.
    end_point: Option<Box<[u8]>>,
}

/// How far the authentication has come. The server may begin only one exchange.
enum Exchange {
    /// The server has asked for nothing yet.
    NotAsked,
    /// The password is on its way, in clear text or hashed.
    PasswordSent,
    /// SCRAM: the client has spoken first.
    ScramBegun(Box<Begun>),
    /// SCRAM: the client has proved that it knows the password; now the server must.
    ScramProved(Box<Proved>),
    /// SCRAM: both sides have proved it.
    ScramVerified,
    /// The server has let the client in.
    Done,
    /// The start-up has failed; nothing that follows can change that.
    Failed,
}

impl Startup {
    /// Writes the StartupMessage into `out`.
    pub fn new(parameters: &StartupParameters, out: &mut Vec<u8>) -> Startup {
        let StartupParameters { user, database, application_name, options, password, extra, .. } = parameters;
        let optional = [("database", database), ("application_name", application_name), ("options", options)];
        let mut pairs = vec![("user", user.as_str())];
        pairs.extend(optional.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))));
        pairs.extend(extra.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        frontend::startup(out, &pairs);
        Startup {
            user: user.clone(),
            password: password.clone().filter(|password| !password.is_empty()),
            exchange: Exchange::NotAsked,
            key: CancelKey::default(),
            channel_binding: parameters.channel_binding,
            required_methods: parameters.required_methods.clone(),
            end_point: None,
        }
    }

    /// The connection runs through TLS, and this identifies the server's end of it: the hash of its certificate
    /// (RFC 5929, `tls-server-end-point`). To be said before the first message of the server.
    pub fn bind(&mut self, end_point: &[u8]) {
        self.end_point = Some(end_point.into());
    }

    /// Takes the next message of the server; writes the answer, if one is due, into `out`.
    /// After `Ready` or an error the start-up is over.
    pub fn message(&mut self, message: &Message<'_>, out: &mut Vec<u8>) -> Result<Progress, StartupError> {
        let progress = self.step(message, out);
        if progress.is_err() {
            self.exchange = Exchange::Failed;
        }
        progress
    }

    /// Takes in what the server has sent, in any pieces; writes the answers into `out`. The key for cancelling once the server is
    /// ready for queries. `aside` sees each message before, and says whether it is none of the start-up's. A refusal counts
    /// although the bytes after it are not PostgreSQL's protocol.
    pub fn receive(
        &mut self,
        decoder: &mut Decoder,
        bytes: &[u8],
        out: &mut Vec<u8>,
        aside: &mut dyn FnMut(&Message<'_>) -> bool,
    ) -> Result<Option<CancelKey>, StartupError> {
        let mut progress = Ok(Progress::NeedMore);
        let decoded = decoder.decode(bytes, &mut |message| {
            if !aside(&message) && progress == Ok(Progress::NeedMore) {
                progress = self.message(&message, out);
            }
        });
        match progress? {
            Progress::Ready(key) => Ok(Some(key)),
            Progress::NeedMore => decoded.map(|()| None).map_err(StartupError::Protocol),
        }
    }

    fn step(&mut self, message: &Message<'_>, out: &mut Vec<u8>) -> Result<Progress, StartupError> {
        match *message {
            Message::Authentication(demand) => self.authenticate(demand, out)?,
            Message::ErrorResponse(fields) => return Err(StartupError::Server(Box::new(fields.into()))),
            Message::NoticeResponse(_) => {}
            Message::NegotiateProtocolVersion { unknown_options, .. } => {
                // Protocol 3.0 is the oldest that is spoken, so the server's newest is never too old.
                let names: Vec<_> = unknown_options.iter().map(to_text).collect();
                if !names.is_empty() {
                    return Err(StartupError::OptionsRejected { names });
                }
            }
            _ if !matches!(self.exchange, Exchange::Done) => {
                return Err(StartupError::UnexpectedMessage { name: message.name() });
            }
            Message::ParameterStatus { .. } => {}
            Message::BackendKeyData { process_id, secret_key } => {
                self.key = CancelKey { process_id, secret_key: secret_key.to_vec() };
            }
            Message::ReadyForQuery(_) => return Ok(Progress::Ready(std::mem::take(&mut self.key))),
            _ => return Err(StartupError::UnexpectedMessage { name: message.name() }),
        }
        Ok(Progress::NeedMore)
    }

    /// Manual: "Message Flow", section "Start-up".
    fn authenticate(&mut self, demand: Authentication<'_>, out: &mut Vec<u8>) -> Result<(), StartupError> {
        let exchange = std::mem::replace(&mut self.exchange, Exchange::Failed);
        self.check(demand, &exchange)?;
        self.exchange = match (demand, exchange) {
            // A server that breaks a SCRAM exchange off in the middle has not proved that it knows the password.
            (Authentication::Ok, Exchange::NotAsked | Exchange::PasswordSent | Exchange::ScramVerified) => {
                Exchange::Done
            }
            (Authentication::CleartextPassword, Exchange::NotAsked) => {
                frontend::password(out, self.password()?.as_bytes());
                Exchange::PasswordSent
            }
            (Authentication::Md5Password { salt }, Exchange::NotAsked) => {
                let inner = md5_hex(&[self.password()?.as_bytes(), self.user.as_bytes()]);
                let answer = format!("md5{}", md5_hex(&[inner.as_bytes(), &salt]));
                frontend::password(out, answer.as_bytes());
                Exchange::PasswordSent
            }
            (Authentication::Sasl(mechanisms), Exchange::NotAsked) => {
                let (mechanism, binding) = self.choose(mechanisms)?;
                self.password()?;
                let begun = Begun::new(binding).map_err(scram_failed)?;
                frontend::sasl_initial_response(out, mechanism.as_bytes(), begun.words().as_bytes());
                Exchange::ScramBegun(Box::new(begun))
            }
            (Authentication::SaslContinue(data), Exchange::ScramBegun(begun)) => {
                let (proved, words) = begun.prove(data, self.password()?).map_err(scram_failed)?;
                frontend::sasl_response(out, words.as_bytes());
                Exchange::ScramProved(Box::new(proved))
            }
            (Authentication::SaslFinal(data), Exchange::ScramProved(proved)) => {
                proved.check(data).map_err(scram_failed)?;
                Exchange::ScramVerified
            }
            (Authentication::Unsupported { code }, _) => {
                return Err(StartupError::UnsupportedAuthentication { name: method_name(code) });
            }
            (Authentication::Ok, Exchange::ScramBegun(_) | Exchange::ScramProved(_)) => {
                let reason = "the server ended the exchange without proving that it knows the password";
                return Err(StartupError::Scram { reason: reason.to_owned() });
            }
            _ => return Err(StartupError::UnexpectedMessage { name: "Authentication" }),
        };
        Ok(())
    }

    /// Holds the server to what the user accepts.
    fn check(&self, demand: Authentication<'_>, exchange: &Exchange) -> Result<(), StartupError> {
        let (method, what) = match (demand, exchange) {
            (Authentication::Ok, Exchange::NotAsked) => {
                (Method::None, "the server requires no authentication")
            }
            (Authentication::CleartextPassword, _) => {
                (Method::Password, "the server requests the password in clear text")
            }
            (Authentication::Md5Password { .. }, _) => {
                (Method::Md5, "the server requests MD5 authentication")
            }
            (Authentication::Sasl(names), _) if names.iter().any(|name| name.starts_with(b"SCRAM-")) => {
                (Method::ScramSha256, "the server requests SCRAM")
            }
            (Authentication::Sasl(_), _) => (Method::Oauth, "the server requests SASL without SCRAM"),
            (Authentication::Unsupported { code: 7 | 8 }, _) => (Method::Gss, "the server requests GSSAPI"),
            (Authentication::Unsupported { code: 9 }, _) => (Method::Sspi, "the server requests SSPI"),
            _ => return Ok(()),
        };
        if !self.required_methods.allow(method) {
            let required = self.required_methods.to_string();
            return Err(StartupError::MethodNotAccepted { what, required });
        }
        if self.channel_binding == ChannelBinding::Require && method != Method::ScramSha256 {
            return Err(StartupError::NotBound {
                why: "the server uses an authentication method without it",
            });
        }
        Ok(())
    }

    /// The mechanism of SCRAM, and what it says about TLS (RFC 5802, section 6): bound to it; `y`, could have been
    /// bound, which a server that can as well takes for an attack; or `n`, nothing to be bound to.
    fn choose(&self, offered: Names<'_>) -> Result<(&'static str, Binding), StartupError> {
        let is_offered = |mechanism: &str| offered.iter().any(|name| name == mechanism.as_bytes());
        let is_required = self.channel_binding == ChannelBinding::Require;
        let end_point = self.end_point.as_deref().filter(|_| self.channel_binding != ChannelBinding::Disable);
        match end_point {
            Some(end_point) if is_offered(SCRAM_SHA_256_PLUS) => {
                Ok((SCRAM_SHA_256_PLUS, Binding::EndPoint(end_point.to_vec())))
            }
            Some(_) if is_required => Err(StartupError::NotBound { why: "the server does not offer it" }),
            None if is_required => Err(StartupError::NotBound { why: "the connection does not use TLS" }),
            _ if !is_offered(SCRAM_SHA_256) => Err(unsupported_sasl(offered)),
            Some(_) => Ok((SCRAM_SHA_256, Binding::NotOffered)),
            None => Ok((SCRAM_SHA_256, Binding::Unsupported)),
        }
    }

    fn password(&self) -> Result<&Password, StartupError> {
        self.password.as_ref().ok_or(StartupError::PasswordNeeded)
    }
}

/// Shows the step, never the secrets inside.
impl fmt::Debug for Exchange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Exchange::NotAsked => "NotAsked",
            Exchange::PasswordSent => "PasswordSent",
            Exchange::ScramBegun(_) => "ScramBegun",
            Exchange::ScramProved(_) => "ScramProved",
            Exchange::ScramVerified => "ScramVerified",
            Exchange::Done => "Done",
            Exchange::Failed => "Failed",
        })
    }
}

/// The methods of the manual's Authentication messages that are not spoken here.
fn method_name(code: u32) -> String {
    match code {
        2 => "Kerberos V5".to_owned(),
        6 => "SCM credential".to_owned(),
        7 | 8 => "GSSAPI".to_owned(),
        9 => "SSPI".to_owned(),
        _ => format!("unknown (number {code})"),
    }
}

fn unsupported_sasl(mechanisms: Names<'_>) -> StartupError {
    let names: Vec<_> = mechanisms.iter().map(to_text).collect();
    let name = match names.as_slice() {
        [] => "SASL (without naming a mechanism)".to_owned(),
        [only] if only == SCRAM_SHA_256_PLUS => format!("{only} (channel binding, which needs TLS)"),
        _ => names.join(" or "),
    };
    StartupError::UnsupportedAuthentication { name }
}

/// Manual: "Message Flow", AuthenticationMD5Password.
fn md5_hex(parts: &[&[u8]]) -> String {
    let mut hash = Md5::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn scram_failed(reason: String) -> StartupError {
    StartupError::Scram { reason }
}

fn to_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
