//! Puts an engine together from the configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use interlock_config::Config;
use interlock_engine::{Engine, Person, Prompts, Queue, Registry, Setup, ToolSet};
use interlock_exec::{Protected, Runner, SandboxPolicy};
use interlock_executor::{Inventory, Toolbox};
use interlock_gate::{Catalogue, Gate, Hold};
use interlock_infra::{Infra, Secrets, Source};
use interlock_mask::Masker;
use interlock_model::Models;
use interlock_protocol::{HoldId, UserId};
use interlock_store::{Options, Store};
use interlock_tools::{Fleet, Knowledge, LocalHost};

use crate::failure::Failure;
use crate::globals::Globals;
use crate::notes::Kept;
use crate::person::whoami;
use crate::settings::{self, Folders};

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
}

impl Assembled {
    pub(crate) fn store(&self) -> &Store {
        &self.engine.setup().store
    }

    /// The person at this terminal, as the engine asks for whoever decides.
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
    let keyring = settings::keyring(&config, &Folders::of_user())?;
    Ok(Store::open_signed(&options, keyring)?)
}

/// The same, for commands that only look at the record. A store that was named and is not there is a mistake: creating an
/// empty one would make it look as if nothing had ever happened.
pub(crate) fn open_existing_store(globals: &Globals) -> Result<Store, Failure> {
    let (options, _) = store_and_config(globals)?;
    if globals.store.is_some()
        && let Some(path) = options.path()
        && !path.exists()
    {
        return Err(Failure::wrong(format!(
            "there is no store at {}; check --store, or leave it out to use the store of the configuration",
            path.display()
        )));
    }
    open_store(globals)
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

/// The gate, as the configuration sets it.
pub(crate) fn gate(config: &Config) -> Result<Gate, Failure> {
    let catalogue = Catalogue::built_in().map_err(Failure::unsuccessful)?;
    Ok(Gate::new(Arc::new(catalogue), config.gate_options()))
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
    let secrets = Secrets::environment();
    from(&Config::default(), &secrets, &[], store, Folders::of_user())
}

/// The tools that can run, by this configuration.
pub(crate) fn tools(config: &Config) -> Result<Toolbox, Failure> {
    let (fleet, _) = fleet(
        config,
        &Secrets::environment(),
        Protected::default(),
        Kept::nowhere(),
    )?;
    toolbox(&fleet)
}

fn toolbox(fleet: &Fleet) -> Result<Toolbox, Failure> {
    let tools = fleet
        .register(Toolbox::builder())
        .map_err(Failure::unsuccessful)?;
    Ok(tools.build())
}

/// Everything that is connected.
fn fleet(
    config: &Config,
    secrets: &Secrets,
    protected: Protected,
    notes: Kept,
) -> Result<(Fleet, Infra), Failure> {
    let runner = Runner::new(protected, SandboxPolicy::WhereAvailable);
    let local = config
        .infrastructure
        .local
        .then(|| LocalHost::new(runner, config.tools))
        .transpose()
        .map_err(Failure::unsuccessful)?;
    let mut further: Vec<Arc<dyn Source>> = vec![Arc::new(Knowledge)];
    if let Some(host) = &local {
        further.push(Arc::new(host.clone()));
    }
    let infra = Infra::new(&config.infrastructure, secrets, further).map_err(Failure::wrong)?;
    let fleet = Fleet::new(infra.clone(), local, Some(Arc::new(notes)), config.tools);
    Ok((fleet, infra))
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
    let keyring = settings::keyring(&loaded.config, &folders)?;
    let store = Store::open_signed(&settings::store(globals, &loaded)?, keyring)?;
    let marks = settings::marks(&loaded.config, &folders);
    let own: Vec<&Path> = loaded
        .file
        .iter()
        .chain([&marks])
        .chain(&loaded.secret_files)
        .chain(match &loaded.config.record.key {
            Some(interlock_config::RecordKey::File(path)) => Some(path),
            _ => None,
        })
        .map(PathBuf::as_path)
        .collect();
    let mut assembled = from(&loaded.config, &Secrets::environment(), &own, store, folders)?;
    assembled.file = loaded.file;
    Ok(assembled)
}

/// The whole engine over a configuration that no file has, with its own folders.
pub(crate) fn over(
    config: &Config,
    secrets: &Secrets,
    store: &Options,
    folders: Folders,
) -> Result<Assembled, Failure> {
    let keyring = settings::keyring(config, &folders)?;
    from(config, secrets, &[], Store::open_signed(store, keyring)?, folders)
}

/// The engine over this configuration and store.
fn from(
    config: &Config,
    secrets: &Secrets,
    files: &[&Path],
    store: Store,
    folders: Folders,
) -> Result<Assembled, Failure> {
    let models = Models::new(config.models.clone()).map_err(Failure::wrong)?;
    let masker = Masker::new(&config.mask).map_err(Failure::wrong)?.with_values(
        models
            .secret_forms()
            .into_iter()
            .chain(crate::outside::addresses()),
    );
    crate::globals::mask_with(&masker);
    let prompts = match &config.prompts.folder {
        Some(folder) => Prompts::with_folder(folder),
        None => Prompts::built_in(),
    }
    .map_err(Failure::wrong)?;
    let protected = Protected::new(protected(files, Some(store.path()), &folders));
    let (fleet, infra) = fleet(config, secrets, protected, Kept::in_store(store.clone()))?;
    let toolbox = toolbox(&fleet)?;
    let inventory: Arc<dyn Inventory> = Arc::new(fleet.inventory());
    let setup = Setup {
        store,
        models,
        inventory,
        tools: Registry::new(ToolSet::new(gate(config)?, toolbox)?),
        masker,
        prompts,
        agents: config.agents.clone(),
        chains: config.chains.clone(),
        defaults: config.defaults.clone(),
        limits: config.engine_limits(),
        queue: config.queue_limits(),
        level: config.control.level,
        four_eyes: config.four_eyes(),
        checkpoint: None,
    };
    Ok(Assembled {
        engine: Engine::new(setup)?,
        queue: config.engine_queue(),
        by: whoami()?,
        folders,
        infra,
        config: config.clone(),
        file: None,
    })
}

/// What no tool and no command may reach: the store with its journals, the configuration with the files that it takes
/// secrets from, the folders of both.
///
/// The folder of a store that was put elsewhere is protected only if it is Interlock's own: with `sqlite:/tmp/a.db` the
/// whole of `/tmp` would be closed.
pub(crate) fn protected(files: &[&Path], store: Option<&Path>, folders: &Folders) -> Vec<PathBuf> {
    let mut paths = vec![folders.data.clone(), folders.config.clone()];
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if let Some(store) = store.map(absolute) {
        if let Some(folder) = store
            .parent()
            .filter(|folder| folder.file_name().is_some_and(|name| name == "interlock"))
        {
            paths.push(folder.to_owned());
        }
        paths.push(store);
    }
    paths.extend(files.iter().map(|file| absolute(file)));
    paths.sort();
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_files_are_protected_and_a_shared_folder_is_not() {
        let folders = Folders {
            data: "/home/zoe/.local/share/interlock".into(),
            config: "/home/zoe/.config/interlock".into(),
        };
        let shown = |file: Option<&str>, store: &str| {
            let files: Vec<&Path> = file.map(Path::new).into_iter().collect();
            let paths = protected(&files, Some(Path::new(store)), &folders);
            paths
                .iter()
                .map(|path| path.display().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            shown(Some("/srv/interlock.yaml"), "/tmp/a.db"),
            [
                "/home/zoe/.config/interlock",
                "/home/zoe/.local/share/interlock",
                "/srv/interlock.yaml",
                "/tmp/a.db"
            ]
        );
        assert_eq!(
            shown(None, "/var/lib/interlock/interlock.db"),
            [
                "/home/zoe/.config/interlock",
                "/home/zoe/.local/share/interlock",
                "/var/lib/interlock",
                "/var/lib/interlock/interlock.db"
            ]
        );
    }
}
