//! Connections: taken, bounded, served, let go.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::Current;
use super::peers::Peers;
use super::requests::{Answer, Requests};
use crate::seats::Seat;

/// How many headers a request may have, and how much room they take together.
const MAX_HEADERS: usize = 100;
const MAX_HEAD: usize = 64 * 1024;
/// How many requests one HTTP/2 connection may make at the same time.
const MAX_STREAMS: u32 = 128;

/// The connection that a request came on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Connection {
    /// The other end.
    pub(crate) peer: SocketAddr,
    /// Our end.
    pub(crate) local: SocketAddr,
    /// Whether it is TLS of ours.
    pub(crate) tls: bool,
}

/// What takes connections.
pub(super) struct Taking {
    pub(super) connections: Arc<Semaphore>,
    pub(super) peers: Peers,
    pub(super) drain: Duration,
    pub(super) front: Current,
}

impl Taking {
    /// Takes connections until told to stop; then waits a while for those that are left.
    pub(super) async fn run(self, listener: TcpListener, stop: CancellationToken) {
        let mut serving = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = serving.join_next(), if !serving.is_empty() => continue,
                accepted = self.accept(&listener) => accepted,
            };
            let (permit, stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // No descriptors left, most likely: serving what is there frees some.
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let Ok(seat) = self.seat(peer) else {
                tracing::debug!(%peer, "an address has its part of all connections already");
                continue;
            };
            let front = self.front.now();
            let tls = front.tls.clone();
            let manner = Manner {
                patience: front.patience,
                stop: stop.clone(),
            };
            let front = self.front.clone();
            serving.spawn(async move {
                let _held = (permit, seat);
                serve(stream, peer, tls, front, manner).await;
            });
        }
        drop(listener);
        let finish = async { while serving.join_next().await.is_some() {} };
        if tokio::time::timeout(self.drain, finish).await.is_err() {
            tracing::warn!("some requests did not finish in time; their connections are closed");
        }
    }

    async fn accept(
        &self,
        listener: &TcpListener,
    ) -> std::io::Result<(OwnedSemaphorePermit, TcpStream, SocketAddr)> {
        let permit = Arc::clone(&self.connections)
            .acquire_owned()
            .await
            .map_err(std::io::Error::other)?;
        let (stream, peer) = listener.accept().await?;
        Ok((permit, stream, peer))
    }

    /// One address does not get all connections. A proxy of ours has those of everybody behind it.
    fn seat(&self, peer: SocketAddr) -> Result<Option<Seat<IpAddr>>, Full> {
        if self.front.now().site.trusts(peer.ip()) {
            return Ok(None);
        }
        self.peers.take(peer.ip()).map(Some).ok_or(Full)
    }
}

/// An address has its part of all connections.
struct Full;

/// How a connection is treated.
struct Manner {
    /// How long it may be without a request.
    patience: Duration,
    /// When no more requests are taken.
    stop: CancellationToken,
}

async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    tls: Option<TlsAcceptor>,
    front: Current,
    manner: Manner,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "packets may be delayed");
    }
    let Ok(local) = stream.local_addr() else {
        return;
    };
    let connection = Connection {
        peer: SocketAddr::new(peer.ip().to_canonical(), peer.port()),
        local: SocketAddr::new(local.ip().to_canonical(), local.port()),
        tls: tls.is_some(),
    };
    match tls {
        None => speak(stream, connection, front, manner).await,
        Some(tls) => match tokio::time::timeout(manner.patience, tls.accept(stream)).await {
            Ok(Ok(stream)) => speak(stream, connection, front, manner).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        },
    }
}

/// Speaks HTTP/1.1 or HTTP/2. Who has not sent the head of a request in time is cut off; who asks nothing more is let go.
async fn speak<S>(stream: S, connection: Connection, front: Current, manner: Manner)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Manner { patience, stop } = manner;
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(u32::try_from(MAX_HEAD).unwrap_or(u32::MAX))
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(20));
    let requests = Requests::new();
    let counted = requests.clone();
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let answering = counted.begin();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(connection);
        let answer = front.now().router.clone().oneshot(request);
        async move {
            let response = answer.await?;
            Ok::<_, std::convert::Infallible>(response.map(|body| Answer::new(body, answering)))
        }
    });
    let serving = builder
        .serve_connection_with_upgrades(TokioIo::new(stream), service)
        .into_owned();
    tokio::pin!(serving);
    let (mut stopping, mut leaving) = (false, false);
    let ended = loop {
        tokio::select! {
            ended = &mut serving => break ended,
            () = stop.cancelled(), if !stopping => {
                stopping = true;
                serving.as_mut().graceful_shutdown();
            }
            () = requests.idle(patience) => {
                // Which HTTP is spoken is known only with the first bytes; and who was told to go has gone by now.
                if leaving || !requests.any() {
                    tracing::debug!(peer = %connection.peer, "no request came in time");
                    return;
                }
                leaving = true;
                serving.as_mut().graceful_shutdown();
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended badly");
    }
}
