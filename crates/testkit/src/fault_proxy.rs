//! A proxy between clients and a real server that damages the traffic once it is told to: for tests of what a client
//! does then. It listens on a free TCP port of the loopback device and reads nothing of the protocol. For a network
//! that works and is slow there is the crate `relay`.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::net::sockopt::{set_socket_linger, set_socket_recv_buffer_size};

/// Bytes that are read at once.
const PIECE: usize = 16 << 10;
/// Bytes that the kernel holds for a slow reader; it would hold megabytes by itself.
const SLOW_BUFFER: usize = 64 << 10;
/// A slow reader waits so long after each piece: it takes at most 16 MB/s, less than any client writes.
const SLOW_PAUSE: Duration = Duration::from_millis(1);
/// A server's bytes that arrive before the reset: the type of a message and half of its length.
const BYTES_BEFORE_RESET: usize = 3;
/// The wrong bytes: another protocol's.
const WRONG: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";

/// The damage done to the connections that are open when the proxy is told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFault {
    /// The server's side reads slowly, from the beginning.
    SlowReader,
    /// The connection is reset in the middle of the server's next message.
    Reset,
    /// The server's next bytes are replaced by those of another protocol.
    WrongBytes,
}

/// A running proxy. All its connections end when it is dropped.
pub struct FaultProxy {
    port: u16,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    server: PathBuf,
    fault: WireFault,
    has_ended: AtomicBool,
    /// Weak, since a connection is reset when the last thread lets go of it.
    connections: Mutex<Vec<Weak<Connection>>>,
}

struct Connection {
    client: TcpStream,
    server: UnixStream,
    is_struck: AtomicBool,
}

impl FaultProxy {
    /// Listens for clients of the server behind a Unix socket.
    ///
    /// # Errors
    /// The system gives no port or no thread.
    pub fn start(server: &Path, fault: WireFault) -> io::Result<FaultProxy> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        if fault == WireFault::SlowReader {
            // Connections inherit it.
            set_socket_recv_buffer_size(&listener, SLOW_BUFFER)?;
        }
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            server: server.to_owned(),
            fault,
            has_ended: AtomicBool::new(false),
            connections: Mutex::default(),
        });
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("fault proxy".to_owned())
            .spawn(move || of_thread.accept_all(&listener))?;
        Ok(FaultProxy { port, shared, thread: Some(thread) })
    }

    /// The port of 127.0.0.1 where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Damages the connections that are open now, when the server next sends something; later ones work.
    pub fn strike(&self) {
        for connection in self.shared.connections().iter().filter_map(Weak::upgrade) {
            connection.is_struck.store(true, Ordering::SeqCst);
        }
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::SeqCst);
        self.shared.connections().iter().filter_map(Weak::upgrade).for_each(|connection| connection.close());
        // Wakes the thread; if that fails, the thread stays until the test process ends.
        let woken = TcpStream::connect(("127.0.0.1", self.port)).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn connections(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Connection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept_all(&self, listener: &TcpListener) {
        while let Ok((client, _)) = listener.accept() {
            if self.has_ended.load(Ordering::SeqCst) {
                return;
            }
            // Without a server the client sees its connection closed, as without a proxy.
            let Ok(server) = UnixStream::connect(&self.server) else { continue };
            let connection = Arc::new(Connection { client, server, is_struck: AtomicBool::new(false) });
            self.connections().push(Arc::downgrade(&connection));
            let fault = self.fault;
            let upwards = Arc::clone(&connection);
            thread::spawn(move || upwards.pass_to_server(fault));
            thread::spawn(move || connection.pass_to_client(fault));
            self.connections().retain(|connection| connection.strong_count() > 0);
        }
    }
}

impl Connection {
    fn close(&self) {
        // One that is closed already needs nothing.
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }

    fn pass_to_server(&self, fault: WireFault) {
        let mut piece = [0; PIECE];
        while let Ok(length @ 1..) = (&self.client).read(&mut piece) {
            if (&self.server).write_all(&piece[..length]).is_err() {
                break;
            }
            if fault == WireFault::SlowReader {
                thread::sleep(SLOW_PAUSE);
            }
        }
        // The server ends the session, whose end then reaches the client.
        let _ = self.server.shutdown(Shutdown::Both);
    }

    fn pass_to_client(&self, fault: WireFault) {
        let mut piece = [0; PIECE];
        let mut is_damaged = false;
        while let Ok(length @ 1..) = (&self.server).read(&mut piece) {
            let mut bytes = &piece[..length];
            if !is_damaged && self.is_struck.load(Ordering::SeqCst) {
                is_damaged = true;
                match fault {
                    WireFault::SlowReader => {}
                    WireFault::WrongBytes => bytes = WRONG,
                    WireFault::Reset => {
                        let _ = (&self.client).write_all(&bytes[..length.min(BYTES_BEFORE_RESET)]);
                        let _ = set_socket_linger(&self.client, Some(Duration::ZERO));
                        // Only the reading end: the reset is sent when both threads have let go.
                        let _ = self.client.shutdown(Shutdown::Read);
                        let _ = self.server.shutdown(Shutdown::Both);
                        return;
                    }
                }
            }
            if (&self.client).write_all(bytes).is_err() {
                break;
            }
        }
        self.close();
    }
}
