//! Where Interlock's files are, and what the configuration says.

use std::path::PathBuf;

use interlock_config::Loaded;
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

/// Where the store is.
pub(crate) fn store(globals: &Globals, loaded: &Loaded) -> Result<Options, Failure> {
    match &globals.store {
        Some(text) => Ok(text.parse::<Options>()?),
        None => Ok(loaded.store()),
    }
}
