//! Changing containers. Each for a plan about that very container.

use bollard::query_parameters::{
    RemoveContainerOptions, RestartContainerOptions, StartContainerOptions, StopContainerOptions,
};
use interlock_gate::Started;

use super::{Docker, STOP_GRACE, WRITE};
use crate::Error;

impl Docker {
    /// Starts a container. One that runs already stays as it is.
    pub async fn start(&self, started: &Started, container: &str) -> Result<(), Error> {
        self.is_changed_by(started, container)?;
        let id = self.id_now(container).await?;
        let client = self.client().await?;
        let request = client.start_container(&id, None::<StartContainerOptions>);
        self.within(WRITE, &what(container), request).await
    }

    /// Stops a container: its process is told, then killed.
    pub async fn stop(&self, started: &Started, container: &str) -> Result<(), Error> {
        self.is_changed_by(started, container)?;
        let id = self.id_now(container).await?;
        let client = self.client().await?;
        let options = StopContainerOptions {
            t: Some(STOP_GRACE),
            signal: None,
        };
        let request = client.stop_container(&id, Some(options));
        self.within(WRITE, &what(container), request).await
    }

    /// Stops a container and starts it again.
    pub async fn restart(&self, started: &Started, container: &str) -> Result<(), Error> {
        self.is_changed_by(started, container)?;
        let id = self.id_now(container).await?;
        let client = self.client().await?;
        let options = RestartContainerOptions {
            t: Some(STOP_GRACE),
            signal: None,
        };
        let request = client.restart_container(&id, Some(options));
        self.within(WRITE, &what(container), request).await
    }

    /// Removes a container that does not run. Its volumes stay.
    pub async fn remove(&self, started: &Started, container: &str) -> Result<(), Error> {
        self.is_changed_by(started, container)?;
        let id = self.id_now(container).await?;
        let client = self.client().await?;
        let request = client.remove_container(&id, None::<RemoveContainerOptions>);
        self.within(WRITE, &what(container), request).await
    }
}

pub(super) fn what(container: &str) -> String {
    format!("the container `{container}`")
}
