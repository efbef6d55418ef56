//! Listens, with TLS or without, and lets go in order.
//!
//! A connection that says nothing, says it too slowly, or has nothing more to say is closed; there are never more than
//! configured, and one address has a quarter of them at most. What others can reach is never served in the open. Stopping takes no new connections, ends streams, lets requests finish for a while,
//! and then closes what is left.

mod connection;
mod error;
mod peers;
mod requests;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use interlock_config::Server;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
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
    /// How a browser reaches it: `http://127.0.0.1:7878`.
    pub url: String,
    stop: CancellationToken,
    closing: CancellationToken,
    accepting: JoinHandle<()>,
}

impl Serving {
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
    let server = &app.config().server;
    safe(server)?;
    let tls = server.tls.as_ref().map(tls::acceptor).transpose()?;
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
    let site = Arc::new(Site::new(server, address)?);
    let url = site.url();
    let (stop, closing) = (CancellationToken::new(), app.closing().clone());
    let connections = usize::try_from(server.limits.connections)
        .unwrap_or(usize::MAX)
        .min(Semaphore::MAX_PERMITS);
    let taking = connection::Taking {
        connections: Arc::new(Semaphore::new(connections)),
        peers: Peers::new(connections),
        site: Arc::clone(&site),
        patience: server.limits.header_timeout.get(),
        drain: DRAIN,
        router: crate::http::service(&app, &site),
        tls,
    };
    let accepting = tokio::spawn(taking.run(listener, stop.clone()));
    tracing::info!(%address, url, "listening");
    Ok(Serving {
        address,
        url,
        stop,
        closing,
        accepting,
    })
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
