//! HTTP as the lab's servers speak it: a door that can be shut, and calls taken apart.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Query, Request};
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Uri, header};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;

use crate::tls::Identity;

/// The largest body that is read.
const MOST_BODY: usize = 1 << 20;

type Inside = Arc<Mutex<Option<(Router, CancellationToken)>>>;

/// Listens on loopback, and on a socket if one is wanted. Shut, it hangs up on everybody.
#[derive(Debug)]
pub(crate) struct Door {
    address: SocketAddr,
    inside: Inside,
}

impl Door {
    /// Listens, and answers nobody yet. Ends with the token.
    pub(crate) async fn open(socket: Option<PathBuf>, alive: CancellationToken) -> std::io::Result<Self> {
        Self::with_identity(socket, None, alive).await
    }

    /// The same, also for those who speak TLS.
    pub(crate) async fn with_identity(
        socket: Option<PathBuf>,
        identity: Option<Identity>,
        alive: CancellationToken,
    ) -> std::io::Result<Self> {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = tcp.local_addr()?;
        let inside = Inside::default();
        if let Some(path) = socket {
            let unix = UnixListener::bind(path)?;
            let (inside, alive) = (Arc::clone(&inside), alive.clone());
            tokio::spawn(async move {
                while let Some(Ok((stream, _))) = alive.run_until_cancelled(unix.accept()).await {
                    welcome(stream, &inside, &alive);
                }
            });
        }
        let guests = Arc::clone(&inside);
        tokio::spawn(async move {
            while let Some(Ok((stream, _))) = alive.run_until_cancelled(tcp.accept()).await {
                let _ = stream.set_nodelay(true);
                match identity.clone() {
                    None => welcome(stream, &guests, &alive),
                    Some(identity) => {
                        let (guests, alive) = (Arc::clone(&guests), alive.clone());
                        tokio::spawn(async move {
                            if let Ok(stream) = identity.greet(stream).await {
                                welcome(stream, &guests, &alive);
                            }
                        });
                    }
                }
            }
        });
        Ok(Self { address, inside })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on this router answers.
    pub(crate) fn admit(&self, router: &Router) {
        let now = Some((router.clone(), CancellationToken::new()));
        *self.inside.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// From now on nobody answers; calls under way are cut off.
    pub(crate) fn shut(&self) {
        let before = self.inside.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((_, open)) = before {
            open.cancel();
        }
    }
}

fn welcome<S>(stream: S, inside: &Inside, alive: &CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let now = inside.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let Some((router, open)) = now else { return };
    let alive = alive.clone();
    tokio::spawn(async move {
        let talk = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
            .with_upgrades();
        tokio::select! {
            _ = talk => {}
            () = open.cancelled() => {}
            () = alive.cancelled() => {}
        }
    });
}

/// A request, taken apart.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    /// The segments of its path, decoded; no empty ones.
    pub(crate) path: Vec<String>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) upgrade: Option<OnUpgrade>,
}

/// The body was larger than anybody needs, or broke off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BadBody;

impl Call {
    pub(crate) async fn read(mut request: Request) -> Result<Self, BadBody> {
        let upgrade = request
            .headers()
            .contains_key(header::UPGRADE)
            .then(|| hyper::upgrade::on(&mut request));
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, MOST_BODY).await.map_err(|_| BadBody)?;
        Ok(Self {
            path: segments(&parts.uri),
            query: pairs(&parts.uri),
            method: parts.method,
            headers: parts.headers,
            body,
            upgrade,
        })
    }

    /// The first value of a parameter.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    /// Whether a parameter is set to something that means yes.
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.get(key)
            .is_some_and(|value| matches!(value, "1" | "true" | "True" | "yes"))
    }

    /// The body as JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }

    /// The parameters in the body, of a form or of JSON, or in the address.
    pub(crate) fn fields(&self) -> Vec<(String, String)> {
        if let Ok(Value::Object(fields)) = self.json::<Value>() {
            return fields
                .into_iter()
                .map(|(name, value)| match value {
                    Value::String(text) => (name, text),
                    other => (name, other.to_string()),
                })
                .collect();
        }
        let text = String::from_utf8_lossy(&self.body);
        let mut fields = format!("/?{text}")
            .parse::<Uri>()
            .map(|uri| pairs(&uri))
            .unwrap_or_default();
        fields.extend(self.query.iter().cloned());
        fields
    }
}

fn segments(uri: &Uri) -> Vec<String> {
    let decode = |part: &str| {
        percent_encoding::percent_decode_str(part)
            .decode_utf8_lossy()
            .into_owned()
    };
    uri.path()
        .split('/')
        .filter(|part| !part.is_empty())
        .map(decode)
        .collect()
}

fn pairs(uri: &Uri) -> Vec<(String, String)> {
    Query::<Vec<(String, String)>>::try_from_uri(uri)
        .map(|query| query.0)
        .unwrap_or_default()
}

/// A JSON answer.
pub(crate) fn json(status: StatusCode, value: &Value) -> Response {
    typed(status, "application/json", value.to_string())
}

/// An answer of some type.
pub(crate) fn typed(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}

/// An answer without a body.
pub(crate) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// A number that these bytes, and hardly any others, have.
pub(crate) fn digest_number(bytes: &[u8]) -> u64 {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(bytes);
    digest
        .iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The digest of these parts, in hexadecimal.
pub(crate) fn digest(parts: &[&[u8]]) -> String {
    use std::fmt::Write as _;

    use sha2::{Digest as _, Sha256};
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize()
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
