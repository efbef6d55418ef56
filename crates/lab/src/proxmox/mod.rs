//! The Proxmox VE API over HTTP, as version 8 speaks it: the `data` envelope, tickets and tokens, tasks by their UPID.
//!
//! A request walks one way: who asks ([`auth`]) → with what ([`params`]) → may they, and is the node there, and which
//! method is it ([`routes`]) → an answer or a refusal in the words of the real thing ([`answer`]).

mod agent;
mod answer;
mod auth;
mod cluster;
mod disks;
mod guest;
mod guest_write;
mod logs;
mod node;
mod params;
mod routes;
mod rrd;
mod storage;
mod tasks;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) use agent::exec_status;
pub use auth::Credentials;

use crate::cluster::Cluster;
use crate::tls::Identity;
use answer::Refusal;
use params::Params;

/// No request has a longer body.
const MOST: usize = 1 << 20;

#[derive(Debug)]
struct App {
    cluster: Cluster,
    credentials: Credentials,
}

/// A server of the API. It ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// How it is known over TLS.
    pub identity: Identity,
    _running: DropGuard,
}

impl Server {
    /// Its address as a URL. Plain HTTP is spoken there, too.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The same without TLS.
    pub fn plain_url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// The API.
pub fn router(cluster: Cluster, credentials: Credentials) -> Router {
    let app = Arc::new(App { cluster, credentials });
    Router::new().fallback(handle).with_state(app)
}

/// Serves the API on a port of loopback; 0 takes a free one.
pub async fn serve(cluster: Cluster, credentials: Credentials, port: u16) -> std::io::Result<Server> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let address = listener.local_addr()?;
    let ending = CancellationToken::new();
    let identity = Identity::generate()?;
    let router = router(cluster, credentials);
    tokio::spawn(identity.clone().serve(listener, router, ending.clone()));
    Ok(Server {
        address,
        identity,
        _running: ending.drop_guard(),
    })
}

async fn handle(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    match respond(&app, request).await {
        Ok(answer) => answer.into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

async fn respond(app: &App, request: Request<Body>) -> Result<answer::Answer, Refusal> {
    let (parts, body) = request.into_parts();
    let Some(path) = parts.uri.path().strip_prefix("/api2/json") else {
        return Err(Refusal::NoFile(parts.uri.path().to_owned()));
    };
    let segments: Vec<String> = path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .map(|segment| {
            percent_encoding::percent_decode_str(segment)
                .decode_utf8_lossy()
                .into_owned()
        })
        .collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let body = axum::body::to_bytes(body, MOST)
        .await
        .map_err(|_| Refusal::TooLarge)?;
    let params = Params::read(&parts, &body)?;
    if segments == ["access", "ticket"] {
        return auth::ticket(&app.credentials, &parts.method, &params).map(answer::Answer::from);
    }
    let who = auth::identify(&app.credentials, &parts)?;
    routes::dispatch(&app.cluster, &who, &parts.method, &segments, &params).await
}
