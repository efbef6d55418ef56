//! What every handler has at hand.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Instant;

use interlock_assembly::Reloader;
use interlock_config::Config;
use interlock_engine::Engine;
use interlock_infra::Infra;
use interlock_mask::Masker;
use interlock_protocol::ContentHash;
use interlock_store::Store;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::auth::Auth;
use crate::live::Hub;
use crate::metrics::Recorded;
use crate::seats::Seats;
use crate::wire::Check;

/// What a server is made of.
pub struct Parts {
    /// What runs sessions.
    pub engine: Engine,
    /// What is connected.
    pub infra: Infra,
    /// The configuration.
    pub config: Config,
    /// The file that it came from.
    pub file: Option<PathBuf>,
    /// What reloads the configuration; nothing where it has no file.
    pub reloader: Option<Reloader>,
    /// Where counters are read from.
    pub metrics: Recorded,
    /// Whether this is the simulated cluster.
    pub demo: bool,
}

/// What every handler has at hand. Cheap to clone.
#[derive(Clone)]
pub struct App {
    inner: Arc<Inner>,
}

/// The same, for what must not keep the server alive.
#[derive(Clone)]
pub(crate) struct WeakApp(Weak<Inner>);

impl WeakApp {
    pub(crate) fn upgrade(&self) -> Option<App> {
        self.0.upgrade().map(|inner| App { inner })
    }
}

struct Inner {
    engine: Engine,
    metrics: Recorded,
    demo: bool,
    reloader: Option<Reloader>,
    configured: RwLock<Configured>,
    auth: Auth,
    hub: Hub,
    streams: Seats<ContentHash>,
    started_at: Timestamp,
    closing: CancellationToken,
    /// Whether the store could be written to, and when that was tried.
    store_check: tokio::sync::Mutex<Option<(Instant, Check)>>,
}

/// What a reload replaces.
#[derive(Clone)]
struct Configured {
    config: Arc<Config>,
    file: Option<PathBuf>,
    infra: Infra,
}

fn streams(config: &Config) -> usize {
    usize::try_from(config.server.limits.streams).unwrap_or(usize::MAX)
}

impl App {
    /// Over these parts. The hub begins to listen to the store.
    pub async fn new(parts: Parts) -> Result<Self, crate::Error> {
        let Parts {
            engine,
            infra,
            config,
            file,
            reloader,
            metrics,
            demo,
        } = parts;
        let hub = Hub::start(&engine).await?;
        let auth = Auth::new(&config, engine.store().clone())?;
        let closing = CancellationToken::new();
        tokio::spawn(closing.clone().run_until_cancelled_owned(metrics.clone().tidy()));
        Ok(Self {
            inner: Arc::new(Inner {
                engine,
                metrics,
                demo,
                reloader,
                auth,
                hub,
                streams: Seats::new(streams(&config)),
                configured: RwLock::new(Configured {
                    config: Arc::new(config),
                    file,
                    infra,
                }),
                started_at: Timestamp::now(),
                closing,
                store_check: tokio::sync::Mutex::new(None),
            }),
        })
    }

    pub(crate) fn weak(&self) -> WeakApp {
        WeakApp(Arc::downgrade(&self.inner))
    }

    fn configured(&self) -> Configured {
        self.inner
            .configured
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// From now on this is configured.
    pub(crate) fn replace(&self, config: Config, file: Option<PathBuf>, infra: Infra) {
        self.inner.streams.allow(streams(&config));
        *self
            .inner
            .configured
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Configured {
            config: Arc::new(config),
            file,
            infra,
        };
    }

    /// What reloads the configuration; nothing where it has no file.
    pub(crate) fn reloader(&self) -> Option<&Reloader> {
        self.inner.reloader.as_ref()
    }

    /// Whether the store could be written to, and when that was tried.
    pub(crate) fn store_check(&self) -> &tokio::sync::Mutex<Option<(Instant, Check)>> {
        &self.inner.store_check
    }

    /// What runs sessions.
    pub(crate) fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// What is kept.
    pub(crate) fn store(&self) -> &Store {
        self.inner.engine.store()
    }

    /// What looks like a secret is taken out by this before it is shown.
    pub(crate) fn masker(&self) -> Masker {
        self.engine().settings().masker.clone()
    }

    /// What is connected.
    pub(crate) fn infra(&self) -> Infra {
        self.configured().infra
    }

    /// The configuration.
    pub(crate) fn config(&self) -> Arc<Config> {
        self.configured().config
    }

    /// The file that it came from.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        self.configured().file
    }

    /// Where counters are read from.
    pub(crate) fn metrics(&self) -> &Recorded {
        &self.inner.metrics
    }

    /// Whether this is the simulated cluster.
    pub(crate) fn is_demo(&self) -> bool {
        self.inner.demo
    }

    /// Who is who.
    pub(crate) fn auth(&self) -> &Auth {
        &self.inner.auth
    }

    /// What happens now.
    pub(crate) fn hub(&self) -> &Hub {
        &self.inner.hub
    }

    /// How many streams each login and each token has, by the hash of its secret.
    pub(crate) fn streams(&self) -> &Seats<ContentHash> {
        &self.inner.streams
    }

    /// Since when it runs.
    pub(crate) fn started_at(&self) -> Timestamp {
        self.inner.started_at
    }

    /// Cancelled when the server goes away: streams say so and end, `/ready` says no.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.inner.closing
    }
}
