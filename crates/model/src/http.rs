//! Connections to providers, and the addresses and headers that go with them.

use crate::options::BaseUrl;
use crate::secrets::{Scrubber, Secrets};
use crate::wire::{Wire, anthropic, gemini, ollama, openai};
use crate::{Error, Options};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName,
    HeaderValue, TRANSFER_ENCODING,
};
use secrecy::{ExposeSecret, SecretString};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long to wait for a connection.
const CONNECT: Duration = Duration::from_secs(20);

/// What connections have in common that can be shared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    ca_file: Option<PathBuf>,
    tls: bool,
    loopback: bool,
}

/// The pools of connections. A cheap clone; clients that share one share connections.
#[derive(Debug, Clone, Default)]
pub struct Transport(Arc<Mutex<BTreeMap<Kind, reqwest::Client>>>);

impl Transport {
    fn client(&self, name: &str, kind: Kind) -> Result<reqwest::Client, Error> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&kind) {
            return Ok(client.clone());
        }
        let client = connect(name, &kind)?;
        clients.insert(kind, client.clone());
        Ok(client)
    }
}

fn connect(name: &str, kind: &Kind) -> Result<reqwest::Client, Error> {
    let transport = |reason: String| Error::Transport {
        name: name.to_owned(),
        reason,
    };
    // Whoever was first has chosen: any provider of cryptography will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .http1_only()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .connect_timeout(CONNECT)
        .tcp_nodelay(true)
        .pool_idle_timeout(Duration::from_mins(1))
        .user_agent(concat!("interlock/", env!("CARGO_PKG_VERSION")));
    if kind.loopback {
        builder = builder.no_proxy();
    }
    if !kind.tls {
        // No certificate is ever looked at, so none has to be loaded, and a machine without any can still talk to itself.
        let config =
            rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(|error| transport(error.to_string()))?
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(config);
    } else if let Some(path) = &kind.ca_file {
        builder = builder.tls_certs_merge(certificates(name, path)?);
    }
    builder.build().map_err(|error| match &kind.ca_file {
        Some(path) => Error::CaFile {
            name: name.to_owned(),
            path: path.clone(),
            reason: deepest(&error),
        },
        None => transport(deepest(&error)),
    })
}

fn certificates(name: &str, path: &Path) -> Result<Vec<reqwest::Certificate>, Error> {
    let wrong = |reason: String| Error::CaFile {
        name: name.to_owned(),
        path: path.to_owned(),
        reason,
    };
    let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let certificates = reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| wrong(deepest(&error)))?;
    if certificates.is_empty() {
        return Err(wrong("there is no certificate in it".to_owned()));
    }
    Ok(certificates)
}

/// The innermost reason of an error: what the system or the other side said.
pub(crate) fn deepest(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

/// Where requests go, and with what.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) http: reqwest::Client,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    /// The address without credentials.
    pub(crate) shown: String,
    pub(crate) scrubber: Scrubber,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Endpoint").field(&self.shown).finish()
    }
}

impl Endpoint {
    pub(crate) fn new(
        name: &str,
        wire: Wire,
        options: &Options,
        secrets: &Secrets,
        transport: &Transport,
    ) -> Result<Self, Error> {
        let mut scrubber = Scrubber::default();
        let (url, login) = url(name, wire, options)?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accept = match wire {
            Wire::Ollama => "application/x-ndjson, application/json",
            _ => "text/event-stream, application/json",
        };
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if wire == Wire::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
        }
        if let Some(login) = login {
            scrubber.add(login.expose_secret());
            let value = format!("Basic {}", STANDARD.encode(login.expose_secret()));
            scrubber.add(value.trim_start_matches("Basic "));
            if let Some((_, password)) = login.expose_secret().split_once(':') {
                scrubber.add(password);
            }
            let value = HeaderValue::from_str(&value).map_err(|_| Error::BaseUrl {
                name: name.to_owned(),
                reason: "its credentials cannot be sent".to_owned(),
            })?;
            headers.insert(AUTHORIZATION, sensitive(value));
        }
        if let Some((variable, key)) = key(name, wire, options, secrets)? {
            let key = key.expose_secret().trim();
            scrubber.add(key);
            let (header, value) = match wire {
                Wire::Openai | Wire::Ollama => (AUTHORIZATION, format!("Bearer {key}")),
                Wire::Anthropic => (HeaderName::from_static("x-api-key"), key.to_owned()),
                Wire::Gemini => (HeaderName::from_static("x-goog-api-key"), key.to_owned()),
            };
            let value = HeaderValue::from_str(&value).map_err(|_| Error::KeyInvalid {
                name: name.to_owned(),
                variable,
            })?;
            headers.insert(header, sensitive(value));
        }
        for (header, value) in &options.headers {
            let wrong = |reason| Error::Header {
                name: name.to_owned(),
                header: header.clone(),
                reason,
            };
            scrubber.add(value.as_str());
            // Of `Bearer x` also x alone.
            if let Some((_, credential)) = value.as_str().split_once(' ') {
                scrubber.add(credential);
            }
            let header_name: HeaderName = header.parse().map_err(|_| wrong("its name is none"))?;
            if [CONTENT_TYPE, CONTENT_LENGTH, HOST, CONNECTION, TRANSFER_ENCODING].contains(&header_name) {
                return Err(wrong("it belongs to the connection"));
            }
            let value = HeaderValue::from_str(value.as_str())
                .map_err(|_| wrong("its value has characters that no header can carry"))?;
            headers.insert(header_name, sensitive(value));
        }
        for (_, value) in url.query_pairs() {
            scrubber.add(&value);
        }
        let kind = Kind {
            ca_file: options.ca_file.clone(),
            tls: url.scheme() == "https",
            loopback: is_loopback(&url),
        };
        if let (Some(path), false) = (&options.ca_file, kind.tls) {
            return Err(Error::CaFile {
                name: name.to_owned(),
                path: path.clone(),
                reason: "it is of no use: the address does not begin with https://".to_owned(),
            });
        }
        let http = transport.client(name, kind)?;
        Ok(Self {
            http,
            shown: shown(url.as_str()),
            url,
            headers,
            scrubber,
        })
    }
}

/// The secrets that a client of this model sends: its key, the password of its address, and what looks random in its headers
/// and the query of its address. A missing key is none.
pub(crate) fn sent(name: &str, options: &Options, secrets: &Secrets) -> Vec<SecretString> {
    let Some(wire) = Wire::of(options.provider) else {
        return Vec::new();
    };
    let mut sent = Vec::new();
    if let Ok(Some((_, key))) = key(name, wire, options, secrets) {
        sent.push(SecretString::from(key.expose_secret().trim()));
    }
    // A name, a version or a word is in other texts too.
    let random = |value: &str| {
        value.len() >= 12
            && value.bytes().any(|byte| byte.is_ascii_digit())
            && value.bytes().any(|byte| byte.is_ascii_alphabetic())
            && !value.contains(char::is_whitespace)
    };
    for value in options.headers.values() {
        let credential = value.as_str().rsplit(' ').next().unwrap_or_default();
        if random(credential) {
            sent.push(SecretString::from(credential));
        }
    }
    if let Ok((url, login)) = url(name, wire, options) {
        if let Some((_, password)) = login
            .as_ref()
            .and_then(|login| login.expose_secret().split_once(':'))
        {
            sent.push(SecretString::from(password));
        }
        sent.extend(
            url.query_pairs()
                .filter(|(_, value)| random(value))
                .map(|(_, value)| SecretString::from(value.into_owned())),
        );
    }
    sent
}

fn sensitive(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}

/// The key and its variable. The provider's default key goes only to the provider's own address.
fn key(
    name: &str,
    wire: Wire,
    options: &Options,
    secrets: &Secrets,
) -> Result<Option<(String, SecretString)>, Error> {
    let variable = match (&options.api_key_env, wire) {
        (Some(variable), _) => variable.as_str(),
        (None, _) if options.base_url.is_some() => return Ok(None),
        (None, Wire::Openai) => "OPENAI_API_KEY",
        (None, Wire::Anthropic) => "ANTHROPIC_API_KEY",
        (None, Wire::Gemini) => "GEMINI_API_KEY",
        (None, Wire::Ollama) => return Ok(None),
    };
    match secrets.get(variable) {
        Some(key) => Ok(Some((variable.to_owned(), key))),
        None => Err(Error::KeyMissing {
            name: name.to_owned(),
            variable: variable.to_owned(),
        }),
    }
}

/// The address of the wire, and the name and password that stood in it.
fn url(name: &str, wire: Wire, options: &Options) -> Result<(Url, Option<SecretString>), Error> {
    let wrong = |reason: &str| Error::BaseUrl {
        name: name.to_owned(),
        reason: reason.to_owned(),
    };
    let base = options.base_url.as_ref().map_or(
        match wire {
            Wire::Openai => openai::BASE_URL,
            Wire::Anthropic => anthropic::BASE_URL,
            Wire::Gemini => gemini::BASE_URL,
            Wire::Ollama => ollama::BASE_URL,
        },
        BaseUrl::as_str,
    );
    let mut url = Url::parse(base).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("it begins with neither http:// nor https://"));
    }
    if url.host_str().is_none() {
        return Err(wrong("it names no host"));
    }
    let login = (!url.username().is_empty() || url.password().is_some()).then(|| {
        let password = url.password().unwrap_or_default();
        SecretString::from(format!("{}:{}", unescape(url.username()), unescape(password)))
    });
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/').to_owned();
    let end = |version: &str, rest: &str| {
        if path.ends_with(rest) {
            path.clone()
        } else if path.is_empty() {
            format!("{version}{rest}")
        } else {
            format!("{path}{rest}")
        }
    };
    let path = match wire {
        Wire::Openai => end("/v1", "/chat/completions"),
        Wire::Anthropic if path.ends_with("/v1") || path.ends_with("/messages") => end("", "/messages"),
        Wire::Anthropic => format!("{path}/v1/messages"),
        Wire::Gemini => {
            let model = options.model.trim_start_matches("models/");
            end("/v1beta", &format!("/models/{model}:streamGenerateContent"))
        }
        Wire::Ollama if path.ends_with("/api") || path.ends_with("/chat") => end("", "/chat"),
        Wire::Ollama => format!("{path}/api/chat"),
    };
    url.set_path(&path);
    if wire == Wire::Gemini && !url.query_pairs().any(|(key, _)| key == "alt") {
        url.query_pairs_mut().append_pair("alt", "sse");
    }
    Ok((url, login))
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// An address as messages show it: without credentials, query and fragment.
pub(crate) fn shown(address: &str) -> String {
    let Ok(url) = Url::parse(address) else {
        return "an address that is none".to_owned();
    };
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

/// Undoes percent-encoding.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = (byte == b'%')
            .then(|| after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok()))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        if let Some(code) = code {
            bytes.push(code);
            rest = &after[2..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Provider;

    #[test]
    fn addresses_lead_to_the_wire() {
        let cases = [
            (
                Provider::Openai,
                None,
                "https://api.openai.com/v1/chat/completions",
            ),
            (
                Provider::Openai,
                Some("http://127.0.0.1:8089"),
                "http://127.0.0.1:8089/v1/chat/completions",
            ),
            (
                Provider::Openai,
                Some("http://h/v1/"),
                "http://h/v1/chat/completions",
            ),
            (
                Provider::Openai,
                Some("https://h/openai/chat/completions?api-version=1"),
                "https://h/openai/chat/completions?api-version=1",
            ),
            (Provider::Anthropic, None, "https://api.anthropic.com/v1/messages"),
            (
                Provider::Anthropic,
                Some("http://h:1/v1"),
                "http://h:1/v1/messages",
            ),
            (
                Provider::Anthropic,
                Some("http://h:1/proxy"),
                "http://h:1/proxy/v1/messages",
            ),
            (
                Provider::Gemini,
                None,
                "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
            ),
            (
                Provider::Gemini,
                Some("http://h:1"),
                "http://h:1/v1beta/models/m:streamGenerateContent?alt=sse",
            ),
            (Provider::Ollama, None, "http://127.0.0.1:11434/api/chat"),
            (Provider::Ollama, Some("http://h:1/api"), "http://h:1/api/chat"),
        ];
        for (provider, base, expected) in cases {
            let mut options = Options::new(provider, "m");
            options.base_url = base.map(BaseUrl::from);
            let wire = Wire::of(provider).expect("a wire");
            let (url, login) = url("x", wire, &options).expect("an address");
            assert_eq!((url.as_str(), login.is_none()), (expected, true));
        }
    }

    #[test]
    fn credentials_in_an_address_are_not_shown() {
        let address = "https://someone:p%40ss@gate.example:8443/v1?key=abc#frag";
        assert_eq!(shown(address), "https://gate.example:8443/v1");
        assert_eq!(
            format!("{:?}", BaseUrl::from(address)),
            "\"https://gate.example:8443/v1\""
        );
        let mut options = Options::new(Provider::Openai, "m");
        options.base_url = Some(address.into());
        let (url, login) = url("x", Wire::Openai, &options).expect("an address");
        assert_eq!(
            url.as_str(),
            "https://gate.example:8443/v1/chat/completions?key=abc"
        );
        assert_eq!(login.expect("a login").expose_secret(), "someone:p@ss");
    }
}
