//! Puts an engine together from the configuration.

use std::path::PathBuf;

use interlock_assembly::{Assembly, Folders};
use interlock_config::{Config, Loaded};
use interlock_engine::{Engine, Person, Queue};
use interlock_gate::Hold;
use interlock_infra::{Infra, Secrets};
use interlock_protocol::{HoldId, UserId};
use interlock_store::{Error as StoreError, Options, Store};

use crate::failure::Failure;
use crate::globals::Globals;
use crate::person::whoami;
use crate::settings;

/// An engine with what a command needs around it.
pub(crate) struct Assembled {
    pub(crate) engine: Engine,
    pub(crate) queue: Queue,
    pub(crate) by: UserId,
    pub(crate) folders: Folders,
    /// What is connected.
    pub(crate) infra: Infra,
    pub(crate) config: Config,
    /// The file that the configuration came from.
    pub(crate) file: Option<PathBuf>,
    /// The configuration as it was loaded; nothing where it is built in or made by the demo.
    pub(crate) loaded: Option<Loaded>,
}

impl Assembled {
    pub(crate) fn store(&self) -> &Store {
        self.engine.store()
    }

    /// The person at this terminal, in the form in which the engine checks who may decide.
    pub(crate) fn person(&self) -> Person {
        Person::at_shell(self.by.clone())
    }

    /// Approves a hold that the person at this terminal has just seen.
    pub(crate) async fn approve(&self, hold: &HoldId) -> Result<Hold, interlock_engine::Error> {
        let approver = self.engine.approver(hold, &self.person()).await?;
        self.engine.approve(&approver).await
    }

    /// Denies a hold for the person at this terminal.
    pub(crate) async fn deny(&self, hold: &HoldId, reason: &str) -> Result<Hold, interlock_engine::Error> {
        let decider = self.engine.decider(hold, &self.person()).await?;
        self.engine.deny(&decider, reason).await
    }
}

/// The store alone, for commands that only look at the record or change something in it.
pub(crate) fn open_store(globals: &Globals) -> Result<Store, Failure> {
    let (options, config) = store_and_config(globals)?;
    let keyring = interlock_assembly::keyring(&config, &Folders::of_user())?;
    Ok(Store::open_signed(&options, keyring)?)
}

/// The same, for commands that only look at the record. A store that was named and is not there is a mistake: creating an
/// empty one would make it look as if nothing had ever happened.
pub(crate) fn open_existing_store(globals: &Globals) -> Result<Store, Failure> {
    if globals.store.is_none() {
        return open_store(globals);
    }
    let (options, config) = store_and_config(globals)?;
    let missing = |error| match error {
        StoreError::Missing { store } => Failure::wrong(format!(
            "there is no store at {store}; check --store, or leave it out to use the store of the configuration"
        )),
        error => error.into(),
    };
    // Looked for before there is a key: a mistyped name creates nothing at all.
    if let Err(error @ StoreError::Missing { .. }) = Store::open(&options.clone().read_only()) {
        return Err(missing(error));
    }
    let keyring = interlock_assembly::keyring(&config, &Folders::of_user())?;
    Store::open_signed(&options.existing(), keyring).map_err(missing)
}

/// Where the store is, and the configuration as far as it can be read.
fn store_and_config(globals: &Globals) -> Result<(Options, Config), Failure> {
    let loaded = settings::load(globals);
    // A store that was named needs no configuration: what stops everything must not depend on it.
    if let Some(text) = &globals.store {
        let config = loaded.map(|loaded| loaded.config).unwrap_or_default();
        return Ok((text.parse::<Options>()?, config));
    }
    let loaded = loaded?;
    Ok((settings::store(globals, &loaded)?, loaded.config))
}

/// The store, only to be read: nothing is signed, so no key is needed.
pub(crate) fn open_store_to_read(globals: &Globals) -> Result<(Store, Config), Failure> {
    let (options, config) = store_and_config(globals)?;
    Ok((Store::open(&options.read_only())?, config))
}

/// The same, also if the schema of the store was changed: to say what was.
pub(crate) fn open_store_to_verify(globals: &Globals) -> Result<(Store, Config), Failure> {
    let (options, config) = store_and_config(globals)?;
    let store = Store::open(&options.to_verify()).map_err(changed)?;
    Ok((store, config))
}

/// A store whose schema was changed so much that it cannot be read is what a check is there to find: it does not succeed, and
/// nothing is wrong with how it was asked for.
pub(crate) fn changed(error: StoreError) -> Failure {
    match error {
        StoreError::SchemaChanged(change) => Failure::unsuccessful(change),
        error => error.into(),
    }
}

/// An engine over a store and nothing else: for what people do to sessions, whatever the configuration says.
pub(crate) fn bare(globals: &Globals) -> Result<Assembled, Failure> {
    over_store(open_store(globals)?)
}

/// The same, also where the signing key cannot be read: only for stopping writes, which must not fail because of that.
pub(crate) fn bare_to_stop(globals: &Globals) -> Result<Assembled, Failure> {
    let store = match open_store(globals) {
        Err(failure) => {
            let (options, _) = store_and_config(globals)?;
            let store = Store::open_without_key(&options)?;
            globals.say(&format!("warning: {failure}; what is done now is signed later"));
            store
        }
        Ok(store) => store,
    };
    over_store(store)
}

fn over_store(store: Store) -> Result<Assembled, Failure> {
    let config = Config::default();
    let assembled = Assembly::of(&config).over(store)?;
    finished(assembled, config, None, Folders::of_user())
}

/// The whole engine.
pub(crate) fn assemble(globals: &Globals) -> Result<Assembled, Failure> {
    let loaded = settings::load(globals)?;
    if let Some(file) = &loaded.file {
        for warning in &loaded.warnings {
            globals.say(&format!("warning: {}:{warning}", file.display()));
        }
    }
    let folders = Folders::of_user();
    let assembled = Assembly::of_loaded(&loaded, folders.clone())?
        .masking(crate::outside::addresses())
        .open(&settings::store(globals, &loaded)?)?;
    finished(assembled, loaded.config.clone(), Some(loaded), folders)
}

/// The whole engine over a configuration that no file has, with its own folders.
pub(crate) fn over(
    config: Config,
    secrets: Secrets,
    store: &Options,
    folders: Folders,
) -> Result<Assembled, Failure> {
    let assembled = Assembly::of(&config)
        .secrets(secrets)
        .folders(folders.clone())
        .masking(crate::outside::addresses())
        .open(store)?;
    finished(assembled, config, None, folders)
}

fn finished(
    assembled: interlock_assembly::Assembled,
    config: Config,
    loaded: Option<Loaded>,
    folders: Folders,
) -> Result<Assembled, Failure> {
    crate::globals::mask_with(&assembled.masker);
    Ok(Assembled {
        engine: assembled.engine,
        queue: assembled.queue,
        by: whoami()?,
        folders,
        infra: assembled.infra,
        config,
        file: loaded.as_ref().and_then(|loaded| loaded.file.clone()),
        loaded,
    })
}
