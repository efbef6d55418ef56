//! One request to Alertmanager, and what its refusals mean.

use http::{HeaderValue, Method};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Alertmanager;
use crate::Error;
use crate::http::{Answer, Request, message};

impl Alertmanager {
    pub(super) async fn get<Data: DeserializeOwned>(&self, path: &str) -> Result<Data, Error> {
        let body = self.send(Method::GET, path, None).await?;
        serde_json::from_slice(&body).map_err(|error| Error::Protocol {
            connection: self.inner.name.clone(),
            message: message(&format!(
                "{} bytes that are no answer of Alertmanager: {error}",
                body.len()
            )),
        })
    }

    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Vec<u8>, Error> {
        let mut headers = self.inner.credentials.headers();
        if body.is_some() {
            headers.insert(
                http::header::CONTENT_TYPE,
                HeaderValue::from_static("application/json"),
            );
        }
        let answer = self
            .inner
            .http
            .send(Request {
                method,
                path: &format!("/api/v2/{path}"),
                headers,
                body: body.map(|body| body.to_string().into_bytes()),
            })
            .await?;
        if (200..300).contains(&answer.status) {
            return Ok(answer.body);
        }
        Err(self.refusal(&answer))
    }

    /// Its errors are JSON strings, or objects with a message.
    fn refusal(&self, answer: &Answer) -> Error {
        let connection = self.inner.name.clone();
        let said = match serde_json::from_slice::<Value>(&answer.body) {
            Ok(Value::String(text)) => text,
            Ok(Value::Object(object)) => object
                .get("message")
                .and_then(Value::as_str)
                .unwrap_or(&answer.reason)
                .to_owned(),
            Ok(_) | Err(_) => answer.reason.clone(),
        };
        let message = message(&said);
        match answer.status {
            401 => Error::Unauthorized { connection, message },
            403 => Error::Forbidden { connection, message },
            404 => Error::NotFound {
                what: format!("what was asked for on `{connection}`"),
            },
            status => Error::Refused {
                connection,
                status: Some(status),
                message,
            },
        }
    }
}
