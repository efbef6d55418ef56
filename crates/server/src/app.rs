//! What every handler has at hand.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

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

struct Inner {
    parts: Parts,
    auth: Auth,
    hub: Hub,
    streams: Seats<ContentHash>,
    started_at: Timestamp,
    closing: CancellationToken,
    /// Whether the store could be written to, and when that was tried.
    store_check: tokio::sync::Mutex<Option<(Instant, Check)>>,
}

impl App {
    /// Over these parts. The hub begins to listen to the store.
    pub async fn new(parts: Parts) -> Result<Self, crate::Error> {
        let hub = Hub::start(&parts.engine).await?;
        let auth = Auth::new(&parts.config, parts.engine.setup().store.clone())?;
        let most = usize::try_from(parts.config.server.limits.streams).unwrap_or(usize::MAX);
        let streams = Seats::new(most);
        let closing = CancellationToken::new();
        tokio::spawn(
            closing
                .clone()
                .run_until_cancelled_owned(parts.metrics.clone().tidy()),
        );
        Ok(Self {
            inner: Arc::new(Inner {
                parts,
                auth,
                hub,
                streams,
                started_at: Timestamp::now(),
                closing,
                store_check: tokio::sync::Mutex::new(None),
            }),
        })
    }

    /// Whether the store could be written to, and when that was tried.
    pub(crate) fn store_check(&self) -> &tokio::sync::Mutex<Option<(Instant, Check)>> {
        &self.inner.store_check
    }

    /// What runs sessions.
    pub(crate) fn engine(&self) -> &Engine {
        &self.inner.parts.engine
    }

    /// What is kept.
    pub(crate) fn store(&self) -> &Store {
        &self.inner.parts.engine.setup().store
    }

    /// What looks like a secret is taken out by this before it is shown.
    pub(crate) fn masker(&self) -> &Masker {
        &self.engine().setup().masker
    }

    /// What is connected.
    pub(crate) fn infra(&self) -> &Infra {
        &self.inner.parts.infra
    }

    /// The configuration.
    pub(crate) fn config(&self) -> &Config {
        &self.inner.parts.config
    }

    /// The rest of what it is made of.
    pub(crate) fn parts(&self) -> &Parts {
        &self.inner.parts
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
