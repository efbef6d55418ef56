//! Both servers on loopback.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Prometheus;

/// Two servers that listen until this is dropped.
#[derive(Debug)]
pub struct Serving {
    /// Where Prometheus listens.
    pub prometheus: SocketAddr,
    /// Where Alertmanager listens.
    pub alertmanager: SocketAddr,
    _stop: DropGuard,
}

impl Prometheus {
    /// Listens on two free ports of loopback.
    pub async fn serve(&self) -> io::Result<Serving> {
        let stop = CancellationToken::new();
        let prometheus = listen(self.router(), stop.clone()).await?;
        let alertmanager = listen(self.alertmanager_router(), stop.clone()).await?;
        // Served a second time, links still go to the first.
        let _ = self.shared.addresses.set((prometheus, alertmanager));
        Ok(Serving {
            prometheus,
            alertmanager,
            _stop: stop.drop_guard(),
        })
    }
}

async fn listen(router: Router, stop: CancellationToken) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let served = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned());
        if let Err(error) = served.await {
            tracing::warn!(%error, %address, "a metrics server stopped");
        }
    });
    Ok(address)
}
