//! Why a server cannot run, for the person who starts it.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Why the server cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store does not work.
    #[error(transparent)]
    Store(#[from] interlock_store::Error),
    /// Passwords would cross the network in the open.
    #[error(
        "others can reach `{address}`, and passwords and cookies would cross the network in the open; set `server.tls` to a \
         certificate and its key, or, behind a proxy that speaks TLS, set `server.trusted_proxies` and \
         `server.public_url`, or listen on 127.0.0.1"
    )]
    InTheOpen {
        /// Where it was to listen.
        address: SocketAddr,
    },
    /// The address cannot be had.
    #[error(
        "cannot listen on `{address}` ({reason}); end what uses it, or set `server.listen` to another one"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        reason: String,
    },
    /// The certificate or its key cannot be used.
    #[error(
        "`{}` cannot be used for TLS ({reason}); give PEM files of a certificate and of its own private key", path.display()
    )]
    Tls {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A setting cannot be used.
    #[error("`{key}` cannot be used ({reason}); correct it in interlock.yaml")]
    Setting {
        /// Its key: `server.public_url`.
        key: &'static str,
        /// Why.
        reason: String,
    },
}
