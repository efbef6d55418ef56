//! Swarm: services, their tasks, the swarm itself; known to its managers only.

use bollard::query_parameters::{ListServicesOptions, ListTasksOptions};
use serde_json::{Value, json};

use super::{Docker, READ};
use crate::Error;

/// What an engine answers about Swarm that is no manager of one.
const NOT_A_MANAGER: u16 = 503;

impl Docker {
    /// The services of the swarm that this host manages.
    pub async fn services(&self) -> Result<Vec<Value>, Error> {
        let client = self.client().await?;
        let options = ListServicesOptions {
            status: Some(true),
            ..ListServicesOptions::default()
        };
        let found = self
            .within(READ, "the list of services", client.list_services(Some(options)))
            .await
            .map_err(|error| self.about_swarm(error))?;
        Ok(found
            .into_iter()
            .map(|service| {
                let spec = service.spec.unwrap_or_default();
                let image = spec
                    .task_template
                    .and_then(|task| task.container_spec)
                    .and_then(|container| container.image);
                json!({
                    "id": service.id,
                    "name": spec.name,
                    "image": image,
                    "running": service.service_status.as_ref().and_then(|status| status.running_tasks),
                    "wanted": service.service_status.as_ref().and_then(|status| status.desired_tasks),
                    "updated_at": service.updated_at,
                    "update": service.update_status.and_then(|status| status.message),
                })
            })
            .collect())
    }

    /// The tasks of the swarm that this host manages.
    pub async fn tasks(&self) -> Result<Vec<Value>, Error> {
        let client = self.client().await?;
        let found = self
            .within(
                READ,
                "the list of tasks",
                client.list_tasks(None::<ListTasksOptions>),
            )
            .await
            .map_err(|error| self.about_swarm(error))?;
        Ok(found
            .into_iter()
            .map(|task| {
                let status = task.status.unwrap_or_default();
                json!({
                    "id": task.id,
                    "service": task.service_id,
                    "slot": task.slot,
                    "node": task.node_id,
                    "state": status.state.map(|state| state.to_string()),
                    "wanted": task.desired_state.map(|state| state.to_string()),
                    "message": status.message,
                    "error": status.err,
                })
            })
            .collect())
    }

    /// The swarm that this host manages. Without the tokens with which machines join it.
    pub async fn swarm(&self) -> Result<Value, Error> {
        let client = self.client().await?;
        let found = self
            .within(READ, "the swarm", client.inspect_swarm())
            .await
            .map_err(|error| self.about_swarm(error))?;
        Ok(json!({
            "id": found.id,
            "created_at": found.created_at,
            "updated_at": found.updated_at,
            "name": found.spec.and_then(|spec| spec.name),
        }))
    }

    fn about_swarm(&self, error: Error) -> Error {
        match error {
            Error::Refused {
                status: Some(NOT_A_MANAGER | 406),
                ..
            } => Error::Unsupported(format!(
                "`{}` is no manager of a swarm; it has containers, but neither services nor tasks",
                self.inner.name
            )),
            other => other,
        }
    }
}
