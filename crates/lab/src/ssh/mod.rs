//! An SSH server for each node: what is asked for runs in the node's machine.

mod access;
mod session;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use russh::keys::{Algorithm, PrivateKey};
use russh::server::Config;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

pub use access::Access;

use crate::cluster::{Cluster, Place};
use session::Session;

/// Why there is no SSH server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system said no.
    #[error("the SSH server: {0}")]
    Io(#[from] std::io::Error),
    /// A key could not be made or written.
    #[error("an SSH key: {0}")]
    Key(#[from] russh::keys::ssh_key::Error),
}

/// The SSH server of a node. It ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    /// The node.
    pub node: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its key, as it is shown: `ssh-ed25519 AAAA…`.
    pub host_key: String,
    _running: DropGuard,
}

impl Server {
    /// The line for `known_hosts` that makes clients trust it.
    pub fn known_hosts_line(&self) -> String {
        known_hosts_line(self.address, &self.host_key)
    }
}

/// The line for `known_hosts` that ties a key to an address.
pub fn known_hosts_line(address: SocketAddr, host_key: &str) -> String {
    format!("[{}]:{} {host_key}", address.ip(), address.port())
}

/// Serves SSH for a node on a port of loopback; 0 takes a free one.
pub async fn serve(cluster: Cluster, node: &str, access: &Access, port: u16) -> Result<Server, Error> {
    let key = PrivateKey::random(&mut rand::rng(), Algorithm::Ed25519)?;
    let host_key = key.public_key().to_openssh()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let address = listener.local_addr()?;
    let config = Arc::new(Config {
        keys: vec![key],
        auth_rejection_time: Duration::from_millis(200),
        auth_rejection_time_initial: Some(Duration::ZERO),
        inactivity_timeout: Some(Duration::from_hours(1)),
        nodelay: true,
        ..Config::default()
    });
    let ending = CancellationToken::new();
    let guest = Session::new(cluster, node.to_owned(), access.clone());
    tokio::spawn(accept(listener, config, guest, ending.clone()));
    Ok(Server {
        node: node.to_owned(),
        address,
        host_key,
        _running: ending.drop_guard(),
    })
}

async fn accept(listener: TcpListener, config: Arc<Config>, session: Session, ending: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ending.cancelled() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                tokio::spawn(converse(stream, config.clone(), session.clone(), ending.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "an SSH connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn converse(stream: TcpStream, config: Arc<Config>, session: Session, ending: CancellationToken) {
    // A node that is down answers nobody.
    if session
        .cluster
        .machine(&Place::Node(session.node.clone()))
        .is_none()
    {
        return;
    }
    let talk = async {
        match russh::server::run_stream(config, stream, session).await {
            Ok(running) => {
                if let Err(error) = running.await {
                    tracing::debug!(%error, "an SSH session ended");
                }
            }
            Err(error) => tracing::debug!(%error, "an SSH session did not begin"),
        }
    };
    tokio::select! {
        () = talk => {}
        () = ending.cancelled() => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_tied_to_an_address() {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 2222));
        assert_eq!(
            known_hosts_line(address, "ssh-ed25519 AAAA"),
            "[127.0.0.1]:2222 ssh-ed25519 AAAA"
        );
    }
}
