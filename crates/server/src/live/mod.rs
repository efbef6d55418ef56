//! What happens, as it happens: the hub, WebSocket and SSE.

use interlock_engine::Engine;

use crate::routes::Routes;

/// Hands what happens to everybody who watches.
#[derive(Clone)]
pub(crate) struct Hub {}

impl Hub {
    /// Begins to listen to the store and to the engine.
    pub(crate) async fn start(engine: &Engine) -> Result<Self, crate::Error> {
        let _ = engine;
        Ok(Self {})
    }
}

/// The routes of WebSocket and SSE.
pub(crate) fn routes() -> Routes {
    Routes::new()
}
