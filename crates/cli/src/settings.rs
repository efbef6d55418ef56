//! Where Interlock's files are, and what the configuration says.

use std::path::PathBuf;

use interlock_config::{Config, Loaded, RecordKey};
use interlock_seal::{KeySource, Keyring};
use interlock_store::Options;

use crate::failure::Failure;
use crate::globals::Globals;

/// The folders of this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folders {
    /// Where data goes: the store, the history of the chat.
    pub(crate) data: PathBuf,
    /// Where the configuration is.
    pub(crate) config: PathBuf,
}

impl Folders {
    /// As the environment says.
    pub(crate) fn of_user() -> Self {
        let home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("/"));
        let base = |variable: &str, otherwise: &str| {
            std::env::var_os(variable)
                .map(PathBuf::from)
                // A relative one is to be ignored, by the specification.
                .filter(|path| path.is_absolute())
                .unwrap_or_else(|| home.join(otherwise))
                .join("interlock")
        };
        Self {
            data: base("XDG_DATA_HOME", ".local/share"),
            config: base("XDG_CONFIG_HOME", ".config"),
        }
    }
}

/// Reads the configuration.
pub(crate) fn load(globals: &Globals) -> Result<Loaded, Failure> {
    interlock_config::load(globals.config.as_deref()).map_err(Failure::wrong)
}

/// The name of the file with the signing key, in the configuration folder.
const KEY_FILE: &str = "record.key";

/// Where the key is that signs the record.
pub(crate) fn key_source(config: &Config, folders: &Folders) -> KeySource {
    let default = || KeySource::File(folders.config.join(KEY_FILE));
    config.record.key.as_ref().map_or_else(default, RecordKey::source)
}

/// The keys that sign and check the record. The key is created when it is first needed.
pub(crate) fn keyring(config: &Config, folders: &Folders) -> Result<Keyring, Failure> {
    let signer = key_source(config, folders).load().map_err(Failure::wrong)?;
    Ok(Keyring::signing(signer).trusting(config.record.previous_keys.iter().copied()))
}

/// Where the store is.
pub(crate) fn store(globals: &Globals, loaded: &Loaded) -> Result<Options, Failure> {
    match &globals.store {
        Some(text) => Ok(text.parse::<Options>()?),
        None => Ok(loaded.store()),
    }
}
