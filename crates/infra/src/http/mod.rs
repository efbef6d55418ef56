//! One HTTP connection, in bounds: time-outs, a cap on what is taken, no redirects, and no credential in what it says.

mod tls;

pub(crate) use tls::shown as shown_fingerprint;

use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method};
use interlock_protocol::{Identity, IdentityFact};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};

use crate::Error;
use crate::options::Tls;

/// How long to wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// How long one request may take, where nobody says otherwise.
const TOTAL: Duration = Duration::from_secs(30);
/// How much of an answer is taken.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// How often a read is tried that found nobody listening.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(150);
/// The longest message of another side that is repeated, in characters.
const MOST_MESSAGE: usize = 400;

const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A connection to one server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Http {
    client: reqwest::Client,
    base: Url,
    connection: String,
    identity: Identity,
}

/// What a server answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The words behind the status, which some servers put their message into.
    pub(crate) reason: String,
    pub(crate) body: Vec<u8>,
}

/// What to send.
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    /// The path and query, escaped, from the server's own address on.
    pub(crate) path: &'a str,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Vec<u8>>,
}

impl<'a> Request<'a> {
    pub(crate) fn get(path: &'a str) -> Self {
        Self {
            method: Method::GET,
            path,
            headers: HeaderMap::new(),
            body: None,
        }
    }
}

impl Http {
    /// Prepares a connection; nothing is reached yet.
    pub(crate) fn new(connection: &str, url: &str, tls: &Tls) -> Result<Self, Error> {
        let base = address(connection, url)?;
        let (client, known_by) = tls::client(connection, &base, tls)?;
        let mut identity =
            Identity::default().with(IdentityFact::Endpoint, base.as_str().trim_end_matches('/'));
        identity.extend(&known_by);
        Ok(Self {
            client,
            base,
            identity,
            connection: connection.to_owned(),
        })
    }

    /// The address and the certificate or authority that every connection is checked against.
    pub(crate) fn identity(&self) -> Identity {
        self.identity.clone()
    }

    /// Sends a request and takes the whole answer, whatever its status is.
    pub(crate) async fn send(&self, request: Request<'_>) -> Result<Answer, Error> {
        // What may have had an effect is never sent twice.
        let most = if request.method == Method::GET { TRIES } else { 1 };
        let mut tried = 1;
        loop {
            match self.once(&request).await {
                Err(Failed::NotConnected(_)) if tried < most => {
                    tokio::time::sleep(PAUSE * tried).await;
                    tried += 1;
                }
                Err(Failed::NotConnected(cause)) => {
                    return Err(Error::Unreachable {
                        connection: self.connection.clone(),
                        cause,
                    });
                }
                Err(Failed::Other(error)) => return Err(error),
                Ok(answer) => return Ok(answer),
            }
        }
    }

    async fn once(&self, request: &Request<'_>) -> Result<Answer, Failed> {
        let url = format!("{}{}", self.base.as_str().trim_end_matches('/'), request.path);
        let mut builder = self
            .client
            .request(request.method.clone(), url)
            .headers(request.headers.clone())
            .timeout(TOTAL);
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        let mut response = builder.send().await.map_err(|error| self.failed(error))?;
        let status = response.status();
        let reason = response
            .extensions()
            .get::<hyper::ext::ReasonPhrase>()
            .map_or_else(
                || status.canonical_reason().unwrap_or_default().to_owned(),
                |reason| String::from_utf8_lossy(reason.as_bytes()).into_owned(),
            );
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(error))? {
            if body.len() + chunk.len() > MOST_BYTES {
                return Err(Failed::Other(Error::TooLarge {
                    connection: self.connection.clone(),
                    most: MOST_BYTES as u64,
                }));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer {
            status: status.as_u16(),
            reason,
            body,
        })
    }

    fn failed(&self, error: reqwest::Error) -> Failed {
        let connection = self.connection.clone();
        // Addresses may carry credentials in their query.
        let error = error.without_url();
        if error.is_timeout() && !error.is_connect() {
            return Failed::Other(Error::TimedOut {
                connection,
                seconds: TOTAL.as_secs(),
            });
        }
        let cause = deepest(&error);
        if error.is_connect() {
            return Failed::NotConnected(cause);
        }
        Failed::Other(Error::Unreachable { connection, cause })
    }
}

enum Failed {
    NotConnected(String),
    Other(Error),
}

/// An address without credentials, query and fragment.
fn address(connection: &str, url: &str) -> Result<Url, Error> {
    let wrong = |message: &str| Error::Configuration {
        connection: connection.to_owned(),
        message: message.to_owned(),
    };
    let url = Url::parse(url).map_err(|error| wrong(&format!("`url` is no address: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong("`url` must begin with http:// or https:// and name a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(
            "`url` carries a user or password; name the environment variable that holds it instead",
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("`url` must end with the host, port or path"));
    }
    Ok(url)
}

/// A text as one segment of a path, or as a value in a query.
pub(crate) fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// Pairs as a form, or as a query.
pub(crate) fn form(pairs: &[(&str, &str)]) -> String {
    pairs
        .iter()
        .map(|(name, value)| format!("{}={}", segment(name), segment(value)))
        .collect::<Vec<_>>()
        .join("&")
}

/// The body of a form, and the header that says so.
pub(crate) fn form_body(pairs: &[(&str, &str)], headers: &mut HeaderMap) -> Vec<u8> {
    headers.insert(
        http::header::CONTENT_TYPE,
        HeaderValue::from_static("application/x-www-form-urlencoded"),
    );
    form(pairs).into_bytes()
}

/// A header that no log shows.
pub(crate) fn secret_header(connection: &str, value: &SecretString) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| Error::Configuration {
        connection: connection.to_owned(),
        message: "a credential has characters that no header can carry".to_owned(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// What another side said, in one bounded line.
pub(crate) fn message(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST_MESSAGE) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

/// The innermost reason of an error: what the system or the other side said.
pub(crate) fn deepest(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

pub(crate) const fn connect_time() -> Duration {
    CONNECT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_credentials_are_refused() {
        for url in [
            "https://root:pw@h:8006",
            "ftp://h",
            "h:8006",
            "https://h/?token=1",
            "",
        ] {
            let error = Http::new("x", url, &Tls::default()).err().unwrap();
            assert!(matches!(error, Error::Configuration { .. }), "{url}: {error}");
            assert!(!error.to_string().contains("pw"), "{error}");
        }
    }

    #[test]
    fn segments_cannot_leave_their_place() {
        assert_eq!(segment("../a b/?#"), "..%2Fa%20b%2F%3F%23");
        assert_eq!(form(&[("a", "1&b=2"), ("c", "é")]), "a=1%26b%3D2&c=%C3%A9");
    }

    #[test]
    fn messages_are_one_bounded_line() {
        assert_eq!(message(" a\n b\t c "), "a b c");
        assert!(message(&"x".repeat(100_000)).len() < 500);
    }
}
