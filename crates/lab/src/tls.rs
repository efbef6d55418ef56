//! TLS for the lab's servers, with a certificate that is made up at each start; plain HTTP is spoken on the same port.

use std::fmt::Write as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

/// How long a client may take to say hello.
const HELLO: Duration = Duration::from_secs(10);
/// What a client that speaks TLS begins with.
const HANDSHAKE: u8 = 0x16;

/// A certificate with its key.
#[derive(Clone)]
pub struct Identity {
    acceptor: TlsAcceptor,
    certificate: String,
    fingerprint: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity")
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

impl Identity {
    /// Makes one up, for loopback.
    pub fn generate() -> io::Result<Self> {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
        let der = made.cert.der().clone();
        let fingerprint = Sha256::digest(&der).iter().fold(String::new(), |mut text, byte| {
            let colon = if text.is_empty() { "" } else { ":" };
            // Writing into a String cannot fail.
            let _ = write!(text, "{colon}{byte:02X}");
            text
        });
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![der], key)
            .map_err(io::Error::other)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            certificate: made.cert.pem(),
            fingerprint,
        })
    }

    /// The certificate, in PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The SHA-256 of the certificate, as Proxmox shows it.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Speaks with a client as the client does.
    pub(crate) async fn greet(&self, stream: TcpStream) -> io::Result<Stream> {
        let mut first = [0];
        let greeted = async {
            stream.peek(&mut first).await?;
            Ok(if first == [HANDSHAKE] {
                Stream::Secure(Box::new(self.acceptor.accept(stream).await?))
            } else {
                Stream::Plain(stream)
            })
        };
        tokio::time::timeout(HELLO, greeted)
            .await
            .map_err(io::Error::other)?
    }

    /// Answers everybody who comes with this router, until it is told to end.
    pub(crate) async fn serve(self, listener: TcpListener, router: Router, ending: CancellationToken) {
        while let Some(accepted) = ending.run_until_cancelled(listener.accept()).await {
            let Ok((stream, _)) = accepted else { continue };
            let _ = stream.set_nodelay(true);
            let (identity, router, ending) = (self.clone(), router.clone(), ending.clone());
            tokio::spawn(ending.run_until_cancelled_owned(async move {
                let Ok(stream) = identity.greet(stream).await else {
                    return;
                };
                // A client that hangs up is no news.
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
                    .with_upgrades()
                    .await;
            }));
        }
    }
}

/// A connection, with TLS or without.
pub(crate) enum Stream {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Secure(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Secure(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Secure(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Secure(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
