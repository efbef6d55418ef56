//! Commands on other machines by SSH: the host key checked, one connection kept, every command bounded.

mod connection;
mod exec;
mod quote;

#[cfg(test)]
pub(crate) mod test_server;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use interlock_protocol::{Identity, IdentityFact};
use russh::keys::PrivateKey;
use secrecy::{ExposeSecret as _, SecretString};
use tokio_util::sync::CancellationToken;

pub(crate) use quote::{bounded, quoted};

use crate::output::{Limits, Output};
use crate::{Error, Secrets, options};

/// How to sign in, and by what the other side is known.
#[derive(Clone)]
pub(crate) struct Credentials {
    user: String,
    proof: Proof,
    known_hosts: PathBuf,
}

#[derive(Clone)]
enum Proof {
    Key(Arc<PrivateKey>),
    Password(SecretString),
}

impl Credentials {
    pub(crate) fn new(connection: &str, options: &options::Ssh, secrets: &Secrets) -> Result<Self, Error> {
        let wrong = |message: String| Error::Configuration {
            connection: connection.to_owned(),
            message,
        };
        let secret = options
            .password_env
            .as_deref()
            .map(|variable| {
                secrets
                    .get(variable)
                    .ok_or_else(|| wrong(format!("the environment variable `{variable}` is not set")))
            })
            .transpose()?;
        let proof = match (&options.key_file, secret) {
            (Some(path), secret) => {
                let passphrase = secret.as_ref().map(SecretString::expose_secret);
                let key = russh::keys::load_secret_key(path, passphrase).map_err(|error| {
                    wrong(format!(
                        "`ssh.key_file` {} cannot be read: {error}",
                        path.display()
                    ))
                })?;
                Proof::Key(Arc::new(key))
            }
            (None, Some(password)) => Proof::Password(password),
            (None, None) => {
                return Err(wrong("`ssh` needs a `key_file` or a `password_env`".to_owned()));
            }
        };
        Ok(Self {
            user: options.user.clone(),
            proof,
            known_hosts: options.known_hosts.clone(),
        })
    }
}

/// One machine. Cheap to clone; clones share the connection.
#[derive(Clone)]
pub(crate) struct Ssh {
    inner: Arc<Inner>,
    /// The machine that what runs is meant for. Where it is given, commands run on no other.
    meant: Option<Arc<Identity>>,
}

struct Inner {
    connection: String,
    host: String,
    port: u16,
    credentials: Credentials,
    open: tokio::sync::Mutex<Option<Arc<connection::Link>>>,
    /// The number of the last connection that was made; no other connection of this process has it.
    made: AtomicU64,
}

impl fmt::Debug for Ssh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ssh({}:{})", self.inner.host, self.inner.port)
    }
}

impl Ssh {
    /// Prepares a connection to `host`, `host:port` or `[v6]:port`; nothing is reached yet.
    pub(crate) fn new(connection: &str, address: &str, credentials: Credentials) -> Result<Self, Error> {
        let (host, port) = host_and_port(address).ok_or_else(|| Error::Configuration {
            connection: connection.to_owned(),
            message: format!("`{address}` is no address of the form host or host:port"),
        })?;
        Ok(Self {
            inner: Arc::new(Inner {
                connection: connection.to_owned(),
                host,
                port,
                credentials,
                open: tokio::sync::Mutex::new(None),
                made: AtomicU64::new(crate::made::number()),
            }),
            meant: None,
        })
    }

    /// The same connection, for commands that are meant for this machine and no other.
    pub(crate) fn meant_for(mut self, identity: Option<&Identity>) -> Self {
        self.meant = identity
            .filter(|identity| !identity.is_empty())
            .map(|identity| Arc::new(identity.clone()));
        self
    }

    /// The address and the host keys that are accepted there. Nothing is reached for it.
    pub(crate) fn identity(&self, address: IdentityFact) -> Identity {
        let identity = Identity::default().with(address, self.address());
        match self.accepted_keys() {
            Ok(keys) => identity.with(IdentityFact::SshHostKey, keys),
            // No connection is made without known keys; the address is all that there is.
            Err(_) => identity,
        }
    }

    fn address(&self) -> String {
        let Inner { host, port, .. } = &*self.inner;
        if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        }
    }

    /// Makes sure that the machine at the other end of a connection is the one that is meant.
    fn check_identity(&self, host_key: &str) -> Result<(), Error> {
        let Some(meant) = &self.meant else {
            return Ok(());
        };
        let address = match meant.get(IdentityFact::SshEndpoint) {
            Some(_) => IdentityFact::SshEndpoint,
            None => IdentityFact::Endpoint,
        };
        // A host may have several keys; one of those that were accepted when the plan was made is shown.
        let keys = meant.get(IdentityFact::SshHostKey).unwrap_or_default();
        let shown = if keys.split(',').any(|key| key == host_key) {
            keys
        } else {
            host_key
        };
        let live = Identity::default()
            .with(address, self.address())
            .with(IdentityFact::SshHostKey, shown);
        crate::identity::compare(&self.inner.connection, meant, &live)
    }

    /// Runs an argument vector to its end, within these limits. Only for `reach`, which asks for the proof.
    pub(crate) async fn exec(
        &self,
        argv: &[String],
        stdin: Option<&[u8]>,
        limits: Limits,
        cancel: &CancellationToken,
    ) -> Result<Output, Error> {
        if argv.is_empty() {
            return Err(Error::Unsupported(
                "the command is empty; name a program".to_owned(),
            ));
        }
        if argv.iter().any(|word| word.contains('\0')) {
            return Err(Error::Unsupported(
                "the command has a NUL byte, which no program takes".to_owned(),
            ));
        }
        let line = quoted(&bounded(argv, limits.wall));
        exec::run(self, &line, stdin, limits, cancel).await
    }

    /// The number of the last connection that was made: another number means another connection.
    pub(crate) fn connections(&self) -> u64 {
        self.inner.made.load(Ordering::Acquire)
    }

    fn unreachable(&self, cause: impl Into<String>) -> Error {
        Error::Unreachable {
            connection: self.inner.connection.clone(),
            cause: format!("{}:{}: {}", self.inner.host, self.inner.port, cause.into()),
        }
    }

    fn timed_out(&self, after: Duration) -> Error {
        Error::TimedOut {
            connection: format!(
                "{} ({}:{})",
                self.inner.connection, self.inner.host, self.inner.port
            ),
            seconds: after.as_secs(),
        }
    }
}

fn host_and_port(address: &str) -> Option<(String, u16)> {
    let (host, port) = if let Some(rest) = address.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        match after.strip_prefix(':') {
            Some(port) => (host, port.parse().ok()?),
            None if after.is_empty() => (host, 22),
            None => return None,
        }
    } else {
        match address.split_once(':') {
            Some((host, port)) if !port.contains(':') => (host, port.parse().ok()?),
            // A name, or an IPv6 address, without a port.
            Some(_) | None => (address, 22),
        }
    };
    (!host.is_empty() && !host.contains(char::is_whitespace)).then(|| (host.to_owned(), port))
}
