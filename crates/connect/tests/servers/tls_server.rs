//! A server with arbitrary certificates that refuses the client with a message: a client that receives it has accepted
//! the certificates. PostgreSQL would not start with most of them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use rustls::crypto::ring::{default_provider, sign};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Message received after the client has accepted the certificates.
pub const REACHED: &str = "the server was reached";

/// Stops on drop.
pub struct TlsServer {
    pub port: u16,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shown(Arc<CertifiedKey>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

impl TlsServer {
    pub fn start(shown: Vec<Vec<u8>>, key: &[u8]) -> TlsServer {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.to_vec()));
        let key = sign::any_supported_type(&key).expect("a key of ours");
        let chain = shown.into_iter().map(CertificateDer::from).collect();
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the usual versions")
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(Shown(Arc::new(CertifiedKey::new(chain, key)))));
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("a port").port();
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            for socket in listener.incoming() {
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                // A client that refuses the certificates disconnects.
                let _ = socket.and_then(|socket| serve(socket, Arc::clone(&config)));
            }
        });
        TlsServer { port, is_over, thread: Some(thread) }
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the listener.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(ended.is_some_and(|ended| ended.is_ok()), "the server of a test panicked");
    }
}

/// One client, to its end.
fn serve(mut socket: TcpStream, config: Arc<ServerConfig>) -> std::io::Result<()> {
    let mut request = [0; 8];
    socket.read_exact(&mut request)?;
    socket.write_all(b"S")?;
    let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut stream = StreamOwned::new(connection, socket);
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut startup = vec![0; (u32::from_be_bytes(length) as usize).clamp(4, 10_000) - 4];
    stream.read_exact(&mut startup)?;
    let fields = format!("SFATAL\0VFATAL\0C28000\0M{REACHED}\0\0");
    let length = u32::try_from(fields.len() + 4).expect("a short message").to_be_bytes();
    stream.write_all(&[b"E", &length[..], fields.as_bytes()].concat())?;
    stream.conn.send_close_notify();
    stream.flush()?;
    // Waits until the client has disconnected, so that it reads the whole message.
    let _ = stream.read(&mut [0; 64]);
    Ok(())
}
