//! Where the signing key is kept.

use std::path::{Path, PathBuf};

use crate::{KeyError, Signer, file};

/// The folder in which systemd puts credentials.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

/// Where the signing key is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// In this file, which only its owner can read. Created if it is missing.
    File(PathBuf),
    /// In this environment variable.
    Environment(String),
    /// In the systemd credential of this name.
    Credential(String),
}

/// Why there is no signing key.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be used.
    #[error("the signing key {path} cannot be {what}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        reason: String,
    },
    /// Others can read the file.
    #[error("the signing key {path} can be read by other users (mode {mode:o}); run `chmod 600 {path}`")]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file is a link or not a file.
    #[error("the signing key {0} is not a regular file; links are not followed")]
    NotAFile(PathBuf),
    /// The variable is not set.
    #[error("the environment variable `{0}` is not set; it must hold the signing key")]
    Unset(String),
    /// There is no folder of credentials.
    #[error(
        "systemd passed no credentials; add `LoadCredential={0}:PATH` to the unit, or keep the signing key in a file"
    )]
    NoCredentials(String),
    /// What is there is not a key.
    #[error("{place}: {error}")]
    Key {
        /// Where.
        place: String,
        /// Why.
        error: KeyError,
    },
}

impl KeySource {
    /// The signing key. A file that is missing is created with a new key.
    pub fn load(&self) -> Result<Signer, Error> {
        match self {
            Self::File(path) => file::load_or_create(path),
            Self::Environment(name) => {
                let text = std::env::var(name).map_err(|_| Error::Unset(name.clone()))?;
                Signer::from_text(&text).map_err(|error| Error::Key {
                    place: format!("environment variable `{name}`"),
                    error,
                })
            }
            Self::Credential(name) => {
                let folder =
                    std::env::var_os(CREDENTIALS).ok_or_else(|| Error::NoCredentials(name.clone()))?;
                file::load_credential(&Path::new(&folder).join(name))
            }
        }
    }

    /// The same, without creating a file that is missing.
    pub fn load_present(&self) -> Result<Option<Signer>, Error> {
        match self {
            Self::File(path) => file::load_present(path),
            Self::Environment(_) | Self::Credential(_) => self.load().map(Some),
        }
    }

    /// Writes a new key to a file that does not exist yet.
    pub fn create(path: &Path) -> Result<Signer, Error> {
        file::create(path)
    }
}
