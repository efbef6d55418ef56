//! From a configuration to a running engine: the one way, for the command line, the server, tests and benchmarks.
//!
//! [`Assembly`] takes a configuration and a store, and puts the engine together: models, masks, prompts, what is connected,
//! the tools that can run, the gate. A test or a benchmark replaces a part ([`Assembly::models`], [`Assembly::tools`]) and
//! gets everything else as a user does.
//!
//! This room must never decide anything about a proposal, never start an engine whose configuration is wrong, and never
//! leave a file of Interlock's own within reach of a tool.
//!
//! Data walks: `Config` and `Store` → [`Assembly`] → [`Assembled`]. A server that runs gets another configuration from a
//! [`Reloader`], which builds the new parts beside the old ones and then replaces them.

mod folders;
mod keys;
mod notes;
mod reload;
mod rules;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use interlock_config::{Config, Loaded, RecordKey};
use interlock_engine::{Engine, Prompts, Queue, Settings, Setup, ToolSet};
use interlock_exec::{Protected, Runner, SandboxPolicy};
use interlock_executor::{Inventory, Toolbox};
use interlock_gate::{Catalogue, Gate, Options as GateOptions};
use interlock_infra::{Connections, Infra, Secrets, Source};
use interlock_logic::Rules;
use interlock_mask::Masker;
use interlock_model::Models;
use interlock_store::{Options, Store};
use interlock_tools::{Fleet, Knowledge, LocalHost};

pub use folders::{Folders, protected};
pub use keys::{checking, key_source, keyring, marks};
pub use reload::{
    Commit, MaskedValues, Next, Part, ReloadError, Reloaded, Reloader, Sources, Standing, Trigger,
};
pub use rules::{rules, rules_folder};

use crate::notes::Kept;

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A model.
    #[error(transparent)]
    Model(#[from] interlock_model::Error),
    /// A pattern of the masks.
    #[error(transparent)]
    Mask(#[from] interlock_mask::Error),
    /// A prompt.
    #[error(transparent)]
    Prompt(#[from] interlock_engine::PromptError),
    /// A connection.
    #[error(transparent)]
    Infrastructure(#[from] interlock_infra::Error),
    /// The operator's rules for questions in logic.
    #[error("{0}")]
    Rules(String),
    /// The key of the record.
    #[error(transparent)]
    Key(#[from] interlock_seal::Error),
    /// There is no key to check with.
    #[error(
        "there is no signing key on this machine to check with; name the public key of the server with --key \
         (`interlock record key` prints it there)"
    )]
    NoKey,
    /// The store.
    #[error(transparent)]
    Store(#[from] interlock_store::Error),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] interlock_engine::Error),
    /// The table of tools is wrong.
    #[error(transparent)]
    Catalogue(#[from] interlock_gate::CatalogueError),
    /// Two executors for one tool.
    #[error(transparent)]
    Toolbox(#[from] interlock_executor::Error),
    /// The name of this machine makes no id.
    #[error(transparent)]
    Resource(#[from] interlock_protocol::resource::Error),
    /// The catalogue cannot be written down.
    #[error("the catalogue of tools cannot be recorded: {0}")]
    Record(#[from] serde_json::Error),
}

/// What an engine is put together from.
pub struct Assembly<'a> {
    config: &'a Config,
    secrets: Secrets,
    folders: Folders,
    /// Files of Interlock's own, besides its folders and its store.
    own_files: Vec<PathBuf>,
    rules: Arc<Rules>,
    masked: Vec<String>,
    models: Option<Models>,
    tools: Option<Tools>,
    gate: GateOptions,
    before: Option<&'a Infra>,
}

/// Tools in place of those that the configuration connects.
struct Tools {
    catalogue: Arc<Catalogue>,
    toolbox: Toolbox,
    inventory: Arc<dyn Inventory>,
}

/// A running engine, and what it was put together from.
pub struct Assembled {
    /// The engine.
    pub engine: Engine,
    /// How its workers take what waits.
    pub queue: Queue,
    /// What is connected.
    pub infra: Infra,
    /// What masks everything that is kept, shown or sent.
    pub masker: Masker,
}

impl<'a> Assembly<'a> {
    /// As this configuration says, with credentials from the environment and the folders of this user.
    pub fn of(config: &'a Config) -> Self {
        Self {
            config,
            secrets: Secrets::environment(),
            folders: Folders::of_user(),
            own_files: Vec::new(),
            rules: Arc::default(),
            masked: Vec::new(),
            models: None,
            tools: None,
            gate: config.gate_options(),
            before: None,
        }
    }

    /// As a file says, with everything that belongs to it: its rules for questions in logic, and its files that no tool may
    /// reach.
    pub fn of_loaded(loaded: &'a Loaded, folders: Folders) -> Result<Self, Error> {
        let rules_folder = rules_folder(loaded.file.as_deref());
        let found = rules_folder
            .as_deref()
            .map(rules)
            .transpose()?
            .unwrap_or_default();
        let marks = marks(&loaded.config, &folders);
        let own: Vec<PathBuf> = loaded
            .file
            .iter()
            .chain([&marks])
            .chain(&rules_folder)
            .chain(&loaded.secret_files)
            .chain(match &loaded.config.record.key {
                Some(RecordKey::File(path)) => Some(path),
                _ => None,
            })
            .cloned()
            .collect();
        Ok(Self::of(&loaded.config)
            .folders(folders)
            .own_files(own)
            .rules(found))
    }

    /// In place of what is connected now: connectors that the configuration does not change are kept.
    #[must_use]
    pub const fn replacing(mut self, infra: &'a Infra) -> Self {
        self.before = Some(infra);
        self
    }

    /// With these credentials of connections.
    #[must_use]
    pub fn secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// With these folders.
    #[must_use]
    pub fn folders(mut self, folders: Folders) -> Self {
        self.folders = folders;
        self
    }

    /// These files are Interlock's own: no tool and no command reaches them.
    #[must_use]
    pub fn own_files(mut self, files: impl IntoIterator<Item = PathBuf>) -> Self {
        self.own_files.extend(files);
        self
    }

    /// The operator's rules for questions in logic.
    #[must_use]
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = Arc::new(rules);
        self
    }

    /// These values are masked wherever they appear.
    #[must_use]
    pub fn masking(mut self, values: impl IntoIterator<Item = String>) -> Self {
        self.masked.extend(values);
        self
    }

    /// With these models in place of the configured ones: for tests and benchmarks.
    #[must_use]
    pub fn models(mut self, models: Models) -> Self {
        self.models = Some(models);
        self
    }

    /// With these tools in place of what is connected: for tests and benchmarks.
    #[must_use]
    pub fn tools(mut self, catalogue: Catalogue, toolbox: Toolbox, inventory: Arc<dyn Inventory>) -> Self {
        self.tools = Some(Tools {
            catalogue: Arc::new(catalogue),
            toolbox,
            inventory,
        });
        self
    }

    /// With a gate that is set this way, in place of what the configuration says: for tests.
    #[must_use]
    pub fn gate(mut self, options: GateOptions) -> Self {
        self.gate = options;
        self
    }

    /// The engine over a store at this place, signed with the configured key.
    pub fn open(self, store: &Options) -> Result<Assembled, Error> {
        let keyring = keyring(self.config, &self.folders)?;
        let store = Store::open_signed(store, keyring)?;
        self.over(store)
    }

    /// The engine over this store.
    pub fn over(self, store: Store) -> Result<Assembled, Error> {
        let (setup, infra) = self.setup(store)?;
        let masker = setup.settings.masker.clone();
        Ok(Assembled {
            engine: Engine::new(setup)?,
            queue: self.config.engine_queue(),
            infra,
            masker,
        })
    }

    /// The parts of the engine over this store: for tests that replace one.
    pub fn setup(&self, store: Store) -> Result<(Setup, Infra), Error> {
        let (settings, infra, _) = self.settings(&store)?;
        let setup = Setup {
            store,
            settings,
            checkpoint: None,
        };
        Ok((setup, infra))
    }

    /// What the configuration sets, over this store.
    pub fn settings(&self, store: &Store) -> Result<(Settings, Infra, Connections), Error> {
        let config = self.config;
        let models = match &self.models {
            Some(models) => models.clone(),
            None => Models::new(config.models.clone())?,
        };
        let masker = masker_with(config, &models, self.masked.clone())?;
        let prompts = match &config.prompts.folder {
            Some(folder) => Prompts::with_folder(folder),
            None => Prompts::built_in(),
        }?;
        let files: Vec<&Path> = self.own_files.iter().map(PathBuf::as_path).collect();
        let protected = Protected::new(protected(
            &files,
            store.location().local_file().map(Path::new),
            &self.folders,
        ));
        let notes = Kept::in_store(store.clone());
        let (fleet, infra, connections) = fleet(config, &self.secrets, protected, notes, self.before)?;
        let fleet = fleet.with_rules(Arc::clone(&self.rules));
        let (catalogue, toolbox, inventory) = if let Some(tools) = &self.tools {
            (
                Arc::clone(&tools.catalogue),
                tools.toolbox.clone(),
                Arc::clone(&tools.inventory),
            )
        } else {
            let toolbox = fleet.register(Toolbox::builder())?.build();
            let mut catalogue = Catalogue::built_in()?;
            catalogue.retain(|name| toolbox.has(name));
            let inventory = Arc::new(fleet.inventory()) as Arc<dyn Inventory>;
            (Arc::new(catalogue), toolbox, inventory)
        };
        let gate = Gate::new(catalogue, self.gate.clone());
        let settings = Settings {
            models,
            inventory,
            tools: Arc::new(ToolSet::new(gate, toolbox)?),
            masker,
            prompts: Arc::new(prompts),
            agents: config.agents.clone(),
            chains: config.chains.clone(),
            defaults: config.defaults.clone(),
            limits: config.engine_limits(),
            queue: config.queue_limits(),
            level: config.control.level,
            four_eyes: config.four_eyes(),
            alerts: config.alerts.clone(),
        };
        Ok((settings, infra, connections))
    }
}

/// What masks everything that a model or a connection of this configuration says, the keys of these models included.
pub fn masker(config: &Config, models: &Models) -> Result<Masker, Error> {
    masker_with(config, models, [])
}

fn masker_with(
    config: &Config,
    models: &Models,
    values: impl IntoIterator<Item = String>,
) -> Result<Masker, Error> {
    let values = models.secret_forms().into_iter().chain(values);
    Ok(Masker::new(&config.mask)?.with_values(values))
}

impl std::fmt::Debug for Assembly<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Assembly")
            .field("folders", &self.folders)
            .finish_non_exhaustive()
    }
}

/// The tools that can run, by this configuration. None of them has a store to keep notes in.
pub fn toolbox(config: &Config) -> Result<Toolbox, Error> {
    Ok(connected(config)?.register(Toolbox::builder())?.build())
}

/// Everything that this configuration connects, for what only looks at it. It has no store to keep notes in.
pub fn connected(config: &Config) -> Result<Fleet, Error> {
    let (fleet, ..) = fleet(
        config,
        &Secrets::environment(),
        Protected::default(),
        Kept::nowhere(),
        None,
    )?;
    Ok(fleet)
}

/// Everything that is connected.
fn fleet(
    config: &Config,
    secrets: &Secrets,
    protected: Protected,
    notes: Kept,
    before: Option<&Infra>,
) -> Result<(Fleet, Infra, Connections), Error> {
    let runner = Runner::new(protected, SandboxPolicy::WhereAvailable);
    let local = config
        .infrastructure
        .local
        .then(|| LocalHost::new(runner, config.tools))
        .transpose()?;
    let mut further: Vec<Arc<dyn Source>> = vec![Arc::new(Knowledge)];
    if let Some(host) = &local {
        further.push(Arc::new(host.clone()));
    }
    let options = &config.infrastructure;
    let (infra, connections) = match before {
        Some(before) => before.reconfigured(options, secrets, further)?,
        None => (Infra::new(options, secrets, further)?, Connections::default()),
    };
    let fleet = Fleet::new(infra.clone(), local, Some(Arc::new(notes)), config.tools);
    Ok((fleet, infra, connections))
}
