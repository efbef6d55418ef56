//! Listens, with TLS or without, and lets go in order.

use std::net::SocketAddr;

use crate::app::App;

/// Why the server cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store does not work.
    #[error(transparent)]
    Store(#[from] interlock_store::Error),
}

/// A server that runs.
pub struct Serving {
    /// Where it listens.
    pub address: SocketAddr,
}

/// Begins to serve.
pub async fn serve(app: App) -> Result<Serving, Error> {
    let _ = app;
    Err(Error::Store(interlock_store::Error::Closed))
}
