//! What can be asked of an engine.

use bollard::models::ContainerInspectResponse;
use bollard::query_parameters::{
    EventsOptions, ListContainersOptions, ListImagesOptions, StatsOptions, TopOptions,
};
use futures_util::{StreamExt as _, TryStreamExt as _};
use interlock_protocol::Observation;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::view::{self, Container, Details, Event, Image, Processes, Usage};
use super::{Docker, READ};
use crate::Error;

/// How many containers, images or events are taken.
const MOST: usize = 1000;

impl Docker {
    /// All containers, running or not, by name.
    pub async fn containers(&self) -> Result<Vec<Container>, Error> {
        let options = ListContainersOptions {
            all: true,
            ..ListContainersOptions::default()
        };
        let client = self.client().await?;
        let found = self
            .within(
                READ,
                "the list of containers",
                client.list_containers(Some(options)),
            )
            .await?;
        let mut containers: Vec<Container> =
            found.into_iter().filter_map(view::container).take(MOST).collect();
        containers.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(containers)
    }

    /// One container by its name, its id or the beginning of its id. The name comes first.
    pub async fn find(&self, name: &str) -> Result<Option<Container>, Error> {
        let all = self.containers().await?;
        if let Some(found) = all.iter().find(|container| container.name == name) {
            return Ok(Some(found.clone()));
        }
        let is_beginning = name.len() >= 12 && name.chars().all(|c| c.is_ascii_hexdigit());
        Ok(all
            .into_iter()
            .find(|container| is_beginning && container.id.starts_with(name)))
    }

    /// Everything about one container.
    pub async fn inspect(&self, container: &str) -> Result<Details, Error> {
        self.inspected(container).await.map(|found| view::details(&found))
    }

    /// A container as an observation, with the id of what the name of its image stands for on this engine now.
    pub async fn observe(&self, found: &Details) -> Observation {
        let mut observed = found.observation();
        if let Observation::Container { current_image_id, .. } = &mut observed
            && let Ok(client) = self.client().await
        {
            let image = client.inspect_image(&found.image);
            let image = self.within(READ, "the image", image).await;
            *current_image_id = image.ok().and_then(|image| image.id);
        }
        observed
    }

    pub(super) async fn inspected(&self, container: &str) -> Result<ContainerInspectResponse, Error> {
        self.checked(container)?;
        let client = self.client().await?;
        let what = format!("the container `{container}`");
        let found = self
            .within(READ, &what, client.inspect_container(container, None))
            .await?;
        // The engine also takes the beginning of an id for a name: what answers to that is another container.
        let name = found.name.as_deref().map(|name| name.trim_start_matches('/'));
        if name == Some(container) || found.id.as_deref() == Some(container) {
            Ok(found)
        } else {
            Err(Error::NotFound { what })
        }
    }

    /// The whole id of the container that has this name now. What is asked for by it can hit no other.
    pub(super) async fn id_now(&self, container: &str) -> Result<String, Error> {
        let found = self.inspected(container).await?;
        found
            .id
            .ok_or_else(|| self.not_understood("a container without an id"))
    }

    /// The images on the host.
    pub async fn images(&self) -> Result<Vec<Image>, Error> {
        let client = self.client().await?;
        let request = client.list_images(None::<ListImagesOptions>);
        let found = self.within(READ, "the list of images", request).await?;
        Ok(found.into_iter().map(view::image).take(MOST).collect())
    }

    /// What a container uses now. Takes a second or two: the engine compares two moments.
    pub async fn usage(&self, container: &str) -> Result<Usage, Error> {
        self.checked(container)?;
        let client = self.client().await?;
        let options = StatsOptions {
            stream: false,
            one_shot: false,
        };
        let what = format!("the container `{container}`");
        let stats = async { client.stats(container, Some(options)).next().await.transpose() };
        let stats = self.within(READ, &what, stats).await?;
        stats
            .map(|stats| view::usage(&stats))
            .ok_or_else(|| self.not_understood("it gave no statistics"))
    }

    /// What runs in a container.
    pub async fn processes(&self, container: &str) -> Result<Processes, Error> {
        self.checked(container)?;
        let client = self.client().await?;
        let what = format!("the container `{container}`");
        let found = self
            .within(READ, &what, client.top_processes(container, None::<TopOptions>))
            .await?;
        Ok(Processes {
            titles: found.titles.unwrap_or_default(),
            rows: found.processes.unwrap_or_default(),
        })
    }

    /// What happened on the host since then.
    pub async fn events(&self, since: SignedDuration) -> Result<Vec<Event>, Error> {
        let client = self.client().await?;
        let now = Timestamp::now();
        let from = now.checked_sub(since).unwrap_or(Timestamp::UNIX_EPOCH);
        let options = EventsOptions {
            since: Some(from.as_second().to_string()),
            // Without an end the engine would go on telling.
            until: Some(now.as_second().to_string()),
            filters: None,
        };
        let events = client
            .events(Some(options))
            .take(MOST)
            .map_ok(view::event)
            .try_collect::<Vec<Event>>();
        self.within(READ, "the events", events).await
    }

    /// What the engine is.
    pub async fn engine(&self) -> Result<Value, Error> {
        let client = self.client().await?;
        let info = self.within(READ, "the engine", client.info()).await?;
        Ok(json!({
            "version": info.server_version,
            "containers": info.containers,
            "containers_running": info.containers_running,
            "containers_stopped": info.containers_stopped,
            "containers_paused": info.containers_paused,
            "images": info.images,
            "system": info.operating_system,
            "kernel": info.kernel_version,
            "processors": info.ncpu,
            "memory_bytes": info.mem_total,
            "swarm": info.swarm.and_then(|swarm| swarm.local_node_state).map(|state| state.to_string()),
        }))
    }

    pub(super) fn not_understood(&self, message: &str) -> Error {
        Error::Protocol {
            connection: self.inner.name.clone(),
            message: message.to_owned(),
        }
    }
}
