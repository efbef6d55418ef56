//! Listens, with TLS or without, and lets go in order.
//!
//! A connection that says nothing, says it too slowly, or has nothing more to say is closed; there are never more than
//! configured, and one address has a quarter of them at most. What others can reach is never served in the open. Stopping takes no new connections, ends streams, lets requests finish for a while,
//! and then closes what is left.

mod connection;
mod error;
mod peers;
mod reload;
mod requests;
mod tls;

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use interlock_config::Server;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

pub(crate) use connection::Connection;
pub use error::Error;
use peers::Peers;

use crate::app::App;
use crate::http::Site;

/// How long requests may take to finish when the server stops.
const DRAIN: Duration = Duration::from_secs(10);

/// A server that runs. Dropping it does not stop it; [`Serving::stop`] does.
pub struct Serving {
    /// Where it listens.
    pub address: SocketAddr,
    front: Current,
    stop: CancellationToken,
    closing: CancellationToken,
    accepting: JoinHandle<()>,
}

impl Serving {
    /// How a browser reaches it: `http://127.0.0.1:7878`.
    pub fn url(&self) -> String {
        self.front.now().site.url()
    }

    /// The same, as it is when the function is called: a reload may change it.
    pub fn current_url(&self) -> impl Fn() -> String + Send + Sync + 'static {
        let front = self.front.clone();
        move || front.now().site.url()
    }

    /// Takes no new connections, ends streams, waits for requests that are being answered, and closes what is left.
    pub async fn stop(self) {
        self.closing.cancel();
        self.stop.cancel();
        if let Err(error) = self.accepting.await {
            tracing::error!(%error, "the listener ended badly");
        }
    }
}

/// Begins to serve.
pub async fn serve(app: App) -> Result<Serving, Error> {
    let config = app.config();
    let server = &config.server;
    safe(server)?;
    // What cannot be used is said before the port is taken.
    server.tls.as_ref().map(tls::acceptor).transpose()?;
    let listener = TcpListener::bind(server.listen)
        .await
        .map_err(|error| Error::Listen {
            address: server.listen,
            reason: error.to_string(),
        })?;
    let address = listener.local_addr().map_err(|error| Error::Listen {
        address: server.listen,
        reason: error.to_string(),
    })?;
    let front = Current::new(Front::new(&app, server, address)?);
    let (stop, closing) = (CancellationToken::new(), app.closing().clone());
    let connections = usize::try_from(server.limits.connections)
        .unwrap_or(usize::MAX)
        .min(Semaphore::MAX_PERMITS);
    let taking = connection::Taking {
        connections: Arc::new(Semaphore::new(connections)),
        peers: Peers::new(connections),
        drain: DRAIN,
        front: front.clone(),
    };
    if let Some(reloader) = app.reloader() {
        reloader.join(Arc::new(reload::Server {
            app: app.weak(),
            front: front.weak(),
            address,
        }));
    }
    let accepting = tokio::spawn(taking.run(listener, stop.clone()));
    tracing::info!(%address, url = front.now().site.url(), "listening");
    Ok(Serving {
        address,
        front,
        stop,
        closing,
        accepting,
    })
}

/// How connections are taken and answered, as the configuration says. A reload replaces it: requests that have begun go on with
/// what they began with, new ones have the new one, also on connections that are open.
pub(crate) struct Front {
    site: Arc<Site>,
    router: axum::Router,
    tls: Option<TlsAcceptor>,
    patience: Duration,
}

impl Front {
    fn new(app: &App, server: &Server, address: SocketAddr) -> Result<Self, Error> {
        safe(server)?;
        let site = Arc::new(Site::new(server, address)?);
        Ok(Self {
            router: crate::http::service(app, &site, &server.limits),
            site,
            tls: server.tls.as_ref().map(tls::acceptor).transpose()?,
            patience: server.limits.header_timeout.get(),
        })
    }
}

/// The front of the moment. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Current(Arc<RwLock<Arc<Front>>>);

impl Current {
    fn new(front: Front) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(front))))
    }

    /// The same, for what must not keep the server alive.
    fn weak(&self) -> WeakCurrent {
        WeakCurrent(Arc::downgrade(&self.0))
    }

    fn now(&self) -> Arc<Front> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, front: Front) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(front);
    }
}

pub(crate) struct WeakCurrent(Weak<RwLock<Arc<Front>>>);

impl WeakCurrent {
    fn upgrade(&self) -> Option<Current> {
        self.0.upgrade().map(Current)
    }
}

/// Nothing that others can reach is served in the open.
fn safe(server: &Server) -> Result<(), Error> {
    let proxied = !server.trusted_proxies.is_empty() && server.public_url.is_some();
    if server.listen.ip().is_loopback() || server.tls.is_some() || proxied {
        return Ok(());
    }
    Err(Error::InTheOpen {
        address: server.listen,
    })
}
