//! Why a model cannot be used as it is configured.

use crate::{Provider, scripted};
use std::path::PathBuf;

/// Why a model cannot be used as it is configured. Nothing of a key, a header's value or an address's credentials stands in
/// any of them.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such entry.
    #[error("no model is named `{name}`; there are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The provider's name for the model is missing.
    #[error("model `{name}`: `model` is missing: say which of {provider}'s models it is")]
    ModelMissing {
        /// The entry.
        name: String,
        /// Its provider.
        provider: Provider,
    },
    /// The key's variable is not set.
    #[error("model `{name}`: the environment variable `{variable}` is not set; put the provider's key there")]
    KeyMissing {
        /// The entry.
        name: String,
        /// The variable.
        variable: String,
    },
    /// The key cannot be sent.
    #[error(
        "model `{name}`: the key in `{variable}` has characters that no header can carry, such as a line break"
    )]
    KeyInvalid {
        /// The entry.
        name: String,
        /// The variable.
        variable: String,
    },
    /// The address is none.
    #[error("model `{name}`: `base_url` is no http or https address: {reason}")]
    BaseUrl {
        /// The entry.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A header cannot be sent.
    #[error("model `{name}`: the header `{header}` cannot be sent: {reason}")]
    Header {
        /// The entry.
        name: String,
        /// The header's name.
        header: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// The certificates cannot be read.
    #[error("model `{name}`: `ca_file` {path}: {reason}")]
    CaFile {
        /// The entry.
        name: String,
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// TLS cannot be set up.
    #[error("model `{name}`: no connection can be made: {reason}")]
    Transport {
        /// The entry.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A setting makes no sense.
    #[error("model `{name}`: `{setting}` {reason}")]
    Setting {
        /// The entry.
        name: String,
        /// The setting.
        setting: String,
        /// What is wrong.
        reason: String,
    },
    /// The script cannot be read.
    #[error("model `{name}`: {source}")]
    Script {
        /// The entry.
        name: String,
        /// What is wrong.
        source: scripted::Error,
    },
    /// A request cannot be written.
    #[error("the request cannot be written: {0}")]
    Render(String),
}
