//! Moves incidents in a running lab, over loopback: for another process of the same user.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::access;
use crate::incident::{Described, Incident};
use crate::lab::{Error, Lab, WeakLab};

/// How much of an answer is read.
const MOST: u64 = 1 << 20;

/// A listener that waits for its lab.
pub(crate) struct Control {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
}

#[derive(Clone)]
struct App {
    /// Whoever started the lab keeps it, and not who listens for it.
    lab: WeakLab,
    token: String,
}

impl Control {
    /// Takes a free port, and makes up a token.
    pub(crate) async fn new() -> Result<Self, Error> {
        let failed = |cause| Error::Io {
            what: "the control of the lab".to_owned(),
            cause,
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| failed(std::io::Error::other(error)))?;
        let token = bytes.iter().fold(String::new(), |mut token, byte| {
            // Writing into a String cannot fail.
            let _ = write!(token, "{byte:02x}");
            token
        });
        Ok(Self {
            listener,
            address,
            token,
        })
    }

    /// How to reach it.
    pub(crate) fn access(&self) -> access::Control {
        access::Control {
            url: format!("http://{}", self.address),
            token: self.token.clone(),
        }
    }

    /// Listens until the lab ends.
    pub(crate) fn serve(self, lab: &Lab) {
        let stop = lab.stopping().clone();
        let app = App {
            lab: lab.weak(),
            token: self.token,
        };
        let router = Router::new()
            .route("/incidents", get(list))
            .route("/incidents/{name}", get(verdict))
            .route("/incidents/{name}/script", get(script))
            .route("/incidents/{name}/alert", get(alert))
            .route("/incidents/{name}/{action}", post(act))
            .with_state(app);
        tokio::spawn(async move {
            let served = axum::serve(self.listener, router).with_graceful_shutdown(stop.cancelled_owned());
            if let Err(error) = served.await {
                tracing::warn!(%error, "the control of the lab ended");
            }
        });
    }
}

impl App {
    /// The lab, for who has the token.
    fn lab(&self, headers: &HeaderMap) -> Result<Lab, Box<Response>> {
        let signed_in = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value == format!("Bearer {}", self.token));
        if !signed_in {
            return Err(Box::new(refusal(
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong",
            )));
        }
        self.lab
            .upgrade()
            .ok_or_else(|| Box::new(refusal(StatusCode::SERVICE_UNAVAILABLE, "the lab has ended")))
    }
}

fn refusal(status: StatusCode, message: impl Into<String>) -> Response {
    (status, axum::Json(json!({ "error": message.into() }))).into_response()
}

async fn list(State(app): State<App>, headers: HeaderMap) -> Response {
    if let Err(refusal) = app.lab(&headers) {
        return *refusal;
    }
    let all: Vec<Described> = Incident::ALL.iter().copied().map(Described::from).collect();
    axum::Json(all).into_response()
}

async fn verdict(State(app): State<App>, headers: HeaderMap, Path(name): Path<String>) -> Response {
    let lab = match app.lab(&headers) {
        Ok(lab) => lab,
        Err(refusal) => return *refusal,
    };
    match Incident::named(&name) {
        Some(incident) => axum::Json(incident.verdict(&lab).await).into_response(),
        None => refusal(StatusCode::NOT_FOUND, "there is no such incident"),
    }
}

/// What the scripted model says to an incident.
async fn script(State(app): State<App>, headers: HeaderMap, Path(name): Path<String>) -> Response {
    if let Err(refusal) = app.lab(&headers) {
        return *refusal;
    }
    match Incident::named(&name) {
        Some(incident) => incident.script().into_response(),
        None => refusal(StatusCode::NOT_FOUND, "there is no such incident"),
    }
}

/// The alert that announces an incident, once it fires.
async fn alert(State(app): State<App>, headers: HeaderMap, Path(name): Path<String>) -> Response {
    let lab = match app.lab(&headers) {
        Ok(lab) => lab,
        Err(refusal) => return *refusal,
    };
    let Some(incident) = Incident::named(&name) else {
        return refusal(StatusCode::NOT_FOUND, "there is no such incident");
    };
    match lab.alert(incident).await {
        Ok(alert) => axum::Json(alert).into_response(),
        Err(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

async fn act(
    State(app): State<App>,
    headers: HeaderMap,
    Path((name, action)): Path<(String, String)>,
) -> Response {
    let lab = match app.lab(&headers) {
        Ok(lab) => lab,
        Err(refusal) => return *refusal,
    };
    let Some(incident) = Incident::named(&name) else {
        return refusal(StatusCode::NOT_FOUND, "there is no such incident");
    };
    let done = match action.as_str() {
        "inject" => incident.inject(&lab).await,
        "clear" => incident.clear(&lab).await,
        _ => return refusal(StatusCode::NOT_FOUND, "an incident is injected or cleared"),
    };
    match done {
        Ok(()) => axum::Json(json!({ "incident": incident.name(), "action": action })).into_response(),
        Err(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

/// A lab of another process.
#[derive(Debug, Clone)]
pub struct Remote {
    url: String,
    token: String,
}

impl Remote {
    /// The lab with this control.
    pub fn new(url: &str, token: &str) -> Self {
        Self {
            url: url.to_owned(),
            token: token.to_owned(),
        }
    }

    /// Breaks the world.
    pub async fn inject(&self, incident: Incident) -> Result<Value, Error> {
        self.ask("POST", &format!("/incidents/{}/inject", incident.name()))
            .await
    }

    /// Mends the world.
    pub async fn clear(&self, incident: Incident) -> Result<Value, Error> {
        self.ask("POST", &format!("/incidents/{}/clear", incident.name()))
            .await
    }

    /// Asks the oracle.
    pub async fn verdict(&self, incident: Incident) -> Result<Value, Error> {
        self.ask("GET", &format!("/incidents/{}", incident.name())).await
    }

    async fn ask(&self, method: &str, path: &str) -> Result<Value, Error> {
        let failed = |cause: std::io::Error| Error::Io {
            what: format!("the lab at {}", self.url),
            cause,
        };
        let host = self.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).await.map_err(failed)?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\n\
             Content-Length: 0\r\nConnection: close\r\n\r\n",
            self.token
        );
        stream.write_all(request.as_bytes()).await.map_err(failed)?;
        let mut answer = String::new();
        stream
            .take(MOST)
            .read_to_string(&mut answer)
            .await
            .map_err(failed)?;
        if answer.is_empty() {
            return Err(failed(std::io::Error::new(
                std::io::ErrorKind::UnexpectedEof,
                "it ended before it answered",
            )));
        }
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let value: Value = serde_json::from_str(body)
            .map_err(|error| failed(std::io::Error::new(std::io::ErrorKind::InvalidData, error)))?;
        if head.split_whitespace().nth(1) == Some("200") {
            return Ok(value);
        }
        let message = value.get("error").and_then(Value::as_str).unwrap_or("it failed");
        Err(Error::Command {
            command: format!("{method} {path}"),
            message: message.to_owned(),
        })
    }
}
