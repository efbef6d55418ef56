//! A container from another image: pulled first, then recreated under the same name. The old one is kept aside until the
//! new one runs, and comes back if it does not.

use std::time::Duration;

use bollard::models::{ContainerInspectResponse, NetworkConnectRequest};
use bollard::query_parameters::{
    CreateContainerOptions, CreateImageOptions, RemoveContainerOptions, RenameContainerOptions,
    StartContainerOptions, StopContainerOptions,
};
use futures_util::TryStreamExt as _;
use interlock_gate::Started;
use interlock_protocol::RunState;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::config::{Blueprint, blueprint};
use super::view::{self, run_state};
use super::write::what;
use super::{Docker, ImageRef, READ, STOP_GRACE, WRITE};
use crate::Error;

/// How long a pull may take, whatever the plan says.
const PULL: Duration = Duration::from_mins(10);
/// How long a new container must stay up to count as running.
const SETTLE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(250);

/// The result of recreating a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recreated {
    /// The id of the new container.
    pub id: String,
    /// The image it is from now.
    pub image: String,
    /// The image it was from before.
    pub image_before: String,
    /// Why the image was not pulled and the copy on the host was taken; nothing if it was pulled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_pulled: Option<String>,
}

impl Docker {
    /// Recreates a container from this image, with everything else as it was.
    pub async fn update(
        &self,
        started: &Started,
        container: &str,
        image: &ImageRef,
        cancel: &CancellationToken,
    ) -> Result<Recreated, Error> {
        self.is_changed_by(started, container)?;
        let old = self.inspected(container).await?;
        let pulled = tokio::select! {
            pulled = self.pull(image) => pulled,
            () = cancel.cancelled() => return Err(Error::Cancelled),
        };
        let not_pulled = match pulled {
            Ok(()) => None,
            // An image that was built on the host has no registry to come from.
            Err(error) if self.has_image(image).await => Some(error.to_string()),
            Err(error) => return Err(error),
        };
        if old.host_config.as_ref().and_then(|config| config.auto_remove) == Some(true) {
            return Err(Error::Unsupported(format!(
                "`{container}` is removed by the engine when it stops, so it cannot be put back: make it without `--rm`"
            )));
        }
        let old_image = self.image_config(&old).await;
        let blueprint = blueprint(&old, old_image.as_ref(), image);
        let image_before = view::details(&old).image;
        let swap = Swap {
            docker: self.clone(),
            name: container.to_owned(),
            aside: aside(container, &old),
            old: Box::new(old),
        };
        // Whoever stops waiting must not leave it half done: it goes on until one of the two runs.
        let id = tokio::spawn(Box::pin(async move { swap.run(blueprint).await }))
            .await
            .map_err(|_| self.not_understood("recreating the container was interrupted"))??;
        Ok(Recreated {
            id,
            image: image.as_str().to_owned(),
            image_before,
            not_pulled,
        })
    }

    async fn pull(&self, image: &ImageRef) -> Result<(), Error> {
        let client = self.client().await?;
        let (repository, tag) = image.to_pull();
        let options = CreateImageOptions {
            from_image: Some(repository),
            tag: Some(tag),
            ..CreateImageOptions::default()
        };
        let progress = client
            .create_image(Some(options), None, None)
            .try_for_each(|_| async { Ok(()) });
        self.within(PULL, &format!("the image `{image}`"), progress).await
    }

    async fn has_image(&self, image: &ImageRef) -> bool {
        let Ok(client) = self.client().await else {
            return false;
        };
        self.within(READ, "the image", client.inspect_image(image.as_str()))
            .await
            .is_ok()
    }

    async fn image_config(&self, old: &ContainerInspectResponse) -> Option<bollard::models::ImageConfig> {
        let id = old.image.as_deref()?;
        let client = self.client().await.ok()?;
        let found = self.within(READ, "the image", client.inspect_image(id)).await;
        found.ok()?.config
    }
}

/// A name that nothing else has.
fn aside(container: &str, old: &ContainerInspectResponse) -> String {
    let id: String = old.id.iter().flat_map(|id| id.chars()).take(12).collect();
    format!("{container}.before-{id}")
}

struct Swap {
    docker: Docker,
    name: String,
    aside: String,
    old: Box<ContainerInspectResponse>,
}

impl Swap {
    async fn run(self, blueprint: Blueprint) -> Result<String, Error> {
        self.stop_old().await?;
        if let Err(error) = self.rename(self.old_id(), &self.aside).await {
            self.start_old_as_before().await;
            return Err(error);
        }
        let mut made = None;
        match self.make(blueprint, &mut made).await {
            Ok(id) => {
                if let Err(error) = self.remove(self.old_id()).await {
                    tracing::warn!(%error, container = %self.aside, "the old container could not be removed");
                }
                Ok(id)
            }
            Err(error) => Err(self.put_back(error, made.as_deref()).await),
        }
    }

    fn old_id(&self) -> &str {
        self.old.id.as_deref().unwrap_or(&self.aside)
    }

    /// Makes the new one, and says at once which it is.
    async fn make(&self, blueprint: Blueprint, new: &mut Option<String>) -> Result<String, Error> {
        let client = self.docker.client().await?;
        let options = CreateContainerOptions {
            name: Some(self.name.clone()),
            ..CreateContainerOptions::default()
        };
        let request = Box::pin(client.create_container(Some(options), *blueprint.body));
        let made = self.docker.within(WRITE, "the image", request).await?;
        *new = Some(made.id.clone());
        for (network, endpoint) in blueprint.further_networks {
            let request = NetworkConnectRequest {
                container: made.id.clone(),
                endpoint_config: Some(endpoint),
            };
            let request = client.connect_network(&network, request);
            self.docker
                .within(WRITE, &format!("the network `{network}`"), request)
                .await?;
        }
        let request = client.start_container(&made.id, None::<StartContainerOptions>);
        self.docker.within(WRITE, &what(&self.name), request).await?;
        self.stays_up().await?;
        Ok(made.id)
    }

    /// Looks at it for a while: what starts and ends at once does not run.
    async fn stays_up(&self) -> Result<(), Error> {
        let until = tokio::time::Instant::now() + SETTLE;
        loop {
            let found = self.docker.inspect(&self.name).await?;
            if run_state(&found.state) != RunState::Running || found.restart_count > 0 {
                return Err(Error::Refused {
                    connection: self.docker.inner.name.clone(),
                    status: None,
                    message: format!(
                        "the new container does not stay up (it is `{}`, exit code {})",
                        found.state,
                        found.exit_code.unwrap_or(0)
                    ),
                });
            }
            if tokio::time::Instant::now() >= until {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The old one again, and what went wrong.
    async fn put_back(&self, cause: Error, new: Option<&str>) -> Error {
        // Only what was made here: somebody else may have taken the name in between.
        if let Some(new) = new {
            match self.remove(new).await {
                Ok(()) | Err(Error::NotFound { .. }) => {}
                Err(error) => return self.not_back(&cause, &error),
            }
        }
        if let Err(error) = self.rename(self.old_id(), &self.name).await {
            return self.not_back(&cause, &error);
        }
        self.start_old_as_before().await;
        Error::Refused {
            connection: self.docker.inner.name.clone(),
            status: None,
            message: format!("{cause}; the old container was put back"),
        }
    }

    fn not_back(&self, cause: &Error, error: &Error) -> Error {
        Error::Refused {
            connection: self.docker.inner.name.clone(),
            status: None,
            message: format!(
                "{cause}; the old container could not be put back ({error}) and is kept as `{}`",
                self.aside
            ),
        }
    }

    fn ran(&self) -> bool {
        matches!(
            run_state(&view::details(&self.old).state),
            RunState::Running | RunState::Restarting | RunState::Paused
        )
    }

    async fn stop_old(&self) -> Result<(), Error> {
        if !self.ran() {
            return Ok(());
        }
        let client = self.docker.client().await?;
        let options = StopContainerOptions {
            t: Some(STOP_GRACE),
            signal: None,
        };
        let request = client.stop_container(self.old_id(), Some(options));
        self.docker.within(WRITE, &what(&self.name), request).await
    }

    async fn start_old_as_before(&self) {
        if !self.ran() {
            return;
        }
        let Ok(client) = self.docker.client().await else {
            return;
        };
        let request = client.start_container(self.old_id(), None::<StartContainerOptions>);
        if let Err(error) = self.docker.within(WRITE, &what(&self.name), request).await {
            tracing::warn!(%error, container = %self.name, "the old container could not be started again");
        }
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        let client = self.docker.client().await?;
        let options = RenameContainerOptions { name: to.to_owned() };
        let request = client.rename_container(from, options);
        self.docker.within(WRITE, &what(from), request).await
    }

    async fn remove(&self, name: &str) -> Result<(), Error> {
        let client = self.docker.client().await?;
        let options = RemoveContainerOptions {
            force: true,
            ..RemoveContainerOptions::default()
        };
        let request = client.remove_container(name, Some(options));
        self.docker.within(WRITE, &what(name), request).await
    }
}
