//! One request to Proxmox: signed in, its envelope opened, its refusals named.

use http::{HeaderMap, Method};
use serde_json::Value;

use super::Proxmox;
use super::auth::Renewal;
use crate::Error;
use crate::http::{Answer, Request, form, form_body, message};

/// What a proxy node answers about a node that it cannot reach.
const UNREACHABLE: [u16; 3] = [595, 596, 599];

impl Proxmox {
    /// Reads. The path is escaped already.
    pub(super) async fn get(&self, path: &str) -> Result<Value, Error> {
        self.call(Method::GET, path, &[]).await
    }

    pub(super) async fn get_with(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, Error> {
        self.get(&format!("{path}?{}", form(query))).await
    }

    /// Asks for a change. Only for the callers that hold a proof, and for questions of our own.
    pub(super) async fn post(&self, path: &str, pairs: &[(&str, &str)]) -> Result<Value, Error> {
        self.call(Method::POST, path, pairs).await
    }

    pub(super) async fn delete(&self, path: &str) -> Result<Value, Error> {
        self.call(Method::DELETE, path, &[]).await
    }

    async fn call(&self, method: Method, path: &str, pairs: &[(&str, &str)]) -> Result<Value, Error> {
        let answer = self.once(&method, path, pairs).await?;
        // A refused sign-in had no effect, so that even a change may be asked for again.
        if answer.status == 401 && self.inner.auth.refused().await == Renewal::Possible {
            let answer = self.once(&method, path, pairs).await?;
            return data_of(self.name(), &answer);
        }
        data_of(self.name(), &answer)
    }

    async fn once(&self, method: &Method, path: &str, pairs: &[(&str, &str)]) -> Result<Answer, Error> {
        let inner = &self.inner;
        let mut headers: HeaderMap = inner.auth.headers(&inner.name, &inner.http, method).await?;
        let body = (*method == Method::POST).then(|| form_body(pairs, &mut headers));
        inner
            .http
            .send(Request {
                method: method.clone(),
                path: &format!("/api2/json{path}"),
                headers,
                body,
            })
            .await
    }
}

/// What is in the envelope, or why there is none.
pub(super) fn data_of(connection: &str, answer: &Answer) -> Result<Value, Error> {
    let parsed: Option<Value> = serde_json::from_slice(&answer.body).ok();
    if (200..300).contains(&answer.status) {
        let data = match parsed {
            Some(Value::Object(mut envelope)) => envelope.remove("data"),
            _ => None,
        };
        return data.ok_or_else(|| Error::Protocol {
            connection: connection.to_owned(),
            message: format!(
                "status {} with {} bytes that are no JSON object with `data`",
                answer.status,
                answer.body.len()
            ),
        });
    }
    Err(refusal(connection, answer, parsed.as_ref()))
}

fn refusal(connection: &str, answer: &Answer, parsed: Option<&Value>) -> Error {
    let said = said(answer, parsed);
    let connection = connection.to_owned();
    match answer.status {
        401 => Error::Unauthorized {
            connection,
            message: said,
        },
        403 => Error::Forbidden {
            connection,
            message: said,
        },
        404 => Error::NotFound { what: said },
        // A guest that is gone is a missing configuration file to Proxmox, and an inner error.
        500 if said.contains("does not exist") => Error::NotFound { what: said },
        status if UNREACHABLE.contains(&status) => Error::Unreachable {
            connection,
            cause: format!("the node that was asked for does not answer: {said} ({status})"),
        },
        status => Error::Refused {
            connection,
            status: Some(status),
            message: said,
        },
    }
}

/// The message, which stands in the body, in its parameter errors, or behind the status.
fn said(answer: &Answer, parsed: Option<&Value>) -> String {
    let mut parts: Vec<String> = Vec::new();
    let text = parsed
        .and_then(|value| value.get("message"))
        .and_then(Value::as_str)
        .unwrap_or(&answer.reason);
    parts.push(text.trim().to_owned());
    if let Some(Value::Object(errors)) = parsed.and_then(|value| value.get("errors")) {
        for (parameter, why) in errors {
            let why = why.as_str().map_or_else(|| why.to_string(), str::to_owned);
            parts.push(format!("`{parameter}`: {}", why.trim()));
        }
    }
    parts.retain(|part| !part.is_empty());
    if parts.is_empty() {
        parts.push(format!("status {}", answer.status));
    }
    message(&parts.join(" "))
}
