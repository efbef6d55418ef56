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
        let unreachable =
            |error: reqwest::Error| Failure::unsuccessful(why(&self.base, &error.without_url()));
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

/// Why a server could not be asked, and what to do about it.
fn why(base: &str, error: &(dyn std::error::Error + 'static)) -> String {
    let mut reasons = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        reasons.push(cause.to_string());
        next = cause.source();
    }
    let says = |words: &[&str]| {
        reasons
            .iter()
            .map(|reason| reason.to_lowercase())
            .any(|reason| words.iter().any(|word| reason.contains(word)))
    };
    let last = reasons.last().map_or("", String::as_str);
    if says(&[
        "certificate",
        "unknownissuer",
        "unknown issuer",
        "notvalidforname",
    ]) {
        return format!(
            "the certificate of {base} is not accepted ({last}); use the name that it was issued for, and add its issuer to \
             the certificates that this machine trusts"
        );
    }
    if says(&[
        "corrupt message",
        "invalidcontenttype",
        "invalid content type",
        "tls",
        "handshake",
    ]) {
        return format!(
            "{base} does not speak TLS as expected ({last}); check the scheme and the port of the address"
        );
    }
    if says(&["dns", "lookup address", "name or service not known"]) {
        return format!("the address of {base} cannot be found ({last}); check the name");
    }
    if says(&["timed out", "deadline"]) {
        return format!(
            "{base} did not answer in time ({last}); try again, or check that the server is not overloaded"
        );
    }
    format!("{base} does not answer ({last}); is `interlock serve` running there?")
}

/// The whole id of what a text begins, among these. A text that begins none is taken as it is: the server says that it is not
/// there.
pub(crate) fn whole<'a>(text: &str, known: impl Iterator<Item = &'a str>) -> Result<String, Failure> {
    let text = id(text)?;
    let mut matches: Vec<&str> = known.filter(|known| known.starts_with(text)).collect();
    matches.sort_unstable();
    matches.dedup();
    if let Some(exact) = matches.iter().find(|known| **known == text) {
        return Ok((*exact).to_owned());
    }
    match matches.as_slice() {
        [] => Ok(text.to_owned()),
        [one] => Ok((*one).to_owned()),
        several => Err(Failure::unsuccessful(format!(
            "`{text}` is the beginning of {} ids; give more of it",
            several.len()
        ))),
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
    use super::{is_loopback, whole, why};

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl std::fmt::Display for Layer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }

    impl std::error::Error for Layer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            self.1.as_deref().map(|layer| layer as _)
        }
    }

    #[test]
    fn what_went_wrong_is_said_and_what_to_do() {
        let cases = [
            ("invalid peer certificate: UnknownIssuer", "is not accepted"),
            ("invalid peer certificate: NotValidForName", "is not accepted"),
            (
                "received corrupt message of type InvalidContentType",
                "does not speak TLS",
            ),
            ("failed to lookup address information", "cannot be found"),
            ("operation timed out", "did not answer in time"),
            (
                "Connection refused (os error 111)",
                "is `interlock serve` running there?",
            ),
        ];
        for (cause, said) in cases {
            let error = Layer(
                "error sending request",
                Some(Box::new(Layer(
                    "client error (Connect)",
                    Some(Box::new(Layer(cause, None))),
                ))),
            );
            let message = why("https://box", &error);
            assert!(message.contains(said) && message.contains(cause), "{message}");
            let suggests = message.contains("interlock serve");
            assert_eq!(suggests, cause.starts_with("Connection refused"), "{message}");
        }
    }

    #[test]
    fn the_beginning_of_an_id_is_enough_where_it_is_unique() {
        let known = ["hold_abc1", "hold_abd2", "hold_abd"];
        let find = |text: &str| whole(text, known.into_iter()).map_err(|error| error.to_string());
        assert_eq!(find("hold_abc").as_deref(), Ok("hold_abc1"));
        assert_eq!(find("hold_abd").as_deref(), Ok("hold_abd"));
        assert_eq!(find("hold_x").as_deref(), Ok("hold_x"));
        assert!(find("hold_ab").unwrap_err().contains("3 ids"));
        assert!(find("../x").is_err());
    }

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
