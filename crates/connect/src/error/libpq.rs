//! Connection errors in libpq's words, which wrappers of its programs may parse. Used only by `error`, which has
//! pgmeter's own messages.

use std::io;

use wire::StartupError;

use super::Cause;
use crate::address::Address;

/// The address and the reason.
pub(super) fn failed(address: &Address, cause: &Cause) -> String {
    let why = match cause {
        Cause::Io(error) => format!("{}\n\t{}", system(error), question(address)),
        Cause::Closed => {
            "server closed the connection unexpectedly\n\tThis probably means the server terminated \
             abnormally\n\tbefore or while processing the request."
                .to_owned()
        }
        Cause::TimedOut(_) => "timeout expired".to_owned(),
        Cause::Startup(StartupError::Server(error)) => error.report(None),
        Cause::Startup(StartupError::PasswordNeeded) => "fe_sendauth: no password supplied".to_owned(),
        Cause::Startup(error) => error.to_string(),
        Cause::Tls(error) => error.to_string(),
        Cause::Protocol(error) => error.to_string(),
    };
    place(address, &why)
}

/// `why` after libpq's name of the address.
pub(super) fn place(address: &Address, why: &str) -> String {
    format!("connection to {} failed: {why}", address.as_libpq())
}

fn question(address: &Address) -> &'static str {
    match address {
        Address::Unix(_) => "Is the server running locally and accepting connections on that socket?",
        Address::Tcp { .. } => "Is the server running on that host and accepting TCP/IP connections?",
    }
}

/// The system's message without its number.
fn system(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.as_str(), |(text, _)| text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_named_as_libpq_names_it() {
        let refused = Cause::Io(io::Error::from_raw_os_error(111));
        let named = Address::Tcp { host: "db".to_owned(), address: ([127, 0, 0, 1], 5432).into() };
        let text = failed(&named, &refused);
        assert!(text.starts_with(
            "connection to server at \"db\" (127.0.0.1), port 5432 failed: Connection refused\n\t"
        ));
        let plain = Address::Tcp { host: "127.0.0.1".to_owned(), address: ([127, 0, 0, 1], 1).into() };
        assert!(
            failed(&plain, &refused).starts_with("connection to server at \"127.0.0.1\", port 1 failed: ")
        );
        let socket = Address::Unix("/nowhere/.s.PGSQL.1".into());
        let missing = Cause::Io(io::Error::from_raw_os_error(2));
        assert_eq!(
            failed(&socket, &missing),
            "connection to server on socket \"/nowhere/.s.PGSQL.1\" failed: No such file or directory\n\
             \tIs the server running locally and accepting connections on that socket?"
        );
    }
}
