//! The connection: known by its host key, signed in, kept, and opened again when it is lost.

use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use russh::client::{self, AuthResult};
use russh::keys::known_hosts::known_host_keys_path;
use russh::keys::{HashAlg, PrivateKeyWithHashAlg, PublicKey, PublicKeyOrCertificate};
use secrecy::ExposeSecret as _;

use super::{Inner, Proof, Ssh};
use crate::Error;

type Handle = client::Handle<Client>;

/// An open connection, and the host key that the other side proved to have.
pub(super) struct Link {
    pub(super) handle: Handle,
    /// Its fingerprint: `SHA256:…`.
    pub(super) host_key: String,
}

/// How long connecting and signing in may take.
const CONNECT: Duration = Duration::from_secs(10);

/// Checks the key of the other side against the keys that are known for it.
pub(super) struct Client {
    known: Vec<PublicKey>,
    /// The key that was taken.
    taken: Arc<Mutex<Option<PublicKey>>>,
    /// Why the key was not taken, for the one who waits for the connection.
    refused: Arc<Mutex<Option<PublicKey>>>,
}

impl client::Handler for Client {
    type Error = russh::Error;

    async fn check_server_key(&mut self, key: &PublicKeyOrCertificate) -> Result<bool, Self::Error> {
        let key = key.public_key();
        let known = self.known.iter().any(|known| known.key_data() == key.key_data());
        let noted = if known { &self.taken } else { &self.refused };
        *noted.lock().unwrap_or_else(PoisonError::into_inner) = Some(key);
        Ok(known)
    }
}

impl Ssh {
    /// The open connection, or a new one.
    pub(super) async fn open(&self) -> Result<Arc<Link>, Error> {
        let mut open = self.inner.open.lock().await;
        if let Some(link) = open.as_ref().filter(|link| !link.handle.is_closed()) {
            return Ok(Arc::clone(link));
        }
        let link = tokio::time::timeout(CONNECT, self.connect())
            .await
            .map_err(|_| self.timed_out(CONNECT))??;
        self.inner.made.fetch_add(1, Ordering::AcqRel);
        Ok(Arc::clone(open.insert(Arc::new(link))))
    }

    /// Forgets a connection that turned out to be of no use.
    pub(super) async fn forget(&self, broken: &Arc<Link>) {
        let mut open = self.inner.open.lock().await;
        if open.as_ref().is_some_and(|link| Arc::ptr_eq(link, broken)) {
            *open = None;
        }
    }

    async fn connect(&self) -> Result<Link, Error> {
        let inner = &self.inner;
        let known = self.known_keys()?;
        let config = Arc::new(config(&known));
        let refused = Arc::new(Mutex::new(None));
        let taken = Arc::new(Mutex::new(None));
        let client = Client {
            known: known.clone(),
            taken: Arc::clone(&taken),
            refused: Arc::clone(&refused),
        };
        let connected = client::connect(config, (inner.host.as_str(), inner.port), client).await;
        let mut handle = connected.map_err(|error| {
            let key = refused.lock().unwrap_or_else(PoisonError::into_inner).take();
            match key {
                Some(key) => not_known(inner, &known, &key),
                None => self.unreachable(error.to_string()),
            }
        })?;
        let key: Option<PublicKey> = taken.lock().unwrap_or_else(PoisonError::into_inner).take();
        let host_key = key
            .map(|key| fingerprint(&key))
            .ok_or_else(|| self.unreachable("the other side showed no host key"))?;
        self.sign_in(&mut handle).await?;
        Ok(Link { handle, host_key })
    }

    /// The fingerprints of the keys that are accepted for this host, sorted, with a comma between them.
    pub(super) fn accepted_keys(&self) -> Result<String, Error> {
        let mut keys: Vec<String> = self.known_keys()?.iter().map(fingerprint).collect();
        keys.sort();
        keys.dedup();
        Ok(keys.join(","))
    }

    /// The keys that the file has for this host. A file that cannot be read knows nobody, and says so.
    fn known_keys(&self) -> Result<Vec<PublicKey>, Error> {
        let inner = &self.inner;
        let path = &inner.credentials.known_hosts;
        let wrong = |message: String| Error::Configuration {
            connection: inner.connection.clone(),
            message: format!("`ssh.known_hosts` {} cannot be used: {message}", path.display()),
        };
        std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
        let keys =
            known_host_keys_path(&inner.host, inner.port, path).map_err(|error| wrong(error.to_string()))?;
        Ok(keys.into_iter().map(|(_, key)| key).collect())
    }

    async fn sign_in(&self, handle: &mut Handle) -> Result<(), Error> {
        let credentials = &self.inner.credentials;
        let failed = |error: russh::Error| self.unreachable(error.to_string());
        let result = match &credentials.proof {
            Proof::Key(key) => {
                let hash = handle.best_supported_rsa_hash().await.map_err(failed)?.flatten();
                let key = PrivateKeyWithHashAlg::new(Arc::clone(key), hash);
                handle.authenticate_publickey(&credentials.user, key).await
            }
            Proof::Password(password) => {
                handle
                    .authenticate_password(&credentials.user, password.expose_secret())
                    .await
            }
        };
        match result.map_err(failed)? {
            AuthResult::Success => Ok(()),
            AuthResult::Failure { .. } => Err(Error::Unauthorized {
                connection: self.inner.connection.clone(),
                message: format!(
                    "SSH at {}:{} does not let the user `{}` in",
                    self.inner.host, self.inner.port, credentials.user
                ),
            }),
        }
    }
}

/// Asks first for the kinds of key that are known: a host may have several.
fn config(known: &[PublicKey]) -> client::Config {
    let mut config = client::Config {
        keepalive_interval: Some(Duration::from_secs(15)),
        keepalive_max: 3,
        inactivity_timeout: Some(Duration::from_mins(10)),
        nodelay: true,
        ..client::Config::default()
    };
    let mut kinds = config.preferred.key.to_vec();
    let is_known = |name: &str| {
        known.iter().any(|key| {
            let algorithm = key.algorithm();
            // RSA keys sign under several names.
            algorithm.as_str() == name || (algorithm.is_rsa() && name.starts_with("rsa"))
        })
    };
    kinds.sort_by_key(|kind| !is_known(kind.as_str()));
    config.preferred.key = Cow::Owned(kinds);
    config
}

fn fingerprint(key: &PublicKey) -> String {
    key.fingerprint(HashAlg::Sha256).to_string()
}

fn not_known(inner: &Inner, known: &[PublicKey], key: &PublicKey) -> Error {
    let place = if inner.port == 22 {
        inner.host.clone()
    } else {
        format!("[{}]:{}", inner.host, inner.port)
    };
    let seen = key.fingerprint(HashAlg::Sha256);
    let file = inner.credentials.known_hosts.display();
    let same_kind = known.iter().find(|known| known.algorithm() == key.algorithm());
    let cause = match same_kind {
        Some(known) => format!(
            "the host key of {place} has changed: it is {seen}, {file} has {}; if that is right, replace the line there",
            known.fingerprint(HashAlg::Sha256)
        ),
        None => format!(
            "the host key of {place} is not known: it is {} {seen}; if that is right, add the line `{place} {}` to {file}",
            key.algorithm(),
            key.to_openssh().unwrap_or_default()
        ),
    };
    Error::Unreachable {
        connection: inner.connection.clone(),
        cause,
    }
}
