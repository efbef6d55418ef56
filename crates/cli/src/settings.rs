//! The configuration, as this command is told to read it.

use interlock_config::Loaded;
use interlock_store::Options;

use crate::failure::Failure;
use crate::globals::Globals;

/// Reads the configuration.
pub(crate) fn load(globals: &Globals) -> Result<Loaded, Failure> {
    let loaded = interlock_config::load(globals.config.as_deref()).map_err(Failure::wrong)?;
    crate::outside::note(&loaded.outside);
    Ok(loaded)
}

/// Where the store is.
pub(crate) fn store(globals: &Globals, loaded: &Loaded) -> Result<Options, Failure> {
    match &globals.store {
        Some(text) => Ok(text.parse::<Options>()?),
        None => Ok(loaded.store()),
    }
}
