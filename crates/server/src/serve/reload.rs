//! The server as a part of a reload: its certificate, its names, its limits, who signs in how.

use std::net::SocketAddr;

use interlock_assembly::{Commit, Next, Part};

use super::{Front, WeakCurrent};
use crate::app::WeakApp;

/// A server that listens.
pub(super) struct Server {
    pub(super) app: WeakApp,
    pub(super) front: WeakCurrent,
    pub(super) address: SocketAddr,
}

impl Part for Server {
    fn prepare(&self, next: &Next<'_>) -> Result<Commit, String> {
        // A server that is gone needs nothing.
        let (Some(app), Some(current)) = (self.app.upgrade(), self.front.upgrade()) else {
            return Ok(Box::new(|| {}));
        };
        let config = next.loaded.config.clone();
        let front = Front::new(&app, &config.server, self.address).map_err(|error| error.to_string())?;
        let auth = app.auth().prepare(&config).map_err(|error| error.to_string())?;
        let (file, infra) = (next.loaded.file.clone(), next.infra.clone());
        Ok(Box::new(move || {
            app.replace(config, file, infra);
            app.auth().replace(auth);
            current.replace(front);
        }))
    }
}
