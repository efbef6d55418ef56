//! How the record is signed, and where its last hash is sent.

use std::path::PathBuf;

use interlock_model::Span;
use interlock_seal::{KeySource, PublicKey};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// How the record is signed.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// Where the signing key is. Left out, `record.key` in the user's configuration folder, created on first use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<RecordKey>,
    /// The public keys that signed before the key was replaced, the newest first: `ed25519:…`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "keys_schema")]
    pub previous_keys: Vec<PublicKey>,
    /// Where the server sends the signed end of the audit log, so that a cut log is noticed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ship: Option<Ship>,
}

/// Where the signing key is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordKey {
    /// A file that only its owner can read. Created if it is missing.
    File(PathBuf),
    /// An environment variable.
    Env(String),
    /// A systemd credential (`LoadCredential=NAME:PATH` in the unit).
    Credential(String),
}

impl RecordKey {
    /// The source of the key.
    pub fn source(&self) -> KeySource {
        match self {
            Self::File(path) => KeySource::File(path.clone()),
            Self::Env(name) => KeySource::Environment(name.clone()),
            Self::Credential(name) => KeySource::Credential(name.clone()),
        }
    }
}

/// Where the signed end of the audit log is sent. At least one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ship {
    /// How often, if the log has grown.
    #[serde(default = "hourly")]
    pub every: Span,
    /// A file to append a line to; best on another machine or on storage that only appends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// A web address that takes a POST with the checkpoint as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
    /// A syslog server that takes UDP: `HOST:PORT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syslog: Option<String>,
}

const fn hourly() -> Span {
    Span::from_secs(60 * 60)
}

fn keys_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "string", "pattern": "^ed25519:[A-Za-z0-9+/]{43}=$" } })
}
