//! The key `server`: where the API and the dashboard are served, to whom, and how much at once.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;

use interlock_model::Span;
use interlock_protocol::Role;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Where the server listens if nothing else is said.
pub const LISTEN: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7878));

/// Where the API and the dashboard are served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// The address and port to listen on.
    #[schemars(with = "String")]
    pub listen: SocketAddr,
    /// How browsers reach it, where that is not the address itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
    /// Serve HTTPS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Addresses or networks of proxies that may say who the client is: `10.0.0.0/8`.
    pub trusted_proxies: Vec<String>,
    /// Who may read `/metrics`.
    pub metrics: MetricsAccess,
    /// How long a browser stays signed in.
    pub sessions: Sessions,
    /// How much is taken at once.
    pub limits: ServerLimits,
    /// Sign in with an OpenID Connect provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oidc: Option<Oidc>,
}

impl Server {
    /// The files that hold secrets: no tool may read them.
    pub fn secret_files(&self) -> impl Iterator<Item = &PathBuf> {
        let key = self.tls.iter().map(|tls| &tls.key);
        let secret = self
            .oidc
            .iter()
            .filter_map(|oidc| oidc.client_secret_file.as_ref());
        key.chain(secret)
    }
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: LISTEN,
            public_url: None,
            tls: None,
            trusted_proxies: Vec::new(),
            metrics: MetricsAccess::default(),
            sessions: Sessions::default(),
            limits: ServerLimits::default(),
            oidc: None,
        }
    }
}

/// Who may read `/metrics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricsAccess {
    /// Those who are signed in, and programs with a token.
    #[default]
    Private,
    /// Everybody who reaches the server.
    Public,
}

/// How long a browser stays signed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sessions {
    /// For how long without a request.
    pub idle: Span,
    /// For how long in all.
    pub absolute: Span,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            idle: Span::from_secs(12 * 60 * 60),
            absolute: Span::from_secs(7 * 24 * 60 * 60),
        }
    }
}

/// How much the server takes at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerLimits {
    /// How many connections are served at the same time; further ones wait.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub connections: u32,
    /// How large the body of a request may be, in bytes.
    #[schemars(range(min = 1024, max = 67_108_864))]
    pub body_bytes: u32,
    /// How large a request that brings alerts may be, in bytes.
    #[schemars(range(min = 1024, max = 67_108_864))]
    pub alert_bytes: u32,
    /// How long the head of a request may take to come, and a TLS handshake.
    pub header_timeout: Span,
    /// How long an answer may take to begin.
    pub request_timeout: Span,
    /// How many requests each user may make in a minute.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub requests_per_minute: u32,
    /// How many requests each address may make in a minute without being signed in.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub anonymous_per_minute: u32,
    /// How many WebSockets and streams of events each login and each token may have open at the same time.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub streams: u32,
    /// How often a user may get the password wrong before each further try has to wait, twice as long each time.
    #[schemars(range(min = 1, max = 1000))]
    pub sign_in_attempts: u32,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections: 4096,
            body_bytes: 1024 * 1024,
            alert_bytes: 16 * 1024 * 1024,
            header_timeout: Span::from_secs(10),
            request_timeout: Span::from_secs(30),
            requests_per_minute: 6000,
            anonymous_per_minute: 600,
            streams: 100,
            sign_in_attempts: 5,
        }
    }
}

/// An OpenID Connect provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Oidc {
    /// The address that the provider calls itself: what `/.well-known/openid-configuration` is appended to.
    pub issuer: String,
    /// What the provider knows Interlock by.
    pub client_id: String,
    /// The environment variable that holds the client's secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret_env: Option<String>,
    /// A file that holds the client's secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret_file: Option<PathBuf>,
    /// What is asked for besides `openid`.
    #[serde(default = "oidc_scopes")]
    pub scopes: Vec<String>,
    /// The claim that lists a user's groups.
    #[serde(default = "oidc_groups_claim")]
    pub groups_claim: String,
    /// The role of each group; the highest of a user's groups counts.
    #[serde(default)]
    #[schemars(schema_with = "roles_schema")]
    pub roles: BTreeMap<String, Role>,
    /// The role of those whose groups are not listed; left out, they may not sign in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "optional_role_schema")]
    pub default_role: Option<Role>,
    /// What the button on the sign-in page says.
    #[serde(default = "oidc_label")]
    pub label: String,
}

fn oidc_scopes() -> Vec<String> {
    ["profile", "email", "groups"].map(str::to_owned).to_vec()
}

fn oidc_groups_claim() -> String {
    "groups".to_owned()
}

fn oidc_label() -> String {
    "Sign in with single sign-on".to_owned()
}

fn role_words() -> Vec<&'static str> {
    Role::ALL.iter().map(|role| role.as_str()).collect()
}

fn roles_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": { "type": "string", "enum": role_words() } })
}

fn optional_role_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "enum": role_words() })
}

/// A certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// A PEM file with the certificate and those that vouch for it.
    pub certificate: PathBuf,
    /// A PEM file with its private key.
    pub key: PathBuf,
}
