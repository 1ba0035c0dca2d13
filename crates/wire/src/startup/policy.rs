//! What a client demands of the authentication: libpq's `channel_binding` and `require_auth`, as data.
//! `connect` reads them from connection strings; `Startup` holds the server to them.
//!
//! Manual: libpq, "Parameter Key Words".

use std::fmt;

/// Whether SCRAM is tied to the TLS connection that it runs through, so that nobody can sit between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelBinding {
    /// Never.
    Disable,
    /// Where the server offers it.
    #[default]
    Prefer,
    /// Always: a server that lets the client in without is refused.
    Require,
}

/// A way to authenticate, by libpq's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The server asks for nothing.
    None,
    /// A password in clear text.
    Password,
    /// A hashed password.
    Md5,
    /// SCRAM, with or without channel binding.
    ScramSha256,
    /// Kerberos.
    Gss,
    /// Windows' own.
    Sspi,
    /// A bearer token.
    Oauth,
}

/// Their names in `require_auth`.
const METHODS: [(&str, Method); 7] = [
    ("none", Method::None),
    ("password", Method::Password),
    ("md5", Method::Md5),
    ("scram-sha-256", Method::ScramSha256),
    ("gss", Method::Gss),
    ("sspi", Method::Sspi),
    ("oauth", Method::Oauth),
];

/// The methods that a client accepts; all of them by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequiredMethods {
    /// As it was written; empty for all methods.
    text: String,
    listed: Vec<Method>,
    /// The list names what is not accepted.
    is_negative: bool,
}

impl RequiredMethods {
    /// Reads `md5,scram-sha-256` or `!password,!none`; an error is a clause that says what is wrong.
    pub fn parse(text: &str) -> Result<RequiredMethods, String> {
        let mut required = RequiredMethods { text: text.to_owned(), ..RequiredMethods::default() };
        for (index, word) in text.split(',').map(str::trim).enumerate() {
            let name = word.strip_prefix('!').unwrap_or(word);
            let is_negative = name.len() < word.len();
            if index > 0 && is_negative != required.is_negative {
                return Err("methods with and without \"!\" cannot be combined".to_owned());
            }
            required.is_negative = is_negative;
            let Some((_, method)) = METHODS.iter().find(|(known, _)| *known == name) else {
                let names: Vec<_> = METHODS.iter().map(|(name, _)| *name).collect();
                return Err(format!("unknown method \"{name}\"; the methods are {}", names.join(", ")));
            };
            if required.listed.contains(method) {
                return Err(format!("the method \"{name}\" is listed twice"));
            }
            required.listed.push(*method);
        }
        Ok(required)
    }

    /// True if the client accepts this.
    pub fn allow(&self, method: Method) -> bool {
        self.text.is_empty() || self.listed.contains(&method) != self.is_negative
    }
}

/// As it was written.
impl fmt::Display for RequiredMethods {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_accepts_what_it_names_and_a_negative_one_the_rest() {
        let accepted = |text: &str| {
            let required = RequiredMethods::parse(text).unwrap();
            let names = METHODS.iter().filter(|(_, method)| required.allow(*method)).map(|(name, _)| *name);
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(accepted("md5, scram-sha-256"), "md5 scram-sha-256");
        assert_eq!(accepted("none"), "none");
        assert_eq!(accepted("!password,!md5"), "none scram-sha-256 gss sspi oauth");
        assert!(METHODS.iter().all(|(_, method)| RequiredMethods::default().allow(*method)));
    }

    #[test]
    fn a_list_that_makes_no_sense_says_why() {
        for (text, expected) in [
            ("md5,!none", "cannot be combined"),
            ("md5,md5", "twice"),
            ("ident", "unknown method \"ident\"; the methods are none, password"),
            ("md5,", "unknown method \"\""),
            ("!!md5", "unknown method \"!md5\""),
        ] {
            let refusal = RequiredMethods::parse(text).unwrap_err();
            assert!(refusal.contains(expected), "{refusal}");
        }
    }
}
