//! Session start-up and authentication as a state machine without a socket. It writes replies to the server's messages
//! into a send buffer until the server is ready for queries. The same for clients that wait for many sockets and for one.

use std::fmt;

use md5::{Digest, Md5};

use crate::backend::{Authentication, Decoder, Message, Names, ServerError};
use crate::frontend;
use crate::password::Password;
use crate::protocol_error::ProtocolError;

pub use policy::{ChannelBinding, Method, RequiredMethods};
use scram::{Begun, Binding, Proved, SCRAM_SHA_256, SCRAM_SHA_256_PLUS};

mod policy;
mod scram;

/// Start-up parameters and the password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartupParameters {
    /// The role.
    pub user: String,
    /// The database; by default the server uses the role's name.
    pub database: Option<String>,
    /// Application name, shown in `pg_stat_activity`.
    pub application_name: Option<String>,
    /// Server options, as in `-c geqo=off`.
    pub options: Option<String>,
    /// Sent only on the server's request, in the requested form. An empty password counts as none.
    pub password: Option<Password>,
    /// Further parameters, such as `client_encoding`, in order.
    pub extra: Vec<(String, String)>,
    /// Use of SCRAM channel binding; see [`Startup::bind`].
    pub channel_binding: ChannelBinding,
    /// Accepted authentication methods.
    pub required_methods: RequiredMethods,
}

/// Key for cancel requests.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CancelKey {
    /// PID of the backend.
    pub process_id: u32,
    /// The key sent by the server; 4 bytes in protocol 3.0.
    pub secret_key: Vec<u8>,
}

/// Anyone with the key can cancel statements, so Debug hides it.
impl fmt::Debug for CancelKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CancelKey").field("process_id", &self.process_id).finish_non_exhaustive()
    }
}

/// State of a start-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Send the output, and pass the next message.
    NeedMore,
    /// The server is ready for queries; with the session's cancel key.
    Ready(CancelKey),
}

/// Why a start-up failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartupError {
    /// The server's error.
    #[error("{0}")]
    Server(Box<ServerError>),
    /// The server requires a password and none is given.
    #[error("the server requires a password, but none is given")]
    PasswordNeeded,
    /// The server requires an authentication method that is not implemented.
    #[error("the server requires {name} authentication, which is not supported")]
    UnsupportedAuthentication {
        /// GSSAPI, SSPI, …
        name: String,
    },
    /// The server requires an authentication method that the user does not accept.
    #[error("{what}, which require_auth={required} does not allow")]
    MethodNotAccepted {
        /// The server's method.
        what: &'static str,
        /// The value of `require_auth`.
        required: String,
    },
    /// Channel binding is required but not available.
    #[error("channel_binding=require cannot be satisfied: {why}")]
    NotBound {
        /// The reason.
        why: &'static str,
    },
    /// The connection's parameters do not fit into the StartupMessage.
    #[error(
        "the connection's parameters have {length} bytes, and the server accepts at most {}: shorten options or \
         application_name",
        frontend::STARTUP_LENGTH_MAX
    )]
    ParametersTooLong {
        /// Length of the message.
        length: usize,
    },
    /// The password does not fit into a PasswordMessage.
    #[error(
        "the password has {length} bytes, and the server accepts at most {} in clear text",
        frontend::PASSWORD_LENGTH_MAX
    )]
    PasswordTooLong {
        /// Length of the password.
        length: usize,
    },
    /// The SCRAM exchange failed, for example because the server does not know the password.
    #[error("SCRAM-SHA-256 authentication failed: {reason}")]
    Scram {
        /// The failed step.
        reason: String,
    },
    /// The server does not support requested protocol options.
    #[error("the server does not support the protocol options {}", names.join(", "))]
    OptionsRejected {
        /// Names of the options.
        names: Vec<String>,
    },
    /// A message that is not allowed during start-up.
    #[error("the server sent {name} during startup")]
    UnexpectedMessage {
        /// The message's name in the protocol manual.
        name: &'static str,
    },
    /// The server's bytes violate the protocol.
    #[error("{0}")]
    Protocol(#[from] ProtocolError),
}

/// A start-up in progress.
#[derive(Debug)]
pub struct Startup {
    user: String,
    password: Option<Password>,
    exchange: Exchange,
    key: CancelKey,
    channel_binding: ChannelBinding,
    required_methods: RequiredMethods,
    /// Channel binding data of the TLS connection; `None` without TLS.
    end_point: Option<Box<[u8]>>,
}

/// State of the authentication. The server may start only one exchange.
enum Exchange {
    /// The server has not requested authentication yet.
    NotAsked,
    /// The password was sent, in clear text or hashed.
    PasswordSent,
    /// SCRAM: the first client message was sent.
    ScramBegun(Box<Begun>),
    /// SCRAM: the client's proof was sent; the server's is expected.
    ScramProved(Box<Proved>),
    /// SCRAM: both proofs are verified.
    ScramVerified,
    /// Authentication is complete.
    Done,
    /// The start-up has failed; this state is final.
    Failed,
}

impl Startup {
    /// Writes the StartupMessage into `out`.
    ///
    /// # Errors
    /// The parameters are longer than the server accepts; `out` is unchanged.
    pub fn new(parameters: &StartupParameters, out: &mut Vec<u8>) -> Result<Startup, StartupError> {
        let StartupParameters { user, database, application_name, options, password, extra, .. } = parameters;
        let optional = [("database", database), ("application_name", application_name), ("options", options)];
        let mut pairs = vec![("user", user.as_str())];
        pairs.extend(optional.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))));
        pairs.extend(extra.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        // Each with its zero byte, and the length word, the version and the final zero byte.
        let length = pairs.iter().map(|(name, value)| name.len() + value.len() + 2).sum::<usize>() + 9;
        if length > frontend::STARTUP_LENGTH_MAX {
            return Err(StartupError::ParametersTooLong { length });
        }
        frontend::startup(out, &pairs);
        Ok(Startup {
            user: user.clone(),
            password: password.clone().filter(|password| !password.is_empty()),
            exchange: Exchange::NotAsked,
            key: CancelKey::default(),
            channel_binding: parameters.channel_binding,
            required_methods: parameters.required_methods.clone(),
            end_point: None,
        })
    }

    /// Sets the channel binding data of the TLS connection: the hash of the server's certificate (RFC 5929,
    /// `tls-server-end-point`). Must be called before the server's first message.
    pub fn bind(&mut self, end_point: &[u8]) {
        self.end_point = Some(end_point.into());
    }

    /// Processes the server's next message; writes a reply, if necessary, into `out`. The start-up ends with `Ready` or
    /// an error.
    pub fn message(&mut self, message: &Message<'_>, out: &mut Vec<u8>) -> Result<Progress, StartupError> {
        let progress = self.step(message, out);
        if progress.is_err() {
            self.exchange = Exchange::Failed;
        }
        progress
    }

    /// Processes bytes from the server, split at any place; writes replies into `out`. Returns the cancel key when the
    /// server is ready for queries. `aside` gets each message first, and returns true if it has handled it. A refusal
    /// is reported even if the bytes after it violate the protocol.
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
                // The client requests protocol 3.0, the oldest version, so only options can be rejected.
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
            // A server that ends a SCRAM exchange early has not proved that it knows the password.
            (Authentication::Ok, Exchange::NotAsked | Exchange::PasswordSent | Exchange::ScramVerified) => {
                Exchange::Done
            }
            (Authentication::CleartextPassword, Exchange::NotAsked) => {
                let password = self.password()?.as_bytes();
                if password.len() > frontend::PASSWORD_LENGTH_MAX {
                    return Err(StartupError::PasswordTooLong { length: password.len() });
                }
                frontend::password(out, password);
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

    /// Checks the server's request against the accepted methods.
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

    /// The SCRAM mechanism and the channel binding flag (RFC 5802, section 6): bound; `y`, supported by the client
    /// only, which a server that supports it treats as an attack; or `n`, not supported.
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

/// Shows the state without secrets.
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

/// The manual's authentication methods that are not implemented here.
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
