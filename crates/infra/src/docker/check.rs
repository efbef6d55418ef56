//! Whether there is something newer under the name of a container's image. Nothing is pulled: digests are compared.

use futures_util::StreamExt as _;
use interlock_gate::Started;
use serde::Serialize;

use super::{Docker, ImageRef, READ};
use crate::Error;

/// How many containers are checked.
const MOST: usize = 100;
/// How many registries are asked at the same time.
const AT_ONCE: usize = 4;

/// Whether there is something newer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// The registry has other content under this name.
    UpdateAvailable,
    /// It is what the registry has.
    UpToDate,
    /// The name is that of one content and no other.
    Pinned,
    /// It cannot be told.
    Unknown,
}

/// What was found out about one container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UpdateCheck {
    /// The container.
    pub container: String,
    /// Its image.
    pub image: String,
    /// Whether there is something newer.
    pub freshness: Freshness,
    /// What the registry has under that name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry_digest: Option<String>,
    /// Why it cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Docker {
    /// Asks registries whether there is something newer, for one container or for all. For a plan about this host, what
    /// it runs on, or that container.
    pub async fn check_updates(
        &self,
        started: &Started,
        container: Option<&str>,
    ) -> Result<Vec<UpdateCheck>, Error> {
        if let Some(name) = container {
            self.is_meant_by(started, name)?;
        } else {
            let target = started.plan().resource();
            if target != Some(self.id()) && (target.is_none() || target != self.runs_on()) {
                return Err(Error::Unsupported(format!(
                    "the plan is not about `{}`",
                    self.id()
                )));
            }
        }
        let names: Vec<String> = match container {
            Some(name) => vec![name.to_owned()],
            None => self
                .containers()
                .await?
                .into_iter()
                .map(|found| found.name)
                .take(MOST)
                .collect(),
        };
        Ok(futures_util::stream::iter(names)
            .map(|name| async move { self.check(name).await })
            .buffered(AT_ONCE)
            .collect()
            .await)
    }

    async fn check(&self, container: String) -> UpdateCheck {
        let (image, result) = match self.inspect(&container).await {
            Ok(found) => (
                found.image.clone(),
                self.compare(&found.image, &found.image_id).await,
            ),
            Err(error) => (String::new(), Err(error)),
        };
        let (freshness, registry_digest, problem) = match result {
            Ok((freshness, digest)) => (freshness, digest, None),
            Err(error) => (Freshness::Unknown, None, Some(error.to_string())),
        };
        UpdateCheck {
            container,
            image,
            freshness,
            registry_digest,
            problem,
        }
    }

    async fn compare(&self, image: &str, image_id: &str) -> Result<(Freshness, Option<String>), Error> {
        let image: ImageRef = image.parse()?;
        if image.is_pinned() {
            return Ok((Freshness::Pinned, None));
        }
        let client = self.client().await?;
        let here = self
            .within(
                READ,
                &format!("the image `{image}`"),
                client.inspect_image(image_id),
            )
            .await?;
        let (repository, tag) = image.to_pull();
        let name = format!("{repository}:{tag}");
        let there = self
            .within(
                READ,
                &format!("the image `{image}` in its registry"),
                client.inspect_registry_image(&name, None),
            )
            .await?;
        let digest = there
            .descriptor
            .digest
            .ok_or_else(|| self.not_understood("the registry named no digest"))?;
        let same = here
            .repo_digests
            .iter()
            .flatten()
            .any(|known| known.rsplit('@').next() == Some(digest.as_str()));
        let freshness = if same {
            Freshness::UpToDate
        } else {
            Freshness::UpdateAvailable
        };
        Ok((freshness, Some(digest)))
    }
}
