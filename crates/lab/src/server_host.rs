//! The host of a server: its cores and its memory, for values relative to them. An embedded server runs on this host;
//! of a running server, a session shows whether its processes are visible here.

use connect::{Environment, Overrides, Session};
use experiment::{Origin, ServerHost};

/// The host of this process.
pub fn host_of_process() -> ServerHost {
    host_of(std::process::id())
}

fn host_of(process_id: u32) -> ServerHost {
    ServerHost { cores: results::cpus_allowed(process_id), memory_bytes: results::memory_allowed(process_id) }
}

/// The host of the server of this session.
///
/// # Errors
/// The server's processes are not visible; a complete sentence.
pub fn host_of_session(session: &Session) -> Result<ServerHost, String> {
    let process_id = session.cancel_key().process_id;
    if observe::is_server_here(process_id) {
        return Ok(host_of(process_id));
    }
    Err("the server runs on another host or in a container, so its cores and memory are unknown; give a number"
        .to_owned())
}

/// The host of a server. An embedded server runs on this host with the limits of this process; for a running server
/// one of its processes is examined.
///
/// # Errors
/// The connection failed, or the server's processes are not visible.
pub fn find_host(origin: &Origin) -> Result<ServerHost, String> {
    let Origin::Running(dsn) = origin else { return Ok(host_of_process()) };
    let in_words = |error: connect::ConnectError| format!("the server's host cannot be examined: {error}");
    let target = connect::resolve(Some(dsn), &Overrides::default(), &Environment::of_process());
    let session = Session::connect(&target.map_err(in_words)?).map_err(in_words)?;
    host_of_session(&session)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_embedded_server_has_the_cores_and_the_memory_of_this_process() {
        let host = find_host(&Origin::Version("18".to_owned())).unwrap();
        assert!(host.cores.is_some_and(|cores| cores > 0.0), "{host:?}");
        assert!(host.memory_bytes.is_some_and(|bytes| bytes > 0), "{host:?}");
    }
}
