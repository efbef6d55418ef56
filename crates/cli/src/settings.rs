//! Where Interlock's files are, and what the configuration says.

use std::path::PathBuf;

use interlock_config::{Config, Loaded, RecordKey};
use interlock_seal::{KeySource, Keyring, PublicKey};
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
    let loaded = interlock_config::load(globals.config.as_deref()).map_err(Failure::wrong)?;
    crate::outside::note(&loaded.outside);
    Ok(loaded)
}

/// The name of the file with the signing key, in the configuration folder.
const KEY_FILE: &str = "record.key";

/// Where the key is that signs the record.
pub(crate) fn key_source(config: &Config, folders: &Folders) -> KeySource {
    let default = || KeySource::File(folders.config.join(KEY_FILE));
    config.record.key.as_ref().map_or_else(default, RecordKey::source)
}

/// The name of the folder with the last signed end of each store, beside the key.
const MARKS: &str = "record.marks";

/// The folder with the last signed end of each store: beside the key where that is a file, else in the configuration folder.
pub(crate) fn marks(config: &Config, folders: &Folders) -> PathBuf {
    match key_source(config, folders) {
        KeySource::File(path) => path.parent().unwrap_or(&folders.config).join(MARKS),
        KeySource::Environment(_) | KeySource::Credential(_) => folders.config.join(MARKS),
    }
}

/// The keys that sign and check the record. The key is created when it is first needed.
pub(crate) fn keyring(config: &Config, folders: &Folders) -> Result<Keyring, Failure> {
    let signer = key_source(config, folders).load().map_err(Failure::wrong)?;
    Ok(Keyring::signing(signer)
        .trusting(config.record.previous_keys.iter().copied())
        .keeping_marks(marks(config, folders)))
}

/// The keys that check the record: those that were named, else the configured ones. Creates no key.
pub(crate) fn checking(config: &Config, folders: &Folders, named: &[PublicKey]) -> Result<Keyring, Failure> {
    let keyring = if named.is_empty() {
        let source = key_source(config, folders);
        let present = source.load_present().map_err(Failure::wrong)?;
        let Some(signer) = present else {
            return Err(Failure::wrong(
                "there is no signing key on this machine to check with; name the public key of the server with --key \
                 (`interlock record key` prints it there)",
            ));
        };
        Keyring::signing(signer).trusting(config.record.previous_keys.iter().copied())
    } else {
        Keyring::checking(named.iter().copied())
    };
    Ok(keyring.keeping_marks(marks(config, folders)))
}

/// Where the store is.
pub(crate) fn store(globals: &Globals, loaded: &Loaded) -> Result<Options, Failure> {
    match &globals.store {
        Some(text) => Ok(text.parse::<Options>()?),
        None => Ok(loaded.store()),
    }
}
