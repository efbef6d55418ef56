//! The keys that sign and check the record, as the configuration says.

use std::path::PathBuf;

use interlock_config::{Config, RecordKey};
use interlock_seal::{KeySource, Keyring, PublicKey};

use crate::{Error, Folders};

/// The name of the file with the signing key, in the configuration folder.
const KEY_FILE: &str = "record.key";

/// Where the key is that signs the record.
pub fn key_source(config: &Config, folders: &Folders) -> KeySource {
    let default = || KeySource::File(folders.config.join(KEY_FILE));
    config.record.key.as_ref().map_or_else(default, RecordKey::source)
}

/// The name of the folder with the last signed end of each store, beside the key.
const MARKS: &str = "record.marks";

/// The folder with the last signed end of each store: beside the key where that is a file, else in the configuration folder.
pub fn marks(config: &Config, folders: &Folders) -> PathBuf {
    match key_source(config, folders) {
        KeySource::File(path) => path.parent().unwrap_or(&folders.config).join(MARKS),
        KeySource::Environment(_) | KeySource::Credential(_) => folders.config.join(MARKS),
    }
}

/// The keys that sign and check the record. The key is created when it is first needed.
pub fn keyring(config: &Config, folders: &Folders) -> Result<Keyring, Error> {
    let signer = key_source(config, folders).load()?;
    Ok(Keyring::signing(signer)
        .trusting(config.record.previous_keys.iter().copied())
        .keeping_marks(marks(config, folders)))
}

/// The keys that check the record: those that were named, else the configured ones. Creates no key.
pub fn checking(config: &Config, folders: &Folders, named: &[PublicKey]) -> Result<Keyring, Error> {
    let keyring = if named.is_empty() {
        let source = key_source(config, folders);
        let present = source.load_present()?;
        let Some(signer) = present else {
            return Err(Error::NoKey);
        };
        Keyring::signing(signer).trusting(config.record.previous_keys.iter().copied())
    } else {
        Keyring::checking(named.iter().copied())
    };
    Ok(keyring.keeping_marks(marks(config, folders)))
}
