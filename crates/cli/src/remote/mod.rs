//! The same commands, of a server elsewhere: through its API, with a token, like everybody.

mod approvals;

pub(crate) use approvals::{Decision, decide, edit, list, show};

use std::time::Duration;

use http::Method;
use serde_json::Value;

use crate::failure::Failure;
use crate::globals::Globals;

/// The environment variable with the API token. Not an argument: those are seen by everybody on the machine.
pub(crate) const TOKEN: &str = "INTERLOCK_TOKEN";
const WITHIN: Duration = Duration::from_secs(30);

/// A server, and the token with which it is asked.
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    token: String,
}

impl Client {
    /// The server that the command line or the environment names; nothing if none is.
    pub(crate) fn of(globals: &Globals) -> Result<Option<Self>, Failure> {
        let Some(server) = &globals.server else {
            return Ok(None);
        };
        let token = std::env::var(TOKEN).unwrap_or_default();
        if token.is_empty() {
            return Err(Failure::wrong(format!(
                "{TOKEN} is not set; make a token on the page under Settings, Tokens, and export it"
            )));
        }
        let base = server.trim_end_matches('/').to_owned();
        if !base.starts_with("https://") && !is_loopback(&base) {
            return Err(Failure::wrong(format!(
                "`{base}` is neither https nor this machine; the token would be readable on the way"
            )));
        }
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .timeout(WITHIN)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(Failure::unsuccessful)?;
        Ok(Some(Self { http, base, token }))
    }

    /// Asks for something, or for something to be done.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let mut request = self
            .http
            .request(method, format!("{}/api/v1{path}", self.base))
            .bearer_auth(&self.token);
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let unreachable = |error: reqwest::Error| {
            Failure::unsuccessful(format!(
                "{} does not answer ({}); is `interlock serve` running there?",
                self.base,
                error.without_url()
            ))
        };
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let text = response.text().await.map_err(unreachable)?;
        let document: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        if status.is_success() {
            return Ok(document);
        }
        let word = |key: &str| document.get(key).and_then(Value::as_str);
        let mut message =
            word("detail").map_or_else(|| format!("{} answered {status}", self.base), str::to_owned);
        if let Some(code) = word("code") {
            message = format!("{message} ({code})");
        }
        if let Some(hint) = word("hint") {
            message = format!("{message}; {hint}");
        }
        Err(Failure::unsuccessful(message))
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.send(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.send(Method::POST, path, Some(body)).await
    }
}

/// An id goes into a path as it is, so it is one.
pub(crate) fn id(text: &str) -> Result<&str, Failure> {
    let plain = !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain
        .then_some(text)
        .ok_or_else(|| Failure::wrong(format!("`{}` is no id", crate::terminal::visible(text))))
}

fn is_loopback(base: &str) -> bool {
    let rest = base.strip_prefix("http://").unwrap_or("");
    let authority = rest.split('/').next().unwrap_or("");
    let host = authority
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(authority, |(host, _)| host);
    host == "localhost"
        || host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn only_this_machine_is_loopback() {
        let cases = [
            ("http://127.0.0.1:7878", true),
            ("http://localhost", true),
            ("http://[::1]:7878/", true),
            ("http://127.0.0.1.example.org", false),
            ("http://localhost.example.org:7878", false),
            ("http://10.0.0.1:7878", false),
            ("http://user@localhost:80", false),
            ("ftp://localhost", false),
        ];
        for (base, expected) in cases {
            assert_eq!(is_loopback(base), expected, "{base}");
        }
    }
}
