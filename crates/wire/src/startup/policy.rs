//! Requirements for authentication: libpq's `channel_binding` and `require_auth`, as data. `connect` parses them;
//! `Startup` enforces them.
//!
//! Manual: libpq, "Parameter Key Words".

use std::fmt;

/// Channel binding ties SCRAM to its TLS connection, which prevents man-in-the-middle attacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelBinding {
    /// Never.
    Disable,
    /// If the server supports it.
    #[default]
    Prefer,
    /// Always: authentication without channel binding fails.
    Require,
}

/// Authentication methods by libpq's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The server does not request authentication.
    None,
    /// A password in clear text.
    Password,
    /// A hashed password.
    Md5,
    /// SCRAM, with or without channel binding.
    ScramSha256,
    /// Kerberos.
    Gss,
    /// Windows authentication.
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

/// Accepted authentication methods; all by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequiredMethods {
    /// The original text; empty for all methods.
    text: String,
    listed: Vec<Method>,
    /// The list contains the excluded methods.
    is_negative: bool,
}

impl RequiredMethods {
    /// Parses `md5,scram-sha-256` or `!password,!none`; an error is a clause with the reason.
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

    /// True if the method is accepted.
    pub fn allow(&self, method: Method) -> bool {
        self.text.is_empty() || self.listed.contains(&method) != self.is_negative
    }
}

/// The original text.
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
