//! One way to another configuration, for everything that is configured, while the server runs.
//!
//! A reload reads the file, checks it wholly, compares it with the configuration in use, builds every new part beside the old
//! one, writes down that it happens, and only then replaces all parts. Until that point any error leaves everything as it was.
//! Reloads happen one after another.
//!
//! What belongs to the engine (models, masks, prompts, agents, connectors, rules) is built here. Everything else that is
//! configured takes part as a [`Part`]: the server with its limits, certificate and addresses, the workers of the queue, the
//! task that sends checkpoints.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use interlock_config::{Config, Loaded, Loader};
use interlock_engine::{Engine, Settings};
use interlock_infra::{Connections, FileContents, Infra, Secrets};
use interlock_model::Models;
use interlock_protocol::{ContentHash, UserId};
use interlock_store::Deed;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{Assembly, Error, Folders};

/// Where configurations come from.
pub struct Sources {
    /// Finds and reads the file.
    pub loader: Loader,
    /// The folders of this user.
    pub folders: Folders,
    /// What the command line says in place of the file.
    pub adjust: Box<dyn Fn(&mut Config) + Send + Sync>,
    /// Values that are masked wherever they appear, beyond what the configuration says.
    pub masked: Box<MaskedValues>,
}

/// The values of a configuration that are masked wherever they appear.
pub type MaskedValues = dyn Fn(&Loaded) -> Vec<String> + Send + Sync;

/// What makes everything that it replaced take effect. Cannot fail.
pub type Commit = Box<dyn FnOnce() + Send>;

/// A configuration that is about to be used.
pub struct Next<'a> {
    /// The configuration and where it came from.
    pub loaded: &'a Loaded,
    /// What the engine will use.
    pub settings: &'a Settings,
    /// What will be connected.
    pub infra: &'a Infra,
}

/// Something that is configured and is not part of the engine.
pub trait Part: Send + Sync {
    /// Checks the new configuration and builds from it what this part needs. Changes nothing: that is what the result does,
    /// once every part is ready.
    fn prepare(&self, next: &Next<'_>) -> Result<Commit, String>;
}

/// Who wants a reload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// A signal to the process; its sender is not known.
    Signal,
    /// A person, through the API.
    Person {
        /// Their name.
        user: UserId,
        /// The public id of the token that they used.
        token: Option<String>,
    },
}

/// What a reload changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reloaded {
    /// The file.
    pub file: Option<PathBuf>,
    /// The keys that changed; never a value.
    pub changed: Vec<String>,
    /// What became of the connectors.
    pub connections: Connections,
    /// What is allowed and probably not meant.
    pub warnings: Vec<String>,
    /// The hash of the file that was in use before.
    pub before: Option<ContentHash>,
    /// The hash of the file that is in use now.
    pub now: Option<ContentHash>,
    /// When.
    pub at: Timestamp,
}

/// Why a reload changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The file cannot be read, is wrong, or changes what needs a restart.
    #[error(transparent)]
    Config(#[from] interlock_config::Error),
    /// No engine can be made from it.
    #[error(transparent)]
    Assembly(#[from] Error),
    /// Another part cannot use it.
    #[error("{0}")]
    Part(String),
    /// It cannot be written down that it happens.
    #[error("the reload cannot be written into the audit log: {0}")]
    Record(#[from] interlock_store::Error),
    /// The engine cannot keep what it must.
    #[error(transparent)]
    Engine(#[from] interlock_engine::Error),
    /// The task that built the new parts ended before it was done.
    #[error("the new configuration could not be built: {0}")]
    Build(String),
}

/// Which configuration is in use, and whether the last reload failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The file.
    pub file: Option<PathBuf>,
    /// The hash of the file as it is in use.
    pub hash: Option<ContentHash>,
    /// Since when.
    pub since: Timestamp,
    /// When the last reload failed and why, if it did: the file is not the configuration in use then.
    pub refused: Option<(Timestamp, String)>,
}

/// Reloads the configuration of a running engine. Cheap to clone.
#[derive(Clone)]
pub struct Reloader {
    inner: Arc<Inner>,
}

struct Inner {
    sources: Sources,
    engine: Engine,
    parts: Mutex<Vec<Arc<dyn Part>>>,
    /// Held by the reload that is under way.
    in_use: tokio::sync::Mutex<InUse>,
    standing: RwLock<Standing>,
}

struct InUse {
    config: Config,
    hash: Option<ContentHash>,
    infra: Infra,
    /// What the files held that the models name.
    model_files: FileContents,
    /// Every value that was masked once: what was a secret stays one.
    masked: BTreeSet<String>,
}

/// Everything that was built from a new configuration.
struct Built {
    loaded: Loaded,
    settings: Settings,
    infra: Infra,
    connections: Connections,
    model_files: FileContents,
    masked: BTreeSet<String>,
    changed: Vec<String>,
}

/// The files that models name.
fn model_files(config: &Config) -> FileContents {
    let models = config.models.values();
    FileContents::of(models.flat_map(|model| model.ca_file.iter().chain(&model.script)))
}

impl Reloader {
    /// For this engine, which runs on this configuration.
    pub fn new(mut sources: Sources, engine: Engine, loaded: &Loaded, infra: Infra) -> Self {
        sources.loader = sources.loader.of_file(loaded.file.as_deref());
        let mut config = loaded.config.clone();
        (sources.adjust)(&mut config);
        interlock_engine::count_configured();
        let settings = engine.settings();
        let masked = settings.models.secret_forms();
        let masked = masked.into_iter().chain((sources.masked)(loaded)).collect();
        Self {
            inner: Arc::new(Inner {
                in_use: tokio::sync::Mutex::new(InUse {
                    model_files: model_files(&config),
                    config,
                    hash: loaded.hash,
                    infra,
                    masked,
                }),
                standing: RwLock::new(Standing {
                    file: loaded.file.clone(),
                    hash: loaded.hash,
                    since: Timestamp::now(),
                    refused: None,
                }),
                sources,
                engine,
                parts: Mutex::default(),
            }),
        }
    }

    /// From now on a reload also reaches this part.
    pub fn join(&self, part: Arc<dyn Part>) {
        self.inner
            .parts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(part);
    }

    /// Which configuration is in use.
    pub fn standing(&self) -> Standing {
        self.inner
            .standing
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Reads the configuration again and uses it, all of it or nothing. Runs to its end also if nobody waits for it any more.
    pub async fn reload(&self, trigger: Trigger) -> Result<Reloaded, ReloadError> {
        let this = self.clone();
        tokio::spawn(async move { this.run(&trigger).await })
            .await
            .unwrap_or_else(|error| Err(ReloadError::Build(error.to_string())))
    }

    async fn run(&self, trigger: &Trigger) -> Result<Reloaded, ReloadError> {
        let inner = &self.inner;
        let mut in_use = inner.in_use.lock().await;
        match self.replace(&mut in_use, trigger).await {
            Ok(reloaded) => {
                *inner.standing.write().unwrap_or_else(PoisonError::into_inner) = Standing {
                    file: reloaded.file.clone(),
                    hash: reloaded.now,
                    since: reloaded.at,
                    refused: None,
                };
                interlock_engine::count_reload(true);
                tracing::info!(changed = ?reloaded.changed, connections = ?reloaded.connections, "the configuration was reloaded");
                for warning in &reloaded.warnings {
                    tracing::warn!("{warning}");
                }
                Ok(reloaded)
            }
            Err(error) => {
                let settings = inner.engine.settings();
                let reason = settings.masker.mask_text(&error.to_string()).into_owned();
                interlock_engine::count_reload(false);
                tracing::error!(
                    reason,
                    "the configuration was not reloaded; the one before stays in use"
                );
                let at = Timestamp::now();
                let details = json!({ "in_use": in_use.hash, "reason": reason });
                if let Err(error) = self
                    .note(trigger, "configuration.reload_refused", details, at)
                    .await
                {
                    tracing::error!(%error, "a refused reload could not be written into the audit log");
                }
                inner
                    .standing
                    .write()
                    .unwrap_or_else(PoisonError::into_inner)
                    .refused = Some((at, reason));
                Err(error)
            }
        }
    }

    async fn replace(&self, in_use: &mut InUse, trigger: &Trigger) -> Result<Reloaded, ReloadError> {
        let inner = &self.inner;
        let built = self.build(in_use).await?;
        let parts = inner.parts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let next = Next {
            loaded: &built.loaded,
            settings: &built.settings,
            infra: &built.infra,
        };
        let commits: Vec<Commit> = parts
            .iter()
            .map(|part| part.prepare(&next).map_err(ReloadError::Part))
            .collect::<Result<_, _>>()?;
        let reloaded = Reloaded {
            file: built.loaded.file.clone(),
            changed: built.changed,
            connections: built.connections,
            warnings: warnings(&built.loaded),
            before: in_use.hash,
            now: built.loaded.hash,
            at: Timestamp::now(),
        };
        let details = json!({
            "before": reloaded.before,
            "now": reloaded.now,
            "changed": reloaded.changed,
        });
        self.note(trigger, "configuration.reloaded", details, reloaded.at)
            .await?;
        inner.engine.reconfigure(built.settings).await?;
        for commit in commits {
            commit();
        }
        *in_use = InUse {
            config: built.loaded.config,
            hash: built.loaded.hash,
            infra: built.infra,
            model_files: built.model_files,
            masked: built.masked,
        };
        Ok(reloaded)
    }

    /// Builds everything beside what is in use. Reads files, so it does that on a thread where it keeps nobody waiting.
    async fn build(&self, in_use: &InUse) -> Result<Built, ReloadError> {
        let this = self.clone();
        let (config, infra, model_files, masked) = (
            in_use.config.clone(),
            in_use.infra.clone(),
            in_use.model_files.clone(),
            in_use.masked.clone(),
        );
        let settings = self.inner.engine.settings();
        let building = tokio::task::spawn_blocking(move || {
            this.build_beside(&config, &infra, &model_files, masked, &settings)
        });
        building
            .await
            .unwrap_or_else(|error| Err(ReloadError::Build(error.to_string())))
    }

    fn build_beside(
        &self,
        config: &Config,
        infra: &Infra,
        files_before: &FileContents,
        mut masked: BTreeSet<String>,
        settings: &Settings,
    ) -> Result<Built, ReloadError> {
        let sources = &self.inner.sources;
        let mut loaded = sources.loader.load_again()?;
        (sources.adjust)(&mut loaded.config);
        let changed = loaded.changes(config)?;
        let files = model_files(&loaded.config);
        let models = if loaded.config.models == config.models && files == *files_before {
            settings.models.clone()
        } else {
            Models::new(loaded.config.models.clone()).map_err(Error::from)?
        };
        masked.extend(models.secret_forms());
        masked.extend((sources.masked)(&loaded));
        let (settings, infra, connections) = Assembly::of_loaded(&loaded, sources.folders.clone())?
            .secrets(Secrets::environment())
            .models(models)
            .masking(masked.iter().cloned())
            .replacing(infra)
            .settings(self.inner.engine.store())?;
        Ok(Built {
            loaded,
            settings,
            infra,
            connections,
            model_files: files,
            masked,
            changed,
        })
    }

    async fn note(
        &self,
        trigger: &Trigger,
        action: &str,
        mut details: Value,
        at: Timestamp,
    ) -> Result<(), interlock_store::Error> {
        let actor = match trigger {
            Trigger::Signal => {
                details["channel"] = json!("signal");
                None
            }
            Trigger::Person { user, token } => {
                details["channel"] = json!(if token.is_some() { "token" } else { "page" });
                if let Some(token) = token {
                    details["token"] = json!(token);
                }
                Some(user.clone())
            }
        };
        let deed = Deed {
            at,
            actor,
            action: action.to_owned(),
            subject: None,
            details,
        };
        self.inner.engine.store().audit(deed).await?;
        Ok(())
    }
}

/// What is allowed and probably not meant, with its place.
fn warnings(loaded: &Loaded) -> Vec<String> {
    let file = loaded.file.as_deref().unwrap_or_else(|| "".as_ref()).display();
    loaded
        .warnings
        .iter()
        .map(|warning| format!("{file}:{warning}"))
        .collect()
}
